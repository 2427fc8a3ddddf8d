/* Lowering and scheduling all groups of a module; views and homes of values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/pass.h"
#include "loop/lower.h"
#include "loop/lower_model.h"
#include "loop/prim.h"
#include "op/op.h"

int64_t value_bytes(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	return type_count(m, t) * (int64_t)dtype_size(t->dtype);
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
	die(code, "%s: %s: %s", m->source ? m->source : "-", node_where(m, n, &m->arena), why);
}

/* Every node is a Fused one or a view, of known size. (Fused ones: lower_group looks.) */
static void check_graph(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (!type_static(m, &val(m, g->in.a[i])->type))
			bind_missing(m, "ge-shape");
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		if (n->op == OP_Fused)
			continue;
		if (!node_is_view(m, n))
			die_at(m, g->nodes.a[i], EX_NOTAVAIL,
			       lower_has(n->op) ? "it is in no group; run ge-fuse" : "this operator has no lowering");
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && !type_static(m, &val(m, n->out[k])->type))
				die_at(m, g->nodes.a[i], EX_NOTAVAIL, "the size of its result is not known");
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
				die(EX_BADDATA, "%s:%d: a trace needs a line \"# kernel DIGEST\" above it (see --print-traces)", path, line);
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

/* Applies and finishes; NULL or why not. */
static const char *schedule(struct kernel *k)
{
	const char *why = loop_apply(k->prog, k->trace, false);
	return why ? why : loop_finish(k->prog);
}

static struct lowered lower_or_die(struct module *m, node_id n, const struct target *t)
{
	const char *why;
	struct lowered l = lower_group(m, n, t, &why);

	if (why) /* it names the node */
		die(EX_NOTAVAIL, "%s: %s", m->source ? m->source : "-", why);
	return l;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static uint32_t kernel_find(struct model *M, struct digest d, const char *given)
{
	for (uint32_t i = 0; i < M->kernels.n; i++)
		if (digest_eq(M->kernels.a[i].digest, d) && same_text(M->kernels.a[i].given, given))
			return i;
	return UINT32_MAX;
}

/* The rule looks for its trace by trying, so the program it was given is of no more use. */
static const char *rule_trace(struct module *m, struct loop_prog *p)
{
	const char *trace = arena_str(&m->arena, loop_rule(p));

	prog_free(p);
	return trace;
}

static struct kernel kernel_new(struct module *m, node_id n, const struct target *t, struct kernel k)
{
	if (k.given) {
		k.trace = k.given;
	} else {
		k.trace = rule_trace(m, k.prog);
		k.prog = lower_or_die(m, n, t).prog;
	}
	const char *why = schedule(&k);
	if (why && k.given)
		die(EX_BADDATA, "%s: %s: its trace: %s", m->source ? m->source : "-", node_where(m, n, &m->arena), why);
	if (why) {
		warn("%s: the rule's trace does not apply: %s; plain loops instead", node_where(m, n, &m->arena), why);
		prog_free(k.prog);
		k.prog = lower_or_die(m, n, t).prog;
		k.trace = "";
		if ((why = schedule(&k)))
			BUG("%s: start state: %s", node_where(m, n, &m->arena), why);
	}
	return k;
}

static void add_call(struct model *M, node_id n, const struct target *t, const struct given_traces *traces)
{
	struct module *m = M->m;
	struct lowered l = lower_or_die(m, n, t);
	struct kernel k = {.prog = l.prog, .digest = prog_digest(l.prog)};
	val_id *cval = arena_copy(&m->arena, l.cval, (size_t)l.nconst * sizeof *l.cval);

	k.given = trace_given(traces, k.digest);
	if (!k.given)
		k.given = attr_str(node(m, n), "trace", NULL);
	uint32_t i = kernel_find(M, k.digest, k.given);
	if (i == UINT32_MAX) {
		i = (uint32_t)M->kernels.n;
		vec_push(&M->kernels, kernel_new(m, n, t, k));
	} else {
		prog_free(l.prog);
	}
	vec_push(&M->calls, (struct call){n, i, l.nconst, cval});
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

struct model *model_new(struct module *m, const struct target *t, const struct given_traces *traces)
{
	struct model *M = xcalloc(1, sizeof *M);
	const struct graph *g = graph(m, m->main);

	M->m = m;
	check_graph(m);
	follow_views(M);
	for (size_t i = 0; i < g->nodes.n; i++)
		if (node(m, g->nodes.a[i])->op == OP_Fused)
			add_call(M, g->nodes.a[i], t, traces);
	return M;
}

void model_free(struct model *M)
{
	for (size_t i = 0; i < M->kernels.n; i++)
		prog_free(M->kernels.a[i].prog);
	vec_free(&M->kernels);
	vec_free(&M->calls);
	vec_free(&M->out);
	free(M->root);
	free(M);
}

int64_t plan_bytes(struct module *m)
{
	for (size_t i = 0; i < m->meta.n; i++)
		if (!strcmp(sym_str(m->meta.a[i].key), PLAN_BYTES))
			return strtoll(sym_str(m->meta.a[i].value), NULL, 10);
	return -1;
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
