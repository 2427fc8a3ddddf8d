/* A Case with operands that are made to fit its branches. */
#include <inttypes.h>
#include "graph/bodies.h"
#include "model/control.h"
#include "source/source_impl.h"

void put_fitted_text(struct emission *e, FILE *f)
{
	bool any = false;

	for (uint32_t c = 0; c < e->M->calls.n; c++)
		any = any || (e->M->calls.a[c].kernel == KERNEL_CONTROL && e->M->calls.a[c].control->fitted);
	if (any)
		fputs(gears_text, f);
}

/* What a branch has as value v, as a const struct fitted *. */
static void put_fitted(struct emission *e, FILE *f, val_id v, int64_t axis)
{
	const struct type *t = &val(e->M->m, v)->type;
	int64_t dims[RANK_MAX];

	type_dims(e->M->m, t, dims);
	fprintf(f, "&(const struct fitted){%d, %d, %" PRId64 ", (const int64_t[]){", (int)t->dtype, t->rank, axis);
	for (int i = 0; i < t->rank; i++)
		fprintf(f, "%" PRId64 ", ", dims[i]);
	fprintf(f, "0}, %zu}", dtype_size(t->dtype));
}

static void put_operand(struct emission *e, FILE *f, uint32_t c, uint32_t i, val_id inside)
{
	const struct call *x = &e->M->calls.a[c];
	int64_t axis = fitted_axis(node(e->M->m, x->alone), "fit", i);

	fprintf(f, "fit_operand(%" PRIu32 ", %" PRIu32 ", value[%" PRIu32 "], ", c, i + 1, i);
	put_fitted(e, f, inside, axis);
	fprintf(f, ", ");
	if (axis >= 0)
		fprintf(f, "&m->slot[%" PRId64 "]", x->control->fit[i]);
	else
		fprintf(f, "NULL");
	fprintf(f, ", &given[%" PRIu32 "], &rows) ||\n\t\t\t\t", i);
}

static void put_branch(struct emission *e, FILE *f, const struct section *s, uint32_t c, graph_id body)
{
	const struct call *x = &e->M->calls.a[c];
	struct module *m = e->M->m;
	const struct graph *b = graph(m, body);
	const struct node *n = node(m, x->alone);

	for (uint32_t i = 0; i < b->in.n; i++)
		put_operand(e, f, c, i, b->in.a[i]);
	for (uint32_t k = 0; k < b->out.n; k++) {
		val_id v = call_result(e->M, x, k);
		if (!v || !value_varies(m, v))
			continue;
		if (put_lend(e, f, x, v))
			fprintf(f, " ||\n\t\t\t\t");
		fprintf(f, "fit_result(&m->slot[%" PRIu32 "], ", value_home(e->M, v).index);
		put_fitted(e, f, b->out.a[k], fitted_axis(n, "cut", k));
		fprintf(f, ", &made[%" PRIu32 "]) ||\n\t\t\t\t", k);
	}
	put_run(e, f, s, c, body);
	fprintf(f, ";\n");
	for (uint32_t k = 0; k < b->out.n; k++) {
		val_id v = call_result(e->M, x, k);
		if (!v || !value_varies(m, v) || fitted_axis(n, "cut", k) < 0)
			continue;
		fprintf(f, "\t\t\tif (!failed)\n\t\t\t\tcut_result(&m->slot[%" PRIu32 "], ", value_home(e->M, v).index);
		put_fitted(e, f, b->out.a[k], fitted_axis(n, "cut", k));
		fprintf(f, ", rows);\n");
	}
}

static void put_arrays(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	const struct node *n = node(e->M->m, x->alone);

	fprintf(f, "\t\tconst struct hone_value *const value[] = {");
	for (uint32_t i = 1; i < n->nin; i++) {
		put_value_pointer(e, f, call_operand(e->M, x, i));
		fprintf(f, ", ");
	}
	fprintf(f, "NULL};\n\t\tconst void *given[%" PRIu32 "] = {0};\n\t\tvoid *made[] = {", n->nin);
	for (uint32_t k = 0; k < n->nout; k++) {
		val_id v = call_result(e->M, x, k);
		if (!v)
			put_workspace(e, f, c, x->control->spare[k]);
		else if (value_varies(e->M->m, v))
			fprintf(f, "NULL");
		else
			put_place(e, f, x, v);
		fprintf(f, ", ");
	}
	fprintf(f, "NULL};\n\t\tint64_t rows = -1;\n\t\tint failed;\n");
}

void put_fitted_call(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	val_id index = call_operand(e->M, x, 0);

	fprintf(f, "\t{\n");
	put_arrays(e, f, c);
	fprintf(f, "\t\t(void)value, (void)given;\n\t\tswitch (*(const %s *)",
		val(e->M->m, index)->type.dtype == DT_I64 ? "int64_t" : "int32_t");
	put_place(e, f, x, index);
	fprintf(f, ") {\n");
	for (uint32_t i = 0; i < x->control->nbody; i++) {
		fprintf(f, i + 1 < x->control->nbody ? "\t\tcase %" PRIu32 ":\n\t\t\tfailed = " : "\t\tdefault:\n\t\t\tfailed = ", i);
		put_branch(e, f, s, c, x->control->body[i]);
		fprintf(f, "\t\t\tbreak;\n");
	}
	fprintf(f, "\t\t}\n\t\tif (failed)\n\t\t\treturn -1;\n\t}\n");
}
