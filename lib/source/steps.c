/* The steps of a run: a function that calls the kernels in order. */
#include <inttypes.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "emit/emit.h"

void put_place(struct emission *e, FILE *f, const struct call *c, val_id v)
{
	struct home h = value_home(e->M, v);
	int64_t step = c ? image_step(e->M, c, v) : 0;

	if (step)
		fprintf(f, "AT(");
	switch ((enum home_kind)h.kind) {
	case HOME_INPUT: fprintf(f, "in[%" PRIu32 "]", h.index); break;
	case HOME_OUTPUT: fprintf(f, "out[%" PRIu32 "]", h.index); break;
	case HOME_CONST: fprintf(f, "W(%" PRId64 ")", weights_value(&e->weights, e->M, h.index)); break;
	case HOME_ARENA: fprintf(f, "A(%" PRId64 ")", h.offset); break;
	case HOME_NONE: BUG("value %s has no place", sym_str(val(e->M->m, v)->name));
	}
	if (step)
		fprintf(f, ", image * %" PRId64 ")", step);
}

/* The operands of a call that are not constants, each followed by a comma. */
static void put_operands(struct emission *e, FILE *f, const struct call *c)
{
	const struct node *n = node(e->M->m, c->node);

	for (uint32_t i = 0; i < n->nin; i++)
		if (val(e->M->m, n->in[i])->kind != VAL_CONST) {
			put_place(e, f, c, n->in[i]);
			fprintf(f, ", ");
		}
}

static void put_results(struct emission *e, FILE *f, const struct call *c)
{
	const struct node *n = node(e->M->m, c->node);

	for (uint32_t k = 0; k < n->nout; k++) {
		put_place(e, f, c, n->out[k]);
		fprintf(f, ", ");
	}
}

static void put_kernel_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];

	fprintf(f, "%s\t%s(", x->images > 1 ? "\t" : "", e->functions.a.a[e->functions.of_kernel[x->kernel]].name);
	put_operands(e, f, x);
	for (int i = 0; i < x->nconst; i++)
		fprintf(f, e->weights.of_call[c][i] < 0 ? "NULL, " : "W(%" PRId64 "), ", e->weights.of_call[c][i]);
	put_results(e, f, x);
	if (call_workspace_bytes(e->M, x))
		fprintf(f, "A(%" PRId64 ")", call_workspace(e->M, c));
	else
		fprintf(f, "NULL");
	fprintf(f, emit_starts_team(e->M->kernels.a[x->kernel].prog) ? ", m->team);\n" : ");\n");
}

static void put_opaque_call(struct emission *e, FILE *f, uint32_t c, int number)
{
	const struct call *x = &e->M->calls.a[c];

	fprintf(f, "\tif (opaque_run(m, %" PRIu32 ", %d, (const void *[]){", c, number);
	put_operands(e, f, x);
	fprintf(f, "NULL}, (void *[]){");
	put_results(e, f, x);
	fprintf(f, "NULL}))\n\t\treturn -1;\n");
}

static void put_call(struct emission *e, FILE *f, uint32_t c, int *nopaque)
{
	const struct call *x = &e->M->calls.a[c];

	if (x->kernel == KERNEL_OPAQUE)
		put_opaque_call(e, f, c, (*nopaque)++);
	else if (x->kernel == KERNEL_NATIVE)
		put_native_call(e, f, c);
	else
		put_kernel_call(e, f, c);
	if (call_has_kernel(x) && emit_checks_indices(e->M->kernels.a[x->kernel].prog))
		fprintf(f, "\tif (bad_index)\n\t\treturn index_outside(%" PRIu32 ");\n", c);
	fprintf(f, "%s\tLAP(%" PRIu32 "); /* ", x->images > 1 ? "\t" : "", c);
	put_comment(f, call_name(e, c));
	fprintf(f, " */\n");
}

void put_steps(struct emission *e, FILE *f)
{
	struct model *M = e->M;
	const struct graph *g = graph(M->m, M->m->main);
	int nopaque = 0;

	for (uint32_t c = 0; c < M->calls.n; c++)
		if (M->calls.a[c].kernel == KERNEL_NATIVE)
			put_native_attrs(e, f, c);
	fprintf(f,
		"static int steps(struct %s *m, const void *const *in, void *const *out, double *seconds)\n{\n"
		"\tdouble start = seconds ? seconds_now() : 0;\n\n\t(void)start;\n",
		e->name);
	for (uint32_t c = 0; c < M->calls.n; c++) {
		const struct call *x = &M->calls.a[c];
		if (x->images > 1 && x->strip == c)
			fprintf(f, "\tfor (long image = 0; image < %" PRId64 "; image++) {\n", x->images);
		put_call(e, f, c, &nopaque);
		if (x->images > 1 && x->last == c)
			fprintf(f, "\t}\n");
	}
	for (size_t k = 0; k < g->out.n; k++) {
		if (M->out.a[k])
			continue;
		fprintf(f, "\tmemcpy(out[%zu], ", k);
		put_place(e, f, NULL, g->out.a[k]);
		fprintf(f, ", %" PRId64 ");\n", value_bytes(M->m, g->out.a[k]));
	}
	fprintf(f, "\treturn 0;\n}\n\n");
}
