/* Blocks of codes, as ggml lays them out (ggml-common.h, ggml-quants.c). Scales are halves, or halves times integers of 8 bits and less:
 * such a product is exact in a float. */
#include <string.h>
#include "common/half.h"
#include "onnx/gguf/blocks.h"

static float half_at(const uint8_t *p) { return half_to_float((uint16_t)(p[0] | p[1] << 8)); }

/* 32 codes of 4 bits: the low halves of 16 bytes, then the high ones. */
static void nibbles(const uint8_t *p, uint8_t *codes)
{
	for (int i = 0; i < 16; i++) {
		codes[i] = p[i] & 15;
		codes[i + 16] = p[i] >> 4;
	}
}

/* A fifth bit for each of them. */
static void fifth_bits(const uint8_t *p, uint8_t *codes)
{
	for (int i = 0; i < 32; i++)
		codes[i] |= (uint8_t)((p[i / 8] >> i % 8 & 1) << 4);
}

static void q4_0(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	*scales = half_at(p);
	nibbles(p + 2, codes);
}

static void q4_1(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	*scales = half_at(p);
	*minimums = -half_at(p + 2);
	nibbles(p + 4, codes);
}

static void q5_0(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	*scales = half_at(p);
	nibbles(p + 6, codes);
	fifth_bits(p + 2, codes);
}

static void q5_1(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	*scales = half_at(p);
	*minimums = -half_at(p + 2);
	nibbles(p + 8, codes);
	fifth_bits(p + 4, codes);
}

static void q8_0(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	*scales = half_at(p);
	for (int i = 0; i < 32; i++)
		codes[i] = p[2 + i] ^ 0x80; /* a signed byte + 128 */
}

/* Eight scales and minimums of 6 bits in 12 bytes, times the block's two halves. */
static void six_bits(const uint8_t *p, float *scales, float *minimums)
{
	float d = half_at(p), least = half_at(p + 2);

	p += 4;
	for (int j = 0; j < 8; j++) {
		int s = j < 4 ? p[j] & 63 : (p[j + 4] & 15) | p[j - 4] >> 6 << 4;
		int m = j < 4 ? p[j + 4] & 63 : p[j + 4] >> 4 | p[j] >> 6 << 4;
		scales[j] = d * (float)s;
		minimums[j] = least * (float)m;
	}
}

/* 64 codes of 4 bits: the low halves of 32 bytes, then the high ones. */
static void wide_nibbles(const uint8_t *p, uint8_t *codes)
{
	for (int i = 0; i < 32; i++) {
		codes[i] = p[i] & 15;
		codes[i + 32] = p[i] >> 4;
	}
}

/* 128 codes of 2 bits: the lowest of 32 bytes, then the next ones. */
static void pairs(const uint8_t *p, uint8_t *codes)
{
	for (int i = 0; i < 128; i++)
		codes[i] = p[i % 32] >> i / 32 * 2 & 3;
}

static void q2_k(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	float d = half_at(p + 80), least = half_at(p + 82);

	for (int j = 0; j < 16; j++) {
		scales[j] = d * (float)(p[j] & 15);
		minimums[j] = least * (float)(p[j] >> 4);
	}
	for (int k = 0; k < 2; k++)
		pairs(p + 16 + 32 * k, codes + 128 * k);
}

/* A third bit lies apart. Scales have 6 bits, around 32. */
static void q3_k(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	const uint8_t *low = p + 96, *high = p + 104;
	float d = half_at(p + 108);

	for (int k = 0; k < 2; k++)
		pairs(p + 32 + 32 * k, codes + 128 * k);
	for (int i = 0; i < 256; i++)
		codes[i] |= (uint8_t)((p[i % 32] >> i / 32 & 1) << 2);
	for (int j = 0; j < 16; j++) {
		int code = (low[j % 8] >> j / 8 * 4 & 15) | (high[j % 4] >> j / 4 * 2 & 3) << 4;
		scales[j] = d * (float)(code - 32);
	}
}

/* Codes of 4 bits name one of 16 numbers, which are denser about 0. */
static void named(uint8_t *codes, int n)
{
	static const int8_t number[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

	for (int i = 0; i < n; i++)
		codes[i] = (uint8_t)(number[codes[i]] + 128);
}

static void iq4_nl(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	q4_0(p, codes, scales, minimums);
	named(codes, 32);
}

static void iq4_xs(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	float d = half_at(p);
	int high = p[2] | p[3] << 8;

	for (int j = 0; j < 8; j++) {
		int code = (p[4 + j / 2] >> j % 2 * 4 & 15) | (high >> 2 * j & 3) << 4;
		scales[j] = d * (float)(code - 32);
		nibbles(p + 8 + 16 * j, codes + 32 * j);
	}
	named(codes, 256);
}

static void q4_k(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	six_bits(p, scales, minimums);
	for (int k = 0; k < 4; k++)
		wide_nibbles(p + 16 + 32 * k, codes + 64 * k);
}

static void q5_k(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	six_bits(p, scales, minimums);
	for (int k = 0; k < 4; k++)
		wide_nibbles(p + 48 + 32 * k, codes + 64 * k);
	for (int i = 0; i < 256; i++)
		codes[i] |= (uint8_t)((p[16 + i % 32] >> i / 32 & 1) << 4);
}

static void q6_k(const uint8_t *p, uint8_t *codes, float *scales, float *minimums)
{
	float d = half_at(p + 208);

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 32; i++) {
			const uint8_t *low = p + 64 * k;
			uint8_t high = p[128 + 32 * k + i], *to = codes + 128 * k + i;
			to[0] = (uint8_t)((low[i] & 15) | (high & 3) << 4);
			to[32] = (uint8_t)((low[i + 32] & 15) | (high >> 2 & 3) << 4);
			to[64] = (uint8_t)(low[i] >> 4 | (high >> 4 & 3) << 4);
			to[96] = (uint8_t)(low[i + 32] >> 4 | (high >> 6 & 3) << 4);
		}
	for (int j = 0; j < 16; j++)
		scales[j] = d * (float)(int8_t)p[192 + j];
}

/* clang-format off: a type is a line */
static const struct block_type types[] = {
	[0] = {"F32", 4, 1, .dtype = DT_F32},
	[1] = {"F16", 2, 1, .dtype = DT_F16},
	[2] = {"Q4_0", 18, 32, 32, 4, 8, false, 0, q4_0},
	[3] = {"Q4_1", 20, 32, 32, 4, 0, true, 0, q4_1},
	[6] = {"Q5_0", 22, 32, 32, 8, 16, false, 0, q5_0},
	[7] = {"Q5_1", 24, 32, 32, 8, 0, true, 0, q5_1},
	[8] = {"Q8_0", 34, 32, 32, 8, 128, false, 0, q8_0},
	[9] = {"Q8_1"},
	[10] = {"Q2_K", 84, 256, 16, 4, 0, true, 0, q2_k, 80},
	[11] = {"Q3_K", 110, 256, 16, 4, 4, false, 0, q3_k, 108},
	[12] = {"Q4_K", 144, 256, 32, 4, 0, true, 0, q4_k},
	[13] = {"Q5_K", 176, 256, 32, 8, 0, true, 0, q5_k},
	[14] = {"Q6_K", 210, 256, 16, 8, 32, false, 0, q6_k, 208},
	[15] = {"Q8_K"},
	[16] = {"IQ2_XXS"},
	[17] = {"IQ2_XS"},
	[18] = {"IQ3_XXS"},
	[19] = {"IQ1_S"},
	[20] = {"IQ4_NL", 18, 32, 32, 8, 128, false, 0, iq4_nl},
	[21] = {"IQ3_S"},
	[22] = {"IQ2_S"},
	[23] = {"IQ4_XS", 136, 256, 32, 8, 128, false, 0, iq4_xs},
	[24] = {"I8"},
	[25] = {"I16"},
	[26] = {"I32"},
	[27] = {"I64"},
	[28] = {"F64"},
	[29] = {"IQ1_M"},
	[30] = {"BF16", 2, 1, .dtype = DT_BF16},
	[34] = {"TQ1_0"},
	[35] = {"TQ2_0"},
	[39] = {"MXFP4"},
};
/* clang-format on */

bool block_is_finite(const struct block_type *t, const uint8_t *block)
{
	for (int i = 0; i <= t->minimums; i++)
		if ((block[t->scale_at + 2 * i + 1] & 0x7c) == 0x7c) /* all bits of the exponent */
			return false;
	return true;
}

const struct block_type *block_type(uint32_t number)
{
	return number < sizeof types / sizeof *types && types[number].name ? &types[number] : NULL;
}
