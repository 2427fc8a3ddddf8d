/* Families of models, by GGUF's general.architecture: how they differ, and the numbers of one of them. */
#ifndef HONE_GGUF_FAMILY_H
#define HONE_GGUF_FAMILY_H
#include "onnx/gguf/file.h"

/* All are decoders: RMS norms, queries, keys and values by heads, a rotary embedding, a product of two halves. */
struct family {
	const char *name;
	bool interleaved;      /* rows of queries' and keys' weights are in the order of pairs beside each other */
	bool gelu;             /* GELU between the halves, not SiLU */
	bool scaled;           /* the embedding is times the root of its width */
	bool post;             /* results of attention and of the product are normalised before they are added */
	bool head_norms;       /* queries and keys are normalised by head */
	int window_every;      /* of so many layers all but the last see a window alone; 0: all see everything */
	double window_base;    /* base of the rotary angles in layers with a window, if the file says none; 0: that of all */
	double score_cap, cap; /* caps of scores and of logits, if the file says none */
	int wide_layers;       /* with that many layers, queries are scaled by the width a head, not the size of a head */
};

struct numbers {
	const struct family *family;
	const char *name; /* its name: begins the keys */
	int64_t layers, width, inner, heads, groups, size, turned, longest, vocab, window;
	double epsilon, base, window_base, factor, scale, score_cap, cap;
};

/* From the values of g. Missing, or contradictory: die(65); a family or a form of rotary angles that is not read: die(69). */
void family_numbers(const struct gguf *g, struct numbers *n, struct arena *a);
/* Does layer i see a window alone? */
bool family_windowed(const struct numbers *n, int64_t i);
#endif
