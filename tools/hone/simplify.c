/* hone simplify. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/shown.h"
#include "common/textfile.h"
#include "hone.h"

/* ---- sizes of files ---- */

static const char *real_path(struct hone *h, const char *path)
{
	char *real = realpath(path, NULL);
	const char *copy = text(h, "%s", real ? real : path);

	free(real);
	return copy;
}

/* Of the model as it came, with the files beside it that its weights are in. */
double model_bytes(struct hone *h, const struct facts *import)
{
	double bytes = file_bytes(h->model);

	for (size_t i = 0; i < import->n; i++)
		if (import->a[i].text && !strcmp(import->a[i].name, "external"))
			bytes += file_bytes(import->a[i].text);
	return bytes;
}

static bool is_weights_file(struct hone *h, const struct facts *import, const char *path)
{
	const char *folder = strrchr(path, '/') ? text(h, "%.*s", (int)(strrchr(path, '/') - path) + 1, path) : ".";
	const char *real = text(h, "%s/%s", real_path(h, folder), base_name(path));

	for (size_t i = 0; i < import->n; i++)
		if (import->a[i].text && !strcmp(import->a[i].name, "external") && !strcmp(real_path(h, import->a[i].text), real))
			return true;
	return false;
}

void print_bytes(FILE *f, double before, double after)
{
	fprintf(f, "%-28s %12.0f %12.0f", "bytes of the file", before, after);
	if (before > 0 && before != after)
		fprintf(f, " %+7.1f%%", 100 * (after - before) / before);
	putc('\n', f);
}

/* ge-stat of the model before and after. */
void stat_table(struct hone *h, FILE *f)
{
	struct child c = {.out = text(h, "%s/stat", h->work)};

	words_add(&c.argv, "ge-stat");
	words_add(&c.argv, "--quiet");
	words_add(&c.argv, "--");
	words_add(&c.argv, h->model);
	words_add(&c.argv, h->stem);
	child_must(h, &c);
	put_file(f, c.out);
}

int export_try(struct hone *h, const char *made, const char *option, struct facts *f)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	progress(h, "export");
	words_add(&c.argv, "ge-export");
	given_add(h, &c.argv, "export");
	if (option)
		words_add(&c.argv, option);
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, made);
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	int code = child_run(h, &c, f);
	if (!code)
		child_tell(h, "ge-export", f);
	return code;
}

static void export_model(struct hone *h, const char *made)
{
	struct facts f;
	int code = export_try(h, made, NULL, &f);

	if (code)
		child_failed(h, code, &f);
}

/* ---- does it compute the same ---- */

static noreturn void differs(struct hone *h, const char *said)
{
	progress(h, NULL);
	put_file(stderr, said);
	die(EX_DIFFERENT, "%s: the simplified model does not compute the same; nothing is written", h->model);
}

/* The user's command, as the user wrote it; the models are its arguments. */
static const char *check_by(struct hone *h, const char *command, const char *new)
{
	struct child c = {.out = text(h, "%s/compared", h->work), .out_has_all = true};

	words_add(&c.argv, "/bin/sh");
	words_add(&c.argv, "-c");
	words_add(&c.argv, text(h, "%s \"$@\"", command));
	words_add(&c.argv, "sh");
	words_add(&c.argv, new);
	words_add(&c.argv, h->model);
	if (child_run(h, &c, NULL))
		differs(h, c.out);
	return text(h, "the same by %s", command);
}

/* What was tried, as options. */
static const char *given_text(struct hone *h, const struct facts *f)
{
	const char *s = "";

	for (size_t i = 0; i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "check-set"))
			s = text(h, "%s --check-set=%s", s, h->given.a[i].value);
	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, "sizes"))
			s = text(h, "%s%s", s, f->a[i].text);
	double integers = facts_value(f, "integers");
	if (!isnan(integers))
		s = text(h, "%s integers %.0f", s, integers);
	return *s ? text(h, " (with%s)", s) : s;
}

static const char *check_numbers(struct hone *h, const char *new)
{
	struct child c = {.out = text(h, "%s/compared", h->work), .facts = text(h, "%s/facts", h->work)};
	static const struct facts none;
	struct facts f;

	words_add(&c.argv, "run-cmp");
	words_add(&c.argv, "--runs=3");
	words_add(&c.argv, "--rewritten");
	if (!given_is(h, "check-seconds"))
		words_add(&c.argv, "--seconds=300");
	given_add(h, &c.argv, "check");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "--");
	words_add(&c.argv, new);
	words_add(&c.argv, h->model);
	int code = child_run(h, &c, &f);
	const char *left = facts_get(&f, "left_out"), *why = facts_get(&f, "error");
	if (code == EX_DIFFERENT)
		differs(h, c.out);
	if (code == EX_NOTAVAIL) { /* written all the same: this program is not all there is to run a model */
		progress(h, NULL);
		warn("%s: not checked: %s; --check-set gives sizes and values, --check-seconds time, --check another program", h->model,
		     why ? why : "it takes longer than --check-seconds");
		return "it was not checked";
	}
	if (code)
		child_failed(h, code, &f);
	child_tell(h, "run-cmp", &none);
	double runs = facts_value(&f, "runs");
	return text(h, "the same numbers on %.0f random input%s%s%s%s", runs, runs == 1 ? "" : "s", given_text(h, &f),
		    left ? ", without " : "", left ? left : "");
}

static const char *check(struct hone *h, const char *new)
{
	const char *command = given_value(h, "check");

	progress(h, "check");
	if (given_is(h, "no-check"))
		return "it was not checked";
	return command && *command ? check_by(h, command, new) : check_numbers(h, new);
}

/* ---- the verb ---- */

static double bytes_made(struct hone *h, const char *made, const char *external)
{
	return file_bytes(made) + (external ? file_bytes(text(h, "%s/made/%s", h->work, external)) : 0);
}

/* The bytes of the file that is made where one fold may add `limit`. */
static double folded(struct hone *h, const char *shaped, const char *made, const char *external, const char *limit)
{
	h->last = shaped;
	h->digest = NULL;
	h->words[STAGE_fold].n = 0;
	chain_word(h, STAGE_fold, text(h, "--limit=%s", limit));
	chain_run(h, STAGE_fold, STAGE_prune, CLEAN, "");
	export_model(h, made);
	return bytes_made(h, made, external);
}

/* Makes the file with all that can be folded. Where that makes it larger (by more than a hundredth and a header; with --no-grow at all), less is
 * folded, unless folding is not why: its readers compute constants once. */
static void make_file(struct hone *h, const char *shaped, const char *made, const char *external, double before)
{
	enum { HEADER = 1024 };
	static const char *const less[] = {"64K", "4K", "256"};
	bool strict = given_is(h, "no-grow");
	double grown = strict ? 0 : before / 100 + HEADER, all = folded(h, shaped, made, external, "1M"), none;

	if (all <= before + grown)
		return;
	none = folded(h, shaped, made, external, "0");
	if (strict && none > before)
		die(EX_DIFFERENT, "%s: simplified it has %.0f bytes, and had %.0f; with --no-grow nothing is written", h->model, none,
		    before);
	if (all <= none + grown) {
		folded(h, shaped, made, external, "1M");
		return;
	}
	for (size_t i = 0; i < sizeof less / sizeof *less; i++)
		if (folded(h, shaped, made, external, less[i]) <= (none > before ? none : before) + grown)
			return;
	folded(h, shaped, made, external, "0");
}

static const char *beside(struct hone *h, const char *name)
{
	const char *slash = strrchr(h->stem, '/');

	return text(h, "%.*s%s", slash ? (int)(slash - h->stem) + 1 : 0, h->stem, name);
}

static void check_external(struct hone *h, const char *external, const struct facts *import)
{
	if (!strcmp(external, base_name(h->stem)))
		die(EX_BADUSE, "--external %s: is the name of the model itself", external);
	if (is_weights_file(h, import, beside(h, external)))
		die(EX_BADUSE, "--external %s: %s has its own weights in it; take another name", external, h->model);
}

void simplify(struct hone *h)
{
	const char *external = given_value(h, "external");
	char *report;
	FILE *f;

	place_check(h->stem);
	setenv("HONE_BLOBS", text(h, "%s/blobs", h->work), 1);
	chain_word(h, STAGE_import, "--keep-foreign");
	chain_word(h, STAGE_simplify, "--skip=swish");       /* an operator that few runtimes have */
	chain_word(h, STAGE_simplify, "--skip=group-norm");  /* the same */
	chain_word(h, STAGE_simplify, "--skip=global-pool"); /* one node more, for kernels */
	chain_word(h, STAGE_fewest, "--skip=swish");
	chain_word(h, STAGE_fewest, "--skip=group-norm");
	chain_word(h, STAGE_fewest, "--skip=global-pool");
	struct facts import = chain_stage(h, STAGE_import, "", NULL);
	chain_stage(h, STAGE_shape, "", NULL);
	const char *shaped = h->last, *folder = text(h, "%s/made", h->work), *made = text(h, "%s/%s", folder, base_name(h->stem));
	double before = model_bytes(h, &import);
	if (mkdir(folder, 0777))
		no_space();
	if (external)
		check_external(h, external, &import);
	make_file(h, shaped, made, external, before);
	if (external)
		place_check(beside(h, external));
	const char *checked = check(h, made);
	progress(h, NULL);
	double after = bytes_made(h, made, external);
	if (external)
		place_publish(h, text(h, "%s/%s", folder, external), beside(h, external));
	place_publish(h, made, h->stem);
	f = textfile_open(&report, NULL);
	if (!h->quiet) {
		stat_table(h, f);
		print_bytes(f, before, after);
		fprintf(f, "\n%s\n", shown(checked));
	}
	textfile_close(f);
	place_remove(h);
	child_end();
	fputs(report, stdout);
}
