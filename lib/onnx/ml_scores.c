/* Operators of ai.onnx.ml: attributes as tables, scores and labels of classes. */
#include <math.h>
#include <string.h>
#include "onnx/ml.h"
#include "op/strings.h"

val_id ml_table(struct contrib *x, const char *name, int rank, const int64_t *dims)
{
	int n;
	const float *f = attr_floats(self(x), name, &n);
	int64_t want = rank ? dims[0] * (rank > 1 ? dims[1] : 1) : 1;

	if (n != want)
		import_die(x->c, "attribute '%s' has %d numbers, not %lld", name, n, (long long)want);
	return const_copy(x->m, 0, DT_F32, rank, dims, f, (size_t)n * sizeof *f);
}

int ml_count(struct contrib *x, const char *name)
{
	const struct attr *a = attr_find(self(x), name);

	return !a ? 0 : a->kind == ATTR_INTS || a->kind == ATTR_FLOATS || a->kind == ATTR_STRS ? (int)a->n : 1;
}

val_id ml_floats(struct contrib *x, uint32_t i) { return contrib_cast(x, operand(x, i), DT_F32); }

val_id ml_rows(struct contrib *x, int64_t n)
{
	val_id v = ml_floats(x, 0);
	int64_t have;

	if (contrib_rank(x, v) == 2 && contrib_extent(x, v, 1, &have) && have == n)
		return v;
	return contrib_reshaped(x, v, 2, (int64_t[]){-1, n});
}

/* ---- scores ---- */

static val_id softmax_zero(struct contrib *x, val_id v)
{
	val_id axes = ml_axis(x, -1), most = bin(x, OP_ReduceMax, v, axes), e, s, zero;

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

val_id ml_transformed(struct contrib *x, val_id v, const char *transform)
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

const char *ml_transform(struct contrib *x) { return attr_str(self(x), "post_transform", "NONE"); }

static sym word_of(struct contrib *x, const char *name, int i) { return attr_find(self(x), name)->u.strs[i]; }

val_id ml_words(struct contrib *x, const char *name, int n)
{
	struct text *v = ARENA_ARRAY(&x->m->arena, struct text, n);
	int64_t dims = n;

	for (int i = 0; i < n; i++) {
		sym w = word_of(x, name, i);
		v[i] = (struct text){sym_str(w), sym_len(w)};
	}
	return const_tensor(x->m, 0, texts_tensor(&x->m->arena, 1, &dims, v));
}

/* Labels in the order of classes: i64, or strings. */
static val_id labels(struct contrib *x, const char *name, int64_t n)
{
	int k;
	const int64_t *v = attr_ints(self(x), name, &k);

	if (ml_count(x, "classlabels_strings") == n)
		return ml_words(x, "classlabels_strings", (int)n);
	if (k != n)
		import_die(x->c, "there are not %lld labels for as many scores", (long long)n);
	return contrib_ints(x, k, v);
}

void ml_put_label(struct contrib *x, val_id best, int64_t n, const char *name)
{
	if (wants(x, 0))
		result_is(x, 0, bin(x, OP_Gather, labels(x, name, n), best));
}

bool ml_put_scores(struct contrib *x, val_id v) { return !wants(x, 1) || result_is(x, 1, un(x, OP_Identity, v)); }

val_id ml_best(struct contrib *x, val_id scores)
{
	val_id best = un(x, OP_ArgMax, scores);

	attr_set_int(x->m, made(x, best), "axis", 1);
	attr_set_int(x->m, made(x, best), "keepdims", 0);
	return best;
}

val_id ml_second(struct contrib *x, val_id s, double than)
{
	return contrib_reshaped(x, contrib_cast(x, bin(x, OP_Greater, s, contrib_scalar(x, contrib_type(x, s)->dtype, than)), DT_I64), 1,
				(int64_t[]){-1});
}

val_id ml_two_classes(struct contrib *x, val_id s, const char *transform, bool negative)
{
	val_id other = negative || strcmp(transform, "NONE") ? un(x, OP_Neg, s) : bin(x, OP_Sub, contrib_number(x, 1), s), y;

	y = bin(x, OP_Concat, other, s);
	attr_set_int(x->m, made(x, y), "axis", 1);
	return ml_transformed(x, y, transform);
}
