/* The C compiler as its parts. The driver is asked once what it would run (-###), so that a candidate costs compiler proper, assembler and
 * linker, not three driver processes besides. If the driver does not answer as GCC's does, the driver itself is run. */
#ifndef HONE_TOOLCHAIN_H
#define HONE_TOOLCHAIN_H
#include <stdbool.h>
#include "common/arena.h"

enum { TOOLCHAIN_STEPS = 3 };
struct toolchain {
	int steps;                    /* 3: compile, assemble, link; 1: the driver does all */
	char **argv[TOOLCHAIN_STEPS]; /* NULL at the end; the words TOOLCHAIN_IN and _OUT stand for files */
	bool opens_output;            /* the linker writes to the file that it is given; others write beside it and rename */
};
#define TOOLCHAIN_IN  "@in"
#define TOOLCHAIN_OUT "@out"
/* What it takes to make a library of a C file here; known after the first call. */
const struct toolchain *toolchain_find(void);
/* Suffix of what a step makes: ".s" ".o" ".so" */
const char *toolchain_suffix(const struct toolchain *t, int step);
/* argv of a step with its files in place; arena. */
char **toolchain_argv(const struct toolchain *t, int step, const char *in, const char *out, struct arena *a);
#endif
