/* Counts bytes: what each loop touches, and so what comes into each level of cache. If what all accesses of one iteration touch fits in a
 * level, the loop as a whole brings each byte in once; else each iteration brings in its own. */
#include <math.h>
#include <stdlib.h>
#include "cost/counts.h"

enum { LINE = 64 };
static const double SHARE = 0.75; /* of a cache that data may fill and stay */

static int by_step(const void *x, const void *y)
{
	const struct access_loop *a = x, *b = y;

	return a->step < b->step ? -1 : a->step > b->step;
}

/* Bytes, in whole lines, that an access touches in all iterations of its loops from number `from` on. */
static double touched(const struct access *a, int from, double size)
{
	struct access_loop loop[NEST_DEPTH_MAX];
	double span = size, pieces = 1;
	int n = 0;

	for (int i = from; i < a->nloops; i++)
		if (a->loop[i].n > 1 && a->loop[i].step > 0)
			loop[n++] = a->loop[i];
	qsort(loop, (size_t)n, sizeof *loop, by_step);
	for (int i = 0; i < n; i++) {
		if (loop[i].step <= span)
			span += loop[i].step * (loop[i].n - 1);
		else
			pieces *= loop[i].n;
	}
	return pieces * LINE * ceil(span / LINE);
}

struct tracking {
	struct loop_prog *p;
	const struct counts *c;
	double cache[COST_LEVELS];
	double *most; /* by buffer */
};
struct flow {
	double in[COST_LEVELS];
};

/* The place of loop n among those around the access; -1: it is none. */
static int place_of(const struct access *a, nest_id n)
{
	for (int i = 0; i < a->nloops; i++)
		if (a->loop[i].loop == n)
			return i;
	return -1;
}

/* Bytes of all buffers that loop n touches in one iteration; whole: in all. n 0: the program. */
static double set_of(struct tracking *t, nest_id n, bool whole)
{
	double sum = 0;

	for (size_t b = 0; b < t->p->bufs.n; b++)
		t->most[b] = 0;
	for (size_t i = 0; i < t->c->accesses.a.n; i++) {
		const struct access *a = &t->c->accesses.a.a[i];
		const struct loop_buf *b = lbuf(t->p, a->buf);
		int at = n ? place_of(a, n) : 0;
		if (at < 0)
			continue;
		double bytes = touched(a, n && !whole ? at + 1 : at, (double)dtype_size(b->dtype));
		double all = (double)buf_elems(t->p, a->buf) * (double)dtype_size(b->dtype);
		t->most[a->buf] = fmax(t->most[a->buf], fmin(bytes, LINE * ceil(all / LINE)));
	}
	for (size_t b = 0; b < t->p->bufs.n; b++)
		sum += t->most[b];
	return sum;
}

static struct flow flow_of(struct tracking *t, nest_id n)
{
	const struct nest *x = lnest(t->p, n);
	struct flow f = {{0}};
	bool stays = x->kind == NEST_FOR && x->mark != LOOP_VECTOR && x->mark != LOOP_CALL;
	double one = 0, whole = 0, trips = 1;

	if (x->kind == NEST_BLOCK)
		return f;
	if (stays) {
		for (size_t i = 0; i < t->c->accesses.a.n && trips == 1; i++) {
			int at = place_of(&t->c->accesses.a.a[i], n);
			trips = at >= 0 ? t->c->accesses.a.a[i].loop[at].n : 1;
		}
		one = set_of(t, n, false);
		whole = set_of(t, n, true);
	}
	bool inside = false;
	for (int l = 0; l < COST_LEVELS; l++)
		inside |= !stays || one > SHARE * t->cache[l];
	struct flow kids = {{0}};
	for (size_t i = 0; inside && i < x->kid.n; i++) {
		struct flow k = flow_of(t, x->kid.a[i]);
		for (int l = 0; l < COST_LEVELS; l++)
			kids.in[l] += k.in[l];
	}
	for (int l = 0; l < COST_LEVELS; l++)
		f.in[l] = !stays ? kids.in[l] : one <= SHARE * t->cache[l] ? whole : fmax(whole, trips * kids.in[l]);
	return f;
}

void count_traffic(struct loop_prog *p, const struct target *t, struct counts *c)
{
	struct tracking k = {.p = p, .c = c, .cache = {(double)t->l1, (double)t->l2, (double)t->l3}};
	static const enum feature into[] = {FEATURE_INTO_L1, FEATURE_INTO_L2, FEATURE_INTO_L3};

	k.most = xcalloc(p->bufs.n + 1, sizeof *k.most);
	struct flow f = flow_of(&k, p->root);
	double all = set_of(&k, 0, true), constants = 0;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		enum scope s = lbuf(p, b)->scope;
		enum feature to = s == SCOPE_CONST ? FEATURE_CONSTANTS
				  : s == SCOPE_IN  ? FEATURE_OPERANDS
				  : s == SCOPE_OUT ? FEATURE_OUTPUTS
						   : FEATURE_SCRATCH;
		c->of[to] += k.most[b];
		constants += s == SCOPE_CONST ? k.most[b] : 0;
	}
	/* Constants come from memory: between two runs of a kernel the rest of the model runs. Else, what fits is still there. */
	for (int l = 0; l < COST_LEVELS; l++)
		c->of[into[l]] = all <= SHARE * k.cache[l] ? fmin(f.in[l], constants) : f.in[l];
	c->of[FEATURE_INTO_L3] = fmax(c->of[FEATURE_INTO_L3], constants);
	if (c->hot.loop) {
		nest_id around = lnest(p, c->hot.loop)->parent;
		while (around && lnest(p, around)->kind != NEST_FOR)
			around = lnest(p, around)->parent;
		c->of[FEATURE_HOT_SET] = around ? set_of(&k, around, false) : all;
	}
	free(k.most);
}
