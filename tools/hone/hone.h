/* The parts of hone. */
#ifndef HONE_HONE_H
#define HONE_HONE_H
#include <stdio.h>
#include <sys/types.h>
#include "common/arena.h"
#include "common/facts.h"
#include "common/msg.h"
#include "common/vec.h"

/* ---- the command line (options.c) ---- */

enum verb_id {
	V_BUILD = 1,
	V_TUNE = 2,
	V_SIMPLIFY = 4,
	V_QUANTIZE = 8,
	V_PASSES = 16,
	V_BENCH = 32,
	V_ADVISE = 64,
	V_BISECT = 128,
	V_BUNDLE = 256,
	V_TRAIN = 512
};

struct hone;
struct verb {
	const char *name;
	enum verb_id id;
	const char *usage, *summary; /* for help */
	void (*run)(struct hone *h);
};

struct option_row {
	const char *name; /* without the dashes, or "" */
	char letter;      /* or 0 */
	const char *arg;  /* NULL: it takes none */
	unsigned verbs;   /* enum verb_id */
	/* Stages and other programs that are given it as it is, by name, divided by blanks: "plan emit". "": hone itself reads it. */
	const char *to;
	const char *help;
	const char *as; /* its name there, if it is another */
};

struct words {
	const char **a;
	size_t n, cap;
};

struct given {
	const struct option_row *row;
	const char *value; /* NULL: it takes none */
};

/* Reads argv[2] and what follows. Help, if it is asked for, is printed, and then it returns false. */
bool options_read(struct hone *h, int argc, char **argv);
const struct verb *verb_find(const char *name);
struct nearest;
void verbs_offer(struct nearest *n);   /* the name of each */
void help_print(const struct verb *v); /* NULL: of all */

/* ---- one run of hone ---- */

/* A line of the report. */
struct stage_line {
	const char *name;
	double nodes, groups, seconds; /* less than 0: it has none */
};

/* How the library compares with the model. */
struct checked {
	const char *said; /* one line; NULL: nobody asked */
	int code;         /* exit code: 0, EX_DIFFERENT, or why it was not compared */
	struct facts facts;
};

/* Steps of a build, and what would run them. */
struct covered {
	const char *name, *as, *why; /* as: kernel, native, slow path, flow */
	double picoseconds;          /* predicted; 0: not known */
};
struct covered_by {
	int steps;
	double picoseconds;
};
struct coverage {
	bool is_known;
	VEC(struct covered) steps;
	struct covered_by kernels, native, slow, flow;
	double picoseconds;
};

struct hone {
	/* the command line */
	const struct verb *verb;
	const char *line; /* the command, for a shell to read */
	const char *model, *stem;
	struct words models; /* of a verb that takes several: all of them */
	VEC(struct given) given;
	bool quiet;
	struct arena arena; /* of texts, for the life of the process */

	/* graphs (chain.c) */
	const char *work;   /* folder of intermediate files, with its own names in it alone */
	const char *folder; /* where the next graph goes: work, or a folder in it */
	int count;          /* graphs so far in that folder */
	const char *last;   /* the newest graph; at first the model */
	const char *digest; /* its digest; NULL: not known */
	bool aside;         /* its stages are neither kept nor reported */
	struct words kept;  /* paths of the graphs that go to STEM.d */
	bool is_kept;       /* they are there */
	VEC(struct stage_line) lines;
	double start;
	struct words words[32]; /* by stage: options that this verb gives it */

	/* what the report says */
	struct words plan_notes, group_notes, join_notes, schedule_notes, gear_notes, form_times, remarks;
	bool open_sizes, slow_path; /* as ge-plan has it */
	const char *before_level;   /* the graph before ge-integer, or before gears, if rows were rounded to bytes; NULL: none were */
	const char *before_gears;   /* NULL: it has none */
	struct checked check;
	struct coverage coverage;
	const char *line_name;  /* begins each line where several builds write to one place; NULL: this is the only one */
	double level_seconds;   /* of processor time, for telling what rounding changes */
	const char *high, *low; /* the two forms of a model that may be mixed */
	bool forms_differ;      /* else there was nothing to choose */
	const char *target;     /* what the library is for; NULL: this machine */
	struct words targets;   /* those of a library for several, as they were given; else none */
	const char *label;      /* of the one of them that stages run for, in names of stages and reports; NULL: they run for all */
};

bool given_is(const struct hone *h, const char *option);
const char *given_value(const struct hone *h, const char *option); /* the last, or NULL */
/* Adds all that were given and go to this stage or program, as "--name=value". */
void given_add(const struct hone *h, struct words *w, const char *to);
void words_add(struct words *w, const char *word);
const char *text(struct hone *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- programs (child.c) ---- */

struct child {
	struct words argv;
	const char *out;     /* file for its standard output; NULL: nowhere */
	const char *in;      /* file for its standard input; NULL: nothing */
	bool reads_input;    /* its standard input is ours */
	bool out_has_all;    /* its standard error, too */
	bool shows_progress; /* its standard error is ours, if that is a terminal */
	bool is_search;      /* the first interrupt or SIGTERM ends it, and not hone: child_interrupted */
	double limit;        /* seconds; 0: none. Then it is killed, and its code is CHILD_LATE */
	const char *facts;   /* set by child_run: where they are */
};

/* To be called once before any child: signals are waited for from then on. */
void child_begin(struct hone *h);
enum { CHILD_LATE = 124 };
/* Starts argv[0], which is one of hone's tools or a program of the path, and waits. Returns the exit code, 128 + number of the signal that
 * killed it. A signal to hone meanwhile ends the child, then hone. What the child says is kept for child_tell; *f has its facts. */
int child_run(struct hone *h, struct child *c, struct facts *f);
/* The same; where it fails, tells what it said and ends hone with its code. */
struct facts child_must(struct hone *h, struct child *c);
noreturn void child_failed(struct hone *h, int code, const struct facts *f);
/* Prints what the last child said, and the notes among its facts. */
void child_tell(struct hone *h, const char *tool, const struct facts *f);
/* Where sizes are missing: the command of the user with them. False: none are. */
bool child_tell_give(struct hone *h, const struct facts *f);
extern bool child_interrupted;   /* a search was: it and those that follow end with what is known */
extern const char *tools_folder; /* where hone's tools are; "" until tools_find */
void tools_find(void);
/* Prints text with "name: " before each line; name NULL: as it is. */
void put_named(struct hone *h, FILE *f, const char *name, const char *text);
/* A signal came between two children. */
void child_check_signals(struct hone *h);
/* Signals do again what they did before child_begin. */
void child_end(void);
void progress(const struct hone *h, const char *what); /* NULL: clears the line */

/* ---- places (place.c) ---- */

/* Makes h->work, after those that killed runs of hone have left are removed. Both it and what stem_open makes go when hone ends. */
void work_make(struct hone *h);
void place_remove(struct hone *h);
/* The place of results: its directory is made, STEM.d too, and no other hone writes there until the end. */
void stem_open(struct hone *h);
/* The graphs so far into STEM.d, under names of their own until stem_keep: what can fail fails here. */
void stem_set_aside(struct hone *h);
void stem_keep(struct hone *h);
/* Makes the folders of the file's path. */
void place_folders(struct hone *h, const char *file);
/* Refuses a directory or a device as a place for a file (74). */
void place_check(const char *path);
/* A file of ours under its name: whole or not there. */
void place_publish(struct hone *h, const char *file, const char *path);
void put_file(FILE *f, const char *path); /* what is in it */
double file_bytes(const char *path);      /* 0: not there */
const char *base_name(const char *path);
noreturn void no_space(void);

/* ---- stages (chain.c) ---- */

enum stage_id {
#define STAGE(name, tool, when, parts, options) STAGE_##name,
#include "stages.h"
	STAGES
};
enum stage_part { SIZES = 1, CLEAN = 2, REPEATS = 4, CASTS = 8, KERNELS = 16, REPORTS = 32, SEARCHES = 64 };

void stages_print(FILE *f);
int stage_find(const char *name); /* -1: there is none */
/* Runs those of stages first to last that this build has; all of them, or only those of a part, their names with prefix. */
void chain_run(struct hone *h, enum stage_id first, enum stage_id last, unsigned part, const char *prefix);
/* One stage: the next graph of h->last, with more words before that. Its notes are told, or are for the report. */
struct facts chain_stage(struct hone *h, enum stage_id s, const char *prefix, const struct words *more);
/* The stage's tool, with the options of this build, from one file to another; its exit code. Nothing is told or kept. */
int chain_try(struct hone *h, enum stage_id s, const char *from, const char *to);
void chain_word(struct hone *h, enum stage_id s, const char *word); /* this verb gives it that in each run */
void chain_line(struct hone *h, const char *name, double since, const struct facts *f);
const char *chain_graph(struct hone *h, const char *name); /* the path of the next graph */
/* own.c: the passes of --pass that come after this stage, each on h->last. */
void own_passes(struct hone *h, enum stage_id after);
void own_check(const struct hone *h); /* refuses stages that there are not (64) */
/* From now on stages work in a folder of their own, unseen, until chain_back gives h->last and the rest back. */
struct chain_mark {
	const char *last, *digest, *folder;
	int count;
	bool aside;
};
struct chain_mark chain_aside(struct hone *h, const char *folder);
void chain_back(struct hone *h, const struct chain_mark *m);
const char *stage_name(enum stage_id s);

/* ---- verbs ---- */

void build(struct hone *h);
void passes(struct hone *h);
void bench(struct hone *h);
void advise(struct hone *h);
void bisect(struct hone *h);
void bundle(struct hone *h);
void tune(struct hone *h);
void simplify(struct hone *h);
void quantize(struct hone *h);
void train(struct hone *h);

/* targets.c: several targets in one library. */
void targets_read(struct hone *h);  /* from the command line; other verbs than build have one at most */
void targets_build(struct hone *h); /* the library */
/* build.c */
void build_made(struct hone *h);    /* all stages, and the library under STEM */
void build_library(struct hone *h); /* from the graph before ge-plan on */
void build_report(struct hone *h, FILE *f);
/* report.c, coverage.c: the same for programs; what would run the steps, as ge-plan --steps tells it. */
void build_json(struct hone *h, FILE *f);
void coverage_take(struct hone *h, const struct facts *f);
void coverage_report(const struct hone *h, FILE *f);
void coverage_json(const struct hone *h, FILE *f);
/* ge-emit of the planned graphs: one, or one for each of h->targets. */
void build_emit(struct hone *h, const struct words *graphs);
enum { COLUMN_NAME = 13 };
void columns(FILE *f, int width, const char *name, double nodes, double groups, double seconds);
/* gears.c: what ge-gears is given beside the command line. */
void gears_words(struct hone *h, struct words *w);
/* forms.c: both forms, and the choice. */
void mixed_run(struct hone *h);
void mixed_fastest(struct hone *h); /* the fastest of mixture and forms, as whole models, becomes h->last */
/* level.c: what rounding rows to bytes costs, for the report; nothing where none were rounded. */
void level_cost(struct hone *h);
/* check.c */
void check_library(struct hone *h); /* with --check: compares STEM.so with the model, for the report and check_end */
void check_end(struct hone *h);     /* ends hone where they differ, or were not compared */
/* The graph that a library is compared with: the model at its sizes; where options ask for other numbers or outputs, the last of single
 * operators. */
const char *check_reference(const struct hone *h);
const char *graph_after(const struct hone *h, enum stage_id s); /* the last that this stage made; NULL: none */
/* run-cmp --rewritten of a graph or a library with a graph that it was made of. */
struct comparison {
	const char *made, *reference;
	int runs;             /* 0: 1 */
	int seed;             /* of the first run's drawn inputs */
	const char *seconds;  /* of processor time; NULL: 300 */
	const char *inputs;   /* .npz; NULL: drawn ones */
	const char *save;     /* where inputs go with which they differ; NULL: nowhere */
	double tolerance;     /* 0: that of the types */
	bool drawn, as_given; /* with the options of drawn inputs, of sizes and constants */
	struct facts *each;   /* the report on each output; NULL: not wanted */
};
enum { COMPARE_RUNS = 10 };
int compare_numbers(struct hone *h, const struct comparison *x, struct facts *f); /* the exit code; *f: what it told */
const char *compare_distance(struct hone *h, const struct facts *f);              /* "logits differs by ..." */
/* timing.c */
bool is_library(const char *model); /* by its name */
/* A library of the model in the folder of intermediate files, by hone build with the options of this verb that it knows; sizes: "", or more
 * for --set. NULL: it failed with *code, and *f says why. */
const char *library_made(struct hone *h, const char *model, const char *sizes, const char *threads, int *code, struct facts *f);
bool library_of(struct hone *h, const char *graph, const char *name);     /* WORK/NAME.so, made quietly; false: it cannot be */
bool library_emit(struct hone *h, const char *planned, const char *name); /* the same of a graph that is planned */
double library_least(struct hone *h, const char *library);                /* seconds of its fastest run; NAN: it has none */
bool library_time(struct hone *h, const char *library, const char *json); /* as run-dev says it, for ge-quantize */
void measure_shares(struct hone *h);
/* tune.c: the runner for a target that this machine passes for. */
const char *target_runner(struct hone *h);
/* tune_page.c: into the page of --report, if there is one: seconds of the whole model, infinite if not measured, model and command. */
void tune_page(struct hone *h, double before, double after);
/* simplify.c: parts that quantize has, too. */
double model_bytes(struct hone *h, const struct facts *import);
void print_bytes(FILE *f, double before, double after);
void stat_table(struct hone *h, FILE *f);
/* ge-export, with one more option or NULL; its exit code. */
int export_try(struct hone *h, const char *made, const char *option, struct facts *f);
#endif
