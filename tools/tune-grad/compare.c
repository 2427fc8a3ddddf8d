/* tune-grad compare: predictions for our plan, those of others, and any more. */
#include <math.h>
#include <stdlib.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/vec.h"
#include "tune-grad.h"

struct row {
	const char *name;
	struct plan plan;
	struct plan_cost cost;
};
struct table {
	struct grads g;
	struct curve c;
	VEC(struct row) row;
	double bound, ready; /* us: no plan ends before; the last gradient is ready */
};

static void add_row(struct table *t, const char *name, struct plan p)
{
	vec_push(&t->row, (struct row){name, p, plan_cost(&p, &t->g, &t->c)});
}

static void fill_table(struct table *t, char **plan, int n)
{
	struct plan p = {0};
	t->bound = plan_lower_bound(&t->g, &t->c);
	t->ready = t->g.at.n ? t->g.at.a[t->g.at.n - 1].ready : 0;
	plan_best(&p, &t->g, &t->c, opt.segments, opt.slack);
	add_row(t, "tune-grad", p);
	if (opt.model && recall_plan(&p, &t->g))
		add_row(t, "remembered", p);
	for (int i = 0; i < n; i++) {
		plan_read(&p, plan[i], &t->g);
		add_row(t, plan[i], p);
	}
	for (int b = 0; b < BASELINE_COUNT; b++) {
		struct plan base = {0};
		plan_baseline(&base, (enum baseline)b, &t->g, &t->c);
		add_row(t, baseline_name((enum baseline)b), base);
	}
}

static void print_text(FILE *f, const struct table *t)
{
	fprintf(f, "%-16s %12s %12s %9s %12s %12s\n", "plan", "tail us", "end us", "segments", "busy us", "over bound");
	for (size_t i = 0; i < t->row.n; i++) {
		const struct row *r = &t->row.a[i];
		double over = t->bound > 0 ? 100 * (r->cost.end / t->bound - 1) : 0;
		fprintf(f, "%-16s %12.1f %12.1f %9zu %12.1f %11.2f%%\n", r->name, r->cost.tail, r->cost.end, r->cost.segments, r->cost.busy,
			over > 0 ? over : 0); /* equal but for rounding */
	}
	fprintf(f, "%-16s %12.1f %12.1f\n", "lower bound", fmax(0, t->bound - t->ready), t->bound);
	fprintf(f, "fixed closes segments at %.0f bytes\n", plan_fixed_size(&t->g, &t->c));
}

static void print_json(FILE *f, const struct table *t)
{
	fprintf(f, "{\"tensors\": %zu, \"ready_us\": %.3f, \"bound_us\": %.3f, \"fixed_bytes\": %.0f, \"plans\": [", t->g.at.n, t->ready,
		t->bound, plan_fixed_size(&t->g, &t->c));
	for (size_t i = 0; i < t->row.n; i++) {
		const struct row *r = &t->row.a[i];
		fputs(i ? ",\n {\"plan\": " : "\n {\"plan\": ", f);
		json_str(f, r->name);
		fprintf(f, ", \"tail_us\": %.3f, \"end_us\": %.3f, \"segments\": %zu, \"busy_us\": %.3f}", r->cost.tail, r->cost.end,
			r->cost.segments, r->cost.busy);
	}
	fputs("]}\n", f);
}

static void plot(const struct table *t)
{
	VEC(struct timeline) lines = {0};
	for (size_t i = 0; i < t->row.n; i++)
		vec_push(&lines, (struct timeline){t->row.a[i].name, &t->row.a[i].plan, t->row.a[i].cost});
	plot_timelines(opt.plot, &t->g, &t->c, lines.a, lines.n, t->bound);
	vec_free(&lines);
}

int grad_compare(struct tool_args *a)
{
	struct table t = {0};
	struct outfile o;
	if (a->nfile < 1)
		die(EX_BADUSE, "compare: expected a grads file, and plans if there are any");
	read_curve(&t.c);
	read_grads(&t.g, a->file[0]);
	fill_table(&t, a->file + 1, a->nfile - 1);
	if (opt.plot)
		plot(&t);
	outfile_open(&o, a->out, false);
	if (a->json)
		print_json(o.f, &t);
	else
		print_text(o.f, &t);
	outfile_close(&o);
	for (size_t i = 0; i < t.row.n; i++)
		plan_free(&t.row.a[i].plan);
	vec_free(&t.row);
	curve_free(&t.c);
	grads_free(&t.g);
	return EX_GOOD;
}
