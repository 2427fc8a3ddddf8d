/* Constants of the model that are not in the file as such. Their bytes are made when the importer comes to them, one at a time. */
#ifndef HONE_GGUF_MADE_H
#define HONE_GGUF_MADE_H
#include "onnx/gguf/file.h"

enum made_kind {
	MADE_ROWS,    /* plain numbers, rows in another order */
	MADE_CODES,   /* codes of blocks, packed, the first in the lowest bits */
	MADE_SCALES,  /* f32 */
	MADE_ZEROS,   /* f32: the code, perhaps between two, that stands for 0 */
	MADE_OFFSETS, /* f32: what a number is more than its scale times (code - middle code) */
	MADE_COS,     /* rotary tables */
	MADE_SIN,
};

struct made {
	enum made_kind kind;
	const struct gguf_tensor *t;
	/* Rows are in heads of `size` rows, each with its first `turned` in the order of pairs: 0 1 0 1 becomes 0 0 1 1. size 0: rows stay. */
	int64_t size, turned;
	/* Rotary tables: rows, angles a row, and angle k is row / factor / base^(k / angles) / slower[k]. */
	int64_t rows, angles;
	double base, factor;
	const struct gguf_tensor *slower; /* F32; or NULL */
};

/* Is it a part of a tensor in blocks? */
static inline bool made_of_blocks(const struct made *m) { return m->kind >= MADE_CODES && m->kind <= MADE_OFFSETS; }
/* Which row of the file is row n. */
int64_t made_row(const struct made *m, int64_t n);
/* Writes all bytes of a struct made. */
void made_fill(const void *made, void *out);
#endif
