/* Find: where the elements of an operand are in a list in ascending order, by bisection, or by a table of a list that is fixed. */
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

static int64_t find_by_bisection(const struct native_tensor *keys, int64_t n, const struct native_tensor *x, int64_t i)
{
	if (x->type == NATIVE_STR)
		return find_text(keys->data, n, (const struct native_string *)x->data + i);
	return find_place(keys, n, native_order(x->type, x->data, i));
}

/* ---- a table ---- */

enum {
	FIND_FEW = 16,   /* keys that bisection finds as fast */
	FIND_PROBES = 32 /* entries that are looked at: a key that finds all of them taken is left to bisection */
};

struct find_entry {
	uint64_t hash, place; /* place: 1 + the key's; 0: there is none */
};

struct find_table {
	uint64_t made, mask;
	struct find_entry entry[];
};

/* A hash of a number; different numbers have different ones. */
static inline uint64_t find_mix(uint64_t x)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;

	x *= odd;
	return (x ^ x >> 32) * odd;
}

static uint64_t find_text_hash(const struct native_string *x)
{
	uint64_t h = x->n, word;

	for (size_t i = 0; i < x->n; i += sizeof word) {
		word = 0;
		memcpy(&word, x->s + i, x->n - i < sizeof word ? x->n - i : sizeof word);
		h = find_mix(h ^ word);
	}
	return find_mix(h);
}

static inline uint64_t find_hash(const struct native_tensor *t, int64_t i)
{
	if (t->type == NATIVE_STR)
		return find_text_hash((const struct native_string *)t->data + i);
	return find_mix((uint64_t)native_order(t->type, t->data, i));
}

static inline struct find_entry *find_entry(struct find_table *t, uint64_t hash, int probe)
{
	return &t->entry[((hash >> 32) + (uint64_t)probe) & t->mask];
}

static void find_fill(struct find_table *t, const struct native_tensor *keys, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint64_t hash = find_hash(keys, i);
		for (int k = 0; k < FIND_PROBES; k++) {
			struct find_entry *e = find_entry(t, hash, k);
			if (e->place)
				continue;
			*e = (struct find_entry){hash, (uint64_t)i + 1};
			break;
		}
	}
	t->made = 1;
}

/* The table of the keys, made in the first run; NULL: bisection does. */
static struct find_table *find_table(struct native *n, const struct native_tensor *keys, int64_t nkeys)
{
	uint64_t size = 2 * FIND_FEW;
	struct find_table *t;

	if (nkeys < FIND_FEW || nkeys > INT32_MAX || !keys->fixed)
		return NULL;
	while (size < 2 * (uint64_t)nkeys)
		size *= 2;
	t = n->memo(n, sizeof *t + size * sizeof *t->entry);
	if (t && !t->made) {
		t->mask = size - 1;
		find_fill(t, keys, nkeys);
	}
	return t;
}

static int64_t find_in_table(struct find_table *t, const struct native_tensor *keys, int64_t n, const struct native_tensor *x, int64_t i)
{
	const struct native_string *text = x->type == NATIVE_STR ? (const struct native_string *)x->data + i : NULL, *all = keys->data;
	uint64_t hash = find_hash(x, i);

	for (int k = 0; k < FIND_PROBES; k++) {
		const struct find_entry *e = find_entry(t, hash, k);
		if (!e->place)
			return n;
		if (e->hash == hash && (!text || !find_compare(&all[e->place - 1], text)))
			return (int64_t)e->place - 1;
	}
	return find_by_bisection(keys, n, x, i);
}

NATIVE const char *native_Find(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *keys = &n->in[1];
	int64_t count = native_count(x), nkeys = native_count(keys), *y;
	struct find_table *t;

	if (!native_is_number(x->type) && x->type != NATIVE_BOOL && x->type != NATIVE_STR)
		return native_no_type();
	if (keys->type != x->type)
		return "it looks for elements of another type";
	if (!(y = n->room(n, 0, NATIVE_I64, x->rank, x->dims)))
		return native_no_room(n);
	t = find_table(n, keys, nkeys);
	for (int64_t i = 0; i < count; i++)
		y[i] = t ? find_in_table(t, keys, nkeys, x, i) : find_by_bisection(keys, nkeys, x, i);
	return NULL;
}
