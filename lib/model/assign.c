/* Greedy best fit (Pisarchyk and Lee 2020): the blocks are placed one after the other, each in the smallest gap that holds it between
 * the placed blocks that are alive at the same time. The result depends on their order. Orders by size, lifetime and so on are tried
 * first. A local search then changes the best of them step by step: it moves a block that lies at the top of the arena, or any block,
 * forward or back, and keeps the new order if the arena does not grow. It ends near the lower bound, or when its steps are used up. */
#include "model/assign.h"
#include <string.h>
#include "common/rng.h"

enum {
	PAGE = 4096,
	APART = 512,                /* bytes between where two blocks of one call begin in their pages, if there is room; */
	APART_MIN = 64,             /* else half as many, and so on down to this */
	STEPS_MAX = 50000000,       /* a search ends when placing each order anew would have looked at so many blocks */
	ENOUGH = 500,               /* or when the arena is at most 1/ENOUGH larger than the bound */
	SIDE_BY_SIDE_MAX = 1 << 24, /* pairs of blocks alive at the same time; if there are more, no gaps are looked for */
};

struct assign {
	struct block *b;
	size_t n;
	uint32_t *start, *beside; /* block i is alive with beside[start[i]] .. beside[start[i + 1]] */
	bool *meets;              /* for each of these: one call touches both, and both fill pages */
	bool *placed;
	uint32_t *near; /* scratch: placed neighbours by offset */
	int64_t *met;   /* scratch: offsets of those that begin elsewhere in their page */
	int64_t looked; /* at so many blocks */
};

static bool one_call(const struct block *x, const struct block *y)
{
	for (size_t i = 0, k = 0; i < x->calls.n && k < y->calls.n;) {
		if (x->calls.a[i] == y->calls.a[k])
			return true;
		if (x->calls.a[i] < y->calls.a[k])
			i++;
		else
			k++;
	}
	return false;
}

/* ---- which blocks are alive together ---- */

struct by_time {
	uint32_t first, block;
};

static int earlier(const void *a, const void *b)
{
	const struct by_time *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

/* Calls f for each pair that is alive together, in order of time. False: more than SIDE_BY_SIDE_MAX. */
static bool each_pair(struct assign *a, void (*f)(struct assign *, uint32_t, uint32_t))
{
	struct by_time *t = xcalloc(a->n + 1, sizeof *t);
	uint32_t *alive = xcalloc(a->n + 1, sizeof *alive);
	size_t nalive = 0, pairs = 0;

	for (uint32_t i = 0; i < a->n; i++)
		t[i] = (struct by_time){a->b[i].first, i};
	qsort(t, a->n, sizeof *t, earlier);
	for (size_t i = 0; i < a->n && pairs <= SIDE_BY_SIDE_MAX; i++) {
		size_t kept = 0;
		for (size_t k = 0; k < nalive; k++)
			if (a->b[alive[k]].last >= t[i].first)
				alive[kept++] = alive[k];
		nalive = kept;
		pairs += nalive;
		for (size_t k = 0; k < nalive; k++)
			f(a, alive[k], t[i].block);
		alive[nalive++] = t[i].block;
	}
	free(t);
	free(alive);
	return pairs <= SIDE_BY_SIDE_MAX;
}

static void count_pair(struct assign *a, uint32_t i, uint32_t k)
{
	a->start[i + 2]++;
	a->start[k + 2]++;
}

static void list_pair(struct assign *a, uint32_t i, uint32_t k)
{
	bool meets = a->b[i].bytes >= PAGE && a->b[k].bytes >= PAGE && one_call(&a->b[i], &a->b[k]);

	a->meets[a->start[i + 1]] = a->meets[a->start[k + 1]] = meets;
	a->beside[a->start[i + 1]++] = k;
	a->beside[a->start[k + 1]++] = i;
}

static bool find_neighbours(struct assign *a)
{
	a->start = xcalloc(a->n + 3, sizeof *a->start);
	if (!each_pair(a, count_pair))
		return false;
	for (size_t i = 2; i < a->n + 2; i++)
		a->start[i] += a->start[i - 1];
	a->beside = xcalloc((size_t)a->start[a->n + 1] + 1, sizeof *a->beside);
	a->meets = xcalloc((size_t)a->start[a->n + 1] + 1, sizeof *a->meets);
	each_pair(a, list_pair);
	return true;
}

/* ---- one block ---- */

static int64_t apart(int64_t x, int64_t y)
{
	int64_t d = (x - y) % PAGE;

	d += d < 0 ? PAGE : 0;
	return d < PAGE - d ? d : PAGE - d;
}

/* The first offset from `from` on where block i may begin. A load has to wait for an earlier store whose address differs by a multiple
 * of 4 KB. So blocks that one call touches begin at different places in their pages, as they do where kernels are timed
 * (runner/region.c). */
static int64_t begin(struct assign *a, uint32_t i, int64_t from)
{
	size_t n = 0;

	for (uint32_t k = a->start[i]; k < a->start[i + 1]; k++)
		if (a->meets[k] && a->placed[a->beside[k]])
			a->met[n++] = a->b[a->beside[k]].offset;
	for (int64_t want = APART; n && want >= APART_MIN; want /= 2) {
		if ((int64_t)n * want >= PAGE)
			continue; /* there is no room for so many */
		for (int64_t at = from; at < from + PAGE; at += BLOCK_ALIGN) {
			size_t k = 0;
			while (k < n && apart(at, a->met[k]) >= want)
				k++;
			if (k == n)
				return at;
		}
	}
	return from;
}

/* The placed neighbours of block i, by offset. */
static size_t neighbours(struct assign *a, uint32_t i)
{
	size_t n = 0;

	for (uint32_t k = a->start[i]; k < a->start[i + 1]; k++) {
		uint32_t q = a->beside[k];
		if (!a->placed[q])
			continue;
		size_t at = n++;
		for (; at > 0 && a->b[a->near[at - 1]].offset > a->b[q].offset; at--)
			a->near[at] = a->near[at - 1];
		a->near[at] = q;
	}
	a->looked += 1 + (a->start[i + 1] - a->start[i]) + (int64_t)n * 2;
	return n;
}

static void put(struct assign *a, uint32_t i)
{
	size_t n = neighbours(a, i);
	int64_t end = 0, best = -1, waste = INT64_MAX, need = a->b[i].bytes;

	for (size_t k = 0; k < n; k++) {
		const struct block *q = &a->b[a->near[k]];
		if (q->offset - end >= need && q->offset - end - need < waste) {
			int64_t at = begin(a, i, end);
			if (q->offset - at >= need) {
				waste = q->offset - end - need;
				best = at;
			}
		}
		if (q->offset + q->bytes > end)
			end = q->offset + q->bytes;
	}
	a->b[i].offset = best >= 0 ? best : begin(a, i, end);
	a->placed[i] = true;
}

/* Ends of the last value and of the last block. */
struct tops {
	int64_t values, all;
};

/* The goal of a search: first that the values end no higher than goal.values, then that the arena is no larger than goal.all. */
static bool reached(struct tops t, struct tops goal) { return t.values <= goal.values && t.all <= goal.all; }

static bool higher(struct tops x, struct tops y, struct tops goal)
{
	int64_t over_x = x.values > goal.values ? x.values : 0, over_y = y.values > goal.values ? y.values : 0;

	return over_x != over_y ? over_x > over_y : x.all > y.all;
}

/* Places the blocks of an order from place `first` on; those before it stay. top: where it ends behind each place. What is higher than
 * `most` (NULL: nothing) is given up as soon as it is: behind a place it only grows. */
static struct tops place_from(struct assign *a, const uint32_t *order, size_t n, size_t first, struct tops *top, const struct tops *most,
			      struct tops goal)
{
	struct tops t = first ? top[first - 1] : (struct tops){0, 0};

	for (size_t i = first; i < n; i++)
		a->placed[order[i]] = false;
	for (size_t i = first; i < n && !(most && higher(t, *most, goal)); i++) {
		const struct block *b = &a->b[order[i]];
		put(a, order[i]);
		int64_t end = b->offset + b->bytes;
		t.all = end > t.all ? end : t.all;
		if (!b->workspace)
			t.values = end > t.values ? end : t.values;
		top[i] = t;
	}
	return t;
}

/* ---- the order ---- */

/* The orders tried first: by these numbers, largest first; of equal ones by size, then as the blocks came. */
enum { BY_SIZE, BY_START, BY_END, BY_AREA, BY_LENGTH, BY_CROWD, ORDERS };

struct keyed {
	double key;
	int64_t bytes;
	uint32_t block;
};

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static double key(const struct assign *a, uint32_t i, int kind)
{
	const struct block *b = &a->b[i];
	double length = (double)(b->last - b->first) + 1, crowd = 0;

	switch (kind) {
	case BY_START: return -(double)b->first;
	case BY_END: return b->last;
	case BY_AREA: return length * (double)b->bytes;
	case BY_LENGTH: return length;
	case BY_CROWD:
		for (uint32_t k = a->start[i]; k < a->start[i + 1]; k++)
			crowd += (double)a->b[a->beside[k]].bytes;
		return crowd;
	default: return (double)b->bytes;
	}
}

static void sort_order(const struct assign *a, uint32_t *order, size_t n, int kind)
{
	struct keyed *k = xcalloc(n + 1, sizeof *k);

	for (size_t i = 0; i < n; i++)
		k[i] = (struct keyed){key(a, order[i], kind), a->b[order[i]].bytes, order[i]};
	qsort(k, n, sizeof *k, by_key);
	for (size_t i = 0; i < n; i++)
		order[i] = k[i].block;
	free(k);
}

/* Returns the first place that is another. */
static size_t move_to(uint32_t *order, size_t from, size_t to)
{
	uint32_t x = order[from];

	if (to < from)
		memmove(order + to + 1, order + to, (from - to) * sizeof *order);
	else
		memmove(order + from, order + from + 1, (to - from) * sizeof *order);
	order[to] = x;
	return from < to ? from : to;
}

/* One small change of the order: a block at the top of the arena moves to an earlier place in it, or any block to any place. Returns the
 * first place that is another. */
static size_t vary(const struct assign *a, uint32_t *order, size_t n, struct tops t, struct tops goal, struct rng *r)
{
	size_t from = (size_t)rng_range(r, 0, (int64_t)n - 1);
	int64_t top = t.values > goal.values ? t.values : t.all;

	if (rng_range(r, 0, 3))
		for (size_t i = 0; i < n; i++) {
			size_t k = (from + i) % n;
			if (a->b[order[k]].offset + a->b[order[k]].bytes == top)
				return move_to(order, k, k ? (size_t)rng_range(r, 0, (int64_t)k - 1) : 0);
		}
	return move_to(order, from, (size_t)rng_range(r, 0, (int64_t)n - 1));
}

/* An order, where it puts the blocks, and where it ends behind each of its places. */
struct placement {
	uint32_t *order;
	int64_t *offset; /* of the block at each place */
	struct tops *top, tops;
};

static void placement_init(struct placement *p, size_t n)
{
	p->order = xcalloc(n + 1, sizeof *p->order);
	p->offset = xcalloc(n + 1, sizeof *p->offset);
	p->top = xcalloc(n + 1, sizeof *p->top);
}

static void placement_free(struct placement *p)
{
	free(p->order);
	free(p->offset);
	free(p->top);
}

static void placement_copy(struct placement *to, const struct placement *from, size_t first, size_t n)
{
	memcpy(to->order + first, from->order + first, (n - first) * sizeof *to->order);
	memcpy(to->top + first, from->top + first, (n - first) * sizeof *to->top);
}

/* The blocks lie as p has it, from place `first` on. */
static void placement_read(struct placement *p, const struct assign *a, size_t first, size_t n)
{
	for (size_t i = first; i < n; i++)
		p->offset[i] = a->b[p->order[i]].offset;
}

static void placement_write(const struct placement *p, struct assign *a, size_t first, size_t n)
{
	for (size_t i = first; i < n; i++) {
		a->b[p->order[i]].offset = p->offset[i];
		a->placed[p->order[i]] = true;
	}
}

/* Improves the order; the blocks are left where it puts them. */
static struct tops search(struct assign *a, uint32_t *order, size_t n, struct tops goal)
{
	struct placement now, next;
	struct tops least;
	struct rng r = {1};
	int64_t steps = STEPS_MAX, round;

	placement_init(&now, n);
	placement_init(&next, n);
	memcpy(now.order, order, n * sizeof *order);
	memcpy(next.order, order, n * sizeof *order);
	a->looked = 0;
	least = now.tops = place_from(a, now.order, n, 0, now.top, NULL, goal);
	round = a->looked; /* the same for every order */
	placement_read(&now, a, 0, n);
	memcpy(next.top, now.top, n * sizeof *next.top);
	while (n > 1 && !reached(least, goal) && steps > 0) {
		size_t first = vary(a, next.order, n, now.tops, goal, &r);
		next.tops = place_from(a, next.order, n, first, next.top, &now.tops, goal);
		steps -= round;
		if (higher(next.tops, now.tops, goal)) { /* as before */
			placement_copy(&next, &now, first, n);
			placement_write(&now, a, first, n);
			steps -= round;
			continue;
		}
		placement_copy(&now, &next, first, n);
		placement_read(&now, a, first, n);
		now.tops = next.tops;
		if (higher(least, now.tops, goal)) {
			least = now.tops;
			memcpy(order, now.order, n * sizeof *order);
		}
	}
	place_from(a, order, n, 0, now.top, NULL, goal);
	placement_free(&now);
	placement_free(&next);
	return least;
}

/* The best of the first orders. */
static void first_order(struct assign *a, uint32_t *order, size_t n, struct tops goal)
{
	struct tops least = {INT64_MAX, INT64_MAX}, *top = xcalloc(n + 1, sizeof *top);
	int best = 0;

	for (int kind = 0; kind < ORDERS && !reached(least, goal); kind++) {
		sort_order(a, order, n, kind);
		struct tops t = place_from(a, order, n, 0, top, NULL, goal);
		if (higher(least, t, goal)) {
			least = t;
			best = kind;
		}
	}
	sort_order(a, order, n, best);
	free(top);
}

/* All blocks one behind the other, without sharing: for graphs in which so many are alive at once that looking for gaps takes too long. */
static int64_t in_a_row(struct assign *a)
{
	int64_t end = 0;

	for (size_t i = 0; i < a->n; i++) {
		a->b[i].offset = end;
		end += a->b[i].bytes;
	}
	return end;
}

static int64_t bound(const struct block *b, size_t n, bool workspaces)
{
	uint32_t calls = 0;
	int64_t live = 0, most = 0;

	for (size_t i = 0; i < n; i++)
		calls = b[i].last > calls ? b[i].last : calls;
	int64_t *change = xcalloc((size_t)calls + 2, sizeof *change);
	for (size_t i = 0; i < n; i++) {
		if (b[i].workspace && !workspaces)
			continue;
		change[b[i].first] += b[i].bytes;
		change[b[i].last + 1] -= b[i].bytes;
	}
	for (size_t c = 0; c <= calls; c++)
		if ((live += change[c]) > most)
			most = live;
	free(change);
	return most;
}

int64_t assign_bound(const struct block *b, size_t n) { return bound(b, n, false); }

/* First the values alone. Then the workspaces go into the gaps between them; for that, values may move, if they end no higher. */
static struct tops assign(struct assign *a)
{
	int64_t values = bound(a->b, a->n, false), all = bound(a->b, a->n, true);
	struct tops goal = {values + values / ENOUGH, values + values / ENOUGH}, t = {0, 0};
	uint32_t *order = xcalloc(a->n + 1, sizeof *order);
	size_t n = 0, nvalues;

	for (uint32_t i = 0; i < a->n; i++)
		if (!a->b[i].workspace)
			order[n++] = i;
	nvalues = n;
	if (n) {
		first_order(a, order, n, goal);
		t = search(a, order, n, goal);
	}
	goal.values = t.values > goal.values ? t.values : goal.values;
	goal.all = all + all / ENOUGH > goal.values ? all + all / ENOUGH : goal.values;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->b[i].workspace)
			order[n++] = i;
	if (n) {
		sort_order(a, order + nvalues, n - nvalues, BY_SIZE);
		t = search(a, order, n, goal);
	}
	free(order);
	return t;
}

int64_t assign_offsets(struct block *b, size_t n, int64_t *values)
{
	struct assign a = {.b = b, .n = n};
	struct tops t;

	a.placed = xcalloc(n + 1, sizeof *a.placed);
	a.near = xcalloc(n + 1, sizeof *a.near);
	a.met = xcalloc(n + 1, sizeof *a.met);
	if (find_neighbours(&a)) {
		t = assign(&a);
	} else {
		t.all = t.values = in_a_row(&a);
	}
	*values = t.values;
	free(a.start);
	free(a.beside);
	free(a.meets);
	free(a.placed);
	free(a.near);
	free(a.met);
	return t.all;
}
