/* Steps that run sections on values of varying size: the calls of flow.in. */
#include <inttypes.h>
#include "model/control.h"
#include "source/source_impl.h"

/* As a struct flow_type in braces. */
static void put_flow_type(const struct control_step *w, val_id v)
{
	struct module *m = w->e->M->m;
	const struct type *t = &val(m, v)->type;
	int rank = t->other ? RANK_UNKNOWN : t->rank;

	fprintf(w->f, "{%d, %d, (const int64_t[]){", value_type_number(w->e, v), rank);
	for (int i = 0; i < rank; i++) {
		int64_t n;
		fprintf(w->f, "%" PRId64 ", ", poly_is_const(m->dims, t->dims[i], &n) ? n : -1);
	}
	fprintf(w->f, "0}, %d}", !value_varies(m, v));
}

static bool same_bytes(const struct control_step *w, val_id a, val_id b)
{
	struct module *m = w->e->M->m;

	return !value_varies(m, a) && !value_varies(m, b) && value_bytes(m, a) == value_bytes(m, b);
}

/* The slot that body output i, as result k, goes to. */
static uint32_t slot_of(const struct control_step *w, uint32_t i, uint32_t k)
{
	return value_varies(w->e->M->m, call_result(w->e->M, w->call, k)) ? w->x->result[k] : w->x->slot + i;
}

/* Results that are not in their place yet, or of which a run must see whether they fit, as conditions that begin with ||. */
static void put_placed(const struct control_step *w, uint32_t k, uint32_t slot)
{
	val_id v = call_result(w->e->M, w->call, k);
	bool varies = value_varies(w->e->M->m, v);

	if (!v)
		return;
	fprintf(w->f, " ||\n\t\t\t%s(%" PRIu32 ", &(const struct flow_type)", varies ? "flow_fits" : "flow_place", w->c);
	put_flow_type(w, v);
	fprintf(w->f, ", &m->slot[%" PRIu32 "].v", slot);
	if (!varies) {
		fprintf(w->f, ", ");
		put_place(w->e, w->f, w->call, v);
	}
	fprintf(w->f, ")");
}

/* ---- branches ---- */

static void put_branch_given(const struct control_step *w, const struct graph *b, uint32_t first)
{
	fprintf(w->f, "\t\t\tconst void *given[] = {");
	for (uint32_t i = first; i < w->n->nin; i++) {
		val_id v = call_operand(w->e->M, w->call, i), in = b->in.a[i - first];
		if (same_bytes(w, v, in)) {
			put_place(w->e, w->f, w->call, v);
		} else {
			fprintf(w->f, "flow_in(%" PRIu32 ", &(const struct flow_type)", w->c);
			put_flow_type(w, in);
			fprintf(w->f, ", ");
			put_value_pointer(w->e, w->f, v);
			fprintf(w->f, ")");
		}
		fprintf(w->f, ", ");
	}
	fprintf(w->f, "m};\n");
}

/* Is body output `out` computed in the place of result k? */
static bool in_place(const struct control_step *w, val_id out, uint32_t k)
{
	val_id v = call_result(w->e->M, w->call, k);

	return v && same_bytes(w, v, out);
}

static void put_branch_made(const struct control_step *w, const struct graph *b)
{
	fprintf(w->f, "\t\t\tvoid *made[] = {");
	for (uint32_t k = 0; k < w->n->nout; k++) {
		if (in_place(w, b->out.a[k], k)) {
			put_place(w->e, w->f, w->call, call_result(w->e->M, w->call, k));
		} else {
			fprintf(w->f, "flow_out(&(const struct flow_type)");
			put_flow_type(w, b->out.a[k]);
			fprintf(w->f, ", &m->slot[%" PRIu32 "])", slot_of(w, k, k));
		}
		fprintf(w->f, ", ");
	}
	fprintf(w->f, "m};\n");
}

static void put_branch(const struct control_step *w, uint32_t number, uint32_t first)
{
	const struct graph *b = graph(w->e->M->m, w->x->body[number]);

	fprintf(w->f, number + 1 < w->x->nbody ? "\t\tcase %" PRIu32 ": {\n" : "\t\tdefault: {\n", number);
	put_branch_given(w, b, first);
	put_branch_made(w, b);
	fprintf(w->f,
		"\t\t\tfailed = flow_lacks(given, %" PRIu32 ") || flow_lacks((const void *const *)made, %" PRIu32
		") ||\n\t\t\t\tsteps_%" PRIu32 "(m, ",
		w->n->nin - first, w->n->nout, w->e->M->section_of[w->x->body[number]] - 1);
	put_workspace(w->e, w->f, w->c, 0);
	fprintf(w->f, ", given, made, seconds, %s)", w->last);
	for (uint32_t k = 0; k < w->n->nout; k++)
		if (!in_place(w, b->out.a[k], k))
			put_placed(w, k, slot_of(w, k, k));
	fprintf(w->f, ";\n\t\t\tbreak;\n\t\t}\n");
}

static void put_branches(const struct control_step *w)
{
	uint32_t first = w->x->use == BODY_CALL ? 0 : 1;

	fprintf(w->f, "\t{\n\t\tint failed;\n\t\tswitch (");
	put_choice(w->e, w->f, w->call);
	fprintf(w->f, ") {\n");
	for (uint32_t i = 0; i < w->x->nbody; i++)
		put_branch(w, i, first);
	fprintf(w->f, "\t\t}\n\t\tif (failed)\n\t\t\treturn -1;\n\t}\n");
}

/* ---- loops ---- */

static void put_flow_types(const struct control_step *w, const char *name, const val_id *v, size_t n)
{
	fprintf(w->f, "\t\tconst struct flow_type %s[] = {", name);
	for (size_t i = 0; i < n; i++) {
		put_flow_type(w, v[i]);
		fprintf(w->f, ", ");
	}
	fprintf(w->f, "{0}};\n");
}

static void put_numbers(const struct control_step *w, const char *field, const char *attr, uint32_t n)
{
	fprintf(w->f, "\t\t\t.%s = (const int64_t[]){", field);
	for (uint32_t i = 0; i < n; i++)
		fprintf(w->f, "%" PRId64 ", ", scan_number(w->n, attr, i));
	fprintf(w->f, "0},\n");
}

static void put_loop_slots(const struct control_step *w)
{
	const struct looping *p = &w->x->loop;

	fprintf(w->f, "\t\tstruct hone_slot *const result[] = {");
	for (uint32_t k = 0; k < w->n->nout; k++)
		if (w->body && k >= p->ncarried && !call_result(w->e->M, w->call, k))
			fprintf(w->f, "NULL, ");
		else
			fprintf(w->f, "&m->slot[%" PRIu32 "], ", w->x->result[k]);
	fprintf(w->f, "NULL};\n\t\tstruct hone_slot *const spare[] = {");
	for (uint32_t k = 0; k < w->n->nout + p->nscanned; k++)
		fprintf(w->f, "&m->slot[%" PRIu32 "], ", w->x->slot + k);
	fprintf(w->f, "NULL};\n");
}

static void put_loop(const struct control_step *w)
{
	struct model *M = w->e->M;
	const struct looping *p = &w->x->loop;
	const struct graph *b = w->body;

	fprintf(w->f, "\t{\n");
	put_flow_types(w, "takes", b->in.a + p->head, b->in.n - p->head);
	put_flow_types(w, "gives", b->out.a + w->loop, b->out.n - w->loop);
	fprintf(w->f, "\t\tconst struct hone_value *const operand[] = {");
	for (uint32_t i = p->head; i < w->n->nin; i++) {
		put_value_pointer(w->e, w->f, call_operand(M, w->call, i));
		fprintf(w->f, ", ");
	}
	fprintf(w->f, "NULL};\n");
	put_loop_slots(w);
	fprintf(w->f,
		"\t\tconst struct flow_loop loop = {%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32
		", takes, gives,\n",
		w->c, p->head, p->ncarried, p->nscanned, p->ncaptured, p->ncollected);
	put_numbers(w, "in_axis", "scan_input_axes", p->nscanned);
	put_numbers(w, "in_back", "scan_input_directions", p->nscanned);
	put_numbers(w, "out_axis", "scan_output_axes", p->ncollected);
	put_numbers(w, "out_back", "scan_output_directions", p->ncollected);
	fprintf(w->f, "\t\t\t.body = steps_%" PRIu32 ", .arena = ", M->section_of[w->x->body[0]] - 1);
	put_workspace(w->e, w->f, w->c, 0);
	fprintf(w->f, ", .operand = operand, .result = result, .spare = spare};\n");
	put_limits(w->e, w->f, w->call);
	fprintf(w->f, "\t\tif (flow_loop(m, &loop, trips, go, seconds, %s)", w->last);
	for (uint32_t k = 0; k < w->n->nout; k++)
		put_placed(w, k, w->x->result[k]);
	fprintf(w->f, ")\n\t\t\treturn -1;\n\t}\n");
}

/* ---- maps ---- */

static void put_map(const struct control_step *w)
{
	struct model *M = w->e->M;
	const struct graph *b = graph(M->m, w->x->body[0]);

	fprintf(w->f, "\t{\n");
	put_flow_types(w, "takes", b->in.a, b->in.n);
	put_flow_types(w, "gives", b->out.a, b->out.n);
	fprintf(w->f, "\t\tconst struct hone_value *const operand[] = {");
	for (uint32_t i = 0; i < w->n->nin; i++) {
		put_value_pointer(w->e, w->f, call_operand(M, w->call, i));
		fprintf(w->f, ", ");
	}
	fprintf(w->f, "NULL};\n");
	put_loop_slots(w);
	fprintf(w->f,
		"\t\tif (flow_map(m, &(const struct flow_map){%" PRIu32 ", %" PRIu32 ", %" PRIu32 ", takes, gives, (const uint8_t[]){",
		w->c, w->n->nin, w->n->nout);
	for (uint32_t i = 0; i < w->n->nin; i++)
		fprintf(w->f, "%d, ", mapped_operand(M->m, w->n, i));
	fprintf(w->f, "0},\n\t\t\t.body = steps_%" PRIu32 ", .arena = ", M->section_of[w->x->body[0]] - 1);
	put_workspace(w->e, w->f, w->c, 0);
	fprintf(w->f, ", .operand = operand, .result = result, .spare = spare}, seconds, %s))\n\t\t\treturn -1;\n\t}\n", w->last);
}

void put_flow_call(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	struct control_step w = control_step(e, f, s, c);

	if (w.x->use == BODY_MAP)
		put_map(&w);
	else if (w.body)
		put_loop(&w);
	else
		put_branches(&w);
}

/* ---- outputs of bodies ---- */

/* How many outputs of the section share the bytes of v? */
static int sharing(const struct model *M, const struct section *s, val_id v)
{
	const struct graph *g = graph(M->m, s->graph);
	int n = 0;

	for (size_t k = 0; k < g->out.n; k++)
		n += M->root[g->out.a[k]] == M->root[v];
	return n;
}

void put_flow_output(struct emission *e, FILE *f, const struct section *s, size_t k)
{
	struct model *M = e->M;
	val_id v = graph(M->m, s->graph)->out.a[k], root = M->root[v];

	if (value_home(M, root).kind == HOME_SLOT && sharing(M, s, v) == 1) {
		fprintf(f, "\tslot_move(out[%zu], &m->slot[%" PRIu32 "], &", k, value_home(M, root).index);
		put_value(e, f, v);
		fprintf(f, ");\n");
		return;
	}
	fprintf(f, "\tif (slot_copy(out[%zu], ", k);
	put_value_pointer(e, f, v);
	fprintf(f, "))\n\t\treturn -1;\n");
}
