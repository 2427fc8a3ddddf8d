/* Who times on this machine: one at a time. All runners of a user share one lock, a file. */
#ifndef HONE_DEVICE_LOCK_H
#define HONE_DEVICE_LOCK_H
#include "common/arena.h"

/* The path of the lock; free it. No place for it: die(74). */
char *device_lock_path(void);
/* Waits until the lock is free and takes it; closing *fd gives it back. NULL, or why it cannot be had; *fd < 0: nothing to close. */
const char *device_lock(const char *path, int *fd, struct arena *a);
#endif
