/* How far a choice may move the numbers: measured, by the reference evaluator on the same inputs. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "graph/stream.h"
#include "mixed.h"
#include "op/op.h"

static struct tensor **outputs_of(struct module *m, const struct input_spec *inputs, struct arena *a)
{
	struct tensor **in = inputs_make(m, inputs, a), **out = ARENA_ARRAY(a, struct tensor *, graph(m, m->main)->out.n + 1);

	eval_graph(m, m->main, in, out, a, NULL);
	return out;
}

/* max|y - r| / max|r|. */
static double distance(const struct tensor *y, const struct tensor *r)
{
	double most = 0, scale = 0;

	if (!dtype_is_float(r->dtype))
		return 0;
	for (int64_t i = 0, n = tensor_count(r); i < n; i++) {
		double a = tensor_get(y, i), b = tensor_get(r, i);
		if (a == b || (a != a && b != b))
			continue;
		most = fmax(most, isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY);
	}
	for (int64_t i = 0, n = tensor_count(r); i < n; i++)
		scale = fmax(scale, isfinite(tensor_get(r, i)) ? fabs(tensor_get(r, i)) : 0);
	return most > 0 ? most / scale : 0;
}

/* Of the outputs, where the nodes of x->is_low are so. */
static double error_of(struct mixed *x, const struct input_spec *inputs, struct tensor **want)
{
	struct arena a = {0};
	struct stream_fault fault;
	size_t n, pos = 0;
	char *bytes = stream_bytes(x->m, false, &n);
	struct mixed y = {
		.m = stream_parse(bytes, n, &pos, x->m->source, &fault), .c = x->c, .arena = &a, .low = x->low, .drops = x->drops};
	double error = 0;

	if (!y.m)
		BUG("a module does not survive its stream");
	mixed_find(&y, NULL, 0);
	if (y.thing.n != x->thing.n)
		BUG("a copy has other things");
	memcpy(y.is_low, x->is_low, x->thing.n * sizeof *x->is_low);
	mixed_apply(&y);
	struct tensor **out = outputs_of(y.m, inputs, &a);
	for (size_t i = 0; i < graph(x->m, x->m->main)->out.n; i++)
		error = fmax(error, distance(out[i], want[i]));
	mixed_free(&y);
	module_free(y.m);
	free(bytes);
	arena_release(&a);
	return error;
}

double mixed_error(struct mixed *x, const struct input_spec *inputs)
{
	struct arena a = {0};
	double error = error_of(x, inputs, outputs_of(x->m, inputs, &a));

	arena_release(&a);
	return error;
}

bool mixed_changed(const struct mixed *x, uint32_t i) { return x->is_low[i] != (x->low == DT_U8); }

/* By the other form than the one that it has in the model. */
static double gain(const struct mixed *x, uint32_t i)
{
	const double *s = x->thing.a[i].seconds;

	return x->low == DT_U8 ? s[FORM_LOW] - s[FORM_HIGH] : s[FORM_HIGH] - s[FORM_LOW];
}

static int by_gain(const void *a, const void *b, void *arg)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	double x = gain(arg, i), y = gain(arg, k);

	return x != y ? (x < y) - (x > y) : (i > k) - (i < k);
}

struct bound {
	struct mixed *x;
	double most, error; /* of what is accepted */
	const struct input_spec *inputs;
	void (*choose)(struct mixed *);
	struct tensor **want;
	const uint32_t *order;
};

static void set_bounded(struct bound *b, uint32_t first, uint32_t end, bool bounded)
{
	for (uint32_t i = first; i < end; i++)
		b->x->thing.a[b->order[i]].bounded = bounded;
}

/* Bisects order[first..end): accepts all that keep within the error beside what is accepted. */
static void accept(struct bound *b, uint32_t first, uint32_t end)
{
	if (first == end)
		return;
	set_bounded(b, first, end, false);
	b->choose(b->x);
	double error = error_of(b->x, b->inputs, b->want);
	if (error <= b->most) {
		b->error = error;
		return;
	}
	set_bounded(b, first, end, true);
	if (end - first > 1) {
		accept(b, first, first + (end - first) / 2);
		accept(b, first + (end - first) / 2, end);
	}
}

double mixed_bound(struct mixed *x, double most, const struct input_spec *inputs, void (*choose)(struct mixed *))
{
	struct arena a = {0};
	uint32_t *order = xcalloc(x->thing.n, sizeof *order), n = 0;
	struct bound b = {x, most, 0, inputs, choose, outputs_of(x->m, inputs, &a), order};

	for (uint32_t i = 1; i < x->thing.n; i++)
		if (mixed_changed(x, i) && (x->low == DT_U8 || may_be(node(x->m, x->thing.a[i].node)->op, x->low) == MAY_ALLOW))
			order[n++] = i;
	qsort_r(order, n, sizeof *order, by_gain, x);
	set_bounded(&b, 0, n, true);
	accept(&b, 0, n);
	choose(x);
	free(order);
	arena_release(&a);
	return b.error;
}
