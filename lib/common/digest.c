#include <stdlib.h>
#define XXH_INLINE_ALL /* compiled models carry this file and need no library for it */
#include <xxhash.h>
#include "common/arena.h"
#include "common/digest.h"
#include "common/msg.h"

struct digest_state {
	XXH3_state_t *x;
};

struct digest digest_bytes(const void *p, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(p, n);
	return (struct digest){h.high64, h.low64};
}

void digest_hex(struct digest d, char out[33])
{
	static const char digits[] = "0123456789abcdef";
	for (int i = 0; i < 16; i++) {
		out[15 - i] = digits[d.hi >> (4 * i) & 15];
		out[31 - i] = digits[d.lo >> (4 * i) & 15];
	}
	out[32] = 0;
}

bool digest_parse(const char *hex, size_t n, struct digest *out)
{
	uint64_t half[2] = {0, 0};
	if (n != 32)
		return false;
	for (size_t i = 0; i < 32; i++) {
		uint64_t digit;
		if (hex[i] >= '0' && hex[i] <= '9')
			digit = (uint64_t)(hex[i] - '0');
		else if (hex[i] >= 'a' && hex[i] <= 'f')
			digit = (uint64_t)(hex[i] - 'a' + 10);
		else
			return false;
		half[i / 16] = half[i / 16] << 4 | digit;
	}
	*out = (struct digest){half[0], half[1]};
	return true;
}

struct digest_state *digest_new(void)
{
	struct digest_state *s = xmalloc(sizeof *s);
	s->x = XXH3_createState();
	if (!s->x)
		die(EX_SYSTEM, "out of memory");
	XXH3_128bits_reset(s->x);
	return s;
}

void digest_add(struct digest_state *s, const void *p, size_t n)
{
	if (n)
		XXH3_128bits_update(s->x, p, n);
}

struct digest digest_end(struct digest_state *s)
{
	XXH128_hash_t h = XXH3_128bits_digest(s->x);
	XXH3_freeState(s->x);
	free(s);
	return (struct digest){h.high64, h.low64};
}

uint64_t hash64(const void *p, size_t n, uint64_t seed) { return XXH3_64bits_withSeed(p, n, seed); }
