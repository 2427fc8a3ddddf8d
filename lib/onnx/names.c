#include "graph/types.h"
#include "onnx/names.h"

const char *onnx_type_foreign(int number)
{
	enum { LAST = 28 }; /* of the ONNX that is known here */

	if (number <= 0 || dtype_from_onnx(number))
		return NULL;
	return number <= LAST ? onnx_type_name(number) : "of a later ONNX";
}
