/* Element types. One line each: name in streams and text, bytes (0: not fixed), ONNX's number; of an integer its C type, too.
 * An integer type is this line and its name in lib/emit/scalar.c. */
#ifndef HONE_TYPES_H
#define HONE_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/intern.h"

/* clang-format off: a type is a line */
#define DTYPES(X, INT) \
	X(F32, "f32", 4, 1) \
	INT(U8, "u8", 1, 2, uint8_t) \
	INT(I8, "i8", 1, 3, int8_t) \
	INT(U16, "u16", 2, 4, uint16_t) \
	INT(I16, "i16", 2, 5, int16_t) \
	INT(I32, "i32", 4, 6, int32_t) \
	INT(I64, "i64", 8, 7, int64_t) \
	X(STR, "str", 0, 8) \
	X(BOOL, "bool", 1, 9) \
	X(F16, "f16", 2, 10) \
	X(F64, "f64", 8, 11) \
	INT(U32, "u32", 4, 12, uint32_t) \
	INT(U64, "u64", 8, 13, uint64_t) \
	X(C64, "c64", 8, 14) \
	X(C128, "c128", 16, 15) \
	X(BF16, "bf16", 2, 16) \
	X(F8E4M3FN, "f8e4m3fn", 1, 17) \
	X(F8E4M3FNUZ, "f8e4m3fnuz", 1, 18) \
	X(F8E5M2, "f8e5m2", 1, 19) \
	X(F8E5M2FNUZ, "f8e5m2fnuz", 1, 20) \
	INT(U4, "u4", 1, 21, uint8_t) \
	INT(I4, "i4", 1, 22, int8_t) \
	X(F4E2M1, "f4e2m1", 1, 23) \
	X(F8E8M0, "f8e8m0", 1, 24) \
	INT(U2, "u2", 1, 25, uint8_t) \
	INT(I2, "i2", 1, 26, int8_t) \
	X(F6E2M3, "f6e2m3", 1, 27) \
	X(F6E3M2, "f6e3m2", 1, 28)
#define DTYPE_NOT(...)
#define INT_DTYPES(X) DTYPES(DTYPE_NOT, X) /* X(id, name, bytes, onnx, C type) */
/* clang-format on */

enum dtype {
	DT_NONE, /* not known */
#define X(id, ...) DT_##id,
	DTYPES(X, X)
#undef X
		DT_COUNT
};

const char *dtype_name(enum dtype t);               /* "?" for DT_NONE */
enum dtype dtype_parse(const char *name, size_t n); /* DT_NONE if there is none */
size_t dtype_size(enum dtype t);                    /* 0: not fixed (str) or none */
enum dtype dtype_from_onnx(int number);             /* DT_NONE if there is none */
int dtype_to_onnx(enum dtype t);
bool dtype_is_float(enum dtype t);  /* f16 bf16 f32 f64 */
bool dtype_is_float8(enum dtype t); /* those of 8 bits and less */
bool dtype_is_int(enum dtype t);    /* signed and unsigned, not bool */
bool dtype_is_signed(enum dtype t); /* signed integers and floats */
bool dtype_is_int4(enum dtype t);   /* u4, i4 */
/* Of a number; bool: 8. Where they are fewer than 8, an element has a byte of its own here; in ONNX files several share one. */
int dtype_bits(enum dtype t);

/* ONNX's names of element types ("float", "int64"), as in "tensor(float)", by its numbers. */
const char *onnx_type_name(int number);           /* "undefined" if there is none */
int onnx_type_number(const char *name, size_t n); /* 0 if there is none */
#endif
