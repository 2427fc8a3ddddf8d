/* Mutants of protobuf messages, field by field: lengths stay right, so what changes is what they say. */
#ifndef HONE_FUZZ_WIRES_H
#define HONE_FUZZ_WIRES_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/rng.h"
#include "common/vec.h"
#include "graph/ops.h"

struct wires_bytes {
	VEC(uint8_t) b;
};
struct wires_field {
	size_t at, head, end; /* the tag; behind tag and length; behind it all */
	int wire;
};

static void wires_put(struct wires_bytes *o, const void *p, size_t n)
{
	vec_reserve(&o->b, o->b.n + n + 1);
	if (n)
		memcpy(o->b.a + o->b.n, p, n);
	o->b.n += n;
}

static void wires_varint(struct wires_bytes *o, uint64_t v)
{
	do {
		uint8_t c = (uint8_t)(v & 127) | (v > 127 ? 128 : 0);
		wires_put(o, &c, 1);
	} while (v >>= 7);
}

static bool wires_get(const uint8_t *p, size_t n, size_t *at, uint64_t *v)
{
	*v = 0;
	for (int s = 0; *at < n && s < 64; s += 7) {
		uint8_t c = p[(*at)++];
		*v |= (uint64_t)(c & 127) << s;
		if (c < 128)
			return true;
	}
	return false;
}

/* The fields of a message; false: it is none. */
struct wires_fields {
	VEC(struct wires_field) f;
};
static bool wires_parse(const uint8_t *p, size_t n, struct wires_fields *o)
{
	size_t at = 0;

	while (at < n) {
		struct wires_field f = {.at = at};
		uint64_t tag, v;
		if (!wires_get(p, n, &at, &tag) || !(tag >> 3) || tag >> 3 > 100)
			return false;
		f.wire = (int)(tag & 7);
		f.head = at;
		if (f.wire == 0 && !wires_get(p, n, &at, &v))
			return false;
		if (f.wire == 2) {
			if (!wires_get(p, n, &at, &v) || v > n - at)
				return false;
			f.head = at;
			at += v;
		}
		at += f.wire == 1 ? 8 : f.wire == 5 ? 4 : 0;
		if (at > n || (f.wire != 0 && f.wire != 1 && f.wire != 2 && f.wire != 5))
			return false;
		f.end = at;
		vec_push(&o->f, f);
	}
	return true;
}

static uint64_t wires_number(struct rng *r)
{
	static const int64_t rare[] = {0,        1,        2,           3,        4,        5,         6,        7,     8,
				       9,        10,       11,          13,       16,       17,        20,       -1,    -2,
				       -3,       64,       65,          255,      300,      1000,      32768,    65536, INT32_MAX,
				       1l << 31, 1l << 32, -(1l << 31), 1l << 47, 1l << 62, INT64_MAX, INT64_MIN};
	return (uint64_t)rare[rng_range(r, 0, (int64_t)(sizeof rare / sizeof *rare) - 1)];
}

/* What a string may be instead: an operator, an attribute, another string of the file. */
static void wires_string(struct rng *r, struct wires_bytes *o, const uint8_t *p, size_t n)
{
	const char *s = op_name((enum opcode)rng_range(r, 1, OP_COUNT - 1));

	switch (rng_range(r, 0, 3)) {
	case 0: wires_put(o, s, strlen(s)); return;
	case 1: {
		const char *a = op_info((enum opcode)rng_range(r, 1, OP_COUNT - 1))->attrs;
		a += *a == '!';
		wires_put(o, a, strcspn(a, ":"));
		return;
	}
	case 2: wires_put(o, p, (size_t)rng_range(r, 0, (int64_t)n)); return;
	default:
		wires_put(o, p, n);
		if (n)
			o->b.a[rng_range(r, 0, (int64_t)n - 1)] = (uint8_t)rng_range(r, 0, 255);
	}
}

/* One thing changed in the message p, or in one in it. */
static void wires_once(struct rng *r, const uint8_t *p, size_t n, struct wires_bytes *o, int depth)
{
	struct wires_fields fields = {0};

	if (!wires_parse(p, n, &fields) || !fields.f.n) {
		wires_string(r, o, p, n);
		vec_free(&fields.f);
		return;
	}
	const struct wires_field *f = &fields.f.a[rng_range(r, 0, (int64_t)fields.f.n - 1)],
				 *g = &fields.f.a[rng_range(r, 0, (int64_t)fields.f.n - 1)];
	struct wires_bytes inner = {0};
	wires_put(o, p, f->at);
	int64_t what = rng_range(r, 0, 19);
	if (what == 0) {        /* not there */
	} else if (what == 1) { /* twice */
		wires_put(o, p + f->at, f->end - f->at);
		wires_put(o, p + f->at, f->end - f->at);
	} else if (what == 2) { /* another in its place */
		wires_put(o, p + g->at, g->end - g->at);
	} else if (f->wire == 0) {
		wires_put(o, p + f->at, f->head - f->at);
		wires_varint(o, wires_number(r));
	} else if (f->wire == 2) {
		size_t at = f->at;
		uint64_t tag;
		wires_get(p, n, &at, &tag);
		if (depth < 12)
			wires_once(r, p + f->head, f->end - f->head, &inner, depth + 1);
		wires_varint(o, tag);
		wires_varint(o, inner.b.n);
		wires_put(o, inner.b.a, inner.b.n);
	} else { /* floats */
		wires_put(o, p + f->at, f->end - f->at);
		o->b.a[o->b.n - 1 - (size_t)rng_range(r, 0, 3)] = (uint8_t)rng_range(r, 0, 255);
	}
	wires_put(o, p + f->end, n - f->end);
	vec_free(&inner.b);
	vec_free(&fields.f);
}

static size_t wires_mutate(uint8_t *p, size_t n, size_t most, unsigned seed)
{
	struct rng r = {seed};

	for (int64_t i = rng_range(&r, 1, 3); i > 0; i--) {
		struct wires_bytes o = {0};
		wires_once(&r, p, n, &o, 0);
		if (o.b.n <= most) {
			n = o.b.n;
			if (n)
				memcpy(p, o.b.a, n);
		}
		vec_free(&o.b);
	}
	return n;
}
#endif
