/* Between the files of hone bundle. */
#ifndef HONE_BUNDLE_H
#define HONE_BUNDLE_H
#include "cut.h"
#include "hone.h"

enum { SAMPLES = 3 };

struct bundle {
	const char *folder;
	double tolerance;
	struct arena arena;
	struct side {
		const char *name;           /* "inputs" */
		VEC(struct named_tensor) v; /* of all samples, one after the other; each sample has as many */
	} in, out;
};

/* ---- bundle.c ---- */
FILE *bundle_create(struct hone *h, const struct bundle *b, const char *name); /* a file of the folder */
void bundle_finish(const struct bundle *b, FILE *f, const char *name);
/* Draws the samples, and runs the reference evaluator. in_files: each tensor goes to a file. */
void bundle_draw(struct hone *h, struct bundle *b, bool in_files);
/* The name of the model's type in its header, and a name as a string of C. */
const char *bundle_type(struct hone *h, const struct bundle *b);
void bundle_string(FILE *f, const char *s);

/* ---- bundle_bare.c ---- */
/* All files of a bundle for a machine without an operating system. */
void bundle_bare(struct hone *h, struct bundle *b);
#endif
