/* Between the files of tune-graph. */
#ifndef TUNE_GRAPH_H
#define TUNE_GRAPH_H
#include "common/progress.h"
#include "graph/module.h"
#include "graph/plan_text.h"
#include "kb/kb.h"
#include "runner/measurement.h"
#include "tune/stop.h"

/* ---- choice.c: which statements of a segment form groups ---- */

/* A way to group the statements of a segment. Groups are numbered from 1, by their first statements; 0: in none. */
struct choice {
	const uint32_t *group;
	bool row_major;     /* values between its groups stay so, whatever ge-layout would choose */
	const int *threads; /* statement: how many its group uses at most, 0: all; NULL: all use all */
	const char *how;    /* in words: what differs from the usual */
	double predicted;   /* seconds, by the cost model; infinite: it has no kernels. 0: not yet known */
	double expected;    /* seconds on this machine */
	bool like_usual;    /* that is the prediction by how long the usual groups take beside theirs, */
	size_t like;        /* else by so many other segments; 0: the prediction itself */
	bool measured;
	struct measurement result; /* against the usual */
	const char *kernels,
		*usual_kernels; /* that only these groups have, and only the usual ones, as records have them; NULL: not built */
};
struct choices {
	struct choice *a;
	size_t n, cap;
};
/* The ways that are one step from one, for the module of a segment (its main graph: a node a statement), where the library has so many
 * threads. Arena. */
void choices_near(struct module *m, const struct choice *from, int threads, struct choices *out, struct arena *a);
/* Are both the same, for n statements? */
bool choice_is(const struct choice *c, const struct choice *other, uint32_t n);
/* How many threads group g uses at most; 0: all. */
int choice_threads(const struct choice *c, uint32_t n, uint32_t g);
/* "0 1 2; 3 4", or "row-major 0 1 2 by 1; 3 4", where one group uses one thread: the statements of each group; and back. False: no such text
 * for n statements. */
const char *choice_text(const struct choice *c, uint32_t n, struct arena *a);
bool choice_parse(const char *text, uint32_t n, struct choice *out, struct arena *a);
/* Numbers groups by their first statements. */
void choice_settle(uint32_t *group, uint32_t n);

/* ---- segments.c: parts of the model ---- */

/* Parts of a model that compute the same. */
struct segment {
	const char *text;         /* of the task of the whole segment */
	uint32_t n;               /* statements */
	struct choice usual;      /* by the rules */
	size_t places;            /* of the model, with the usual layouts at both ends */
	bool done;                /* searched before, with as many trials */
	const struct choice *won; /* confirmed to be faster; NULL: none */
	bool overtaken;           /* what won is slower than the usual groups by kernels that were tuned since */
	bool foreign;             /* what won was measured elsewhere, or with weights that were not as cold */
	double mean;              /* of the choice that won, against the usual one, over all measurements */
	bool failed;              /* its usual groups have no library */
	struct choices first;     /* one step from the usual groups, predicted; none: not looked at */
	double usual_seconds;     /* of the usual groups, as timed; 0: not known */
	double gain;              /* seconds of a run of the model that the best of them is expected to save */
	double least;             /* predicted seconds of the best of what was looked at, the usual groups among it; 0: not known */
	bool wanted;              /* to be searched, and told of: it has a place, or is on the path that is expected to be the best */
};

/* States of a cut: how images lie in memory that pass it. */
enum cut_state {
	CUT_USUAL, /* as ge-layout chose for the usual groups */
	CUT_ROWS,  /* all of them row-major */
	CUT_STATES
};
/* How a result of a statement leaves its segment. */
enum leaves { LEAVES_NOT, LEAVES_USUAL, LEAVES_ROWS };
/* A part of the model with given states of the cuts before and after it. */
struct way {
	uint32_t segment;      /* which one is its task; NO_SEGMENT: it has none */
	const sym *name;       /* statement: the name of its node in a plan */
	const uint8_t *leaves; /* statement: enum leaves */
};
#define NO_SEGMENT UINT32_MAX
/* A part of the model. The last has no cut after it. */
struct place {
	struct way way[CUT_STATES][CUT_STATES]; /* [before][after] */
	bool turns;                             /* the cut after it passes images whose layout can be another */
	bool tied;                              /* an image passes both its cuts, which then have one state */
	uint32_t after;                         /* chosen state of the cut after it */
};
struct segments {
	VEC(struct segment) a; /* those with usual layouts at their ends come first */
	size_t usual;          /* so many of them */
	VEC(struct place) place;
	size_t left_out; /* parts without a text: of sizes that vary, and the like */
};
/* Cuts a model without groups (the file plain) at values that all else passes through, else at few values; usual and laid: its groups by
 * the rules, and the file that ge-layout made of these. */
void segments_cut(struct segments *out, const char *plain, const char *laid, const struct plan_text *usual, struct arena *a);
/* The segment of a text, each statement a node of the main graph. Text that is none: NULL and *why. */
struct module *segment_module(const char *text, struct arena *a, const char **why);
/* Statement: its group of that plan. Arena. */
const uint32_t *segment_groups(struct module *m, const struct plan_text *plan, struct arena *a);
/* The plan of the whole model that the winners make; what no segment has is left to the rules. */
void segments_plan(const struct segments *s, const char *plain, struct plan_text *out);

/* ---- path.c: states of all cuts together ---- */

/* Chooses the states of all cuts, so that a run of the model takes least. pace: how many times as long this machine takes as the cost model
 * says, of a segment. Only segments that were timed count where pace is NULL. Returns the seconds that other than the usual states save. */
double path_choose(struct segments *s, double (*pace)(const void *of, const struct segment *s), const void *of);
/* Gives all cuts their usual states. */
void path_reset(struct segments *s);
/* Cuts with another state than the usual one. */
size_t path_turned(const struct segments *s);
/* Segments that a place has under the states that were chosen; those of them with other groups than the usual ones. */
size_t path_segments(const struct segments *s);
size_t path_winners(const struct segments *s);
/* The way of a place under these states. */
const struct way *path_way(const struct segments *s, size_t place);

/* ---- kernels.c: what groups become ---- */

struct kernels {
	struct {
		const char *task, *trace; /* NULL: the default */
		double seconds;           /* predicted, of all its places together */
	} * a;
	size_t n, cap;
	double seconds; /* of all */
};
/* The kernels of a graph that ge-schedule wrote. Arena. */
void kernels_read(const char *path, struct kernels *out, struct arena *a);
/* Kernels that x has and y has not, or fewer of, as a field of a record; shares are of `whole` seconds. */
const char *kernels_text(const struct kernels *x, const struct kernels *y, double whole, struct arena *a);

/* ---- trial.c: building and timing ---- */

/* Where the time went, in seconds. */
struct spent {
	double predict, build, compare, time;
};
struct bench {
	struct spent spent;
	const char *folder; /* for files of ours */
	const char *tools;  /* where the other tools are */
	uint64_t cold_bytes;
	double seconds;          /* of one measurement, at most */
	int threads;             /* of the libraries */
	struct segment *segment; /* whose tools run; NULL: of the whole model */
	struct module *m;        /* of the segment */
	struct digest digest;
	const char *usual; /* stem of the library of the usual grouping; NULL: not built */
	struct kernels usual_kernels;
};
/* Runs a tool with these words; its exit code. out: file for its standard output, or NULL. What it said is in FOLDER/said. */
int tool_run(const struct bench *b, const char *out, const char *const *word);
/* What the last tool said, its first line. */
const char *tool_said(const struct bench *b, struct arena *a);
/* Makes b ready for a segment. */
void bench_begin(struct bench *b, struct segment *s, struct module *m);
/* Lays the groups out, and predicts their seconds; infinite: that cannot be, and *why says why. */
double bench_predict(struct bench *b, const struct choice *c, struct arena *a, const char **why);
/* Builds it, compares its results with those of the usual grouping, and times it against that: c->result. False: the usual one has no library. */
bool bench_measure(struct bench *b, struct choice *c, uint64_t seed, struct arena *a);
/* Times whole models, of files with groups and layouts: the median of three processes, or the first verdict that is no timing. */
void bench_whole(struct bench *b, const char *usual, const char *other, struct measurement *r, struct arena *a);

/* ---- expect.c ---- */

/* How many times as long segments took as the cost model says. */
struct pace {
	const char *task;
	VEC(double) times;
};
struct paces {
	struct pace *a;
	size_t n, cap;
};
void paces_add(struct paces *p, const char *task, double predicted, double seconds);
/* The median over segments, of which each has its own median, except this one; 1: there are no others. *segments: how many. */
double pace_of(const struct paces *p, const char *task, size_t *segments);

/* ---- records.c ---- */

struct book {
	struct kb *kb;
	bool prints;      /* records go to standard output, not into kb */
	const char *tool; /* provenance */
	const char *target;
	uint64_t cold_bytes;
	size_t trials; /* asked for, of a segment */
	int threads;   /* of what is measured */
	bool trusted;  /* only what was measured here, or came with hone, wins */
};
/* What is known of the segment: if it was searched, and the plan that wins, by the knowledge base's rule; here: of what was measured here and so
 * alone. s->foreign: what wins was measured elsewhere or otherwise; with b->trusted: what would win is not trusted. */
void book_recall(const struct book *b, struct segment *s, bool here, struct arena *a);
/* Sets c->measured, and the measurement of that choice, if it was made here: of the search (0), or a remeasurement by its number. */
void book_recall_choice(const struct book *b, const struct segment *s, struct choice *c, int remeasurement, struct arena *a);
/* What was measured of the segment here, without remeasurements, each plan once. The median time of the usual groups; 0: not known. */
double book_choices(const struct book *b, const struct segment *s, struct choices *out, struct arena *a);
/* Reads how long the segments that were timed here took. Arena. */
void book_paces(const struct book *b, struct paces *out, struct arena *a);
/* Writes that measurement. mean: over all remeasurements, of the last one of a choice that is confirmed; else 0. */
void book_put(const struct book *b, const struct segment *s, const struct choice *c, int remeasurement, double mean);
/* The same of a whole model with a plan, both named by digests; and its verdict, VERDICT_COUNT where it is not known. */
void book_put_whole(const struct book *b, struct digest model, struct digest plan, const struct measurement *m);
enum verdict book_recall_whole(const struct book *b, struct digest model, struct digest plan, struct measurement *m, struct arena *keep);
/* Writes that the segment was searched. */
void book_put_searched(const struct book *b, const struct segment *s);

/* ---- search.c ---- */

struct tuning {
	struct bench bench;
	struct book book;
	uint64_t seed;   /* of the order in which two are timed */
	size_t trials;   /* groupings to time of each segment at each step */
	double deadline; /* by now_seconds; 0: none */
	bool why;        /* says what came of each */
	struct progress progress;
	struct paces paces;       /* of this machine, with weights as cold as now */
	struct measurement whole; /* of the model with other groups; VERDICT_COUNT: none */
	size_t timed, won;        /* so far: measurements; segments with other groups */
	struct arena arena;
};
/* Finds s->won: what is known of the segment, then what trials find until the deadline or a signal. */
void search_segment(struct tuning *t, struct segment *s);
/* To be called before: what is known of it and, if it is to be searched, what to expect of the first step. */
void search_look(struct tuning *t, struct segment *s);
/* Begins nothing more: the time is over, or a signal came. */
bool search_is_over(const struct tuning *t);
/* Only what is known of it. */
void search_recall(struct tuning *t, struct segment *s);
/* Predicts its usual groups, as they are and row-major. */
void search_glance(struct tuning *t, struct segment *s);
/* expect.c. Sets c->expected and the two that follow, of a choice that was predicted. */
void expect(const struct tuning *t, const struct segment *s, struct choice *c);

/* ---- picture.c, report.c ---- */

/* The segment of a module with its groups, as SVG. Groups that another grouping (NULL: none) does not have are marked. */
void picture_put(FILE *f, struct module *m, const uint32_t *group, const uint32_t *other, const char *what);
/* Writes a page: each segment before and after, what was tried, where the time went. model: its name, or "". */
void report_write(const struct tuning *t, const struct segments *s, const char *model, FILE *f);
#endif
