/* Makes an ONNX model node by node. Names are strings of the arena; a node's name is that of its first result, without the last part. */
#ifndef HONE_GGUF_PROTO_H
#define HONE_GGUF_PROTO_H
#include "common/vec.h"
#include "graph/types.h"
#include "onnx/gguf/gguf.h"

struct proto {
	struct arena *arena;
	VEC(Onnx__NodeProto *) node;
	VEC(Onnx__TensorProto *) init;
	VEC(Onnx__ValueInfoProto *) in, out;
	VEC(struct made) made;
};

const char *proto_printf(struct proto *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The result of a new node of up to n operands ("" or NULL: not given), of ONNX's domain or, op with a dot before it, of com.microsoft. */
const char *proto_node(struct proto *b, const char *op, const char *result, size_t n, const char *const *in);
#define NODE(b, op, result, ...) \
	proto_node(b, op, result, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})
/* More of the node made last. */
void proto_result(struct proto *b, const char *name);
void proto_int(struct proto *b, const char *name, int64_t v);
void proto_ints(struct proto *b, const char *name, size_t n, const int64_t *v);
void proto_float(struct proto *b, const char *name, double v);

/* Constants; each gives its name. */
const char *proto_const_ints(struct proto *b, const char *name, int rank, size_t n, const int64_t *v);
const char *proto_const_float(struct proto *b, const char *name, double v);
/* A constant whose bytes lie in the file, at that offset. */
const char *proto_const_file(struct proto *b, const char *name, enum dtype t, int rank, const int64_t *dims, uint64_t offset,
			     uint64_t length);
const char *proto_const_made(struct proto *b, const char *name, enum dtype t, int rank, const int64_t *dims, struct made m);

/* An input or output: each size is a name, or where that is NULL a number. */
void proto_input(struct proto *b, const char *name, enum dtype t, int rank, const char *const *names, const int64_t *dims);
void proto_output(struct proto *b, const char *name, enum dtype t, int rank, const char *const *names, const int64_t *dims);

/* The whole, of ONNX's opset and com.microsoft. b is empty then. */
struct gguf_model proto_model(struct proto *b, const char *name, int64_t opset);
#endif
