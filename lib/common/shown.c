#define _GNU_SOURCE
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "common/shown.h"
#include "common/textfile.h"

int utf8_length(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	int k = n == 0 ? 0 : *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;

	if ((size_t)k > n)
		return 0;
	for (int i = 1; i < k; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((k == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) ||
	    (k == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))))
		return 0; /* too long a form, a surrogate, beyond the last code point */
	return k;
}

int shown_length(const char *s, size_t n)
{
	const unsigned char *p = (const unsigned char *)s;
	int k = utf8_length(s, n);

	if (k == 1)
		return *p >= ' ' && *p != 0x7f;
	if (k == 2)
		return p[0] == 0xc2 && p[1] < 0xa0 ? 0 : k; /* C1 */
	if (k == 3) {
		unsigned c = (unsigned)(p[0] & 15) << 12 | (unsigned)(p[1] & 63) << 6 | (p[2] & 63);
		bool turns = (c >= 0x200e && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
		return turns ? 0 : k;
	}
	return k;
}

void put_shown_but(FILE *f, const char *s, const char *also)
{
	for (size_t n = s ? strlen(s) : 0; n > 0;) {
		int k = strchr(also, *s) ? 0 : shown_length(s, n);
		if (k)
			fwrite(s, 1, (size_t)k, f);
		else
			fprintf(f, "\\x%02x", (unsigned char)*s);
		s += k ? k : 1;
		n -= (size_t)(k ? k : 1);
	}
}

void put_shown(FILE *f, const char *s) { put_shown_but(f, s, ""); }

void put_shown_lines(FILE *f, const char *s)
{
	for (; *s; s += *s ? 1 : 0) {
		size_t n = strcspn(s, "\n\t");
		char *part = xprintf("%.*s", (int)n, s);
		put_shown(f, part);
		free(part);
		s += n;
		if (*s)
			putc(*s, f);
	}
}

const char *shown(const char *s)
{
	static __thread char *kept[SHOWN_KEPT];
	static __thread unsigned next;
	size_t n = s ? strlen(s) : 0;
	const char *p = s ? s : "";

	for (int k; n > 0 && (k = shown_length(p, n)); n -= (size_t)k)
		p += k;
	if (n == 0)
		return s ? s : "";
	char **text = &kept[next++ % SHOWN_KEPT];
	free(*text);
	FILE *f = textfile_open(text, NULL);
	put_shown(f, s);
	textfile_close(f);
	return *text;
}

const char *shell_word(const char *s, struct arena *a)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+-";
	char *q, *p;

	if (*s && !s[strspn(s, plain)])
		return s;
	q = p = arena_alloc(a, 4 * strlen(s) + 3);
	*p++ = '\'';
	for (; *s; s++)
		p = *s == '\'' ? stpcpy(p, "'\\''") : (*p = *s, p + 1);
	*p++ = '\'';
	*p = 0;
	return q;
}
