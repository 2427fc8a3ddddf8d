/* The evaluator inside the process of a compiled model. */
#include "op/opaque.h"
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "graph/stream.h"
#include "op/hone_value.h"
#include "op/op.h"
#include "op/value_tensor.h"

struct hone_opaque {
	struct module *m;
	struct arena scratch; /* of the step that runs */
};

/* The process has one table of names, and so on: one caller at a time. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* ---- layouts ---- */

/* Axes of t in the order of memory, outermost first; false: row-major. */
static bool memory_order(const struct type *t, int *axis)
{
	const char *s = sym_str(t->layout);
	bool seen[RANK_MAX] = {0};

	if (!t->layout)
		return false;
	for (int i = 0; i < t->rank; i++) {
		char *end;
		long a = strtol(s, &end, 10);
		if (end == s || a < 0 || a >= t->rank || seen[a])
			die(EX_NOTAVAIL, "layout \"%s\" of an operand of a step", sym_str(t->layout));
		seen[a] = true;
		axis[i] = (int)a;
		s = end;
	}
	if (s[strspn(s, " ")])
		die(EX_NOTAVAIL, "layout \"%s\" of an operand of a step", sym_str(t->layout));
	return true;
}

/* Copies a tensor, of these sizes, between the layout of its type and row-major order. */
static void copy_layout(const struct type *t, const int64_t *dims, char *to, const char *from, bool into_layout)
{
	size_t size = dtype_size(t->dtype);
	int64_t n = 1, stride[RANK_MAX], step = 1, at[RANK_MAX] = {0}, off = 0;
	int axis[RANK_MAX];

	for (int i = 0; i < t->rank; i++)
		n *= dims[i];

	if (!memory_order(t, axis)) {
		memcpy(to, from, (size_t)n * size);
		return;
	}
	for (int i = t->rank - 1; i >= 0; i--) {
		stride[axis[i]] = step;
		step *= dims[axis[i]];
	}
	for (int64_t i = 0; i < n; i++) { /* i counts row-major; off is where that element lies in the layout */
		if (into_layout)
			memcpy(to + (size_t)off * size, from + (size_t)i * size, size);
		else
			memcpy(to + (size_t)i * size, from + (size_t)off * size, size);
		for (int k = t->rank - 1; k >= 0; k--) {
			off += stride[k];
			if (++at[k] < dims[k])
				break;
			off -= stride[k] * dims[k];
			at[k] = 0;
		}
	}
}

/* ---- steps ---- */

/* A row-major operand is read in place: evaluators write only their results. */
static struct tensor *operand(struct module *m, val_id v, const void *data, struct arena *a)
{
	const struct type *t = &val(m, v)->type;
	int64_t dims[RANK_MAX];
	int axis[RANK_MAX];

	type_dims(m, t, dims);
	if (!memory_order(t, axis) && (uintptr_t)data % dtype_size(t->dtype) == 0) {
		struct tensor *x = ARENA_NEW(a, struct tensor);
		*x = (struct tensor){.dtype = t->dtype,
				     .rank = t->rank,
				     .dims = arena_copy(a, dims, sizeof *dims * (size_t)t->rank),
				     .nbytes = (size_t)type_count(m, t) * dtype_size(t->dtype),
				     .data = data};
		return x;
	}
	struct tensor *x = tensor_new(a, t->dtype, t->rank, dims);
	copy_layout(t, dims, (char *)x->data, data, false);
	return x;
}

/* One whose size varies. */
static struct tensor *operand_of_any_size(struct module *m, val_id v, const struct hone_value *x, struct arena *a)
{
	const struct type *t = &val(m, v)->type;
	int axis[RANK_MAX];

	if (t->layout && x->rank == t->rank && memory_order(t, axis)) {
		struct tensor *y = tensor_new(a, t->dtype, t->rank, x->shape);
		copy_layout(t, x->shape, (char *)y->data, x->data, false);
		return y;
	}
	struct tensor *y = ARENA_NEW(a, struct tensor);
	*y = (struct tensor){.dtype = (enum dtype)x->type, .rank = x->rank, .data = x->data};
	y->dims = arena_copy(a, x->shape, sizeof *y->dims * (size_t)x->rank);
	y->nbytes = (size_t)tensor_count(y) * dtype_size(y->dtype);
	return y;
}

/* The text that type_str would give, but that stays in the module. */
static const char *shape_str(const struct tensor *x, struct arena *a)
{
	const char *s = arena_printf(a, "%s[", dtype_name(x->dtype));

	for (int i = 0; i < x->rank; i++)
		s = arena_printf(a, "%s%s%lld", s, i ? "," : "", (long long)x->dims[i]);
	return arena_printf(a, "%s]", s);
}

static void result(struct module *m, node_id id, uint32_t k, const struct tensor *x, void *out, struct arena *a)
{
	const struct type *t = &val(m, node(m, id)->out[k])->type;
	int64_t dims[RANK_MAX];
	bool fits = x && type_dims(m, t, dims) && x->dtype == t->dtype && x->rank == t->rank;

	for (int i = 0; fits && i < t->rank; i++)
		fits = x->dims[i] == dims[i];
	if (!fits)
		die(EX_BADDATA, "%s is %s for these inputs, not %s", sym_str(val(m, node(m, id)->out[k])->name),
		    x ? shape_str(x, a) : "missing", type_str(m, t, a));
	if (x->data != out)
		copy_layout(t, dims, out, x->data, true);
}

/* A row-major result may be computed in place. */
static struct room room_of(struct module *m, val_id v, void *out)
{
	const struct type *t = &val(m, v)->type;
	int axis[RANK_MAX];

	if (memory_order(t, axis) || (uintptr_t)out % dtype_size(t->dtype))
		return (struct room){0};
	return (struct room){out, (size_t)type_count(m, t) * dtype_size(t->dtype)};
}

static void run_step(struct module *m, node_id id, const void *const *in, void *const *out, struct arena *a)
{
	const struct node *n = node(m, id);
	struct tensor **x = ARENA_ARRAY(a, struct tensor *, n->nin), **y = ARENA_ARRAY(a, struct tensor *, n->nout);
	struct room *room = ARENA_ARRAY(a, struct room, n->nout);
	uint32_t given = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		x[i] = val(m, n->in[i])->kind == VAL_CONST ? val(m, n->in[i])->tensor : operand(m, n->in[i], in[given++], a);
	for (uint32_t k = 0; k < n->nout; k++)
		room[k] = room_of(m, n->out[k], out[k]);
	const char *why = eval_node_into(m, id, x, y, room, a);
	if (why)
		die(EX_BADDATA, "%s", why);
	for (uint32_t k = 0; k < n->nout; k++)
		result(m, id, k, y[k], out[k], a);
}

/* What a caller wants of one step: places of results, or room for results of any size. */
struct order {
	const void *const *in;
	void *const *out;
	const struct hone_value *const *value;
	void *(*room)(void *arg, size_t k, int type, int rank, const long *shape, size_t bytes);
	void *arg;
};

/* Is it a tensor of numbers of a known size? Then it has a place that may have a layout. */
static bool has_place(struct module *m, val_id v) { return type_static(m, &val(m, v)->type) && dtype_size(val(m, v)->type.dtype); }

static struct tensor *value_operand(struct module *m, val_id v, const struct hone_value *x, struct arena *a)
{
	const char *why = NULL;
	struct tensor *t;

	if (has_place(m, v))
		return operand(m, v, x->data, a);
	if (!val(m, v)->type.other && dtype_size(val(m, v)->type.dtype))
		return operand_of_any_size(m, v, x, a);
	if (!(t = value_tensor(x, &val(m, v)->type, a, &why)))
		die(EX_BADDATA, "an operand of type %s: %s", type_str(m, &val(m, v)->type, a), why);
	return t;
}

/* Gives result k, x, the room it needs, and puts it there. */
static void value_result(struct module *m, node_id id, uint32_t k, const struct tensor *x, const struct order *o, struct arena *a)
{
	val_id v = node(m, id)->out[k];
	bool plain = x && x->kind == KIND_TENSOR;
	int64_t n = x ? (int64_t)x->nitem : 0;
	struct hone_value own;
	void *p = NULL;

	if (plain)
		p = o->room(o->arg, k, (int)x->dtype, x->rank, x->dims, x->dtype == DT_STR ? value_size(x) : x->nbytes);
	else if (x && x->kind != KIND_OTHER)
		p = o->room(o->arg, k, value_kind_number((enum kind)x->kind), 1, &n, value_size(x));
	if (!p)
		die(EX_BADDATA, "%s is %s for these inputs, not %s", sym_str(val(m, v)->name), plain ? shape_str(x, a) : "missing",
		    type_str(m, &val(m, v)->type, a));
	if (has_place(m, v))
		result(m, id, k, x, p, a);
	else if (plain && val(m, v)->type.layout && val(m, v)->type.rank == x->rank)
		copy_layout(&val(m, v)->type, x->dims, p, x->data, true);
	else
		value_put(x, &own, p);
}

static void run_values(struct module *m, node_id id, const struct order *o, struct arena *a)
{
	const struct node *n = node(m, id);
	struct tensor **x = ARENA_ARRAY(a, struct tensor *, n->nin), **y = ARENA_ARRAY(a, struct tensor *, n->nout);
	uint32_t given = 0;

	for (uint32_t i = 0; i < n->nin; i++)
		x[i] = val(m, n->in[i])->kind == VAL_CONST ? val(m, n->in[i])->tensor : value_operand(m, n->in[i], o->value[given++], a);
	const char *why = eval_node_into(m, id, x, y, NULL, a);
	if (why)
		die(EX_BADDATA, "%s", why);
	for (uint32_t k = 0; k < n->nout; k++)
		value_result(m, id, k, y[k], o, a);
}

static int run_order(struct hone_opaque *o, size_t i, const struct order *order, char *why, size_t size)
{
	struct msg_trap trap;
	fenv_t caller;
	int failed;

	pthread_mutex_lock(&turn);
	feholdexcept(&caller);
	fesetenv(FE_DFL_ENV); /* with denormals, as the evaluator computes everywhere */
	if (!(failed = setjmp(trap.at))) {
		msg_trap = &trap;
		if (i >= graph(o->m, o->m->main)->nodes.n)
			die(EX_BADDATA, "there is no opaque step %zu", i);
		if (order->room)
			run_values(o->m, graph(o->m, o->m->main)->nodes.a[i], order, &o->scratch);
		else
			run_step(o->m, graph(o->m, o->m->main)->nodes.a[i], order->in, order->out, &o->scratch);
		msg_trap = NULL;
	} else {
		eval_abandon();
	}
	fesetenv(&caller);
	arena_release(&o->scratch);
	pthread_mutex_unlock(&turn);
	if (failed)
		snprintf(why, size, "%s", trap.why);
	return failed ? -1 : 0;
}

int hone_opaque_run(struct hone_opaque *o, size_t i, const void *const *in, void *const *out, char *why, size_t size)
{
	return run_order(o, i, &(struct order){.in = in, .out = out}, why, size);
}

int hone_opaque_run_values(struct hone_opaque *o, size_t i, const struct hone_value *const *in,
			   void *(*room)(void *arg, size_t k, int type, int rank, const long *shape, size_t bytes), void *arg, char *why,
			   size_t size)
{
	return run_order(o, i, &(struct order){.value = in, .room = room, .arg = arg}, why, size);
}

/* Dies unless the graph is sound and all values are of known types. */
static void check_steps(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	module_verify_or_die(m);
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		for (uint32_t k = 0; k < n->nin + n->nout; k++) {
			val_id v = k < n->nin ? n->in[k] : n->out[k - n->nin];
			if (!v || (!val(m, v)->type.dtype && !val(m, v)->type.other))
				die(EX_BADDATA, "opaque steps: operand or result %u of step %zu has no type", k, i);
		}
	}
}

struct hone_opaque *hone_opaque_open(const void *steps, size_t n, char *why, size_t size)
{
	struct hone_opaque *volatile o = NULL;
	struct stream_fault fault;
	struct msg_trap trap;
	size_t pos = 0;

	pthread_mutex_lock(&turn);
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		struct module *m = stream_parse(steps, n, &pos, "opaque step", &fault);
		if (!m)
			die(EX_BADDATA, "opaque steps: byte %zu: %s", fault.offset, fault.why);
		check_steps(m);
		o = xcalloc(1, sizeof *o);
		o->m = m;
	} else {
		snprintf(why, size, "%s", trap.why);
	}
	msg_trap = NULL;
	pthread_mutex_unlock(&turn);
	return o;
}

void hone_opaque_close(struct hone_opaque *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&turn);
	module_free(o->m);
	pthread_mutex_unlock(&turn);
	free(o);
}
