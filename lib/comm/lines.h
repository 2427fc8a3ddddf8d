/* Text tables: one record on each line, tabs between fields, '#' starts a comment line. Read whole, split in place. */
#ifndef HONE_LINES_H
#define HONE_LINES_H
#include <stdbool.h>
#include <stddef.h>

struct lines {
	const char *path; /* for messages */
	char *text;       /* the file, which fields point into until lines_close */
	char *next, *end;
	size_t number; /* of the line read last, from 1 */
};
void lines_open(struct lines *l, const char *path);                   /* NULL or "-": standard input; missing: die(66) */
void lines_text(struct lines *l, const char *name, const char *text); /* the same from memory */
/* The next line that is not empty: the number of its fields in *n, the first max of them, NUL-terminated, in field. A comment
 * has *n 0 and its text after '#' in field[0]. false: end of file. */
bool lines_next(struct lines *l, char **field, int max, int *n);
/* The whole field as a number, finite and not negative. */
bool lines_number(const char *field, double *out);
void lines_close(struct lines *l);
#endif
