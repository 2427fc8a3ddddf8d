/* Lowering of data movement: one read at an index that is arithmetic of the result's axes. */
#include <string.h>
#include "lower/lowering.h"

static stage_id begin(struct lower *L, uint32_t k, const char *name, poly *index)
{
	stage_id s = low_result(L, k, name);
	low_index(L, s, index);
	return s;
}

static const char *reshape(struct lower *L)
{
	poly to[LOOP_RANK_MAX], from[LOOP_RANK_MAX];
	stage_id s = begin(L, 0, "reshape", to);

	low_reshape_index(L, low_out_rank(L, 0), L->out_shape[0], to, low_rank(L, 0), L->shape[0], from);
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, from));
	return NULL;
}

static const char *transpose(struct lower *L)
{
	int rank = low_rank(L, 0), n;
	const int64_t *perm = attr_ints(L->n, "perm", &n);
	poly to[LOOP_RANK_MAX], from[LOOP_RANK_MAX];
	stage_id s = begin(L, 0, "transpose", to);

	for (int i = 0; i < rank; i++)
		from[perm ? perm[i] : rank - 1 - i] = to[i];
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, from));
	return NULL;
}

static const char *expand(struct lower *L)
{
	poly to[LOOP_RANK_MAX];
	stage_id s = begin(L, 0, "expand", to);

	stage_body(L->p, s, COMB_NONE, low_read_bcast(L, 0, low_out_rank(L, 0), to));
	return NULL;
}

static const char *tile(struct lower *L)
{
	poly at[LOOP_RANK_MAX];
	stage_id s = begin(L, 0, "tile", at);

	for (int i = 0; i < low_rank(L, 0); i++)
		at[i] = poly_mod(L->p->P, at[i], L->shape[0][i]);
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

/* What lies at index at[] of operands first to last - 1, which begin at start[] along axis a: halves, so that as few conditions as
 * there can be lie within each other. */
static ex_id concat_part(struct lower *L, const poly *at, int a, const int64_t *start, uint32_t first, uint32_t last)
{
	struct polys *P = L->p->P;
	poly x[LOOP_RANK_MAX];
	uint32_t mid = (first + last) / 2;

	if (last - first == 1) {
		memcpy(x, at, sizeof x);
		x[a] = poly_addc(P, at[a], -start[first]);
		return low_read(L, first, x);
	}
	poly before = poly_sub(P, poly_const(P, start[mid] - 1), at[a]);
	if (start[first] == start[mid] || start[mid] == start[last]) /* a half of no elements */
		return start[mid] == start[last] ? concat_part(L, at, a, start, first, mid) : concat_part(L, at, a, start, mid, last);
	ex_id low = concat_part(L, at, a, start, first, mid);
	return ex_guard(L->p, 1, &before, low, concat_part(L, at, a, start, mid, last));
}

static const char *concat(struct lower *L)
{
	poly at[LOOP_RANK_MAX];
	int a;

	if (!low_axis(attr_i(L->n, "axis"), low_out_rank(L, 0), &a))
		return "axis outside the rank";
	stage_id s = begin(L, 0, "concat", at);
	int64_t *start = ARENA_ARRAY(&L->p->arena, int64_t, L->n->nin + 1);
	for (uint32_t i = 0; i < L->n->nin; i++)
		start[i + 1] = start[i] + L->shape[i][a];
	stage_body(L->p, s, COMB_NONE, concat_part(L, at, a, start, 0, L->n->nin));
	return NULL;
}

static const char *split(struct lower *L)
{
	enum { PARTS_MAX = 256 };
	poly at[LOOP_RANK_MAX];
	int a, nout = (int)L->n->nout;
	int64_t start = 0, size[PARTS_MAX];

	if (!low_axis(attr_i(L->n, "axis"), low_rank(L, 0), &a))
		return "axis outside the rank";
	if (nout > PARTS_MAX || (low_has(L, 1) && low_ints(L, 1, size, PARTS_MAX) != nout))
		return "the sizes of the parts are not constant";
	for (int k = 0; k < nout && !low_has(L, 1); k++)
		size[k] = (L->shape[0][a] + nout - 1) / nout;
	for (int k = 0; k < nout; start += size[k++]) {
		if (!low_wants(L, (uint32_t)k))
			continue;
		stage_id s = begin(L, (uint32_t)k, "split", at);
		at[a] = poly_addc(L->p->P, at[a], start);
		stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	}
	return NULL;
}

static int64_t clamp(int64_t x, int64_t lo, int64_t hi) { return x < lo ? lo : x > hi ? hi : x; }

/* Where a slice of one axis lies: `before` elements, then others if they are on the left, the slice, others if not, `after` elements. */
struct slice_at {
	int64_t before, after;
	bool left;
};

/* The place of a slice that has elements, whatever the sizes are. end: NULL if it is not constant. False: it depends on them. */
static bool slice_find(int64_t start, const int64_t *end, int64_t step, struct slice_at *x)
{
	bool whole = end && (step > 0 ? *end >= INT32_MAX : *end <= -INT32_MAX); /* as far as there are elements */

	*x = (struct slice_at){0};
	if (step == 1 && start >= 0) {
		x->before = start;
		return true;
	}
	x->left = start < 0;
	if (step == -1 && start == -1)
		return true;
	if (step == 1 && end && (*end < 0 || whole)) {
		x->after = whole ? 0 : -*end;
		return true;
	}
	if (step != -1 || start < 0 || !end || (*end < 0 && !whole))
		return false;
	x->before = whole ? 0 : *end + 1;
	return true;
}

bool lower_part(struct module *m, const struct node *n, int axis, int64_t *rest)
{
	enum { START = 1, END, AXES, STEPS };
	int64_t v[STEPS + 1][LOOP_RANK_MAX];
	int count[STEPS + 1] = {0}, a, rank = n->op == OP_Slice ? val(m, n->in[0])->type.rank : 0;
	struct slice_at x;

	for (uint32_t i = START; i <= STEPS && rank; i++)
		if (i < n->nin && n->in[i])
			count[i] = val(m, n->in[i])->kind == VAL_CONST ? tensor_ints(m, val(m, n->in[i])->tensor, v[i], LOOP_RANK_MAX) : -1;
	for (int i = 0; i < count[START] && count[AXES] >= 0 && count[STEPS] >= 0; i++)
		if (low_axis(count[AXES] ? v[AXES][i] : i, rank, &a) && a == axis) {
			bool is = slice_find(v[START][i], count[END] > i ? &v[END][i] : NULL, count[STEPS] ? v[STEPS][i] : 1, &x);
			*rest = x.before + x.after;
			return is;
		}
	return false;
}

static const char *slice(struct lower *L)
{
	int64_t start[LOOP_RANK_MAX], end[LOOP_RANK_MAX], axes[LOOP_RANK_MAX], step[LOOP_RANK_MAX];
	int n = low_ints(L, 1, start, LOOP_RANK_MAX), ends = low_ints(L, 2, end, LOOP_RANK_MAX), a;
	poly at[LOOP_RANK_MAX];

	for (int i = 0; i < n; i++) {
		axes[i] = i;
		step[i] = 1;
	}
	if (n < 0 || (low_has(L, 3) && low_ints(L, 3, axes, LOOP_RANK_MAX) != n) ||
	    (low_has(L, 4) && low_ints(L, 4, step, LOOP_RANK_MAX) != n))
		return "starts, axes or steps are not constant";
	stage_id s = begin(L, 0, "slice", at);
	for (int i = 0; i < n; i++) {
		struct slice_at x;
		if (!low_axis(axes[i], low_rank(L, 0), &a))
			return "axis outside the rank";
		int64_t dim = L->shape[0][a], from = start[i] < 0 ? start[i] + dim : start[i], size = L->out_shape[0][a];
		from = clamp(from, 0, step[i] < 0 ? dim - 1 : dim);
		if (size > 0 && slice_find(start[i], ends > i ? &end[i] : NULL, step[i], &x)) {
			from = x.left ? dim - x.after - size : x.before;
			from += step[i] < 0 ? size - 1 : 0;
		}
		at[a] = poly_addc(L->p->P, poly_mulc(L->p->P, at[a], step[i]), from);
	}
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

/* Index i of a padded axis in the unpadded one of extent n, by mode. */
static poly padded_index(struct polys *P, const char *mode, poly i, int64_t n)
{
	poly zero = poly_const(P, 0), last = poly_const(P, n - 1);
	int64_t lo, hi;

	if (!strcmp(mode, "edge"))
		return poly_max(P, zero, poly_min(P, last, i));
	if (!strcmp(mode, "wrap"))
		return poly_mod(P, i, n);
	poly_range(P, i, &lo, &hi);
	if (lo < 1 - n || hi > 2 * (n - 1)) /* there and back, again and again */
		i = n > 1 ? poly_mod(P, i, 2 * (n - 1)) : zero;
	poly up = poly_max(P, i, poly_mulc(P, i, -1)); /* reflect: |i|, then the same at the other end */
	poly over = poly_sub(P, last, up);
	return poly_sub(P, last, poly_max(P, over, poly_mulc(P, over, -1)));
}

static const char *pad(struct lower *L)
{
	struct polys *P = L->p->P;
	const char *mode = attr_s(L->n, "mode");
	int rank = low_rank(L, 0), n, naxes = rank, a;
	int64_t pads[2 * LOOP_RANK_MAX], axes[LOOP_RANK_MAX];
	poly at[LOOP_RANK_MAX], cond[2 * LOOP_RANK_MAX];
	bool constant = !strcmp(mode, "constant");

	for (int i = 0; i < rank; i++)
		axes[i] = i;
	if (low_has(L, 3))
		naxes = low_ints(L, 3, axes, LOOP_RANK_MAX);
	n = low_ints(L, 1, pads, 2 * LOOP_RANK_MAX);
	if (naxes < 0 || n != 2 * naxes)
		return "pads or axes are not constant";
	stage_id s = begin(L, 0, "pad", at);
	for (int i = 0; i < naxes; i++) {
		if (!low_axis(axes[i], rank, &a))
			return "axis outside the rank";
		if (constant) {
			at[a] = poly_addc(P, at[a], -pads[i]);
			continue;
		}
		/* what negative pads cut off is not repeated */
		int64_t begin = pads[i] < 0 ? -pads[i] : 0, end = pads[naxes + i] < 0 ? -pads[naxes + i] : 0;
		at[a] = padded_index(P, mode, poly_addc(P, at[a], begin ? 0 : -pads[i]), L->shape[0][a] - begin - end);
		at[a] = poly_addc(P, at[a], begin);
	}
	for (int i = 0; i < rank; i++) {
		cond[2 * i] = at[i];
		cond[2 * i + 1] = poly_sub(P, poly_const(P, L->shape[0][i] - 1), at[i]);
	}
	ex_id x = low_read(L, 0, at), fill = ex_const(L->p, low_dtype(L, 0), 0);
	if (low_has(L, 2))
		fill = low_read_bcast(L, 2, 0, NULL);
	stage_body(L->p, s, COMB_NONE, constant ? ex_guard(L->p, 2 * rank, cond, x, fill) : x);
	return NULL;
}

/* Channels into blocks of pixels. DCR: the block's place is the slow part of the channel; CRD: the fast one. */
static const char *depth_to_space(struct lower *L)
{
	struct polys *P = L->p->P;
	int64_t b = attr_i(L->n, "blocksize"), c = L->out_shape[0][1];
	bool crd = !strcmp(attr_s(L->n, "mode"), "CRD");
	poly at[4];
	stage_id s = begin(L, 0, "depth", at);

	poly place = poly_add(P, poly_mulc(P, poly_mod(P, at[2], b), b), poly_mod(P, at[3], b));
	at[1] = crd ? poly_add(P, poly_mulc(P, at[1], b * b), place) : poly_add(P, poly_mulc(P, place, c), at[1]);
	at[2] = poly_floordiv(P, at[2], b);
	at[3] = poly_floordiv(P, at[3], b);
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

/* The other way. */
static const char *space_to_depth(struct lower *L)
{
	struct polys *P = L->p->P;
	int64_t b = attr_i(L->n, "blocksize"), c = L->shape[0][1];
	bool crd = !strcmp(attr_s(L->n, "mode"), "CRD");
	poly at[4];
	stage_id s = begin(L, 0, "space", at);

	poly place = crd ? poly_mod(P, at[1], b * b) : poly_floordiv(P, at[1], c);
	at[1] = crd ? poly_floordiv(P, at[1], b * b) : poly_mod(P, at[1], c);
	at[2] = poly_add(P, poly_mulc(P, at[2], b), poly_floordiv(P, place, b));
	at[3] = poly_add(P, poly_mulc(P, at[3], b), poly_mod(P, place, b));
	stage_body(L->p, s, COMB_NONE, low_read(L, 0, at));
	return NULL;
}

/* The triangle on one side of diagonal k; zero elsewhere. */
static const char *trilu(struct lower *L)
{
	struct polys *P = L->p->P;
	int rank = low_rank(L, 0);
	int64_t k = 0;
	poly at[LOOP_RANK_MAX];

	if (low_has(L, 1) && low_ints(L, 1, &k, 1) != 1)
		return "the diagonal is not constant";
	int64_t most = L->shape[0][rank - 1] + L->shape[0][rank - 2];
	k = k > most ? most : k < -most ? -most : k;
	stage_id s = begin(L, 0, "trilu", at);
	poly d = poly_addc(P, poly_sub(P, at[rank - 1], at[rank - 2]), -k); /* 0 on the diagonal */
	if (!attr_i(L->n, "upper"))
		d = poly_mulc(P, d, -1);
	ex_id x = low_read(L, 0, at);
	stage_body(L->p, s, COMB_NONE, ex_guard(L->p, 1, &d, x, low_num(L, x, 0)));
	return NULL;
}

const struct lower_row lower_move[] = {
	{OP_Concat, concat},
	{OP_DepthToSpace, depth_to_space},
	{OP_Expand, expand},
	{OP_Flatten, reshape},
	{OP_Pad, pad},
	{OP_Reshape, reshape},
	{OP_Slice, slice},
	{OP_SpaceToDepth, space_to_depth},
	{OP_Split, split},
	{OP_Squeeze, reshape},
	{OP_Tile, tile},
	{OP_Transpose, transpose},
	{OP_Trilu, trilu},
	{OP_Unsqueeze, reshape},
	{0},
};
