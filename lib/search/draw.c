/* New points of a space, each once. */
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "search/strategy.h"

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

static bool set_add(struct digest_set *s, struct digest d)
{
	if (2 * s->n >= s->size)
		set_grow(s);
	return set_insert(s, d);
}

/* ---- drawing points ---- */

const struct samples usual;

struct drawn {
	struct digest_set *tried;    /* decisions that were asked for, */
	struct digest_set *known;    /* traces they led to, */
	struct digest_set *proposed; /* and those of them that were proposed */
};

struct drawn *drawn_new(void)
{
	struct drawn *d = xcalloc(1, sizeof *d);

	*d = (struct drawn){set_new(), set_new(), set_new()};
	return d;
}

void drawn_free(struct drawn *d)
{
	set_free(d->tried);
	set_free(d->known);
	set_free(d->proposed);
	free(d);
}

static struct digest digest_decisions(int origin, const struct samples *want)
{
	struct digest_state *d = digest_new();

	digest_add(d, &origin, sizeof origin);
	for (size_t i = 0; i < want->n; i++) {
		digest_add(d, want->a[i].name, strlen(want->a[i].name) + 1);
		digest_add(d, &want->a[i].decision, sizeof want->a[i].decision);
		if (want->a[i].word)
			digest_add(d, want->a[i].word[want->a[i].decision], strlen(want->a[i].word[want->a[i].decision]));
	}
	return digest_end(d);
}

struct point *draw(struct search *s, int origin, const struct samples *want)
{
	if (!set_add(s->drawn->tried, digest_decisions(origin, want)))
		return NULL;
	struct point *p = space_point(s->space, origin, want);
	return p && claim(s, p) ? p : NULL;
}

static struct digest digest_trace(const struct point *p) { return digest_bytes(p->trace, strlen(p->trace)); }

bool claim(struct search *s, const struct point *p) { return set_add(s->drawn->known, digest_trace(p)); }

int by_measure(const void *a, const void *b)
{
	const struct point *x = *(const struct point *const *)a, *y = *(const struct point *const *)b;
	int c = (x->measured > y->measured) - (x->measured < y->measured);

	return c ? c : strcmp(x->trace, y->trace);
}

bool first_proposed(struct search *s, const struct point *p)
{
	claim(s, p);
	return set_add(s->drawn->proposed, digest_trace(p));
}

void points_remove(struct points *from, const struct point *p)
{
	for (size_t i = 0; i < from->n; i++)
		if (!strcmp(from->a[i]->trace, p->trace)) {
			from->a[i] = from->a[--from->n];
			return;
		}
}

bool is_marked(const struct marks *m, const struct point *p) { return p->number < m->n && m->a[p->number]; }

bool mark(struct marks *m, const struct point *p)
{
	if (is_marked(m, p))
		return false;
	while (m->n <= p->number)
		vec_push(m, false);
	return m->a[p->number] = true;
}

void copy_decisions(struct samples *to, const struct samples *from)
{
	to->n = 0;
	for (size_t i = 0; i < from->n; i++)
		vec_push(to, from->a[i]);
}

/* Which samples there are follows from earlier ones, so it is asked for until none is new. */
struct point *draw_random(struct search *s, int origin)
{
	enum { DEPTH = 4 };
	struct samples want = {0};
	struct point *p = s->points.a[0];
	size_t n = 0;

	if (origin)
		p = space_point(s->space, origin, &usual);
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

void draw_neighbours(struct search *s, const struct point *of, size_t most, struct points *out)
{
	struct samples want = {0};

	copy_decisions(&want, &of->at);
	for (size_t i = 0; i < want.n; i++) {
		for (int k = 0; k < of->at.a[i].n && out->n < most; k++) {
			want.a[i].decision = of->at.a[i].choice[k];
			struct point *p = want.a[i].decision == of->at.a[i].decision ? NULL : draw(s, of->origin, &want);
			if (p)
				vec_push(out, p);
		}
		want.a[i].decision = of->at.a[i].decision;
	}
	vec_free(&want);
}

int any_origin(struct search *s) { return (int)rng_range(&s->rng, 0, (int64_t)s->space->origins.n - 1); }

size_t draw_origins(struct search *s, size_t *next, size_t n, struct point **out)
{
	size_t count = 0;

	while (count < n && *next < s->space->origins.n) {
		struct point *p = draw(s, (int)(*next)++, &usual);
		if (p)
			out[count++] = p;
	}
	return count;
}
