/* Files of sizes and numbers. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "choose.h"
#include "common/msg.h"
#include "common/textfile.h"

enum { LINES_MAX = 1 << 14 }; /* each is compared with all */

static noreturn void bad_line(const struct table *t, size_t line, const char *why) { die(EX_BADDATA, "%s:%zu: %s", t->file, line, why); }

/* "NAME=SIZE" at *p: fills its place in row. */
static void read_size(struct table *t, size_t line, char **p, int64_t *row, bool first)
{
	char *eq = *p + strcspn(*p, "=, \t"), *end;
	int i = 0;

	if (*eq != '=' || eq == *p)
		bad_line(t, line, "a line is \"NAME=SIZE,.. NUMBER\"");
	*eq = 0;
	sym name = intern(*p);
	while (i < t->n && t->name[i] != name)
		i++;
	if (i == t->n && (!first || t->n == SYMBOLS_MAX))
		bad_line(t, line, first ? "more than 16 symbols" : "other symbols than in the lines before");
	if (i == t->n)
		t->name[t->n++] = name;
	else if (row[i])
		bad_line(t, line, "a symbol twice");
	errno = 0;
	row[i] = eq[1] >= '0' && eq[1] <= '9' ? strtoll(eq + 1, &end, 10) : 0;
	if (row[i] < 1 || errno || row[i] >> 40)
		bad_line(t, line, "a size is a number from 1 on");
	*p = end;
}

static void read_line(struct table *t, size_t line, char *p)
{
	int64_t row[SYMBOLS_MAX] = {0};
	bool first = !t->number.n;
	char *end;

	for (;; p++) {
		read_size(t, line, &p, row, first);
		if (*p != ',')
			break;
	}
	for (int i = 0; i < t->n; i++)
		if (!row[i])
			bad_line(t, line, "fewer symbols than in the lines before");
	double v = *p == ' ' || *p == '\t' ? strtod(p, &end) : NAN;
	if (!(v >= 0 && v < 1e15) || end[strspn(end, " \t\r\n")])
		bad_line(t, line, "behind the sizes stands a number that is not negative");
	for (size_t k = 0; k < t->number.n; k++)
		if (!memcmp(t->size.a + k * (size_t)t->n, row, (size_t)t->n * sizeof *row))
			bad_line(t, line, "the same sizes twice");
	for (int i = 0; i < t->n; i++)
		vec_push(&t->size, row[i]);
	vec_push(&t->number, v);
}

void table_read(struct table *t, const char *file)
{
	FILE *f = fopen(file, "r");
	char *text = NULL;
	size_t room = 0, line = 0;

	*t = (struct table){.file = file};
	if (!f)
		die(EX_NOIN, "%s: %s", file, strerror(errno));
	while (textfile_line(f, file, &text, &room)) {
		char *p = text + strspn(text, " \t");
		if (++line > LINES_MAX)
			bad_line(t, line, "too many lines");
		p[strcspn(p, "#")] = 0;
		if (p[strspn(p, " \t\r\n")])
			read_line(t, line, p);
	}
	fclose(f);
	free(text);
	if (!t->number.n)
		die(EX_BADDATA, "%s: no line with sizes", file);
}

double table_find(const struct table *t, const struct gears *g, const int64_t *size)
{
	int column[SYMBOLS_MAX];

	if (t->n != g->n)
		return NAN;
	for (int i = 0; i < t->n; i++) {
		column[i] = 0;
		while (column[i] < g->n && g->name[column[i]] != t->name[i])
			column[i]++;
		if (column[i] == g->n)
			return NAN;
	}
	for (size_t k = 0; k < t->number.n; k++) {
		int i = 0;
		while (i < t->n && t->size.a[k * (size_t)t->n + (size_t)i] == size[column[i]])
			i++;
		if (i == t->n)
			return t->number.a[k];
	}
	return NAN;
}
