/* Losses of what a model gave, in double: as ge-grad has them, for samples that were held out. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "op/op.h"
#include "train.h"

static double squares(double x, double y) { return (x - y) * (x - y); }
static double distances(double x, double y) { return fabs(x - y); }
static double binary(double x, double y) { return fmax(x, 0) + log1p(exp(-fabs(x))) - x * y; }

static const struct {
	const char *name;
	double (*of)(double x, double y); /* NULL: by classes along axis 1 */
} losses[] = {{"ce", NULL}, {"mse", squares}, {"bce", binary}, {"l1", distances}};

bool judge_knows(const char *loss)
{
	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (!strcmp(losses[i].name, loss))
			return true;
	return false;
}

static struct tensor tensor_at(const struct hone_tensor *t, const void *data, int64_t *dims)
{
	size_t bytes = dtype_size(tensor_dtype(t));

	for (int k = 0; k < t->rank; k++) {
		dims[k] = t->shape[k];
		bytes *= (size_t)dims[k];
	}
	return (struct tensor){.dtype = tensor_dtype(t), .rank = t->rank, .dims = dims, .nbytes = bytes, .data = data};
}

/* Place p of sample i: the cross entropy, and is the class of the label the largest, of equal ones the first? */
static void classes(struct judgement *sum, const struct tensor *y, int64_t i, int64_t p, int64_t places, int64_t label)
{
	int64_t n = y->dims[1], best = 0;
	double most = -INFINITY, total = 0;

	for (int64_t c = 0; c < n; c++) {
		double v = tensor_get(y, (i * n + c) * places + p);
		if (v > most) {
			most = v;
			best = c;
		}
	}
	for (int64_t c = 0; c < n; c++)
		total += exp(tensor_get(y, (i * n + c) * places + p) - most);
	sum->loss += (most + log(total) - tensor_get(y, (i * n + label) * places + p)) / (double)places;
	sum->right += (best == label) / (double)places;
}

void judge_add(struct judgement *sum, const char *loss, const struct hone_tensor *out, const void *data, const struct hone_tensor *label,
	       const void *labels, int64_t n)
{
	int64_t dims[RANK_MAX], label_dims[RANK_MAX];
	struct tensor y = tensor_at(out, data, dims), want = tensor_at(label, labels, label_dims);
	int64_t places = tensor_count(&want) / want.dims[0];
	double (*of)(double x, double y) = NULL;

	for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
		if (!strcmp(losses[i].name, loss))
			of = losses[i].of;
	if (of)
		sum->right = NAN;
	for (int64_t i = 0; i < n; i++)
		for (int64_t p = 0; p < places; p++) {
			double t = tensor_get(&want, i * places + p);
			if (of)
				sum->loss += of(tensor_get(&y, i * places + p), t) / (double)places;
			else
				classes(sum, &y, i, p, places, (int64_t)t);
		}
}
