/* Tensors of strings: their elements, and evaluators of numbers that run on strings. */
#include <stdlib.h>
#include "common/msg.h"
#include "op/strings.h"

struct text *texts_of(struct arena *a, const struct tensor *t)
{
	int64_t n = tensor_count(t);
	struct text *v = ARENA_ARRAY(a, struct text, n + 1);
	const char *p = t->data;

	for (int64_t i = 0; i < n; i++) {
		uint32_t length;
		memcpy(&length, p, sizeof length);
		v[i] = (struct text){p + sizeof length, length};
		p += sizeof length + length;
	}
	return v;
}

struct tensor *texts_tensor(struct arena *a, int rank, const int64_t *dims, const struct text *v)
{
	struct tensor *t = tensor_new(a, DT_STR, rank, dims);
	int64_t n = tensor_count(t);
	size_t bytes = 0;

	for (int64_t i = 0; i < n; i++) {
		if (v[i].n > UINT32_MAX)
			die(EX_NOTAVAIL, "a string of more than 4 GiB");
		bytes += sizeof(uint32_t) + v[i].n;
	}
	char *p = arena_alloc(a, bytes);
	t->data = p;
	t->nbytes = bytes;
	for (int64_t i = 0; i < n; i++) {
		uint32_t length = (uint32_t)v[i].n;
		memcpy(p, &length, sizeof length);
		memcpy(p + sizeof length, v[i].s, length);
		p += sizeof length + length;
	}
	return t;
}

int text_compare(const void *a, const void *b)
{
	const struct text *x = a, *y = b;
	size_t n = x->n < y->n ? x->n : y->n;
	int c = n ? memcmp(x->s, y->s, n) : 0;

	return c ? c : (x->n > y->n) - (x->n < y->n);
}

void eval_texts(struct eval *e, int i, int rank, const int64_t *dims, const struct text *v)
{
	if ((uint32_t)i < e->n->nout)
		e->out[i] = texts_tensor(e->arena, rank, dims, v);
}

bool texts_coded(const struct eval *e)
{
	enum opcode op = e->n->op;
	bool reads = (op_is(op, OP_MOVE) && !op_is(op, OP_VIEW)) || op == OP_Equal || op == OP_Where || op == OP_Unique ||
		     op == OP_OneHot || op == OP_NonZero || op == OP_CenterCropPad || op == OP_TensorScatter;

	for (uint32_t i = 0; reads && i < e->n->nin; i++)
		if (e->in[i] && e->in[i]->dtype == DT_STR && e->in[i]->kind == KIND_TENSOR)
			return true;
	return false;
}

/* Does the operator compare its elements, so that equal strings must have one number, in their order? */
static bool compares(const struct node *n)
{
	return n->op == OP_Equal || n->op == OP_Unique || n->op == OP_NonZero || strcmp(attr_str(n, "reduction", "none"), "none");
}

/* The empty string and all strings among the operands; where they are compared sorted, each once. */
static struct text *all_texts(struct eval *e, size_t *count)
{
	size_t n = 1, kept = 0;

	for (uint32_t i = 0; i < e->n->nin; i++)
		n += e->in[i] && e->in[i]->dtype == DT_STR ? (size_t)tensor_count(e->in[i]) : 0;
	struct text *v = eval_scratch(e, sizeof *v * n);
	n = 0;
	v[n++] = (struct text){"", 0};
	for (uint32_t i = 0; i < e->n->nin; i++) {
		if (!e->in[i] || e->in[i]->dtype != DT_STR)
			continue;
		size_t k = (size_t)tensor_count(e->in[i]);
		memcpy(v + n, texts_of(e->tmp, e->in[i]), sizeof *v * k);
		n += k;
	}
	*count = n;
	if (!compares(e->n))
		return v;
	qsort(v, n, sizeof *v, text_compare);
	for (size_t i = 0; i < n; i++)
		if (!kept || !text_equal(v[i], v[kept - 1]))
			v[kept++] = v[i];
	*count = kept;
	return v;
}

/* Numbers of x's strings among all; *next: of the first one, where each has a number of its own. */
static struct tensor *codes_of(struct eval *e, const struct tensor *x, const struct text *all, size_t count, int64_t *next)
{
	struct tensor *y = tensor_new(e->tmp, DT_I64, x->rank, x->dims);
	int64_t n = tensor_count(x), *code = (int64_t *)y->data;
	struct text *v = compares(e->n) ? texts_of(e->tmp, x) : NULL;

	for (int64_t i = 0; i < n; i++)
		code[i] = v ? (const struct text *)bsearch(&v[i], all, count, sizeof *all, text_compare) - all : (*next)++;
	return y;
}

/* Number 0 is the empty string: what the evaluator fills with. */
const char *eval_coded(struct eval *e, const char *(*eval)(struct eval *))
{
	struct eval inner = *e;
	size_t count;
	struct text *all = all_texts(e, &count);
	int64_t next = 1;
	const char *why;

	inner.in = eval_scratch(e, sizeof *inner.in * e->n->nin);
	inner.out = eval_scratch(e, sizeof *inner.out * (e->n->nout + 1));
	inner.arena = e->tmp;
	inner.room = NULL;
	for (uint32_t i = 0; i < e->n->nin; i++) {
		bool text = e->in[i] && e->in[i]->dtype == DT_STR;
		inner.in[i] = text ? codes_of(e, e->in[i], all, count, &next) : e->in[i];
	}
	if ((why = eval(&inner)))
		return why;
	for (uint32_t i = 0; i < e->n->nout; i++) {
		const struct tensor *y = inner.out[i];
		if (!y || !e->n->out[i])
			continue;
		if (val(e->m, e->n->out[i])->type.dtype != DT_STR) {
			eval_give(e, (int)i, y);
			continue;
		}
		int64_t n = tensor_count(y);
		struct text *v = eval_scratch(e, sizeof *v * (size_t)(n + 1));
		for (int64_t k = 0; k < n; k++) {
			uint64_t code = (uint64_t)tensor_get_int(y, k);
			v[k] = code < count ? all[code] : all[0];
		}
		eval_texts(e, (int)i, y->rank, y->dims, v);
	}
	return NULL;
}
