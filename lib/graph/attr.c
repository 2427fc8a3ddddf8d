#include <string.h>
#include "common/msg.h"
#include "graph/module.h"

const struct attr *attr_find(const struct node *n, const char *name)
{
	for (uint32_t i = 0; i < n->nattr; i++)
		if (!strcmp(sym_str(n->attr[i].name), name))
			return &n->attr[i];
	return NULL;
}

static const struct attr *of_kind(const struct node *n, const char *name, enum attr_kind kind)
{
	const struct attr *a = attr_find(n, name);
	return a && a->kind == kind ? a : NULL;
}

int64_t attr_int(const struct node *n, const char *name, int64_t def)
{
	const struct attr *a = of_kind(n, name, ATTR_INT);
	return a ? a->u.i : def;
}

float attr_float(const struct node *n, const char *name, float def)
{
	const struct attr *a = of_kind(n, name, ATTR_FLOAT);
	return a ? a->u.f : def;
}

const char *attr_str(const struct node *n, const char *name, const char *def)
{
	const struct attr *a = of_kind(n, name, ATTR_STR);
	return a ? a->u.s : def;
}

/* What the list says of an attribute that n does not have. */
static struct op_attr listed(const struct node *n, const char *name)
{
	struct op_attr a;
	return op_attr_find(n->op, name, &a) ? a : (struct op_attr){0};
}

int64_t attr_i(const struct node *n, const char *name)
{
	const struct attr *a = of_kind(n, name, ATTR_INT);
	struct op_attr def = {0};
	if (!a)
		def = listed(n, name);
	return a ? a->u.i : op_attr_int(&def);
}

float attr_f(const struct node *n, const char *name)
{
	const struct attr *a = of_kind(n, name, ATTR_FLOAT);
	struct op_attr def = {0};
	if (!a)
		def = listed(n, name);
	return a ? a->u.f : (float)op_attr_float(&def);
}

const char *attr_s(const struct node *n, const char *name)
{
	const struct attr *a = of_kind(n, name, ATTR_STR);
	struct op_attr def = {0};
	if (!a)
		def = listed(n, name);
	return a ? a->u.s : sym_str(intern_n(def.def, def.ndef)); /* "" for none */
}

const int64_t *attr_ints(const struct node *n, const char *name, int *count)
{
	const struct attr *a = of_kind(n, name, ATTR_INTS);
	*count = a ? (int)a->n : 0;
	return a ? a->u.ints : NULL;
}

int attr_list(const struct node *n, const char *name, int64_t *v, int max)
{
	const struct attr *a = of_kind(n, name, ATTR_INTS);
	int count = 0;
	if (a && a->n > (uint32_t)max)
		return -1;
	if (a) {
		memcpy(v, a->u.ints, sizeof *v * a->n);
		return (int)a->n;
	}
	for (struct op_attr def = listed(n, name); def.ndef && count < max; op_attr_step(&def))
		v[count++] = op_attr_int(&def);
	return count;
}

const float *attr_floats(const struct node *n, const char *name, int *count)
{
	const struct attr *a = of_kind(n, name, ATTR_FLOATS);
	*count = a ? (int)a->n : 0;
	return a ? a->u.floats : NULL;
}

graph_id attr_graph(const struct node *n, const char *name)
{
	const struct attr *a = of_kind(n, name, ATTR_GRAPH);
	return a ? a->u.graph : 0;
}

struct tensor *attr_tensor(const struct node *n, const char *name)
{
	const struct attr *a = of_kind(n, name, ATTR_TENSOR);
	return a ? a->u.tensor : NULL;
}

static void copy_array(struct module *m, struct attr *a)
{
	struct arena *p = &m->arena;
	switch (a->kind) {
	case ATTR_STR: {
		char *s = arena_alloc(p, (size_t)a->n + 1);
		if (a->n)
			memcpy(s, a->u.s, a->n);
		a->u.s = s;
		break;
	}
	case ATTR_INTS: a->u.ints = arena_copy(p, a->u.ints, sizeof *a->u.ints * a->n); break;
	case ATTR_FLOATS: a->u.floats = arena_copy(p, a->u.floats, sizeof *a->u.floats * a->n); break;
	case ATTR_STRS: a->u.strs = arena_copy(p, a->u.strs, sizeof *a->u.strs * a->n); break;
	case ATTR_GRAPHS: a->u.graphs = arena_copy(p, a->u.graphs, sizeof *a->u.graphs * a->n); break;
	default: break;
	}
}

/* The array is made anew: two nodes may share one. */
void attr_set(struct module *m, node_id id, struct attr a)
{
	struct node *n = node(m, id);
	uint32_t i = 0;
	copy_array(m, &a);
	while (i < n->nattr && strcmp(sym_str(n->attr[i].name), sym_str(a.name)) < 0)
		i++;
	bool replaces = i < n->nattr && n->attr[i].name == a.name;
	struct attr *all = ARENA_ARRAY(&m->arena, struct attr, n->nattr + 1);
	if (i)
		memcpy(all, n->attr, sizeof *all * i);
	all[i] = a;
	uint32_t rest = i + replaces;
	if (rest < n->nattr)
		memcpy(all + i + 1, n->attr + rest, sizeof *all * (n->nattr - rest));
	n->attr = all;
	n->nattr += !replaces;
}

void attr_set_int(struct module *m, node_id n, const char *name, int64_t v)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_INT, .u.i = v});
}

void attr_set_float(struct module *m, node_id n, const char *name, float v)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_FLOAT, .u.f = v});
}

void attr_set_str(struct module *m, node_id n, const char *name, const char *v)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_STR, .n = (uint32_t)strlen(v), .u.s = v});
}

void attr_set_ints(struct module *m, node_id n, const char *name, int count, const int64_t *v)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_INTS, .n = (uint32_t)count, .u.ints = v});
}

void attr_set_graph(struct module *m, node_id n, const char *name, graph_id g)
{
	attr_set(m, n, (struct attr){.name = intern(name), .kind = ATTR_GRAPH, .u.graph = g});
}

void attr_drop(struct module *m, node_id id, const char *name)
{
	struct node *n = node(m, id);
	const struct attr *a = attr_find(n, name);
	if (!a)
		return;
	size_t i = (size_t)(a - n->attr);
	struct attr *all = ARENA_ARRAY(&m->arena, struct attr, n->nattr);
	memcpy(all, n->attr, sizeof *all * i);
	memcpy(all + i, n->attr + i + 1, sizeof *all * (n->nattr - i - 1));
	n->attr = all;
	n->nattr--;
}
