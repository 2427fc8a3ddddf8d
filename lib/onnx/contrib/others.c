/* Operators of com.microsoft that ONNX has under the same name or as a few of its own. */
#include <math.h>
#include <string.h>
#include "onnx/contrib/rows.h"
#include "op/regex.h"

/* v without its axes, of which each has the extent 1. */
static val_id scalar(struct contrib *x, val_id v) { return contrib_reshaped(x, v, 0, (int64_t[1]){0}); }

/* ---- the same name ---- */

static bool expand_dims(struct contrib *x)
{
	return done(x, bin(x, OP_Unsqueeze, operand(x, 0), contrib_reshaped(x, contrib_cast(x, operand(x, 1), DT_I64), 1, (int64_t[]){1})));
}

static bool gather_nd(struct contrib *x) { return done(x, bin(x, OP_GatherND, operand(x, 0), contrib_cast(x, operand(x, 1), DT_I64))); }

static bool grid_sample(struct contrib *x)
{
	const char *mode = attr_str(self(x), "mode", "bilinear");
	val_id v = bin(x, OP_GridSample, operand(x, 0), operand(x, 1));

	keep(x, v, "align_corners");
	keep(x, v, "padding_mode");
	attr_set_str(x->m, made(x, v), "mode", !strcmp(mode, "bilinear") ? "linear" : !strcmp(mode, "bicubic") ? "cubic" : mode);
	return done(x, v);
}

static bool pad(struct contrib *x)
{
	val_id v = tri(x, OP_Pad, operand(x, 0), contrib_reshaped(x, operand(x, 1), 1, (int64_t[]){-1}),
		       operand(x, 2) ? scalar(x, operand(x, 2)) : 0);

	keep(x, v, "mode");
	return done(x, v);
}

static bool range(struct contrib *x)
{
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;

	return t && done(x, tri(x, OP_Range, scalar(x, operand(x, 0)), scalar(x, operand(x, 1)),
				operand(x, 2) ? scalar(x, operand(x, 2)) : contrib_scalar(x, t, 1)));
}

static bool trilu(struct contrib *x)
{
	val_id v = bin(x, OP_Trilu, operand(x, 0), operand(x, 1));

	keep(x, v, "upper");
	return done(x, v);
}

static bool embedding(struct contrib *x) { return done(x, bin(x, OP_Gather, operand(x, 0), operand(x, 1))); }

/* In the order in which they come. */
static bool unique(struct contrib *x)
{
	node_id id = node_new(x->m, self(x)->graph, OP_Unique, 1, (val_id[]){operand(x, 0)}, 4);
	const val_id *out = node(x->m, id)->out;
	val_id y = out[0], inverse = out[2], counts = out[3];

	attr_set_int(x->m, id, "sorted", 0);
	also(x, 1, inverse);
	also(x, 2, counts);
	return done(x, y);
}

/* ---- integers ---- */

static val_id less(struct contrib *x, uint32_t i, uint32_t zero)
{
	val_id v = contrib_cast(x, operand(x, i), DT_I32);

	return operand(x, zero) ? bin(x, OP_Sub, v, contrib_cast(x, operand(x, zero), DT_I32)) : v;
}

static bool mul_integer(struct contrib *x) { return operand(x, 2) && done(x, bin(x, OP_Mul, less(x, 0, 1), less(x, 2, 3))); }

/* v reduced over attribute `axes`. */
static val_id reduced(struct contrib *x, enum opcode op, val_id v)
{
	int n;
	const int64_t *axes = attr_ints(self(x), "axes", &n);

	v = bin(x, op, v, axes && n ? contrib_ints(x, n, axes) : 0);
	return with_int(x, v, "keepdims", attr_int(self(x), "keepdims", 1));
}

static bool reduce_sum_integer(struct contrib *x) { return done(x, reduced(x, OP_ReduceSum, contrib_cast(x, operand(x, 0), DT_I32))); }

static bool reduce_mean_codes(struct contrib *x)
{
	val_id v;

	if (!operand(x, 3))
		return false;
	v = tri(x, OP_DequantizeLinear, operand(x, 0), operand(x, 1), operand(x, 2));
	v = tri(x, OP_QuantizeLinear, reduced(x, OP_ReduceMean, v), operand(x, 3), operand(x, 4));
	return done(x, v);
}

/* ---- few operators ---- */

static bool hash(struct contrib *x)
{
	val_id v = un(x, OP_MurmurHash3, operand(x, 0));

	keep(x, v, "positive");
	keep(x, v, "seed");
	return done(x, v);
}

static bool inverse(struct contrib *x) { return done(x, un(x, OP_Inverse, operand(x, 0))); }

/* Distances of the rows of one matrix to those of another. */
static bool distances(struct contrib *x)
{
	const char *metric = attr_str(self(x), "metric", "sqeuclidean");
	bool root = !strcmp(metric, "euclidean");
	val_id v;

	if (!root && strcmp(metric, "sqeuclidean"))
		return false;
	v = bin(x, OP_Sub, bin(x, OP_Unsqueeze, operand(x, 0), contrib_ints(x, 1, (int64_t[]){1})),
		bin(x, OP_Unsqueeze, operand(x, 1), contrib_ints(x, 1, (int64_t[]){0})));
	v = bin(x, OP_ReduceSumSquare, v, contrib_ints(x, 1, (int64_t[]){2}));
	with_int(x, v, "keepdims", 0);
	return done(x, root ? un(x, OP_Sqrt, v) : v);
}

static bool all_finite(struct contrib *x)
{
	bool nan_only = attr_int(self(x), "isnan_only", 0), inf_only = attr_int(self(x), "isinf_only", 0);
	val_id any = 0, v;

	for (uint32_t i = 0; i < self(x)->nin; i++) {
		val_id nan = inf_only ? 0 : un(x, OP_IsNaN, operand(x, i)), inf = nan_only ? 0 : un(x, OP_IsInf, operand(x, i));
		v = nan && inf ? bin(x, OP_Or, nan, inf) : nan ? nan : inf;
		if (!v)
			return false;
		v = with_int(x, un(x, OP_ReduceMax, contrib_cast(x, v, DT_I32)), "keepdims", 0);
		any = any ? bin(x, OP_Max, any, v) : v;
	}
	return done(x, un(x, OP_Not, contrib_cast(x, any, DT_BOOL)));
}

static bool scaled_silu(struct contrib *x)
{
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	val_id s;

	if (!dtype_is_float(t))
		return false;
	s = operand(x, 1) ? contrib_cast(x, scalar(x, operand(x, 1)), t) : contrib_scalar(x, t, attr_float(self(x), "alpha", 1));
	s = bin(x, OP_Mul, operand(x, 0), s);
	return done(x, bin(x, OP_Mul, s, un(x, OP_Sigmoid, s)));
}

static bool swiglu(struct contrib *x)
{
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	double limit = attr_float(self(x), "limit", 0), beta = attr_float(self(x), "activation_beta", 0);
	val_id gate = operand(x, 0), up = operand(x, 1);

	if (!dtype_is_float(t))
		return false;
	if (!up) {
		const val_id *half = contrib_split(x, gate, -1, 2, NULL);
		gate = half[0];
		up = half[1];
	}
	if (limit > 0) {
		gate = tri(x, OP_Clip, gate, 0, contrib_scalar(x, t, limit));
		up = tri(x, OP_Clip, up, contrib_scalar(x, t, -limit), contrib_scalar(x, t, limit));
	}
	gate = with_float(x, un(x, OP_Swish, gate), "alpha", attr_float(self(x), "activation_alpha", 1));
	return done(x, bin(x, OP_Mul, gate, beta != 0 ? bin(x, OP_Add, up, contrib_scalar(x, t, beta)) : up));
}

/* Words that would make a run of n words that was there before get the score -infinity. */
static bool block_repeats(struct contrib *x)
{
	int64_t n = attr_int(self(x), "ngram_size", 0);
	val_id ids = operand(x, 0), length, runs, same = 0, v;
	enum dtype t = contrib_type(x, operand(x, 1))->dtype;

	if (n < 1)
		import_die(x->c, "ngram_size is %lld", (long long)n);
	if (n > 64 || !dtype_is_float(t))
		return false;
	length = contrib_size(x, ids, 1);
	runs = bin(x, OP_Max, bin(x, OP_Sub, length, contrib_ints(x, 1, (int64_t[]){n - 1})), contrib_ints(x, 1, (int64_t[]){0}));
	for (int64_t k = 0; k + 1 < n; k++) {
		val_id at = contrib_ints(x, 1, &k), last = bin(x, OP_Add, runs, at), one = contrib_ints(x, 1, (int64_t[]){1});
		v = bin(x, OP_Equal, contrib_part(x, ids, 1, at, last), contrib_part(x, ids, 1, last, bin(x, OP_Add, last, one)));
		same = same ? bin(x, OP_And, same, v) : v;
	}
	ids = contrib_part(x, ids, 1, contrib_ints(x, 1, (int64_t[]){n - 1}), length);
	if (same)
		v = tri(x, OP_Where, same, contrib_scalar(x, t, -INFINITY), contrib_scalar(x, t, INFINITY));
	else
		v = contrib_filled_like(x, ids, t, -INFINITY);
	v = tri(x, OP_ScatterElements, operand(x, 1), ids, v);
	with_int(x, v, "axis", 1);
	attr_set_str(x->m, made(x, v), "reduction", "min");
	return done(x, v);
}

/* ---- positions ---- */

static val_id whole(struct contrib *x, int64_t n) { return contrib_scalar(x, DT_I64, (double)n); }

/* T5's buckets: near distances have one each, far ones share them by their logarithm. */
static val_id bucket(struct contrib *x, val_id distance, int64_t buckets, int64_t far)
{
	int64_t exact = buckets / 2;
	val_id v = contrib_cast(x, bin(x, OP_Max, distance, whole(x, 1)), DT_F32);

	v = un(x, OP_Log, bin(x, OP_Div, v, contrib_number(x, (double)exact)));
	v = bin(x, OP_Div, v, contrib_number(x, log((double)far / (double)exact)));
	v = contrib_cast(x, bin(x, OP_Mul, v, contrib_number(x, (double)(buckets - exact))), DT_I64);
	v = bin(x, OP_Min, bin(x, OP_Add, v, whole(x, exact)), whole(x, buckets - 1));
	return tri(x, OP_Where, bin(x, OP_Less, distance, whole(x, exact)), distance, v);
}

static bool relative_positions(struct contrib *x)
{
	int64_t buckets, far = attr_int(self(x), "max_distance", 0);
	bool both = attr_int(self(x), "is_bidirectional", 0);
	val_id d, v, first = contrib_ints(x, 1, (int64_t[]){0}), in[2];

	if (!contrib_fixed(x, 0, 0, &buckets))
		return false;
	int64_t half = both ? buckets / 2 : buckets;
	if (half < 2 || far <= half / 2)
		import_die(x->c, "%lld buckets, max_distance %lld", (long long)buckets, (long long)far);
	for (uint32_t i = 0; i < 2; i++)
		in[i] = contrib_arange(x, contrib_reshaped(x, operand(x, 1 + i), 1, (int64_t[]){1}), DT_I64);
	d = bin(x, OP_Sub, in[1], bin(x, OP_Unsqueeze, in[0], contrib_ints(x, 1, (int64_t[]){1})));
	if (both) {
		v = tri(x, OP_Where, bin(x, OP_Greater, d, whole(x, 0)), whole(x, half), whole(x, 0));
		v = bin(x, OP_Add, v, bucket(x, un(x, OP_Abs, d), half, far));
	} else {
		v = bucket(x, bin(x, OP_Max, un(x, OP_Neg, d), whole(x, 0)), half, far);
	}
	v = contrib_transposed(x, bin(x, OP_Gather, operand(x, 0), v), 3, (int64_t[]){2, 0, 1});
	return done(x, bin(x, OP_Unsqueeze, v, first));
}

static bool gated_positions(struct contrib *x)
{
	int64_t heads = attr_int(self(x), "num_heads", 0);
	enum dtype t = contrib_type(x, operand(x, 0))->dtype;
	const val_id *gate;
	val_id v;

	if (heads < 1)
		import_die(x->c, "num_heads is %lld", (long long)heads);
	if (operand(x, 6) || contrib_rank(x, operand(x, 0)) != 3 || !dtype_is_float(t))
		return false;
	v = contrib_heads(x, bin(x, OP_Add, operand(x, 0), operand(x, 1)), heads);
	v = bin(x, OP_Add, bin(x, OP_MatMul, v, operand(x, 3)), operand(x, 4));
	v = contrib_reshaped(x, v, 5, (int64_t[]){0, 0, 0, 2, -1});
	v = with_int(x, bin(x, OP_ReduceSum, v, contrib_ints(x, 1, (int64_t[]){-1})), "keepdims", 0);
	gate = contrib_split(x, un(x, OP_Sigmoid, v), -1, 2, NULL);
	val_id u = gate[0], r = gate[1];
	v = bin(x, OP_Sub, bin(x, OP_Mul, r, operand(x, 5)), contrib_scalar(x, t, 1));
	v = bin(x, OP_Add, bin(x, OP_Mul, u, v), contrib_scalar(x, t, 2));
	return done(x, bin(x, OP_Mul, v, operand(x, 2)));
}

/* ---- Tokenizer ---- */

/* Appends the tables of the automaton of an expression to the operands. empty: it may match an empty string. */
static void automaton(struct contrib *x, val_id *in, int *n, const char *what, const char *s, size_t size, bool empty)
{
	struct arena *a = &x->m->arena;
	struct regex_table t;
	const char *why = NULL;
	struct regex *r = regex_compile(s, size, a, &why);

	if (!r)
		import_unsupported(x->c, "%s: %s", what, why);
	if (!regex_table(r, a, &t))
		import_unsupported(x->c, "%s has too many states", what);
	for (int64_t i = 0; i < (REGEX_OTHER + 1) * (t.classes + 1) && !empty; i++)
		if (t.next[i] & 1)
			import_unsupported(x->c, "%s: it matches an empty string", what);
	in[(*n)++] = const_new(x->m, 0, DT_I32, 1, &t.classes, t.first, (size_t)t.classes * sizeof *t.first);
	in[(*n)++] = const_new(x->m, 0, DT_I32, 2, (int64_t[]){t.states, t.classes + 1}, t.next,
			       (size_t)(t.states * (t.classes + 1)) * sizeof *t.next);
}

/* One empty separator, and the expression ".", stand for all single characters. */
static bool tokenizer(struct contrib *x)
{
	const struct attr *by = attr_find(self(x), "separators"), *expression = attr_find(self(x), "tokenexp"),
			  *pad = attr_find(self(x), "pad_value");
	bool cut = by && by->kind == ATTR_STRS && by->n, single = cut ? by->n == 1 && !sym_len(by->u.strs[0]) : false;
	int64_t least = attr_int(self(x), "mincharnum", 1);
	val_id *in = ARENA_ARRAY(&x->m->arena, val_id, 3 + (cut ? 2 * by->n : 0)), y;
	int n = 1;

	single |= !cut && expression && expression->kind == ATTR_STR && expression->n == 1 && *expression->u.s == '.';
	if (least < 1 || (by && !cut) || (!by && (!expression || expression->kind != ATTR_STR || !pad || pad->kind != ATTR_STR)))
		return false;
	if (pad && pad->kind == ATTR_STR && memchr(pad->u.s, 0, pad->n))
		import_unsupported(x->c, "attribute 'pad_value' has a NUL within, which is not supported");
	in[0] = operand(x, 0);
	if (single)
		automaton(x, in, &n, "tokenexp", "(?s:.)", 6, true);
	else if (!cut)
		automaton(x, in, &n, "tokenexp", expression->u.s, expression->n, true);
	for (uint32_t i = 0; cut && !single && i < by->n; i++)
		automaton(x, in, &n, arena_printf(&x->m->arena, "separator %u", i), sym_str(by->u.strs[i]), sym_len(by->u.strs[i]), false);
	y = make(x, OP_Tokenize, n, in);
	attr_set_str(x->m, made(x, y), "pad", attr_str(self(x), "pad_value", ""));
	with_int(x, y, "mark", attr_int(self(x), "mark", 0) != 0);
	if (cut && !single)
		with_int(x, y, "separators", 1);
	return done(x, with_int(x, y, "least", single ? 1 : least));
}

const struct contrib_row contrib_others[] = {
	{"CDist", 2, distances},
	{"ExpandDims", 2, expand_dims},
	{"GatedRelativePositionBias", 6, gated_positions},
	{"GatherND", 2, gather_nd},
	{"GridSample", 2, grid_sample},
	{"Inverse", 1, inverse},
	{"IsAllFinite", 1, all_finite},
	{"MulInteger", 1, mul_integer},
	{"MurmurHash3", 1, hash},
	{"NGramRepeatBlock", 2, block_repeats},
	{"Pad", 2, pad},
	{"QLinearReduceMean", 2, reduce_mean_codes},
	{"Range", 2, range},
	{"ReduceSumInteger", 1, reduce_sum_integer},
	{"RelativePositionBias", 3, relative_positions},
	{"ScaledSiLU", 1, scaled_silu},
	{"SwiGLU", 1, swiglu},
	{"Tokenizer", 1, tokenizer},
	{"TorchEmbedding", 2, embedding},
	{"Trilu", 1, trilu},
	{"Unique", 1, unique},
	{0},
};
