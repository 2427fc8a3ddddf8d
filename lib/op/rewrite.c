#include "op/rewrite.h"
#include <math.h>
#include <string.h>
#include "op/measure.h"
#include "op/op.h"

/* The users of a value are a list in edges[]: appending is O(1), and so is joining two lists when one value replaces another. An edge
 * whose node is dead or no longer uses the value is stale, and skipped. */
struct edge {
	node_id user;
	uint32_t next;
};
struct value_uses {
	val_id fwd;           /* the value that replaced it, or 0 */
	uint32_t count;       /* operand slots of live nodes, and graph outputs */
	uint32_t outputs;     /* of these, graph outputs */
	uint32_t first, last; /* edges; 0: none */
};
struct node_state {
	bool dead, queued;
	bool here;                            /* its graph is being rewritten */
	node_id before, last_before, sibling; /* the new nodes that go directly before it, linked by sibling */
};
struct rewrite {
	struct module *m;
	VEC(struct value_uses) v;
	VEC(struct node_state) n;
	VEC(struct edge) edges; /* [0] unused */
	VEC(node_id) work;      /* a queue: taken at done */
	size_t done;
	size_t applied;             /* applications of rules so far */
	const struct rule *last[2]; /* the last two of them */
	bool proving;
	struct measures before; /* the last rule that was applied, or all of them */
};

struct module *rw_module(const struct rewrite *rw) { return rw->m; }

static void grow(struct rewrite *rw)
{
	size_t nv = rw->v.n, nn = rw->n.n;

	if (nv < rw->m->values.n) {
		vec_reserve(&rw->v, rw->m->values.n);
		memset(rw->v.a + nv, 0, (rw->m->values.n - nv) * sizeof *rw->v.a);
		rw->v.n = rw->m->values.n;
	}
	if (nn < rw->m->nodes.n) {
		vec_reserve(&rw->n, rw->m->nodes.n);
		memset(rw->n.a + nn, 0, (rw->m->nodes.n - nn) * sizeof *rw->n.a);
		rw->n.n = rw->m->nodes.n;
	}
}

static val_id current(struct rewrite *rw, val_id v)
{
	val_id end = v;

	while (rw->v.a[end].fwd)
		end = rw->v.a[end].fwd;
	while (rw->v.a[v].fwd) {
		val_id next = rw->v.a[v].fwd;
		rw->v.a[v].fwd = end;
		v = next;
	}
	return end;
}

static void queue(struct rewrite *rw, node_id n)
{
	if (!n || rw->n.a[n].dead || rw->n.a[n].queued)
		return;
	rw->n.a[n].queued = true;
	vec_push(&rw->work, n);
}

static void add_use(struct rewrite *rw, val_id v, node_id user)
{
	struct value_uses *u = &rw->v.a[v];

	vec_push(&rw->edges, (struct edge){user, 0});
	if (u->last)
		rw->edges.a[u->last].next = (uint32_t)(rw->edges.n - 1);
	else
		u->first = (uint32_t)(rw->edges.n - 1);
	u->last = (uint32_t)(rw->edges.n - 1);
	u->count++;
}

static bool is_user(struct rewrite *rw, node_id n, val_id v)
{
	const struct node *x = node(rw->m, n);

	if (rw->n.a[n].dead)
		return false;
	for (uint32_t i = 0; i < x->nin; i++)
		if (x->in[i] && current(rw, x->in[i]) == v)
			return true;
	return false;
}

/* The next live user of v. Edges of dead nodes are removed, so that they are skipped only once. */
static uint32_t next_user(struct rewrite *rw, val_id v, uint32_t before)
{
	struct value_uses *x = &rw->v.a[v];
	uint32_t *link = before ? &rw->edges.a[before].next : &x->first;

	while (*link && rw->n.a[rw->edges.a[*link].user].dead)
		*link = rw->edges.a[*link].next;
	if (!*link)
		x->last = before;
	return *link;
}

/* Queues the nodes that may match after a change at v: its users, their users, and so on, through the nearest REACH_MAX values.
 * Patterns are smaller than that. */
enum { REACH_MAX = 24 };
static void queue_users(struct rewrite *rw, val_id v)
{
	val_id near[REACH_MAX] = {v};
	int n = 1;

	for (int k = 0; k < n; k++) {
		for (uint32_t e = next_user(rw, near[k], 0); e; e = next_user(rw, near[k], e)) {
			node_id u = rw->edges.a[e].user;
			queue(rw, u);
			if (n < REACH_MAX && node(rw->m, u)->nout && node(rw->m, u)->out[0])
				near[n++] = node(rw->m, u)->out[0];
		}
	}
}

/* One use of v less. A node without any use left dies, and its own uses with it. */
static void drop_use(struct rewrite *rw, val_id v)
{
	VEC(val_id) work = {0};

	vec_push(&work, v);
	while (work.n) {
		v = current(rw, work.a[--work.n]);
		const struct value *x = val(rw->m, v);
		if (--rw->v.a[v].count > 0 || x->kind != VAL_NODE) {
			if (rw->v.a[v].count == 1)
				queue_users(rw, v);
			continue;
		}
		const struct node *n = node(rw->m, x->def);
		bool wanted = rw->n.a[x->def].dead;
		for (uint32_t i = 0; i < n->nout; i++)
			wanted |= n->out[i] && rw->v.a[n->out[i]].count > 0;
		if (wanted)
			continue;
		rw->n.a[x->def].dead = true;
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i])
				vec_push(&work, n->in[i]);
	}
	vec_free(&work);
}

val_id rw_in(struct rewrite *rw, node_id n, uint32_t i)
{
	const struct node *x = node(rw->m, n);

	return i < x->nin && x->in[i] ? (x->in[i] = current(rw, x->in[i])) : 0;
}

const struct type *rw_type(struct rewrite *rw, val_id v) { return &val(rw->m, v)->type; }
uint32_t rw_uses(struct rewrite *rw, val_id v) { return rw->v.a[v].count; }

bool rw_is_output(struct rewrite *rw, val_id v) { return rw->v.a[v].outputs > 0; }

node_id rw_node_of(struct rewrite *rw, val_id v) { return v && val(rw->m, v)->kind == VAL_NODE ? val(rw->m, v)->def : 0; }

node_id rw_def(struct rewrite *rw, val_id v, enum opcode op)
{
	node_id n = rw_node_of(rw, v);

	return n && node(rw->m, n)->op == op && val(rw->m, v)->index == 0 ? n : 0;
}

node_id rw_def1(struct rewrite *rw, val_id v, enum opcode op)
{
	node_id n = rw_def(rw, v, op);

	return n && rw_uses(rw, v) == 1 ? n : 0;
}

node_id rw_user1(struct rewrite *rw, val_id v, enum opcode op)
{
	if (rw->v.a[v].outputs || rw->v.a[v].count != 1)
		return 0;
	for (uint32_t e = next_user(rw, v, 0); e; e = next_user(rw, v, e))
		if (is_user(rw, rw->edges.a[e].user, v))
			return node(rw->m, rw->edges.a[e].user)->op == op ? rw->edges.a[e].user : 0;
	return 0;
}

int rw_users(struct rewrite *rw, val_id v, node_id *user, int max)
{
	int n = 0;

	for (uint32_t e = next_user(rw, v, 0); e; e = next_user(rw, v, e)) {
		node_id u = rw->edges.a[e].user;
		bool seen = !is_user(rw, u, v);
		for (int i = 0; i < n && !seen; i++)
			seen = user[i] == u;
		if (seen)
			continue;
		if (n == max)
			return -1;
		user[n++] = u;
	}
	return n;
}

struct tensor *rw_const(struct rewrite *rw, val_id v) { return v && val(rw->m, v)->kind == VAL_CONST ? val(rw->m, v)->tensor : NULL; }

static bool is_numeric(enum dtype t) { return dtype_is_float(t) || dtype_is_int(t); }

bool rw_scalar(struct rewrite *rw, val_id v, double *c)
{
	struct tensor *t = rw_const(rw, v);

	if (!t || !is_numeric(t->dtype) || tensor_count(t) != 1)
		return false;
	tensor_data(rw->m, t);
	*c = tensor_get(t, 0);
	return true;
}

bool rw_is(struct rewrite *rw, val_id v, double c, double tol)
{
	double x;

	return rw_scalar(rw, v, &x) && fabs(x - c) <= tol * fabs(c);
}

double *rw_doubles(struct rewrite *rw, val_id v, int64_t *n)
{
	struct tensor *t = rw_const(rw, v);
	double *x;

	if (!t || !is_numeric(t->dtype))
		return NULL;
	tensor_data(rw->m, t);
	*n = tensor_count(t);
	x = ARENA_ARRAY(&rw->m->arena, double, *n);
	for (int64_t i = 0; i < *n; i++)
		x[i] = tensor_get(t, i);
	return x;
}

int rw_ints(struct rewrite *rw, val_id v, int64_t *out, int max)
{
	struct tensor *t = rw_const(rw, v);

	return t ? tensor_ints(rw->m, t, out, max) : -1;
}

static bool equal_types(struct rewrite *rw, val_id a, val_id b, bool open)
{
	const struct type *s = rw_type(rw, a), *t = rw_type(rw, b);

	if (s->other || t->other || s->dtype == DT_NONE || s->dtype != t->dtype || s->rank != t->rank || s->rank == RANK_UNKNOWN)
		return false;
	for (int i = 0; i < s->rank; i++)
		if ((s->dims[i] == POLY_UNKNOWN && !open) || s->dims[i] != t->dims[i])
			return false;
	return true;
}

bool rw_same_type(struct rewrite *rw, val_id a, val_id b) { return equal_types(rw, a, b, false); }

bool rw_like_type(struct rewrite *rw, val_id a, val_id b) { return equal_types(rw, a, b, true); }

bool rw_with_scalar(struct rewrite *rw, node_id n, val_id *x, double *c)
{
	val_id a = rw_in(rw, n, 0), b = rw_in(rw, n, 1);

	if (rw_scalar(rw, b, c)) {
		*x = a;
		return true;
	}
	*x = b;
	return op_is(node(rw->m, n)->op, OP_COMMUTATIVE) && rw_scalar(rw, a, c);
}

size_t rw_nodes(struct rewrite *rw) { return rw->n.n; }
bool rw_alive(struct rewrite *rw, node_id n) { return rw->n.a[n].here && !rw->n.a[n].dead; }

bool rw_scalar_factor(struct rewrite *rw, node_id n, val_id *x, double *k)
{
	const struct node *y = node(rw->m, n);

	return y->op == OP_Mul && y->out[0] && dtype_is_float(rw_type(rw, y->out[0])->dtype) && rw_with_scalar(rw, n, x, k) &&
	       rw_same_type(rw, *x, y->out[0]);
}

node_id rw_operand(struct rewrite *rw, node_id n, enum opcode op, val_id *other)
{
	for (uint32_t i = 0; i < 2; i++) {
		node_id d = rw_def(rw, rw_in(rw, n, i), op);
		if (d) {
			*other = rw_in(rw, n, 1 - i);
			return d;
		}
	}
	return 0;
}

val_id rw_node(struct rewrite *rw, node_id root, enum opcode op, int nin, const val_id *in)
{
	return rw_nodes_out(rw, root, op, nin, in, 1);
}

val_id rw_nodes_out(struct rewrite *rw, node_id root, enum opcode op, int nin, const val_id *in, int nout)
{
	node_id n = node_new_loose(rw->m, node(rw->m, root)->graph, op, nin, in, nout);
	struct node_state *r;

	grow(rw);
	rw->n.a[n].here = true;
	r = &rw->n.a[root];
	if (r->last_before)
		rw->n.a[r->last_before].sibling = n;
	else
		r->before = n;
	r->last_before = n;
	for (int i = 0; i < nin; i++)
		if (in[i])
			add_use(rw, current(rw, in[i]), n);
	queue(rw, n);
	return node(rw->m, n)->out[0];
}

void rw_copy_attrs(struct rewrite *rw, node_id to, node_id from)
{
	const struct node *f = node(rw->m, from);

	for (uint32_t i = 0; i < f->nattr; i++)
		attr_set(rw->m, to, f->attr[i]);
}

val_id rw_constant_tensor(struct rewrite *rw, struct tensor *t)
{
	val_id v = const_tensor(rw->m, 0, t);

	grow(rw);
	return v;
}

val_id rw_constant(struct rewrite *rw, enum dtype t, int rank, const int64_t *dims, const double *x)
{
	struct tensor *c = tensor_new(&rw->m->arena, t, rank, dims);

	for (int64_t i = 0, n = tensor_count(c); i < n; i++)
		tensor_set(c, i, x[i]);
	return rw_constant_tensor(rw, c);
}

val_id rw_constant_ints(struct rewrite *rw, int n, const int64_t *x)
{
	int64_t dims[1] = {n};
	val_id v = const_copy(rw->m, 0, DT_I64, 1, dims, x, (size_t)n * sizeof *x);

	grow(rw);
	return v;
}

void rw_replace(struct rewrite *rw, val_id old, val_id to)
{
	struct value *o = val(rw->m, old), *t = val(rw->m, to);
	struct value_uses *ou = &rw->v.a[old], *tu = &rw->v.a[to];

	if (t->kind == VAL_NODE && !t->name) {
		t->name = o->name;
		if (!node(rw->m, t->def)->name && o->kind == VAL_NODE)
			node(rw->m, t->def)->name = node(rw->m, o->def)->name;
	}
	val_adopt_type(rw->m, to, &o->type);
	queue_users(rw, old);
	tu->count += ou->count;
	tu->outputs += ou->outputs;
	if (ou->first && tu->last)
		rw->edges.a[tu->last].next = ou->first;
	else if (ou->first)
		tu->first = ou->first;
	if (ou->last)
		tu->last = ou->last;
	*ou = (struct value_uses){.count = 1};
	drop_use(rw, old);
	ou->fwd = to;
}

const char *rw_bypass(struct rewrite *rw, node_id n, val_id v)
{
	val_id out = node(rw->m, n)->out[0];

	if (rw_is_output(rw, out) && val(rw->m, v)->kind != VAL_NODE)
		return "it gives an input or constant to a result of the graph";
	if (rw_is_output(rw, out) && rw_is_output(rw, v))
		return "its operand and its result are both results of the graph";
	rw_replace(rw, out, v);
	return NULL;
}

void rw_set_in(struct rewrite *rw, node_id n, uint32_t i, val_id v)
{
	val_id old = rw_in(rw, n, i);

	node(rw->m, n)->in[i] = v;
	if (v)
		add_use(rw, v, n);
	if (old)
		drop_use(rw, old);
	queue(rw, n);
}

/* Rules of one root opcode, in the order of the table. */
struct by_root {
	uint16_t *start; /* OP_COUNT + 1 */
	uint16_t *rule;
};

static struct by_root sort_rules(const struct rule_run *r, int n)
{
	struct by_root b = {xcalloc(OP_COUNT + 2, sizeof *b.start), xcalloc((size_t)n + 1, sizeof *b.rule)};

	for (int i = 0; i < n; i++)
		b.start[r[i].rule->root + 2]++;
	for (int k = 2; k < OP_COUNT + 2; k++)
		b.start[k] += b.start[k - 1];
	for (int i = 0; i < n; i++)
		b.rule[b.start[r[i].rule->root + 1]++] = (uint16_t)i;
	return b;
}

/* Checks the measures after a rule against those before it, which are then freed. */
static void check_measures(struct rewrite *rw, const struct rule *r, node_id n, struct measures *before)
{
	struct measures after = measures_take(rw);
	enum measure bad;

	if (!measures_reduced(&after, before, r->reduces, &bad))
		BUG("%s: rule %s %s the measure \"%s\"", node_where(rw->m, n, &rw->m->arena), r->name,
		    bad == r->reduces ? "does not reduce" : "raises", measure_name(bad));
	measures_free(before);
	*before = after;
}

/* Applies the first rule that matches n. */
static void try_rules(struct rewrite *rw, struct rule_run *r, const struct by_root *b, node_id n, const struct pass_ctx *c)
{
	enum opcode op = node(rw->m, n)->op;

	for (uint16_t i = b->start[op]; i < b->start[op + 1]; i++) {
		struct rule_run *x = &r[b->rule[i]];
		size_t first_new = rw->m->nodes.n;
		const char *why = x->off ? NO_MATCH : x->rule->apply(rw, n);
		if (why && *why)
			pass_why(c, rw->m, n, "not %s: %s", x->rule->name, why);
		if (why)
			continue;
		x->applied++;
		for (size_t k = first_new; k < rw->m->nodes.n; k++)
			infer_node(rw->m, (node_id)k, NULL);
		pass_why(c, rw->m, n, "%s: %s", x->rule->name, x->rule->what);
		rw->applied++;
		rw->last[rw->applied % 2] = x->rule;
		if (rw->proving)
			check_measures(rw, x->rule, n, &rw->before);
		queue(rw, n); /* if it is still alive: another rule may match now */
		return;
	}
}

static void count_uses(struct rewrite *rw, const struct graph_list *list)
{
	struct module *m = rw->m;

	for (size_t k = 0; k < list->n; k++) {
		const struct graph *g = graph(m, list->a[k]);
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			for (uint32_t j = 0; j < n->nin; j++)
				if (n->in[j])
					add_use(rw, n->in[j], g->nodes.a[i]);
			rw->n.a[g->nodes.a[i]].here = true;
			queue(rw, g->nodes.a[i]);
		}
		for (size_t i = 0; i < g->out.n; i++) {
			rw->v.a[g->out.a[i]].count++;
			rw->v.a[g->out.a[i]].outputs++;
		}
	}
}

/* Appends n to the order and, before it, the nodes that replaced it. The depth is that of rewrites of rewrites, so the stack is
 * explicit. */
static void place(struct rewrite *rw, node_id n, struct graph *order)
{
	VEC(node_id) stack = {0};

	vec_push(&stack, n);
	while (stack.n) {
		node_id x = stack.a[stack.n - 1], b = rw->n.a[x].before;
		if (b) {
			rw->n.a[x].before = rw->n.a[b].sibling;
			vec_push(&stack, b);
			continue;
		}
		stack.n--;
		if (!rw->n.a[x].dead)
			vec_push(&order->nodes, x);
	}
	vec_free(&stack);
}

static void finish(struct rewrite *rw, const struct graph_list *list)
{
	struct module *m = rw->m;
	VEC(val_id) fwd = {0};

	for (size_t k = 0; k < list->n; k++) {
		struct graph order = {0}, *g;
		for (size_t i = 0; i < graph(m, list->a[k])->nodes.n; i++)
			place(rw, graph(m, list->a[k])->nodes.a[i], &order);
		g = graph(m, list->a[k]);
		vec_free(&g->nodes);
		memcpy(&g->nodes, &order.nodes, sizeof g->nodes);
	}
	vec_reserve(&fwd, m->values.n);
	for (size_t v = 0; v < m->values.n; v++)
		fwd.a[v] = rw->v.a[v].fwd;
	module_forward(m, fwd.a); /* operands of new nodes, too */
	vec_free(&fwd);
	for (size_t k = 0; k < list->n; k++)
		if (graph_sort(m, list->a[k]))
			BUG("a rewrite rule made a cycle");
}

/* Is the node alive, or was it without users before the rewriting? */
static bool wanted(struct rewrite *rw, node_id n)
{
	const struct node *x = node(rw->m, n);

	for (uint32_t i = 0; i < x->nout; i++)
		if (x->out[i] && rw->v.a[x->out[i]].count)
			return true;
	return false;
}

/* far more than graphs need: only rules that undo each other get here */
enum { APPLIED_PER_NODE = 16, APPLIED_MIN = 10000 };

static void run_queue(struct rewrite *rw, struct rule_run *rules, const struct by_root *b, const struct pass_ctx *c)
{
	size_t most = APPLIED_MIN + APPLIED_PER_NODE * rw->work.n;

	while (rw->done < rw->work.n) {
		node_id n = rw->work.a[rw->done++];
		rw->n.a[n].queued = false;
		if (rw->applied >= most) {
			warn("%s: %zu rewrites, the last by rules %s and %s, which may undo each other; the rest stays as it is",
			     node_where(rw->m, n, &rw->m->arena), rw->applied, rw->last[0]->name, rw->last[1]->name);
			return;
		}
		if (!rw->n.a[n].dead && wanted(rw, n))
			try_rules(rw, rules, b, n, c);
	}
}

void rewrite_module(struct module *m, struct rule_run *rules, int nrules, const struct pass_ctx *c, bool prove)
{
	struct rewrite rw = {.m = m, .proving = prove};
	struct by_root b = sort_rules(rules, nrules);
	struct graph_list list = {0};

	module_graph_order(m, &list);
	vec_push(&rw.edges, (struct edge){0});
	grow(&rw);
	count_uses(&rw, &list);
	if (prove)
		rw.before = measures_take(&rw);
	run_queue(&rw, rules, &b, c);
	finish(&rw, &list);
	measures_free(&rw.before);
	vec_free(&list);
	vec_free(&rw.v);
	vec_free(&rw.n);
	vec_free(&rw.edges);
	vec_free(&rw.work);
	free(b.start);
	free(b.rule);
}
