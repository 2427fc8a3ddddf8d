/* Two builds of hone on the tasks of many models, the default schedules of each:
 *
 *   corpus --write OUT.kernels [--every N] [CORPUS.txt]  in each of the two trees: the kernels that this build makes for this machine;
 *                                                        with --choose those of the schedules that ge-schedule chooses
 *   corpus OLD.kernels NEW.kernels                       in either: new against old, in turns, one core, cold weights
 *
 * Kernels with the same text are not timed: their ratio is 1. A tab-separated row a task on standard output (ratio, its interval, verdict,
 * time by the old one in us, task); then, behind "#", the geometric mean and the worst twenty. bench/corpus.txt has the tasks;
 * bench/corpus.sh does all of it for two trees. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/outfile.h"
#include "common/progress.h"
#include "common/sorted.h"
#include "common/tool.h"
#include "cost/trees.h"
#include "search/choose.h"
#include "answer.h"

enum { OPT_WRITE = 1000, OPT_EVERY, OPT_CHOOSE, OPT_BUDGET, OPT_COLD, WORST = 20, FIELD_MAX = 64, LAYOUT_CHARS = 128, SEEDS = 8 };
static const char mark[] = "hone-kernels 1\n";
static const char *out;
static int every = 1;
static bool choose;
static double budget = 2;
static int64_t cold_bytes = 32 << 20;
static struct arena arena;
static struct runner *r;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_WRITE: out = arg; return 0;
	case OPT_EVERY: every = atoi(arg) > 1 ? atoi(arg) : 1; return 0;
	case OPT_CHOOSE: choose = true; return 0;
	case OPT_BUDGET: budget = atof(arg); return 0;
	case OPT_COLD: cold_bytes = strtoll(arg, NULL, 10) << 20; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* ---- a file of kernels: text, each C source behind its length ---- */

static void write_kernel(FILE *f, const char *text, const struct runner_build *b)
{
	fprintf(f, "kernel %zu %lld %d %d %d %s\n%s\n", b->nsource, (long long)b->workspace, b->nin, b->nconst, b->nout,
		b->algo ? b->algo : "-", text);
	for (int i = 0; i < b->nin + b->nconst + b->nout; i++) {
		const struct runner_buf *x = &b->buf[i];
		fprintf(f, "%s %lld %u %d", x->type, (long long)x->elems, x->constant, x->rank);
		for (int d = 0; d < x->rank; d++)
			fprintf(f, " %lld", (long long)x->shape[d]);
		fprintf(f, " %s\n", x->layout[0] ? x->layout : "-");
	}
	fwrite(b->source, 1, b->nsource, f);
	fputc('\n', f);
}

/* The schedule that ge-schedule takes for the task; NULL: the default. */
static const char *chosen(struct module *m, struct arena *a)
{
	static struct arena model_arena;
	static struct trees *model;
	struct digest text;

	if (!choose)
		return NULL;
	if (!model)
		model = trees_usual(&model_arena, &text);
	return schedule_choose(m, task_node(m), target_host(), model, SCHEDULES_LOOKED_AT, a).trace;
}

static void write_kernels(const char *corpus)
{
	struct outfile o;
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(corpus, "re");

	if (!f)
		die_errno(EX_NOIN, "%s", corpus);
	outfile_open(&o, out, false);
	fputs(mark, o.f);
	for (int k = 0; getline(&line, &cap, f) > 0;) {
		struct arena a = {0};
		const char *why;
		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#' || k++ % every)
			continue;
		struct module *m = task_module(line, 0, &a, &why);
		struct candidate *c = m ? candidate_new(m, task_node(m), target_host(), chosen(m, &a), false, &why) : NULL;
		if (c) {
			struct runner_build b = build_of(c, &a);
			write_kernel(o.f, line, &b);
			candidate_free(c);
		} else {
			warn("%s: no kernel: %s", line, why);
		}
		if (m)
			module_free(m);
		arena_release(&a);
	}
	free(line);
	fclose(f);
	outfile_close(&o);
}

struct made {
	const char *task;
	struct runner_build b;
};
struct kernels {
	struct made *a;
	size_t n, cap;
};

static bool read_buf(FILE *f, struct runner_buf *x)
{
	char type[FIELD_MAX], layout[LAYOUT_CHARS];
	long long n;

	if (fscanf(f, " %63s %lld %u %d", type, &n, &x->constant, &x->rank) != 4 || x->rank < 0 || x->rank > LOOP_RANK_MAX)
		return false;
	int64_t *shape = ARENA_ARRAY(&arena, int64_t, x->rank + 1);
	for (int d = 0; d < x->rank; d++) {
		long long e;
		if (fscanf(f, " %lld", &e) != 1)
			return false;
		shape[d] = e;
	}
	if (fscanf(f, " %127[^\n]", layout) != 1)
		return false;
	x->type = arena_str(&arena, type);
	x->layout = strcmp(layout, "-") ? arena_str(&arena, layout) : "";
	x->elems = n;
	x->shape = shape;
	return true;
}

/* The next kernel; false: the end, or not of this form. */
static bool read_kernel(FILE *f, struct made *k)
{
	char algo[FIELD_MAX], *line = NULL;
	size_t n = 0;
	long long workspace;
	struct runner_build *b = &k->b;

	if (fscanf(f, "kernel %zu %lld %d %d %d %63s\n", &b->nsource, &workspace, &b->nin, &b->nconst, &b->nout, algo) != 6 ||
	    b->nsource > RUNNER_FRAME_MAX || b->nin < 0 || b->nconst < 0 || b->nout < 0 || b->nin + b->nconst + b->nout > RUNNER_BUFS_MAX ||
	    getline(&line, &n, f) <= 0)
		return false;
	line[strcspn(line, "\n")] = 0;
	k->task = arena_str(&arena, line);
	free(line);
	b->algo = strcmp(algo, "-") ? arena_str(&arena, algo) : NULL;
	b->workspace = workspace;
	struct runner_buf *buf = ARENA_ARRAY(&arena, struct runner_buf, b->nin + b->nconst + b->nout);
	for (int i = 0; i < b->nin + b->nconst + b->nout; i++)
		if (!read_buf(f, &buf[i]))
			return false;
	char *source = arena_alloc(&arena, b->nsource + 1);
	if (fgetc(f) != '\n' || fread(source, 1, b->nsource, f) != b->nsource || fgetc(f) != '\n')
		return false;
	b->buf = buf;
	b->source = source;
	return true;
}

static struct kernels read_kernels(const char *path)
{
	struct kernels k = {0};
	struct made one = {0};
	char line[sizeof mark];
	FILE *f = fopen(path, "re");

	if (!f)
		die_errno(EX_NOIN, "%s", path);
	if (!fgets(line, sizeof line, f) || strcmp(line, mark))
		die(EX_BADDATA, "%s: not a file of kernels (corpus --write)", path);
	while (read_kernel(f, &one))
		vec_push(&k, one);
	if (!feof(f))
		die(EX_BADDATA, "%s:%ld: not a kernel", path, ftell(f));
	fclose(f);
	return k;
}

/* ---- two of them ---- */

struct row {
	const char *task;
	double ratio, lo, hi, us;
	enum verdict verdict;
	const char *why;
};

static struct runner_answer next(void) { return next_of(&r, &arena); }

/* true: *artifact is the built kernel; false: x says why not. */
static bool build(struct row *x, struct digest task, const struct runner_build *b, struct digest *artifact)
{
	runner_build(r, task, b);
	struct runner_answer answer = next();
	*artifact = answer.digest;
	x->verdict = answer.result.verdict;
	x->why = answer.why;
	return answer.result.verdict != VERDICT_BUILD;
}

static double base_us(const struct measurement *x)
{
	double *v = ARENA_ARRAY(&arena, double, x->npairs + 1);

	for (size_t i = 0; i < x->npairs; i++)
		v[i] = 1e-6 * (double)x->pair[i].base;
	qsort(v, x->npairs, sizeof *v, ascending);
	return x->npairs ? sorted_median(v, x->npairs) : NAN;
}

static struct row compare(const struct made *old, const struct made *new)
{
	struct row x = {.task = old->task, .ratio = 1, .lo = 1, .hi = 1, .us = NAN, .verdict = VERDICT_TIE, .why = "the same text"};
	struct digest a, b;

	if (old->b.nsource == new->b.nsource && !memcmp(old->b.source, new->b.source, old->b.nsource))
		return x;
	runner_task(r, old->task);
	struct digest task = next().digest;
	if (!build(&x, task, &old->b, &a) || !build(&x, task, &new->b, &b))
		return x.ratio = NAN, x;
	runner_try(r, &(struct runner_try){
			      .task = task, .artifact = b, .base = a, .budget = budget, .seed = SEEDS, .cold_bytes = (uint64_t)cold_bytes});
	struct runner_answer answer = next();
	const struct measurement *y = &answer.result;
	return (struct row){old->task, verdict_timed(y->verdict) ? y->ratio : NAN, y->lo, y->hi, base_us(y), y->verdict, y->why};
}

static int by_ratio(const void *a, const void *b)
{
	double x = ((const struct row *)a)->ratio, y = ((const struct row *)b)->ratio;

	if (isnan(x) || isnan(y))
		return isnan(y) - isnan(x);
	return (x < y) - (x > y);
}

static void print_row(const char *before, const struct row *x)
{
	printf("%s%.3f\t%.3f\t%.3f\t%s\t%.2f\t%s\n", before, x->ratio, x->lo, x->hi,
	       isnan(x->ratio) ? (x->why ? x->why : verdict_name(x->verdict)) : verdict_name(x->verdict), x->us, x->task);
}

static int compare_files(const char *old_path, const char *new_path)
{
	struct kernels old = read_kernels(old_path), new = read_kernels(new_path);
	struct row *row = ARENA_ARRAY(&arena, struct row, old.n + 1);
	double sum = 0;
	int n = 0, timed = 0, without = 0, missing = 0;
	const char *why;

	if (!(r = runner_open(NULL, 30, &arena, &why)))
		die(EX_NOTAVAIL, "%s", why);
	printf("# %s\n# ratio\tfrom\tto\tverdict\told us\ttask\n", runner_target(r));
	for (size_t i = 0; i < old.n; i++) {
		size_t k = 0;
		while (k < new.n && strcmp(new.a[k].task, old.a[i].task) != 0)
			k++;
		if (k == new.n) {
			warn("%s: only one of the two has a kernel", old.a[i].task);
			missing++;
			continue;
		}
		struct row *x = &row[n++];
		*x = compare(&old.a[i], &new.a[k]);
		timed += !isnan(x->us);
		without += isnan(x->ratio);
		sum += isnan(x->ratio) ? 0 : log(x->ratio);
		print_row("", x);
		fflush(stdout);
	}
	qsort(row, (size_t)n, sizeof *row, by_ratio);
	printf("# %d tasks: %d timed, %d without a ratio, the others the same text; geometric mean %.4f\n# the worst:\n", n, timed, without,
	       n > without ? exp(sum / (n - without)) : NAN);
	for (int i = 0; i < n && i < WORST; i++)
		if (!(row[i].ratio <= 1))
			print_row("# ", &row[i]);
	runner_close(r);
	return missing || without ? EX_BADDATA : EX_GOOD;
}

static int run(const struct tool *t, struct tool_args *a)
{
	if (out && a->nfile <= 1) {
		write_kernels(a->nfile ? a->file[0] : "bench/corpus.txt");
		return EX_GOOD;
	}
	if (out || a->nfile != 2)
		tool_usage();
	return compare_files(a->file[0], a->file[1]);
}

static const struct argp_option options[] = {
	{"write", OPT_WRITE, "FILE", 0, "the kernels of this build", 0},
	{"choose", OPT_CHOOSE, NULL, 0, "--write: not the default schedules, but those that ge-schedule chooses", 0},
	{"every", OPT_EVERY, "N", 0, "only each Nth task is written", 0},
	{"budget", OPT_BUDGET, "S", 0, "seconds for a task, at most; 2", 0},
	{"cold-weights", OPT_COLD, "MB", 0, "of weights that calls go through; 32", 0},
	{"rotation", OPT_COLD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
	{0},
};
const struct tool tool = {
	.name = "corpus",
	.summary = "The default schedules of two builds against each other, on the tasks of many models.",
	.args_doc = "[CORPUS.txt] | OLD.kernels NEW.kernels",
	.max_files = 2,
	.options = options,
	.option = option,
	.run = run,
};
