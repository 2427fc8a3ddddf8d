/* Operators of the domain ai.onnx.ml in ONNX's words: linear models, scalers, encoders. Where ONNX's text is silent, they do what
 * ONNX Runtime does. */
#include <math.h>
#include <string.h>
#include "onnx/contrib.h"
#include "op/strings.h"

/* ---- operands and constants ---- */

static val_id axis_operand(struct contrib *x, int64_t axis) { return contrib_ints(x, 1, &axis); }

/* Floats of an attribute as f32 of these extents: as many as they say, or die. */
static val_id table(struct contrib *x, const char *name, int rank, const int64_t *dims)
{
	int n;
	const float *f = attr_floats(self(x), name, &n);
	int64_t want = rank ? dims[0] * (rank > 1 ? dims[1] : 1) : 1;

	if (n != want)
		import_die(x->c, "attribute '%s' has %d numbers, not %lld", name, n, (long long)want);
	return const_copy(x->m, 0, DT_F32, rank, dims, f, (size_t)n * sizeof *f);
}

static int count_of(struct contrib *x, const char *name)
{
	const struct attr *a = attr_find(self(x), name);

	return !a ? 0 : a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRS ? (int)a->n : 1;
}

/* Operand i as f32. */
static val_id floats(struct contrib *x, uint32_t i) { return contrib_cast(x, operand(x, i), DT_F32); }

/* Operand 0 as f32 rows of n. */
static val_id rows(struct contrib *x, int64_t n)
{
	val_id v = floats(x, 0);
	int64_t have;

	if (contrib_rank(x, v) == 2 && contrib_extent(x, v, 1, &have) && have == n)
		return v;
	return contrib_reshaped(x, v, 2, (int64_t[]){-1, n});
}

/* ---- scores ---- */

static val_id softmax_zero(struct contrib *x, val_id v)
{
	val_id axes = axis_operand(x, -1), most = bin(x, OP_ReduceMax, v, axes), e, s, zero;

	zero = bin(x, OP_Greater, un(x, OP_Abs, v), contrib_number(x, 1e-7));
	e = un(x, OP_Exp, bin(x, OP_Sub, v, most));
	e = make(x, OP_Where, 3, (val_id[]){zero, e, bin(x, OP_Mul, v, un(x, OP_Exp, un(x, OP_Neg, most)))});
	s = bin(x, OP_ReduceSum, e, axes);
	zero = bin(x, OP_Equal, s, contrib_number(x, 0));
	return make(x, OP_Where, 3, (val_id[]){zero, contrib_number(x, 0.5), bin(x, OP_Div, e, s)});
}

/* sqrt(2) times the inverse of erf at 2 v - 1, by the formula that ONNX's reference has. */
static val_id probit(struct contrib *x, val_id v)
{
	val_id z = bin(x, OP_Sub, bin(x, OP_Mul, v, contrib_number(x, 2)), contrib_number(x, 1)), one = contrib_number(x, 1), l, a, b;

	l = un(x, OP_Log, bin(x, OP_Mul, bin(x, OP_Sub, one, z), bin(x, OP_Add, one, z)));
	a = bin(x, OP_Add, bin(x, OP_Mul, l, contrib_number(x, 0.5)), contrib_number(x, 2 / (M_PI * 0.147)));
	b = bin(x, OP_Sub, bin(x, OP_Mul, a, a), bin(x, OP_Mul, l, contrib_number(x, 1 / 0.147)));
	b = un(x, OP_Sqrt, bin(x, OP_Sub, un(x, OP_Sqrt, b), a));
	return bin(x, OP_Mul, bin(x, OP_Mul, un(x, OP_Sign, z), b), contrib_number(x, M_SQRT2));
}

/* Scores after the transform that post_transform names. */
static val_id transformed(struct contrib *x, val_id v, const char *transform)
{
	if (!strcmp(transform, "LOGISTIC"))
		return un(x, OP_Sigmoid, v);
	if (!strcmp(transform, "SOFTMAX"))
		return un(x, OP_Softmax, v);
	if (!strcmp(transform, "SOFTMAX_ZERO"))
		return softmax_zero(x, v);
	if (!strcmp(transform, "PROBIT"))
		return probit(x, v);
	if (strcmp(transform, "NONE"))
		import_die(x->c, "attribute 'post_transform' is '%s'; takes NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT", transform);
	return v;
}

static const char *transform_of(struct contrib *x) { return attr_str(self(x), "post_transform", "NONE"); }

static sym word_of(struct contrib *x, const char *name, int i) { return attr_find(self(x), name)->u.strs[i]; }

/* Strings as a tensor. */
static val_id words(struct contrib *x, const char *name, const int *order, int n)
{
	struct text *v = ARENA_ARRAY(&x->m->arena, struct text, n);
	int64_t dims = n;

	for (int i = 0; i < n; i++) {
		sym w = word_of(x, name, order ? order[i] : i);
		v[i] = (struct text){sym_str(w), sym_len(w)};
	}
	return const_tensor(x->m, 0, texts_tensor(&x->m->arena, 1, &dims, v));
}

/* Labels in the order of classes: i64, or strings; 0: there are none, or not n of them. */
static val_id labels(struct contrib *x, const char *name, int64_t n)
{
	int k;
	const int64_t *v = attr_ints(self(x), name, &k);

	if (count_of(x, "classlabels_strings") == n)
		return words(x, "classlabels_strings", NULL, (int)n);
	return k == n ? contrib_ints(x, k, v) : 0;
}

/* The first result, where it is a label of the best of n scores. */
static void put_label(struct contrib *x, val_id best, int64_t n, const char *name)
{
	if (wants(x, 0))
		result_is(x, 0, bin(x, OP_Gather, labels(x, name, n), best));
}

static val_id best_of(struct contrib *x, val_id scores)
{
	val_id best = un(x, OP_ArgMax, scores);

	attr_set_int(x->m, made(x, best), "axis", 1);
	attr_set_int(x->m, made(x, best), "keepdims", 0);
	return best;
}

/* ---- linear models ---- */

/* Rows times coefficients [n, C] and intercepts. */
static val_id linear(struct contrib *x, int64_t n)
{
	int64_t all = count_of(x, "coefficients"), c = n > 0 ? all / n : 0;
	val_id in[3] = {0}, y;

	if (c < 1 || c * n != all)
		import_die(x->c, "%lld coefficients for %lld results", (long long)all, (long long)n);
	in[0] = rows(x, c);
	in[1] = table(x, "coefficients", 2, (int64_t[]){n, c});
	if (count_of(x, "intercepts"))
		in[2] = table(x, "intercepts", 1, &n);
	y = make(x, OP_Gemm, 3, in);
	attr_set_int(x->m, made(x, y), "transB", 1);
	return y;
}

static bool linear_regressor(struct contrib *x)
{
	return done(x, transformed(x, linear(x, attr_int(self(x), "targets", 1)), transform_of(x)));
}

/* One score of two classes: the second one's. */
static val_id two_classes(struct contrib *x, val_id s, const char *transform)
{
	val_id other = strcmp(transform, "NONE") ? un(x, OP_Neg, s) : bin(x, OP_Sub, contrib_number(x, 1), s), y;

	y = bin(x, OP_Concat, other, s);
	attr_set_int(x->m, made(x, y), "axis", 1);
	return transformed(x, y, transform);
}

/* How many rows of coefficients there are. */
static int64_t linear_rows(struct contrib *x, int64_t nlabels)
{
	int64_t n = count_of(x, "intercepts"), c;

	if (n)
		return n;
	return contrib_extent(x, operand(x, 0), 1, &c) && c > 0 ? count_of(x, "coefficients") / c : nlabels;
}

static bool linear_classifier(struct contrib *x)
{
	int64_t nlabels = count_of(x, "classlabels_ints") + count_of(x, "classlabels_strings"), n = linear_rows(x, nlabels);
	bool two = n == 1 && nlabels == 2;
	const char *transform = transform_of(x);
	val_id s, best, out;

	if (nlabels != n && !two)
		return false;
	s = linear(x, n);
	if (two)
		best = contrib_reshaped(x, contrib_cast(x, bin(x, OP_Greater, s, contrib_number(x, 0)), DT_I64), 1, (int64_t[]){-1});
	else
		best = best_of(x, s);
	out = two ? two_classes(x, s, transform) : transformed(x, s, transform);
	put_label(x, best, nlabels, "classlabels_ints");
	return !wants(x, 1) || result_is(x, 1, out == s ? un(x, OP_Identity, s) : out);
}

/* ---- features ---- */

static bool scaler(struct contrib *x)
{
	val_id y = floats(x, 0);
	int64_t n;

	if ((n = count_of(x, "offset")))
		y = bin(x, OP_Sub, y, table(x, "offset", 1, &n));
	if ((n = count_of(x, "scale")))
		y = bin(x, OP_Mul, y, table(x, "scale", 1, &n));
	return done(x, y == operand(x, 0) || !made(x, y) ? un(x, OP_Identity, y) : y);
}

/* L1 and L2 take lengths, as scikit-learn and all runtimes do; ONNX's text forgets the signs. */
static bool normalizer(struct contrib *x)
{
	val_id v = floats(x, 0), axes = axis_operand(x, -1), d;
	const char *norm = attr_str(self(x), "norm", "MAX");

	if (!strcmp(norm, "MAX"))
		d = bin(x, OP_ReduceMax, v, axes);
	else if (!strcmp(norm, "L1"))
		d = bin(x, OP_ReduceL1, v, axes);
	else if (!strcmp(norm, "L2"))
		d = bin(x, OP_ReduceL2, v, axes);
	else
		import_die(x->c, "attribute 'norm' is '%s'; takes MAX, L1, L2", norm);
	d = make(x, OP_Where, 3, (val_id[]){bin(x, OP_Equal, d, contrib_number(x, 0)), contrib_number(x, 1), d});
	return done(x, bin(x, OP_Div, v, d));
}

static val_id like(struct contrib *x, val_id c, val_id v)
{
	enum dtype t = contrib_type(x, v)->dtype;

	return t == val(x->m, c)->type.dtype ? c : bin(x, OP_CastLike, c, v);
}

static bool imputer(struct contrib *x)
{
	bool whole = count_of(x, "imputed_value_int64s") > 0;
	float old = attr_float(self(x), "replaced_value_float", 0);
	int64_t replaced = attr_int(self(x), "replaced_value_int64", 0), n;
	val_id v = operand(x, 0), values, is;
	int k;
	const int64_t *list = attr_ints(self(x), "imputed_value_int64s", &k);

	n = count_of(x, whole ? "imputed_value_int64s" : "imputed_value_floats");
	if (!n)
		import_die(x->c, "there are no imputed values");
	values = whole ? contrib_ints(x, k, list) : table(x, "imputed_value_floats", 1, &n);
	if (!whole && old != old)
		is = un(x, OP_IsNaN, v);
	else
		is = bin(x, OP_Equal, v, like(x, whole ? axis_operand(x, replaced) : contrib_number(x, old), v));
	return done(x, make(x, OP_Where, 3, (val_id[]){is, like(x, values, v), v}));
}

static bool binarizer(struct contrib *x)
{
	val_id v = operand(x, 0), y = bin(x, OP_Greater, contrib_cast(x, v, DT_F64),
					  contrib_cast(x, contrib_number(x, attr_float(self(x), "threshold", 0)), DT_F64));

	return done(x, bin(x, OP_CastLike, y, v));
}

/* A number for each of n categories, beside the axes of v: does v equal it? */
static val_id matches(struct contrib *x, val_id v, val_id keys)
{
	return bin(x, OP_Equal, bin(x, OP_Unsqueeze, v, axis_operand(x, -1)), like(x, keys, v));
}

static bool one_hot_encoder(struct contrib *x)
{
	int n = count_of(x, "cats_strings"), k;
	const int64_t *cats = attr_ints(self(x), "cats_int64s", &k);
	val_id v = operand(x, 0);

	if (!attr_int(self(x), "zeros", 1))
		return false;
	if (!n && !k)
		import_die(x->c, "there are no categories");
	return done(x, contrib_cast(x,
				    n ? matches(x, v, words(x, "cats_strings", NULL, n))
				      : matches(x, contrib_cast(x, v, DT_I64), contrib_ints(x, k, cats)),
				    DT_F32));
}

/* Operand i as f32 [N, n]: cut, or with zeros behind. */
static val_id vector_part(struct contrib *x, uint32_t i, int64_t n)
{
	val_id v = floats(x, i);
	int64_t have;

	if (contrib_rank(x, v) != 2)
		return contrib_reshaped(x, v, 2, (int64_t[]){-1, n});
	if (!contrib_extent(x, v, 1, &have) || have == n)
		return v;
	return bin(x, OP_Pad, v, contrib_ints(x, 4, (int64_t[]){0, 0, 0, n - have}));
}

static bool feature_vectorizer(struct contrib *x)
{
	int n;
	const int64_t *dims = attr_ints(self(x), "inputdimensions", &n);
	val_id *in = ARENA_ARRAY(&x->m->arena, val_id, self(x)->nin + 1), y;

	if (n != (int)self(x)->nin)
		import_die(x->c, "%d inputdimensions for %u operands", n, self(x)->nin);
	for (int i = 0; i < n; i++)
		in[i] = vector_part(x, (uint32_t)i, dims[i]);
	y = make(x, OP_Concat, n, in);
	attr_set_int(x->m, made(x, y), "axis", 1);
	return done(x, y);
}

/* The indices are one list, whatever their shape; of a vector comes one row. */
static bool array_feature_extractor(struct contrib *x)
{
	val_id v = operand(x, 0), at = operand(x, 1), y;
	int rank;

	if (!at || (rank = contrib_rank(x, v)) < 1)
		return false;
	if (contrib_rank(x, at) != 1)
		at = contrib_reshaped(x, at, 1, (int64_t[]){-1});
	y = bin(x, OP_Gather, v, at);
	attr_set_int(x->m, made(x, y), "axis", -1);
	return done(x, rank == 1 ? contrib_reshaped(x, y, 2, (int64_t[]){1, -1}) : y);
}

/* There are no maps here: the scores stay a tensor, with the classes in the order of the attribute. */
static bool zip_map(struct contrib *x)
{
	warn("%s: %s: ZipMap is left out: the scores stay a tensor", x->c->path, sym_str(val(x->m, self(x)->out[0])->name));
	return done(x, un(x, OP_Identity, operand(x, 0)));
}

/* ---- LabelEncoder ---- */

static struct tensor *list_tensor(struct contrib *x, const char *kind)
{
	const struct attr *a;
	struct arena *m = &x->m->arena;
	int64_t n;

	if ((a = attr_find(self(x), arena_printf(m, "%s_tensor", kind))))
		return a->kind == ATTR_TENSOR ? a->u.tensor : NULL;
	if ((n = count_of(x, arena_printf(m, "%s_floats", kind)))) {
		struct tensor *t = tensor_new(m, DT_F32, 1, &n);
		memcpy((void *)t->data, attr_find(self(x), arena_printf(m, "%s_floats", kind))->u.floats, t->nbytes);
		return t;
	}
	if ((n = count_of(x, arena_printf(m, "%s_int64s", kind)))) {
		struct tensor *t = tensor_new(m, DT_I64, 1, &n);
		memcpy((void *)t->data, attr_find(self(x), arena_printf(m, "%s_int64s", kind))->u.ints, t->nbytes);
		return t;
	}
	if ((n = count_of(x, arena_printf(m, "%s_strings", kind))))
		return val(x->m, words(x, arena_printf(m, "%s_strings", kind), NULL, (int)n))->tensor;
	return NULL;
}

/* What stands where no key fits, of the values' type. */
static val_id otherwise(struct contrib *x, enum dtype t)
{
	const struct attr *a = attr_find(self(x), "default_tensor");
	const char *word = attr_str(self(x), "default_string", "_Unused");
	struct tensor *c;

	if (a && a->kind == ATTR_TENSOR && a->u.tensor->dtype == t)
		return const_tensor(x->m, 0, a->u.tensor);
	if (t == DT_STR)
		return const_tensor(x->m, 0, texts_tensor(&x->m->arena, 0, NULL, &(struct text){word, strlen(word)}));
	c = tensor_new(&x->m->arena, t, 0, NULL);
	if (dtype_is_float(t))
		tensor_set(c, 0, t == DT_F32 ? attr_float(self(x), "default_float", -0.0f) : -0.0);
	else
		tensor_set(c, 0, (double)attr_int(self(x), "default_int64", -1));
	return const_tensor(x->m, 0, c);
}

/* As one list. */
static val_id flat(struct contrib *x, struct tensor *t)
{
	return const_new(x->m, 0, t->dtype, 1, (int64_t[]){tensor_count(t)}, tensor_data(x->m, t), t->nbytes);
}

static bool has_nan(struct contrib *x, struct tensor *t)
{
	if (!dtype_is_float(t->dtype))
		return false;
	tensor_data(x->m, t);
	for (int64_t i = 0; i < tensor_count(t); i++)
		if (tensor_get(t, i) != tensor_get(t, i))
			return true;
	return false;
}

/* Of equal keys the last one holds: the list is searched from its end. */
static bool label_encoder(struct contrib *x)
{
	struct tensor *keys = list_tensor(x, "keys"), *values = list_tensor(x, "values");
	val_id v = operand(x, 0), is, at, any, k;

	if (!keys || !values)
		return false;
	if (tensor_count(keys) != tensor_count(values) || !tensor_count(keys))
		import_die(x->c, "%lld keys for %lld values", (long long)tensor_count(keys), (long long)tensor_count(values));
	k = flat(x, keys);
	is = matches(x, v, k);
	if (has_nan(x, keys))
		is = bin(x, OP_Or, is, bin(x, OP_And, bin(x, OP_Unsqueeze, un(x, OP_IsNaN, v), axis_operand(x, -1)), un(x, OP_IsNaN, k)));
	is = contrib_cast(x, is, DT_I32);
	any = bin(x, OP_ReduceMax, is, axis_operand(x, -1));
	attr_set_int(x->m, made(x, any), "keepdims", 0);
	at = un(x, OP_ArgMax, is);
	attr_set_int(x->m, made(x, at), "axis", -1);
	attr_set_int(x->m, made(x, at), "keepdims", 0);
	attr_set_int(x->m, made(x, at), "select_last_index", 1);
	return done(x,
		    make(x, OP_Where, 3,
			 (val_id[]){contrib_cast(x, any, DT_BOOL), bin(x, OP_Gather, flat(x, values), at), otherwise(x, values->dtype)}));
}

/* ---- support vectors ---- */

/* Products of rows and vectors [n, C] by the kernel function: [N, n]. */
static val_id kernel_products(struct contrib *x, const char *name, int64_t n, const char *kernel)
{
	int64_t c = n > 0 ? count_of(x, name) / n : 0;
	int np;
	const float *p = attr_floats(self(x), "kernel_params", &np);
	float gamma = np > 0 ? p[0] : 0, coef0 = np > 1 ? p[1] : 0, degree = np > 2 ? p[2] : 0;
	val_id y, v;

	if (c < 1 || c * n != count_of(x, name))
		import_die(x->c, "attribute '%s' has %d numbers for %lld vectors", name, count_of(x, name), (long long)n);
	v = table(x, name, 2, (int64_t[]){n, c});
	if (!strcmp(kernel, "RBF")) { /* of differences: squares less products would lose digits */
		y = bin(x, OP_Sub, bin(x, OP_Unsqueeze, rows(x, c), axis_operand(x, 1)), v);
		y = bin(x, OP_ReduceSumSquare, y, axis_operand(x, -1));
		attr_set_int(x->m, made(x, y), "keepdims", 0);
		return un(x, OP_Exp, bin(x, OP_Mul, y, contrib_number(x, -gamma)));
	}
	y = bin(x, OP_Gemm, rows(x, c), v);
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

static bool svm_regressor(struct contrib *x)
{
	int64_t n = attr_int(self(x), "n_supports", 0), one = 1;
	int nrho;
	const float *rho = attr_floats(self(x), "rho", &nrho);
	val_id y;

	if (nrho != 1)
		import_die(x->c, "attribute 'rho' has %d numbers, not 1", nrho);
	if (n > 0) {
		y = kernel_products(x, "support_vectors", n, attr_str(self(x), "kernel_type", "LINEAR"));
		y = make(x, OP_Gemm, 3, (val_id[]){y, table(x, "coefficients", 2, (int64_t[]){n, 1}), contrib_number(x, rho[0])});
	} else {
		y = bin(x, OP_Add, kernel_products(x, "coefficients", one, "LINEAR"), contrib_number(x, rho[0]));
	}
	if (attr_int(self(x), "one_class", 0))
		y = make(x, OP_Where, 3,
			 (val_id[]){bin(x, OP_Greater, y, contrib_number(x, 0)), contrib_number(x, 1), contrib_number(x, -1)});
	return done(x, transformed(x, y, transform_of(x)));
}

static const struct {
	const char *name;
	bool (*expand)(struct contrib *x);
} operators[] = {
	{"ArrayFeatureExtractor", array_feature_extractor},
	{"Binarizer", binarizer},
	{"FeatureVectorizer", feature_vectorizer},
	{"Imputer", imputer},
	{"LabelEncoder", label_encoder},
	{"LinearClassifier", linear_classifier},
	{"LinearRegressor", linear_regressor},
	{"Normalizer", normalizer},
	{"OneHotEncoder", one_hot_encoder},
	{"SVMRegressor", svm_regressor},
	{"Scaler", scaler},
	{"ZipMap", zip_map},
};

/* Attributes of the kinds that the functions above read them as. */
static void check_kinds(struct contrib *x)
{
	static const struct {
		const char *name;
		uint8_t kind;
	} kinds[] = {
		{"coefficients", ATTR_FLOATS},
		{"intercepts", ATTR_FLOATS},
		{"offset", ATTR_FLOATS},
		{"scale", ATTR_FLOATS},
		{"rho", ATTR_FLOATS},
		{"kernel_params", ATTR_FLOATS},
		{"support_vectors", ATTR_FLOATS},
		{"cats_strings", ATTR_STRS},
		{"cats_int64s", ATTR_INTS},
		{"classlabels_ints", ATTR_INTS},
		{"classlabels_strings", ATTR_STRS},
		{"inputdimensions", ATTR_INTS},
		{"keys_floats", ATTR_FLOATS},
		{"keys_int64s", ATTR_INTS},
		{"keys_strings", ATTR_STRS},
		{"values_floats", ATTR_FLOATS},
		{"values_int64s", ATTR_INTS},
		{"values_strings", ATTR_STRS},
		{"imputed_value_floats", ATTR_FLOATS},
		{"imputed_value_int64s", ATTR_INTS},
	};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct attr *a = attr_find(self(x), kinds[i].name);
		if (a && a->kind != kinds[i].kind && a->n + (a->kind == ATTR_INT || a->kind == ATTR_FLOAT) > 0)
			import_die(x->c, "attribute '%s' is of another kind than ONNX says", kinds[i].name);
	}
}

bool ml_expand(struct contrib *x)
{
	const struct node *n = self(x);

	if (n->nout < 1 || !n->nin || !n->in[0] || (n->nout == 1 && !n->out[0]))
		return false;
	check_kinds(x);
	for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
		if (!strcmp(operators[i].name, sym_str(n->optype)))
			return operators[i].expand(x);
	return false;
}
