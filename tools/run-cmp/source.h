/* What can be compared: arrays in files, graphs, compiled models. One row a kind. */
#ifndef HONE_SOURCE_H
#define HONE_SOURCE_H
#include "op/npy.h"

struct outputs {
	int n;
	struct named_tensor *t; /* name "": whichever output the other side has */
};

struct source {
	const struct source_kind *kind;
	const char *path;
	void *state;
	struct module *m; /* inputs of what runs, for inputs_make; NULL: nothing to run */
};

struct source_kind {
	const char *name;
	bool (*is)(const char *path);
	bool graph; /* its module says how inputs are used, so that their ranges are known */
	void (*open)(struct source *s);
	/* in: by input of s->m; ignored by files. */
	struct outputs (*run)(struct source *s, struct tensor **in, struct arena *a);
};

/* Sizes for the symbols of graphs and values for their inputs, as --set, --shape and --const gave them. */
struct source_const {
	const char *arg;
	bool used; /* some graph has that input, or symbol */
};
struct source_sizes {
	VEC(const char *) shapes;
	VEC(struct source_const) sets, consts; /* sets: one size each */
	bool symbols;                          /* some graph has any */
	int64_t rest;                          /* what all others are; -1: they stay open */
	const char *rest_options;              /* those sizes as options, of the last graph that had any */
	VEC(struct source_const) given;        /* --give: sizes, shapes or values */
	const struct named_tensor *open;       /* inputs whose shapes the graph's inputs of that name take; NULL: none */
	int nopen;
};
extern struct source_sizes source_sizes;

void source_open(struct source *s, const char *path); /* by its name, else a graph stream */
#endif
