#include <math.h>
#include <string.h>
#include "onnx/gguf/made.h"

int64_t made_row(const struct made *m, int64_t n)
{
	if (!m->size)
		return n;
	int64_t at = n % m->size, half = m->turned / 2;
	return at >= m->turned ? n : n - at + 2 * (at % half) + at / half;
}

static size_t row_bytes(const struct gguf_tensor *t) { return (size_t)(t->dims[0] / t->type->block) * t->type->bytes; }

/* A number that is added to codes, so that the centre is the middle of what their bits can say; with minimums, the middle of 5 bits that have become
 * bytes. */
static int lifted(const struct block_type *t)
{
	if (t->minimums)
		return t->bits == 4 ? 0 : 128 - 16;
	return (1 << (t->bits - 1)) - t->centre;
}

/* One block of the file, and where its codes and parts go. */
static void put_block(const struct made *m, const uint8_t *from, uint8_t *bytes, float *numbers)
{
	const struct block_type *t = m->t->type;
	uint8_t codes[BLOCK_MAX];
	float scales[PARTS_MAX], minimums[PARTS_MAX] = {0};
	int parts = t->block / t->part;

	t->unpack(from, codes, scales, minimums);
	/* No scale, but a minimum: all numbers are -minimum. So are they with that as the scale, and code 0. */
	for (int j = 0; j < parts; j++)
		if (t->minimums && scales[j] == 0) {
			scales[j] = minimums[j];
			memset(codes + j * t->part, 0, (size_t)t->part);
		}
	for (int i = 0; i < t->block && m->kind == MADE_CODES; i++) {
		uint8_t code = (uint8_t)(codes[i] + lifted(t));
		if (t->bits == 8)
			bytes[i] = code;
		else
			bytes[i / 2] = (uint8_t)(i % 2 ? bytes[i / 2] | code << 4 : code);
	}
	for (int j = 0; j < parts; j++) {
		float zero = scales[j] == 0 ? 0 : minimums[j] / scales[j];
		if (m->kind == MADE_SCALES)
			numbers[j] = scales[j];
		else if (m->kind == MADE_ZEROS)
			numbers[j] = zero + (float)lifted(t);
		else if (m->kind == MADE_OFFSETS)
			numbers[j] = scales[j] * (float)((1 << (t->bits - 1)) - lifted(t)) - minimums[j];
	}
}

static void fill_blocks(const struct made *m, unsigned char *out)
{
	const struct block_type *t = m->t->type;
	size_t blocks = (size_t)(m->t->dims[0] / t->block);
	size_t codes = (size_t)(t->block * t->bits / 8), parts = (size_t)(t->block / t->part);

	for (int64_t n = 0; n < m->t->dims[1]; n++) {
		const uint8_t *from = m->t->data + (size_t)made_row(m, n) * row_bytes(m->t);
		for (size_t k = 0; k < blocks; k++, from += t->bytes) {
			size_t at = (size_t)n * blocks + k;
			if (m->kind == MADE_CODES)
				put_block(m, from, out + at * codes, NULL);
			else
				put_block(m, from, NULL, (float *)(void *)out + at * parts);
		}
	}
}

/* A vector's rows are its numbers, whatever sizes of 1 its entry has behind them. */
static void fill_rows(const struct made *m, unsigned char *out)
{
	bool vector = m->t->dims[1] == 1;
	size_t row = vector ? m->t->type->bytes : row_bytes(m->t);

	for (int64_t n = 0; n < m->t->dims[vector ? 0 : 1]; n++)
		memcpy(out + (size_t)n * row, m->t->data + (size_t)made_row(m, n) * row, row);
}

static void fill_table(const struct made *m, float *out)
{
	for (int64_t k = 0; k < m->angles; k++) {
		double step = pow(m->base, -(double)k / (double)m->angles) / m->factor;
		if (m->slower)
			step /= gguf_number_at(GGUF_F32, m->slower->data + 4 * k);
		for (int64_t i = 0; i < m->rows; i++) {
			double angle = (double)i * step;
			out[i * m->angles + k] = (float)(m->kind == MADE_COS ? cos(angle) : sin(angle));
		}
	}
}

void made_fill(const void *made, void *out)
{
	const struct made *m = made;

	if (m->kind == MADE_ROWS)
		fill_rows(m, out);
	else if (m->kind == MADE_COS || m->kind == MADE_SIN)
		fill_table(m, out);
	else
		fill_blocks(m, out);
}
