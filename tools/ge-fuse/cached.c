/* Attention to caches that grow, in the one form whose caches stay where they are (op/past.h): Attention with an axis for heads. Files have it with
 * heads side by side, or as two products and a softmax of keys and values that are joined, and repeated for the queries that share them. */
#include <string.h>
#include "fuse.h"
#include "op/op.h"
#include "op/past.h"

enum { QUERY, KEY, VALUE, MASK, PAST_KEY, PAST_VALUE, VALID, KEY_SCALE, VALUE_SCALE, OPERANDS };

static bool is_fixed(struct rewrite *rw, val_id v, int axis, int64_t *n)
{
	const struct type *t = rw_type(rw, v);

	return axis < t->rank && t->dims[axis] && poly_is_const(rw_module(rw)->dims, t->dims[axis], n);
}

static bool is_input(struct rewrite *rw, val_id v) { return v && val(rw_module(rw), v)->kind == VAL_INPUT; }

/* ---- products and a softmax ---- */

/* Queries, keys and values with axes for batch, heads, rows and numbers. */
struct products {
	val_id q, k, v, bias;
	double scale;
};

/* The value of which v, of rank 4, repeats each head; v itself if it repeats none. */
static val_id unrepeated(struct rewrite *rw, val_id v)
{
	node_id join = rw_def(rw, v, OP_Reshape), wide = join ? rw_def(rw, rw_in(rw, join, 0), OP_Expand) : 0;
	node_id apart = wide ? rw_def(rw, rw_in(rw, wide, 0), OP_Reshape) : 0;
	int64_t g, r, one, h;

	apart = wide && !apart ? rw_def(rw, rw_in(rw, wide, 0), OP_Unsqueeze) : apart;
	if (!apart)
		return v;
	val_id x = rw_in(rw, apart, 0), y = rw_in(rw, wide, 0), z = rw_in(rw, join, 0);
	const struct type *t = rw_type(rw, x), *u = rw_type(rw, z), *s = rw_type(rw, v);
	if (t->rank != 4 || u->rank != 5 || s->rank != 4 || rw_type(rw, y)->rank != 5 || !is_fixed(rw, x, 1, &g) ||
	    !is_fixed(rw, y, 2, &one) || !is_fixed(rw, z, 1, &h) || h != g || !is_fixed(rw, z, 2, &r) || one != 1 ||
	    !is_fixed(rw, v, 1, &h) || h != g * r)
		return v;
	for (int i = 0; i < 4; i++)
		if (i != 1 && (!t->dims[i] || t->dims[i] != s->dims[i] || t->dims[i] != u->dims[i < 2 ? i : i + 1] ||
			       t->dims[i] != rw_type(rw, y)->dims[i < 2 ? i : i + 1]))
			return v;
	return x;
}

/* Takes the bias and the scale off the scores, which are q times k transposed. */
static bool read_scores(struct rewrite *rw, val_id s, struct products *p)
{
	static const int64_t columns[] = {0, 1, 3, 2};
	node_id add = rw_def1(rw, s, OP_Add), mul, div, turn;
	int n;

	p->scale = 1;
	for (uint32_t i = 0; add && i < 2; i++) {
		val_id v = rw_in(rw, add, i);
		if (rw_def1(rw, v, OP_Mul) || rw_def1(rw, v, OP_Div) || rw_def1(rw, v, OP_MatMul)) {
			p->bias = rw_in(rw, add, 1 - i);
			s = v;
			break;
		}
	}
	if ((mul = rw_def1(rw, s, OP_Mul)) && !rw_with_scalar(rw, mul, &s, &p->scale))
		return false;
	if ((div = rw_def1(rw, s, OP_Div))) {
		if (!rw_scalar(rw, rw_in(rw, div, 1), &p->scale) || p->scale == 0)
			return false;
		p->scale = 1 / p->scale;
		s = rw_in(rw, div, 0);
	}
	node_id product = rw_def1(rw, s, OP_MatMul);
	if (!product || !(turn = rw_def(rw, rw_in(rw, product, 1), OP_Transpose)))
		return false;
	const int64_t *perm = attr_ints(node(rw_module(rw), turn), "perm", &n);
	p->q = rw_in(rw, product, 0);
	p->k = unrepeated(rw, rw_in(rw, turn, 0));
	return n == 4 && !memcmp(perm, columns, sizeof columns);
}

/* v as it is stored, if it is of a narrower type there. */
static val_id stored(struct rewrite *rw, val_id v)
{
	node_id mul = rw_def(rw, v, OP_Mul), cast = rw_def(rw, mul ? rw_in(rw, mul, 0) : v, OP_Cast);

	return cast ? rw_in(rw, cast, 0) : v;
}

/* Is v what a cache becomes: an output that joins an input and new rows? */
static bool is_cache(struct rewrite *rw, val_id v)
{
	v = stored(rw, v);
	node_id join = rw_def(rw, v, OP_Concat);
	int64_t rows;

	return join && rw_is_output(rw, v) && rw_type(rw, v)->rank == 4 && is_input(rw, rw_in(rw, join, 0)) && !is_fixed(rw, v, 2, &rows);
}

/* Is the bias, axis by axis from the last, of the size of the scores, or of one? All keys must have one. */
static bool bias_fits(struct rewrite *rw, const struct products *p)
{
	const struct type *t = p->bias ? rw_type(rw, p->bias) : NULL, *q = rw_type(rw, p->q);
	const dim want[] = {q->dims[0], q->dims[1], q->dims[2], rw_type(rw, p->k)->dims[2]};
	int64_t one;

	if (!t)
		return true;
	if (t->rank < 1 || t->rank > 4 || t->dtype != q->dtype)
		return false;
	for (int i = 0; i < t->rank; i++) {
		dim d = t->dims[i], w = want[4 - t->rank + i];
		if (!d || (d != w && (i == t->rank - 1 || !is_fixed(rw, p->bias, i, &one) || one != 1)))
			return false;
	}
	return true;
}

static bool fit_each_other(struct rewrite *rw, const struct products *p)
{
	const struct type *q = rw_type(rw, p->q), *k = rw_type(rw, p->k), *v = rw_type(rw, p->v);
	int64_t h, g, other, size;

	return q->rank == 4 && (q->dtype == DT_F32 || q->dtype == DT_F64) && k->dtype == q->dtype && v->dtype == q->dtype &&
	       is_fixed(rw, p->q, 1, &h) && is_fixed(rw, p->k, 1, &g) && is_fixed(rw, p->v, 1, &other) && g == other && g && h % g == 0 &&
	       is_fixed(rw, p->q, 3, &size) && is_fixed(rw, p->k, 3, &other) && size == other && is_fixed(rw, p->v, 3, &other) &&
	       q->dims[0] && q->dims[2] && q->dims[0] == k->dims[0] && q->dims[0] == v->dims[0] && k->dims[2] == v->dims[2];
}

static const char *gather(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	node_id soft = rw_def1(rw, rw_in(rw, n, 0), OP_Softmax);
	struct products p = {0};
	int64_t axis = soft ? attr_i(node(m, soft), "axis") : 0;

	if (!soft || (axis != -1 && axis != 3) || rw_type(rw, rw_in(rw, n, 0))->rank != 4 || !read_scores(rw, rw_in(rw, soft, 0), &p))
		return NO_MATCH;
	p.v = unrepeated(rw, rw_in(rw, n, 1));
	if (!is_cache(rw, p.k) || !is_cache(rw, p.v))
		return "keys and values are no caches that grow";
	if (!fit_each_other(rw, &p) || !bias_fits(rw, &p))
		return "the sizes of queries, keys, values and what is added are not known to fit";
	val_id y = rw_node(rw, n, OP_Attention, p.bias ? 4 : 3, (val_id[]){p.q, p.k, p.v, p.bias});
	attr_set_float(m, rw_node_of(rw, y), "scale", (float)p.scale);
	rw_replace(rw, node(m, n)->out[0], y);
	return NULL;
}

/* ---- caches of a narrower type ---- */

/* Are both of the same shape, which is known? */
static bool same_shape(struct rewrite *rw, val_id a, val_id b)
{
	const struct type *x = rw_type(rw, a), *y = rw_type(rw, b);

	for (int k = 0; k < x->rank && x->rank == y->rank; k++)
		if (!x->dims[k] || x->dims[k] != y->dims[k])
			return false;
	return x->rank >= 0 && x->rank == y->rank;
}

/* v is codes of 8 bits times scales, as numbers of type t: *codes and *scales, which broadcast to them. */
static bool is_coded(struct rewrite *rw, val_id v, enum dtype t, val_id *codes, val_id *scales)
{
	node_id mul = rw_def(rw, v, OP_Mul);

	for (uint32_t i = 0; i < 2 && mul; i++) {
		node_id cast = rw_def(rw, rw_in(rw, mul, i), OP_Cast);
		if (!cast)
			continue;
		*codes = rw_in(rw, cast, 0);
		*scales = rw_in(rw, mul, 1 - i);
		return t == DT_F32 && rw_type(rw, v)->dtype == t && rw_type(rw, *codes)->dtype == DT_I8 &&
		       rw_type(rw, *scales)->dtype == t && rw_type(rw, *codes)->rank == 4 && same_shape(rw, *codes, v);
	}
	return false;
}

/* Attention n with codes for keys and values, or for one of them, which are the operands `in`. */
static void read_codes(struct rewrite *rw, node_id n, const val_id *in)
{
	struct module *m = rw_module(rw);
	uint32_t nin = in[VALUE_SCALE] ? OPERANDS : VALUE_SCALE;
	val_id y = rw_nodes_out(rw, n, OP_Attention, (int)nin, in, (int)node(m, n)->nout);

	rw_copy_attrs(rw, rw_node_of(rw, y), n);
	for (uint32_t k = 0; k < node(m, n)->nout; k++)
		if (node(m, n)->out[k])
			rw_replace(rw, node(m, n)->out[k], node(m, rw_node_of(rw, y))->out[k]);
}

/* Keys or values are read as codes, if they are stored so. */
static const char *as_codes(struct rewrite *rw, node_id n)
{
	enum dtype q = rw_type(rw, rw_in(rw, n, QUERY))->dtype;
	val_id in[OPERANDS] = {0}, codes, scales;
	bool any = false;

	if (rw_in(rw, n, PAST_KEY) || rw_type(rw, rw_in(rw, n, QUERY))->rank != 4)
		return NO_MATCH;
	for (uint32_t i = 0; i < OPERANDS; i++)
		in[i] = rw_in(rw, n, i);
	for (uint32_t i = KEY; i <= VALUE; i++)
		if (!in[i + KEY_SCALE - KEY] && is_coded(rw, in[i], q, &codes, &scales)) {
			in[i] = codes;
			in[i + KEY_SCALE - KEY] = scales;
			any = true;
		}
	if (!any)
		return NO_MATCH;
	read_codes(rw, n, in);
	return NULL;
}

/* Keys or values are read as they are stored. */
static const char *as_stored(struct rewrite *rw, node_id n)
{
	bool any = false;

	for (uint32_t i = KEY; i <= VALUE && !rw_in(rw, n, PAST_KEY); i++) {
		node_id cast = rw_def(rw, rw_in(rw, n, i), OP_Cast);
		enum dtype t = cast ? rw_type(rw, rw_in(rw, cast, 0))->dtype : DT_NONE, q = rw_type(rw, rw_in(rw, n, QUERY))->dtype;
		if ((t != DT_F16 && t != DT_BF16) || q != DT_F32 || rw_type(rw, rw_in(rw, n, i))->dtype != q)
			continue;
		rw_set_in(rw, n, i, rw_in(rw, cast, 0));
		any = true;
	}
	return any ? NULL : NO_MATCH;
}

/* These are no rules of ge-simplify: each time there is a softmax, or what stands between a cache and Attention, less. */
static const struct rule rules[] = {
	{"gather-attention", OP_MatMul, gather, "MatMul, Softmax, MatMul of caches that grow become Attention", MEASURE_WORK},
	{"as-codes", OP_Attention, as_codes, "Attention reads keys and values as codes and scales", MEASURE_WORK},
	{"as-stored", OP_Attention, as_stored, "Attention reads keys and values in the type in which they are kept", MEASURE_WORK},
};

void find_cached(struct module *m, const struct pass_ctx *c)
{
	struct rule_run run[] = {{.rule = &rule_heads_apart}, {.rule = &rules[0]}, {.rule = &rules[1]}, {.rule = &rules[2]}};
	uint32_t applied = 0;

	rewrite_module(m, run, 4, c, false);
	for (int i = 0; i < 4; i++)
		applied += run[i].applied;
	if (applied)
		infer_module(m, NULL);
}
