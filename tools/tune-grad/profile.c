/* tune-grad profile: from a graph, an estimate of when each gradient is ready. The device computes or reads, whichever takes
 * longer; the backward pass takes twice the forward pass, node by node in reverse, and a gradient is ready when it is
 * through with the first node that used the parameter. */
#include <stdlib.h>
#include <string.h>
#include "graph/bodies.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "tune-grad.h"

struct use {
	val_id param;
	double start;   /* us of the forward pass when it is first used */
	uint32_t order; /* of first uses */
};
struct profile {
	struct module *m;
	double clock; /* us of the forward pass */
	uint32_t unsized;
	bool *seen; /* by value */
	VEC(struct use) use;
};

/* A parameter is a float constant of more than one element, but for those that are no gradient's: what an operator keeps
 * count in, and sizes. */
static bool trained(struct module *m, const struct node *n, uint32_t operand)
{
	const struct tensor *t = node_const(m, n, operand);
	if (!t || !dtype_is_float(t->dtype) || tensor_count(t) < 2)
		return false;
	if (n->op == OP_BatchNormalization)
		return operand == 1 || operand == 2; /* 3 and 4 are running statistics */
	return n->op != OP_Resize && n->op != OP_Upsample;
}

static double value_bytes(struct profile *p, val_id v)
{
	int64_t count = v ? type_count(p->m, &val(p->m, v)->type) : 0;
	if (count < 0)
		p->unsized++;
	return count > 0 ? (double)count * (double)dtype_size(val(p->m, v)->type.dtype) : 0;
}

static void walk(struct profile *p, graph_id g)
{
	for (size_t k = 0; k < graph(p->m, g)->nodes.n; k++) {
		const struct node *n = node(p->m, graph(p->m, g)->nodes.a[k]);
		double bytes = 0;
		graph_id body;
		for (uint32_t i = n->nin; i-- > 0;) { /* the bias is ready before the weights */
			if (trained(p->m, n, i) && !p->seen[n->in[i]]) {
				p->seen[n->in[i]] = true;
				vec_push(&p->use, (struct use){n->in[i], p->clock, (uint32_t)p->use.n});
			}
		}
		for (uint32_t i = 0; (body = node_body(n, i)); i++)
			walk(p, body);
		if (node_body(n, 0) || op_is(n->op, OP_SHAPE_ONLY))
			continue;
		for (uint32_t i = 0; i < n->nin; i++)
			bytes += value_bytes(p, n->in[i]);
		for (uint32_t i = 0; i < n->nout; i++)
			bytes += value_bytes(p, n->out[i]);
		double compute = node_flops(p->m, n) / opt.gflops / 1e3, move = bytes / opt.gbytes / 1e3;
		p->clock += compute > move ? compute : move;
	}
}

static int by_ready(const void *x, const void *y)
{
	const struct use *a = x, *b = y;
	if (a->start != b->start)
		return a->start > b->start ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

/* Names with a tab or a line's end in them would break the table. */
static const char *plain(const char *s, struct arena *a)
{
	char *out = arena_str(a, s);
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ' || (c == out && *c == '#'))
			*c = '_';
	return *out ? out : "_";
}

static void check_sizes(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->in.n; i++)
		if (!type_static(m, &val(m, g->in.a[i])->type))
			bind_missing(m, "tune-grad profile");
}

int grad_profile(struct tool_args *a)
{
	struct profile p = {0};
	struct grads g = {.estimated = true};
	struct arena arena = {0};
	if (a->nfile > 1)
		die(EX_BADUSE, "profile: expected one graph");
	p.m = module_read_any(a->nfile ? a->file[0] : "-");
	if (opt.set)
		bind_sets(p.m, opt.set);
	infer_module(p.m, NULL);
	check_sizes(p.m);
	p.seen = xcalloc(p.m->values.n, sizeof *p.seen);
	walk(&p, p.m->main);
	if (p.use.n)
		qsort(p.use.a, p.use.n, sizeof *p.use.a, by_ready);
	for (size_t i = 0; i < p.use.n; i++) {
		const struct value *v = val(p.m, p.use.a[i].param);
		double ready = 2 * (p.clock - p.use.a[i].start);
		vec_push(&g.at, (struct grad){plain(sym_str(v->name), &arena), (double)v->tensor->nbytes, ready});
	}
	g.forward = p.clock;
	grads_write(&g, a->out);
	note("%zu parameter tensors; estimated at %g GFLOP/s and %g GB/s: forward %.1f us, backward %.1f us", g.at.n, opt.gflops,
	     opt.gbytes, p.clock, 2 * p.clock);
	if (p.unsized)
		warn("%u values have sizes that depend on data, and no time; give sizes with ge-shape", p.unsized);
	grads_free(&g);
	vec_free(&p.use);
	free(p.seen);
	module_free(p.m);
	arena_release(&arena);
	return EX_GOOD;
}
