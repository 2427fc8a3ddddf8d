/* Blocks of vector loops: one statement for all lanes. An access is contiguous, broadcast, strided or a gather
 * by the coefficient of the lane in its offset. What does not fit (integers that vary with the
 * lane, indices that are data that does) is left to the caller, who writes lane after lane. */
#include "emit/emit_impl.h"
#include "common/msg.h"
#include <math.h>
#include <string.h>

enum vx_kind { VX_FAIL, VX_SCALAR, VX_VEC, VX_MASK };

struct vx {
	enum vx_kind kind;
	const char *s;
};

/* Which lanes are active: the first n, and (guard) not all of them for every value of the loop variables. */
struct lanes {
	const char *s; /* C expression of type vm */
	int n;
	bool guard;
	sym mask;   /* text of the guard of the block */
	int nopen;  /* variables in scope up to the last that the guard uses */
	bool exact; /* active are lanes lo to hi - 1 */
	int lo, hi;
};

static bool all_lanes(struct emit *e, const struct lanes *m) { return m->n == e->vl && !m->guard; }

static const struct vx fail = {VX_FAIL, ""};

static struct vx vx(struct emit *e, ex_id ex, const struct lanes *m);

static const char *to_vec(struct emit *e, struct vx x) { return x.kind == VX_SCALAR ? text(e, "vset(%s)", bare(e, x.s)) : x.s; }
static const char *to_mask(struct emit *e, struct vx x) { return x.kind == VX_SCALAR ? text(e, "vmset(%s)", x.s) : x.s; }

static bool lane_in(struct emit *e, poly x) { return poly_uses(e->p->P, x, e->lane); }

static bool has_lane(struct loop_prog *p, ex_id ex, void *arg)
{
	struct emit *e = arg;

	for (int i = 0; i < lex(p, ex)->n; i++)
		if (lane_in(e, here(e, lex(p, ex)->index[i])))
			return true;
	return false;
}

/* x with lane number l for the lane variable. */
static poly lane_at(struct emit *e, poly x, int l) { return poly_subst(e->p->P, x, e->lane, poly_const(e->p->P, l)); }

/* Does the value of ex differ between lanes? */
static bool varies(struct emit *e, ex_id ex) { return ex_find(e->p, ex, has_lane, e); }

/* Lanes v with guard >= 0, for a guard that is linear in v; NULL: it is not. */
static const char *guard_lanes(struct emit *e, poly guard)
{
	struct polys *P = e->p->P;
	int64_t c;
	poly rest;

	if (!poly_linear_in(P, guard, e->lane, &c, &rest))
		return NULL;
	if (c < 0)
		return text(e, "vlanes(0, %s)", poly_text(e, poly_addc(P, poly_floordiv(P, rest, -c), 1)));
	return text(e, "vlanes(%s, VL)", poly_text(e, poly_ceildiv(P, poly_mulc(P, rest, -1), c)));
}

/* Takes the lanes that guard keeps out off those of m, if it is known now which they are. */
static void narrow_exactly(struct emit *e, struct lanes *m, poly guard)
{
	int64_t c, at;
	poly rest;

	if (!poly_linear_in(e->p->P, guard, e->lane, &c, &rest) || !poly_is_const(e->p->P, rest, &at) || at > INT32_MAX ||
	    at < -INT32_MAX) {
		m->exact = false;
		return;
	}
	while (m->lo < m->hi && c * m->lo + at < 0)
		m->lo++;
	while (m->hi > m->lo && c * (m->hi - 1) + at < 0)
		m->hi--;
}

/* A mask keeps the loads of lanes within bounds, not that of an element which is the same in all of them: where no lane is
 * active it may lie anywhere. What follows finds such, and says that one is. */

static bool share_variable(struct emit *e, poly x, poly y)
{
	for (poly_var v = 1; v <= poly_nvars(e->p->P); v++)
		if (poly_uses(e->p->P, x, v) && poly_uses(e->p->P, y, v))
			return true;
	return false;
}

/* Is b at index one element for all lanes, and may it lie outside of b where no lane has guard >= 0? */
static bool strays(struct emit *e, buf_id b, const poly *index, int dyn, poly guard)
{
	struct polys *P = e->p->P;
	const struct loop_buf *x = lbuf(e->p, b);
	poly at[LOOP_RANK_MAX];
	bool found = false;

	for (int d = 0; d < x->rank; d++)
		at[d] = d == dyn ? x->base[d] : index[d];
	if (x->scope == SCOPE_REGISTER || lane_in(e, env_subst(e, buf_offset(e->p, b, at))))
		return false;
	for (int d = 0; d < x->rank && !found; d++) {
		int64_t lo, hi, room = x->scope == SCOPE_CONST ? buf_room(e->p, b, d) : x->extent[d];
		poly in = env_subst(e, poly_sub(P, at[d], x->base[d]));
		poly_range(P, in, &lo, &hi);
		found = (lo < 0 || hi >= room) && share_variable(e, in, guard);
	}
	return found;
}

struct straying {
	struct emit *e;
	poly guard;
};

static bool read_strays(struct loop_prog *p, ex_id ex, void *arg)
{
	const struct straying *s = arg;
	struct ex x = *lex(p, ex);
	poly index[LOOP_RANK_MAX];

	for (int i = 0; x.kind == EX_READ && i < x.n; i++)
		index[i] = here(s->e, x.index[i]);
	return x.kind == EX_READ && strays(s->e, x.buf, index, x.dyn_dim, s->guard);
}

/* cond, and that guard >= 0 in one of the lanes. */
static const char *in_some_lane(struct emit *e, const char *cond, poly guard)
{
	struct polys *P = e->p->P;
	int64_t c, lo, hi;
	poly rest;

	if (!poly_linear_in(P, guard, e->lane, &c, &rest))
		return cond; /* it is written lane after lane */
	poly most = c < 0 ? rest : poly_addc(P, rest, c * (e->lanes - 1));
	poly_range(P, most, &lo, &hi);
	return lo >= 0 ? cond : text(e, "%s%s%s", cond, *cond ? " && " : "", cond_text(e, most));
}

/* The same if something at or under ex strays without. */
static const char *unless_strays(struct emit *e, const char *cond, ex_id ex, poly guard)
{
	return ex_find(e->p, ex, read_strays, &(struct straying){e, guard}) ? in_some_lane(e, cond, guard) : cond;
}

const char *vector_cond(struct emit *e, const char *cond)
{
	const struct nest *n = lnest(e->p, e->block);
	const struct stage *s = lstage(e->p, n->stage);
	int64_t lo, hi;

	for (size_t i = 0; i <= n->guard.n && n->phase == BLOCK_UPDATE; i++) {
		poly g = i < n->guard.n ? env_subst(e, n->guard.a[i]) : e->lane_guard;
		if (g == POLY_UNKNOWN || !lane_in(e, g))
			continue;
		poly_range(e->p->P, g, &lo, &hi);
		if (lo < 0)
			cond = strays(e, s->out, n->bind, -1, g) ? in_some_lane(e, cond, g) : unless_strays(e, cond, s->body, g);
	}
	return cond;
}

/* Its value, or where the condition does not hold, any. */
static const char *vec_if(struct emit *e, const char *cond, struct vx x)
{
	return *cond ? text(e, "(%s ? %s : vset(0.0f))", cond, to_vec(e, x)) : to_vec(e, x);
}

static const char *with_lanes(struct emit *e, const char *m, const char *more) { return m ? text(e, "(%s & %s)", m, more) : more; }

/* Element by element: registers that are no vectors, and indices that are not linear in the lane. */
static const char *compose(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	bool test = m->guard && lbuf(e->p, b)->scope != SCOPE_REGISTER;
	const char *s = "";

	for (int l = 0; l < m->n; l++) {
		const char *x = element(e, b, lane_at(e, off, l));
		if (test)
			x = text(e, "vbit(%s, %d) ? %s : 0.0f", m->s, l, x);
		s = text(e, "%s%s%s", s, l ? ", " : "", x);
	}
	return text(e, "((vf){%s})", s);
}

enum { VL_MAX = 16 };

/* Loads that cover what lanes lo to hi - 1 read, when how far apart they read is known: each lane's window and place in it. */
struct windows {
	int n;
	int64_t first[VL_MAX], last[VL_MAX]; /* elements read, from that of lane lo on */
	int of[VL_MAX], at[VL_MAX];          /* by lane */
};

static bool find_windows(struct emit *e, poly off, int lo, int hi, struct windows *w)
{
	int64_t d[VL_MAX];
	poly base = lane_at(e, off, lo);

	for (int l = lo; l < hi; l++) {
		if (!poly_is_const(e->p->P, poly_sub(e->p->P, lane_at(e, off, l), base), &d[l]))
			return false;
		w->of[l] = -1;
	}
	for (w->n = 0;; w->n++) {
		int64_t first = INT64_MAX, last = 0;
		for (int l = lo; l < hi; l++)
			if (w->of[l] < 0 && d[l] < first)
				first = last = d[l];
		if (first == INT64_MAX)
			return true;
		for (int l = lo; l < hi; l++)
			if (w->of[l] < 0 && d[l] - first < e->vl) {
				w->of[l] = w->n;
				w->at[l] = (int)(d[l] - first);
				last = d[l] > last ? d[l] : last;
			}
		w->first[w->n] = first;
		w->last[w->n] = last;
	}
}

/* Window k: a vector that begins with its first element; what lies behind the last is not touched unless it is in the buffer. */
static const char *window_load(struct emit *e, buf_id b, poly base, const struct windows *w, int k)
{
	poly at = poly_addc(e->p->P, base, w->first[k]);
	int64_t lo, hi, n = w->last[k] - w->first[k] + 1;
	const char *from = text(e, "%s + %s", e->buf_text[b], poly_text(e, at));

	poly_range(e->p->P, at, &lo, &hi);
	if (n == e->vl || (hi != INT64_MAX && hi + e->vl <= buf_elems(e->p, b)))
		return text(e, "vload(%s)", from);
	return text(e, "vload_mask(%s, vlanes(0, %ld))", from, (long)n);
}

/* Lanes that read near each other, in some order (every second element; each twice; two rows in turns): vectors loaded and shuffled.
 * NULL: that is more than an element at a time. */
static const char *shuffled(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	struct windows w;

	if (!m->exact || m->lo >= m->hi || lbuf(e->p, b)->scope == SCOPE_REGISTER || !find_windows(e, off, m->lo, m->hi, &w) ||
	    2 * w.n > m->n)
		return NULL;
	poly base = lane_at(e, off, m->lo);
	const char *s = window_load(e, b, base, &w, 0);
	for (int k = 1; k < w.n || (k == 1 && w.n == 1); k++) { /* lanes of windows before the last have their place after the first step */
		s = text(e, "__builtin_shufflevector(%s, %s", s, k < w.n ? window_load(e, b, base, &w, k) : "(vf){}");
		for (int l = 0; l < e->vl; l++) {
			bool known = l >= m->lo && l < m->hi && w.of[l] <= k;
			s = text(e, "%s, %d", s, !known ? 0 : w.of[l] == k ? w.at[l] + e->vl : k > 1 ? l : w.at[l]);
		}
		s = text(e, "%s)", s);
	}
	return s;
}

/* Lanes that lie neither side by side nor at one place. */
static const char *apart(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	const char *s = shuffled(e, b, off, m);
	return s ? s : compose(e, b, off, m);
}

static struct vx vx_read(struct emit *e, ex_id ex, const struct lanes *m)
{
	buf_id b = lex(e->p, ex)->buf;
	int64_t c, at;
	poly rest;

	if (lex(e->p, ex)->dyn_dim >= 0 && varies(e, lex(e->p, ex)->a[0]))
		return fail;
	poly off = read_offset(e, ex);
	if (!lane_in(e, off))
		return (struct vx){VX_SCALAR, scalar_read(e, ex, off)};
	if (lbuf(e->p, b)->dtype != DT_F32)
		return fail;
	if (!poly_linear_in(e->p->P, off, e->lane, &c, &rest))
		return (struct vx){VX_VEC, apart(e, b, off, m)};
	if (lbuf(e->p, b)->scope == SCOPE_REGISTER) {
		if (c != 1 || !poly_is_const(e->p->P, rest, &at))
			return (struct vx){VX_VEC, compose(e, b, off, m)};
		reg_touch(e, b, at, m->n, m->mask, m->nopen);
		if (!e->dry && !reg_run(e, b, at))
			return (struct vx){VX_VEC, compose(e, b, off, m)};
		return (struct vx){VX_VEC, reg_name(e, b, at)};
	}
	const char *near = c == 1 ? NULL : shuffled(e, b, off, m);
	if (c != 1 && !near && !m->guard && m->n < e->vl) /* the first lanes of a gather */
		return (struct vx){VX_VEC, compose(e, b, off, m)};
	const char *from = text(e, "%s + %s", e->buf_text[b], poly_text(e, rest));
	const char *load = near              ? near
			   : all_lanes(e, m) ? text(e, c == 1 ? "vload(%s)" : "vgather(%s, %ld)", from, (long)c)
			   : c == 1          ? text(e, "vload_mask(%s, %s)", from, m->s)
					     : text(e, "vgather_mask(%s, %ld, %s)", from, (long)c, m->s);
	if (!m->guard && lex(e->p, ex)->dyn_dim < 0)
		load = load_mark(e, b, rest, m->n, c, load);
	return (struct vx){VX_VEC, load};
}

static struct vx vx_index(struct emit *e, ex_id ex, enum dtype as)
{
	poly i = here(e, lex(e->p, ex)->index[0]), rest;
	int64_t c;

	if (!lane_in(e, i))
		return (struct vx){VX_SCALAR, text(e, "(%s)(%s)", vtype(as), poly_text(e, i))};
	if (as != DT_F32)
		return fail;
	if (poly_linear_in(e->p->P, i, e->lane, &c, &rest))
		return (struct vx){VX_VEC, text(e, "vindex(%s, %ld)", poly_text(e, rest), (long)c)};
	const char *s = "";
	for (int l = 0; l < e->vl; l++)
		s = text(e, "%s%s(float)(%s)", s, l ? ", " : "", bare(e, poly_text(e, lane_at(e, i, l))));
	return (struct vx){VX_VEC, text(e, "((vf){%s})", s)};
}

static struct vx vx_cast(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex), from = *lex(e->p, x.a[0]);

	if (from.kind == EX_INDEX && x.dtype == DT_F32)
		return vx_index(e, x.a[0], DT_F32);
	struct vx a = vx(e, x.a[0], m);
	if (a.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, cast_text(e, x.dtype, from.dtype, a.s)};
	if (a.kind == VX_MASK && x.dtype == DT_F32)
		return (struct vx){VX_VEC, text(e, "vsel(%s, vset(1.0f), vset(0.0f))", a.s)};
	if (a.kind == VX_VEC && x.dtype == DT_BOOL)
		return (struct vx){VX_MASK, text(e, "vne(%s, vset(0.0f))", a.s)};
	return fail;
}

/* vmax and vmin hand on NaN from either side; one instruction does where one of the two is a number: that first. NULL: neither is. */
static const char *with_number(struct emit *e, const struct ex *x, const struct vx *a)
{
	for (int i = 0; i < 2 && (x->fn == FN_MAX || x->fn == FN_MIN); i++)
		if (lex(e->p, x->a[i])->kind == EX_CONST && !isnan(lex(e->p, x->a[i])->c))
			return text(e, "%s(%s, %s)", x->fn == FN_MAX ? "vmax2" : "vmin2", a[i].s, a[1 - i].s);
	return NULL;
}

static struct vx vx_call(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex);
	const struct math_row *r = math_row(x.fn);
	struct vx a[3] = {{VX_SCALAR, ""}, {VX_SCALAR, ""}, {VX_SCALAR, ""}};
	enum dtype t = lex(e->p, x.a[x.fn == FN_SELECT])->dtype;
	bool vary = false, logic = x.fn >= FN_AND && x.fn <= FN_NOT;

	for (int i = 0; i < r->arity; i++) {
		a[i] = vx(e, x.a[i], m);
		if (a[i].kind == VX_FAIL)
			return fail;
		vary |= a[i].kind != VX_SCALAR;
	}
	if (!vary)
		return (struct vx){VX_SCALAR, scalar_call(e, x.fn, t, a[0].s, a[1].s, a[2].s)};
	if (logic ? t != DT_BOOL : t != DT_F32)
		return fail;
	if (x.fn == FN_SELECT && a[0].kind == VX_SCALAR)
		return (struct vx){VX_VEC, text(e, "(%s ? %s : %s)", a[0].s, to_vec(e, a[1]), to_vec(e, a[2]))};
	bool bare = x.fn >= FN_ADD && x.fn <= FN_DIV; /* scalar op vector is C */
	for (int i = 0; i < r->arity; i++)
		a[i].s = logic || (x.fn == FN_SELECT && !i) ? to_mask(e, a[i]) : bare ? a[i].s : to_vec(e, a[i]);
	const char *s = with_number(e, &x, a), *q = r->vector, *next;
	if (s)
		return (struct vx){VX_VEC, s};
	s = "";
	while ((next = strchr(q, '%'))) {
		s = text(e, "%s%.*s%s", s, (int)(next - q), q, a[next[1] - 'a'].s);
		q = next + 2;
	}
	return (struct vx){x.fn >= FN_EQ && x.fn <= FN_NOT ? VX_MASK : VX_VEC, text(e, "%s%s", s, q)};
}

struct branch {
	const struct lanes *m;
	struct vx x;
};

static const char *vx_branch(struct emit *e, ex_id ex, void *arg)
{
	struct branch *b = arg;

	b->x = vx(e, ex, b->m);
	return b->x.s;
}

static const char *name_mask(struct emit *e, const char *s)
{
	const char *name = text(e, "t%d", e->ntemp++);

	vec_push(&e->lines, text(e, "const vm %s = %s;", name, s));
	return name;
}

/* Conditions without the lane choose for all lanes (C's ?:, so the other side is not evaluated); those with it
 * narrow the mask, under which the operand's loads stay within bounds. */
static struct vx vx_guard(struct emit *e, ex_id ex, const struct lanes *m)
{
	enum { DEEP = 48 }; /* as many operands of a Concat as a vector may lie across: masks of masks grow with each */
	struct ex x = *lex(e->p, ex);
	const char *cond = "", *narrow = NULL, *some = "", *others = ""; /* where lanes are in narrow; out of it */
	struct lanes inner = *m;
	int64_t lo, hi;

	for (int i = 0; i < x.n; i++) {
		poly c = here(e, x.index[i]);
		poly_range(e->p->P, c, &lo, &hi);
		if (hi < 0)
			return vx(e, x.a[1], m);
		if (lo >= 0)
			continue;
		if (!lane_in(e, c)) {
			cond = text(e, "%s%s%s", cond, *cond ? " && " : "", cond_text(e, c));
			continue;
		}
		const char *g = guard_lanes(e, c);
		if (!g)
			return fail;
		narrow = with_lanes(e, narrow, g);
		narrow_exactly(e, &inner, c);
		some = unless_strays(e, some, x.a[0], c);
		if (x.n == 1) /* of several, none says where the other side is read */
			others = unless_strays(e, others, x.a[1], poly_addc(e->p->P, poly_mulc(e->p->P, c, -1), -1));
	}
	if (!*cond && !narrow)
		return vx(e, x.a[0], m);
	if (narrow) {
		inner.s = all_lanes(e, m) ? narrow : with_lanes(e, m->s, narrow);
		inner.guard = true;
	}
	struct lanes rest = *m; /* what the guard keeps out is read elsewhere: nothing is read for the others */
	if (narrow) {
		const char *out = text(e, "(vm)~%s", narrow);
		if (*cond)
			out = text(e, "(%s ? %s : vlanes(0, VL))", cond, out);
		rest.s = all_lanes(e, m) ? out : with_lanes(e, m->s, out);
		rest.guard = true;
		rest.exact = false;
		if (e->guarded >= DEEP)
			rest.s = name_mask(e, rest.s);
	}
	struct branch yes = {&inner}, no = {&rest};
	e->guarded++;
	yes.x.s = scoped(e, x.a[0], vx_branch, &yes);
	no.x.s = scoped(e, x.a[1], vx_branch, &no);
	e->guarded--;
	if (yes.x.kind == VX_FAIL || no.x.kind == VX_FAIL || (narrow && x.dtype != DT_F32))
		return fail;
	if (narrow)
		yes.x = (struct vx){VX_VEC, text(e, "vsel(%s, %s, %s)", inner.s, vec_if(e, some, yes.x), vec_if(e, others, no.x))};
	if (!*cond)
		return yes.x;
	if (yes.x.kind == VX_SCALAR && no.x.kind == VX_SCALAR)
		return (struct vx){VX_SCALAR, text(e, "(%s ? %s : %s)", cond, yes.x.s, no.x.s)};
	bool mask = yes.x.kind == VX_MASK || no.x.kind == VX_MASK;
	return (struct vx){mask ? VX_MASK : VX_VEC, text(e, "(%s ? %s : %s)", cond, mask ? to_mask(e, yes.x) : to_vec(e, yes.x),
							 mask ? to_mask(e, no.x) : to_vec(e, no.x))};
}

static struct vx vx(struct emit *e, ex_id ex, const struct lanes *m)
{
	struct ex x = *lex(e->p, ex);
	const struct named_ex *named = named_find(e, ex);
	struct vx r = fail;

	if (named)
		return (struct vx){named->kind, named->text};
	switch (x.kind) {
	case EX_CONST: return (struct vx){VX_SCALAR, const_text(e, x.dtype, x.c, x.ic)};
	case EX_INDEX: return vx_index(e, ex, x.dtype);
	case EX_READ: r = vx_read(e, ex, m); break;
	case EX_CALL: r = vx_call(e, ex, m); break;
	case EX_CAST: r = vx_cast(e, ex, m); break;
	case EX_GUARD: r = vx_guard(e, ex, m); break;
	}
	if (r.kind != VX_FAIL)
		r.s = name_shared(e, ex, r.kind, r.kind == VX_SCALAR ? vtype(x.dtype) : r.kind == VX_VEC ? "vf" : "vm", r.s);
	return r;
}

/* ---- the statement ---- */

static const char *combined(struct emit *e, enum combiner c, const char *old, struct vx x)
{
	switch (c) {
	case COMB_SUM: return text(e, "%s + %s", old, x.s);
	case COMB_PROD: return text(e, "%s * %s", old, x.s);
	case COMB_MAX:
		return text(e, "vmax(%s, %s)", to_vec(e, x), old); /* the first is asked for NaN: not what waits for the step before */
	case COMB_MIN: return text(e, "vmin(%s, %s)", to_vec(e, x), old);
	default: return to_vec(e, x);
	}
}

/* All lanes into one element: a reduce loop as a vector loop. */
static bool horizontal(struct emit *e, buf_id out, poly off, enum combiner c, struct vx x, const struct lanes *m)
{
	static const char *const name[] = {"", "sum", "prod", "max", "min"};

	if (c == COMB_NONE) {
		if (x.kind != VX_SCALAR)
			return false;
		body_lines(e);
		line(e, "%s = %s;", element(e, out, off), x.s);
		return true;
	}
	const char *v = to_vec(e, x), *to = element(e, out, off);
	if (!all_lanes(e, m))
		v = text(e, "vsel(%s, %s, vset(%s))", m->s, v, const_text(e, DT_F32, combiner_identity(c), 0));
	v = text(e, "vh%s(%s)", name[c], v);
	body_lines(e);
	if (c == COMB_SUM || c == COMB_PROD)
		line(e, "%s %s %s;", to, c == COMB_SUM ? "+=" : "*=", v);
	else
		line(e, "%s = %s_f32(%s, %s);", to, name[c], to, v);
	return true;
}

static bool to_register(struct emit *e, buf_id out, int64_t at, enum combiner c, struct vx x, const struct lanes *m)
{
	reg_touch(e, out, at, m->n, m->mask, m->nopen);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, out, at);
	if (!e->dry && !run)
		return false;
	const char *name = reg_name(e, out, at);
	body_lines(e);
	if (run && ((m->guard && run->mixed) || run->lanes > m->n))
		line(e, "%s = vsel(%s, %s, %s);", name, m->s, combined(e, c, name, x), name);
	else if (c == COMB_SUM || c == COMB_PROD)
		line(e, "%s %s %s;", name, c == COMB_SUM ? "+=" : "*=", bare(e, x.s));
	else
		line(e, "%s = %s;", name, bare(e, combined(e, c, name, x)));
	return true;
}

static void to_memory(struct emit *e, buf_id out, poly rest, int64_t step, enum combiner c, struct vx x, const struct lanes *m)
{
	bool all = all_lanes(e, m);
	const char *to = text(e, "%s + %s", e->buf_text[out], poly_text(e, rest)), *old = "";

	body_lines(e);
	if (c != COMB_NONE) {
		line(e, "float *const q = %s;", to);
		to = "q";
		old = step != 1 ? text(e, "vgather_mask(q, %ld, %s)", (long)step, m->s)
		      : all     ? "vload(q)"
				: text(e, "vload_mask(q, %s)", m->s);
	}
	const char *v = bare(e, combined(e, c, old, x));
	if (step != 1)
		line(e, "vscatter(%s, %ld, %s, %s);", to, (long)step, v, m->s);
	else if (all)
		line(e, "vstore(%s, %s);", to, v);
	else
		line(e, "vstore_mask(%s, %s, %s);", to, v, m->s);
}

/* The guards of the block and of the loop as a mask; false: one is not linear in the lane. The caller has dropped
 * blocks with a guard that never holds. */
static bool block_lanes(struct emit *e, struct lanes *m)
{
	const struct nest *n = lnest(e->p, e->block);
	const char *s = NULL;
	int64_t lo, hi, c;
	poly rest;
	int nopen = 0, count = e->lanes;

	for (size_t i = 0; i <= n->guard.n; i++) {
		poly g = i < n->guard.n ? env_subst(e, n->guard.a[i]) : e->lane_guard;
		if (g == POLY_UNKNOWN || !lane_in(e, g))
			continue; /* tested by the caller */
		poly_range(e->p->P, g, &lo, &hi);
		if (lo >= 0)
			continue;
		if (poly_linear_in(e->p->P, g, e->lane, &c, &rest) && c < 0 && poly_is_const(e->p->P, rest, &lo)) {
			if (lo / -c + 1 < count) /* the lanes up to a fixed one; lo >= 0, for hi >= 0 */
				count = (int)(lo / -c) + 1;
			continue;
		}
		const char *l = guard_lanes(e, g);
		if (!l)
			return false;
		s = with_lanes(e, s, l);
		for (int k = nopen; k < e->nopen; k++)
			if (poly_uses(e->p->P, g, e->open_var[k]))
				nopen = k + 1;
	}
	*m = (struct lanes){s, count, s != NULL, s ? intern(s) : 0, nopen, .exact = !s, .hi = count};
	if (count < e->vl || !s)
		m->s = s ? with_lanes(e, text(e, "vlanes(0, %d)", count), s) : text(e, "vlanes(0, %d)", count);
	if (s) {
		vec_push(&e->lines, text(e, "const vm m = %s;", m->s));
		m->s = "m";
	}
	return true;
}

bool vector_block(struct emit *e)
{
	const struct nest *n = lnest(e->p, e->block);
	stage_id sid = n->stage;
	bool init = n->phase == BLOCK_INIT;
	enum combiner c = lstage(e->p, sid)->comb;
	buf_id out = lstage(e->p, sid)->out;
	struct lanes m;
	struct vx x;
	int64_t step, at;
	poly rest;

	if (lbuf(e->p, out)->dtype != DT_F32)
		return false;
	body_begin(e);
	if (!block_lanes(e, &m))
		return false;
	if (init)
		x = (struct vx){VX_SCALAR, const_text(e, DT_F32, combiner_identity(c), 0)};
	else if (lex(e->p, lstage(e->p, sid)->body)->dtype != DT_F32)
		return false;
	else
		x = vx(e, lstage(e->p, sid)->body, &m);
	if (x.kind != VX_SCALAR && x.kind != VX_VEC)
		return false;
	poly off = write_offset(e);
	if (init)
		c = COMB_NONE;
	if (!lane_in(e, off))
		return !m.guard || c != COMB_NONE ? horizontal(e, out, off, c, x, &m) : false;
	if (!poly_linear_in(e->p->P, off, e->lane, &step, &rest))
		return false;
	if (lbuf(e->p, out)->scope != SCOPE_REGISTER) {
		to_memory(e, out, rest, step, c, x, &m);
		return true;
	}
	return step == 1 && poly_is_const(e->p->P, rest, &at) && to_register(e, out, at, c, x, &m);
}
