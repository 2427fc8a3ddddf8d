#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "comm/huge.h"
#include "comm/lines.h"
#include "common/outfile.h"

static void begin(struct lines *l, const char *name, const void *p, size_t n)
{
	*l = (struct lines){.path = name};
	l->text = l->next = huge_alloc(n + 1);
	l->end = l->text + n;
	if (n)
		memcpy(l->text, p, n);
	*l->end = '\n';
}

void lines_open(struct lines *l, const char *path)
{
	struct mapped m;
	mapped_open(&m, path);
	begin(l, path && strcmp(path, "-") ? path : "standard input", m.p, m.n);
	mapped_close(&m);
}

void lines_text(struct lines *l, const char *name, const char *text) { begin(l, name, text, strlen(text)); }

bool lines_next(struct lines *l, char **field, int max, int *n)
{
	while (l->next < l->end) {
		char *line = l->next, *stop = memchr(line, '\n', (size_t)(l->end - line) + 1);
		l->next = stop + 1;
		l->number++;
		if (stop > line && stop[-1] == '\r')
			stop--;
		*stop = 0;
		if (stop == line)
			continue;
		*n = 0;
		if (*line == '#') {
			field[0] = line + 1;
			return true;
		}
		for (char *tab; line; line = tab) {
			tab = memchr(line, '\t', (size_t)(stop - line));
			if (tab)
				*tab++ = 0;
			if (*n < max)
				field[*n] = line;
			++*n;
		}
		return true;
	}
	return false;
}

/* Decimals of up to 2^53 with few digits after the point are exact by one division (Clinger 1990); strtod reads the others. */
bool lines_number(const char *field, double *out)
{
	static const double ten[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	unsigned long long v = 0;
	const char *s = field, *point = NULL;
	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
		if (*s == '.')
			point = s;
		else
			v = v * 10 + (unsigned)(*s - '0');
	}
	if (!*s && s - field <= 15 && s > field + (point != NULL)) {
		*out = (double)v / ten[point ? s - point - 1 : 0];
		return true;
	}
	char *end;
	*out = strtod(field, &end);
	return end > field && !*end && (*field == '-' || *field == '.' || (*field >= '0' && *field <= '9')) && isfinite(*out) && *out >= 0;
}

void lines_close(struct lines *l)
{
	free(l->text);
	*l = (struct lines){0};
}
