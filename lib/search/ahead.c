/* Choosing schedules side by side. Process k answers for the tasks k, k + processes, ... in that order, through a pipe of its own: the one
 * that asks reads them in the order of the tasks. What it gets hangs on no process's speed. */
#define _GNU_SOURCE /* pipe2 */
#include "search/ahead.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/whole.h"

struct helper {
	pid_t pid;
	int answers; /* -1: it failed */
};

struct ahead {
	struct module *m;
	const node_id *node;
	size_t n, next, most;
	const struct target *target;
	const struct trees *model;
	struct helper *helper;
	size_t helpers; /* 0: all is done here */
};

/* An answer, before its two strings. */
struct head {
	double seconds;
	struct gain gain;
	size_t tried, trace, from; /* trace, from: bytes with the last 0; none: NULL */
};

static struct chosen answer(const struct ahead *h, size_t i, struct arena *a)
{
	return schedule_choose(h->m, h->node[i], h->target, h->model, h->most, a);
}

static size_t bytes_of(const char *s) { return s ? strlen(s) + 1 : 0; }

static void work(const struct ahead *h, size_t first, int to)
{
	struct arena a = {0};

	for (size_t i = first; i < h->n; i += h->helpers) {
		struct chosen c = answer(h, i, &a);
		struct head head = {c.seconds, c.gain, c.tried, bytes_of(c.trace), bytes_of(c.from)};
		if (!write_whole(to, &head, sizeof head) || !write_whole(to, c.trace, head.trace) || !write_whole(to, c.from, head.from))
			return;
		arena_release(&a);
	}
}

/* A helper writes to its pipe alone, and ends with the process that asks. Where that process would die of a task, the helper ends without
 * a word. */
static void help(struct ahead *h, size_t k, pid_t asker, int to)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct msg_trap trap;

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		signal(ends[i], SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == asker && !setjmp(trap.at)) {
		msg_trap = &trap;
		work(h, k, to);
	}
	_exit(0);
}

static void start(struct ahead *h, size_t k)
{
	struct helper *x = &h->helper[k];
	pid_t asker = getpid();
	int end[2];

	*x = (struct helper){-1, -1};
	if (pipe2(end, O_CLOEXEC))
		return;
	x->pid = fork();
	if (x->pid == 0)
		help(h, k, asker, end[1]);
	close(end[1]);
	if (x->pid > 0)
		x->answers = end[0];
	else
		close(end[0]);
}

struct ahead *ahead_start(struct module *m, const node_id *node, size_t n, const struct target *t, const struct trees *model, size_t most,
			  size_t processes)
{
	struct ahead *h = xcalloc(1, sizeof *h);

	*h = (struct ahead){.m = m, .node = node, .n = n, .most = most, .target = t, .model = model};
	h->helpers = processes < n ? processes : n;
	if (h->helpers < 2)
		h->helpers = 0;
	h->helper = xcalloc(h->helpers + 1, sizeof *h->helper);
	for (size_t k = 0; k < h->helpers; k++)
		start(h, k);
	return h;
}

static bool take_string(int fd, size_t n, const char **s, struct arena *a)
{
	char *p = n ? arena_alloc(a, n) : NULL;

	*s = p;
	return !n || (read_whole(fd, p, n) && !p[n - 1]);
}

static bool take(int fd, struct chosen *c, struct arena *a)
{
	struct head h;

	if (!read_whole(fd, &h, sizeof h) || !take_string(fd, h.trace, &c->trace, a) || !take_string(fd, h.from, &c->from, a))
		return false;
	c->seconds = h.seconds;
	c->gain = h.gain;
	c->tried = h.tried;
	return true;
}

struct chosen ahead_next(struct ahead *h, struct arena *a)
{
	size_t i = h->next++;
	struct helper *x = h->helpers ? &h->helper[i % h->helpers] : NULL;
	struct chosen c;

	if (!x || x->answers < 0)
		return answer(h, i, a);
	if (take(x->answers, &c, a))
		return c;
	close(x->answers);
	x->answers = -1;
	return answer(h, i, a);
}

void ahead_stop(struct ahead *h)
{
	for (size_t k = 0; k < h->helpers; k++) {
		if (h->helper[k].answers >= 0)
			close(h->helper[k].answers);
		if (h->helper[k].pid > 0) {
			kill(h->helper[k].pid, SIGKILL);
			while (waitpid(h->helper[k].pid, NULL, 0) < 0 && errno == EINTR)
				;
		}
	}
	free(h->helper);
	free(h);
}
