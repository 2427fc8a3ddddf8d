/* Trees in ONNX's words: TreeEnsemble of ai.onnx.ml 5. A leaf of that has one vote, so a tree is written as often as the most votes of a leaf;
 * vote number c of a leaf stands in copy c, and a vote of 0 where there is none. */
#include <math.h>
#include "onnx/export.h"
#include "op/op.h"

enum { ML_VERSION = 5, EQUAL = 4, MEMBER = 6 };

struct grove {
	struct exporter *x;
	const struct node *n;
	const int32_t *node, *start, *target, *root;
	const struct tensor *weight;
	int64_t *at, written;                                     /* of each node among those that are written; how many those are */
	int64_t nodes, leaves, votes, roots, words, copies, bare; /* bare: trees that are one leaf */
	enum dtype type;                                          /* of rows and scores */
	double scale;                                             /* of weights, since a mean counts copies */
};

static noreturn void refuse(const struct grove *g, const char *why)
{
	die(EX_NOTAVAIL, "%s: hone.%s: %s", g->n->nout && g->n->out[0] ? sym_str(val(g->x->m, g->n->out[0])->name) : "", op_name(g->n->op),
	    why);
}

static const int32_t *words_of(struct grove *g, uint32_t i, int64_t *count)
{
	struct tensor *t = node_const(g->x->m, g->n, i);

	if (!t || t->dtype != DT_I32 || t->rank < 1)
		refuse(g, "its trees are not constant");
	*count = t->dims[0];
	return tensor_data(g->x->m, t);
}

static void check_child(const struct grove *g, int32_t child)
{
	if (child < 0 ? ~child >= g->leaves : child >= g->nodes)
		refuse(g, "a child is neither a node nor a leaf");
}

static struct grove grove_of(struct exporter *x, const struct node *n)
{
	struct grove g = {.x = x, .n = n, .type = val(x->m, n->in[0])->type.dtype, .scale = 1, .copies = 1};
	struct tensor *w = node_const(x->m, n, 4);
	bool sum = *attr_s(n, "aggregate") == 'S' || *attr_s(n, "aggregate") == 'A';

	g.words = g.type == DT_F64 ? 5 : 4;
	g.node = words_of(&g, 1, &g.nodes);
	g.start = words_of(&g, 2, &g.leaves);
	g.leaves--;
	g.target = words_of(&g, 3, &g.votes);
	g.root = words_of(&g, 5, &g.roots);
	if (!w || tensor_count(w) != g.votes || tensor_count(node_const(x->m, n, 1)) != g.nodes * g.words)
		refuse(&g, "records or weights do not fit");
	tensor_data(x->m, w);
	g.weight = w;
	for (int64_t i = 0; i < g.leaves; i++) {
		int64_t votes = (int64_t)g.start[i + 1] - g.start[i];
		if (g.start[i] < 0 || votes < 0 || g.start[i + 1] > g.votes || (votes != 1 && !sum))
			refuse(&g, "a leaf has not one vote");
		g.copies = votes > g.copies ? votes : g.copies;
	}
	for (int64_t i = 0; i < g.nodes; i++) {
		check_child(&g, g.node[i * g.words + 1]);
		check_child(&g, g.node[i * g.words + 2]);
	}
	for (int64_t i = 0; i < g.roots; i++) {
		check_child(&g, g.root[i]);
		g.bare += g.root[i] < 0;
	}
	g.scale = *attr_s(n, "aggregate") == 'A' ? (double)g.copies : 1;
	return g;
}

/* ---- attributes ---- */

static void add_ints(struct grove *g, Onnx__NodeProto *p, const char *name, int64_t n, const int64_t *v)
{
	struct attr a = {.name = intern(name), .kind = ATTR_INTS, .n = (uint32_t)n, .u.ints = v};

	export_add_attr(g->x, p, proto_attr(g->x, &a));
}

static void add_tensor(struct grove *g, Onnx__NodeProto *p, const char *name, struct tensor *t)
{
	struct attr a = {.name = intern(name), .kind = ATTR_TENSOR, .u.tensor = t};

	export_add_attr(g->x, p, proto_attr(g->x, &a));
}

/* The lists of nodes_*. */
struct lists {
	int64_t n, *feature, *nan, *yes, *no, *yes_leaf, *no_leaf;
	struct tensor *split, *mode;
	VEC(double) member;
};

static struct lists lists_new(struct grove *g)
{
	struct arena *a = &g->x->arena;
	int64_t n = (g->written + g->bare) * g->copies;
	struct lists l = {.split = tensor_new(a, g->type, 1, &n), .mode = tensor_new(a, DT_U8, 1, &n)};

	l.feature = ARENA_ARRAY(a, int64_t, n + 1), l.nan = ARENA_ARRAY(a, int64_t, n + 1);
	l.yes = ARENA_ARRAY(a, int64_t, n + 1), l.no = ARENA_ARRAY(a, int64_t, n + 1);
	l.yes_leaf = ARENA_ARRAY(a, int64_t, n + 1), l.no_leaf = ARENA_ARRAY(a, int64_t, n + 1);
	return l;
}

/* Where a child of copy c is. */
static int64_t child_at(const struct grove *g, int64_t c, int32_t child)
{
	return child < 0 ? ~child + c * g->leaves : g->at[child] + c * (g->written + g->bare);
}

static void put_branch(const struct grove *g, struct lists *l, int64_t c, int32_t yes, int32_t no)
{
	l->yes[l->n] = child_at(g, c, yes);
	l->no[l->n] = child_at(g, c, no);
	l->yes_leaf[l->n] = yes < 0;
	l->no_leaf[l->n++] = no < 0;
}

static double split_of(const struct grove *g, int64_t i)
{
	double split;
	float narrow;

	memcpy(&narrow, g->node + i * g->words + 3, sizeof narrow);
	if (g->words == 5)
		memcpy(&split, g->node + i * g->words + 3, sizeof split);
	else
		split = narrow;
	return split;
}

/* Does node i ask for one member of a set, and the next node for another? ONNX Runtime takes no child of two nodes. */
static bool goes_on(const struct grove *g, int64_t i)
{
	const int32_t *r = g->node + (i < 0 ? 0 : i) * g->words, *next = r + g->words;

	return i >= 0 && i + 1 < g->nodes && (r[0] & 15) >> 1 == EQUAL && r[2] == i + 1 && next[0] == r[0] && next[1] == r[1];
}

/* Nodes of a set but its first are not written. */
static void place_nodes(struct grove *g)
{
	g->at = ARENA_ARRAY(&g->x->arena, int64_t, g->nodes + 1);
	for (int64_t i = 0; i < g->nodes; i++) {
		g->at[i] = g->written;
		g->written += !goes_on(g, i - 1);
	}
}

static void put_node(const struct grove *g, struct lists *l, int64_t c, int64_t i)
{
	const int32_t *r = g->node + i * g->words;
	bool set = goes_on(g, i);
	int64_t last = i;

	for (; set && goes_on(g, last); last++)
		vec_push(&l->member, split_of(g, last));
	if (set) {
		vec_push(&l->member, split_of(g, last));
		vec_push(&l->member, (double)NAN);
	}
	l->feature[l->n] = r[0] >> 4;
	l->nan[l->n] = r[0] & 1;
	tensor_set(l->mode, l->n, set ? MEMBER : (r[0] & 15) >> 1);
	tensor_set(l->split, l->n, split_of(g, i));
	put_branch(g, l, c, r[1], g->node[last * g->words + 2]);
}

/* All nodes of copy c, then its trees of one leaf: nodes whose children are that leaf. Roots. */
static void put_copy(const struct grove *g, struct lists *l, int64_t c, int64_t *root)
{
	int64_t bare = l->n + g->written;

	for (int64_t i = 0; i < g->nodes; i++)
		if (!goes_on(g, i - 1))
			put_node(g, l, c, i);
	for (int64_t i = 0; i < g->roots; i++) {
		root[i] = g->root[i] < 0 ? bare++ : child_at(g, c, g->root[i]);
		if (g->root[i] < 0)
			put_branch(g, l, c, g->root[i], g->root[i]);
	}
}

static void add_members(struct grove *g, Onnx__NodeProto *p, struct lists *l)
{
	int64_t n = (int64_t)l->member.n;
	struct tensor *t = tensor_new(&g->x->arena, g->type, 1, &n);

	for (int64_t i = 0; i < n; i++)
		tensor_set(t, i, l->member.a[i]);
	if (n)
		add_tensor(g, p, "membership_values", t);
	vec_free(&l->member);
}

static void add_nodes(struct grove *g, Onnx__NodeProto *p)
{
	struct lists l = lists_new(g);
	int64_t *root = ARENA_ARRAY(&g->x->arena, int64_t, g->roots * g->copies + 1);

	for (int64_t c = 0; c < g->copies; c++)
		put_copy(g, &l, c, root + c * g->roots);
	add_members(g, p, &l);
	add_ints(g, p, "nodes_falseleafs", l.n, l.no_leaf);
	add_ints(g, p, "nodes_falsenodeids", l.n, l.no);
	add_ints(g, p, "nodes_featureids", l.n, l.feature);
	add_ints(g, p, "nodes_missing_value_tracks_true", l.n, l.nan);
	add_tensor(g, p, "nodes_modes", l.mode);
	add_tensor(g, p, "nodes_splits", l.split);
	add_ints(g, p, "nodes_trueleafs", l.n, l.yes_leaf);
	add_ints(g, p, "nodes_truenodeids", l.n, l.yes);
	add_ints(g, p, "tree_roots", g->roots * g->copies, root);
}

static void add_leaves(struct grove *g, Onnx__NodeProto *p)
{
	int64_t n = g->leaves * g->copies, *target = ARENA_ARRAY(&g->x->arena, int64_t, n + 1);
	struct tensor *weight = tensor_new(&g->x->arena, g->type, 1, &n);

	for (int64_t i = 0; i < n; i++) {
		int64_t leaf = i % g->leaves, v = g->start[leaf] + i / g->leaves;
		if (v >= g->start[leaf + 1])
			continue;
		target[i] = g->target[v];
		tensor_set(weight, i, tensor_get(g->weight, v) * g->scale);
	}
	add_ints(g, p, "leaf_targetids", n, target);
	add_tensor(g, p, "leaf_weights", weight);
}

void export_trees(struct exporter *x, struct node_list *to, node_id id)
{
	static const char *const how[] = {"AVERAGE", "SUM", "MIN", "MAX"};
	const struct node *n = node(x->m, id);
	struct grove g = grove_of(x, n);
	sym in = export_name(x, n->in[0]), out = export_define(x, n->out[0]);
	Onnx__NodeProto *p;

	if (!out)
		return;
	if ((g.nodes + g.bare + g.leaves) * g.copies > INT32_MAX / 2)
		refuse(&g, "its trees are too many");
	place_nodes(&g);
	p = export_node(x, to, "TreeEnsemble", 1, &in, 1, &out);
	export_domain(x, p, "ai.onnx.ml", ML_VERSION);
	for (int i = 0; i < 4; i++)
		if (!strcmp(how[i], attr_s(n, "aggregate")))
			export_add_attr(x, p, proto_attr_int(x, "aggregate_function", i));
	export_add_attr(x, p, proto_attr_int(x, "n_targets", attr_i(n, "targets")));
	add_leaves(&g, p);
	add_nodes(&g, p);
}
