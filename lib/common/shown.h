/* Text that comes from somewhere else (names of a model, paths, what another program said), for a person or a shell to read. */
#ifndef HONE_SHOWN_H
#define HONE_SHOWN_H
#include <stdio.h>
#include "common/arena.h"

/* Bytes of the UTF-8 character at p, where p has n; 0: none stands there. */
int utf8_length(const char *p, size_t n);
/* The same for a character that a terminal prints and does nothing else with: no control character (those of ASCII, DEL, C1),
 * no end of a line, none that changes the direction of writing. 0: such a byte is to be escaped.
 * Of text that ends in NUL, n may be 4. */
int shown_length(const char *p, size_t n);

/* s with \xNN for each byte that shown_length refuses: one line that can do nothing to a terminal. s itself where that is all
 * of it, else memory that the thread's next SHOWN_KEPT calls leave alone. NULL is empty. */
enum { SHOWN_KEPT = 16 };
const char *shown(const char *s);
void put_shown(FILE *f, const char *s);
void put_shown_but(FILE *f, const char *s, const char *also); /* with \xNN for characters of `also`, too */
/* The same for text of several lines, which stay lines; tabs stay, too. */
void put_shown_lines(FILE *f, const char *s);

/* s as one word of a POSIX shell. */
const char *shell_word(const char *s, struct arena *a);
#endif
