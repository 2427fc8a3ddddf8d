/* A toolchain that has begun already. Compiler proper, assembler and linker take some ms each before they read their first line
 * (doc/runner.md); here one process of each stands at that line, and a fork of it does
 * the work for each candidate. How: runner/compile_server.in. */
#ifndef HONE_WARM_H
#define HONE_WARM_H
#include <stdbool.h>
#include <sys/types.h>
#include "runner/toolchain.h"

struct warm {
	struct warm_step {
		pid_t pid; /* 0: there is none */
		int socket;
		bool confined; /* forks take the rules */
		bool ready;
	} step[TOOLCHAIN_STEPS];
};
/* Starts them beside the caller, on that core; dir: for their files; rules: what the forks may open (confine_open). Nothing where the
 * toolchain is not GCC's. */
void warm_start(struct warm *w, const char *dir, int core, int rules);
/* A child of the caller's that does a step of the toolchain from file in to out on a core, with that much of its time at most, and
 * says what it has to say to file report; 0: there is none that can, or not yet: run the program. */
pid_t warm_run(struct warm *w, int step, const char *in, const char *out, int report, int core, int seconds);
void warm_end(struct warm *w);
#endif
