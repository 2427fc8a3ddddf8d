#include <math.h>
#include <string.h>
#include "comm/huge.h"
#include "comm/plan.h"
#include "common/arena.h"
#include "common/msg.h"

struct problem {
	size_t n;
	double *sum; /* [0..n]: bytes of the first j tensors */
	const struct grad *grad;
	const struct curve *curve;
};

static struct problem problem_new(const struct grads *g, const struct curve *c)
{
	struct problem p = {.n = g->at.n, .grad = g->at.a, .curve = c};
	p.sum = huge_alloc((p.n + 1) * sizeof *p.sum);
	p.sum[0] = 0;
	for (size_t j = 1; j <= p.n; j++)
		p.sum[j] = p.sum[j - 1] + p.grad[j - 1].bytes;
	return p;
}

static void problem_free(struct problem *p) { free(p->sum); }

/* When the j-th tensor is ready; for j = 0, at once. */
static double ready_at(const struct problem *p, size_t j) { return j ? p->grad[j - 1].ready : 0; }

/* Prefixes, and the earliest time at which each can have been sent (by any number of segments, or by so many); both rise. */
struct front {
	struct prefix {
		double end;
		uint32_t i;
	} * a;
	size_t n;
};

static struct front front_new(const struct problem *p)
{
	struct front f = {.a = huge_alloc((p->n + 1) * sizeof *f.a), .n = 1};
	f.a[0] = (struct prefix){0};
	return f;
}

/* Room for one more element behind tail: what is left from head on moves to the front, or the queue grows. Its place. */
static void *queue_room(void *e, size_t size, size_t *head, size_t *tail, size_t *cap)
{
	size_t n = *tail - *head;

	if (*tail < *cap)
		return e;
	if (n > *cap / 2) {
		*cap *= 2;
		e = xrealloc(e, *cap * size);
	}
	memmove(e, (char *)e + *head * size, n * size);
	*head = 0;
	*tail = n;
	return e;
}

/* The prefixes of a front whose distance S_j - S_i lies in one piece of the curve, without those that can no longer be the best: from
 * head to tail both the place in the front and key = F_i - b S_i rise. */
struct window {
	double a, b, begin, end;
	struct entry {
		double key;
		size_t at;
	} * e;
	size_t head, tail, cap;
	size_t next; /* the first prefix that has not entered yet */
};

static void window_push(struct window *w, size_t at, double key)
{
	while (w->tail > w->head && w->e[w->tail - 1].key >= key)
		w->tail--;
	w->e = queue_room(w->e, sizeof *w->e, &w->head, &w->tail, &w->cap);
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

/* The least F_i + T(x - S_i) over those prefixes i < j of the front, from place `first` on, whose x - S_i lies in the piece. *place:
 * which prefix that is, if the least is below INFINITY. */
static double window_least(struct window *w, const struct problem *p, const struct front *f, size_t first, size_t j, double x,
			   size_t *place)
{
	if (w->next < first)
		w->next = first;
	for (; w->next < f->n && f->a[w->next].i < j && x - p->sum[f->a[w->next].i] >= w->begin; w->next++)
		window_push(w, w->next, f->a[w->next].end - w->b * p->sum[f->a[w->next].i]);
	while (w->head < w->tail && (w->e[w->head].at < first || x - p->sum[f->a[w->e[w->head].at].i] > w->end))
		w->head++;
	if (w->head == w->tail)
		return INFINITY;
	*place = w->e[w->head].at;
	const struct prefix *i = &f->a[*place];
	return i->end + (w->a + w->b * (x - p->sum[i->i]));
}

/* One segment more: the least max(F_i, r_j) + T(S_j - S_i) over all i < j in `from`. j rises from call to call. */
struct step {
	const struct problem *p;
	const struct front *from;
	struct window *windows;
	size_t at;      /* from.a[at]: the last prefix sent when j is ready */
	size_t best;    /* the i of the least, as a place in from */
	double latency; /* no segment takes less */
};

static struct step step_new(const struct problem *p, const struct front *from)
{
	return (struct step){.p = p, .from = from, .windows = windows_new(p->curve), .latency = curve_at(p->curve, 0)};
}

static void step_free(struct step *s) { windows_free(s->windows, s->p->curve->piece.n); }

static double step_least(struct step *s, size_t j)
{
	const struct problem *p = s->p;
	const struct front *from = s->from;
	double x = p->sum[j], ready = ready_at(p, j);
	while (s->at + 1 < from->n && from->a[s->at + 1].i < j && from->a[s->at + 1].end <= ready)
		s->at++;
	double start = from->a[s->at].end, best = (start > ready ? start : ready) + curve_at(p->curve, x - p->sum[from->a[s->at].i]);
	s->best = s->at;
	if (s->at + 1 == from->n || from->a[s->at + 1].i >= j)
		return best;
	/* The long segments first. The prefixes before shorter segments are sent later than all those looked at before, which gives a
	 * bound. */
	size_t first = s->at + 1, q = p->curve->piece.n;
	double most = x - p->sum[from->a[first].i];
	while (q > 1 && s->windows[q - 1].begin > most)
		q--;
	while (q-- > 0 && first < from->n && from->a[first].end + s->latency < best) {
		size_t place = 0;
		double end = window_least(&s->windows[q], p, from, first, j, x, &place);
		if (end < best)
			best = end, s->best = place;
		first = s->windows[q].next;
	}
	return best;
}

/* Adds a prefix longer than those that are there; of these, the ones that are not sent earlier are dropped. */
static void front_add(struct front *f, size_t first, struct prefix p)
{
	while (f->n > first && f->a[f->n - 1].end > p.end)
		f->n--;
	f->a[f->n++] = p;
}

/* Any number of segments. */
static struct front forward_any(const struct problem *p)
{
	struct front f = front_new(p);
	struct step s = step_new(p, &f);
	for (size_t j = 1; j <= p->n; j++) {
		double end = step_least(&s, j);
		f.a[f.n++] = (struct prefix){end, (uint32_t)j};
	}
	step_free(&s);
	return f;
}

/* The least end with at most k segments. */
static double forward_at_most(const struct problem *p, size_t k)
{
	struct front from = front_new(p), to = front_new(p);
	for (size_t layer = 1; layer <= k; layer++) {
		struct step s = step_new(p, &from);
		to.n = 0;
		if (layer < k)
			to.a[to.n++] = (struct prefix){0};
		for (size_t j = layer < k ? 1 : p->n; j <= p->n; j++)
			front_add(&to, 0, (struct prefix){step_least(&s, j), (uint32_t)j});
		step_free(&s);
		struct front t = from;
		from = to;
		to = t;
	}
	double end = from.a[from.n - 1].end;
	free(from.a);
	free(to.a);
	return end;
}

/* A prefix i that must have been sent by time `by`, so that the segments after it, the first of which ends with prefix next's i, meet
 * the deadline. */
struct state {
	double by, most; /* most: bytes that the segment before it may have if it starts no earlier than its last tensor is ready */
	uint32_t i, next;
};

/* States for one piece of the curve, each usable for S_i >= reach. From head to tail key = by - b S_j falls, and so does reach: a state
 * with a smaller key and a larger reach than another is never needed. */
struct sources {
	double a, b, begin, end;
	struct source {
		double key, reach;
		uint32_t state;
	} * e;
	size_t head, tail, cap;
	size_t entered; /* states of the layer before that have entered, or were passed over */
};

struct backward {
	const struct problem *p;
	const struct front *least; /* F: when prefix i can be sent at the earliest, for all i */
	double *by;                /* the latest time found so far for prefix i; -INFINITY: no plan can continue from it */
	VEC(struct state) state;
	VEC(size_t) layer; /* [m]: where the states that m segments follow begin; the last one is where they all end */
	struct sources *piece;
	double latency; /* no segment takes less */
	double deadline;
	bool line;              /* T is one line: then there are no states, only `shortest` */
	VEC(uint32_t) shortest; /* [m]: the shortest prefix that m segments can follow, but not fewer */
};

/* Keys hardly rise (for a line they never do), so its place is near the tail. */
static void sources_push(struct sources *w, struct source s)
{
	w->e = queue_room(w->e, sizeof *w->e, &w->head, &w->tail, &w->cap);
	size_t at = w->tail, behind;
	while (at > w->head && w->e[at - 1].key <= s.key)
		at--;
	if ((at > w->head && w->e[at - 1].reach <= s.reach) || (at < w->tail && w->e[at].key == s.key && w->e[at].reach <= s.reach))
		return;
	for (behind = at; behind < w->tail && w->e[behind].reach >= s.reach; behind++)
		;
	if (behind != at + 1 && behind < w->tail)
		memmove(w->e + at + 1, w->e + behind, (w->tail - behind) * sizeof *w->e);
	w->tail += at + 1 - behind;
	w->e[at] = s;
}

/* Enters the states up to stop whose distance from i lies in the piece, except those before `first`; drops those that cannot reach i.
 * false: none is left. */
static bool sources_move(struct backward *b, struct sources *w, size_t first, size_t stop, size_t i)
{
	const double *sum = b->p->sum;
	if (w->entered < first)
		w->entered = first;
	for (; w->entered < stop; w->entered++) {
		const struct state *s = &b->state.a[w->entered];
		double at = sum[s->i];
		if (s->i <= i || at - sum[i] < w->begin)
			break;
		double most = s->most < w->end ? s->most : w->end;
		if (most >= at - sum[i])
			sources_push(w, (struct source){s->by - w->b * at, at - most, (uint32_t)w->entered});
	}
	while (w->head < w->tail && w->e[w->head].reach > sum[i])
		w->head++;
	return w->head < w->tail;
}

static void state_push(struct backward *b, size_t i, double by, uint32_t next)
{
	double most = curve_inverse(b->p->curve, by - ready_at(b->p, i));
	b->by[i] = by;
	vec_push(&b->state, (struct state){by, most, (uint32_t)i, next});
}

/* The state of [start, stop) before which one segment can hold all that is left, and which leaves most time; 0: none. */
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

/* The latest time by which prefix i must have been sent to continue with a state of [start, stop), and that state; `enough` if there is
 * no later one. The long segments first: prefixes before shorter ones must have been sent earlier, which gives a bound. */
static double latest(struct backward *b, size_t start, size_t stop, size_t i, double enough, uint32_t *next)
{
	const double *sum = b->p->sum;
	double best = enough, distance = sum[b->state.a[start].i] - sum[i];
	size_t q = b->p->curve->piece.n, first = start;
	while (q > 1 && b->piece[q - 1].begin > distance)
		q--;
	while (q-- > 0 && first < stop && b->state.a[first].by - b->latency > best) {
		struct sources *w = &b->piece[q];
		if (sources_move(b, w, first, stop, i)) {
			const struct state *s = &b->state.a[w->e[w->head].state];
			double by = s->by - (w->a + w->b * (sum[s->i] - sum[i]));
			if (by > best)
				best = by, *next = w->e[w->head].state;
		}
		first = w->entered;
	}
	return best;
}

/* One segment more before the states [start, stop), whose i falls: appends new states, i falling. */
static void layer_back(struct backward *b, size_t start, size_t stop)
{
	for (size_t q = 0; q < b->p->curve->piece.n; q++) {
		b->piece[q].head = b->piece[q].tail = 0;
		b->piece[q].entered = start;
	}
	double reach = INFINITY; /* bytes of the shortest prefix that the states up to `seen` reach */
	size_t seen = start;
	for (size_t i = b->state.a[start].i; i-- > 0;) {
		for (; seen < stop && b->state.a[seen].i > i; seen++)
			reach = fmin(reach, b->p->sum[b->state.a[seen].i] - b->state.a[seen].most);
		if (b->p->sum[i] < reach && seen == stop)
			break;
		if (b->p->sum[i] < reach) { /* the next state */
			i = b->state.a[seen].i;
			continue;
		}
		uint32_t next = 0;
		double least = b->least->a[i].end, enough = (least > b->by[i] ? least : b->by[i]) * (1 + 1e-15),
		       by = latest(b, start, stop, i, enough, &next);
		if (by > enough)
			state_push(b, i, by, next);
	}
}

static void backward_new(struct backward *b, const struct problem *p, const struct front *least)
{
	size_t pieces = p->curve->piece.n;
	*b = (struct backward){.p = p, .least = least, .latency = curve_at(p->curve, 0), .line = pieces == 1};
	if (b->line)
		return;
	b->by = huge_alloc((p->n + 1) * sizeof *b->by);
	b->state.a = huge_alloc((p->n + 1) * sizeof *b->state.a);
	b->state.cap = p->n + 1;
	b->piece = xcalloc(pieces, sizeof *b->piece);
	for (size_t q = 0; q < pieces; q++) {
		const struct curve_piece *c = &p->curve->piece.a[q];
		b->piece[q] =
			(struct sources){.a = c->a, .b = c->b, .begin = c->from, .end = q + 1 < pieces ? c[1].from : INFINITY, .cap = 64};
		b->piece[q].e = xmalloc(b->piece[q].cap * sizeof *b->piece[q].e);
	}
}

static void backward_free(struct backward *b)
{
	for (size_t q = 0; b->piece && q < b->p->curve->piece.n; q++)
		free(b->piece[q].e);
	free(b->piece);
	free(b->by);
	vec_free(&b->state);
	vec_free(&b->layer);
	vec_free(&b->shortest);
}

/* Sums in another order differ in their last bits, by up to one for each of n additions. A deadline is extended by more than that, and
 * is never 0. */
static double deadline_rounded(double deadline, size_t n) { return deadline * (1 + 1e-12 + 0x1p-52 * (double)n) + 1e-300; }

/* For T = a + b x: prefix i must have been sent by D - m a - b (S_L - S_i), so that m segments after it meet the deadline; this holds
 * for all prefixes that m segments can follow. */
static double line_by(const struct backward *b, size_t m, size_t i)
{
	const struct curve_piece *t = b->p->curve->piece.a;
	return b->deadline - (double)m * t->a - t->b * (b->p->sum[b->p->n] - b->p->sum[i]);
}

/* Does a plan of `most` segments end by the deadline? b->shortest then says which. Of the prefixes that m - 1 segments can follow, the
 * shortest is ready first, and it serves all shorter ones: each layer needs only that one. */
static bool line_meets(struct backward *b, double deadline, size_t most)
{
	size_t n = b->p->n, next = n;
	b->deadline = deadline_rounded(deadline, n);
	b->shortest.n = 0;
	vec_push(&b->shortest, (uint32_t)n);
	for (size_t m = 1; next > 0; m++) {
		size_t i = 0, end = next;
		double ready = ready_at(b->p, next);
		if (m > most)
			return false;
		while (i < end) { /* the first prefix that may be sent so late that the segment after it is ready */
			size_t mid = i + (end - i) / 2;
			if (line_by(b, m, mid) < ready)
				i = mid + 1;
			else
				end = mid;
		}
		while (i < next && line_by(b, m, i) < b->least->a[i].end)
			i++;
		if (i == next)
			return false;
		vec_push(&b->shortest, (uint32_t)i);
		next = i;
	}
	return true;
}

static void line_plan(struct plan *out, const struct backward *b)
{
	out->last.n = 0;
	for (size_t l = b->shortest.n - 1; l-- > 0;)
		vec_push(&out->last, b->shortest.a[l] - 1);
}

static double line_end(const struct plan *p, const struct backward *b)
{
	double end = 0;
	for (size_t s = 0, i = 0; s < p->last.n; i = p->last.a[s++] + (size_t)1) {
		size_t j = p->last.a[s] + (size_t)1;
		end = fmax(end, ready_at(b->p, j)) + curve_at(b->p->curve, b->p->sum[j] - b->p->sum[i]);
	}
	return end;
}

/* The plan with the fewest segments that ends by the deadline, which some plan meets. */
static void fewest(struct plan *out, struct backward *b, double deadline)
{
	size_t n = b->p->n;
	out->last.n = b->state.n = b->layer.n = 0;
	if (b->line) {
		if (!line_meets(b, deadline, n))
			BUG("no plan ends by %.17g", b->deadline);
		line_plan(out, b);
		return;
	}
	b->deadline = deadline = deadline_rounded(deadline, n);
	for (size_t i = 0; i <= n; i++)
		b->by[i] = -INFINITY;
	state_push(b, n, deadline, 0);
	vec_push(&b->layer, 0);
	for (size_t start = 0, stop; b->state.a[b->state.n - 1].i; start = stop) {
		stop = b->state.n;
		vec_push(&b->layer, stop);
		uint32_t last_but_one = finish(b, start, stop);
		if (last_but_one)
			state_push(b, 0, 0, last_but_one - 1);
		else
			layer_back(b, start, stop);
		if (b->state.n == stop)
			BUG("no plan ends by %.17g", deadline);
	}
	vec_push(&b->layer, b->state.n);
	for (uint32_t s = (uint32_t)b->state.n - 1; b->state.a[s].i < n;) {
		s = b->state.a[s].next;
		vec_push(&out->last, b->state.a[s].i - 1);
	}
}

/* Of all plans with as few segments as fewest() found, the one that ends first. The prefix that ends with segment l of m is a state of
 * layer m - l: as a state of an earlier layer, it would give a plan with fewer segments. So all layers together look at each state
 * once. Uses the memory of `least`, which is no longer needed. */
static void earliest(struct plan *out, const struct backward *b, struct front *least)
{
	size_t m = out->last.n, total = b->state.n + 1, start = 0, stop = 1; /* the layer before is all[start, stop) */
	struct front all = {.a = total > b->p->n + 1 ? xrealloc(least->a, total * sizeof *all.a) : least->a, .n = 1};
	uint32_t *before = huge_alloc(total * sizeof *before);
	double rounding = 1e-12 * b->deadline;
	all.a[0] = (struct prefix){0};
	for (size_t l = 1; l <= m; l++) {
		struct front from = {all.a + start, stop - start};
		struct step s = step_new(b->p, &from);
		for (size_t k = b->layer.a[m - l + 1]; k-- > b->layer.a[m - l];) {
			const struct state *t = &b->state.a[k];
			if (t->i <= from.a[0].i)
				continue;
			double end = step_least(&s, t->i);
			if (end > t->by + rounding)
				continue;
			front_add(&all, stop, (struct prefix){end, t->i});
			before[all.n - 1] = (uint32_t)(start + s.best);
		}
		step_free(&s);
		if (all.n == stop)
			BUG("no plan of %zu segments ends by %.17g", m, b->deadline);
		start = stop;
		stop = all.n;
	}
	for (size_t k = stop - 1; m-- > 0; k = before[k])
		out->last.a[m] = all.a[k].i - 1;
	least->a = all.a;
	free(before);
}

/* earliest() for one line, by bisection: the least deadline that as many segments meet lies between lo and the end of the plan found. */
static void earliest_line(struct plan *out, struct backward *b, double lo)
{
	size_t m = out->last.n;
	double hi = line_end(out, b);
	while (hi - lo > 1e-13 * hi) {
		double mid = lo + (hi - lo) / 2;
		if (line_meets(b, mid, m)) {
			line_plan(out, b);
			hi = fmin(mid, line_end(out, b));
		} else {
			lo = mid;
		}
	}
}

void plan_best(struct plan *out, const struct grads *g, const struct curve *c, size_t k, double slack)
{
	out->last.n = 0;
	if (!g->at.n)
		return;
	struct problem p = problem_new(g, c);
	struct front least = forward_any(&p);
	struct backward b;
	backward_new(&b, &p, &least);
	double end = least.a[p.n].end;
	if (k || slack == 0)
		fewest(out, &b, end);
	if (k && out->last.n > k) {
		end = forward_at_most(&p, k);
		if (slack == 0)
			fewest(out, &b, end);
	}
	if (slack > 0) {
		fewest(out, &b, end * (1 + slack));
		if (b.line)
			earliest_line(out, &b, end);
		else
			earliest(out, &b, &least);
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

void plan_free(struct plan *p) { vec_free(&p->last); }
