/* Ensembles of decision trees of ai.onnx.ml, in all of its forms, as Trees (lib/native/trees.c says how that has them). Where ONNX's text is
 * silent, they do what ONNX Runtime does; of two classes with scores of their own the better one is the label, as the text says. */
#include <math.h>
#include <stdlib.h>
#include "onnx/ml.h"

enum { MEMBER = 6 };

/* A node of a tree. A child from 0 on is a node, ~k leaf k. */
struct branch {
	int64_t feature, yes, no;
	int64_t set; /* MEMBER: which of forest.sets */
	int mode;    /* of Trees, or MEMBER */
	bool nan;    /* NaN goes where the comparison holds */
	double split;
};

struct vote {
	int64_t leaf, target;
	double weight;
};

struct set {
	size_t from, to; /* in forest.members */
};

struct forest {
	struct contrib *x;
	VEC(struct branch) nodes;
	VEC(struct vote) votes;
	VEC(int64_t) roots; /* children */
	VEC(struct set) sets;
	VEC(double) members;
	int64_t leaves, targets;
	const char *how;
	bool whole; /* each node is of a tree */
	bool wide;  /* numbers are compared as f64 */
	/* Nodes in an order in which parents come first; the first record of each node; how many records. */
	int64_t *order, *at, ordered, records;
};

static void forest_release(struct forest *f)
{
	vec_free(&f->nodes);
	vec_free(&f->votes);
	vec_free(&f->roots);
	vec_free(&f->sets);
	vec_free(&f->members);
}

/* ---- attributes ---- */

/* Numbers of an attribute: a tensor, or a list. */
struct list {
	int64_t n;
	const int64_t *ints;
	const float *floats;
	const struct tensor *tensor;
};

static struct list list_of(struct contrib *x, const char *name)
{
	const struct attr *a = attr_find(self(x), name);
	struct list l = {0};

	if (!a)
		return l;
	l.n = a->n;
	if (a->kind == ATTR_INTS)
		l.ints = a->u.ints;
	else if (a->kind == ATTR_FLOATS)
		l.floats = a->u.floats;
	else if (a->kind == ATTR_TENSOR && dtype_size(a->u.tensor->dtype) && tensor_data(x->m, a->u.tensor))
		l = (struct list){.n = tensor_count(a->u.tensor), .tensor = a->u.tensor};
	else
		import_die(x->c, "attribute '%s' is of another kind than ONNX says", name);
	return l;
}

static double list_get(const struct list *l, int64_t i)
{
	return l->ints ? (double)l->ints[i] : l->floats ? l->floats[i] : tensor_get(l->tensor, i);
}

static int64_t list_int(const struct list *l, int64_t i) { return l->ints ? l->ints[i] : (int64_t)list_get(l, i); }

/* The list of n elements, or none if it may be missing. */
static struct list list_exact(struct contrib *x, const char *name, int64_t n, bool needed)
{
	struct list l = list_of(x, name);

	if (l.n != n && (needed || l.n))
		import_die(x->c, "attribute '%s' has %lld elements, not %lld", name, (long long)l.n, (long long)n);
	return l;
}

/* A list of numbers, or the tensor NAME_as_tensor in its place. */
static struct list list_or_tensor(struct contrib *x, const char *name)
{
	struct list l = list_of(x, arena_printf(&x->m->arena, "%s_as_tensor", name));

	return l.n ? l : list_of(x, name);
}

static bool is_wide(const struct list *l) { return l->tensor && l->tensor->dtype == DT_F64; }

/* ---- to constants ---- */

/* How many records a node is: one for each member of its set. */
static int64_t records_of(const struct forest *f, const struct branch *b)
{
	int64_t n = b->mode == MEMBER ? (int64_t)(f->sets.a[b->set].to - f->sets.a[b->set].from) : 1;

	return n ? n : 1;
}

/* Marks what roots lead to, and counts in parents[] the ways to each node; stack has a place for each node. How many nodes. */
static int64_t count_parents(const struct forest *f, int64_t *parents, int64_t *stack)
{
	int64_t n = 0, seen = 0;

	for (size_t i = 0; i < f->nodes.n; i++)
		parents[i] = -1;
	for (size_t i = 0; i < f->roots.n; i++)
		if (f->roots.a[i] >= 0 && parents[f->roots.a[i]] < 0) {
			parents[f->roots.a[i]] = 0;
			stack[n++] = f->roots.a[i];
		}
	while (seen < n) {
		const struct branch *b = &f->nodes.a[stack[seen++]];
		for (int side = 0; side < 2; side++) {
			int64_t child = side ? b->no : b->yes;
			if (child < 0)
				continue;
			if (parents[child] < 0) {
				parents[child] = 0;
				stack[n++] = child;
			}
			parents[child]++;
		}
	}
	return n;
}

static void order_node(struct forest *f, int64_t child)
{
	f->order[f->ordered++] = child;
	f->at[child] = f->records;
	f->records += records_of(f, &f->nodes.a[child]);
	if (f->records >= INT32_MAX)
		import_unsupported(f->x->c, "more than %d nodes", INT32_MAX);
}

/* Orders the nodes, tree by tree from its root on; one that several lead to comes after all of them. What no root leads to has no
 * record. */
static void order_nodes(struct forest *f)
{
	int64_t *parents = ARENA_ARRAY(&f->x->m->arena, int64_t, f->nodes.n + 1);

	f->order = ARENA_ARRAY(&f->x->m->arena, int64_t, f->nodes.n + 1);
	f->at = ARENA_ARRAY(&f->x->m->arena, int64_t, f->nodes.n + 1);
	int64_t reached = count_parents(f, parents, f->order);
	for (size_t i = 0; i < f->nodes.n; i++)
		f->at[i] = -1;
	for (size_t i = 0; i < f->roots.n; i++) {
		int64_t next = f->ordered, root = f->roots.a[i];
		if (root >= 0 && !parents[root] && f->at[root] < 0)
			order_node(f, root);
		for (; next < f->ordered; next++) {
			const struct branch *b = &f->nodes.a[f->order[next]];
			if (b->yes >= 0 && !--parents[b->yes])
				order_node(f, b->yes);
			if (b->no >= 0 && !--parents[b->no])
				order_node(f, b->no);
		}
	}
	if (f->ordered < reached || (f->whole && f->ordered < (int64_t)f->nodes.n))
		import_die(f->x->c, "a node of the trees leads back to itself");
}

static int32_t child_at(const struct forest *f, int64_t child) { return (int32_t)(child < 0 ? child : f->at[child]); }

static void put_record(const struct forest *f, int32_t *r, const struct branch *b, int mode, double split, int32_t yes, int32_t no)
{
	float narrow = (float)split;

	r[0] = (int32_t)(b->feature * 16 + mode * 2 + b->nan);
	r[1] = yes;
	r[2] = no;
	if (f->wide)
		memcpy(r + 3, &split, sizeof split);
	else
		memcpy(r + 3, &narrow, sizeof narrow);
}

static val_id put_records(const struct forest *f)
{
	enum { EQUAL = 4 };
	int64_t words = f->wide ? 5 : 4, dims[2] = {f->records, words};
	int32_t *data = ARENA_ARRAY(&f->x->m->arena, int32_t, f->records * words + 1), *r = data;

	for (int64_t i = 0; r < data + f->records * words; i++) {
		const struct branch *b = &f->nodes.a[f->order[i]];
		const struct set *s = b->mode == MEMBER ? &f->sets.a[b->set] : NULL;
		int64_t n = records_of(f, b);
		for (int64_t k = 0; k < n; k++, r += words) {
			double split = !s ? b->split : s->to > s->from ? f->members.a[s->from + (size_t)k] : (double)NAN;
			int32_t no = k + 1 < n ? (int32_t)(f->at[f->order[i]] + k + 1) : child_at(f, b->no);
			put_record(f, r, b, s ? EQUAL : b->mode, split, child_at(f, b->yes), no);
		}
	}
	return const_new(f->x->m, 0, DT_I32, 2, dims, data, (size_t)(f->records * words) * sizeof *data);
}

static int compare_votes(const void *x, const void *y)
{
	const struct vote *a = x, *b = y;

	return (a->leaf > b->leaf) - (a->leaf < b->leaf);
}

/* First votes of leaves, targets and weights. A leaf may have none. */
static void put_votes(struct forest *f, val_id in[3])
{
	struct arena *a = &f->x->m->arena;
	int64_t n = (int64_t)f->votes.n, v = 0;
	int32_t *start = ARENA_ARRAY(a, int32_t, f->leaves + 2), *target = ARENA_ARRAY(a, int32_t, n + 1);
	struct tensor *weight = tensor_new(a, f->wide ? DT_F64 : DT_F32, 1, &n);

	if (n >= INT32_MAX || f->leaves >= INT32_MAX)
		import_unsupported(f->x->c, "more than %d leaves", INT32_MAX);
	if (n)
		qsort(f->votes.a, (size_t)n, sizeof *f->votes.a, compare_votes);
	for (int64_t leaf = 0; leaf <= f->leaves; leaf++) {
		while (v < n && f->votes.a[v].leaf < leaf)
			v++;
		start[leaf] = (int32_t)v;
	}
	for (v = 0; v < n; v++) {
		target[v] = (int32_t)f->votes.a[v].target;
		tensor_set(weight, v, f->votes.a[v].weight);
	}
	in[0] = const_new(f->x->m, 0, DT_I32, 1, (int64_t[]){f->leaves + 1}, start, (size_t)(f->leaves + 1) * sizeof *start);
	in[1] = const_new(f->x->m, 0, DT_I32, 1, &n, target, (size_t)n * sizeof *target);
	in[2] = const_tensor(f->x->m, 0, weight);
}

static val_id put_roots(const struct forest *f)
{
	int64_t n = (int64_t)f->roots.n;
	int32_t *root = ARENA_ARRAY(&f->x->m->arena, int32_t, n + 1);

	for (int64_t i = 0; i < n; i++)
		root[i] = child_at(f, f->roots.a[i]);
	return const_new(f->x->m, 0, DT_I32, 1, &n, root, (size_t)n * sizeof *root);
}

/* A node that asks whether x is at least or more than a number asks whether it is not less or at most. */
static void turn_around(struct branch *b)
{
	enum { LE, LT, GE, GT };
	int64_t yes = b->yes;

	if (b->mode != GE && b->mode != GT)
		return;
	b->mode = b->mode == GE ? LT : LE;
	b->yes = b->no;
	b->no = yes;
	b->nan = !b->nan;
}

/* The comparison that all nodes have, as Trees calls it. */
static const char *one_comparison(const struct forest *f)
{
	bool le = true, lt = true;

	for (size_t i = 0; i < f->nodes.n; i++) {
		le &= f->nodes.a[i].mode == 0;
		lt &= f->nodes.a[i].mode == 1;
	}
	return le ? "LE" : lt ? "LT" : "MIXED";
}

/* The operator: scores of the rows v. */
static val_id put_trees(struct forest *f, val_id v)
{
	struct contrib *x = f->x;
	val_id in[6] = {contrib_cast(x, v, f->wide ? DT_F64 : DT_F32)}, y;

	if (contrib_rank(x, in[0]) == 1)
		in[0] = contrib_reshaped(x, in[0], 2, (int64_t[]){1, -1});
	for (size_t i = 0; i < f->nodes.n; i++)
		turn_around(&f->nodes.a[i]);
	order_nodes(f);
	in[1] = put_records(f);
	put_votes(f, in + 2);
	in[5] = put_roots(f);
	y = make(x, OP_Trees, 6, in);
	attr_set_str(x->m, made(x, y), "aggregate", f->how);
	attr_set_str(x->m, made(x, y), "comparison", one_comparison(f));
	attr_set_int(x->m, made(x, y), "targets", f->targets);
	return y;
}

/* ---- TreeEnsembleRegressor, TreeEnsembleClassifier ---- */

/* Where a node of the attributes is. */
struct place {
	int64_t tree, node, row;
	int64_t is; /* the child that stands for it */
	bool child; /* it is one */
};

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return a->tree != b->tree ? (a->tree > b->tree) - (a->tree < b->tree) : (a->node > b->node) - (a->node < b->node);
}

static struct place *find_place(struct forest *f, struct place *p, int64_t n, int64_t tree, int64_t node)
{
	struct place key = {.tree = tree, .node = node}, *at = n ? bsearch(&key, p, (size_t)n, sizeof *p, compare_places) : NULL;

	if (!at)
		import_die(f->x->c, "there is no node %lld in tree %lld", (long long)node, (long long)tree);
	return at;
}

static int mode_of(struct contrib *x, const char *s)
{
	static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

	for (int i = 0; i < 7; i++)
		if (!strcmp(s, modes[i]))
			return i < MEMBER ? i : -1;
	import_die(x->c, "a node of the mode '%s'", s);
}

static void check_feature(struct contrib *x, int64_t feature)
{
	if (feature < 0 || feature >= INT32_MAX / 16)
		import_die(x->c, "a node of feature %lld", (long long)feature);
}

/* Attributes nodes_*, row by row. */
struct rows {
	int64_t n;
	struct list tree, node, feature, yes, no, nan, value;
	const struct attr *mode;
};

static struct rows read_rows(struct contrib *x)
{
	struct rows r = {.tree = list_of(x, "nodes_treeids"), .mode = attr_find(self(x), "nodes_modes")};

	r.n = r.tree.n;
	r.node = list_exact(x, "nodes_nodeids", r.n, true);
	r.feature = list_exact(x, "nodes_featureids", r.n, true);
	r.yes = list_exact(x, "nodes_truenodeids", r.n, true);
	r.no = list_exact(x, "nodes_falsenodeids", r.n, true);
	r.nan = list_exact(x, "nodes_missing_value_tracks_true", r.n, false);
	r.value = list_or_tensor(x, "nodes_values");
	if (!r.n || r.value.n != r.n || !r.mode || r.mode->kind != ATTR_STRS || r.mode->n != r.n || !r.tree.ints || !r.node.ints ||
	    !r.feature.ints || !r.yes.ints || !r.no.ints)
		import_die(x->c, "attributes 'nodes_...' are not as many as each other");
	return r;
}

/* Each row's place, sorted; nodes and leaves numbered as they come. */
static struct place *read_places(struct forest *f, const struct rows *r)
{
	struct place *p = ARENA_ARRAY(&f->x->m->arena, struct place, r->n);

	for (int64_t i = 0; i < r->n; i++) {
		struct branch b = {.mode = mode_of(f->x, sym_str(r->mode->u.strs[i])), .feature = r->feature.ints[i]};
		p[i] = (struct place){.tree = r->tree.ints[i], .node = r->node.ints[i], .row = i};
		if (b.mode < 0) {
			p[i].is = ~f->leaves++;
			continue;
		}
		check_feature(f->x, b.feature);
		b.split = list_get(&r->value, i);
		b.nan = r->nan.n && list_get(&r->nan, i) != 0;
		p[i].is = (int64_t)f->nodes.n;
		vec_push(&f->nodes, b);
	}
	qsort(p, (size_t)r->n, sizeof *p, compare_places);
	for (int64_t i = 1; i < r->n; i++)
		if (!compare_places(&p[i - 1], &p[i]))
			import_die(f->x->c, "node %lld of tree %lld is there twice", (long long)p[i].node, (long long)p[i].tree);
	return p;
}

static struct place *read_nodes(struct forest *f, int64_t *n)
{
	struct rows r = read_rows(f->x);
	struct place *p = read_places(f, &r);

	for (int64_t i = 0; i < r.n; i++) {
		if (p[i].is < 0)
			continue;
		struct place *yes = find_place(f, p, r.n, p[i].tree, r.yes.ints[p[i].row]),
			     *no = find_place(f, p, r.n, p[i].tree, r.no.ints[p[i].row]);
		struct branch *b = &f->nodes.a[p[i].is];
		b->yes = yes->is;
		b->no = no->is;
		yes->child = no->child = true;
	}
	for (int64_t i = 0; i < r.n; i++)
		if (!p[i].child)
			vec_push(&f->roots, p[i].is);
	if (!f->roots.n)
		import_die(f->x->c, "no tree has a root");
	f->whole = true; /* roots are the nodes that are no child */
	f->wide = is_wide(&r.value);
	*n = r.n;
	return p;
}

/* Votes: PREFIX_treeids, PREFIX_nodeids, PREFIX_ids, PREFIX_weights. */
static void read_votes(struct forest *f, const char *prefix, struct place *p, int64_t n)
{
	struct arena *a = &f->x->m->arena;
	struct list ids = list_of(f->x, arena_printf(a, "%s_ids", prefix)),
		    weight = list_or_tensor(f->x, arena_printf(a, "%s_weights", prefix)),
		    tree = list_exact(f->x, arena_printf(a, "%s_treeids", prefix), ids.n, true),
		    node = list_exact(f->x, arena_printf(a, "%s_nodeids", prefix), ids.n, true);

	if (weight.n != ids.n)
		import_die(f->x->c, "%lld weights of %lld votes", (long long)weight.n, (long long)ids.n);
	f->wide |= is_wide(&weight);
	for (int64_t i = 0; i < ids.n; i++) {
		struct place *at = find_place(f, p, n, list_int(&tree, i), list_int(&node, i));
		int64_t target = list_int(&ids, i);
		if (target < 0 || target >= f->targets)
			import_die(f->x->c, "a vote for %lld of %lld", (long long)target, (long long)f->targets);
		if (at->is < 0) /* what else has a weight is never reached */
			vec_push(&f->votes, (struct vote){~at->is, target, list_get(&weight, i)});
	}
}

static void read_forest(struct forest *f, const char *prefix)
{
	int64_t n;
	struct place *p = read_nodes(f, &n);

	read_votes(f, prefix, p, n);
	f->wide |= contrib_type(f->x, operand(f->x, 0))->dtype == DT_F64;
}

static bool targets_there(struct contrib *x, int64_t n)
{
	if (n < 1 || n >= INT32_MAX)
		import_die(x->c, "%lld targets", (long long)n);
	return contrib_type(x, operand(x, 0))->dtype != DT_NONE;
}

/* Base values added to scores of n targets. */
static val_id with_base(struct contrib *x, val_id y, int64_t n)
{
	struct list base = list_or_tensor(x, "base_values");
	struct tensor *t;

	if (!base.n)
		return y;
	if (base.n != n)
		import_unsupported(x->c, "%lld base values for %lld scores", (long long)base.n, (long long)n);
	t = tensor_new(&x->m->arena, contrib_type(x, y)->dtype, 1, &n);
	for (int64_t i = 0; i < n; i++)
		tensor_set(t, i, list_get(&base, i));
	return bin(x, OP_Add, y, const_tensor(x->m, 0, t));
}

bool ml_tree_regressor(struct contrib *x)
{
	struct forest f = {.x = x, .targets = attr_int(self(x), "n_targets", 1), .how = attr_str(self(x), "aggregate_function", "SUM")};
	val_id y;

	if (!targets_there(x, f.targets))
		return false;
	read_forest(&f, "target");
	y = contrib_cast(x, with_base(x, put_trees(&f, operand(x, 0)), f.targets), DT_F32);
	forest_release(&f);
	y = ml_transformed(x, y, ml_transform(x));
	return done(x, un(x, OP_Identity, y));
}

/* Two classes, and votes for only one of them. */
static bool one_class_votes(const struct forest *f, bool *negative)
{
	*negative = false;
	for (size_t i = 0; i < f->votes.n; i++) {
		*negative |= f->votes.a[i].weight < 0;
		if (f->votes.a[i].target != f->votes.a[0].target)
			return false;
	}
	return f->targets == 2 && f->votes.n;
}

bool ml_tree_classifier(struct contrib *x)
{
	struct list ints = list_of(x, "classlabels_int64s");
	struct forest f = {.x = x, .targets = ints.n ? ints.n : ml_count(x, "classlabels_strings"), .how = "SUM"};
	const char *transform = ml_transform(x);
	int64_t n = f.targets;
	bool negative, two;
	val_id y, best;

	if (!targets_there(x, n))
		return false;
	read_forest(&f, "class");
	two = one_class_votes(&f, &negative) && f.votes.a[0].target == 0;
	f.targets = two ? 1 : n;
	y = with_base(x, put_trees(&f, operand(x, 0)), f.targets);
	forest_release(&f);
	best = two ? ml_second(x, y, negative || strcmp(transform, "NONE") ? 0 : 0.5) : ml_best(x, y);
	y = contrib_cast(x, y, DT_F32);
	y = two ? ml_two_classes(x, y, transform, negative) : ml_transformed(x, y, transform);
	ml_put_label(x, best, n, "classlabels_int64s");
	return ml_put_scores(x, y);
}

/* ---- TreeEnsemble ---- */

/* Sets of members in the order of their nodes, NaN between them. */
static void read_sets(struct forest *f)
{
	struct list l = list_of(f->x, "membership_values");
	struct set s = {0};

	for (int64_t i = 0; i < l.n; i++) {
		double v = list_get(&l, i);
		if (v == v) {
			vec_push(&f->members, v);
			continue;
		}
		s.to = f->members.n;
		vec_push(&f->sets, s);
		s.from = s.to;
	}
	s.to = f->members.n;
	if (l.n && s.to > s.from)
		vec_push(&f->sets, s);
}

/* Node i, or leaf i, of those that there are. */
static int64_t child_of(struct forest *f, bool leaf, int64_t i, int64_t nodes)
{
	if (i < 0 || i >= (leaf ? f->leaves : nodes))
		import_die(f->x->c, "there is no %s %lld", leaf ? "leaf" : "node", (long long)i);
	return leaf ? ~i : i;
}

static void read_branches(struct forest *f)
{
	struct contrib *x = f->x;
	struct list feature = list_of(x, "nodes_featureids"), mode = list_exact(x, "nodes_modes", feature.n, true),
		    split = list_exact(x, "nodes_splits", feature.n, true),
		    nan = list_exact(x, "nodes_missing_value_tracks_true", feature.n, false);
	struct list yes = list_exact(x, "nodes_truenodeids", feature.n, true), no = list_exact(x, "nodes_falsenodeids", feature.n, true),
		    yes_leaf = list_exact(x, "nodes_trueleafs", feature.n, true),
		    no_leaf = list_exact(x, "nodes_falseleafs", feature.n, true);
	int64_t sets = 0;

	for (int64_t i = 0; i < feature.n; i++) {
		struct branch b = {.feature = list_int(&feature, i), .split = list_get(&split, i), .nan = nan.n && list_get(&nan, i) != 0};
		double m = list_get(&mode, i);
		check_feature(x, b.feature);
		if (!(m >= 0 && m <= MEMBER))
			import_die(x->c, "a node of mode %g", m);
		b.mode = (int)m;
		b.set = b.mode == MEMBER ? sets++ : 0;
		b.yes = child_of(f, list_get(&yes_leaf, i) != 0, list_int(&yes, i), feature.n);
		b.no = child_of(f, list_get(&no_leaf, i) != 0, list_int(&no, i), feature.n);
		vec_push(&f->nodes, b);
	}
	if (sets != (int64_t)f->sets.n)
		import_die(x->c, "%zu sets of members for %lld nodes", f->sets.n, (long long)sets);
	f->wide = is_wide(&split);
}

static void read_ensemble(struct forest *f)
{
	struct contrib *x = f->x;
	struct list target = list_of(x, "leaf_targetids"), weight = list_exact(x, "leaf_weights", target.n, true),
		    root = list_of(x, "tree_roots");

	f->leaves = target.n;
	read_sets(f);
	read_branches(f);
	for (int64_t i = 0; i < target.n; i++) {
		if (list_int(&target, i) < 0 || list_int(&target, i) >= f->targets)
			import_die(x->c, "a vote for %lld of %lld", (long long)list_int(&target, i), (long long)f->targets);
		vec_push(&f->votes, (struct vote){i, list_int(&target, i), list_get(&weight, i)});
	}
	for (int64_t i = 0; i < root.n; i++)
		vec_push(&f->roots, child_of(f, false, list_int(&root, i), (int64_t)f->nodes.n));
	f->wide |= contrib_type(x, operand(x, 0))->dtype == DT_F64;
}

bool ml_tree_ensemble(struct contrib *x)
{
	static const char *const how[] = {"AVERAGE", "SUM", "MIN", "MAX"}, *const transform[] = {"NONE", "SOFTMAX", "LOGISTIC",
												 "SOFTMAX_ZERO", "PROBIT"};
	int64_t h = attr_int(self(x), "aggregate_function", 1), t = attr_int(self(x), "post_transform", 0);
	struct forest f = {.x = x, .targets = attr_int(self(x), "n_targets", 1)};
	enum dtype type = contrib_type(x, operand(x, 0))->dtype;
	val_id y;

	if (h < 0 || h > 3 || t < 0 || t > 4)
		import_die(x->c, "aggregate_function %lld, post_transform %lld", (long long)h, (long long)t);
	if (!targets_there(x, f.targets))
		return false;
	f.how = how[h];
	read_ensemble(&f);
	y = put_trees(&f, operand(x, 0));
	forest_release(&f);
	if (t > 2)
		y = contrib_cast(x, y, DT_F32);
	y = contrib_cast(x, ml_transformed(x, y, transform[t]), type);
	return done(x, un(x, OP_Identity, y));
}
