/* A job is a request that has no answer yet: it takes time, in processes of its own. What the three kinds share, and the verbs in which
 * they differ. jobs.c schedules them. Private to the service. */
#ifndef HONE_JOB_H
#define HONE_JOB_H
#include "runner/service_impl.h"

struct job;
struct job_kind {
	const char *verb; /* the request's */
	size_t size;      /* of its struct, which begins with a struct job */
	bool steps;       /* of several processes: none begins while a try needs silence */
	bool timed;       /* it is timed on a core of its own, in turn; others run in the background, each on a core */
	/* What is asked for. False: it has its answer already, or r->why says what is wrong with it. */
	bool (*take)(struct service *s, struct job *j, struct mp_in *r);
	/* Begins its first process. NULL, or why it cannot. */
	const char *(*start)(struct service *s, struct job *j);
	/* Its process pid ended so, as of waitpid. True: it has its answer; false: it has begun another, or waits for its turn. */
	bool (*ended)(struct service *s, struct job *j, pid_t pid, int status);
	/* Its answer is an error: removes its files. NULL: it has none. */
	void (*clear)(struct service *s, struct job *j);
	/* Seconds on the clock for its current process, which is then killed. NULL: the job sees to that. */
	double (*seconds)(const struct service *s, const struct job *j);
	/* Does it need this artifact? NULL: none. */
	bool (*needs)(const struct job *j, struct digest artifact);
	void (*free)(struct job *j); /* what the kind's own fields hold; NULL: nothing */
};
extern const struct job_kind task_job_kind, build_job_kind, try_job_kind;

struct job {
	const struct job_kind *kind;
	uint64_t id;
	struct arena arena;
	pid_t pid;  /* 0: waits for its turn */
	int report; /* memfd: what it says; -1: none yet */
	int slot;   /* core it occupies, by number; timed ones: none */
	bool stopped;
	double start;                 /* when it began */
	double began, rested, halted; /* when its process began, how long that stood still, since when it does */
	bool late;                    /* killed, for it was not done in time */
	bool quiesce;                 /* all else stands still until it ends */
	int put_off;                  /* how often it waits for a turn again: those put off least come first, */
	double due;                   /* and not before that time */
};

void job_free(struct job *j);
/* jobs.c, for the kinds. The system said no just now: why, with its words. */
const char *job_refused(struct job *j, const char *what);
/* A file in memory, in the place of what *fd was. NULL, or why not. */
const char *job_open_file(struct job *j, int *fd, const char *name);
const char *job_open_report(struct job *j);
/* The report, cut to a limit, in the job's arena; empty: there is none. */
char *job_report_text(struct job *j);
/* The first line of the report with an error as compiler or assembler write it, else the first line that is not empty. */
const char *job_report_line(struct job *j);
/* Forks a process that calls f; 0 and its report are what counts. NULL, or why not. */
const char *job_fork(struct service *s, struct job *j, void (*f)(struct service *, struct job *));
/* In that process: it ends, with that as its report. */
_Noreturn void job_give_up(struct job *j, int code, const char *why);
/* Gives a process a group of its own. Parent and child both do, for it may be stopped before it runs. */
void job_make_group(pid_t pid);
/* Why its process failed; line: of its report. */
const char *job_how_failed(struct service *s, struct job *j, int status, const char *line);
/* Answers a job that could not be started or failed, and frees it. */
void job_answer_failed(struct service *s, struct job *j, const char *verb, const char *why);
/* Fields of each kind. */
struct task_job {
	struct job job;
	const char *text;
	int file; /* memfd that it fills: the problem */
};

struct build_job {
	struct job job;
	struct digest task, artifact;
	struct runner_build build;
	int step; /* -1: constants; then of the toolchain */
	int file; /* memfd that it fills: the constants */
};

struct try_job {
	struct job job;
	struct digest task, artifact, base;
	double budget;
	uint64_t seed;
	uint64_t cold_bytes;         /* bytes */
	double goal, width;          /* shares; 0: none */
	bool once;                   /* in one process */
	struct cold_weights sets[2]; /* of artifact and base */
};
#endif
