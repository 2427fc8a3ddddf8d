/* Functions of the model are expanded at every call: passes then see one graph. */
#include <stdlib.h>
#include <string.h>
#include "onnx/import.h"

enum { CALL_DEPTH_MAX = 100, EXPANSION_MAX = 1000000 };

struct call {
	struct call *up;
	const Onnx__FunctionProto *f;
	const Onnx__NodeProto *node; /* the call, within up */
};

struct functions {
	const Onnx__FunctionProto **sorted;
	size_t n, expanded;
	int depth;
	struct call *call;
};

static int compare_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	size_t n = a->len < b->len ? a->len : b->len;
	int r = n ? memcmp(a->data, b->data, n) : 0;
	return r ? r : (a->len > b->len) - (a->len < b->len);
}

static int compare(const void *x, const void *y)
{
	const Onnx__FunctionProto *a = *(void *const *)x, *b = *(void *const *)y;
	int r = compare_bytes(&a->name, &b->name);
	r = r ? r : compare_bytes(&a->domain, &b->domain);
	return r ? r : compare_bytes(&a->overload, &b->overload);
}

void functions_open(struct importer *c)
{
	struct functions *fs = ARENA_NEW(&c->m->arena, struct functions);
	fs->n = c->model->n_functions;
	fs->sorted = arena_copy(&c->m->arena, c->model->functions, fs->n * sizeof *fs->sorted);
	if (fs->n)
		qsort(fs->sorted, fs->n, sizeof *fs->sorted, compare);
	for (size_t i = 1; i < fs->n; i++)
		if (!compare(&fs->sorted[i - 1], &fs->sorted[i]))
			import_die(c, "function '%s' is defined twice", sym_str(import_name(&fs->sorted[i]->name)));
	c->functions = fs;
}

static const Onnx__FunctionProto *find(const struct functions *fs, const Onnx__NodeProto *p)
{
	Onnx__FunctionProto key = {.name = p->op_type, .domain = p->domain, .overload = p->overload};
	const Onnx__FunctionProto *k = &key;
	const Onnx__FunctionProto **hit = fs->n ? bsearch(&k, fs->sorted, fs->n, sizeof *fs->sorted, compare) : NULL;
	return hit ? *hit : NULL;
}

static const Onnx__AttributeProto *named(size_t n, Onnx__AttributeProto **list, const ProtobufCBinaryData *name)
{
	for (size_t i = 0; i < n; i++)
		if (!compare_bytes(&list[i]->name, name))
			return list[i];
	return NULL;
}

const Onnx__AttributeProto *function_attr(struct importer *c, const Onnx__AttributeProto *a)
{
	const struct call *call = c->functions->call;
	while (a->ref_attr_name.len) {
		const ProtobufCBinaryData *name = &a->ref_attr_name;
		if (!call)
			import_die(c, "an attribute refers to '%s' outside of a function", sym_str(import_name(name)));
		a = named(call->node->n_attribute, call->node->attribute, name);
		if (!a)
			return named(call->f->n_attribute_proto, call->f->attribute_proto, name);
		call = call->up;
	}
	return a;
}

/* The results of the call get the names that the caller gave them. */
static void name_result(struct importer *c, graph_id g, val_id v, sym name)
{
	struct value *x = v ? val(c->m, v) : NULL;
	if (x && x->kind == VAL_NODE && x->graph == g)
		x->name = name;
}

static void bind_operands(struct importer *c, const Onnx__FunctionProto *f, size_t n, const val_id *in)
{
	for (size_t i = 0; i < f->n_input; i++)
		scope_define(c, import_name(&f->input[i]), i < n ? in[i] : 0);
}

void function_count(struct importer *c, size_t n)
{
	struct functions *fs = c->functions;
	fs->expanded += fs->depth ? n : 0;
	if (fs->expanded > EXPANSION_MAX)
		import_die(c, "functions expand to more than %d nodes", EXPANSION_MAX);
}

bool function_expand(struct importer *c, graph_id g, const Onnx__NodeProto *p)
{
	struct functions *fs = c->functions;
	const Onnx__FunctionProto *f = find(fs, p);
	if (!f)
		return false;
	struct call call = {fs->call, f, p};
	for (const struct call *up = fs->call; up; up = up->up)
		if (up->f == f)
			import_die(c, "function '%s' calls itself", sym_str(import_name(&f->name)));
	if (++fs->depth > CALL_DEPTH_MAX)
		import_die(c, "functions call each other more than %d deep", CALL_DEPTH_MAX);
	function_count(c, f->n_node);
	if (p->n_input > f->n_input || p->n_output > f->n_output)
		import_die(c,
			   "function '%s' takes %zu operands and gives %zu results; here it has "
			   "%zu and %zu",
			   sym_str(import_name(&f->name)), f->n_input, f->n_output, p->n_input, p->n_output);
	val_id *in = xmalloc((p->n_input + 1) * sizeof *in), *out = xmalloc((p->n_output + 1) * sizeof *out);
	for (size_t i = 0; i < p->n_input; i++)
		in[i] = p->input[i].len ? scope_lookup(c, import_name(&p->input[i])) : 0;
	const char *at_graph = c->at_graph;
	int64_t opset = c->opset;
	fs->call = &call;
	c->at_graph = sym_str(import_name(&f->name));
	c->opset = import_opset(c, f->n_opset_import, f->opset_import, opset);
	scope_enter(c, g, true);
	bind_operands(c, f, p->n_input, in);
	import_nodes(c, g, f->n_node, f->node);
	for (size_t i = 0; i < p->n_output; i++)
		out[i] = scope_lookup(c, import_name(&f->output[i]));
	scope_leave(c);
	c->opset = opset;
	c->at_graph = at_graph;
	c->at = p;
	fs->call = call.up;
	fs->depth--;
	for (size_t i = 0; i < p->n_output; i++) {
		sym name = import_name(&p->output[i]);
		if (!name)
			continue;
		name_result(c, g, out[i], name);
		scope_define(c, name, out[i]);
	}
	free(in);
	free(out);
	return true;
}
