#include <math.h>
#include <string.h>
#include "comm/huge.h"
#include "comm/plan.h"
#include "common/arena.h"
#include "common/msg.h"

struct problem {
	size_t n;
	double *sum, *ready; /* [0..n]: bytes of the first j tensors, ready time of the j-th; both 0 at 0 */
	const struct curve *curve;
};

static struct problem problem_new(const struct grads *g, const struct curve *c)
{
	struct problem p = {.n = g->at.n, .curve = c};
	p.sum = huge_alloc((p.n + 1) * sizeof *p.sum);
	p.ready = huge_alloc((p.n + 1) * sizeof *p.ready);
	p.sum[0] = p.ready[0] = 0;
	for (size_t j = 1; j <= p.n; j++) {
		p.sum[j] = p.sum[j - 1] + g->at.a[j - 1].bytes;
		p.ready[j] = g->at.a[j - 1].ready;
	}
	return p;
}

static void problem_free(struct problem *p)
{
	free(p->sum);
	free(p->ready);
}

/* Prefixes and when each is sent at the earliest (with any number of segments, or with so many); neither falls. */
struct front {
	struct prefix {
		double end, sum;
		size_t i;
	} *a;
	size_t n;
};

static struct front front_new(const struct problem *p)
{
	struct front f = {.a = huge_alloc((p->n + 1) * sizeof *f.a), .n = 1};
	f.a[0] = (struct prefix){0};
	return f;
}

/* The prefixes of a front whose distance S_j - S_i lies in one piece of the curve, as far as one of them can still be
 * the best: from head to tail the place in the front rises, and so does key = F_i - b S_i. */
struct window {
	double a, b, begin, end;
	struct entry {
		double key;
		size_t at;
	} *e;
	size_t head, tail, cap;
	size_t next; /* the first prefix that has not come in */
};

static void window_push(struct window *w, size_t at, double key)
{
	while (w->tail > w->head && w->e[w->tail - 1].key >= key)
		w->tail--;
	if (w->tail == w->cap) {
		size_t n = w->tail - w->head;
		if (n > w->cap / 2) {
			w->cap *= 2;
			w->e = xrealloc(w->e, w->cap * sizeof *w->e);
		}
		memmove(w->e, w->e + w->head, n * sizeof *w->e);
		w->head = 0;
		w->tail = n;
	}
	w->e[w->tail++] = (struct entry){key, at};
}

static struct window *windows_new(const struct curve *c)
{
	size_t n = c->piece.n;
	struct window *w = xcalloc(n, sizeof *w);
	for (size_t q = 0; q < n; q++) {
		const struct curve_piece *p = &c->piece.a[q];
		w[q] = (struct window){.a = p->a, .b = p->b, .begin = p->from, .end = q + 1 < n ? p[1].from : INFINITY, .cap = 64};
		w[q].e = xmalloc(w[q].cap * sizeof *w[q].e);
	}
	return w;
}

static void windows_free(struct window *w, size_t n)
{
	for (size_t q = 0; q < n; q++)
		free(w[q].e);
	free(w);
}

/* The least F_i + T(x - S_i) over prefixes i < j of the front, from its place `first`, whose x - S_i lies in the piece. */
static double window_least(struct window *w, const struct front *f, size_t first, size_t j, double x)
{
	if (w->next < first)
		w->next = first;
	for (; w->next < f->n && f->a[w->next].i < j && x - f->a[w->next].sum >= w->begin; w->next++)
		window_push(w, w->next, f->a[w->next].end - w->b * f->a[w->next].sum);
	while (w->head < w->tail && (w->e[w->head].at < first || x - f->a[w->e[w->head].at].sum > w->end))
		w->head++;
	if (w->head == w->tail)
		return INFINITY;
	const struct prefix *i = &f->a[w->e[w->head].at];
	return i->end + (w->a + w->b * (x - i->sum));
}

/* One segment more: to gets, for j from `first`, the least max(F_i, r_j) + T(S_j - S_i) over the i < j of from; 0 is there
 * from the start. With to == from any number of segments more. Prefixes that would be sent later than by[j], and those
 * of which a longer one is sent as early, are left out (by NULL: none is for that). */
static void forward(const struct problem *p, const struct front *from, struct front *to, size_t first, const double *by)
{
	size_t pieces = p->curve->piece.n, at = 0; /* from.a[at]: the last prefix sent when j is ready */
	size_t later = 0;                          /* the first of from that is no shorter than j */
	double floor = 0;
	struct window *windows = windows_new(p->curve);
	if (to != from)
		to->n = 0;
	if (to != from && first == 0)
		to->a[to->n++] = (struct prefix){0};
	for (size_t j = first > from->a[0].i ? first : from->a[0].i + 1; j <= p->n; j++) {
		double x = p->sum[j], ready = p->ready[j];
		if (by && by[j] < floor)
			continue;
		while (at + 1 < from->n && from->a[at + 1].i < j && from->a[at + 1].end <= ready)
			at++;
		double start = from->a[at].end, best = (start > ready ? start : ready) + curve_at(p->curve, x - from->a[at].sum);
		if (at + 1 < from->n && from->a[at + 1].i < j) {
			for (size_t q = 0; q < pieces && windows[q].begin <= x - from->a[at + 1].sum; q++) {
				double end = window_least(&windows[q], from, at + 1, j, x);
				best = end < best ? end : best;
			}
		}
		if (by) { /* what follows is sent no sooner than this, or behind a later one of from */
			for (; later < from->n && from->a[later].i < j; later++)
				;
			floor = later < from->n && from->a[later].end < best ? from->a[later].end : best;
			if (best > by[j])
				continue;
		}
		while (to != from && to->n && to->a[to->n - 1].end > best)
			to->n--;
		to->a[to->n++] = (struct prefix){best, x, j};
	}
	windows_free(windows, pieces);
}

/* Prefix i must be sent by `by` so that the segments behind it, which begin with (i, next's i], meet the deadline. */
struct state {
	double by, most; /* most: bytes of the segment in front of it that starts no sooner than its last tensor is ready */
	uint32_t i, next;
};

/* Sources for one piece of the curve: a heap by key = by - b S_j, the highest on top, each good for S_i >= reach. */
struct source {
	double key, reach;
	uint32_t state;
};
struct sources {
	double a, b, begin, end;
	VEC(struct source) heap;
	size_t entered; /* states of the layer before this one have come in */
};

struct backward {
	const struct problem *p;
	const struct front *least; /* F: when prefix i can be sent at the earliest, for all i */
	double *by;                /* the latest yet of prefix i; -INFINITY: it cannot be the start of a plan */
	VEC(struct state) state;
	VEC(size_t) low;           /* [m]: the shortest prefix that m segments can follow */
	struct sources *piece;
};

static void heap_down(struct source *h, size_t n, size_t i)
{
	struct source s = h[i];
	for (size_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && h[child + 1].key > h[child].key)
			child++;
		if (h[child].key <= s.key)
			break;
		h[i] = h[child];
	}
	h[i] = s;
}

static void heap_push(struct sources *w, struct source s)
{
	struct source *top = w->heap.a;
	if (w->heap.n && top->key >= s.key && top->reach <= s.reach)
		return; /* never better than the top, and gone before it */
	if (w->heap.n && top->key <= s.key && top->reach >= s.reach) {
		*top = s;
		return;
	}
	vec_push(&w->heap, s);
	size_t i = w->heap.n - 1;
	for (; i && w->heap.a[(i - 1) / 2].key < s.key; i = (i - 1) / 2)
		w->heap.a[i] = w->heap.a[(i - 1) / 2];
	w->heap.a[i] = s;
}

static void heap_pop(struct sources *w)
{
	w->heap.a[0] = w->heap.a[--w->heap.n];
	if (w->heap.n)
		heap_down(w->heap.a, w->heap.n, 0);
}

/* Lets in the states up to stop whose distance from i lies in the piece, drops those that cannot reach i. */
static void sources_move(struct backward *b, struct sources *w, size_t stop, size_t i)
{
	const double *sum = b->p->sum;
	for (; w->entered < stop; w->entered++) {
		const struct state *s = &b->state.a[w->entered];
		double at = sum[s->i];
		if (s->i <= i || at - sum[i] < w->begin)
			break;
		double most = s->most < w->end ? s->most : w->end;
		if (most >= at - sum[i])
			heap_push(w, (struct source){s->by - w->b * at, at - most, (uint32_t)w->entered});
	}
	while (w->heap.n && w->heap.a[0].reach > sum[i])
		heap_pop(w);
}

static void state_push(struct backward *b, size_t i, double by, uint32_t next)
{
	double most = curve_inverse(b->p->curve, by - b->p->ready[i]);
	b->by[i] = by;
	vec_push(&b->state, (struct state){by, most, (uint32_t)i, next});
}

/* The state of [start, stop) in front of which one segment can hold all that is left, and which leaves most time; 0: none. */
static uint32_t finish(const struct backward *b, size_t start, size_t stop)
{
	uint32_t found = 0;
	double most = 0;
	for (size_t s = start; s < stop; s++) {
		double all = b->p->sum[b->state.a[s].i];
		if (b->state.a[s].most < all)
			continue;
		double left = b->state.a[s].by - curve_at(b->p->curve, all);
		if (left >= most)
			found = (uint32_t)s + 1, most = left;
	}
	return found;
}

/* One segment more in front of the states [start, stop), whose i falls: new states behind stop, i falling. */
static void layer_back(struct backward *b, size_t start, size_t stop)
{
	size_t pieces = b->p->curve->piece.n;
	const double *sum = b->p->sum;
	for (size_t q = 0; q < pieces; q++) {
		b->piece[q].heap.n = 0;
		b->piece[q].entered = start;
	}
	size_t first = 0; /* pieces before it are done with */
	for (size_t i = b->state.a[start].i; i-- > 0;) {
		double best = -INFINITY;
		uint32_t next = 0;
		while (first < pieces && b->piece[first].entered == stop && !b->piece[first].heap.n)
			first++;
		for (size_t q = first; q < pieces; q++) {
			struct sources *w = &b->piece[q];
			if (sum[b->state.a[start].i] - sum[i] < w->begin)
				break;
			sources_move(b, w, stop, i);
			if (!w->heap.n)
				continue;
			const struct state *s = &b->state.a[w->heap.a[0].state];
			double by = s->by - (w->a + w->b * (sum[s->i] - sum[i]));
			if (by > best)
				best = by, next = w->heap.a[0].state;
		}
		if (best == -INFINITY) { /* on to the next source */
			if (b->piece[0].entered == stop)
				break;
			i = b->state.a[b->piece[0].entered].i;
			continue;
		}
		if (best > b->by[i] + 1e-15 * fabs(best) && best >= b->least->a[i].end)
			state_push(b, i, best, next);
	}
}

static void backward_new(struct backward *b, const struct problem *p, const struct front *least)
{
	size_t pieces = p->curve->piece.n;
	*b = (struct backward){.p = p, .least = least};
	b->by = huge_alloc((p->n + 1) * sizeof *b->by);
	b->piece = xcalloc(pieces, sizeof *b->piece);
	for (size_t q = 0; q < pieces; q++) {
		const struct curve_piece *c = &p->curve->piece.a[q];
		b->piece[q] = (struct sources){.a = c->a, .b = c->b, .begin = c->from, .end = q + 1 < pieces ? c[1].from : INFINITY};
	}
}

static void backward_free(struct backward *b)
{
	for (size_t q = 0; q < b->p->curve->piece.n; q++)
		vec_free(&b->piece[q].heap);
	free(b->piece);
	free(b->by);
	vec_free(&b->state);
	vec_free(&b->low);
}

/* The plan with the fewest segments that ends by the deadline, which is one that a plan meets. */
static void fewest(struct plan *out, struct backward *b, double deadline)
{
	size_t n = b->p->n;
	for (size_t i = 0; i <= n; i++)
		b->by[i] = -INFINITY;
	out->last.n = b->state.n = b->low.n = 0;
	/* Sums in another order differ in their last bits: the deadline gives way by more than that. */
	deadline *= 1 + 1e-12;
	state_push(b, n, deadline, 0);
	vec_push(&b->low, n);
	for (size_t start = 0, stop; b->low.a[b->low.n - 1]; start = stop) {
		stop = b->state.n;
		uint32_t last_but_one = finish(b, start, stop);
		if (last_but_one)
			state_push(b, 0, 0, last_but_one - 1);
		else
			layer_back(b, start, stop);
		if (b->state.n == stop)
			BUG("no plan ends by %.17g", deadline);
		size_t last = b->state.a[b->state.n - 1].i, low = b->low.a[b->low.n - 1];
		vec_push(&b->low, last < low ? last : low);
	}
	for (uint32_t s = (uint32_t)b->state.n - 1; b->state.a[s].i < n;) {
		s = b->state.a[s].next;
		vec_push(&out->last, b->state.a[s].i - 1);
	}
}

/* The least end with at most k segments. With b, k is the fewest that meet its deadline, and only prefixes that can begin
 * such a plan are looked at. */
static double forward_at_most(const struct problem *p, size_t k, const struct backward *b)
{
	struct front from = front_new(p), to = front_new(p);
	for (size_t layer = 1; layer <= k; layer++) {
		struct front t = from;
		forward(p, &from, &to, layer == k ? p->n : b ? b->low.a[k - layer] : 0, b ? b->by : NULL);
		from = to;
		to = t;
	}
	double end = from.a[from.n - 1].end;
	free(from.a);
	free(to.a);
	return end;
}

void plan_best(struct plan *out, const struct grads *g, const struct curve *c, size_t k, double slack)
{
	out->last.n = 0;
	if (!g->at.n)
		return;
	struct problem p = problem_new(g, c);
	struct front least = front_new(&p);
	struct backward b;
	backward_new(&b, &p, &least);
	forward(&p, &least, &least, 1, NULL);
	double end = least.a[p.n].end;
	if (k || slack == 0)
		fewest(out, &b, end);
	if (k && out->last.n > k) {
		end = forward_at_most(&p, k, NULL);
		if (slack == 0)
			fewest(out, &b, end);
	}
	if (slack > 0) {
		fewest(out, &b, end * (1 + slack));
		fewest(out, &b, forward_at_most(&p, out->last.n, &b));
	}
	backward_free(&b);
	free(least.a);
	problem_free(&p);
}

struct plan_cost plan_cost(const struct plan *p, const struct grads *g, const struct curve *c)
{
	struct plan_cost r = {.segments = p->last.n};
	size_t i = 0;
	for (size_t s = 0; s < p->last.n; s++) {
		double bytes = 0;
		for (; i <= p->last.a[s]; i++)
			bytes += g->at.a[i].bytes;
		double us = curve_at(c, bytes);
		r.end = fmax(r.end, g->at.a[i - 1].ready) + us;
		r.busy += us;
	}
	r.tail = g->at.n ? fmax(0, r.end - g->at.a[g->at.n - 1].ready) : 0;
	return r;
}

double plan_lower_bound(const struct grads *g, const struct curve *c)
{
	double bound = 0, left = 0, rate = INFINITY; /* rate: min T(y)/y at the points up to x = left */
	size_t point = 0;
	for (size_t j = g->at.n; j-- > 0;) {
		left += g->at.a[j].bytes;
		for (; point < c->piece.n && c->piece.a[point].from <= left; point++)
			if (c->piece.a[point].from > 0)
				rate = fmin(rate, curve_at(c, c->piece.a[point].from) / c->piece.a[point].from);
		double all = fmin(curve_at(c, left), left * rate);
		bound = fmax(bound, g->at.a[j].ready + fmax(left > 0 ? all : 0, curve_at(c, g->at.a[j].bytes)));
	}
	return bound;
}

void plan_free(struct plan *p)
{
	vec_free(&p->last);
}
