/* Descent: from the best point to the best of those one decision away, until none is better; the same from the best point of
 * other origins (another algorithm), where it is not far behind; then pairs of decisions. Up to there nothing is left to
 * chance but the order among equals, so that searches with other seeds end in the same place. With trials left, it goes
 * through what it had left out around the best, and then it breeds.
 *
 * What a change should do is what it did elsewhere in this search, else what it did in searches of tasks like this one
 * and what the cost model says; where that is much worse, it is not tried. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "search/strategy_impl.h"

enum { CENTRES = 4, PAIRS = 16, SINGLES = 12, WITNESSES = 3 };
#define MOVE   0.99 /* of the centre's time: less is no reason to begin again around another */
#define NICHE  1.6  /* of the best one's time: other origins' best that are worth a descent */
#define PRUNE  1.3  /* of the parent's time, by the cost model */
#define SEEN   1.1  /* of the parent's time, as the change did elsewhere */
#define SINGLE 1.04 /* of the centre's time: changes that may be good in a pair */

static bool told(const struct point *p) { return p->measured > 0 && isfinite(p->measured); }

/* Is q, of the same search or another, the same change of what is from a like origin? */
static bool same_change(const struct search *sq, const struct point *q, const struct search *sp, const struct point *p)
{
	const char *from = sq->space->origins.a[q->origin].name;

	return q->parent && q->changed && q->to == p->to && q->all == p->all && q->measured > 0 && !strcmp(q->changed, p->changed) &&
	       (sq == sp ? q->origin == p->origin : !strcmp(from, sp->space->origins.a[p->origin].name));
}

/* What this change did to the last point it was tried on; 0: it was not. */
static double seen(const struct search *of, const struct search *s, const struct point *p)
{
	for (size_t i = of->points.n; i-- > 0;) {
		const struct point *q = of->points.a[i];
		if (same_change(of, q, s, p))
			return q->measured / q->parent->measured;
	}
	return 0;
}

/* The model's word counts as much as that of one task that is as good as this one. */
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

/* Of neighbours in the pool: what to expect of them; infinite: not worth a trial. */
static void expect(struct search *s, struct point *p)
{
	double was = seen(s, s, p), model = p->predicted > 0 && p->parent->predicted > 0 ? p->predicted / p->parent->predicted : 1;
	bool bad = was > SEEN;

	if (!(was > 0))
		was = seen_by_kin(s, p, model, &bad);
	p->expected = bad ? INFINITY : was;
}

/* What to ask for to have that point: all its decisions, or those that are not the usual ones. */
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

static void add_child(struct search *s, const struct point *of, const struct samples *want, struct point how)
{
	struct point *p = space_point(s->space, of->origin, want);

	if (!p)
		return;
	p->parent = of;
	p->changed = how.changed;
	p->to = how.to;
	p->all = how.all;
	p->expected = how.expected;
	if (p->changed)
		expect(s, p);
	vec_push(&s->children, p);
}

/* All points one decision away: the others as usual where they were, and the others as they were. */
static void add_children(struct search *s, const struct point *of)
{
	struct samples want = {0};

	for (size_t i = 0; i < of->at.n; i++) {
		const struct sample *x = &of->at.a[i];
		for (int k = 0; k < 2 * x->n; k++) {
			struct point how = {.changed = x->name, .to = x->choice[k % x->n], .all = k >= x->n};
			if (how.to == x->decision)
				continue;
			copy_request(&want, of, how.all);
			request(&want, x, how.to);
			add_child(s, of, &want, how);
		}
	}
	vec_free(&want);
}

/* New ones, from that on, in the order in which they are to be tried; equals in any. */
static void sort_children(struct search *s, size_t from)
{
	struct point **p = s->children.a + from;
	size_t n = s->children.n - from;

	for (size_t i = n; i-- > 1;) {
		size_t k = (size_t)rng_range(&s->rng, 0, (int64_t)i);
		struct point *x = p[i];
		p[i] = p[k];
		p[k] = x;
	}
	for (size_t i = 1; i < n; i++) { /* keeps the order of equals */
		struct point *x = p[i];
		size_t k = i;
		for (; k > 0 && p[k - 1]->expected > x->expected; k--)
			p[k] = p[k - 1];
		p[k] = x;
	}
}

/* Children of that point, those worth a trial or (all) any, that have not been proposed; count. */
static size_t take_children(struct search *s, const struct point *of, bool all, size_t n, struct point **out)
{
	size_t count = 0, kept = 0;

	for (size_t i = 0; i < s->children.n; i++) {
		struct point *p = s->children.a[i];
		bool mine = count < n && p->parent == of && (all || isfinite(p->expected));
		if (!mine)
			s->children.a[kept++] = p;
		else if (first_proposed(s, p))
			out[count++] = p;
	}
	s->children.n = kept;
	return count;
}

static size_t descend_from(struct search *s, struct point *of, size_t n, struct point **out)
{
	size_t from = s->children.n;

	if (!of->expanded) {
		add_children(s, of);
		sort_children(s, from);
		of->expanded = true;
	}
	return take_children(s, of, false, n, out);
}

/* ---- pairs ---- */

/* Changes of one decision that cost little or nothing, best first; count. */
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

static void add_pair(struct search *s, const struct point *of, const struct point *a, const struct point *b)
{
	struct samples want = {0};

	copy_request(&want, of, a->all || b->all);
	request(&want, samples_find(&of->at, a->changed), a->to);
	request(&want, samples_find(&of->at, b->changed), b->to);
	add_child(s, of, &want, (struct point){.expected = a->measured * b->measured / (of->measured * of->measured)});
	vec_free(&want);
}

static size_t descend_by_two(struct search *s, struct point *of, size_t n, struct point **out)
{
	struct point *one[SINGLES];
	size_t count = of->paired ? 0 : singles(s, of, one), from = s->children.n;

	for (size_t j = 1; j < count; j++) /* the best first */
		for (size_t i = 0; i < j && s->children.n < from + PAIRS; i++)
			if (strcmp(one[i]->changed, one[j]->changed))
				add_pair(s, of, one[i], one[j]);
	sort_children(s, from);
	of->paired = true;
	return take_children(s, of, false, n, out);
}

/* ---- the way ---- */

/* Where each origin's descent has come to: its best point, but for what is hardly better. */
static void find_centres(struct search *s)
{
	for (size_t i = 0; i < s->points.n; i++) {
		struct point *p = s->points.a[i], **centre = &s->space->origins.a[p->origin].centre;
		if (told(p) && (!*centre || p->measured < MOVE * (*centre)->measured))
			*centre = p;
	}
}

/* Those that are not far behind the best, the best first; count. */
static size_t sort_centres(const struct search *s, struct point **out)
{
	VEC(struct point *) v = {0};
	size_t n = 0;

	for (size_t i = 0; i < s->space->origins.n; i++)
		if (s->space->origins.a[i].centre)
			vec_push(&v, s->space->origins.a[i].centre);
	qsort(v.a, v.n, sizeof *v.a, by_measure);
	while (n < v.n && n < CENTRES && v.a[n]->measured < NICHE * v.a[0]->measured) {
		out[n] = v.a[n];
		n++;
	}
	vec_free(&v);
	return n;
}

/* Is all known that was asked for around that point? What else is on its way need not be waited for. */
static bool told_around(const struct search *s, const struct point *of)
{
	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->parent == of && !(s->points.a[i]->measured > 0))
			return false;
	return true;
}

size_t descend(struct search *s, size_t n, struct point **out, bool *end)
{
	struct point *centre[CENTRES];
	size_t count = draw_origins(s, n, out);

	find_centres(s);
	size_t centres = sort_centres(s, centre);
	for (size_t i = 0; i < centres && count < n; i++)
		count += descend_from(s, centre[i], n - count, out + count);
	bool whole = !count && told_around(s, centre[0]);
	if (whole)
		count += descend_by_two(s, centre[0], n, out);
	*end = !count && whole;
	return count;
}

size_t propose_descent(struct search *s, size_t n, struct point **out)
{
	struct point *centre[CENTRES];
	size_t count = descend(s, n, out, &s->converged);

	if (s->converged && sort_centres(s, centre))
		count = take_children(s, centre[0], true, n, out);
	return count ? count : propose_genetic(s, n, out);
}
