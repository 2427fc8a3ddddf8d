#include "common/shown.h"
#include "common/utf8.h"

uint32_t utf8_decode(const char *s, int k)
{
	const unsigned char *p = (const unsigned char *)s;
	uint32_t c = k == 1 ? p[0] : p[0] & (0xffu >> (k + 1));

	for (int i = 1; i < k; i++)
		c = c << 6 | (p[i] & 63);
	return c;
}

int utf8_encode(uint32_t c, char out[UTF8_MAX])
{
	static const unsigned char head[] = {0, 0, 0xc0, 0xe0, 0xf0};
	int k = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c > UTF8_LAST || (c >= 0xd800 && c < 0xe000))
		return 0;
	for (int i = k - 1; i > 0; i--, c >>= 6)
		out[i] = (char)(0x80 | (c & 63));
	out[0] = (char)(head[k] | c);
	return k;
}

int64_t utf8_count(const char *p, size_t n)
{
	int64_t count = 0;

	for (int k; n; p += k, n -= (size_t)k, count++)
		if (!(k = utf8_length(p, n)))
			return -1;
	return count;
}
