/* A compile server: compiler, assembler and linker that are already running. Each takes some ms before it reads its first line
 * (doc/runner.md). One process of each waits at that line, and a fork of it does the work for a candidate.
 * runner/compile_server.in says how. */
#ifndef HONE_COMPILE_SERVER_H
#define HONE_COMPILE_SERVER_H
#include <stdbool.h>
#include <sys/types.h>
#include "runner/toolchain.h"

struct compile_server {
	struct compile_step {
		pid_t pid; /* 0: there is none */
		int socket;
		bool confined; /* forks take the rules */
		bool ready;
	} step[TOOLCHAIN_STEPS];
};
/* Starts one process a step, on that core. dir: for their files; rules: what forks may open (confine_open). Does nothing if the toolchain
 * is not GCC's; has no server of a linker that does not write to the file it is given. */
void compile_server_start(struct compile_server *w, const char *dir, int core, int rules);
/* Forks a child of the caller that does a step from file in to file out on a core, with so many seconds of CPU time, and writes its messages
 * to file report. 0: that step has no server, or it is not ready: run the program instead. */
pid_t compile_server_run(struct compile_server *w, int step, const char *in, const char *out, int report, int core, int seconds);
void compile_server_end(struct compile_server *w);
#endif
