/* plan --verify: the user's own training command, timed with candidate plans in turns; the fastest stays. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "comm/lines.h"
#include "common/arena.h"
#include "common/sorted.h"
#include "tune-grad.h"

enum { CANDIDATES_MAX = 8, ROUNDS = 5 };

struct candidate {
	char what[40];
	struct plan plan;
	struct plan_cost cost;
	int fd;     /* the plan as a file in memory */
	double *us; /* a time a round */
};

/* The command with {} replaced by the plan's path, which any process of this user can read while we run. */
static char *command_line(const char *command, int fd)
{
	char *path = xprintf("/proc/%d/fd/%d", (int)getpid(), fd), *out = xstrdup("");
	for (const char *s = command, *at;; s = at + 2) {
		at = strstr(s, "{}");
		char *longer = at ? xprintf("%s%.*s%s", out, (int)(at - s), s, path) : xprintf("%s%s", out, s);
		free(out);
		out = longer;
		if (!at)
			break;
	}
	free(path);
	return out;
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* us of one run: what the last line of its output says, if that is a number, else how long it took. */
static double run_once(const char *command, const struct candidate *c)
{
	char *line = command_line(command, c->fd), text[256] = "", last[256] = "";
	double start = now_us(), said;
	FILE *f = popen(line, "r");
	if (!f)
		die_errno(EX_SYSTEM, "--verify: %s", line);
	while (fgets(text, sizeof text, f)) {
		text[strcspn(text, "\n")] = 0;
		strcpy(last, text);
	}
	int status = pclose(f);
	double took = now_us() - start;
	if (status == -1)
		die_errno(EX_SYSTEM, "--verify: %s", line);
	if (status)
		die(EX_NOTAVAIL, "--verify: the command %s %d with the plan '%s'; nothing is chosen: %s",
		    WIFSIGNALED(status) ? "died of signal" : "ended with", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
		    c->what, line);
	free(line);
	return lines_number(last, &said) && said > 0 ? said : took;
}

static bool same_plan(const struct plan *a, const struct plan *b)
{
	return a->last.n == b->last.n && (!a->last.n || !memcmp(a->last.a, b->last.a, a->last.n * sizeof *a->last.a));
}

/* Keeps p, unless one like it is there already. */
static void add(struct candidate *c, int *n, int rounds, const char *what, struct plan p, const struct grads *g, const struct curve *curve)
{
	for (int i = 0; i < *n; i++) {
		if (same_plan(&c[i].plan, &p)) {
			plan_free(&p);
			return;
		}
	}
	c[*n] = (struct candidate){.plan = p, .cost = plan_cost(&p, g, curve), .us = xcalloc((size_t)rounds, sizeof(double))};
	snprintf(c[*n].what, sizeof c[*n].what, "%s", what);
	++*n;
}

static void write_file(struct candidate *c, const struct grads *g, const struct curve *curve)
{
	c->fd = memfd_create("plan", 0);
	if (c->fd < 0)
		die_errno(EX_SYSTEM, "--verify: a file for the plan");
	FILE *f = fdopen(dup(c->fd), "w");
	if (!f)
		die_errno(EX_SYSTEM, "--verify: a file for the plan");
	plan_print(f, &c->plan, g, curve, opt.form);
	if (fclose(f))
		die_errno(EX_IO, "--verify: a file for the plan");
}

static double median(const double *v, int n)
{
	double *s = xmalloc((size_t)n * sizeof *s), m;
	memcpy(s, v, (size_t)n * sizeof *s);
	qsort(s, (size_t)n, sizeof *s, ascending);
	m = sorted_median(s, (size_t)n);
	free(s);
	return m;
}

void verify_plan(struct plan *best, const struct grads *g, const struct curve *curve)
{
	static const double slacks[] = {0, 0.01, 0.05, 0.2};
	struct candidate c[CANDIDATES_MAX];
	int n = 0, found = 0, rounds = opt.iterations ? opt.iterations : ROUNDS;
	add(c, &n, rounds, "plan", *best, g, curve);
	for (size_t i = 0; i < sizeof slacks / sizeof *slacks; i++) {
		struct plan p = {0};
		char what[40];
		plan_best(&p, g, curve, opt.segments, slacks[i]);
		snprintf(what, sizeof what, "slack %g%%", 100 * slacks[i]);
		add(c, &n, rounds, what, p, g, curve);
	}
	for (enum baseline b = BASE_DDP; b <= BASE_MGWFBP; b += BASE_MGWFBP - BASE_DDP) {
		struct plan p = {0};
		plan_baseline(&p, b, g, curve);
		if (opt.segments && p.last.n > opt.segments)
			plan_free(&p);
		else
			add(c, &n, rounds, baseline_name(b), p, g, curve);
	}
	for (int i = 0; i < n; i++)
		write_file(&c[i], g, curve);
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < n; i++) { /* there and back */
			int k = round % 2 ? n - 1 - i : i;
			c[k].us[round] = run_once(opt.verify, &c[k]);
		}
	for (int i = 0; i < n; i++) {
		note("%-12s %4zu segments, predicted %12.1f us, measured %14.1f us", c[i].what, c[i].cost.segments, c[i].cost.end,
		     median(c[i].us, rounds));
		if (median(c[i].us, rounds) < median(c[found].us, rounds))
			found = i;
	}
	*best = c[found].plan;
	for (int i = 0; i < n; i++) {
		if (i != found)
			plan_free(&c[i].plan);
		free(c[i].us);
		close(c[i].fd);
	}
}
