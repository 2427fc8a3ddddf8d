/* ONNX's names of element types ("float", "int64"), as in "tensor(float)". */
#ifndef HONE_ONNX_NAMES_H
#define HONE_ONNX_NAMES_H
#include <stddef.h>
const char *onnx_type_name(int number); /* "undefined" if there is none */
/* What a type is called that is none of ours; NULL: one of ours, or none. */
const char *onnx_type_foreign(int number);
int onnx_type_number(const char *name, size_t n); /* 0 if there is none */
#endif
