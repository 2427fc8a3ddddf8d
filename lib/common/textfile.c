#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/textfile.h"

struct written {
	char **text, *p;
	size_t *count, n, room;
	bool lost; /* there was no memory */
};

static ssize_t add(void *cookie, const char *bytes, size_t n)
{
	struct written *w = cookie;

	if (w->lost || n >= SIZE_MAX / 4 - w->n) {
		w->lost = true;
		return 0;
	}
	if (w->n + n >= w->room) { /* a byte more, for the NUL */
		size_t room = 2 * (w->n + n) + 1;
		char *p = realloc(w->p, room);
		if (!p) {
			w->lost = true;
			return 0;
		}
		w->p = p;
		w->room = room;
	}
	memcpy(w->p + w->n, bytes, n);
	w->n += n;
	return (ssize_t)n;
}

static int finish(void *cookie)
{
	struct written *w = cookie;
	bool lost = w->lost;

	if (lost)
		free(w->p);
	else
		w->p[w->n] = 0;
	*w->text = lost ? NULL : w->p;
	if (w->count)
		*w->count = lost ? 0 : w->n;
	free(w);
	return lost ? -1 : 0;
}

FILE *textfile_open(char **text, size_t *n)
{
	struct written *w = xcalloc(1, sizeof *w);

	*text = NULL;
	*w = (struct written){.text = text, .count = n, .p = xmalloc(1), .room = 1};
	FILE *f = fopencookie(w, "w", (cookie_io_functions_t){.write = add, .close = finish});
	if (!f)
		die(EX_SYSTEM, "out of memory for a text");
	return f;
}

void textfile_close(FILE *f)
{
	if (fclose(f))
		die(EX_SYSTEM, "out of memory for a text");
}

bool textfile_line(FILE *f, const char *path, char **line, size_t *size)
{
	size_t n = 0;
	int c;

	if (!*line)
		*size = 0;
	errno = 0;
	while ((c = getc_unlocked(f)) != EOF) {
		if (n + 2 > *size) {
			*size = 2 * *size + 128;
			*line = xrealloc(*line, *size);
		}
		(*line)[n++] = (char)c;
		if (n > TEXTFILE_LINE_MAX)
			die(EX_BADDATA, "%s: a line of more than %d bytes", path, TEXTFILE_LINE_MAX);
		if (c == '\n')
			break;
	}
	if (ferror(f))
		die_errno(EX_IO, "%s", path);
	if (n)
		(*line)[n] = 0;
	return n > 0;
}
