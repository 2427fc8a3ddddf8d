/* hone build --dry-run: what would run each step, before anything is compiled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/shown.h"
#include "hone.h"

static void add_share(struct coverage *c, const struct covered *s)
{
	bool kernel = !strcmp(s->as, "kernel"), native = !strcmp(s->as, "native"), slow = !strcmp(s->as, "slow path");
	struct covered_by *by = kernel ? &c->kernels : native ? &c->native : slow ? &c->slow : &c->flow;

	by->steps++;
	by->picoseconds += s->picoseconds;
	c->picoseconds += s->picoseconds;
}

/* The k-th text of each of the four names belongs to step k. */
void coverage_take(struct hone *h, const struct facts *f)
{
	struct coverage *c = &h->coverage;
	size_t as = 0, why = 0, time = 0;

	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, "step"))
			vec_push(&c->steps, (struct covered){.name = f->a[i].text});
	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->a[i].name, *value = f->a[i].text;
		if (value && !strcmp(name, "as") && as < c->steps.n)
			c->steps.a[as++].as = value;
		else if (value && !strcmp(name, "why") && why < c->steps.n)
			c->steps.a[why++].why = value;
		else if (value && !strcmp(name, "picoseconds") && time < c->steps.n)
			c->steps.a[time++].picoseconds = atof(value);
	}
	for (size_t i = 0; i < c->steps.n; i++)
		add_share(c, &c->steps.a[i]);
	c->is_known = true;
}

static double share(const struct coverage *c, double picoseconds) { return c->picoseconds > 0 ? picoseconds / c->picoseconds : NAN; }

static void put_sum(FILE *f, const struct coverage *c, const char *name, const struct covered_by *by)
{
	fprintf(f, "%-12s %6d", name, by->steps);
	if (by->picoseconds > 0)
		fprintf(f, " %9.1f us %6.1f%%", 1e-6 * by->picoseconds, 100 * share(c, by->picoseconds));
	else
		fprintf(f, " %12s %7s", by->steps ? "?" : "-", "");
	putc('\n', f);
}

static int by_time(const void *x, const void *y)
{
	const struct covered *a = *(const struct covered *const *)x, *b = *(const struct covered *const *)y;

	return a->picoseconds != b->picoseconds ? (a->picoseconds < b->picoseconds ? 1 : -1) : (a > b) - (a < b);
}

/* The report: what runs the steps, the steps without a kernel and why, the longest kernels. */
void coverage_report(const struct hone *h, FILE *f)
{
	enum { LONGEST = 8 };
	const struct coverage *c = &h->coverage;
	const struct covered **order = xcalloc(c->steps.n + 1, sizeof *order);

	fprintf(f, "%-12s %6s %12s %7s\n", "runs as", "steps", "predicted", "share");
	put_sum(f, c, "kernel", &c->kernels);
	put_sum(f, c, "native", &c->native);
	put_sum(f, c, "slow path", &c->slow);
	put_sum(f, c, "flow", &c->flow);
	for (size_t i = 0; i < c->steps.n; i++) {
		const struct covered *s = &c->steps.a[i];
		if (!strcmp(s->as, "native") || !strcmp(s->as, "slow path"))
			fprintf(f, "%s: %s: %s\n", s->as, shown(s->name), s->why);
		order[i] = s;
	}
	qsort(order, c->steps.n, sizeof *order, by_time);
	for (size_t i = 0; i < c->steps.n && i < LONGEST && order[i]->picoseconds > 0; i++)
		fprintf(f, "%s%-60s %9.1f us %6.1f%%\n", i ? "" : "\nlongest:\n", shown(order[i]->name), 1e-6 * order[i]->picoseconds,
			100 * share(c, order[i]->picoseconds));
	free(order);
}

static void put_member(FILE *f, const char *name, const char *value)
{
	json_str(f, name);
	fputs(": ", f);
	json_str(f, value);
}

/* One object; null where a time is not known. */
void coverage_json(const struct hone *h, FILE *f)
{
	const struct coverage *c = &h->coverage;

	fprintf(f, "{\"kernels\": %d, \"native\": %d, \"slow_path\": %d, \"flow\": %d, \"steps\": [", c->kernels.steps, c->native.steps,
		c->slow.steps, c->flow.steps);
	for (size_t i = 0; i < c->steps.n; i++) {
		const struct covered *s = &c->steps.a[i];
		fputs(i ? ",\n  {" : "\n  {", f);
		put_member(f, "name", s->name);
		fputs(", ", f);
		put_member(f, "as", s->as);
		fputs(", ", f);
		put_member(f, "why", s->why);
		fputs(", \"picoseconds\": ", f);
		json_num(f, s->picoseconds > 0 ? s->picoseconds : NAN);
		fputs("}", f);
	}
	fputs("]}", f);
}
