/* ONNX's element types that are none of ours. */
#ifndef HONE_ONNX_NAMES_H
#define HONE_ONNX_NAMES_H
#include <stddef.h>
/* What a type is called that is none of ours; NULL: one of ours, or none. */
const char *onnx_type_foreign(int number);
#endif
