/* A process for untrusted code. It has namespaces of its own as far as the kernel allows (user, pid, network, ipc, mount with every file
 * system read-only) and limits (memory, CPU time, files, processes, stack, core). After isolate_enter it may only make the system calls
 * of loading a library; after isolate_seal only those of a computation: memory, the clock, its channel, the end. Any other ends it. */
#ifndef HONE_ISOLATE_H
#define HONE_ISOLATE_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How it ended, written by the process itself on a page it shares with its parent (which believes nothing else of it). */
struct isolate_fault {
	int signal;    /* 0: none */
	int code;      /* si_code */
	uint64_t addr; /* of memory; SIGSYS: the number of the system call */
};

/* In words what isolation there is here, found by trying once: "namespaces user pid net ipc mount, seccomp, limits". */
const char *isolate_kinds(void);
/* As fork. The process dies with its parent. */
pid_t isolate_fork(void);
struct isolate_limits {
	uint64_t memory; /* bytes beyond what is mapped now */
	double cpu;      /* seconds */
	int channel;     /* the one file that stays open */
	struct isolate_fault *fault;
};
/* In the child: NULL, or what the system would not do. */
const char *isolate_enter(const struct isolate_limits *l);
const char *isolate_seal(const struct isolate_limits *l);
/* In the parent: has it both filters, as the kernel says? Where the kernel does not say, true. */
bool isolate_sealed(pid_t pid);
/* Kills it and all it started, waits. Its wait status. */
int isolate_kill(pid_t pid);
/* Words for an end: "segmentation fault", "asked for system call 41 (socket)". Static buffer. */
const char *isolate_words(int status, const struct isolate_fault *f);
#endif
