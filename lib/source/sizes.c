/* Sizes that only a run knows, as C: symbols, polynomials in them, and kernels that take them. */
#include <inttypes.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "emit/emit.h"
#include "op/op.h"

/* ---- polynomials ---- */

/* What variables are: sizes of the module, whose symbols are in P. */
struct meaning {
	const struct polys *P;
	poly *is; /* by variable */
};

/* e, of P. of: what variables of P are; NULL: symbols of the module. */
static void put_poly(FILE *f, const struct polys *P, poly e, const struct meaning *of);

static void put_atom(FILE *f, const struct polys *P, uint32_t id, const struct meaning *of)
{
	const struct poly_atom *x = poly_atom(P, id);

	switch (x->kind) {
	case POLY_VAR:
		if (of)
			put_poly(f, of->P, of->is[x->var], NULL);
		else
			fprintf(f, "m->size[%" PRIu32 "]", x->var);
		return;
	case POLY_FLOOR: fprintf(f, "size_floor("); break;
	case POLY_MIN: fprintf(f, "size_least("); break;
	case POLY_MAX: fprintf(f, "size_most("); break;
	}
	put_poly(f, P, x->a, of);
	fprintf(f, ", ");
	if (x->kind == POLY_FLOOR)
		fprintf(f, "%" PRId64, x->c);
	else
		put_poly(f, P, x->b, of);
	fprintf(f, ")");
}

static void put_term(FILE *f, const struct polys *P, poly e, int i, const struct meaning *of)
{
	const uint32_t *atom;
	int n;
	int64_t coef = poly_term(P, e, i, &n, &atom);
	bool plain = coef == 1 && n;

	for (int k = plain; k < n; k++)
		fprintf(f, "size_times(&large, ");
	if (!plain)
		fprintf(f, "%" PRId64, coef);
	for (int k = 0; k < n; k++) {
		fprintf(f, k || !plain ? ", " : "");
		put_atom(f, P, atom[k], of);
		fprintf(f, k || !plain ? ")" : "");
	}
}

static void put_poly(FILE *f, const struct polys *P, poly e, const struct meaning *of)
{
	int n = poly_nterms(P, e);

	for (int i = 0; i < n - 1; i++)
		fprintf(f, "size_plus(&large, ");
	for (int i = 0; i < n; i++) {
		fprintf(f, i ? ", " : "");
		put_term(f, P, e, i, of);
		fprintf(f, i ? ")" : "");
	}
	if (!n)
		fprintf(f, "0");
}

static void put_shape(struct emission *e, FILE *f, val_id v)
{
	const struct type *t = &val(e->M->m, v)->type;

	fprintf(f, "(const int64_t[]){");
	for (int i = 0; i < t->rank; i++) {
		put_poly(f, e->M->m->dims, t->dims[i], NULL);
		fprintf(f, ", ");
	}
	fprintf(f, "0}");
}

/* ---- what a run learns ---- */

/* For messages. */
static void put_value_name(struct emission *e, FILE *f, val_id v)
{
	fprintf(f, "\"value\", ");
	put_string(f, sym_str(val(e->M->m, v)->name));
	fprintf(f, ", ");
}

static void put_fact(struct emission *e, FILE *f, const struct size_fact *x)
{
	struct polys *P = e->M->m->dims;
	bool settle = !x->var && value_home(e->M, x->v).kind == HOME_SLOT;

	if (settle) {
		fprintf(f, "\tsize_settle(&");
		put_value(e, f, x->v);
		fprintf(f, ", %d, ", x->axis);
		put_poly(f, P, val(e->M->m, x->v)->type.dims[x->axis], NULL);
		fprintf(f, ", &large);\n");
	}
	fprintf(f, "\tif (size_%s(", x->var ? "learn" : "check");
	if (x->call != SIZE_INPUT)
		fprintf(f, "\"step\", step[%" PRIu32 "].node, ", x->call);
	else if (x->graph == e->M->m->main)
		fprintf(f, "\"input\", input[%" PRIu32 "].name, ", value_home(e->M, x->v).index);
	else
		put_value_name(e, f, x->v);
	put_value(e, f, x->v);
	fprintf(f, ".shape, %d, ", x->axis);
	if (!x->var) {
		put_poly(f, P, val(e->M->m, x->v)->type.dims[x->axis], NULL);
	} else {
		int64_t lo, hi;
		poly_var_range(P, x->var, &lo, &hi);
		fprintf(f, "&m->size[%" PRIu32 "], %" PRId64 ", ", x->var, x->coef);
		put_poly(f, P, x->rest, NULL);
		fprintf(f, ", %" PRId64 ", %" PRId64 ", %" PRId64, lo < 0 ? 0 : lo, hi, poly_var_divisor(P, x->var));
	}
	fprintf(f, ", &large))\n\t\treturn -1;\n");
}

/* Behind a call, or where a section begins. */
static void put_facts(struct emission *e, FILE *f, uint32_t call, graph_id g)
{
	size_t n = 0;

	for (size_t i = 0; i < e->M->sizes.facts.n; i++) {
		const struct size_fact *x = &e->M->sizes.facts.a[i];
		if (x->call != call || (call == SIZE_INPUT && x->graph != g))
			continue;
		if (!n++)
			fprintf(f, "\t{\n\tint large = 0;\n");
		put_fact(e, f, x);
	}
	if (n)
		fprintf(f, "\t}\n");
}

void put_sizes_of_inputs(struct emission *e, FILE *f, const struct section *s) { put_facts(e, f, SIZE_INPUT, s->graph); }

void put_sizes_of_call(struct emission *e, FILE *f, uint32_t c) { put_facts(e, f, c, 0); }

/* ---- kernels ---- */

/* What the variables of the kernel's program are in the call. */
static struct meaning meaning_of(struct emission *e, const struct call *x)
{
	struct loop_prog *p = e->M->kernels.a[x->kernel].prog;
	struct meaning of = {e->M->m->dims, ARENA_ARRAY(&e->M->m->arena, poly, poly_nvars(p->P) + 1)};

	for (int i = 0; i < x->nparam; i++)
		of.is[p->params.a[i].var] = x->param[i];
	return of;
}

/* Opens what is done if a result has elements. */
static void put_any_elements(struct emission *e, FILE *f, const struct node *n)
{
	fprintf(f, "\tif (0");
	for (uint32_t i = 0; i < n->nout; i++) {
		fprintf(f, " || ");
		if (value_varies(e->M->m, n->out[i]))
			fprintf(f, "size_any(&m->slot[%" PRIu32 "].v)", value_home(e->M, n->out[i]).index);
		else
			fprintf(f, "%d", value_bytes(e->M->m, n->out[i]) > 0);
	}
	fprintf(f, ") {\n");
}

/* Sizes that an operator of the group refuses, though the sizes of its results do not show it. */
static void put_least(struct emission *e, FILE *f, uint32_t c)
{
	struct module *m = e->M->m;
	const struct graph *g = graph(m, attr_graph(node(m, e->M->calls.a[c].node), "graph"));
	poly least[OP_LEAST_MAX];
	int64_t lo, hi;

	for (size_t k = 0; k < g->nodes.n; k++)
		for (int n = op_least(m, node(m, g->nodes.a[k]), least), i = 0; i < n; i++) {
			poly_range(m->dims, least[i], &lo, &hi);
			if (lo >= 0)
				continue;
			fprintf(f, "\tif (");
			put_poly(f, m->dims, least[i], NULL);
			fprintf(f, " < 0)\n\t\treturn size_refuse(%" PRIu32 ");\n", c);
		}
}

void put_view(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	val_id v = call_result(e->M, x, 0);

	fprintf(f, "\t{\n\tint large = 0;\n");
	put_least(e, f, c);
	fprintf(f, "\tif (size_view(%" PRIu32 ", &m->slot[%" PRIu32 "], %d, ", c, value_home(e->M, v).index, val(e->M->m, v)->type.rank);
	put_shape(e, f, v);
	fprintf(f, ", &");
	put_value(e, f, call_operand(e->M, x, 0));
	fprintf(f, ", &large))\n\t\treturn -1;\n\t}\n");
}

/* Sizes that the kernel takes for one. */
static void put_same(struct emission *e, FILE *f, uint32_t c)
{
	for (size_t i = 0; i < e->M->sizes.same.n; i++) {
		const struct size_same *x = &e->M->sizes.same.a[i];
		if (x->call != c)
			continue;
		fprintf(f, "\tif (size_check(\"step\", step[%" PRIu32 "].node, ", c);
		put_shape(e, f, x->v);
		fprintf(f, ", %d, ", x->axis);
		put_poly(f, e->M->m->dims, x->is, NULL);
		fprintf(f, ", &large))\n\t\treturn -1;\n");
	}
}

/* An index that is data has no element to name on an axis of size 0. */
static void put_indexed(FILE *f, struct loop_prog *p, uint32_t c, const struct meaning *of)
{
	for (ex_id i = 1; i < p->exs.n; i++) {
		const struct ex *x = lex(p, i), *index = x->kind == EX_READ && x->dyn_dim >= 0 ? lex(p, x->a[0]) : NULL;
		int64_t lo, hi;
		poly_range(p->P, index ? buf_dim(p, x->buf, x->dyn_dim) : poly_const(p->P, 1), &lo, &hi);
		if (lo >= 1)
			continue;
		fprintf(f, "\tif (");
		put_poly(f, p->P, buf_dim(p, x->buf, x->dyn_dim), of);
		fprintf(f, " < 1");
		for (int d = 0; index->kind == EX_READ && d < lbuf(p, index->buf)->rank; d++) {
			fprintf(f, " && ");
			put_poly(f, p->P, buf_dim(p, index->buf, d), of);
			fprintf(f, " > 0");
		}
		fprintf(f, ")\n\t\treturn index_outside(%" PRIu32 ");\n", c);
	}
}

void put_sized_open(struct emission *e, FILE *f, uint32_t c)
{
	const struct node *n = node(e->M->m, e->M->calls.a[c].node);

	fprintf(f, "\t{\n\tint large = 0;\n");
	put_same(e, f, c);
	put_least(e, f, c);
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct type *t = &val(e->M->m, n->out[i])->type;
		if (!value_varies(e->M->m, n->out[i]))
			continue;
		fprintf(f, "\tif (size_result(%" PRIu32 ", &m->slot[%" PRIu32 "], %d, %d, ", c, value_home(e->M, n->out[i]).index,
			(int)t->dtype, t->rank);
		put_shape(e, f, n->out[i]);
		fprintf(f, ", &large))\n\t\treturn -1;\n");
	}
	put_any_elements(e, f, n);
}

void put_sized_checks(struct emission *e, FILE *f, uint32_t c, const struct call *x)
{
	struct kernel *k = &e->M->kernels.a[x->kernel];
	struct meaning of = meaning_of(e, x);

	for (size_t i = 0; i < k->least.n; i++) {
		fprintf(f, "\tif (");
		put_poly(f, k->prog->P, k->least.a[i], &of);
		fprintf(f, " < 0)\n\t\treturn size_refuse(%" PRIu32 ");\n", c);
	}
	put_indexed(f, k->prog, c, &of);
	if (call_workspace_varies(e->M, x)) {
		fprintf(f, "\tif (size_work(%" PRIu32 ", m, ", c);
		put_poly(f, k->prog->P, k->prog->workspace_of, &of);
		fprintf(f, ", &large))\n\t\treturn -1;\n");
	}
}

void put_sized_params(struct emission *e, FILE *f, const struct call *x)
{
	fprintf(f, "(const long[]){");
	for (int i = 0; i < x->nparam; i++) {
		put_poly(f, e->M->m->dims, x->param[i], NULL);
		fprintf(f, ", ");
	}
	fprintf(f, "}, ");
}

/* No result has an element. */
static void put_empty(struct emission *e, FILE *f, const struct node *n)
{
	struct module *m = e->M->m;

	fprintf(f, " || (1");
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct type *t = &val(m, n->out[i])->type;
		fprintf(f, " && (0");
		for (int d = 0; d < t->rank; d++) {
			fprintf(f, " || ");
			put_poly(f, m->dims, t->dims[d], NULL);
			fprintf(f, " == 0");
		}
		fprintf(f, ")");
	}
	fprintf(f, ")");
}

void put_otherwise(struct emission *e, FILE *f, uint32_t c)
{
	const struct call *x = &e->M->calls.a[c];
	struct polys *P = e->M->m->dims;

	fprintf(f, "\tint large = 0;\n\t(void)large;\n\tif (0");
	for (int i = 0; i < x->nparam && e->M->kernels.a[x->kernel].sizes.some; i++) {
		fprintf(f, " || ");
		put_poly(f, P, x->param[i], NULL);
		fprintf(f, " < 1");
	}
	for (size_t i = 0; i < e->M->sizes.same.n; i++) { /* 1 is as large as any other, as the operator has it */
		const struct size_same *y = &e->M->sizes.same.a[i];
		if (y->call != c)
			continue;
		fprintf(f, " || (");
		put_poly(f, P, val(e->M->m, y->v)->type.dims[y->axis], NULL);
		fprintf(f, " == 1 && ");
		put_poly(f, P, y->is, NULL);
		fprintf(f, " != 1)");
	}
	if (e->M->kernels.a[x->kernel].checks)
		put_empty(e, f, node(e->M->m, x->node));
	fprintf(f, ")");
}

/* ---- states ---- */

/* Symbols that input i is of tell them. */
static void put_told(struct emission *e, FILE *f, size_t i)
{
	struct module *m = e->M->m;
	const struct type *t = &val(m, graph(m, m->main)->in.a[i])->type;

	for (int k = 0; k < t->rank; k++) {
		poly_var v = t->dims[k] == POLY_UNKNOWN ? 0 : poly_is_var(m->dims, t->dims[k]);
		if (v)
			fprintf(f, "\t{%" PRIu32 ", %zu, %d},\n", v, i, k);
	}
}

void put_state_sizes(struct emission *e, FILE *f)
{
	struct module *m = e->M->m;
	const struct graph *g = graph(m, m->main);
	bool *is_state = ARENA_ARRAY(&m->arena, bool, g->in.n + 1);

	for (size_t i = 0; i < e->M->states.n; i++)
		is_state[e->M->states.a[i].in] = true;
	fprintf(f,
		"/* Symbols and where inputs tell them. The last that does decides. */\n"
		"static const struct { int symbol, input, axis; } state_told[] = {\n");
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < g->in.n; i++)
			if (is_state[i] != others)
				put_told(e, f, i);
	fprintf(f,
		"\t{0, 0, 0},\n};\n\n/* The size of an axis of a state by the symbols there are. */\n"
		"static int64_t state_size(const struct %s *m, int i, int axis, int *not_counted)\n{\n\tint large = 0;\n\tint64_t n = 0;\n\n"
		"\tswitch (i * VALUE_RANK_MAX + axis) {\n",
		e->name);
	for (size_t i = 0; i < e->M->states.n; i++) {
		const struct type *t = &val(m, g->in.a[e->M->states.a[i].in])->type;
		for (int k = 0; k < t->rank; k++) {
			if (t->dims[k] == POLY_UNKNOWN || poly_is_const(m->dims, t->dims[k], NULL))
				continue;
			fprintf(f, "\tcase %zu: n = ", i * RANK_MAX + (size_t)k);
			put_poly(f, m->dims, t->dims[k], NULL);
			fprintf(f, "; break;\n");
		}
	}
	fprintf(f, "\t}\n\t(void)m, *not_counted |= large;\n\treturn n;\n}\n\n");
}
