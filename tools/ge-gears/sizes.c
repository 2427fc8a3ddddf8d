/* Sizes as they are written, and their order. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "gears.h"
#include "native/gears.h"

static noreturn void bad(const char *arg, const char *why) { die(EX_BADUSE, "--gears %s: %s", arg, why); }

static void add_symbol(struct gears *g, const char *arg, sym name)
{
	if (g->n == SYMBOLS_MAX)
		bad(arg, "more than 16 symbols");
	for (int i = 0; i < g->n; i++)
		if (g->name[i] == name)
			bad(arg, "a symbol twice");
	g->name[g->n++] = name;
}

static void add_name(struct gears *g, const char *arg, const char *name, size_t n)
{
	char *copy = xprintf("%.*s", (int)n, name);
	sym s = intern(copy);

	free(copy);
	if (!n)
		bad(arg, "a symbol without a name; NAME=SIZE,SIZE or NAME:NAME=SIZE:SIZE,..");
	add_symbol(g, arg, s);
}

/* One size at *p, up to `end` or to the character there. */
static int64_t size_at(const char *arg, const char **p)
{
	char *end;

	errno = 0;
	long long v = **p >= '0' && **p <= '9' ? strtoll(*p, &end, 10) : -1;
	if (v < 1 || errno || v >> 40)
		bad(arg, "a size is a number from 1 on");
	*p = end;
	return v;
}

void gears_add(struct gears *g, const char *arg)
{
	const char *eq = strrchr(arg, '='), *p = arg;
	struct gears old = *g;
	int first = g->n, n;
	VEC(int64_t) more = {0};

	if (!eq)
		add_symbol(g, arg, 0);
	for (const char *end; eq && p <= eq; p = end + 1) {
		end = memchr(p, ':', (size_t)(eq - p));
		end = end ? end : eq;
		add_name(g, arg, p, (size_t)(end - p));
	}
	n = g->n - first;
	for (p = eq ? eq + 1 : arg;; p++) {
		if (!strncmp(p, "open", 4) && more.n) {
			if (p[4])
				bad(arg, "sizes are numbers with commas between them, and \"open\" the last");
			g->open = true;
			break;
		}
		for (int i = 0; i < n; i++, p += i < n) {
			vec_push(&more, size_at(arg, &p));
			if (i + 1 < n && *p != ':' && *p != 'x')
				bad(arg, "fewer sizes than symbols; h:w=320:320,640:480");
		}
		if (*p && *p != ',')
			bad(arg, "sizes are numbers with commas between them");
		if (!*p)
			break;
	}
	size_t count = more.n / (size_t)n, before = first ? gears_count(&old) : 1;
	if (count * before > GEARS_MAX)
		bad(arg, "more than 4096 gears");
	g->size.a = NULL;
	g->size.n = g->size.cap = 0;
	for (size_t k = 0; k < before; k++)
		for (size_t j = 0; j < count; j++) {
			for (int i = 0; i < first; i++)
				vec_push(&g->size, old.size.a[k * (size_t)first + (size_t)i]);
			for (int i = 0; i < n; i++)
				vec_push(&g->size, more.a[j * (size_t)n + (size_t)i]);
		}
	vec_free(&more);
	vec_free(&old.size);
}

static int sizes_in_row; /* for qsort */

static int compare(const void *a, const void *b) { return gears_compare(a, b, sizes_in_row); }

void gears_sort(struct gears *g)
{
	size_t n = (size_t)g->n, kept = 0, count = gears_count(g);
	int64_t *a = g->size.a;

	sizes_in_row = g->n;
	if (count)
		qsort(a, count, n * sizeof *a, compare);
	for (size_t k = 0; k < count; k++)
		if (!kept || compare(a + (kept - 1) * n, a + k * n))
			memmove(a + kept++ * n, a + k * n, n * sizeof *a);
	g->size.n = kept * n;
}

void gears_put_last(struct gears *g, int i)
{
	sym name = g->name[i];
	poly_var v = g->var[i];
	int last = g->n - 1;

	for (int k = i; k < last; k++) {
		g->name[k] = g->name[k + 1];
		g->var[k] = g->var[k + 1];
	}
	g->name[last] = name;
	g->var[last] = v;
	for (size_t k = 0; k < gears_count(g); k++) {
		int64_t *row = g->size.a + k * (size_t)g->n, size = row[i];
		memmove(row + i, row + i + 1, (size_t)(last - i) * sizeof *row);
		row[last] = size;
	}
	gears_sort(g);
}

const char *gear_text(const struct gears *g, size_t k, struct arena *a)
{
	const char *s = "";

	for (int i = 0; i < g->n; i++)
		s = arena_printf(a, "%s%s%s=%" PRId64, s, i ? "," : "", sym_str(g->name[i]), g->size.a[k * (size_t)g->n + (size_t)i]);
	return s;
}
