/* Transposes around nodes that can compute in another order of axes: a model whose convolutions stand between two Transposes (TensorFlow's
 * NHWC, by tf2onnx) has them around every activation, sum and concatenation.
 *
 * A region is all nodes that hang together by values of one rank and take any order of axes. Each value v of it becomes v', where v is
 * Transpose(v', perm). Transposes at its border that undo this go, others come; the region changes if fewer come than go. */
#include <string.h>
#include "common/map.h"
#include "op/op.h"
#include "region.h"
#include "rules.h"

enum { USERS_MAX = 64 };

static int index_of(const struct region *g, node_id n) { return (int)map_get(&g->at, n) - 1; }

/* The order of axes of result v of member n: perm, but for a reduction that drops axes. */
static int result_order(const struct region *g, node_id n, int64_t p[RANK_MAX])
{
	bool reduced[RANK_MAX] = {false};
	int64_t place[RANK_MAX];
	int rank = 0;

	if (!region_drops_axes(g, n, reduced)) {
		memcpy(p, g->perm, sizeof *p * (size_t)g->rank);
		return g->rank;
	}
	for (int i = 0; i < g->rank; i++) { /* axis perm[i] of the operand in the new order is axis i of the old */
		place[g->perm[i]] = !reduced[i];
		rank += !reduced[i];
	}
	for (int i = 0, k = 0; i < g->rank; i++)
		place[i] = place[i] ? k++ : -1;
	for (int i = 0, k = 0; i < g->rank; i++)
		if (!reduced[i])
			p[k++] = place[g->perm[i]];
	return rank;
}

static bool is_identity(const int64_t *p, int rank)
{
	for (int i = 0; i < rank; i++)
		if (p[i] != i)
			return false;
	return true;
}

/* Is the Transpose of this result type by p a Reshape: it moves no element, and the shape can be said? */
static bool moves_nothing(struct region *g, const struct type *t, const int64_t *p, int rank)
{
	int64_t last = -1, d;
	int open = 0;

	for (int i = 0; i < rank; i++) {
		bool known = t->dims[i] && poly_is_const(rw_module(g->rw)->dims, t->dims[i], &d);
		open += !known;
		if (known && d == 0)
			return false;
		if (known && d == 1)
			continue;
		if (p[i] < last)
			return false;
		last = p[i];
	}
	return open < 2;
}

/* Type t with axis i where axis p[i] was. */
static struct type permuted(struct region *g, const struct type *t, const int64_t *p, int rank)
{
	struct type y = *t;
	dim *d = ARENA_ARRAY(&rw_module(g->rw)->arena, dim, rank + 1);

	for (int i = 0; i < rank; i++)
		d[i] = t->dims[p[i]];
	y.dims = d;
	y.layout = 0;
	return y;
}

/* x in another order: t is the type of the result. */
static val_id transposed(struct region *g, node_id at, val_id x, const int64_t *p, int rank, const struct type *t)
{
	if (is_identity(p, rank))
		return x;
	val_id shape = moves_nothing(g, t, p, rank) ? shape_operand(g->rw, t) : 0;
	if (shape)
		return rw_node(g->rw, at, OP_Reshape, 2, (val_id[]){x, shape});
	val_id v = rw_node(g->rw, at, OP_Transpose, 1, &x);
	attr_set_ints(rw_module(g->rw), rw_node_of(g->rw, v), "perm", rank, p);
	return v;
}

static void compose(const int64_t *inner, const int64_t *outer, int rank, int64_t *both)
{
	for (int i = 0; i < rank; i++)
		both[i] = inner[outer[i]];
}

/* ---- which nodes ---- */

static bool add_member(struct region *g, node_id n)
{
	if (index_of(g, n) >= 0 || !region_takes(g, n))
		return true;
	if (g->n == REGION_MAX)
		return false;
	g->member[g->n++] = (struct member){.node = n};
	map_set(&g->at, n, (uint32_t)g->n);
	return true;
}

/* The neighbours of member n, through values of the region. False: too many. */
static bool add_neighbours(struct region *g, node_id n)
{
	struct module *m = rw_module(g->rw);
	node_id user[USERS_MAX], def;
	bool reduced[RANK_MAX];

	for (uint32_t i = 0; i < node(m, n)->nin; i++)
		if (region_operand(g, n, i) == OPERAND_MOVED && (def = rw_node_of(g->rw, rw_in(g->rw, n, i))) &&
		    !region_drops_axes(g, def, reduced) && !add_member(g, def))
			return false;
	for (uint32_t k = 0; k < node(m, n)->nout && !region_drops_axes(g, n, reduced); k++) {
		int count = node(m, n)->out[k] ? rw_users(g->rw, node(m, n)->out[k], user, USERS_MAX) : 0;
		for (int i = 0; i < count; i++)
			if (!add_member(g, user[i]))
				return false;
		if (count < 0)
			return false;
	}
	return true;
}

static bool collect(struct region *g, node_id start)
{
	if (!add_member(g, start))
		return false;
	for (int i = 0; i < g->n; i++)
		if (!add_neighbours(g, g->member[i].node))
			return false;
	return g->n > 0;
}

/* ---- what comes and goes ---- */

struct balance {
	int gone, come; /* Transposes */
	double bytes_gone, bytes_come;
	bool sized; /* the bytes are all known */
};

static void count(struct region *g, struct balance *b, val_id v, bool goes)
{
	const struct type *t = rw_type(g->rw, v);
	int64_t n = type_count(rw_module(g->rw), t);

	*(goes ? &b->gone : &b->come) += 1;
	b->sized = b->sized && n >= 0;
	*(goes ? &b->bytes_gone : &b->bytes_come) += n >= 0 ? (double)n * (double)dtype_size(t->dtype) : 0;
}

/* Does each user of v belong to the region? */
static bool only_members_use(struct region *g, val_id v)
{
	node_id user[USERS_MAX];
	int n = rw_is_output(g->rw, v) ? -1 : rw_users(g->rw, v, user, USERS_MAX);
	bool all = n >= 0;

	for (int i = 0; i < n && all; i++)
		all = index_of(g, user[i]) >= 0;
	return all;
}

/* A Transpose of v by the inverse of perm that is there, and stays. */
static node_id is_there(struct region *g, val_id v)
{
	node_id user[USERS_MAX];
	int n = rw_users(g->rw, v, user, USERS_MAX), rank;
	int64_t p[RANK_MAX];

	for (int i = 0; i < n; i++)
		if (node(rw_module(g->rw), user[i])->op == OP_Transpose && transpose_order(g->rw, user[i], p, &rank) && rank == g->rank &&
		    !memcmp(p, g->back, sizeof *p * (size_t)rank) && !only_members_use(g, node(rw_module(g->rw), user[i])->out[0]))
			return user[i];
	return 0;
}

/* A value from outside in the new order: b counts, without it the value is made. */
static val_id border(struct region *g, node_id at, val_id v, struct balance *b)
{
	node_id t = rw_def(g->rw, v, OP_Transpose), same;
	int64_t p[RANK_MAX], both[RANK_MAX];
	int rank;
	struct type to = permuted(g, rw_type(g->rw, v), g->back, g->rank);

	if (t && transpose_order(g->rw, t, p, &rank) && rank == g->rank) {
		compose(p, g->back, rank, both);
		bool same_order = is_identity(both, rank), last = only_members_use(g, v);
		if (b && same_order && last)
			count(g, b, v, true);
		if (b && !same_order && !last)
			count(g, b, v, false);
		return b ? 0 : transposed(g, at, rw_in(g->rw, t, 0), both, rank, &to);
	}
	if ((same = is_there(g, v)))
		return node(rw_module(g->rw), same)->out[0];
	if (b && !moves_nothing(g, &to, g->back, g->rank))
		count(g, b, v, false);
	return b ? 0 : transposed(g, at, v, g->back, g->rank, &to);
}

/* Is user n of result v a Transpose that undoes the new order? Then v in that order is its result. One of them may be a result of the
 * graph. */
static bool undoes(struct region *g, node_id n, const int64_t *p, int rank, bool *given)
{
	int64_t q[RANK_MAX], both[RANK_MAX];
	int k;
	val_id y = node(rw_module(g->rw), n)->out[0];

	if (node(rw_module(g->rw), n)->op != OP_Transpose || !transpose_order(g->rw, n, q, &k) || k != rank || !rw_uses(g->rw, y))
		return false;
	compose(p, q, rank, both);
	if (!is_identity(both, rank) || (rw_is_output(g->rw, y) && *given))
		return false;
	*given |= rw_is_output(g->rw, y);
	return true;
}

/* Users outside of result v of member n; of a value of `to` without b they are given what they had. */
static bool leave(struct region *g, node_id n, val_id v, val_id to, struct balance *b)
{
	struct module *m = rw_module(g->rw);
	node_id user[USERS_MAX];
	int64_t p[RANK_MAX], q[RANK_MAX], both[RANK_MAX];
	int rank = result_order(g, n, p), users = rw_users(g->rw, v, user, USERS_MAX), k;
	bool same = is_identity(p, rank), others = rw_is_output(g->rw, v), given = false;

	if (users < 0)
		return false;
	for (int i = 0; i < users; i++) {
		val_id y = node(m, user[i])->nout ? node(m, user[i])->out[0] : 0;
		if (index_of(g, user[i]) >= 0)
			continue;
		if (!same && undoes(g, user[i], p, rank, &given)) {
			if (b)
				count(g, b, v, true);
			else
				rw_replace(g->rw, y, to);
		} else if (!same && node(m, user[i])->op == OP_Transpose && transpose_order(g->rw, user[i], q, &k) && k == rank) {
			compose(p, q, rank, both);
			if (!b && !is_identity(both, rank))
				rw_replace(g->rw, y, transposed(g, n, to, both, rank, rw_type(g->rw, y)));
			others |= is_identity(both, rank);
		} else {
			others = true;
		}
	}
	if (!others)
		return true;
	if (!b)
		rw_replace(g->rw, v, transposed(g, n, to, p, rank, rw_type(g->rw, v)));
	else if (!same && !moves_nothing(g, rw_type(g->rw, v), p, rank))
		count(g, b, v, false);
	return true;
}

static bool pays(struct region *g)
{
	struct module *m = rw_module(g->rw);
	struct balance b = {.sized = true};
	struct map seen = {0};
	bool good = true;

	for (int i = 0; i < g->n && good; i++) {
		node_id n = g->member[i].node;
		for (uint32_t k = 0; k < node(m, n)->nin; k++) {
			val_id v = rw_in(g->rw, n, k);
			if (region_operand(g, n, k) != OPERAND_MOVED || map_get(&seen, v) || index_of(g, rw_node_of(g->rw, v)) >= 0)
				continue;
			map_set(&seen, v, 1);
			border(g, n, v, &b);
		}
		for (uint32_t k = 0; k < node(m, n)->nout && good; k++)
			good = !node(m, n)->out[k] || leave(g, n, node(m, n)->out[k], 0, &b);
	}
	map_free(&seen);
	return good && b.gone > b.come && (!b.sized || b.bytes_gone > b.bytes_come);
}

/* ---- the change ---- */

static val_id in_new_order(struct region *g, node_id n, val_id v, struct map *made);

/* Member i in the new order, after the members before it. */
static void change(struct region *g, int i, struct map *made)
{
	struct module *m = rw_module(g->rw);
	node_id n = g->member[i].node;
	uint32_t nin = node(m, n)->nin;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1);

	if (g->member[i].by)
		return;
	for (uint32_t k = 0; k < nin; k++) {
		val_id v = rw_in(g->rw, n, k);
		in[k] = region_operand(g, n, k) == OPERAND_MOVED ? in_new_order(g, n, v, made) : v;
	}
	g->member[i].by = region_node(g, n, in);
}

static val_id in_new_order(struct region *g, node_id n, val_id v, struct map *made)
{
	int i = index_of(g, rw_node_of(g->rw, v));

	if (i >= 0) {
		change(g, i, made);
		return node(rw_module(g->rw), g->member[i].by)->out[val(rw_module(g->rw), v)->index];
	}
	val_id y = map_get(made, v);
	if (!y)
		map_set(made, v, y = border(g, n, v, NULL));
	return y;
}

static void apply(struct region *g)
{
	struct module *m = rw_module(g->rw);
	struct map made = {0};

	for (int i = 0; i < g->n; i++)
		change(g, i, &made);
	for (int i = 0; i < g->n; i++) {
		node_id n = g->member[i].node;
		for (uint32_t k = 0; k < node(m, n)->nout; k++)
			if (node(m, n)->out[k])
				leave(g, n, node(m, n)->out[k], node(m, g->member[i].by)->out[k], NULL);
	}
	map_free(&made);
}

/* The region around node start, if it takes this order. */
static const char *try_region(struct rewrite *rw, node_id start, const int64_t *perm, int rank)
{
	struct region g = {.rw = rw, .rank = rank};
	const char *why = NO_MATCH;

	for (int i = 0; i < rank; i++) {
		g.perm[i] = perm[i];
		g.back[perm[i]] = i;
	}
	if (region_takes(&g, start)) {
		g.member = xcalloc(REGION_MAX, sizeof *g.member);
		why = !collect(&g, start) ? "too many nodes hang together here" : pays(&g) ? NULL : "as many Transposes would come as go";
		if (!why)
			apply(&g);
		free(g.member);
	}
	map_free(&g.at);
	return why;
}

/* The regions after and before a Transpose. */
static const char *other_order(struct rewrite *rw, node_id n)
{
	int64_t p[RANK_MAX], back[RANK_MAX];
	node_id user[USERS_MAX], def = rw_node_of(rw, rw_in(rw, n, 0));
	int rank, users = rw_users(rw, node(rw_module(rw), n)->out[0], user, USERS_MAX);
	const char *why = NO_MATCH, *now;

	if (!transpose_order(rw, n, p, &rank) || rank != rw_type(rw, rw_in(rw, n, 0))->rank)
		return NO_MATCH;
	for (int i = 0; i < users; i++) {
		if (!(now = try_region(rw, user[i], p, rank)))
			return NULL;
		why = *now ? now : why;
	}
	for (int i = 0; i < rank; i++)
		back[p[i]] = i;
	if (!def || !(now = try_region(rw, def, back, rank)))
		return def ? NULL : why;
	return *now ? now : why;
}

const struct rule rules_order[] = {
	{"other-order", OP_Transpose, other_order, "the nodes between Transposes compute in the order before them", MEASURE_WORK},
	{0},
};
