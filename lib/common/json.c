#include <math.h>
#include <string.h>
#include "common/json.h"

/* Bytes of the UTF-8 sequence at p, 0: none. */
static int utf8_length(const unsigned char *p)
{
	int n = *p < 0x80 ? 1 : *p >= 0xc2 && *p < 0xe0 ? 2 : (*p & 0xf0) == 0xe0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 0;
	for (int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) ||
	    (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))))
		return 0; /* too long a form, a surrogate, beyond the last code point */
	return n;
}

void json_str(FILE *f, const char *s)
{
	putc('"', f);
	for (const unsigned char *p = (const unsigned char *)s; *p;) {
		int n = utf8_length(p);
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p++);
		else if (n == 0 || *p < ' ')
			fprintf(f, "\\u%04x", *p++);
		else
			for (; n > 0; n--)
				putc(*p++, f);
	}
	putc('"', f);
}

void json_num(FILE *f, double v)
{
	if (!isfinite(v))
		fputs("null", f);
	else if (v == rint(v) && fabs(v) < 0x1p53)
		fprintf(f, "%.0f", v);
	else
		fprintf(f, "%.9g", v);
}
