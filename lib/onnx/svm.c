/* SVMRegressor and SVMClassifier of ai.onnx.ml in ONNX's words. */
#include <string.h>
#include "onnx/ml.h"

/* ---- support vectors ---- */

/* Products of rows and vectors [n, C] by the kernel function: [N, n]. */
static val_id kernel_products(struct contrib *x, const char *name, int64_t n, const char *kernel)
{
	int64_t c = n > 0 ? ml_count(x, name) / n : 0;
	int np;
	const float *p = attr_floats(self(x), "kernel_params", &np);
	float gamma = np > 0 ? p[0] : 0, coef0 = np > 1 ? p[1] : 0, degree = np > 2 ? p[2] : 0;
	val_id y, v;

	if (c < 1 || c * n != ml_count(x, name))
		import_die(x->c, "attribute '%s' has %d numbers for %lld vectors", name, ml_count(x, name), (long long)n);
	v = ml_table(x, name, 2, (int64_t[]){n, c});
	if (!strcmp(kernel, "RBF")) { /* of differences: squares less products would lose digits; vectors side by side */
		v = un(x, OP_Transpose, v);
		y = bin(x, OP_Sub, bin(x, OP_Unsqueeze, ml_rows(x, c), ml_axis(x, -1)), v);
		y = bin(x, OP_ReduceSumSquare, y, ml_axis(x, 1));
		attr_set_int(x->m, made(x, y), "keepdims", 0);
		return un(x, OP_Exp, bin(x, OP_Mul, y, contrib_number(x, -gamma)));
	}
	y = bin(x, OP_Gemm, ml_rows(x, c), v);
	attr_set_int(x->m, made(x, y), "transB", 1);
	if (!strcmp(kernel, "LINEAR"))
		return y;
	y = bin(x, OP_Add, bin(x, OP_Mul, y, contrib_number(x, gamma)), contrib_number(x, coef0));
	if (!strcmp(kernel, "SIGMOID"))
		return un(x, OP_Tanh, y);
	if (strcmp(kernel, "POLY"))
		import_die(x->c, "attribute 'kernel_type' is '%s'; takes LINEAR, POLY, RBF, SIGMOID", kernel);
	return bin(x, OP_Pow, y, contrib_number(x, degree));
}

/* Sums of kernel products [N, n] with coefficients [m, n], plus rho. Coefficients of both signs cancel: a ReduceSum sums in blocks, a Gemm does not. */
static val_id weighed(struct contrib *x, val_id y, val_id coefficients, val_id rho)
{
	val_id s = bin(x, OP_Mul, bin(x, OP_Unsqueeze, y, ml_axis(x, 1)), coefficients);

	s = bin(x, OP_ReduceSum, s, ml_axis(x, -1));
	attr_set_int(x->m, made(x, s), "keepdims", 0);
	return bin(x, OP_Add, s, rho);
}

/* Weighed sums of products by the linear kernel. The n coefficients of each of m sums, and the vectors, make one row of weights, in double. */
static val_id linear(struct contrib *x, int64_t m, int64_t n, const float *coefficients, val_id rho)
{
	int64_t c = ml_count(x, "support_vectors") / n;
	const float *vectors;
	struct tensor *w;
	val_id s;
	int unused;

	if (c < 1 || c * n != ml_count(x, "support_vectors"))
		import_die(x->c, "attribute 'support_vectors' has %d numbers for %lld vectors", ml_count(x, "support_vectors"),
			   (long long)n);
	vectors = attr_floats(self(x), "support_vectors", &unused);
	w = tensor_new(&x->m->arena, DT_F32, 2, (int64_t[]){m, c});
	for (int64_t i = 0; i < m * c; i++) {
		double sum = 0;
		for (int64_t k = 0; k < n; k++)
			sum += (double)coefficients[i / c * n + k] * vectors[k * c + i % c];
		((float *)w->data)[i] = (float)sum;
	}
	s = bin(x, OP_Gemm, ml_rows(x, c), const_tensor(x->m, 0, w));
	attr_set_int(x->m, made(x, s), "transB", 1);
	return bin(x, OP_Add, s, rho);
}

bool ml_svm_regressor(struct contrib *x)
{
	int64_t n = attr_int(self(x), "n_supports", 0), one = 1;
	int nrho;
	const float *rho = attr_floats(self(x), "rho", &nrho);
	const char *kernel = attr_str(self(x), "kernel_type", "LINEAR");
	val_id y;

	if (nrho != 1)
		import_die(x->c, "attribute 'rho' has %d numbers, not 1", nrho);
	if (n > 0 && ml_count(x, "coefficients") != n)
		import_die(x->c, "attribute 'coefficients' has %d numbers for %lld vectors", ml_count(x, "coefficients"), (long long)n);
	if (n > 0 && !strcmp(kernel, "LINEAR")) {
		y = linear(x, 1, n, attr_floats(self(x), "coefficients", &nrho), contrib_number(x, rho[0]));
	} else if (n > 0) {
		y = kernel_products(x, "support_vectors", n, kernel);
		y = weighed(x, y, ml_table(x, "coefficients", 2, (int64_t[]){1, n}), contrib_number(x, rho[0]));
	} else {
		y = bin(x, OP_Add, kernel_products(x, "coefficients", one, "LINEAR"), contrib_number(x, rho[0]));
	}
	if (attr_int(self(x), "one_class", 0))
		y = make(x, OP_Where, 3,
			 (val_id[]){bin(x, OP_Greater, y, contrib_number(x, 0)), contrib_number(x, 1), contrib_number(x, -1)});
	return done(x, ml_transformed(x, y, ml_transform(x)));
}

/* ---- classes ---- */

/* Pairs of classes i < j, and where the vectors of each class are. */
struct pairs {
	int64_t classes, n, vectors;
	const int64_t *count; /* vectors of class i */
};

static struct pairs read_pairs(struct contrib *x, int64_t classes)
{
	int n;
	struct pairs p = {.classes = classes, .n = classes * (classes - 1) / 2, .count = attr_ints(self(x), "vectors_per_class", &n)};

	if (n != classes || ml_count(x, "rho") != p.n)
		import_die(x->c, "%d counts of vectors and %d rho for %lld classes", n, ml_count(x, "rho"), (long long)classes);
	for (int i = 0; i < n; i++) {
		if (p.count[i] < 0 || p.count[i] > INT32_MAX)
			import_die(x->c, "a class of %lld vectors", (long long)p.count[i]);
		p.vectors += p.count[i];
	}
	if (p.vectors < 1 || ml_count(x, "coefficients") != (classes - 1) * p.vectors)
		import_die(x->c, "%d coefficients of %lld vectors", ml_count(x, "coefficients"), (long long)p.vectors);
	return p;
}

/* Coefficients [pairs, vectors]: for i and j, of the vectors of i those in row j - 1 of the attribute, of the vectors of j those in row i. */
static struct tensor *pair_coefficients(struct contrib *x, const struct pairs *p)
{
	struct tensor *t = tensor_new(&x->m->arena, DT_F32, 2, (int64_t[]){p->n, p->vectors});
	const float *given = attr_find(self(x), "coefficients")->u.floats;
	float *to = (float *)t->data;
	int64_t e = 0, first = 0, second;

	for (int64_t i = 0; i < p->classes; first += p->count[i++]) {
		second = first + p->count[i];
		for (int64_t j = i + 1; j < p->classes; second += p->count[j++], e++) {
			for (int64_t v = first; v < first + p->count[i]; v++)
				to[e * p->vectors + v] = given[(j - 1) * p->vectors + v];
			for (int64_t v = second; v < second + p->count[j]; v++)
				to[e * p->vectors + v] = given[i * p->vectors + v];
		}
	}
	return t;
}

/* How many pairs each class wins: i where the score is more than 0, else j. */
static val_id votes(struct contrib *x, const struct pairs *p, val_id scores)
{
	struct tensor *gain = tensor_new(&x->m->arena, DT_F32, 2, (int64_t[]){p->n, p->classes}),
		      *base = tensor_new(&x->m->arena, DT_F32, 1, &p->classes);
	val_id won = contrib_cast(x, bin(x, OP_Greater, scores, contrib_number(x, 0)), DT_F32);
	int64_t e = 0;

	for (int64_t i = 0; i < p->classes; i++)
		for (int64_t j = i + 1; j < p->classes; j++, e++) {
			((float *)gain->data)[e * p->classes + i] = 1;
			((float *)gain->data)[e * p->classes + j] = -1;
			((float *)base->data)[j] += 1;
		}
	return make(x, OP_Gemm, 3, (val_id[]){won, const_tensor(x->m, 0, gain), const_tensor(x->m, 0, base)});
}

/* Probabilities of classes, of those of pairs (Platt): 1 / (1 + exp(a s + b)). */
static val_id probabilities(struct contrib *x, const struct pairs *p, val_id scores)
{
	val_id y = bin(x, OP_Mul, scores, ml_table(x, "prob_a", 1, &p->n));

	y = un(x, OP_Sigmoid, un(x, OP_Neg, bin(x, OP_Add, y, ml_table(x, "prob_b", 1, &p->n))));
	y = make(x, OP_Clip, 3, (val_id[]){y, contrib_number(x, 1e-7), contrib_number(x, 1 - 1e-7)});
	y = un(x, OP_Coupling, y);
	attr_set_int(x->m, made(x, y), "classes", p->classes);
	return y;
}

static bool svm_pairs(struct contrib *x, int64_t classes)
{
	struct pairs p = read_pairs(x, classes);
	const char *transform = ml_transform(x);
	const char *kernel = attr_str(self(x), "kernel_type", "LINEAR");
	struct tensor *coefficients = pair_coefficients(x, &p);
	val_id rho = ml_table(x, "rho", 1, &p.n), s, best;

	if (!strcmp(kernel, "LINEAR"))
		s = linear(x, p.n, p.vectors, (const float *)coefficients->data, rho);
	else
		s = weighed(x, kernel_products(x, "support_vectors", p.vectors, kernel), const_tensor(x->m, 0, coefficients), rho);
	best = ml_best(x, votes(x, &p, s));
	if (ml_count(x, "prob_a"))
		s = ml_transformed(x, probabilities(x, &p, s), transform);
	else
		s = classes == 2 ? ml_two_classes(x, s, transform, true) : ml_transformed(x, s, transform);
	ml_put_label(x, best, classes, "classlabels_ints");
	return ml_put_scores(x, s);
}

bool ml_svm_classifier(struct contrib *x)
{
	int64_t classes = ml_count(x, "classlabels_strings");
	val_id s;

	classes = classes ? classes : ml_count(x, "classlabels_ints");
	if (classes < 2 || classes > 10000 || ml_count(x, "rho") < 1)
		import_die(x->c, "%lld classes and %d rho", (long long)classes, ml_count(x, "rho"));
	if (ml_count(x, "support_vectors"))
		return svm_pairs(x, classes);
	s = bin(x, OP_Add, kernel_products(x, "coefficients", classes, "LINEAR"),
		contrib_number(x, attr_find(self(x), "rho")->u.floats[0]));
	ml_put_label(x, ml_best(x, s), classes, "classlabels_ints");
	return ml_put_scores(x, ml_transformed(x, s, ml_transform(x)));
}
