/* Is a program for many sizes, at one of them, the program that was made for it alone? Not sampled: both are copied into one context, where
 * equal expressions are one, with the parameters' values in place of the parameters. Guards that always hold vanish there, in both. What lies
 * between stages may be larger in the first: nobody reads the rest, since who reads it is the same and the second stays in its own bounds. */
#include <string.h>
#include "loop/nest.h"
#include "loop/math.h"

struct copy {
	struct loop_prog *to, *from;
	poly_var *var;  /* of `to`, by variable of `from`; 0: a parameter, or none */
	int64_t *env;   /* the parameters' values */
	bool *is_param; /* by variable of `from` */
	ex_id *done;    /* by expression of `from` */
	bool lost;      /* an index could not be copied: nothing is known of what uses it */
	struct arena mem;
};

/* ---- indices ---- */

static poly copied(struct copy *c, poly e);

static poly copied_atom(struct copy *c, const struct poly_atom *x)
{
	struct polys *P = c->to->P;

	switch (x->kind) {
	case POLY_VAR:
		if (c->is_param[x->var])
			return poly_const(P, c->env[x->var]);
		return c->var[x->var] ? poly_of(P, c->var[x->var]) : POLY_UNKNOWN;
	case POLY_FLOOR: return poly_floordiv(P, copied(c, x->a), x->c);
	case POLY_MIN: return poly_min(P, copied(c, x->a), copied(c, x->b));
	case POLY_MAX: break;
	}
	return poly_max(P, copied(c, x->a), copied(c, x->b));
}

static poly copied(struct copy *c, poly e)
{
	struct polys *P = c->to->P, *from = c->from->P;
	poly sum = poly_const(P, 0);

	for (int i = 0; e != POLY_UNKNOWN && i < poly_nterms(from, e); i++) {
		const uint32_t *atom;
		int n;
		poly x = poly_const(P, poly_term(from, e, i, &n, &atom));
		for (int k = 0; k < n; k++)
			x = poly_mul(P, x, copied_atom(c, poly_atom(from, atom[k])));
		sum = poly_add(P, sum, x);
	}
	c->lost |= e != POLY_UNKNOWN && sum == POLY_UNKNOWN;
	return e == POLY_UNKNOWN ? e : sum;
}

/* ---- expressions ---- */

/* Numbers that are computed of sizes are constants where these are known. */
static ex_id folded(struct loop_prog *r, struct ex e)
{
	const struct ex *a = e.a[0] ? lex(r, e.a[0]) : NULL, *b = e.a[1] ? lex(r, e.a[1]) : NULL;
	int64_t c;

	if (e.kind == EX_INDEX && poly_is_const(r->P, e.index[0], &c))
		return dtype_is_float(e.dtype) ? ex_const(r, e.dtype, (double)c) : ex_const_int(r, e.dtype, c);
	bool whole = e.kind == EX_CAST && !dtype_is_float(e.dtype) && a->kind == EX_CONST && dtype_is_float(a->dtype);
	if (whole && !(a->c >= -0x1p63 && a->c < 0x1p63))
		return ex_new(r, e);
	if (e.kind == EX_CAST && a->kind == EX_CONST)
		return dtype_is_float(e.dtype) ? ex_const(r, e.dtype, dtype_is_float(a->dtype) ? a->c : (double)a->ic)
					       : ex_const_int(r, e.dtype, dtype_is_float(a->dtype) ? (int64_t)a->c : a->ic);
	if (e.kind == EX_CALL && e.fn == FN_DIV && dtype_is_float(e.dtype) && a->kind == EX_CONST && b->kind == EX_CONST && a->c == 1)
		return ex_const(r, e.dtype, 1 / b->c);
	return ex_new(r, e);
}

static ex_id copied_ex(struct copy *c, ex_id id)
{
	struct loop_prog *r = c->to;
	poly index[2 * LOOP_RANK_MAX + 8];

	if (!id || c->done[id])
		return id ? c->done[id] : 0;
	struct ex e = *lex(c->from, id);
	for (int k = 0; k < 3; k++)
		e.a[k] = copied_ex(c, e.a[k]);
	for (int d = 0; d < e.n; d++)
		index[d] = copied(c, e.index[d]);
	if (e.kind == EX_GUARD)
		return c->done[id] = ex_guard(r, e.n, index, e.a[0], e.a[1]);
	e.index = arena_copy(&r->arena, index, sizeof *index * (size_t)e.n);
	return c->done[id] = folded(r, e);
}

/* ---- programs ---- */

static struct copy copy_of(struct loop_prog *to, struct loop_prog *from)
{
	struct copy c = {.to = to, .from = from};
	size_t n = poly_nvars(from->P) + 2;

	c.var = ARENA_ARRAY(&c.mem, poly_var, n);
	c.env = ARENA_ARRAY(&c.mem, int64_t, n);
	c.is_param = ARENA_ARRAY(&c.mem, bool, n);
	c.done = ARENA_ARRAY(&c.mem, ex_id, from->exs.n);
	for (size_t k = 0; k < from->params.n; k++) {
		c.env[from->params.a[k].var] = from->params.a[k].value;
		c.is_param[from->params.a[k].var] = true;
	}
	return c;
}

/* Is the buffer the program's own? */
static bool between(const struct loop_buf *b) { return b->scope != SCOPE_IN && b->scope != SCOPE_OUT && b->scope != SCOPE_CONST; }

static bool same_buffers(struct loop_prog *q, struct loop_prog *p)
{
	bool same = q->bufs.n == p->bufs.n;

	for (buf_id b = 1; same && b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(q, b), *y = lbuf(p, b);
		same = x->rank == y->rank && x->scope == y->scope && x->dtype == y->dtype && x->operand == y->operand &&
		       !memcmp(&x->layout, &y->layout, sizeof x->layout);
		for (int d = 0; same && d < x->rank; d++) {
			int64_t n = prog_value(q, buf_dim(q, b, d));
			same = between(y) ? n >= y->shape[d] : n == y->shape[d];
		}
	}
	return same;
}

/* The same axes; x and y know their variables. */
static bool same_axes(struct copy *x, struct copy *y, const struct stage *s, const struct stage *t)
{
	bool same = s->naxes == t->naxes && s->nspatial == t->nspatial && s->out == t->out && s->comb == t->comb && s->scan == t->scan &&
		    s->gone == t->gone && s->exact == t->exact;

	for (int a = 0; same && a < t->naxes; a++) {
		int64_t n = t->axis[a].extent, m = prog_value(x->from, axis_size(x->from, &s->axis[a]));
		bool larger = t->axis[a].kind == AXIS_SPATIAL && between(lbuf(y->from, t->out));
		same = s->axis[a].kind == t->axis[a].kind && (larger ? m >= n : m == n);
		poly_var v = poly_var_new(x->to->P, t->axis[a].name, 0, n > 0 ? n - 1 : 0, 1);
		x->var[s->axis[a].var] = y->var[t->axis[a].var] = v;
	}
	return same;
}

bool prog_becomes(struct loop_prog *q, struct loop_prog *p)
{
	struct loop_prog *r = prog_new(p->target);
	struct copy x = copy_of(r, q), y = copy_of(r, p);
	bool same = same_buffers(q, p) && q->stages.n == p->stages.n;

	for (buf_id b = 1; b < p->bufs.n; b++)
		vec_push(&r->bufs, *lbuf(p, b));
	for (stage_id s = 1; same && s < p->stages.n; s++) {
		const struct stage *t = lstage(q, s), *u = lstage(p, s);
		same = same_axes(&x, &y, t, u) && copied_ex(&x, t->body) == copied_ex(&y, u->body);
	}
	same = same && !x.lost && !y.lost;
	arena_release(&x.mem);
	arena_release(&y.mem);
	prog_free(r);
	return same;
}
