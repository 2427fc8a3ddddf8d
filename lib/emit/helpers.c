/* Keeps of the prelude only the functions that a text calls: less to compile and to read. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit_impl.h"

static const char start[] = "static inline ";

struct helper {
	const char *name;
	size_t length;          /* of the name */
	const char *from, *end; /* its text, with the comment in front of it */
	bool used;
};
struct helpers {
	VEC(struct helper) a; /* as they come in the text */
	VEC(struct helper *) by_name;
};

static const char *next_line(const char *s)
{
	s += strcspn(s, "\n");
	return *s ? s + 1 : s;
}

/* One line, or to the line that closes it. */
static const char *function_end(const char *s)
{
	const char *end = next_line(s);

	if (end - s > 2 && end[-2] == '}')
		return end;
	while (*end && *end != '}')
		end = next_line(end);
	return next_line(end);
}

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
	int c = memcmp(a, b, na < nb ? na : nb);

	return c ? c : (na > nb) - (na < nb);
}

static int by_name(const void *a, const void *b)
{
	const struct helper *x = *(struct helper *const *)a, *y = *(struct helper *const *)b;

	return compare(x->name, x->length, y->name, y->length);
}

static void find_helpers(struct helpers *h, const char *text)
{
	const char *comment = NULL;

	for (const char *s = text, *end; *s; s = end) {
		end = next_line(s);
		if (!strncmp(s, start, strlen(start))) {
			const char *name = s + strcspn(s, "(");
			struct helper x = {.from = comment ? comment : s, .end = function_end(s)};
			while (isalnum((unsigned char)name[-1]) || name[-1] == '_')
				name--;
			x.name = name;
			x.length = strcspn(name, "(");
			vec_push(&h->a, x);
			end = x.end;
		}
		comment = !strncmp(s, "/*", 2) && end - s > 3 && !strncmp(end - 3, "*/", 2) ? s : NULL;
	}
	for (size_t i = 0; i < h->a.n; i++)
		vec_push(&h->by_name, &h->a.a[i]);
	if (h->a.n)
		qsort(h->by_name.a, h->by_name.n, sizeof *h->by_name.a, by_name);
}

static void use(struct helpers *h, const char *s, const char *end);

/* Keeps all functions of that name: there is one for each kind of CPU. */
static void use_name(struct helpers *h, const char *name, size_t length)
{
	size_t low = 0, high = h->by_name.n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		struct helper *x = h->by_name.a[mid];
		if (compare(x->name, x->length, name, length) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (struct helper *x; low < h->by_name.n && (x = h->by_name.a[low], !compare(x->name, x->length, name, length)); low++)
		if (!x->used) {
			x->used = true;
			use(h, x->from, x->end);
		}
}

/* Keeps every helper that the text names. */
static void use(struct helpers *h, const char *s, const char *end)
{
	while (s < end) {
		size_t n = 0;
		while (s + n < end && (isalnum((unsigned char)s[n]) || s[n] == '_'))
			n++;
		if (n && !isdigit((unsigned char)*s))
			use_name(h, s, n);
		s += n ? n : 1;
	}
}

void emit_helpers_of(FILE *f, const char *prelude, const char *const *text, size_t n)
{
	struct helpers h = {0};
	const char *s = prelude;

	find_helpers(&h, prelude);
	for (size_t i = 0; i < n; i++)
		use(&h, text[i], text[i] + strlen(text[i]));
	for (size_t i = 0; i <= h.a.n; i++) { /* what is between them, macros too */
		const char *end = i < h.a.n ? h.a.a[i].from : prelude + strlen(prelude);
		use(&h, s, end);
		s = i < h.a.n ? h.a.a[i].end : end;
	}
	s = prelude;
	for (size_t i = 0; i < h.a.n; i++)
		if (!h.a.a[i].used) {
			fwrite(s, 1, (size_t)(h.a.a[i].from - s), f);
			s = h.a.a[i].end;
		}
	fputs(s, f);
	vec_free(&h.a);
	vec_free(&h.by_name);
}
