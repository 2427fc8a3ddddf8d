/* MapIndex: which of some sets of sizes a run has. */
#include "native/gears.h"
#include "native/native.h"

enum { GEARS_AXES = 16 };

/* Sizes looked for, and where they stand. */
struct gears_sizes {
	int64_t n, v[GEARS_AXES];
};

static const char *gears_read(const struct native *n, struct gears_sizes *s)
{
	const struct native_attr *axes = native_attr(n, "axes"), *of = native_attr(n, "of");
	const struct native_tensor *x = &n->in[0];

	s->n = axes ? axes->n : native_count(x);
	if (s->n < 1 || s->n > GEARS_AXES)
		return "of more sizes than 16, or none";
	for (int64_t j = 0; j < s->n; j++) {
		int64_t k = of && of->ints && j < of->n ? of->ints[j] : 0;
		if (!axes) {
			s->v[j] = native_get_int(x->type, x->data, j);
			continue;
		}
		if (k < 0 || k >= n->nin || axes->ints[j] < 0 || axes->ints[j] >= n->in[k].rank)
			return "an operand has not the axis whose size is looked for";
		s->v[j] = n->in[k].dims[axes->ints[j]];
	}
	return NULL;
}

/* A list of sizes, with their names if there are any, cut off where it gets long. */
static int gears_list(const struct native_attr *names, char *to, int room, const int64_t *v, int64_t count)
{
	int at = 0;

	for (int64_t j = 0; j < count && at < room - 40; j++)
		at += snprintf(to + at, (size_t)(room - at), "%s%.24s%s%lld", j ? "," : "", names && j < names->n ? names->strs[j] : "",
			       names && j < names->n ? "=" : "", (long long)v[j]);
	return at;
}

static const char *gears_none(struct native *n, const struct gears_sizes *s, const int64_t *gears, int64_t rows)
{
	const struct native_attr *names = native_attr(n, "names");
	char text[200];
	int at = gears_list(names, text, 100, s->v, s->n);

	at += snprintf(text + at, sizeof text - (size_t)at, "; there %s ", rows == 1 ? "is" : "are");
	for (int64_t i = 0; i < rows; i++) {
		if (at > 150) {
			snprintf(text + at, sizeof text - (size_t)at, " ..");
			break;
		}
		at += snprintf(text + at, sizeof text - (size_t)at, "%s", i ? s->n > 1 ? "; " : ", " : "");
		at += gears_list(s->n > 1 ? names : NULL, text + at, (int)sizeof text - at, gears + i * s->n, s->n);
	}
	return native_why(n, "no gear for %s", text);
}

NATIVE const char *native_MapIndex(struct native *n)
{
	const struct native_attr *attr = native_attr(n, "gears");
	const struct native_tensor *t = attr ? attr->tensor : NULL;
	struct gears_sizes s;
	const char *why = gears_read(n, &s);
	int64_t count = t ? native_count(t) : 0;

	if (why)
		return why;
	if (!t || t->type != NATIVE_I64 || count < 1 || count % s.n)
		return "the operand does not fit the gears";
	int64_t row = gears_find(t->data, count / s.n, s.n, s.v, native_int(n, "up"));
	if (row < 0 && native_int(n, "open"))
		row = count / s.n;
	if (row < 0)
		return gears_none(n, &s, t->data, count / s.n);
	int64_t *y = n->room(n, 0, NATIVE_I64, 0, NULL);
	if (!y)
		return native_no_room(n);
	*y = row;
	return NULL;
}
