#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "common/shown.h"
#include "graph/kinds.h"
#include "op/op.h"
#include "op/values.h"

/* ---- to arrays ---- */

typedef VEC(struct named_tensor) arrays;

static void add(arrays *out, char *name, struct tensor *t)
{
	struct named_tensor x = {name, t};

	vec_push(out, x);
}

static void flatten(arrays *out, char *name, struct tensor *t, struct arena *a)
{
	if (t->kind == KIND_TENSOR) {
		add(out, name, t);
	} else if (t->kind == KIND_MAP) {
		add(out, arena_printf(a, "%s{keys}", name), t->item[0]);
		add(out, arena_printf(a, "%s{values}", name), t->item[1]);
	} else if (!t->nitem) {
		const char *form = t->kind == KIND_SEQUENCE ? "%s[]" : "%s?";
		enum dtype none = t->dtype ? t->dtype : DT_F32;
		char *empty = xprintf(form, name);
		add(out, arena_str(a, empty), tensor_new(a, none, 1, &(int64_t){0}));
		free(empty);
	} else if (t->kind == KIND_OPTIONAL) {
		flatten(out, name, t->item[0], a);
	} else {
		for (size_t i = 0; i < t->nitem; i++)
			flatten(out, arena_printf(a, "%s[%zu]", name, i), t->item[i], a);
	}
}

int values_flatten(const struct named_tensor *v, int n, struct named_tensor **out, struct arena *a)
{
	arrays all = {0};

	for (int i = 0; i < n; i++)
		flatten(&all, v[i].name, v[i].t, a);
	*out = arena_copy(a, all.a, sizeof *all.a * all.n);
	n = (int)all.n;
	vec_free(&all);
	return n;
}

/* ---- from arrays ---- */

static struct tensor *take(struct members *f, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (!strcmp(f->t[i].name, name)) {
			f->taken[i] = true;
			return f->t[i].t;
		}
	return NULL;
}

static struct tensor *take_sequence(struct members *f, const char *name, const struct type *t, struct arena *a)
{
	struct type inside = type_inside(t);
	VEC(struct tensor *) item = {0};
	struct tensor *x;

	while ((x = values_take(f, arena_printf(a, "%s[%zu]", name, item.n), &inside, a)))
		vec_push(&item, x);
	bool any = item.n || take(f, arena_printf(a, "%s[]", name));
	x = any ? tensor_wrap(a, KIND_SEQUENCE, type_innermost(t).dtype, item.n, item.a) : NULL;
	vec_free(&item);
	return x;
}

static struct tensor *take_optional(struct members *f, const char *name, const struct type *t, struct arena *a)
{
	struct type inside = type_inside(t);
	struct tensor *x = values_take(f, name, &inside, a);

	if (!x && !take(f, arena_printf(a, "%s?", name)))
		return NULL;
	return tensor_wrap(a, KIND_OPTIONAL, type_innermost(t).dtype, x != NULL, &x);
}

static struct tensor *take_map(struct members *f, const char *name, const struct type *t, struct arena *a)
{
	struct tensor *item[2] = {take(f, arena_printf(a, "%s{keys}", name)), take(f, arena_printf(a, "%s{values}", name))};

	if (!item[0] || !item[1])
		return NULL;
	if (item[0]->rank != 1 || item[1]->rank != 1 || item[0]->dims[0] != item[1]->dims[0])
		die(EX_BADDATA, "%s: %s: keys and values are not as many", f->file, shown(name));
	return tensor_wrap(a, KIND_MAP, type_innermost(t).dtype, 2, item);
}

struct tensor *values_take(struct members *f, const char *name, const struct type *t, struct arena *a)
{
	switch (type_kind(t)) {
	case KIND_TENSOR: return take(f, name);
	case KIND_SEQUENCE: return take_sequence(f, name, t, a);
	case KIND_OPTIONAL: return take_optional(f, name, t, a);
	case KIND_MAP: return take_map(f, name, t, a);
	default: return NULL;
	}
}
