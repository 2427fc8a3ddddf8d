/* TensorScatter: rows written into a cache, for each of the batch at a place of its own. */
#include "native/native.h"

struct cache {
	int64_t prefixes, per, rows, most, bytes; /* prefixes: rows of the axes before `axis`; per: of them in one of the batch */
	int64_t before, step;                     /* in the cache: from one prefix to the next, from one row to the next, in rows */
	bool circular;
};

static const char *cache_read(struct native *n, struct cache *c)
{
	const struct native_tensor *x = &n->in[0], *u = &n->in[1], *w = native_has(n, 2) ? &n->in[2] : NULL;
	int axis = native_axis(native_int(n, "axis"), x->rank);

	if (axis < 1)
		return native_why(n, "axis %lld of rank %d; it cannot be the first", (long long)native_int(n, "axis"), x->rank);
	for (int i = 0; i < x->rank; i++)
		if (u->rank != x->rank || u->dims[i] > x->dims[i] || (i != axis && u->dims[i] != x->dims[i]))
			return "the update does not fit the cache";
	if (w && (w->type != NATIVE_I64 || w->rank != 1 || w->dims[0] != x->dims[0]))
		return "write_indices are not an i64 for each of the batch";
	c->circular = !strcmp(native_str(n, "mode"), "circular");
	c->prefixes = native_count_of(axis, x->dims);
	c->per = native_count_of(axis - 1, x->dims + 1);
	c->rows = u->dims[axis];
	c->most = x->dims[axis];
	c->bytes = native_count_of(x->rank - axis - 1, x->dims + axis + 1) * (int64_t)native_size(x->type);
	if (x->first && x->first != axis + 1)
		return "the cache lies in an order that it does not take";
	c->before = x->first ? 1 : c->most;
	c->step = x->first ? c->prefixes : 1;
	for (int64_t b = 0; w && b < w->dims[0]; b++) {
		int64_t at = ((const int64_t *)w->data)[b];
		if (c->circular ? at < 0 : at < 0 || at > c->most - c->rows)
			return native_why(n, "%lld rows at %lld of %lld", (long long)c->rows, (long long)at, (long long)c->most);
	}
	return NULL;
}

NATIVE const char *native_TensorScatter(struct native *n)
{
	const struct native_tensor *x = &n->in[0], *u = &n->in[1];
	struct cache c = {0};
	const char *why;
	char *y;

	if (!native_size(x->type) || u->type != x->type)
		return native_no_type();
	if ((why = cache_read(n, &c)))
		return why;
	if (!(y = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	if (!native_count(x))
		return NULL;
	bool told = y == x->data && n->change;
	if (y != x->data)
		memcpy(y, x->data, (size_t)(c.prefixes * c.most * c.bytes));
	for (int64_t p = 0; p < c.prefixes; p++) {
		int64_t at = native_has(n, 2) ? ((const int64_t *)n->in[2].data)[p / c.per] % (c.most + !c.circular) : 0;
		for (int64_t r = 0; r < c.rows; r++, at = at + 1 == c.most ? 0 : at + 1) {
			char *to = y + (size_t)((p * c.before + at * c.step) * c.bytes);
			if (told && (why = n->change(n, to, (size_t)c.bytes)))
				return why;
			memcpy(to, (const char *)u->data + (size_t)((p * c.rows + r) * c.bytes), (size_t)c.bytes);
		}
	}
	return NULL;
}
