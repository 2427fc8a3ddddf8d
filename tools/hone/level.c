/* The cost of rounding rows to bytes (ge-integer): outputs of the model with it and without, on drawn inputs, by the evaluator. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include "hone.h"

enum { DRAWN_MOST = 4 };

/* An output over all drawn inputs: its largest error, its rows, and in how many of them another element is the largest. */
struct seen {
	const char *output;
	double off, rows, flipped;
};
struct cost {
	VEC(struct seen) a; /* in the order of outputs */
	int drawn;
};

static double processor_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* ge-integer of the graph before it; more: an option, or NULL. The graph; NULL: it failed. */
static const char *integer_of(struct hone *h, const char *name, const char *more)
{
	struct child c = {0};
	const char *made = text(h, "%s/%s.g", h->work, name);

	words_add(&c.argv, "ge-integer");
	words_add(&c.argv, "--quiet");
	given_add(h, &c.argv, "integer");
	if (more)
		words_add(&c.argv, more);
	words_add(&c.argv, "-o");
	words_add(&c.argv, made);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->before_level);
	return child_run(h, &c, NULL) ? NULL : made;
}

/* Is the output what a state becomes? INPUT=OUTPUT of --alias. */
static bool is_kept(const struct hone *h, const char *output)
{
	size_t n = strlen(output);

	for (size_t i = 0; i < h->given.n; i++) {
		const char *v = h->given.a[i].value;
		size_t k = v ? strlen(v) : 0;
		if (!strcmp(h->given.a[i].row->name, "alias") && k > n && v[k - n - 1] == '=' && !strcmp(v + k - n, output))
			return true;
	}
	return false;
}

static void add_seen(struct cost *c, const char *output, const char *differs)
{
	struct seen x = {.output = output};
	size_t i = 0;

	if (sscanf(differs, "%lf %lf %lf", &x.off, &x.rows, &x.flipped) != 3)
		return;
	while (i < c->a.n && strcmp(c->a.a[i].output, output))
		i++;
	if (i == c->a.n) {
		vec_push(&c->a, x);
		return;
	}
	c->a.a[i].off = fmax(c->a.a[i].off, x.off);
	c->a.a[i].rows += x.rows;
	c->a.a[i].flipped += x.flipped;
}

/* The k-th text of that name; NULL: there are fewer. */
static const char *text_number(const struct facts *f, const char *name, size_t k)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, name) && !k--)
			return f->a[i].text;
	return NULL;
}

static void take(struct hone *h, const struct facts *f, struct cost *c)
{
	const char *output, *differs;

	for (size_t k = 0; (output = text_number(f, "output", k)) && (differs = text_number(f, "differs", k)); k++)
		if (!is_kept(h, output))
			add_seen(c, output, differs);
}

/* Compares the two graphs on inputs drawn from one more seed. false: *why not. */
static bool draw(struct hone *h, const char *rounded, const char *exact, double seconds, struct cost *cost, struct facts *f,
		 const char **why)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	words_add(&c.argv, "run-cmp");
	words_add(&c.argv, "--rewritten");
	words_add(&c.argv, "--argmax");
	words_add(&c.argv, "--tol=inf");
	words_add(&c.argv, text(h, "--seed=%d", cost->drawn));
	words_add(&c.argv, text(h, "--seconds=%.3f", seconds));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "--");
	words_add(&c.argv, rounded);
	words_add(&c.argv, exact);
	int code = child_run(h, &c, f);
	*why = facts_get(f, "error");
	if (code && code != EX_DIFFERENT)
		return false;
	take(h, f, cost);
	cost->drawn++;
	return true;
}

static void remark(struct hone *h, const struct seen *x, int drawn, const struct facts *f)
{
	const char *sizes = facts_get(f, "sizes");

	words_add(
		&h->remarks,
		text(h,
		     "rounding rows to bytes: %s differs by at most %.2g%% of its largest element; another element is the largest in %.0f of %.0f rows (%d drawn input%s%s)",
		     x->output, 100 * x->off, x->flipped, x->rows, drawn, drawn == 1 ? "" : "s", sizes ? sizes : ""));
}

/* The first output, which is what the model is for, and the one that is furthest off. */
static void remarks(struct hone *h, const struct cost *c, const struct facts *f)
{
	size_t far = 0;

	for (size_t i = 1; i < c->a.n; i++)
		if (c->a.a[i].off > c->a.a[far].off)
			far = i;
	remark(h, &c->a.a[0], c->drawn, f);
	if (far)
		remark(h, &c->a.a[far], c->drawn, f);
}

void level_cost(struct hone *h)
{
	const char *why = NULL;
	double seconds = h->level_seconds, start = processor_seconds();
	struct cost c = {0};
	struct facts f = {0}, last = {0};

	if (h->quiet || !h->before_level || !(seconds > 0))
		return;
	progress(h, "comparing with exact products");
	const char *rounded = integer_of(h, "rounded", NULL), *exact = integer_of(h, "exact", "--accuracy-level=1");
	bool more = rounded && exact;
	for (double used = 0; more && c.drawn < DRAWN_MOST;) {
		used = processor_seconds() - start;
		more = used + used / (c.drawn ? c.drawn : INFINITY) < seconds; /* one more takes as long as those before it */
		more = more && draw(h, rounded, exact, seconds - used, &c, &f, &why);
		last = more ? f : last;
	}
	if (c.a.n)
		remarks(h, &c, &last);
	else
		words_add(
			&h->remarks,
			text(h,
			     "rounding rows to bytes: what it changes was not measured: %s; --level-seconds S allows more, and run-cmp --argmax compares "
			     "two libraries",
			     why ? why : text(h, "it takes more than %g seconds", seconds)));
}
