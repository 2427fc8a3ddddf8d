/* A GGUF file as an ONNX model, which the importer then reads as any other: nodes and types in arena a, weights where they lie in the file
 * (raw_offset), or made when they are asked for (data_location DATA_MADE, raw_offset: which). */
#ifndef HONE_GGUF_H
#define HONE_GGUF_H
#include "onnx.pb-c.h"
#include "onnx/gguf/made.h"

enum { DATA_MADE = 2 /* beside ONNX's 0 and 1; no file can say it */ };

struct gguf_model {
	Onnx__ModelProto *proto;
	struct made *made;
	size_t nmade;
};

struct gguf_model gguf_model(const char *path, const unsigned char *p, size_t n, struct arena *a);

/* props.c: the file's values as metadata of the model: strings and numbers as they are, arrays as JSON. */
void gguf_props(const struct gguf *g, Onnx__ModelProto *to, struct arena *a);
#endif
