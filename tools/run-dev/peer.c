/* --peer: another program that computes the same model, timed in turns with the library. Its side of the conversation is in run-dev(1). */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/scratch.h"
#include "common/shown.h"
#include "common/vec.h"
#include "op/difference.h"
#include "op/op.h"
#include "run-dev.h"

struct peer {
	const char *command;
	double patience; /* seconds that an answer may take */
	pid_t child;     /* leads a process group of its own */
	FILE *to;
	int from;
	char read[1 << 12]; /* bytes [at, have) are not looked at yet */
	size_t at, have;
	VEC(char) line; /* the last that it said */
	char *name;     /* what it says it is */
	char *outputs;
	struct scratch folder;
	VEC(double) times, ratios;
};

static void remove_folder(void *arg) { scratch_remove(&((struct peer *)arg)->folder); }

/* Tells it to end, and waits; one that does not is killed after a while. True: it has ended by itself, as *status says. */
static bool end_child(struct peer *p, int *status)
{
	enum { PATIENCE = 200 }; /* hundredths of a second */

	fclose(p->to);
	for (int i = 0; i < PATIENCE; i++) {
		if (waitpid(p->child, status, WNOHANG))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	kill(-p->child, SIGKILL);
	waitpid(p->child, status, 0);
	return false;
}

/* Its output has ended. */
static noreturn void ended(struct peer *p)
{
	int status = 0;

	if (!end_child(p, &status))
		die(EX_NOTAVAIL, "--peer %s: closed its output before it was told to end", shown(p->command));
	if (WIFSIGNALED(status))
		die(EX_NOTAVAIL, "--peer %s: ended by signal %d", shown(p->command), WTERMSIG(status));
	die(EX_NOTAVAIL, "--peer %s: ended with %d before it was told to", shown(p->command), WEXITSTATUS(status));
}

static noreturn void silent(struct peer *p)
{
	int status;

	kill(-p->child, SIGKILL);
	waitpid(p->child, &status, 0);
	die(EX_NOTAVAIL, "--peer %s: no answer in %g seconds; --peer-wait gives it more", shown(p->command), p->patience);
}

/* EOF: its output has ended. */
static int next_byte(struct peer *p, double until)
{
	while (p->at == p->have) {
		struct pollfd f = {p->from, POLLIN, 0};
		double rest = fmax(0, 1e3 * (until - now_seconds()));
		int ready = poll(&f, 1, (int)fmin(ceil(rest), 1e6));
		if (!ready && now_seconds() >= until)
			silent(p);
		ssize_t n = ready > 0 ? read(p->from, p->read, sizeof p->read) : -1;
		if (ready > 0 && n <= 0)
			return EOF;
		if (ready < 0 && errno != EINTR)
			die_errno(EX_SYSTEM, "--peer");
		p->at = 0;
		p->have = n > 0 ? (size_t)n : 0;
	}
	return (unsigned char)p->read[p->at++];
}

/* A line may have the times of many short runs, but not fill the memory. */
static const char *read_line(struct peer *p)
{
	enum { LONGEST = 1 << 24 };
	double until = now_seconds() + p->patience;
	int c;

	p->line.n = 0;
	while ((c = next_byte(p, until)) != EOF && c != '\n') {
		if (p->line.n == LONGEST)
			die(EX_BADDATA, "--peer %s: a line of more than %d bytes", shown(p->command), LONGEST);
		vec_push(&p->line, (char)c);
	}
	if (c == EOF && !p->line.n)
		ended(p);
	vec_push(&p->line, 0);
	return p->line.a;
}

static noreturn void not_understood(const struct peer *p)
{
	die(EX_BADDATA, "--peer %s: not what a peer says: %.80s", shown(p->command), shown(p->line.a));
}

static void start(struct peer *p)
{
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		die_errno(EX_SYSTEM, "--peer");
	fflush(NULL);
	p->child = fork();
	if (p->child < 0)
		die_errno(EX_SYSTEM, "--peer");
	if (!p->child) {
		setpgid(0, 0);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[0]), close(to[1]), close(from[0]), close(from[1]);
		execl("/bin/sh", "sh", "-c", p->command, (char *)NULL);
		_exit(127);
	}
	setpgid(p->child, p->child); /* whoever of both is first */
	close(to[0]), close(from[1]);
	p->to = fdopen(to[1], "w");
	p->from = from[0];
	signal(SIGPIPE, SIG_IGN); /* then writing to one that has ended fails, and reading says how it ended */
}

struct peer *peer_begin(const char *command, double patience, int n, const struct named_tensor *in)
{
	static const char greeting[] = "hone-peer 1 ";
	const char *t = getenv("TMPDIR");
	struct peer *p = xcalloc(1, sizeof *p);
	char *prefix = xprintf("%s/hone-peer-", t && *t ? t : "/tmp");

	p->command = command;
	p->patience = patience;
	if (!scratch_make(&p->folder, prefix))
		die_errno(EX_IO, "%s", prefix);
	free(prefix);
	die_hook(remove_folder, p);
	char *inputs = xprintf("%s/inputs.npz", p->folder.path);
	p->outputs = xprintf("%s/outputs.npz", p->folder.path);
	npz_write(inputs, n, in);
	setenv("HONE_PEER_INPUTS", inputs, 1);
	setenv("HONE_PEER_OUTPUTS", p->outputs, 1);
	free(inputs);
	start(p);
	if (strncmp(read_line(p), greeting, strlen(greeting)))
		not_understood(p);
	p->name = xstrdup(p->line.a + strlen(greeting));
	return p;
}

const char *peer_name(const struct peer *p) { return p->name; }

void peer_turn(void *peer, double seconds, double *own, size_t n)
{
	struct peer *p = peer;
	char *s, *end;
	size_t before = p->times.n;

	if (fprintf(p->to, "%.9f\n", seconds) < 0 || fflush(p->to))
		ended(p);
	for (s = (char *)read_line(p); *s; s = end) {
		double t = strtod(s, &end);
		if (end == s || !(t > 0) || !isfinite(t))
			not_understood(p);
		vec_push(&p->times, t);
		end += strspn(end, " ");
	}
	if (p->times.n == before)
		not_understood(p);
	vec_push(&p->ratios, timing_of(own, n).median / timing_of(p->times.a + before, p->times.n - before).median);
}

struct peer_times peer_end(struct peer *p, int n, const struct named_tensor *out, struct arena *a)
{
	struct named_tensor *theirs;
	double differs = 0;
	int status;

	if (access(p->outputs, R_OK))
		die(EX_NOTAVAIL, "--peer %s: it wrote no outputs", shown(p->command));
	int k = npz_read(p->outputs, a, &theirs);
	for (int i = 0; i < n; i++) {
		const struct tensor *r = NULL;
		for (int j = 0; j < k; j++)
			r = strcmp(theirs[j].name, out[i].name) ? r : theirs[j].t;
		if (!r)
			die(EX_BADDATA, "--peer %s: it has no output %s", shown(p->command), shown(out[i].name));
		struct difference d = difference_of(out[i].t, r, true);
		bool must_equal = !dtype_is_float(r->dtype) && d.error > 0;
		differs = fmax(differs, d.why || must_equal ? INFINITY : d.error);
	}
	close(p->from);
	end_child(p, &status);
	scratch_remove(&p->folder);
	return (struct peer_times){timing_of(p->times.a, p->times.n), timing_of(p->ratios.a, p->ratios.n), differs};
}
