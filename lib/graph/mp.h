/* msgpack: packing into a growing buffer (by msgpack-c), and a reader of bytes from anywhere. The
 * reader never reads or believes more than what is there: an array of n elements or a string of n
 * bytes is refused unless n bytes are left. Its first fault sticks: after it every call gives zero,
 * so loops over counts end by themselves and one test at the end of a record is enough. */
#ifndef HONE_MP_H
#define HONE_MP_H
#include <msgpack/pack.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/digest.h"
#include "common/vec.h"

struct mp_out {
	VEC(char) b;
	msgpack_packer k;
};
void mp_out_init(struct mp_out *o);
void mp_out_free(struct mp_out *o);
void mp_put_str(struct mp_out *o, const char *s, size_t n);
void mp_put_bin(struct mp_out *o, const void *p, size_t n);
void mp_put_digest(struct mp_out *o, struct digest d); /* bin of 16, highest byte first */
static inline void mp_put_array(struct mp_out *o, size_t n) { msgpack_pack_array(&o->k, n); }
static inline void mp_put_int(struct mp_out *o, int64_t v) { msgpack_pack_int64(&o->k, v); }
static inline void mp_put_float(struct mp_out *o, float v) { msgpack_pack_float(&o->k, v); }
static inline void mp_put_double(struct mp_out *o, double v) { msgpack_pack_double(&o->k, v); }
static inline void mp_put_nil(struct mp_out *o) { msgpack_pack_nil(&o->k); }
/* Opens a record: an array of n elements, the first its kind. */
static inline void mp_put_record(struct mp_out *o, size_t n, const char *kind)
{
	mp_put_array(o, n);
	mp_put_str(o, kind, strlen(kind));
}

struct mp_in {
	const unsigned char *base, *p, *end;
	const char *why; /* NULL, or the first fault */
	size_t at;       /* its offset from base */
	char text[160];
};
static inline void mp_in_init(struct mp_in *r, const void *p, size_t n)
{
	r->base = r->p = p;
	r->end = r->base + n;
	r->why = NULL;
}
/* A fault at offset at (mp_at of where the thing began). */
void mp_fail(struct mp_in *r, size_t at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static inline size_t mp_at(const struct mp_in *r) { return (size_t)(r->p - r->base); }
static inline size_t mp_left(const struct mp_in *r) { return (size_t)(r->end - r->p); }

uint32_t mp_array(struct mp_in *r);
void mp_array_of(struct mp_in *r, uint32_t n, const char *what); /* exactly n elements */
int64_t mp_int(struct mp_in *r, int64_t lo, int64_t hi);
float mp_float(struct mp_in *r);   /* 32 bits, as they are */
double mp_double(struct mp_in *r); /* 64 bits */
bool mp_nil(struct mp_in *r);      /* takes it if it is there */
bool mp_is_array(const struct mp_in *r);
bool mp_is_str(const struct mp_in *r);
const char *mp_str(struct mp_in *r, size_t *n); /* never NULL */
const void *mp_bin(struct mp_in *r, size_t *n);
struct digest mp_digest(struct mp_in *r);
#endif
