/* A tensor whose size is known only when a compiled model runs. Plain C of its own: its text is part of the headers of such models. */
#ifndef HONE_VALUE_H
#define HONE_VALUE_H
#include <stddef.h>
#include <stdint.h>

struct hone_value {
	int type; /* of its elements, as ONNX numbers them: 1 f32, 2 u8, 3 i8, 4 u16, 5 i16, 6 i32, 7 i64, 9 bool, 10 f16, 11 f64, .. */
	int rank;
	const int64_t *shape;
	void *data; /* row-major, aligned as its elements are */
};
#endif
