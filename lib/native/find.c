/* Find: where the elements of an operand are in a list in ascending order, by bisection; strings in a list that is fixed, by a table of them. */
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

/* ---- a table of strings ---- */

enum {
	FIND_FEW = 16,   /* keys that bisection finds as fast */
	FIND_PROBES = 32 /* entries that are looked at: a key that finds all of them taken is left to bisection */
};

struct find_entry {
	uint32_t hash, place; /* place: 1 + the key's; 0: there is none */
};

struct find_table {
	uint64_t made, mask;
	struct find_entry entry[];
};

static uint64_t find_hash(const struct native_string *x)
{
	const uint64_t odd = 0x9e3779b97f4a7c15;
	uint64_t h = x->n * odd, word;

	for (size_t i = 0; i < x->n; i += sizeof word) {
		word = 0;
		memcpy(&word, x->s + i, x->n - i < sizeof word ? x->n - i : sizeof word);
		h = (h ^ word) * odd;
		h ^= h >> 32;
	}
	return h * odd;
}

static struct find_entry *find_entry(struct find_table *t, uint64_t hash, int probe)
{
	return &t->entry[((hash >> 32) + (uint64_t)probe) & t->mask];
}

static void find_fill(struct find_table *t, const struct native_string *keys, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		uint64_t hash = find_hash(&keys[i]);
		for (int k = 0; k < FIND_PROBES; k++) {
			struct find_entry *e = find_entry(t, hash, k);
			if (e->place)
				continue;
			*e = (struct find_entry){(uint32_t)hash, (uint32_t)i + 1};
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
		find_fill(t, keys->data, nkeys);
	}
	return t;
}

static int64_t find_in_table(struct find_table *t, const struct native_string *keys, int64_t n, const struct native_string *x)
{
	uint64_t hash = find_hash(x);

	for (int k = 0; k < FIND_PROBES; k++) {
		const struct find_entry *e = find_entry(t, hash, k);
		if (!e->place)
			return n;
		if (e->hash == (uint32_t)hash && !find_compare(&keys[e->place - 1], x))
			return e->place - 1;
	}
	return find_text(keys, n, x);
}

static void find_texts(struct native *n, int64_t count, int64_t nkeys, int64_t *y)
{
	const struct native_string *x = n->in[0].data, *keys = n->in[1].data;
	struct find_table *t = find_table(n, &n->in[1], nkeys);

	for (int64_t i = 0; i < count; i++)
		y[i] = t ? find_in_table(t, keys, nkeys, x + i) : find_text(keys, nkeys, x + i);
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
	if (x->type == NATIVE_STR)
		find_texts(n, count, nkeys, y);
	for (int64_t i = 0; i < count && x->type != NATIVE_STR; i++)
		y[i] = find_place(keys, nkeys, native_order(x->type, x->data, i));
	return NULL;
}
