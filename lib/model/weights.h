/* The weights of a model: one copy of equal bytes, each aligned, behind a page that is left for a head. */
#ifndef HONE_WEIGHTS_H
#define HONE_WEIGHTS_H
#include "common/digest.h"
#include "model/model.h"

enum { WEIGHTS_HEAD = 4096, WEIGHTS_ALIGN = 64 };

struct weight {
	struct digest digest; /* of the bytes, or of bytes and layout: equal ones have equal bytes */
	int64_t bytes, offset;
	uint32_t call; /* that needs it first; with const number: how to make the bytes again */
	int number;
	val_id value;     /* a constant in plain order (call and number do not matter), or 0 */
	const void *data; /* or the bytes themselves, else NULL */
};

struct weights {
	VEC(struct weight) a; /* by offset */
	int64_t bytes;        /* of all, with the head */
	int64_t **of_call;    /* call -> constant number -> offset; -1: no stage reads it any more */
	int64_t opaque;       /* offset of the stream of opaque steps, and its bytes (0: none) */
	int64_t opaque_bytes;
	struct digest digest; /* of all, as they are laid out */
};

/* What M's calls, its outputs and the presets of its inputs need. w: all zero. M: planned, not a sketch. */
void weights_lay_out(struct weights *w, struct model *M);
/* Offset of constant v in plain order. */
int64_t weights_value(struct weights *w, struct module *m, val_id v);
/* The bytes of one. *owned: to be freed when they are not wanted any more, or NULL. */
const void *weight_data(struct model *M, const struct weight *w, void **owned);
#endif
