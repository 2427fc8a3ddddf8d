/* A writer of protobuf's wire format, just enough to make ONNX files, sound and unsound. */
#ifndef HONE_TEST_PB_H
#define HONE_TEST_PB_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pb {
	unsigned char *p;
	size_t n, cap;
};

static void pb_bytes(struct pb *b, const void *p, size_t n)
{
	if (b->n + n > b->cap) {
		b->cap = 2 * (b->n + n);
		b->p = realloc(b->p, b->cap);
	}
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
}

static void pb_varint(struct pb *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		pb_bytes(b, &(unsigned char){(unsigned char)(v | 128)}, 1);
	pb_bytes(b, &(unsigned char){(unsigned char)v}, 1);
}

static void pb_int(struct pb *b, int field, uint64_t v)
{
	pb_varint(b, (uint64_t)field << 3);
	pb_varint(b, v);
}

static void pb_raw(struct pb *b, int field, const void *p, size_t n)
{
	pb_varint(b, (uint64_t)field << 3 | 2);
	pb_varint(b, n);
	pb_bytes(b, p, n);
}

static void pb_str(struct pb *b, int field, const char *s) { pb_raw(b, field, s, strlen(s)); }

/* A message, which is freed. */
static void pb_msg(struct pb *b, int field, struct pb m)
{
	pb_raw(b, field, m.p, m.n);
	free(m.p);
}

static void pb_save(struct pb b, const char *path)
{
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(b.p, 1, b.n, f) != b.n || fclose(f))
		exit(71);
	free(b.p);
}
#endif
