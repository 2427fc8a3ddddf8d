/* A tensor in a file of its own (.pb), as ONNX's test data has them. */
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "onnx.pb-c.h"
#include "onnx/import.h"
#include "onnx/onnx.h"

/* n elements of 32 or 64 bits, narrowed to size bytes each (the numbers are little-endian). */
static void narrow(char *to, size_t size, const void *from, size_t width, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * size, (const char *)from + i * width, size < width ? size : width);
}

static void strings(struct tensor *t, const Onnx__TensorProto *p, struct arena *a)
{
	char *o;

	for (size_t i = 0; i < p->n_string_data; i++)
		t->nbytes += 4 + p->string_data[i].len;
	t->data = o = arena_alloc(a, t->nbytes);
	for (size_t i = 0; i < p->n_string_data; i++) {
		uint32_t n = (uint32_t)p->string_data[i].len;
		memcpy(o, &n, 4);
		if (n) /* an empty string has no data */
			memcpy(o + 4, p->string_data[i].data, n);
		o += 4 + n;
	}
}

/* Elements of fewer than 8 bits; how many there are. */
static size_t packed(struct tensor *t, const Onnx__TensorProto *p, size_t n, struct arena *a)
{
	size_t bits = (size_t)dtype_bits(t->dtype);
	bool whole = p->has_raw_data ? p->raw_data.len == (n * bits + 7) / 8 : p->n_int32_data == packed_numbers(t->dtype, n);

	if (!whole)
		return p->has_raw_data ? p->raw_data.len * 8 / bits : p->n_int32_data;
	t->data = p->has_raw_data ? unpack_bytes(t->dtype, p->raw_data.data, n, a) : unpack_numbers(t->dtype, p->int32_data, n, a);
	return n;
}

/* The typed fields; how many elements there are. */
static size_t typed(struct tensor *t, const Onnx__TensorProto *p, size_t n, struct arena *a)
{
	size_t size = dtype_size(t->dtype), half = t->dtype == DT_C64 || t->dtype == DT_C128 ? size / 2 : size, per = size / half, have = 0;
	char *o = arena_alloc(a, (n + 1) * size);
	const struct {
		const void *data;
		size_t n, width;
	} list[] = {{p->float_data, p->n_float_data, 4},
		    {p->int32_data, p->n_int32_data, 4},
		    {p->int64_data, p->n_int64_data, 8},
		    {p->double_data, p->n_double_data, 8},
		    {p->uint64_data, p->n_uint64_data, 8}};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i].n) {
			have = list[i].n / per;
			narrow(o, half, list[i].data, list[i].width, have < n ? list[i].n : n * per);
		}
	t->data = o;
	return have;
}

struct tensor *onnx_read_tensor(const char *path, struct arena *a)
{
	struct mapped m;
	struct tensor *t = ARENA_NEW(a, struct tensor);
	Onnx__TensorProto *p;
	size_t size, n = 1, have;

	mapped_open(&m, path);
	p = onnx__tensor_proto__unpack(NULL, m.n, m.p);
	mapped_close(&m);
	if (!p || !(t->dtype = dtype_from_onnx(p->data_type)) || p->n_dims > RANK_MAX)
		die(EX_BADDATA, "%s: not a tensor of ONNX", path);
	t->rank = (int)p->n_dims;
	t->dims = arena_copy(a, p->dims, sizeof *p->dims * p->n_dims);
	size = dtype_size(t->dtype);
	for (size_t i = 0; i < p->n_dims; i++)
		if (p->dims[i] < 0 || __builtin_mul_overflow(n, (size_t)p->dims[i], &n) || n > SIZE_MAX / 32)
			die(EX_BADDATA, "%s: impossible dimensions", path);
	if (t->dtype == DT_STR) {
		have = p->n_string_data;
		strings(t, p, a);
	} else if (dtype_bits(t->dtype) && dtype_bits(t->dtype) < 8) {
		have = packed(t, p, n, a);
	} else if (p->has_raw_data) {
		have = p->raw_data.len / size;
		t->data = arena_copy(a, p->raw_data.data, p->raw_data.len);
	} else {
		have = typed(t, p, n, a);
	}
	if (have != n)
		die(EX_BADDATA, "%s: %zu elements for a shape of %zu", path, have, n);
	if (t->dtype != DT_STR)
		t->nbytes = n * size;
	onnx__tensor_proto__free_unpacked(p, NULL);
	return t;
}
