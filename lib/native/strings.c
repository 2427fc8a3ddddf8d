/* StringConcat, StringSplit. */
#include "native/native.h"
#include "native/pairs.h"

NATIVE const char *native_StringConcat(struct native *n)
{
	const struct native_string *a = n->in[0].data, *b = n->in[1].data, *x, *z;
	struct native_string *y;
	struct pairs p;
	const char *why;
	int64_t count;
	size_t bytes = 0;
	char *s;

	if (n->in[0].type != NATIVE_STR || n->in[1].type != NATIVE_STR)
		return native_no_type();
	if ((why = pairs_begin(n, &p)))
		return why;
	count = native_count_of(p.rank, p.dims);
	for (int64_t i = 0; i < count; i++, pairs_next(&p)) {
		bytes += a[p.from[0]].n + b[p.from[1]].n;
		if (bytes > PTRDIFF_MAX / 2)
			return "the strings are too long";
	}
	if (!(y = n->texts(n, 0, p.rank, p.dims, bytes)))
		return native_no_room(n);
	s = (char *)(y + count);
	for (int64_t i = 0; i < count; i++, pairs_next(&p)) {
		x = &a[p.from[0]], z = &b[p.from[1]];
		y[i] = (struct native_string){s, x->n + z->n};
		if (x->n)
			memcpy(s, x->s, x->n);
		if (z->n)
			memcpy(s + x->n, z->s, z->n);
		s += x->n + z->n;
	}
	return NULL;
}

/* ---- StringSplit ---- */

static bool strings_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The part of *s before the first `by` (empty: spaces), after which *s then begins; false: there is no `by`. */
static bool strings_cut(struct native_string *s, struct native_string by, struct native_string *part)
{
	size_t width = by.n ? by.n : 1;

	for (size_t i = 0; i + width <= s->n; i++)
		if (by.n ? !memcmp(s->s + i, by.s, by.n) : strings_is_space(s->s[i])) {
			*part = (struct native_string){s->s, i};
			*s = (struct native_string){s->s + i + width, s->n - i - width};
			return true;
		}
	return false;
}

/* The parts of s, at most `most` cuts (negative: any number): how many. to NULL: only counts. */
static int64_t strings_split(struct native_string s, struct native_string by, int64_t most, struct native_string *to)
{
	int64_t count = 0;
	struct native_string part;

	for (;; count++) {
		for (; !by.n && s.n && strings_is_space(*s.s); s.s++)
			s.n--;
		if (!by.n && !s.n)
			return count;
		if ((most >= 0 && count >= most) || !strings_cut(&s, by, &part))
			break;
		if (to)
			to[count] = part;
	}
	if (to)
		to[count] = s;
	return count + 1;
}

NATIVE const char *native_StringSplit(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_string *in = x->data;
	const struct native_attr *delimiter = native_attr(n, "delimiter"), *cuts = native_attr(n, "maxsplit");
	const struct native_string by =
		delimiter ? (struct native_string){delimiter->s, (size_t)delimiter->n} : (struct native_string){"", 0};
	int64_t most = cuts ? cuts->i : -1, count = native_count(x), widest = 0, dims[NATIVE_RANK_MAX], *counts;
	struct native_string *y;

	if (x->type != NATIVE_STR)
		return native_no_type();
	if (x->rank >= NATIVE_RANK_MAX)
		return "the rank is too large";
	if (!(counts = n->room(n, 1, NATIVE_I64, x->rank, x->dims)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++) {
		counts[i] = strings_split(in[i], by, most, NULL);
		widest = counts[i] > widest ? counts[i] : widest;
	}
	for (int k = 0; k < x->rank; k++)
		dims[k] = x->dims[k];
	dims[x->rank] = widest;
	if (!(y = n->texts(n, 0, x->rank + 1, dims, 0)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++, y += widest) {
		strings_split(in[i], by, most, y);
		for (int64_t k = counts[i]; k < widest; k++)
			y[k] = (struct native_string){"", 0};
	}
	return NULL;
}
