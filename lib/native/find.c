/* Find: where the elements of an operand are in a list in ascending order, by bisection. */
#include "native/native.h"

/* The position of x, as native_order has it, among the n keys; n: it is not there. */
static int64_t find_place(const struct native_tensor *keys, int64_t n, int64_t x)
{
	int64_t lo = 0, hi = n;

	while (lo < hi) {
		int64_t middle = lo + (hi - lo) / 2;
		if (native_order(keys->type, keys->data, middle) < x)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo < n && native_order(keys->type, keys->data, lo) == x ? lo : n;
}

static int find_compare(const struct native_string *a, const struct native_string *b)
{
	size_t n = a->n < b->n ? a->n : b->n;
	int c = n ? memcmp(a->s, b->s, n) : 0;

	return c ? c : (a->n > b->n) - (a->n < b->n);
}

/* The place of string x among n strings in ascending order; n where it is none of them. */
static int64_t find_text(const struct native_string *keys, int64_t n, const struct native_string *x)
{
	int64_t lo = 0, hi = n;

	while (lo < hi) {
		int64_t middle = lo + (hi - lo) / 2;
		int c = find_compare(&keys[middle], x);
		if (!c)
			return middle;
		if (c < 0)
			lo = middle + 1;
		else
			hi = middle;
	}
	return n;
}

NATIVE const char *native_Find(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *keys = &n->in[1];
	int64_t count = native_count(x), nkeys = native_count(keys), *y;

	if (!native_is_number(x->type) && x->type != NATIVE_BOOL && x->type != NATIVE_STR)
		return native_no_type();
	if (keys->type != x->type)
		return "it looks for elements of another type";
	if (!(y = n->room(n, 0, NATIVE_I64, x->rank, x->dims)))
		return native_no_room(n);
	for (int64_t i = 0; i < count && x->type == NATIVE_STR; i++)
		y[i] = find_text(keys->data, nkeys, (const struct native_string *)x->data + i);
	for (int64_t i = 0; i < count && x->type != NATIVE_STR; i++)
		y[i] = find_place(keys, nkeys, native_order(x->type, x->data, i));
	return NULL;
}
