/* A short title for people: what a group computes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "op/op.h"
#include "op/task.h"

enum { NAMES_MAX = 4 }; /* other operators in a title, at most */

/* The node with most work; of several the first. */
static node_id anchor_of(struct module *m, graph_id g)
{
	node_id best = 0;
	double most = -1;

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id n = graph(m, g)->nodes.a[i];
		double f = node_flops(m, node(m, n));
		if (f > most) {
			most = f;
			best = n;
		}
	}
	return best;
}

static void put_dims(FILE *f, int n, const int64_t *dims)
{
	for (int i = 0; i < n; i++)
		fprintf(f, "%s%lld", i ? "x" : "", (long long)dims[i]);
	if (!n)
		fprintf(f, "scalar");
}

/* Shape of operand i; -1: none. */
static int shape_of(struct module *m, const struct node *n, uint32_t i, int64_t *dims)
{
	if (i >= n->nin || !n->in[i] || !type_dims(m, &val(m, n->in[i])->type, dims))
		return -1;
	return val(m, n->in[i])->type.rank;
}

static bool put_conv(FILE *f, struct module *m, const struct node *n)
{
	int64_t x[RANK_MAX], w[RANK_MAX], y[RANK_MAX], group = attr_i(n, "group");
	uint32_t weights = n->op == OP_QLinearConv ? 3 : 1;
	int rank = shape_of(m, n, weights, w), count;
	const int64_t *strides = attr_ints(n, "strides", &count);

	if (rank < 3 || shape_of(m, n, 0, x) != rank || !type_dims(m, &val(m, n->out[0])->type, y))
		return false;
	fprintf(f, " ");
	put_dims(f, rank - 2, w + 2);
	if (count && strides[0] > 1)
		fprintf(f, "/%lld", (long long)strides[0]);
	if (group > 1 && group == x[1] && group == y[1]) {
		fprintf(f, " depthwise %lld, ", (long long)group);
	} else {
		fprintf(f, " %lld -> %lld, ", (long long)x[1], (long long)y[1]);
		if (group > 1)
			fprintf(f, "%lld groups, ", (long long)group);
	}
	put_dims(f, rank - 2, y + 2);
	return true;
}

/* "4 x 128x64 x 64x128" */
static bool put_product(FILE *f, struct module *m, const struct node *n)
{
	int64_t a[RANK_MAX], b[RANK_MAX], y[RANK_MAX], batch = 1;
	int ra = shape_of(m, n, 0, a), rb = shape_of(m, n, 1, b), ry = n->nout && n->out[0] ? val(m, n->out[0])->type.rank : 0;
	bool ta = attr_i(n, "transA"), tb = attr_i(n, "transB");

	if (ra < 2 || rb < 2 || ry < 2 || !type_dims(m, &val(m, n->out[0])->type, y))
		return false;
	for (int i = 0; i < ry - 2; i++)
		batch *= y[i];
	fprintf(f, " ");
	if (batch != 1)
		fprintf(f, "%lld x ", (long long)batch);
	put_dims(f, 2, (int64_t[]){a[ra - 2 + ta], a[ra - 1 - ta]});
	fprintf(f, " x ");
	put_dims(f, 2, (int64_t[]){b[rb - 2 + tb], b[rb - 1 - tb]});
	return true;
}

static void put_anchor(FILE *f, struct module *m, const struct node *n)
{
	int64_t dims[RANK_MAX];
	bool conv = n->op == OP_Conv || n->op == OP_QLinearConv || n->op == OP_ConvInteger || n->op == OP_ConvTranspose;
	bool product = n->op == OP_MatMul || n->op == OP_Gemm || n->op == OP_MatMulInteger;

	fprintf(f, "%s", op_name(n->op));
	if ((conv && put_conv(f, m, n)) || (product && put_product(f, m, n)))
		return;
	int rank = shape_of(m, n, 0, dims);
	fprintf(f, " ");
	if (rank >= 0)
		put_dims(f, rank, dims);
}

const char *task_title(struct module *m, node_id fused, struct arena *a)
{
	graph_id g = attr_graph(node(m, fused), "graph");
	node_id anchor = anchor_of(m, g);
	char *text;
	size_t more = 0, named = 0;
	FILE *f = textfile_open(&text, NULL);

	if (anchor)
		put_anchor(f, m, node(m, anchor));
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id n = graph(m, g)->nodes.a[i];
		if (n == anchor)
			continue;
		if (named < NAMES_MAX)
			fprintf(f, ", %s", op_name(node(m, n)->op));
		more += named++ >= NAMES_MAX;
	}
	if (more)
		fprintf(f, " and %zu more", more);
	textfile_close(f);
	const char *title = arena_str(a, text);
	free(text);
	return title;
}

const char *node_title(struct module *m, node_id n, struct arena *a)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	put_anchor(f, m, node(m, n));
	textfile_close(f);
	const char *title = arena_str(a, text);
	free(text);
	return title;
}
