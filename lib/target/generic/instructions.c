/* Short sequences that stand for instructions, in C's vector extensions: any target has them. */
#include "target/generic/generic.h"

/* x = a and b, lanes [from, from + VL): index[i] of lanes of a, then of b. */
static void shuffle(FILE *f, const char *to, int k, char name, int a, int b, int lanes, int (*pick)(int lane, int high), int high)
{
	fprintf(f, "\tconst vf %s%d = __builtin_shufflevector(%c%d, %c%d", to, k, name, a, name, b);
	for (int i = 0; i < lanes; i++) {
		int from = pick(i, high); /* lane of a, or VL + lane of b: in 64 + lane */
		fprintf(f, ", %d", from >= 64 ? from - 64 + lanes : from);
	}
	fprintf(f, ");\n");
}

/* Of four lanes each: a b interleaved, low or high half. */
static int interleaved(int lane, int high) { return lane / 4 * 4 + 2 * high + lane % 4 / 2 + (lane & 1 ? 64 : 0); }
/* The same with pairs of lanes. */
static int pairs(int lane, int high) { return lane / 4 * 4 + 2 * high + (lane & 1) + (lane & 2 ? 64 : 0); }
/* Groups of four: the even or odd ones of a, then of b. */
static int quads_of_16(int lane, int odd) { return (lane / 4 % 2 * 2 + odd) * 4 + lane % 4 + (lane >= 8 ? 64 : 0); }
static int quads_of_8(int lane, int odd) { return odd * 4 + lane % 4 + (lane >= 4 ? 64 : 0); }

/* Vectors r0.. become their transpose, called x0..: first in blocks of four by four, then the blocks. */
static void transpose_lanes(FILE *f, int lanes)
{
	for (int i = 0; i < lanes; i++)
		shuffle(f, "p", i, 'r', i & ~1, i | 1, lanes, interleaved, i & 1);
	const char *to = lanes == 4 ? "x" : "q";
	for (int i = 0; i < lanes; i++) /* columns 0 and 1 of a block lie in its low halves */
		shuffle(f, to, i, 'p', (i & ~3) + (i >> 1 & 1), (i & ~3) + 2 + (i >> 1 & 1), lanes, pairs, i & 1);
	for (int c = 0; lanes == 8 && c < 4; c++)
		for (int odd = 0; odd < 2; odd++)
			shuffle(f, "x", 4 * odd + c, 'q', c, 4 + c, lanes, quads_of_8, odd);
	for (int c = 0; lanes == 16 && c < 4; c++) {
		for (int h = 0; h < 2; h++)
			for (int odd = 0; odd < 2; odd++)
				shuffle(f, "s", 8 * h + 4 * odd + c, 'q', 8 * h + c, 8 * h + 4 + c, lanes, quads_of_16, odd);
		for (int h = 0; h < 2; h++)
			for (int odd = 0; odd < 2; odd++)
				shuffle(f, "x", 4 * (h + 2 * odd) + c, 's', 4 * h + c, 8 + 4 * h + c, lanes, quads_of_16, odd);
	}
}

static void transpose_helper(FILE *f, const struct instr *row)
{
	int lanes = (int)row->extent[0];

	fprintf(f, "static void %s(void *to, long s, const void *from, long t)\n{\n\tfloat *o = to;\n\tconst float *a = from;\n",
		row->name);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tconst vf r%d = vload(a + %d * t);\n", i, i);
	transpose_lanes(f, lanes);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tvstore(o + %d * s, x%d);\n", i, i);
	fprintf(f,
		"}\n/* m x n of it; a is read in the first steps, what follows is zero */\n"
		"static void %s_part(void *to, long s, const void *from, long t, long m, long n, long steps)\n{\n"
		"\tfloat *o = to;\n\tconst float *a = from;\n"
		"\tconst vm in = vlanes(0, m), out = vlanes(0, n);\n",
		row->name);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tconst vf r%d = %d < steps ? vload_mask(a + %d * t, in) : (vf){};\n", i, i, i);
	transpose_lanes(f, lanes);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tif (%d < m)\n\t\tvstore_mask(o + %d * s, x%d, out);\n", i, i, i);
	fprintf(f, "}\n");
}

/* Elements of 1, 2 or 8 bytes: rows of 16 bytes of a, as many as a row of o has elements. Each step takes what lies in the first half
 * of all rows, and what lies in the second, in turns. */
static void turn_helper(FILE *f, const struct instr *row)
{
	static const char *const type[] = {[1] = "char", [2] = "short", [8] = "long"};
	int columns = (int)row->extent[0], rows = (int)row->extent[1], bytes = 16 / columns;

	fprintf(f,
		"static void %s(void *to, long s, const void *from, long t)\n{\n"
		"\ttypedef %s v __attribute__((vector_size(16), aligned(1), may_alias));\n\tchar *o = to;\n\tconst char *a = from;\n",
		row->name, type[bytes]);
	for (int i = 0; i < rows; i++)
		fprintf(f, "\tconst v x0_%d = *(const v *)(a + %d * t);\n", i, bytes * i);
	int step = 0;
	for (int n = rows; n > 1; n /= 2, step++)
		for (int i = 0; i < rows; i++) {
			fprintf(f, "\tconst v x%d_%d = __builtin_shufflevector(x%d_%d, x%d_%d", step + 1, i, step, i / 2, step,
				i / 2 + rows / 2);
			for (int k = 0; k < columns; k++)
				fprintf(f, ", %d", i % 2 * columns / 2 + k / 2 + k % 2 * columns);
			fprintf(f, ");\n");
		}
	for (int i = 0, at = 0; i < columns; i++, at += rows)
		fprintf(f, "\t__builtin_memcpy(o + %d * s, (const char *)&x%d_%d + %d, %d);\n", bytes * i, step, at / columns,
			at % columns * bytes, rows * bytes);
	fprintf(f,
		"}\nstatic void %s_part(void *to, long s, const void *from, long t, long m, long n, long steps)\n{\n"
		"\ttypedef %s e __attribute__((may_alias));\n\te *o = to;\n\tconst e *a = from;\n"
		"\tfor (long i = 0; i < m; i++)\n\t\tfor (long k = 0; k < n; k++)\n\t\t\to[i * s + k] = k < steps ? a[k * t + i] : 0;\n}\n",
		row->name, type[bytes]);
}

static void copy_helper(FILE *f, const struct instr *row) {}

#define TRANSPOSE(lanes) \
	{ \
		.name = "transpose" #lanes, .vector_bytes = 4 * lanes, .nloops = 2, .extent = {lanes, lanes}, .body = "a", \
		.out = {"f32", {STEP_ANY, 1}}, .in = {{"f32", {1, STEP_ANY}}}, .text = "transpose" #lanes "(%o, %s, %a, %t);", \
		.part = "transpose" #lanes "_part(%o, %s, %a, %t, %m, %n, %f);", .helper = transpose_helper \
	}

#define TURN(rows, columns, type) \
	{ \
		.name = "turn" #rows "x" #columns, .nloops = 2, .extent = {columns, rows}, .body = "a", .out = {type, {STEP_ANY, 1}}, \
		.in = {{type, {1, STEP_ANY}}}, .text = "turn" #rows "x" #columns "(%o, %s, %a, %t);", \
		.part = "turn" #rows "x" #columns "_part(%o, %s, %a, %t, %m, %n, %f);", .helper = turn_helper \
	}

/* What copies does so with any type of its size. */
#define COPY(bytes, type) \
	{ \
		.name = "copy" #bytes, .nloops = 1, .extent = {INT64_MAX}, .body = "a", .out = {type, {1}}, .in = {{type, {1}}}, \
		.text = "__builtin_memcpy(%o, %a, " #bytes " * (%m));", .part = "__builtin_memcpy(%o, %a, " #bytes " * (%m));", \
		.helper = copy_helper \
	}

const struct instr generic_instr[] = {
	TRANSPOSE(16),     TRANSPOSE(8),      TRANSPOSE(4),      TURN(16, 16, "u8"),
	TURN(8, 16, "u8"), TURN(4, 16, "u8"), TURN(2, 16, "u8"), TURN(8, 8, "u16"),
	TURN(4, 8, "u16"), TURN(2, 8, "u16"), TURN(2, 2, "u64"), COPY(1, "u8"),
	COPY(2, "u16"),    COPY(4, "f32"),    COPY(8, "u64"),    {NULL},
};
