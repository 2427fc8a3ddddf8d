/* The C file and the header of a model. Part 0 has tables, steps and runtime; the others have kernels. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "source/source_impl.h"
#include "model/state.h"
#include "common/outfile.h"
#include "common/textfile.h"
#include "common/tool.h"
#include "target/backend.h"

void emission_make(struct emission *e, struct module *m, const struct given_traces *given, int most, bool refuse)
{
	e->M = model_new(m, e->target, most ? most : plan_threads(m), given, false);
	if (refuse)
		model_report_opaque(e->M, true);
	e->functions.text_of = native_text;
	functions_make(&e->functions, e->M);
	memory_plan_read(e->M);
	states_read(e->M);
	memory_check(e->M);
	weights_lay_out(&e->weights, e->M);
}

/* The comment at the top: the kernels, what is on the slow path, and how to compile the file. */
static void put_summary(struct emission *e, FILE *f)
{
	fprintf(f, "/* The model \"%s\": %zu kernels, called %zu times a run.\n *\n", e->name, e->functions.a.n,
		e->M->calls.n - e->M->nopaque - e->M->nnative - e->M->ncontrol - e->M->nappend - e->M->nmaps);
	for (size_t i = 0; i < e->functions.a.n; i++) {
		const struct function *x = &e->functions.a.a[i];
		fprintf(f, " * %s %4" PRIu32 " x %12.0f flop  ", x->name, x->ncalls, x->flops);
		put_comment(f, call_name(e, x->first));
		if (e->shared && e->shared[i].elsewhere)
			fprintf(f, ": in the code for target %d", e->shared[i].of);
		fputc('\n', f);
	}
	for (uint32_t c = 0; c < e->M->calls.n; c++) {
		if (call_has_kernel(&e->M->calls.a[c]) || e->M->calls.a[c].control || e->M->calls.a[c].kernel == KERNEL_APPEND ||
		    e->M->calls.a[c].kernel == KERNEL_MAPS)
			continue;
		fprintf(f, e->M->calls.a[c].kernel == KERNEL_NATIVE ? " * native: " : " * slow path: ");
		put_comment(f, e->M->calls.a[c].kernel == KERNEL_NATIVE ? call_name(e, c) : e->M->calls.a[c].why);
		fputc('\n', f);
	}
	fprintf(f, " *\n * Made by ge-emit (hone %s) for ", HONE_VERSION);
	put_comment(f, e->target->cpu);
	fprintf(f,
		".\n * Compile with: %s%s\n%s"
		" * All of it at once, or with -DPART=0 .. -DPART=%d in so many pieces that are linked. */\n",
		e->number ? arena_printf(&e->M->m->arena, "-DTARGET=%d ", e->number)
		: e->bare ? BARE_CFLAGS " "
			  : "",
		target_cflags(e->target),
		e->weights.opaque_bytes ? " * and link libhone_eval.a, -lm and -pthread for the slow path.\n" : "", e->functions.nparts);
}

/* The header is of the whole library, whatever targets it has. */
static void put_header(const struct emission *e, FILE *f)
{
	struct emission whole = emission_of_all(e);
	const char *rest = put_template(&whole, f, header_text, "@VALUE@");

	if (e->M->shaped)
		fputs(value_text, f);
	put_template(&whole, f, rest, NULL);
}

void put_header_include(const struct emission *e, FILE *f, const char *header)
{
	if (strpbrk(header, "\"\\\n\r")) /* a name that cannot stand in quotes */
		put_header(e, f);
	else
		fprintf(f, "#include \"%s\"\n", header);
}

static void put_system_headers(struct emission *e, FILE *f)
{
	if (e->bare)
		fprintf(f, "#include <stddef.h>\n#include <stdint.h>\n");
	else
		fprintf(f,
			"#define _GNU_SOURCE\n#include <errno.h>\n#include <fcntl.h>\n#include <math.h>\n"
			"#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
			"#include <sys/stat.h>\n#include <time.h>\n#include <unistd.h>\n%s",
			e->functions.threads > 1 ? "#include <pthread.h>\n#include <sched.h>\n#include <signal.h>\n#include <stdatomic.h>\n"
						 : "");
}

static void put_includes(struct emission *e, FILE *f, const char *header)
{
	fprintf(f,
		"#ifdef PART\n#define KERNEL __attribute__((visibility(\"hidden\")))\n#define IN_PART(n) (PART == (n))\n"
		"#else\n#define KERNEL static\n#define IN_PART(n) 1\n#endif\n\n");
	fprintf(f, "#if IN_PART(0)\n");
	put_system_headers(e, f);
	put_header_include(e, f, header);
	fprintf(f, "#endif\n\n");
}

/* The text with the target's own sections; the caller frees it. */
static char *for_target(const struct emission *e, const char *text)
{
	char *own;
	FILE *f = textfile_open(&own, NULL);

	target_text(f, e->target, text);
	textfile_close(f);
	return own;
}

/* How functions that fill records are declared. Where they are part of the steps, sizes that are known cost nothing; in a model of many
 * steps that is much code. */
static void put_record(struct emission *e, FILE *f)
{
	enum { FEW = 64 }; /* more steps have so many copies of these functions that the compiler works mainly on them */

	fprintf(f, "#define RECORD __attribute__((unused%s)) static%s\n", e->M->calls.n <= FEW ? ", always_inline" : "",
		e->M->calls.n <= FEW ? " inline" : "");
}

/* The runtime, with the steps where it wants them. */
static void put_runtime(struct emission *e, FILE *f)
{
	char *runtime = for_target(e, runtime_text), *team = for_target(e, team_text);

	if (!e->embed)
		fprintf(f, "\n#define WEIGHTS_SUM 0x%016" PRIx64 "u /* of what follows the first %d bytes */\n", e->weights_sum,
			WEIGHTS_HEAD);
	if (!e->embed || e->M->states.n)
		fputs(checksum_text, f);
	if (e->M->states.n)
		fputs(state_file_text, f);
	const char *rest = put_template(e, f, runtime, "@STEPS@"), *end;
	if (e->M->shaped) {
		put_record(e, f);
		put_template(e, f, values_text, NULL);
		put_template(e, f, sizes_text, NULL);
	}
	if (e->M->states.n) {
		put_template(e, f, undo_text, NULL);
		put_template(e, f, lend_text, NULL);
	}
	if (e->M->listed)
		put_template(e, f, lists_text, NULL);
	if (e->M->nappend)
		put_template(e, f, append_text, NULL);
	if (e->M->nmaps)
		put_template(e, f, maps_text, NULL);
	if (e->M->natives) {
		const char *run = put_template(e, f, native_runtime_text, "@LISTS@");
		if (e->M->listed)
			put_template(e, f, lists_native_text, NULL);
		put_template(e, f, run, NULL);
	}
	if (e->functions.threads > 1)
		put_template(e, f, team, NULL);
	if (e->functions.few)
		put_template(e, f, few_text, NULL);
	put_steps(e, f);
	rest = put_template(e, f, rest, "@STATE@");
	if (e->M->states.n && e->M->shaped)
		put_state_sizes(e, f);
	if (e->M->states.n)
		put_template(e, f, state_text, NULL);
	end = put_template(e, f, rest, "@VALUES@");
	if (e->M->shaped)
		put_template(e, f, values_run_text, NULL);
	put_template(e, f, end, NULL);
	free(runtime);
	free(team);
}

/* Text for a machine without an operating system. */
static void put_bare(struct emission *e, FILE *f)
{
	char *bare = for_target(e, bare_text);
	const char *rest = put_template(e, f, bare, "@STEPS@");

	put_steps(e, f);
	put_template(e, f, rest, NULL);
	free(bare);
}

/* The code for one target. */
static void put_code(struct emission *e, FILE *f, const char *header)
{
	put_summary(e, f);
	put_includes(e, f, header);
	if (e->number)
		put_own_names(e, f);
	put_natives(e, f);
	put_kernels(e, f);
	put_tables(e, f);
	if (e->bare) {
		put_bare(e, f);
	} else {
		put_cpu_asks(e, f);
		put_cpu_check(e, f, "cpu_lacks");
		put_runtime(e, f);
	}
	if (e->number)
		put_offer(e, f);
	fprintf(f, "#endif\n");
}

void emit_source(struct emission *e, int n, const char *path, const char *header)
{
	struct outfile o;

	outfile_open(&o, path, false);
	if (n > 1)
		put_front(e, n, o.f, header);
	for (int i = 0; i < n; i++) {
		if (n > 1)
			fprintf(o.f, "\n#if TARGET == %d\n", e[i].number);
		put_code(&e[i], o.f, header);
		if (n > 1)
			fprintf(o.f, "#endif\n");
	}
	outfile_close(&o);
}

void emit_header(struct emission *e, const char *path)
{
	struct outfile o;

	outfile_open(&o, path, false);
	put_header(e, o.f);
	outfile_close(&o);
}
