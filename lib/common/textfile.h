/* Text that is written into memory and read from files. Where memory or reading ends, the process does: no text is ever cut short. */
#ifndef HONE_TEXTFILE_H
#define HONE_TEXTFILE_H
#include <stdbool.h>
#include <stdio.h>

/* A FILE whose text textfile_close leaves in *text, which the caller frees, with its length in *n and a NUL behind it; n may be NULL.
 * Without memory for it (71). Not open_memstream: that drops what it has no memory for, and no call says so. */
FILE *textfile_open(char **text, size_t *n);
void textfile_close(FILE *f);

enum { TEXTFILE_LINE_MAX = 16 << 20 };
/* The next line of f, with its line feed, in *line, which the caller frees; false: there is none. A line that cannot be read (74; path is
 * for the message) is no end of the file; one that does not end (65) is no line. */
bool textfile_line(FILE *f, const char *path, char **line, size_t *size);
#endif
