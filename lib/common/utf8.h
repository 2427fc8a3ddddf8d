/* Characters as UTF-8. (utf8_length, in shown.h, says how long one is.) */
#ifndef HONE_UTF8_H
#define HONE_UTF8_H
#include <stddef.h>
#include <stdint.h>
enum { UTF8_MAX = 4, UTF8_LAST = 0x10ffff };
/* The code point of the character of k bytes at p. */
uint32_t utf8_decode(const char *p, int k);
/* Writes the character and returns its bytes; 0: no code point. */
int utf8_encode(uint32_t c, char out[UTF8_MAX]);
/* Code points of n bytes; -1: they are not UTF-8. */
int64_t utf8_count(const char *p, size_t n);
#endif
