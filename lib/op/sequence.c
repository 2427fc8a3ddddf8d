/* Sequences and optionals. What is known of a sequence (struct known) is its length, as one element; of an optional, whether it has a
 * value. */
#include "graph/bodies.h"
#include "graph/kinds.h"
#include "graph/symbols.h"
#include "op/strings.h"

/* ---- shapes ---- */

static void out_type(struct infer *I, uint32_t i, struct type t)
{
	if (i < I->n->nout)
		I->out[i] = t;
}

static void known_length(struct infer *I, uint32_t i, poly length)
{
	if (i < I->n->nout && length != POLY_UNKNOWN) {
		poly *e = ARENA_ARRAY(&I->m->arena, poly, 1);
		*e = length;
		I->kout[i] = (struct known){.yes = true, .n = 1, .e = e};
	}
}

static poly length_of(struct infer *I, uint32_t i)
{
	bool known = rule_has(I, i) && type_kind(&I->in[i]) == KIND_SEQUENCE && I->kin[i].yes && I->kin[i].n == 1;

	return known ? I->kin[i].e[0] : POLY_UNKNOWN;
}

/* Operand i is a sequence, as far as that is known; *t: the type of its elements. */
static const char *want_sequence(struct infer *I, uint32_t i, struct type *t)
{
	const struct type *x = &I->in[i];

	*t = type_none();
	if (!x->other && !x->dtype)
		return NULL;
	if (type_kind(x) != KIND_SEQUENCE)
		return rule_why(I, "operand %u is %s, takes a sequence", i, type_str(I->m, x, &I->m->arena));
	*t = type_inside(x);
	return NULL;
}

/* The position that operand `at` names is there, as far as it and the length are known. more: 1 where something is inserted, else 0. */
static const char *want_position(struct infer *I, uint32_t seq, uint32_t at, int64_t more)
{
	const int64_t *v;
	int64_t n;

	if (rule_ints(I, at, &v) != 1 || !poly_is_const(rule_polys(I), length_of(I, seq), &n))
		return NULL;
	return v[0] < -n || v[0] >= n + more ? rule_why(I, "position %lld of a sequence of %lld", (long long)v[0], (long long)n) : NULL;
}

static const char *shape_construct(struct infer *I)
{
	struct type t = I->in[0];

	for (uint32_t i = 1; i < I->n->nin; i++)
		t = type_common(I->m, &t, &I->in[i]);
	out_type(I, 0, type_sequence(&t));
	known_length(I, 0, rule_const(I, I->n->nin));
	return NULL;
}

static const char *shape_empty(struct infer *I)
{
	struct type t = type_none();

	t.dtype = dtype_from_onnx((int)attr_int(I->n, "dtype", dtype_to_onnx(DT_F32)));
	out_type(I, 0, type_sequence(&t));
	known_length(I, 0, rule_const(I, 0));
	return NULL;
}

static const char *shape_at(struct infer *I)
{
	struct type t;
	const char *why = want_sequence(I, 0, &t);

	if (why || (why = want_position(I, 0, 1, 0)))
		return why;
	out_type(I, 0, t);
	return NULL;
}

static const char *shape_insert(struct infer *I)
{
	struct type t;
	const char *why = want_sequence(I, 0, &t);
	poly length = length_of(I, 0);
	int64_t n;

	if (why || (rule_has(I, 2) && (why = want_position(I, 0, 2, 1))))
		return why;
	if (t.dtype && I->in[1].dtype && t.dtype != I->in[1].dtype)
		return rule_why(I, "operand 1 is %s, the sequence has elements of %s", dtype_name(I->in[1].dtype), dtype_name(t.dtype));
	bool first = poly_is_const(rule_polys(I), length, &n) && n == 0 && I->in[1].dtype;
	t = first ? I->in[1] : type_common(I->m, &t, &I->in[1]);
	out_type(I, 0, type_sequence(&t));
	if (length)
		known_length(I, 0, poly_addc(rule_polys(I), length, 1));
	return NULL;
}

static const char *shape_erase(struct infer *I)
{
	struct type t;
	const char *why = want_sequence(I, 0, &t);
	poly length = length_of(I, 0);
	int64_t n;

	if (why || (rule_has(I, 1) && (why = want_position(I, 0, 1, 0))))
		return why;
	if (poly_is_const(rule_polys(I), length, &n) && n == 0)
		return "an empty sequence has nothing to erase";
	out_type(I, 0, type_sequence(&t));
	if (length)
		known_length(I, 0, poly_addc(rule_polys(I), length, -1));
	return NULL;
}

static const char *shape_length(struct infer *I)
{
	struct type t;
	const char *why = want_sequence(I, 0, &t);
	poly length = length_of(I, 0), *e;

	if (why)
		return why;
	rule_out(I, 0, DT_I64, 0, NULL);
	if (length && (e = rule_known(I, 0, 1)))
		*e = length;
	return NULL;
}

/* The extent of all parts along the axis and their number, as far as these are known. */
static const char *parts_shape(struct infer *I, dim d, dim *part, poly *count)
{
	struct polys *P = rule_polys(I);
	const int64_t *v;
	int64_t extent, sum = 0;
	int n = rule_has(I, 1) ? rule_ints(I, 1, &v) : -1;
	bool fixed = poly_is_const(P, d, &extent), equal = true;

	*part = *count = POLY_UNKNOWN;
	if (!rule_has(I, 1)) {
		*part = rule_const(I, 1);
		*count = d;
	} else if (n == 1 && rule_rank(I, 1) == 0) {
		if (v[0] < 1)
			return rule_why(I, "parts of extent %lld", (long long)v[0]);
		if (fixed) {
			*count = rule_const(I, extent / v[0] + (extent % v[0] > 0));
			*part = extent % v[0] ? POLY_UNKNOWN : rule_const(I, v[0]);
		}
	} else if (n >= 0) {
		for (int i = 0; i < n; i++) {
			if (v[i] < 0 || __builtin_add_overflow(sum, v[i], &sum))
				return rule_why(I, "part %d of extent %lld", i, (long long)v[i]);
			equal = equal && v[i] == v[0];
		}
		*part = n && equal ? rule_const(I, v[0]) : POLY_UNKNOWN;
		if (fixed && sum != extent)
			return rule_why(I, "parts of together %lld along an axis of %lld", (long long)sum, (long long)extent);
		*count = rule_const(I, n);
	}
	return NULL;
}

static const char *shape_split(struct infer *I)
{
	const struct type *x = &I->in[0];
	bool keep = rule_has(I, 1) || attr_i(I->n, "keepdims");
	struct type t = {.dtype = x->dtype, .rank = RANK_UNKNOWN};
	dim part;
	poly count;
	int axis;

	if (x->rank != RANK_UNKNOWN) {
		if (!rule_axis(attr_i(I->n, "axis"), x->rank, &axis))
			return rule_why(I, "axis %lld outside rank %d", (long long)attr_i(I->n, "axis"), x->rank);
		const char *why = parts_shape(I, x->dims[axis], &part, &count);
		if (why)
			return why;
		t.rank = x->rank - !keep;
		t.dims = rule_dims(I, x->rank);
		for (int k = 0, n = 0; k < x->rank; k++)
			if (k != axis || keep)
				t.dims[n++] = k == axis ? part : x->dims[k];
		known_length(I, 0, count);
	}
	out_type(I, 0, type_sequence(&t));
	return NULL;
}

static const char *shape_concat(struct infer *I)
{
	bool stack = attr_i(I->n, "new_axis");
	struct polys *P = rule_polys(I);
	poly length = length_of(I, 0);
	struct type t;
	const char *why = want_sequence(I, 0, &t);
	int axis;

	if (why)
		return why;
	if (t.rank == RANK_UNKNOWN || t.other) {
		rule_out(I, 0, t.dtype, RANK_UNKNOWN, NULL);
		return NULL;
	}
	int rank = t.rank + stack;
	if (!rule_axis(attr_i(I->n, "axis"), rank, &axis))
		return rule_why(I, "axis %lld outside rank %d", (long long)attr_i(I->n, "axis"), rank);
	dim *d = rule_dims(I, rank), all = length;
	if (!stack)
		all = length && t.dims[axis] ? poly_mul(P, length, t.dims[axis]) : POLY_UNKNOWN;
	for (int k = 0, n = 0; k < rank; k++) {
		d[k] = k == axis ? all : t.dims[n];
		n += k != axis || !stack;
	}
	rule_out(I, 0, t.dtype, rank, d);
	return NULL;
}

static struct type without_extent(struct infer *I, const struct type *t, int axis)
{
	struct type x = *t;

	x.dims = arena_copy(&I->m->arena, t->dims, sizeof *t->dims * (size_t)t->rank);
	x.dims[axis] = POLY_UNKNOWN;
	return x;
}

static bool newer_symbols(struct infer *I, dim d, uint32_t before)
{
	struct symbols s = {0};
	bool newer = false;

	symbols_mark_dim(&s, I->m, d);
	for (size_t i = 0; i < s.list.n; i++)
		newer |= s.list.a[i] > before;
	symbols_free(&s);
	return newer;
}

static const char *shape_map(struct infer *I)
{
	graph_id g = attr_graph(I->n, "body");
	uint32_t nin = I->n->nin, nout = I->n->nout, items = nin - node_passing(I->n).operands;
	struct type *in = ARENA_ARRAY(&I->m->arena, struct type, nin), *out = ARENA_ARRAY(&I->m->arena, struct type, nout + 1);
	struct known *known = ARENA_ARRAY(&I->m->arena, struct known, nin), *given = ARENA_ARRAY(&I->m->arena, struct known, nout + 1);
	const char *why = want_sequence(I, 0, &in[0]);
	uint32_t before = (uint32_t)poly_nvars(rule_polys(I));

	if (why)
		return why;
	if (!g || graph(I->m, g)->in.n != nin || graph(I->m, g)->out.n != nout)
		return "the body does not fit operands and results";
	for (uint32_t i = 0; i < nin; i++) {
		bool item = i < items && type_kind(&I->in[i]) == KIND_SEQUENCE;
		in[i] = item ? type_inside(&I->in[i]) : I->in[i];
		if (!item)
			known[i] = I->kin[i];
	}
	if ((why = I->body(I, g, in, known, out, given)))
		return why;
	for (uint32_t k = 0; k < nout; k++) {
		for (int d = 0; d < out[k].rank; d++)
			if (out[k].dims[d] && newer_symbols(I, out[k].dims[d], before)) /* another for each element */
				out[k] = without_extent(I, &out[k], d);
		out_type(I, k, type_sequence(&out[k]));
		known_length(I, k, length_of(I, 0));
	}
	return NULL;
}

static const char *shape_optional(struct infer *I)
{
	const struct attr *a = attr_find(I->n, "type");

	if (!rule_has(I, 0) && !a)
		return "neither an operand nor the attribute 'type' says what would be in it";
	out_type(I, 0, type_optional(rule_has(I, 0) ? &I->in[0] : a->u.type));
	known_length(I, 0, rule_const(I, rule_has(I, 0)));
	return NULL;
}

static const char *shape_has(struct infer *I)
{
	poly *e;

	rule_out(I, 0, DT_BOOL, 0, NULL);
	bool typed = rule_has(I, 0) && (I->in[0].other || I->in[0].dtype), optional = typed && type_kind(&I->in[0]) == KIND_OPTIONAL;
	if (optional && I->kin[0].yes && I->kin[0].n == 1)
		I->kout[0] = I->kin[0];
	else if ((!rule_has(I, 0) || (typed && !optional)) && (e = rule_known(I, 0, 1)))
		*e = rule_const(I, rule_has(I, 0));
	return NULL;
}

static const char *shape_get(struct infer *I)
{
	out_type(I, 0, type_kind(&I->in[0]) == KIND_OPTIONAL ? type_inside(&I->in[0]) : I->in[0]);
	return NULL;
}

/* ---- evaluation ---- */

static void give_sequence(struct eval *e, enum dtype t, size_t n, struct tensor **item)
{
	eval_give(e, 0, tensor_wrap(e->tmp, KIND_SEQUENCE, t, n, item));
}

/* Position of operand i in a sequence of n (or where something goes); without the operand, `none`. */
static const char *position(struct eval *e, uint32_t i, int64_t n, int64_t more, int64_t none, int64_t *at)
{
	int64_t v = eval_int(e, i, none);

	if (v < -n || v >= n + more)
		return eval_why(e, "position %lld of a sequence of %lld", (long long)v, (long long)n);
	*at = v < 0 ? v + n : v;
	return NULL;
}

static const char *eval_construct(struct eval *e)
{
	give_sequence(e, e->in[0]->dtype, e->n->nin, e->in);
	return NULL;
}

static const char *eval_empty(struct eval *e)
{
	give_sequence(e, dtype_from_onnx((int)attr_int(e->n, "dtype", dtype_to_onnx(DT_F32))), 0, NULL);
	return NULL;
}

static const char *eval_at(struct eval *e)
{
	int64_t at = 0;
	const char *why = position(e, 1, (int64_t)e->in[0]->nitem, 0, 0, &at);

	if (!why)
		eval_give(e, 0, e->in[0]->item[at]);
	return why;
}

static const char *eval_insert(struct eval *e)
{
	const struct tensor *s = e->in[0];
	int64_t n = (int64_t)s->nitem, at = 0;
	struct tensor **item = eval_scratch(e, sizeof *item * (s->nitem + 1));
	const char *why = position(e, 2, n, 1, n, &at);

	if (why)
		return why;
	memcpy(item, s->item, sizeof *item * (size_t)at);
	item[at] = e->in[1];
	memcpy(item + at + 1, s->item + at, sizeof *item * (size_t)(n - at));
	give_sequence(e, e->in[1]->dtype, s->nitem + 1, item);
	return NULL;
}

static const char *eval_erase(struct eval *e)
{
	const struct tensor *s = e->in[0];
	int64_t n = (int64_t)s->nitem, at = 0;
	struct tensor **item = eval_scratch(e, sizeof *item * (s->nitem + 1));
	const char *why = position(e, 1, n, 0, n - 1, &at);

	if (why)
		return why;
	memcpy(item, s->item, sizeof *item * (size_t)at);
	memcpy(item + at, s->item + at + 1, sizeof *item * (size_t)(n - at - 1));
	give_sequence(e, s->dtype, s->nitem - 1, item);
	return NULL;
}

static const char *eval_length(struct eval *e)
{
	*(int64_t *)eval_out(e, 0, DT_I64, 0, NULL)->data = (int64_t)e->in[0]->nitem;
	return NULL;
}

/* The same tensor with elements of a fixed size: of strings, struct text. */
static struct tensor *fixed(struct eval *e, const struct tensor *x, size_t *size)
{
	struct tensor *y = (struct tensor *)x;

	*size = dtype_size(x->dtype);
	if (x->dtype == DT_STR) {
		*size = sizeof(struct text);
		y = tensor_copy(e->tmp, x);
		y->data = texts_of(e->tmp, x);
	}
	return y;
}

/* The same back, in scratch memory. */
static struct tensor *unfixed(struct eval *e, enum dtype t, int rank, const int64_t *dims, char *data)
{
	if (t == DT_STR)
		return texts_tensor(e->tmp, rank, dims, (struct text *)data);
	struct tensor *y = tensor_new(e->tmp, t, rank, dims);
	memcpy(tensor_bytes(y), data, y->nbytes);
	return y;
}

/* Elements from `from` on, n of them along the axis; without that axis if it is not kept. */
static struct tensor *part_of(struct eval *e, const struct tensor *x, size_t size, int axis, int64_t from, int64_t n, bool keep)
{
	struct axes3 s = split_at(x, axis);
	size_t run = (size_t)(n * s.inner) * size;
	char *data = eval_scratch(e, run * (size_t)s.outer + 1);
	int64_t dims[RANK_MAX];
	int rank = 0;

	for (int64_t o = 0; o < s.outer; o++)
		memcpy(data + (size_t)o * run, (const char *)x->data + (size_t)((o * s.n + from) * s.inner) * size, run);
	for (int k = 0; k < x->rank; k++)
		if (k != axis || keep)
			dims[rank++] = k == axis ? n : x->dims[k];
	return unfixed(e, x->dtype, rank, dims, data);
}

/* How many parts there are; *extent: of each. NULL: they do not fit. */
static int64_t *part_extents(struct eval *e, int64_t all, int64_t *count)
{
	const struct tensor *t = eval_in(e, 1);
	const int64_t *v = NULL;
	int n = t ? eval_ints(e, 1, &v) : 0;
	bool each = !t || t->rank == 0;
	int64_t part = !t ? 1 : each && n == 1 ? v[0] : 0, sum = 0;

	if (each && part < 1)
		return NULL;
	*count = each ? all / part + (all % part > 0) : n;
	int64_t *extent = eval_scratch(e, sizeof *extent * (size_t)(*count + 1));
	for (int64_t i = 0; i < *count; i++) {
		extent[i] = !each ? v[i] : i == *count - 1 ? all - i * part : part;
		if (extent[i] < 0 || extent[i] > all - sum)
			return NULL;
		sum += extent[i];
	}
	return sum == all ? extent : NULL;
}

static const char *eval_split(struct eval *e)
{
	bool keep = eval_in(e, 1) || attr_i(e->n, "keepdims");
	size_t size;
	struct tensor *x = fixed(e, e->in[0], &size);
	int64_t count, *extent, from = 0;
	int axis;

	if (!rule_axis(attr_i(e->n, "axis"), x->rank, &axis))
		return "axis outside the rank";
	if (!(extent = part_extents(e, x->dims[axis], &count)))
		return "the parts do not make up the axis";
	struct tensor **item = eval_scratch(e, sizeof *item * (size_t)(count + 1));
	for (int64_t i = 0; i < count; i++) {
		item[i] = part_of(e, x, size, axis, from, extent[i], keep);
		from += extent[i];
	}
	give_sequence(e, x->dtype, (size_t)count, item);
	return NULL;
}

/* Extents of the elements of a sequence one behind the other; of a new axis: all 1. */
static const char *joined_dims(struct eval *e, const struct tensor *s, int axis, bool stack, int64_t *dims)
{
	int rank = s->item[0]->rank + stack;

	for (int k = 0, n = 0; k < rank; k++)
		dims[k] = k == axis ? 0 : s->item[0]->dims[n], n += k != axis || !stack;
	for (size_t i = 0; i < s->nitem; i++) {
		const struct tensor *x = s->item[i];
		if (x->dtype != s->item[0]->dtype)
			return eval_why(e, "elements are %s and %s", dtype_name(s->item[0]->dtype), dtype_name(x->dtype));
		if (x->rank + stack != rank)
			return eval_why(e, "elements have ranks %d and %d", rank - stack, x->rank);
		for (int k = 0, n = 0; k < rank; k++) {
			if (k == axis)
				dims[k] += stack ? 1 : x->dims[n];
			else if (dims[k] != x->dims[n])
				return eval_why(e, "elements have extents %lld and %lld at axis %d", (long long)dims[k],
						(long long)x->dims[n], n);
			n += k != axis || !stack;
		}
	}
	return NULL;
}

static const char *eval_concat_sequence(struct eval *e)
{
	const struct tensor *s = e->in[0];
	bool stack = attr_i(e->n, "new_axis");
	int64_t dims[RANK_MAX + 1], outer = 1, inner = 1, at = 0;
	size_t size = 0;
	int axis;

	if (!s->nitem)
		return "an empty sequence has no shape";
	int rank = s->item[0]->rank + stack;
	if (rank > RANK_MAX || !rule_axis(attr_i(e->n, "axis"), rank, &axis))
		return "axis outside the rank";
	const char *why = joined_dims(e, s, axis, stack, dims);
	if (why)
		return why;
	for (int k = 0; k < rank; k++)
		*(k < axis ? &outer : &inner) *= k == axis ? 1 : dims[k];
	struct tensor *first = fixed(e, s->item[0], &size);
	char *data = eval_scratch(e, (size_t)(outer * dims[axis] * inner) * size + 1);
	for (size_t i = 0; i < s->nitem; i++) {
		const struct tensor *x = i ? fixed(e, s->item[i], &size) : first;
		int64_t n = stack ? 1 : x->dims[axis];
		for (int64_t o = 0; o < outer; o++)
			memcpy(data + (size_t)((o * dims[axis] + at) * inner) * size,
			       (const char *)x->data + (size_t)(o * n * inner) * size, (size_t)(n * inner) * size);
		at += n;
	}
	eval_give(e, 0, unfixed(e, first->dtype, rank, dims, data));
	return NULL;
}

static const char *eval_map(struct eval *e)
{
	uint32_t nin = e->n->nin, nout = e->n->nout, items = nin - node_passing(e->n).operands;
	size_t n = e->in[0]->nitem;
	struct tensor **in = eval_scratch(e, sizeof *in * nin), **out = eval_scratch(e, sizeof *out * (nout + 1));
	struct tensor **item = eval_scratch(e, sizeof *item * (nout * n + 1));
	struct eval step = *e;

	step.arena = e->tmp;
	for (uint32_t i = 0; i < items; i++)
		if (e->in[i] && e->in[i]->kind == KIND_SEQUENCE && e->in[i]->nitem != n)
			return eval_why(e, "sequences of %zu and %zu", n, e->in[i]->nitem);
	for (size_t k = 0; k < n; k++) {
		for (uint32_t i = 0; i < nin; i++) {
			bool each = i < items && e->in[i] && e->in[i]->kind == KIND_SEQUENCE;
			in[i] = each ? e->in[i]->item[k] : e->in[i];
		}
		const char *why = e->body(&step, attr_graph(e->n, "body"), (int)nin, in, out);
		if (why)
			return why;
		for (uint32_t i = 0; i < nout; i++)
			item[i * n + k] = out[i];
	}
	for (uint32_t i = 0; i < nout; i++) {
		struct type t = e->n->out[i] ? type_innermost(&val(e->m, e->n->out[i])->type) : type_none();
		eval_give(e, (int)i, tensor_wrap(e->tmp, KIND_SEQUENCE, n ? item[i * n]->dtype : t.dtype, n, item + i * n));
	}
	return NULL;
}

static const char *eval_optional(struct eval *e)
{
	const struct attr *a = attr_find(e->n, "type");
	struct tensor *x = e->n->nin ? e->in[0] : NULL;
	enum dtype t = x ? x->dtype : a ? type_innermost(a->u.type).dtype : DT_NONE;

	eval_give(e, 0, tensor_wrap(e->tmp, KIND_OPTIONAL, t, x != NULL, &x));
	return NULL;
}

static const char *eval_has(struct eval *e)
{
	const struct tensor *x = eval_in(e, 0);

	store_i(eval_out(e, 0, DT_BOOL, 0, NULL), 0, 1, &(int64_t){x && (x->kind != KIND_OPTIONAL || x->nitem)});
	return NULL;
}

static const char *eval_get(struct eval *e)
{
	const struct tensor *x = e->in[0];

	if (x->kind == KIND_OPTIONAL && !x->nitem)
		return "the optional has no value";
	eval_give(e, 0, x->kind == KIND_OPTIONAL ? x->item[0] : x);
	return NULL;
}

const struct op ops_sequence[] = {
	{OP_SequenceConstruct, shape_construct, eval_construct},
	{OP_SequenceEmpty, shape_empty, eval_empty},
	{OP_SequenceAt, shape_at, eval_at},
	{OP_SequenceInsert, shape_insert, eval_insert},
	{OP_SequenceErase, shape_erase, eval_erase},
	{OP_SequenceLength, shape_length, eval_length},
	{OP_SplitToSequence, shape_split, eval_split},
	{OP_ConcatFromSequence, shape_concat, eval_concat_sequence},
	{OP_SequenceMap, shape_map, eval_map},
	{OP_Optional, shape_optional, eval_optional},
	{OP_OptionalHasElement, shape_has, eval_has},
	{OP_OptionalGetElement, shape_get, eval_get},
	{0},
};
