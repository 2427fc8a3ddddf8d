/* Rates of a machine that choices need, measured: what an instruction does in a second, how fast memory is read. */
#ifndef HONE_RATE_H
#define HONE_RATE_H
#include <stdbool.h>
#include <stddef.h>
#include "target/target.h"

/* A row of a backend: independent instructions of one kind, all in registers. */
struct rate {
	const char *name;  /* as the instruction's row (target/instr.h), where it has one */
	unsigned features; /* of the backend's: the machine has all of these */
	double ops;        /* operations of a step; a multiply-add is two */
	void (*steps)(long n);
};

/* Row i of a backend's own; NULL: it has fewer. */
const struct rate *rate_row(const struct backend *of, int i);
/* Name of rate i of t's kind of CPU, target.rate[i]; NULL: there are no more. */
const char *rate_name(const struct target *t, int i);
/* Operations or bytes a second; 0: not measured, or t lacks what it needs. */
double target_rate(const struct target *t, const char *name);
/* Of f32 multiply-adds on vectors of t. */
double target_fma_rate(const struct target *t);
/* Rate i of this machine, measured for about that long in several parts: the best of all, which is the rate, and the median of the best of
 * each part. A median far below the best says that the machine did something else. 0: it has no such instruction. */
struct rate_measured {
	double best, typical;
};
struct rate_measured rate_measure(int i, double seconds);

/* The part of a row that carries rates, "fma512:118.2,l2:96.1" in thousands of millions a second: into t. What is not known is
 * skipped; false: a number that is none, or a rate twice. */
bool rates_parse(struct target *t, const char *text, size_t n);
/* The same text of t's rates; "" where none is known. Valid for the life of the process. */
const char *rates_text(const struct target *t);
/* What tells those rates from others: half of the digest of their text; "built-in" where none is known. Valid for the life of the process. */
const char *rates_digest(const struct target *t);
/* That of the target that this process found last (target_host, target_find); NULL: it asked for none. For provenance. */
const char *rates_used(void);
void rates_note(const struct target *t);
/* $HONE_RATES, else $XDG_DATA_HOME/hone/rates, else ~/.local/share/hone/rates: a line a machine, as a row of a target has cpu,
 * features and rates. Valid for the life of the process; NULL: there is no home. */
const char *rates_path(void);
/* t's rates as the file has them for its CPU; unchanged where it has none. */
void rates_read(struct target *t);
/* t's line into the file, in place of the one that was there. Errors are 74. */
void rates_write(const struct target *t);
#endif
