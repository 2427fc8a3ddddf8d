/* A scheduled kernel as a C file of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "model/candidate.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "lower/lower.h"
#include "loop/prim.h"
#include "sched/schedule.h"

/* Storage that a type describes, as a buffer of a program. */
static struct loop_buf storage_of(const struct candidate_buf *b)
{
	struct loop_buf x = {.dtype = b->dtype, .rank = b->rank};

	for (int d = 0; d < b->rank; d++)
		x.shape[d] = x.extent[d] = b->shape[d];
	if (*b->layout)
		layout_parse(&x.layout, b->rank, b->layout);
	return x;
}

void candidate_pack(const struct candidate_buf *b, const void *src, void *dst)
{
	struct loop_buf x = storage_of(b);
	layout_pack(&x, src, dst);
}

void candidate_unpack(const struct candidate_buf *b, const void *src, void *dst)
{
	struct loop_buf x = storage_of(b);
	layout_unpack(&x, src, dst);
}

/* Operands and results are where their types say. */
static struct candidate_buf of_value(struct module *m, val_id v)
{
	const struct type *t = &val(m, v)->type;
	struct candidate_buf b = {.dtype = t->dtype, .rank = t->rank, .layout = t->layout ? sym_str(t->layout) : "", .value = v};

	type_dims(m, t, b.shape);
	struct loop_buf x = storage_of(&b);
	b.elems = layout_elems(&x);
	return b;
}

/* Constants are where the trace wants them. */
static struct candidate_buf of_constant(struct candidate *c, struct loop_prog *p, buf_id id, val_id v)
{
	const struct loop_buf *x = lbuf(p, id);
	struct candidate_buf b = {.dtype = x->dtype, .rank = x->rank, .elems = buf_elems(p, id), .value = v};

	memcpy(b.shape, x->shape, sizeof b.shape);
	b.layout = x->layout.n ? layout_str(&x->layout, x->rank, &c->arena) : "";
	return b;
}

static void list_buffers(struct candidate *c, struct module *m, node_id n, const struct lowered *l)
{
	const struct node *f = node(m, n);
	const struct graph *body = graph(m, attr_graph(f, "graph"));

	c->nout = (int)f->nout;
	c->nconst = l->nconst;
	c->in = ARENA_ARRAY(&c->arena, struct candidate_buf, f->nin);
	c->out = ARENA_ARRAY(&c->arena, struct candidate_buf, f->nout);
	c->constant = ARENA_ARRAY(&c->arena, struct candidate_buf, l->nconst);
	for (uint32_t i = 0; i < f->nin; i++)
		if (val(m, f->in[i])->kind != VAL_CONST)
			c->in[c->nin++] = of_value(m, body->in.a[i]);
	for (uint32_t k = 0; k < f->nout; k++)
		c->out[k] = of_value(m, body->out.a[k]);
	for (buf_id b = 1; b < l->prog->bufs.n; b++)
		if (lbuf(l->prog, b)->scope == SCOPE_CONST)
			c->constant[lbuf(l->prog, b)->operand] = of_constant(c, l->prog, b, l->cval[lbuf(l->prog, b)->operand]);
}

static void put_arguments(FILE *f, struct loop_prog *p, enum scope s, const char *array)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == s)
			fprintf(f, "%s[%d], ", array, lbuf(p, b)->operand);
}

/* The file of one kernel. */
static void write_source(struct candidate *c, struct loop_prog *p)
{
	char *text, *kernel;
	FILE *f = textfile_open(&kernel, NULL);

	emit_kernel(f, p, "kernel");
	textfile_close(f);
	f = textfile_open(&text, &c->nsource);
	emit_prelude(f, &p, 1, &(const char *){kernel}, 1);
	fputs(kernel, f);
	free(kernel);
	fprintf(f,
		"void hone_kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace);\n"
		"void hone_kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace)\n"
		"{\n\t(void)in, (void)constants, (void)out;\n\tkernel(");
	put_arguments(f, p, SCOPE_IN, "in");
	put_arguments(f, p, SCOPE_CONST, "constants");
	put_arguments(f, p, SCOPE_OUT, "out");
	fprintf(f, "workspace);\n}\n");
	textfile_close(f);
	c->source = arena_copy(&c->arena, text, c->nsource + 1);
	free(text);
}

/* Schedules by the trace or, without one, by default. NULL, or why not. */
static const char *schedule(struct candidate *c, struct loop_prog *p, const char *trace, bool adapt)
{
	const char *why = NULL;

	c->stages = prog_digest(p);
	c->algo = arena_str(&c->arena, p->algo);
	if (!trace)
		trace = default_schedule(p);
	else if (adapt)
		why = loop_adapt(p, trace, &trace);
	else
		why = loop_apply(p, trace, false);
	if (why || (why = loop_legalize(p)) || (why = loop_verify(p)))
		return why;
	c->trace = trace_stamp(trace, c->stages, &c->arena);
	return NULL;
}

struct candidate *candidate_new(struct module *m, node_id n, const struct target *t, const char *trace, bool adapt, const char **why)
{
	struct lowered l = lower_sketch(m, n, t, trace_algo(trace, &m->arena), why);

	if (!l.prog)
		return NULL;
	struct candidate *c = xcalloc(1, sizeof *c);
	if ((*why = schedule(c, l.prog, trace, adapt))) {
		*why = arena_str(&m->arena, *why);
		candidate_free(c);
		c = NULL;
	} else {
		c->workspace = l.prog->workspace;
		list_buffers(c, m, n, &l);
		write_source(c, l.prog);
	}
	prog_free(l.prog);
	return c;
}

const char *default_trace(struct module *m, node_id n, const struct target *t, struct arena *a, const char **why)
{
	struct lowered l = lower_sketch(m, n, t, NULL, why);

	if (!l.prog)
		return NULL;
	struct digest stages = prog_digest(l.prog);
	const char *trace = trace_stamp(default_schedule(l.prog), stages, a);
	prog_free(l.prog);
	return trace;
}

void candidate_free(struct candidate *c)
{
	arena_release(&c->arena);
	free(c);
}
