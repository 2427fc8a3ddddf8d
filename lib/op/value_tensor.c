#include "op/value_tensor.h"
#include <string.h>
#include "graph/kinds.h"
#include "op/strings.h"

enum { PIECE = 16, DEEPEST = 100 };

static size_t pieces(size_t n) { return (n + PIECE - 1) / PIECE * PIECE; }

int value_kind_number(enum kind k)
{
	return k == KIND_SEQUENCE ? HONE_SEQUENCE : k == KIND_OPTIONAL ? HONE_OPTIONAL : k == KIND_MAP ? HONE_MAP : 0;
}

/* ---- to a tensor ---- */

static struct tensor *numbers(const struct hone_value *v, struct arena *a)
{
	struct tensor *x = ARENA_NEW(a, struct tensor);

	*x = (struct tensor){.dtype = (enum dtype)v->type, .rank = v->rank, .data = v->data};
	x->dims = arena_copy(a, v->shape, sizeof *x->dims * (size_t)v->rank);
	x->nbytes = (size_t)tensor_count(x) * dtype_size(x->dtype);
	return x;
}

static struct tensor *strings(const struct hone_value *v, struct arena *a, const char **why)
{
	const struct hone_text *from = v->data;
	struct tensor shape = {.rank = v->rank, .dims = (int64_t *)v->shape};
	int64_t n = tensor_count(&shape);
	struct text *to = ARENA_ARRAY(a, struct text, n + 1);

	for (int64_t i = 0; i < n; i++) {
		to[i] = (struct text){from[i].n ? from[i].s : "", from[i].n};
		if (!to[i].s || to[i].n > UINT32_MAX) {
			*why = "a string is NULL or longer than 4 GiB";
			return NULL;
		}
	}
	return texts_tensor(a, v->rank, v->shape, to);
}

static struct tensor *make(const struct hone_value *v, const struct type *t, struct arena *a, const char **why, int depth);

static struct type map_keys(const struct type *t) { return (struct type){.dtype = type_map_key(t), .rank = RANK_UNKNOWN}; }

static struct tensor *wrapped(const struct hone_value *v, const struct type *t, struct arena *a, const char **why, int depth)
{
	enum kind kind = type_kind(t);
	int64_t n = v->rank == 1 ? v->shape[0] : -1;
	const struct hone_value *in = v->data;
	struct type inside = type_inside(t), keys = map_keys(t);

	if (n < 0 || n > INT32_MAX || (n && !in) || (kind == KIND_OPTIONAL && n > 1) || (kind == KIND_MAP && n != 2) || depth > DEEPEST) {
		*why = "it holds another number of values than it can, or they are NULL";
		return NULL;
	}
	struct tensor **item = ARENA_ARRAY(a, struct tensor *, n + 1);
	for (int64_t i = 0; i < n; i++)
		if (!(item[i] = make(&in[i], kind == KIND_MAP && !i ? &keys : &inside, a, why, depth + 1)))
			return NULL;
	if (kind == KIND_MAP && (item[0]->rank != 1 || (!inside.other && (item[1]->rank != 1 || item[0]->dims[0] != item[1]->dims[0])))) {
		*why = "a map's keys are not a list, or not as many as its values";
		return NULL;
	}
	return tensor_wrap(a, kind, type_innermost(t).dtype, (size_t)n, item);
}

static struct tensor *make(const struct hone_value *v, const struct type *t, struct arena *a, const char **why, int depth)
{
	enum kind kind = type_kind(t);
	bool empty = false;

	if (kind == KIND_OTHER || v->type != (kind == KIND_TENSOR ? (int)t->dtype : value_kind_number(kind))) {
		*why = "it is of another type";
		return NULL;
	}
	if (kind != KIND_TENSOR)
		return wrapped(v, t, a, why, depth);
	if (v->rank < 0 || v->rank > RANK_MAX || (v->rank && !v->shape)) {
		*why = "it has no shape, or too many axes";
		return NULL;
	}
	for (int i = 0, bits = 0; i < v->rank; i++) {
		bits += v->shape[i] > 0 ? 64 - __builtin_clzll((unsigned long long)v->shape[i]) : 0;
		empty |= !v->shape[i];
		*why = v->shape[i] < 0 || bits > 62 ? "its shape is of no tensor" : NULL;
		if (*why)
			return NULL;
	}
	if (!v->data && !empty) {
		*why = "its elements are NULL";
		return NULL;
	}
	return v->type == DT_STR ? strings(v, a, why) : numbers(v, a);
}

struct tensor *value_tensor(const struct hone_value *v, const struct type *t, struct arena *a, const char **why)
{
	return make(v, t, a, why, 0);
}

/* ---- from a tensor ---- */

size_t value_size(const struct tensor *x)
{
	size_t n = 0;

	if (x->kind == KIND_TENSOR && x->dtype != DT_STR)
		return pieces(x->nbytes);
	if (x->kind == KIND_TENSOR) /* as many bytes of lengths as a struct hone_text has of its own, or more */
		return pieces((size_t)tensor_count(x) * sizeof(struct hone_text)) + pieces(x->nbytes);
	for (size_t i = 0; i < x->nitem; i++)
		n += pieces(sizeof(int64_t) * (size_t)x->item[i]->rank) + pieces(sizeof(int64_t)) + value_size(x->item[i]);
	return pieces(x->nitem * sizeof(struct hone_value)) + n;
}

static void *put_texts(const struct tensor *x, char *p)
{
	struct hone_text *to = (struct hone_text *)p;
	int64_t n = tensor_count(x);
	const char *from = x->data;

	p += pieces((size_t)n * sizeof *to);
	for (int64_t i = 0; i < n; i++) {
		uint32_t length;
		memcpy(&length, from, sizeof length);
		memcpy(p, from + sizeof length, length);
		to[i] = (struct hone_text){p, length};
		from += sizeof length + length;
		p += length;
	}
	return to;
}

/* The shape of a value inside, which lies in the same memory. */
static char *put_shape(const struct tensor *x, struct hone_value *v, char *p)
{
	int64_t n = (int64_t)x->nitem, *to = (int64_t *)p;
	int rank = x->kind == KIND_TENSOR ? x->rank : 1;

	if (rank)
		memcpy(to, x->kind == KIND_TENSOR ? x->dims : &n, sizeof *to * (size_t)rank);
	v->shape = to;
	return p + pieces(sizeof *to * (size_t)rank);
}

void value_put(const struct tensor *x, struct hone_value *v, void *p)
{
	v->type = x->kind == KIND_TENSOR ? (int)x->dtype : value_kind_number((enum kind)x->kind);
	v->rank = x->kind == KIND_TENSOR ? x->rank : 1;
	v->data = p;
	if (x->kind == KIND_TENSOR && x->dtype == DT_STR) {
		v->data = put_texts(x, p);
	} else if (x->kind == KIND_TENSOR) {
		if (x->nbytes)
			memcpy(p, x->data, x->nbytes);
	} else {
		struct hone_value *in = p;
		char *at = (char *)p + pieces(x->nitem * sizeof *in);
		for (size_t i = 0; i < x->nitem; i++) {
			at = put_shape(x->item[i], &in[i], at);
			value_put(x->item[i], &in[i], at);
			at += value_size(x->item[i]);
		}
	}
}
