/* Shared by the writer and the reader of the text form. */
#ifndef HONE_TEXTFORM_H
#define HONE_TEXTFORM_H
#include <stdio.h>
#include <stdnoreturn.h>
#include "graph/module.h"

enum { TEXT_VERSION = 1 };

/* May a name stand without quotes? */
bool text_plain(const char *s, size_t n);
void text_put_string(FILE *f, const char *s, size_t n); /* in quotes */
void text_put_name(FILE *f, sym s);                     /* in quotes where needed */
/* Shortest form that reads back to the same bits. point: with a '.', so that it is no integer. */
void text_put_float(FILE *f, float v, bool point);
/* "f32[2] [1, 2]" or "f32[64,3,7,7] blob:HEX". */
void text_put_tensor(FILE *f, struct module *m, struct tensor *t);

/* A module of which parts are written. All its values have names. */
struct text_writer {
	FILE *f; /* may be another one after text_writer_open */
	struct module *m;
	struct graph_list order; /* callees before callers, main last */
	uint32_t *ordinal;       /* by graph: it is the n-th of its name */
	struct arena scratch;
};
void text_writer_open(struct text_writer *w, FILE *f, struct module *m);
void text_writer_close(struct text_writer *w);
void text_put_type(struct text_writer *w, const struct type *t);
void text_put_value(struct text_writer *w, val_id v);   /* its name; "-" for 0 */
void text_put_label(struct text_writer *w, graph_id g); /* NAME, NAME#2, NAME#3: graphs of one name by their order */
void text_put_attr_value(struct text_writer *w, const struct attr *a);
void text_put_head(struct text_writer *w);                     /* all lines before the graphs */
void text_put_op(struct text_writer *w, const struct node *n); /* NAME or DOMAIN.NAME */

/* The reader's place in the text. */
struct scan {
	const char *p, *end;
	const char *file;
	size_t line;
};
noreturn void scan_die(const struct scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scan_blanks(struct scan *s);               /* blanks and a comment, not the end of the line */
bool scan_line_end(struct scan *s);             /* at the end of the line? */
void scan_lines(struct scan *s);                /* over blanks, comments and ends of lines */
void scan_end_of_line(struct scan *s);          /* nothing more may stand on the line */
bool scan_is(struct scan *s, const char *word); /* takes the word or sign if it comes next */
void scan_want(struct scan *s, const char *word);
bool scan_at_name(struct scan *s);                             /* does a name come next? */
sym scan_name(struct scan *s);                                 /* plain or quoted */
char *scan_string(struct scan *s, size_t *n, struct arena *a); /* quoted; any byte */
int64_t scan_int(struct scan *s);
float scan_float(struct scan *s);
struct tensor *scan_tensor(struct scan *s, struct module *m);
#endif
