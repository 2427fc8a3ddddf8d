/* The tables of a model: sizes, digest, inputs, outputs, steps; and what its code needs of a CPU. */
#include <inttypes.h>
#include <stdlib.h>
#include "source/source_impl.h"
#include "model/control.h"
#include "model/state.h"
#include "op/op.h"
#include "op/value_tensor.h"
#include "graph/bodies.h"
#include "graph/fused.h"
#include "graph/kinds.h"
#include "target/backend.h"

/* A value as callers see it: what is no tensor has any shape, and its text in place of the name of a type. */
static struct type outer_type(struct emission *e, val_id v)
{
	struct type t = val(e->M->m, v)->type;

	t.rank = t.other ? RANK_UNKNOWN : t.rank;
	return t;
}

static const char *type_text(const struct type *t) { return t->other ? sym_str(t->other) : dtype_name(t->dtype); }

/* What a model of varying sizes knows besides: names of sizes, and numbers of types. */
static void put_symbols(struct emission *e, FILE *f, const char *what, size_t n, const val_id *v)
{
	struct module *m = e->M->m;
	int64_t c;

	for (size_t i = 0; i < n; i++) {
		struct type own = outer_type(e, v[i]), *t = &own;
		fprintf(f, "static const char *const %s_dim%zu[] = {", what, i);
		for (int k = 0; k < t->rank; k++) {
			bool named = t->dims[k] != POLY_UNKNOWN && !poly_is_const(m->dims, t->dims[k], &c);
			if (named)
				put_string(f, poly_str(m->dims, t->dims[k], &m->arena));
			else
				fprintf(f, "NULL");
			fprintf(f, ", ");
		}
		fprintf(f, "NULL};\n");
	}
	fprintf(f, "static const int %s_type[] = {", what);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%d, ", value_type_number(e, v[i]));
	fprintf(f, "0};\n");
}

static void put_tensors(struct emission *e, FILE *f, const char *what, size_t n, const val_id *v, const sym *name)
{
	struct module *m = e->M->m;

	for (size_t i = 0; i < n; i++) {
		struct type own = outer_type(e, v[i]), *t = &own;
		fprintf(f, "static const long %s_shape%zu[] = {", what, i);
		for (int k = 0; k < t->rank; k++) {
			int64_t dim = -1;
			poly_is_const(m->dims, t->dims[k], &dim);
			fprintf(f, "%" PRId64 ", ", dim);
		}
		fprintf(f, "0};\n");
	}
	if (e->M->shaped)
		put_symbols(e, f, what, n, v);
	fprintf(f, "static const struct hone_tensor %s[] = {\n", what);
	for (size_t i = 0; i < n; i++) {
		struct type own = outer_type(e, v[i]);
		fprintf(f, "\t{");
		put_string(f, sym_str(name ? name[i] : val(m, v[i])->name));
		bool preset = !name && val(m, v[i])->tensor;
		fprintf(f, ", \"%s\", %d, %s_shape%zu, %" PRId64 ", %" PRId64, type_text(&own), own.rank, what, i,
			value_varies(m, v[i]) ? 0 : value_bytes(m, v[i]), preset ? weights_value(&e->weights, e->M, v[i]) : 0);
		if (value_varies(m, v[i]))
			fprintf(f, ", %s_dim%zu", what, i);
		fprintf(f, "},\n");
	}
	fprintf(f, "\t{\"\", \"\", 0, NULL, 0, 0},\n};\n");
}

static void put_sizes(struct emission *e, FILE *f)
{
	const struct graph *g = graph(e->M->m, e->M->m->main);

	fprintf(f, "\n#if IN_PART(0)\n\n%s\n#define NUM_INPUTS %zu\n#define NUM_OUTPUTS %zu\n#define NUM_STEPS %zu\n", abi_text, g->in.n,
		g->out.n, e->M->calls.n);
	fprintf(f,
		"#define ARENA_BYTES %" PRId64 "\n#define WEIGHTS_BYTES %" PRId64 "\n#define WEIGHTS_MAGIC \"%s\"\n#define WEIGHTS_AT %d\n",
		model_arena_bytes(e->M), e->weights.bytes, WEIGHTS_MAGIC, WEIGHTS_HEAD);
	if (e->M->shaped)
		fprintf(f, "#define NUM_SLOTS %" PRIu32 "\n#define NUM_SYMBOLS %" PRIu32 "\n", e->M->nslots, poly_nvars(e->M->m->dims));
	fprintf(f, "#define OPAQUE_AT %" PRId64 "\n#define OPAQUE_BYTES %" PRId64 "\n", e->weights.opaque, e->weights.opaque_bytes);
	if (e->weights.opaque_bytes)
		fprintf(f, "\n%s\n", opaque_text);
	if (e->functions.threads > 1)
		fprintf(f, "#define THREADS %d\n", e->functions.threads);
	fprintf(f, "#define VECTOR_BYTES %d\n#define EMBEDDED %s\n#define MADE_FOR ", e->target->vector_bytes,
		e->embed ? "(const char *)embedded" : "NULL");
	put_string(f, e->target->cpu);
	fprintf(f, "\n#define MADE_WITH ");
	put_string(f, target_compiler_version(e->target));
}

static void put_digest(FILE *f, const char *name, struct digest digest)
{
	const unsigned char *d = (const unsigned char *)&digest;

	fprintf(f, "static const unsigned char %s[16] = {", name);
	for (int i = 0; i < 16; i++)
		fprintf(f, "%d%s", d[i], i < 15 ? ", " : "};\n");
}

enum { OPS_NAMED = 6 };

/* Operators of n, and of the body of a group, with + between. */
static const char *step_ops(struct module *m, const struct node *n)
{
	graph_id body = n->op == OP_Fused ? node_body(n, 0) : 0;
	const char *s = "";

	if (!body)
		return node_op_name(n);
	for (size_t i = 0; i < graph(m, body)->nodes.n; i++) {
		if (i == OPS_NAMED)
			return arena_printf(&m->arena, "%s+..", s);
		s = arena_printf(&m->arena, "%s%s%s", s, i ? "+" : "", node_op_name(node(m, graph(m, body)->nodes.a[i])));
	}
	return s;
}

/* Operations of call x. Those in the bodies of a control call are steps themselves. */
static double step_flops(struct module *m, const struct call *x) { return x->control ? 0 : node_flops(m, node(m, x->node)); }

/* How often a run of control call x runs its bodies: the steps of a loop, where their number is constant; else 1. */
static double body_runs(struct module *m, const struct call *x)
{
	const struct node *n = node(m, x->alone);
	val_id trips = n->nin ? n->in[0] : 0;

	if (x->control->use == BODY_SCAN && !value_varies(m, n->in[x->control->loop.ncarried]))
		return (double)slices_of(m, n->in[x->control->loop.ncarried], scan_number(n, "scan_input_axes", 0)).n;
	if (x->control->use != BODY_LOOP || !trips || val(m, trips)->kind != VAL_CONST)
		return 1;
	double count = (double)*(const int64_t *)tensor_data(m, val(m, trips)->tensor);
	return count > 0 ? count : 0;
}

/* How often a run of the model runs each section. Those that run a section come before it. */
static double *section_runs(struct emission *e)
{
	struct model *M = e->M;
	double *runs = xcalloc(M->sections.n, sizeof *runs);

	runs[0] = 1;
	for (size_t s = 0; s < M->sections.n; s++)
		for (uint32_t c = M->sections.a[s].first; c < M->sections.a[s].end; c++) {
			const struct control *x = M->calls.a[c].control;
			for (uint32_t k = 0; x && k < x->nbody; k++)
				runs[M->section_of[x->body[k]] - 1] += runs[s] * body_runs(M->m, &M->calls.a[c]);
		}
	return runs;
}

static void put_step_table(struct emission *e, FILE *f)
{
	struct module *m = e->M->m;
	double *runs = section_runs(e);

	fprintf(f, "static const struct hone_step step[] = {\n");
	for (uint32_t c = 0; c < e->M->calls.n; c++) {
		const struct call *x = &e->M->calls.a[c];
		bool append = x->kernel == KERNEL_APPEND, maps = x->kernel == KERNEL_MAPS;
		int slow = call_has_kernel(x) || x->control || append || maps ? 0 : x->kernel == KERNEL_NATIVE ? 2 : 1;
		const char *other = x->control ? "flow" : append ? "append" : maps ? "maps" : slow == 2 ? "native" : "eval";
		fprintf(f, "\t{\"%s\", ", !call_has_kernel(x) ? other : e->functions.a.a[e->functions.of_kernel[x->kernel]].name);
		put_string(f, call_name(e, c));
		fprintf(f, ", ");
		put_string(f, step_ops(m, node(m, x->node)));
		fprintf(f, ", ");
		put_string(f, slow == 1 && x->why ? x->why : "");
		double times = runs[e->M->section_of[node(m, x->node)->graph] - 1];
		fprintf(f, ", %.0f, %.0f, %.3g, %d},\n", times * step_flops(m, x), x->control ? 0 : times * node_bytes(m, node(m, x->node)),
			times * fused_seconds(m, x->node), slow);
	}
	free(runs);
	fprintf(f, "\t{\"\", \"\", \"\", \"\", 0, 0, 0, 0},\n};\n");
}

static void put_states(struct emission *e, FILE *f)
{
	fprintf(f, "#define NUM_STATES %zu\n#define STATE_BYTES %" PRId64 "\nstatic const struct hone_state kept[] = {\n", e->M->states.n,
		e->M->state_bytes);
	for (size_t i = 0; i < e->M->states.n; i++) {
		const struct state *s = &e->M->states.a[i];
		fprintf(f, "\t{%" PRIu32 ", %" PRIu32 ", {%" PRId64 ", %" PRId64 "}, %" PRId64 "},\n", s->in, s->out, s->place[0],
			s->place[1], s->written);
	}
	fprintf(f, "};\nstatic const char state_risk[NUM_STATES] = {");
	for (size_t i = 0; i < e->M->states.n; i++)
		fprintf(f, "%d, ", state_at_risk(e->M, &e->M->states.a[i]));
	fprintf(f, "};\n");
	if (e->M->nappend)
		put_append_tables(e, f);
	put_digest(f, "state_digest", states_digest(e->M));
}

/* Slots that exchange what they own: each by the first of them; -1: it exchanges nothing. */
static void put_kin(struct emission *e, FILE *f)
{
	fprintf(f, "static const int slot_kin[] = {");
	for (uint32_t i = 0; i < e->M->nslots; i++)
		fprintf(f, "%" PRId64 ", ", e->M->kin[i]);
	fprintf(f, "-1};\n");
}

void put_tables(struct emission *e, FILE *f)
{
	const struct graph *g = graph(e->M->m, e->M->m->main);

	put_sizes(e, f);
	fprintf(f, "\n\n");
	if (!e->bare)
		put_digest(f, "weights_digest", e->weights.digest);
	put_tensors(e, f, "input", g->in.n, g->in.a, NULL);
	put_tensors(e, f, "output", g->out.n, g->out.a, g->out_name.a);
	if (e->M->listed)
		put_list_tables(e, f);
	if (e->M->kin)
		put_kin(e, f);
	if (!e->bare)
		put_step_table(e, f);
	if (e->M->states.n)
		put_states(e, f);
	if (e->embed && e->number)
		put_embedded(f);
	else if (e->embed)
		put_weights(e, f);
}

void put_cpu_asks(struct emission *e, FILE *f) { target_text(f, e->target, "\n@{asks\n@}\n"); }

/* A check for the CPU features that the flags of target_cflags need. */
void put_cpu_check(struct emission *e, FILE *f, const char *name)
{
	const struct backend *of = backend_of(e->target);
	unsigned called = 0;

	for (size_t k = 0; k < e->M->kernels.n; k++)
		called |= emit_features_called(e->M->kernels.a[k].prog);
	fprintf(f,
		"/* A feature that the code needs and this CPU lacks, in words; NULL: there is none. */\nstatic const char *%s(void)\n{\n",
		name);
	for (int i = 0; of->feature && of->feature[i].name; i++)
		for (int k = 0; e->target->features >> i & 1 && of->feature[i].takes[k]; k++) {
			const char *takes = of->feature[i].takes[k];
			fprintf(f, "%s\tif (!", of->feature[i].gcc ? "#ifndef __clang__\n" : "");
			fprintf(f, of->asks, takes);
			fprintf(f, ")\n\t\treturn \"it lacks %s, which the model was compiled for\";\n%s", takes,
				of->feature[i].gcc ? "#endif\n" : "");
		}
	for (int i = 0; of->feature && of->feature[i].name; i++)
		if ((called >> i & 1) && of->feature[i].allowed)
			fprintf(f, "\tif (!%s)\n\t\treturn \"this system does not let it use %s, which the model was compiled for\";\n",
				of->feature[i].allowed, of->feature[i].name);
	fprintf(f, "\treturn NULL;\n}\n");
}
