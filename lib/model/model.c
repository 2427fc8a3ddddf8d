/* Lowering and scheduling all groups of a module; views and homes of values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/bodies.h"
#include "graph/pass.h"
#include "lower/image.h"
#include "lower/lower.h"
#include "model/model.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "op/op.h"

int64_t value_bytes(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	int64_t dims[RANK_MAX], n = (int64_t)dtype_size(t->dtype);
	struct layout l = {0};

	if (t->layout)
		layout_parse(&l, t->rank, sym_str(t->layout));
	if (!l.n)
		return type_count(m, t) * n;
	type_dims(m, t, dims);
	for (int i = 0; i < l.n; i++)
		n *= l.part[i].mod ? l.part[i].mod : (dims[l.part[i].axis] + l.part[i].div - 1) / l.part[i].div;
	return n;
}

bool node_is_view(struct module *m, const struct node *n)
{
	static const bool view[OP_COUNT] = {
		[OP_Flatten] = true, [OP_Identity] = true, [OP_Reshape] = true, [OP_Squeeze] = true, [OP_Unsqueeze] = true,
	};
	return view[n->op];
}

/* ---- types ---- */

static noreturn void die_at(struct module *m, node_id n, enum exit_code code, const char *why)
{
	die(code, "%s: %s%s%s", m->source ? m->source : "-", n ? node_where(m, n, &m->arena) : "", n ? ": " : "", why);
}

/* A tensor with elements of one size. */
static void check_tensor(struct module *m, node_id n, val_id v)
{
	const struct type *t = &val(m, v)->type;

	if (t->other || t->dtype == DT_STR)
		die_at(m, n, EX_NOTAVAIL,
		       arena_printf(&m->arena, "%s is %s; only tensors of numbers can be compiled", sym_str(val(m, v)->name),
				    type_str(m, t, &m->arena)));
}

/* The node within n, if that applies a body, where a size is not known first. */
static node_id unsized(struct module *m, node_id n)
{
	graph_id b;

	while (n && op_is(node(m, n)->op, OP_CALL) && (b = node_body(node(m, n), 0))) {
		const struct graph *g = graph(m, b);
		node_id first = 0;
		for (size_t i = 0; i < g->nodes.n && !first; i++) {
			const struct node *x = node(m, g->nodes.a[i]);
			for (uint32_t k = 0; k < x->nout && !first; k++)
				if (x->out[k] && !type_static(m, &val(m, x->out[k])->type))
					first = g->nodes.a[i];
		}
		if (!first)
			break;
		n = first;
	}
	return n;
}

/* It can have a place in memory. */
static void check_size(struct module *m, node_id n, val_id v)
{
	const struct type *t = &val(m, v)->type;

	if (n && node(m, n)->op == OP_OTHER)
		die_at(m, n, EX_NOTAVAIL, "there is no implementation of this operator");
	check_tensor(m, n, v);
	if (!type_static(m, t))
		n = unsized(m, n);
	if (!type_static(m, t) && n && (!op_row(node(m, n)->op) || !op_row(node(m, n)->op)->eval))
		die_at(m, n, EX_NOTAVAIL, "there is no implementation of this operator");
	if (!type_static(m, t))
		die_at(m, n, EX_NOTAVAIL,
		       arena_printf(&m->arena, "the size of %s, %s, depends on data and cannot be planned", sym_str(val(m, v)->name),
				    type_str(m, t, &m->arena)));
}

enum { ADDRESS_BITS = 47, ELEMENT_BITS = 4 };

/* Nothing is larger than what can be addressed, so that sums and products of sizes are numbers. */
static void check_sizes(struct module *m)
{
	for (val_id v = 1; v < m->values.n; v++) {
		const struct type *t = &val(m, v)->type;
		int64_t count = type_static(m, t) ? type_count(m, t) : 0;
		if (count < 0 || count >> (ADDRESS_BITS - ELEMENT_BITS))
			die_at(m, val(m, v)->def, EX_NOTAVAIL,
			       arena_printf(&m->arena, "%s, %s, is larger than any memory", sym_str(val(m, v)->name),
					    type_str(m, t, &m->arena)));
	}
}

/* The evaluator computes all nodes of a graph, also in bodies. (No recursion without end: graphs contain only those
 * before them.) */
static void check_evaluators(struct module *m, graph_id g)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		const char *why = op_unable(m, node(m, id));
		graph_id body;
		if (why)
			die_at(m, id, EX_NOTAVAIL, why);
		for (uint32_t k = 0; (body = node_body(node(m, id), k)); k++)
			check_evaluators(m, body);
	}
}

/* Node number i of the main graph goes into a group of its own. Its results stay what others know. */
static void wrap(struct module *m, size_t i)
{
	node_id id = graph(m, m->main)->nodes.a[i];
	struct node old = *node(m, id);
	graph_id body = graph_new(m, old.name);
	VEC(val_id) in = {0}, out = {0};

	for (uint32_t k = 0; k < old.nin; k++) {
		size_t j = 0;
		if (!old.in[k] || val(m, old.in[k])->kind == VAL_CONST)
			continue;
		while (j < in.n && in.a[j] != old.in[k])
			j++;
		if (j == in.n) {
			vec_push(&in, old.in[k]);
			graph_add_input(m, body, val(m, old.in[k])->name, val(m, old.in[k])->type);
		}
		old.in[k] = graph(m, body)->in.a[j];
	}
	for (uint32_t k = 0; k < old.nout; k++) {
		val_id v = old.out[k];
		if (!v)
			continue;
		struct value x = *val(m, v);
		x.graph = body;
		vec_push(&m->values, x);
		old.out[k] = (val_id)(m->values.n - 1);
		graph_add_output(m, body, old.out[k], x.name);
		vec_push(&out, v);
	}
	node(m, id)->graph = body;
	vec_push(&graph(m, body)->nodes, id);
	node_id fused = node_new_loose(m, m->main, OP_Fused, (int)in.n, in.a, 0);
	node(m, fused)->name = old.name;
	node(m, fused)->nout = (uint32_t)out.n;
	node(m, fused)->out = arena_copy(&m->arena, out.a, out.n * sizeof *out.a);
	for (size_t k = 0; k < out.n; k++) {
		val(m, out.a[k])->def = fused;
		val(m, out.a[k])->index = (uint32_t)k;
	}
	attr_set_graph(m, fused, "graph", body);
	graph(m, m->main)->nodes.a[i] = fused;
	vec_free(&in);
	vec_free(&out);
}

/* Every node becomes a Fused one or a view, of known size. (Fused ones: lower_group looks.) */
static void check_graph(struct module *m)
{
	check_sizes(m);
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
		check_tensor(m, 0, graph(m, m->main)->in.a[i]);
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
		if (!type_static(m, &val(m, graph(m, m->main)->in.a[i])->type))
			bind_missing(m, "ge-shape");
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++) {
		node_id id = graph(m, m->main)->nodes.a[i];
		const struct node *n = node(m, id);
		if (n->op != OP_Fused && !node_is_view(m, n) && lower_has(n->op))
			die_at(m, id, EX_NOTAVAIL, "it is in no group; run ge-fuse");
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k])
				check_size(m, id, n->out[k]);
		if (n->op != OP_Fused && !node_is_view(m, n))
			wrap(m, i);
	}
}

/* ---- traces ---- */

void traces_read(struct given_traces *t, const char *path)
{
	struct mapped f;
	int line = 1;

	mapped_open(&f, path);
	char *text = xmalloc(f.n + 1), *next;
	memcpy(text, f.p, f.n);
	text[f.n] = 0;
	for (char *s = text; *s; s = next, line++) {
		next = s + strcspn(s, "\n");
		bool head = !strncmp(s, "# kernel ", 9);
		if (head || !t->n) {
			struct given_trace x = {.text = *next ? next + 1 : next};
			if (head && (next - s < 41 || !digest_parse(s + 9, 32, &x.digest)))
				die(EX_BADDATA, "%s:%d: not a digest of 32 hexadecimal digits", path, line);
			if (!head && s != next && *s != '#')
				die(EX_BADDATA, "%s:%d: a trace needs a line \"# kernel DIGEST\" above it (see --print-traces)", path,
				    line);
			if (head) {
				*s = 0; /* ends the section before */
				vec_push(t, x);
			}
		}
		next += *next == '\n';
	}
	mapped_close(&f);
}

static const char *trace_given(const struct given_traces *t, struct digest d)
{
	for (size_t i = 0; t && i < t->n; i++)
		if (digest_eq(t->a[i].digest, d))
			return t->a[i].text;
	return NULL;
}

/* ---- kernels ---- */

/* How many images the node runs for one after the other; 1: it is in no strip. */
static int64_t strip_images(struct module *m, node_id n)
{
	int count;
	const int64_t *strip = attr_ints(node(m, n), STRIP, &count);

	return strip && count == 2 && strip[1] > 1 ? strip[1] : 1;
}

static struct lowered lower_call(struct model *M, node_id n, const struct target *t, const char *algo, const char **why)
{
	int64_t images = strip_images(M->m, n);

	return images > 1 ? image_lower(M->m, n, images, t, algo, why, M->lower) : M->lower(M->m, n, t, algo, why);
}

/* A group that has been lowered before. */
static struct loop_prog *lower_again(struct model *M, node_id n, const struct target *t, const char *algo)
{
	const char *why;
	struct lowered l = lower_call(M, n, t, algo, &why);

	if (why)
		BUG("%s", why);
	l.prog->threads = M->threads;
	return l.prog;
}

/* Makes the scheduled program ready and verifies it; NULL or why not. */
static const char *complete(struct kernel *k)
{
	const char *why = loop_finish(k->prog);
	return why ? why : loop_verify(k->prog);
}

/* Applies and finishes; NULL or why not. A trace that says nothing of threads gets the lines that do. */
static const char *schedule(struct kernel *k)
{
	const char *why = loop_apply(k->prog, k->trace, false), *more;
	if (!why && *(more = loop_threads(k->prog))) {
		size_t n = strlen(k->trace);
		k->trace = arena_printf(&k->prog->arena, "%s%s%s", k->trace, n && k->trace[n - 1] != '\n' ? "\n" : "", more);
	}
	return why ? why : complete(k);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static uint32_t kernel_find(struct model *M, struct digest d, const char *given)
{
	for (uint32_t i = 0; i < M->kernels.n; i++)
		if (digest_eq(M->kernels.a[i].digest, d) && same_text(M->kernels.a[i].given, given))
			return i;
	return UINT32_MAX;
}

static noreturn void die_trace(struct module *m, node_id n, const char *why)
{
	die(EX_BADDATA, "%s: %s: its trace: %s", m->source ? m->source : "-", node_where(m, n, &m->arena), why);
}

/* Schedules k's program; NULL, or why its stages as they are cannot be shown to be right either: there is no kernel then. */
static const char *kernel_make(struct model *M, node_id n, const struct target *t, struct kernel *k)
{
	struct module *m = M->m;
	const char *why;
	if (k->given) {
		k->trace = k->given;
		why = schedule(k);
	} else { /* the rule leaves the program as its trace does */
		k->trace = arena_str(&m->arena, loop_rule(k->prog));
		why = complete(k);
	}
	if (why && k->given)
		die_trace(m, n, why);
	if (!why)
		return NULL;
	warn("%s: the rule's trace does not apply: %s; plain loops instead", node_where(m, n, &m->arena), why);
	k->trace = strcmp(k->prog->algo, ALGO_USUAL) ? arena_printf(&m->arena, "algo %s\n", k->prog->algo) : "";
	struct loop_prog *fresh = lower_again(M, n, t, k->prog->algo);
	prog_free(k->prog);
	k->prog = fresh;
	if ((why = schedule(k)))
		why = arena_printf(&m->arena, "plain loops: %s", why);
	return why;
}

/* Another start: the stages of the algorithm that the trace of k is for, if those that the lowering thinks best are not.
 * A trace that was stamped for others than the group has now is a seed for tuning, not a result: it is dropped. */
static struct lowered follow_trace(struct model *M, node_id n, const struct target *t, struct kernel *k, struct lowered best)
{
	struct module *m = M->m;
	const char *algo = trace_algo(k->given, &m->arena), *why = NULL;
	struct lowered l = best;

	if (algo && strcmp(algo, best.prog->algo))
		l = lower_call(M, n, t, algo, &why);
	if (why && trace_fit(k->given, k->digest) == TRACE_PLAIN)
		die_trace(m, n, why);
	if (k->given && (why || trace_fit(k->given, prog_digest(l.prog)) == TRACE_SEED)) {
		warn("%s: its trace is for other stages than it has; scheduled by the rule instead; tune it again",
		     node_where(m, n, &m->arena));
		k->given = NULL;
		if (!why && l.prog != best.prog)
			prog_free(l.prog);
		l = best;
	}
	if (l.prog != best.prog)
		prog_free(best.prog);
	return l;
}

/* The slow path. */
static void add_opaque(struct model *M, node_id n, const char *why)
{
	check_evaluators(M->m, attr_graph(node(M->m, n), "graph"));
	vec_push(&M->calls, (struct call){.node = n, .kernel = KERNEL_OPAQUE, .why = why});
	M->nopaque++;
}

static void add_call(struct model *M, node_id n, const struct target *t, const struct given_traces *traces)
{
	struct module *m = M->m;
	const char *why;
	if (strip_images(m, n) > 1 && !image_apart(m, n, strip_images(m, n), t))
		die_at(m, n, EX_BADDATA, "it does not run image by image; run ge-plan again");
	struct lowered l = lower_call(M, n, t, NULL, &why);

	if (why) {
		add_opaque(M, n, why);
		return;
	}
	struct kernel k = {.digest = prog_digest(l.prog)};
	k.given = trace_given(traces, k.digest);
	if (!k.given)
		k.given = attr_str(node(m, n), "trace", NULL);
	l = follow_trace(M, n, t, &k, l);
	l.prog->threads = M->threads;
	k.prog = l.prog;
	val_id *cval = arena_copy(&m->arena, l.cval, (size_t)l.nconst * sizeof *l.cval);

	uint32_t i = kernel_find(M, k.digest, k.given);
	if (i != UINT32_MAX) {
		prog_free(l.prog);
	} else if (!(why = kernel_make(M, n, t, &k))) {
		i = (uint32_t)M->kernels.n;
		vec_push(&M->kernels, k);
	} else {
		prog_free(k.prog);
		add_opaque(M, n, why);
		return;
	}
	vec_push(&M->calls, (struct call){.node = n, .kernel = i, .nconst = l.nconst, .cval = cval});
}

/* ---- where values are ---- */

/* Memory is in row-major order: no layout, or one that only moves dims of size one. */
static bool row_major(struct module *m, const struct type *t)
{
	if (!t->layout)
		return true;
	int last = -1;
	for (const char *s = sym_str(t->layout); *s; s += strspn(s, " ")) {
		char *end;
		int axis = (int)strtol(s, &end, 10);
		int64_t size;
		if (end == s || axis < 0 || axis >= t->rank || (*end && *end != ' '))
			return false;
		s = end;
		if (poly_is_const(m->dims, t->dims[axis], &size) && size == 1)
			continue;
		if (axis < last)
			return false;
		last = axis;
	}
	return true;
}

static void follow_views(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);

	M->root = xcalloc(m->values.n, sizeof *M->root);
	for (val_id v = 1; v < m->values.n; v++)
		M->root[v] = v;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		if (!node_is_view(m, n) || !n->out[0])
			continue;
		if (n->op != OP_Identity && !row_major(m, &val(m, n->in[0])->type))
			die(EX_BADDATA, "%s: %s: a view of a value that is not row-major", m->source ? m->source : "-",
			    node_where(m, g->nodes.a[i], &m->arena));
		M->root[n->out[0]] = M->root[n->in[0]];
	}
	for (size_t k = 0; k < g->out.n; k++) {
		val_id r = M->root[g->out.a[k]];
		for (size_t j = 0; j < k; j++)
			if (M->out.a[j] == r)
				r = 0;
		vec_push(&M->out, r && val(m, r)->kind == VAL_NODE ? r : 0);
	}
}

/* Calls next to each other whose nodes say the same are one strip. */
static void join_strips(struct model *M)
{
	for (uint32_t c = 0; c < M->calls.n; c++) {
		struct call *x = &M->calls.a[c], *before = c ? x - 1 : NULL;
		int n, k;
		const int64_t *here = attr_ints(node(M->m, x->node), STRIP, &n),
			      *there = before ? attr_ints(node(M->m, before->node), STRIP, &k) : NULL;
		x->images = x->kernel == KERNEL_OPAQUE ? 1 : strip_images(M->m, x->node);
		x->strip = before && x->images > 1 && before->images == x->images && here[0] == there[0] ? before->strip : c;
	}
	for (uint32_t c = (uint32_t)M->calls.n; c-- > 0;)
		M->calls.a[c].last = c + 1 < M->calls.n && M->calls.a[c + 1].strip == M->calls.a[c].strip ? M->calls.a[c + 1].last : c;
}

/* What is made in a strip, and read nowhere else. */
static void find_inner(struct model *M)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, m->main);
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
	for (size_t k = 0; k < g->out.n; k++)
		M->inner[M->root[g->out.a[k]]] = false;
	free(made);
}

int64_t home_bytes(const struct model *M, const struct call *c, val_id v)
{
	return value_bytes(M->m, v) / (M->inner[M->root[v]] ? c->images : 1);
}

int64_t image_step(const struct model *M, const struct call *c, val_id v)
{
	return c->images > 1 && !M->inner[M->root[v]] ? value_bytes(M->m, v) / c->images : 0;
}

struct model *model_new(struct module *m, const struct target *t, int threads, const struct given_traces *traces, bool sketch)
{
	struct model *M = xcalloc(1, sizeof *M);

	M->m = m;
	M->threads = threads;
	M->lower = sketch ? lower_sketch : lower_group;
	check_graph(m); /* may add graphs, so they may move */
	follow_views(M);
	if (sketch)
		strips_choose(m, t, M->root, threads);
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (node(m, g->nodes.a[i])->op == OP_Fused)
			add_call(M, g->nodes.a[i], t, traces);
	join_strips(M);
	find_inner(M);
	return M;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* The operators of a group, each once. */
static void put_operators(FILE *f, struct module *m, graph_id g)
{
	VEC(uint32_t) ops = {0};

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		vec_push(&ops, (uint32_t)node(m, graph(m, g)->nodes.a[i])->op);
	if (ops.n)
		qsort(ops.a, ops.n, sizeof *ops.a, by_id);
	for (size_t i = 0; i < ops.n; i++)
		if (!i || ops.a[i] != ops.a[i - 1])
			fprintf(f, "%s%s", i ? " " : "", op_name((enum opcode)ops.a[i]));
	vec_free(&ops);
}

void model_report_opaque(struct model *M, bool refuse)
{
	enum { NAMED_MAX = 20 };
	struct module *m = M->m;
	uint32_t named = 0;
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct node *n = node(m, M->calls.a[c].node);
		if (M->calls.a[c].kernel != KERNEL_OPAQUE || named++ >= NAMED_MAX)
			continue;
		fprintf(f, "%s%s (", named > 1 ? ", " : "", n->name ? sym_str(n->name) : n->nout ? sym_str(val(m, n->out[0])->name) : "");
		put_operators(f, m, attr_graph(n, "graph"));
		fprintf(f, ")");
	}
	if (named > NAMED_MAX)
		fprintf(f, " and %u more", named - NAMED_MAX);
	fclose(f);
	if (named && refuse)
		die(EX_NOTAVAIL, "%s: %u of %zu steps have no kernel: %s", m->source ? m->source : "-", named, M->calls.n, text);
	if (named)
		note("%u of %zu steps on the slow path: %s", named, M->calls.n, text);
	free(text);
}

void model_free(struct model *M)
{
	for (size_t i = 0; i < M->kernels.n; i++)
		prog_free(M->kernels.a[i].prog);
	vec_free(&M->kernels);
	vec_free(&M->calls);
	vec_free(&M->out);
	free(M->root);
	free(M->inner);
	free(M);
}

static const char *meta_value(struct module *m, const char *key)
{
	for (size_t i = 0; i < m->meta.n; i++)
		if (!strcmp(sym_str(m->meta.a[i].key), key))
			return sym_str(m->meta.a[i].value);
	return NULL;
}

int64_t plan_bytes(struct module *m)
{
	const char *s = meta_value(m, PLAN_BYTES);
	char *end;

	if (!s)
		return -1;
	int64_t n = strtoll(s, &end, 10);
	if (end == s || *end || n < 0 || n >> ADDRESS_BITS)
		die(EX_BADDATA, "%s: %s is \"%s\", no number of bytes; run ge-plan again", m->source ? m->source : "-", PLAN_BYTES, s);
	return n;
}

int plan_threads(struct module *m)
{
	const char *s = meta_value(m, PLAN_THREADS);
	long n = s ? strtol(s, NULL, 10) : 1;
	return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (int)n;
}

struct home value_home(struct model *M, val_id v)
{
	struct module *m = M->m;
	val_id r = M->root[v];
	const struct value *x = val(m, r);
	int count;

	if (x->kind == VAL_INPUT)
		return (struct home){HOME_INPUT, x->index, 0};
	if (x->kind == VAL_CONST)
		return (struct home){HOME_CONST, r, 0};
	for (uint32_t k = 0; k < M->out.n; k++)
		if (M->out.a[k] == r)
			return (struct home){HOME_OUTPUT, k, 0};
	const int64_t *offsets = attr_ints(node(m, x->def), "offsets", &count);
	if (!offsets || (int)x->index >= count || offsets[x->index] < 0)
		return (struct home){HOME_NONE, 0, 0};
	return (struct home){HOME_ARENA, 0, offsets[x->index]};
}
