/* Descent: moves from the best point to the best of its neighbours (one decision changed) until none is better; then the same from the best
 * point of each other origin (another algorithm) that is not far behind; then changes pairs of decisions. Only the order among equals
 * is random, so searches with other seeds end in the same place. With trials left, it tries the neighbours of the best that it had
 * left out, and then breeds (genetic.c).
 *
 * It expects of a change what the change did elsewhere in this search; else what it did in searches of similar tasks, and what the cost
 * model predicts. Changes that are expected to be much worse are not tried. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/strategies/descent.h"
#include "search/strategies/genetic.h"

enum { CENTRES = 4, PAIRS = 16, SINGLES = 12, WITNESSES = 3 };
#define MOVE   0.99 /* of the centre's time: a better point becomes the new centre */
#define NICHE  1.6  /* of the best one's time: other origins whose best is within it get a descent */
#define PRUNE  1.3  /* of the parent's time, by the cost model: above it, not tried */
#define SEEN   1.1  /* of the parent's time, as the change did elsewhere: above it, not tried */
#define SINGLE 1.04 /* of the centre's time: single changes within it are tried in pairs */

struct child { /* a point with one or two decisions changed */
	struct point *p;
	double expected; /* time as a share of its parent's; infinite: not worth a trial */
};
struct descent {
	size_t next_origin;            /* the first whose usual point has not been proposed */
	struct points centre;          /* by origin: where its descent is; NULL: not begun */
	VEC(struct child) children;    /* not proposed yet */
	struct marks expanded, paired; /* points whose neighbours at one, two decisions have been drawn */
};

static bool told(const struct point *p) { return p->measured > 0 && isfinite(p->measured); }

/* Is q, of this search or another, made by the same change from a point of the same kind of origin? */
static bool same_change(const struct search *sq, const struct point *q, const struct search *sp, const struct point *p)
{
	const char *from = sq->space->origins.a[q->origin].name;

	return q->parent && q->changed && q->to == p->to && q->all == p->all && q->measured > 0 && !strcmp(q->changed, p->changed) &&
	       (sq == sp ? q->origin == p->origin : !strcmp(from, sp->space->origins.a[p->origin].name));
}

/* What this change did where it was tried last; 0: nowhere. */
static double seen(const struct search *of, const struct search *s, const struct point *p)
{
	for (size_t i = of->points.n; i-- > 0;) {
		const struct point *q = of->points.a[i];
		if (same_change(of, q, s, p))
			return q->measured / q->parent->measured;
	}
	return 0;
}

/* The cost model counts as much as one task that is the same as this. */
static double seen_by_kin(const struct search *s, const struct point *p, double model, bool *bad)
{
	double sum = log(model), weights = 1;
	int n = 0, worse = 0;

	for (size_t i = 0; i < s->kin.n; i++) {
		double was = seen(s->kin.a[i].search, s, p);
		if (!(was > 0 && isfinite(was)))
			continue;
		sum += s->kin.a[i].weight * log(was);
		weights += s->kin.a[i].weight;
		n++;
		worse += was > SEEN;
	}
	*bad = n ? worse == n && n >= WITNESSES : model > PRUNE;
	return exp(sum / weights);
}

/* The expected time of a point with one decision changed; infinite: not worth a trial. */
static double expect(const struct search *s, const struct point *p)
{
	double was = seen(s, s, p), model = p->predicted > 0 && p->parent->predicted > 0 ? p->predicted / p->parent->predicted : 1;
	bool bad = was > SEEN;

	if (!(was > 0))
		was = seen_by_kin(s, p, model, &bad);
	return bad ? INFINITY : was;
}

/* The decisions that lead to that point: all of them, or those that differ from their default. */
static void copy_request(struct samples *to, const struct point *of, bool all)
{
	to->n = 0;
	for (size_t i = 0; i < of->at.n; i++)
		if (all || of->at.a[i].decision != of->at.a[i].usual)
			vec_push(to, of->at.a[i]);
}

/* And another decision. */
static void request(struct samples *want, const struct sample *x, int64_t decision)
{
	struct sample *there = samples_find(want, x->name);

	if (!there) {
		vec_push(want, *x);
		there = &want->a[want->n - 1];
	}
	there->decision = decision;
}

/* That point with one decision changed. */
static void add_child(struct search *s, struct descent *d, const struct point *of, const struct sample *x, int64_t to, bool all)
{
	struct samples want = {0};

	copy_request(&want, of, all);
	request(&want, x, to);
	struct point *p = space_point(s->space, of->origin, &want);
	vec_free(&want);
	if (!p)
		return;
	p->parent = of;
	p->changed = x->name;
	p->to = to;
	p->all = all;
	vec_push(&d->children, (struct child){p, expect(s, p)});
}

/* All neighbours: with the other decisions free to follow, and with the others kept. */
static void add_children(struct search *s, struct descent *d, const struct point *of)
{
	for (size_t i = 0; i < of->at.n; i++) {
		const struct sample *x = &of->at.a[i];
		for (int k = 0; k < 2 * x->n; k++)
			if (x->choice[k % x->n] != x->decision)
				add_child(s, d, of, x, x->choice[k % x->n], k >= x->n);
	}
}

/* Orders new ones by expected time; equals at random. */
static void sort_children(struct search *s, struct descent *d, size_t from)
{
	struct child *c = d->children.a + from;
	size_t n = d->children.n - from;

	for (size_t i = n; i-- > 1;) {
		size_t k = (size_t)rng_range(&s->rng, 0, (int64_t)i);
		struct child x = c[i];
		c[i] = c[k];
		c[k] = x;
	}
	for (size_t i = 1; i < n; i++) { /* keeps the order of equals */
		struct child x = c[i];
		size_t k = i;
		for (; k > 0 && c[k - 1].expected > x.expected; k--)
			c[k] = c[k - 1];
		c[k] = x;
	}
}

/* Children of that point that were not proposed, those worth a trial or (all) any; their number. */
static size_t take_children(struct search *s, struct descent *d, const struct point *of, bool all, size_t n, struct point **out)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < d->children.n; i++) {
		struct child c = d->children.a[i];
		bool mine = count < n && c.p->parent == of && (all || isfinite(c.expected));
		if (!mine)
			d->children.a[kept++] = c;
		else if (first_proposed(s, c.p))
			out[count++] = c.p;
	}
	d->children.n = kept;
	return count;
}

static size_t descend_from(struct search *s, struct descent *d, struct point *of, size_t n, struct point **out)
{
	size_t from = d->children.n;

	if (mark(&d->expanded, of)) {
		add_children(s, d, of);
		sort_children(s, d, from);
	}
	return take_children(s, d, of, false, n, out);
}

/* ---- pairs ---- */

/* Single changes that cost little or nothing, best first; their number. */
static size_t singles(const struct search *s, const struct point *of, struct point **out)
{
	VEC(struct point *) v = {0};

	for (size_t i = 0; i < s->points.n; i++) {
		struct point *p = s->points.a[i];
		if (p->parent == of && p->changed && told(p) && p->measured < SINGLE * of->measured)
			vec_push(&v, p);
	}
	if (v.n)
		qsort(v.a, v.n, sizeof *v.a, by_measure);
	size_t n = v.n < SINGLES ? v.n : SINGLES;
	if (n)
		memcpy(out, v.a, n * sizeof *out);
	vec_free(&v);
	return n;
}

static void add_pair(struct search *s, struct descent *d, const struct point *of, const struct point *a, const struct point *b)
{
	struct samples want = {0};

	copy_request(&want, of, a->all || b->all);
	request(&want, samples_find(&of->at, a->changed), a->to);
	request(&want, samples_find(&of->at, b->changed), b->to);
	struct point *p = space_point(s->space, of->origin, &want);
	vec_free(&want);
	if (!p)
		return;
	p->parent = of;
	vec_push(&d->children, (struct child){p, a->measured * b->measured / (of->measured * of->measured)});
}

static size_t descend_by_two(struct search *s, struct descent *d, struct point *of, size_t n, struct point **out)
{
	struct point *one[SINGLES];
	size_t count = is_marked(&d->paired, of) ? 0 : singles(s, of, one), from = d->children.n;

	for (size_t j = 1; j < count; j++) /* the best first */
		for (size_t i = 0; i < j && d->children.n < from + PAIRS; i++)
			if (strcmp(one[i]->changed, one[j]->changed))
				add_pair(s, d, of, one[i], one[j]);
	sort_children(s, d, from);
	mark(&d->paired, of);
	return take_children(s, d, of, false, n, out);
}

/* ---- centres ---- */

/* Moves the centre of each origin to its best point, unless it is hardly better. */
static void find_centres(const struct search *s, struct descent *d)
{
	while (d->centre.n < s->space->origins.n)
		vec_push(&d->centre, NULL);
	for (size_t i = 0; i < s->points.n; i++) {
		struct point *p = s->points.a[i], **centre = &d->centre.a[p->origin];
		if (told(p) && (!*centre || p->measured < MOVE * (*centre)->measured))
			*centre = p;
	}
}

/* Centres within NICHE of the best, best first; their number. */
static size_t sort_centres(const struct descent *d, struct point **out)
{
	struct points v = {0};
	size_t n = 0;

	for (size_t i = 0; i < d->centre.n; i++)
		if (d->centre.a[i])
			vec_push(&v, d->centre.a[i]);
	qsort(v.a, v.n, sizeof *v.a, by_measure);
	while (n < v.n && n < CENTRES && v.a[n]->measured < NICHE * v.a[0]->measured) {
		out[n] = v.a[n];
		n++;
	}
	vec_free(&v);
	return n;
}

/* Have all children of that point been told? Others in flight need not be waited for. */
static bool told_around(const struct search *s, const struct point *of)
{
	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->parent == of && !(s->points.a[i]->measured > 0))
			return false;
	return true;
}

struct descent *descent_new(void)
{
	struct descent *d = xcalloc(1, sizeof *d);

	d->next_origin = 1;
	return d;
}

size_t descent_propose(struct search *s, struct descent *d, size_t n, struct point **out, bool *end)
{
	struct point *centre[CENTRES];
	size_t count = draw_origins(s, &d->next_origin, n, out);

	find_centres(s, d);
	size_t centres = sort_centres(d, centre);
	for (size_t i = 0; i < centres && count < n; i++)
		count += descend_from(s, d, centre[i], n - count, out + count);
	bool whole = !count && told_around(s, centre[0]);
	if (whole)
		count += descend_by_two(s, d, centre[0], n, out);
	*end = !count && whole;
	return count;
}

size_t descent_leftovers(struct search *s, struct descent *d, size_t n, struct point **out)
{
	struct point *centre[CENTRES];

	return sort_centres(d, centre) ? take_children(s, d, centre[0], true, n, out) : 0;
}

void descent_free(struct descent *d)
{
	vec_free(&d->centre);
	vec_free(&d->children);
	vec_free(&d->expanded);
	vec_free(&d->paired);
	free(d);
}

/* ---- as a strategy: then it breeds ---- */

struct state {
	struct descent *descent;
	struct genetic genetic;
	bool converged;
};

static void *init(struct search *s)
{
	struct state *x = xcalloc(1, sizeof *x);

	x->descent = descent_new();
	x->genetic = genetic_new();
	return x;
}

static size_t propose(struct search *s, size_t n, struct point **out)
{
	struct state *x = s->state;
	size_t count = descent_propose(s, x->descent, n, out, &x->converged);

	if (x->converged)
		count = descent_leftovers(s, x->descent, n, out);
	for (size_t i = 0; i < count; i++)
		points_remove(&x->genetic.pool, out[i]);
	return count ? count : genetic_propose(s, &x->genetic, n, out);
}

static struct outlook converged(const struct search *s)
{
	const struct state *x = s->state;

	return (struct outlook){.converged = x->converged};
}

static void end(void *state)
{
	struct state *x = state;

	descent_free(x->descent);
	genetic_free(&x->genetic);
	free(x);
}

const struct strategy strategy_descent = {
	.name = "descent",
	.summary = "the best with one decision changed, until none is better",
	.init = init,
	.propose = propose,
	.converged = converged,
	.free = end,
};
