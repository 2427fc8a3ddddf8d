/* Initializers where they lie in the file: protobuf's wire format, followed to the bytes of each. */
#include "onnx/replace.h"
#include <string.h>

/* Numbers of fields, as in onnx.proto. */
enum {
	MODEL_GRAPH = 7,
	GRAPH_INITIALIZER = 5,
	TENSOR_FLOATS = 4,
	TENSOR_NAME = 8,
	TENSOR_RAW = 9,
	TENSOR_DOUBLES = 10,
	TENSOR_LOCATION = 14
};
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

struct bytes_at {
	unsigned char *p, *end;
};

struct field {
	uint64_t number, value; /* value: of WIRE_VARINT */
	int wire;
	struct bytes_at is;
};

static bool varint(struct bytes_at *b, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; shift < 64 && b->p < b->end; shift += 7) {
		uint64_t c = *b->p++;
		*v |= (c & 127) << shift;
		if (c < 128)
			return true;
	}
	return false;
}

/* The field at b->p, which moves on; false: there is none, or none that is whole. */
static bool next(struct bytes_at *b, struct field *f)
{
	uint64_t tag, n;

	if (b->p >= b->end || !varint(b, &tag))
		return false;
	f->number = tag >> 3;
	f->wire = (int)(tag & 7);
	f->is.p = b->p;
	n = f->wire == WIRE_64 ? 8 : f->wire == WIRE_32 ? 4 : 0;
	if (f->wire == WIRE_VARINT && !varint(b, &f->value))
		return false;
	if (f->wire == WIRE_BYTES && !varint(b, &n))
		return false;
	if (f->wire == WIRE_BYTES)
		f->is.p = b->p;
	if (n > (size_t)(b->end - b->p))
		return false;
	b->p += n;
	f->is.end = b->p;
	return true;
}

/* Elements are in raw_data, or in lists of floats or doubles, packed or each by itself: pieces of the tensor's bytes, in their order. */
static const char *write(struct bytes_at b, const struct tensor *t)
{
	struct bytes_at whole = b;
	struct field f;
	size_t there = 0, done = 0;

	for (struct bytes_at at = whole; next(&at, &f);) {
		bool bytes = f.number == TENSOR_RAW || (f.number == TENSOR_FLOATS && t->dtype == DT_F32) ||
			     (f.number == TENSOR_DOUBLES && t->dtype == DT_F64);
		if (f.number == TENSOR_LOCATION && f.value)
			return "it lies in another file";
		there += bytes && f.wire != WIRE_VARINT ? (size_t)(f.is.end - f.is.p) : 0;
	}
	if (there != t->nbytes)
		return "it has another size or form there";
	for (struct bytes_at at = whole; next(&at, &f);) {
		size_t n = (size_t)(f.is.end - f.is.p);
		if (f.wire == WIRE_VARINT || (f.number != TENSOR_RAW && f.number != TENSOR_FLOATS && f.number != TENSOR_DOUBLES))
			continue;
		memcpy(f.is.p, (const char *)t->data + done, n);
		done += n;
	}
	return NULL;
}

static void initializer(struct bytes_at b, struct replacement *r, size_t nr)
{
	struct field f;

	for (struct bytes_at at = b; next(&at, &f);) {
		if (f.number != TENSOR_NAME || f.wire != WIRE_BYTES)
			continue;
		for (size_t i = 0; i < nr; i++)
			if (strlen(r[i].name) == (size_t)(f.is.end - f.is.p) && !memcmp(r[i].name, f.is.p, strlen(r[i].name)))
				r[i].why_not = r[i].t ? write(b, r[i].t) : NULL;
	}
}

void onnx_replace(unsigned char *p, size_t n, struct replacement *r, size_t nr)
{
	struct bytes_at model = {p, p + n};
	struct field f, g;

	for (size_t i = 0; i < nr; i++)
		r[i].why_not = "the file has no initializer of that name";
	while (next(&model, &f))
		if (f.number == MODEL_GRAPH && f.wire == WIRE_BYTES)
			for (struct bytes_at at = f.is; next(&at, &g);)
				if (g.number == GRAPH_INITIALIZER && g.wire == WIRE_BYTES)
					initializer(g.is, r, nr);
}
