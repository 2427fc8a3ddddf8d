#include "outputs.h"
#include <math.h>
#include <string.h>
#include "common/progress.h"
#include "op/op.h"

enum { SAMPLES_MOST = 100, SECONDS_MOST = 10 };

static bool is_number(enum dtype t) { return dtype_is_float(t) || dtype_is_int(t) || t == DT_BOOL; }

static uint32_t channels_of(const struct tensor *t, int64_t *inner)
{
	int axis = t->rank > 3 ? 1 : t->rank - 1;

	*inner = 1;
	for (int k = axis + 1; k < t->rank; k++)
		*inner *= t->dims[k];
	return axis >= 0 && t->dims[axis] <= STAT_CHANNELS_MAX ? (uint32_t)t->dims[axis] : 0;
}

static void add_floats(struct output_error *o, const struct tensor *r, const struct tensor *y, struct arena *a)
{
	int64_t inner, n = tensor_count(r);
	uint32_t channels = channels_of(r, &inner);

	if (!o->channel) {
		o->channels = channels;
		o->channel = ARENA_ARRAY(a, double, 2 * (size_t)channels + 1);
	}
	if (o->channels != channels) /* it is of another size for each sample */
		o->channels = 0;
	for (int64_t i = 0; i < n; i++) {
		double v = tensor_get(r, i), d = tensor_get(y, i) - v;
		if (!isfinite(v) || !isfinite(d))
			continue;
		o->error += d * d;
		o->power += v * v;
		if (o->channels) {
			double *c = o->channel + 2 * (i / inner % channels);
			c[0] += d * d;
			c[1] += v * v;
		}
	}
}

static int64_t greatest(const struct tensor *t, int64_t from, int64_t n)
{
	int64_t at = 0;

	for (int64_t i = 1; i < n; i++)
		at = tensor_get(t, from + i) > tensor_get(t, from + at) ? i : at;
	return at;
}

static void add_rows(struct output_error *o, const struct tensor *r, const struct tensor *y)
{
	int64_t n = tensor_count(r), row = o->floats && r->rank ? r->dims[r->rank - 1] : 1;

	if (o->floats && row < 2)
		return;
	for (int64_t i = 0; i < n; i += row) {
		o->rows++;
		o->same += o->floats ? greatest(r, i, row) == greatest(y, i, row) : tensor_get(r, i) == tensor_get(y, i);
	}
}

static void add(struct output_error *o, const struct tensor *r, const struct tensor *y, struct arena *a)
{
	bool alike = r && y && r->kind == KIND_TENSOR && y->kind == KIND_TENSOR && r->rank == y->rank &&
		     !memcmp(r->dims, y->dims, sizeof *r->dims * (size_t)r->rank);

	if (!alike || !is_number(r->dtype) || !is_number(y->dtype))
		return;
	if (o->floats)
		add_floats(o, r, y, a);
	add_rows(o, r, y);
}

static void run_one(struct module *m, struct tensor **in, struct tensor **out, struct arena *a)
{
	eval_graph(m, m->main, in, out, a, &(struct eval_hooks){0});
}

void outputs_compare(struct plan *p, struct module *quantised, struct samples *from, struct output_errors *e)
{
	struct module *m = plan_module(p);
	const struct graph *g = graph(m, m->main);
	double begin = now_seconds();
	struct progress bar;

	for (size_t i = 0; i < g->out.n; i++)
		vec_push(&e->of, (struct output_error){.name = sym_str(g->out_name.a[i]),
						       .floats = dtype_is_float(val(m, g->out.a[i])->type.dtype)});
	progress_start(&bar, "comparing outputs", 0);
	while (e->samples < SAMPLES_MOST && (!e->samples || now_seconds() - begin < SECONDS_MOST)) {
		struct arena a = {0};
		struct tensor **in = ARENA_ARRAY(&a, struct tensor *, g->in.n + 1), **r = ARENA_ARRAY(&a, struct tensor *, g->out.n + 1),
			      **y = ARENA_ARRAY(&a, struct tensor *, g->out.n + 1);
		bool more = samples_next(from, in, &a);
		if (more) {
			run_one(m, in, r, &a);
			run_one(quantised, in, y, &a);
			for (size_t i = 0; i < g->out.n; i++)
				add(&e->of.a[i], r[i], y[i], &p->arena);
			e->samples++;
		}
		arena_release(&a);
		if (!more)
			break;
	}
	progress_end(&bar);
	module_free(m);
}

bool output_worst(const struct output_error *o, uint32_t *channel, double *error)
{
	bool any = false;

	for (uint32_t c = 0; c < o->channels; c++) {
		double power = o->channel[2 * c + 1], part = power > 0 ? o->channel[2 * c] / power : 0;
		if (power > 0 && (!any || part > *error)) {
			*channel = c;
			*error = part;
			any = true;
		}
	}
	return any && o->channels > 1;
}
