/* Which control operators can be run as steps, and the workspace of those. */
#include <stdlib.h>
#include "graph/kinds.h"
#include "lower/lower.h"
#include "model/control.h"
#include "model/model_impl.h"
#include "op/op.h"

int64_t scan_number(const struct node *n, const char *name, uint32_t i)
{
	int count;
	const int64_t *v = attr_ints(n, name, &count);

	return v && i < (uint32_t)count ? v[i] : 0;
}

int64_t fitted_axis(const struct node *n, const char *list, uint32_t i)
{
	int count;
	const int64_t *v = attr_ints(n, list, &count);

	return v && i < (uint32_t)count ? v[i] : -1;
}

struct slices slices_of(struct module *m, val_id v, int64_t axis)
{
	const struct type *t = &val(m, v)->type;
	struct slices s = {1, 1, (int64_t)dtype_size(t->dtype)};
	int64_t dims[RANK_MAX];

	type_dims(m, t, dims);
	axis += axis < 0 ? t->rank : 0;
	for (int i = 0; i < t->rank; i++) {
		s.outer *= i < axis ? dims[i] : 1;
		s.n = i == axis ? dims[i] : s.n;
		s.bytes *= i > axis ? dims[i] : 1;
	}
	return s;
}

bool mapped_operand(struct module *m, const struct node *n, uint32_t i)
{
	return i < n->nin - node_passing(n).operands && n->in[i] && type_kind(&val(m, n->in[i])->type) == KIND_SEQUENCE;
}

/* ---- can it be run as steps? ---- */

/* A tensor of numbers in row-major order. */
static bool is_tensor(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	return !t->other && dtype_size(t->dtype) && !t->layout;
}

/* The same of a known size. */
static bool is_plain(struct module *m, val_id v) { return is_tensor(m, v) && type_static(m, &val(m, v)->type); }

/* Such a tensor, or a list of such. */
static bool has_slot_or_place(struct module *m, val_id v) { return is_tensor(m, v) || type_lists_numbers(&val(m, v)->type); }

/* Is a value of type t one of type u? An optional may be what is in it. */
static bool is_of_type(const struct type *t, const struct type *u)
{
	struct type inside;

	if (!t->other && !u->other)
		return t->dtype == u->dtype && dtype_size(t->dtype) && !t->layout && !u->layout;
	if (t->other == u->other)
		return type_lists_numbers(t);
	if (type_kind(u) != KIND_OPTIONAL)
		return false;
	inside = type_inside(u);
	return is_of_type(t, &inside);
}

static bool same_type(struct module *m, val_id a, val_id b) { return is_of_type(&val(m, a)->type, &val(m, b)->type); }

static bool same_bytes(struct module *m, val_id a, val_id b)
{
	return is_plain(m, a) && is_plain(m, b) && val(m, a)->type.dtype == val(m, b)->type.dtype && value_bytes(m, a) == value_bytes(m, b);
}

static bool node_is_step(struct module *m, const struct node *n)
{
	if (n->op == OP_Fused)
		return true;
	if (n->op == OP_OTHER || (lower_has(n->op) && !node_varies(m, n)))
		return node_is_view(m, n);
	return !op_unable(m, n);
}

/* All values of a graph are tensors, and all its nodes can be steps. */
static bool graph_is_steps(struct module *m, graph_id g)
{
	const struct graph *x = graph(m, g);

	for (size_t i = 0; i < x->in.n; i++)
		if (!has_slot_or_place(m, x->in.a[i]))
			return false;
	for (size_t i = 0; i < x->nodes.n; i++) {
		const struct node *n = node(m, x->nodes.a[i]);
		for (uint32_t k = 0; k < n->nout; k++) {
			const struct type *t = n->out[k] ? &val(m, n->out[k])->type : NULL;
			if (t && !type_lists_numbers(t) && (t->other || !dtype_size(t->dtype)))
				return false;
		}
		if (!node_is_step(m, n))
			return false;
	}
	for (size_t i = 0; i < x->out.n; i++)
		if (!has_slot_or_place(m, x->out.a[i]))
			return false;
	return true;
}

/* Each operand from `first` on is as its input of body g, each result as its output. */
static bool body_fits(struct module *m, const struct node *n, graph_id g, uint32_t first)
{
	const struct graph *b = graph(m, g);

	if (b->in.n != n->nin - first || b->out.n != n->nout)
		return false;
	for (uint32_t i = first; i < n->nin; i++)
		if (!n->in[i] || !same_bytes(m, n->in[i], b->in.a[i - first]))
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && !same_bytes(m, n->out[k], b->out.a[k]))
			return false;
	return true;
}

/* Can v be made the value `inside` of a branch, or come of it: a tensor of the same type that is of its size, or varies? */
static bool value_fits(struct module *m, val_id v, val_id inside)
{
	const struct type *t = &val(m, v)->type;

	if (!value_varies(m, v))
		return same_bytes(m, v, inside);
	return !t->other && !t->layout && is_plain(m, inside) && t->dtype == val(m, inside)->type.dtype &&
	       t->rank == val(m, inside)->type.rank;
}

/* body_fits for a Case that makes operands fit. */
static bool fitted_fits(struct module *m, const struct node *n, graph_id g)
{
	const struct graph *b = graph(m, g);

	if (b->in.n != n->nin - 1 || b->out.n != n->nout)
		return false;
	for (uint32_t i = 1; i < n->nin; i++)
		if (!n->in[i] || !value_fits(m, n->in[i], b->in.a[i - 1]) || fitted_axis(n, "fit", i - 1) >= val(m, n->in[i])->type.rank)
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (!is_plain(m, b->out.a[k]) ||
		    (n->out[k] && (!value_fits(m, n->out[k], b->out.a[k]) || fitted_axis(n, "cut", k) >= val(m, n->out[k])->type.rank)))
			return false;
	return true;
}

/* A slice along an axis of v is as the value of the body. */
static bool slice_fits(struct module *m, val_id v, int64_t axis, val_id slice)
{
	const struct type *t = &val(m, v)->type;

	if (!is_plain(m, v) || t->rank < 1 || axis < -t->rank || axis >= t->rank || t->dtype != val(m, slice)->type.dtype)
		return false;
	struct slices s = slices_of(m, v, axis);
	return s.outer * s.bytes == value_bytes(m, slice);
}

static bool scalar_of(struct module *m, val_id v, enum dtype t)
{
	return is_plain(m, v) && val(m, v)->type.dtype == t && type_count(m, &val(m, v)->type) == 1;
}

/* body_fits for Loop and Scan: number and condition of a step, carried values, slices, all of one number of steps. */
static bool loop_fits(struct module *m, const struct node *n, graph_id g)
{
	const struct graph *b = graph(m, g);
	struct looping l = node_looping(n);
	bool loop = node_body_use(n) == BODY_LOOP;
	int64_t steps = -1;

	if (n->nin < (uint64_t)l.head + l.nscanned + l.ncaptured || n->nout < l.ncarried || b->in.n != n->nin || b->out.n != n->nout + loop)
		return false;
	for (uint32_t i = l.head; i < n->nin; i++) {
		uint32_t scanned = i - l.head - l.ncarried;
		bool slice = i >= l.head + l.ncarried && scanned < l.nscanned;
		if (!n->in[i] || !(slice ? slice_fits(m, n->in[i], scan_number(n, "scan_input_axes", scanned), b->in.a[i])
					 : same_bytes(m, n->in[i], b->in.a[i])))
			return false;
		int64_t here = slice ? slices_of(m, n->in[i], scan_number(n, "scan_input_axes", scanned)).n : steps;
		if (steps >= 0 && here != steps)
			return false;
		steps = here;
	}
	for (uint32_t k = 0; k < l.ncarried; k++)
		if (!same_bytes(m, n->in[l.head + k], b->out.a[loop + k]) || (n->out[k] && !same_bytes(m, n->out[k], b->out.a[loop + k])))
			return false;
	for (uint32_t k = 0; k < l.ncollected; k++) {
		val_id v = n->out[l.ncarried + k];
		int64_t axis = scan_number(n, "scan_output_axes", k);
		if (v && (!slice_fits(m, v, axis, b->out.a[loop + l.ncarried + k]) || (steps >= 0 && slices_of(m, v, axis).n != steps)))
			return false;
		steps = v ? slices_of(m, v, axis).n : steps;
	}
	return loop || steps >= 0;
}

/* Of what chooses or counts: an operand of one number. */
static bool head_fits(struct module *m, const struct node *n)
{
	const struct type *t = n->nin && n->in[0] ? &val(m, n->in[0])->type : NULL;

	switch (node_body_use(n)) {
	case BODY_IF: return t && scalar_of(m, n->in[0], DT_BOOL);
	case BODY_CASE: return t && (t->dtype == DT_I64 || t->dtype == DT_I32) && scalar_of(m, n->in[0], t->dtype);
	case BODY_LOOP: return n->nin >= 2 && (!t || scalar_of(m, n->in[0], DT_I64)) && (!n->in[1] || scalar_of(m, n->in[1], DT_BOOL));
	default: return true;
	}
}

static bool operator_fits(struct module *m, const struct node *n, graph_id body)
{
	switch (node_body_use(n)) {
	case BODY_IF:
	case BODY_CASE: return attr_find(n, "fit") ? fitted_fits(m, n, body) : body_fits(m, n, body, 1);
	case BODY_CALL: return body_fits(m, n, body, 0);
	case BODY_LOOP:
	case BODY_SCAN: return loop_fits(m, n, body);
	default: return false;
	}
}

/* ---- values of any size ---- */

/* body_fits without sizes, which a run compares. */
static bool body_takes(struct module *m, const struct node *n, graph_id g, uint32_t first)
{
	const struct graph *b = graph(m, g);

	if (b->in.n != n->nin - first || b->out.n != n->nout)
		return false;
	for (uint32_t i = first; i < n->nin; i++)
		if (!n->in[i] || !same_type(m, n->in[i], b->in.a[i - first]))
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && !same_type(m, b->out.a[k], n->out[k]))
			return false;
	return true;
}

/* loop_fits without sizes. */
static bool loop_takes(struct module *m, const struct node *n, graph_id g)
{
	const struct graph *b = graph(m, g);
	struct looping l = node_looping(n);
	bool loop = node_body_use(n) == BODY_LOOP;

	if (n->nin < (uint64_t)l.head + l.nscanned + l.ncaptured || n->nout < l.ncarried || b->in.n != n->nin || b->out.n != n->nout + loop)
		return false;
	if (loop ? !scalar_of(m, b->in.a[0], DT_I64) || !scalar_of(m, b->in.a[1], DT_BOOL) || !scalar_of(m, b->out.a[0], DT_BOOL)
		 : !l.nscanned)
		return false;
	for (uint32_t i = l.head; i < n->nin; i++)
		if (!n->in[i] || !same_type(m, n->in[i], b->in.a[i]))
			return false;
	for (uint32_t k = 0; k < l.ncarried; k++)
		if (!same_type(m, b->out.a[loop + k], b->in.a[l.head + k]))
			return false;
	for (uint32_t k = 0; k < n->nout; k++)
		if (n->out[k] && !same_type(m, b->out.a[loop + k], n->out[k]))
			return false;
	for (uint32_t i = 0; i < l.nscanned; i++)
		if (!is_tensor(m, n->in[l.head + l.ncarried + i]))
			return false;
	for (uint32_t k = l.ncarried; k < n->nout; k++)
		if (!is_tensor(m, b->out.a[loop + k]))
			return false;
	return true;
}

/* An element of each sequence, or the operand itself, as the body takes it; results are sequences of what it gives. */
static bool map_takes(struct module *m, const struct node *n, graph_id g)
{
	const struct graph *b = graph(m, g);

	if (!n->nin || b->in.n != n->nin || b->out.n != n->nout || !mapped_operand(m, n, 0))
		return false;
	for (uint32_t i = 0; i < n->nin; i++) {
		struct type t = n->in[i] ? val(m, n->in[i])->type : type_none();
		if (mapped_operand(m, n, i))
			t = type_inside(&t);
		if (!is_of_type(&t, &val(m, b->in.a[i])->type))
			return false;
	}
	for (uint32_t k = 0; k < n->nout; k++) {
		struct type t = n->out[k] ? val(m, n->out[k])->type : type_none(), inside = type_inside(&t);
		if (n->out[k] && (type_kind(&t) != KIND_SEQUENCE || !is_of_type(&val(m, b->out.a[k])->type, &inside)))
			return false;
	}
	return true;
}

static bool operator_takes(struct module *m, const struct node *n, graph_id body)
{
	switch (node_body_use(n)) {
	case BODY_IF:
	case BODY_CASE: return attr_find(n, "fit") ? fitted_fits(m, n, body) : body_takes(m, n, body, 1);
	case BODY_CALL: return body_takes(m, n, body, 0);
	case BODY_LOOP:
	case BODY_SCAN: return loop_takes(m, n, body);
	case BODY_MAP: return map_takes(m, n, body);
	default: return false;
	}
}

/* Do all operands and results have known sizes that fit the bodies'? */
static bool sizes_fit(struct module *m, const struct node *n)
{
	graph_id body;

	for (uint32_t k = 0; (body = node_body(n, k)); k++)
		if (!operator_fits(m, n, body))
			return false;
	return true;
}

/* Has a body an operand or result of a size that only a run knows, or the node? */
static bool sizes_vary(struct module *m, const struct node *n)
{
	bool varies = node_varies(m, n);
	graph_id body;

	for (uint32_t k = 0; (body = node_body(n, k)); k++) {
		const struct graph *b = graph(m, body);
		for (size_t i = 0; i < b->in.n; i++)
			varies |= value_varies(m, b->in.a[i]);
		for (size_t i = 0; i < b->out.n; i++)
			varies |= value_varies(m, b->out.a[i]);
	}
	return varies;
}

node_id control_node(struct module *m, node_id id)
{
	node_id alone = group_alone(m, id);
	graph_id body;

	if (!alone)
		return 0;
	const struct node *n = node(m, alone);
	if (!node_body(n, 0) || n->op == OP_Fused)
		return 0;
	if (!head_fits(m, n) || (!sizes_fit(m, n) && !sizes_vary(m, n)))
		return 0;
	for (uint32_t k = 0; (body = node_body(n, k)); k++)
		if (!operator_takes(m, n, body) || !graph_is_steps(m, body))
			return 0;
	return alone;
}

/* ---- workspace ---- */

static int64_t more(struct control *c, int64_t bytes)
{
	int64_t at = c->arena;

	c->arena += (bytes + 63) / 64 * 64;
	return at;
}

/* Bytes of input or output k of the branch where it is largest. */
static int64_t largest(struct model *M, const struct control *x, uint32_t k, bool input)
{
	int64_t most = 0;

	for (uint32_t b = 0; b < x->nbody; b++) {
		const struct graph *g = graph(M->m, x->body[b]);
		int64_t bytes = value_bytes(M->m, input ? g->in.a[k] : g->out.a[k]);
		most = bytes > most ? bytes : most;
	}
	return most;
}

static void room_of_branches(struct model *M, const struct call *c)
{
	struct control *x = c->control;

	for (uint32_t k = 0; k < node(M->m, c->alone)->nout; k++)
		x->spare[k] = call_result(M, c, k) ? -1 : more(x, largest(M, x, k, false));
}

void fitted_slots(struct model *M)
{
	for (uint32_t c = 0; c < M->calls.n; c++) {
		struct control *x = M->calls.a[c].control;
		const struct node *n = x && x->fitted ? node(M->m, M->calls.a[c].alone) : NULL;
		if (!n)
			continue;
		x->fit = ARENA_ARRAY(&M->m->arena, int64_t, n->nin);
		for (uint32_t i = 0; i + 1 < n->nin; i++)
			x->fit[i] = fitted_axis(n, "fit", i) < 0 ? -1 : (int64_t)M->nslots++;
	}
}

static void room_of_loop(struct model *M, const struct call *c)
{
	struct module *m = M->m;
	struct control *x = c->control;
	const struct node *n = node(m, c->alone);
	const struct graph *b = graph(m, x->body[0]);
	struct looping l = x->loop;
	uint32_t loop = x->use == BODY_LOOP;

	for (uint32_t k = 0; k < l.ncarried; k++) {
		int64_t bytes = value_bytes(m, b->out.a[loop + k]);
		x->spare[loop + k] = more(x, bytes);
		x->other[k] = call_result(M, c, k) ? -1 : more(x, bytes);
	}
	for (uint32_t k = 0; k < l.ncollected; k++) {
		val_id v = call_result(M, c, l.ncarried + k);
		bool whole = v && slices_of(m, v, scan_number(n, "scan_output_axes", k)).outer == 1;
		uint32_t at = loop + l.ncarried + k;
		x->spare[at] = whole ? -1 : more(x, value_bytes(m, b->out.a[at]));
	}
	for (uint32_t i = 0; i < l.nscanned; i++) {
		uint32_t at = l.head + l.ncarried + i;
		bool whole = slices_of(m, n->in[at], scan_number(n, "scan_input_axes", i)).outer == 1;
		x->slice[i] = whole ? -1 : more(x, value_bytes(m, b->in.a[at]));
	}
}

void control_add(struct model *M, node_id id, node_id op)
{
	struct module *m = M->m;
	const struct node *n = node(m, op);
	struct control *x = ARENA_NEW(&m->arena, struct control);
	VEC(graph_id) body = {0};
	graph_id g;

	for (uint32_t k = 0; (g = node_branch(n, k)); k++)
		vec_push(&body, g);
	*x = (struct control){.use = node_body_use(n), .nbody = (uint32_t)body.n};
	x->body = arena_copy(&m->arena, body.a, body.n * sizeof *body.a);
	x->spare = ARENA_ARRAY(&m->arena, int64_t, n->nout + 1);
	vec_push(&M->calls, (struct call){.node = id, .kernel = KERNEL_CONTROL, .alone = op, .control = x});
	M->ncontrol++;
	x->values = !sizes_fit(m, n);
	if (x->use == BODY_LOOP || x->use == BODY_SCAN)
		x->loop = node_looping(n);
	if (x->values) {
		x->result = ARENA_ARRAY(&m->arena, uint32_t, n->nout + 1);
	} else if (x->use == BODY_LOOP || x->use == BODY_SCAN) {
		x->other = ARENA_ARRAY(&m->arena, int64_t, x->loop.ncarried + 1);
		x->slice = ARENA_ARRAY(&m->arena, int64_t, x->loop.nscanned + 1);
		room_of_loop(M, &M->calls.a[M->calls.n - 1]);
	} else {
		room_of_branches(M, &M->calls.a[M->calls.n - 1]);
		x->fitted = x->use == BODY_CASE && attr_find(n, "fit");
	}
	vec_free(&body);
}

bool call_workspace_varies(const struct model *M, const struct call *c)
{
	const struct loop_prog *p = call_has_kernel(c) ? M->kernels.a[c->kernel].prog : NULL;

	return p && p->params.n && !poly_is_const(p->P, p->workspace_of, NULL);
}

int64_t call_workspace_bytes(const struct model *M, const struct call *c)
{
	int64_t arena = 0;

	if (call_has_kernel(c)) {
		int64_t version = c->version ? call_workspace_bytes(M, c->version) : 0;
		int64_t bytes = call_workspace_varies(M, c) ? 0 : M->kernels.a[c->kernel].prog->workspace;
		return bytes > version ? bytes : version;
	}
	for (uint32_t k = 0; c->control && k < c->control->nbody; k++) {
		int64_t bytes = M->sections.a[M->section_of[c->control->body[k]] - 1].arena_bytes;
		arena = bytes > arena ? bytes : arena;
	}
	return c->control ? c->control->arena + arena : 0;
}
