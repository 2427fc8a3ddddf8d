/* Between the files of lib/source. Each writes its section of the C file to f. */
#ifndef HONE_SOURCE_IMPL_H
#define HONE_SOURCE_IMPL_H
#include <stdio.h>
#include "source/source.h"

#define WEIGHTS_MAGIC "honewts2" /* the weights file begins so */

/* ---- text.c ---- */
extern const char runtime_text[], team_text[], header_text[], checksum_text[]; /* templates in this folder, NAME.in */
extern const char opaque_text[], abi_text[];                                   /* headers that a compiled model carries along */
/* s as a C string in quotes. */
void put_string(FILE *f, const char *s);
/* s inside a comment, which it cannot end. */
void put_comment(FILE *f, const char *s);
/* The template up to (not including) the line that is `until`; returns what follows that line. Lines that begin with
 * @THREADS@ are for libraries of several threads. */
const char *put_template(struct emission *e, FILE *f, const char *text, const char *until);
/* Of the node, else of its first result. */
const char *call_name(struct emission *e, uint32_t c);

/* ---- kernels.c, tables.c, steps.c, weights.c ---- */
void put_kernels(struct emission *e, FILE *f);
void put_tables(struct emission *e, FILE *f);
void put_cpu_check(struct emission *e, FILE *f);
void put_steps(struct emission *e, FILE *f);
void put_weights(struct emission *e, FILE *f); /* as a C array, for --embed */
#endif
