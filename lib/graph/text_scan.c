/* Tokens of the text form. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/shown.h"
#include "graph/textform.h"

static bool name_first(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '.' || c == '$';
}

static bool name_inside(char c) { return name_first(c) || c == '-' || c == ':'; }

bool text_plain(const char *s, size_t n)
{
	if (n == 0 || !name_first(s[0]) || s[n - 1] == ':')
		return false;
	for (size_t i = 1; i < n; i++)
		if (!name_inside(s[i]))
			return false;
	return true;
}

noreturn void scan_die(const struct scan *s, const char *fmt, ...)
{
	va_list ap;
	char text[512];
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	die(EX_BADDATA, "%s:%zu: %s", s->file, s->line, text);
}

void scan_blanks(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
	if (s->p < s->end && *s->p == '#')
		while (s->p < s->end && *s->p != '\n')
			s->p++;
}

bool scan_line_end(struct scan *s)
{
	scan_blanks(s);
	return s->p == s->end || *s->p == '\n';
}

void scan_lines(struct scan *s)
{
	while (scan_line_end(s) && s->p < s->end) {
		s->p++;
		s->line++;
	}
}

void scan_end_of_line(struct scan *s)
{
	if (!scan_line_end(s))
		scan_die(s, "end of line expected before '%.20s'", s->p);
}

/* A word ends where a name would end. */
bool scan_is(struct scan *s, const char *word)
{
	size_t n = strlen(word);
	scan_blanks(s);
	if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n))
		return false;
	if (isalpha((unsigned char)word[n - 1]) && s->p + n < s->end && name_inside(s->p[n]) && s->p[n] != ':')
		return false;
	s->p += n;
	return true;
}

static int rest_of_line(const struct scan *s)
{
	int n = 0;
	while (s->p + n < s->end && s->p[n] != '\n' && n < 20)
		n++;
	return n;
}

void scan_want(struct scan *s, const char *word)
{
	if (!scan_is(s, word))
		scan_die(s, "'%s' expected before '%.*s'", word, rest_of_line(s), s->p);
}

bool scan_at_name(struct scan *s)
{
	scan_blanks(s);
	return s->p < s->end && (*s->p == '"' || name_first(*s->p));
}

static int hex_value(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

char *scan_string(struct scan *s, size_t *n, struct arena *a)
{
	scan_want(s, "\"");
	const char *q = s->p;
	while (q < s->end && *q != '"' && *q != '\n')
		q += 1 + (*q == '\\');
	char *out = arena_alloc(a, (size_t)(q - s->p) + 1), *o = out;
	for (; s->p < s->end && *s->p != '"' && *s->p != '\n'; s->p++) {
		if (*s->p != '\\') {
			*o++ = *s->p;
			continue;
		}
		char c = ++s->p < s->end ? *s->p : 0;
		int hi, lo;
		if (c == 'n') {
			*o++ = '\n';
		} else if (c == '"' || c == '\\') {
			*o++ = c;
		} else if (c == 'x' && s->end - s->p > 2 && (hi = hex_value(s->p[1])) >= 0 && (lo = hex_value(s->p[2])) >= 0) {
			*o++ = (char)(hi * 16 + lo);
			s->p += 2;
		} else {
			scan_die(s, "a bad escape in a string; \\n, \\\", \\\\ and \\xNN are known");
		}
	}
	if (s->p >= s->end || *s->p != '"')
		scan_die(s, "a string without an end");
	s->p++;
	*n = (size_t)(o - out);
	return out;
}

sym scan_name(struct scan *s)
{
	scan_blanks(s);
	if (s->p < s->end && *s->p == '"') {
		struct arena a = {0};
		size_t n;
		char *p = scan_string(s, &n, &a);
		if (memchr(p, 0, n))
			scan_die(s, "a name has a NUL byte in it");
		sym name = intern_n(p, n);
		arena_release(&a);
		return name;
	}
	const char *start = s->p;
	if (s->p < s->end && name_first(*s->p))
		while (s->p < s->end && name_inside(*s->p))
			s->p++;
	while (s->p > start && s->p[-1] == ':')
		s->p--;
	if (s->p == start)
		scan_die(s, "a name expected before '%.*s'", rest_of_line(s), s->p);
	return intern_n(start, (size_t)(s->p - start));
}

/* The characters of a number, copied so that they end. */
static void number_text(struct scan *s, char out[64])
{
	size_t n = 0;
	scan_blanks(s);
	while (s->p < s->end && n < 63 && (isalnum((unsigned char)*s->p) || strchr("+-.", *s->p)))
		out[n++] = *s->p++;
	out[n] = 0;
	if (n == 0)
		scan_die(s, "a number expected before '%.*s'", rest_of_line(s), s->p);
}

int64_t scan_int(struct scan *s)
{
	char text[64], *end;
	number_text(s, text);
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (*end || errno)
		scan_die(s, "'%s' is no integer of 64 bits", text);
	return v;
}

void text_put_string(FILE *f, const char *s, size_t n)
{
	putc('"', f);
	for (size_t i = 0; i < n;) {
		int k = shown_length(s + i, n - i);
		if (s[i] == '\n')
			fputs("\\n", f);
		else if (s[i] == '"' || s[i] == '\\')
			fprintf(f, "\\%c", s[i]);
		else if (k)
			fwrite(s + i, 1, (size_t)k, f);
		else
			fprintf(f, "\\x%02x", (unsigned char)s[i]);
		i += (size_t)(k ? k : 1);
	}
	putc('"', f);
}

void text_put_name(FILE *f, sym s)
{
	if (text_plain(sym_str(s), sym_len(s)))
		fputs(sym_str(s), f);
	else
		text_put_string(f, sym_str(s), sym_len(s));
}
