/* hone bundle: a folder with a compiled model and what checks it on another machine. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "common/shown.h"
#include "common/textfile.h"
#include "bundle.h"

static const char program[] =
#include "tools/hone/bundle_check.in.inc"
	;

FILE *bundle_create(struct hone *h, const struct bundle *b, const char *name)
{
	FILE *f = fopen(text(h, "%s/%s", b->folder, name), "w");

	if (!f)
		die_errno(EX_IO, "%s/%s", b->folder, name);
	return f;
}

void bundle_finish(const struct bundle *b, FILE *f, const char *name)
{
	if (fclose(f))
		die_errno(EX_IO, "%s/%s", b->folder, name);
}

/* ---- samples ---- */

static void check_kind(struct hone *h, const struct named_tensor *t)
{
	if (t->t->kind != KIND_TENSOR || !dtype_size(t->t->dtype) || t->t->dtype == DT_C64 || t->t->dtype == DT_C128 ||
	    strpbrk(t->name, "{}?[]"))
		die(EX_NOTAVAIL, "bundle: %s: %s is no tensor of numbers, and the program that checks compares those only", h->model,
		    t->name);
}

static void take_side(struct hone *h, struct bundle *b, struct side *side, const char *file, int sample, bool in_files)
{
	struct named_tensor *t;
	int n = npz_read(file, &b->arena, &t);

	for (int i = 0; i < n; i++) {
		const char *name = text(h, "samples/%d.%s.%d", sample, side->name, i);
		check_kind(h, &t[i]);
		vec_push(&side->v, t[i]);
		if (!in_files)
			continue;
		FILE *f = bundle_create(h, b, name);
		fwrite(t[i].t->data, 1, t[i].t->nbytes, f);
		bundle_finish(b, f, name);
	}
}

/* Inputs are drawn, and the outputs are the evaluator's. */
static void draw(struct hone *h, struct bundle *b, const char *reference, int sample, bool in_files)
{
	const char *in = text(h, "%s/in.npz", h->work), *out = text(h, "%s/out.npz", h->work);
	struct comparison c = {.made = reference, .reference = reference, .save = in, .drawn = true, .seed = sample};
	struct child run = {0};
	struct facts f;

	progress(h, "sample inputs and outputs");
	int code = compare_numbers(h, &c, &f);
	if (code)
		child_failed(h, code, &f);
	b->tolerance = facts_value(&f, "tolerance");
	words_add(&run.argv, "run-ref");
	words_add(&run.argv, "--quiet");
	words_add(&run.argv, text(h, "-i%s", in));
	words_add(&run.argv, "-o");
	words_add(&run.argv, out);
	words_add(&run.argv, "--");
	words_add(&run.argv, reference);
	child_must(h, &run);
	take_side(h, b, &b->in, in, sample, in_files);
	take_side(h, b, &b->out, out, sample, in_files);
}

void bundle_draw(struct hone *h, struct bundle *b, bool in_files)
{
	for (int s = 0; s < SAMPLES; s++)
		draw(h, b, check_reference(h), s, in_files);
}

/* A name in a text of C: bytes that could end it, or mean something in it, by their number. */
void bundle_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++)
		fprintf(f, *s < ' ' || *s > '~' || strchr("\"\\?", *s) ? "\\%03o" : "%c", (unsigned char)*s);
	putc('"', f);
}

static void put_side(struct hone *h, FILE *f, const struct side *side)
{
	size_t n = side->v.n / SAMPLES;

	for (size_t k = 0; k < side->v.n; k++) {
		const struct tensor *t = side->v.a[k].t;
		fprintf(f, "static const int64_t shape_%s_%zu[] = {", side->name, k);
		for (int i = 0; i < t->rank; i++)
			fprintf(f, "%" PRId64 ", ", t->dims[i]);
		fprintf(f, "0};\n");
	}
	fprintf(f, "static const struct value %s[SAMPLES][%zu] = {\n", side->name, n ? n : 1);
	for (size_t s = 0; s < SAMPLES; s++) {
		fprintf(f, "\t{\n");
		for (size_t i = 0; i < n; i++) {
			const struct named_tensor *v = &side->v.a[s * n + i];
			fprintf(f, "\t\t{");
			bundle_string(f, v->name);
			fprintf(f, ", \"samples/%zu.%s.%zu\", %d, %d, shape_%s_%zu, %zu, %zu},\n", s, side->name, i, (int)v->t->dtype,
				v->t->rank, side->name, s * n + i, (size_t)tensor_count(v->t), v->t->nbytes);
		}
		fprintf(f, "\t},\n");
	}
	fprintf(f, "};\n");
}

/* ---- the files ---- */

/* The first match's rest of a line of a file: what stands behind `after`. NULL: nowhere. */
static const char *line_after(struct hone *h, const char *path, const char *after)
{
	FILE *f = fopen(path, "r");
	char *line = NULL;
	const char *found = NULL;
	size_t size;

	if (!f)
		die_errno(EX_IO, "%s", path);
	while (!found && textfile_line(f, path, &line, &size)) {
		const char *at = strstr(line, after);
		if (at)
			found = text(h, "%.*s", (int)strcspn(at + strlen(after), "\n"), at + strlen(after));
	}
	free(line);
	fclose(f);
	return found;
}

/* The names of functions begin with another word than "model" where a macro has the name of the file. */
const char *bundle_type(struct hone *h, const struct bundle *b)
{
	const char *run = line_after(h, text(h, "%s/model.h", b->folder), "#ifndef ");

	return text(h, "%.*s", (int)(strlen(run) - strlen("_MODEL_H")), run);
}

static void write_header(struct hone *h, struct bundle *b)
{
	const char *open = line_after(h, text(h, "%s/model.h", b->folder), "_run_values("), *name = bundle_type(h, b);
	FILE *f = bundle_create(h, b, "samples.h");

	fprintf(f,
		"/* Samples for selfcheck.c: files of numbers, row-major, and what they are. */\n#include <stdint.h>\n#include \"model.h\"\n\n");
	fprintf(f, "#define MODEL %s\n", name);
	static const char *const functions[][2] = {{"OPEN", "open"},
						   {"CLOSE", "close"},
						   {"RUN", "run"},
						   {"RUN_VALUES", "run_values"},
						   {"ERROR", "error"},
						   {"NUM_INPUTS", "num_inputs"},
						   {"NUM_OUTPUTS", "num_outputs"},
						   {"INPUT_NAME", "input_name"},
						   {"OUTPUT_NAME", "output_name"}};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		fprintf(f, "#define %s %s_%s\n", functions[i][0], name, functions[i][1]);
	fprintf(f, "#define WEIGHTS %s\n", given_is(h, "embed") ? "NULL" : "\"model.weights\"");
	fprintf(f, "#define OPEN_SIZES %d\n#define SAMPLES %d\n#define INPUTS %zu\n#define OUTPUTS %zu\n#define TOLERANCE %.9g\n\n",
		open != NULL, SAMPLES, b->in.v.n / SAMPLES, b->out.v.n / SAMPLES, b->tolerance);
	fprintf(f,
		"struct value {\n\tconst char *name, *file;\n\tint type, rank; /* types as ONNX numbers them */\n\tconst int64_t *shape;\n"
		"\tsize_t count, bytes;\n};\n");
	put_side(h, f, &b->in);
	put_side(h, f, &b->out);
	bundle_finish(b, f, "samples.h");
}

static void write_makefile(struct hone *h, struct bundle *b)
{
	const char *flags = line_after(h, text(h, "%s/model.c", b->folder), "Compile with: ");
	FILE *f = bundle_create(h, b, "Makefile");

	fprintf(f,
		"# make check: does the compiled model compute on this machine what it should? make verify: are all files as they were made?\n"
		"# make source: as check, with the model compiled from its C here. For another kind of CPU, on one that emulates it:\n"
		"# make check CC=aarch64-linux-gnu-gcc LDFLAGS=-static RUN=qemu-aarch64\n"
		"CC ?= cc\n.PHONY: check source verify\n"
		"check: selfcheck\n\t$(RUN) ./selfcheck\n"
		"source: selfcheck.source\n\t$(RUN) ./selfcheck.source\n"
		"verify:\n\tsha256sum --quiet -c SHA256SUMS\n"
		"selfcheck: selfcheck.c samples.h model.h model.a\n\t$(CC) -O2 -o $@ selfcheck.c model.a $(LDFLAGS) -lm -pthread\n");
	if (h->slow_path)
		fprintf(f,
			"selfcheck.source:\n\t@echo \"a part of this model runs on hone's evaluator, which is in model.a alone\" >&2; exit 1\n");
	else
		fprintf(f,
			"MODELFLAGS = %s\n"
			"selfcheck.source: selfcheck.c samples.h model.h model.c\n"
			"\t$(CC) $(MODELFLAGS) -w -c -o model.o model.c\n\t$(CC) -O2 -o $@ selfcheck.c model.o $(LDFLAGS) -lm -pthread\n",
			flags ? flags : "-O2");
	bundle_finish(b, f, "Makefile");
}

static void write_digests(struct hone *h, struct bundle *b)
{
	const char *sums = text(h, "%s/sums", h->work);
	struct child c = {.out = sums};

	words_add(&c.argv, "/bin/sh");
	words_add(&c.argv, "-c");
	words_add(&c.argv, "cd \"$1\" && find . -type f ! -name SHA256SUMS ! -path './model.d/*' | LC_ALL=C sort | xargs sha256sum --");
	words_add(&c.argv, "sh");
	words_add(&c.argv, b->folder);
	child_must(h, &c);
	place_publish(h, sums, text(h, "%s/SHA256SUMS", b->folder));
}

static double bytes_of(const struct side *side)
{
	double bytes = 0;

	for (size_t i = 0; i < side->v.n; i++)
		bytes += (double)side->v.a[i].t->nbytes;
	return bytes;
}

/* All files of a bundle for a machine with an operating system. */
static void bundle_hosted(struct hone *h, struct bundle *b)
{
	build_made(h);
	if (mkdir(text(h, "%s/samples", b->folder), 0777) && !file_bytes(text(h, "%s/samples", b->folder)))
		die_errno(EX_IO, "%s/samples", b->folder);
	bundle_draw(h, b, true);
	FILE *f = bundle_create(h, b, "selfcheck.c");
	fputs(program, f);
	bundle_finish(b, f, "selfcheck.c");
	write_header(h, b);
	write_makefile(h, b);
	progress(h, NULL);
	if (!h->quiet)
		printf("%s: %.0f bytes of library, %.0f of weights, %d samples of %.0f bytes; on the machine that it is for: make -C %s check\n",
		       shown(b->folder), file_bytes(text(h, "%s.a", h->stem)), file_bytes(text(h, "%s.weights", h->stem)), SAMPLES,
		       (bytes_of(&b->in) + bytes_of(&b->out)) / SAMPLES, shown(b->folder));
}

void bundle(struct hone *h)
{
	struct bundle b = {.folder = h->stem, .in = {.name = "inputs"}, .out = {.name = "outputs"}};

	h->stem = text(h, "%s/model", b.folder);
	(given_is(h, "freestanding") ? bundle_bare : bundle_hosted)(h, &b);
	write_digests(h, &b);
	place_remove(h);
	child_end();
}
