/* Dimensions as text, for streams and the text form: "2*batch*floor(seq/4) + 1", "?". Terms and factors
 * are ordered by their text, whatever order the module's polynomials have them in, so equal dimensions
 * are equal text in every process. */
#ifndef HONE_DIMTEXT_H
#define HONE_DIMTEXT_H
#include "graph/module.h"

/* Letter or _, then letters, digits, _ and . */
bool dim_plain_name(const char *s, size_t n);

/* Names of symbols by poly_var; what has no name, or one that an earlier variable has, gets a new one. */
struct dim_names {
	sym *name;
	poly_var nvars;
};
struct dim_names dim_names_new(struct module *m);
void dim_names_free(struct dim_names *names);

/* names may be NULL: the variables' own. */
char *dim_text(struct module *m, const struct dim_names *names, dim d, struct arena *a);

/* Reads from *s up to end and moves *s behind what it took. Names are looked up in the module, never
 * made. NULL, or why not. */
const char *dim_parse(struct module *m, const char **s, const char *end, dim *out);
#endif
