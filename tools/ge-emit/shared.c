/* Weights that the targets of a library share, and those that are there more than once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/facts.h"
#include "common/intern.h"
#include "common/map.h"
#include "common/shown.h"
#include "ge-emit.h"
#include "graph/pass.h"

/* A part of a layer that some targets have, in one order. */
struct part {
	uint32_t users; /* bit i: target i has it */
	sym order;
	int64_t bytes;
};

/* A layer whose weights lie otherwise for one target than for another. */
struct layer {
	sym name;
	size_t place;   /* among all */
	uint32_t users; /* bit i: target i has bytes of it that not all have */
	int64_t bytes;  /* of all that not all have */
	VEC(struct part) parts;
};

struct layers {
	VEC(struct layer) a;
	struct map by_name; /* name -> its place, + 1 */
};

static struct layer *layer_of(struct layers *l, sym name)
{
	uint32_t at = map_get(&l->by_name, name);

	if (!at) {
		vec_push(&l->a, (struct layer){.name = name, .place = l->a.n});
		at = (uint32_t)l->a.n;
		map_set(&l->by_name, name, at);
	}
	return &l->a.a[at - 1];
}

static const char *users_str(const struct emission *e, uint32_t users, struct arena *a)
{
	const char *s = "";

	for (int i = 0; i < e->of_several->n; i++)
		if (users >> i & 1)
			s = arena_printf(a, "%s%s%s", s, *s ? ", " : "", shown(e->of_several->a[i].name));
	return s;
}

static void add_part(struct layer *x, const struct weight *w, sym order)
{
	size_t i = 0;

	while (i < x->parts.n && (x->parts.a[i].users != w->users || x->parts.a[i].order != order))
		i++;
	if (i == x->parts.n)
		vec_push(&x->parts, (struct part){.users = w->users, .order = order});
	x->parts.a[i].bytes += w->bytes;
	x->users |= w->users;
	x->bytes += w->bytes;
}

static struct layers apart(const struct emission *e, int n, struct arena *a)
{
	const uint32_t all = (uint32_t)((1ull << n) - 1);
	struct layers l = {0};

	for (size_t i = 0; i < e->weights.a.n; i++) {
		const struct weight *w = &e->weights.a.a[i];
		if (w->users == all)
			continue;
		add_part(layer_of(&l, intern(weight_layer(w, a))), w, intern(weight_order(w, a)));
	}
	return l;
}

/* Most bytes first; of equal ones in the order of the model. */
static int by_bytes(const void *x, const void *y)
{
	const struct layer *p = x, *q = y;

	return p->bytes != q->bytes ? (p->bytes < q->bytes) - (p->bytes > q->bytes) : (p->place > q->place) - (p->place < q->place);
}

static void tell(bool report, const char *line)
{
	facts_add("weights", line);
	if (report)
		printf("%s\n", line);
}

static const char *layer_str(const struct emission *e, const struct layer *x, struct arena *a)
{
	const char *s = arena_printf(a, "  %s:", shown(sym_str(x->name)));

	for (size_t i = 0; i < x->parts.n; i++) {
		const struct part *p = &x->parts.a[i];
		s = arena_printf(a, "%s%s %s %" PRId64 " in %s", s, i ? ";" : "", users_str(e, p->users, a), p->bytes, sym_str(p->order));
	}
	return s;
}

/* The report of hone has the largest of them, --report all. */
static void tell_apart(const struct emission *e, int n, bool report)
{
	enum { SHOWN = 8 };
	struct arena *a = &e->M->m->arena;
	struct layers l = apart(e, n, a);
	int64_t bytes = 0;
	size_t several = 0;

	for (size_t i = 0; i < l.a.n; i++) {
		struct layer x = l.a.a[i];
		if (!(x.users & (x.users - 1)))
			continue;
		bytes += x.bytes;
		l.a.a[i] = l.a.a[several];
		l.a.a[several++] = x;
	}
	qsort(l.a.a, several, sizeof *l.a.a, by_bytes);
	if (several)
		tell(report,
		     arena_printf(a, "weights of %zu layers, %" PRId64 " bytes, lie in another order for each target:", several, bytes));
	for (size_t i = 0; i < several; i++) {
		const char *line = layer_str(e, &l.a.a[i], a);
		if (i < SHOWN)
			facts_add("weights", line);
		if (report)
			printf("%s\n", line);
	}
	if (several > SHOWN)
		facts_add("weights", arena_printf(a, "  and %zu smaller ones, which ge-emit --report names", several - SHOWN));
	for (size_t i = 0; i < l.a.n; i++)
		vec_free(&l.a.a[i].parts);
	vec_free(&l.a);
	map_free(&l.by_name);
}

void tell_weights(const struct emission *e, int n, bool report)
{
	struct arena *a = &e->M->m->arena;
	int64_t most = 0;
	const char *each = "";

	for (int i = 0; i < n; i++) {
		int64_t alone = weights_alone(&e->weights, i);
		most = alone > most ? alone : most;
		each = arena_printf(a, "%s%s %s %" PRId64, each, i ? "," : "", e->of_several->a[i].name, alone);
	}
	tell(report, arena_printf(a, "weights %" PRId64 " bytes for all targets, %.2f of the largest; alone:%s", e->weights.bytes,
				  (double)e->weights.bytes / (double)most, each));
	tell_apart(e, n, report);
}
