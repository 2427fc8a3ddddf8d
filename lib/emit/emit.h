/* C from legalized programs: GCC vector types, no intrinsics header. */
#ifndef HONE_EMIT_H
#define HONE_EMIT_H
#include <stdio.h>
#include "loop/loop.h"
/* The text that every file of kernels starts with: vector types, and the helper functions that the programs need. If the texts that
 * follow are given, only the helpers that they call (NULL: all). An index that is data and out of range is clamped, and the int
 * BAD_INDEX is set to 1; unless it is defined, it is a static variable of the thread. */
void emit_prelude(FILE *f, struct loop_prog *const *p, int n, const char *const *text, size_t ntext);
/* One function:
 *   static void NAME(const T *restrict i0, ..., const T *restrict c0, ..., T *restrict o0, ..., char *restrict ws)
 * in-operands, constants, results; const long *p, if it has parameters: their values; workspace (64-aligned, prog_workspace bytes; present
 * even if 0). The text does not
 * depend on anything but the program, so equal kernels have equal texts: emit with NAME "@" and compare.
 * If it starts teams, functions NAME_0, NAME_1, .. for them come first, and a last parameter is struct team *team. */
void emit_kernel(FILE *f, struct loop_prog *p, const char *name);
/* The same, but outlined nests go to a list, each text once, instead of in front of the kernel. They are functions
 * __attribute__((noinline)) static void NAME(...), named by the digest of their text, so that the lists of several kernels can be
 * joined. */
struct outlined {
	char *name, *text;
};
struct outlines {
	VEC(struct outlined) a;
};
void emit_kernel_with(FILE *f, struct loop_prog *p, const char *name, struct outlines *o);
void outlines_free(struct outlines *o);

/* A kernel's form: its text without what other kernels may have in its place, so that one function can be all kernels of a form. FORM_NUMBER
 * stands for each number of a body, which is in *n, in order; FORM_PARAMS for further parameters of the function; names of sizes are left
 * out. */
enum { FORM_NUMBER = 3, FORM_PARAMS = 5 };
struct number {
	enum dtype type; /* of a parameter that takes it */
	char *text;      /* a C literal */
};
struct numbers {
	VEC(struct number) a;
};
void emit_kernel_form(FILE *f, struct loop_prog *p, const char *name, struct outlines *o, struct numbers *n);
const char *number_type_name(enum dtype t); /* in C */
void numbers_free(struct numbers *n);
/* The form as C, with these texts as numbers and parameters. */
void emit_filled(FILE *f, const char *form, const char *const *number, const char *params);
bool emit_starts_team(struct loop_prog *p); /* does it have loops for several threads? */
/* Declarations that such kernels need, after the prelude. team_run splits 0..n into one range for each thread (numbered from 0, at most
 * p->threads) and returns when all are done; team_run_few, for programs of p->few, has as many ranges as its first argument says. few: one of the
 * kernels is such. LINKAGE: "static", ... */
void emit_team_prelude(FILE *f, const char *linkage, bool few);
/* The features (struct instr) of the instructions that the program calls. */
unsigned emit_features_called(struct loop_prog *p);
bool emit_checks_indices(struct loop_prog *p); /* does it set BAD_INDEX? */
#endif
