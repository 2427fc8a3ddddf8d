/* Between hone advise and its page. */
#ifndef HONE_ADVISE_H
#define HONE_ADVISE_H
#include "hone.h"

/* A step of the library, as run-dev timed it. */
struct timed_step {
	const char *kernel, *node, *ops, *by, *why; /* as run-dev(1) has them */
	double seconds, predicted, flop, bytes;     /* of one run; NAN: not known */
	int kind;                                   /* of enum step_kind in advise.c */
	double reached;                             /* the larger of its shares of the two roofs; NAN: not known */
};

/* Something that takes time, and what may be done. */
struct finding {
	const char *name;    /* a word */
	const char *text;    /* a sentence */
	const char *attempt; /* what to try */
	double share, gain;  /* of a run: the time of these steps, and how much of the run may be saved at most */
	double weight;       /* what it is ordered by */
	VEC(size_t) steps;   /* the longest first */
};

struct advice {
	const char *model, *cpu, *compiler;
	double median;     /* seconds of a run */
	double processor;  /* seconds of processor time of a run, of all threads */
	double stepped;    /* of all steps and the gap: shares are of these */
	double peak, rate; /* operations and bytes a second: the roofs; NAN: not known */
	double gap;        /* seconds of a run that no step took */
	VEC(struct timed_step) steps;
	VEC(struct finding) findings; /* the first is the first to look at */
};

/* A page with the findings, a picture of the steps below the two roofs, and a table of all steps. */
void advice_page(struct hone *h, const struct advice *a, const char *path);
/* A share of a run for people, "3.4%". */
const char *share_text(struct hone *h, double share);
#endif
