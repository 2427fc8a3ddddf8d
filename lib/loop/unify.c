/* One program for many sizes. The programs of one group for several sizes have the same stages and differ in numbers: extents,
 * coefficients of indices, counts that bodies divide by. Each number is found again as a polynomial in the sizes, and must be that for
 * all of the programs; so a lowering that looks at sizes and makes other stages for some of them is refused, not followed. What comes
 * out is proved like any program: the verifier shows that it stays in bounds for all values of the parameters. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "loop/math.h"
#include "loop/nest.h"

/* PROGS_MAX: programs, one a size; who calls has fewer. FORMS_MAX: products of the forms that numbers may be, each of which every number is
 * compared with: what is beyond is not tried, and a number that would need it differs, as the reason says. */
enum { PROGS_MAX = 16, FORMS_MAX = 1024 };

/* What a number may be: a product of forms, and its values. */
struct shape {
	poly e;
	int64_t at[PROGS_MAX];
};

struct unify {
	struct loop_prog *q;
	int n;
	struct loop_prog *const *p;
	int nshapes;
	struct shape *shape;      /* fewer factors first */
	poly_var *var;            /* of q, by variable of p[0]; 0: none */
	ex_id *done;              /* of q, by expression of p[0], */
	ex_id (*same)[PROGS_MAX]; /* which was this in the others */
	const char *why;
};

static void differ(struct unify *u, const char *what)
{
	if (!u->why)
		u->why = whynot(u->q, "%s differs with the sizes%s", what,
				u->nshapes == FORMS_MAX ? ", in none of the forms that are tried" : "");
}

/* ---- numbers ---- */

static void add_shape(struct unify *u, poly e, const int64_t *at)
{
	struct shape s = {.e = e};

	if (e == POLY_UNKNOWN || u->nshapes == FORMS_MAX)
		return;
	for (int i = 0; i < u->nshapes; i++)
		if (u->shape[i].e == e)
			return;
	memcpy(s.at, at, sizeof *at * (size_t)u->n);
	u->shape[u->nshapes++] = s;
}

static void add_forms(struct unify *u, const int64_t (*at)[LOOP_PARAMS_MAX], int nforms, const poly *form)
{
	struct loop_prog *q = u->q;
	int64_t value[PROGS_MAX];

	for (int f = 0; f < nforms; f++) {
		for (int i = 0; i < u->n; i++) {
			for (size_t k = 0; k < q->params.n; k++)
				q->params.a[k].value = at[i][k];
			value[i] = prog_value(q, form[f]);
		}
		add_shape(u, form[f], value);
	}
	int single = u->nshapes;
	for (int from = 0, end = single, k = 0; k < 2; k++, from = end, end = u->nshapes)
		for (int a = from; a < end; a++)
			for (int b = 0; b < single; b++) {
				for (int i = 0; i < u->n; i++)
					value[i] = (int64_t)((uint64_t)u->shape[a].at[i] * (uint64_t)u->shape[b].at[i]);
				add_shape(u, poly_mul(q->P, u->shape[a].e, u->shape[b].e), value);
			}
}

/* v = c * s + d for all programs? plain: d must be 0. */
static bool fits(const struct unify *u, const struct shape *s, const int64_t *v, bool plain, int64_t *c, int64_t *d)
{
	int k = 1;

	while (k < u->n && s->at[k] == s->at[0])
		k++;
	if (k == u->n || (v[k] - v[0]) % (s->at[k] - s->at[0]))
		return false;
	*c = (v[k] - v[0]) / (s->at[k] - s->at[0]);
	*d = v[0] - *c * s->at[0];
	if (plain && *d)
		return false;
	for (int i = 0; i < u->n; i++)
		if (*c * s->at[i] + *d != v[i])
			return false;
	return true;
}

static bool same(const struct unify *u, const int64_t *v)
{
	for (int i = 1; i < u->n; i++)
		if (v[i] != v[0])
			return false;
	return true;
}

/* The polynomial that is v[i] for the sizes of program i; POLY_UNKNOWN: none is known. */
static poly number(const struct unify *u, const int64_t *v)
{
	struct polys *P = u->q->P;
	int64_t c, d;

	if (same(u, v))
		return poly_const(P, v[0]);
	for (int plain = 1; plain >= 0; plain--)
		for (int i = 0; i < u->nshapes; i++)
			if (fits(u, &u->shape[i], v, plain, &c, &d))
				return poly_addc(P, poly_mulc(P, u->shape[i].e, c), d);
	return POLY_UNKNOWN;
}

/* ---- indices ---- */

static poly index_of(struct unify *u, const poly *e);

static poly atom_of(struct unify *u, const uint32_t *id)
{
	struct polys *P = u->q->P;
	struct poly_atom first = *poly_atom(u->p[0]->P, id[0]);
	poly a[PROGS_MAX], b[PROGS_MAX];

	for (int i = 0; i < u->n; i++) {
		const struct poly_atom *x = poly_atom(u->p[i]->P, id[i]);
		if (x->kind != first.kind || x->var != first.var || x->c != first.c)
			return POLY_UNKNOWN;
		a[i] = x->a;
		b[i] = x->b;
	}
	if (first.kind == POLY_VAR)
		return u->var[first.var] ? poly_of(P, u->var[first.var]) : POLY_UNKNOWN;
	poly x = index_of(u, a);
	if (first.kind == POLY_FLOOR)
		return poly_floordiv(P, x, first.c);
	poly y = index_of(u, b);
	return first.kind == POLY_MIN ? poly_min(P, x, y) : poly_max(P, x, y);
}

/* e[i]: of program i. */
static poly index_of(struct unify *u, const poly *e)
{
	struct polys *P = u->q->P;
	poly sum = poly_const(P, 0);
	int n = poly_nterms(u->p[0]->P, e[0]);

	for (int i = 0; i < u->n; i++) {
		if (e[i] == POLY_UNKNOWN)
			return POLY_UNKNOWN;
		if (poly_nterms(u->p[i]->P, e[i]) != n) { /* a constant may have vanished in one of them */
			differ(u, "the form of an index");
			return POLY_UNKNOWN;
		}
	}
	for (int t = 0; t < n; t++) {
		int64_t c[PROGS_MAX];
		int natoms[PROGS_MAX];
		const uint32_t *atoms[PROGS_MAX];
		for (int i = 0; i < u->n; i++) {
			c[i] = poly_term(u->p[i]->P, e[i], t, &natoms[i], &atoms[i]);
			if (natoms[i] != natoms[0]) {
				differ(u, "the form of an index");
				return POLY_UNKNOWN;
			}
		}
		poly x = number(u, c);
		for (int k = 0; k < natoms[0]; k++) {
			uint32_t id[PROGS_MAX];
			for (int i = 0; i < u->n; i++)
				id[i] = atoms[i][k];
			x = poly_mul(P, x, atom_of(u, id));
		}
		sum = poly_add(P, sum, x);
	}
	if (sum == POLY_UNKNOWN)
		differ(u, "an index");
	return sum;
}

/* ---- expressions ---- */

static ex_id expression(struct unify *u, const ex_id *e);

/* A number that differs: a count, or one part of a count. */
static ex_id count_of(struct unify *u, const struct ex *const *x)
{
	struct loop_prog *q = u->q;
	enum dtype t = x[0]->dtype;
	int64_t v[PROGS_MAX], part[PROGS_MAX];
	bool whole = true, parts = dtype_is_float(t);

	for (int i = 0; i < u->n; i++) {
		double c = dtype_is_float(t) ? x[i]->c : (double)x[i]->ic;
		v[i] = dtype_is_float(t) ? llrint(c) : x[i]->ic;
		whole &= (double)v[i] == c;
		part[i] = c > 0 && c < 1 ? llrint(1 / c) : 0;
		parts &= part[i] && fabs(c * (double)part[i] - 1) < 1e-12;
	}
	poly n = whole ? number(u, v) : parts ? number(u, part) : POLY_UNKNOWN;
	if (n == POLY_UNKNOWN) {
		differ(u, "a constant");
		return 0;
	}
	ex_id count = ex_cast(q, t, ex_index(q, DT_I64, n));
	return whole ? count : ex_call(q, FN_DIV, ex_const(q, t, 1), count, 0);
}

static ex_id one_part(struct unify *u, const struct ex *const *x, int k)
{
	ex_id a[PROGS_MAX];

	for (int i = 0; i < u->n; i++)
		a[i] = x[i]->a[k];
	return a[0] ? expression(u, a) : 0;
}

static ex_id build(struct unify *u, const struct ex *const *x)
{
	struct loop_prog *q = u->q;
	struct ex e = *x[0];
	poly index[2 * LOOP_RANK_MAX + 8], at[PROGS_MAX];
	bool equal = true;

	for (int k = 0; k < 3; k++)
		e.a[k] = one_part(u, x, k);
	for (int d = 0; d < e.n && !u->why; d++) {
		for (int i = 0; i < u->n; i++)
			at[i] = x[i]->index[d];
		index[d] = index_of(u, at);
	}
	if (u->why)
		return 0;
	switch (e.kind) {
	case EX_CONST:
		for (int i = 1; i < u->n; i++)
			equal &= !memcmp(&x[i]->c, &x[0]->c, sizeof x[0]->c) && x[i]->ic == x[0]->ic;
		return equal ? ex_new(q, e) : count_of(u, x);
	case EX_INDEX: return ex_index(q, e.dtype, index[0]);
	case EX_READ: return e.dyn_dim < 0 ? ex_read(q, e.buf, e.n, index) : ex_read_at(q, e.buf, e.n, index, e.dyn_dim, e.a[0]);
	case EX_GUARD: return ex_guard(q, e.n, index, e.a[0], e.a[1]);
	case EX_CAST: return ex_cast(q, e.dtype, e.a[0]);
	case EX_CALL: return ex_call(q, e.fn, e.a[0], e.a[1], e.a[2]);
	}
	return 0;
}

static ex_id expression(struct unify *u, const ex_id *e)
{
	const struct ex *x[PROGS_MAX];

	if (u->why)
		return 0;
	for (int i = 0; i < u->n; i++) {
		x[i] = e[i] ? lex(u->p[i], e[i]) : NULL;
		if (!x[i] || x[i]->kind != x[0]->kind || x[i]->dtype != x[0]->dtype || x[i]->fn != x[0]->fn || x[i]->buf != x[0]->buf ||
		    x[i]->dyn_dim != x[0]->dyn_dim || x[i]->n != x[0]->n || (u->done[e[0]] && u->same[e[0]][i] != e[i])) {
			differ(u, "the form of an expression");
			return 0;
		}
	}
	if (!u->done[e[0]]) {
		memcpy(u->same[e[0]], e, sizeof *e * (size_t)u->n);
		u->done[e[0]] = build(u, x);
	}
	return u->done[e[0]];
}

/* ---- buffers and stages ---- */

/* A size, and its greatest value. Returns what goes into dim: POLY_UNKNOWN if it is a number. */
static poly size_of(struct unify *u, const int64_t *v, int64_t *most, const char *what)
{
	poly e = number(u, v);
	int64_t lo;

	if (same(u, v)) {
		*most = v[0];
		return POLY_UNKNOWN;
	}
	if (e == POLY_UNKNOWN)
		differ(u, what);
	else
		poly_range(u->q->P, e, &lo, most);
	return e;
}

/* Have constants that the lowering made the same numbers? Of those that stages make of constants nothing need be there. */
static bool same_data(const struct loop_buf *x, const struct loop_buf *y)
{
	size_t n = dtype_size(x->dtype);

	if (!x->data || !y->data)
		return true;
	for (int d = 0; d < x->rank; d++)
		n *= x->shape[d] == y->shape[d] ? (size_t)x->shape[d] : 0;
	return n && !memcmp(x->data, y->data, n);
}

static void add_buffer(struct unify *u, buf_id b)
{
	struct loop_prog *q = u->q;
	struct loop_buf x = *lbuf(u->p[0], b);
	int64_t v[PROGS_MAX];

	for (int i = 1; i < u->n && !u->why; i++) {
		const struct loop_buf *y = lbuf(u->p[i], b);
		if (y->rank != x.rank || y->scope != x.scope || y->dtype != x.dtype || y->name != x.name || y->operand != x.operand ||
		    memcmp(&y->layout, &x.layout, sizeof x.layout) || !same_data(&x, y))
			differ(u, arena_printf(&q->arena, "buffer %s", sym_str(x.name)));
	}
	for (int d = 0; d < x.rank && !u->why; d++) {
		for (int i = 0; i < u->n; i++)
			v[i] = lbuf(u->p[i], b)->shape[d];
		const char *what = arena_printf(&q->arena, "%s[%d], %ld, %ld, ..,", sym_str(x.name), d, (long)v[0], (long)v[1]);
		x.dim[d] = x.size[d] = size_of(u, v, &x.shape[d], what);
		x.extent[d] = x.shape[d];
		x.base[d] = poly_const(q->P, 0);
		if (x.dim[d] != POLY_UNKNOWN && x.scope == SCOPE_CONST)
			differ(u, arena_printf(&q->arena, "constant %s", sym_str(x.name)));
	}
	vec_push(&q->bufs, x);
}

static void add_stage(struct unify *u, stage_id id)
{
	struct loop_prog *q = u->q;
	struct stage s = *lstage(u->p[0], id);
	int64_t v[PROGS_MAX];
	ex_id body[PROGS_MAX];

	for (int i = 0; i < u->n && !u->why; i++) {
		const struct stage *t = lstage(u->p[i], id);
		body[i] = t->body;
		if (t->name != s.name || t->naxes != s.naxes || t->nspatial != s.nspatial || t->out != s.out || t->comb != s.comb ||
		    t->scan != s.scan || t->gone != s.gone || t->exact != s.exact)
			differ(u, arena_printf(&q->arena, "stage %s", sym_str(s.name)));
		for (int a = 0; a < s.naxes && !u->why; a++)
			if (t->axis[a].name != s.axis[a].name || t->axis[a].var != s.axis[a].var || t->axis[a].kind != s.axis[a].kind)
				differ(u, arena_printf(&q->arena, "an axis of %s", sym_str(s.name)));
	}
	for (int a = 0; a < s.naxes && !u->why; a++) {
		struct axis *x = &s.axis[a];
		for (int i = 0; i < u->n; i++)
			v[i] = lstage(u->p[i], id)->axis[a].extent;
		const char *what =
			arena_printf(&q->arena, "axis %s of %s, %ld, %ld, ..,", sym_str(x->name), sym_str(s.name), (long)v[0], (long)v[1]);
		x->size = size_of(u, v, &x->extent, what);
		if (x->size != POLY_UNKNOWN && s.exact && x->kind == AXIS_REDUCE)
			differ(u, what);
		poly_var old = x->var;
		x->var = poly_var_new(q->P, x->name, 0, x->extent == POLY_INF ? POLY_INF : x->extent > 0 ? x->extent - 1 : 0, 1);
		u->var[old] = x->var;
	}
	s.body = u->why ? 0 : expression(u, body);
	vec_push(&q->stages, s);
}

const char *prog_unify(struct loop_prog *q, int n, struct loop_prog *const *p, const int64_t (*at)[LOOP_PARAMS_MAX], int nforms,
		       const poly *form)
{
	struct arena a = {0};
	struct unify u = {.q = q, .n = n, .p = p, .shape = ARENA_ARRAY(&a, struct shape, FORMS_MAX)};

	if (n > PROGS_MAX)
		BUG("%d programs as one", n);
	add_forms(&u, at, nforms, form);
	u.var = ARENA_ARRAY(&a, poly_var, poly_nvars(p[0]->P) + 1);
	u.done = ARENA_ARRAY(&a, ex_id, p[0]->exs.n);
	u.same = arena_alloc(&a, sizeof *u.same * p[0]->exs.n);
	for (int i = 1; i < n; i++)
		if (p[i]->bufs.n != p[0]->bufs.n || p[i]->stages.n != p[0]->stages.n || strcmp(p[i]->algo, p[0]->algo))
			differ(&u, "the number of stages, or the algorithm,");
	for (int i = 1; i < n; i++)
		if (!digest_eq(p[i]->constants, p[0]->constants))
			differ(&u, "what is computed of constants");
	q->algo = arena_str(&q->arena, p[0]->algo);
	q->threads = p[0]->threads;
	memcpy(q->made, p[0]->made, sizeof q->made);
	for (buf_id b = 1; b < p[0]->bufs.n && !u.why; b++)
		add_buffer(&u, b);
	for (stage_id s = 1; s < p[0]->stages.n && !u.why; s++)
		add_stage(&u, s);
	for (size_t k = 0; k < q->params.n; k++)
		q->params.a[k].value = at[0][k];
	arena_release(&a);
	return u.why;
}
