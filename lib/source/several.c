/* One library of the code for several targets: a part that chooses one, and the code for each as if it were alone, its names its own. */
#include <inttypes.h>
#include <string.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "model/state.h"
#include "target/backend.h"

struct emission emission_of_all(const struct emission *e)
{
	struct emission all = *e;

	all.name = e->model ? e->model : e->name;
	all.number = 0;
	return all;
}

void emissions_name(struct emission *e, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		e[i].model = n > 1 ? name : NULL;
		e[i].name = n > 1 ? sym_str(intern_printf("%s_%d", name, e[i].number)) : name;
	}
}

/* ---- what all of them must have in common ---- */

static bool same_ends(const struct emission *x, const struct emission *y, bool inputs)
{
	struct module *p = x->M->m, *q = y->M->m;
	const struct graph *a = graph(p, p->main), *b = graph(q, q->main);
	size_t n = inputs ? a->in.n : a->out.n;

	if (n != (inputs ? b->in.n : b->out.n))
		return false;
	for (size_t i = 0; i < n; i++) {
		val_id v = inputs ? a->in.a[i] : a->out.a[i], w = inputs ? b->in.a[i] : b->out.a[i];
		sym k = inputs ? val(p, v)->name : a->out_name.a[i], l = inputs ? val(q, w)->name : b->out_name.a[i];
		if (strcmp(sym_str(k), sym_str(l)) ||
		    strcmp(type_str(p, &val(p, v)->type, &p->arena), type_str(q, &val(q, w)->type, &q->arena)) ||
		    (inputs && !val(p, v)->tensor != !val(q, w)->tensor))
			return false;
	}
	return true;
}

static void check_alike(const struct emission *x, const struct emission *y)
{
	const char *what = !same_ends(x, y, true)    ? "inputs"
			   : !same_ends(x, y, false) ? "outputs"
			   : x->M->states.n != y->M->states.n || !x->M->nappend != !y->M->nappend ||
					   (x->M->states.n && !digest_eq(states_digest(x->M), states_digest(y->M)))
				   ? "states"
			   : !x->M->shaped != !y->M->shaped ? "open sizes"
							    : NULL;

	if (what)
		die(EX_BADDATA, "the graphs for %s and %s are of two models: their %s differ", x->of_several->a[x->number - 1].name,
		    y->of_several->a[y->number - 1].name, what);
}

void emissions_join(struct emission *e, int n)
{
	const struct weights *all = &e[n - 1].weights;

	for (int i = 0; i + 1 < n; i++) {
		check_alike(&e[i], &e[n - 1]);
		e[i].weights.a = all->a;
		e[i].weights.bytes = all->bytes;
		e[i].weights.digest = all->digest;
	}
	if (n > 1)
		emissions_share(e, n);
}

/* ---- the C file ---- */

void put_target_names(const struct emission *e, FILE *f, const char *between, void (*put)(FILE *f, const char *s))
{
	for (int i = 0; e->of_several && i < e->of_several->n; i++) {
		fputs(i ? between : "", f);
		put(f, e->of_several->a[i].name);
	}
}

void put_embedded(FILE *f) { fprintf(f, "extern __attribute__((visibility(\"hidden\"))) const uint64_t embedded[];\n"); }

static void put_shared_template(struct emission *e, FILE *f, const char *from, const char *until)
{
	const char *text = several_text;

	if (from)
		text = strstr(several_text, from) + strlen(from);
	put_template(e, f, text + (from != NULL), until);
}

/* The comment at the top: the targets, and how to compile the file. */
static void put_front_summary(struct emission *e, int n, FILE *f)
{
	struct target any = {.of = targets_kind(e->of_several)};

	fprintf(f, "/* The model \"%s\" for several targets. A CPU takes the first of these that it has:\n", e->model);
	for (int i = 0; i < n; i++) {
		fprintf(f, " * %d  ", i + 1);
		put_comment(f, e->of_several->a[i].name);
		fputc('\n', f);
	}
	fprintf(f,
		" *\n * To be compiled once for the part that chooses, with: -DTARGET=0 %s\n"
		" * and once for each target, as it says below; then all are linked. */\n"
		"#ifndef TARGET\n#error \"-DTARGET=0 to -DTARGET=%d say which part it is\"\n#endif\n\n",
		target_cflags(&any), n);
}

static void put_rows(struct emission *e, int n, FILE *f)
{
	fprintf(f, "#define NUM_TARGETS %d\n#define TARGET_NAMES ", n);
	put_target_names(e, f, " \", \" ", put_string);
	fprintf(f, "\nextern __attribute__((visibility(\"hidden\"))) const struct target_entries");
	for (int i = 0; i < n; i++)
		fprintf(f, "%s entries_of_%s", i ? "," : "", e[i].name);
	fprintf(f,
		";\n\n/* The targets, that which a CPU takes first at the top. */\n"
		"static const struct target_row {\n\tconst char *name;\n\tconst char *(*lacks)(void);\n"
		"\tconst struct target_entries *entries;\n} target_row[] = {\n");
	for (int i = 0; i < n; i++) {
		fprintf(f, "\t{");
		put_string(f, e->of_several->a[i].name);
		fprintf(f, ", cpu_lacks_%d, &entries_of_%s},\n", i + 1, e[i].name);
	}
	fprintf(f, "};\n\n");
}

void put_front(struct emission *e, int n, FILE *f, const char *header)
{
	struct emission all = emission_of_all(e), kind = all;
	struct target any = {.of = targets_kind(e->of_several)};

	put_front_summary(e, n, f);
	fprintf(f, "#if TARGET == 0\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n");
	put_header_include(e, f, header);
	fprintf(f, "\n%s\n", abi_text);
	put_shared_template(&all, f, NULL, "@PROTOTYPES@");
	if (e->embed) {
		put_embedded(f);
		put_weights(e, f);
	}
	kind.target = &any;
	put_cpu_asks(&kind, f);
	for (int i = 0; i < n; i++)
		put_cpu_check(&e[i], f, sym_str(intern_printf("cpu_lacks_%d", i + 1)));
	put_rows(e, n, f);
	put_shared_template(&all, f, "@FRONT@", NULL);
	fprintf(f, "#endif\n");
}

void put_own_names(struct emission *e, FILE *f)
{
	fprintf(f, "#if IN_PART(0)\n#define %s %s /* the type is one for all targets */\n", e->name, e->model);
	fprintf(f, "struct hone_model;\n");
	put_shared_template(e, f, NULL, "@PROTOTYPES@");
	put_shared_template(e, f, "@PROTOTYPES@", "@OFFERED@");
	fprintf(f, "#endif\n\n#define SHARED __attribute__((visibility(\"hidden\"))) /* another target calls it, or it is another's */\n");
	for (size_t i = 0; i < e->functions.a.n; i++)
		if (e->shared[i].name)
			fprintf(f, "#define %s %s\n", e->functions.a.a[i].name, e->shared[i].name);
	fprintf(f, "\n");
}

void put_offer(struct emission *e, FILE *f) { put_shared_template(e, f, "@OFFERED@", "@FRONT@"); }
