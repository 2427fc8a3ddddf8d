/* Offsets in one arena for blocks of bytes that are each needed for some time. */
#ifndef HONE_ASSIGN_H
#define HONE_ASSIGN_H
#include <stdbool.h>
#include <stdint.h>
#include "common/vec.h"

/* Needed from call `first` to call `last`, both included. */
struct block {
	int64_t bytes, offset; /* bytes: a multiple of BLOCK_ALIGN */
	uint32_t first, last;
	bool workspace;
	VEC(uint32_t) calls; /* that touch it, ascending */
};
enum { BLOCK_ALIGN = 64 };

/* Gives each block its offset: values first, then workspaces, in gaps between values where they fit, else behind them. *values: bytes
 * up to the end of the last value. Returns the bytes up to the end of the last block. The same blocks get the same offsets on every
 * machine. */
int64_t assign_offsets(struct block *b, size_t n, int64_t *values);
/* The most bytes of values alive at one time: no arena is smaller. */
int64_t assign_bound(const struct block *b, size_t n);
#endif
