/* Sequences and optionals of numbers in libraries: what lists.in has to know of a model. */
#include <inttypes.h>
#include "graph/kinds.h"
#include "op/value_tensor.h"
#include "source/source_impl.h"

int value_type_number(struct emission *e, val_id v)
{
	const struct type *t = &val(e->M->m, v)->type;

	return t->other ? value_kind_number(type_kind(t)) : (int)t->dtype;
}

/* A number for each list around the elements, then theirs. */
static void put_list_type(struct emission *e, FILE *f, val_id v)
{
	struct type t = val(e->M->m, v)->type;

	fprintf(f, "(const int[]){");
	for (; t.other; t = type_inside(&t))
		fprintf(f, "%d, ", value_kind_number(type_kind(&t)));
	fprintf(f, "%d}", (int)t.dtype);
}

void put_list_tables(struct emission *e, FILE *f)
{
	const struct graph *g = graph(e->M->m, e->M->m->main);

	fprintf(f,
		"/* Memory of lists that nothing uses now, by size. */\nstruct hone_lists {\n"
		"#define BLOCK_SIZES 168\n\tstruct hone_block *unused[BLOCK_SIZES];\n\tint64_t run; /* its number */\n};\n");
	fprintf(f, "/* Of inputs that are lists: their types, from outside in. */\nstatic const int *const input_list[] = {");
	for (size_t i = 0; i < g->in.n; i++) {
		if (type_lists_numbers(&val(e->M->m, g->in.a[i])->type))
			put_list_type(e, f, g->in.a[i]);
		else
			fprintf(f, "NULL");
		fprintf(f, ", ");
	}
	fprintf(f, "NULL};\n");
}

void put_lists_of_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct node *n = node(e->M->m, e->M->calls.a[c].node);

	for (uint32_t k = 0; k < n->nout; k++) {
		if (!n->out[k] || !type_lists_numbers(&val(e->M->m, n->out[k])->type))
			continue;
		fprintf(f, "\tif (list_own(m, %" PRIu32 ", &m->slot[%" PRIu32 "], ", c, value_home(e->M, n->out[k]).index);
		put_list_type(e, f, n->out[k]);
		fprintf(f, "))\n\t\treturn -1;\n");
	}
}
