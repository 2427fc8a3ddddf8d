/* One tuning: tasks, their searches, and what is remembered of it. */
#ifndef HONE_TUNE_SESSION_H
#define HONE_TUNE_SESSION_H
#include <stdio.h>
#include "common/progress.h"
#include "kb/kb.h"
#include "tune/dispatcher.h"
#include "search/search.h"

enum { REMEASUREMENTS = 3, REMEASUREMENTS_MAX = 6, FINAL, LATE_REMEASUREMENTS = 2, LATE_MAX = 4, FINAL_LAST = FINAL + LATE_MAX };

/* A trial as the search sees it: timed now, known from before, or the same code as another. */
struct trial {
	struct tuned *task;
	struct point *point;
	int remeasurement; /* 0: the search's; 1 to REMEASUREMENTS_MAX: timed afresh; FINAL and above: what counts, see confirm.c */
	size_t number;     /* of the task's trials, from 1 */
	bool done, known;  /* known: from the knowledge base */
	bool dropped;      /* the time was over before it was timed */
	bool retired;      /* its result may be used */
	bool repeat; /* a remeasurement that came to nothing by a runner's fault, which says nothing of a kernel: once more, but not for ever */
	struct trial *same; /* an earlier one whose C is the same */
	struct digest source;
	const char *trace;         /* stamped; NULL: it could not be made */
	struct measurement result; /* against the default; of same, once it is retired */
	struct request request;    /* to the runners */
};

enum phase { PHASE_NEW, PHASE_SEARCH, PHASE_FINAL, PHASE_LATE, PHASE_DONE };

/* One distinct operator of the model. */
struct tuned {
	const char *text, *title;
	struct digest digest;
	size_t calls;      /* nodes of the model that are it */
	double weight;     /* how often a run computes it (struct task) */
	double flops;      /* of one call */
	const char *given; /* trace the model had, NULL: none */
	enum phase phase;
	bool skipped;          /* --only, --skip */
	const char *untunable; /* why there is nothing to search */
	struct arena arena;
	struct module *in; /* the model, */
	node_id node;      /* where it is this node */
	struct module *m;  /* of its own, with random weights */
	node_id n;
	struct task_base base;
	struct kb_base ratios_to; /* the default, as records name it */
	struct space *space;
	struct search *search;
	size_t proposed;     /* points, so far */
	size_t timed, known; /* of them: here; before */
	size_t failed[VERDICT_COUNT];
	size_t lost;    /* remeasurements that came to nothing, by no fault of the kernel */
	int in_flight;  /* batches */
	int finalists;  /* points remeasured since the search ended */
	bool cut;       /* not all was tried or remeasured when the time for it was over: goes on if the last remeasurements leave time */
	double seconds; /* of the default, the least median seen; 0: not known */
	VEC(struct trial *) trials;         /* retired or not, in order */
	VEC(struct trial *) remeasurements; /* those of them that are remeasurements */
	VEC(double) curve;                  /* best ratio after each trial */
	const struct trial *champion;       /* confirmed faster, its last remeasurement; NULL: the default stays */
	struct kb_list records;             /* of this task, from the knowledge base */
	bool *ours, *passed;                /* of each of them: measured here; it cannot be used here, and that has been said */
	size_t turns;                       /* of its last remeasurements: batches so far */
	VEC(const struct tuned *) met;      /* tasks whose champion has been an origin here */
	const char *trace;                  /* to apply: NULL: the default */
	const char *from;                   /* where it came from, in words */
	double ratio, lo, hi;               /* of it, re-timed; ratio 0: not timed */
	bool searched;                      /* here, or before */
	bool complete;                      /* searched to its end */
	const char *why;                    /* in words, for --why; NULL: as ratio says */
};

struct options {
	double seconds; /* 0: no limit */
	size_t trials;  /* per task; SIZE_MAX: no limit */
	uint64_t seed;
	const struct strategy *strategy;
	const struct cost_model *cost;
	const struct task_scheduler *scheduler;
	int64_t cold_bytes; /* megabytes of constants that calls go through; -1: as the model has */
	const char *kb;     /* NULL: where it usually is */
	bool records_out;   /* records go to standard output, not into the knowledge base */
	const char *tool;   /* provenance: name, version, options that change what is proposed */
};

/* Where the time went, in seconds. */
struct ledger {
	double generate, build, run, wait, search, all; /* build, run: as the runners say, side by side */
};

struct session {
	const struct options *opt;
	struct arena arena;
	const struct target *target; /* that code is made for */
	const char *target_row;
	uint64_t cold_bytes;   /* bytes, see runner.h */
	const char *cold_text; /* in records; "": none */
	struct kb *kb;
	struct dispatcher *dispatcher;
	struct tuned *task;
	int ntask;
	const char *id;               /* of the tuning: the same tasks, options and target */
	VEC(struct batch *) batches;  /* in flight, oldest first */
	VEC(struct kb_record) others; /* what won elsewhere: faster than a default, any task and target, not by this tuning */
	bool others_read;
	struct ledger ledger;
	size_t put;       /* records written */
	bool interrupted; /* by a signal */
};

/* Tunes; the result is in the tasks. Opens runners (commands; none: the one beside this program) and knowledge base. */
void session_run(struct session *s, const char *const *runner, int nrunner);
void session_close(struct session *s);
/* Gain for the model: time saved as a share of the default's, over tasks that have been timed; and calls' seconds before. */
double session_gain(const struct session *s, double *before);
/* "[####----] 3/12 tasks, 96 trials, best 0.81, model -4.2%, 12 s left": deadline of all, infinite: there is none. A task of a search
 * that only time ends is done when it has been timed. */
void session_show(const struct session *s, struct progress *p, double deadline);

/* Trials that came to a result; of a task of which none did now: those known. */
static inline size_t trials_done(const struct tuned *t) { return t->curve.n ? t->curve.n : t->known; }

struct trial *trial_new(struct tuned *t, struct point *p, int remeasurement);

/* confirm.c. Each adds trials to out, which has room for REMEASUREMENTS, and returns their number: the first `count` remeasurements of the
 * best point within so much of the champion's time; one more of a point that is open; the final one of a point that is faster than the
 * champion by more than a tie; a late one of the champion. */
size_t add_remeasurements(struct tuned *t, double within, int count, struct trial **out);
size_t add_more_remeasurements(struct tuned *t, struct trial **out);
size_t add_finals(struct tuned *t, struct trial **out);
size_t add_late_remeasurements(struct tuned *t, struct trial **out);
/* The last remeasurement of the point that leads; NULL: none is faster. */
const struct trial *find_champion(const struct tuned *t);
bool is_remeasuring(const struct tuned *t); /* has remeasurements in flight */
/* Does its choice still stand after that final or later remeasurement? Yes if it is open. */
bool is_kept(const struct tuned *t, const struct trial *last);
/* Geometric mean, and number, of the ratios of all retired remeasurements of its point and that one. */
double mean_ratio(const struct tuned *t, const struct trial *final);
/* Geometric mean of all retired timings of a point, the search's own included; 0: none was timed. */
double point_ratio(const struct tuned *t, const struct point *p);
int count_ratios(const struct tuned *t, const struct trial *final);

/* begin.c. Finds the default, to which ratios are ratios, with the weights of the model's own node. False: there is none, and t->untunable
 * says why. */
bool find_default(struct session *s, struct tuned *t, struct module *m, node_id n);
/* Makes what all trials need; false: there is nothing to search. */
bool prepare(struct session *s, struct tuned *t);
void begin(struct session *s, struct tuned *t); /* its search */
/* Makes schedules that have won for the nearest few tasks origins of the search. */
void meet(struct session *s, struct tuned *t);
uint64_t seed_of(const struct session *s, const struct tuned *t);
struct digest source_digest(const struct candidate *c);

/* nearest.c. For a task that was not timed against today's default, here or before. take_older: the schedule that won against an older
 * default, if it took less time than today's. take_nearest: the nearest task's schedule, adapted, if the cost model prefers it. */
bool take_older(struct session *s, struct tuned *t);
void take_nearest(struct session *s, struct tuned *t);

/* records.c: what the knowledge base says. */
void put_trial(struct session *s, const struct trial *x);
void put_search(struct session *s, const struct tuned *t);
/* The result of this trial, if it is there. */
bool recall_trial(struct session *s, struct trial *x);
/* Was a search of this task with these options recorded as done? *own: only by this tuning. */
bool recall_search(struct session *s, const struct tuned *t, bool *own);
/* For a task without trials in this run: sets the number of known trials and the default's time. */
void count_known(struct session *s, struct tuned *t);
/* Rebuilds the curve of a search that was done before from its trials' records, by their numbers; none if one has no number. */
void recall_curve(struct session *s, struct tuned *t);
void read_task_records(struct session *s, struct tuned *t);
void add_recorded_origins(struct session *s, struct tuned *t);
/* The confirmed record that wins for the task here; NULL: none. */
const struct kb_record *best_record(struct session *s, const struct tuned *t);
/* The best of those that were measured elsewhere and not here since; NULL: none. */
const struct kb_record *best_foreign(struct session *s, const struct tuned *t);
/* The nearest task's winning trace that this task could take over. */
struct near {
	const char *task, *trace, *id;
	double distance;
};
int nearest_records(struct session *s, const struct tuned *t, struct near *out, int max);
double record_number(const struct kb_record *r, const char *field);
const char *record_id(const struct kb_record *r, struct arena *a); /* "record 3f2a91c4" */
double record_base_seconds(const struct kb_record *r);
struct digest trace_identity(const char *trace);          /* without its header */
bool was_timed(const struct tuned *t, const char *trace); /* in this run, or known to it */
#endif
