/* Operators of the domain ai.onnx.ml in ONNX's words: linear models, scalers, encoders. Where ONNX's text is silent, they do what
 * ONNX Runtime does. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "native/native.h"
#include "onnx/ml.h"
#include "op/strings.h"

/* ---- linear models ---- */

/* Rows times coefficients [n, C] and intercepts. Coefficients beyond those of the columns that rows have are not read. */
static val_id linear(struct contrib *x, int64_t n)
{
	int64_t all = ml_count(x, "coefficients"), c = n > 0 ? all / n : 0, columns = c;
	val_id in[3] = {0}, y;
	int given;

	if (c < 1 || c * n != all)
		import_die(x->c, "%lld coefficients for %lld results", (long long)all, (long long)n);
	if (contrib_rank(x, operand(x, 0)) == 2 && contrib_extent(x, operand(x, 0), 1, &columns) && columns > c)
		import_die(x->c, "%lld coefficients for %lld results of %lld columns", (long long)all, (long long)n, (long long)columns);
	c = columns < 1 ? c : columns;
	in[0] = ml_rows(x, c);
	in[1] = const_copy(x->m, 0, DT_F32, 2, (int64_t[]){n, c}, attr_floats(self(x), "coefficients", &given),
			   (size_t)(n * c) * sizeof(float));
	if (ml_count(x, "intercepts"))
		in[2] = ml_table(x, "intercepts", 1, &n);
	y = make(x, OP_Gemm, 3, in);
	attr_set_int(x->m, made(x, y), "transB", 1);
	return y;
}

static bool linear_regressor(struct contrib *x)
{
	return done(x, ml_transformed(x, linear(x, attr_int(self(x), "targets", 1)), ml_transform(x)));
}

/* How many rows of coefficients there are. */
static int64_t linear_rows(struct contrib *x, int64_t nlabels)
{
	int64_t n = ml_count(x, "intercepts"), c;

	if (n)
		return n;
	return contrib_extent(x, operand(x, 0), 1, &c) && c > 0 ? ml_count(x, "coefficients") / c : nlabels;
}

static bool linear_classifier(struct contrib *x)
{
	int64_t nlabels = ml_count(x, "classlabels_ints") + ml_count(x, "classlabels_strings"), n = linear_rows(x, nlabels);
	bool two = n == 1 && nlabels == 2;
	const char *transform = ml_transform(x);
	val_id s, best, out;

	if (nlabels != n && !two)
		return false;
	s = linear(x, n);
	if (two)
		best = ml_second(x, s, 0);
	else
		best = ml_best(x, s);
	out = two ? ml_two_classes(x, s, transform, false) : ml_transformed(x, s, transform);
	ml_put_label(x, best, nlabels, "classlabels_ints");
	return ml_put_scores(x, out);
}

/* ---- features ---- */

static bool scaler(struct contrib *x)
{
	val_id y = ml_floats(x, 0);
	int64_t n;

	if ((n = ml_count(x, "offset")))
		y = bin(x, OP_Sub, y, ml_table(x, "offset", 1, &n));
	if ((n = ml_count(x, "scale")))
		y = bin(x, OP_Mul, y, ml_table(x, "scale", 1, &n));
	return done(x, y == operand(x, 0) || !made(x, y) ? un(x, OP_Identity, y) : y);
}

/* L1 and L2 take lengths, as scikit-learn and all runtimes do; ONNX's text forgets the signs. */
static bool normalizer(struct contrib *x)
{
	val_id v = ml_floats(x, 0), axes = ml_axis(x, -1), d;
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
	bool whole = ml_count(x, "imputed_value_int64s") > 0;
	float old = attr_float(self(x), "replaced_value_float", 0);
	int64_t replaced = attr_int(self(x), "replaced_value_int64", 0), n;
	val_id v = operand(x, 0), values, is;
	int k;
	const int64_t *list = attr_ints(self(x), "imputed_value_int64s", &k);

	n = ml_count(x, whole ? "imputed_value_int64s" : "imputed_value_floats");
	if (!n)
		import_die(x->c, "there are no imputed values");
	values = whole ? contrib_ints(x, k, list) : ml_table(x, "imputed_value_floats", 1, &n);
	if (!whole && old != old)
		is = un(x, OP_IsNaN, v);
	else
		is = bin(x, OP_Equal, v, like(x, whole ? ml_axis(x, replaced) : contrib_number(x, old), v));
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
	return bin(x, OP_Equal, bin(x, OP_Unsqueeze, v, ml_axis(x, -1)), like(x, keys, v));
}

static int64_t sort_keys(struct contrib *x, struct tensor *keys, int64_t *place);
static val_id at_places(struct contrib *x, struct tensor *t, int64_t n, const int64_t *place);

/* Words of v against the n categories: a word becomes its place among the sorted ones, and places are compared. */
static val_id word_matches(struct contrib *x, val_id v, int n)
{
	struct tensor *words = val(x->m, ml_words(x, "cats_strings", n))->tensor;
	struct text *all = texts_of(&x->m->arena, words);
	int64_t *place = ARENA_ARRAY(&x->m->arena, int64_t, n + 1), *of = ARENA_ARRAY(&x->m->arena, int64_t, n + 1);
	int64_t count = sort_keys(x, words, place);

	for (int64_t i = 0; i < n; i++) {
		int64_t lo = 0, hi = count - 1;
		while (lo < hi) {
			int64_t middle = lo + (hi - lo) / 2;
			if (text_compare(&all[place[middle]], &all[i]) < 0)
				lo = middle + 1;
			else
				hi = middle;
		}
		of[i] = lo;
	}
	return matches(x, bin(x, OP_Find, v, at_places(x, words, count, place)), contrib_ints(x, n, of));
}

/* y, where all along the last axis of `is` are false an error. */
static val_id demanded(struct contrib *x, val_id y, val_id is)
{
	val_id any = bin(x, OP_ReduceMax, contrib_cast(x, is, DT_I32), ml_axis(x, -1)), d;

	d = bin(x, OP_Demand, y, contrib_cast(x, any, DT_BOOL));
	attr_set_str(x->m, made(x, d), "why", "an element is none of the categories");
	return d;
}

static bool one_hot_encoder(struct contrib *x)
{
	int n = ml_count(x, "cats_strings"), k;
	const int64_t *cats = attr_ints(self(x), "cats_int64s", &k);
	val_id v = operand(x, 0), is, y;

	if (!n && !k)
		import_die(x->c, "there are no categories");
	is = n ? word_matches(x, v, n) : matches(x, contrib_cast(x, v, DT_I64), contrib_ints(x, k, cats));
	y = contrib_cast(x, is, DT_F32);
	return done(x, attr_int(self(x), "zeros", 1) ? y : demanded(x, y, is));
}

/* Operand i as f32 [N, n]: cut, or with zeros behind. */
static val_id vector_part(struct contrib *x, uint32_t i, int64_t n)
{
	val_id v = ml_floats(x, i);
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

/* no_maps: the scores stay a tensor, with the classes in the order of the attribute. */
static bool zip_map(struct contrib *x)
{
	val_id scores = operand(x, 0), y;

	if (x->c->opts.no_maps)
		return done(x, un(x, OP_Identity, scores));
	y = un(x, OP_ZipMap, contrib_type(x, scores)->dtype == DT_F64 ? contrib_cast(x, scores, DT_F32) : scores);
	for (uint32_t i = 0; i < self(x)->nattr; i++)
		attr_set(x->m, made(x, y), self(x)->attr[i]);
	if (!zip_keys(node(x->m, made(x, y))))
		import_die(x->c, "keys are either 'classlabels_int64s' or 'classlabels_strings'");
	return done(x, y);
}

/* ---- LabelEncoder ---- */

static struct tensor *list_tensor(struct contrib *x, const char *kind)
{
	const struct attr *a;
	struct arena *m = &x->m->arena;
	int64_t n;

	if ((a = attr_find(self(x), arena_printf(m, "%s_tensor", kind))))
		return a->kind == ATTR_TENSOR ? a->u.tensor : NULL;
	if ((n = ml_count(x, arena_printf(m, "%s_floats", kind)))) {
		struct tensor *t = tensor_new(m, DT_F32, 1, &n);
		memcpy((void *)t->data, attr_find(self(x), arena_printf(m, "%s_floats", kind))->u.floats, t->nbytes);
		return t;
	}
	if ((n = ml_count(x, arena_printf(m, "%s_int64s", kind)))) {
		struct tensor *t = tensor_new(m, DT_I64, 1, &n);
		memcpy((void *)t->data, attr_find(self(x), arena_printf(m, "%s_int64s", kind))->u.ints, t->nbytes);
		return t;
	}
	if ((n = ml_count(x, arena_printf(m, "%s_strings", kind))))
		return val(x->m, ml_words(x, arena_printf(m, "%s_strings", kind), (int)n))->tensor;
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

/* A list of keys by the order of their elements, and of equal ones by their place. */
struct keys {
	struct tensor *t;
	struct text *word; /* of strings */
};

static int key_order(const struct keys *k, int64_t a, int64_t b)
{
	if (k->word)
		return text_compare(&k->word[a], &k->word[b]);
	int64_t x = native_order((int)k->t->dtype, k->t->data, a), y = native_order((int)k->t->dtype, k->t->data, b);
	return (x > y) - (x < y);
}

static int by_key(const void *x, const void *y, void *keys)
{
	int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
	int order = key_order(keys, a, b);

	return order ? order : (a > b) - (a < b);
}

/* The places of the keys in ascending order; of equal ones the last, which holds. Returns how many. */
static int64_t sort_keys(struct contrib *x, struct tensor *keys, int64_t *place)
{
	struct keys k = {keys, keys->dtype == DT_STR ? texts_of(&x->m->arena, keys) : NULL};
	int64_t n = tensor_count(keys), count = 0;

	for (int64_t i = 0; i < n; i++)
		place[i] = i;
	qsort_r(place, (size_t)n, sizeof *place, by_key, &k);
	for (int64_t i = 0; i < n; i++)
		if (i + 1 == n || key_order(&k, place[i], place[i + 1]))
			place[count++] = place[i];
	return count;
}

/* The elements at these places, as a list. */
static val_id at_places(struct contrib *x, struct tensor *t, int64_t n, const int64_t *place)
{
	struct arena *a = &x->m->arena;
	size_t size = dtype_size(t->dtype);
	const char *from = tensor_data(x->m, t);

	if (t->dtype == DT_STR) {
		struct text *all = texts_of(a, t), *some = ARENA_ARRAY(a, struct text, n + 1);
		for (int64_t i = 0; i < n; i++)
			some[i] = all[place[i]];
		return const_tensor(x->m, 0, texts_tensor(a, 1, &n, some));
	}
	struct tensor *some = tensor_new(a, t->dtype, 1, &n);
	for (int64_t i = 0; i < n; i++)
		memcpy((char *)some->data + (size_t)i * size, from + (size_t)place[i] * size, size);
	return const_tensor(x->m, 0, some);
}

/* The value after each key; of equal keys the last one holds. */
static bool put_mapped(struct contrib *x, struct tensor *keys, struct tensor *values)
{
	val_id v = operand(x, 0), all, at;
	int64_t n = tensor_count(keys), *place = ARENA_ARRAY(&x->m->arena, int64_t, n + 1);

	if (n != tensor_count(values) || !n)
		import_die(x->c, "%lld keys for %lld values", (long long)n, (long long)tensor_count(values));
	tensor_data(x->m, keys);
	n = sort_keys(x, keys, place);
	at = bin(x, OP_Find, v, like(x, at_places(x, keys, n, place), v));
	all = bin(x, OP_Concat, at_places(x, values, n, place),
		  bin(x, OP_Reshape, otherwise(x, values->dtype), contrib_ints(x, 1, &(int64_t){1})));
	attr_set_int(x->m, made(x, all), "axis", 0);
	return done(x, bin(x, OP_Gather, all, at));
}

/* Strings and their numbers, whichever the operand is: words are named by one attribute, numbers by another, or count from 0. */
static bool put_category(struct contrib *x, const char *words, const char *numbers)
{
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	int k, n = ml_count(x, words);
	const int64_t *given = attr_ints(self(x), numbers, &k);
	int64_t dims = n;
	struct tensor *number = tensor_new(&x->m->arena, DT_I64, 1, &dims), *word;

	if (!n || (t != DT_STR && t != DT_I64))
		return false;
	if (given && k != n)
		import_die(x->c, "%d numbers for %d strings", k, n);
	for (int i = 0; i < n; i++)
		((int64_t *)number->data)[i] = given ? given[i] : i;
	word = val(x->m, ml_words(x, words, n))->tensor;
	return t == DT_STR ? put_mapped(x, word, number) : put_mapped(x, number, word);
}

static bool label_encoder(struct contrib *x)
{
	struct tensor *keys = list_tensor(x, "keys"), *values = list_tensor(x, "values");

	return keys && values ? put_mapped(x, keys, values) : put_category(x, "classes_strings", "");
}

static bool category_mapper(struct contrib *x) { return put_category(x, "cats_strings", "cats_int64s"); }

static const struct {
	const char *name;
	bool (*expand)(struct contrib *x);
} operators[] = {
	{"ArrayFeatureExtractor", array_feature_extractor},
	{"Binarizer", binarizer},
	{"CategoryMapper", category_mapper},
	{"FeatureVectorizer", feature_vectorizer},
	{"Imputer", imputer},
	{"LabelEncoder", label_encoder},
	{"LinearClassifier", linear_classifier},
	{"LinearRegressor", linear_regressor},
	{"Normalizer", normalizer},
	{"OneHotEncoder", one_hot_encoder},
	{"SVMClassifier", ml_svm_classifier},
	{"SVMRegressor", ml_svm_regressor},
	{"Scaler", scaler},
	{"TreeEnsemble", ml_tree_ensemble},
	{"TreeEnsembleClassifier", ml_tree_classifier},
	{"TreeEnsembleRegressor", ml_tree_regressor},
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
		{"prob_a", ATTR_FLOATS},
		{"prob_b", ATTR_FLOATS},
		{"vectors_per_class", ATTR_INTS},
		{"classlabels_int64s", ATTR_INTS},
		{"kernel_params", ATTR_FLOATS},
		{"support_vectors", ATTR_FLOATS},
		{"cats_strings", ATTR_STRS},
		{"cats_int64s", ATTR_INTS},
		{"classes_strings", ATTR_STRS},
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
