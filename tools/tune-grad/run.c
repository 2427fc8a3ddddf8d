/* tune-grad run: plans on real processes, in turns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/sorted.h"
#include "team.h"
#include "tune-grad.h"

struct candidate {
	const char *name;
	struct plan plan;
	struct plan_cost cost;
	VEC(double) us; /* of each iteration */
	double *sorted; /* the same, rising */
};

/* A file; else "best", "remembered" or the name of a baseline. */
static void read_candidate(struct candidate *c, const char *name, const struct grads *g, const struct curve *curve)
{
	*c = (struct candidate){.name = name};
	if (access(name, F_OK) == 0) {
		plan_read(&c->plan, name, g);
		return;
	}
	if (!curve && !strcmp(name, "best"))
		die(EX_BADUSE, "best: no such file, and no curve (-c) to plan by");
	if (!strcmp(name, "best")) {
		plan_best(&c->plan, g, curve, opt.segments, opt.slack);
		return;
	}
	if (!strcmp(name, "remembered")) {
		if (!opt.model)
			die(EX_BADUSE, "remembered: no such file, and no --network and --model to remember a plan of");
		if (!recall_plan(&c->plan, g))
			die(EX_NOIN, "no plan is remembered of the model '%s' on the network '%s'", opt.model, opt.network);
		return;
	}
	for (int b = 0; b < BASELINE_COUNT; b++)
		if (!strcmp(name, baseline_name((enum baseline)b))) {
			if (!curve && (b == BASE_MGWFBP || b == BASE_FIXED))
				die(EX_BADUSE, "%s: no such file, and no curve (-c) to plan by", name);
			plan_baseline(&c->plan, (enum baseline)b, g, curve);
			return;
		}
	die(EX_NOIN, "%s: no such plan", name);
}

static void check_memory(const struct grads *g, const struct candidate *c, size_t n, int ranks)
{
	double longest = 0, have = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
	for (size_t k = 0; k < n; k++) {
		size_t i = 0;
		for (size_t s = 0; s < c[k].plan.last.n; s++) {
			double bytes = 0;
			for (; i <= c[k].plan.last.a[s]; i++)
				bytes += g->at.a[i].bytes;
			longest = fmax(longest, bytes);
		}
	}
	longest /= opt.shrink;
	int here = opt.hosts ? 1 : ranks;
	if (longest * here > 0.5 * have)
		die(EX_NOTAVAIL, "a segment of %.1f GB in each of %d rank%s here: this machine has %.1f GB", longest * 1e-9, here,
		    here == 1 ? "" : "s", have * 1e-9);
}

static void tell(struct team *t, const struct grads *g, const struct candidate *c, size_t n)
{
	team_say(t, "grads %zu\n", g->at.n);
	for (size_t i = 0; i < g->at.n; i++)
		team_say(t, "%.2f %.3f\n", g->at.a[i].bytes / opt.shrink, g->at.a[i].ready);
	team_hear(t, "ok", true);
	for (size_t k = 0; k < n; k++) {
		team_say(t, "plan %zu\n", c[k].plan.last.n);
		for (size_t s = 0; s < c[k].plan.last.n; s++)
			team_say(t, "%u\n", c[k].plan.last.a[s]);
		team_hear(t, "ok", true);
	}
	if (opt.work) {
		team_say(t, "work\n");
		team_hear(t, "ok", true);
	}
}

/* An iteration ends with its slowest rank. */
static double iterate(struct team *t, size_t plan)
{
	double us = 0;
	team_say(t, "iterate %zu %s\n", plan, opt.work ? "work" : "sleep");
	team_hear(t, "took", true);
	for (int r = 0; r < t->n; r++)
		us = fmax(us, strtod(t->m[r].line, NULL));
	return us;
}

/* All plans in each round, beginning with another one every time; the first round warms up. */
static void measure(struct team *t, struct candidate *c, size_t n)
{
	int rounds = opt.iterations ? opt.iterations : 10;
	struct progress p;
	progress_start(&p, "iterations", (size_t)(rounds + 1) * n);
	for (int i = -1; i < rounds; i++)
		for (size_t j = 0; j < n; j++) {
			size_t k = (j + (size_t)(i + 1)) % n;
			double us = iterate(t, k);
			if (i >= 0)
				vec_push(&c[k].us, us);
			progress_step(&p, c[k].name);
		}
	progress_end(&p);
	for (size_t k = 0; k < n; k++) {
		c[k].sorted = xmalloc(c[k].us.n * sizeof(double));
		memcpy(c[k].sorted, c[k].us.a, c[k].us.n * sizeof(double));
		qsort(c[k].sorted, c[k].us.n, sizeof(double), ascending);
	}
}

static double quantile(const struct candidate *c, double q)
{
	double at = q * (double)(c->us.n - 1);
	size_t i = (size_t)at;
	return i + 1 < c->us.n ? c->sorted[i] + (at - (double)i) * (c->sorted[i + 1] - c->sorted[i]) : c->sorted[i];
}

static void print_json(FILE *f, const struct candidate *c, size_t n, const struct grads *g, bool predicted)
{
	fprintf(f, "{\"backward_us\": ");
	json_num(f, g->at.n ? g->at.a[g->at.n - 1].ready : 0);
	fprintf(f, ", \"compute\": \"%s\", \"plans\": [", opt.work ? "work" : "sleep");
	for (size_t k = 0; k < n; k++) {
		fprintf(f, "%s\n  {\"plan\": ", k ? "," : "");
		json_str(f, c[k].name);
		fprintf(f, ", \"segments\": %zu, \"predicted_us\": ", c[k].plan.last.n);
		json_num(f, predicted ? c[k].cost.end : NAN);
		fprintf(f, ", \"median_us\": ");
		json_num(f, quantile(&c[k], 0.5));
		fprintf(f, ", \"us\": [");
		for (size_t i = 0; i < c[k].us.n; i++)
			fprintf(f, "%s%.1f", i ? ", " : "", c[k].us.a[i]);
		fprintf(f, "]}");
	}
	fprintf(f, "\n]}\n");
}

static void print_table(FILE *f, const struct candidate *c, size_t n, const struct grads *g, bool predicted)
{
	double backward = g->at.n ? g->at.a[g->at.n - 1].ready : 0;
	fprintf(f, "%-20s %8s %12s %12s %25s %9s %12s\n", "plan", "segments", "predicted us", "measured us", "25 .. 75%", "meas/pred",
		"tail us");
	for (size_t k = 0; k < n; k++) {
		double median = quantile(&c[k], 0.5);
		fprintf(f, "%-20s %8zu ", c[k].name, c[k].plan.last.n);
		if (predicted)
			fprintf(f, "%12.1f", c[k].cost.end);
		else
			fprintf(f, "%12s", "-");
		fprintf(f, " %12.1f %11.1f .. %10.1f ", median, quantile(&c[k], 0.25), quantile(&c[k], 0.75));
		if (predicted && c[k].cost.end > 0)
			fprintf(f, "%9.3f", median / c[k].cost.end);
		else
			fprintf(f, "%9s", "-");
		fprintf(f, " %12.1f\n", fmax(0, median - backward));
	}
}

/* The fastest, with its times. */
static void remember_fastest(const struct candidate *c, size_t n, const struct grads *g, const struct curve *curve)
{
	const struct candidate *best = c;
	for (size_t k = 1; k < n; k++)
		if (quantile(&c[k], 0.5) < quantile(best, 0.5))
			best = &c[k];
	remember_plan(&best->plan, g, curve, best->us.a, best->us.n);
}

int grad_run(struct tool_args *a)
{
	struct team team;
	struct grads g;
	struct curve curve;
	struct outfile o;
	bool predicted = opt.curve || opt.alpha >= 0 || opt.beta >= 0 || opt.network;
	if (a->nfile < 2)
		die(EX_BADUSE, "expected a grads file and plans: files, best, or names of baselines as compare prints them");
	if (opt.mpi)
		die(EX_BADUSE, "run has its own ring; --mpi is for calibrate");
	size_t n = (size_t)a->nfile - 1;
	struct candidate *c = xcalloc(n, sizeof *c);
	if (predicted)
		read_curve(&curve);
	read_grads(&g, a->file[0]);
	for (size_t k = 0; k < n; k++) {
		read_candidate(&c[k], a->file[k + 1], &g, predicted ? &curve : NULL);
		if (predicted)
			c[k].cost = plan_cost(&c[k].plan, &g, &curve);
	}
	check_memory(&g, c, n, opt.ranks ? opt.ranks : 2);
	team_start(&team);
	tell(&team, &g, c, n);
	measure(&team, c, n);
	team_end(&team);
	outfile_open(&o, a->out, false);
	if (a->json)
		print_json(o.f, c, n, &g, predicted);
	else
		print_table(o.f, c, n, &g, predicted);
	outfile_close(&o);
	if (opt.model)
		remember_fastest(c, n, &g, &curve);
	for (size_t k = 0; k < n; k++) {
		plan_free(&c[k].plan);
		vec_free(&c[k].us);
		free(c[k].sorted);
	}
	free(c);
	grads_free(&g);
	if (predicted)
		curve_free(&curve);
	return EX_GOOD;
}
