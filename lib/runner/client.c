/* The client: any number of runners, each at the end of a socket. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "runner/wire.h"
#include "target/target.h"

struct runner {
	char *command;
	bool fake;
	pid_t pid;
	int fd;           /* its standard input and output; -1: none, or no more */
	bool ended, told; /* ended: nothing more will come; told: runner_wait said so */
	char *why;
	struct mp_out out; /* not sent yet */
	size_t sent;       /* of out */
	struct frames in;
	uint64_t last; /* id */
	size_t open;   /* requests without answer */
	double heard;  /* when */
	struct arena arena;
	const char *target, *compiler;
	struct target machine;
	int jobs;
	bool emulated;
};

const char *runner_name(const struct runner *r) { return r->command; }
const char *runner_target(const struct runner *r) { return r->target; }
const struct target *runner_machine(const struct runner *r) { return &r->machine; }
const char *runner_compiler(const struct runner *r) { return r->compiler; }
int runner_jobs(const struct runner *r) { return r->jobs; }
bool runner_emulated(const struct runner *r) { return r->emulated; }
bool runner_alive(const struct runner *r) { return !r->ended; }

/* How the command ended, in words. Waits for it, not long: it has closed its end. */
static const char *how_ended(struct runner *r)
{
	enum { WAIT_MS = 500 };
	int status = 0;

	for (int i = 0; i < WAIT_MS && r->pid > 0; i++) {
		if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
			r->pid = 0;
			if (WIFSIGNALED(status))
				return arena_printf(&r->arena, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
			return arena_printf(&r->arena, "exit status %d", WEXITSTATUS(status));
		}
		usleep(1000);
	}
	return "closed its output";
}

static void end(struct runner *r, const char *why)
{
	if (r->ended)
		return;
	r->ended = true;
	r->why = xprintf("%s: %s", r->command, why);
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	if (r->pid > 0) {
		kill(-r->pid, SIGKILL);
		waitpid(r->pid, NULL, 0);
		r->pid = 0;
	}
}

static void flush(struct runner *r)
{
	while (!r->ended && r->sent < r->out.b.n) {
		ssize_t n = send(r->fd, r->out.b.a + r->sent, r->out.b.n - r->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) /* full: later; gone: reading will tell */
			return;
		r->sent += (size_t)n;
	}
	r->sent = r->out.b.n = 0;
}

/* What has come. */
static void fill(struct runner *r)
{
	char b[1 << 16];
	ssize_t n;

	if (r->ended)
		return;
	n = recv(r->fd, b, sizeof b, MSG_DONTWAIT);
	if (n > 0) {
		frame_add(&r->in, b, (size_t)n);
		r->heard = now_seconds();
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		end(r, arena_printf(&r->arena, "ended (%s)", how_ended(r)));
	}
}

static bool start(struct runner *r, const char **why)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
		*why = xprintf("socketpair: %s", strerror(errno));
		return false;
	}
	if ((r->pid = fork()) == 0) {
		sigset_t none;
		setpgid(0, 0);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		dup2(fd[1], STDIN_FILENO);
		dup2(fd[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", r->command, (char *)NULL);
		_exit(127);
	}
	close(fd[1]);
	r->fd = fd[0];
	if (r->pid < 0)
		*why = xprintf("fork: %s", strerror(errno));
	else
		setpgid(r->pid, r->pid);
	return r->pid > 0;
}

/* The run-dev beside this program, else the one in PATH. */
static char *command_beside(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n > 0) {
		strcpy(path + n, "run-dev");
		if (access(path, X_OK) == 0)
			return xprintf("'%s' --serve", path);
	}
	return xstrdup("run-dev --serve");
}

/* Until the command has said hello it may ask for a password, say: it has the terminal meanwhile, where we are in the foreground.
 * The terminal; -1: not lent. */
static int lend_terminal(pid_t to)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (tty < 0 || tcgetpgrp(tty) != getpgrp() || tcsetpgrp(tty, to)) {
		if (tty >= 0)
			close(tty);
		return -1;
	}
	kill(-to, SIGCONT); /* it may have asked before */
	return tty;
}

/* A process in the background would be stopped for that. */
static void take_terminal_back(int tty)
{
	sigset_t out, before;

	if (tty < 0)
		return;
	sigemptyset(&out);
	sigaddset(&out, SIGTTOU);
	sigprocmask(SIG_BLOCK, &out, &before);
	tcsetpgrp(tty, getpgrp());
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(tty);
}

/* A row without the field that changes no kernel's time. */
static const char *without_cores(const char *row, struct arena *a)
{
	const char *at = strstr(row, ";cores=");

	return at ? arena_printf(a, "%.*s%s", (int)(at - row), row, at + 1 + strcspn(at + 1, ";")) : row;
}

/* The answer to hello. */
static bool greet(struct runner *r, double timeout, const volatile sig_atomic_t *stop)
{
	enum { LOOK_MS = 200, BEFORE_DEVICE = 8 };
	double until = now_seconds() + timeout;
	struct mp_in in;
	const char *why;
	size_t n;

	size_t frame = frame_begin(&r->out, 3, 0, "hello");
	mp_put_int(&r->out, RUNNER_VERSION);
	frame_end(&r->out, frame);
	while (!frame_next(&r->in, &in, &why)) {
		double left = until - now_seconds();
		struct pollfd p = {r->fd, POLLIN, 0};
		if (why)
			end(r, "what it says is not the runner's protocol");
		else if (stop && *stop)
			end(r, "had not answered when it was interrupted");
		else if (left <= 0)
			end(r, arena_printf(&r->arena, "does not answer within %g seconds", timeout));
		if (r->ended)
			return false;
		flush(r);
		if (poll(&p, 1, (int)fmin(1000 * left + 1, LOOK_MS)) > 0)
			fill(r);
	}
	uint32_t said = mp_array(&in);
	mp_int(&in, 0, INT64_MAX);
	mp_str(&in, &n);
	int64_t version = mp_int(&in, 0, INT64_MAX);
	if (!in.why && version != RUNNER_VERSION) {
		end(r, arena_printf(&r->arena, "speaks version %lld of the protocol, this program version %d", (long long)version,
				    RUNNER_VERSION));
		return false;
	}
	r->target = take_str(&in, &r->arena);
	r->compiler = take_str(&in, &r->arena);
	mp_int(&in, 1, 1 << 20);
	r->jobs = (int)mp_int(&in, 1, 1 << 20);
	if (said > BEFORE_DEVICE) { /* older services say no more than isolation */
		take_str(&in, &r->arena);
		const char *device = take_str(&in, &r->arena);
		r->emulated = device && !strcmp(device, "emulated");
	}
	if (in.why || !r->target || !r->compiler)
		end(r, "what it says is not the runner's protocol");
	else if (!target_find(r->target, &r->machine))
		end(r, arena_printf(&r->arena, "says that it is a \"%s\": no target that this program knows", r->target));
	else
		r->target = without_cores(r->target, &r->arena);
	return !r->ended;
}

static bool begin(struct runner *r, bool asks, double timeout, const volatile sig_atomic_t *stop, const char **why)
{
	if (!start(r, why))
		return false;
	int tty = asks ? lend_terminal(r->pid) : -1;
	bool good = greet(r, timeout, stop);
	take_terminal_back(tty);
	return good;
}

struct runner *runner_open_unless(const volatile sig_atomic_t *stop, const char *command, double timeout, struct arena *a, const char **why)
{
	struct runner *r = xcalloc(1, sizeof *r);

	r->fd = -1;
	mp_out_init(&r->out);
	r->fake = command && !strcmp(command, "fake");
	r->command = command ? xstrdup(command) : command_beside();
	if (r->fake) {
		r->target = r->compiler = "fake";
		r->machine = *target_host();
		r->jobs = 2;
		return r;
	}
	if (begin(r, command != NULL, timeout, stop, why))
		return r;
	*why = arena_str(a, r->why ? r->why : *why);
	runner_close(r);
	return NULL;
}

struct runner *runner_open(const char *command, double timeout, struct arena *a, const char **why)
{
	return runner_open_unless(NULL, command, timeout, a, why);
}

void runner_close(struct runner *r)
{
	enum { WAIT_MS = 2000 };

	if (r->fd >= 0)
		shutdown(r->fd, SHUT_RDWR); /* it cleans up and ends */
	for (int i = 0; i < WAIT_MS && r->pid > 0; i++) {
		if (waitpid(r->pid, NULL, WNOHANG) == r->pid)
			r->pid = 0;
		else
			usleep(1000);
	}
	end(r, "closed");
	mp_out_free(&r->out);
	vec_free(&r->in.b);
	arena_release(&r->arena);
	free(r->command);
	free(r->why);
	free(r);
}

/* ---- requests ---- */

static size_t request(struct runner *r, size_t n, const char *verb)
{
	r->open++;
	if (r->open == 1)
		r->heard = now_seconds();
	return frame_begin(&r->out, n, ++r->last, verb);
}

static uint64_t requested(struct runner *r, size_t frame)
{
	frame_end(&r->out, frame);
	if (!r->fake)
		flush(r);
	return r->last;
}

uint64_t runner_task(struct runner *r, const char *text)
{
	size_t frame = request(r, 3, "task");

	put_str0(&r->out, text);
	return requested(r, frame);
}

uint64_t runner_build(struct runner *r, struct digest task, const struct runner_build *b)
{
	size_t frame = request(r, 10, "build");

	mp_put_digest(&r->out, task);
	put_build(&r->out, b);
	return requested(r, frame);
}

uint64_t runner_buf_bytes(const struct runner_buf *b) { return (uint64_t)b->elems * dtype_size(dtype_parse(b->type, strlen(b->type))); }

/* No more than it takes that none is left in the third level: with as much as that holds, how much is left there hangs on what
 * others do (doc/runner.md). */
enum { COLD_LEAST = 32 << 20, COLD_L3 = 4 };
uint64_t runner_cold_bytes(const struct module *m, const struct target *t)
{
	uint64_t bytes = 0, n = 1 << 20, most = (uint64_t)t->l3 * COLD_L3;

	most = most < COLD_LEAST ? COLD_LEAST : most > RUNNER_COLD_MAX ? RUNNER_COLD_MAX : most;

	for (val_id v = 1; v < m->values.n; v++)
		if (m->values.a[v].kind == VAL_CONST && m->values.a[v].tensor)
			bytes += m->values.a[v].tensor->nbytes;
	if (bytes <= (uint64_t)t->l2)
		return 0;
	while (n < bytes && n < most)
		n *= 2;
	return n;
}

uint64_t runner_try(struct runner *r, const struct runner_try *t)
{
	size_t frame = request(r, 11, "try");

	mp_put_digest(&r->out, t->task);
	mp_put_digest(&r->out, t->artifact);
	mp_put_digest(&r->out, t->base);
	mp_put_double(&r->out, t->budget);
	mp_put_int(&r->out, (int64_t)(t->seed >> 1)); /* 63 bits travel as an integer everywhere */
	mp_put_int(&r->out, (int64_t)t->cold_bytes);
	mp_put_double(&r->out, t->goal);
	mp_put_double(&r->out, t->width);
	mp_put_int(&r->out, t->once);
	return requested(r, frame);
}

/* ---- answers ---- */

/* One frame: false if it answers nothing (the runner is alive). */
static bool read_answer(struct runner *r, struct mp_in *in, struct arena *a, struct runner_answer *out)
{
	uint32_t said = mp_array(in), want = 3;
	*out = (struct runner_answer){.id = (uint64_t)mp_int(in, 0, INT64_MAX), .result.verdict = VERDICT_COUNT};
	const char *verb = take_str(in, a);
	if (in->why || !verb || !strcmp(verb, "alive"))
		return false;
	if (out->id == 0 || out->id > r->last || !r->open) {
		mp_fail(in, 0, "an answer that nothing was asked for");
		return false;
	}
	if (!strcmp(verb, "task") || !strcmp(verb, "build")) {
		out->digest = mp_digest(in);
		if (*verb == 'b')
			out->result.seconds = mp_double(in), want = 4;
		if (!in->why && !(isfinite(out->result.seconds) && out->result.seconds >= 0))
			mp_fail(in, 0, "seconds that cannot be");
	} else if (!strcmp(verb, "failed")) {
		out->result.verdict = VERDICT_BUILD;
		out->why = out->result.why = take_str(in, a);
	} else if (!strcmp(verb, "try")) {
		take_measurement(in, &out->result, a);
		want = 9;
		out->why = out->result.why;
	} else if (!strcmp(verb, "error")) {
		out->error = true;
		out->why = take_str(in, a);
	} else {
		mp_fail(in, 0, "an unknown answer");
	}
	if (!in->why && (said != want || mp_left(in)))
		mp_fail(in, 0, "an answer of other parts than it has");
	return !in->why;
}

/* Has it said nothing for too long? What it said while we did something else may not have been read yet. */
static bool is_silent(struct runner *r)
{
	if (now_seconds() - r->heard > RUNNER_SILENCE)
		fill(r);
	return !r->ended && now_seconds() - r->heard > RUNNER_SILENCE;
}

/* Something to report of r: an answer, or its end. */
static bool take_answer(struct runner *r, struct arena *a, struct runner_answer *out)
{
	struct mp_in in = {0};
	const char *why;

	if (r->fake && r->sent < r->out.b.n) { /* one request in out is answered now */
		struct frames f = {.b = {r->out.b.a, r->out.b.n, r->out.b.n}, .taken = r->sent};
		struct mp_out answer;
		frame_next(&f, &in, &why);
		mp_out_init(&answer);
		fake_answer(&in, &answer);
		r->sent = f.taken;
		frame_add(&r->in, answer.b.a, answer.b.n);
		mp_out_free(&answer);
		if (r->sent == r->out.b.n)
			r->sent = r->out.b.n = 0;
	}
	while (frame_next(&r->in, &in, &why)) {
		if (read_answer(r, &in, a, out)) {
			r->open -= r->open > 0;
			return true;
		}
		if (in.why)
			break;
	}
	if (why || in.why) {
		end(r, "what it says is not the runner's protocol");
		r->in.taken = r->in.b.n;
	}
	if (!r->ended && !r->fake && r->open && is_silent(r))
		end(r, arena_printf(&r->arena, "has said nothing for %d seconds", RUNNER_SILENCE));
	if (!r->ended || r->told)
		return false;
	r->told = true;
	*out = (struct runner_answer){.ended = true, .why = arena_str(a, r->why)};
	return true;
}

int runner_wait(struct runner *const *r, int n, double timeout, struct arena *a, struct runner_answer *out)
{
	enum { LOOK_MS = 200 }; /* for those that hang */
	double until = now_seconds() + timeout;
	struct pollfd *p = xcalloc((size_t)n + 1, sizeof *p);
	int found = -1;

	for (bool polled = false;; polled = true) {
		for (int i = 0; i < n && found < 0; i++)
			if (take_answer(r[i], a, out))
				found = i;
		double left = fmax(0, until - now_seconds());
		if (found >= 0 || (left == 0 && polled))
			break;
		for (int i = 0; i < n; i++)
			p[i] = (struct pollfd){r[i]->fd, (short)(POLLIN | (r[i]->out.b.n && !r[i]->fake ? POLLOUT : 0)), 0};
		if (poll(p, (nfds_t)n, left > LOOK_MS / 1000.0 ? LOOK_MS : (int)ceil(1000 * left)) < 0 && errno == EINTR)
			break; /* the caller looks what the signal was */
		for (int i = 0; i < n; i++) {
			if (p[i].revents & POLLOUT)
				flush(r[i]);
			if (p[i].revents & ~POLLOUT)
				fill(r[i]);
		}
	}
	free(p);
	return found;
}
