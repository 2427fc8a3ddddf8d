/* Lanes: which branches run side by side. The steps of the main graph are a graph of their own: an edge from each to those that read what
 * it makes. A region is what lies between a step and its nearest post-dominator, where that falls into several parts. */
#include <math.h>
#include <stdlib.h>
#include "common/msg.h"
#include "emit/emit.h"
#include "graph/pass.h"
#include "model/lanes.h"
#include "model/model_impl.h"

enum { REGION_MAX = 1024 /* steps from its first to its last: bounds the work */ };

bool lanes_there(struct module *m)
{
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++)
		if (attr_find(node(m, graph(m, m->main)->nodes.a[i]), LANE))
			return true;
	return false;
}

void lanes_drop(struct module *m)
{
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++)
		attr_drop(m, graph(m, m->main)->nodes.a[i], LANE);
}

/* ---- what has been chosen ---- */

/* NULL, or why the step cannot be in a lane: it must neither fail nor use memory of the handle. */
static const char *why_alone(const struct model *M, uint32_t c)
{
	const struct call *x = &M->calls.a[c];

	if (!call_has_kernel(x))
		return "it has no kernel";
	if (M->kernels.a[x->kernel].checks)
		return "it may fail";
	if (x->images > 1)
		return "it runs image by image";
	return node_varies(M->m, node(M->m, x->node)) ? "its sizes are known only in a run" : NULL;
}

static noreturn void bad_lane(struct model *M, uint32_t c, const char *why)
{
	model_die_at(M->m, M->calls.a[c].node, EX_BADDATA, arena_printf(&M->m->arena, "its lane: %s", why));
}

static const int64_t *lane_attr(struct model *M, uint32_t c)
{
	int n;
	const int64_t *lane = attr_ints(node(M->m, M->calls.a[c].node), LANE, &n);

	if (attr_find(node(M->m, M->calls.a[c].node), LANE) && (n != 2 || lane[0] < 0 || lane[1] < 0 || lane[1] >= LANES_MAX))
		bad_lane(M, c, "not the number of a region and one of a lane");
	return lane;
}

/* Steps of one region read nothing that another lane makes. */
static void check_races(struct model *M)
{
	struct module *m = M->m;
	const struct section *s = M->sections.a;
	uint32_t *maker = xcalloc(m->values.n, sizeof *maker); /* root -> its step + 1 */

	for (uint32_t c = s->first; c < s->end; c++) {
		const struct call *x = &M->calls.a[c];
		const struct node *n = node(m, x->node);
		for (uint32_t i = 0; i < n->nin && x->lanes; i++) {
			uint32_t d = n->in[i] ? maker[M->root[n->in[i]]] : 0;
			if (d > x->strip && M->calls.a[d - 1].lane != x->lane)
				bad_lane(M, c,
					 arena_printf(&m->arena, "it reads what %s makes at the same time, in another",
						      node_where(m, M->calls.a[d - 1].node, &m->arena)));
		}
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				maker[n->out[k]] = c + 1;
	}
	free(maker);
}

/* The steps of a region are neighbours; lanes are numbered from 0. */
static void find_region(struct model *M, uint32_t first, uint32_t end)
{
	int64_t most = 0;

	for (uint32_t c = first; c < end; c++) {
		const char *why = why_alone(M, c);
		if (why)
			bad_lane(M, c, why);
		M->calls.a[c].lane = lane_attr(M, c)[1];
		most = M->calls.a[c].lane > most ? M->calls.a[c].lane : most;
	}
	for (uint32_t c = first; c < end; c++) {
		M->calls.a[c].lanes = most + 1;
		M->calls.a[c].strip = first;
		M->calls.a[c].last = end - 1;
	}
}

void lanes_find(struct model *M)
{
	const struct section *s = M->sections.a;
	VEC(int64_t) seen = {0}; /* regions */

	for (uint32_t c = s->first, end; c < s->end; c = end) {
		const int64_t *lane = lane_attr(M, c), *next;
		end = c + 1;
		if (!lane)
			continue;
		for (size_t i = 0; i < seen.n; i++)
			if (seen.a[i] == lane[0])
				bad_lane(M, c, "steps of its region are elsewhere");
		vec_push(&seen, lane[0]);
		while (end < s->end && (next = lane_attr(M, end)) && next[0] == lane[0])
			end++;
		find_region(M, c, end);
	}
	vec_free(&seen);
	check_races(M);
}

/* ---- choosing ---- */

/* Branches between step `from` and step `to`: parts that no edge joins. */
struct region {
	int64_t from, to; /* -1: the beginning; the number of steps: the end */
	double gain;      /* seconds */
	VEC(uint32_t) step;
	VEC(int) lane; /* of each */
};

struct choice {
	struct model *M;
	uint32_t n;      /* steps */
	int most;        /* lanes */
	bool with_split; /* gains are against divided kernels */
	VEC(uint32_t) * reads, *read_by;
	int64_t *meet;         /* step + 1 -> its nearest post-dominator */
	uint32_t *part, *mark; /* part of a region, by its first step; visited for region number */
	uint64_t *met;         /* value -> the region and lane that read it last */
	const struct lane_seconds *seconds;
	double *load; /* of the parts */
	VEC(struct region) found;
	uint32_t *in_region; /* step -> the region + 1 that was taken */
};

static void find_edges(struct choice *c)
{
	struct model *M = c->M;
	uint32_t *maker = xcalloc(M->m->values.n, sizeof *maker);

	for (uint32_t k = 0; k < c->n; k++) {
		const struct node *n = node(M->m, M->calls.a[k].node);
		for (uint32_t i = 0; i < n->nin; i++) {
			uint32_t d = n->in[i] ? maker[M->root[n->in[i]]] : 0;
			bool known = !d;
			for (size_t j = 0; j < c->reads[k].n && !known; j++)
				known = c->reads[k].a[j] == d - 1;
			if (known)
				continue;
			vec_push(&c->reads[k], d - 1);
			vec_push(&c->read_by[d - 1], k);
		}
		for (uint32_t i = 0; i < n->nout; i++)
			if (n->out[i])
				maker[n->out[i]] = k + 1;
	}
	free(maker);
}

/* Where the ways from a and b to the end meet (Cooper, Harvey and Kennedy, 2001); steps are in an order in which readers come later. */
static int64_t meeting(const struct choice *c, int64_t a, int64_t b)
{
	while (a != b)
		if (a < b)
			a = c->meet[a + 1];
		else
			b = c->meet[b + 1];
	return a;
}

/* The meeting of the ways through readers of step k. A step that only makes an output leads nowhere: it counts only if all do. */
static int64_t meeting_of_readers(const struct choice *c, int64_t k)
{
	int64_t at = -1;

	for (int all = 0; all < 2 && at < 0; all++)
		for (size_t i = 0; i < c->read_by[k].n; i++) {
			uint32_t r = c->read_by[k].a[i];
			if (all || c->read_by[r].n)
				at = at < 0 ? r : meeting(c, at, r);
		}
	return at;
}

static void find_meetings(struct choice *c)
{
	for (int64_t k = (int64_t)c->n - 1; k >= -1; k--) {
		int64_t at = k < 0 ? -1 : meeting_of_readers(c, k);
		for (uint32_t d = 0; k < 0 && d < c->n; d++)
			if (!c->reads[d].n)
				at = at < 0 ? d : meeting(c, at, d);
		c->meet[k + 1] = at < 0 ? c->n : at;
	}
}

static uint32_t part_of(struct choice *c, uint32_t k)
{
	while (c->part[k] != k)
		k = c->part[k] = c->part[c->part[k]];
	return k;
}

/* Largest first, each to the lane that has least. Lane 0 is the shortest: the thread that begins a region waits for its end awake, others
 * may fall asleep. Returns the time of the longest lane. */
static double deal(struct choice *c, struct region *r)
{
	double lane[LANES_MAX] = {0}, longest = 0;
	int *given = xcalloc(r->step.n, sizeof *given); /* by part's first step: lane + 1 */

	for (;;) {
		size_t best = r->step.n;
		int least = 0;
		for (size_t i = 0; i < r->step.n; i++) {
			uint32_t p = r->step.a[i];
			if (part_of(c, p) == p && !given[i] && (best == r->step.n || c->load[p] > c->load[r->step.a[best]]))
				best = i;
		}
		if (best == r->step.n)
			break;
		for (int l = 1; l < c->most; l++)
			if (lane[l] < lane[least])
				least = l;
		given[best] = least + 1;
		lane[least] += c->load[r->step.a[best]];
		longest = lane[least] > longest ? lane[least] : longest;
	}
	int least = 0;
	for (int l = 1; l < c->most; l++)
		if (lane[l] > 0 && lane[l] < lane[least])
			least = l;
	for (size_t i = 0; i < r->step.n; i++)
		for (size_t k = 0; k <= i; k++)
			if (r->step.a[k] == part_of(c, r->step.a[i])) {
				int l = given[k] - 1;
				vec_push(&r->lane, l == least ? 0 : l == 0 ? least : l);
			}
	free(given);
	return longest;
}

/* Bytes that lane reads of what is made before the region. */
static double bytes_into(struct choice *c, const struct region *r, int lane)
{
	struct model *M = c->M;
	uint64_t visit = ((uint64_t)(r->from + 2) * LANES_MAX) + (uint64_t)lane;
	double bytes = 0;

	for (size_t i = 0; i < r->step.n; i++) {
		const struct node *n = node(M->m, M->calls.a[r->step.a[i]].node);
		for (uint32_t k = 0; k < n->nin && r->lane.a[i] == lane; k++) {
			val_id v = n->in[k] ? M->root[n->in[k]] : 0;
			bool inside = false;
			if (!v || val(M->m, v)->kind == VAL_CONST || c->met[v] == visit)
				continue;
			c->met[v] = visit;
			for (size_t j = 0; j < i; j++) {
				const struct node *d = node(M->m, M->calls.a[r->step.a[j]].node);
				for (uint32_t o = 0; o < d->nout; o++)
					inside |= d->out[o] && M->root[d->out[o]] == v;
			}
			bytes += inside ? 0 : (double)value_bytes(M->m, v);
		}
	}
	return bytes;
}

/* Bytes of what is made in the region and read behind it. */
static double bytes_out(const struct choice *c, const struct region *r)
{
	struct model *M = c->M;
	double bytes = 0;

	for (size_t i = 0; i < r->step.n; i++) {
		const struct node *n = node(M->m, M->calls.a[r->step.a[i]].node);
		bool read = false;
		for (size_t k = 0; k < c->read_by[r->step.a[i]].n; k++)
			read |= c->mark[c->read_by[r->step.a[i]].a[k]] != (uint32_t)r->from + 2;
		for (uint32_t k = 0; k < n->nout && read; k++)
			bytes += n->out[k] ? (double)value_bytes(M->m, n->out[k]) : 0;
	}
	return bytes;
}

/* Seconds for what lanes read of others: a lane wants whole values of which it made a part, and kernels behind the region, which are
 * divided, parts of values that one lane made. Divided kernels read mostly what the same thread made. */
static double move(struct choice *c, const struct region *r)
{
	double others = 1 - 1.0 / c->most, most = 0;

	for (int l = 0; l < c->most; l++)
		most = fmax(most, bytes_into(c, r, l));
	return others * (most + bytes_out(c, r) / c->most) / c->seconds->moved_rate;
}

/* The region behind step `from`, if there are several parts of it and lanes save time. */
static void find_between(struct choice *c, int64_t from)
{
	struct region r = {.from = from, .to = c->meet[from + 1]};
	uint32_t visit = (uint32_t)from + 2, parts = 0;
	double before = 0;

	if (r.to - from > REGION_MAX)
		return;
	for (uint32_t k = (uint32_t)(from + 1); k < r.to; k++) {
		bool inside = from < 0;
		for (size_t i = 0; i < c->reads[k].n; i++) {
			uint32_t d = c->reads[k].a[i];
			inside |= (int64_t)d == from || ((int64_t)d > from && c->mark[d] == visit);
		}
		if (!inside)
			continue;
		if (why_alone(c->M, k)) {
			vec_free(&r.step);
			return;
		}
		c->mark[k] = visit;
		c->part[k] = k;
		c->load[k] = c->seconds->alone[k];
		before += c->with_split ? c->seconds->divided[k] : c->seconds->alone[k];
		vec_push(&r.step, k);
		parts++;
		for (size_t i = 0; i < c->reads[k].n; i++) {
			uint32_t d = c->reads[k].a[i], p, q;
			if ((int64_t)d <= from || c->mark[d] != visit || (p = part_of(c, d)) == (q = part_of(c, k)))
				continue;
			c->part[p < q ? q : p] = p < q ? p : q;
			c->load[p < q ? p : q] += c->load[p < q ? q : p];
			parts--;
		}
	}
	if (parts > 1)
		r.gain = before - deal(c, &r) - c->seconds->start;
	if (r.gain > 0 && c->with_split)
		r.gain -= move(c, &r);
	if (r.gain > (c->with_split ? c->seconds->least_saved * before : 0))
		vec_push(&c->found, r);
	else
		vec_free(&r.lane), vec_free(&r.step);
}

static int by_gain(const void *a, const void *b)
{
	const struct region *x = a, *y = b;
	return x->gain != y->gain ? (x->gain < y->gain) - (x->gain > y->gain) : (x->from > y->from) - (x->from < y->from);
}

/* The best ones of which no two have a step in common. */
static void take_regions(struct choice *c)
{
	if (c->found.n)
		qsort(c->found.a, c->found.n, sizeof *c->found.a, by_gain);
	for (size_t i = 0; i < c->found.n; i++) {
		struct region *r = &c->found.a[i];
		bool is_free = true;
		for (size_t k = 0; k < r->step.n; k++)
			is_free &= !c->in_region[r->step.a[k]];
		for (size_t k = 0; k < r->step.n && is_free; k++)
			c->in_region[r->step.a[k]] = (uint32_t)i + 1;
	}
}

/* ---- the new order ---- */

struct placing {
	struct choice *c;
	VEC(uint32_t) order;
	bool *placed;
};

static void place(struct placing *p, uint32_t k);

static void place_read(struct placing *p, uint32_t k, uint32_t region)
{
	for (size_t i = 0; i < p->c->reads[k].n; i++)
		if (!region || p->c->in_region[p->c->reads[k].a[i]] != region)
			place(p, p->c->reads[k].a[i]);
}

/* Step k behind all that it reads; with its region, lane by lane. */
static void place(struct placing *p, uint32_t k)
{
	uint32_t region = p->c->in_region[k];

	if (p->placed[k])
		return;
	if (!region) {
		place_read(p, k, 0);
		p->placed[k] = true;
		vec_push(&p->order, k);
		return;
	}
	const struct region *r = &p->c->found.a[region - 1];
	for (size_t i = 0; i < r->step.n; i++)
		p->placed[r->step.a[i]] = true;
	for (size_t i = 0; i < r->step.n; i++)
		place_read(p, r->step.a[i], region);
	for (int l = 0; l < p->c->most; l++)
		for (size_t i = 0; i < r->step.n; i++)
			if (r->lane.a[i] == l)
				vec_push(&p->order, r->step.a[i]);
}

/* Nodes of the main graph that are no steps: views, each behind what it views. */
static void order_nodes(struct model *M, const struct placing *p)
{
	struct module *m = M->m;
	struct graph *g = graph(m, m->main);
	VEC(node_id) old = {0};
	uint32_t *step = xcalloc(m->nodes.n, sizeof *step); /* node -> place in the order + 1 */
	VEC(node_id) *views = xcalloc(p->order.n + 1, sizeof *views);

	for (uint32_t k = 0; k < p->order.n; k++)
		step[M->calls.a[p->order.a[k]].node] = k + 1;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		val_id r = n->nout && n->out[0] ? M->root[n->out[0]] : 0;
		if (!step[g->nodes.a[i]])
			vec_push(&views[r && val(m, r)->kind == VAL_NODE ? step[val(m, r)->def] : 0], g->nodes.a[i]);
	}
	for (uint32_t k = 0; k <= p->order.n; k++) {
		if (k)
			vec_push(&old, M->calls.a[p->order.a[k - 1]].node);
		for (size_t i = 0; i < views[k].n; i++)
			vec_push(&old, views[k].a[i]);
		vec_free(&views[k]);
	}
	g->nodes.n = 0;
	for (size_t i = 0; i < old.n; i++)
		vec_push(&g->nodes, old.a[i]);
	free(views);
	free(step);
	vec_free(&old);
}

static void reorder(struct choice *c)
{
	struct model *M = c->M;
	struct placing p = {.c = c, .placed = xcalloc(c->n + 1, 1)};
	struct call *old = xcalloc(c->n + 1, sizeof *old);

	for (uint32_t k = 0; k < c->n; k++)
		place(&p, k);
	order_nodes(M, &p);
	for (uint32_t k = 0; k < c->n; k++)
		old[k] = M->calls.a[k];
	for (uint32_t k = 0; k < c->n; k++)
		M->calls.a[k] = old[p.order.a[k]];
	free(old);
	free(p.placed);
	vec_free(&p.order);
}

static void mark_lanes(struct choice *c)
{
	int64_t number = 0, steps = 0;
	struct model *M = c->M;

	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t region = c->in_region[k];
		if (!region || c->found.a[region - 1].step.a[0] != k)
			continue;
		const struct region *r = &c->found.a[region - 1];
		for (size_t i = 0; i < r->step.n; i++)
			attr_set_ints(M->m, M->calls.a[r->step.a[i]].node, LANE, 2, (int64_t[]){number, r->lane.a[i]});
		number++;
		steps += (int64_t)r->step.n;
	}
	if (number)
		note("%lld steps run side by side, in %lld regions", (long long)steps, (long long)number);
}

static void choice_free(struct choice *c)
{
	for (uint32_t k = 0; k < c->n; k++) {
		vec_free(&c->reads[k]);
		vec_free(&c->read_by[k]);
	}
	for (size_t i = 0; i < c->found.n; i++) {
		vec_free(&c->found.a[i].step);
		vec_free(&c->found.a[i].lane);
	}
	vec_free(&c->found);
	free(c->reads), free(c->read_by), free(c->meet), free(c->part), free(c->mark), free(c->met);
	free(c->load), free(c->in_region);
}

void lanes_choose(struct model *M, int most, const struct lane_seconds *s)
{
	uint32_t n = M->sections.a[0].end;
	struct choice c = {.M = M, .n = n, .most = most ? most : M->threads, .with_split = !most, .seconds = s};

	if (M->shaped || c.most < 2)
		return;
	c.reads = xcalloc(n + 1, sizeof *c.reads);
	c.read_by = xcalloc(n + 1, sizeof *c.read_by);
	c.meet = xcalloc(n + 2, sizeof *c.meet);
	c.part = xcalloc(n + 1, sizeof *c.part);
	c.mark = xcalloc(n + 1, sizeof *c.mark);
	c.met = xcalloc(M->m->values.n, sizeof *c.met);
	c.load = xcalloc(n + 1, sizeof *c.load);
	c.in_region = xcalloc(n + 1, sizeof *c.in_region);
	find_edges(&c);
	find_meetings(&c);
	for (int64_t k = -1; k < (int64_t)n; k++)
		if (k < 0 || c.read_by[k].n > 1)
			find_between(&c, k);
	take_regions(&c);
	mark_lanes(&c);
	reorder(&c);
	choice_free(&c);
	free(M->inner);
	strips_find(M);
}
