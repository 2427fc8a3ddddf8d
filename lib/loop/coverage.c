/* Coverage: is every element of a region written? region_of gives a box that bounds what the blocks under a loop write. Guards,
 * and tiles of varying size, can leave holes in it, and then a reader must not take it for complete.
 *
 * The box is a product of intervals, so each dim is checked alone: for all values of the loops at or around l, run the loops inside
 * l that its index depends on, and mark what they write of the interval. All must be marked, and nothing outside. This needs
 * that no loop serves two dims and no guard mixes them; what is too long to run counts as not covered.
 *
 * Where the interval depends on parameters, it is run for their first values, until all that depends on them is longer than two periods
 * (all tiles and divisors fit into one) and all constants: from there on a longer one is the same with a whole period more. */
#include <string.h>
#include "loop/nest.h"

enum { STEPS_MAX = 1 << 21 /* of a run for all values of parameters */ };

struct exact {
	struct loop_prog *p;
	const struct nest *block;
	nest_id loop[NEST_DEPTH_MAX]; /* around the block, from the outside in */
	int nloops, nouter;           /* how many; of these at or around l */
	/* The dim that is checked: */
	int dim;
	poly lo, extent;                                         /* its interval */
	poly bind, size;                                         /* its index, and what there is of it */
	poly steps_of[NEST_DEPTH_MAX], elems_of[NEST_DEPTH_MAX]; /* of the loops */
	bool used[NEST_DEPTH_MAX];                               /* loops that its index or interval depends on */
	int nguard;
	poly guard[64]; /* of the block, about these loops */
	int nlengths;   /* of these loops and the interval, which parameters say: each once */
	struct length {
		poly e;
		bool fixed;    /* it depends on parameters alone */
		uint32_t uses; /* bit k: parameter number k is in it */
	} length[NEST_DEPTH_MAX + 1];
	uint32_t uses; /* parameters in anything */
	int nparam;    /* the program's, or one variable in their place */
	poly_var param[LOOP_PARAMS_MAX];
	/* The run: */
	int64_t *env;         /* value of each variable */
	int64_t first, count; /* the interval for the outer loops' values */
	bool *seen;           /* elements of it that are written */
	int64_t steps;        /* so far */
	int64_t enough;       /* where longer ones are the same with a period more */
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
	int64_t size = poly_eval(x->p->P, x->size, x->env);
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
		int64_t at = poly_eval(x->p->P, x->bind, x->env) - x->first;
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
	int64_t elems = poly_eval(x->p->P, x->elems_of[depth], x->env);
	int64_t extent = n->step ? (elems + n->step - 1) / n->step : poly_eval(x->p->P, x->steps_of[depth], x->env);
	for (int64_t i = 0; i < extent && x->good; i++) {
		if (++x->steps > STEPS_MAX)
			x->good = false;
		x->env[n->var] = i;
		if (n->len) {
			int64_t left = elems - i * n->step;
			x->env[n->var] = i * n->step;
			x->env[n->len] = left < n->step ? left : n->step;
		}
		go(x, depth + 1);
	}
}

/* ---- parameters ---- */

/* The least common multiple; STEPS_MAX if that is less. */
static int64_t common_multiple(int64_t a, int64_t b)
{
	int64_t n = a;

	while (n % b && n < STEPS_MAX)
		n += a;
	return n < STEPS_MAX ? n : STEPS_MAX;
}

/* Takes into period the divisors in e; returns the sum of its constants. */
static int64_t study(struct polys *P, poly e, int64_t *period)
{
	int64_t constants = 0;
	const uint32_t *atoms;

	for (int i = 0, n; i < poly_nterms(P, e) && constants < STEPS_MAX; i++) {
		int64_t c = poly_term(P, e, i, &n, &atoms);
		constants += n ? 0 : c < -STEPS_MAX || c > STEPS_MAX ? STEPS_MAX : c < 0 ? -c : c;
		for (int k = 0; k < n; k++) {
			struct poly_atom a = *poly_atom(P, atoms[k]);
			if (a.kind == POLY_VAR)
				continue;
			constants += study(P, a.a, period) + (a.kind == POLY_FLOOR ? 0 : study(P, a.b, period));
			*period = a.kind == POLY_FLOOR ? common_multiple(*period, a.c) : *period;
		}
	}
	return constants;
}

/* The length of which on nothing is new. */
static int64_t find_enough(struct exact *x)
{
	struct polys *P = x->p->P;
	int64_t period = 1, constants = study(P, x->lo, &period) + study(P, x->extent, &period);

	constants += study(P, x->bind, &period);
	for (int i = 0; i < x->nguard; i++)
		constants += study(P, x->guard[i], &period);
	for (int i = 0; i < x->nloops; i++) {
		const struct nest *n = lnest(x->p, x->loop[i]);
		if (!x->used[i])
			continue;
		constants += study(P, n->step ? x->elems_of[i] : x->steps_of[i], &period);
		period = n->step ? common_multiple(period, n->step) : period;
	}
	return 2 * period + constants + 1;
}

/* The parameters in e, a bit each. */
static uint32_t parameters_of(const struct exact *x, poly e)
{
	uint32_t uses = 0;

	for (int k = 0; k < x->nparam; k++)
		uses |= (uint32_t)poly_uses(x->p->P, e, x->param[k]) << k;
	return uses;
}

static void add_length(struct exact *x, poly e)
{
	struct length l = {.e = e, .uses = parameters_of(x, e)};

	for (int i = 0; i < x->nlengths; i++)
		if (x->length[i].e == e)
			return;
	x->uses |= l.uses;
	l.fixed = true;
	for (int i = 0; i < x->nloops; i++)
		l.fixed &= !uses_loop(x, e, i);
	if (l.uses)
		x->length[x->nlengths++] = l;
}

static void find_lengths(struct exact *x)
{
	x->nlengths = 0;
	x->uses = parameters_of(x, x->lo) | parameters_of(x, x->bind);
	for (int i = 0; i < x->nguard; i++)
		x->uses |= parameters_of(x, x->guard[i]);
	add_length(x, x->extent);
	for (int i = 0; i < x->nloops; i++) {
		const struct nest *n = lnest(x->p, x->loop[i]);
		if (x->used[i])
			add_length(x, n->step ? x->elems_of[i] : x->steps_of[i]);
	}
}

/* Is all that grows with parameter number k so long that longer ones are no other? */
static bool long_enough(struct exact *x, size_t k)
{
	bool any = false;

	for (int i = 0; i < x->nlengths; i++) {
		const struct length *l = &x->length[i];
		if (!(l->uses >> k & 1))
			continue;
		if (!l->fixed || poly_eval(x->p->P, l->e, x->env) < x->enough)
			return false;
		any = true;
	}
	return any;
}

/* Values of v: from *lo to *hi by the step that is returned. */
static int64_t values_of(struct polys *P, poly_var v, int64_t *lo, int64_t *hi)
{
	int64_t step = poly_var_divisor(P, v);

	poly_var_range(P, v, lo, hi);
	*lo = (*lo + step - 1) / step * step;
	return step;
}

/* Parameters from number k on at their least: what is long enough then is so for all values. */
static void least_values(struct exact *x, size_t k)
{
	int64_t hi;

	for (; k < (size_t)x->nparam; k++)
		values_of(x->p->P, x->param[k], &x->env[x->param[k]], &hi);
}

/* The values of parameter number k and those behind it that the dim depends on. */
static void go_values(struct exact *x, size_t k)
{
	int64_t lo, hi;

	if (k == (size_t)x->nparam) {
		go(x, 0);
		return;
	}
	poly_var v = x->param[k];
	bool used = x->uses >> k & 1, done = false;
	int64_t step = values_of(x->p->P, v, &lo, &hi);
	for (int64_t i = lo; i <= hi && x->good && !done; i += step) {
		x->env[v] = i;
		least_values(x, k + 1);
		done = !used || long_enough(x, k);
		go_values(x, k + 1);
		x->good &= x->steps++ < STEPS_MAX;
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

/* ---- one variable for all parameters ---- */

/* All that the dim depends on, in turn. */
static poly *part(struct exact *x, int i)
{
	poly *one[] = {&x->lo, &x->extent, &x->bind, &x->size};

	if (i < 4)
		return one[i];
	i -= 4;
	if (i < x->nguard)
		return &x->guard[i];
	i -= x->nguard;
	return i < x->nloops ? &x->steps_of[i] : i < 2 * x->nloops ? &x->elems_of[i - x->nloops] : NULL;
}

/* Is the dim the same with v for base? *y: then it is. */
static bool abstract(struct exact *y, poly base)
{
	struct polys *P = y->p->P;
	int64_t lo, hi;

	poly_range(P, base, &lo, &hi);
	if (lo == INT64_MIN)
		return false;
	poly_var v = poly_var_new(P, 0, lo, hi, 1);
	for (int i = 0; part(y, i); i++)
		if ((*part(y, i) = prog_abstract(y->p, *part(y, i), base, v)) == POLY_UNKNOWN)
			return false;
	y->nparam = 1;
	y->param[0] = v;
	return true;
}

/* Products of parameters have no length from which on all is known, and that of a quotient is long: where they occur only together, they
 * are one. */
static void join_parameters(struct exact *x)
{
	enum { BASES_MAX = 16 };
	poly base[BASES_MAX];
	int n = 0;

	for (int i = 0; part(x, i); i++)
		n = prog_bases(x->p, *part(x, i), base, n, BASES_MAX);
	for (int i = 0; i < n; i++) {
		struct exact y = *x;
		if (poly_is_var(x->p->P, base[i]) || !abstract(&y, base[i]))
			continue;
		*x = y;
		x->env = xrealloc(x->env, (poly_nvars(x->p->P) + 2) * sizeof *x->env);
		return;
	}
}

static void take_parts(struct exact *x, int d, const poly *lo, const poly *extent)
{
	struct loop_prog *p = x->p;

	memset(x->used, 0, sizeof x->used);
	x->dim = d;
	x->lo = lo[d];
	x->extent = extent[d];
	x->bind = x->block->bind[d];
	x->size = buf_dim(p, lstage(p, x->block->stage)->out, d);
	x->nparam = (int)p->params.n;
	for (int k = 0; k < x->nparam; k++)
		x->param[k] = p->params.a[k].var;
}

/* Where the interval begins may depend on the loops around, and what is written of it not. It is then run once, as if it began at 0. */
static void run_once(struct exact *x)
{
	struct polys *P = x->p->P;
	poly bind = poly_sub(P, x->bind, x->lo), beyond = poly_sub(P, poly_sub(P, x->size, x->lo), x->extent);
	bool used[NEST_DEPTH_MAX], varies = false;
	int64_t least, most;

	poly_range(P, x->lo, &least, &most);
	varies |= least < 0;
	poly_range(P, beyond, &least, &most);
	if (varies || least < 0) /* a part of it is no element */
		return;
	memcpy(used, x->used, sizeof used);
	memset(x->used, 0, sizeof x->used);
	mark_loops(x, bind);
	mark_loops(x, x->extent);
	for (int i = 0; i < x->nguard; i++)
		mark_loops(x, x->guard[i]);
	for (int i = 0; i < x->nouter; i++)
		varies |= x->used[i];
	if (varies) {
		memcpy(x->used, used, sizeof used);
		return;
	}
	x->lo = poly_const(P, 0);
	x->bind = bind;
	x->size = x->extent;
}

/* Of the loops that are used; of others nothing is asked. */
static void take_lengths(struct exact *x)
{
	for (int i = 0; i < x->nloops; i++) {
		const struct nest *n = lnest(x->p, x->loop[i]);
		x->steps_of[i] = x->used[i] && !n->len ? n->extent : poly_const(x->p->P, 0);
		x->elems_of[i] = x->used[i] && n->len ? n->elems : poly_const(x->p->P, 0);
	}
}

static bool dim_exact(struct exact *x, int d, const poly *lo, const poly *extent)
{
	if (lo[d] == POLY_UNKNOWN || extent[d] == POLY_UNKNOWN)
		return false;
	take_parts(x, d, lo, extent);
	mark_loops(x, x->block->bind[d]);
	for (int i = x->nouter; i < x->nloops; i++) /* a loop that serves two dims writes a diagonal, not a box */
		for (int e = 0; e < lstage(x->p, x->block->stage)->nspatial; e++)
			if (e != d && x->used[i] && uses_loop(x, x->block->bind[e], i))
				return false;
	mark_loops(x, lo[d]);
	mark_loops(x, extent[d]);
	if (!dim_guards(x))
		return false;
	run_once(x);
	take_lengths(x);
	if (x->nparam)
		join_parameters(x);
	x->steps = 0;
	x->enough = x->nparam ? find_enough(x) : 0;
	find_lengths(x);
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
