/* The graph evaluator: nodes in order, every result freed when its last reader is done. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/progress.h"
#include "common/memory.h"
#include "common/msg.h"
#include "common/option.h"
#include "graph/pass.h"
#include "op/run_rule.h"
#include "op/strings.h"

/* What the runs of this thread hold: a list, so that it can be freed when a run ends in a trap. */
struct held {
	struct held *next, **at;
	struct arena arena;
	uint32_t wanted; /* how many of the node's results are still wanted */
};
static __thread struct held *held;

enum { BODIES_MAX = 10000000 };
uint64_t eval_bodies_max;
static const char *more_bodies = "HONE_BODIES=N";

/* What this thread is running, for messages; and how many bodies it has begun. */
static __thread struct {
	struct module *m; /* NULL: nothing */
	node_id id;
	uint64_t bodies;
} now;

static struct held *hold(void)
{
	struct held *h = xcalloc(1, sizeof *h);

	h->next = held;
	h->at = &held;
	if (held)
		held->at = &h->next;
	return held = h;
}

static void let_go(struct held *h)
{
	*h->at = h->next;
	if (h->next)
		h->next->at = h->at;
	arena_release(&h->arena);
	free(h);
}

struct arena *eval_arena(void) { return &hold()->arena; }

void eval_arena_end(struct arena *a) { let_go((struct held *)((char *)a - offsetof(struct held, arena))); }

void eval_abandon(void)
{
	now.m = NULL;
	arena_beyond = NULL;
	run_rules_end();
	while (held)
		let_go(held);
}

struct slot {
	struct tensor *t;
	struct held *of;  /* memory that is freed when none of the node's results is wanted any more; NULL: not ours to free */
	struct room room; /* where a result of the graph goes */
	uint32_t left;    /* readers still to come */
};

struct run {
	struct module *m;
	const struct eval_hooks *hooks;
	struct slot *slot; /* by value; graphs do not share values and no body runs inside itself */
	int depth;
	bool rules; /* shape rules are asked about the operands of each node */
};

/* A tensor without storage. */
static struct tensor *header(struct arena *a, enum dtype t, int rank, const int64_t *dims)
{
	struct tensor *x = ARENA_NEW(a, struct tensor);

	x->dtype = t;
	x->rank = rank;
	x->dims = arena_copy(a, dims, sizeof *dims * (size_t)rank);
	return x;
}

/* Is there memory for result i, of so many bytes? */
static bool has_room(const struct eval *e, int i, size_t nbytes) { return e->room && e->room[i].p && e->room[i].n == nbytes; }

struct tensor *eval_out_raw(struct eval *e, int i, enum dtype t, int rank, const int64_t *dims)
{
	bool kept = (uint32_t)i < e->n->nout;
	size_t nbytes = dtype_size(t);
	struct tensor *x;

	for (int k = 0; k < rank; k++) {
		if (dims[k] < 0)
			die(EX_BADDATA, "%s: a result of extent %lld", op_name(e->n->op), (long long)dims[k]);
		if (__builtin_mul_overflow(nbytes, (size_t)dims[k], &nbytes))
			nbytes = 0;
	}
	if (kept && nbytes && has_room(e, i, nbytes)) {
		x = header(e->arena, t, rank, dims);
		x->nbytes = nbytes;
		x->data = e->room[i].p;
	} else {
		x = tensor_new(kept ? e->arena : e->tmp, t, rank, dims);
	}
	if (kept)
		e->out[i] = x;
	return x;
}

struct tensor *eval_out(struct eval *e, int i, enum dtype t, int rank, const int64_t *dims)
{
	struct tensor *x = eval_out_raw(e, i, t, rank, dims);

	if ((uint32_t)i < e->n->nout && has_room(e, i, x->nbytes) && x->data == e->room[i].p)
		memset(tensor_bytes(x), 0, x->nbytes);
	return x;
}

void eval_view(struct eval *e, int i, int j, int rank, const int64_t *dims)
{
	const struct tensor *x = e->in[j];
	struct tensor *y = header(e->arena, x->dtype, rank, dims);

	y->nbytes = x->nbytes;
	y->data = has_room(e, i, x->nbytes) ? memcpy(e->room[i].p, x->data, x->nbytes) : arena_copy(e->arena, x->data, x->nbytes);
	e->out[i] = y;
}

void eval_give(struct eval *e, int i, const struct tensor *t)
{
	if (t->kind == KIND_TENSOR && has_room(e, i, t->nbytes)) {
		e->out[i] = header(e->arena, t->dtype, t->rank, t->dims);
		e->out[i]->nbytes = t->nbytes;
		e->out[i]->data = memcpy(e->room[i].p, t->data, t->nbytes);
	} else if ((uint32_t)i < e->n->nout) {
		e->out[i] = tensor_copy(e->arena, t);
	}
}

void *eval_scratch(struct eval *e, size_t n) { return arena_alloc(e->tmp, n); }

int eval_ints(struct eval *e, uint32_t i, const int64_t **v)
{
	const struct tensor *t = eval_in(e, i);
	int64_t *o, n;

	if (!t || !dtype_fixed(t->dtype) || (n = tensor_count(t)) > INT32_MAX)
		return -1;
	o = eval_scratch(e, sizeof *o * (size_t)n);
	load_i(t, 0, 1, (int)n, o);
	*v = o;
	return (int)n;
}

double eval_scalar(const struct eval *e, uint32_t i, double def)
{
	const struct tensor *t = eval_in(e, i);

	return t && tensor_count(t) ? tensor_get(t, 0) : def;
}

int64_t eval_int(const struct eval *e, uint32_t i, int64_t def)
{
	const struct tensor *t = eval_in(e, i);

	return t && tensor_count(t) ? tensor_get_int(t, 0) : def;
}

/* ---- limits ---- */

static noreturn void die_at(enum exit_code code, struct module *m, node_id id, const char *why)
{
	die(code, "%s: %s: %s", m->source ? m->source : "graph", node_where(m, id, &hold()->arena), why);
}

static void no_memory(const char *why)
{
	struct module *m = now.m;

	if (m && now.id)
		die_at(EX_SYSTEM, m, now.id, why);
}

static uint64_t bodies_of(const char *name, const char *arg)
{
	uint64_t n = option_count(name, arg, 0, UINT64_MAX);

	return n ? n : 1;
}

void eval_bodies_option(const char *arg)
{
	eval_bodies_max = bodies_of("--bodies", arg);
	more_bodies = "--bodies N";
}

void eval_memory_option(const char *arg)
{
	size_t n;

	if (!memory_size(arg, &n))
		die(EX_BADUSE, "--memory %s: write a number of bytes, with K, M or G behind it if you like", arg);
	arena_limit(n, "--memory SIZE allows more");
}

/* true: it is the outermost run of this thread. */
static bool enter(struct module *m, node_id id)
{
	bool first = !now.m;

	now.id = id;
	if (!first)
		return false;
	if (!eval_bodies_max)
		eval_bodies_max = getenv("HONE_BODIES") ? bodies_of("HONE_BODIES", getenv("HONE_BODIES")) : BODIES_MAX;
	now.m = m;
	now.bodies = 0;
	arena_beyond = no_memory;
	return true;
}

static void leave(bool first)
{
	if (!first)
		return;
	now.m = NULL;
	arena_beyond = NULL;
	run_rules_end();
}

/* ---- one node ---- */

static const char *run_body(struct eval *e, graph_id g, int nin, struct tensor **in, struct tensor **out);

static const char *run_node(struct run *r, node_id id, struct tensor **in, struct tensor **out, const struct room *room, struct arena *a)
{
	const struct node *n = node(r->m, id);
	const struct op *row = op_row(n->op);
	struct eval e = {.m = r->m, .n = n, .in = in, .out = out, .arena = a, .room = room, .body = run_body, .arg = r};
	struct held *tmp;
	const char *why = NULL;
	node_id outer = now.id;

	if (!row || !row->eval)
		return "no evaluator for this operator";
	now.id = id;
	tmp = hold();
	e.tmp = &tmp->arena;
	if (r->rules)
		why = run_rule(r->m, id, in, e.tmp);
	if (!why)
		why = texts_coded(&e) ? eval_coded(&e, row->eval) : row->eval(&e);
	if (why)
		why = arena_str(a, why);
	let_go(tmp);
	now.id = outer;
	return why;
}

static const char *eval_one(struct module *m, node_id n, struct tensor **in, struct tensor **out, const struct room *room, struct arena *a,
			    bool rules)
{
	struct run r = {.m = m, .rules = rules};
	bool first = enter(m, n);
	struct held *own = hold();
	const char *why;

	if (node(m, n)->nattr && op_info(node(m, n)->op)->traits & (OP_CALL | OP_CONTROL))
		r.slot = ARENA_ARRAY(&own->arena, struct slot, m->values.n);
	why = run_node(&r, n, in, out, room, a);
	let_go(own);
	leave(first);
	return why;
}

const char *eval_node_into(struct module *m, node_id n, struct tensor **in, struct tensor **out, const struct room *room, struct arena *a)
{
	return eval_one(m, n, in, out, room, a, true);
}

const char *eval_node(struct module *m, node_id n, struct tensor **in, struct tensor **out, struct arena *a)
{
	return eval_one(m, n, in, out, NULL, a, false);
}

/* ---- a graph ---- */

static void count_readers(struct run *r, const struct graph *g)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(r->m, g->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout; k++)
			r->slot[n->out[k]] = (struct slot){0};
	}
	for (size_t i = 0; i < g->in.n; i++)
		r->slot[g->in.a[i]] = (struct slot){0};
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(r->m, g->nodes.a[i]);
		for (uint32_t k = 0; k < n->nin; k++)
			r->slot[n->in[k]].left++;
	}
	for (size_t i = 0; i < g->out.n; i++)
		r->slot[g->out.a[i]].left++;
}

static void release(struct run *r, val_id v)
{
	struct slot *s = &r->slot[v];

	if (--s->left || !s->of)
		return;
	if (--s->of->wanted == 0)
		let_go(s->of);
	s->of = NULL;
	s->t = NULL;
}

static struct tensor *fetch(struct run *r, val_id v)
{
	struct value *x;

	if (!v)
		return NULL;
	x = val(r->m, v);
	if (x->kind != VAL_CONST)
		return r->slot[v].t;
	tensor_data(r->m, x->tensor);
	return x->tensor;
}

static void run_one(struct run *r, node_id id)
{
	struct module *m = r->m;
	const struct node *n = node(m, id);
	const struct op *row = op_row(n->op);
	struct held *own = hold(), *res = hold();
	struct tensor **in = ARENA_ARRAY(&own->arena, struct tensor *, n->nin + n->nout + 1), **out = in + n->nin;
	struct room *room = ARENA_ARRAY(&own->arena, struct room, n->nout + 1);
	double start = r->hooks && r->hooks->timed ? now_seconds() : 0;
	const char *why;

	if (!row || !row->eval)
		die_at(EX_NOTAVAIL, m, id, n->op == OP_OTHER ? op_unknown(m) : "no evaluator for this operator");
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = fetch(r, n->in[i]);
	for (uint32_t k = 0; k < n->nout; k++)
		room[k] = r->slot[n->out[k]].room;
	r->depth++;
	why = run_node(r, id, in, out, room, &res->arena);
	r->depth--;
	if (why && !strncmp(why, "no evaluator", 12)) /* for these types */
		die_at(EX_NOTAVAIL, m, id, why);
	if (why)
		graph_die(m, id, "%s", why);
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i])
			continue;
		if (!out[i])
			BUG("%s made no result %u", op_name(n->op), i);
		if (r->hooks && r->hooks->each)
			r->hooks->each(r->hooks->arg, m, n->out[i], out[i]);
		if (r->slot[n->out[i]].left) {
			r->slot[n->out[i]].t = out[i];
			r->slot[n->out[i]].of = res;
			res->wanted++;
		}
	}
	if (!res->wanted)
		let_go(res);
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			release(r, n->in[i]);
	if (r->hooks && r->hooks->timed && r->depth == 0)
		r->hooks->timed(r->hooks->arg, m, id, now_seconds() - start);
	let_go(own);
}

/* A tensor of the same bytes, not copied. */
static struct tensor *in_room(struct arena *a, const struct tensor *t)
{
	struct tensor *c = header(a, t->dtype, t->rank, t->dims);

	c->nbytes = t->nbytes;
	c->data = t->data;
	return c;
}

/* room: for each result; NULL: for none. */
static void run_graph(struct run *r, graph_id g, struct tensor **in, struct tensor **out, const struct room *room, struct arena *a)
{
	struct graph *gr = graph(r->m, g);

	count_readers(r, gr);
	for (size_t i = 0; room && i < gr->out.n; i++)
		if (val(r->m, gr->out.a[i])->kind == VAL_NODE)
			r->slot[gr->out.a[i]].room = room[i];
	for (size_t i = 0; i < gr->in.n; i++)
		r->slot[gr->in.a[i]].t = in[i];
	for (size_t i = 0; i < gr->nodes.n; i++)
		run_one(r, gr->nodes.a[i]);
	for (size_t i = 0; i < gr->out.n; i++) {
		struct tensor *t = fetch(r, gr->out.a[i]);
		if (!t)
			BUG("output %s has no value", sym_str(gr->out_name.a[i]));
		out[i] = room && t->data == room[i].p ? in_room(a, t) : tensor_copy(a, t);
		release(r, gr->out.a[i]);
	}
}

static const char *run_body(struct eval *e, graph_id g, int nin, struct tensor **in, struct tensor **out)
{
	struct run *r = e->arg;

	if (!g || graph(r->m, g)->in.n != (size_t)nin || graph(r->m, g)->out.n != e->n->nout + (e->n->op == OP_Loop))
		return "the body does not fit operands and results";
	if (r->depth > 256)
		return "bodies are nested too deeply";
	if (now.bodies++ >= eval_bodies_max)
		die_at(EX_NOTAVAIL, r->m, now.id,
		       arena_printf(&hold()->arena, "bodies have run %llu times, the limit of a run: a loop without end? %s allows more",
				    (unsigned long long)eval_bodies_max, more_bodies));
	r->rules = true;
	run_graph(r, g, in, out, op_is(e->n->op, OP_CALL) ? e->room : NULL, e->arena);
	return NULL;
}

void eval_graph(struct module *m, graph_id g, struct tensor **in, struct tensor **out, struct arena *a, const struct eval_hooks *h)
{
	bool first = enter(m, 0);
	struct held *own = hold();
	struct run r = {.m = m, .hooks = h, .rules = true, .slot = ARENA_ARRAY(&own->arena, struct slot, m->values.n)};

	run_graph(&r, g, in, out, NULL, a);
	let_go(own);
	leave(first);
}
