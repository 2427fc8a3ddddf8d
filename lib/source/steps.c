/* The steps of a run: for each section a function that calls its kernels in order. */
#include <inttypes.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "emit/emit.h"
#include "model/control.h"

char section_arena(const struct section *s, const struct emission *e) { return s == e->M->sections.a ? 'A' : 'B'; }

void put_place(struct emission *e, FILE *f, const struct call *c, val_id v)
{
	struct home h = value_home(e->M, v);
	int64_t step = c ? image_step(e->M, c, v) : 0;
	bool value = h.kind == HOME_INPUT && value_varies(e->M->m, v) && value_section(e->M, v) != e->M->sections.a;

	if (step)
		fprintf(f, "AT(");
	switch ((enum home_kind)h.kind) {
	case HOME_INPUT: fprintf(f, value ? "((const struct hone_value *)in[%" PRIu32 "])->data" : "in[%" PRIu32 "]", h.index); break;
	case HOME_OUTPUT: fprintf(f, "out[%" PRIu32 "]", h.index); break;
	case HOME_CONST: fprintf(f, "W(%" PRId64 ")", weights_value(&e->weights, e->M, h.index)); break;
	case HOME_ARENA: fprintf(f, "%c(%" PRId64 ")", section_arena(value_section(e->M, v), e), h.offset); break;
	case HOME_SLOT: fprintf(f, "m->slot[%" PRIu32 "].v.data", h.index); break;
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

void put_workspace(struct emission *e, FILE *f, uint32_t c, int64_t offset)
{
	graph_id g = node(e->M->m, e->M->calls.a[c].node)->graph;

	fprintf(f, "%c(%" PRId64 ")", section_arena(&e->M->sections.a[e->M->section_of[g] - 1], e), call_workspace(e->M, c) + offset);
}

/* Does the call run beside those of other lanes? */
static bool side_by_side(const struct emission *e, const struct call *x) { return x->lanes > 1 && e->functions.threads > 1; }

/* Call c as x: itself, or another kernel in its place, whose constants are there. */
static void put_kernel(struct emission *e, FILE *f, uint32_t c, const struct call *x, const int64_t *constant)
{
	fprintf(f, "%s\t%s(", x->images > 1 ? "\t" : "", e->functions.a.a[e->functions.of_kernel[x->kernel]].name);
	put_operands(e, f, x);
	for (int i = 0; i < x->nconst; i++)
		fprintf(f, constant[i] < 0 ? "NULL, " : "W(%" PRId64 "), ", constant[i]);
	put_results(e, f, x);
	if (x->nparam)
		put_sized_params(e, f, x);
	if (call_workspace_varies(e->M, x))
		fprintf(f, "m->work");
	else if (call_workspace_bytes(e->M, x))
		put_workspace(e, f, c, 0);
	else
		fprintf(f, "NULL");
	if (emit_starts_team(e->M->kernels.a[x->kernel].prog))
		fprintf(f, side_by_side(e, x) ? ", NULL" : ", m->team");
	fprintf(f, "%s);\n", e->functions.numbers[x->kernel]);
}

/* The same for a kernel of varying sizes, of which those it takes are known. */
static void put_sized_kernel(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	size_t number = 0;

	for (const struct call *v = x->version; v; v = v->version) {
		fprintf(f, number ? "\t} else if (" : "\tif (");
		for (int i = 0; i < v->when.n; i++)
			fprintf(f, "%sm->size[%" PRIu32 "] == %" PRId64, i ? " && " : "", v->when.var[i], v->when.size[i]);
		fprintf(f, ") {\n");
		put_sized_checks(e, f, c, v);
		put_kernel(e, f, c, v, e->weights.of_version[c][number++]);
	}
	if (number)
		fprintf(f, "\t} else {\n");
	put_sized_checks(e, f, c, x);
	put_kernel(e, f, c, x, e->weights.of_call[c]);
	if (number)
		fprintf(f, "\t}\n");
}

static void put_kernel_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];

	if (!node_varies(e->M->m, node(e->M->m, x->node))) {
		put_kernel(e, f, c, x, e->weights.of_call[c]);
		return;
	}
	if (x->otherwise) {
		fprintf(f, "\t{\n");
		put_otherwise(e, f, c);
		fprintf(f, " {\n");
		put_native_call(e, f, c, x->otherwise);
		fprintf(f, "\t} else");
	}
	put_sized_open(e, f, c);
	put_sized_kernel(e, f, c);
	fprintf(f, "\t}\n\t}\n%s", x->otherwise ? "\t}\n" : "");
}

void put_value(struct emission *e, FILE *f, val_id v)
{
	struct home h = value_home(e->M, v);
	const char *given =
		value_section(e->M, v) == e->M->sections.a ? "m->given[%" PRIu32 "]" : "(*(const struct hone_value *)in[%" PRIu32 "])";

	fprintf(f, h.kind == HOME_SLOT ? "m->slot[%" PRIu32 "].v" : given, h.index);
}

/* As a const struct hone_value *. */
void put_value_pointer(struct emission *e, FILE *f, val_id v)
{
	const struct type *t = &val(e->M->m, v)->type;
	int64_t dims[RANK_MAX];

	if (value_varies(e->M->m, v)) {
		fprintf(f, "&");
		put_value(e, f, v);
		return;
	}
	type_dims(e->M->m, t, dims);
	fprintf(f, "&(struct hone_value){%d, %d, (const int64_t[]){", (int)t->dtype, t->rank);
	for (int i = 0; i < t->rank; i++)
		fprintf(f, "%" PRId64 ", ", dims[i]);
	fprintf(f, "0}, (void *)");
	put_place(e, f, NULL, v);
	fprintf(f, "}");
}

/* An opaque call with operands or results whose size is known only in a run. */
static void put_values_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	struct module *m = e->M->m;
	const struct node *n = node(m, x->node);

	fprintf(f, "\tif (opaque_run_values(m, %" PRIu32 ", %" PRIu32 ", (const struct hone_value *const[]){", c, x->opaque);
	for (uint32_t i = 0; i < n->nin; i++)
		if (val(m, n->in[i])->kind != VAL_CONST) {
			put_value_pointer(e, f, n->in[i]);
			fprintf(f, ", ");
		}
	fprintf(f, "NULL},\n\t\t\t(struct results){.slot = (const int[]){");
	for (uint32_t k = 0; k < n->nout; k++)
		fprintf(f, "%d, ", value_varies(m, n->out[k]) ? (int)value_home(e->M, n->out[k]).index : -1);
	fprintf(f, "0}, .place = (void *const[]){");
	for (uint32_t k = 0; k < n->nout; k++) {
		if (value_varies(m, n->out[k]))
			fprintf(f, "NULL");
		else
			put_place(e, f, x, n->out[k]);
		fprintf(f, ", ");
	}
	fprintf(f, "NULL}, .size = (const size_t[]){");
	for (uint32_t k = 0; k < n->nout; k++)
		fprintf(f, "%" PRId64 ", ", value_varies(m, n->out[k]) ? 0 : value_bytes(m, n->out[k]));
	fprintf(f, "0}}))\n\t\treturn -1;\n");
	put_lists_of_call(e, f, c);
}

static void put_opaque_call(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];

	fprintf(f, "\tif (opaque_run(m, %" PRIu32 ", %" PRIu32 ", (const void *[]){", c, x->opaque);
	put_operands(e, f, x);
	fprintf(f, "NULL}, (void *[]){");
	put_results(e, f, x);
	fprintf(f, "NULL}))\n\t\treturn -1;\n");
}

static void put_call(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];

	if (x->kernel == KERNEL_OPAQUE && node_varies(e->M->m, node(e->M->m, x->node)))
		put_values_call(e, f, c);
	else if (x->kernel == KERNEL_OPAQUE)
		put_opaque_call(e, f, c);
	else if (x->settled)
		put_view(e, f, c);
	else if (x->kernel == KERNEL_NATIVE)
		put_native_call(e, f, c, x);
	else if (x->kernel == KERNEL_CONTROL)
		put_control_call(e, f, s, c);
	else if (x->kernel == KERNEL_APPEND)
		put_append_call(e, f, c);
	else if (x->kernel == KERNEL_MAPS)
		put_maps_call(e, f, c);
	else
		put_kernel_call(e, f, c);
	if (!call_has_kernel(x))
		put_sizes_of_call(e, f, c);
	if (call_has_kernel(x) && e->M->kernels.a[x->kernel].checks)
		fprintf(f, "\tif (bad_index)\n\t\treturn index_outside(%" PRIu32 ");\n", c);
	fprintf(f, "%s\tLAP%s(%" PRIu32 "); /* ", x->images > 1 ? "\t" : "", s == e->M->sections.a ? "" : "_IN", c);
	put_comment(f, call_name(e, c));
	fprintf(f, " */\n");
}

static void put_head(struct emission *e, FILE *f, const struct section *s)
{
	long number = s - e->M->sections.a;

	if (!number)
		fprintf(f,
			"static int steps(struct %s *m, const void *const *in, void *const *out, double *seconds)\n{\n"
			"\tdouble start = seconds ? seconds_now() : 0;\n\n\t(void)start;\n",
			e->name);
	else
		fprintf(f,
			"static int steps_%ld(struct %s *m, char *arena, const void *const *in, void *const *out, double *seconds, "
			"double *last)\n{\n\t(void)m, (void)arena, (void)in, (void)out, (void)seconds, (void)last;\n",
			number, e->name);
}

static const char *region_of(struct emission *e, uint32_t c) { return arena_printf(&e->M->m->arena, "region_%" PRIu32, c); }

/* The function of the region that begins with call c: some of its lanes. */
static void put_region(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	const struct call *first = &e->M->calls.a[c];

	fprintf(f,
		"static void %s(void *args, long begin, long end, int thread)\n{\n\tconst struct lane_args *a = args;\n\tstruct %s *m = a->m;\n"
		"\tconst void *const *in = a->in;\n\tvoid *const *out = a->out;\n\tdouble *seconds = a->seconds;\n\n"
		"\t(void)m, (void)in, (void)out, (void)thread;\n"
		"\tfor (long lane = begin; lane < end; lane++) {\n\tdouble start = seconds ? seconds_now() : 0;\n\n\t(void)start;\n"
		"\tswitch (lane) {\n",
		region_of(e, c), e->name);
	for (int64_t lane = 0; lane < first->lanes; lane++) {
		fprintf(f, "\tcase %" PRId64 ":\n", lane);
		for (uint32_t k = c; k <= first->last; k++)
			if (e->M->calls.a[k].lane == lane)
				put_call(e, f, s, k);
		fprintf(f, "\tbreak;\n");
	}
	fprintf(f, "\t}\n\t}\n}\n\n");
}

static void put_regions(struct emission *e, FILE *f)
{
	const struct section *s = e->M->sections.a;
	bool any = false;

	for (uint32_t c = s->first; c < s->end; c++) {
		if (!side_by_side(e, &e->M->calls.a[c]) || e->M->calls.a[c].strip != c)
			continue;
		if (!any)
			fprintf(f,
				"struct lane_args {\n\tstruct %s *m;\n\tconst void *const *in;\n\tvoid *const *out;\n\tdouble *seconds;\n};\n\n",
				e->name);
		any = true;
		put_region(e, f, s, c);
	}
}

/* Calls from c to end. */
static void put_calls(struct emission *e, FILE *f, const struct section *s, uint32_t c, uint32_t end)
{
	for (; c < end; c++) {
		const struct call *x = &e->M->calls.a[c];
		if (side_by_side(e, x)) {
			fprintf(f, "\tteam_run(m->team, %s, &(struct lane_args){m, in, out, seconds}, %" PRId64 ");\n", region_of(e, c),
				x->lanes);
			fprintf(f, "\tif (seconds)\n\t\tstart = seconds_now();\n");
			c = x->last;
			continue;
		}
		if (x->images > 1 && x->strip == c)
			fprintf(f, "\tfor (long image = 0; image < %" PRId64 "; image++) {\n", x->images);
		put_call(e, f, s, c);
		if (x->images > 1 && x->last == c)
			fprintf(f, "\t}\n");
	}
}

/* Compilers take more than twice the time for a function twice as long: of many calls each so many are one of its own. */
enum { PART_CALLS = 64 };

static bool in_parts(const struct section *s) { return s->end - s->first > PART_CALLS; }

static uint32_t part_end(const struct emission *e, const struct section *s, uint32_t c)
{
	uint32_t end = c;

	while (end < s->end && end - c < PART_CALLS) {
		const struct call *x = &e->M->calls.a[end];
		end = x->images > 1 || side_by_side(e, x) ? x->last + 1 : end + 1;
	}
	return end;
}

static void put_parts(struct emission *e, FILE *f, const struct section *s)
{
	long number = s - e->M->sections.a;

	for (uint32_t c = s->first, end; c < s->end; c = end) {
		end = part_end(e, s, c);
		fprintf(f,
			"static __attribute__((noinline)) int steps_%ld_%" PRIu32
			"(struct %s *m, char *arena, const void *const *in, void *const *out, double *seconds, double *last)\n{\n"
			"\tdouble start = *last;\n\n\t(void)m, (void)arena, (void)in, (void)out, (void)seconds, (void)start;\n",
			number, c, e->name);
		put_calls(e, f, s, c, end);
		fprintf(f, "%s\treturn 0;\n}\n\n", number ? "" : "\t*last = start;\n");
	}
}

static void put_part_calls(struct emission *e, FILE *f, const struct section *s)
{
	long number = s - e->M->sections.a;

	for (uint32_t c = s->first; c < s->end; c = part_end(e, s, c))
		fprintf(f, "\tif (steps_%ld_%" PRIu32 "(m, %s, in, out, seconds, %s))\n\t\treturn -1;\n", number, c,
			number ? "arena" : "m->arena", number ? "last" : "&start");
}

/* Output k is copied to its place. An input of a body may lie there already: a state. */
static void put_output(struct emission *e, FILE *f, const struct section *s, size_t k)
{
	struct model *M = e->M;
	val_id v = graph(M->m, s->graph)->out.a[k];
	bool same = s != M->sections.a && val(M->m, M->root[v])->kind == VAL_INPUT;

	if (same) {
		fprintf(f, "\tif (out[%zu] != ", k);
		put_place(e, f, NULL, v);
		fprintf(f, ")\n\t");
	}
	fprintf(f, "\tmemcpy(out[%zu], ", k);
	put_place(e, f, NULL, v);
	fprintf(f, ", %" PRId64 ");\n", value_bytes(M->m, v));
}

static void put_outputs(struct emission *e, FILE *f, const struct section *s)
{
	struct model *M = e->M;
	const struct graph *g = graph(M->m, s->graph);

	for (size_t k = 0; k < g->out.n; k++) {
		if (s->out.a[k])
			continue;
		if (value_varies(M->m, g->out.a[k]) && s != M->sections.a) {
			put_flow_output(e, f, s, k);
			continue;
		}
		if (text_borrowed(e, g->out.a[k])) {
			fprintf(f, "\tif (texts_keep(m, %zu, ", k);
			put_value(e, f, g->out.a[k]);
			fprintf(f, "))\n\t\treturn -1;\n");
			continue;
		}
		if (value_varies(M->m, g->out.a[k])) {
			fprintf(f, "\tm->made[%zu] = ", k);
			put_value(e, f, g->out.a[k]);
			fprintf(f, ";\n");
			continue;
		}
		put_output(e, f, s, k);
	}
}

static void put_section(struct emission *e, FILE *f, const struct section *s)
{
	if (in_parts(s))
		put_parts(e, f, s);
	put_head(e, f, s);
	put_sizes_of_inputs(e, f, s);
	if (in_parts(s))
		put_part_calls(e, f, s);
	else
		put_calls(e, f, s, s->first, s->end);
	put_outputs(e, f, s);
	fprintf(f, "\treturn 0;\n}\n\n");
}

void put_steps(struct emission *e, FILE *f)
{
	if (e->M->sections.n > 1)
		fputs(sections_text, f);
	put_fitted_text(e, f);
	if (e->M->kin)
		put_template(e, f, flow_text, NULL);
	for (uint32_t c = 0; c < e->M->calls.n; c++)
		if (call_native(&e->M->calls.a[c]))
			put_native_attrs(e, f, c), put_native_texts(e, f, c);
	put_regions(e, f);
	for (size_t s = e->M->sections.n; s-- > 0;)
		put_section(e, f, &e->M->sections.a[s]);
}
