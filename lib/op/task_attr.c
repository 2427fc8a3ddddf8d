/* Attributes in task texts: only those that differ from their defaults. */
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

static bool all_are(const struct attr *a, int64_t v)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (a->u.ints[i] != v)
			return false;
	return true;
}

static bool same_list(const struct attr *a, const struct op_attr *listed)
{
	struct op_attr at = *listed;

	if (!memchr(at.def, ',', at.ndef))
		return all_are(a, op_attr_int(&at));
	for (uint32_t i = 0; i < a->n; i++, op_attr_step(&at))
		if (!at.ndef || a->u.ints[i] != op_attr_int(&at))
			return false;
	return !at.ndef;
}

/* Does the attribute only repeat what follows from the operands: kernel_shape the shape of the weights; perm all axes backwards, the
 * default? */
static bool repeats_operands(struct module *m, const struct node *n, const struct attr *a, const char *name)
{
	int64_t dims[RANK_MAX];

	if (a->kind != ATTR_INTS)
		return false;
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

/* An axis in the usual form: from the end if the operator's default is so, else from the front. */
static int64_t usual_axis(struct module *m, const struct node *n, int64_t axis)
{
	static const bool of_operand[OP_COUNT] = {
		[OP_ArgMax] = true,
		[OP_ArgMin] = true,
		[OP_Concat] = true,
		[OP_Gather] = true,
		[OP_GatherElements] = true,
		[OP_Hardmax] = true,
		[OP_LayerNormalization] = true,
		[OP_LogSoftmax] = true,
		[OP_LpNormalization] = true,
		[OP_RMSNormalization] = true,
		[OP_Softmax] = true,
		[OP_Split] = true,
		[OP_TopK] = true,
	};
	struct op_attr listed;
	int rank = n->nin && n->in[0] ? val(m, n->in[0])->type.rank : RANK_UNKNOWN;

	if (!of_operand[n->op] || rank < 0 || axis < -rank || axis >= rank || !op_attr_find(n->op, "axis", &listed))
		return axis;
	return op_attr_int(&listed) < 0 ? (axis < 0 ? axis : axis - rank) : axis < 0 ? axis + rank : axis;
}

static int64_t int_of(struct module *m, const struct node *n, const struct attr *a)
{
	return strcmp(sym_str(a->name), "axis") ? a->u.i : usual_axis(m, n, a->u.i);
}

/* Does a have its default value? */
static bool is_default(struct module *m, const struct node *n, const struct attr *a)
{
	struct op_attr listed;

	if (!op_attr_find(n->op, sym_str(a->name), &listed) || !listed.def)
		return false;
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: return int_of(m, n, a) == op_attr_int(&listed);
	case ATTR_FLOAT: return a->u.f == (float)op_attr_float(&listed);
	case ATTR_STR: return a->n == listed.ndef && !memcmp(a->u.s, listed.def, a->n);
	case ATTR_INTS: return same_list(a, &listed);
	default: return false;
	}
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

/* Words of letters are written as they are, others in quotes. */
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
	case ATTR_INT: put_int(o, int_of(m, n, x)); break;
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
		if (!op_attr_kind(n->op, name))
			return arena_printf(a, "%s has no attribute %s", op_name(n->op), name);
		if (is_default(m, n, &n->attr[i]) || repeats_operands(m, n, &n->attr[i], name))
			continue;
		put_word(o, o->n == begin ? "{" : " ");
		put_word(o, name);
		put_word(o, "=");
		if ((why = put_value(o, m, n, &n->attr[i], a)))
			return why;
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
	char kind = op_attr_kind(op, name);
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
