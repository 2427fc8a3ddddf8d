/* Each measure is a number, or numbers in lexical order. A rule may enlarge a measure only if it reduces an earlier one. All are sums
 * over the nodes that are alive; heights count from the outputs upwards. */
#include "op/measure.h"
#include <stdlib.h>
#include <string.h>
#include "op/op.h"
#include "op/rules.h"

/* Weight of an operator that the table does not have. A rule may replace an operator only by one that weighs less. */
enum { WEIGHT = 8 };
static const uint8_t weight_column[OP_COUNT] = {
	[OP_Squeeze] = 1,
	[OP_Unsqueeze] = 1,
	[OP_Flatten] = 1, /* Reshape itself: see below */
	[OP_LayerNormalization] = 6,
	[OP_GroupNormalization] = 7,
	[OP_Relu] = 7,
	[OP_AveragePool] = 9,
	[OP_Clip] = 9,
	[OP_Div] = 9,
	[OP_Max] = 9,
	[OP_MaxPool] = 9,
	[OP_Pow] = 10,
	[OP_ReduceMean] = 10,
	[OP_Dropout] = 20,
	[OP_Attention] = 250, /* what it stands for is no more */
};

enum { STATE = 5 }; /* of recurrent operators, operands from this one on weigh 1 each */

static uint64_t weight(const struct node *n)
{
	if (n->op == OP_Reshape)
		return 0;
	uint64_t w = weight_column[n->op] ? weight_column[n->op] : WEIGHT;
	for (uint32_t i = STATE; op_is(n->op, OP_RECURRENT) && i < n->nin; i++)
		w += n->in[i] != 0;
	return w + (n->op == OP_Gemm && attr_i(n, "transB") != 0);
}

const char *measure_name(enum measure m)
{
	static const char *const name[] = {"taps", "work", "expanded", "scaled", "reordered", "misplaced", "reshaped"};

	return name[m];
}

static node_id def(struct rewrite *rw, val_id v, enum opcode op) { return v ? rw_def(rw, v, op) : 0; }

/* The value that v is a reshape of, through any number of Reshapes; *alone: it and they have one user each. */
static val_id source(struct rewrite *rw, val_id v, bool *alone)
{
	node_id r;

	*alone = v && rw_uses(rw, v) < 2;
	while ((r = def(rw, v, OP_Reshape))) {
		v = rw_in(rw, r, 0);
		*alone = *alone && rw_uses(rw, v) < 2;
	}
	*alone = *alone && rw_node_of(rw, v);
	return v;
}

/* The number of nodes of operator op in a row that lead to v. */
static uint64_t chain(struct rewrite *rw, val_id v, enum opcode op)
{
	uint64_t k = 0;
	node_id n;

	for (bool alone; (n = def(rw, op == OP_Reshape ? v : source(rw, v, &alone), op)); k++)
		v = rw_in(rw, n, 0);
	return k;
}

/* Operands of n that were computed in another shape. Constants have none of their own. */
static uint64_t misplaced(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < node(m, n)->nin; i++) {
		val_id v = rw_in(rw, n, i), from;
		bool alone;
		if (!v || rw_const(rw, v))
			continue;
		from = source(rw, v, &alone);
		if (from != v && !rw_same_type(rw, from, node(m, n)->out[0]))
			sum += alone ? 2 : 1;
	}
	return sum;
}

/* Places in the window of n; 0: it has none, or they are not known. */
static uint64_t taps(struct rewrite *rw, node_id n)
{
	struct module *m = rw_module(rw);
	const struct node *x = node(m, n);
	int64_t kernel[RANK_MAX];
	struct window w;
	uint64_t count = 1;
	int spatial = x->nin && rw_in(rw, n, 0) ? rw_type(rw, rw_in(rw, n, 0))->rank - 2 : 0;
	uint32_t weights = window_weights(x->op);

	if (!op_is(x->op, OP_WINDOW) || spatial < 1 || (weights && !type_dims(m, rw_type(rw, rw_in(rw, n, weights)), kernel)) ||
	    window_read(m, x, spatial, weights ? kernel + 2 : NULL, &w))
		return 0;
	for (int i = 0; i < spatial; i++)
		count *= (uint64_t)w.size[i];
	return count;
}

static bool plain_shape(struct rewrite *rw, node_id n)
{
	int64_t d[RANK_MAX];
	int k = rw_ints(rw, rw_in(rw, n, 1), d, RANK_MAX);

	for (int i = 0; i < k; i++)
		if (d[i] == 0)
			return false;
	return k >= 0;
}

/* By node: the number of nodes of some kind on the longest path from it to an output. */
struct heights {
	uint32_t *work;   /* that weigh something */
	uint32_t *matmul; /* MatMuls */
};

static void raise(uint32_t *h, node_id above, node_id n, bool counts)
{
	uint32_t at = h[n] + counts;

	if (h[above] < at)
		h[above] = at;
}

/* From the nodes without users upwards: a node is done when all its users are. */
static struct heights take_heights(struct rewrite *rw)
{
	struct module *m = rw_module(rw);
	size_t nn = rw_nodes(rw);
	struct heights h = {xcalloc(nn, sizeof *h.work), xcalloc(nn, sizeof *h.matmul)};
	uint32_t *open = xcalloc(nn, sizeof *open);
	VEC(node_id) ready = {0};
	node_id above;

	for (node_id n = 1; n < nn; n++)
		for (uint32_t i = 0; rw_alive(rw, n) && i < node(m, n)->nin; i++)
			if ((above = rw_node_of(rw, rw_in(rw, n, i))))
				open[above]++;
	for (node_id n = 1; n < nn; n++)
		if (rw_alive(rw, n) && !open[n])
			vec_push(&ready, n);
	while (ready.n) {
		node_id n = ready.a[--ready.n];
		for (uint32_t i = 0; i < node(m, n)->nin; i++) {
			if (!(above = rw_node_of(rw, rw_in(rw, n, i))))
				continue;
			raise(h.work, above, n, weight(node(m, n)) > 0);
			raise(h.matmul, above, n, node(m, n)->op == OP_MatMul);
			if (!--open[above])
				vec_push(&ready, above);
		}
	}
	vec_free(&ready);
	free(open);
	return h;
}

struct measures measures_take(struct rewrite *rw)
{
	struct module *m = rw_module(rw);
	struct heights h = take_heights(rw);
	struct measures s = {.heights = rw_nodes(rw)};

	s.misplaced = xcalloc(s.heights + 1, sizeof *s.misplaced);
	for (node_id n = 1; n < rw_nodes(rw); n++) {
		const struct node *x = node(m, n);
		val_id y;
		double k;
		if (!rw_alive(rw, n))
			continue;
		s.sum[MEASURE_TAPS] += taps(rw, n);
		s.sum[MEASURE_WORK] += weight(x);
		if (x->op == OP_Transpose)
			s.sum[MEASURE_REORDERED] += chain(rw, rw_in(rw, n, 0), OP_Transpose);
		if (x->op == OP_Reshape)
			s.sum[MEASURE_RESHAPED] += 1 + chain(rw, rw_in(rw, n, 0), OP_Reshape) + !plain_shape(rw, n);
		if (!op_is(x->op, OP_ELEMENTWISE) || !x->nout || !x->out[0])
			continue;
		for (uint32_t i = 0; i < x->nin; i++)
			s.sum[MEASURE_EXPANDED] += chain(rw, rw_in(rw, n, i), OP_Expand);
		if (rw_scalar_factor(rw, n, &y, &k))
			s.sum[MEASURE_SCALED] += h.matmul[n];
		s.misplaced[h.work[n]] += misplaced(rw, n);
	}
	free(h.work);
	free(h.matmul);
	return s;
}

static int compare_misplaced(const struct measures *a, const struct measures *b)
{
	for (size_t i = a->heights > b->heights ? a->heights : b->heights; i-- > 0;) {
		uint64_t x = i < a->heights ? a->misplaced[i] : 0, y = i < b->heights ? b->misplaced[i] : 0;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

bool measures_reduced(const struct measures *a, const struct measures *b, enum measure what, enum measure *bad)
{
	for (int k = 0; k <= (int)what; k++) {
		int c = k == MEASURE_MISPLACED ? compare_misplaced(a, b) : (a->sum[k] > b->sum[k]) - (a->sum[k] < b->sum[k]);
		if (c < 0)
			return true; /* it may enlarge all measures after it */
		*bad = (enum measure)k;
		if (c > 0)
			return false;
	}
	return false;
}

void measures_free(struct measures *m) { free(m->misplaced); }
