/* Strategies: which points of a space are tried next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "search/gaussian.h"
#include "search/strategy_impl.h"

/* ---- random ---- */

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

const struct strategy strategies[] = {
	{"bayes", "descents, then what a Gaussian process over what was timed thinks may be best", propose_bayes},
	{"descent", "the best with one decision changed, until none is better", propose_descent},
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
	s->proposed = set_new();
	struct point *rule = draw(s, 0, &usual);
	if (rule) {
		rule->measured = 1;
		first_proposed(s, rule);
		vec_push(&s->points, rule);
		copy_decisions(&s->odometer, &rule->at);
	}
	s->next_origin = 1;
	return s;
}

void search_relate(struct search *a, struct search *b, double distance)
{
	if (!isfinite(distance))
		return;
	vec_push(&a->kin, (struct kin){b, 1 / (1 + distance)});
	vec_push(&b->kin, (struct kin){a, 1 / (1 + distance)});
}

double search_best(const struct search *s)
{
	double best = 1;

	for (size_t i = 0; i < s->points.n; i++)
		if (s->points.a[i]->measured > 0)
			best = fmin(best, s->points.a[i]->measured);
	return best;
}

size_t search_propose(struct search *s, size_t n, struct point **out)
{
	size_t count = s->points.n ? s->strategy->propose(s, n, out) : 0;

	for (size_t i = 0; i < count; i++) {
		first_proposed(s, out[i]);
		vec_push(&s->points, out[i]);
	}
	return count;
}

size_t search_propose_records(struct search *s, size_t n, struct point **out)
{
	const struct generator *records = generator_find("records");
	size_t count = 0;

	for (size_t i = 0; i < s->space->origins.n && count < n; i++) {
		struct point *p = s->space->origins.a[i].by == records ? draw(s, (int)i, &usual) : NULL;
		if (!p)
			continue;
		out[count++] = p;
		first_proposed(s, p);
		vec_push(&s->points, p);
	}
	return count;
}

void search_free(struct search *s)
{
	set_free(s->tried);
	set_free(s->known);
	set_free(s->proposed);
	vec_free(&s->points);
	vec_free(&s->odometer);
	vec_free(&s->pool);
	vec_free(&s->children);
	vec_free(&s->kin);
	gaussian_free(s->gaussian);
	free(s);
}
