/* MurmurHash3: for each element a hash of 32 bits of its bytes, by Austin Appleby's MurmurHash3_x86_32. Bytes of a number: from the lowest on. */
#include "native/native.h"

static uint32_t murmur_turned(uint32_t v, int bits) { return v << bits | v >> (32 - bits); }

/* The number in the first `size` bytes at p, at most 4. */
static uint32_t murmur_block(const unsigned char *p, size_t size)
{
	uint32_t v = 0;

	for (size_t i = 0; i < size; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return v;
}

static uint32_t murmur_stirred(uint32_t block) { return murmur_turned(block * 0xcc9e2d51u, 15) * 0x1b873593u; }

static uint32_t murmur_add(uint32_t h, uint32_t block) { return murmur_turned(h ^ murmur_stirred(block), 13) * 5 + 0xe6546b64u; }

static uint32_t murmur_end(uint32_t h, size_t size)
{
	h ^= (uint32_t)size;
	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

static uint32_t murmur_text(const struct native_string *s, uint32_t seed)
{
	const unsigned char *p = (const unsigned char *)s->s;
	size_t left = s->n;

	for (; left >= 4; left -= 4, p += 4)
		seed = murmur_add(seed, murmur_block(p, 4));
	return murmur_end(seed ^ murmur_stirred(murmur_block(p, left)), s->n);
}

/* A number of `size` bytes, 4 or 8, at p. */
static uint32_t murmur_number(const void *p, size_t size, uint32_t seed)
{
	uint64_t wide;
	uint32_t word;

	if (size == 4) {
		memcpy(&word, p, sizeof word);
		return murmur_end(murmur_add(seed, word), size);
	}
	memcpy(&wide, p, sizeof wide);
	return murmur_end(murmur_add(murmur_add(seed, (uint32_t)wide), (uint32_t)(wide >> 32)), size);
}

static bool murmur_takes(int type)
{
	return type == NATIVE_STR || type == NATIVE_I32 || type == NATIVE_U32 || type == NATIVE_I64 || type == NATIVE_U64 ||
	       type == NATIVE_F32 || type == NATIVE_F64;
}

NATIVE const char *native_MurmurHash3(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	uint32_t seed = (uint32_t)native_int(n, "seed"), *y;
	size_t size = x->type == NATIVE_STR ? 0 : native_size(x->type);
	int64_t count = native_count(x);

	if (!murmur_takes(x->type))
		return native_no_type();
	/* A signed result has the same bits. */
	if (!(y = n->room(n, 0, native_int(n, "positive") == 1 ? NATIVE_U32 : NATIVE_I32, x->rank, x->dims)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++)
		y[i] = size ? murmur_number((const char *)x->data + (size_t)i * size, size, seed)
			    : murmur_text((const struct native_string *)x->data + i, seed);
	return NULL;
}
