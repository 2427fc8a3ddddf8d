/* Coverage: is every element of a region written? region_of gives a box that bounds what the blocks under a loop write. Guards,
 * and tiles of varying size, can leave holes in it, and then a reader must not take it for complete.
 *
 * The box is a product of intervals, so each dim is checked alone: for all values of the loops at or around l, run the loops inside
 * l that its index depends on, and mark what they write of the interval. All must be marked, and nothing outside. This needs
 * that no loop serves two dims and no guard mixes them; what is too long to run (STEPS_MAX) counts as not covered.
 *
 * Where the interval depends on parameters, it is run for their first values: loops over tiles do the same for every multiple of
 * the tile and what is left of it, so those tell of all. */
#include <string.h>
#include "loop/nest.h"

enum { STEPS_MAX = 1 << 18, VALUES_MAX = 48 /* of a parameter */ };

struct exact {
	struct loop_prog *p;
	const struct nest *block;
	nest_id loop[NEST_DEPTH_MAX]; /* around the block, from the outside in */
	int nloops, nouter;           /* how many; of these at or around l */
	/* The dim that is checked: */
	int dim;
	poly lo, extent;           /* its interval */
	bool used[NEST_DEPTH_MAX]; /* loops that its index or interval depends on */
	int nguard;
	poly guard[64]; /* of the block, about these loops */
	/* The run: */
	int64_t *env;         /* value of each variable */
	int64_t first, count; /* the interval for the outer loops' values */
	bool *seen;           /* elements of it that are written */
	int64_t steps;        /* so far */
	bool good;
};

static bool uses_loop(struct exact *x, poly e, int i)
{
	const struct nest *l = lnest(x->p, x->loop[i]);
	return e != POLY_UNKNOWN && (poly_uses(x->p->P, e, l->var) || (l->len && poly_uses(x->p->P, e, l->len)));
}

/* Marks the loops that e depends on, also through their extents. */
static void mark_loops(struct exact *x, poly e)
{
	for (int i = 0; i < x->nloops; i++)
		if (!x->used[i] && uses_loop(x, e, i)) {
			x->used[i] = true;
			mark_loops(x, lnest(x->p, x->loop[i])->extent);
			if (lnest(x->p, x->loop[i])->len)
				mark_loops(x, lnest(x->p, x->loop[i])->elems);
		}
}

static bool guards_hold(struct exact *x)
{
	for (int i = 0; i < x->nguard; i++)
		if (poly_eval(x->p->P, x->guard[i], x->env) < 0)
			return false;
	return true;
}

static void go(struct exact *x, int depth);

/* The outer loops have values: the inner ones must write all of the interval and nothing else. */
static void go_box(struct exact *x)
{
	int64_t lo = poly_eval(x->p->P, x->lo, x->env), hi = lo + poly_eval(x->p->P, x->extent, x->env);
	int64_t size = poly_eval(x->p->P, buf_dim(x->p, lstage(x->p, x->block->stage)->out, x->dim), x->env);
	x->first = lo < 0 ? 0 : lo;
	x->count = (hi > size ? size : hi) - x->first;
	if (x->count < 0)
		x->count = 0;
	x->steps += x->count;
	if (x->steps > STEPS_MAX) {
		x->good = false;
		return;
	}
	x->seen = xcalloc((size_t)x->count + 1, 1);
	go(x, x->nouter);
	/* guards about outer loops alone are not looked at here: region_exact hands them to its caller */
	for (int64_t i = 0; i < x->count; i++)
		x->good &= x->seen[i];
	free(x->seen);
	x->seen = NULL;
}

static void go(struct exact *x, int depth)
{
	if (depth == x->nouter && !x->seen) {
		go_box(x);
		return;
	}
	if (depth == x->nloops) {
		if (!guards_hold(x))
			return;
		int64_t at = poly_eval(x->p->P, x->block->bind[x->dim], x->env) - x->first;
		if (at < 0 || at >= x->count)
			x->good = false;
		else
			x->seen[at] = true;
		return;
	}
	if (!x->used[depth]) {
		go(x, depth + 1);
		return;
	}
	const struct nest *n = lnest(x->p, x->loop[depth]);
	int64_t extent = poly_eval(x->p->P, n->extent, x->env);
	for (int64_t i = 0; i < extent && x->good; i++) {
		if (++x->steps > STEPS_MAX)
			x->good = false;
		x->env[n->var] = i;
		if (n->len) {
			int64_t left = poly_eval(x->p->P, n->elems, x->env) - i * n->step;
			x->env[n->var] = i * n->step;
			x->env[n->len] = left < n->step ? left : n->step;
		}
		go(x, depth + 1);
	}
}

/* Steps of the largest tile that the loops of this dim make: beyond two of them nothing is new. */
static int64_t values_tried(struct exact *x)
{
	int64_t n = 1;

	for (int i = 0; i < x->nloops; i++)
		if (x->used[i] && lnest(x->p, x->loop[i])->step > n)
			n = lnest(x->p, x->loop[i])->step;
	return 2 * n + 1 < VALUES_MAX ? 2 * n + 1 : VALUES_MAX;
}

static bool uses_parameter(struct exact *x, poly_var v)
{
	bool used = poly_uses(x->p->P, x->lo, v) || poly_uses(x->p->P, x->extent, v);

	for (int i = 0; i < x->nloops && !used; i++)
		used = x->used[i] && poly_uses(x->p->P, lnest(x->p, x->loop[i])->extent, v);
	return used;
}

/* All values of parameter number k and those behind it that the dim depends on. */
static void go_values(struct exact *x, size_t k)
{
	int64_t lo, hi;

	if (k == x->p->params.n) {
		x->steps = 0;
		go(x, 0);
		return;
	}
	poly_var v = x->p->params.a[k].var;
	poly_var_range(x->p->P, v, &lo, &hi);
	int64_t n = uses_parameter(x, v) ? values_tried(x) : 1;
	for (int64_t i = lo > 0 ? lo : 1; n-- > 0 && i <= hi && x->good; i++) {
		x->env[v] = i;
		go_values(x, k + 1);
	}
}

/* Collects the guards about inner loops of this dim; false: one mixes dims, or a dim with a reduction. */
static bool dim_guards(struct exact *x)
{
	const struct stage *s = lstage(x->p, x->block->stage);
	x->nguard = 0;
	for (size_t g = 0; g < x->block->guard.n; g++) {
		bool mine = false, foreign = false;
		for (int i = x->nouter; i < x->nloops; i++) {
			if (!uses_loop(x, x->block->guard.a[g], i))
				continue;
			mine |= x->used[i];
			bool spatial = x->used[i];
			for (int a = 0; a < s->nspatial; a++)
				spatial |= uses_loop(x, x->block->bind[a], i);
			foreign |= !x->used[i] && spatial;
			if (mine && !spatial)
				return false; /* with a reduction */
		}
		if (mine && (foreign || x->nguard == 64))
			return false;
		if (mine) {
			x->guard[x->nguard++] = x->block->guard.a[g];
			mark_loops(x, x->block->guard.a[g]);
		}
	}
	return true;
}

static bool dim_exact(struct exact *x, int d, const poly *lo, const poly *extent)
{
	if (lo[d] == POLY_UNKNOWN || extent[d] == POLY_UNKNOWN)
		return false;
	memset(x->used, 0, sizeof x->used);
	x->dim = d;
	x->lo = lo[d];
	x->extent = extent[d];
	mark_loops(x, x->block->bind[d]);
	for (int i = x->nouter; i < x->nloops; i++) /* a loop that serves two dims writes a diagonal, not a box */
		for (int e = 0; e < lstage(x->p, x->block->stage)->nspatial; e++)
			if (e != d && x->used[i] && uses_loop(x, x->block->bind[e], i))
				return false;
	mark_loops(x, lo[d]);
	mark_loops(x, extent[d]);
	if (!dim_guards(x))
		return false;
	x->steps = 0;
	x->good = true;
	go_values(x, 0);
	return x->good;
}

const char *region_exact(struct loop_prog *p, buf_id b, nest_id l, const poly *lo, const poly *extent, poly *guard, int *nguard)
{
	int n;
	nest_id *block = nest_list(p, l, 0, &n);
	const char *why = NULL;
	*nguard = 0;
	struct exact x = {.p = p, .env = xcalloc(poly_nvars(p->P) + 2, sizeof(int64_t))};
	for (int i = 0; i < n && !why; i++) {
		x.block = lnest(p, block[i]);
		if (lstage(p, x.block->stage)->out != b || x.block->phase != BLOCK_UPDATE)
			continue;
		x.nloops = nest_loops(p, block[i], x.loop);
		for (x.nouter = 0; x.nouter < x.nloops && (x.loop[x.nouter] == l || !nest_inside(p, x.loop[x.nouter], l));)
			x.nouter++;
		for (size_t g = 0; g < x.block->guard.n; g++) {
			bool inner = false, known = false;
			for (int k = x.nouter; k < x.nloops; k++)
				inner |= uses_loop(&x, x.block->guard.a[g], k);
			for (int k = 0; k < *nguard; k++)
				known |= guard[k] == x.block->guard.a[g];
			if (!inner && !known) {
				if (*nguard == REGION_GUARDS)
					why = whynot(p, "%s has too many guards", sym_str(lstage(p, x.block->stage)->name));
				else
					guard[(*nguard)++] = x.block->guard.a[g];
			}
		}
		for (int d = 0; d < lbuf(p, b)->rank && !why; d++)
			if (!dim_exact(&x, d, lo, extent))
				why = whynot(p, "%s does not write a whole box of %s in %s", sym_str(lstage(p, x.block->stage)->name),
					     sym_str(lbuf(p, b)->name),
					     lnest(p, l)->kind == NEST_FOR ? sym_str(lnest(p, l)->name) : "root");
	}
	free(x.env);
	return why;
}

void guard_nest(struct loop_prog *p, nest_id n, int nguard, const poly *guard)
{
	int k;
	nest_id *block = nest_list(p, n, 0, &k);
	for (int i = 0; i < k; i++)
		for (int g = 0; g < nguard; g++)
			vec_push(&lnest(p, block[i])->guard, guard[g]);
}
