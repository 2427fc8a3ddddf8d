/* The C text: kernels, tables, the steps of a run, the runtime. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/outfile.h"
#include "common/shown.h"
#include "ge-emit.h"
#include "graph/pass.h"
#include "emit/emit.h"
#include "op/op.h"
#include "target/backend.h"

static const char runtime_text[] =
#include "tools/ge-emit/runtime.in.inc"
	;
static const char team_text[] =
#include "tools/ge-emit/team.in.inc"
	;
static const char header_text[] =
#include "tools/ge-emit/header.in.inc"
	;
static const char checksum_text[] =
#include "tools/ge-emit/checksum.in.inc"
	;
static const char opaque_text[] =
#include "lib/op/opaque.h.inc"
	;
static const char abi_text[] =
#include "lib/runner/model_abi.h.inc"
	;

/* ---- text ---- */

static void put_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (k == 0 || *s == '?') /* trigraphs */
			fprintf(f, "\\%03o", (unsigned char)*s);
		else
			fwrite(s, 1, (size_t)k, f);
	}
	fputc('"', f);
}

/* Inside a comment: names come from files. */
static void put_comment(FILE *f, const char *s)
{
	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		if (k == 0 || (*s == '*' && s[1] == '/') || (*s == '/' && s[1] == '*'))
			fputc('?', f);
		else
			fwrite(s, 1, (size_t)k, f);
	}
}

/* The template up to (not including) the line that is `until`; returns what follows that line. Lines that begin with
 * @THREADS@ are for libraries of several threads. */
static const char *put_template(struct emission *e, FILE *f, const char *text, const char *until)
{
	static const char threads[] = "@THREADS@";

	while (*text) {
		if (!strncmp(text, threads, sizeof threads - 1)) {
			text += e->functions.threads > 1 ? sizeof threads - 1 : strcspn(text, "\n") + 1;
			continue;
		}
		if (until && !strncmp(text, until, strlen(until)))
			return text + strcspn(text, "\n") + 1;
		if (!strncmp(text, "@NAME@", 6)) {
			fputs(e->name, f);
			text += 6;
		} else {
			fputc(*text++, f);
		}
	}
	return text;
}

static const char *call_name(struct emission *e, uint32_t c)
{
	struct module *m = e->M->m;
	const struct node *n = node(m, e->M->calls.a[c].node);

	return n->name ? sym_str(n->name) : n->nout ? sym_str(val(m, n->out[0])->name) : "";
}

static void put_top(struct emission *e, FILE *f, const char *header)
{
	struct arena a = {0};

	fprintf(f, "/* The model \"%s\": %zu kernels, called %zu times a run.\n *\n", e->name, e->functions.a.n,
		e->M->calls.n - e->M->nopaque);
	for (size_t i = 0; i < e->functions.a.n; i++) {
		const struct function *x = &e->functions.a.a[i];
		fprintf(f, " * %s %4" PRIu32 " x %12.0f flop  ", x->name, x->ncalls, x->flops);
		put_comment(f, call_name(e, x->first));
		fputc('\n', f);
	}
	for (uint32_t c = 0; c < e->M->calls.n; c++) {
		if (e->M->calls.a[c].kernel != KERNEL_OPAQUE)
			continue;
		fprintf(f, " * slow path: ");
		put_comment(f, e->M->calls.a[c].why);
		fputc('\n', f);
	}
	fprintf(f, " *\n * Made by ge-emit (hone %s) for ", HONE_VERSION);
	put_comment(f, e->target->cpu);
	fprintf(f,
		".\n * Compile with: %s\n%s"
		" * All of it at once, or with -DPART=0 .. -DPART=%d in so many pieces that are linked. */\n",
		target_cflags(e->target),
		e->weights.opaque_bytes ? " * and link libhone_eval.a, -lm and -pthread for the slow path.\n" : "", e->functions.nparts);
	fprintf(f,
		"#ifdef PART\n#define KERNEL __attribute__((visibility(\"hidden\")))\n#define IN_PART(n) (PART == (n))\n"
		"#else\n#define KERNEL static\n#define IN_PART(n) 1\n#endif\n\n");
	fprintf(f,
		"#if IN_PART(0)\n#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <math.h>\n"
		"#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
		"#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n%s",
		e->functions.threads > 1 ? "#include <pthread.h>\n#include <sched.h>\n#include <signal.h>\n#include <stdatomic.h>\n" : "");
	if (strpbrk(header, "\"\\\n")) /* a name that cannot stand in quotes */
		put_template(e, f, header_text, NULL);
	else
		fprintf(f, "#include \"%s\"\n", header);
	fprintf(f, "#endif\n\n");
	arena_release(&a);
}

/* The function from its type on, behind "static ". A comment, or what is said of it, may stand before it. */
enum { STATIC = 7 };
static const char *function_head(const char *name, const char *text)
{
	char *start = xprintf("static void %s(", name);
	const char *head = strstr(text, start);

	if (!head)
		BUG("the text of %s holds no such function", name);
	free(start);
	return head + STATIC;
}

/* The text, with KERNEL for its static. */
static void put_function(FILE *f, const char *name, const char *text)
{
	const char *head = function_head(name, text);

	fprintf(f, "%.*sKERNEL %s#endif\n", (int)(head - text) - STATIC, text, head);
}

static void put_declaration(FILE *f, const char *name, const char *text)
{
	const char *head = function_head(name, text);

	fprintf(f, "KERNEL %.*s;\n", (int)strcspn(head, "\n"), head);
}

static void put_kernels(struct emission *e, FILE *f)
{
	size_t nk = e->M->kernels.n;
	struct loop_prog **p = xcalloc(nk + 1, sizeof *p);
	VEC(const char *) text = {0};

	for (size_t k = 0; k < nk; k++)
		p[k] = e->M->kernels.a[k].prog;
	fprintf(f,
		"/* An index that is data was out of range. */\n#ifdef PART\nextern KERNEL __thread int bad_index;\n#endif\n"
		"#if IN_PART(0)\nKERNEL __thread int bad_index;\n#endif\n#define BAD_INDEX bad_index\n\n");
	for (size_t i = 0; i < e->functions.a.n; i++)
		vec_push(&text, e->functions.a.a[i].text);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++)
		vec_push(&text, e->functions.outlines.a.a[i].text);
	emit_prelude(f, p, (int)nk, text.a, text.n);
	vec_free(&text);
	if (e->functions.threads > 1)
		emit_team_prelude(f, "KERNEL");
	free(p);
	fprintf(f, "\n");
	for (size_t i = 0; i < e->functions.a.n; i++)
		put_declaration(f, e->functions.a.a[i].name, e->functions.a.a[i].text);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++)
		put_declaration(f, e->functions.outlines.a.a[i].name, e->functions.outlines.a.a[i].text);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++) {
		fprintf(f, "\n#if IN_PART(%d)\n", e->functions.outline_part.a[i]);
		put_function(f, e->functions.outlines.a.a[i].name, e->functions.outlines.a.a[i].text);
	}
	for (size_t i = 0; i < e->functions.a.n; i++) {
		const struct function *x = &e->functions.a.a[i];
		fprintf(f, "\n#if IN_PART(%d)\n/* %s: ", x->part, x->name);
		put_comment(f, call_name(e, x->first));
		fprintf(f, "%s */\n", x->ncalls > 1 ? " and others" : "");
		put_function(f, x->name, x->text);
	}
}

static void put_tensors(struct emission *e, FILE *f, const char *what, size_t n, const val_id *v, const sym *name)
{
	struct module *m = e->M->m;

	for (size_t i = 0; i < n; i++) {
		int64_t dims[RANK_MAX];
		type_dims(m, &val(m, v[i])->type, dims);
		fprintf(f, "static const long %s_shape%zu[] = {", what, i);
		for (int k = 0; k < val(m, v[i])->type.rank; k++)
			fprintf(f, "%" PRId64 ", ", dims[k]);
		fprintf(f, "0};\n");
	}
	fprintf(f, "static const struct hone_tensor %s[] = {\n", what);
	for (size_t i = 0; i < n; i++) {
		fprintf(f, "\t{");
		put_string(f, sym_str(name ? name[i] : val(m, v[i])->name));
		bool preset = !name && val(m, v[i])->tensor;
		fprintf(f, ", \"%s\", %d, %s_shape%zu, %" PRId64 ", %" PRId64 "},\n", dtype_name(val(m, v[i])->type.dtype),
			val(m, v[i])->type.rank, what, i, value_bytes(m, v[i]), preset ? weights_value(&e->weights, e->M->m, v[i]) : 0);
	}
	fprintf(f, "\t{\"\", \"\", 0, NULL, 0, 0},\n};\n");
}

static void put_tables(struct emission *e, FILE *f)
{
	struct module *m = e->M->m;
	const struct graph *g = graph(m, m->main);
	const unsigned char *d = (const unsigned char *)&e->weights.digest;

	fprintf(f, "\n#if IN_PART(0)\n\n%s\n#define NUM_INPUTS %zu\n#define NUM_OUTPUTS %zu\n#define NUM_STEPS %zu\n", abi_text, g->in.n,
		g->out.n, e->M->calls.n);
	fprintf(f,
		"#define ARENA_BYTES %" PRId64 "\n#define WEIGHTS_BYTES %" PRId64 "\n#define WEIGHTS_MAGIC \"%s\"\n#define WEIGHTS_AT %d\n",
		e->M->arena_bytes, e->weights.bytes, WEIGHTS_MAGIC, WEIGHTS_HEAD);
	fprintf(f, "#define OPAQUE_AT %" PRId64 "\n#define OPAQUE_BYTES %" PRId64 "\n", e->weights.opaque, e->weights.opaque_bytes);
	if (e->weights.opaque_bytes)
		fprintf(f, "\n%s\n", opaque_text);
	if (e->functions.threads > 1)
		fprintf(f, "#define THREADS %d\n", e->functions.threads);
	fprintf(f, "#define VECTOR_BYTES %d\n#define EMBEDDED %s\n#define MADE_FOR ", e->target->vector_bytes,
		e->embed ? "(const char *)embedded" : "NULL");
	put_string(f, e->target->cpu);
	fprintf(f, "\n#define MADE_WITH ");
	put_string(f, target_compiler_version());
	fprintf(f, "\n\nstatic const unsigned char weights_digest[16] = {");
	for (int i = 0; i < 16; i++)
		fprintf(f, "%d%s", d[i], i < 15 ? ", " : "};\n");
	put_tensors(e, f, "input", g->in.n, g->in.a, NULL);
	put_tensors(e, f, "output", g->out.n, g->out.a, g->out_name.a);
	fprintf(f, "static const struct hone_step step[] = {\n");
	for (uint32_t c = 0; c < e->M->calls.n; c++) {
		bool slow = e->M->calls.a[c].kernel == KERNEL_OPAQUE;
		fprintf(f, "\t{\"%s\", ", slow ? "eval" : e->functions.a.a[e->functions.of_kernel[e->M->calls.a[c].kernel]].name);
		put_string(f, call_name(e, c));
		fprintf(f, ", %.0f, %d},\n", node_flops(m, node(m, e->M->calls.a[c].node)), slow);
	}
	fprintf(f, "\t{\"\", \"\", 0, 0},\n};\n");
	if (e->embed)
		weights_print(e, f);
}

/* The features that the flags of target_cflags suppose. */
static void put_cpu_check(struct emission *e, FILE *f)
{
	const struct feature *feature = backend_of(e->target)->feature;

	fprintf(f, "\n/* What the code needs and this CPU lacks, or NULL. */\nstatic const char *cpu_lacks(void)\n{\n");
	for (int i = 0; feature && feature[i].name; i++)
		for (int k = 0; e->target->features >> i & 1 && feature[i].takes[k]; k++)
			fprintf(f,
				"\tif (!__builtin_cpu_supports(\"%s\"))\n\t\treturn \"it lacks %s, which the model was compiled for\";\n",
				feature[i].takes[k], feature[i].takes[k]);
	fprintf(f, "\treturn NULL;\n}\n");
}

/* ---- the steps ---- */

static void put_place(struct emission *e, FILE *f, const struct call *c, val_id v)
{
	struct home h = value_home(e->M, v);
	int64_t step = c ? image_step(e->M, c, v) : 0;

	if (step)
		fprintf(f, "AT(");
	switch ((enum home_kind)h.kind) {
	case HOME_INPUT: fprintf(f, "in[%" PRIu32 "]", h.index); break;
	case HOME_OUTPUT: fprintf(f, "out[%" PRIu32 "]", h.index); break;
	case HOME_CONST: fprintf(f, "W(%" PRId64 ")", weights_value(&e->weights, e->M->m, h.index)); break;
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
	else
		put_kernel_call(e, f, c);
	if (x->kernel != KERNEL_OPAQUE && emit_checks_indices(e->M->kernels.a[x->kernel].prog))
		fprintf(f, "\tif (bad_index)\n\t\treturn index_outside(%" PRIu32 ");\n", c);
	fprintf(f, "%s\tLAP(%" PRIu32 "); /* ", x->images > 1 ? "\t" : "", c);
	put_comment(f, call_name(e, c));
	fprintf(f, " */\n");
}

static void put_steps(struct emission *e, FILE *f)
{
	struct model *M = e->M;
	const struct graph *g = graph(M->m, M->m->main);
	int nopaque = 0;

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

void emit_source(struct emission *e, const char *path, const char *header)
{
	struct outfile o;
	const char *rest;

	outfile_open(&o, path, false);
	put_top(e, o.f, header);
	put_kernels(e, o.f);
	put_tables(e, o.f);
	put_cpu_check(e, o.f);
	if (!e->embed)
		fprintf(o.f, "\n#define WEIGHTS_SUM 0x%016" PRIx64 "u /* of what follows the first %d bytes */\n%s", e->weights_sum,
			WEIGHTS_HEAD, checksum_text);
	rest = put_template(e, o.f, runtime_text, "@STEPS@");
	if (e->functions.threads > 1)
		put_template(e, o.f, team_text, NULL);
	put_steps(e, o.f);
	put_template(e, o.f, rest, NULL);
	fprintf(o.f, "#endif\n");
	outfile_close(&o);
}

void emit_header(struct emission *e, const char *path)
{
	struct outfile o;

	outfile_open(&o, path, false);
	put_template(e, o.f, header_text, NULL);
	outfile_close(&o);
}
