/* Where files of the knowledge base may be. */
#ifndef HONE_KB_PATH_H
#define HONE_KB_PATH_H
#include <stdint.h>
#include "common/arena.h"

/* The name of the network file system that path is on or would be made on; NULL: it is local. */
const char *network_name(const char *path);
/* Makes the name of a new file durable. */
void sync_directory(const char *path);
void make_parents(const char *path);
/* The name that a file has until it is whole, malloc'ed: one that no user gives a file. */
char *making_path(const char *path);
/* Makes a new empty file, locked (flock) until the descriptor is closed. -1: errno; also if something that is not a file has that name.
 * Only one process at a time has such a file: others wait, and remove what a killed process leaves. */
int make_locked(const char *path);
/* Removes such a file if nobody has it locked. */
void remove_stale(const char *path);
/* The files of the layers; NULL: there is no such place. */
const char *custom_path(struct arena *a);
const char *builtin_path(struct arena *a);
#endif
