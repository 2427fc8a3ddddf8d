/* Values of compiled models: random ones put into memory and read back are the same; damaged ones are refused, and nothing is read beyond. */
#include <stdlib.h>
#include <string.h>
#include "graph/kinds.h"
#include "op/strings.h"
#include "op/value_tensor.h"
#include "tap.h"

static struct rng rng = {1};
static struct arena arena;

static int64_t random_below(int64_t n) { return (int64_t)(rng_u64(&rng) % (uint64_t)n); }

static struct tensor *random_strings(int rank, const int64_t *dims)
{
	struct tensor shape = {.rank = rank, .dims = (int64_t *)dims};
	int64_t n = tensor_count(&shape);
	struct text *v = ARENA_ARRAY(&arena, struct text, n + 1);

	for (int64_t i = 0; i < n; i++) {
		v[i].n = (size_t)random_below(9);
		char *s = arena_alloc(&arena, v[i].n + 1);
		for (size_t k = 0; k < v[i].n; k++)
			s[k] = (char)random_below(256);
		v[i].s = s;
	}
	return texts_tensor(&arena, rank, dims, v);
}

static struct tensor *random_tensor(enum dtype t)
{
	int64_t dims[3];
	int rank = (int)random_below(4);
	struct tensor *x;

	for (int i = 0; i < rank; i++)
		dims[i] = random_below(4);
	if (t == DT_STR)
		return random_strings(rank, dims);
	x = tensor_new(&arena, t, rank, dims);
	tensor_random(x, &rng, 0, 5);
	return x;
}

/* A value of type t. */
static struct tensor *random_value(const struct type *t)
{
	struct type inside = type_inside(t);
	enum kind kind = type_kind(t);
	int64_t n = kind == KIND_OPTIONAL ? random_below(2) : random_below(4), keys = random_below(4);
	struct tensor **item = ARENA_ARRAY(&arena, struct tensor *, n + 3);

	if (kind == KIND_TENSOR)
		return random_tensor(t->dtype);
	if (kind == KIND_MAP) {
		n = 2;
		item[0] = tensor_new(&arena, DT_I64, 1, &keys);
		item[1] = tensor_new(&arena, inside.dtype, 1, &keys);
	}
	for (int64_t i = 0; kind != KIND_MAP && i < n; i++)
		item[i] = random_value(&inside);
	return tensor_wrap(&arena, kind, type_innermost(t).dtype, (size_t)n, item);
}

static bool same(const struct tensor *a, const struct tensor *b)
{
	if (a->kind != b->kind || a->dtype != b->dtype || a->nitem != b->nitem)
		return false;
	for (size_t i = 0; i < a->nitem; i++)
		if (!same(a->item[i], b->item[i]))
			return false;
	if (a->kind != KIND_TENSOR)
		return true;
	return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank) && a->nbytes == b->nbytes &&
	       (!a->nbytes || !memcmp(a->data, b->data, a->nbytes));
}

static struct type type_of_text(const char *text)
{
	struct type t = {.rank = RANK_UNKNOWN};

	if (strchr(text, '('))
		t.other = intern(text);
	else
		t.dtype = dtype_parse(text, strlen(text));
	return t;
}

static void put(const struct tensor *x, struct hone_value *v, int64_t *n)
{
	char *p = malloc(value_size(x) + 1); /* exactly so much: what is beyond is found */

	value_put(x, v, p);
	*n = (int64_t)x->nitem;
	v->shape = x->kind == KIND_TENSOR ? x->dims : n;
	v->data = x->kind == KIND_TENSOR && !tensor_count(x) ? NULL : p;
	if (!v->data)
		free(p);
}

/* Something in it that cannot be, and how it was. */
static bool damage(struct hone_value *v, struct hone_value *was)
{
	static const int64_t negative[] = {-1, 1, 1, 1}, huge[] = {INT64_MAX, INT64_MAX, 4, 4};
	struct hone_value *in = v->data;

	if (v->type < 0 && v->shape[0] && random_below(2))
		return damage(&in[random_below(v->shape[0])], was);
	*was = *v;
	switch (random_below(4)) {
	case 0: v->type = 7 - v->type * 3; break;
	case 1: v->shape = v->rank ? negative : v->shape; break;
	case 2: v->shape = v->rank > 1 ? huge : v->shape; break;
	default: v->rank = v->type < 0 ? 2 : 65; break;
	}
	return v->type != was->type || v->shape != was->shape || v->rank != was->rank;
}

static void test(const char *text)
{
	struct type t = type_of_text(text);
	int back = 0, refused = 0, damaged = 0;
	enum { TIMES = 300 };

	for (int k = 0; k < TIMES; k++) {
		struct tensor *x = random_value(&t);
		struct hone_value v, was;
		int64_t n;
		const char *why = NULL;
		put(x, &v, &n);
		struct tensor *y = value_tensor(&v, &t, &arena, &why);
		back += y && same(x, y);
		if (damage(&v, &was)) {
			why = NULL;
			damaged++;
			refused += !value_tensor(&v, &t, &arena, &why) && why;
		}
	}
	ok(back == TIMES, "%s: what was put is read, %d of %d", text, back, TIMES);
	ok(refused == damaged && damaged, "%s: what was damaged is refused, %d of %d", text, refused, damaged);
}

int main(void)
{
	static const char *const types[] = {"f32",
					    "str",
					    "i64",
					    "seq(tensor(float))",
					    "seq(tensor(string))",
					    "optional(tensor(int64))",
					    "optional(seq(tensor(string)))",
					    "seq(seq(tensor(double)))",
					    "seq(map(int64,tensor(float)))"};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		test(types[i]);
	arena_release(&arena);
	return tap_done();
}
