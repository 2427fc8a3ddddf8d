/* What a tuning came to, for people and programs: a table, JSON, a page of HTML. */
#ifndef TUNE_OP_REPORT_H
#define TUNE_OP_REPORT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "common/arena.h"

struct report_task {
	const char *title, *text; /* task_title, task_text */
	const char *digest;       /* hex */
	size_t calls;             /* nodes of the model that are it */
	double weight;            /* how often a run computes it */
	double flops, bytes;      /* of one call; bytes: operands, constants and results */
	double seconds;           /* of one call with the default schedule; 0: not timed */
	double ratio, lo, hi;     /* chosen / default, re-timed, with its interval; ratio 0: the default stays */
	const char *verdict;      /* "faster", "default", "nearest", "not tuned" */
	const char *why;          /* what there is to say besides; may be NULL */
	const char *from;         /* where the chosen trace came from; NULL: the default */
	const char *words;        /* the trace that is used, in words (trace_explain); NULL: not known */
	const char *trace;        /* its text; NULL: the default */
	size_t trials, known;     /* schedules tried; of them known from before */
	size_t failed;            /* wrong, crash, timeout, build error */
	const double *curve;      /* best ratio so far after each trial; ncurve of them */
	size_t ncurve;
};
struct report_cost {
	const char *name; /* "generate", "compile", "run", "wait", "search" */
	double seconds;
	bool beside; /* spent by runners, side by side: no part of the whole */
};
struct report {
	const char *model;   /* the file, or "" */
	const char *target;  /* where it was timed, as text */
	const char *tool;    /* name, version, options */
	const char *command; /* the command line, for a shell to read */
	const char *digest;  /* hex: of the graph as it was read */
	double peak, rate;   /* of the target's core: f32 operations, and bytes from memory, a second */
	bool is_measured;    /* both are; else they are what CPUs of its kind have */
	struct report_task *task;
	size_t ntask;
	size_t without;           /* groups of the model that are no task */
	struct report_cost *cost; /* where the time went */
	size_t ncost;
	double seconds; /* the whole tuning */
	bool interrupted;
};

/* Over the tasks whose default has been timed. The share of the model that they are is by work (FLOPs, one per element
 * at least), because nobody knows the time of the others. */
struct report_totals {
	size_t timed, faster;
	double before, after; /* seconds of all their calls */
	double share;         /* of the model's work */
};
struct report_totals report_totals(const struct report *r);

/* The share of its roof that the task's chosen schedule reaches, and the roof's name: "core", the rate of f32 operations; "memory", the rate of
 * bytes, of a task with few operations a byte; "cache" for one that is faster than memory could be, whose share is of the core. Above 1 it
 * needs fewer operations than are counted (integers, Winograd). 0: not known, and no name. */
double report_reached(const struct report *r, const struct report_task *t, const char **roof);
/* "4.21 ms"; "-": not known */
const char *report_time(struct arena *a, double seconds);
/* "4.21 ms -> 3.90 ms a run (-7.4%): 12 of 25 tasks faster; ..." */
const char *report_line(struct arena *a, const struct report *r);
void report_table(FILE *f, const struct report *r);
void report_json(FILE *f, const struct report *r);
/* A page: its beginning, named after its first model, or all of the page in the file after; a part for each; its end. */
void report_html_begin(FILE *f, const struct report *first, const char *after);
void report_html(FILE *f, const struct report *r);
void report_html_end(FILE *f);
#endif
