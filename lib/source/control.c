/* Steps that run sections: branches and loops. */
#include <inttypes.h>
#include "common/msg.h"
#include "model/control.h"
#include "source/source_impl.h"

struct control_step control_step(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	const struct call *call = &e->M->calls.a[c];
	struct control_step x = {.e = e, .f = f, .c = c, .call = call, .x = call->control, .n = node(e->M->m, call->alone)};

	x.last = s == e->M->sections.a ? "&start" : "last";
	x.loop = x.x->use == BODY_LOOP;
	if (x.loop || x.x->use == BODY_SCAN)
		x.body = graph(e->M->m, x.x->body[0]);
	return x;
}

void put_run(struct emission *e, FILE *f, const struct section *s, uint32_t c, graph_id body)
{
	fprintf(f, "steps_%" PRIu32 "(m, ", e->M->section_of[body] - 1);
	put_workspace(e, f, c, e->M->calls.a[c].control->arena);
	fprintf(f, ", given, made, seconds, %s)", s == e->M->sections.a ? "&start" : "last");
}

/* ---- branches ---- */

static void put_result(struct emission *e, FILE *f, uint32_t c, uint32_t k, int64_t spare)
{
	const struct call *x = &e->M->calls.a[c];
	val_id v = call_result(e->M, x, k);

	if (v)
		put_place(e, f, x, v);
	else
		put_workspace(e, f, c, spare);
	fprintf(f, ", ");
}

void put_choice(struct emission *e, FILE *f, const struct call *x)
{
	enum body_use use = x->control->use;
	const struct node *n = node(e->M->m, x->alone);

	if (use == BODY_CALL) {
		fprintf(f, "0");
		return;
	}
	fprintf(f, "*(const %s *)", use == BODY_IF ? "uint8_t" : val(e->M->m, n->in[0])->type.dtype == DT_I64 ? "int64_t" : "int32_t");
	put_place(e, f, x, call_operand(e->M, x, 0));
}

static void put_branches(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	const struct control *k = x->control;
	const struct node *n = node(e->M->m, x->alone);
	uint32_t first = k->use == BODY_CALL ? 0 : 1;

	fprintf(f, "\t{\n\t\tconst void *given[] = {");
	for (uint32_t i = first; i < n->nin; i++) {
		put_place(e, f, x, call_operand(e->M, x, i));
		fprintf(f, ", ");
	}
	fprintf(f, "NULL};\n\t\tvoid *made[] = {");
	for (uint32_t i = 0; i < n->nout; i++)
		put_result(e, f, c, i, k->spare[i]);
	fprintf(f, "NULL};\n\t\tint failed;\n\t\tswitch (");
	put_choice(e, f, x);
	fprintf(f, ") {\n");
	for (uint32_t i = 0; i < k->nbody; i++) {
		fprintf(f, i + 1 < k->nbody ? "\t\tcase %" PRIu32 ": failed = " : "\t\tdefault: failed = ", i);
		put_run(e, f, s, c, k->body[i]);
		fprintf(f, "; break;\n");
	}
	fprintf(f, "\t\t}\n\t\tif (failed)\n\t\t\treturn -1;\n\t}\n");
}

/* ---- loops ---- */

static void put_operand(const struct control_step *l, uint32_t i) { put_place(l->e, l->f, l->call, call_operand(l->e->M, l->call, i)); }

static int64_t body_bytes(const struct control_step *l, uint32_t k) { return value_bytes(l->e->M->m, l->body->out.a[l->loop + k]); }

/* What the body is given and what it makes in the first step. Places that change are NULL. */
static void put_arrays(const struct control_step *l)
{
	const struct looping *p = &l->x->loop;
	FILE *f = l->f;

	fprintf(f, "\t\tconst void *given[] = {%s", l->loop ? "&trip, &go, " : "");
	for (uint32_t i = p->head; i < l->n->nin; i++) {
		bool slice = i >= p->head + p->ncarried && i < p->head + p->ncarried + p->nscanned;
		if (slice)
			fprintf(f, "NULL");
		else
			put_operand(l, i);
		fprintf(f, ", ");
	}
	fprintf(f, "NULL};\n\t\tvoid *made[] = {%s", l->loop ? "&more, " : "");
	for (uint32_t k = 0; k < l->n->nout; k++)
		fprintf(f, "NULL, ");
	fprintf(f, "NULL};\n");
}

/* Of a Scan on values it is told later. */
void put_limits(struct emission *e, FILE *f, const struct call *x)
{
	const struct node *n = node(e->M->m, x->alone);
	const struct looping *p = &x->control->loop;

	if (x->control->values && !p->head) {
		fprintf(f, "\t\tconst int64_t trips = 0;\n\t\tconst uint8_t go = 1;\n");
		return;
	}
	fprintf(f, x->control->values ? "\t\tconst int64_t trips = " : "\t\tint64_t trip = 0, trips = ");
	if (!p->head) {
		fprintf(f, "%" PRId64 ";\n", slices_of(e->M->m, n->in[p->ncarried], scan_number(n, "scan_input_axes", 0)).n);
		return;
	}
	if (n->in[0]) {
		fprintf(f, "*(const int64_t *)");
		put_place(e, f, x, call_operand(e->M, x, 0));
	} else {
		fprintf(f, "INT64_MAX");
	}
	fprintf(f, ";\n\t\tuint8_t go = ");
	if (n->in[1]) {
		fprintf(f, "*(const uint8_t *)");
		put_place(e, f, x, call_operand(e->M, x, 1));
	} else {
		fprintf(f, "1");
	}
	fprintf(f, x->control->values ? ";\n" : ", more = 0;\n");
}

/* Carried value k alternates between its result and room beside it, so that the last step writes the result where the number of steps is
 * known before. */
static void put_carried(const struct control_step *l, uint32_t k)
{
	fprintf(l->f, "\t\t\tmade[%" PRIu32 "] = (trips - trip) & 1 ? ", l->loop + k);
	if (call_result(l->e->M, l->call, k))
		put_place(l->e, l->f, l->call, call_result(l->e->M, l->call, k));
	else
		put_workspace(l->e, l->f, l->c, l->x->other[k]);
	fprintf(l->f, " : ");
	put_workspace(l->e, l->f, l->c, l->x->spare[l->loop + k]);
	fprintf(l->f, ";\n");
}

static const char *turn(const struct control_step *l, const char *name, uint32_t i)
{
	return scan_number(l->n, name, i) ? "trips - 1 - trip" : "trip";
}

/* The slice of scanned operand i. */
static void put_slice(const struct control_step *l, uint32_t i)
{
	uint32_t at = l->x->loop.head + l->x->loop.ncarried + i;
	struct slices s = slices_of(l->e->M->m, l->n->in[at], scan_number(l->n, "scan_input_axes", i));
	FILE *f = l->f;

	if (l->x->slice[i] >= 0) {
		fprintf(f, "\t\t\tcopy_apart(");
		put_workspace(l->e, f, l->c, l->x->slice[i]);
		fprintf(f, ", %" PRId64 ", AT(", s.bytes);
		put_operand(l, at);
		fprintf(f, ", (%s) * %" PRId64 "), %" PRId64 ", %" PRId64 ", %" PRId64 ");\n", turn(l, "scan_input_directions", i), s.bytes,
			s.n * s.bytes, s.outer, s.bytes);
		fprintf(f, "\t\t\tgiven[%" PRIu32 "] = ", at);
		put_workspace(l->e, f, l->c, l->x->slice[i]);
		fprintf(f, ";\n");
		return;
	}
	fprintf(f, "\t\t\tgiven[%" PRIu32 "] = AT(", at);
	put_operand(l, at);
	fprintf(f, ", (%s) * %" PRId64 ");\n", turn(l, "scan_input_directions", i), s.bytes);
}

/* Where a step writes what is collected. */
static void put_collected(const struct control_step *l, uint32_t k)
{
	uint32_t r = l->x->loop.ncarried + k;
	val_id v = call_result(l->e->M, l->call, r);

	fprintf(l->f, "\t\t\tmade[%" PRIu32 "] = ", l->loop + r);
	if (l->x->spare[l->loop + r] >= 0) {
		put_workspace(l->e, l->f, l->c, l->x->spare[l->loop + r]);
		fprintf(l->f, ";\n");
		return;
	}
	fprintf(l->f, "AT(");
	put_place(l->e, l->f, l->call, v);
	fprintf(l->f, ", (%s) * %" PRId64 ");\n", turn(l, "scan_output_directions", k), body_bytes(l, r));
}

/* Puts what was collected beside the result into it. */
static void put_scattered(const struct control_step *l, uint32_t k)
{
	uint32_t r = l->x->loop.ncarried + k;
	val_id v = call_result(l->e->M, l->call, r);

	if (!v || l->x->spare[l->loop + r] < 0)
		return;
	struct slices s = slices_of(l->e->M->m, v, scan_number(l->n, "scan_output_axes", k));
	fprintf(l->f, "\t\t\tcopy_apart(AT(");
	put_place(l->e, l->f, l->call, v);
	fprintf(l->f, ", (%s) * %" PRId64 "), %" PRId64 ", made[%" PRIu32 "], %" PRId64 ", %" PRId64 ", %" PRId64 ");\n",
		turn(l, "scan_output_directions", k), s.bytes, s.n * s.bytes, l->loop + r, s.bytes, s.outer, s.bytes);
}

/* Of a Loop whose results have a known length: that many steps. -1: any number. */
static int64_t steps_wanted(const struct control_step *l)
{
	for (uint32_t k = 0; k < l->x->loop.ncollected && l->loop; k++) {
		val_id v = call_result(l->e->M, l->call, l->x->loop.ncarried + k);
		if (v)
			return slices_of(l->e->M->m, v, scan_number(l->n, "scan_output_axes", k)).n;
	}
	return -1;
}

static void put_step(const struct control_step *l, const struct section *s)
{
	const struct looping *p = &l->x->loop;
	int64_t wanted = steps_wanted(l);
	FILE *f = l->f;

	if (l->loop)
		fprintf(f, "\t\t\tif (trip == most)\n\t\t\t\treturn endless(step[%" PRIu32 "].node, most);\n", l->c);
	if (wanted >= 0)
		fprintf(f,
			"\t\t\tif (trip == %" PRId64 ")\n\t\t\t\treturn fail(\"step\", step[%" PRIu32 "].node, \"it runs too often\");\n",
			wanted, l->c);
	for (uint32_t i = 0; i < p->nscanned; i++)
		put_slice(l, i);
	for (uint32_t k = 0; k < p->ncarried; k++)
		put_carried(l, k);
	for (uint32_t k = 0; k < p->ncollected; k++)
		put_collected(l, k);
	fprintf(f, "\t\t\tif (");
	put_run(l->e, f, s, l->c, l->x->body[0]);
	fprintf(f, ")\n\t\t\t\treturn -1;\n");
	for (uint32_t k = 0; k < p->ncarried; k++)
		fprintf(f, "\t\t\tgiven[%" PRIu32 "] = made[%" PRIu32 "];\n", p->head + k, l->loop + k);
	for (uint32_t k = 0; k < p->ncollected; k++)
		put_scattered(l, k);
	if (l->loop)
		fprintf(f, "\t\t\tgo = more;\n");
}

/* The results of the last step, or the operands of a loop without a step. */
static void put_last(const struct control_step *l)
{
	const struct looping *p = &l->x->loop;
	int64_t wanted = steps_wanted(l);

	if (wanted >= 0)
		fprintf(l->f, "\t\tif (trip != %" PRId64 ")\n\t\t\treturn fail(\"step\", step[%" PRIu32 "].node, \"it ends too early\");\n",
			wanted, l->c);
	for (uint32_t k = 0; k < p->ncarried; k++) {
		val_id v = call_result(l->e->M, l->call, k);
		if (!v)
			continue;
		fprintf(l->f, "\t\tif (given[%" PRIu32 "] != ", p->head + k);
		put_place(l->e, l->f, l->call, v);
		fprintf(l->f, ")\n\t\t\tmemcpy(");
		put_place(l->e, l->f, l->call, v);
		fprintf(l->f, ", given[%" PRIu32 "], %" PRId64 ");\n", p->head + k, body_bytes(l, k));
	}
}

static void put_loop(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	struct control_step l = control_step(e, f, s, c);

	fprintf(f, l.loop ? "\t{\n\t\tconst long most = loop_max();\n" : "\t{\n");
	put_limits(e, f, l.call);
	put_arrays(&l);
	fprintf(f, "\t\tfor (; %strip < trips; trip++) {\n", l.loop ? "go && " : "");
	put_step(&l, s);
	fprintf(f, "\t\t}\n");
	put_last(&l);
	fprintf(f, "\t}\n");
}

void put_control_call(struct emission *e, FILE *f, const struct section *s, uint32_t c)
{
	enum body_use use = e->M->calls.a[c].control->use;

	if (e->M->calls.a[c].control->fitted)
		put_fitted_call(e, f, s, c);
	else if (e->M->calls.a[c].control->values)
		put_flow_call(e, f, s, c);
	else if (use == BODY_LOOP || use == BODY_SCAN)
		put_loop(e, f, s, c);
	else
		put_branches(e, f, s, c);
}
