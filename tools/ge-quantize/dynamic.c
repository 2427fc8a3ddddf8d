/* Products whose first operand is quantised each time they run, by its range then. */
#include <string.h>
#include "build.h"

/* What quantises x, for all that read it. */
static const val_id *quantised_operand(struct build *b, val_id x)
{
	if (!b->dynamic[x])
		b->dynamic[x] = node_new(b->m, b->m->main, OP_DynamicQuantizeLinear, 1, &x, 3);
	return node(b->m, b->dynamic[x])->out;
}

/* Weights for a product of rows with columns. */
static const int8_t *columns_last(const struct weights_at *at, const struct tensor *w, const struct rounded_weights *r, int64_t *dims,
				  struct arena *a)
{
	if (at->axis != 0)
		return r->q;
	int8_t *t = arena_alloc(a, (size_t)(w->dims[0] * w->dims[1]));
	for (int64_t i = 0; i < w->dims[0]; i++)
		for (int64_t k = 0; k < w->dims[1]; k++)
			t[k * w->dims[0] + i] = r->q[i * w->dims[1] + k];
	dims[0] = w->dims[1];
	dims[1] = w->dims[0];
	return t;
}

/* Numbers of the result's channels, shaped so that they meet their channel where they are multiplied or added. */
static val_id by_channel(struct build *b, val_id of, const char *what, const struct tensor *w, bool window, const float *v, int64_t n)
{
	int64_t dims[RANK_MAX];

	dims[0] = n;
	for (int k = 1; k < w->rank - 1; k++)
		dims[k] = 1;
	return constant(b, of, what, DT_F32, window ? w->rank - 1 : 1, dims, v);
}

static val_id product(struct build *b, node_id id, const struct weights_at *at, const struct tensor *w, const struct rounded_weights *r)
{
	struct node n = *node(b->m, id);
	bool window = op_is(n.op, OP_WINDOW);
	const val_id *x = quantised_operand(b, n.in[0]);
	val_id bytes = x[0], zero = x[2];
	int64_t dims[RANK_MAX];

	memcpy(dims, w->dims, sizeof *dims * (size_t)w->rank);
	const int8_t *q = window ? r->q : columns_last(at, w, r, dims, &b->m->arena);
	val_id wide = constant(b, n.in[1], "q", DT_I8, w->rank, dims, q);
	val_id sum = add_node(b, window ? OP_ConvInteger : OP_MatMulInteger, 3, (val_id[]){bytes, wide, zero});
	for (uint32_t i = 0; window && i < n.nattr; i++)
		attr_set(b->m, val(b->m, sum)->def, n.attr[i]);
	return sum;
}

void quantize_dynamic(struct build *b, node_id id, const struct weights_at *at, const struct tensor *w, const struct rounded_weights *r,
		      const double *bias)
{
	struct node n = *node(b->m, id);
	bool window = op_is(n.op, OP_WINDOW);
	val_id scale = quantised_operand(b, n.in[0])[1], sum = product(b, id, at, w, r), real = add_node(b, OP_Cast, 1, &sum);

	attr_set_int(b->m, val(b->m, real)->def, "to", dtype_to_onnx(DT_F32));
	val_id both = add_node(b, OP_Mul, 2, (val_id[]){scale, by_channel(b, n.in[1], "scale", w, window, r->scale, r->n)});
	val_id y = add_node(b, OP_Mul, 2, (val_id[]){real, both});
	if (bias) {
		float *v = ARENA_ARRAY(&b->m->arena, float, r->n);
		for (int64_t c = 0; c < r->n; c++)
			v[c] = (float)bias[c];
		y = add_node(b, OP_Add, 2, (val_id[]){y, by_channel(b, n.out[0], "bias", w, window, v, r->n)});
	} else if (at->bias > 0 && (uint32_t)at->bias < n.nin && n.in[at->bias]) {
		y = add_node(b, OP_Add, 2, (val_id[]){y, n.in[at->bias]});
	}
	val(b->m, y)->name = val(b->m, n.out[0])->name;
	node(b->m, val(b->m, sum)->def)->name = n.name;
	vec_push(&b->replaced, (struct replaced){id, y});
}

void dynamic_end(struct build *b)
{
	bool *dead = xcalloc(b->m->nodes.n, sizeof *dead);
	val_id *fwd = xcalloc(b->m->values.n, sizeof *fwd);

	for (size_t i = 0; i < b->replaced.n; i++) {
		dead[b->replaced.a[i].node] = true;
		fwd[node(b->m, b->replaced.a[i].node)->out[0]] = b->replaced.a[i].by;
	}
	if (b->replaced.n) {
		module_forward(b->m, fwd);
		module_drop_nodes(b->m, dead);
	}
	vec_free(&b->replaced);
	free(dead);
	free(fwd);
}
