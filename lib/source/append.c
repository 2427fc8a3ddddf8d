/* Steps that change states in place. */
#include <inttypes.h>
#include "graph/bodies.h"
#include "model/control.h"
#include "op/native.h"
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

bool put_lend(struct emission *e, FILE *f, const struct call *x, val_id v)
{
	struct model *M = e->M;
	const struct node *n = node(M->m, x->alone);

	if (!x->lent || x->lent_out != v)
		return false;
	fprintf(f, "state_lend(m, %" PRIu32 ", ", x->lent - 1);
	for (uint32_t i = 0; i < n->nin; i++) {
		if (!n->in[i] || M->root[call_operand(M, x, i)] != x->lent_in)
			continue;
		if (x->control)
			fprintf(f, "given[%" PRIu32 "]", i - 1);
		else
			put_place(e, f, x, call_operand(M, x, i));
	}
	fprintf(f, ", &m->slot[%" PRIu32 "])", value_home(M, v).index);
	return true;
}

void put_wrote(struct emission *e, FILE *f, const struct call *x)
{
	struct module *m = e->M->m;
	const struct node *n = node(m, x->alone);
	val_id to = native_in_place(n) ? call_result(e->M, x, 0) : 0;

	if (!to || !e->M->states.n)
		return;
	fprintf(f, "\tstate_wrote(m, ");
	put_place(e, f, x, to);
	fprintf(f, ", 0");
	for (uint32_t i = 1; i < n->nin; i++) {
		val_id v = call_operand(e->M, x, i);
		if (!v || val(m, v)->type.dtype != val(m, to)->type.dtype)
			continue;
		if (!value_varies(m, v)) {
			fprintf(f, " + %" PRId64, value_bytes(m, v));
			continue;
		}
		fprintf(f, " + VALUE_SIZE(");
		put_value_pointer(e, f, v);
		fprintf(f, ")");
	}
	fprintf(f, ");\n");
}
