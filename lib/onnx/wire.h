/* The wire format of an ONNX file, checked before protobuf-c sees it. */
#ifndef HONE_WIRE_H
#define HONE_WIRE_H
#include <stddef.h>

/* A skeleton of the model: the same messages with only the fields that lib/onnx/onnx.proto lists, and in
 * the place of each tensor's raw_data its offset in the file and its length. malloc'd. */
struct skeleton {
	unsigned char *p;
	size_t n;
};

/* Scans n bytes of file path. Cut short, malformed, nested too deep, not ONNX at all: die(65) with the
 * offset and what the file seems to be. */
void wire_scan(const char *path, const unsigned char *p, size_t n, struct skeleton *out);
#endif
