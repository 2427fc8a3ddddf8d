/* hone bench: models built and timed, beside ONNX Runtime where it is installed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/json.h"
#include "common/option.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/shown.h"
#include "hone.h"

/* A row of the table: one library, as it was built and run. */
struct row {
	const char *model, *sizes, *threads;
	const char *failed; /* why there are no numbers, or NULL */
	struct facts f;     /* of run-dev --bench --json */
};
struct bench {
	VEC(struct row) rows;
	struct words sizes, threads; /* those to try; "" and "1" without */
	const char *python, *client; /* NULL: no ONNX Runtime */
	const char *no_peer;         /* why not */
	int code;                    /* of the first that failed */
};

/* ---- what to try ---- */

/* NAME=1,2 of --sizes, as NAME=1 and NAME=2; of several options each with each. */
static void read_sizes(struct hone *h, struct bench *b)
{
	words_add(&b->sizes, "");
	for (size_t i = 0; i < h->given.n; i++) {
		const char *value = h->given.a[i].value, *list;
		struct words all = {0};
		if (strcmp(h->given.a[i].row->name, "sizes"))
			continue;
		list = strchr(value, '=');
		if (!list || list == value)
			die(EX_BADUSE, "--sizes=%s: not NAME=SIZE,...", shown(value));
		for (size_t k = 0; k < b->sizes.n; k++)
			for (const char *p = list + 1, *end; p; p = *end ? end + 1 : NULL) {
				end = p + strcspn(p, ",");
				option_count("--sizes", text(h, "%.*s", (int)(end - p), p), 0, INT64_MAX);
				words_add(&all, text(h, "%s%s%.*s=%.*s", b->sizes.a[k], *b->sizes.a[k] ? "," : "", (int)(list - value),
						     value, (int)(end - p), p));
			}
		b->sizes = all;
	}
}

static void read_threads(struct hone *h, struct bench *b)
{
	const char *list = given_value(h, "threads");

	for (const char *p = list ? list : "1", *end; p; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, ",");
		words_add(&b->threads, text(h, "%.*s", (int)(end - p), p));
		option_count("--threads", b->threads.a[b->threads.n - 1], 1, INT32_MAX);
	}
}

/* ---- ONNX Runtime ---- */

/* The script beside the tools, in the tree or where it is installed. */
static const char *find_client(struct hone *h)
{
	static const char *const places[] = {"../clients", "../share/hone", "../../share/hone"};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *path = text(h, "%s/%s/onnxruntime_peer.py", tools_folder, places[i]);
		if (!access(path, R_OK))
			return path;
	}
	return NULL;
}

static void find_peer(struct hone *h, struct bench *b)
{
	const char *given = getenv("HONE_PYTHON"), *python = given && *given ? given : "python3", *wait = given_value(h, "peer-wait");
	struct child c = {.limit = wait ? option_number("--peer-wait", wait, 1e-3, INFINITY) : 60};
	int code = 0;

	if (given_is(h, "alone")) {
		b->no_peer = "--alone";
		return;
	}
	b->client = find_client(h);
	words_add(&c.argv, "/bin/sh");
	words_add(&c.argv, "-c");
	words_add(&c.argv, text(h, "exec %s -c 'import numpy, onnxruntime'", shell_word(python, &h->arena)));
	if (!b->client)
		b->no_peer = "onnxruntime_peer.py is not beside the tools";
	else if ((code = child_run(h, &c, NULL)) == CHILD_LATE)
		b->no_peer = text(h, "%s does not answer in %g seconds; --peer-wait gives it more", python, c.limit);
	else if (code)
		b->no_peer = text(h, "%s has no onnxruntime and numpy; HONE_PYTHON names a python that does", python);
	else
		b->python = python;
}

static const char *peer_command(struct hone *h, const struct bench *b, const char *model, const char *threads)
{
	const char *s = text(h, "%s -B %s %s --threads=%s", shell_word(b->python, &h->arena), shell_word(b->client, &h->arena),
			     shell_word(model, &h->arena), threads);

	for (size_t i = 0; i < h->given.n; i++)
		if (!strcmp(h->given.a[i].row->name, "const"))
			s = text(h, "%s --const=%s", s, shell_word(h->given.a[i].value, &h->arena));
	return s;
}

/* ---- one row ---- */

/* A child failed. It says why, and the row is "-". */
static void row_failed(struct hone *h, struct bench *b, int code, const struct facts *f)
{
	child_tell(h, "hone bench", f);
	child_tell_give(h, f);
	b->code = b->code ? b->code : code;
}

static int time_row(struct hone *h, struct bench *b, struct row *r, const char *library, const char *peer)
{
	struct child c = {.out = text(h, "%s/times", h->work), .facts = text(h, "%s/facts", h->work)};
	struct facts f;

	words_add(&c.argv, "run-dev");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "--bench");
	words_add(&c.argv, "--json");
	given_add(h, &c.argv, "bench");
	if (is_library(r->model) && *r->sizes)
		words_add(&c.argv, text(h, "--set=%s", r->sizes));
	words_add(&c.argv, text(h, "--threads=%s", r->threads));
	if (peer) {
		words_add(&c.argv, text(h, "--peer=%s", peer));
		given_add(h, &c.argv, "peer");
	}
	words_add(&c.argv, "--");
	words_add(&c.argv, library);
	int code = child_run(h, &c, &f);
	if (!code)
		r->f = facts_read(c.out);
	else
		row_failed(h, b, peer && code != EX_BADUSE ? 0 : code, &f);
	return code;
}

static void run_row(struct hone *h, struct bench *b, struct row *r)
{
	bool beside = b->python && !is_library(r->model);
	const char *library;
	struct facts f;
	int code;

	progress(h, text(h, "building %s", base_name(r->model)));
	library = is_library(r->model) ? r->model : library_made(h, r->model, r->sizes, r->threads, &code, &f);
	if (!library) {
		row_failed(h, b, code, &f);
		r->failed = "not built";
		return;
	}
	progress(h, text(h, "timing %s", base_name(r->model)));
	code = beside ? time_row(h, b, r, library, peer_command(h, b, r->model, r->threads)) : -1;
	if (code && code != EX_BADUSE) /* which the peer has no part in */
		code = time_row(h, b, r, library, NULL);
	if (code)
		r->failed = "not run";
}

/* ---- the table ---- */

enum { TEXT, MARKDOWN, CSV, JSON };
static const struct column {
	const char *title, *fact;
	double unit; /* what one is of the fact's unit */
	int digits;
	bool of_peer;
} table[] = {
	{"median ms", "median", 1e-3, 4, false},
	{"quartile 1", "quarter", 1e-3, 4, false},
	{"quartile 3", "three_quarters", 1e-3, 4, false},
	{"p90", "p90", 1e-3, 4, false},
	{"p99", "p99", 1e-3, 4, false},
	{"runs/s", "mean", 0, 1, false},
	{"load ms", "load", 1e-3, 2, false},
	{"memory MB", "memory", 1e6, 1, false},
	{"peer ms", "peer.median", 1e-3, 4, true},
	{"of peer", "peer.ratio", 1, 3, true},
	{"from", "peer.ratio_quarter", 1, 3, true},
	{"to", "peer.ratio_three_quarters", 1, 3, true},
	{"differs", "peer.differs", 1, -1, true},
};
enum { COLUMNS = sizeof table / sizeof *table, NAMES = 3, FEW_RUNS = 100 };

/* NAN: not known. A 99th percentile of few runs would be their greatest. */
static double cell(const struct row *r, const struct column *c)
{
	double v = r->failed ? NAN : facts_value(&r->f, c->fact);

	if (!strcmp(c->fact, "mean"))
		return 1 / v;
	if (!strcmp(c->fact, "p99") && facts_value(&r->f, "runs") < FEW_RUNS)
		return NAN;
	return v / c->unit;
}

static const char *cell_text(struct hone *h, const struct row *r, const struct column *c)
{
	double v = cell(r, c);

	if (!isfinite(v))
		return isnan(v) ? "-" : "other";
	if (c->digits < 0)
		return text(h, "%.1e", v);
	return c->unit == 1e-3 && v > 0 && v < 0.01 ? text(h, "%.6f", v) : text(h, "%.*f", c->digits, v);
}

static const char *const names[NAMES] = {"model", "sizes", "threads"};
static const char *name_text(struct hone *h, const struct row *r, int i)
{
	return i == 0 ? shown(base_name(r->model)) : i == 1 ? (*r->sizes ? shown(r->sizes) : "-") : r->threads;
}

/* A bar in a cell of Markdown would end it. */
static void put_markdown(FILE *f, const char *s)
{
	for (; *s; s++)
		fprintf(f, *s == '|' || *s == '`' || *s == '<' ? "\\%c" : "%c", *s);
}

static void put_cells(FILE *f, int form, const char *const *cell, const int *width, int n)
{
	fputs(form == MARKDOWN ? "| " : "", f);
	for (int i = 0; i < n; i++) {
		const char *between = form == TEXT ? "  " : form == MARKDOWN ? " | " : ",";
		if (form == CSV && strpbrk(cell[i], ",\""))
			fprintf(f, "\"%s\"", cell[i]); /* a quote in it was shown as \x22 */
		else if (form == TEXT)
			fprintf(f, i < NAMES ? "%-*s" : "%*s", width[i], cell[i]);
		else if (form == MARKDOWN)
			put_markdown(f, cell[i]);
		else
			fputs(cell[i], f);
		fputs(i + 1 < n ? between : form == MARKDOWN ? " |\n" : "\n", f);
	}
}

static void put_table(struct hone *h, const struct bench *b, FILE *f, int form)
{
	int width[NAMES + COLUMNS] = {0}, n = NAMES + COLUMNS;
	const char **all = arena_alloc(&h->arena, sizeof *all * (b->rows.n + 1) * (size_t)n);

	if (!b->python)
		while (table[n - NAMES - 1].of_peer)
			n--;
	for (size_t k = 0; k <= b->rows.n; k++)
		for (int i = 0; i < n; i++) {
			const struct row *r = k ? &b->rows.a[k - 1] : NULL;
			const char *s = i < NAMES ? (r ? name_text(h, r, i) : names[i])
						  : (r ? cell_text(h, r, &table[i - NAMES]) : table[i - NAMES].title);
			all[k * (size_t)n + (size_t)i] = text(h, "%s", s);
			width[i] = (int)fmax(width[i], (double)strlen(s));
		}
	for (size_t k = 0; k <= b->rows.n; k++) {
		put_cells(f, form, all + k * (size_t)n, width, n);
		for (int i = 0; !k && form == MARKDOWN && i < n; i++)
			fputs(i + 1 < n ? "|---" : "|---|\n", f);
	}
}

static void put_json(const struct bench *b, FILE *f)
{
	fputs("[", f);
	for (size_t k = 0; k < b->rows.n; k++) {
		const struct row *r = &b->rows.a[k];
		const char *const value[NAMES] = {r->model, r->sizes, r->threads};
		fputs(k ? ",\n {" : "\n {", f);
		for (int i = 0; i < NAMES; i++) {
			fprintf(f, "\"%s\":", names[i]);
			json_str(f, value[i]);
			putc(',', f);
		}
		fputs("\"failed\":", f);
		if (r->failed)
			json_str(f, r->failed);
		else
			fputs("null", f);
		for (size_t i = 0; i < r->f.n; i++) {
			if (!strcmp(r->f.a[i].name, "model")) /* the library's */
				continue;
			putc(',', f);
			json_str(f, r->f.a[i].name);
			putc(':', f);
			if (r->f.a[i].text)
				json_str(f, r->f.a[i].text);
			else
				json_num(f, r->f.a[i].number);
		}
		fputs("}", f);
	}
	fputs("\n]\n", f);
}

static int form_of(const char *path)
{
	static const char *const ends[] = {".txt", ".md", ".csv", ".json"};
	const char *end = strrchr(base_name(path), '.');

	for (size_t i = 0; end && i < sizeof ends / sizeof *ends; i++)
		if (!strcmp(end, ends[i]))
			return (int)i;
	die(EX_BADUSE, "-o %s: a table goes to .txt, .md, .csv or .json", shown(path));
}

static void put_form(struct hone *h, const struct bench *b, FILE *f, int form)
{
	if (form == JSON)
		put_json(b, f);
	else
		put_table(h, b, f, form);
}

/* The machine, the versions, the peer. */
static void put_head(struct hone *h, const struct bench *b)
{
	const char *peer = NULL, *cpu = NULL, *compiler = NULL;

	for (size_t k = 0; k < b->rows.n; k++) {
		const struct facts *f = &b->rows.a[k].f;
		cpu = cpu ? cpu : facts_get(f, "cpu");
		compiler = compiler ? compiler : facts_get(f, "compiler");
		peer = peer ? peer : facts_get(f, "peer.name");
	}
	if (cpu)
		printf("%s, compiler %s\n", shown(cpu), shown(compiler));
	if (peer)
		printf("the peer is %s, timed in turns\n\n", shown(peer));
	else
		printf("without ONNX Runtime: %s\n\n", b->no_peer ? shown(b->no_peer) : "it has run none of the models");
}

void bench(struct hone *h)
{
	const char *out = given_value(h, "o");
	int form = given_is(h, "json") ? JSON : out ? form_of(out) : TEXT;
	struct bench b = {0};

	read_sizes(h, &b);
	read_threads(h, &b);
	find_peer(h, &b);
	for (size_t m = 0; m < h->models.n; m++)
		for (size_t s = 0; s < b.sizes.n; s++)
			for (size_t t = 0; t < b.threads.n; t++) {
				struct row r = {h->models.a[m], b.sizes.a[s], b.threads.a[t], NULL, {0}};
				run_row(h, &b, &r);
				vec_push(&b.rows, r);
			}
	progress(h, NULL);
	if (out) {
		struct outfile o;
		outfile_open(&o, out, false);
		put_form(h, &b, o.f, form);
		outfile_close(&o);
	}
	if (given_is(h, "json") && !out) {
		put_json(&b, stdout);
	} else if (!h->quiet) {
		put_head(h, &b);
		put_table(h, &b, stdout, TEXT);
	}
	place_remove(h);
	child_end();
	if (b.code)
		die_silent(b.code);
}
