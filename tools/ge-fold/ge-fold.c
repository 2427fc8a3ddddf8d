/* ge-fold: what can be computed now becomes a constant.
 *
 * One round: infer shapes; walk forward and give every value that is computed from constants, or
 * whose elements shape inference knows, its tensor; walk backward from what is still needed, make
 * constants of the tensors that are wanted and drop the nodes of which nothing is wanted any more.
 * A tensor too large to be worth it keeps its node, and so makes that node's operands wanted.
 * What all nodes that apply a body give it as the same constant is that constant inside, too.
 * Rounds repeat until one changes nothing. */
#include <string.h>
#include "common/memory.h"
#include "graph/bodies.h"
#include "graph/equal.h"
#include "op/native.h"
#include "op/op.h"
#include "op/pass.h"

enum { OPT_LIMIT = 0x100, OPT_KEEP };
static size_t limit = 64 << 10;
static bool keep_identities;
#define FLOPS_MAX 1e10          /* of one fold: seconds in a matrix product, a few minutes where elements are slow */
enum { STEP = 64, ALL = 1024 }; /* times the limit: what a step on the way may have, what all of a round have together */

static const struct argp_option options[] = {
	{"limit", OPT_LIMIT, "SIZE", 0, "bytes (K, M, G) by which one fold may make the model larger; 64K"},
	{"keep-identities", OPT_KEEP, 0, 0, "fold constants only"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_LIMIT:
		if (!memory_size(arg, &limit))
			die(EX_BADUSE,
			    "--limit %s: write a number of bytes, with K, M or G behind it if you "
			    "like",
			    arg);
		return 0;
	case OPT_KEEP: keep_identities = true; return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

struct fold {
	struct module *m;
	const struct pass_ctx *c;
	struct known *known;
	struct tensor **now;  /* by value: what it is, if that is known */
	bool *wanted;         /* by value */
	val_id *fwd;          /* by value: what replaces it */
	bool *dead;           /* by node */
	const char **why_not; /* by node */
	struct arena made;    /* tensors of this round */
	size_t *source;       /* by value: bytes of constants of the model that a computed one is made of, at most */
	node_id *counted;     /* by value: the last node that counted it */
	size_t model_bytes;   /* of the constants that were there at first */
	size_t bytes, grown;  /* of what was computed; of what became constants, in all rounds */
	double flops;
	bool changed;
};

/* The tensor of an operand if it is known now. */
static struct tensor *operand(struct fold *f, val_id v)
{
	struct value *x = val(f->m, v);

	if (x->kind != VAL_CONST)
		return f->now[v];
	if (x->overridable)
		return NULL;
	tensor_data(f->m, x->tensor);
	return x->tensor;
}

/* Elements that shape inference knows, all of them constants. */
static struct tensor *known_tensor(struct fold *f, val_id v)
{
	const struct known *k = &f->known[v];
	const struct type *t = &val(f->m, v)->type;
	int64_t dims[RANK_MAX], c;

	if (!k->yes || !type_dims(f->m, t, dims) || type_count(f->m, t) != k->n || !dtype_size(t->dtype))
		return NULL;
	for (int i = 0; i < k->n; i++)
		if (!poly_is_const(f->m->dims, k->e[i], &c))
			return NULL;
	struct tensor *x = tensor_new(&f->m->arena, t->dtype, t->rank, dims);
	for (int i = 0; i < k->n; i++) {
		poly_is_const(f->m->dims, k->e[i], &c);
		if (t->dtype == DT_I64 || t->dtype == DT_U64)
			((int64_t *)x->data)[i] = c;
		else
			tensor_set(x, i, (double)c);
	}
	return x;
}

/* May n be refused for elements that only a run knows? */
static bool may_refuse(struct fold *f, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i] && op_refuses(n->op, i) && type_count(f->m, &val(f->m, n->in[i])->type) != 0 && !operand(f, n->in[i]) &&
		    !known_tensor(f, n->in[i]))
			return true;
	return false;
}

/* A result that has no elements, whatever is computed. */
static struct tensor *empty_tensor(struct fold *f, const struct node *n, val_id v)
{
	const struct type *t = &val(f->m, v)->type;
	int64_t dims[RANK_MAX];

	if (!op_is(n->op, OP_PURE) || op_is(n->op, OP_CONTROL) || op_is(n->op, OP_CALL) || t->other || !dtype_size(t->dtype) ||
	    type_count(f->m, t) != 0 || !type_dims(f->m, t, dims) || may_refuse(f, n))
		return NULL;
	return tensor_new(&f->m->arena, t->dtype, t->rank, dims);
}

static size_t result_bytes(struct fold *f, const struct node *n)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < n->nout; i++) {
		const struct type *t = n->out[i] ? &val(f->m, n->out[i])->type : NULL;
		int64_t c = t ? type_count(f->m, t) : 0;
		if (t && t->other)
			; /* of as many bytes as its operands, or so */
		else if (c > 0)
			sum += (size_t)c * dtype_size(t->dtype);
		else if (c < 0 && (type_static(f->m, t) || t->rank == RANK_UNKNOWN))
			return SIZE_MAX; /* beyond counting, or in a branch that is never taken */
	}
	return sum;
}

/* Of the constants that the operands of n are or are made of, each operand once. */
static size_t source_bytes(struct fold *f, node_id id)
{
	const struct node *n = node(f->m, id);
	size_t sum = 0;

	for (uint32_t i = 0; i < n->nin; i++) {
		val_id v = n->in[i];
		if (!v || f->counted[v] == id)
			continue;
		f->counted[v] = id;
		sum += val(f->m, v)->kind == VAL_CONST ? val(f->m, v)->tensor->nbytes : f->source[v];
	}
	return sum < f->model_bytes ? sum : f->model_bytes;
}

/* Computes a node whose operands are all known. */
static const char *compute(struct fold *f, node_id id)
{
	const struct node *n = node(f->m, id);
	const struct op *row = op_row(n->op);
	size_t bytes = 0;
	const char *why;

	if (!(op_info(n->op)->traits & OP_PURE) || op_info(n->op)->traits & (OP_CALL | OP_CONTROL))
		return op_info(n->op)->traits & OP_RANDOM ? "random" : "applies a body";
	if (!row || !row->eval)
		return "no evaluator";
	if (op_is(n->op, OP_UNPACK))
		return "its operand is the smaller form";
	struct tensor **in = ARENA_ARRAY(&f->made, struct tensor *, n->nin + n->nout), **out = in + n->nin;
	size_t source = source_bytes(f, id);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i])
			continue;
		in[i] = operand(f, n->in[i]);
		if (!in[i])
			return arena_printf(&f->m->arena, "operand %u (%s) is not constant", i, sym_str(val(f->m, n->in[i])->name));
		bytes += tensor_size(in[i]);
	}
	size_t result = result_bytes(f, n);
	if (result / STEP > (bytes > limit ? bytes : limit)) /* not even as a step */
		return "its result is too large";
	if (result > SIZE_MAX / 2 || (f->bytes + result) / ALL > limit + 4 * f->model_bytes / ALL)
		return arena_printf(&f->m->arena,
				    "its result of %zu bytes and the %zu that were computed before it are more than %d times the limit",
				    result, f->bytes, ALL);
	double flops = node_flops(f->m, n);
	if (flops > FLOPS_MAX)
		return "it takes too long to compute";
	if (f->flops + flops > 10 * FLOPS_MAX)
		return "it and what was computed before it take too long";
	f->bytes += result;
	f->flops += flops;
	why = eval_node(f->m, id, in, out, &f->made);
	if (why)
		return arena_printf(&f->m->arena, "cannot be computed: %s", why);
	for (uint32_t i = 0; i < n->nout; i++)
		if (n->out[i]) {
			f->now[n->out[i]] = out[i];
			f->source[n->out[i]] = source;
		}
	return NULL;
}

static void forward(struct fold *f, graph_id g)
{
	struct graph *gr = graph(f->m, g);

	for (size_t i = 0; i < gr->nodes.n; i++) {
		node_id id = gr->nodes.a[i];
		const struct node *n = node(f->m, id);
		bool all = n->nout > 0;
		for (uint32_t k = 0; k < n->nout; k++) {
			if (!n->out[k])
				continue;
			f->now[n->out[k]] = known_tensor(f, n->out[k]);
			if (!f->now[n->out[k]])
				f->now[n->out[k]] = empty_tensor(f, n, n->out[k]);
			all = all && f->now[n->out[k]];
		}
		f->why_not[id] = all ? NULL : compute(f, id);
	}
}

/* May result v become a constant? It may be as large as the constants it is made of. */
static bool small_enough(struct fold *f, val_id v)
{
	size_t bytes = f->now[v]->nbytes;

	if (f->now[v]->kind != KIND_TENSOR)
		return false;
	if ((f->grown + bytes) / ALL > limit + 4 * f->model_bytes / ALL)
		return false;
	return bytes <= limit || bytes <= f->source[v];
}

static void settle(struct fold *f, node_id id)
{
	struct module *m = f->m;
	const struct node *n = node(m, id);
	bool kept = false, any = false;

	for (uint32_t k = 0; k < n->nout; k++) {
		val_id v = n->out[k];
		if (!v || !f->wanted[v])
			continue;
		any = true;
		if (!f->now[v]) {
			kept = true;
		} else if (!small_enough(f, v)) {
			f->why_not[id] = arena_printf(&m->arena,
						      "its result of %zu bytes would make the "
						      "model larger by more than the limit",
						      f->now[v]->nbytes);
			kept = true;
		} else {
			sym name = val(m, v)->name;
			struct tensor *t = f->now[v];
			f->grown += t->nbytes;
			f->fwd[v] = const_copy(m, name, t->dtype, t->rank, t->dims, t->data, t->nbytes);
			pass_why(f->c, m, id, "folded: %s is a constant", sym_str(name));
			f->changed = true;
		}
	}
	n = node(m, id);
	/* a node that computes nothing wanted goes only if it was folded away, not merely unused */
	if (!kept && (any || !f->why_not[id])) {
		f->dead[id] = f->changed = true;
		return;
	}
	for (uint32_t i = 0; i < n->nin; i++)
		if (n->in[i])
			f->wanted[n->in[i]] = true;
}

static void backward(struct fold *f, graph_id g)
{
	for (size_t i = 0; i < graph(f->m, g)->out.n; i++)
		f->wanted[graph(f->m, g)->out.a[i]] = true;
	for (size_t i = graph(f->m, g)->nodes.n; i-- > 0;)
		settle(f, graph(f->m, g)->nodes.a[i]);
}

/* Results that are an operand, unchanged. */
static void drop_identities(struct fold *f, graph_id g)
{
	struct module *m = f->m;
	struct graph *gr = graph(m, g);
	bool *output = xcalloc(m->values.n, sizeof *output);

	for (size_t i = 0; i < gr->out.n; i++)
		output[gr->out.a[i]] = true;
	for (size_t i = 0; i < gr->nodes.n; i++) {
		node_id id = gr->nodes.a[i];
		val_id from = f->dead[id] ? 0 : node_identity(m, id), to = node(m, id)->nout ? node(m, id)->out[0] : 0;
		if (!from || f->fwd[to] || (output[to] && val(m, from)->kind != VAL_NODE))
			continue; /* an output has to be computed by someone */
		pass_why(f->c, m, id, "removed: its result is %s", sym_str(val(m, from)->name));
		f->fwd[to] = from;
		f->dead[id] = f->changed = true;
	}
	free(output);
}

/* Operand from is what body input to is given: remembered the first time; differing[to] where it is no constant, or
 * another one than before. */
static void give(struct fold *f, val_id from, val_id to, val_id *given, bool *differing)
{
	const struct value *x = from ? val(f->m, from) : NULL;

	if (!x || x->kind != VAL_CONST || x->overridable || (given[to] && !values_equal(f->m, from, given[to])))
		differing[to] = true;
	else
		given[to] = from;
}

/* A body that is always given the same constant refers to it itself. */
static void pass_constants(struct fold *f, const struct graph_list *order)
{
	struct module *m = f->m;
	size_t nv = m->values.n;
	val_id *given = xcalloc(nv, sizeof *given);
	bool *differing = xcalloc(nv, sizeof *differing);
	graph_id b;

	for (size_t k = 0; k < order->n; k++)
		for (size_t i = 0; i < graph(m, order->a[k])->nodes.n; i++) {
			const struct node *n = node(m, graph(m, order->a[k])->nodes.a[i]);
			uint32_t passed = node_body(n, 0) ? node_passing(n).operands : 0;
			for (uint32_t j = 0; passed && (b = node_body(n, j)); j++)
				for (uint32_t back = 1; back <= passed && back <= graph(m, b)->in.n; back++)
					give(f, passes_unchanged(m, n, b) ? n->in[n->nin - back] : 0,
					     graph(m, b)->in.a[graph(m, b)->in.n - back], given, differing);
		}
	for (val_id v = 1; v < nv; v++)
		if (given[v] && !differing[v] && f->wanted[v]) {
			f->fwd[v] = given[v];
			f->changed = true;
		}
	free(given);
	free(differing);
}

static bool fold_round(struct module *m, const struct pass_ctx *c, size_t model_bytes, size_t *grown)
{
	struct fold f = {.m = m, .c = c, .model_bytes = model_bytes, .grown = *grown};
	size_t nv = m->values.n;
	struct graph_list order = {0};

	infer_module(m, &f.known);
	f.source = xcalloc(nv, sizeof *f.source);
	f.counted = xcalloc(nv, sizeof *f.counted);
	module_graph_order(m, &order);
	f.now = xcalloc(nv, sizeof *f.now);
	f.wanted = xcalloc(nv, sizeof *f.wanted);
	f.dead = xcalloc(m->nodes.n, sizeof *f.dead);
	f.why_not = xcalloc(m->nodes.n, sizeof *f.why_not);
	f.fwd = xcalloc(nv, sizeof *f.fwd);
	for (size_t i = 0; i < order.n; i++) {
		forward(&f, order.a[i]);
		backward(&f, order.a[i]);
		if (!keep_identities)
			drop_identities(&f, order.a[i]);
	}
	pass_constants(&f, &order);
	if (f.changed) {
		f.fwd = xrealloc(f.fwd, m->values.n * sizeof *f.fwd);
		memset(f.fwd + nv, 0, (m->values.n - nv) * sizeof *f.fwd);
		module_forward(m, f.fwd);
		module_drop_nodes(m, f.dead);
	} else if (c->why) {
		for (size_t g = 0; g < order.n; g++)
			for (size_t i = 0; i < graph(m, order.a[g])->nodes.n; i++) {
				node_id id = graph(m, order.a[g])->nodes.a[i];
				pass_why(c, m, id, "kept: %s", f.why_not[id] ? f.why_not[id] : "its result is not wanted");
			}
	}
	vec_free(&order);
	free(f.now);
	free(f.wanted);
	free(f.dead);
	free(f.why_not);
	free(f.fwd);
	free(f.source);
	free(f.counted);
	arena_release(&f.made);
	*grown = f.grown;
	return f.changed;
}

static void fold(struct module *m, const struct pass_ctx *c)
{
	size_t model_bytes = 0, grown = 0;

	for (size_t i = 1; i < m->values.n; i++)
		if (m->values.a[i].kind == VAL_CONST)
			model_bytes += m->values.a[i].tensor->nbytes;
	while (fold_round(m, c, model_bytes, &grown))
		;
}

static const struct pass pass = {
	.run = fold,
	.contract =
		"Infers shapes itself. Keeps ONNX operators; random operators are never folded. Leaves no node, in any body, whose "
		"result could be a constant within the limit.",
};

const struct tool tool = {
	.name = "ge-fold",
	.summary = "Compute what is constant and drop what changes nothing.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
