/* hone bundle --freestanding: a model and the program that checks it, for a machine without an operating system. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "bundle.h"
#include "common/progress.h"
#include "common/shown.h"
#include "target/backend.h"
#include "target/list.h"

static const char program[] =
#include "tools/hone/bundle_bare.in.inc"
	;
static const char board[] =
#include "tools/hone/bundle_board.in.inc"
	;

/* Plans the model and emits it: FOLDER/model.c, .h and .a. What it takes of the machine. */
static struct facts emit(struct hone *h)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};
	static const struct facts none;
	struct words w = {0};

	if (h->targets.n)
		die(EX_BADUSE, "--freestanding: for one target at a time");
	h->target = given_value(h, "target");
	chain_run(h, STAGE_import, STAGE_schedule, 0, "");
	if (h->target)
		words_add(&w, text(h, "--target=%s", h->target));
	chain_stage(h, STAGE_plan, "", &w);
	double since = now_seconds();
	words_add(&c.argv, "ge-emit");
	words_add(&c.argv, "--freestanding");
	given_add(h, &c.argv, "compiler");
	if (h->target)
		words_add(&c.argv, text(h, "--target=%s", h->target));
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, h->stem);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	place_folders(h, h->stem);
	progress(h, "emit");
	struct facts f = child_must(h, &c);
	child_tell(h, "ge-emit", &none);
	chain_line(h, "emit", since, &none);
	return f;
}

/* The bytes of all tensors, and for each what it is. */
static void put_side(FILE *f, const struct side *side, bool expected)
{
	size_t n = side->v.n / SAMPLES;

	for (size_t i = 0; i < side->v.n; i++) {
		const struct tensor *t = side->v.a[i].t;
		fprintf(f, "static const uint64_t %s_%zu[] = {", side->name, i);
		for (size_t at = 0; at < t->nbytes; at += sizeof(uint64_t)) {
			uint64_t word = 0;
			memcpy(&word, (const char *)t->data + at, t->nbytes - at < sizeof word ? t->nbytes - at : sizeof word);
			fprintf(f, "%s0x%" PRIx64 ",", at % 64 ? "" : "\n", word);
		}
		fprintf(f, "0};\n");
	}
	for (size_t i = 0; expected && i < n; i++)
		fprintf(f, "static uint64_t made_%zu[%zu];\n", i, side->v.a[i].t->nbytes / sizeof(uint64_t) + 1);
	for (size_t s = 0; s < SAMPLES && expected; s++) {
		fprintf(f, s ? "" : "static const struct value outputs[SAMPLES][OUTPUTS + 1] = {\n");
		fprintf(f, "\t{");
		for (size_t i = 0; i < n; i++) {
			const struct named_tensor *v = &side->v.a[s * n + i];
			fprintf(f, "{");
			bundle_string(f, v->name);
			fprintf(f, ", %s_%zu, %d, %zu}, ", side->name, s * n + i, (int)v->t->dtype, (size_t)tensor_count(v->t));
		}
		fprintf(f, s + 1 < SAMPLES ? "},\n" : "},\n};\n");
	}
}

static void write_samples(struct hone *h, struct bundle *b, const struct facts *f)
{
	FILE *o = bundle_create(h, b, "samples.h");
	const char *name = bundle_type(h, b);
	size_t nin = b->in.v.n / SAMPLES, nout = b->out.v.n / SAMPLES;

	fprintf(o, "/* Samples for selfcheck.c, row-major. */\n#include <stdint.h>\n#include \"model.h\"\n\n");
	fprintf(o, "#define RUN %s_run\n#define ERROR %s_error\n#define SAMPLES %d\n#define OUTPUTS %zu\n", name, name, SAMPLES, nout);
	fprintf(o, "#define TOLERANCE %.9g\n#define STACK %.0f /* of a run, as the compiler counts it */\n\n", b->tolerance,
		facts_value(f, "stack"));
	fprintf(o,
		"struct value {\n\tconst char *name;\n\tconst void *data;\n\tint type; /* as ONNX numbers them */\n\tsize_t count;\n};\n");
	put_side(o, &b->in, false);
	put_side(o, &b->out, true);
	fprintf(o, "static const void *const sample_in[SAMPLES][%zu] = {\n", nin + 1);
	for (size_t s = 0; s < SAMPLES; s++) {
		fprintf(o, "\t{");
		for (size_t i = 0; i < nin; i++)
			fprintf(o, "%s_%zu, ", b->in.name, s * nin + i);
		fprintf(o, "NULL},\n");
	}
	fprintf(o, "};\nstatic void *const sample_out[] = {");
	for (size_t i = 0; i < nout; i++)
		fprintf(o, "made_%zu, ", i);
	fprintf(o, "NULL};\n");
	bundle_finish(b, o, "samples.h");
}

/* True if the model calls more than the memory operations of board.c. */
static bool calls_more(const char *calls)
{
	static const char *const known[] = {"memcpy", "memmove", "memset"};

	for (size_t n; *(calls += strspn(calls, " ")); calls += n) {
		bool found = false;
		n = strcspn(calls, " ");
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			found |= strlen(known[i]) == n && !strncmp(known[i], calls, n);
		if (!found)
			return true;
	}
	return false;
}

static void write_makefile(struct hone *h, struct bundle *b, const struct facts *f)
{
	const char *libraries = calls_more(facts_get(f, "calls")) ? "-lm -lgcc" : "-lgcc";
	FILE *o = bundle_create(h, b, "Makefile");

	fprintf(o,
		"# make check: runs the program that checks the model; make source: the same with the model compiled from its C here.\n"
		"# make verify: are all files as they were made? RUN: what runs a program of that machine, such as qemu-aarch64.\n"
		"CC = %s\nRUN =\nLIBS = %s\nMODELFLAGS = %s\nFLAGS = -O2 -ffreestanding -fno-stack-protector -fno-pic\n"
		"LINK = $(CC) -nostdlib -static -no-pie -o $@ start.o selfcheck.o\n"
		".PHONY: check source verify\n"
		"check: selfcheck\n\t$(RUN) ./selfcheck\n"
		"source: selfcheck.source\n\t$(RUN) ./selfcheck.source\n"
		"verify:\n\tsha256sum --quiet -c SHA256SUMS\n"
		"selfcheck: start.o selfcheck.o model.a\n\t$(LINK) model.a $(LIBS)\n"
		"selfcheck.source: start.o selfcheck.o model.o\n\t$(LINK) model.o $(LIBS)\n"
		"start.o: board.c\n\t$(CC) $(FLAGS) -c -o $@ board.c\n"
		"selfcheck.o: selfcheck.c samples.h model.h\n\t$(CC) $(FLAGS) -c -o $@ selfcheck.c\n"
		"model.o: model.c model.h\n\t$(CC) $(MODELFLAGS) -w -c -o $@ model.c\n",
		facts_get(f, "compiler"), libraries, facts_get(f, "flags"));
	bundle_finish(b, o, "Makefile");
}

/* The machine under the program, as the target has it. */
static void write_board(struct hone *h, struct bundle *b)
{
	struct target_list list = {0};
	FILE *f = bundle_create(h, b, "board.c");

	if (h->target)
		targets_add(&list, h->target);
	target_text(f, list.n ? &list.a[0].t : target_host(), board);
	bundle_finish(b, f, "board.c");
}

static void put_text(struct hone *h, struct bundle *b, const char *name, const char *content)
{
	FILE *f = bundle_create(h, b, name);

	fputs(content, f);
	bundle_finish(b, f, name);
}

void bundle_bare(struct hone *h, struct bundle *b)
{
	struct facts f = emit(h);

	bundle_draw(h, b, false);
	put_text(h, b, "selfcheck.c", program);
	write_board(h, b);
	write_samples(h, b, &f);
	write_makefile(h, b, &f);
	progress(h, NULL);
	if (!h->quiet)
		printf("%s: flash %.0f bytes, RAM %.0f bytes, stack %.0f bytes; calls %s; %d samples: make -C %s check\n", shown(b->folder),
		       facts_value(&f, "flash"), facts_value(&f, "ram"), facts_value(&f, "stack"),
		       *facts_get(&f, "calls") ? facts_get(&f, "calls") : "nothing", SAMPLES, shown(b->folder));
}
