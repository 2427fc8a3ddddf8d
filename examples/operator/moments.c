/* An operator of one's own: mean and standard deviation of each row, computed by this function in a compiled model.
 *
 * hone calls it with the operands in row-major order. It asks for room for its results, and returns NULL, or why it cannot do it. */
#include <math.h>
#include "native/native.h"

const char *moments(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	double epsilon = native_float(n, "epsilon");

	if (n->nin != 1 || x->type != NATIVE_F32 || x->rank != 2)
		return "a matrix of f32 wanted";
	int64_t rows = x->dims[0], columns = x->dims[1];
	float *mean = n->room(n, 0, NATIVE_F32, 1, &rows), *deviation = n->room(n, 1, NATIVE_F32, 1, &rows);
	if (!mean || !deviation)
		return native_no_room(n);
	for (int64_t i = 0; i < rows; i++) {
		const float *row = (const float *)x->data + i * columns;
		double sum = 0, squares = 0;
		for (int64_t k = 0; k < columns; k++)
			sum += row[k];
		for (int64_t k = 0; k < columns; k++)
			squares += (row[k] - sum / (double)columns) * (row[k] - sum / (double)columns);
		mean[i] = (float)(sum / (double)columns);
		deviation[i] = (float)sqrt(squares / (double)columns + epsilon);
	}
	return NULL;
}
