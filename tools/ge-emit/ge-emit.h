/* Between the files of ge-emit. */
#ifndef GE_EMIT_H
#define GE_EMIT_H
#include "source/source.h"

/* ---- compile.c ---- */
/* dir/STEM.c, which has the code for n targets, to dir/STEM.so and dir/STEM.a, jobs compilers at a time; with the evaluator if there are opaque
 * steps. links: files that are linked into STEM.so beside these. A bare one has no STEM.so. A compiler that fails: die(70). */
struct words {
	const char **a;
	size_t n, cap;
};
void compile_model(struct emission *e, int n, const char *dir, const char *stem, int jobs, const struct words *links);
/* Holds back the signals that end a process, so that nothing is left behind in the middle; on release they act. */
void signals_hold(bool hold);

/* ---- bare.c ---- */
/* Refuses a model with more than kernels of known sizes (69). */
void bare_check(struct emission *e);
/* Bytes of the object of a model for a machine without an operating system. */
struct bare_needs {
	uint64_t flash, ram;
	uint64_t stack;    /* of a run, without what the functions that it calls need */
	const char *calls; /* functions that it leaves to others */
};
/* dir/STEM.o and the lists of frames beside its parts, which compile_model leaves there. */
void bare_measure(struct emission *e, const char *dir, const char *stem, struct bare_needs *needs);
/* Tells the report of hone; report: prints it, too. */
void bare_tell(const struct emission *e, const struct bare_needs *x, bool report);

/* ---- shared.c ---- */
/* Tells the report of hone which weights the n targets of a library share, and of which layers they do not. report: prints it, too. */
void tell_weights(const struct emission *e, int n, bool report);
#endif
