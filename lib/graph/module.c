#include <string.h>
#include "common/msg.h"
#include "graph/module.h"

struct module *module_new(void)
{
	struct module *m = xcalloc(1, sizeof *m);
	m->dims = polys_new();
	m->opset = CANONICAL_OPSET;
	vec_push(&m->values, (struct value){0});
	vec_push(&m->nodes, (struct node){0});
	vec_push(&m->graphs, (struct graph){0});
	return m;
}

void module_free(struct module *m)
{
	if (!m)
		return;
	for (size_t g = 1; g < m->graphs.n; g++) {
		struct graph *x = &m->graphs.a[g];
		vec_free(&x->in);
		vec_free(&x->out);
		vec_free(&x->out_name);
		vec_free(&x->nodes);
	}
	vec_free(&m->values);
	vec_free(&m->nodes);
	vec_free(&m->graphs);
	vec_free(&m->meta);
	vec_free(&m->provenance);
	polys_free(m->dims);
	arena_release(&m->arena);
	free(m);
}

static size_t find_meta(const struct module *m, const char *key)
{
	size_t i = 0;

	while (i < m->meta.n && strcmp(sym_str(m->meta.a[i].key), key))
		i++;
	return i;
}

const char *module_meta(const struct module *m, const char *key)
{
	size_t i = find_meta(m, key);
	return i < m->meta.n ? sym_str(m->meta.a[i].value) : NULL;
}

void module_set_meta(struct module *m, const char *key, sym value)
{
	size_t i = find_meta(m, key);

	if (i == m->meta.n && value)
		vec_push(&m->meta, (struct meta){intern(key), 0});
	if (value)
		m->meta.a[i].value = value;
	else if (i < m->meta.n)
		memmove(&m->meta.a[i], &m->meta.a[i + 1], (--m->meta.n - i) * sizeof *m->meta.a);
}

static void room_for_id(size_t n)
{
	if (n >= UINT32_MAX)
		die(EX_BADDATA, "more than %u values", UINT32_MAX - 1);
}

graph_id graph_new(struct module *m, sym name)
{
	room_for_id(m->graphs.n);
	vec_push(&m->graphs, (struct graph){.name = name});
	return (graph_id)(m->graphs.n - 1);
}

static val_id value_new(struct module *m, struct value v)
{
	room_for_id(m->values.n);
	vec_push(&m->values, v);
	return (val_id)(m->values.n - 1);
}

val_id graph_add_input(struct module *m, graph_id g, sym name, struct type type)
{
	struct graph *x = graph(m, g);
	val_id v = value_new(m, (struct value){.name = name, .kind = VAL_INPUT, .type = type, .graph = g, .index = (uint32_t)x->in.n});
	vec_push(&x->in, v);
	return v;
}

void graph_add_output(struct module *m, graph_id g, val_id v, sym name)
{
	struct graph *x = graph(m, g);
	vec_push(&x->out, v);
	vec_push(&x->out_name, name);
}

val_id const_tensor(struct module *m, sym name, struct tensor *t)
{
	return value_new(m, (struct value){.name = name, .kind = VAL_CONST, .type = tensor_type(m, t), .tensor = t});
}

static struct tensor *tensor_header(struct module *m, enum dtype t, int rank, const int64_t *dims, size_t nbytes)
{
	struct tensor *x = ARENA_NEW(&m->arena, struct tensor);
	x->dtype = t;
	x->rank = rank;
	x->dims = arena_copy(&m->arena, dims, sizeof *dims * (size_t)rank);
	x->nbytes = nbytes;
	return x;
}

val_id const_new(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, const void *data, size_t nbytes)
{
	struct tensor *x = tensor_header(m, t, rank, dims, nbytes);
	x->data = data;
	return const_tensor(m, name, x);
}

val_id const_new_blob(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, struct digest d, size_t nbytes)
{
	struct tensor *x = tensor_header(m, t, rank, dims, nbytes);
	x->has_digest = true;
	x->digest = d;
	return const_tensor(m, name, x);
}

val_id const_copy(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, const void *data, size_t nbytes)
{
	return const_new(m, name, t, rank, dims, arena_copy(&m->arena, data, nbytes), nbytes);
}

node_id node_new_loose(struct module *m, graph_id g, enum opcode op, int nin, const val_id *in, int nout)
{
	room_for_id(m->nodes.n);
	node_id id = (node_id)m->nodes.n;
	struct node n = {.op = op, .graph = g, .nin = (uint32_t)nin, .nout = (uint32_t)nout};
	n.in = arena_copy(&m->arena, in, sizeof *in * (size_t)nin);
	n.out = ARENA_ARRAY(&m->arena, val_id, nout);
	for (int i = 0; i < nout; i++)
		n.out[i] = value_new(m, (struct value){.kind = VAL_NODE, .type = type_none(), .graph = g, .def = id, .index = (uint32_t)i});
	vec_push(&m->nodes, n);
	return id;
}

node_id node_new(struct module *m, graph_id g, enum opcode op, int nin, const val_id *in, int nout)
{
	node_id n = node_new_loose(m, g, op, nin, in, nout);
	vec_push(&graph(m, g)->nodes, n);
	return n;
}

val_id node_add_output(struct module *m, node_id id)
{
	struct node *n = node(m, id);
	val_id *out = ARENA_ARRAY(&m->arena, val_id, n->nout + 1);
	if (n->nout)
		memcpy(out, n->out, sizeof *out * n->nout);
	out[n->nout] = value_new(m, (struct value){.kind = VAL_NODE, .type = type_none(), .graph = n->graph, .def = id, .index = n->nout});
	n->out = out;
	return out[n->nout++];
}
