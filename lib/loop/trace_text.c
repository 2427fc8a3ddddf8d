/* Traces as text: the only place where they are read and written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "loop/trace.h"

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The words from s to end; -1: too many. */
static int words(const char *s, const char *end, const char **out)
{
	int n = 0;

	while (s < end) {
		const char *from = s;
		while (s < end && !is_space(*s))
			s++;
		if (s == from) {
			s++;
			continue;
		}
		if (n == TRACE_WORDS_MAX)
			return -1;
		out[n++] = sym_str(intern_n(from, (size_t)(s - from)));
	}
	return n;
}

/* The first `mark` between s and end; NULL: there is none. */
static const char *find(const char *s, const char *end, const char *mark)
{
	size_t n = strlen(mark);

	for (; s + n <= end; s++)
		if (!memcmp(s, mark, n))
			return s;
	return NULL;
}

static enum prim_id prim_of(const char *name)
{
	for (int i = 0; i < PRIM_COUNT; i++)
		if (prim_name[i] && !strcmp(prim_name[i], name))
			return (enum prim_id)i;
	return PRIM_UNKNOWN;
}

static const char **copy(struct arena *a, const char *const *word, int n)
{
	return n > 0 ? arena_copy(a, word, (size_t)n * sizeof *word) : NULL;
}

/* "results = primitive operands := decisions # comment" */
struct trace_line trace_read_line(struct arena *a, const char *s, const char *end)
{
	const char *word[3][TRACE_WORDS_MAX], *hash = memchr(s, '#', (size_t)(end - s)), *stop = hash ? hash : end;
	const char *decide = find(s, stop, ":="), *equals = find(s, decide ? decide : stop, " = ");
	struct trace_line l = {.text = arena_printf(a, "%.*s", (int)(end - s), s)};
	int nres = equals ? words(s, equals, word[0]) : 0;
	int narg = words(equals ? equals + 2 : s, decide ? decide : stop, word[1]);
	int ndec = decide ? words(decide + 2, stop, word[2]) : 0;

	if (nres < 0 || narg < 0 || ndec < 0) {
		l.prim = PRIM_LONG;
		return l;
	}
	if (!narg)
		return l;
	l.name = word[1][0];
	l.prim = prim_of(l.name);
	l.nres = nres;
	l.narg = narg - 1;
	l.ndec = ndec;
	l.res = copy(a, word[0], nres);
	l.arg = copy(a, word[1] + 1, narg - 1);
	l.dec = copy(a, word[2], ndec);
	return l;
}

struct trace trace_read(struct arena *a, const char *text)
{
	struct trace t = {0};

	for (const char *s = text, *end; *s; s = *end ? end + 1 : end) {
		end = s + strcspn(s, "\n");
		vec_push(&t, trace_read_line(a, s, end));
	}
	return t;
}

static void write_line(FILE *f, const struct trace_line *l)
{
	if (l->text) {
		fputs(l->text, f);
		return;
	}
	for (int i = 0; i < l->nres; i++)
		fprintf(f, "%s ", l->res[i]);
	fprintf(f, "%s%s%s", l->nres ? "= " : "", l->name, l->gap ? " " : "");
	for (int i = 0; i < l->narg; i++)
		fprintf(f, " %s", l->arg[i]);
	if (l->ndec)
		fputs(" :=", f);
	for (int i = 0; i < l->ndec; i++)
		fprintf(f, " %s", l->dec[i]);
}

const char *trace_write(struct arena *a, const struct trace *t)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	for (size_t i = 0; i < t->n; i++) {
		write_line(f, &t->a[i]);
		fputc('\n', f);
	}
	textfile_close(f);
	const char *kept = arena_str(a, text);
	free(text);
	return kept;
}
