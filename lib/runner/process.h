/* How every process of the service begins. */
#ifndef HONE_PROCESS_H
#define HONE_PROCESS_H
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* It dies with the service, which is its parent; signals reach it, it is a group of its own. */
void process_begin(pid_t parent);
bool process_pin(pid_t pid, int core);  /* 0: the caller; false: it would not */
void process_limit(int what, rlim_t n); /* of seconds: it ends by SIGXCPU, that no other end looks like */
/* One in the background: on that core, no core file, memory for half of the machine; nice: priority. */
void process_background(pid_t parent, int core, int nice);
#define PROCESS_NICE         10
#define PROCESS_BUILD_BYTES  ((rlim_t)256 << 20) /* what a step of a build may write, */
#define PROCESS_BUILD_MEMORY ((rlim_t)2 << 30)   /* and hold */
void process_build(void);                        /* a step of a build: limits it to these */
#endif
