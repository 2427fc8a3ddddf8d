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
/* The name that a file has until it is whole, malloc'ed: one that nobody gives to a file of his own. */
char *making_path(const char *path);
/* A new empty file that is locked (flock) until the descriptor is closed; -1: errno, also where something else stands there
 * than a file. There is one at a time of the name: whoever has it is waited for, and what he leaves, if he was killed, is
 * removed. */
int make_locked(const char *path);
/* Removes such a file if nobody has it locked. */
void remove_stale(const char *path);
/* The files of the layers; NULL: there is no such place. */
const char *custom_path(struct arena *a);
const char *builtin_path(struct arena *a);
#endif
