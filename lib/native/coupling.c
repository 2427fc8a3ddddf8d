/* Coupling: probabilities of classes from those of pairs, as Wu, Lin and Weng 2004 have them (their second method), with the steps and the
 * end that libsvm has. */
#include "native/native.h"

enum { COUPLING_STEPS = 100 };

/* Q of classes x classes, of r(i, j): the probability of i if it is i or j. */
static void coupling_matrix(const double *pair, int64_t classes, double *r, double *q)
{
	for (int64_t i = 0, e = 0; i < classes; i++)
		for (int64_t j = i + 1; j < classes; j++, e++) {
			r[i * classes + j] = pair[e];
			r[j * classes + i] = 1 - pair[e];
		}
	for (int64_t i = 0; i < classes; i++) {
		double sum = 0;
		for (int64_t j = 0; j < classes; j++) {
			if (j == i)
				continue;
			sum += r[j * classes + i] * r[j * classes + i];
			q[i * classes + j] = -r[j * classes + i] * r[i * classes + j];
		}
		q[i * classes + i] = sum;
	}
}

/* p Q p, and Q p; the largest difference of an element of Q p from it. */
static double coupling_error(const double *q, int64_t classes, const double *p, double *qp, double *pqp)
{
	double most = 0;

	*pqp = 0;
	for (int64_t i = 0; i < classes; i++) {
		qp[i] = 0;
		for (int64_t j = 0; j < classes; j++)
			qp[i] += q[i * classes + j] * p[j];
		*pqp += p[i] * qp[i];
	}
	for (int64_t i = 0; i < classes; i++)
		most = fabs(qp[i] - *pqp) > most ? fabs(qp[i] - *pqp) : most;
	return most;
}

static void coupling_row(const double *q, int64_t classes, double *p, double *qp)
{
	double pqp, d;
	int64_t steps = classes > COUPLING_STEPS ? classes : COUPLING_STEPS;

	for (int64_t i = 0; i < classes; i++)
		p[i] = 1 / (double)classes;
	for (int64_t step = 0; step < steps && coupling_error(q, classes, p, qp, &pqp) >= 0.005 / (double)classes; step++)
		for (int64_t i = 0; i < classes; i++) {
			const double *row = q + i * classes;
			d = (pqp - qp[i]) / row[i];
			p[i] += d;
			pqp = (pqp + d * (d * row[i] + 2 * qp[i])) / ((1 + d) * (1 + d));
			for (int64_t j = 0; j < classes; j++) {
				qp[j] = (qp[j] + d * row[j]) / (1 + d);
				p[j] /= 1 + d;
			}
		}
}

NATIVE const char *native_Coupling(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	int64_t classes = native_int(n, "classes"), pairs;
	double *pair, *r;
	void *y;

	if (!native_is_float(x->type))
		return native_no_type();
	if (classes < 2 || classes > 10000 || x->rank != 2 || x->dims[1] != (pairs = classes * (classes - 1) / 2))
		return "not a probability for each pair of classes";
	pair = n->scratch(n, (size_t)pairs * sizeof *pair);
	r = n->scratch(n, (size_t)(2 * classes * classes + 2 * classes) * sizeof *r);
	if (!(y = n->room(n, 0, x->type, 2, (int64_t[]){x->dims[0], classes})) || !pair || !r)
		return native_no_room(n);
	for (int64_t k = 0; k < x->dims[0]; k++) {
		double *q = r + classes * classes, *p = q + classes * classes;
		native_load(x->type, x->data, k * pairs, pairs, pair);
		coupling_matrix(pair, classes, r, q);
		coupling_row(q, classes, p, p + classes);
		native_store(x->type, y, k * classes, classes, p);
	}
	return NULL;
}
