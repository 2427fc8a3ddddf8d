/* Between the files that write the C file of a model. Each writes its section to f. */
#ifndef GE_EMIT_SOURCE_H
#define GE_EMIT_SOURCE_H
#include "ge-emit.h"

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

/* ---- kernels.c, tables.c, steps.c ---- */
void put_kernels(struct emission *e, FILE *f);
void put_tables(struct emission *e, FILE *f);
void put_cpu_check(struct emission *e, FILE *f);
void put_steps(struct emission *e, FILE *f);
#endif
