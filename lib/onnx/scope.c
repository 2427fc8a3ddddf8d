#include <stdlib.h>
#include <string.h>
#include "onnx/import.h"

struct binding {
	sym name;
	val_id v;
	uint32_t level;
	uint32_t hidden; /* binding of the same name further out, 0: none */
	uint32_t next;   /* of the same level */
};

struct level {
	graph_id g;
	bool call;
	uint32_t bindings;
	struct captures captures;
};

struct scopes {
	VEC(struct binding) all; /* [0] unused */
	VEC(uint32_t) free;
	VEC(struct level) level; /* [0] unused */
	uint32_t *top;           /* by symbol: the innermost binding */
	size_t ntop;
};

static struct scopes *scopes(struct importer *c)
{
	if (!c->scopes) {
		c->scopes = ARENA_NEW(&c->m->arena, struct scopes);
		vec_push(&c->scopes->all, (struct binding){0});
		vec_push(&c->scopes->level, (struct level){0});
	}
	return c->scopes;
}

void scope_enter(struct importer *c, graph_id g, bool call) { vec_push(&scopes(c)->level, (struct level){.g = g, .call = call}); }

struct captures scope_leave(struct importer *c)
{
	struct scopes *s = c->scopes;
	struct level l = s->level.a[--s->level.n];
	for (uint32_t i = l.bindings; i; i = s->all.a[i].next) {
		s->top[s->all.a[i].name] = s->all.a[i].hidden;
		vec_push(&s->free, i);
	}
	if (s->level.n == 1) {
		vec_free(&s->all);
		vec_free(&s->free);
		vec_free(&s->level);
		free(s->top);
		c->scopes = NULL;
	}
	return l.captures;
}

static void bind(struct scopes *s, uint32_t level, sym name, val_id v)
{
	uint32_t i;
	if (name >= s->ntop) {
		size_t want = 2 * (size_t)name + 64;
		s->top = xrealloc(s->top, want * sizeof *s->top);
		memset(s->top + s->ntop, 0, (want - s->ntop) * sizeof *s->top);
		s->ntop = want;
	}
	if (s->free.n) {
		i = s->free.a[--s->free.n];
	} else {
		i = (uint32_t)s->all.n;
		vec_push(&s->all, (struct binding){0});
	}
	s->all.a[i] = (struct binding){name, v, level, s->top[name], s->level.a[level].bindings};
	s->level.a[level].bindings = i;
	s->top[name] = i;
}

bool scope_defined_here(struct importer *c, sym name, val_id *v)
{
	struct scopes *s = scopes(c);
	uint32_t i = name < s->ntop ? s->top[name] : 0;
	if (!i || s->all.a[i].level != s->level.n - 1)
		return false;
	*v = s->all.a[i].v;
	return true;
}

void scope_define(struct importer *c, sym name, val_id v)
{
	val_id old;
	if (scope_defined_here(c, name, &old))
		import_die(c, "'%s' is defined twice", sym_str(name));
	bind(c->scopes, (uint32_t)c->scopes->level.n - 1, name, v);
}

val_id scope_lookup(struct importer *c, sym name)
{
	struct scopes *s = scopes(c);
	uint32_t here = (uint32_t)s->level.n - 1, i = name < s->ntop ? s->top[name] : 0;
	for (uint32_t l = here; i && l > s->all.a[i].level; l--)
		if (s->level.a[l].call)
			i = 0;
	if (!i)
		import_die(c,
			   "'%s' is not defined; every operand must be an input, an initializer or "
			   "the result of a node",
			   sym_str(name));
	uint32_t from = s->all.a[i].level;
	val_id v = s->all.a[i].v;
	if (!v || val(c->m, v)->kind == VAL_CONST)
		return v;
	for (uint32_t l = from + 1; l <= here; l++) {
		struct level *x = &s->level.a[l];
		if (x->g == s->level.a[l - 1].g)
			continue;
		vec_push(&x->captures, v);
		v = graph_add_input(c->m, x->g, name, val(c->m, v)->type);
		bind(s, l, name, v);
	}
	return v;
}
