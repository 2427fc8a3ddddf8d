/* What the service must know of tasks: the callbacks of runner/oracle.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "target/target.h"
#include "model/candidate.h"
#include "loop/interp.h"
#include "lower/lower.h"
#include "op/npy.h"
#include "op/op.h"
#include "op/task.h"
#include "rounding.h"
#include "run-dev.h"

enum { CONSTANTS_SEED = 1, POINT_ELEMENTS = 1 << 17 };

struct prepared {
	struct oracle_task task;
	struct module *m;
	node_id n;
	struct graph *body;
	int nin;
	uint32_t *operand; /* input i is that operand of the node */
	struct oracle_tensor *t;
	node_id *rounds;        /* result i: the node that rounds it; 0: none does */
	struct lowered lowered; /* by the usual algorithm, for points; prog NULL: has none */
	void **data;            /* of its buffers */
	bool points;            /* small enough: the evaluator of a point visits every buffer whole */
};

/* Terms of the longest sum: what the nodes cost for each element of their results. */
static double reduction_of(struct module *m, const struct graph *body)
{
	double longest = 1;

	for (size_t i = 0; i < body->nodes.n; i++) {
		const struct node *n = node(m, body->nodes.a[i]);
		int64_t count = n->nout && n->out[0] ? type_count(m, &val(m, n->out[0])->type) : 0;
		if (count > 0)
			longest = fmax(longest, node_flops(m, n) / 2 / (double)count);
	}
	return longest;
}

/* Terms of the longest maximum or minimum. */
static double maximum_of(struct loop_prog *p)
{
	double longest = 0;

	for (stage_id i = 1; i < p->stages.n; i++) {
		const struct stage *s = lstage(p, i);
		double terms = 1;
		for (int k = s->nspatial; k < s->naxes; k++)
			terms *= (double)s->axis[k].extent;
		if (s->comb == COMB_MAX || s->comb == COMB_MIN)
			longest = fmax(longest, terms);
	}
	return longest;
}

static const char *list_tensors(struct prepared *p)
{
	struct module *m = p->m;
	const struct node *f = node(m, p->n);

	p->operand = ARENA_ARRAY(&m->arena, uint32_t, f->nin + 1);
	p->t = ARENA_ARRAY(&m->arena, struct oracle_tensor, f->nin + f->nout + 1);
	p->rounds = ARENA_ARRAY(&m->arena, node_id, f->nout + 1);
	for (uint32_t i = 0; i < f->nin; i++)
		if (f->in[i] && val(m, f->in[i])->kind != VAL_CONST)
			p->operand[p->nin++] = i;
	for (uint32_t i = 0; i < (uint32_t)p->nin + f->nout; i++) {
		bool in = i < (uint32_t)p->nin;
		const struct type *t = &val(m, in ? f->in[p->operand[i]] : f->out[i - (uint32_t)p->nin])->type;
		p->t[i] = (struct oracle_tensor){t->dtype, type_count(m, t), t->rank <= ORACLE_RANK_MAX ? t->rank : 0};
		if (p->t[i].n < 0 || dtype_size(t->dtype) == 0 || dtype_size(t->dtype) > 8)
			return "a type that kernels do not have";
		if (p->t[i].rank)
			type_dims(m, t, p->t[i].shape);
		if (!in)
			p->t[i].rounded = rounding_of(m, attr_graph(f, "graph"), p->body->out.a[i - (uint32_t)p->nin],
						      &p->rounds[i - (uint32_t)p->nin]);
		p->t[i].step = in ? t->dtype : step_of(m, attr_graph(f, "graph"), p->body->out.a[i - (uint32_t)p->nin]);
	}
	return NULL;
}

static const struct oracle_task *prepare(const char *text, const char **why)
{
	static struct arena arena; /* tasks live as long as the process */
	struct prepared *p = ARENA_NEW(&arena, struct prepared);
	const char *no_stages;

	if (!(p->m = task_module(text, CONSTANTS_SEED, &arena, why)))
		return NULL;
	p->n = task_node(p->m);
	p->body = graph(p->m, attr_graph(node(p->m, p->n), "graph"));
	if ((*why = list_tensors(p)))
		return NULL;
	p->lowered = lower_group(p->m, p->n, target_host(), NULL, &no_stages);
	if (p->lowered.prog) {
		int64_t elements = 0;
		for (buf_id b = 1; b < p->lowered.prog->bufs.n; b++)
			elements += buf_elems(p->lowered.prog, b);
		p->points = elements <= POINT_ELEMENTS;
		p->data = ARENA_ARRAY(&arena, void *, p->lowered.prog->bufs.n);
	}
	p->task = (struct oracle_task){
		p->nin, (int)node(p->m, p->n)->nout, p->t, reduction_of(p->m, p->body), p->lowered.prog ? maximum_of(p->lowered.prog) : 0,
		p};
	return &p->task;
}

/* Random contents are made for the body, which knows what an input is used for. Its constant inputs have theirs. */
static void make_inputs(const struct oracle_task *t, uint64_t seed, void *const *dst)
{
	struct prepared *p = t->arg;
	struct module *m = p->m;
	const struct node *f = node(m, p->n);
	graph_id main = m->main;
	struct arena a = {0};

	for (uint32_t i = 0; i < f->nin; i++)
		if (f->in[i] && val(m, f->in[i])->kind == VAL_CONST)
			val(m, p->body->in.a[i])->tensor = val(m, f->in[i])->tensor;
	m->main = attr_graph(f, "graph");
	struct tensor **x = inputs_make(m, &(struct input_spec){.seed = seed}, &a);
	m->main = main;
	for (int i = 0; i < p->nin; i++) {
		rounding_centre(m, p->body, p->operand[i], x[p->operand[i]]);
		memcpy(dst[i], x[p->operand[i]]->data, x[p->operand[i]]->nbytes);
	}
	arena_release(&a);
}

/* An evaluation: results that are rounded, before they are. */
struct before {
	struct prepared *p;
	struct tensor **in; /* of the body */
	float *const *to;
};

static const struct tensor *given(struct before *b, const struct node *n, uint32_t i)
{
	struct module *m = b->p->m;

	if (i >= n->nin || !n->in[i])
		return NULL;
	struct value *x = val(m, n->in[i]);
	if (x->kind == VAL_INPUT)
		return b->in[x->index];
	tensor_data(m, x->tensor);
	return x->tensor;
}

static void note_before(void *arg, struct module *m, val_id v, const struct tensor *x)
{
	struct before *b = arg;

	for (uint32_t k = 0; k < node(m, b->p->n)->nout; k++) {
		const struct node *n = node(m, b->p->rounds[k]);
		if (b->to[k] && n->in[0] == v)
			rounding_before(n, x, given(b, n, 1), given(b, n, 2), b->to[k]);
	}
}

static void evaluate(const struct oracle_task *t, void *const *in, void *const *out, float *const *before)
{
	struct prepared *p = t->arg;
	struct module *m = p->m;
	const struct node *f = node(m, p->n);
	struct arena a = {0};
	struct tensor **x = ARENA_ARRAY(&a, struct tensor *, f->nin), **y = ARENA_ARRAY(&a, struct tensor *, f->nout);
	struct before b = {p, x, before};

	for (uint32_t i = 0, k = 0; i < f->nin; i++) {
		if (f->in[i] && val(m, f->in[i])->kind == VAL_CONST) {
			x[i] = val(m, f->in[i])->tensor;
			tensor_data(m, x[i]);
			continue;
		}
		if (!f->in[i])
			continue;
		int64_t *dims = ARENA_ARRAY(&a, int64_t, val(m, f->in[i])->type.rank);
		type_dims(m, &val(m, f->in[i])->type, dims);
		x[i] = ARENA_NEW(&a, struct tensor);
		*x[i] = (struct tensor){.dtype = p->t[k].dtype,
					.rank = val(m, f->in[i])->type.rank,
					.dims = dims,
					.nbytes = (size_t)p->t[k].n * dtype_size(p->t[k].dtype),
					.data = in[k]};
		k++;
	}
	for (uint32_t i = 0; i < f->nin; i++)
		if (x[i])
			note_before(&b, m, p->body->in.a[i], x[i]);
	eval_graph(m, attr_graph(f, "graph"), x, y, &a, &(struct eval_hooks){.each = note_before, .arg = &b});
	for (uint32_t i = 0; i < f->nout; i++)
		memcpy(out[i], y[i]->data, y[i]->nbytes);
	arena_release(&a);
}

static int list_constants(const struct oracle_task *t, const char *algo, struct oracle_tensor *types, const void **data, int max)
{
	struct prepared *p = t->arg;
	const char *why;
	struct lowered l = algo ? lower_group(p->m, p->n, target_host(), algo, &why) : p->lowered;

	if (!l.prog || l.nconst > max)
		return -1;
	for (int i = 0; i < l.nconst; i++) {
		struct tensor *x = val(p->m, l.cval[i])->tensor;
		types[i] = (struct oracle_tensor){x->dtype, tensor_count(x)};
		data[i] = tensor_data(p->m, x);
	}
	return l.nconst;
}

/* The program's inputs in the layouts of their types; memory of the process. */
static void lay_out_inputs(struct prepared *p, void *const *in)
{
	struct loop_prog *l = p->lowered.prog;

	for (buf_id b = 1; b < l->bufs.n; b++) {
		struct loop_buf *x = lbuf(l, b);
		if (x->scope == SCOPE_CONST) {
			p->data[b] = (void *)tensor_data(p->m, val(p->m, p->lowered.cval[x->operand])->tensor);
		} else if (x->scope == SCOPE_IN && !x->layout.n) {
			p->data[b] = in[x->operand];
		} else if (x->scope == SCOPE_IN) {
			free(p->data[b]);
			p->data[b] = xmalloc((size_t)buf_elems(l, b) * dtype_size(x->dtype) + 1);
			buf_pack(l, b, in[x->operand], p->data[b]);
		}
	}
}

static bool points(const struct oracle_task *t, void *const *in, int out, int n, const int64_t *element, double *value)
{
	struct prepared *p = t->arg;
	buf_id b = 1;

	if (!p->points)
		return false;
	while (b < p->lowered.prog->bufs.n && (lbuf(p->lowered.prog, b)->scope != SCOPE_OUT || lbuf(p->lowered.prog, b)->operand != out))
		b++;
	if (b == p->lowered.prog->bufs.n)
		return false;
	lay_out_inputs(p, in);
	stages_points(p->lowered.prog, b, n, element, p->data, value);
	return true;
}

/* ---- layouts ---- */

static const char *as_buffer(const struct runner_buf *b, struct candidate_buf *c)
{
	const char *why;
	struct layout l = {0};

	if (b->rank > LOOP_RANK_MAX)
		return "its rank is too large";
	*c = (struct candidate_buf){
		.dtype = dtype_parse(b->type, strlen(b->type)), .rank = b->rank, .layout = b->layout, .elems = b->elems};
	memcpy(c->shape, b->shape, (size_t)b->rank * sizeof *b->shape);
	if (*b->layout && (why = layout_parse(&l, b->rank, b->layout)))
		return why;
	return NULL;
}

static const char *check_buffer(const struct runner_buf *b, int64_t n)
{
	struct candidate_buf c;
	struct loop_buf x = {0};
	const char *why = as_buffer(b, &c);
	int64_t count = 1;

	if (why)
		return why;
	for (int d = 0; d < b->rank; d++)
		if (__builtin_mul_overflow(count, b->shape[d], &count))
			return "its extents overflow";
	if (count != n)
		return "it has not as many elements as the task has there";
	x.dtype = c.dtype;
	x.rank = c.rank;
	memcpy(x.shape, c.shape, sizeof x.shape);
	memcpy(x.extent, c.shape, sizeof x.extent);
	if (*b->layout)
		layout_parse(&x.layout, b->rank, b->layout);
	return layout_elems(&x) == b->elems ? NULL : "its layout has another number of elements";
}

static void pack(const struct runner_buf *b, const void *src, void *dst)
{
	struct candidate_buf c;

	as_buffer(b, &c);
	if (*b->layout)
		candidate_pack(&c, src, dst);
	else
		memcpy(dst, src, (size_t)b->elems * dtype_size(c.dtype));
}

static void unpack(const struct runner_buf *b, const void *src, void *dst)
{
	struct candidate_buf c;

	as_buffer(b, &c);
	if (*b->layout)
		candidate_unpack(&c, src, dst);
	else
		memcpy(dst, src, (size_t)b->elems * dtype_size(c.dtype));
}

const struct oracle task_oracle = {
	.open = prepare,
	.inputs = make_inputs,
	.eval = evaluate,
	.constants = list_constants,
	.points = points,
	.buffer = check_buffer,
	.pack = pack,
	.unpack = unpack,
};
