/* The verifier: shows that a nest is legal without running it. Each access must be in bounds, so each needs two proofs that an affine
 * index e satisfies e >= 0. Known are the ranges of the loops and the guards around the access ("facts").
 *
 *  1. By range: the least value of e over the loops is not negative.
 *  2. By facts: e - k*f >= 0 for a fact f >= 0 and a k that cancels a variable, up to three times.
 *  3. For sizes that vary: by what is the least of its terms over the loops, floors of loops by what they divide.
 *  4. By running the loops that e depends on, if their iterations are few.
 *
 * What cannot be shown is refused, legal or not. */
#include <string.h>
#include "common/msg.h"
#include "loop/instr.h"
#include "loop/interp.h"
#include "loop/nest.h"

enum { WALK_MAX = 1 << 18, AXIS_MAX = 1 << 21, COPIES_MAX = 1 << 14, REGISTERS_MAX = 4096 };

/* Polynomials that are >= 0 where an access happens. A list is never changed: one with a fact more is another list. */
struct facts {
	int n;
	poly *ge; /* in the arena of the current block */
};

struct verify {
	struct loop_prog *p;
	struct arena arena; /* of the current block */
	nest_id block;
	int nloops;
	nest_id loop[NEST_DEPTH_MAX]; /* around the block, from the outside in */
	int64_t *env;                 /* value of each variable, where loops are run */
	const char *why;
};

static bool never_negative(struct loop_prog *p, poly e)
{
	int64_t lo, hi;

	poly_range(p->P, e, &lo, &hi);
	return lo >= 0;
}

/* Does b >= 0 imply a >= 0, because a is b plus a constant? */
static bool implied(struct loop_prog *p, poly a, poly b)
{
	int64_t more;

	return poly_is_const(p->P, poly_sub(p->P, a, b), &more) && more >= 0;
}

/* Adds the fact e >= 0. Facts that it implies are dropped, so that a chain of guards (an operand of a Concat begins where the
 * last one ends) stays one fact. */
static void fact(struct verify *v, struct facts *f, poly e)
{
	struct facts old = *f;

	for (int i = 0; i < old.n; i++)
		if (implied(v->p, e, old.ge[i]))
			return;
	if (e == POLY_UNKNOWN)
		return;
	*f = (struct facts){0, ARENA_ARRAY(&v->arena, poly, old.n + 1)};
	for (int i = 0; i < old.n; i++)
		if (!implied(v->p, old.ge[i], e))
			f->ge[f->n++] = old.ge[i];
	f->ge[f->n++] = e;
}

/* Writes out a floor in e that knows of a variable with a fact. False: there is none. */
static bool less_floor(struct loop_prog *p, poly e, poly *whole)
{
	int natoms;
	const uint32_t *atoms;

	for (int t = 0; t < poly_nterms(p->P, e); t++) {
		poly_term(p->P, e, t, &natoms, &atoms);
		*whole = without_floor(p->P, e, t);
		if (*whole != POLY_UNKNOWN && !prog_fixed(p, poly_atom(p->P, atoms[0])->a))
			return true;
	}
	return false;
}

/* Does e >= 0 follow from the facts? e = (e - k f) + k f, so it does if e - k f >= 0 for a fact f and a k > 0. Tries those k that
 * cancel a variable. */
static bool follows(struct loop_prog *p, poly e, const struct facts *f, int depth)
{
	struct polys *P = p->P;
	int natoms, matoms;
	const uint32_t *atoms, *batoms;
	poly whole;

	if (e == POLY_UNKNOWN)
		return false;
	if (never_negative(p, e))
		return true;
	if (!depth)
		return false;
	if (p->params.n && less_floor(p, e, &whole) && follows(p, whole, f, depth))
		return true;
	for (int i = 0; i < f->n; i++)
		for (int t = 0; t < poly_nterms(P, e); t++) {
			int64_t c = poly_term(P, e, t, &natoms, &atoms);
			if (natoms != 1)
				continue;
			uint32_t atom = atoms[0];
			for (int u = 0; u < poly_nterms(P, f->ge[i]); u++) {
				int64_t d = poly_term(P, f->ge[i], u, &matoms, &batoms);
				if (matoms != 1 || batoms[0] != atom || c / d < 1 || c % d)
					continue;
				if (follows(p, poly_sub(P, e, poly_mulc(P, f->ge[i], c / d)), f, depth - 1))
					return true;
			}
		}
	return false;
}

bool prog_follows(struct loop_prog *p, poly e, int n, poly *ge) { return follows(p, e, &(struct facts){n, ge}, 3); }

/* ---- all iterations of a small nest ---- */

/* Are there iterations to run, of whatever e or the loops depend on? Not if that is a parameter. */
static bool can_run(struct verify *v, const bool *skip, poly e)
{
	bool can = prog_same(v->p, e);

	for (int i = 0; i < v->nloops && can; i++)
		can = skip[i] || (prog_same(v->p, lnest(v->p, v->loop[i])->extent) && !lnest(v->p, v->loop[i])->step);
	return can;
}

static bool holds_everywhere(struct verify *v, int depth, const bool *skip, poly e, const struct facts *f)
{
	struct loop_prog *p = v->p;

	while (depth < v->nloops && skip[depth])
		depth++;
	if (depth < v->nloops) {
		const struct nest *n = lnest(p, v->loop[depth]);
		int64_t extent = poly_eval(p->P, n->extent, v->env);
		for (int64_t i = 0; i < extent; i++) {
			v->env[n->var] = i;
			if (!holds_everywhere(v, depth + 1, skip, e, f))
				return false;
		}
		return true;
	}
	for (int i = 0; i < f->n; i++)
		if (poly_eval(p->P, f->ge[i], v->env) < 0)
			return true;
	return poly_eval(p->P, e, v->env) >= 0;
}

static bool small_enough(struct verify *v, const bool *skip, int64_t most)
{
	int64_t n = 1, lo, hi;

	for (int i = 0; i < v->nloops && n <= most; i++) {
		poly_range(v->p->P, lnest(v->p, v->loop[i])->extent, &lo, &hi);
		n *= hi > 1 && !skip[i] ? hi : 1;
	}
	return n <= most;
}

/* Takes the loops that e depends on, also through their extents, out of skip. */
static void keep_loops(struct verify *v, bool *skip, poly e)
{
	for (int i = 0; i < v->nloops; i++)
		if (skip[i] && poly_uses(v->p->P, e, lnest(v->p, v->loop[i])->var)) {
			skip[i] = false;
			keep_loops(v, skip, lnest(v->p, v->loop[i])->extent);
		}
}

static bool about_others(struct verify *v, const bool *skip, poly e)
{
	for (int i = 0; i < v->nloops; i++)
		if (skip[i] && poly_uses(v->p->P, e, lnest(v->p, v->loop[i])->var))
			return true;
	return false;
}

/* Runs the loops that e depends on, with the facts about these alone; if that is not enough, all loops, if their iterations are few. */
static bool walked(struct verify *v, poly e, const struct facts *f)
{
	bool skip[NEST_DEPTH_MAX], none[NEST_DEPTH_MAX] = {false};
	struct facts some = {0, ARENA_ARRAY(&v->arena, poly, f->n + 1)};

	memset(skip, true, sizeof skip);
	keep_loops(v, skip, e);
	if (!can_run(v, skip, e))
		return false;
	for (int i = 0; i < f->n; i++)
		if (!about_others(v, skip, f->ge[i]) && prog_same(v->p, f->ge[i]))
			some.ge[some.n++] = f->ge[i];
	if (v->p->params.n)
		return small_enough(v, skip, AXIS_MAX) && holds_everywhere(v, 0, skip, e, &some);
	return (small_enough(v, skip, AXIS_MAX) && holds_everywhere(v, 0, skip, e, &some)) ||
	       (small_enough(v, none, WALK_MAX) && holds_everywhere(v, 0, none, e, f));
}

/* Does it follow where a floor of sizes is written out? */
static bool follows_without_floor(struct loop_prog *p, poly e, const struct facts *f)
{
	bool does = false;

	for (int t = 0; p->params.n && t < poly_nterms(p->P, e) && !does; t++)
		does = follows(p, without_floor(p->P, e, t), f, 2);
	return does;
}

/* A bound below term i of e where its one atom that loops change is a floor, and the others are sizes: that with the greatest or the least
 * value of what is divided. The term itself if it is of another kind. */
static poly least_floor(struct verify *v, poly e, int i)
{
	struct loop_prog *p = v->p;
	struct polys *P = p->P;
	const uint32_t *atoms;
	int n;
	int64_t lo, hi, c = poly_term(P, e, i, &n, &atoms);
	poly times = poly_const(P, c), whole = times;
	struct poly_atom floor = {0};

	for (int k = 0; k < n; k++) {
		poly_term(P, e, i, &n, &atoms); /* they may have moved */
		struct poly_atom a = *poly_atom(P, atoms[k]);
		poly x = a.kind == POLY_VAR     ? poly_of(P, a.var)
			 : a.kind == POLY_FLOOR ? poly_floordiv(P, a.a, a.c)
			 : a.kind == POLY_MIN   ? poly_min(P, a.a, a.b)
						: poly_max(P, a.a, a.b);
		whole = poly_mul(P, whole, x);
		if (a.kind == POLY_FLOOR && !floor.c && !prog_fixed(p, x))
			floor = a;
		else
			times = poly_mul(P, times, x);
	}
	poly_range(P, times, &lo, &hi);
	if (!floor.c || !prog_fixed(p, times) || (lo < 0 && hi > 0))
		return whole;
	poly by = bound_over(p, floor.a, v->nloops, v->loop, hi <= 0);
	return by == POLY_UNKNOWN ? whole : poly_mul(P, times, poly_floordiv(P, by, floor.c));
}

/* Does it follow from what its floors of loops and the loops are at least and at most, for sizes? */
static bool follows_of_bounds(struct verify *v, poly e, const struct facts *f)
{
	poly sum = poly_const(v->p->P, 0);

	for (int i = 0; v->p->params.n && i < poly_nterms(v->p->P, e); i++)
		sum = poly_add(v->p->P, sum, least_floor(v, e, i));
	return v->p->params.n && sum != e && follows(v->p, bound_over(v->p, sum, v->nloops, v->loop, false), f, 3);
}

static bool shown(struct verify *v, poly e, const struct facts *f)
{
	if (e == POLY_UNKNOWN)
		return false;
	return follows(v->p, e, f, 3) || follows_without_floor(v->p, e, f) || follows_of_bounds(v, e, f) || walked(v, e, f) ||
	       follows(v->p, e, f, 4);
}

/* ---- accesses ---- */

static void within(struct verify *v, poly at, poly extent, const struct facts *f, const char *what, const char *dim)
{
	struct polys *P = v->p->P;
	poly last = poly_addc(P, extent, -1);

	if (!v->why && (!shown(v, at, f) || !shown(v, poly_sub(P, last, at), f)))
		v->why = whynot(v->p, "stage %s: %s %s: %s is not shown to be in 0..%s",
				sym_str(lstage(v->p, lnest(v->p, v->block)->stage)->name), what, dim, poly_str(P, at, &v->p->arena),
				poly_str(P, last, &v->p->arena));
}

/* Elements of a register buffer are C variables, so their index may depend only on loops that are fully unrolled or vectors. */
static void check_register(struct verify *v, buf_id b, const poly *index)
{
	struct loop_prog *p = v->p;
	poly off = buf_offset(p, b, index);
	int64_t c;

	bool in_call = false;

	for (int i = 0; i < v->nloops && !v->why; i++) {
		const struct nest *n = lnest(p, v->loop[i]);
		in_call |= n->mark == LOOP_CALL;
		bool inside = v->loop[i] != lbuf(p, b)->alloc && nest_inside(p, v->loop[i], lbuf(p, b)->alloc);
		bool copied = inside && poly_is_const(p->P, n->extent, &c) &&
			      (c == 1 || in_call || n->mark == LOOP_VECTOR || (n->mark == LOOP_UNROLL && !n->unroll));
		copied |= inside && p->params.n && n->mark == LOOP_VECTOR; /* lanes of a mask */
		if (!copied && poly_uses(p->P, off, n->var))
			v->why = whynot(p, "register buffer %s: its index depends on %s, which is not unrolled", sym_str(lbuf(p, b)->name),
					sym_str(n->name));
	}
}

static void check_access(struct verify *v, buf_id b, const poly *index, int dyn, const struct facts *f)
{
	struct loop_prog *p = v->p;
	const struct loop_buf *x = lbuf(p, b);
	bool window = p->legalized && x->alloc;

	for (int d = 0; d < x->rank && !v->why; d++) {
		const char *dim = arena_printf(&p->arena, "%s[%d]", sym_str(x->name), d);
		if (d == dyn)
			continue;
		poly room = x->dim[d] != POLY_UNKNOWN ? x->dim[d] : poly_const(p->P, buf_room(p, b, d));
		within(v, index[d], room, f, "index of", dim);
		if (window)
			within(v, poly_sub(p->P, index[d], x->base[d]), buf_size(p, b, d), f, "window of", dim);
	}
	if (window && x->scope == SCOPE_REGISTER && !v->why)
		check_register(v, b, index);
}

static void check_reads(struct verify *v, ex_id e, const struct facts *f, uint64_t *seen);

/* Checks one side of a guard, which has other facts: what was checked before, under other facts, is checked again. */
static void check_side(struct verify *v, ex_id e, const struct facts *f)
{
	uint64_t few[64] = {0}, *many = e / 64 < 64 ? NULL : xcalloc(e / 64 + 1, sizeof *many);

	check_reads(v, e, f, many ? many : few);
	free(many);
}

/* On the one side of a guard its conditions hold. On the other side, if there is one condition, its opposite holds. A side that is never
 * taken is not checked. */
static void check_guard(struct verify *v, const struct ex *x, const poly *index, const struct facts *f, uint64_t *seen)
{
	struct loop_prog *p = v->p;
	struct facts inner = *f, outer = *f;
	bool always = true;

	for (int i = 0; i < x->n; i++) {
		int64_t lo, hi;
		poly_range(p->P, index[i], &lo, &hi);
		if (hi < 0) { /* always the other side */
			check_reads(v, x->a[1], f, seen);
			return;
		}
		always &= lo >= 0;
		fact(v, &inner, index[i]);
	}
	if (x->n == 1)
		fact(v, &outer, poly_addc(p->P, poly_mulc(p->P, index[0], -1), -1));
	check_side(v, x->a[0], &inner);
	if (!always)
		check_side(v, x->a[1], &outer);
}

/* Checks all reads under e. seen: a bit for each expression that was checked under the same facts. */
static void check_reads(struct verify *v, ex_id e, const struct facts *f, uint64_t *seen)
{
	struct loop_prog *p = v->p;
	struct ex x = *lex(p, e);
	poly index[2 * LOOP_RANK_MAX + 8];

	if (!e || v->why || seen[e / 64] >> e % 64 & 1)
		return;
	seen[e / 64] |= 1ull << e % 64;
	for (int i = 0; i < x.n; i++)
		index[i] = bind_poly(p, lnest(p, v->block), x.index[i]);
	if (x.kind == EX_READ)
		check_access(v, x.buf, index, x.dyn_dim, f);
	if (x.kind == EX_GUARD)
		check_guard(v, &x, index, f, seen);
	for (int i = 0; i < 3 && x.kind != EX_GUARD; i++)
		check_reads(v, x.a[i], f, seen);
}

/* What holds in a loop whose extent varies. */
static void loop_facts(struct verify *v, const struct nest *l, struct facts *f)
{
	struct polys *P = v->p->P;
	poly var = poly_of(P, l->var);

	if (l->known != POLY_UNKNOWN)
		fact(v, f, l->known);
	if (l->step)
		fact(v, f, poly_sub(P, poly_sub(P, l->elems, var), poly_of(P, l->len)));
	else
		fact(v, f, poly_addc(P, poly_sub(P, l->extent, var), -1));
}

/* e >= 0, also as what it says of the sizes inside its floors. */
static void rest_facts(struct verify *v, poly e, struct facts *f)
{
	fact(v, f, e);
	for (int t = 0; t < poly_nterms(v->p->P, e); t++)
		fact(v, f, without_floor(v->p->P, e, t));
}

/* e >= 1, e of sizes alone, where all that varies in it is a multiple of a number: what is left when it is divided by that. */
static void divided_fact(struct verify *v, poly e, struct facts *f)
{
	struct polys *P = v->p->P;
	int64_t divisor = 0, c, constant = 0;
	int n;
	const uint32_t *atoms;

	for (int t = 0; t < poly_nterms(P, e); t++) {
		c = poly_term(P, e, t, &n, &atoms);
		if (!n)
			constant = c;
		for (int64_t r; n && c; divisor = c, c = r)
			r = divisor % c;
	}
	divisor = divisor < 0 ? -divisor : divisor;
	if (divisor < 2)
		return;
	poly least = poly_floordiv(P, poly_const(P, divisor - constant), divisor);
	poly whole = poly_sub(P, poly_floordiv(P, poly_addc(P, e, -constant), divisor), least);
	fact(v, f, whole);
	for (int t = 0; t < poly_nterms(P, whole); t++)
		fact(v, f, without_floor(P, whole, t));
}

/* What follows for sizes where one fact says that they are a rest or more, and another that the rest is 1 or more. */
static void facts_of_rests(struct verify *v, struct facts *f)
{
	struct facts all = *f;

	for (int i = 0; v->p->rests.n && i < all.n; i++)
		for (int k = 0; k < all.n; k++) {
			poly rest = poly_addc(v->p->P, all.ge[k], 1), e = poly_add(v->p->P, all.ge[i], rest);
			poly_var var = poly_is_var(v->p->P, rest);
			if (var && poly_uses(v->p->P, all.ge[i], var) && !poly_uses(v->p->P, e, var) && prog_fixed(v->p, e))
				divided_fact(v, e, f);
		}
}

static void check_block(struct verify *v)
{
	struct loop_prog *p = v->p;
	struct nest *n = lnest(p, v->block);
	const struct stage *s = lstage(p, n->stage);
	struct facts f = {0};
	int64_t c, copies = 1, lo, hi;

	for (size_t i = 0; i < p->rests.n; i++)
		rest_facts(v, p->rests.a[i].fact, &f);
	for (int i = 0; i < v->nloops; i++) {
		const struct nest *l = lnest(p, v->loop[i]);
		bool fixed = poly_is_const(p->P, l->extent, &c);
		if (!fixed || l->step)
			loop_facts(v, l, &f);
		else if (l->mark == LOOP_UNROLL && c > 0)
			copies = copies > COPIES_MAX ? copies : copies * (l->unroll && l->unroll < c ? l->unroll : c);
	}
	for (size_t i = 0; i < n->guard.n; i++) {
		poly_range(p->P, n->guard.a[i], &lo, &hi);
		if (hi < 0)
			return; /* never runs */
		fact(v, &f, n->guard.a[i]);
	}
	facts_of_rests(v, &f);
	if (copies > COPIES_MAX)
		v->why = whynot(p, "stage %s: more than %d copies by unrolled loops", sym_str(s->name), COPIES_MAX);
	for (int a = s->nspatial; n->phase == BLOCK_UPDATE && a < s->naxes; a++)
		within(v, n->bind[a], axis_size(p, &s->axis[a]), &f, "reduce axis", sym_str(s->axis[a].name));
	if (!v->why)
		check_access(v, s->out, n->bind, -1, &f);
	if (!v->why && n->phase == BLOCK_UPDATE)
		check_side(v, s->body, &f);
}

/* Loops that a scan axis depends on must run its steps in order. */
static void check_scan(struct verify *v)
{
	struct loop_prog *p = v->p;
	const struct nest *n = lnest(p, v->block);
	const struct stage *s = lstage(p, n->stage);
	int64_t coef;
	poly rest;

	for (int a = 0; a < s->naxes; a++)
		for (int i = 0; s->axis[a].kind == AXIS_SCAN && i < v->nloops && !v->why; i++) {
			const struct nest *l = lnest(p, v->loop[i]);
			if (!poly_uses(p->P, n->bind[a], l->var))
				continue;
			bool ahead = poly_linear_in(p->P, n->bind[a], l->var, &coef, &rest) && coef > 0;
			if (!ahead || l->mark == LOOP_VECTOR || l->mark == LOOP_PARALLEL)
				v->why = whynot(p, "scan axis %s of %s: loop %s does not run it in order", sym_str(s->axis[a].name),
						sym_str(s->name), sym_str(l->name));
		}
}

static void verify_one(struct loop_prog *p, nest_id id, void *arg)
{
	struct verify *v = arg;

	if (!v->why && lnest(p, id)->kind == NEST_FOR && lnest(p, id)->mark == LOOP_PARALLEL)
		v->why = parallel_races(p, id);
	if (!v->why && lnest(p, id)->kind == NEST_FOR && lnest(p, id)->mark == LOOP_CALL)
		v->why = instr_match(p, id, lnest(p, id)->instr, 0, NULL, NULL, &(struct instr_use){0});
	if (v->why || lnest(p, id)->kind != NEST_BLOCK)
		return;
	v->block = id;
	v->nloops = nest_loops(p, id, v->loop);
	check_block(v);
	arena_release(&v->arena);
	v->arena = (struct arena){0};
	if (!v->why)
		check_scan(v);
}

const char *loop_verify(struct loop_prog *p)
{
	struct verify v = {.p = p};

	for (buf_id b = 1; b < p->bufs.n && p->legalized; b++)
		if (lbuf(p, b)->scope == SCOPE_REGISTER && lbuf(p, b)->alloc && buf_elems(p, b) > REGISTERS_MAX)
			return whynot(p, "register buffer %s has more than %d elements", sym_str(lbuf(p, b)->name), REGISTERS_MAX);
	v.why = rests_shown(p);
	v.env = xcalloc(poly_nvars(p->P) + 2, sizeof *v.env);
	nest_walk(p, p->root, verify_one, &v);
	free(v.env);
	return v.why;
}
