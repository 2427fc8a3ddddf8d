/* Loop and Scan. Besides ONNX's operands they have captured values: the last operands, which their bodies get at every step unchanged. */
#include "graph/bodies.h"
#include "op/rules.h"

struct parts {
	graph_id body;
	uint32_t state, scanned, captured,
		scans; /* numbers of operands that are state, that are scanned, that are captured; and of results that are scans */
	uint32_t head; /* operands before the state: trip count and condition of Loop */
};

static const char *parts_of(struct module *m, const struct node *n, struct parts *p)
{
	bool loop = n->op == OP_Loop;
	uint32_t nin, nout;

	*p = (struct parts){.body = attr_graph(n, "body"), .captured = node_passing(n).operands, .head = loop ? 2 : 0};
	p->scanned = loop ? 0 : (uint32_t)attr_i(n, "num_scan_inputs");
	if (n->nin < p->head + p->captured + p->scanned || !p->body)
		return "too few operands";
	p->state = n->nin - p->head - p->captured - p->scanned;
	nin = (uint32_t)graph(m, p->body)->in.n;
	nout = (uint32_t)graph(m, p->body)->out.n;
	if (n->nout < p->state)
		return "fewer results than state";
	p->scans = n->nout - p->state;
	if (nin != n->nin || nout != n->nout + loop)
		return "the body does not fit operands and results";
	return NULL;
}

/* Element i of an attribute's list, 0 if there is none. */
static int64_t listed(const struct node *n, const char *name, uint32_t i)
{
	int count;
	const int64_t *v = attr_ints(n, name, &count);

	return v && i < (uint32_t)count ? v[i] : 0;
}

/* ---- shapes ---- */

/* The type of one slice of a scanned operand. */
static const char *slice_type(struct infer *I, uint32_t i, uint32_t nth, struct type *t, dim *steps)
{
	int axis;

	*t = I->in[i];
	if (t->rank == RANK_UNKNOWN)
		return NULL;
	if (!rule_axis(listed(I->n, "scan_input_axes", nth), t->rank, &axis))
		return rule_why(I, "operand %u is scanned along an axis it does not have", i);
	dim *d = rule_dims(I, t->rank);
	for (int k = 0, n = 0; k < t->rank; k++) {
		if (k == axis)
			*steps = *steps && *steps != t->dims[k] ? *steps : t->dims[k];
		else
			d[n++] = t->dims[k];
	}
	t->dims = d;
	t->rank--;
	return NULL;
}

static const char *scan_type(struct infer *I, uint32_t nth, const struct type *slice, dim steps, uint32_t result)
{
	int axis;

	if (slice->rank == RANK_UNKNOWN) {
		rule_out(I, result, slice->dtype, RANK_UNKNOWN, NULL);
		return NULL;
	}
	if (!rule_axis(listed(I->n, "scan_output_axes", nth), slice->rank + 1, &axis))
		return rule_why(I, "result %u is scanned along an axis it does not have", result);
	dim *d = rule_dims(I, slice->rank + 1);
	for (int k = 0, n = 0; k <= slice->rank; k++)
		d[k] = k == axis ? steps : slice->dims[n++];
	rule_out(I, result, slice->dtype, slice->rank + 1, d);
	return NULL;
}

static struct known known_truth(struct infer *I)
{
	poly *e = ARENA_ARRAY(&I->m->arena, poly, 1);

	e[0] = rule_const(I, 1);
	return (struct known){.yes = true, .n = 1, .e = e};
}

/* Operand i of one element, if that is known; what it is where it is absent. */
static poly known_scalar(struct infer *I, uint32_t i, poly absent)
{
	if (!rule_has(I, i))
		return absent;
	return I->kin[i].yes && I->kin[i].n == 1 ? I->kin[i].e[0] : POLY_UNKNOWN;
}

/* How often a Loop runs its body, which gave `again` as the condition of the next step. */
static dim loop_steps(struct infer *I, const struct known *again)
{
	struct polys *P = rule_polys(I);
	poly trips = known_scalar(I, 0, POLY_UNKNOWN), enter = known_scalar(I, 1, rule_const(I, 1));
	int64_t go, next, n;
	bool entered = poly_is_const(P, enter, &go);
	bool followed = again->yes && again->n == 1 && poly_is_const(P, again->e[0], &next);

	if ((entered && !go) || (poly_is_const(P, trips, &n) && n <= 0))
		return rule_const(I, 0);
	if (!entered || !followed)
		return POLY_UNKNOWN;
	if (!next && !rule_has(I, 0))
		return rule_const(I, 1);
	if (!next)
		trips = trips ? poly_min(P, trips, rule_const(I, 1)) : POLY_UNKNOWN;
	return trips ? poly_max(P, trips, rule_const(I, 0)) : POLY_UNKNOWN;
}

/* What a shape rule knows of a Loop or Scan: the operands of its body and what the body gives for them. */
struct loop {
	struct parts p;
	uint32_t given_before; /* results of the body before the state: the condition of Loop */
	struct type *in, *out;
	struct known *known, *given;
	bool enters; /* it surely makes a step */
};

/* As few steps as it makes at least, as many as it makes at most. */
static void steps_range(struct infer *I, const struct loop *l, dim steps, int64_t *least, int64_t *most)
{
	int64_t unused;

	*least = l->enters;
	*most = POLY_INF;
	if (steps)
		poly_range(rule_polys(I), steps, least, most);
	else if (I->n->op == OP_Loop && I->kin[0].yes && I->kin[0].n == 1 && I->kin[0].e[0])
		poly_range(rule_polys(I), I->kin[0].e[0], &unused, most);
	*most = *most > 0 ? *most : 0;
}

static bool enters(struct infer *I, const struct loop *l, dim scanned)
{
	struct polys *P = rule_polys(I);
	poly trips = l->p.head ? known_scalar(I, 0, rule_const(I, 1)) : scanned;
	int64_t go = 0, least = 0, most = 0;

	if (trips)
		poly_range(P, trips, &least, &most);
	if (l->p.head && !poly_is_const(P, known_scalar(I, 1, rule_const(I, 1)), &go))
		return false;
	return least > 0 && (go || !l->p.head);
}

/* The body again, with what state can be after a step as well as before the first, until that changes no more. Types only lose
 * detail, extents before the rank; elements that change are not known at all: so this ends. */
static const char *settle_state(struct infer *I, struct loop *l)
{
	for (bool changed = true; changed;) {
		const char *why = I->body(I, l->p.body, l->in, l->known, l->out, l->given);
		if (why)
			return why;
		changed = false;
		for (uint32_t i = 0; i < l->p.state; i++) {
			uint32_t to = l->p.head + i, from = l->given_before + i;
			struct type t = type_common(I->m, &l->in[to], &l->out[from]);
			bool known = l->known[to].yes && known_equal(&l->known[to], &l->given[from]);
			changed = changed || !type_equal(&t, &l->in[to]) || known != l->known[to].yes;
			l->in[to] = t;
			if (!known)
				l->known[to] = (struct known){0};
		}
	}
	return NULL;
}

/* What becomes of `first` where every step adds `more`, which is not negative. */
static dim grown_extent(struct infer *I, const struct loop *l, dim first, poly more, dim steps)
{
	struct polys *P = rule_polys(I);
	int64_t each, least, most, lo, hi;

	poly_range(P, first, &lo, &hi);
	if (!poly_is_const(P, more, &each)) /* another at every step, maybe */
		return rule_fresh(I, lo, POLY_INF);
	poly e = steps ? poly_add(P, first, poly_mulc(P, steps, each)) : POLY_UNKNOWN;
	steps_range(I, l, steps, &least, &most);
	bool bounded = hi < INT32_MAX && most < INT32_MAX && each < INT32_MAX;
	return e ? e : rule_fresh(I, lo, bounded ? hi + most * each : POLY_INF);
}

/* An extent of a state that steps change. */
static dim changed_extent(struct infer *I, const struct loop *l, uint32_t state, int axis, dim steps)
{
	struct polys *P = rule_polys(I);
	const struct graph *b = graph(I->m, l->p.body);
	const struct type *before = &val(I->m, b->in.a[l->p.head + state])->type, *first = &I->in[l->p.head + state];
	const struct type *after = &val(I->m, b->out.a[l->given_before + state])->type;
	int64_t coef, lo, hi, lo1, hi1;
	poly more;

	if (before->rank <= axis || after->rank <= axis || first->rank <= axis || !first->dims[axis] || !after->dims[axis])
		return rule_fresh(I, 0, POLY_INF);
	poly_var v = before->dims[axis] ? poly_is_var(P, before->dims[axis]) : 0;
	if (v && poly_linear_in(P, after->dims[axis], v, &coef, &more) && coef == 1) {
		poly_range(P, more, &lo, &hi);
		if (lo >= 0)
			return grown_extent(I, l, first->dims[axis], more, steps);
	}
	poly_range(P, first->dims[axis], &lo, &hi);
	poly_range(P, after->dims[axis], &lo1, &hi1);
	return rule_fresh(I, lo < lo1 ? lo : lo1, hi > hi1 ? hi : hi1);
}

static void state_results(struct infer *I, const struct loop *l, dim steps)
{
	for (uint32_t i = 0; i < l->p.state; i++) {
		const struct type *t = &l->in[l->p.head + i];
		I->out[i] = *t;
		I->kout[i] = l->known[l->p.head + i];
		if (t->rank > 0)
			I->out[i].dims = arena_copy(&I->m->arena, t->dims, sizeof *t->dims * (size_t)t->rank);
		for (int k = 0; k < t->rank && !t->other; k++) /* of elements of a sequence it may be another for each */
			if (!t->dims[k])
				I->out[i].dims[k] = changed_extent(I, l, i, k, steps);
	}
}

static const char *body_operands(struct infer *I, struct loop *l, dim *steps)
{
	uint32_t nin = I->n->nin;
	const struct parts *p = &l->p;
	const char *why;

	memcpy(l->in, I->in, sizeof *l->in * nin);
	memcpy(l->known + nin - p->captured, I->kin + nin - p->captured, sizeof *l->known * p->captured);
	for (uint32_t i = 0; i < p->scanned; i++)
		if ((why = slice_type(I, p->state + i, i, &l->in[p->state + i], steps)))
			return why;
	l->enters = enters(I, l, *steps);
	if (l->enters)
		memcpy(l->known + p->head, I->kin + p->head, sizeof *l->known * p->state);
	if (p->head) {
		l->in[0] = type_make(I->m, DT_I64, 0, NULL);
		l->in[1] = type_make(I->m, DT_BOOL, 0, NULL);
		l->known[1] = known_truth(I); /* the condition is true in a body that runs */
	}
	return NULL;
}

static const char *shape_loop(struct infer *I)
{
	struct loop l = {.given_before = I->n->op == OP_Loop};
	uint32_t nin = I->n->nin, nout = I->n->nout;
	dim steps = POLY_UNKNOWN;
	int64_t least, most;
	const char *why = parts_of(I->m, I->n, &l.p);

	if (why)
		return why;
	l.in = ARENA_ARRAY(&I->m->arena, struct type, nin);
	l.out = ARENA_ARRAY(&I->m->arena, struct type, nout + 1);
	l.known = ARENA_ARRAY(&I->m->arena, struct known, nin);
	l.given = ARENA_ARRAY(&I->m->arena, struct known, nout + 1);
	if ((why = body_operands(I, &l, &steps)) || (why = settle_state(I, &l)))
		return why;
	if (l.p.head)
		steps = loop_steps(I, &l.given[0]);
	state_results(I, &l, steps);
	if (!steps && l.p.scans) {
		steps_range(I, &l, steps, &least, &most);
		steps = rule_fresh(I, least, most);
	}
	for (uint32_t i = 0; i < l.p.scans; i++)
		if ((why = scan_type(I, i, &l.out[l.given_before + l.p.state + i], steps, l.p.state + i)))
			return why;
	return NULL;
}

/* ---- evaluation ---- */

/* In the scratch memory of the node: a body that fails may not return here. */
typedef struct {
	struct tensor **a;
	size_t n, cap, bytes;
} tensors;

#define SCANNED_MAX ((size_t)1 << 31) /* bytes of one result; an endless loop gets there */

/* A copy of x, which goes with its step. */
static const char *push(struct eval *e, tensors *t, const struct tensor *x)
{
	if (t->n == t->cap) {
		struct tensor **more = eval_scratch(e, sizeof *more * (t->cap = t->cap ? 2 * t->cap : 8));
		if (t->n)
			memcpy(more, t->a, sizeof *more * t->n);
		t->a = more;
	}
	t->a[t->n++] = tensor_copy(e->tmp, x);
	t->bytes += tensor_size(x);
	return t->bytes > SCANNED_MAX ? "a scanned result takes more than 2 GiB" : NULL;
}

/* The n tensors of one scan as a tensor with a new axis. */
static const char *stack(struct eval *e, uint32_t result, const tensors *t, int64_t at, bool backward, const struct type *type)
{
	int64_t dims[RANK_MAX], outer = 1, n = (int64_t)t->n;
	int rank = n ? t->a[0]->rank : type->rank < 0 ? 0 : type->rank, axis;
	enum dtype dtype = n ? t->a[0]->dtype : type->dtype;

	if (rank >= RANK_MAX || !rule_axis(at, rank + 1, &axis) || !dtype_size(dtype))
		return "a scanned result cannot be put together";
	for (size_t k = 1; k < t->n; k++)
		if (t->a[k]->rank != rank || memcmp(t->a[k]->dims, t->a[0]->dims, sizeof *dims * (size_t)rank))
			return "a scanned result changes its shape";
	for (int k = 0, from = 0; k <= rank; k++) {
		int64_t c;
		if (k == axis)
			dims[k] = n;
		else if (n)
			dims[k] = t->a[0]->dims[from++];
		else
			dims[k] = poly_is_const(e->m->dims, type->dims[from++], &c) ? c : 0;
		outer *= k < axis ? dims[k] : 1;
	}
	struct tensor *y = eval_out(e, (int)result, dtype, rank + 1, dims);
	size_t run = n && outer ? t->a[0]->nbytes / (size_t)outer : 0;
	for (int64_t k = 0; k < n; k++)
		for (int64_t o = 0; o < outer; o++)
			memcpy(tensor_bytes(y) + (size_t)(o * n + k) * run, tensor_bytes(t->a[backward ? n - 1 - k : k]) + (size_t)o * run,
			       run);
	return NULL;
}

/* Slice i of x along an axis, as a tensor of one axis less. */
static struct tensor *slice(struct arena *a, struct tensor *x, int axis, int64_t i)
{
	int64_t dims[RANK_MAX];
	int n = 0;
	struct axes3 s = split_at(x, axis);
	size_t run = (size_t)s.inner * dtype_size(x->dtype);

	for (int k = 0; k < x->rank; k++)
		if (k != axis)
			dims[n++] = x->dims[k];
	struct tensor *y = tensor_new(a, x->dtype, n, dims);
	for (int64_t o = 0; o < s.outer; o++)
		memcpy(tensor_bytes(y) + (size_t)o * run, tensor_bytes(x) + (size_t)(o * s.n + i) * run, run);
	return y;
}

static const char *finish(struct eval *e, const struct parts *p, struct tensor **state, const tensors *scan)
{
	bool loop = e->n->op == OP_Loop;
	const char *why = NULL;

	for (uint32_t i = 0; i < p->state; i++)
		eval_give(e, (int)i, state[i]);
	for (uint32_t i = 0; i < p->scans && !why; i++)
		why = stack(e, p->state + i, &scan[i], listed(e->n, "scan_output_axes", i), listed(e->n, "scan_output_directions", i),
			    &val(e->m, graph(e->m, p->body)->out.a[loop + p->state + i])->type);
	return why;
}

static const char *scan_steps(struct eval *e, const struct parts *p, int64_t *steps)
{
	int axis;

	*steps = -1;
	for (uint32_t i = 0; i < p->scanned; i++) {
		const struct tensor *x = e->in[p->state + i];
		if (!x || !dtype_size(x->dtype) || !rule_axis(listed(e->n, "scan_input_axes", i), x->rank, &axis))
			return "a scanned operand is absent or has no such axis";
		if (*steps >= 0 && *steps != x->dims[axis])
			return "scanned operands have different extents";
		*steps = x->dims[axis];
	}
	return *steps < 0 ? "nothing is scanned" : NULL;
}

static const char *eval_loop(struct eval *e)
{
	struct parts p;
	const char *why = parts_of(e->m, e->n, &p);
	bool loop = e->n->op == OP_Loop, go = !loop || !e->in[1] || tensor_get_int(e->in[1], 0);
	uint32_t nin = e->n->nin, nout = e->n->nout;
	int64_t max = loop && e->in[0] ? tensor_get_int(e->in[0], 0) : INT64_MAX;
	struct tensor **in, **out;
	struct arena *state = NULL; /* what the last step gave */
	tensors *scan;

	if (why || (!loop && (why = scan_steps(e, &p, &max))))
		return why;
	in = ARENA_ARRAY(e->tmp, struct tensor *, nin);
	out = ARENA_ARRAY(e->tmp, struct tensor *, nout + 1);
	memcpy(in, e->in, sizeof *in * nin);
	scan = ARENA_ARRAY(e->tmp, tensors, p.scans + 1);
	for (int64_t trip = 0; go && trip < max && !why; trip++) {
		struct eval step = *e;
		step.arena = eval_arena();
		if (loop) {
			in[0] = tensor_new(step.arena, DT_I64, 0, NULL);
			store_i(in[0], 0, 1, &trip);
			in[1] = tensor_new(step.arena, DT_BOOL, 0, NULL);
			store_i(in[1], 0, 1, &(int64_t){go});
		}
		for (uint32_t i = 0; i < p.scanned; i++) {
			int axis = 0;
			rule_axis(listed(e->n, "scan_input_axes", i), e->in[p.state + i]->rank, &axis);
			in[p.state + i] = slice(step.arena, e->in[p.state + i], axis,
						listed(e->n, "scan_input_directions", i) ? max - 1 - trip : trip);
		}
		why = e->body(&step, p.body, (int)nin, in, out);
		if (state)
			eval_arena_end(state);
		state = step.arena;
		if (why)
			break;
		go = !loop || tensor_get_int(out[0], 0);
		for (uint32_t i = 0; i < p.state; i++)
			in[p.head + i] = out[loop + i];
		for (uint32_t i = 0; i < p.scans && !why; i++)
			why = push(e, &scan[i], out[loop + p.state + i]);
	}
	if (!why)
		why = finish(e, &p, in + p.head, scan);
	if (state)
		eval_arena_end(state);
	return why;
}

const struct op ops_loop[] = {
	{OP_Loop, shape_loop, eval_loop},
	{OP_Scan, shape_loop, eval_loop},
	{0},
};
