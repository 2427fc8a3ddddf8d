/* Operators of other domains in ONNX's words: what lib/onnx/contrib/, ml.c and preview.c share. They stand before the node that they
 * replace, and the last of them takes its results. */
#ifndef HONE_CONTRIB_H
#define HONE_CONTRIB_H
#include "onnx/import.h"
#include "op/op.h"

struct contrib {
	struct importer *c;
	struct module *m;
	node_id id;
	size_t first; /* nodes from here on stand for it */
};

static inline const struct node *self(struct contrib *x) { return node(x->m, x->id); }
static inline val_id operand(struct contrib *x, uint32_t i) { return i < self(x)->nin ? self(x)->in[i] : 0; }
static inline bool wants(struct contrib *x, uint32_t k) { return k < self(x)->nout && self(x)->out[k]; }

static inline val_id make(struct contrib *x, enum opcode op, int nin, const val_id *in)
{
	node_id n;

	while (nin && !in[nin - 1])
		nin--;
	n = node_new(x->m, self(x)->graph, op, nin, in, 1);
	return node(x->m, n)->out[0];
}

static inline node_id made(struct contrib *x, val_id v) { return val(x->m, v)->def; }
static inline val_id un(struct contrib *x, enum opcode op, val_id a) { return make(x, op, 1, &a); }
static inline val_id bin(struct contrib *x, enum opcode op, val_id a, val_id b) { return make(x, op, 2, (val_id[]){a, b}); }
static inline val_id tri(struct contrib *x, enum opcode op, val_id a, val_id b, val_id c) { return make(x, op, 3, (val_id[]){a, b, c}); }

/* v, with an attribute of its node. */
static inline val_id with_int(struct contrib *x, val_id v, const char *attr, int64_t n)
{
	attr_set_int(x->m, made(x, v), attr, n);
	return v;
}
static inline val_id with_float(struct contrib *x, val_id v, const char *attr, double f)
{
	attr_set_float(x->m, made(x, v), attr, f);
	return v;
}

static inline void keep(struct contrib *x, val_id v, const char *attr)
{
	const struct attr *a = attr_find(self(x), attr);

	if (a)
		attr_set(x->m, made(x, v), *a);
}

/* v, the first result of a node made here, is result k. */
static inline bool result_is(struct contrib *x, uint32_t k, val_id v)
{
	val_id out = self(x)->out[k];
	node_id p = made(x, v);

	node(x->m, p)->out[0] = out;
	node(x->m, p)->name = self(x)->name;
	val(x->m, out)->def = p;
	val(x->m, out)->index = 0;
	return true;
}
static inline bool done(struct contrib *x, val_id v) { return !wants(x, 0) || result_is(x, 0, v); }

/* v is result k too, if that is wanted; others may read v. */
static inline void also(struct contrib *x, uint32_t k, val_id v)
{
	if (wants(x, k))
		result_is(x, k, un(x, OP_Identity, v));
}

/* values.c: what is known of v's type, rank and extents; nodes before it are inferred for that. */
const struct type *contrib_type(struct contrib *x, val_id v);
/* A node made here that has no name is named after the one that it stands for, NODE/OPERATOR/1, 2, ...: messages lead to the file. */
void contrib_name(struct contrib *x, node_id made);
int contrib_rank(struct contrib *x, val_id v);
bool contrib_extent(struct contrib *x, val_id v, int axis, int64_t *n);
bool contrib_fixed(struct contrib *x, uint32_t i, int axis, int64_t *n); /* the same of operand i; axes from the last are negative */
val_id contrib_cast(struct contrib *x, val_id v, enum dtype t);          /* v itself, if it is of type t */
val_id contrib_ints(struct contrib *x, int n, const int64_t *v);
val_id contrib_scalar(struct contrib *x, enum dtype t, double c);
val_id contrib_number(struct contrib *x, double c); /* f32 */
val_id contrib_reshaped(struct contrib *x, val_id v, int n, const int64_t *dims);
val_id contrib_transposed(struct contrib *x, val_id v, int n, const int64_t *perm);
val_id contrib_channels(struct contrib *x, val_id v, int rank, bool first);             /* v with channels behind the batch, or last */
val_id contrib_joined(struct contrib *x, int n, const val_id *v, int64_t axis);         /* Concat */
val_id contrib_size(struct contrib *x, val_id v, int axis);                             /* extent `axis` at run time: i64[1] */
val_id contrib_part(struct contrib *x, val_id v, int64_t axis, val_id from, val_id to); /* Slice; from and to: i64[1] */
/* v split along `axis` in n parts: of sizes[i], or all alike where sizes is NULL. */
const val_id *contrib_split(struct contrib *x, val_id v, int64_t axis, int n, const int64_t *sizes);
val_id contrib_shaped_like(struct contrib *x, enum opcode op, val_id g, val_id v); /* op, Reshape or Expand, of g to v's shape */
val_id contrib_filled_like(struct contrib *x, val_id v, enum dtype t, double c);   /* of v's shape */

/* Operators of the domain ai.onnx.ml (ml.c). false: not one that ONNX has words for. */
bool ml_expand(struct contrib *x);
/* Operators of the domains ai.onnx.preview and ai.onnx.preview.training (preview.c). false: not one of them. */
bool preview_expand(struct contrib *x);
/* Gradient (gradient.c). */
bool gradient_expand(struct contrib *x);
#endif
