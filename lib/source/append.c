/* Steps that append to states. */
#include <inttypes.h>
#include "source/source_impl.h"

void put_append_tables(struct emission *e, FILE *f)
{
	const struct model *M = e->M;

	fprintf(f, "static const int grown[NUM_STATES] = {");
	for (size_t i = 0; i < M->states.n; i++)
		fprintf(f, "%d, ", M->states.a[i].axis - 1);
	fprintf(f, "};\nstatic const int laid[NUM_STATES] = {");
	for (size_t i = 0; i < M->states.n; i++)
		fprintf(f, "%d, ", val(M->m, graph(M->m, M->m->main)->in.a[M->states.a[i].in])->type.layout != 0);
	fprintf(f, "};\n");
}

void put_append_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	uint32_t n = node(e->M->m, x->alone)->nin;

	fprintf(f,
		"\tif (state_append(m, %" PRIu32 ", %" PRIu32 ", &m->slot[%" PRIu32 "], %" PRIu32 ", (const struct hone_value *const[]){",
		c, x->state, value_home(e->M, node(e->M->m, x->node)->out[0]).index, n - 1);
	for (uint32_t i = 1; i < n; i++) {
		put_value_pointer(e, f, call_operand(e->M, x, i));
		fprintf(f, ", ");
	}
	fprintf(f, "NULL}))\n\t\treturn -1;\n");
}
