#include <string.h>
#include "graph/types.h"
#include "onnx/names.h"

static const char *const names[] = {
	"undefined",  "float",        "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
	"string",     "bool",         "float16",        "double",     "uint32",         "uint64", "complex64", "complex128",
	"bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
	"float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2",
};
enum { COUNT = sizeof names / sizeof *names };

const char *onnx_type_name(int number) { return names[number > 0 && number < COUNT ? number : 0]; }

const char *onnx_type_foreign(int number)
{
	if (number <= 0 || dtype_from_onnx(number))
		return NULL;
	return number < COUNT ? names[number] : "of a later ONNX";
}

int onnx_type_number(const char *name, size_t n)
{
	for (int i = 1; i < COUNT; i++)
		if (strlen(names[i]) == n && !memcmp(names[i], name, n))
			return i;
	return 0;
}
