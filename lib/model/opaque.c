/* The slow path: calls without a kernel, which the evaluator runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model/model.h"
#include "common/msg.h"
#include "common/textfile.h"
#include "graph/stream.h"
#include "op/op.h"

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* The operators of a group, each once. */
static void put_operators(FILE *f, struct module *m, graph_id g)
{
	VEC(uint32_t) ops = {0};

	for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
		vec_push(&ops, (uint32_t)node(m, graph(m, g)->nodes.a[i])->op);
	if (ops.n)
		qsort(ops.a, ops.n, sizeof *ops.a, by_id);
	for (size_t i = 0; i < ops.n; i++)
		if (!i || ops.a[i] != ops.a[i - 1])
			fprintf(f, "%s%s", i ? " " : "", op_name((enum opcode)ops.a[i]));
	vec_free(&ops);
}

uint32_t calls_named(struct model *M, uint32_t kind, char **text)
{
	enum { NAMED_MAX = 3 };
	struct module *m = M->m;
	uint32_t named = 0;
	FILE *f = textfile_open(text, NULL);

	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct node *n = node(m, M->calls.a[c].node);
		if (M->calls.a[c].kernel != kind || named++ >= NAMED_MAX)
			continue;
		fprintf(f, "%s%s (", named > 1 ? ", " : "", n->name ? sym_str(n->name) : n->nout ? sym_str(val(m, n->out[0])->name) : "");
		put_operators(f, m, attr_graph(n, "graph"));
		fprintf(f, ")");
	}
	if (named > NAMED_MAX)
		fprintf(f, " and %u more (ge-plan --why names all)", named - NAMED_MAX);
	textfile_close(f);
	return named;
}

void model_report_opaque(struct model *M, bool refuse)
{
	char *text;
	uint32_t named = calls_named(M, KERNEL_OPAQUE, &text);

	if (named && refuse)
		die(EX_NOTAVAIL, "%s: %u of %zu steps have no kernel: %s", M->m->source ? M->m->source : "-", named, M->calls.n, text);
	if (named)
		note("%u of %zu steps on the slow path: %s", named, M->calls.n, text);
	free(text);
}

/* Copies a Fused node of a section into graph g, which gets an input for each operand that is not constant. */
static void copy_call(struct module *m, graph_id g, node_id id)
{
	struct node n = *node(m, id);
	val_id *in = ARENA_ARRAY(&m->arena, val_id, n.nin);

	for (uint32_t i = 0; i < n.nin; i++)
		in[i] = val(m, n.in[i])->kind == VAL_CONST ? n.in[i] : graph_add_input(m, g, 0, val(m, n.in[i])->type);
	node_id copy = node_new(m, g, n.op, (int)n.nin, in, (int)n.nout);
	node(m, copy)->name = n.name;
	for (uint32_t k = 0; k < n.nout; k++) {
		val(m, node(m, copy)->out[k])->name = val(m, n.out[k])->name;
		val(m, node(m, copy)->out[k])->type = val(m, n.out[k])->type;
	}
	attr_set_graph(m, copy, "graph", attr_graph(&n, "graph"));
}

char *model_opaque_stream(struct model *M, size_t *n)
{
	struct module *m = M->m;
	graph_id whole = m->main, g = graph_new(m, graph(m, whole)->name);
	size_t nmeta = m->meta.n, nprovenance = m->provenance.n;
	char *bytes;

	for (uint32_t c = 0; c < M->calls.n; c++)
		if (M->calls.a[c].kernel == KERNEL_OPAQUE)
			copy_call(m, g, M->calls.a[c].node);
	m->main = g;
	m->meta.n = m->provenance.n = 0;
	bytes = stream_bytes(m, true, n);
	m->main = whole;
	m->meta.n = nmeta;
	m->provenance.n = nprovenance;
	return bytes;
}
