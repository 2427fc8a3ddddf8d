/* Tensors in the text form: numbers that read back to the same bits. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/half.h"
#include "graph/stream.h"
#include "graph/textform.h"

/* bits of an element of type t, as number: the value a reader gets for text, as bits again. */
static bool same_float(enum dtype t, const char *text, uint64_t bits)
{
	float f = strtof(text, NULL);
	double d = strtod(text, NULL);
	uint32_t b32;
	uint64_t b64;
	switch (t) {
	case DT_F16: return float_to_half(f) == bits;
	case DT_BF16: return float_to_bf16(f) == bits;
	case DT_F32: return memcpy(&b32, &f, 4), b32 == bits;
	default: return memcpy(&b64, &d, 8), b64 == bits;
	}
}

static int nbits(enum dtype t) { return t == DT_F64 ? 64 : t == DT_F32 ? 32 : 16; }

/* The shortest of the usual lengths; a NaN that is not the usual one as its bits. */
static void put_float_bits(FILE *f, enum dtype t, uint64_t bits, bool point)
{
	char text[64];
	double v;
	float v32;
	uint32_t b32 = (uint32_t)bits;
	switch (t) {
	case DT_F16: v = half_to_float((uint16_t)bits); break;
	case DT_BF16: v = bf16_to_float((uint16_t)bits); break;
	case DT_F32: memcpy(&v32, &b32, 4), v = v32; break;
	default: memcpy(&v, &bits, 8); break;
	}
	int first = t == DT_F64 ? 15 : t == DT_F32 ? 6 : 5, last = t == DT_F64 ? 17 : 9;
	for (int digits = first; digits <= last; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (!same_float(t, text, bits))
			continue;
		if (point && !strpbrk(text, ".ein"))
			strcat(text, ".0");
		fputs(text, f);
		return;
	}
	fprintf(f, "0x%0*" PRIx64, nbits(t) / 4, bits);
}

void text_put_float(FILE *f, float v, bool point)
{
	uint32_t bits;
	memcpy(&bits, &v, 4);
	put_float_bits(f, DT_F32, bits, point);
}

static void put_element(FILE *f, enum dtype t, const unsigned char *p)
{
	uint64_t bits = 0;
	size_t size = dtype_size(t);
	memcpy(&bits, p, size);
	int unused = 64 - 8 * (int)size;
	switch (t) {
	case DT_F16:
	case DT_BF16:
	case DT_F32:
	case DT_F64: put_float_bits(f, t, bits, false); break;
	default:
		if (dtype_is_float8(t))
			fprintf(f, "0x%02x", (unsigned)bits);
		else if (dtype_is_signed(t))
			fprintf(f, "%" PRId64, (int64_t)(bits << unused) >> unused);
		else
			fprintf(f, "%" PRIu64, bits);
	}
}

/* Complex numbers are pairs. */
static enum dtype part_of(enum dtype t) { return t == DT_C64 ? DT_F32 : t == DT_C128 ? DT_F64 : t; }

void text_put_tensor(FILE *f, struct module *m, struct tensor *t)
{
	fprintf(f, "%s[", dtype_name(t->dtype));
	for (int i = 0; i < t->rank; i++)
		fprintf(f, "%s%" PRId64, i ? "," : "", t->dims[i]);
	putc(']', f);
	if (t->nbytes > STREAM_INLINE) {
		char hex[33];
		digest_hex(tensor_digest(m, t), hex);
		fprintf(f, " blob:%s", hex);
		if (t->dtype == DT_STR)
			fprintf(f, "+%zu", t->nbytes);
		return;
	}
	const unsigned char *p = tensor_data(m, t), *end = p + t->nbytes;
	enum dtype part = part_of(t->dtype);
	fputs(" [", f);
	for (const char *comma = ""; p < end; comma = ", ") {
		fputs(comma, f);
		if (t->dtype == DT_STR) {
			uint32_t n;
			memcpy(&n, p, 4);
			text_put_string(f, (const char *)p + 4, n);
			p += 4 + n;
		} else {
			put_element(f, part, p);
			p += dtype_size(part);
		}
	}
	putc(']', f);
}

static uint64_t scan_bits(struct scan *s, enum dtype t)
{
	char text[64], *end;
	size_t n = 0;
	scan_blanks(s);
	while (s->p < s->end && n < 63 && !strchr(",]} \t\r\n", *s->p))
		text[n++] = *s->p++;
	text[n] = 0;
	errno = 0;
	uint64_t bits;
	int size = 8 * (int)dtype_size(t);
	bool hex = text[0] == '0' && text[1] == 'x';
	if (hex) {
		bits = strtoull(text + 2, &end, 16);
		end = errno || (size < 64 && bits >> size) ? text : end;
	} else if (t == DT_F64) {
		double v = strtod(text, &end);
		memcpy(&bits, &v, 8);
	} else if (dtype_is_float(t)) {
		float v = strtof(text, &end);
		uint32_t b;
		memcpy(&b, &v, 4);
		bits = t == DT_F16 ? float_to_half(v) : t == DT_BF16 ? float_to_bf16(v) : b;
	} else if (dtype_is_signed(t)) {
		int64_t v = strtoll(text, &end, 10);
		bits = (uint64_t)v;
		if (errno || (size < 64 && (v >= (int64_t)1 << (size - 1) || v < -((int64_t)1 << (size - 1)))))
			end = text;
	} else {
		bits = strtoull(text, &end, 10);
		if (errno || text[0] == '-' || (size < 64 && bits >> size))
			end = text;
	}
	if (n == 0 || *end || end == text)
		scan_die(s, "'%s' is no %s", text, dtype_name(t));
	return bits;
}

float scan_float(struct scan *s)
{
	uint32_t bits = (uint32_t)scan_bits(s, DT_F32);
	float v;
	memcpy(&v, &bits, 4);
	return v;
}

static void scan_elements(struct scan *s, struct module *m, struct tensor *t)
{
	VEC(char) data = {0};
	enum dtype part = part_of(t->dtype);
	size_t size = dtype_size(part);
	for (bool first = true; !scan_is(s, "]"); first = false) {
		if (!first)
			scan_want(s, ",");
		if (t->dtype == DT_STR) {
			struct arena a = {0};
			size_t n;
			const char *p = scan_string(s, &n, &a);
			uint32_t length = (uint32_t)n;
			vec_reserve(&data, data.n + 4 + n);
			memcpy(data.a + data.n, &length, 4);
			memcpy(data.a + data.n + 4, p, n);
			data.n += 4 + n;
			arena_release(&a);
		} else {
			uint64_t bits = scan_bits(s, part);
			vec_reserve(&data, data.n + size);
			memcpy(data.a + data.n, &bits, size);
			data.n += size;
		}
	}
	t->nbytes = data.n;
	t->data = arena_copy(&m->arena, data.a, data.n);
	vec_free(&data);
}

static void scan_blob(struct scan *s, struct tensor *t)
{
	int64_t nbytes = (int64_t)dtype_size(t->dtype);
	if (s->end - s->p < 32 || !digest_parse(s->p, 32, &t->digest))
		scan_die(s, "a digest of 32 hexadecimal digits expected");
	s->p += 32;
	if (t->dtype == DT_STR) {
		scan_want(s, "+");
		nbytes = scan_int(s);
	}
	for (int i = 0; i < t->rank && t->dtype != DT_STR; i++)
		if (__builtin_mul_overflow(nbytes, t->dims[i], &nbytes))
			scan_die(s, "a tensor's shape is too large");
	t->has_digest = true;
	t->nbytes = (size_t)nbytes;
}

struct tensor *scan_tensor(struct scan *s, struct module *m)
{
	struct tensor *t = ARENA_NEW(&m->arena, struct tensor);
	int64_t dims[RANK_MAX];
	sym name = scan_name(s);
	t->dtype = dtype_parse(sym_str(name), sym_len(name));
	if (t->dtype == DT_NONE)
		scan_die(s, "'%s' is no element type", sym_str(name));
	scan_want(s, "[");
	while (!scan_is(s, "]")) {
		if (t->rank)
			scan_want(s, ",");
		if (t->rank == RANK_MAX)
			scan_die(s, "more than %d dimensions", RANK_MAX);
		dims[t->rank] = scan_int(s);
		if (dims[t->rank++] < 0)
			scan_die(s, "a negative dimension");
	}
	t->dims = arena_copy(&m->arena, dims, sizeof *dims * (size_t)t->rank);
	if (scan_is(s, "blob:")) {
		scan_blob(s, t);
	} else {
		scan_want(s, "[");
		scan_elements(s, m, t);
	}
	const char *why = tensor_check(t);
	if (why)
		scan_die(s, "%s", why);
	return t;
}
