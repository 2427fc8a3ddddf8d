#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "graph/mp.h"

static int append(void *arg, const char *p, size_t n)
{
	struct mp_out *o = arg;
	vec_reserve(&o->b, o->b.n + n);
	if (n)
		memcpy(o->b.a + o->b.n, p, n);
	o->b.n += n;
	return 0;
}

void mp_out_init(struct mp_out *o)
{
	*o = (struct mp_out){0};
	msgpack_packer_init(&o->k, o, append);
}

void mp_out_free(struct mp_out *o) { vec_free(&o->b); }

void mp_put_str(struct mp_out *o, const char *s, size_t n)
{
	msgpack_pack_str(&o->k, n);
	msgpack_pack_str_body(&o->k, s, n);
}

void mp_put_bin(struct mp_out *o, const void *p, size_t n)
{
	msgpack_pack_bin(&o->k, n);
	msgpack_pack_bin_body(&o->k, p, n);
}

void mp_put_digest(struct mp_out *o, struct digest d)
{
	unsigned char b[16];
	for (int i = 0; i < 8; i++) {
		b[i] = (unsigned char)(d.hi >> (56 - 8 * i));
		b[8 + i] = (unsigned char)(d.lo >> (56 - 8 * i));
	}
	mp_put_bin(o, b, sizeof b);
}

void mp_fail(struct mp_in *r, size_t at, const char *fmt, ...)
{
	va_list ap;
	if (r->why)
		return;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
	r->why = r->text;
	r->at = at;
	r->p = r->end;
}

/* n bytes, or NULL and a fault. */
static const unsigned char *take(struct mp_in *r, size_t n)
{
	if (r->why)
		return NULL;
	if (n > mp_left(r)) {
		mp_fail(r, mp_at(r), "the stream is cut short");
		return NULL;
	}
	r->p += n;
	return r->p - n;
}

static uint64_t big_endian(struct mp_in *r, size_t n)
{
	const unsigned char *p = take(r, n);
	uint64_t v = 0;
	for (size_t i = 0; p && i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* The byte that tells what follows, fetched once: a mapped file may change. 0 and a fault at the end. */
static unsigned first(struct mp_in *r)
{
	const unsigned char *p = take(r, 1);
	return p ? *(const volatile unsigned char *)p : 0;
}

static const char *type_word(unsigned b)
{
	if (b < 0x80 || b >= 0xe0 || (b >= 0xcc && b <= 0xd3))
		return "an integer";
	if (b < 0x90 || b >= 0xde)
		return "a map";
	if (b < 0xa0 || b == 0xdc || b == 0xdd)
		return "an array";
	if (b < 0xc0 || (b >= 0xd9 && b <= 0xdb))
		return "a string";
	if (b >= 0xc4 && b <= 0xc6)
		return "bytes";
	if (b == 0xca || b == 0xcb)
		return "a float";
	return b == 0xc0 ? "nil" : b == 0xc2 || b == 0xc3 ? "a boolean" : "an extension";
}

static void wrong(struct mp_in *r, size_t at, const char *wanted, unsigned b)
{
	mp_fail(r, at, "%s expected, %s found", wanted, type_word(b));
}

/* The length after first byte b of a string, bytes or array: fixed in b, or 1, 2 or 4 bytes. */
static uint32_t length(struct mp_in *r, const char *wanted, unsigned fix, unsigned fix_mask, unsigned l8, unsigned l16)
{
	size_t at = mp_at(r);
	unsigned b = first(r);
	uint32_t n = 0;
	if (r->why)
		return 0;
	if (fix && (b & ~fix_mask) == fix)
		n = b & fix_mask;
	else if (l8 && b == l8)
		n = (uint32_t)big_endian(r, 1);
	else if (b == l16)
		n = (uint32_t)big_endian(r, 2);
	else if (b == l16 + 1)
		n = (uint32_t)big_endian(r, 4);
	else
		wrong(r, at, wanted, b);
	if (!r->why && n > mp_left(r))
		mp_fail(r, at, "the stream is cut short (%s of length %u)", wanted, n);
	return r->why ? 0 : n;
}

uint32_t mp_array(struct mp_in *r) { return length(r, "an array", 0x90, 0x0f, 0, 0xdc); }

void mp_array_of(struct mp_in *r, uint32_t n, const char *what)
{
	size_t at = mp_at(r);
	uint32_t got = mp_array(r);
	if (!r->why && got != n)
		mp_fail(r, at, "%s has %u elements, not %u", what, got, n);
}

int64_t mp_int(struct mp_in *r, int64_t lo, int64_t hi)
{
	size_t at = mp_at(r);
	unsigned b = first(r);
	int64_t v = 0;
	if (r->why)
		return 0;
	if (b < 0x80 || b >= 0xe0)
		v = (int8_t)b;
	else if (b >= 0xcc && b <= 0xcf)
		v = (int64_t)big_endian(r, (size_t)1 << (b - 0xcc));
	else if (b == 0xd0)
		v = (int8_t)big_endian(r, 1);
	else if (b == 0xd1)
		v = (int16_t)big_endian(r, 2);
	else if (b == 0xd2)
		v = (int32_t)big_endian(r, 4);
	else if (b == 0xd3)
		v = (int64_t)big_endian(r, 8);
	else
		wrong(r, at, "an integer", b);
	if (!r->why && (v < lo || v > hi || (b == 0xcf && v < 0)))
		mp_fail(r, at, "a number is out of range");
	return r->why ? 0 : v;
}

float mp_float(struct mp_in *r)
{
	size_t at = mp_at(r);
	unsigned b = first(r);
	float f = 0;
	if (!r->why && b != 0xca)
		wrong(r, at, "a 32-bit float", b);
	uint32_t bits = (uint32_t)big_endian(r, 4);
	if (!r->why)
		memcpy(&f, &bits, 4);
	return f;
}

double mp_double(struct mp_in *r)
{
	size_t at = mp_at(r);
	unsigned b = first(r);
	double d = 0;
	if (!r->why && b != 0xcb)
		wrong(r, at, "a 64-bit float", b);
	uint64_t bits = big_endian(r, 8);
	if (!r->why)
		memcpy(&d, &bits, 8);
	return d;
}

bool mp_nil(struct mp_in *r)
{
	bool nil = !r->why && r->p < r->end && *r->p == 0xc0;
	r->p += nil;
	return nil;
}

bool mp_is_array(const struct mp_in *r) { return !r->why && r->p < r->end && (*r->p >> 4 == 9 || *r->p == 0xdc || *r->p == 0xdd); }

bool mp_is_str(const struct mp_in *r) { return !r->why && r->p < r->end && (*r->p >> 5 == 5 || (*r->p >= 0xd9 && *r->p <= 0xdb)); }

const char *mp_str(struct mp_in *r, size_t *n)
{
	*n = length(r, "a string", 0xa0, 0x1f, 0xd9, 0xda);
	const unsigned char *p = take(r, *n);
	return p ? (const char *)p : "";
}

const void *mp_bin(struct mp_in *r, size_t *n)
{
	*n = length(r, "bytes", 0, 0, 0xc4, 0xc5);
	const unsigned char *p = take(r, *n);
	return p ? (const void *)p : "";
}

struct digest mp_digest(struct mp_in *r)
{
	size_t at = mp_at(r), n;
	const unsigned char *p = mp_bin(r, &n);
	struct digest d = {0, 0};
	if (!r->why && n != 16)
		mp_fail(r, at, "a digest has %zu bytes, not 16", n);
	for (int i = 0; i < 8 && !r->why; i++) {
		d.hi = d.hi << 8 | p[i];
		d.lo = d.lo << 8 | p[8 + i];
	}
	return d;
}
