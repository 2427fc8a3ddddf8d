/* The parts of hone bisect. */
#ifndef HONE_BISECT_H
#define HONE_BISECT_H
#include "cut.h"
#include "hone.h"

/* The stage that makes B of A, and how their numbers compare. */
enum maker {
	BY_STAGE,   /* the tool of a stage */
	BY_LIBRARY, /* ge-plan and ge-emit: B is a library */
	BY_KERNELS, /* the stages from ge-fuse on, then these */
};
struct suspect {
	enum maker maker;
	enum stage_id stage; /* BY_STAGE */
	const char *before;  /* graph A */
	const char *after;   /* graph B; NULL: a library, which is to be made */
	const char *inputs;  /* .npz of A's inputs with which they differ */
	double tolerance;
};

/* A part of a graph that shows the difference. */
struct part_found {
	const char *graph, *values; /* files: it, and its inputs */
	const char *laid_out;       /* the same graph for a file: without layouts, and without copies from and to them */
	const char *value;          /* the first that differs; NULL: none that both have */
	const char *distance;       /* how far it is off */
	const char *operators;      /* of its nodes, in order */
	size_t nodes;               /* 0: no part that was tried shows it */
	bool is_memory;             /* with a place for each value, every number is right: ge-plan's places are not */
};

/* How far the numbers after a stage are from the model's, in the output that is furthest off. */
struct stage_error {
	const char *stage;
	const char *output, *at;   /* NULL: no output was compared; the element's index, "0,7" */
	const char *why;           /* why the two cannot be equal, or were not compared; NULL: the errors say how far they are */
	double relative, absolute; /* by the output's largest element; in its own unit */
	bool equal;
};
/* errors.c: the furthest of the outputs that run-cmp --json told. */
void error_take(struct hone *h, struct stage_error *e, const struct facts *each);
void errors_print(struct hone *h, const struct stage_error *e, size_t n);
void errors_page(struct hone *h, const struct stage_error *e, size_t n, double tolerance, const char *path);

/* differ.c: the first value that differs, and the nodes of A between it and values that are equal. */
struct part_found differ_find(struct hone *h, const struct suspect *x, double seconds);
/* shrink.c: the fewest of the nodes with keep[node], a result `last` among them, that still show it; found->nodes 0: not even all of them. */
void shrink_part(struct hone *h, const struct suspect *x, const bool *keep, const char *last, double until, struct part_found *found);
/* The operators of those nodes of the main graph, with commas between them. */
const char *part_operators(struct hone *h, struct module *m, const bool *keep);
#endif
