/* What a number becomes in a type of few bits: Cast. */
#ifndef HONE_NATIVE_CASTING_H
#define HONE_NATIVE_CASTING_H
#include "native/native.h"

/* special: native_set would not do: other roundings, infinities, numbers cut to their low bits. */
struct cast_to {
	int type;
	bool special, saturate;
	char round; /* of f8e8m0 */
};

static inline bool cast_is_whole(int type) { return type != NATIVE_NONE && !native_is_float(type) && !native_is_small(type); }

static inline struct cast_to cast_to(int type, bool saturate, char round)
{
	bool narrow = cast_is_whole(type) && native_bits(type) < 8 && type != NATIVE_BOOL;

	return (struct cast_to){type, narrow || type == NATIVE_F8E8M0 || (native_is_small(type) && !saturate), saturate, round};
}

/* An integer type of fewer than 8 bits takes the nearest integer, of two the even one; beyond its range the low bits. */
static inline void cast_store_special(const struct cast_to *c, void *p, int64_t at, int64_t count, const double *v)
{
	uint8_t *o = (uint8_t *)p + at;

	for (int64_t i = 0; i < count; i++)
		if (c->type == NATIVE_F8E8M0)
			o[i] = native_power(v[i], c->saturate, c->round);
		else if (native_is_small(c->type))
			o[i] = native_put_small(c->type, v[i], c->saturate);
		else
			native_set_int(c->type, p, at + i, fabs(v[i]) < 0x1p62 ? (int64_t)rint(v[i]) : 0);
}
#endif
