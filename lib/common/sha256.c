/* SHA-256 as FIPS 180-4 has it. */
#include "common/sha256.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "common/outfile.h"

enum { BLOCK = 64, ROUNDS = 64, LENGTH_BYTES = 8 };

/* The first 32 bits of the fractions of the cube roots of the first primes. */
static const uint32_t round_constant[ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
	0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
	0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
	0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void take_block(uint32_t state[8], const unsigned char *p)
{
	uint32_t w[ROUNDS], s[8];

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (int i = 16; i < ROUNDS; i++) {
		uint32_t x = w[i - 15], y = w[i - 2];
		w[i] = w[i - 16] + (turn(x, 7) ^ turn(x, 18) ^ x >> 3) + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ y >> 10);
	}
	memcpy(s, state, sizeof s);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a = s[0], e = s[4];
		uint32_t t = s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + round_constant[i] + w[i];
		uint32_t u = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += t;
		s[0] = t + u;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void sha256_hex(const void *p, size_t n, char out[65])
{
	/* The first 32 bits of the fractions of the square roots of the first primes. */
	uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	unsigned char last[2 * BLOCK] = {0};
	const unsigned char *from = p;
	size_t rest = n % BLOCK, end = rest + 1 + LENGTH_BYTES <= BLOCK ? BLOCK : 2 * BLOCK;

	for (size_t i = 0; i < n / BLOCK; i++)
		take_block(state, from + i * BLOCK);
	if (rest)
		memcpy(last, from + n - rest, rest);
	last[rest] = 0x80;
	for (int i = 0; i < LENGTH_BYTES; i++)
		last[end - 1 - (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
	for (size_t i = 0; i < end; i += BLOCK)
		take_block(state, last + i);
	for (int i = 0; i < 8; i++)
		snprintf(out + 8 * i, 9, "%08x", state[i]);
}

void sha256_file(const char *path, char out[65])
{
	struct mapped m;

	mapped_open(&m, path);
	sha256_hex(m.p, m.n, out);
	mapped_close(&m);
}
