/* Schedules for who asks: the default one, or one with some decisions given. */
#ifndef HONE_SCHEDULE_H
#define HONE_SCHEDULE_H
#include "loop/sampling.h"

/* Visits of an element that count as one: what computes it may be computed where it is read. */
#define READ_ONCE 1.5
/* Schedules a freshly started program by the analytic model of its target and returns the trace that does the same to a fresh one
 * (loop_apply). Never fails: what no template fits stays as it started. Arena string of p. */
const char *default_schedule(struct loop_prog *p);
/* The same, but samples named in want take the decision given there, if it is among the choices where the sample is met, else the usual
 * one; words count as words, so decisions carry over to other kernels. got, if not NULL, receives every sample that was met, in order
 * (vec_free; their choices lie in the arena of p). */
const char *schedule_with(struct loop_prog *p, const struct samples *want, struct samples *got);
/* Does a freshly started program of several products compute one of them line by line, where another one reads it, by default? */
bool schedule_has_producer(struct loop_prog *p);
/* For a scheduled program that several threads may run (p->threads) and that has no parallel loop: gives loops that are worth it to a
 * team and returns the lines that do the same; "": none. Arena string of p. */
const char *schedule_threads(struct loop_prog *p);
/* Seconds of one run of a scheduled program by its team, if one thread takes `alone`; and to start the team once. */
double schedule_team_cost(struct loop_prog *p, double alone);
double schedule_team_start(struct loop_prog *p);
/* Bytes a second that a thread reads of what others wrote: the rate "shared" of p's target, without it that of the third-level cache. */
double schedule_moved_rate(struct loop_prog *p);
/* Are whole sums of so many products, of so many rows and columns, made tile by tile? A tile is as many columns as vectors have floats. */
bool schedule_tiles(struct loop_prog *p, int64_t rows, int64_t columns, int64_t products);
#endif
