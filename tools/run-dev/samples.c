/* The samples of a training. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "train.h"

static void check_finite(const struct tensor *t, const char *path)
{
	int64_t n = tensor_count(t);

	if (!dtype_is_float(t->dtype))
		return;
	for (int64_t i = 0; i < n; i++)
		if (!isfinite(tensor_get(t, i)))
			die(EX_BADDATA, "%s: sample %lld: a number is %s", path, (long long)(i / (n / t->dims[0])),
			    isnan(tensor_get(t, i)) ? "NaN" : "infinite");
}

static struct tensor *read_tensor(const char *path, struct arena *a)
{
	struct tensor *t = npy_read(path, a);

	if (t->rank < 1 || t->kind != KIND_TENSOR || t->dtype == DT_STR)
		die(EX_BADDATA, "%s: no array of samples", path);
	check_finite(t, path);
	return t;
}

void samples_read(struct samples *s, const char *data, const char *labels, struct arena *a)
{
	*s = (struct samples){.data_path = data, .labels_path = labels, .x = read_tensor(data, a), .y = read_tensor(labels, a)};
	s->count = s->x->dims[0];
	if (s->y->dims[0] != s->count)
		die(EX_BADDATA, "%s: %lld labels for the %lld samples of %s", labels, (long long)s->y->dims[0], (long long)s->count, data);
}

void samples_fit(struct tensor **t, const char *path, const struct hone_tensor *in, struct arena *a)
{
	struct tensor *from = *t, *to;
	enum dtype type = tensor_dtype(in);
	bool fits = from->rank == in->rank;

	for (int k = 1; fits && k < from->rank; k++)
		fits = from->dims[k] == in->shape[k];
	if (!fits || (dtype_is_float(from->dtype) && !dtype_is_float(type)))
		die(EX_BADDATA, "%s: samples of rank %d and type %s do not fit the input %s", path, from->rank, dtype_name(from->dtype),
		    in->name);
	if (from->dtype == type)
		return;
	to = tensor_new(a, type, from->rank, from->dims);
	for (int64_t i = 0; i < tensor_count(from); i++)
		tensor_set(to, i, tensor_get(from, i));
	*t = to;
}

void samples_classes(const struct samples *s, int64_t classes)
{
	int64_t n = tensor_count(s->y);

	for (int64_t i = 0; i < n; i++) {
		double c = tensor_get(s->y, i);
		if (c < 0 || c >= (double)classes)
			die(EX_BADDATA, "%s: sample %lld: its label is %.0f, and classes are from 0 to %lld", s->labels_path,
			    (long long)(i / (n / s->y->dims[0])), c, (long long)classes - 1);
	}
}

void sample_put(const struct tensor *t, int64_t i, void *batch, int64_t k)
{
	size_t row = t->nbytes / (size_t)t->dims[0];

	memcpy((char *)batch + row * (size_t)k, (const char *)t->data + row * (size_t)i, row);
}
