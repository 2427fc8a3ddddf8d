/* The weights of a model: equal bytes once, each aligned, behind a page that is left for the head. */
#ifndef HONE_WEIGHTS_H
#define HONE_WEIGHTS_H
#include "common/digest.h"
#include "model/model.h"

enum { WEIGHTS_HEAD = 4096, WEIGHTS_ALIGN = 64 };

struct weight {
	struct digest digest; /* of the bytes as they are, or of row-major bytes and layout; equal digests mean equal bytes */
	struct digest form;   /* of shape and layout, zero where it is row-major: of one form, other digests mean other bytes */
	struct digest stored; /* of the bytes as they are stored, once they were made */
	bool made;
	int64_t bytes, offset;
	struct model *of;        /* the model whose they are */
	uint32_t users;          /* bit i: model i of those that were laid out, one after the other, reads it */
	const struct call *call; /* the first that needs it; with `number`, its constant: from these the bytes are made again */
	int number;
	val_id value;     /* a constant in row-major order (call and number are not used), or 0 */
	const void *data; /* or the bytes themselves, else NULL */
};

struct weights {
	VEC(struct weight) a;  /* by offset */
	int64_t bytes;         /* of all, with the head */
	int64_t **of_call;     /* call -> constant number -> offset; -1: no stage reads it any more */
	int64_t ***of_version; /* call -> version, in their order -> the same; NULL: it has none */
	int64_t opaque;        /* offset of the stream of opaque steps, and its bytes (0: none) */
	int64_t opaque_bytes;
	int nmodels;          /* that were laid out */
	struct digest digest; /* of all, as they are laid out */
};

/* Lays out the constants that M's calls, its outputs and the presets of its inputs need. w: all zero, or a copy of another model's
 * weights: M adds what they lack. M: planned, not a sketch. */
void weights_lay_out(struct weights *w, struct model *M);
/* Bytes of those that model i needs, as they were if there were no others. */
int64_t weights_alone(const struct weights *w, int i);
/* The layer whose weight it is, by the first node or constant that needs it, and the order in which its bytes lie; for messages, in a. */
const char *weight_layer(const struct weight *w, struct arena *a);
const char *weight_order(const struct weight *w, struct arena *a);
/* Offset of constant v in row-major order. */
int64_t weights_value(struct weights *w, struct model *M, val_id v);
/* Does a native call in place of a kernel (call.otherwise) read constant v? Indices only: it runs where nothing is computed. */
bool weights_for_otherwise(struct module *m, val_id v);
/* The bytes of one, of any alignment. *owned: to be freed when they are not wanted any more, or NULL: then their pages are given back
 * (mapping_forget). So no more than one is in memory at a time. */
const void *weight_data(const struct weight *w, void **owned);
#endif
