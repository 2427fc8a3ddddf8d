#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "graph/module.h"

static const struct {
	const char *name;
	uint8_t size, onnx;
} dtypes[DT_COUNT] = {[DT_NONE] = {"?", 0, 0},
#define X(id, name, size, onnx, ...) [DT_##id] = {name, size, onnx},
		      DTYPES(X, X)
#undef X
};

const char *dtype_name(enum dtype t) { return dtypes[t].name; }

enum dtype dtype_parse(const char *name, size_t n)
{
	for (int t = DT_NONE + 1; t < DT_COUNT; t++)
		if (strlen(dtypes[t].name) == n && !memcmp(dtypes[t].name, name, n))
			return t;
	return DT_NONE;
}

size_t dtype_size(enum dtype t) { return dtypes[t].size; }

enum dtype dtype_from_onnx(int number)
{
	for (int t = DT_NONE + 1; t < DT_COUNT; t++)
		if (dtypes[t].onnx == number)
			return t;
	return DT_NONE;
}

int dtype_to_onnx(enum dtype t) { return dtypes[t].onnx; }

bool dtype_is_float(enum dtype t) { return t == DT_F16 || t == DT_BF16 || t == DT_F32 || t == DT_F64; }

bool dtype_is_float8(enum dtype t)
{
	return (t >= DT_F8E4M3FN && t <= DT_F8E5M2FNUZ) || t == DT_F8E8M0 || t == DT_F4E2M1 || t == DT_F6E2M3 || t == DT_F6E3M2;
}

bool dtype_is_int4(enum dtype t) { return t == DT_U4 || t == DT_I4; }

int dtype_bits(enum dtype t)
{
	switch (t) {
	case DT_U2:
	case DT_I2: return 2;
	case DT_U4:
	case DT_I4:
	case DT_F4E2M1: return 4;
	case DT_F6E2M3:
	case DT_F6E3M2: return 6;
	default: return 8 * (int)dtype_size(t);
	}
}

bool dtype_is_int(enum dtype t)
{
	switch (t) {
#define INT(id, ...) case DT_##id:
		INT_DTYPES(INT)
#undef INT
		return true;
	default: return false;
	}
}

bool dtype_is_signed(enum dtype t)
{
	switch (t) {
#define INT(id, name, size, onnx, T) \
	case DT_##id: return (T)-1 < (T)1;
		INT_DTYPES(INT)
#undef INT
	default: return dtype_is_float(t) || dtype_is_float8(t);
	}
}

static const char *const onnx_names[] = {
	"undefined",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
	"string",     "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
	"bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
	"float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2",
};
enum { ONNX_NAMES = sizeof onnx_names / sizeof *onnx_names };

const char *onnx_type_name(int number) { return onnx_names[number > 0 && number < ONNX_NAMES ? number : 0]; }

int onnx_type_number(const char *name, size_t n)
{
	for (int i = 1; i < ONNX_NAMES; i++)
		if (strlen(onnx_names[i]) == n && !memcmp(onnx_names[i], name, n))
			return i;
	return 0;
}

struct type type_none(void) { return (struct type){.dtype = DT_NONE, .rank = RANK_UNKNOWN}; }

struct type type_make(struct module *m, enum dtype t, int rank, const int64_t *dims)
{
	struct type type = {.dtype = t, .rank = rank};
	if (rank > RANK_MAX || rank < RANK_UNKNOWN)
		BUG("rank %d", rank);
	if (rank > 0)
		type.dims = ARENA_ARRAY(&m->arena, dim, rank);
	for (int i = 0; i < rank; i++)
		type.dims[i] = dims[i] < 0 ? POLY_UNKNOWN : poly_const(m->dims, dims[i]);
	return type;
}

bool type_dims(const struct module *m, const struct type *t, int64_t *dims)
{
	if (t->other || t->rank == RANK_UNKNOWN || t->rank > RANK_MAX)
		return false;
	for (int i = 0; i < t->rank; i++) {
		int64_t d;
		if (!poly_is_const(m->dims, t->dims[i], &d) || d < 0)
			return false;
		if (dims)
			dims[i] = d;
	}
	return true;
}

bool type_static(const struct module *m, const struct type *t) { return type_dims(m, t, NULL); }

int64_t type_count(const struct module *m, const struct type *t)
{
	int64_t dims[RANK_MAX], n = 1;
	bool zero = false, overflow = false;
	if (!type_dims(m, t, dims))
		return -1;
	for (int i = 0; i < t->rank; i++) {
		zero |= dims[i] == 0;
		overflow |= __builtin_mul_overflow(n, dims[i], &n);
	}
	return zero ? 0 : overflow ? -1 : n;
}

bool type_equal(const struct type *a, const struct type *b)
{
	if (a->dtype != b->dtype || a->rank != b->rank || a->layout != b->layout || a->other != b->other)
		return false;
	return a->rank <= 0 || !memcmp(a->dims, b->dims, sizeof(dim) * (size_t)a->rank);
}

struct type type_common(struct module *m, const struct type *a, const struct type *b)
{
	struct type t = type_none();

	if (a->other != b->other)
		return t;
	t.dtype = a->dtype == b->dtype ? a->dtype : DT_NONE;
	t.other = a->other;
	if (a->rank != b->rank || a->rank == RANK_UNKNOWN)
		return t;
	t.rank = a->rank;
	t.dims = ARENA_ARRAY(&m->arena, dim, t.rank);
	for (int i = 0; i < t.rank; i++)
		t.dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : POLY_UNKNOWN;
	return t;
}

const char *type_str(const struct module *m, const struct type *t, struct arena *a)
{
	char *text = NULL;
	if (t->other && t->rank == RANK_UNKNOWN)
		return sym_str(t->other);
	FILE *f = textfile_open(&text, NULL);
	fprintf(f, "%s[", t->other ? sym_str(t->other) : dtype_name(t->dtype));
	if (t->rank == RANK_UNKNOWN)
		putc('*', f);
	for (int i = 0; i < t->rank; i++)
		fprintf(f, "%s%s", i ? "," : "", poly_str(m->dims, t->dims[i], a));
	putc(']', f);
	if (t->layout)
		fprintf(f, "{%s}", shown(sym_str(t->layout)));
	textfile_close(f);
	const char *s = arena_str(a, text);
	free(text);
	return s;
}

poly_var module_symbol(struct module *m, sym name)
{
	poly_var v = poly_var_find(m->dims, name);
	return v ? v : poly_var_new(m->dims, name, 0, POLY_INF, 1);
}
