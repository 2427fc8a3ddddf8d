/* NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, in double. Without weights, a mean is of those labels that are not ignored. */
#include "native/native.h"

enum { LOSS_BLOCK = 64 }; /* samples that are next to each other in memory, at a time */

struct loss {
	const struct native_tensor *x, *label, *weight;
	int64_t images, classes, inner;
	bool ignores;
	int64_t ignored;
};

static const char *loss_read(const struct native *n, struct loss *l)
{
	const struct native_attr *ignore = native_attr(n, "ignore_index");

	l->x = &n->in[0];
	l->label = &n->in[1];
	l->weight = native_has(n, 2) ? &n->in[2] : NULL;
	if (l->x->rank < 2 || l->label->rank != l->x->rank - 1 || l->label->dims[0] != l->x->dims[0] ||
	    memcmp(l->label->dims + 1, l->x->dims + 2, (size_t)(l->x->rank - 2) * sizeof *l->x->dims) ||
	    (l->weight && native_count(l->weight) != l->x->dims[1]))
		return "scores, labels and weights do not fit each other";
	l->images = l->x->dims[0];
	l->classes = l->x->dims[1];
	l->inner = native_count_of(l->x->rank - 2, l->x->dims + 2);
	l->ignores = ignore != NULL;
	l->ignored = ignore ? ignore->i : 0;
	return NULL;
}

/* The logarithm of the softmax of m samples from element `first` on: what is to be subtracted of each of their scores. */
static void loss_norm(const struct loss *l, int64_t first, int64_t m, double *norm)
{
	double most[LOSS_BLOCK], sum[LOSS_BLOCK] = {0}, v[LOSS_BLOCK];

	for (int64_t i = 0; i < m; i++)
		most[i] = -INFINITY;
	for (int64_t c = 0; c < l->classes; c++) {
		native_load(l->x->type, l->x->data, first + c * l->inner, m, v);
		for (int64_t i = 0; i < m; i++)
			most[i] = v[i] > most[i] || v[i] != v[i] ? v[i] : most[i];
	}
	for (int64_t c = 0; c < l->classes; c++) {
		native_load(l->x->type, l->x->data, first + c * l->inner, m, v);
		for (int64_t i = 0; i < m; i++)
			sum[i] += exp(v[i] - most[i]);
	}
	for (int64_t i = 0; i < m; i++)
		norm[i] = most[i] + log(sum[i]);
}

static void loss_put_logs(const struct loss *l, int64_t first, int64_t m, const double *norm, void *logs)
{
	double v[LOSS_BLOCK];

	for (int64_t c = 0; logs && c < l->classes; c++) {
		native_load(l->x->type, l->x->data, first + c * l->inner, m, v);
		for (int64_t i = 0; i < m; i++)
			v[i] -= norm[i];
		native_store(l->x->type, logs, first + c * l->inner, m, v);
	}
}

/* The loss of sample number i, whose class 0 is element `first`, and its weight. NULL, or why not. */
static const char *loss_one(struct native *n, const struct loss *l, int64_t i, int64_t first, double norm, double *loss, double *weight)
{
	int64_t c = native_get_int(l->label->type, l->label->data, i);

	*loss = *weight = 0;
	if (l->ignores && c == l->ignored)
		return NULL;
	if (c < 0 || c >= l->classes)
		return native_why(n, "label %lld of %lld classes", (long long)c, (long long)l->classes);
	*weight = l->weight ? native_get(l->weight->type, l->weight->data, c) : 1;
	*loss = -(native_get(l->x->type, l->x->data, first + c * l->inner) - norm) * *weight;
	return NULL;
}

static const char *loss_run(struct native *n, const struct loss *l, bool softmax, void *each, void *logs, double *sums)
{
	double norm[LOSS_BLOCK] = {0}, loss, weight;
	const char *why;

	for (int64_t b = 0; b < l->images; b++)
		for (int64_t p = 0; p < l->inner; p += LOSS_BLOCK) {
			int64_t m = l->inner - p < LOSS_BLOCK ? l->inner - p : LOSS_BLOCK, first = b * l->classes * l->inner + p;
			if (softmax)
				loss_norm(l, first, m, norm);
			loss_put_logs(l, first, m, norm, logs);
			for (int64_t i = 0; i < m; i++) {
				if ((why = loss_one(n, l, b * l->inner + p + i, first + i, norm[i], &loss, &weight)))
					return why;
				if (each)
					native_set(l->x->type, each, b * l->inner + p + i, loss);
				sums[0] += loss;
				sums[1] += weight;
			}
		}
	return NULL;
}

static const char *loss_make(struct native *n, bool softmax)
{
	const char *how = native_str(n, "reduction"), *why;
	bool none = !strcmp(how, "none"), wants_logs = softmax && native_wants(n, 1);
	double sums[2] = {0};
	struct loss l;

	if (!native_is_float(n->in[0].type) || (n->in[1].type != NATIVE_I32 && n->in[1].type != NATIVE_I64))
		return native_no_type();
	if ((why = loss_read(n, &l)))
		return why;
	void *y = n->room(n, 0, l.x->type, none ? l.label->rank : 0, l.label->dims);
	void *logs = wants_logs ? n->room(n, 1, l.x->type, l.x->rank, l.x->dims) : NULL;
	if (!y || (wants_logs && !logs))
		return native_no_room(n);
	why = loss_run(n, &l, softmax, none ? y : NULL, logs, sums);
	if (!why && !none)
		native_set(l.x->type, y, 0, strcmp(how, "sum") ? sums[0] / sums[1] : sums[0]);
	return why;
}

NATIVE const char *native_NegativeLogLikelihoodLoss(struct native *n) { return loss_make(n, false); }
NATIVE const char *native_SoftmaxCrossEntropyLoss(struct native *n) { return loss_make(n, true); }
