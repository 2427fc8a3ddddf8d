/* Types of a GGUF file's tensors: plain numbers, or blocks of codes. A block has parts, and each part a scale and perhaps a minimum:
 * number = scale * (code - centre) - minimum. */
#ifndef HONE_GGUF_BLOCKS_H
#define HONE_GGUF_BLOCKS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "graph/types.h"

enum { BLOCK_MAX = 256, PARTS_MAX = 16 };

struct block_type {
	const char *name; /* NULL: no such type */
	size_t bytes;     /* of a block; 0: not read here */
	int block;        /* numbers of a block; plain numbers: 1 */
	int part;         /* numbers of a part */
	int bits;         /* of the codes that unpack gives, 4 or 8: the least that MatMulNBits has; plain numbers: 0 */
	int centre;       /* the code of 0 where there are no minimums */
	bool minimums;
	enum dtype dtype; /* of plain numbers */
	/* Codes from 0 on, a byte each, and of each part its scale and its minimum, at `block`. */
	void (*unpack)(const uint8_t *block, uint8_t *codes, float *scales, float *minimums);
	int scale_at; /* byte of the block where its scale is, a half; with minimums a second one follows */
};

/* Are the halves of the block finite, of which all its scales and minimums are made? */
bool block_is_finite(const struct block_type *t, const uint8_t *block);

/* The type of that number in the format. NULL: there is none. */
const struct block_type *block_type(uint32_t number);
#endif
