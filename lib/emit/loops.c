/* The walk over the nest: loops as C loops, or as a copy of the body for each iteration. */
#include "emit/emit_impl.h"
#include "target/target.h"

static bool has_guard(const struct nest *block, poly g)
{
	for (size_t i = 0; i < block->guard.n; i++)
		if (block->guard.a[i] == g)
			return true;
	return false;
}

/* Is it asked by all blocks below the loop, of which `block` is the first, and does it depend on this loop and on none inside? */
static bool is_shared(struct emit *e, nest_id loop, const nest_id *block, int n, poly g)
{
	nest_id around[NEST_DEPTH_MAX];
	bool shared = poly_uses(e->p->P, g, lnest(e->p, loop)->var);

	for (int k = nest_loops(e->p, block[0], around), i = 0; i < k && shared; i++)
		if (around[i] != loop && nest_inside(e->p, around[i], loop))
			shared = !poly_uses(e->p->P, g, lnest(e->p, around[i])->var);
	for (int i = 1; i < n && shared; i++)
		shared = has_guard(lnest(e->p, block[i]), g);
	return shared;
}

/* Where sizes vary no piece of a loop has borders alone: what all blocks of an iteration ask is asked once, and held. The condition, "" if
 * there is none; NULL: the iteration does nothing. */
static const char *hold_guards(struct emit *e, nest_id loop)
{
	const char *cond = "";
	int n = 0;
	int64_t lo, hi;
	nest_id *block = e->p->params.n ? nest_list(e->p, loop, 0, &n) : NULL;
	const struct nest *first = n ? lnest(e->p, block[0]) : NULL;

	for (size_t i = 0; first && i < first->guard.n && e->nheld < HELD_MAX; i++) {
		poly g = first->guard.a[i];
		if (!is_shared(e, loop, block, n, g))
			continue;
		poly now = env_subst(e, g);
		poly_range(e->p->P, now, &lo, &hi);
		if (hi < 0)
			return NULL;
		if (lo < 0)
			cond = text(e, "%s%s%s", cond, *cond ? " && " : "", cond_text(e, now));
		e->held[e->nheld++] = g;
	}
	return cond;
}

static void emit_body(struct emit *e, nest_id loop)
{
	int held = e->nheld;
	const char *cond;

	declare_locals(e, loop);
	emit_prefetches(e, loop);
	if ((cond = hold_guards(e, loop))) {
		bool asks = *cond;
		if (asks) {
			line(e, "if (%s) {", cond);
			e->depth++;
		}
		emit_nest(e, lnest(e->p, loop)->kid.a[0]);
		if (asks) {
			e->depth--;
			line(e, "}");
		}
	}
	e->nheld = held;
}

/* One iteration, its variable replaced by `at`. */
static void emit_copy(struct emit *e, nest_id loop, poly at)
{
	bool scope = has_locals(e, loop);

	env_push(e, lnest(e->p, loop)->var, at);
	if (scope) {
		line(e, "{");
		e->depth++;
	}
	emit_body(e, loop);
	if (scope) {
		e->depth--;
		line(e, "}");
	}
	e->nenv--;
}

static void emit_range(struct emit *e, nest_id id, const char *start, const char *end)
{
	poly_var v = lnest(e->p, id)->var;
	sym name = c_name(e, sym_str(lnest(e->p, id)->name));

	line(e, "for (long %s = %s; %s < %s; %s++) {", sym_str(name), start, sym_str(name), end, sym_str(name));
	var_open(e, v, name);
	e->depth++;
	emit_body(e, id);
	e->depth--;
	var_close(e, v);
	line(e, "}");
}

static void emit_serial(struct emit *e, nest_id id, poly extent, poly from)
{
	const char *start = poly_text(e, from), *end = poly_text(e, extent);

	if (lnest(e->p, id)->mark == LOOP_PARALLEL)
		line(e, "/* parallel */");
	emit_range(e, id, start, end);
}

void emit_piece(struct emit *e, nest_id id)
{
	const struct nest *n = lnest(e->p, id);
	poly extent = env_subst(e, n->extent);
	int64_t c;
	const char *first = poly_text(e, env_subst(e, n->first));

	if (n->extent == n->whole) {
		emit_range(e, id, "begin", "end");
	} else if (poly_is_const(e->p->P, extent, &c) && c == 1) {
		line(e, "if (begin <= %s && %s < end) {", first, first);
		e->depth++;
		emit_copy(e, id, poly_const(e->p->P, 0));
		e->depth--;
		line(e, "}");
	} else {
		const char *sum = poly_nterms(e->p->P, n->first) > 1 ? text(e, "(%s)", first) : first;
		const char *start = text(e, "lmax(begin - %s, 0)", sum);
		emit_range(e, id, start, text(e, "lmin(end - %s, %s)", sum, poly_text(e, extent)));
	}
	tmp_clear(e);
}

/* Unrolled by n; the remainder in a loop of its own, or fully unrolled. */
static void emit_unrolled_by(struct emit *e, nest_id id, poly extent, int n)
{
	struct polys *P = e->p->P;
	poly groups = poly_floordiv(P, extent, n);
	int64_t lo, hi, rlo, rhi, c;

	poly_range(P, groups, &lo, &hi);
	poly_var v = poly_var_new(P, lnest(e->p, id)->name, 0, hi > 1 ? hi - 1 : 0, 1);
	if (hi > 0) {
		sym name = c_name(e, sym_str(lnest(e->p, id)->name));
		bool loop = !poly_is_const(P, groups, &c) || c > 1;
		if (loop) {
			line(e, "for (long %s = 0; %s < %s; %s++) { /* %d a time */", sym_str(name), sym_str(name), poly_text(e, groups),
			     sym_str(name), n);
			var_open(e, v, name);
			e->depth++;
		}
		poly from = loop ? poly_mulc(P, poly_of(P, v), n) : poly_const(P, 0);
		for (int k = n == 4 && emit_packed(e, id, from) ? n : 0; k < n; k++)
			emit_copy(e, id, poly_addc(P, from, k));
		if (loop) {
			e->depth--;
			var_close(e, v);
			line(e, "}");
		}
	}
	poly rest = poly_sub(P, extent, poly_mulc(P, groups, n));
	poly_range(P, rest, &rlo, &rhi);
	if (rhi <= 0)
		return;
	if (poly_is_const(P, extent, &c) && rlo == rhi)
		for (int64_t k = c - rlo; k < c; k++)
			emit_copy(e, id, poly_const(P, k));
	else
		emit_serial(e, id, extent, poly_mulc(P, groups, n));
}

void emit_for(struct emit *e, nest_id id)
{
	const struct nest *n = lnest(e->p, id);
	poly extent = env_subst(e, n->extent);
	int64_t lo, hi, c;

	poly_range(e->p->P, extent, &lo, &hi);
	if (hi <= 0 || emit_only_starts(e, id))
		return;
	if (n->outline && !e->dry && !e->start) {
		emit_outline(e, id);
		tmp_clear(e);
		return;
	}
	bool constant = poly_is_const(e->p->P, extent, &c), vector = n->mark == LOOP_VECTOR;
	if (n->mark == LOOP_CALL) {
		emit_call(e, id);
	} else if (vector && hi > 1 && only_blocks(e, n->kid.a[0]) && !is_home(e, id)) {
		emit_vector(e, id, extent);
	} else if (constant && c == 4 && n->mark == LOOP_UNROLL && !n->unroll && emit_woven(e, id)) {
		tmp_clear(e);
	} else if (constant && (c == 1 || (n->mark == LOOP_UNROLL && !n->unroll) || (vector && c <= e->vl))) {
		for (int64_t i = 0; i < c; i++)
			emit_copy(e, id, poly_const(e->p->P, i));
	} else if (n->mark == LOOP_UNROLL && n->unroll > 1) {
		bool started = emit_start_calls(e, id, extent, n->unroll);
		emit_unrolled_by(e, id, extent, n->unroll);
		if (started)
			emit_end_calls(e);
	} else {
		emit_serial(e, id, extent, poly_const(e->p->P, 0));
	}
	tmp_clear(e);
}

/* The block of nest n that updates sums in registers; 0: there is none. */
static nest_id block_of_sums(struct emit *e, nest_id n)
{
	const struct nest *x = lnest(e->p, n);

	if (x->kind == NEST_BLOCK)
		return x->phase == BLOCK_UPDATE && lbuf(e->p, lstage(e->p, x->stage)->out)->scope == SCOPE_REGISTER ? n : 0;
	for (size_t i = 0; i < x->kid.n; i++) {
		nest_id found = block_of_sums(e, x->kid.a[i]);
		if (found)
			return found;
	}
	return 0;
}

static bool is_lookup(struct loop_prog *p, ex_id e, void *arg)
{
	(void)arg;
	return emit_looks_up(p, e);
}

static void find_lookup(struct loop_prog *p, nest_id n, void *found)
{
	const struct nest *x = lnest(p, n);

	if (x->kind == NEST_BLOCK)
		*(bool *)found |= ex_find(p, lstage(p, x->stage)->body, is_lookup, NULL) != 0;
}

/* Puts the sums of a block into memory and back, if what follows from kid `from` on looks up codes in a table and they leave too few
 * registers for that: a compiler that runs short there would keep sums in memory in the loop that adds to them, too. */
static void lay_sums_aside(struct emit *e, nest_id block, const struct nest *seq, size_t from)
{
	enum { WANTED = 6 }; /* what a lookup takes beside sums: codes, table, results, room to compute */
	const struct target *t = e->p->target ? e->p->target : target_host();
	buf_id b = lstage(e->p, lnest(e->p, block)->stage)->out;
	const struct regs *r = &e->regs[b];
	bool found = false;

	for (size_t i = from; i < seq->kid.n; i++)
		nest_walk(e->p, seq->kid.a[i], find_lookup, &found);
	if (!found || lbuf(e->p, b)->dtype != DT_I32 || (int)r->run.n + WANTED <= t->vector_regs)
		return;
	for (size_t i = 0; i < r->run.n; i++) {
		const char *name = reg_name(e, b, r->run.a[i].at);
		line(e, "{ vi aside = %s; __asm__(\"\" : \"+m\"(aside)); %s = aside; }", name, name);
	}
}

static bool stays_loop(const struct nest *x) { return x->kind == NEST_FOR && (x->mark == LOOP_SERIAL || x->unroll); }

/* Children in order; pieces of one team together. LOADS_STAY after a loop over sums in registers keeps the compiler from hoisting later
 * loads (a bias) above the loop, where they would take registers from the sums. */
static void emit_seq(struct emit *e, const struct nest *seq)
{
	for (size_t i = 0, n; i < seq->kid.n; i += n) {
		uint32_t team = lnest(e->p, seq->kid.a[i])->team;
		for (n = 1; team && i + n < seq->kid.n && lnest(e->p, seq->kid.a[i + n])->team == team;)
			n++;
		if (!e->in_team && is_team(e->p, seq->kid.a[i]))
			emit_team(e, seq->kid.a + i, n);
		else
			for (size_t k = 0; k < n; k++)
				emit_nest(e, seq->kid.a[i + k]);
		const struct nest *x = lnest(e->p, seq->kid.a[i]);
		nest_id sums = x->reduce && stays_loop(x) && i + n < seq->kid.n ? block_of_sums(e, seq->kid.a[i]) : 0;
		if (sums) {
			line(e, "LOADS_STAY;");
			lay_sums_aside(e, sums, seq, i + n);
		}
	}
}

void emit_nest(struct emit *e, nest_id id)
{
	switch (lnest(e->p, id)->kind) {
	case NEST_SEQ: emit_seq(e, lnest(e->p, id)); break;
	case NEST_FOR: emit_for(e, id); break;
	case NEST_BLOCK: emit_block(e, id); break;
	}
}
