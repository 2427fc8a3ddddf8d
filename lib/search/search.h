/* Searching for schedules. Each part is a row of a table: space generators define which points there are, strategies choose which to try
 * next, cost models predict the time of points that were not timed, task schedulers choose the next task.
 *
 * All is deterministic: what a search proposes depends on its space, its seed, and what it and its kin were told, in the order of the
 * calls. A search that is repeated with the same results takes the same way; so an interrupted tuning goes on from its records. */
#ifndef HONE_SEARCH_H
#define HONE_SEARCH_H
#include "common/map.h"
#include "common/rng.h"
#include "graph/module.h"
#include "loop/sampling.h"

/* ---- spaces ---- */

/* An origin of points: an algorithm of the group with its default schedule, or a recorded trace. */
struct origin {
	const struct generator *by;
	const char *name;  /* "default", "algo winograd4", "as record 3f2a91c4", "record 3f2a91c4" */
	const char *text;  /* the algorithm (NULL: the one the lowering thinks best); the trace */
	struct samples at; /* decisions that are taken unless others are wanted */
};
/* One kernel's schedules. */
struct space {
	struct arena arena;
	struct module *m;
	node_id n; /* Fused */
	const struct target *target;
	const struct cost_model *cost;
	const void *cost_arg;
	VEC(struct origin) origins; /* [0]: the default schedule */
	size_t points;              /* made so far */
	struct map predicted_at;    /* 1 + a trace's symbol -> 1 + where its prediction is */
	VEC(double) predicted;
};
struct generator {
	const char *name, *summary;
	/* The scheduled program of origin o with these decisions (those that are met; the others take their default), the samples
	 * that were met, and its trace; NULL: there is no such point. Strings live in the program. */
	struct loop_prog *(*make)(struct space *s, const struct origin *o, const struct samples *want, struct samples *got,
				  const char **trace);
};
extern const struct generator generators[]; /* name NULL ends it, as in all tables here */

/* A space with the default's point and, for each algorithm of the group, all that the templates can write. */
struct space *space_new(struct module *m, node_id n, const struct target *t, const struct cost_model *cost);
/* Adds a recorded trace, of this task or a similar one, as origins: its decisions given to the templates here, and its lines adapted one by
 * one. */
void space_add_record(struct space *s, const char *name, const char *trace);
/* The same of the trace that a build takes, before any point was made: its origins come right after the default. */
void space_add_built(struct space *s, const char *name, const char *trace);
void space_free(struct space *s);

/* A point: a trace, and how it was made. */
struct point {
	size_t number;     /* among the points of its space, from 0: what a strategy knows of each point is an array by it */
	const char *trace; /* what it is: no header line */
	const char *from;  /* "default", "algo winograd4: rows=7", "record 3f2a91c4: vectors=2" */
	int origin;
	struct samples at; /* all decisions, in the order they were met */
	double predicted;  /* seconds by the cost model; 0: not known */
	double measured;   /* time as a share of the default's; 0: not told yet; infinite: wrong, crash, ... */
	/* If it was made from another point: */
	const struct point *parent; /* NULL: it was not */
	const char *changed;        /* the decision that differs; NULL: two do */
	int64_t to;
	bool all; /* all other decisions were kept; else those at their default follow the change */
};
struct sample *samples_find(const struct samples *x, const char *name); /* NULL: not among them */
/* The point of origin o under these decisions; NULL: there is none. The point belongs to the space. */
struct point *space_point(struct space *s, int origin, const struct samples *want);

/* Tasks that differ only in numbers (shapes, attributes) are near each other: the sum of the octaves between those that
 * differ; infinite: other operators, another structure. */
double task_distance(const char *a, const char *b);
/* The same distance between their first operators alone. */
double task_distance_first(const char *a, const char *b);

/* ---- cost models ---- */

struct cost_model {
	const char *name, *summary;
	double (*predict)(struct loop_prog *p, const void *arg); /* seconds of a scheduled program; NULL: says nothing */
	const void *arg;                                         /* its own */
	const void *(*of_task)(struct space *s);                 /* arg for the programs of a space, of the space's arena; NULL: arg */
};
extern const struct cost_model cost_models[];

/* ---- searches ---- */

struct kin { /* a search of a task near this one */
	const struct search *search;
	double weight; /* from 1, the same task, down to 0 */
};
/* What all strategies need: strategies read it, only search.c and draw.c write it. */
struct search {
	struct space *space;
	VEC(struct kin) kin;
	const struct strategy *strategy;
	void *state; /* the strategy's own */
	struct rng rng;
	VEC(struct point *) points; /* proposed, in order; [0]: the default's */
	struct drawn *drawn;        /* see strategy.h */
};
/* What a strategy expects of going on. Zero suits one that cannot say. */
struct outlook {
	bool converged; /* it has finished; what it proposes from now on is random. May become
			 * false again after a good result */
	bool settled;   /* nothing promising is untried next to the best */
	double expects; /* what its next trial should save, as a share of the best time; 0: not known */
};
/* A strategy is one file in lib/search/strategies, named like it: random.c defines strategy_random. strategy.h has what it is
 * made with. It reads all that was told from the points of its search. */
struct strategy {
	const char *name, *summary;
	/* Its state, for a search that has proposed nothing but the default's point. NULL: it has none. */
	void *(*init)(struct search *s);
	/* Up to n new points; none: it finds no more. */
	size_t (*propose)(struct search *s, size_t n, struct point **out);
	/* p->measured has just been set. NULL: it looks when it proposes. */
	void (*tell)(struct search *s, struct point *p);
	/* As of its last proposal. NULL: it has no end. */
	struct outlook (*converged)(const struct search *s);
	/* The state. NULL: there is none. */
	void (*free)(void *state);
};
extern const struct strategy *const strategies[]; /* NULL ends it */
#define STRATEGY_USUAL "bayes"
/* The program that this command starts, for each search anew (pipe.c). */
const struct strategy *strategy_pipe(const char *command);

/* The search knows the default's point and that its measure is 1. */
struct search *search_new(struct space *s, const struct strategy *strategy, uint64_t seed);
/* Makes them kin: each learns from the other, the less the farther their tasks are apart (task_distance_first; infinite: not at all). Both must
 * live as long as either proposes. */
void search_relate(struct search *a, struct search *b, double distance);
size_t search_propose(struct search *s, size_t n, struct point **out);
/* Proposes instead recorded traces, adapted to this task, that were not proposed. */
size_t search_propose_records(struct search *s, size_t n, struct point **out);
void search_tell(struct search *s, struct point *p, double measured);
struct outlook search_outlook(const struct search *s);
/* The best ratio that was told. */
double search_best(const struct search *s);
void search_free(struct search *s);

/* ---- task schedulers ---- */

struct task_state {
	double calls;   /* of this task in the model */
	double seconds; /* of one call under the best schedule so far; 0: not known */
	size_t trials;  /* proposed so far */
	struct outlook outlook;
	bool busy; /* takes none now */
	bool done;
};
struct task_scheduler {
	const char *name, *summary;
	double (*worth)(const struct task_state *t, size_t batch); /* of the next batch; the largest is next */
	size_t even; /* every so many-th batch goes to the task with fewest trials, first of those not settled; 0: never */
};
extern const struct task_scheduler task_schedulers[];
/* The task of the next batch, the first of equals. Converged tasks come when all others are converged or done. -1: none now. */
int schedule_next(const struct task_scheduler *s, const struct task_state *t, int n, size_t batch);

/* A row by its name; NULL: none. */
const struct generator *generator_find(const char *name);
const struct cost_model *cost_model_find(const char *name);
/* The knowledge base (a path, or NULL) beside which the learned model looks for what was learned here. */
void cost_models_use(const char *kb_file);
/* The model that hone brings along, with what was learned on this kind of machine. It stays for the life of the process. */
struct trees;
const struct trees *cost_models_learned(const struct target *t);
const struct strategy *strategy_find(const char *name); /* also "pipe:COMMAND" */
const struct task_scheduler *task_scheduler_find(const char *name);
#endif
