/* Which nodes go together: an anchor with the elementwise nodes after it, or elementwise nodes alone. */
#include "fuse.h"
#include "lower/lower.h"
#include "op/einsum.h"
#include "op/op.h"
#include "target/target.h"

enum role {
	ROLE_ALONE,   /* a group of one */
	ROLE_OUTSIDE, /* in no group */
	ROLE_ANCHOR,  /* takes elementwise nodes that follow it */
	ROLE_ELEMENTWISE,
};

enum {
	USERS_MAX = 16,   /* a value with more users is not followed: keeps the search linear */
	DETOUR_MAX = 32,  /* nodes tried between one single result and the next */
	MEMBERS_MAX = 64, /* of a group, and one detour more: the time to schedule it grows with the square */
};

/* Are all types known? Else its operator has to say. */
static bool all_static(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (v && !type_static(m, &val(m, v)->type))
			return false;
	}
	return true;
}

static bool stays_outside(const struct node *n)
{
	return n->op == OP_OTHER || op_is(n->op, OP_CONTROL) || op_is(n->op, OP_CALL) || op_is(n->op, OP_VIEW);
}

/* Is a size of a result a symbol that no operand has? Then it is known only when the result is there. */
static bool sizes_itself(struct module *m, const struct node *n)
{
	for (uint32_t k = 0; k < n->nout; k++) {
		const struct type *t = n->out[k] ? &val(m, n->out[k])->type : NULL;
		for (int d = 0; t && d < t->rank; d++) {
			poly_var v = t->dims[d] ? poly_is_var(m->dims, t->dims[d]) : 0;
			bool there = !v;
			for (uint32_t i = 0; i < n->nin && !there; i++)
				for (int e = 0; n->in[i] && e < val(m, n->in[i])->type.rank && !there; e++)
					there = val(m, n->in[i])->type.dims[e] && poly_uses(m->dims, val(m, n->in[i])->type.dims[e], v);
			if (!there)
				return true;
		}
	}
	return false;
}

bool has_kernel(struct module *m, node_id id)
{
	const struct node *n = node(m, id);

	if (stays_outside(n) || !lower_has(n->op))
		return false;
	for (uint32_t i = 0; i < n->nin + n->nout; i++) {
		val_id v = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (v && dtype_is_float8(val(m, v)->type.dtype))
			return false;
	}
	return all_static(m, n) ? !lower_why_not(m, id, target_host()) : lower_has_constants(m, n) && !sizes_itself(m, n);
}

static enum role find_role(struct module *m, node_id id)
{
	const struct node *n = node(m, id);

	if (stays_outside(n))
		return ROLE_OUTSIDE;
	if (attr_i(n, "training_mode") || !has_kernel(m, id))
		return ROLE_ALONE;
	if (op_is(n->op, OP_ANCHOR))
		return ROLE_ANCHOR;
	return op_is(n->op, OP_ELEMENTWISE) || op_is(n->op, OP_CHANNELWISE) || node_maps_codes(m, n) ? ROLE_ELEMENTWISE : ROLE_ALONE;
}

static enum role role_of(const struct plan *p, node_id n) { return (enum role)p->role[n]; }

/* Equal and known shapes of tensors of numbers. */
static bool same_shape(const struct type *a, const struct type *b)
{
	if (a->other || b->other || a->dtype == DT_STR || b->dtype == DT_STR)
		return false;
	if (a->rank == RANK_UNKNOWN || a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] == POLY_UNKNOWN || a->dims[i] != b->dims[i])
			return false;
	return true;
}

/* The only result of n that is wanted; 0 if there are more. */
static val_id only_result(const struct node *n)
{
	val_id v = 0;

	for (uint32_t i = 0; i < n->nout; i++) {
		if (n->out[i] && v)
			return 0;
		if (n->out[i])
			v = n->out[i];
	}
	return v;
}

/* Every node that uses v is a member of group g. */
static bool nodes_inside(const struct plan *p, val_id v, uint32_t g)
{
	if (uses_count(&p->uses, v) > USERS_MAX)
		return false;
	for (uint32_t i = p->uses.start[v]; i < p->uses.start[v + 1]; i++)
		if (p->group[p->uses.user[i]] != g)
			return false;
	return true;
}

/* Every use of v is by a member of group g. */
static bool used_inside(const struct plan *p, val_id v, uint32_t g) { return !p->uses.nout[v] && nodes_inside(p, v, g); }

/* NULL if n may join a group whose results have type t, else why not. */
static const char *why_not_join(const struct plan *p, node_id n, const struct type *t)
{
	const struct node *x = node(p->m, n);
	val_id v = only_result(x);

	if (role_of(p, n) != ROLE_ELEMENTWISE)
		return "its user is not elementwise";
	if (p->group[n])
		return "its user is in another group already";
	if (!v)
		return "its user has several results";
	return same_shape(&val(p->m, v)->type, t) ? NULL : "its user's result has another shape, or one not known";
}

/* Values of the group that are used outside it, while it grows. */
struct frontier {
	val_id v[DETOUR_MAX + 1];
	int n;
};

/* The first node in order, outside group g, that uses a value of the frontier; 0 and why if a value
 * cannot be followed. */
static node_id first_user(const struct plan *p, const struct frontier *f, uint32_t g, const char **why)
{
	node_id best = 0;

	for (int k = 0; k < f->n; k++) {
		val_id v = f->v[k];
		if (p->uses.nout[v]) {
			*why = "its result is a result of the graph";
			return 0;
		}
		if (uses_count(&p->uses, v) > USERS_MAX) {
			*why = "its result has too many users";
			return 0;
		}
		for (uint32_t i = p->uses.start[v]; i < p->uses.start[v + 1]; i++) {
			node_id u = p->uses.user[i];
			if (p->group[u] != g && (!best || p->pos[u] < p->pos[best]))
				best = u;
		}
	}
	if (!best)
		*why = "its result is not used";
	return best;
}

static void join(struct plan *p, node_id n, uint32_t g)
{
	p->group[n] = g;
	vec_push(&p->member, n);
}

/* Adds nodes that follow *result to group g until there is again a single value used outside, which
 * becomes *result: x -> Sigmoid(x), x * Sigmoid(x) is one such step. NULL, or why there is none. */
static const char *extend(struct plan *p, uint32_t g, val_id *result, const struct type *t)
{
	struct frontier f = {.v = {*result}, .n = 1};
	size_t start = p->member.n;
	const char *why = "the paths from its result join too late";

	if (start >= MEMBERS_MAX)
		return "it is as large as a group gets";
	while (p->member.n - start < DETOUR_MAX) {
		node_id u = first_user(p, &f, g, &why);
		const char *not = !u ? why : op_is(node(p->m, u)->op, OP_UNPACK) ? "its user unpacks for others" : why_not_join(p, u, t);
		int k = 0;

		if (not ) {
			why = not ;
			break;
		}
		join(p, u, g);
		f.v[f.n++] = only_result(node(p->m, u));
		for (int i = 0; i < f.n; i++)
			if (!used_inside(p, f.v[i], g) || !uses_count(&p->uses, f.v[i]))
				f.v[k++] = f.v[i];
		f.n = k;
		if (f.n == 1) {
			*result = f.v[0];
			return NULL;
		}
	}
	while (p->member.n > start)
		p->group[p->member.a[--p->member.n]] = 0;
	return why;
}

/* All nodes that use v are elementwise members of g. results: it may be a result of the graph, too, which then is one more of the group. */
static bool used_elementwise(const struct plan *p, val_id v, uint32_t g, bool results)
{
	if (results ? !nodes_inside(p, v, g) : !used_inside(p, v, g))
		return false;
	for (uint32_t i = p->uses.start[v]; i < p->uses.start[v + 1]; i++)
		if (role_of(p, p->uses.user[i]) != ROLE_ELEMENTWISE)
			return false;
	return true;
}

/* Takes in elementwise nodes that compute operands of elementwise members, where nobody else wants them; results: but the graph's caller. */
static void pull_operands(struct plan *p, uint32_t g, const struct type *t, bool results)
{
	for (size_t k = 0; k < p->member.n && p->member.n < MEMBERS_MAX; k++) {
		const struct node *n = node(p->m, p->member.a[k]);
		if (role_of(p, p->member.a[k]) != ROLE_ELEMENTWISE)
			continue;
		for (uint32_t i = 0; i < n->nin; i++) {
			const struct value *v = val(p->m, n->in[i]);
			if (n->in[i] && v->kind == VAL_NODE && !why_not_join(p, v->def, t) && used_elementwise(p, n->in[i], g, results))
				join(p, v->def, g);
		}
	}
}

/* Takes in what unpacks operands of members, and what is made of such constants: it is computed where it is read, or at build time. */
static void pull_unpacking(struct plan *p, uint32_t g)
{
	enum { DEPTH_MAX = 8 };

	for (size_t k = 0; k < p->member.n && p->member.n < MEMBERS_MAX; k++) {
		const struct node *n = node(p->m, p->member.a[k]);
		for (uint32_t i = 0; i < n->nin; i++) {
			const struct value *v = val(p->m, n->in[i]);
			if (!n->in[i] || v->kind != VAL_NODE || p->group[v->def] || !used_inside(p, n->in[i], g))
				continue;
			bool unpacks = op_is(node(p->m, v->def)->op, OP_UNPACK) && role_of(p, v->def) == ROLE_ELEMENTWISE;
			if (unpacks || made_of_packed(p->m, n->in[i], DEPTH_MAX))
				join(p, v->def, g);
		}
	}
}

/* A MatMul reads its operands through Transposes that nobody else wants. */
static void pull_transposes(struct plan *p, uint32_t g, node_id anchor)
{
	const struct node *n = node(p->m, anchor);

	if (!p->producers || (n->op != OP_MatMul && n->op != OP_MatMulInteger))
		return;
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = val(p->m, n->in[i]);
		if (v->kind == VAL_NODE && node(p->m, v->def)->op == OP_Transpose && !p->group[v->def] && used_inside(p, n->in[i], g))
			join(p, v->def, g);
	}
}

/* A reduction computes its terms itself where they are more than what they are made of (no operand has their shape), and nobody else wants them.
 * But a sum of products would become a matrix product, which sums in longer chains than a ReduceSum. */
static void pull_terms(struct plan *p, uint32_t g, node_id anchor)
{
	val_id v = node(p->m, anchor)->in[0];
	const struct value *x = val(p->m, v);

	if (!p->producers || !op_is(node(p->m, anchor)->op, OP_REDUCTION) || x->kind != VAL_NODE || !used_inside(p, v, g) ||
	    why_not_join(p, x->def, &x->type))
		return;
	const struct node *n = node(p->m, x->def);
	if (n->op == OP_Mul)
		return;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && same_shape(&val(p->m, n->in[i])->type, &x->type))
			return;
	join(p, x->def, g);
}

/* ---- products with a softmax between them ---- */

enum { BETWEEN_MAX = 8 }; /* elementwise nodes on each side of the softmax */

/* The node that computes v, for the group alone, of the type `like`; 0: there is none. */
static node_id only_maker(const struct plan *p, val_id v, uint32_t g, const struct type *like)
{
	const struct value *x = val(p->m, v);

	if (!v || x->kind != VAL_NODE || p->group[x->def] || !same_shape(&x->type, like) || x->type.dtype != like->dtype ||
	    !used_inside(p, v, g) || only_result(node(p->m, x->def)) != v)
		return 0;
	return x->def;
}

static bool is_softmax(const struct node *n) { return n->op == OP_Softmax; }

/* Walks from v up through elementwise nodes to one that is wanted, and joins all on the way. 0: there is none. */
static node_id join_up_to(struct plan *p, val_id v, bool (*wanted)(const struct node *n), uint32_t g)
{
	const struct type like = val(p->m, v)->type;

	for (int depth = 0; depth <= BETWEEN_MAX; depth++) {
		node_id n = only_maker(p, v, g, &like), next = 0;
		if (!n || (!wanted(node(p->m, n)) && role_of(p, n) != ROLE_ELEMENTWISE))
			return 0;
		join(p, n, g);
		if (wanted(node(p->m, n)))
			return n;
		v = 0;
		for (uint32_t i = 0; i < node(p->m, n)->nin && !next; i++)
			if (node(p->m, n)->in[i] && (next = only_maker(p, node(p->m, n)->in[i], g, &like)))
				v = node(p->m, n)->in[i];
	}
	return 0;
}

static bool is_product(const struct node *n) { return n->op == OP_MatMul || n->op == OP_Einsum; }

/* An Einsum's operand that is summed up along its last axis, that alone, and has several rows that the other operand has not; -1: none. */
static int einsum_rows(struct module *m, const struct node *n)
{
	struct einsum q;
	int rank[2];

	for (int i = 0; i < 2; i++)
		rank[i] = val(m, n->in[i])->type.rank;
	if (einsum_parse(attr_s(n, "equation"), 2, rank, &q))
		return -1;
	for (int i = 0; i < 2; i++) {
		bool has[3][LETTERS_MAX] = {0};
		int64_t dims[RANK_MAX], rows = 1;
		int summed = 0, last = rank[i] ? q.axis[i][rank[i] - 1] : 0;
		for (int t = 0; t <= 2; t++)
			for (int k = 0; k < q.rank[t]; k++)
				has[t][q.axis[t][k]] = true;
		for (int c = 0; c < LETTERS_MAX; c++)
			summed += (has[0][c] || has[1][c]) && !has[2][c];
		type_dims(m, &val(m, n->in[i])->type, dims);
		for (int k = 0; k < rank[i]; k++)
			rows = dims[k] > rows && !has[1 - i][q.axis[i][k]] ? dims[k] : rows;
		if (rank[i] && summed == 1 && !has[2][last] && has[1 - i][last] && rows > 1)
			return i;
	}
	return -1;
}

/* The operand of a product that is summed up along its rows, of which several are multiplied with the same; -1: there is none. */
static int rows_operand(struct module *m, const struct node *n)
{
	if (!is_product(n) || n->nin != 2 || !all_static(m, n))
		return -1;
	if (n->op == OP_Einsum)
		return einsum_rows(m, n);
	const struct type *t = &val(m, n->in[0])->type;
	int64_t rows;

	return t->rank >= 2 && poly_is_const(m->dims, t->dims[t->rank - 2], &rows) && rows > 1 ? 0 : -1;
}

/* A product whose rows are made by a softmax of another product's takes all of them in, where nobody else wants what is between: so it need
 * not be kept whole. The first product; 0: it stays as it is. */
static node_id pull_attention(struct plan *p, uint32_t g, node_id anchor)
{
	size_t start = p->member.n;
	const struct node *n = node(p->m, anchor);
	int i = p->producers ? rows_operand(p->m, n) : -1;
	const struct type *t = i < 0 ? NULL : &val(p->m, n->in[i])->type;
	node_id softmax = t && t->dtype == DT_F32 ? join_up_to(p, n->in[i], is_softmax, g) : 0, first = 0;

	if (softmax) {
		int64_t axis = attr_i(node(p->m, softmax), "axis");
		first = axis == -1 || axis == t->rank - 1 ? join_up_to(p, node(p->m, softmax)->in[0], is_product, g) : 0;
	}
	if (first && node(p->m, first)->nin == 2 && all_static(p->m, node(p->m, first)))
		return first;
	while (p->member.n > start)
		p->group[p->member.a[--p->member.n]] = 0;
	return 0;
}

bool may_be_grouped(const struct plan *p, node_id n) { return role_of(p, n) != ROLE_OUTSIDE; }

uint32_t group_new(struct plan *p, node_id head)
{
	uint32_t g = (uint32_t)p->head.n;

	vec_push(&p->head, head);
	p->member.n = 0;
	join(p, head, g);
	return g;
}

/* --why: the group, and what ended it. */
static void tell(const struct plan *p, uint32_t g, const char *end)
{
	if (!p->c->why)
		return;
	for (size_t i = 1; i < p->member.n; i++)
		pass_why(p->c, p->m, p->member.a[i], "fused with %s", node_where(p->m, p->head.a[g], &p->m->arena));
	pass_why(p->c, p->m, p->head.a[g], "group of %zu%s%s", p->member.n, end ? "; ends because " : "", end ? end : "");
}

static void group_anchor(struct plan *p, node_id anchor)
{
	uint32_t g = group_new(p, anchor);
	val_id v = only_result(node(p->m, anchor));
	const char *end = "it has several results";

	if (v) {
		struct type t = val(p->m, v)->type;
		while (!(end = extend(p, g, &v, &t)))
			;
		pull_operands(p, g, &t, false);
	}
	node_id first = pull_attention(p, g, anchor);
	if (first) {
		struct type t = val(p->m, node(p->m, first)->out[0])->type;
		pull_operands(p, g, &t, false);
		pull_transposes(p, g, first);
	}
	pull_transposes(p, g, anchor);
	pull_terms(p, g, anchor);
	pull_unpacking(p, g);
	tell(p, g, end);
}

/* The last of a set of elementwise nodes, with those before it. */
static void group_elementwise(struct plan *p, node_id last)
{
	uint32_t g = group_new(p, last);
	val_id v = only_result(node(p->m, last));

	if (v)
		pull_operands(p, g, &val(p->m, v)->type, true);
	pull_unpacking(p, g);
	tell(p, g, NULL);
}

static void group_alone(struct plan *p, node_id n)
{
	uint32_t g = group_new(p, n);

	if (has_kernel(p->m, n))
		pull_unpacking(p, g);
	tell(p, g, "it is neither an anchor nor elementwise");
}

/* Anchors choose first, the last one in order first of all: of two that could take an Add it is
 * the one whose result is still in the cache when the Add can be computed. */
void group_nodes(struct plan *p, graph_id g, uint32_t ordinal)
{
	const struct graph *x = graph(p->m, g);

	for (size_t i = 0; i < x->nodes.n; i++) {
		p->pos[x->nodes.a[i]] = (uint32_t)i;
		p->role[x->nodes.a[i]] = (uint8_t)find_role(p->m, x->nodes.a[i]);
	}
	plan_apply(p, g, ordinal);
	for (size_t i = x->nodes.n; i-- > 0;)
		if (role_of(p, x->nodes.a[i]) == ROLE_ANCHOR && !p->group[x->nodes.a[i]])
			group_anchor(p, x->nodes.a[i]);
	for (size_t i = x->nodes.n; i-- > 0;) {
		node_id n = x->nodes.a[i];
		enum role r = role_of(p, n);
		if (p->group[n] || r == ROLE_ANCHOR)
			continue;
		if (r == ROLE_ELEMENTWISE) {
			group_elementwise(p, n);
		} else if (r == ROLE_ALONE) {
			group_alone(p, n);
		} else {
			pass_why(p->c, p->m, n, "stays outside: a view, a control operator, or unknown");
		}
	}
}
