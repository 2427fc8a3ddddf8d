/* 128-bit content digests (XXH3, libxxhash) and a streaming 64-bit one for stream checksums. */
#ifndef HONE_DIGEST_H
#define HONE_DIGEST_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest {
	uint64_t hi, lo;
};
struct digest_state;

struct digest digest_bytes(const void *p, size_t n);
static inline bool digest_eq(struct digest a, struct digest b) { return a.hi == b.hi && a.lo == b.lo; }
static inline int digest_cmp(struct digest a, struct digest b) /* for sorting */
{
	return a.hi != b.hi ? (a.hi < b.hi ? -1 : 1) : a.lo != b.lo ? (a.lo < b.lo ? -1 : 1) : 0;
}
void digest_hex(struct digest d, char out[33]);
bool digest_parse(const char *hex, size_t n, struct digest *out); /* 32 lower-case hex digits */

struct digest_state *digest_new(void); /* 128 bits, piece by piece */
void digest_add(struct digest_state *s, const void *p, size_t n);
struct digest digest_end(struct digest_state *s); /* and frees s */

uint64_t hash64(const void *p, size_t n, uint64_t seed); /* XXH3 64 */
#endif
