/* Shape inference: one pass forward through the graph, bodies entered where they are applied.
 *
 * A body is inferred for the types of its first call; a later call with others infers it again for
 * what the calls have in common, so that in the end its values have types that hold for all of
 * them. What the module said before (declared types) is merged in: inference wins where both know,
 * constants must not contradict. */
#include <string.h>
#include "graph/bodies.h"
#include "graph/check.h"
#include "graph/pass.h"
#include "graph/symbols.h"
#include "op/rules.h"

struct body_state {
	bool seen, busy;
	bool skipped;    /* a branch never taken, somewhere */
	struct type *in; /* the input types that it was inferred for */
	struct known *kin;
};

struct state {
	struct module *m;
	struct type *declared;   /* by value: the types as the module came; NULL: as they are */
	struct known *known;     /* by value; NULL: not kept */
	struct body_state *body; /* by graph */
	bool checks;             /* nothing is changed: what is declared must also hold for each call */
	uint32_t nvars;          /* symbols before the node that is looked at */
	bool symbols;            /* what only a run can tell becomes a symbol */
	int branch;              /* nesting of branches: a fault in one is no fault until the branch is taken */
	bool corrects;           /* a declared shape that is wrong is dropped */
	uint32_t given;          /* symbols before any node was looked at */
	val_id *extent_of;       /* by symbol, if corrects: the value that has it as a declared extent which only a run tells */
	VEC(const char *) told;  /* the dropped ones, and why */
	VEC(graph_id) forgotten; /* graphs that are never applied, outer ones first */
};

static void infer_graph(struct state *S, graph_id g);

/* ---- types ---- */

/* How the declared type of a value contradicts its type `is`; NULL: it does not. */
static const char *contradiction(struct module *m, const struct type *is, const struct type *declared)
{
	struct arena *a = &m->arena;

	bool other = is->other || declared->other, known = (is->other || is->dtype) && (declared->other || declared->dtype);

	if (other && known && is->other != declared->other)
		return arena_printf(a, "is %s, the graph says %s", type_str(m, is, a), type_str(m, declared, a));
	if (is->dtype && declared->dtype && is->dtype != declared->dtype)
		return arena_printf(a, "is %s, the graph says %s", dtype_name(is->dtype), dtype_name(declared->dtype));
	if (is->rank == RANK_UNKNOWN || declared->rank == RANK_UNKNOWN)
		return NULL;
	if (is->rank != declared->rank)
		return arena_printf(a, "has rank %d, the graph says %d", is->rank, declared->rank);
	for (int i = 0; i < is->rank; i++) {
		int64_t x, y;
		if (poly_is_const(m->dims, is->dims[i], &x) && poly_is_const(m->dims, declared->dims[i], &y) && x != y)
			return arena_printf(a, "has extent %lld at axis %d, the graph says %lld", (long long)x, i, (long long)y);
	}
	return NULL;
}

static void check_declared(struct module *m, node_id id, const char *what, val_id v, const struct type *is, const struct type *declared)
{
	const char *why = contradiction(m, is, declared);

	if (why)
		graph_die(m, id, "%s %s %s", what, sym_str(val(m, v)->name), why);
}

/* An extent that an operator's rule cannot know is a symbol: the one that the graph has for it, of which the rule may know closer
 * bounds, or a new one. Symbols that are newer than the node say no more than an unknown extent. */
static dim merge_dim(struct state *S, node_id id, dim is, dim declared)
{
	struct polys *P = S->m->dims;
	poly_var v = is ? poly_is_var(P, is) : 0, old = declared ? poly_is_var(P, declared) : 0;
	int64_t lo, hi;

	if (is && v <= S->nvars)
		return is;
	if (!declared && S->symbols)
		return is ? is : poly_of(P, poly_var_new(P, 0, 0, POLY_INF, 1));
	if (v && old && S->symbols && node(S->m, id)->graph == S->m->main) {
		poly_var_range(P, v, &lo, &hi);
		poly_var_narrow(P, old, lo, hi);
	}
	return declared;
}

/* Is the declared symbol of an extent that the rule cannot know another value's? One that an input has says more than a rule that knows
 * nothing, and less than a rule that says that only the run tells. */
static bool is_others(struct state *S, val_id v, dim is, dim declared)
{
	struct polys *P = S->m->dims;
	poly_var fresh = is ? poly_is_var(P, is) : 0, old = declared ? poly_is_var(P, declared) : 0;
	val_id *owner;

	if (!old || old > S->given || (is && fresh <= S->nvars))
		return false;
	owner = &S->extent_of[old];
	if (!*owner)
		*owner = v;
	return *owner != v && (fresh || val(S->m, *owner)->kind != VAL_INPUT);
}

/* Drops declared symbols that are another value's. */
static void drop_others(struct state *S, val_id v, const struct type *is)
{
	struct type *t = &S->declared[v];

	if (is->rank != t->rank || is->other)
		return;
	for (int i = 0; i < t->rank; i++)
		if (is_others(S, v, is->dims[i], t->dims[i])) {
			t->dims = arena_copy(&S->m->arena, t->dims, (size_t)t->rank * sizeof *t->dims);
			t->dims[i] = POLY_UNKNOWN;
		}
}

/* Symbols of the inputs are theirs. */
static void own_symbols(struct state *S)
{
	struct module *m = S->m;

	S->given = (uint32_t)poly_nvars(m->dims);
	S->extent_of = xcalloc((size_t)S->given + 1, sizeof *S->extent_of);
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++) {
		val_id v = graph(m, m->main)->in.a[i];
		const struct type *t = &val(m, v)->type;
		for (int k = 0; k < t->rank; k++)
			for (poly_var s = 1; t->dims[k] && s <= S->given; s++)
				if (poly_uses(m->dims, t->dims[k], s))
					S->extent_of[s] = v;
	}
}

/* Of the elements of a sequence: what is not known may be another for each, which no symbol is. */
static dim merge_inside(dim is, dim declared) { return is ? is : declared; }

static void merge_type(struct state *S, node_id id, const char *what, val_id v, const struct type *t)
{
	struct module *m = S->m;
	struct type before = S->declared ? S->declared[v] : val(m, v)->type, *old = &before;
	struct type r = *t;

	if (S->corrects && S->declared && (!t->dtype || !old->dtype || t->dtype == old->dtype) && !t->other == !old->other) {
		const char *why = contradiction(m, t, old);
		if (why) {
			vec_push(&S->told, arena_printf(&m->arena, "%s: %s %s %s; the operator is believed", node_where(m, id, &m->arena),
							what, sym_str(val(m, v)->name), why));
			S->declared[v].rank = before.rank = RANK_UNKNOWN;
			S->declared[v].dims = before.dims = NULL;
		}
	}
	if (S->corrects && S->declared && S->extent_of) {
		drop_others(S, v, t);
		before = S->declared[v];
	}
	check_declared(m, id, what, v, t, old);
	r.layout = old->layout;
	if (!r.other)
		r.other = old->other;
	if (!r.dtype)
		r.dtype = old->dtype;
	if (r.rank == RANK_UNKNOWN) {
		r.rank = old->rank;
		r.dims = old->dims;
	}
	if (r.rank > 0) {
		dim *d = ARENA_ARRAY(&m->arena, dim, r.rank);
		for (int i = 0; i < r.rank; i++)
			d[i] = r.other ? merge_inside(r.dims[i], old->rank == RANK_UNKNOWN ? POLY_UNKNOWN : old->dims[i])
				       : merge_dim(S, id, r.dims[i], old->rank == RANK_UNKNOWN ? POLY_UNKNOWN : old->dims[i]);
		r.dims = d;
	}
	val(m, v)->type = r;
}

/* ---- known elements ---- */

/* Small integer constants are known; float ones if all elements are whole numbers. */
static const struct known *known_of(struct state *S, val_id v)
{
	struct value *x = val(S->m, v);
	struct known *k = S->known ? &S->known[v] : ARENA_NEW(&S->m->arena, struct known);
	int64_t n;
	struct tensor t;

	if (k->yes || x->kind != VAL_CONST || x->overridable)
		return k;
	n = tensor_count(x->tensor);
	if (n > KNOWN_MAX || !dtype_fixed(x->tensor->dtype) || (dtype_is_float(x->tensor->dtype) && n > 8))
		return k;
	t = *x->tensor;
	t.data = tensor_data(S->m, x->tensor);
	poly *e = ARENA_ARRAY(&S->m->arena, poly, n);
	for (int i = 0; i < n; i++) {
		double d = tensor_get(&t, i);
		bool whole = dtype_is_float(t.dtype) || dtype_is_float8(t.dtype)
				     ? d > -0x1p31 && d < 0x1p31 && d == (double)(int32_t)d && (d != 0 || !__builtin_signbit(d))
				     : t.dtype != DT_U64 || d < 0x1p63;
		e[i] = whole ? poly_const(S->m->dims, tensor_get_int(&t, i)) : POLY_UNKNOWN;
	}
	*k = (struct known){.yes = true, .n = (int)n, .e = e};
	return k;
}

/* ---- one node ---- */

/* Checks that the declared types of the body hold for this call. A group must have all its operands and results, in the layouts in
 * which they are used. */
static void check_call(struct state *S, const struct infer *I, graph_id g, const struct type *in)
{
	struct module *m = S->m;
	const struct graph *b = graph(m, g);
	bool fused = I->n->op == OP_Fused;

	for (size_t i = 0; i < b->in.n; i++) {
		const struct type *declared = &S->declared[b->in.a[i]];
		if (fused && !I->n->in[i])
			graph_die(m, I->id, "operand %zu is missing", i);
		check_declared(m, I->id, "what the body takes as", b->in.a[i], &in[i], declared);
		if (fused && in[i].layout != declared->layout)
			graph_die(m, I->id, "operand %zu has layout \"%s\", its body says \"%s\"", i, sym_str(in[i].layout),
				  sym_str(declared->layout));
	}
	for (size_t k = 0; fused && k < b->out.n; k++) {
		if (!I->n->out[k])
			graph_die(m, I->id, "result %zu is missing", k);
		sym inside = S->declared[b->out.a[k]].layout, outside = S->declared[I->n->out[k]].layout;
		if (inside != outside && val(m, b->out.a[k])->kind != VAL_CONST)
			graph_die(m, I->id, "result %zu has layout \"%s\", its body says \"%s\"", k, sym_str(outside), sym_str(inside));
	}
}

/* ---- what a body gives, as its node sees it ---- */

/* The symbols that mean the same inside and outside: those of the model's inputs and of what the node is given. */
static void mark_given(struct symbols *s, const struct infer *I)
{
	struct module *m = I->m;
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(s, m, &val(m, g->in.a[i])->type);
	for (uint32_t i = 0; i < I->n->nin; i++) {
		symbols_mark(s, m, &I->in[i]);
		for (int k = 0; I->kin[i].yes && k < I->kin[i].n; k++)
			symbols_mark_dim(s, m, I->kin[i].e[k]);
	}
}

/* Does d hold outside? given: marked when the first expression is met. */
static bool holds_outside(struct symbols *given, const struct infer *I, dim d)
{
	struct symbols used = {0};
	bool all = true;

	if (!d || poly_is_const(I->m->dims, d, NULL))
		return true;
	if (!given->used)
		mark_given(given, I);
	symbols_mark_dim(&used, I->m, d);
	for (size_t i = 0; i < used.list.n; i++)
		all = all && given->used && given->used[used.list.a[i]];
	symbols_free(&used);
	return all;
}

/* An extent that means nothing outside is there a symbol within the same bounds. */
static void type_outside(struct symbols *given, struct infer *I, struct type *t)
{
	dim *d = NULL;
	int64_t lo, hi;

	for (int k = 0; k < t->rank; k++) {
		if (holds_outside(given, I, t->dims[k]))
			continue;
		if (!d)
			d = arena_copy(&I->m->arena, t->dims, sizeof *d * (size_t)t->rank);
		poly_range(I->m->dims, t->dims[k], &lo, &hi);
		d[k] = t->other ? POLY_UNKNOWN : rule_fresh(I, lo, hi);
	}
	if (d)
		t->dims = d;
}

static void known_outside(struct symbols *given, struct infer *I, struct known *k)
{
	poly *e = NULL;

	for (int i = 0; k->yes && i < k->n; i++) {
		if (holds_outside(given, I, k->e[i]))
			continue;
		if (!e)
			e = arena_copy(&I->m->arena, k->e, sizeof *e * (size_t)k->n);
		e[i] = POLY_UNKNOWN;
	}
	if (e)
		k->e = e;
}

static void give_results(struct state *S, struct infer *I, graph_id g, struct type *out, struct known *kout)
{
	struct module *m = S->m;
	struct symbols given = {0};

	for (size_t i = 0; i < graph(m, g)->out.n; i++) {
		val_id v = graph(m, g)->out.a[i];
		out[i] = val(m, v)->type;
		if (kout)
			kout[i] = *known_of(S, v);
		if (I->n->op == OP_Fused) /* made of nodes that stood outside */
			continue;
		type_outside(&given, I, &out[i]);
		if (kout)
			known_outside(&given, I, &kout[i]);
	}
	symbols_free(&given);
}

static const char *infer_body(struct infer *I, graph_id g, const struct type *in, const struct known *kin, struct type *out,
			      struct known *kout)
{
	struct state *S = I->arg;
	struct module *m = S->m;
	struct body_state *b = &S->body[g];
	struct graph *gr = graph(m, g);
	size_t n = gr->in.n;
	bool same = b->seen;
	struct type *tin;
	struct known *kn;

	if (!in) {
		b->skipped = true;
		return NULL;
	}
	if (b->busy)
		return "a body applies itself";
	if (S->checks)
		check_call(S, I, g, in);
	tin = ARENA_ARRAY(&m->arena, struct type, n);
	kn = ARENA_ARRAY(&m->arena, struct known, n);
	for (size_t i = 0; i < n; i++) {
		tin[i] = b->seen ? type_common(m, &b->in[i], &in[i]) : in[i];
		kn[i] = b->seen ? known_common(m, &b->kin[i], &kin[i]) : kin[i];
		same = same && type_equal(&tin[i], &b->in[i]) && known_equal(&kn[i], &b->kin[i]);
	}
	if (!same) {
		b->in = tin;
		b->kin = kn;
		b->seen = b->busy = true;
		for (size_t i = 0; i < n; i++) {
			val_id v = gr->in.a[i];
			merge_type(S, I->id, "what the body takes as", v, &tin[i]);
			if (S->known)
				S->known[v] = kn[i];
		}
		bool branch = node(m, I->id)->op == OP_If || node(m, I->id)->op == OP_Case;
		S->branch += branch;
		infer_graph(S, g);
		S->branch -= branch;
		b->busy = false;
	}
	give_results(S, I, g, out, kout);
	return NULL;
}

/* Dies if a type cannot be. */
static void check_possible(struct module *m, node_id id, const char *what, uint32_t i, const struct type *t)
{
	const char *why = type_impossible(m, what, i, t);

	if (why)
		graph_die(m, id, "%s", why);
}

/* A reason, with the names of constant operands: their types are not the fault of the node. */
static const char *with_names(struct module *m, node_id id, const char *why)
{
	const char *word = "operand ", *at = why, *s = "";
	char *end;

	for (const char *p; (p = strstr(at, word)); at = end) {
		unsigned long i = strtoul(p + strlen(word), &end, 10);
		bool constant = i < node(m, id)->nin && node(m, id)->in[i] && val(m, node(m, id)->in[i])->kind == VAL_CONST;
		s = arena_printf(&m->arena, "%s%.*s", s, (int)(end - at), at);
		if (constant)
			s = arena_printf(&m->arena, "%s (the constant %s)", s, sym_str(val(m, node(m, id)->in[i])->name));
	}
	return arena_printf(&m->arena, "%s%s", s, at);
}

/* A branch with a node that takes no operand of such a rank is never taken. The ranks of what is made in it are dropped, so that passes
 * rely on none that the operator does not take. Why it may not be even so, or NULL. */
static const char *drop_ranks(struct state *S, struct infer *I, struct type *in, struct known *kin)
{
	struct module *m = S->m;

	for (uint32_t i = 0; i < I->n->nin; i++) {
		val_id v = I->n->in[i];
		if (!v || val(m, v)->kind == VAL_CONST)
			continue;
		in[i].rank = RANK_UNKNOWN;
		kin[i] = (struct known){0};
		val(m, v)->type.rank = RANK_UNKNOWN;
	}
	return demand_check(I);
}

static void step(struct state *S, node_id id)
{
	static dim no_dims[1]; /* for rules that copy zero dimensions */
	struct module *m = S->m;
	const struct node *n = node(m, id);
	const struct op *row = op_row(n->op);
	uint32_t total = n->nin + n->nout;
	struct type small[16], *t = total <= 16 ? small : xcalloc(total, sizeof *t);
	struct known ksmall[16], *k = total <= 16 ? ksmall : xcalloc(total, sizeof *k);
	struct infer I = {.m = m, .id = id, .n = n, .in = t, .kin = k, .out = t + n->nin, .kout = k + n->nin, .body = infer_body, .arg = S};
	const char *why = NULL;
	uint32_t nvars = S->nvars;

	S->nvars = poly_nvars(m->dims);
	for (uint32_t i = 0; i < n->nin; i++) {
		t[i] = n->in[i] ? val(m, n->in[i])->type : type_none();
		k[i] = n->in[i] ? *known_of(S, n->in[i]) : (struct known){0};
		check_possible(m, id, "operand", i, &t[i]);
		if (!t[i].dims)
			t[i].dims = no_dims;
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		I.out[i] = type_none();
		I.kout[i] = (struct known){0};
	}
	why = demand_check(&I);
	if (why && S->branch)
		why = drop_ranks(S, &I, t, k);
	if (!why && row && row->shape && (why = row->shape(&I)) && S->branch) {
		for (uint32_t i = 0; i < n->nout; i++) {
			I.out[i] = type_none();
			I.kout[i] = (struct known){0};
		}
		why = NULL;
	}
	if (why)
		graph_die(m, id, "%s", with_names(m, id, why));
	for (uint32_t i = 0; i < n->nout; i++)
		check_possible(m, id, "result", i, &I.out[i]);
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i])
			continue;
		merge_type(S, id, "result", n->out[i], &I.out[i]);
		check_possible(m, id, "result", i, &val(m, n->out[i])->type); /* declared types are checked, too */
	}
	S->nvars = nvars;
	if (row && row->eval)
		known_by_eval(&I);
	for (uint32_t i = 0; S->known && i < n->nout; i++)
		if (n->out[i])
			S->known[n->out[i]] = I.kout[i];
	if (t != small) {
		free(t);
		free(k);
	}
}

static void infer_graph(struct state *S, graph_id g)
{
	for (size_t i = 0; i < graph(S->m, g)->nodes.n; i++)
		step(S, graph(S->m, g)->nodes.a[i]);
}

/* ---- the whole module ---- */

static void forget_shape(struct module *m, val_id v)
{
	if (v)
		val(m, v)->type.rank = RANK_UNKNOWN;
}

/* Drops the declared shapes of a graph that is never applied: they may contradict what would be inferred now, and passes would rely on
 * them. */
static void forget_graph(struct state *S, graph_id g)
{
	struct module *m = S->m;
	const struct graph *gr = graph(m, g);
	graph_id b;

	S->body[g].seen = true;
	vec_push(&S->forgotten, g);
	for (size_t i = 0; i < gr->in.n; i++)
		forget_shape(m, gr->in.a[i]);
	for (size_t i = 0; i < gr->nodes.n; i++) {
		const struct node *n = node(m, gr->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout; k++)
			forget_shape(m, n->out[k]);
		for (uint32_t k = 0; (b = node_body(n, k)); k++)
			if (!S->body[b].seen)
				forget_graph(S, b);
	}
}

static struct state state_new(struct module *m, struct known *known, bool symbols)
{
	struct state S = {.m = m, .known = known, .symbols = symbols};

	S.declared = xmalloc(sizeof *S.declared * m->values.n);
	for (size_t i = 0; i < m->values.n; i++)
		S.declared[i] = m->values.a[i].type;
	S.body = xcalloc(m->graphs.n, sizeof *S.body);
	return S;
}

static void state_free(struct state *S)
{
	free(S->declared);
	free(S->extent_of);
	free(S->body);
	vec_free(&S->forgotten);
}

static void take_back_types(struct state *S)
{
	for (val_id v = 1; v < S->m->values.n; v++)
		val(S->m, v)->type = S->declared[v];
}

/* What graphs that are never applied say for all operands. Without the dropped types, a later node may be found wrong that was hidden by a
 * contradiction before. Whoever reads the module next would refuse it, so it is refused here. */
static void infer_forgotten(struct state *was)
{
	struct module *m = was->m;
	struct state S = state_new(m, ARENA_ARRAY(&m->arena, struct known, m->values.n), false);

	S.branch = 1;
	for (size_t i = 0; i < was->forgotten.n; i++)
		if (!S.body[was->forgotten.a[i]].seen)
			infer_graph(&S, was->forgotten.a[i]);
	state_free(&S);
}

static void tell(struct state *S)
{
	for (size_t i = 0; i < S->told.n; i++)
		warn("%s: %s", S->m->source ? S->m->source : "standard input", S->told.a[i]);
	vec_free(&S->told);
}

/* Branches that are never taken, and bodies of unknown operators, keep their declared types. */
static void infer_unapplied(struct state *S)
{
	struct graph_list all = {0};

	module_graph_order(S->m, &all);
	S->branch = 1;
	for (size_t i = all.n; i-- > 0;)
		if (all.a[i] != S->m->main && !S->body[all.a[i]].seen)
			infer_graph(S, all.a[i]);
	S->branch = 0;
	vec_free(&all);
}

void module_verify_or_die(struct module *m)
{
	module_check_or_die(m);
	struct state S = state_new(m, ARENA_ARRAY(&m->arena, struct known, m->values.n), false);
	S.checks = true;
	infer_graph(&S, m->main);
	infer_unapplied(&S);
	take_back_types(&S);
	state_free(&S);
}

/* Do the graphs that S did not reach agree with their declared types? Given sizes may have changed that. */
static bool unapplied_agree(const struct state *S)
{
	struct module *m = S->m;
	struct state T = state_new(m, ARENA_ARRAY(&m->arena, struct known, m->values.n), false);
	struct msg_trap trap, *outer = msg_trap;
	volatile bool agree = false;

	memcpy(T.body, S->body, sizeof *T.body * m->graphs.n);
	T.checks = true;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		infer_unapplied(&T);
		agree = true;
	}
	msg_trap = outer;
	take_back_types(&T);
	state_free(&T);
	return agree;
}

static void infer_once(struct module *m, struct known **known, bool corrects)
{
	struct known *k = ARENA_ARRAY(&m->arena, struct known, m->values.n);
	struct state S = state_new(m, k, true);

	S.corrects = corrects;
	infer_graph(&S, m->main);
	for (graph_id g = 1; g < m->graphs.n; g++)
		if (S.body[g].skipped && !S.body[g].seen)
			forget_graph(&S, g);
	bool agree = unapplied_agree(&S);
	for (graph_id g = 1; g < m->graphs.n && !agree; g++)
		if (g != m->main && !S.body[g].seen)
			forget_graph(&S, g);
	if (S.forgotten.n)
		infer_forgotten(&S);
	tell(&S);
	state_free(&S);
	if (known)
		*known = k;
}

/* Narrower ranges of symbols may simplify expressions that were made before. */
static void infer_bounded(struct module *m, struct known **known, bool corrects)
{
	enum { AGAIN_MAX = 3 };

	infer_once(m, known, corrects);
	for (int i = 0; i < AGAIN_MAX && bounds_found(m); i++)
		infer_once(m, known, false);
}

/* Again, with ranks that only readers tell; where those contradict each other, as before. */
static void infer_all(struct module *m, struct known **known, bool corrects)
{
	struct msg_trap trap, *outer = msg_trap;
	struct type *before;

	infer_bounded(m, known, corrects);
	before = ARENA_ARRAY(&m->arena, struct type, m->values.n);
	for (size_t v = 0; v < m->values.n; v++)
		before[v] = m->values.a[v].type;
	if (!ranks_asked(m))
		return;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		infer_bounded(m, known, false);
	} else {
		for (size_t v = 0; v < m->values.n; v++)
			m->values.a[v].type = before[v];
	}
	msg_trap = outer;
}

void infer_module(struct module *m, struct known **known) { infer_all(m, known, false); }
void infer_declared(struct module *m, struct known **known) { infer_all(m, known, true); }

/* Stops silently at any other fault: whoever reads the module next reports it. */
void module_correct(struct module *m)
{
	struct state S = state_new(m, ARENA_ARRAY(&m->arena, struct known, m->values.n), false);
	struct msg_trap trap, *outer = msg_trap;

	S.corrects = S.checks = true;
	own_symbols(&S);
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		infer_graph(&S, m->main);
	}
	msg_trap = outer;
	take_back_types(&S);
	tell(&S);
	state_free(&S);
}

bool infer_would(struct module *m)
{
	struct state S = state_new(m, ARENA_ARRAY(&m->arena, struct known, m->values.n), false);
	struct msg_trap trap, *outer = msg_trap;
	volatile bool good = false;

	S.corrects = true;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		infer_graph(&S, m->main);
		good = true;
	}
	msg_trap = outer;
	take_back_types(&S);
	vec_free(&S.told);
	state_free(&S);
	return good;
}

/* Infers node id anew. Is result k of type was[k], as before? */
static bool node_fits(struct state *S, node_id id, const struct type *was)
{
	const struct node *n = node(S->m, id);
	bool fits = true;

	for (uint32_t k = 0; k < n->nout; k++)
		val(S->m, n->out[k])->type.rank = RANK_UNKNOWN;
	step(S, id);
	for (uint32_t k = 0; k < n->nout; k++) {
		const struct type *is = &val(S->m, n->out[k])->type;
		fits &= !n->out[k] ||
			(is->rank == was[k].rank && (is->rank <= 0 || !memcmp(is->dims, was[k].dims, (size_t)is->rank * sizeof *is->dims)));
	}
	return fits;
}

bool infer_fits(struct module *m, node_id id)
{
	const struct node *n = node(m, id);
	struct type *was = ARENA_ARRAY(&m->arena, struct type, n->nout + 1);
	struct state S = {.m = m};
	struct msg_trap trap, *outer = msg_trap;
	volatile bool fits = false;

	if (op_is(n->op, OP_CONTROL) || op_is(n->op, OP_CALL))
		return false;
	for (uint32_t k = 0; k < n->nout; k++)
		was[k] = val(m, n->out[k])->type;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		fits = node_fits(&S, id, was);
	}
	msg_trap = outer;
	for (uint32_t k = 0; k < n->nout; k++)
		val(m, n->out[k])->type = was[k];
	return fits;
}

/* Changes only the node and its bodies. */
void infer_node(struct module *m, node_id n, struct known *known)
{
	struct state S = {.m = m, .known = known, .symbols = true};

	if (op_is(node(m, n)->op, OP_CONTROL) || op_is(node(m, n)->op, OP_CALL))
		S = state_new(m, known, true);
	step(&S, n);
	state_free(&S);
}
