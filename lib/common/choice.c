/* A minimum cut as a maximum flow (Dinic, 1970). On the source's side of the cut things are high. */
#include "common/choice.h"
#include <stdlib.h>
#include <string.h>
#include "common/vec.h"

struct arc {
	uint32_t to;
	int64_t room;
};
/* Arc 2i and 2i+1 are each other's reverse. Vertices: things, an auxiliary one for each value and direction, source, sink. */
struct flow {
	VEC(struct arc) arc;
	VEC(uint32_t) from;
	uint32_t n, *start, *out; /* out[start[v]..start[v+1]): v's arcs */
	uint32_t *level, *at, *queue;
};

static void add_arc(struct flow *f, uint32_t from, uint32_t to, int64_t room)
{
	vec_push(&f->arc, (struct arc){to, room});
	vec_push(&f->arc, (struct arc){from, 0});
	vec_push(&f->from, from);
	vec_push(&f->from, to);
}

static void sort_arcs(struct flow *f)
{
	f->start = xcalloc(f->n + 2, sizeof *f->start);
	f->out = xcalloc(f->arc.n + 1, sizeof *f->out);
	f->level = xcalloc(f->n, sizeof *f->level);
	f->at = xcalloc(f->n, sizeof *f->at);
	f->queue = xcalloc(f->n, sizeof *f->queue);
	for (size_t i = 0; i < f->from.n; i++)
		f->start[f->from.a[i] + 2]++;
	for (uint32_t v = 1; v < f->n + 2; v++)
		f->start[v] += f->start[v - 1];
	for (size_t i = 0; i < f->from.n; i++)
		f->out[f->start[f->from.a[i] + 1]++] = (uint32_t)i;
}

/* Steps from the vertex from, over arcs with room, plus one; 0: it cannot be reached. back: against the arcs. */
static void find_levels(struct flow *f, uint32_t from, bool back)
{
	uint32_t head = 0, n = 0;

	memset(f->level, 0, f->n * sizeof *f->level);
	f->level[from] = 1;
	f->queue[n++] = from;
	while (head < n) {
		uint32_t v = f->queue[head++];
		for (uint32_t i = f->start[v]; i < f->start[v + 1]; i++) {
			uint32_t e = f->out[i], to = f->arc.a[e].to;
			if (f->arc.a[back ? e ^ 1 : e].room > 0 && !f->level[to]) {
				f->level[to] = f->level[v] + 1;
				f->queue[n++] = to;
			}
		}
	}
}

/* One path of the blocking flow: its arcs are put into path, walked back from where no arc leads on. */
static int64_t push_path(struct flow *f, uint32_t source, uint32_t sink, uint32_t *path)
{
	uint32_t v = source, n = 0;
	int64_t most = CHOICE_NEVER;

	while (v != sink) {
		while (f->at[v] < f->start[v + 1]) {
			const struct arc *a = &f->arc.a[f->out[f->at[v]]];
			if (a->room > 0 && f->level[a->to] == f->level[v] + 1)
				break;
			f->at[v]++;
		}
		if (f->at[v] < f->start[v + 1]) {
			path[n] = f->out[f->at[v]];
			v = f->arc.a[path[n++]].to;
		} else if (!n) {
			return 0;
		} else {
			v = f->from.a[path[--n]];
			f->at[v]++;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		most = f->arc.a[path[i]].room < most ? f->arc.a[path[i]].room : most;
	for (uint32_t i = 0; i < n; i++) {
		f->arc.a[path[i]].room -= most;
		f->arc.a[path[i] ^ 1].room += most;
	}
	return most;
}

/* Stops where the flow is that of an arc that nothing pays. */
static void fill(struct flow *f, uint32_t source, uint32_t sink)
{
	uint32_t *path = xcalloc(f->n, sizeof *path);
	int64_t sum = 0, k;

	for (;;) {
		find_levels(f, source, false);
		if (!f->level[sink] || sum >= CHOICE_NEVER)
			break;
		memcpy(f->at, f->start, f->n * sizeof *f->at);
		while (sum < CHOICE_NEVER && (k = push_path(f, source, sink, path)))
			sum += k;
	}
	free(path);
}

static void add_value(struct flow *f, const struct choice_value *v, uint32_t down, uint32_t up)
{
	add_arc(f, v->maker, down, v->down);
	add_arc(f, up, v->maker, v->up);
	for (uint32_t i = 0; i < v->nreaders; i++) {
		add_arc(f, down, v->reader[i], CHOICE_NEVER);
		add_arc(f, v->reader[i], up, CHOICE_NEVER);
	}
}

int64_t choice_least(const struct choice *c, bool *low)
{
	struct flow f = {.n = c->nthings + 2 * c->nvalues + 2};
	uint32_t source = f.n - 2, sink = f.n - 1;

	for (uint32_t i = 0; i < c->nthings; i++) {
		add_arc(&f, source, i, c->cost[i][FORM_LOW]);
		add_arc(&f, i, sink, c->cost[i][FORM_HIGH]);
	}
	for (uint32_t i = 0; i < c->nvalues; i++)
		add_value(&f, &c->value[i], c->nthings + 2 * i, c->nthings + 2 * i + 1);
	sort_arcs(&f);
	fill(&f, source, sink);
	find_levels(&f, sink, true);
	for (uint32_t i = 0; i < c->nthings; i++)
		low[i] = f.level[i] != 0;
	vec_free(&f.arc);
	vec_free(&f.from);
	free(f.start);
	free(f.out);
	free(f.level);
	free(f.at);
	free(f.queue);
	return choice_cost(c, low);
}

static int64_t sum_of(int64_t a, int64_t b) { return a >= CHOICE_NEVER || b >= CHOICE_NEVER - a ? CHOICE_NEVER : a + b; }

int64_t choice_cost(const struct choice *c, const bool *low)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < c->nthings; i++)
		sum = sum_of(sum, c->cost[i][low[i] ? FORM_LOW : FORM_HIGH]);
	for (uint32_t i = 0; i < c->nvalues; i++) {
		const struct choice_value *v = &c->value[i];
		bool turned = false;
		for (uint32_t k = 0; k < v->nreaders; k++)
			turned |= low[v->reader[k]] != low[v->maker];
		if (turned)
			sum = sum_of(sum, low[v->maker] ? v->up : v->down);
	}
	return sum;
}
