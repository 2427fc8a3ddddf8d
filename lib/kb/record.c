/* Records as text. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "kb/kb.h"

const char kb_newer[] = "of a newer version than this program reads";

static int by_name(const void *x, const void *y) { return strcmp(((const struct kb_field *)x)->name, ((const struct kb_field *)y)->name); }

/* Length of the field name that p begins with; 0: none. */
static size_t name_length(const char *p, size_t n)
{
	size_t i = 0;
	while (i < n &&
	       ((p[i] >= 'a' && p[i] <= 'z') || (i > 0 && ((p[i] >= '0' && p[i] <= '9') || p[i] == '_' || p[i] == '.' || p[i] == '-'))))
		i++;
	return i;
}

static struct kb_field *find_field(const struct kb_record *r, const char *name)
{
	struct kb_field key = {.name = name};
	return r->n ? bsearch(&key, r->a, r->n, sizeof *r->a, by_name) : NULL;
}

/* Names that fields had in records of older programs. */
static const struct {
	const char *name, *older;
} renamed[] = {{"cold-weights", "rotation"}, {"remeasurement", "look"}, {"remeasurements", "looks"}};

const char *kb_get_field(const struct kb_record *r, const char *name)
{
	const struct kb_field *f = find_field(r, name);
	for (size_t i = 0; !f && i < sizeof renamed / sizeof *renamed; i++)
		if (!strcmp(renamed[i].name, name))
			f = find_field(r, renamed[i].older);
	return f ? f->value : NULL;
}

static void push_field(struct kb_record *r, const char *name, const char *value, struct arena *a)
{
	if (r->n == r->cap) {
		struct kb_field *old = r->a;
		r->cap = r->cap ? 2 * r->cap : 16;
		r->a = ARENA_ARRAY(a, struct kb_field, r->cap);
		if (r->n)
			memcpy(r->a, old, r->n * sizeof *old);
	}
	r->a[r->n++] = (struct kb_field){name, value};
}

void kb_set_field(struct kb_record *r, const char *name, const char *value, struct arena *a)
{
	struct kb_field *f = find_field(r, name);
	if (!*name || name_length(name, strlen(name)) != strlen(name))
		BUG("field name '%s'", name);
	if (!value) {
		if (f) {
			size_t i = (size_t)(f - r->a);
			memmove(f, f + 1, (r->n - i - 1) * sizeof *f);
			r->n--;
		}
		return;
	}
	value = arena_str(a, value);
	if (f) {
		f->value = value;
		return;
	}
	push_field(r, arena_str(a, name), value, a);
	qsort(r->a, r->n, sizeof *r->a, by_name);
}

/* The lines of a field to out (NULL: only counted); their bytes. */
static size_t write_field(const struct kb_field *f, char *out)
{
	size_t name = strlen(f->name), n = name;
	if (out)
		memcpy(out, f->name, name);
	if (*f->value && *f->value != '\n') {
		if (out)
			out[n] = ' ';
		n++;
	}
	for (const char *p = f->value; *p; p++) {
		if (out)
			out[n] = *p;
		n++;
		if (*p == '\n') {
			if (out)
				out[n] = '\t';
			n++;
		}
	}
	if (out)
		out[n] = '\n';
	return n + 1;
}

enum { HEAD = KB_RECORD_HEAD };

const char *kb_text(struct kb_record *r, struct arena *a)
{
	size_t n = 0, at = HEAD;
	for (size_t i = 0; i < r->n; i++)
		n += write_field(&r->a[i], NULL);
	char *text = arena_alloc(a, HEAD + n + 2);
	for (size_t i = 0; i < r->n; i++)
		at += write_field(&r->a[i], text + at);
	r->id = digest_bytes(text + HEAD, n);
	memcpy(text, "record ", 7);
	digest_hex(r->id, text + 7);
	text[HEAD - 1] = '\n';
	text[at] = '\n';
	text[at + 1] = 0;
	return text;
}

size_t kb_length(const char *text) { return strlen(text) - HEAD - 1; }

const char *kb_shown(const char *s, struct arena *a)
{
	char *out = arena_alloc(a, 4 * strlen(s) + 1), *p = out;
	for (; *s; s++) {
		if (*s >= ' ' && *s <= '~')
			*p++ = *s;
		else
			p += sprintf(p, "\\x%02x", (unsigned char)*s);
	}
	*p = 0;
	return out;
}

/* A line of text, without its end; false: the text is used up. */
struct line {
	const char *p;
	size_t n;
	bool whole; /* there was an end of line */
};

static bool next_line(const char **s, const char *end, struct line *l)
{
	if (*s >= end)
		return false;
	const char *nl = memchr(*s, '\n', (size_t)(end - *s));
	l->p = *s;
	l->whole = nl != NULL;
	l->n = (size_t)((nl ? nl : end) - *s);
	*s = nl ? nl + 1 : end;
	return true;
}

static bool line_is(const struct line *l, const char *word)
{
	size_t n = strlen(word);
	return l->n >= n && !memcmp(l->p, word, n) && (l->n == n || l->p[n] == ' ');
}

/* "hone-kb 1", "hone-kb 1.4": the version of the text that follows. */
static const char *check_version(const struct line *l)
{
	const char *p = l->p + 8, *end = l->p + l->n;
	int major = 0;
	for (; p < end && *p >= '0' && *p <= '9' && major < 1000000; p++)
		major = 10 * major + (*p - '0');
	bool good = p > l->p + 8;
	if (good && p < end && *p == '.') {
		const char *minor = ++p;
		while (p < end && *p >= '0' && *p <= '9')
			p++;
		good = p > minor;
	}
	if (!good || p < end)
		return "expected hone-kb and a version";
	return major > 1 ? kb_newer : major < 1 ? "there is no version 0" : NULL;
}

/* The lines of one value: its first, and those behind it that begin with a tab. */
static char *read_value(struct line first, const char **s, const char *end, struct arena *a, int *line)
{
	size_t n = first.n;
	const char *p = *s;
	struct line l;
	while (p < end && *p == '\t' && next_line(&p, end, &l))
		n += l.n; /* the tab becomes the end of the line before */
	char *value = arena_alloc(a, n + 1), *out = value;
	memcpy(out, first.p, first.n);
	out += first.n;
	while (*s < p && next_line(s, end, &l)) {
		*out++ = '\n';
		memcpy(out, l.p + 1, l.n - 1);
		out += l.n - 1;
		++*line;
	}
	*out = 0;
	return value;
}

static const char *read_fields(const char **s, const char *end, struct kb_record *r, struct arena *a, int *line)
{
	struct line l;
	for (;;) {
		const char *at = *s;
		if (!next_line(s, end, &l) || !l.whole) {
			*s = at;
			return "cut short; a record ends with an empty line";
		}
		++*line;
		if (l.n == 0)
			return NULL;
		size_t name = name_length(l.p, l.n);
		if (name == 0 || (name < l.n && l.p[name] != ' ')) {
			*s = at;
			--*line;
			return l.p[l.n - 1] == '\r' ? "line ends are CR LF; expected LF" : "expected a field: name, a blank, its value";
		}
		const char *key = arena_copy(a, l.p, name + 1);
		((char *)key)[name] = 0;
		struct line first = {.p = l.p + name, .n = l.n - name};
		if (first.n)
			first.p++, first.n--;
		push_field(r, key, read_value(first, s, end, a, line), a);
	}
}

/* Skips comments, empty lines and the version up to the line that begins a record. */
static bool find_record(const char **s, const char *end, struct line *l, int *line, const char **why)
{
	for (;; ++*line) {
		const char *at = *s;
		if (!next_line(s, end, l))
			return false;
		if (l->n == 0 || *l->p == '#')
			continue;
		if (line_is(l, "record"))
			return true;
		*why = line_is(l, "hone-kb") && l->n > 8 ? check_version(l) : "expected record and its id";
		if (*why) {
			*s = at;
			return false;
		}
	}
}

bool kb_parse(const char **s, const char *end, struct kb_record *r, struct arena *a, int *line, const char **why)
{
	struct line head;
	struct digest said;
	*r = (struct kb_record){0};
	*why = NULL;
	if (!find_record(s, end, &head, line, why))
		return false;
	const char *at = head.p;
	int first = *line;
	bool has_id = head.n > 6;
	if (has_id && !digest_parse(head.p + 7, head.n - 7, &said)) {
		*why = "expected record and an id of 32 hexadecimal digits, or record alone";
	} else {
		++*line;
		*why = read_fields(s, end, r, a, line);
		if (*why)
			return false;
	}
	if (!*why && memchr(at, 0, (size_t)(*s - at)))
		*why = "a byte of 0 in the record";
	if (!*why && r->n == 0)
		*why = "a record without fields";
	if (r->n)
		qsort(r->a, r->n, sizeof *r->a, by_name);
	for (size_t i = 1; i < r->n && !*why; i++)
		if (!strcmp(r->a[i - 1].name, r->a[i].name))
			*why = arena_printf(a, "field %s is there twice", r->a[i].name);
	if (!*why) {
		if (kb_length(kb_text(r, a)) > KB_RECORD_MAX)
			*why = "a record of more than 16 MiB";
		else if (has_id && !digest_eq(r->id, said))
			*why = "the record does not match its id; one that was written or changed by hand has none";
	}
	if (*why)
		*s = at, *line = first;
	return !*why;
}
