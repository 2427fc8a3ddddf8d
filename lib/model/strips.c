/* Strips: neighbouring steps that run image by image, so that the values between them stay in a cache. A chain of steps that each run
 * over a whole batch moves every value through the caches twice. In a strip the values are as small as one image, but the weights are
 * read again for each image. Both are counted, as bytes that the second and third level of cache do not hold, and the cheaper way
 * is taken. No level is the values' alone: other data and other cores use it, so the more is touched in between, the larger the share
 * that is lost. */
#include <stdlib.h>
#include "common/msg.h"
#include "target/target.h"
#include "graph/bodies.h"
#include "graph/fused.h"
#include "lower/image.h"
#include "loop/prim.h"
#include "model/model_impl.h"

enum { LEVELS = 2, STRIP_MAX = 256 /* steps: bounds the work */ };

/* A step reads a value, which step `from` made or read last. */
struct touch {
	int64_t bytes;
	uint32_t from, step;
	bool last; /* nobody reads it later */
};

struct steps {
	struct module *m;
	int64_t images, level[LEVELS];
	VEC(node_id) node;
	VEC(struct touch) touch;                                 /* by step */
	VEC(size_t) first;                                       /* step -> its first touch */
	VEC(int64_t) made, made_before, weights, weights_before; /* bytes of a step; of all steps before it */
	bool *apart;
};

/* The batch: axis 0 of the first input that has more than one of it. */
static int64_t batch_size(struct module *m, const struct graph *g)
{
	for (size_t i = 0; i < g->in.n; i++) {
		const struct type *t = &val(m, g->in.a[i])->type;
		int64_t n;
		if (t->rank > 0 && poly_is_const(m->dims, t->dims[0], &n) && n > 1)
			return n;
	}
	return 1;
}

static int64_t const_bytes(struct module *m, val_id v)
{
	return v && val(m, v)->kind == VAL_CONST ? (int64_t)val(m, v)->tensor->nbytes : 0;
}

static int64_t weight_bytes(struct module *m, node_id id)
{
	const struct node *f = node(m, id);
	const struct graph *g = graph(m, attr_graph(f, "graph"));
	int64_t n = 0;

	for (uint32_t i = 0; i < f->nin; i++)
		n += const_bytes(m, f->in[i]);
	for (size_t k = 0; k < g->nodes.n; k++)
		for (uint32_t i = 0; i < node(m, g->nodes.a[k])->nin; i++)
			n += const_bytes(m, node(m, g->nodes.a[k])->in[i]);
	return n;
}

static void collect(struct steps *s, const struct graph *g, const val_id *root)
{
	struct module *m = s->m;
	uint32_t *toucher = xcalloc(m->values.n, sizeof *toucher); /* root -> step + 1 */
	size_t *latest = xcalloc(m->values.n, sizeof *latest);     /* root -> its last touch + 1 */
	int64_t made = 0, weights = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		uint32_t k = (uint32_t)s->node.n;
		int64_t out = 0, w;
		if (node_is_view(m, n))
			continue;
		vec_push(&s->node, g->nodes.a[i]);
		vec_push(&s->first, s->touch.n);
		for (uint32_t j = 0; j < n->nin; j++) {
			val_id r = n->in[j] ? root[n->in[j]] : 0;
			if (!r || !toucher[r] || toucher[r] == k + 1)
				continue;
			if (latest[r])
				s->touch.a[latest[r] - 1].last = false;
			vec_push(&s->touch, (struct touch){value_bytes(m, r), toucher[r] - 1, k, true});
			latest[r] = s->touch.n;
			toucher[r] = k + 1;
		}
		for (uint32_t j = 0; j < n->nout; j++)
			if (n->out[j]) {
				out += value_bytes(m, n->out[j]);
				toucher[n->out[j]] = k + 1;
			}
		w = n->op == OP_Fused ? weight_bytes(m, g->nodes.a[i]) : 0;
		vec_push(&s->made, out);
		vec_push(&s->made_before, made);
		vec_push(&s->weights, w);
		vec_push(&s->weights_before, weights);
		made += out;
		weights += w;
	}
	for (size_t k = 0; k < g->out.n; k++) { /* a result stays */
		val_id r = root[g->out.a[k]];
		if (latest[r])
			s->touch.a[latest[r] - 1].last = false;
	}
	vec_push(&s->first, s->touch.n);
	free(toucher);
	free(latest);
}

/* Bytes that are touched from one touch of a value to the next, of so many images at a time. */
static double between(const struct steps *s, const struct touch *t, int64_t parts)
{
	int64_t made = s->made_before.a[t->step] + s->made.a[t->step] - s->made_before.a[t->from] - s->made.a[t->from];
	int64_t weights = s->weights_before.a[t->step] + s->weights.a[t->step] - s->weights_before.a[t->from] - s->weights.a[t->from];

	return (double)((t->bytes + made) / parts + weights);
}

/* The share of a value that a cache of `level` bytes has lost once so many bytes were touched: none while half of the cache holds them, then
 * more and more. */
static double lost(double bytes, int64_t level)
{
	double half = (double)level / 2;

	return bytes > half ? (bytes - half) / (bytes + half) : 0;
}

/* Bytes that the step's values do not move where it and the steps from `start` on are a strip. */
static double saved_by_step(const struct steps *s, uint32_t start, uint32_t step, int64_t level)
{
	double n = 0;

	for (size_t i = s->first.a[step]; i < s->first.a[step + 1]; i++) {
		const struct touch *t = &s->touch.a[i];
		double bytes = (double)t->bytes;
		if (t->from < start)
			continue;
		n += bytes * (lost(between(s, t, 1), level) - lost(between(s, t, s->images), level));
		if (t->last) /* it need not be written back: the next image takes its place */
			n += bytes * (lost(bytes, level) - lost(bytes / (double)s->images, level));
	}
	return n;
}

/* The best choice of strips for the steps before k: from[k] is the first step of the strip that ends before step k; k: no strip ends
 * there. */
static uint32_t *choose(const struct steps *s)
{
	uint32_t n = (uint32_t)s->node.n, *from = xcalloc(n + 1, sizeof *from);
	double *best = xcalloc(n + 1, sizeof *best);

	for (uint32_t k = 0; k <= n; k++)
		from[k] = k;
	for (uint32_t i = 0; i < n; i++) {
		double saved[LEVELS] = {0}, made = 0, weights = 0;
		if (i && best[i] <= best[i - 1]) {
			best[i] = best[i - 1];
			from[i] = i;
		}
		for (uint32_t k = i; k < n && s->apart[k] && k - i < STRIP_MAX; k++) {
			double gain = 0;
			made += (double)s->made.a[k];
			weights += (double)s->weights.a[k];
			for (int l = 0; l < LEVELS; l++) {
				saved[l] += saved_by_step(s, i, k, s->level[l]);
				gain += saved[l] -
					(double)(s->images - 1) * weights * lost(made / (double)s->images + weights, s->level[l]);
			}
			if (gain > 0 && best[i] + gain > best[k + 1]) {
				best[k + 1] = best[i] + gain;
				from[k + 1] = i;
			}
		}
	}
	if (n && best[n] <= best[n - 1])
		from[n] = n;
	free(best);
	return from;
}

/* Is the node's trace one for an image of it? */
static bool is_for_image(const struct steps *s, node_id n, const struct target *t)
{
	const char *trace = attr_str(node(s->m, n), "trace", NULL), *algo, *why = NULL;
	struct digest stages;

	if (!trace || !trace_stages(trace, &stages))
		return false;
	algo = trace_algo(trace, &s->m->arena);
	struct lowered l = image_lower(s->m, n, s->images, t, algo, &why, lower_sketch);
	bool fits = !why && digest_eq(prog_digest(l.prog), stages);
	if (l.prog)
		prog_free(l.prog);
	return fits;
}

/* Leaves the attribute on the steps from `from` to `to`. A trace for the whole batch is not for one image, so it is dropped. Returns
 * how many were dropped. */
static uint32_t mark(struct steps *s, const struct target *t, uint32_t from, uint32_t to, int64_t number)
{
	uint32_t traces = 0;

	for (uint32_t k = from; k <= to; k++) {
		bool dropped = attr_find(node(s->m, s->node.a[k]), "trace") && !is_for_image(s, s->node.a[k], t);
		traces += dropped;
		if (dropped)
			fused_set_trace(s->m, s->node.a[k], NULL);
		attr_set_ints(s->m, s->node.a[k], STRIP, 2, (int64_t[]){number, s->images});
	}
	return traces;
}

static void steps_free(struct steps *s)
{
	vec_free(&s->node);
	vec_free(&s->touch);
	vec_free(&s->first);
	vec_free(&s->made);
	vec_free(&s->made_before);
	vec_free(&s->weights);
	vec_free(&s->weights_before);
}

static bool graph_varies(struct module *m, const struct graph *g)
{
	bool varies = false;

	for (size_t i = 0; i < g->nodes.n; i++)
		varies |= node_varies(m, node(m, g->nodes.a[i]));
	return varies;
}

static void choose_in_graph(struct module *m, graph_id g, const struct target *t, const val_id *root, int threads, bool says)
{
	struct target filled = target_filled(t);
	struct steps s = {.m = m, .images = batch_size(m, graph(m, g)), .level = {filled.l2, filled.l3}};
	uint32_t number = 0, steps = 0, traces = 0;

	if (graph_varies(m, graph(m, g)))
		return;
	collect(&s, graph(m, g), root);
	for (uint32_t k = 0; k < s.node.n; k++)
		attr_drop(m, s.node.a[k], STRIP);
	if (s.images > 1 && threads <= 1) {
		s.apart = xcalloc(s.node.n + 1, sizeof *s.apart);
		for (uint32_t k = 0; k < s.node.n; k++)
			s.apart[k] = node(m, s.node.a[k])->op == OP_Fused && image_apart(m, s.node.a[k], s.images, t);
		uint32_t *from = choose(&s);
		for (uint32_t k = (uint32_t)s.node.n, next; k > 0; k = next) {
			next = from[k] < k ? from[k] : k - 1;
			if (from[k] < k) {
				steps += k - from[k];
				traces += mark(&s, t, from[k], k - 1, ++number);
			}
		}
		free(from);
		free(s.apart);
	}
	if (steps && says)
		note("%u steps run image by image, in %u strips", steps, number);
	if (traces && says)
		note("%u of them had a trace for the whole batch, which is not used", traces);
	steps_free(&s);
}

void model_strips(struct module *m, graph_id g, const struct target *t, int threads)
{
	struct model M = {.m = m, .root = xcalloc(m->values.n, sizeof *M.root)};

	for (val_id v = 1; v < m->values.n; v++)
		M.root[v] = v;
	views_follow_graph(&M, graph(m, g));
	choose_in_graph(m, g, t, M.root, threads, false);
	free(M.root);
}

void strips_choose(struct model *M, const struct target *t)
{
	struct module *m = M->m;
	graph_id b;

	if (!M->shaped)
		choose_in_graph(m, m->main, t, M->root, M->threads, true);
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++) {
		node_id n = graph(m, m->main)->nodes.a[i], x = node(m, n)->op == OP_Fused ? control_node(m, n) : 0;
		for (uint32_t k = 0; x && attr_find(node(m, x), "fit") && (b = node_branch(node(m, x), k)); k++)
			choose_in_graph(m, b, t, M->root, M->threads, true);
	}
}

/* ---- what has been chosen ---- */

int64_t strip_images(struct module *m, node_id n)
{
	int count;
	const int64_t *strip = attr_ints(node(m, n), STRIP, &count);

	return strip && count == 2 && strip[1] > 1 ? strip[1] : 1;
}

/* Neighbouring calls of a section whose nodes have the same attribute are one strip. */
static void join_calls(struct model *M, const struct section *s)
{
	for (uint32_t c = s->first; c < s->end; c++) {
		struct call *x = &M->calls.a[c], *before = c > s->first ? x - 1 : NULL;
		int n, k;
		const int64_t *here = attr_ints(node(M->m, x->node), STRIP, &n),
			      *there = before ? attr_ints(node(M->m, before->node), STRIP, &k) : NULL;
		x->images = call_has_kernel(x) ? strip_images(M->m, x->node) : 1;
		x->strip = before && x->images > 1 && before->images == x->images && here[0] == there[0] ? before->strip : c;
	}
	for (uint32_t c = s->end; c-- > s->first;)
		M->calls.a[c].last = c + 1 < s->end && M->calls.a[c + 1].strip == M->calls.a[c].strip ? M->calls.a[c + 1].last : c;
}

/* Finds the values that are made in a strip and read nowhere else. */
static void find_inner(struct model *M)
{
	struct module *m = M->m;
	uint32_t *made = xcalloc(m->values.n, sizeof *made); /* root -> the strip that makes it + 1 */

	M->inner = xcalloc(m->values.n, sizeof *M->inner);
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct call *x = &M->calls.a[c];
		const struct node *n = node(m, x->node);
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && made[M->root[n->in[i]]] != x->strip + 1)
				M->inner[M->root[n->in[i]]] = false;
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k]) {
				M->inner[n->out[k]] = x->images > 1;
				made[n->out[k]] = x->strip + 1;
			}
	}
	for (size_t s = 0; s < M->sections.n; s++) {
		const struct graph *g = graph(m, M->sections.a[s].graph);
		for (size_t k = 0; k < g->out.n; k++)
			M->inner[M->root[g->out.a[k]]] = false;
	}
	free(made);
}

void strips_find(struct model *M)
{
	for (size_t s = 0; s < M->sections.n; s++)
		join_calls(M, &M->sections.a[s]);
	lanes_find(M);
	find_inner(M);
}
