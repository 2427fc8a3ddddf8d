#include "op/difference.h"
#include <math.h>
#include <string.h>
#include "op/op.h"

static const char *not_a_number(double y, double r, bool nan_equal)
{
	if (nan_equal && r != r)
		return y != y ? NULL : "NaN in the reference, not here";
	if (r != r)
		return "NaN in the reference";
	if (y != y)
		return "NaN";
	if (isinf(r) && y != r)
		return "an infinity in the reference, not here";
	return isinf(y) && y != r ? "an infinity" : NULL;
}

/* Numbers one by one. False: d->why says why they cannot be equal. */
static bool measure(const struct tensor *y, const struct tensor *r, bool nan_equal, struct difference *d)
{
	int64_t n = tensor_count(r);
	size_t size = n ? r->nbytes / (size_t)n : 0;
	double worst = -1, yy = 0, rr = 0, yr = 0;

	for (int64_t i = 0; i < n; i++) {
		double a = tensor_get(y, i), b = tensor_get(r, i), e = a == b ? 0 : fabs(a - b);
		d->why = not_a_number(a, b, nan_equal);
		if (d->why) {
			d->at = i;
			return false;
		}
		if (isinf(b) || b != b) /* as it should be: beside it all others would be nothing */
			continue;
		if (e == 0 && !dtype_is_float(r->dtype) &&
		    memcmp((const char *)y->data + (size_t)i * size, (const char *)r->data + (size_t)i * size, size))
			e = 1; /* whole numbers that are not told apart as doubles */
		if (e > worst) {
			worst = e;
			d->at = i;
		}
		d->scale = fabs(b) > d->scale ? fabs(b) : d->scale;
		yy += a * a;
		rr += b * b;
		yr += a * b;
	}
	d->error = worst <= 0 ? 0 : d->scale > 0 ? worst / d->scale : INFINITY;
	d->cosine = yy > 0 && rr > 0 ? yr / (sqrt(yy) * sqrt(rr)) : yy == rr;
	return true;
}

struct difference difference_of(const struct tensor *y, const struct tensor *r, bool nan_equal)
{
	struct difference d = {.cosine = 1};

	if (y->kind != r->kind || y->dtype != r->dtype || y->rank != r->rank || memcmp(y->dims, r->dims, sizeof *r->dims * (size_t)r->rank))
		d.why = "other type or shape";
	else if (!(dtype_is_float(r->dtype) || dtype_is_int(r->dtype) || r->dtype == DT_BOOL))
		d.why = y->nbytes == r->nbytes && !memcmp(y->data, r->data, r->nbytes) ? NULL : "other elements";
	else
		measure(y, r, nan_equal, &d);
	return d;
}
