/* Strategies: which points of a space are tried next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "search/search.h"

/* ---- sets of digests ---- */

struct digest_set {
	struct digest *slot; /* zero: free */
	size_t n, size;
};

static struct digest_set *set_new(void)
{
	enum { FIRST = 256 };
	struct digest_set *s = xcalloc(1, sizeof *s);

	s->size = FIRST;
	s->slot = xcalloc(s->size, sizeof *s->slot);
	return s;
}

static void set_free(struct digest_set *s)
{
	free(s->slot);
	free(s);
}

static bool set_insert(struct digest_set *s, struct digest d)
{
	size_t i = d.lo & (s->size - 1);

	d.hi |= 1; /* never zero */
	while (s->slot[i].hi) {
		if (digest_eq(s->slot[i], d))
			return false;
		i = (i + 1) & (s->size - 1);
	}
	s->slot[i] = d;
	s->n++;
	return true;
}

static void set_grow(struct digest_set *s)
{
	struct digest_set old = *s;

	s->size *= 2;
	s->n = 0;
	s->slot = xcalloc(s->size, sizeof *s->slot);
	for (size_t i = 0; i < old.size; i++)
		if (old.slot[i].hi)
			set_insert(s, old.slot[i]);
	free(old.slot);
}

/* false: it was there. */
static bool set_add(struct digest_set *s, struct digest d)
{
	if (2 * s->n >= s->size)
		set_grow(s);
	return set_insert(s, d);
}

/* ---- drawing points ---- */

static const struct samples nothing;

static struct digest digest_decisions(int origin, const struct samples *want)
{
	struct digest_state *d = digest_new();

	digest_add(d, &origin, sizeof origin);
	for (size_t i = 0; i < want->n; i++) {
		digest_add(d, want->a[i].name, strlen(want->a[i].name) + 1);
		digest_add(d, &want->a[i].decision, sizeof want->a[i].decision);
		if (want->a[i].word[0])
			digest_add(d, want->a[i].word[want->a[i].decision], strlen(want->a[i].word[want->a[i].decision]));
	}
	return digest_end(d);
}

/* The point, if neither it nor a request for it has been there before; NULL: it has, or there is none. */
static struct point *draw(struct search *s, int origin, const struct samples *want)
{
	if (!set_add(s->tried, digest_decisions(origin, want)))
		return NULL;
	struct point *p = space_point(s->space, origin, want);
	if (!p || !set_add(s->known, digest_bytes(p->trace, strlen(p->trace))))
		return NULL;
	return p;
}

static void copy_decisions(struct samples *to, const struct samples *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		vec_push(to, from->a[i]);
}

/* Another choice for one decision: mostly one beside it, as choices are in order. */
static void mutate(struct rng *r, struct samples *want)
{
	size_t open = 0, k;

	for (size_t i = 0; i < want->n; i++)
		open += want->a[i].n > 1;
	if (!open)
		return;
	k = (size_t)rng_range(r, 0, (int64_t)open - 1);
	for (size_t i = 0; i < want->n; i++) {
		struct sample *x = &want->a[i];
		int at = 0, to;
		if (x->n < 2 || k--)
			continue;
		while (at + 1 < x->n && x->choice[at] != x->decision)
			at++;
		if (rng_unit(r) < 0.6)
			to = at == 0 ? 1 : at == x->n - 1 ? at - 1 : rng_unit(r) < 0.5 ? at - 1 : at + 1;
		else
			to = (at + (int)rng_range(r, 1, x->n - 1)) % x->n;
		x->decision = x->choice[to];
		return;
	}
}

/* Each decision from one of the two; where only one has it, its own. */
static void cross(struct rng *r, struct samples *want, const struct samples *other)
{
	for (size_t i = 0; i < other->n; i++) {
		struct sample *x = samples_find(want, other->a[i].name);
		if (rng_unit(r) < 0.5)
			continue;
		if (x)
			*x = other->a[i]; /* with its choices: words are told by their names */
		else
			vec_push(want, other->a[i]);
	}
}

/* Any decisions. Which samples there are follows from earlier ones, so it is asked for until none is new. */
static struct point *draw_random(struct search *s, int origin)
{
	enum { DEPTH = 4 };
	struct samples want = {0};
	struct point *p = s->points.a[0];
	size_t n = 0;

	if (origin)
		p = space_point(s->space, origin, &nothing);
	for (int k = 0; p && k < DEPTH && (k == 0 || p->at.n > n); k++) {
		for (size_t i = 0; i < p->at.n; i++) {
			struct sample x = p->at.a[i];
			if (samples_find(&want, x.name))
				continue;
			x.decision = x.choice[rng_range(&s->rng, 0, x.n - 1)];
			vec_push(&want, x);
		}
		n = want.n;
		if (k + 1 < DEPTH)
			p = space_point(s->space, origin, &want);
	}
	p = p ? draw(s, origin, &want) : NULL;
	vec_free(&want);
	return p;
}

static int any_origin(struct search *s)
{
	return (int)rng_range(&s->rng, 0, (int64_t)s->space->origins.n - 1);
}

/* ---- random ---- */

enum { PATIENCE = 60 }; /* draws in vain for a point before a space counts as used up */

static size_t propose_random(struct search *s, size_t n, struct point **out)
{
	size_t count = 0;

	for (int vain = 0; count < n && vain < PATIENCE;) {
		struct point *p = draw_random(s, any_origin(s));
		vain = p ? 0 : vain + 1;
		if (p)
			out[count++] = p;
	}
	return count;
}

/* ---- grid ---- */

static int choice_after(const struct sample *x)
{
	for (int i = 0; i + 1 < x->n; i++)
		if (x->choice[i] == x->decision)
			return i + 1;
	return 0;
}

/* Starting at the usual decision, so that this comes first, and once around. */
static bool advance(struct samples *at)
{
	while (at->n) {
		struct sample *last = &at->a[at->n - 1];
		int next = choice_after(last);
		if (last->choice[next] != last->usual) {
			last->decision = last->choice[next];
			return true;
		}
		at->n--;
	}
	return false;
}

static size_t propose_grid(struct search *s, size_t n, struct point **out)
{
	size_t count = 0;

	while (count < n && s->grid_origin < (int)s->space->origins.n) {
		struct point *p = space_point(s->space, s->grid_origin, &s->odometer);
		if (p && set_add(s->known, digest_bytes(p->trace, strlen(p->trace))))
			out[count++] = p;
		for (size_t i = 0; p && i < p->at.n; i++) /* those asked for stay: a decision that cannot be is not done */
			if (!samples_find(&s->odometer, p->at.a[i].name))
				vec_push(&s->odometer, p->at.a[i]);
		if (!advance(&s->odometer))
			s->grid_origin++;
	}
	return count;
}

/* ---- genetic ---- */

enum { ELITE = 8, NICHES = 4, POOL = 4 };

static int by_measure(const void *a, const void *b)
{
	const struct point *x = *(struct point *const *)a, *y = *(struct point *const *)b;
	int c = (x->measured > y->measured) - (x->measured < y->measured);

	return c ? c : strcmp(x->trace, y->trace);
}

/* The best that have been timed, and the best of each origin among the others (what an algorithm does with its usual
 * decisions says little about what it can do); count. */
static size_t elite(const struct search *s, struct point **out)
{
	VEC(struct point *) v = {0};

	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->measured > 0 && isfinite(s->points.a[i]->measured))
			vec_push(&v, s->points.a[i]);
	qsort(v.a, v.n, sizeof *v.a, by_measure);
	size_t n = v.n < ELITE ? v.n : ELITE;
	memcpy(out, v.a, n * sizeof *out);
	for (size_t i = n; i < v.n && n < ELITE + NICHES; i++) {
		bool seen = false;
		for (size_t k = 0; k < n && !seen; k++)
			seen = out[k]->origin == v.a[i]->origin;
		if (!seen)
			out[n++] = v.a[i];
	}
	vec_free(&v);
	return n;
}

/* Better ones are parents more often. */
static struct point *parent(struct search *s, struct point **best, size_t n)
{
	double u = rng_unit(&s->rng);

	return best[(size_t)(u * u * (double)n)];
}

static struct point *offspring(struct search *s, struct point **best, size_t n)
{
	double kind = rng_unit(&s->rng);
	struct samples want = {0};

	if (kind < 0.1)
		return draw_random(s, any_origin(s));
	struct point *mother = parent(s, best, n), *father = parent(s, best, n);
	copy_decisions(&want, &mother->at);
	if (kind < 0.5 && father != mother)
		cross(&s->rng, &want, &father->at);
	if (kind > 0.35)
		mutate(&s->rng, &want);
	struct point *p = draw(s, mother->origin, &want);
	vec_free(&want);
	return p;
}

/* All points one decision away. */
static void draw_neighbours(struct search *s, const struct point *of)
{
	struct samples want = {0};

	copy_decisions(&want, &of->at);
	for (size_t i = 0; i < want.n; i++) {
		for (int k = 0; k < of->at.a[i].n; k++) {
			want.a[i].decision = of->at.a[i].choice[k];
			struct point *p = want.a[i].decision == of->at.a[i].decision ? NULL : draw(s, of->origin, &want);
			if (p)
				vec_push(&s->pool, p);
		}
		want.a[i].decision = of->at.a[i].decision;
	}
	vec_free(&want);
}

static int by_prediction(const void *a, const void *b)
{
	const struct point *x = *(struct point *const *)a, *y = *(struct point *const *)b;
	int c = (x->predicted > y->predicted) - (x->predicted < y->predicted);

	return c ? c : strcmp(x->trace, y->trace);
}

/* Moves n points from the pool to out: three quarters by what the cost model expects, the rest by chance, so that what
 * it gets wrong is seen. */
static size_t choose(struct search *s, size_t n, struct point **out)
{
	size_t ranked = n - n / 4, have = s->pool.n, count = 0;
	struct point **pool = s->pool.a;

	if (have > n && s->space->cost && s->space->cost->predict)
		qsort(pool, have, sizeof *pool, by_prediction);
	while (count < n && count < have) {
		size_t k = count < ranked ? count : (size_t)rng_range(&s->rng, (int64_t)count, (int64_t)have - 1);
		struct point *x = pool[k];
		pool[k] = pool[count];
		out[count++] = x;
	}
	memmove(pool, pool + count, (have - count) * sizeof *pool);
	s->pool.n -= count;
	return count;
}

/* First the usual point of every origin; then what is one decision away from the best, which at the start is the rule's
 * (all of it, where a cost model ranks them), and offspring of the good ones. What the cost model passed over stays in the pool; half of the pool is new each time. */
static size_t propose_genetic(struct search *s, size_t n, struct point **out)
{
	bool ranks = s->space->cost && s->space->cost->predict;
	struct point *best[ELITE + NICHES];
	size_t count = 0;

	while (count < n && s->next_origin < s->space->origins.n) {
		struct point *p = draw(s, (int)s->next_origin++, &nothing);
		if (p)
			out[count++] = p;
	}
	size_t parents = elite(s, best);
	if (count < n && ranks)
		draw_neighbours(s, best[0]);
	size_t left = n - count, want = ranks ? POOL * left : left, old = s->pool.n;
	if (want < old + want / 2)
		want = old + want / 2;
	for (int vain = 0; s->pool.n < want && vain < PATIENCE;) {
		struct point *p = offspring(s, best, parents);
		vain = p ? 0 : vain + 1;
		if (p)
			vec_push(&s->pool, p);
	}
	return left ? count + choose(s, left, out + count) : count;
}

const struct strategy strategies[] = {
	{"genetic", "offspring of the best so far, ranked by the cost model", propose_genetic},
	{"random", "any decisions", propose_random},
	{"grid", "all decisions, one after another", propose_grid},
	{0},
};

const struct strategy *strategy_find(const char *name)
{
	for (const struct strategy *s = strategies; s->name; s++)
		if (!strcmp(s->name, name))
			return s;
	return NULL;
}

/* ---- searches ---- */

struct search *search_new(struct space *space, const struct strategy *strategy, uint64_t seed)
{
	struct search *s = xcalloc(1, sizeof *s);

	s->space = space;
	s->strategy = strategy;
	s->rng.s = seed;
	s->tried = set_new();
	s->known = set_new();
	struct point *rule = draw(s, 0, &nothing);
	if (rule) {
		rule->measured = 1;
		vec_push(&s->points, rule);
		copy_decisions(&s->odometer, &rule->at);
	}
	s->next_origin = 1;
	return s;
}

size_t search_propose(struct search *s, size_t n, struct point **out)
{
	size_t count = s->points.n ? s->strategy->propose(s, n, out) : 0;

	for (size_t i = 0; i < count; i++)
		vec_push(&s->points, out[i]);
	return count;
}

void search_free(struct search *s)
{
	set_free(s->tried);
	set_free(s->known);
	vec_free(&s->points);
	vec_free(&s->odometer);
	vec_free(&s->pool);
	free(s);
}
