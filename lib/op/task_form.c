/* Groups in canonical order: the same for groups that compute the same, whatever order their nodes were written in. */
#include <string.h>
#include "common/msg.h"
#include "graph/pass.h"
#include "op/rules.h"
#include "op/task_impl.h"

enum {
	VALUES_MAX = 64, /* integer constants of so many elements are known by value */
	SCALES_MAX = 8,  /* and floats of so many where they give sizes */
	ROUNDS = 3,      /* rounds of telling operands with equal keys apart */
};

/* ---- values ---- */

static uint32_t find_value(const struct task_form *f, val_id v) { return map_get(&f->number, v) - 1; }

static uint32_t add_value(struct task_form *f, struct form_value x)
{
	vec_push(&f->value, x);
	map_set(&f->number, x.v, (uint32_t)f->value.n);
	return (uint32_t)f->value.n - 1;
}

static const char *check_type(struct module *m, val_id v, struct arena *a)
{
	const struct type *t = &val(m, v)->type;

	if (!type_static(m, t) || t->other)
		return arena_printf(a, "%s has type %s, not a tensor of known shape", sym_str(val(m, v)->name), type_str(m, t, a));
	if (!dtype_fixed(t->dtype))
		return arena_printf(a, "elements of type %s", dtype_name(t->dtype));
	return NULL;
}

/* Inputs of the body; equal operands are one, constants that came in from outside are constants. */
static const char *bind_inputs(struct task_form *f, struct arena *a)
{
	const struct node *x = node(f->m, f->fused);
	const struct graph *g = graph(f->m, f->body);
	const char *why;

	if (g->in.n != x->nin || g->out.n != x->nout)
		return "operands and results are not those of its graph";
	for (size_t i = 0; i < g->in.n; i++) {
		val_id outer = x->in[i], v = g->in.a[i];
		if (!outer)
			return "an operand is missing";
		if ((why = check_type(f->m, v, a)))
			return why;
		uint32_t k = find_value(f, outer); /* outer values and those of the body have different ids */
		if (k == FORM_ABSENT && val(f->m, outer)->kind == VAL_CONST) {
			k = add_value(f, (struct form_value){.v = outer, .kind = FORM_CONST});
		} else if (k == FORM_ABSENT) {
			k = add_value(f, (struct form_value){.v = v, .kind = FORM_INPUT});
			map_set(&f->number, outer, k + 1);
		}
		map_set(&f->number, v, k + 1);
	}
	return NULL;
}

/* Is the constant part of the task by value, because sizes or the text of the kernel depend on it? */
static bool needs_value(enum opcode op, uint32_t operand, const struct tensor *t)
{
	int64_t n = tensor_count(t);

	if (n == 1)
		return true;
	if (op == OP_QLinearConv && operand == 8) /* the bias */
		return false;
	if (t->dtype == DT_I64 || t->dtype == DT_I32)
		return n > 0 && n <= VALUES_MAX;
	return (op == OP_Resize || op == OP_Upsample) && n > 0 && n <= SCALES_MAX;
}

static const char *add_operand(struct task_form *f, const struct node *n, uint32_t i, struct arena *a)
{
	val_id v = n->in[i];
	const char *why;

	if (!v) {
		vec_push(&f->operand, FORM_ABSENT);
		return NULL;
	}
	uint32_t k = find_value(f, v);
	if (k == FORM_ABSENT && val(f->m, v)->kind == VAL_CONST) {
		if ((why = check_type(f->m, v, a)))
			return why;
		k = add_value(f, (struct form_value){.v = v, .kind = FORM_CONST});
	}
	if (k == FORM_ABSENT)
		return "a node reads what its group does not have";
	struct form_value *x = &f->value.a[k];
	if (x->kind == FORM_CONST && needs_value(n->op, i, val(f->m, x->v)->tensor))
		x->by_value = true;
	vec_push(&f->operand, k);
	return NULL;
}

static const char *check_node(const struct node *n, struct arena *a)
{
	if (n->op == OP_OTHER)
		return arena_printf(a, "%s is of a domain that is not known", sym_str(n->optype));
	if (op_is(n->op, OP_CONTROL) || op_is(n->op, OP_CALL))
		return arena_printf(a, "%s has bodies", op_name(n->op));
	if (op_is(n->op, OP_RANDOM))
		return arena_printf(a, "%s is random", op_name(n->op));
	return NULL;
}

/* How many results the text must name: if the operator leaves their number open, all; else those that are used and those that are
 * required. */
static uint32_t results_named(const struct node *n)
{
	const struct op_info *o = op_info(n->op);
	uint32_t k = n->nout;

	if (o->max_out < 0)
		return k;
	while (k > (uint32_t)o->min_out && !n->out[k - 1])
		k--;
	return k;
}

static const char *add_node(struct task_form *f, node_id id, struct arena *a)
{
	const struct node *n = node(f->m, id);
	struct form_node x = {.id = id, .first = (uint32_t)f->operand.n, .nin = n->nin, .attrs = f->text.n};
	const char *why = check_node(n, a);

	while (x.nin && !n->in[x.nin - 1])
		x.nin--;
	for (uint32_t i = 0; i < x.nin && !why; i++)
		why = add_operand(f, n, i, a);
	if (why || (why = task_put_attrs(&f->text, f->m, n, a)))
		return why;
	x.nout = results_named(n);
	put_end(&f->text); /* there is text now, if only an empty one */
	x.what = hash64(f->text.a + x.attrs, f->text.n - x.attrs, x.nout);
	x.what = hash64(op_name(n->op), strlen(op_name(n->op)), x.what);
	f->text.n++;
	for (uint32_t i = 0; i < n->nout; i++) {
		if (!n->out[i])
			continue;
		if ((why = check_type(f->m, n->out[i], a)))
			return why;
		add_value(f, (struct form_value){.v = n->out[i], .kind = FORM_RESULT, .node = (uint32_t)f->node.n, .index = i});
	}
	vec_push(&f->node, x);
	return NULL;
}

/* ---- order of operands ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t w[2] = {a, b};
	return hash64(w, sizeof w, 0);
}

static uint64_t leaf_key(struct task_form *f, const struct form_value *x)
{
	const struct type *t = &val(f->m, x->v)->type;
	int64_t dims[RANK_MAX + 2];
	uint64_t k = hash64(sym_str(t->layout), sym_len(t->layout), x->kind);

	dims[0] = dtype_to_onnx(t->dtype);
	dims[1] = t->rank;
	type_dims(f->m, t, dims + 2);
	k = hash64(dims, sizeof *dims * ((size_t)t->rank + 2), k);
	if (x->by_value) {
		struct tensor *c = val(f->m, x->v)->tensor;
		k = hash64(tensor_data(f->m, c), c->nbytes, k);
	}
	return k;
}

static bool reorders(const struct task_form *f, const struct form_node *n)
{
	return n->nin > 1 && op_is(node(f->m, n->id)->op, OP_COMMUTATIVE);
}

static const struct task_form *sorting; /* qsort has no argument of ours */

/* Results of nodes come first, constants last, as people write it. */
static int rank_of(const struct form_value *x) { return x->kind == FORM_RESULT ? 0 : x->kind == FORM_INPUT ? 1 : x->by_value ? 3 : 2; }

static int by_key(const void *a, const void *b)
{
	const struct form_value *x = &sorting->value.a[*(const uint32_t *)a], *y = &sorting->value.a[*(const uint32_t *)b];

	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	if (x->down != y->down)
		return x->down < y->down ? -1 : 1;
	if (x->fine != y->fine)
		return x->fine < y->fine ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_operands(struct task_form *f, struct form_node *n)
{
	uint32_t *op = f->operand.a + n->first;

	for (uint32_t i = 0; i < n->nin; i++)
		if (op[i] == FORM_ABSENT)
			return;
	sorting = f;
	qsort(op, n->nin, sizeof *op, by_key);
}

static uint64_t node_key(const struct task_form *f, const struct form_node *n, bool fine)
{
	uint64_t k = n->what;

	for (uint32_t i = 0; i < n->nin; i++) {
		uint32_t o = f->operand.a[n->first + i];
		k = mix(k, o == FORM_ABSENT ? 0 : fine ? f->value.a[o].fine : f->value.a[o].down);
	}
	return k;
}

/* Are there operands with equal keys that are not the same value? */
static bool has_tie(const struct task_form *f, const struct form_node *n)
{
	const uint32_t *op = f->operand.a + n->first;

	for (uint32_t k = 1; k < n->nin; k++)
		if (op[k] != op[k - 1] && op[k] != FORM_ABSENT && op[k - 1] != FORM_ABSENT &&
		    f->value.a[op[k]].down == f->value.a[op[k - 1]].down)
			return true;
	return false;
}

/* Values are listed with the node that makes them, constants with their first reader. */
static bool is_past(const struct task_form *f, size_t v, size_t node)
{
	return f->value.a[v].kind == FORM_RESULT && f->value.a[v].node != node;
}

/* Keys of all values from what they are computed from, and operands in the order of those keys. true: operands that
 * differ have equal keys. */
static bool order_by_subtrees(struct task_form *f)
{
	bool tie = false;
	size_t v = 0;

	for (size_t i = 0; i < f->value.n; i++)
		if (f->value.a[i].kind != FORM_RESULT)
			f->value.a[i].down = f->value.a[i].fine = leaf_key(f, &f->value.a[i]);
	for (size_t i = 0; i < f->node.n; i++) {
		struct form_node *n = &f->node.a[i];
		if (reorders(f, n)) {
			sort_operands(f, n);
			tie = tie || has_tie(f, n);
		}
		uint64_t key = node_key(f, n, false);
		for (; v < f->value.n && !is_past(f, v, i); v++)
			if (f->value.a[v].kind == FORM_RESULT)
				f->value.a[v].down = f->value.a[v].fine = mix(key, f->value.a[v].index);
	}
	return tie;
}

static void mark_live(struct task_form *f, size_t nresults)
{
	for (size_t k = 0; k < nresults; k++)
		if (f->value.a[f->result[k]].kind == FORM_RESULT)
			f->node.a[f->value.a[f->result[k]].node].live = true;
	for (size_t i = f->node.n; i-- > 0;) {
		const struct form_node *n = &f->node.a[i];
		for (uint32_t k = 0; k < n->nin && n->live; k++) {
			uint32_t o = f->operand.a[n->first + k];
			if (o != FORM_ABSENT && f->value.a[o].kind == FORM_RESULT)
				f->node.a[f->value.a[o].node].live = true;
		}
	}
}

/* Keys of what each value is used for, from the results backwards. */
static void look_up(struct task_form *f, size_t nresults, uint64_t *up)
{
	for (size_t k = 0; k < nresults; k++)
		up[f->result[k]] += mix(~0u, k);
	for (size_t v = f->value.n, i = f->node.n; i-- > 0;) {
		struct form_node *n = &f->node.a[i];
		uint64_t key = node_key(f, n, true);
		for (; v > 0 && !is_past(f, v - 1, i); v--)
			if (f->value.a[v - 1].kind == FORM_RESULT)
				key += mix(f->value.a[v - 1].index, up[v - 1]);
		for (uint32_t k = 0; k < n->nin && n->live; k++) {
			uint32_t o = f->operand.a[n->first + k];
			if (o != FORM_ABSENT)
				up[o] += mix(key, reorders(f, n) ? 0 : k + 1);
		}
	}
}

/* One round of telling operands apart: keys from what a value is computed from and what is made of it, as the last
 * round knew them (Weisfeiler and Leman 1968). */
static void refine(struct task_form *f, size_t nresults)
{
	uint64_t *up = xcalloc(f->value.n, sizeof *up);
	size_t v = 0;

	look_up(f, nresults, up);
	for (size_t i = 0; i < f->value.n; i++)
		if (f->value.a[i].kind != FORM_RESULT)
			f->value.a[i].fine = mix(f->value.a[i].down, up[i]);
	for (size_t i = 0; i < f->node.n; i++) {
		struct form_node *n = &f->node.a[i];
		if (reorders(f, n))
			sort_operands(f, n);
		uint64_t key = node_key(f, n, true);
		for (; v < f->value.n && !is_past(f, v, i); v++)
			if (f->value.a[v].kind == FORM_RESULT)
				f->value.a[v].fine = mix(mix(key, f->value.a[v].index), up[v]);
	}
	free(up);
}

/* ---- order of statements ---- */

/* Nodes in the order in which a walk from the results, with operands in order, finishes them. Nodes that no result needs are left out. */
static void order_nodes(struct task_form *f, size_t nresults)
{
	struct frame {
		uint32_t node, next;
	};
	VEC(struct frame) stack = {0};
	bool *seen = xcalloc(f->node.n + 1, sizeof *seen);

	for (size_t k = 0; k < nresults; k++) {
		struct form_value *r = &f->value.a[f->result[k]];
		if (r->kind != FORM_RESULT || seen[r->node])
			continue;
		seen[r->node] = true;
		vec_push(&stack, (struct frame){r->node, 0});
		while (stack.n) {
			struct frame *top = &stack.a[stack.n - 1];
			struct form_node *n = &f->node.a[top->node];
			if (top->next == n->nin) {
				vec_push(&f->order, top->node);
				stack.n--;
				continue;
			}
			uint32_t o = f->operand.a[n->first + top->next++];
			if (o == FORM_ABSENT || f->value.a[o].kind != FORM_RESULT || seen[f->value.a[o].node])
				continue;
			seen[f->value.a[o].node] = true;
			vec_push(&stack, (struct frame){f->value.a[o].node, 0});
		}
	}
	vec_free(&stack);
	free(seen);
}

/* By the key of type and contents; of equal ones the first value first. */
static int by_contents(const void *a, const void *b)
{
	const struct form_value *x = &sorting->value.a[*(const uint32_t *)a], *y = &sorting->value.a[*(const uint32_t *)b];

	return x->down != y->down ? (x->down < y->down ? -1 : 1) : (x > y) - (x < y);
}

/* Constants that are known by value and are equal become one. */
static void share_constants(struct task_form *f)
{
	VEC(uint32_t) list = {0};
	uint32_t *to = xcalloc(f->value.n + 1, sizeof *to);

	for (uint32_t i = 0; i < f->value.n; i++) {
		to[i] = i;
		if (f->value.a[i].kind != FORM_CONST || !f->value.a[i].by_value)
			continue;
		f->value.a[i].down = leaf_key(f, &f->value.a[i]);
		vec_push(&list, i);
	}
	sorting = f;
	if (list.n > 1)
		qsort(list.a, list.n, sizeof *list.a, by_contents);
	for (size_t k = 1; k < list.n; k++) {
		uint32_t before = to[list.a[k - 1]];
		if (tensor_equal(f->m, val(f->m, f->value.a[before].v)->tensor, val(f->m, f->value.a[list.a[k]].v)->tensor))
			to[list.a[k]] = before;
	}
	for (size_t i = 0; i < f->operand.n && list.n > 1; i++)
		if (f->operand.a[i] != FORM_ABSENT)
			f->operand.a[i] = to[f->operand.a[i]];
	vec_free(&list);
	free(to);
}

/* A result that is also an operand must be read by some node: else the text has no place to name it. */
static const char *check_results(struct task_form *f, size_t nresults)
{
	bool *read = xcalloc(f->value.n + 1, sizeof *read), named = true;

	for (size_t i = 0; i < f->order.n; i++) {
		struct form_node *n = &f->node.a[f->order.a[i]];
		for (uint32_t k = 0; k < n->nin; k++)
			if (f->operand.a[n->first + k] != FORM_ABSENT)
				read[f->operand.a[n->first + k]] = true;
	}
	for (size_t k = 0; k < nresults; k++)
		named &= f->value.a[f->result[k]].kind == FORM_RESULT || (read[f->result[k]] && !f->value.a[f->result[k]].by_value);
	free(read);
	return named ? NULL : "a result is an operand that no node reads, or a constant";
}

const char *task_form_make(struct task_form *f, struct module *m, node_id fused, struct arena *a)
{
	*f = (struct task_form){.m = m, .fused = fused, .body = attr_graph(node(m, fused), "graph")};
	const struct graph *g = graph(m, f->body);
	const char *why;

	if (!f->body)
		return "it has no graph";
	if ((why = bind_inputs(f, a)))
		return why;
	for (size_t i = 0; i < g->nodes.n; i++)
		if ((why = add_node(f, g->nodes.a[i], a)))
			return why;
	share_constants(f);
	f->result = xcalloc(g->out.n + 1, sizeof *f->result);
	for (size_t k = 0; k < g->out.n; k++) {
		if ((f->result[k] = find_value(f, g->out.a[k])) == FORM_ABSENT)
			return "a result is a constant";
	}
	mark_live(f, g->out.n);
	if (order_by_subtrees(f))
		for (int i = 0; i < ROUNDS; i++)
			refine(f, g->out.n);
	order_nodes(f, g->out.n);
	return f->order.n ? check_results(f, g->out.n) : "it computes nothing";
}

void task_form_release(struct task_form *f)
{
	vec_free(&f->value);
	vec_free(&f->node);
	vec_free(&f->operand);
	vec_free(&f->order);
	vec_free(&f->text);
	free(f->result);
	map_free(&f->number);
}
