#include <math.h>
#include <string.h>
#include "common/json.h"
#include "common/shown.h"

void json_str(FILE *f, const char *s)
{
	putc('"', f);
	for (size_t n = strlen(s); n > 0;) {
		const unsigned char *p = (const unsigned char *)s;
		int k = utf8_length(s, n), plain = shown_length(s, n);
		if (*p == '"' || *p == '\\')
			fprintf(f, "\\%c", *p);
		else if (plain)
			fwrite(s, 1, (size_t)plain, f);
		else
			fprintf(f, "\\u%04x",
				k == 2   ? (p[0] & 31u) << 6 | (p[1] & 63u)
				: k == 3 ? (p[0] & 15u) << 12 | (p[1] & 63u) << 6 | (p[2] & 63u)
					 : *p);
		s += k ? k : 1;
		n -= (size_t)(k ? k : 1);
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
