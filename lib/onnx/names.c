#include "graph/types.h"
#include "onnx/names.h"

const char *onnx_type_foreign(int number)
{
	if (number <= 0 || dtype_from_onnx(number))
		return NULL;
	return "of a later ONNX";
}
