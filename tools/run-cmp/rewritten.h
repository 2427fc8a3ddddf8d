/* The check of a model that was rewritten: B is what A was made of. */
#ifndef HONE_REWRITTEN_H
#define HONE_REWRITTEN_H
#include "around.h"
#include "source.h"

struct rewritten {
	struct around around;
	int cut;          /* nodes of the reference that are left out */
	double tolerance; /* what rounding to the types of the reference accounts for */
};

/* Opens the reference and runs it once, at sizes that were given, and for those that were not at the first ones of a list
 * at which it runs; around what nothing here runs. */
void rewritten_reference(struct rewritten *w, struct source *r, const char *path, struct input_spec *spec, struct arena *a,
			 struct tensor ***in, struct outputs *out);
/* Runs it once more, on inputs of the spec's seed. False: it refuses these, of which nobody asked for any; another seed may do. */
bool rewritten_again(struct source *r, const struct input_spec *spec, struct arena *a, struct tensor ***in, struct outputs *out);
/* Opens the other model for inputs of the same shapes. */
void rewritten_open(struct rewritten *w, struct source *y, const char *path, struct source *r, struct tensor **in);
#endif
