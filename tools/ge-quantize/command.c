/* The metric's command: a command of the shell with a file as its last argument, whose last number counts.
 *
 * It runs in a process group of its own, which is killed when the command has ended, when it prints without end, and when this process is
 * to stop. */
#define _GNU_SOURCE
#include "command.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"

enum {
	PRINTED_MOST = 64 << 20, /* bytes; more is a command without end */
	TAIL = 1 << 16,          /* bytes of the end in which the number is looked for */
	LOOK_MS = 10,            /* between two looks whether the command has ended */
	GRACE_MS = 2000,         /* from SIGTERM to SIGKILL */
};

static volatile sig_atomic_t stopped;
static void stop(int number) { stopped = number; }

bool command_stopped(void) { return stopped; }

void command_stop_by(double seconds)
{
	struct itimerval t = {.it_value = {(time_t)seconds, (suseconds_t)(1e6 * (seconds - floor(seconds)))}};
	struct sigaction act = {.sa_handler = stop};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	if (seconds > 0)
		setitimer(ITIMER_REAL, &t, NULL);
}

/* The end of what a command prints. */
struct printed {
	char text[2 * TAIL + 1];
	size_t n, total;
};

static void keep(struct printed *p, const char *s, size_t n)
{
	p->total += n;
	if (p->n + n > 2 * TAIL) {
		memmove(p->text, p->text + p->n - TAIL, TAIL);
		p->n = TAIL;
	}
	memcpy(p->text + p->n, s, n);
	p->n += n;
}

/* Reads what there is. false: there will be no more. */
static bool read_some(int fd, struct printed *p)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof buf)) > 0) {
		keep(p, buf, (size_t)n);
		if (p->total > PRINTED_MOST)
			return true;
	}
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* The last number that is one. */
static bool last_number(struct printed *p, double *v)
{
	bool any = false;

	p->text[p->n] = 0;
	for (char *s = p->text, *end; s < p->text + p->n; s = end) {
		double x = strtod(s, &end);
		if (end == s)
			end++;
		else if (isfinite(x)) {
			*v = x;
			any = true;
		}
	}
	return any;
}

static noreturn void become_shell(const char *text, const char *argument, int out)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};
	int in = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	dup2(in, 0);
	dup2(out, 1);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	execl("/bin/sh", "sh", "-c", text, "sh", argument, (char *)0);
	_exit(127);
}

static bool has_ended(pid_t child)
{
	siginfo_t info = {0};

	return !waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Ends the whole group; the status of its first process. */
static int end_group(pid_t child)
{
	int status = 1;

	if (!has_ended(child)) {
		kill(-child, SIGTERM);
		for (int ms = 0; ms < GRACE_MS && !has_ended(child); ms += LOOK_MS)
			poll(NULL, 0, LOOK_MS);
	}
	kill(-child, SIGKILL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Runs a text of the shell in which argument is "$1". The status; what is printed goes to p. */
static int run_shell(const char *text, const char *argument, struct printed *p)
{
	struct pollfd f = {.events = POLLIN};
	bool more = true, ended = false;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die_errno(EX_SYSTEM, "a pipe");
	pid_t child = fork();
	if (child < 0)
		die_errno(EX_SYSTEM, "%s", text);
	if (!child)
		become_shell(text, argument, ends[1]);
	setpgid(child, child);
	close(ends[1]);
	f.fd = ends[0];
	fcntl(f.fd, F_SETFL, O_NONBLOCK);
	while (!stopped && !ended && p->total <= PRINTED_MOST) {
		poll(&f, more, LOOK_MS);
		ended = has_ended(child); /* looked at before the pipe, so nothing that it printed is missed */
		more = more && read_some(f.fd, p);
		if (!more)
			f.fd = -1;
	}
	int status = end_group(child);
	close(ends[0]);
	return status;
}

bool command_exists(const char *word)
{
	struct printed *p = xcalloc(1, sizeof *p);
	int status = run_shell("command -v -- \"$1\" >/dev/null", word, p);

	free(p);
	return !status || stopped;
}

const char *command_run(const char *command, const char *path, double *number)
{
	struct printed *p = xcalloc(1, sizeof *p);
	char *text = xprintf("%s \"$1\"", command);
	int status = run_shell(text, path, p);
	const char *why = p->total > PRINTED_MOST   ? "it prints without end"
			  : status                  ? "it failed"
			  : !last_number(p, number) ? "it prints no number"
						    : NULL;

	free(text);
	free(p);
	return stopped ? NULL : why;
}
