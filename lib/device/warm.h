/* A compiler that has begun already. GCC's compiler proper takes some ms before it reads its first line (5 of 34, 77 or 18); here one process of
 * it stands at that line, and each candidate is compiled by a fork of it. How: device/warm.in. */
#ifndef HONE_WARM_H
#define HONE_WARM_H
#include <stdbool.h>
#include <sys/types.h>

struct warm {
	pid_t pid;  /* 0: there is none */
	int socket;
	bool ready;
};
/* Starts one beside the caller, on that core; dir: for its files. Nothing where the toolchain is not GCC's. */
void warm_start(struct warm *w, const char *dir, int core);
/* A child of the caller's that compiles file in to out on a core, with that much of its time at most, and says what it has to
 * say to file report; 0: there is none that can, or not yet: run the compiler. */
pid_t warm_compile(struct warm *w, const char *in, const char *out, int report, int core, int seconds);
void warm_end(struct warm *w);
#endif
