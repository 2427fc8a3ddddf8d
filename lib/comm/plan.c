#include <math.h>
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
	p.sum = xmalloc((p.n + 1) * sizeof *p.sum);
	p.ready = xmalloc((p.n + 1) * sizeof *p.ready);
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

/* The i whose distance S_j - S_i lies in one piece of the curve, as far as one of them can still be the best: i rises
 * from head to tail, and so does key = F_i - b S_i. */
struct window {
	double a, b, begin, end;
	struct entry {
		double key;
		size_t i;
	} *e;
	size_t head, tail;
	size_t next; /* the first i that has not come in */
};

static void window_push(struct window *w, size_t i, double key)
{
	if (w->head == w->tail)
		w->head = w->tail = 0;
	while (w->tail > w->head && w->e[w->tail - 1].key >= key)
		w->tail--;
	w->e[w->tail++] = (struct entry){key, i};
}

static struct window *windows_new(const struct problem *p)
{
	size_t n = p->curve->piece.n;
	struct window *w = xcalloc(n, sizeof *w);
	for (size_t q = 0; q < n; q++) {
		const struct curve_piece *c = &p->curve->piece.a[q];
		w[q] = (struct window){.a = c->a, .b = c->b, .begin = c->from, .end = q + 1 < n ? c[1].from : INFINITY};
		w[q].e = xmalloc((p->n + 1) * sizeof *w[q].e);
	}
	return w;
}

static void windows_free(struct window *w, size_t n)
{
	for (size_t q = 0; q < n; q++)
		free(w[q].e);
	free(w);
}

/* to[j] = min over i < j of max(from[i], r_j) + T(S_j - S_i), to[0] = 0. from is nondecreasing, from[0] = 0; it may be to itself. */
static void forward(const struct problem *p, const double *from, double *to)
{
	size_t pieces = p->curve->piece.n, free_at = 0; /* max{i : from[i] <= r_j} */
	struct window *windows = windows_new(p);
	const double *sum = p->sum;
	to[0] = 0;
	for (size_t j = 1; j <= p->n; j++) {
		while (free_at + 1 < j && from[free_at + 1] <= p->ready[j])
			free_at++;
		double best = p->ready[j] + curve_at(p->curve, sum[j] - sum[free_at]);
		if (free_at + 1 == j || isinf(from[free_at + 1])) {
			to[j] = best;
			continue;
		}
		double reach = sum[j] - sum[free_at + 1];
		for (size_t q = 0; q < pieces && windows[q].begin <= reach; q++) {
			struct window *w = &windows[q];
			if (w->next <= free_at)
				w->next = free_at + 1;
			for (; w->next < j && sum[j] - sum[w->next] >= w->begin; w->next++)
				window_push(w, w->next, from[w->next] - w->b * sum[w->next]);
			while (w->head < w->tail && (w->e[w->head].i <= free_at || sum[j] - sum[w->e[w->head].i] > w->end))
				w->head++;
			if (w->head < w->tail) {
				size_t i = w->e[w->head].i;
				best = fmin(best, from[i] + (w->a + w->b * (sum[j] - sum[i])));
			}
		}
		to[j] = best;
	}
	windows_free(windows, pieces);
}

/* The least end with at most k segments. */
static double forward_at_most(const struct problem *p, size_t k)
{
	double *from = xmalloc((p->n + 1) * sizeof *from), *to = xmalloc((p->n + 1) * sizeof *to), end;
	for (size_t j = 0; j <= p->n; j++)
		to[j] = j ? INFINITY : 0;
	for (size_t layer = 0; layer < k; layer++) {
		double *t = from;
		from = to;
		to = t;
		forward(p, from, to);
	}
	end = to[p->n];
	free(from);
	free(to);
	return end;
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
	const double *least; /* F: when prefix i can be sent at the earliest */
	double *by;          /* the latest yet of prefix i; -INFINITY: it cannot be the start of a plan */
	VEC(struct state) state;
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
		double most = fmin(w->end, s->most);
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

/* One segment more in front of the states [start, stop), whose i falls: new states behind stop, i falling. */
static void layer_back(struct backward *b, size_t start, size_t stop)
{
	size_t pieces = b->p->curve->piece.n;
	const double *sum = b->p->sum;
	for (size_t q = 0; q < pieces; q++) {
		b->piece[q].heap.n = 0;
		b->piece[q].entered = start;
	}
	for (size_t i = b->state.a[start].i; i-- > 0;) {
		double best = -INFINITY;
		uint32_t next = 0;
		for (size_t q = 0; q < pieces; q++) {
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
		if (best > b->by[i] + 1e-15 * fabs(best) && best >= b->least[i])
			state_push(b, i, best, next);
	}
}

/* The plan with the fewest segments that ends by the deadline, which is one that a plan meets. least: F. */
static void fewest(struct plan *out, const struct problem *p, const double *least, double deadline)
{
	size_t pieces = p->curve->piece.n;
	struct backward b = {.p = p, .least = least};
	b.by = xmalloc((p->n + 1) * sizeof *b.by);
	b.piece = xcalloc(pieces, sizeof *b.piece);
	for (size_t q = 0; q < pieces; q++) {
		const struct curve_piece *c = &p->curve->piece.a[q];
		b.piece[q] = (struct sources){.a = c->a, .b = c->b, .begin = c->from, .end = q + 1 < pieces ? c[1].from : INFINITY};
	}
	for (size_t i = 0; i <= p->n; i++)
		b.by[i] = -INFINITY;
	/* Sums in another order differ in their last bits: the deadline gives way by more than that. */
	deadline *= 1 + 1e-12;
	state_push(&b, p->n, deadline, 0);
	for (size_t start = 0; b.state.a[b.state.n - 1].i;) {
		size_t stop = b.state.n;
		layer_back(&b, start, stop);
		if (b.state.n == stop)
			BUG("no plan ends by %.17g", deadline);
		start = stop;
	}
	out->last.n = 0;
	for (uint32_t s = (uint32_t)b.state.n - 1; b.state.a[s].i < p->n;) {
		s = b.state.a[s].next;
		vec_push(&out->last, b.state.a[s].i - 1);
	}
	for (size_t q = 0; q < pieces; q++)
		vec_free(&b.piece[q].heap);
	free(b.piece);
	free(b.by);
	vec_free(&b.state);
}

void plan_best(struct plan *out, const struct grads *g, const struct curve *c, size_t k, double slack)
{
	out->last.n = 0;
	if (!g->at.n)
		return;
	struct problem p = problem_new(g, c);
	double *least = xmalloc((p.n + 1) * sizeof *least);
	forward(&p, least, least);
	fewest(out, &p, least, least[p.n] * (1 + slack));
	if (k && out->last.n > k)
		fewest(out, &p, least, forward_at_most(&p, k) * (1 + slack));
	if (slack > 0)
		fewest(out, &p, least, forward_at_most(&p, out->last.n));
	free(least);
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
