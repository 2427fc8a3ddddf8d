/* Prefetches: each iteration of a loop asks for the cache lines that a later iteration touches. */
#include "emit/emit_impl.h"

enum { LINE_BYTES = 64, UNROLLED_MAX = 8 };

/* How many elements of a box are contiguous in memory, from its low corner on. */
static int64_t contiguous(struct loop_prog *p, buf_id b, const poly *extent)
{
	const struct loop_buf *x = lbuf(p, b);
	int64_t run = 1, lo, hi;

	for (int i = (x->layout.n ? x->layout.n : x->rank) - 1; i >= 0; i--) {
		struct layout_part q = x->layout.n ? x->layout.part[i] : (struct layout_part){i, 1, 0};
		int64_t n = x->extent[q.axis], size = q.mod ? q.mod : n / q.div + (n % q.div != 0);
		poly_range(p->P, extent[q.axis], &lo, &hi);
		if (hi == POLY_INF)
			return run;
		int64_t covered = (hi + q.div - 1) / q.div;
		if (covered < 1)
			return 0;
		if (covered < size)
			return run * covered;
		run *= size;
	}
	return run;
}

/* at, clamped to the buffer, its end included. */
static poly clamped(struct emit *e, poly at, poly elems)
{
	struct polys *P = e->p->P;

	return poly_max(P, poly_min(P, at, elems), poly_const(P, 0));
}

static void put_lines(struct emit *e, buf_id b, poly at, int64_t run, bool written)
{
	struct polys *P = e->p->P;
	poly elems = buf_count(e->p, b);
	int64_t step = LINE_BYTES / (int64_t)dtype_size(lbuf(e->p, b)->dtype);
	const char *name = e->buf_text[b], *rw = written ? ", 1" : "";

	if (run <= step * UNROLLED_MAX) {
		for (int64_t i = 0; i < run; i += step)
			line(e, "__builtin_prefetch(%s + %s%s);", name, poly_text(e, placed(e, b, clamped(e, poly_addc(P, at, i), elems))),
			     rw);
		return;
	}
	const char *from = poly_text(e, placed(e, b, clamped(e, at, elems))), *q = sym_str(c_name(e, "line"));
	const char *to = poly_text(e, placed(e, b, clamped(e, poly_addc(P, at, run), elems)));
	line(e, "for (long %s = %s; %s < %s; %s += %ld)", q, from, q, to, q, (long)step);
	line(e, "\t__builtin_prefetch(%s + %s%s);", name, q, rw);
}

/* The prefetch of what iteration min(v + steps, last) touches. */
static void put_one(struct emit *e, nest_id loop, struct prefetch x)
{
	struct loop_prog *p = e->p;
	struct polys *P = p->P;
	poly lo[LOOP_RANK_MAX], extent[LOOP_RANK_MAX], wlo[LOOP_RANK_MAX], wextent[LOOP_RANK_MAX];
	poly_var v = lnest(p, loop)->var;
	int64_t least, most, c;

	if (!region_of(p, x.b, loop, true, true, lo, extent))
		return;
	int64_t run = contiguous(p, x.b, extent);
	bool written = region_of(p, x.b, loop, false, true, wlo, wextent);
	poly last = poly_addc(P, env_subst(e, lnest(p, loop)->extent), -1);
	poly at = poly_min(P, poly_addc(P, env_subst(e, poly_of(P, v)), x.steps), last);
	poly off = buf_offset(p, x.b, lo);
	bool named = !poly_is_const(P, at, &c) && poly_uses(P, off, v);
	if (named) {
		poly_var_range(P, v, &least, &most);
		poly_var ahead = poly_var_new(P, 0, least, most, 1);
		const char *name = sym_str(c_name(e, "ahead"));
		line(e, "{");
		e->depth++;
		line(e, "const long %s = %s;", name, poly_text(e, at));
		var_set(e, ahead, name);
		at = poly_of(P, ahead);
	}
	put_lines(e, x.b, env_subst(e, poly_subst(P, off, v, at)), run, written);
	if (named) {
		e->depth--;
		line(e, "}");
	}
}

void emit_prefetches(struct emit *e, nest_id loop)
{
	for (size_t i = 0; i < lnest(e->p, loop)->ahead.n && !e->dry; i++)
		if (e->buf_text[lnest(e->p, loop)->ahead.a[i].b])
			put_one(e, loop, lnest(e->p, loop)->ahead.a[i]);
}
