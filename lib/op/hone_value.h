/* A value whose size is known only when a compiled model runs, or that is no tensor of numbers. Plain C of its own: its text is part of the
 * headers of such models. */
#ifndef HONE_VALUE_H
#define HONE_VALUE_H
#include <stddef.h>
#include <stdint.h>

/* An element of a tensor of strings. */
struct hone_text {
	const char *s; /* any bytes, UTF-8 as a rule; not ended by a NUL; where n is 0 it may be NULL */
	size_t n;
};

/* Types of values that hold others: data is shape[0] struct hone_value, and rank is 1. An optional holds one or none, a map a tensor of
 * keys and the value of each. */
enum { HONE_SEQUENCE = -1, HONE_OPTIONAL = -2, HONE_MAP = -3 };

struct hone_value {
	/* Of its elements, as ONNX numbers them: 1 f32, 2 u8, 3 i8, 4 u16, 5 i16, 6 i32, 7 i64, 8 string (struct hone_text), 9 bool, 10 f16,
	 * 11 f64, .. */
	int type;
	int rank;
	const int64_t *shape;
	void *data; /* row-major, aligned as its elements are */
};
#endif
