/* Attributes in task texts: those that differ from what the operator takes without them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/half.h"
#include "common/msg.h"
#include "op/rules.h"
#include "op/task_impl.h"

enum { TENSOR_MAX = 64 }; /* elements of an attribute that is a tensor */

/* ---- defaults ---- */

/* As this file writes them. Lists of zeros or ones where windows have them, and attributes that repeat what operands
 * say, are in repeats_operands. */
static const char *const defaults[OP_COUNT] = {
	[OP_ArgMax] = "axis=0 keepdims=1 select_last_index=0",
	[OP_ArgMin] = "axis=0 keepdims=1 select_last_index=0",
	[OP_AveragePool] = "auto_pad=NOTSET ceil_mode=0 count_include_pad=0",
	[OP_BatchNormalization] = "epsilon=1e-05 momentum=0.9 training_mode=0",
	[OP_Celu] = "alpha=1",
	[OP_Conv] = "auto_pad=NOTSET group=1",
	[OP_ConvInteger] = "auto_pad=NOTSET group=1",
	[OP_ConvTranspose] = "auto_pad=NOTSET group=1",
	[OP_CumProd] = "exclusive=0 reverse=0",
	[OP_CumSum] = "exclusive=0 reverse=0",
	[OP_DepthToSpace] = "mode=DCR",
	[OP_DequantizeLinear] = "axis=1 block_size=0 output_dtype=0",
	[OP_Elu] = "alpha=1",
	[OP_Flatten] = "axis=1",
	[OP_Gather] = "axis=0",
	[OP_GatherElements] = "axis=0",
	[OP_GatherND] = "batch_dims=0",
	[OP_Gelu] = "approximate=none",
	[OP_Gemm] = "alpha=1 beta=1 transA=0 transB=0",
	[OP_GlobalLpPool] = "p=2",
	[OP_GroupNormalization] = "epsilon=1e-05 stash_type=1",
	[OP_HardSigmoid] = "alpha=0.2 beta=0.5",
	[OP_Hardmax] = "axis=-1",
	[OP_InstanceNormalization] = "epsilon=1e-05",
	[OP_LRN] = "alpha=0.0001 beta=0.75 bias=1",
	[OP_LayerNormalization] = "axis=-1 epsilon=1e-05 stash_type=1",
	[OP_LeakyRelu] = "alpha=0.01",
	[OP_LogSoftmax] = "axis=-1",
	[OP_LpNormalization] = "axis=-1 p=2",
	[OP_LpPool] = "auto_pad=NOTSET ceil_mode=0 p=2",
	[OP_MaxPool] = "auto_pad=NOTSET ceil_mode=0 storage_order=0",
	[OP_MeanVarianceNormalization] = "axes=0,2,3",
	[OP_Mod] = "fmod=0",
	[OP_OneHot] = "axis=-1",
	[OP_Pad] = "mode=constant",
	[OP_QLinearConv] = "auto_pad=NOTSET group=1",
	[OP_QuantizeLinear] = "axis=1 block_size=0 output_dtype=0 precision=0 saturate=1",
	[OP_RMSNormalization] = "axis=-1 epsilon=1e-05 stash_type=1",
	[OP_ReduceL1] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceL2] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceLogSum] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceLogSumExp] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceMax] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceMean] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceMin] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceProd] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceSum] = "keepdims=1 noop_with_empty_axes=0",
	[OP_ReduceSumSquare] = "keepdims=1 noop_with_empty_axes=0",
	[OP_Reshape] = "allowzero=0",
	[OP_Resize] =
		"antialias=0 coordinate_transformation_mode=half_pixel cubic_coeff_a=-0.75 exclude_outside=0 "
		"extrapolation_value=0 keep_aspect_ratio_policy=stretch mode=nearest nearest_mode=round_prefer_floor",
	[OP_ReverseSequence] = "batch_axis=1 time_axis=0",
	[OP_ScatterElements] = "axis=0 reduction=none",
	[OP_ScatterND] = "reduction=none",
	[OP_Selu] = "alpha=1.6732632 gamma=1.050701",
	[OP_Shape] = "start=0",
	[OP_Shrink] = "bias=0 lambd=0.5",
	[OP_Softmax] = "axis=-1",
	[OP_SpaceToDepth] = "mode=DCR",
	[OP_Split] = "axis=0",
	[OP_Swish] = "alpha=1",
	[OP_ThresholdedRelu] = "alpha=1",
	[OP_TopK] = "axis=-1 largest=1 sorted=1",
	[OP_Trilu] = "upper=1",
};

/* Is item, n characters, one of the words of list? */
static bool has_word(const char *list, const char *item, size_t n)
{
	for (const char *s = list; s && *s; s += strcspn(s, " "), s += strspn(s, " "))
		if (strcspn(s, " ") == n && !memcmp(s, item, n))
			return true;
	return false;
}

static bool all_are(const struct attr *a, int64_t v)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->u.ints[i] != v)
			return false;
	return true;
}

/* kernel_shape that repeats the shape of the weights; perm that is the usual one, all axes backwards. */
static bool repeats_operands(struct module *m, const struct node *n, const struct attr *a, const char *name)
{
	int64_t dims[RANK_MAX];

	if (a->kind != ATTR_INTS)
		return false;
	if (!strcmp(name, "pads") || !strcmp(name, "output_padding"))
		return all_are(a, 0);
	if (!strcmp(name, "strides") || !strcmp(name, "dilations"))
		return all_are(a, 1);
	if (n->op == OP_Transpose) {
		for (uint32_t i = 0; i < a->n; i++)
			if (a->u.ints[i] != (int64_t)(a->n - 1 - i))
				return false;
		return true;
	}
	uint32_t weights = n->op == OP_QLinearConv ? 3 : 1;
	bool has_weights = n->op == OP_QLinearConv || n->op == OP_Conv || n->op == OP_ConvInteger || n->op == OP_ConvTranspose;
	if (strcmp(name, "kernel_shape") || !has_weights || weights >= n->nin || !n->in[weights])
		return false;
	const struct type *t = &val(m, n->in[weights])->type;
	return type_dims(m, t, dims) && t->rank == (int)a->n + 2 && !memcmp(dims + 2, a->u.ints, a->n * sizeof *dims);
}

/* Operators whose axis counts from the end without it have it counted so, the others from the front. */
static int64_t usual_axis(struct module *m, const struct node *n, int64_t axis)
{
	static const uint8_t column[OP_COUNT] = {
		[OP_ArgMax] = 1,
		[OP_ArgMin] = 1,
		[OP_Concat] = 1,
		[OP_Gather] = 1,
		[OP_GatherElements] = 1,
		[OP_Hardmax] = 2,
		[OP_LayerNormalization] = 2,
		[OP_LogSoftmax] = 2,
		[OP_LpNormalization] = 2,
		[OP_RMSNormalization] = 2,
		[OP_Softmax] = 2,
		[OP_Split] = 1,
		[OP_TopK] = 2,
	};
	int rank = n->nin && n->in[0] ? val(m, n->in[0])->type.rank : RANK_UNKNOWN;

	if (!column[n->op] || rank < 0 || axis < -rank || axis >= rank)
		return axis;
	return column[n->op] == 1 ? (axis < 0 ? axis + rank : axis) : axis < 0 ? axis : axis - rank;
}

/* ---- writing ---- */

void put_text(struct task_out *o, const char *s, size_t n)
{
	vec_reserve(o, o->n + n + 1);
	memcpy(o->a + o->n, s, n);
	o->n += n;
}

void put_word(struct task_out *o, const char *s) { put_text(o, s, strlen(s)); }

void put_int(struct task_out *o, int64_t v)
{
	char digits[24], *p = digits + sizeof digits;
	uint64_t u = v < 0 ? -(uint64_t)v : (uint64_t)v;

	do
		*--p = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		*--p = '-';
	put_text(o, p, (size_t)(digits + sizeof digits - p));
}

void put_end(struct task_out *o)
{
	vec_reserve(o, o->n + 1);
	o->a[o->n] = 0;
}

void put_float(struct task_out *o, double v, enum dtype t)
{
	char text[40];

	for (int digits = t == DT_F64 ? 15 : 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v != v ? __builtin_fabs(v) : v);
		if (v != v || (t == DT_F64 ? strtod(text, NULL) : (double)strtof(text, NULL)) == v)
			break;
	}
	put_word(o, text);
}

/* Words of letters stand as they are, the others in quotes. */
static void put_string(struct task_out *o, const char *s, size_t n)
{
	size_t plain = 0;

	while (plain < n && (isalnum((unsigned char)s[plain]) || s[plain] == '_'))
		plain++;
	if (n && plain == n) {
		put_text(o, s, n);
		return;
	}
	put_word(o, "\"");
	for (size_t i = 0; i < n; i++) {
		char hex[5];
		if ((unsigned char)s[i] < ' ' || s[i] == 0x7f) {
			snprintf(hex, sizeof hex, "\\x%02x", (unsigned char)s[i]);
			put_word(o, hex);
			continue;
		}
		if (s[i] == '"' || s[i] == '\\')
			put_word(o, "\\");
		put_text(o, s + i, 1);
	}
	put_word(o, "\"");
}

void task_put_elements(struct task_out *o, const struct tensor *x)
{
	for (int64_t i = 0; i < tensor_count(x); i++) {
		char big[24];
		put_word(o, i ? "," : "");
		if (!dtype_is_int(x->dtype) && x->dtype != DT_BOOL) {
			put_float(o, tensor_get(x, i), x->dtype);
		} else if (x->dtype == DT_U64) {
			snprintf(big, sizeof big, "%" PRIu64, (uint64_t)tensor_get_int(x, i));
			put_word(o, big);
		} else {
			put_int(o, tensor_get_int(x, i));
		}
	}
}

static const char *put_tensor(struct task_out *o, struct module *m, struct tensor *t, struct arena *a)
{
	if (tensor_count(t) > TENSOR_MAX || !dtype_fixed(t->dtype))
		return arena_printf(a, "%lld elements of type %s in an attribute", (long long)tensor_count(t), dtype_name(t->dtype));
	put_word(o, dtype_name(t->dtype));
	put_word(o, ":");
	for (int i = 0; i < t->rank; i++) {
		put_word(o, i ? "x" : "");
		put_int(o, t->dims[i]);
	}
	put_word(o, ":");
	struct tensor x = *t;
	x.data = tensor_data(m, t);
	task_put_elements(o, &x);
	return NULL;
}

static const char *put_value(struct task_out *o, struct module *m, const struct node *n, const struct attr *x, struct arena *a)
{
	switch ((enum attr_kind)x->kind) {
	case ATTR_INT: put_int(o, strcmp(sym_str(x->name), "axis") ? x->u.i : usual_axis(m, n, x->u.i)); break;
	case ATTR_FLOAT: put_float(o, (double)x->u.f, DT_F32); break;
	case ATTR_STR: put_string(o, x->u.s, x->n); break;
	case ATTR_TENSOR: return put_tensor(o, m, x->u.tensor, a);
	case ATTR_INTS:
	case ATTR_FLOATS:
	case ATTR_STRS:
		for (uint32_t i = 0; i < x->n; i++) {
			put_word(o, i ? "," : "");
			if (x->kind == ATTR_INTS)
				put_int(o, x->u.ints[i]);
			else if (x->kind == ATTR_FLOATS)
				put_float(o, (double)x->u.floats[i], DT_F32);
			else
				put_string(o, sym_str(x->u.strs[i]), sym_len(x->u.strs[i]));
		}
		break;
	case ATTR_GRAPH:
	case ATTR_GRAPHS:
	case ATTR_TYPE: return arena_printf(a, "attribute %s of %s is no number or string", sym_str(x->name), op_name(n->op));
	}
	return NULL;
}

const char *task_put_attrs(struct task_out *o, struct module *m, const struct node *n, struct arena *a)
{
	size_t begin = o->n;

	for (uint32_t i = 0; i < n->nattr; i++) {
		const char *name = sym_str(n->attr[i].name), *why;
		if (!op_attr_kind(n->op, name, NULL))
			return arena_printf(a, "%s has no attribute %s", op_name(n->op), name);
		if (repeats_operands(m, n, &n->attr[i], name))
			continue;
		put_word(o, o->n == begin ? "{" : " ");
		size_t at = o->n;
		put_word(o, name);
		put_word(o, "=");
		if ((why = put_value(o, m, n, &n->attr[i], a)))
			return why;
		if (has_word(defaults[n->op], o->a + at, o->n - at))
			o->n = at - 1;
	}
	if (o->n > begin)
		put_word(o, "}");
	return NULL;
}

/* ---- numbers ---- */

static bool number_goes_on(char c) { return isalnum((unsigned char)c) || c == '.' || c == '+' || c == '-' || c == '_'; }

int64_t task_read_int(const char **s)
{
	const char *p = *s + (**s == '-');
	char *end;

	if (!isdigit((unsigned char)*p))
		die(EX_BADDATA, "a number is missing at '%.20s'", *s);
	errno = 0;
	int64_t v = strtoll(*s, &end, 10);
	if (errno)
		die(EX_BADDATA, "%.*s is too large", (int)(end - *s), *s);
	*s = end;
	return v;
}

double task_read_float(const char **s)
{
	char *end;
	double v = strtod(*s, &end);

	if (end == *s || isspace((unsigned char)**s) || number_goes_on(*end))
		die(EX_BADDATA, "a number is missing at '%.20s'", *s);
	*s = end;
	return v;
}

/* Unsigned numbers of 64 bits are written as such. */
static uint64_t read_unsigned(const char **s)
{
	char *end;

	if (!isdigit((unsigned char)**s))
		die(EX_BADDATA, "a number is missing at '%.20s'", *s);
	errno = 0;
	uint64_t v = strtoull(*s, &end, 10);
	if (errno)
		die(EX_BADDATA, "%.*s is too large", (int)(end - *s), *s);
	*s = end;
	return v;
}

void task_read_element(struct tensor *x, int64_t i, const char **s)
{
	const char *begin = *s;

	if (!dtype_is_int(x->dtype) && x->dtype != DT_BOOL) {
		double v = task_read_float(s);
		tensor_set(x, i, x->dtype == DT_F64 ? v : (double)strtof(begin, NULL)); /* rounded once */
		return;
	}
	int64_t v = x->dtype == DT_U64 ? (int64_t)read_unsigned(s) : task_read_int(s);
	store_i(x, i, 1, &v);
	if (tensor_get_int(x, i) != v)
		die(EX_BADDATA, "%.*s does not fit %s", (int)(*s - begin), begin, dtype_name(x->dtype));
}

/* ---- reading ---- */

/* The rest of a word, or a quoted string. */
static char *read_string(struct module *m, const char **s, size_t *n)
{
	const char *p = *s;
	char *out = arena_alloc(&m->arena, strlen(p) + 1);

	*n = 0;
	if (*p != '"') {
		while (isalnum((unsigned char)*p) || *p == '_')
			out[(*n)++] = *p++;
		if (!*n)
			die(EX_BADDATA, "a word is missing at '%.20s'", p);
		*s = p;
		return out;
	}
	for (p++; *p && *p != '"'; p++) {
		unsigned x;
		if (*p == '\\' && p[1] == 'x' && isxdigit((unsigned char)p[2]) && isxdigit((unsigned char)p[3])) {
			sscanf(p + 2, "%2x", &x);
			out[(*n)++] = (char)x;
			p += 3;
		} else {
			p += *p == '\\' && p[1];
			out[(*n)++] = *p;
		}
	}
	if (!*p)
		die(EX_BADDATA, "a string has no end");
	*s = p + 1;
	return out;
}

static struct tensor *read_tensor(struct module *m, const char **s)
{
	int64_t dims[RANK_MAX], count = 1;
	size_t len = strcspn(*s, ":} ");
	enum dtype t = dtype_parse(*s, len);
	int rank = 0;

	if ((*s)[len] != ':' || !dtype_fixed(t))
		die(EX_BADDATA, "'%.20s' is no TYPE:SHAPE:VALUES", *s);
	for (*s += len + 1; **s != ':'; *s += **s == 'x') {
		if (rank == RANK_MAX)
			die(EX_BADDATA, "more than %d axes", RANK_MAX);
		dims[rank] = task_read_int(s);
		if (dims[rank] < 0 || dims[rank] > TENSOR_MAX || (**s != ':' && **s != 'x'))
			die(EX_BADDATA, "extent %lld of an attribute", (long long)dims[rank]);
		count *= dims[rank++];
		if (count > TENSOR_MAX)
			die(EX_BADDATA, "more than %d elements in an attribute", TENSOR_MAX);
	}
	struct tensor *x = tensor_new(&m->arena, t, rank, dims);
	++*s;
	for (int64_t i = 0; i < count; i++) {
		task_read_element(x, i, s);
		if (i + 1 < count && *(*s)++ != ',')
			die(EX_BADDATA, "%lld elements, not %lld", (long long)i + 1, (long long)count);
	}
	return x;
}

/* A list up to the end of the attribute. */
static void read_list(struct module *m, struct attr *x, const char **s)
{
	VEC(int64_t) ints = {0};
	VEC(float) floats = {0};
	VEC(sym) strs = {0};

	while (**s && **s != ' ' && **s != '}') {
		size_t n;
		if (x->kind == ATTR_INTS) {
			vec_push(&ints, task_read_int(s));
		} else if (x->kind == ATTR_FLOATS) {
			vec_push(&floats, (float)task_read_float(s));
		} else {
			const char *str = read_string(m, s, &n);
			vec_push(&strs, intern_n(str, n));
		}
		if (**s == ',')
			++*s;
		else if (**s && **s != ' ' && **s != '}')
			die(EX_BADDATA, "a comma is missing at '%.20s'", *s);
	}
	x->n = (uint32_t)(ints.n + floats.n + strs.n);
	if (x->kind == ATTR_INTS)
		x->u.ints = arena_copy(&m->arena, ints.a, ints.n * sizeof *ints.a);
	else if (x->kind == ATTR_FLOATS)
		x->u.floats = arena_copy(&m->arena, floats.a, floats.n * sizeof *floats.a);
	else
		x->u.strs = arena_copy(&m->arena, strs.a, strs.n * sizeof *strs.a);
	vec_free(&ints);
	vec_free(&floats);
	vec_free(&strs);
}

void task_read_attr(struct module *m, node_id n, const char **s)
{
	enum opcode op = node(m, n)->op;
	size_t len = strcspn(*s, "=} "), size;
	char *name = arena_printf(&m->arena, "%.*s", (int)len, *s);
	char kind = op_attr_kind(op, name, NULL);
	struct attr x = {.name = intern(name)};

	if (!kind)
		die(EX_BADDATA, "%s has no attribute '%s'", op_name(op), name);
	if ((*s)[len] != '=')
		die(EX_BADDATA, "attribute %s has no value", name);
	if (attr_find(node(m, n), name))
		die(EX_BADDATA, "attribute %s twice", name);
	*s += len + 1;
	switch (kind) {
	case 'i': x.kind = ATTR_INT, x.u.i = task_read_int(s); break;
	case 'f': x.kind = ATTR_FLOAT, x.u.f = (float)task_read_float(s); break;
	case 's':
		x.kind = ATTR_STR, x.u.s = read_string(m, s, &size);
		x.n = (uint32_t)size;
		break;
	case 't': x.kind = ATTR_TENSOR, x.u.tensor = read_tensor(m, s); break;
	case 'I': x.kind = ATTR_INTS, read_list(m, &x, s); break;
	case 'F': x.kind = ATTR_FLOATS, read_list(m, &x, s); break;
	case 'S': x.kind = ATTR_STRS, read_list(m, &x, s); break;
	default: die(EX_BADDATA, "attribute %s cannot be given as text", name);
	}
	attr_set(m, n, x);
}
