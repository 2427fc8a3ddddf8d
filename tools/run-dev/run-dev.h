/* Between the files of run-dev. */
#ifndef HONE_RUN_DEV_H
#define HONE_RUN_DEV_H
#include <stdbool.h>
#include "op/npy.h"
#include "runner/against.h"
#include "runner/oracle.h"
/* Tasks as lib/op writes them, evaluated by its rows and, element by element, by the stages of lib/loop. */
extern const struct oracle task_oracle;
/* Measures the rates of this machine for about that many seconds in all, and prints those that the file of rates has then. Without force,
 * what varies, or is far less than on record, is not kept: a warning. */
void probe(double seconds, bool force, bool json);

/* ---- against.c ---- */
/* Times a library against another that takes and gives the same (else 65), and prints what was measured. */
void against(const char *path, const char *base, const struct against *how, const struct input_spec *spec, bool json);

/* ---- steps.c ---- */
struct step_spec {
	long steps;              /* 0: --steps was not given */
	const char *load, *save; /* files of states, or NULL */
	const char *sets;        /* sizes, or NULL */
};
/* Runs steps times, with the state that the library keeps; the outputs of all, with an axis of so many in front; of states
 * whose size is open the last. Says how many bytes of states a step writes. What does not fit, a state that is refused, a run that
 * fails: die. */
struct tensor **steps_run(struct library *l, const struct input_spec *spec, const struct step_spec *s, struct arena *a);
#endif
