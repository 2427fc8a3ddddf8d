/* States in place: may the step that makes an output write it where an input lies? */
#include "emit/emit.h"
#include "graph/bodies.h"
#include "graph/pass.h"
#include "model/control.h"
#include "model/model_impl.h"
#include "model/state.h"
#include "op/native.h"

/* ---- branches ---- */

bool passes_branches(const struct model *M, const struct call *c, val_id in, val_id r, struct branching *b)
{
	struct module *m = M->m;
	const struct node *n = node(m, c->alone);
	enum body_use use = node_body_use(n);
	uint32_t first = use == BODY_CALL ? 0 : 1, operands = 0, results = 0;
	graph_id body;

	if (use != BODY_IF && use != BODY_CASE && use != BODY_CALL)
		return false;
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && M->root[call_operand(M, c, i)] == in) {
			b->in = i - first;
			operands += 1 + (i < first);
		}
	for (uint32_t k = 0; k < n->nout; k++)
		if (call_result(M, c, k) == r) {
			b->out = k;
			results++;
		}
	if (operands != 1 || results != 1)
		return false;
	bool vary = value_varies(m, in), fits = use == BODY_CASE && attr_find(n, "fit");
	if (value_varies(m, r) != vary || (fits && fitted_axis(n, "fit", b->in) != fitted_axis(n, "cut", b->out)))
		return false;
	for (uint32_t k = 0; (body = node_body(n, k)); k++) {
		val_id x = graph(m, body)->in.a[b->in], y = graph(m, body)->out.a[b->out];
		bool inside = vary && !fits;
		if (value_varies(m, x) != inside || value_varies(m, y) != inside || (!inside && value_bytes(m, x) != value_bytes(m, y)))
			return false;
	}
	return true;
}

static const struct section *body_section(const struct model *M, graph_id body) { return &M->sections.a[M->section_of[body] - 1]; }

/* ---- in place ---- */

/* The call of a section that makes value r; NULL: it is an input or a constant. */
static const struct call *maker(const struct model *M, const struct section *s, val_id r)
{
	for (uint32_t c = s->first; c < s->end; c++)
		if (val(M->m, r)->kind == VAL_NODE && M->calls.a[c].node == val(M->m, r)->def)
			return &M->calls.a[c];
	return NULL;
}

static const char *why_apart(const struct model *M, const struct section *s, val_id in, uint32_t out);

/* How often step c reads the bytes of value r. */
static uint32_t reads(const struct model *M, uint32_t c, val_id r)
{
	const struct node *n = node(M->m, M->calls.a[c].node);
	uint32_t count = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		count += n->in[i] && M->root[n->in[i]] == r;
	return count;
}

/* May native step x write result r where its operand `in` lies? */
static bool native_writes_in_place(const struct model *M, const struct call *x, val_id in, val_id r)
{
	if (!native_in_place(node(M->m, x->alone)))
		return false;
	val_id data = call_operand(M, x, 0), result = call_result(M, x, 0);
	for (uint32_t i = 1; i < node(M->m, x->alone)->nin; i++) {
		val_id v = call_operand(M, x, i);
		if (v && M->root[v] == in)
			return false;
	}
	return data && M->root[data] == in && result == r;
}

static const char *named(const struct model *M, uint32_t c) { return node_where(M->m, M->calls.a[c].node, &M->m->arena); }

/* NULL: step c, which reads `in`, may write result r there. */
static const char *why_not_step(const struct model *M, uint32_t c, val_id in, val_id r)
{
	const struct call *x = &M->calls.a[c];
	struct branching b;
	const char *why;

	if (x->kernel == KERNEL_CONTROL && passes_branches(M, x, in, r, &b)) {
		for (uint32_t k = 0; k < x->control->nbody; k++) {
			graph_id body = x->control->body[k];
			if ((why = why_apart(M, body_section(M, body), graph(M->m, body)->in.a[b.in], b.out)))
				return why;
		}
		return NULL;
	}
	if (x->kernel == KERNEL_NATIVE && native_writes_in_place(M, x, in, r))
		return NULL;
	return arena_printf(&M->m->arena, "%s, which makes the output, reads it in another order", named(M, c));
}

/* NULL: output number `out` of a section may be written where its input `in` lies. Else why not. */
static const char *why_apart(const struct model *M, const struct section *s, val_id in, uint32_t out)
{
	struct module *m = M->m;
	const struct graph *g = graph(m, s->graph);
	val_id r = M->root[g->out.a[out]];
	uint32_t writer = s->first;

	for (size_t k = 0; k < g->out.n; k++)
		if (k != out && M->root[g->out.a[k]] == in)
			return arena_printf(&m->arena, "output %s is the input as it was", sym_str(g->out_name.a[k]));
	for (size_t k = 0; k < g->out.n && value_varies(m, r) && s != M->sections.a; k++)
		if (k != out && M->root[g->out.a[k]] == r)
			return arena_printf(&m->arena, "output %s is the same", sym_str(g->out_name.a[k]));
	if (r == in)
		return NULL;
	if (!value_varies(m, r) && s->out.a[out] != r)
		return "the output is copied from another value";
	while (writer < s->end && M->calls.a[writer].node != val(m, r)->def)
		writer++;
	if (writer == s->end || M->calls.a[writer].images > 1)
		return "the output is made image by image";
	const struct call *w = &M->calls.a[writer];
	for (uint32_t c = w->strip; c < s->end; c++)
		if (reads(M, c, in) && (c > writer || M->calls.a[c].lane != w->lane))
			return arena_printf(&m->arena, "%s reads it after %s has made the output", named(M, c), named(M, writer));
	return reads(M, writer, in) ? why_not_step(M, writer, in, r) : NULL;
}

const char *state_apart(const struct model *M, const struct state *s)
{
	return why_apart(M, M->sections.a, graph(M->m, M->m->main)->in.a[s->in], s->out);
}

/* Marks the steps of a section, and of branches, that make its output in the place of its input. False: none does. */
static bool lend(struct model *M, const struct section *s, val_id in, uint32_t out, uint32_t state)
{
	val_id r = M->root[graph(M->m, s->graph)->out.a[out]];
	const struct call *found = maker(M, s, r);
	struct branching b;
	bool any = false;

	if (!found || !reads(M, (uint32_t)(found - M->calls.a), in))
		return false;
	struct call *c = &M->calls.a[found - M->calls.a];
	bool branches = c->kernel == KERNEL_CONTROL && passes_branches(M, c, in, r, &b);
	if (branches && !c->control->fitted) {
		for (uint32_t k = 0; k < c->control->nbody; k++) {
			graph_id body = c->control->body[k];
			any |= lend(M, body_section(M, body), graph(M->m, body)->in.a[b.in], b.out, state);
		}
		return any;
	}
	if (!c->lent) { /* a body that serves several states lends for one */
		c->lent = state + 1;
		c->lent_in = in;
		c->lent_out = r;
	}
	return c->lent == state + 1;
}

/* A state that has grown is changed in place by the step that puts rows into it, unless a later one reads it as it was. */
static void lend_grown(struct model *M, uint32_t state)
{
	const struct state *s = &M->states.a[state];
	const struct graph *g = graph(M->m, M->m->main);
	val_id in = g->in.a[s->in], out = g->out.a[s->out], past, next;

	for (uint32_t c = M->sections.a[0].first; c < M->sections.a[0].end; c++)
		if (M->calls.a[c].kernel == KERNEL_APPEND && M->calls.a[c].state == state &&
		    append_axis(M->m, M->calls.a[c].node, &past, &next) >= 0 && next != out && !why_apart(M, M->sections.a, in, s->out) &&
		    !why_apart(M, M->sections.a, next, s->out))
			lend(M, M->sections.a, next, s->out, state);
}

void states_lend(struct model *M)
{
	const struct graph *g = graph(M->m, M->m->main);

	for (size_t i = 0; i < M->states.n; i++) {
		struct state *s = &M->states.a[i];
		val_id in = g->in.a[s->in];
		if (s->axis)
			lend_grown(M, (uint32_t)i);
		if (s->open && !s->axis && M->root[g->out.a[s->out]] != in && !(s->why = state_apart(M, s)) &&
		    !lend(M, M->sections.a, in, s->out, (uint32_t)i))
			s->why = "no step that makes the output reads it";
	}
}

/* ---- what a run writes ---- */

int64_t state_copied(const struct model *M, const struct state *s)
{
	const struct graph *g = graph(M->m, M->m->main);

	return M->sections.a[0].out.a[s->out] || M->root[g->out.a[s->out]] == g->in.a[s->in] ? 0 : s->bytes;
}

/* Bytes of output number `out`, in place of `in`, that a section writes, but for what a step puts in there: a run counts those. Of branches, the
 * one that writes most. */
static int64_t written_in_place(const struct model *M, const struct section *s, val_id in, uint32_t out)
{
	struct module *m = M->m;
	val_id r = M->root[graph(m, s->graph)->out.a[out]];
	const struct call *c = maker(M, s, r);
	struct branching b;
	int64_t bytes = 0;

	if (r == in)
		return 0;
	if (c && c->kernel == KERNEL_CONTROL && passes_branches(M, c, in, r, &b)) {
		for (uint32_t k = 0; k < c->control->nbody; k++) {
			graph_id body = c->control->body[k];
			int64_t n = written_in_place(M, body_section(M, body), graph(m, body)->in.a[b.in], b.out);
			bytes = n > bytes ? n : bytes;
		}
		return bytes;
	}
	return c && c->kernel == KERNEL_NATIVE && native_writes_in_place(M, c, in, r) ? 0 : value_bytes(m, in);
}

int64_t state_written(const struct model *M, const struct state *s)
{
	val_id in = graph(M->m, M->m->main)->in.a[s->in];

	return s->place[0] != s->place[1] ? s->bytes + state_copied(M, s) : written_in_place(M, M->sections.a, in, s->out);
}

/* ---- what may go wrong ---- */

/* Does nothing but native steps change output number `out` of a section, in place of `in`? */
static bool only_puts(const struct model *M, const struct section *s, val_id in, uint32_t out)
{
	val_id r = M->root[graph(M->m, s->graph)->out.a[out]];
	const struct call *c = maker(M, s, r);
	struct branching b;

	if (r == in)
		return true;
	if (c && c->kernel == KERNEL_CONTROL && passes_branches(M, c, in, r, &b)) {
		for (uint32_t k = 0; k < c->control->nbody; k++)
			if (!only_puts(M, body_section(M, c->control->body[k]), graph(M->m, c->control->body[k])->in.a[b.in], b.out))
				return false;
		return true;
	}
	return c && c->kernel == KERNEL_NATIVE && native_writes_in_place(M, c, in, r);
}

static bool may_fail(const struct model *M, const struct call *x)
{
	return !call_has_kernel(x) || node_varies(M->m, node(M->m, x->node)) || M->kernels.a[x->kernel].checks;
}

bool state_at_risk(const struct model *M, const struct state *s)
{
	const struct graph *g = graph(M->m, M->m->main);
	const struct section *all = M->sections.a;
	val_id in = g->in.a[s->in];
	const struct call *w = maker(M, all, M->root[g->out.a[s->out]]);
	bool risk = w && w->kernel == KERNEL_CONTROL;

	if (!w || s->axis || s->why || (!s->open && s->place[0] != s->place[1]) || only_puts(M, all, in, s->out))
		return false;
	for (uint32_t c = all->first; c < all->end && !risk; c++)
		risk = (c >= w->strip || M->calls.a[c].lane != w->lane) && may_fail(M, &M->calls.a[c]);
	return risk;
}
