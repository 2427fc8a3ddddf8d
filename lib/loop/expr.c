/* Expressions of stage bodies: a DAG, hash-consed. Equal expressions have one id, so a shared value is stored, rewritten and
 * emitted once, and two expressions are equal if their ids are. Operands are made before what uses them: their ids are smaller. */
#include "loop/nest.h"
#include <math.h>
#include <string.h>
#include "common/digest.h"
#include "common/msg.h"
#include "loop/math.h"

static uint64_t ex_hash(const struct ex *e)
{
	const uint64_t head[] = {e->kind, e->dtype, (uint64_t)e->fn, (uint64_t)e->ic,      e->a[0],
				 e->a[1], e->a[2],  e->buf,          (uint64_t)e->dyn_dim, (uint64_t)e->n};
	uint64_t h = hash64(head, sizeof head, 0);
	h = hash64(&e->c, sizeof e->c, h);
	return e->n ? hash64(e->index, sizeof *e->index * (size_t)e->n, h) : h;
}

static bool ex_same(const struct ex *x, const struct ex *y)
{
	return x->kind == y->kind && x->dtype == y->dtype && x->fn == y->fn && !memcmp(&x->c, &y->c, sizeof x->c) && x->ic == y->ic &&
	       x->a[0] == y->a[0] && x->a[1] == y->a[1] && x->a[2] == y->a[2] && x->buf == y->buf && x->dyn_dim == y->dyn_dim &&
	       x->n == y->n && (!x->n || !memcmp(x->index, y->index, sizeof *x->index * (size_t)x->n));
}

static void ex_enter(struct loop_prog *p, ex_id e)
{
	size_t i = ex_hash(lex(p, e)) & (p->ex_slots - 1);
	while (p->ex_table[i])
		i = (i + 1) & (p->ex_slots - 1);
	p->ex_table[i] = e;
}

ex_id ex_new(struct loop_prog *p, struct ex e)
{
	if (2 * p->exs.n >= p->ex_slots) {
		free(p->ex_table);
		p->ex_slots = p->ex_slots ? 2 * p->ex_slots : 256;
		p->ex_table = xcalloc(p->ex_slots, sizeof *p->ex_table);
		for (ex_id i = 1; i < p->exs.n; i++)
			ex_enter(p, i);
	}
	for (size_t i = ex_hash(&e) & (p->ex_slots - 1); p->ex_table[i]; i = (i + 1) & (p->ex_slots - 1))
		if (ex_same(&e, lex(p, p->ex_table[i])))
			return p->ex_table[i];
	vec_push(&p->exs, e);
	ex_enter(p, (ex_id)p->exs.n - 1);
	return (ex_id)p->exs.n - 1;
}

static poly *copy_polys(struct loop_prog *p, int n, const poly *a) { return arena_copy(&p->arena, a, sizeof *a * (size_t)n); }

/* The nearest number of integer type t, saturating; NaN is 0. */
static int64_t whole(enum dtype t, double c)
{
	int unused = 64 - 8 * (int)dtype_size(t);

	if (t == DT_BOOL)
		return c != 0;
	if (t == DT_U64)
		return c >= 0x1p64 ? -1 : c >= 0 ? (int64_t)(uint64_t)c : 0;
	bool sign = dtype_is_signed(t);
	int64_t lo = sign ? INT64_MIN >> unused : 0, hi = INT64_MAX >> (sign ? unused : unused - 1);
	return c >= (double)hi ? hi : c >= (double)lo ? (int64_t)c : isnan(c) ? 0 : lo;
}

static struct ex constant(enum dtype t, double c)
{
	return (struct ex){.kind = EX_CONST, .dtype = t, .c = c, .ic = dtype_is_float(t) ? 0 : whole(t, c), .dyn_dim = -1};
}

ex_id ex_const(struct loop_prog *p, enum dtype t, double c) { return ex_new(p, constant(t, c)); }

/* Of bool the identities are written out: cast to bool, -infinity would be true. */
struct ex identity_const(enum combiner c, enum dtype t)
{
	return constant(t, t == DT_BOOL ? c == COMB_PROD || c == COMB_MIN : combiner_identity(c));
}

ex_id ex_const_int(struct loop_prog *p, enum dtype t, int64_t c)
{
	return ex_new(p, (struct ex){.kind = EX_CONST, .dtype = t, .c = (double)c, .ic = dtype_is_float(t) ? 0 : c, .dyn_dim = -1});
}

ex_id ex_index(struct loop_prog *p, enum dtype t, poly i)
{
	return ex_new(p, (struct ex){.kind = EX_INDEX, .dtype = t, .n = 1, .index = copy_polys(p, 1, &i), .dyn_dim = -1});
}

ex_id ex_read(struct loop_prog *p, buf_id b, int n, const poly *index)
{
	if (n != lbuf(p, b)->rank)
		BUG("%d indices read %s of rank %d", n, sym_str(lbuf(p, b)->name), lbuf(p, b)->rank);
	return ex_new(
		p, (struct ex){
			   .kind = EX_READ, .dtype = lbuf(p, b)->dtype, .buf = b, .n = n, .index = copy_polys(p, n, index), .dyn_dim = -1});
}

ex_id ex_read_at(struct loop_prog *p, buf_id b, int n, const poly *index, int dim, ex_id value)
{
	poly at[LOOP_RANK_MAX];
	memcpy(at, index, sizeof *at * (size_t)n);
	at[dim] = poly_const(p->P, 0);
	return ex_new(p, (struct ex){.kind = EX_READ,
				     .dtype = lbuf(p, b)->dtype,
				     .buf = b,
				     .n = n,
				     .index = copy_polys(p, n, at),
				     .a = {value},
				     .dyn_dim = dim});
}

ex_id ex_guard(struct loop_prog *p, int n, const poly *conds, ex_id yes, ex_id no)
{
	poly keep[2 * LOOP_RANK_MAX + 8];
	int k = 0;
	for (int i = 0; i < n; i++) {
		int64_t lo, hi;
		poly_range(p->P, conds[i], &lo, &hi);
		if (hi < 0)
			return no;
		if (lo < 0)
			keep[k++] = conds[i];
	}
	if (!k)
		return yes;
	return ex_new(p, (struct ex){.kind = EX_GUARD,
				     .dtype = lex(p, yes)->dtype,
				     .a = {yes, no},
				     .n = k,
				     .index = copy_polys(p, k, keep),
				     .dyn_dim = -1});
}

ex_id ex_read_fill(struct loop_prog *p, buf_id b, int n, const poly *index, double fill)
{
	poly cond[2 * LOOP_RANK_MAX];
	for (int i = 0; i < n; i++) {
		cond[2 * i] = index[i];
		cond[2 * i + 1] = poly_sub(p->P, poly_addc(p->P, buf_dim(p, b, i), -1), index[i]);
	}
	ex_id r = ex_read(p, b, n, index);
	return ex_guard(p, 2 * n, cond, r, ex_const(p, lbuf(p, b)->dtype, fill));
}

ex_id ex_call(struct loop_prog *p, int fn, ex_id a, ex_id b, ex_id c)
{
	enum dtype t = lex(p, a)->dtype;
	if (fn == FN_SELECT)
		t = lex(p, b)->dtype;
	else if (fn >= FN_EQ && fn <= FN_NOT)
		t = DT_BOOL;
	return ex_new(p, (struct ex){.kind = EX_CALL, .dtype = t, .fn = fn, .a = {a, b, c}, .dyn_dim = -1});
}

ex_id ex_cast(struct loop_prog *p, enum dtype t, ex_id a)
{
	if (lex(p, a)->dtype == t)
		return a;
	return ex_new(p, (struct ex){.kind = EX_CAST, .dtype = t, .a = {a}, .dyn_dim = -1});
}

struct walk {
	bool (*f)(struct loop_prog *p, ex_id e, void *arg);
	void *arg;
	uint64_t *seen; /* a bit for each id up to that of the root, which are all it can reach */
};

static ex_id walk(struct loop_prog *p, struct walk *w, ex_id e)
{
	ex_id found = 0;

	if (!e || w->seen[e / 64] >> e % 64 & 1)
		return 0;
	w->seen[e / 64] |= 1ull << e % 64;
	if (w->f(p, e, w->arg))
		return e;
	for (int i = 0; i < 3 && !found; i++)
		found = walk(p, w, lex(p, e)->a[i]);
	return found;
}

ex_id ex_find(struct loop_prog *p, ex_id e, bool (*f)(struct loop_prog *, ex_id, void *), void *arg)
{
	uint64_t few[64] = {0}, *many = e / 64 < 64 ? NULL : xcalloc(e / 64 + 1, sizeof *many);
	ex_id found = walk(p, &(struct walk){f, arg, many ? many : few}, e);

	free(many);
	return found;
}

struct reads {
	void (*f)(struct loop_prog *p, ex_id read, void *arg);
	void *arg;
};

static bool tell_read(struct loop_prog *p, ex_id e, void *arg)
{
	const struct reads *r = arg;

	if (lex(p, e)->kind == EX_READ)
		r->f(p, e, r->arg);
	return false;
}

void ex_reads(struct loop_prog *p, ex_id e, void (*f)(struct loop_prog *, ex_id, void *), void *arg)
{
	ex_find(p, e, tell_read, &(struct reads){f, arg});
}

/* Copies e bottom-up with variables v replaced by `by` and buffers `from` by `to`. What does not change keeps its id; done maps old
 * ids to new ones, so a shared part is copied once. */
static ex_id rewrite(struct loop_prog *p, ex_id *done, ex_id e, int nv, const poly_var *v, const poly *by, int nb, const buf_id *from,
		     const buf_id *to)
{
	if (!e || done[e])
		return e ? done[e] : 0;
	struct ex x = *lex(p, e);
	bool changed = false;
	for (int i = 0; i < 3; i++) {
		ex_id a = rewrite(p, done, x.a[i], nv, v, by, nb, from, to);
		changed |= a != x.a[i];
		x.a[i] = a;
	}
	poly index[2 * LOOP_RANK_MAX + 8];
	for (int i = 0; i < x.n; i++) {
		index[i] = nv ? poly_subst_many(p->P, x.index[i], nv, v, by) : x.index[i];
		changed |= index[i] != x.index[i];
	}
	for (int i = 0; x.kind == EX_READ && i < nb; i++)
		if (x.buf == from[i]) {
			x.buf = to[i];
			changed = true;
			break;
		}
	if (!changed)
		return done[e] = e;
	if (x.kind == EX_GUARD)
		return done[e] = ex_guard(p, x.n, index, x.a[0], x.a[1]);
	x.index = copy_polys(p, x.n, index);
	return done[e] = ex_new(p, x);
}

static ex_id rewrite_all(struct loop_prog *p, ex_id e, int nv, const poly_var *v, const poly *by, int nb, const buf_id *from,
			 const buf_id *to)
{
	ex_id *done = xcalloc(p->exs.n, sizeof *done);
	e = rewrite(p, done, e, nv, v, by, nb, from, to);
	free(done);
	return e;
}

ex_id ex_subst(struct loop_prog *p, ex_id e, int n, const poly_var *v, const poly *by)
{
	return rewrite_all(p, e, n, v, by, 0, NULL, NULL);
}

ex_id ex_rebuf(struct loop_prog *p, ex_id e, int n, const buf_id *from, const buf_id *to)
{
	return rewrite_all(p, e, 0, NULL, NULL, n, from, to);
}
