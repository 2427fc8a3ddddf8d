/* tune-model: a cost model, learned from records. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/option.h"
#include "common/outfile.h"
#include "target/target.h"
#include "tune-model.h"

enum { OPT_MODEL = 1000, OPT_MEMBERS, OPT_TREES, OPT_DEPTH, OPT_FOLDS, OPT_SEED, OPT_BASE, OPT_KB };
static struct learning learning = {.members = 5, .trees = 250, .depth = 5, .folds = 6, .seed = 1};
static bool members_given;
static const char *model, *base_file, *kb_file;

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_MODEL: model = arg; return 0;
	case OPT_BASE: base_file = arg ? arg : ""; return 0;
	case OPT_KB: kb_file = arg; return 0;
	case OPT_MEMBERS: members_given = true, learning.members = (int)option_count("--members", arg, 1, TREES_MEMBERS_MAX); return 0;
	case OPT_TREES: learning.trees = (int)option_count("--trees", arg, 1, 10000); return 0;
	case OPT_DEPTH: learning.depth = (int)option_count("--depth", arg, 1, 12); return 0;
	case OPT_FOLDS: learning.folds = (int)option_count("--folds", arg, 2, 100); return 0;
	case OPT_SEED: learning.seed = option_count("--seed", arg, 0, UINT32_MAX); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void read_examples(struct examples *e, struct tool_args *a)
{
	examples_read(e, a->file, a->nfile);
	note("%zu records, %zu passed over: not timed, or for other stages than this program makes; %zu schedules of %zu tasks", e->records,
	     e->passed, e->a.n, e->task.n);
	if (!e->a.n)
		die(EX_BADDATA, "there is nothing to learn from: no record was timed, and has a schedule that still applies");
}

/* Reads --base, if it was given. */
static void set_base(struct arena *a)
{
	if (!base_file)
		return;
	learning.base = *base_file ? trees_open(base_file, a, &learning.base_text) : trees_usual(a, &learning.base_text);
	if (members_given && learning.members != trees_members(learning.base))
		die(EX_BADUSE, "--members: an addition has as many as its base, %d", trees_members(learning.base));
	learning.members = trees_members(learning.base);
}

static int run_features(struct tool_args *a)
{
	struct examples e = {0};
	struct outfile o;

	read_examples(&e, a);
	outfile_open(&o, a->out, false);
	fprintf(o.f, "group\tdefault\tratio\tseconds");
	for (int i = 0; i < FEATURE_COUNT; i++)
		fprintf(o.f, "\t%s", feature_name((enum feature)i));
	fprintf(o.f, "\n");
	for (size_t i = 0; i < e.a.n; i++) {
		const struct example *x = &e.a.a[i];
		fprintf(o.f, "%d\t%d\t%.6g\t%.6g", x->group, x->usual, x->ratio, x->seconds);
		for (int k = 0; k < FEATURE_COUNT; k++)
			fprintf(o.f, "\t%d", x->f.a[k]);
		fprintf(o.f, "\n");
	}
	outfile_close(&o);
	examples_free(&e);
	return 0;
}

static int run_defaults(struct tool_args *a)
{
	struct examples e = {0};
	struct outfile o;
	size_t without;

	outfile_open(&o, a->out, false);
	size_t n = defaults_write(&e, a->file, a->nfile, &without, o.f);
	outfile_close(&o);
	note("%zu default schedules; %zu more, to which records are ratios, this program does not make", n, without);
	examples_free(&e);
	return 0;
}

static int run_train(struct tool_args *a)
{
	struct examples e = {0};
	struct outfile o;

	set_base(&e.arena);
	read_examples(&e, a);
	outfile_open(&o, a->out, false);
	learn(&learning, &e, NULL, o.f);
	outfile_close(&o);
	examples_free(&e);
	return 0;
}

static int run_eval(struct tool_args *a)
{
	struct examples e = {0};
	struct digest text;

	struct trees *t = model ? trees_open(model, &e.arena, &text) : NULL;
	if (model && base_file)
		die(EX_BADUSE, "--model and --base do not go together");
	set_base(&e.arena);
	read_examples(&e, a);
	struct gain *gain = xcalloc(e.a.n + 1, sizeof *gain);
	if (t)
		predict(t, &e, gain);
	else
		learn_apart(&learning, &e, gain);
	judge(&e, gain, a->json, a->why);
	free(gain);
	examples_free(&e);
	return 0;
}

/* An addition for this machine, kept if it chooses better than hone's model on tasks that it has not seen. */
static int run_learn(struct tool_args *a)
{
	struct examples e = {0};
	struct kb_list l = {0};
	struct outfile o;
	int tasks;

	if (a->nfile || a->out || base_file)
		die(EX_BADUSE, "learn takes neither a file nor --base nor -o: its addition lies beside the knowledge base");
	base_file = "";
	set_base(&e.arena);
	learning.target = target_row(target_host());
	struct kb *k = kb_open_file(kb_file, false);
	kb_find(k, NULL, NULL, &l, &e.arena);
	kb_close(k);
	examples_take(&e, &l, learning.target);
	const char *path = kb_beside(kb_file, TREES_BESIDE, &e.arena);
	struct gain *gain = xcalloc(e.a.n + 1, sizeof *gain);
	predict(learning.base, &e, gain);
	double before = judge_sure(&e, gain, &tasks), after = INFINITY;
	if (tasks >= learning.folds) {
		learn_apart(&learning, &e, gain);
		after = judge_sure(&e, gain, &tasks);
	}
	free(gain);
	if (tasks < learning.folds)
		note("nothing is learned: records of %d tasks with several schedules were made here, and %d are needed", tasks,
		     learning.folds);
	else
		note("times of its choices to the best measured, %d tasks that it has not seen: %.3f; of hone's model %.3f%s", tasks, after,
		     before, after < before ? "" : ": nothing is kept");
	if (after < before) {
		outfile_open(&o, path, false);
		learn(&learning, &e, NULL, o.f);
		outfile_close(&o);
		note("%s: %zu schedules of %zu tasks; builds and tunings on this machine take it", path, e.a.n, e.task.n);
	} else if (unlink(path) && errno != ENOENT) {
		die_errno(EX_IO, "%s", path);
	}
	examples_free(&e);
	return EX_GOOD;
}

static int run_show(struct tool_args *a)
{
	struct arena arena = {0};
	struct digest text;
	int at[COLUMN_COUNT];
	char name[COLUMN_NAME];

	if (a->nfile > 1)
		die(EX_BADUSE, "show takes one model");
	struct trees *t = trees_open(a->nfile ? a->file[0] : NULL, &arena, &text);
	for (int i = 0; i < COLUMN_COUNT; i++) { /* those that most nodes ask for first */
		int k = i;
		for (; k > 0 && trees_count(t, at[k - 1]) < trees_count(t, i); k--)
			at[k] = at[k - 1];
		at[k] = i;
	}
	printf("%d members, %d nodes\n", trees_members(t), trees_nodes(t));
	for (int i = 0; i < COLUMN_COUNT; i++)
		printf("%6d  %-26s %s\n", trees_count(t, at[i]), column_name(at[i], name),
		       feature_what((enum feature)(at[i] % FEATURE_COUNT)));
	arena_release(&arena);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct tool_args *a);
} verbs[] = {
	{"features", run_features}, {"defaults", run_defaults}, {"train", run_train},
	{"eval", run_eval},         {"learn", run_learn},       {"show", run_show},
};

static int run(const struct tool *t, struct tool_args *a)
{
	if (a->nfile == 0)
		tool_usage();
	const char *name = a->file[0];
	a->file++, a->nfile--;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verbs[i].name, name))
			return verbs[i].run(a);
	die(EX_BADUSE, "%s: no such verb; tune-model --help lists them", name);
}

static const struct argp_option options[] = {
	{"model", OPT_MODEL, "FILE", 0,
	 "eval: this model; without it, models of the records themselves, each for tasks that it has not seen", 0},
	{"base", OPT_BASE, "FILE", OPTION_ARG_OPTIONAL,
	 "train, eval: an addition to this model; without FILE to the one that hone brings along", 0},
	{"kb", OPT_KB, "FILE", 0, "learn: the knowledge base", 0},
	{"members", OPT_MEMBERS, "N", 0, "models of so many seeds, of which the middle counts; 5", 0},
	{"trees", OPT_TREES, "N", 0, "trees of a member; 250", 0},
	{"depth", OPT_DEPTH, "N", 0, "questions of a tree, one after the other; 5", 0},
	{"folds", OPT_FOLDS, "N", 0, "eval: parts of the tasks, of which each is left out once; 6", 0},
	{"seed", OPT_SEED, "N", 0, "of what is random in training; 1", 0},
	{0},
};

const struct tool tool = {
	.name = "tune-model",
	.summary = "A cost model of schedules, learned from what was measured.",
	.args_doc = "VERB [FILE...]",
	.more = "Verbs:\n"
		"  features [FILE...]  print the features of records' schedules, as a table\n"
		"  defaults [FILE...]  print the default schedules that records are ratios to\n"
		"  train [FILE...]     learn a model from records\n"
		"  eval [FILE...]      say how good a model is at choosing schedules\n"
		"  learn               learn an addition for this machine from its knowledge base, for builds and tunings here\n"
		"  show [MODEL]        say which features a model looks at\n\n"
		"FILE is what kb dump prints; standard input without one.",
	.flags = TOOL_OUT | TOOL_JSON | TOOL_WHY,
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
