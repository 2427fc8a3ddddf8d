/* Orders by a seed. */
#include "train.h"

static uint64_t mixed(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u; /* splitmix64, as common/rng.h */
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A Feistel network on as many bits as n has, an even number of them, is a permutation; what is n or more is permuted again
 * (Black and Rogaway 2002). */
uint64_t shuffled(uint64_t i, uint64_t n, uint64_t key)
{
	enum { ROUNDS = 6 };
	int half = 1;

	while (half < 32 && (uint64_t)1 << (2 * half) < n)
		half++;
	const uint64_t mask = ((uint64_t)1 << half) - 1;
	do {
		uint64_t left = i >> half, right = i & mask;
		for (uint64_t r = 0; r < ROUNDS; r++) {
			uint64_t next = left ^ (mixed(mixed(key + r) + right) & mask);
			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}
