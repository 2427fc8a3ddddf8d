/* The C functions of a model's kernels: each text once, dealt to parts that compilers can work on at the same time. */
#ifndef HONE_FUNCTIONS_H
#define HONE_FUNCTIONS_H
#include "emit/emit.h"
#include "model/model.h"

/* Kernels of one form (emit.h) share one, which takes the numbers that differ as parameters. */
struct function {
	char *text;      /* with its name */
	char *name;      /* "k07" */
	int part;        /* of the C file it is compiled with, from 1 */
	uint32_t ncalls; /* in a run: a call in a strip counts for each image */
	double flops;    /* of one call */
	uint32_t first;  /* call */
};

/* A file of lib/native. */
struct native_text {
	const char *file, *text;
	int part;
};

struct functions {
	VEC(struct function) a;
	uint32_t *of_kernel;             /* kernel -> function */
	char **numbers;                  /* kernel -> further arguments of its function: ", 0.5f, 3", or "" */
	struct outlines outlines;        /* functions that kernels call, and share */
	VEC(int) outline_part;           /* of the C file each is compiled with */
	VEC(struct native_text) natives; /* what native calls need */
	int nparts;
	const char *(*text_of)(const char *file); /* the text of a file of lib/native */
	int threads;                              /* that the functions use at most; 1: none starts a team */
	bool few;                                 /* some use fewer */
};

/* f: all zero but text_of. The same model gets the same functions, and parts, everywhere. */
void functions_make(struct functions *f, struct model *M);
#endif
