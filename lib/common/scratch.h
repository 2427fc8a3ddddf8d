/* Scratch folders: made for one run of a program, locked while it and what it started live. Those that a kill left behind are locked by
 * nobody, and the next who makes one in their place removes them. */
#ifndef HONE_SCRATCH_H
#define HONE_SCRATCH_H
#include <stdbool.h>

struct scratch {
	char *path; /* PREFIX and six characters */
	int lock;
};

/* A new folder; prefix is its path but for its last six characters, which are random. Before that, those of this prefix and user that
 * nobody has locked are removed. false: errno says why not. */
bool scratch_make(struct scratch *s, const char *prefix);
/* Removes it with all that is in it. May be called in a signal handler's place, never in the handler. */
void scratch_remove(struct scratch *s);
#endif
