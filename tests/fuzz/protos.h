/* Mutants of ONNX models that are still models: another operator, attribute, type, extent, content, wiring, body. What the
 * wire's mutants seldom reach: a change that is sound in itself (a tensor of another shape has as many bytes as that wants). */
#ifndef HONE_FUZZ_PROTOS_H
#define HONE_FUZZ_PROTOS_H
#include <stdio.h>
#include <string.h>
#include "common/arena.h"
#include "common/rng.h"
#include "common/vec.h"
#include "graph/ops.h"
#include "graph/types.h"
#include "onnx.pb-c.h"
#include "wires.h"

typedef Onnx__GraphProto proto_graph;
typedef Onnx__NodeProto proto_node;
typedef Onnx__AttributeProto proto_attr;
typedef Onnx__TensorProto proto_tensor;
typedef Onnx__TypeProto__Tensor proto_type;

/* All of a kind in the model, those of bodies and functions too. */
struct protos {
	struct rng r;
	struct arena a;
	VEC(proto_graph *) graphs;
	VEC(proto_node *) nodes;
	VEC(proto_attr *) attrs;
	VEC(proto_tensor *) tensors;
	VEC(proto_type *) types;
	VEC(ProtobufCBinaryData) names;
};

static void *protos_alloc(void *arena, size_t n) { return arena_alloc(arena, n); }
static void protos_free(void *arena, void *p) { (void)arena, (void)p; }

/* Below n; 0 of none. */
static size_t protos_draw(struct protos *m, size_t n) { return n ? (size_t)rng_range(&m->r, 0, (int64_t)n - 1) : 0; }
#define PROTOS_ONE(m, v) ((m)->v.n ? (m)->v.a[protos_draw(m, (m)->v.n)] : NULL)

static ProtobufCBinaryData protos_str(struct protos *m, const char *s, size_t n)
{
	return (ProtobufCBinaryData){n, arena_copy(&m->a, s, n)};
}

static ProtobufCBinaryData protos_name(struct protos *m)
{
	return m->names.n ? m->names.a[protos_draw(m, m->names.n)] : protos_str(m, "", 0);
}

/* A list with room for one more at `at`. */
static void *protos_grown(struct protos *m, const void *list, size_t n, size_t size, size_t at)
{
	char *p = arena_alloc(&m->a, (n + 1) * size);

	if (n)
		memcpy(p, list, at * size), memcpy(p + (at + 1) * size, (const char *)list + at * size, (n - at) * size);
	return p;
}
#define PROTOS_INSERT(m, list, n, at, x) \
	do { \
		size_t at_ = (at); \
		(list) = protos_grown(m, list, n, sizeof *(list), at_); \
		(list)[at_] = (x); \
		(n)++; \
	} while (0)
#define PROTOS_REMOVE(list, n, at) \
	do { \
		size_t at_ = (at); \
		memmove((list) + at_, (list) + at_ + 1, ((n)-at_ - 1) * sizeof *(list)); \
		(n)--; \
	} while (0)

static void protos_of_graph(struct protos *m, proto_graph *g);

static void protos_of_nodes(struct protos *m, proto_node **node, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		vec_push(&m->nodes, node[i]);
		for (size_t k = 0; k < node[i]->n_output; k++)
			vec_push(&m->names, node[i]->output[k]);
		for (size_t k = 0; k < node[i]->n_attribute; k++) {
			proto_attr *a = node[i]->attribute[k];
			vec_push(&m->attrs, a);
			if (a->t)
				vec_push(&m->tensors, a->t);
			if (a->g)
				protos_of_graph(m, a->g);
			for (size_t j = 0; j < a->n_graphs; j++)
				protos_of_graph(m, a->graphs[j]);
		}
	}
}

static void protos_of_values(struct protos *m, Onnx__ValueInfoProto **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		vec_push(&m->names, v[i]->name);
		if (v[i]->type && v[i]->type->tensor_type)
			vec_push(&m->types, v[i]->type->tensor_type);
	}
}

static void protos_of_graph(struct protos *m, proto_graph *g)
{
	vec_push(&m->graphs, g);
	for (size_t i = 0; i < g->n_initializer; i++) {
		vec_push(&m->tensors, g->initializer[i]);
		vec_push(&m->names, g->initializer[i]->name);
	}
	protos_of_values(m, g->input, g->n_input);
	protos_of_values(m, g->output, g->n_output);
	protos_of_values(m, g->value_info, g->n_value_info);
	protos_of_nodes(m, g->node, g->n_node);
}

/* ---- tensors ---- */

static int64_t protos_bytes(const proto_tensor *t)
{
	static const signed char size[] = {0, 4, 1, 1, 2, 2, 4, 8, -1, 1, 2, 8, 4, 8, 8, 16, 2, 1, 1, 1, 1};
	int64_t n = t->data_type > 0 && t->data_type < (int)sizeof size ? size[t->data_type] : -1;

	for (size_t k = 0; k < t->n_dims && n >= 0; k++)
		n = t->dims[k] < 0 || t->dims[k] > 4096 || n > 1 << 16 ? -1 : n * t->dims[k];
	return n <= 1 << 16 ? n : -1;
}

/* As many bytes as shape and type want, of those that were there. */
static void protos_fit(struct protos *m, proto_tensor *t)
{
	int64_t want = protos_bytes(t);
	const void *old = t->raw_data.data;
	size_t had = t->has_raw_data ? t->raw_data.len : 0;

	if (want < 0)
		return;
#define FROM(list) \
	if (t->n_##list) \
		old = t->list, had = t->n_##list * sizeof *t->list, t->n_##list = 0;
	FROM(float_data)
	FROM(int32_data)
	FROM(int64_data)
	FROM(double_data)
	FROM(uint64_data)
#undef FROM
	uint8_t *p = arena_alloc(&m->a, (size_t)want + 1);
	for (size_t i = 0; i < (size_t)want && had; i++)
		p[i] = ((const uint8_t *)old)[i % had];
	t->has_raw_data = true;
	t->raw_data = (ProtobufCBinaryData){(size_t)want, p};
}

static void protos_tensor(struct protos *m, proto_tensor *t)
{
	size_t k = protos_draw(m, t->n_dims);

	switch (protos_draw(m, 6)) {
	case 0:
		if (t->n_dims)
			t->dims[k] = (int64_t)wires_number(&m->r);
		break;
	case 1: PROTOS_INSERT(m, t->dims, t->n_dims, k, 1 + (int64_t)protos_draw(m, 2)); break;
	case 2:
		if (t->n_dims)
			PROTOS_REMOVE(t->dims, t->n_dims, k);
		break;
	case 3: t->data_type = 1 + (int)protos_draw(m, 20); break;
	default: { /* one element, or all */
		uint64_t v = wires_number(&m->r);
		float f = protos_draw(m, 2) ? (float)(int64_t)v : protos_draw(m, 2) ? __builtin_nanf("") : __builtin_inff();
		protos_fit(m, t);
		int64_t all = protos_bytes(t), size = t->data_type == 7 || t->data_type == 11 || t->data_type == 13 ? 8
						      : t->data_type == 1 || t->data_type == 6                      ? 4
														    : 1;
		for (int64_t n = all / size, i = (int64_t)protos_draw(m, n > 0 ? (size_t)n : 0), end = protos_draw(m, 3) ? i + 1 : n;
		     i < end && i < n; i++)
			memcpy(t->raw_data.data + i * size, t->data_type == 1 ? (void *)&f : (void *)&v, (size_t)size);
		return;
	}
	}
	if (protos_draw(m, 8))
		protos_fit(m, t);
}

/* ---- attributes ---- */

enum { PROTO_FLOAT = 1, PROTO_INT, PROTO_STRING, PROTO_TENSOR, PROTO_FLOATS = 6, PROTO_INTS };

static void protos_fill(struct protos *m, proto_attr *a, char kind)
{
	static const char *const words[] = {"SAME_UPPER",
					    "SAME_LOWER",
					    "VALID",
					    "NOTSET",
					    "linear",
					    "cubic",
					    "nearest",
					    "reflect",
					    "edge",
					    "wrap",
					    "constant",
					    "bidirectional",
					    "reverse",
					    "forward",
					    "half_pixel",
					    "align_corners",
					    "tf_crop_and_resize",
					    "asymmetric",
					    "floor",
					    "ceil",
					    "round_prefer_ceil",
					    "DCR",
					    "CRD",
					    "add",
					    "mul",
					    "max",
					    "min",
					    "none",
					    "mean",
					    "sum",
					    "zeros",
					    "border",
					    "tanh",
					    "LEFT",
					    "RIGHT",
					    "ij,jk->ik",
					    "...i,...i->...",
					    "ii->i",
					    "->",
					    "x"};
	static const float rare[] = {0, 1, -1, .5f, 1e-7f, 1e30f, -1e30f, __builtin_inff(), __builtin_nanf("")};
	const char *s = words[protos_draw(m, sizeof words / sizeof *words)];

	switch (kind) {
	case 'i': a->has_i = true, a->i = (int64_t)wires_number(&m->r), a->type = PROTO_INT; break;
	case 'f': a->has_f = true, a->f = rare[protos_draw(m, sizeof rare / sizeof *rare)], a->type = PROTO_FLOAT; break;
	case 's': a->has_s = true, a->s = protos_str(m, s, strlen(s)), a->type = PROTO_STRING; break;
	case 'I':
		if (a->n_ints && protos_draw(m, 2)) {
			a->ints[protos_draw(m, a->n_ints)] = (int64_t)wires_number(&m->r);
		} else if (a->n_ints && protos_draw(m, 2)) {
			PROTOS_REMOVE(a->ints, a->n_ints, protos_draw(m, a->n_ints));
		} else {
			for (size_t n = protos_draw(m, 4); n < 4; n++)
				PROTOS_INSERT(m, a->ints, a->n_ints, a->n_ints,
					      protos_draw(m, 3) ? (int64_t)protos_draw(m, 4) : (int64_t)wires_number(&m->r));
		}
		a->type = PROTO_INTS;
		break;
	case 'F':
		PROTOS_INSERT(m, a->floats, a->n_floats, a->n_floats, rare[protos_draw(m, sizeof rare / sizeof *rare)]);
		a->type = PROTO_FLOATS;
		break;
	case 't':
		if (m->tensors.n)
			a->t = PROTOS_ONE(m, tensors);
		a->type = PROTO_TENSOR;
		break;
	default: return;
	}
	a->has_type = true;
}

static char protos_kind(const proto_attr *a)
{
	return a->t ? 't' : a->g ? 'g' : a->has_s ? 's' : a->n_ints ? 'I' : a->n_floats ? 'F' : a->has_f ? 'f' : 'i';
}

/* An attribute that the node's operator may have. */
static void protos_new_attr(struct protos *m, proto_node *x)
{
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)x->op_type.len, (const char *)x->op_type.data);
	const char *all = op_info(op_find("", name))->attrs, *p = all;
	if (!all || !*all)
		return;
	for (p += protos_draw(m, strlen(all)); p > all && p[-1] != ' '; p--)
		;
	p += *p == '!';
	size_t n = strcspn(p, ":");
	proto_attr *a = NULL;
	for (size_t i = 0; i < x->n_attribute; i++)
		if (x->attribute[i]->name.len == n && !memcmp(x->attribute[i]->name.data, p, n))
			a = x->attribute[i];
	if (!a) {
		a = ARENA_NEW(&m->a, proto_attr);
		onnx__attribute_proto__init(a);
		a->has_name = true;
		a->name = protos_str(m, p, n);
		PROTOS_INSERT(m, x->attribute, x->n_attribute, x->n_attribute, a);
	}
	protos_fill(m, a, p[n + 1]);
}

/* Another operator: half the time one that takes as many operands. */
static void protos_operator(struct protos *m, proto_node *x)
{
	const char *s = "";

	for (int i = 0; i < 30; i++) {
		const struct op_info *o = op_info((enum opcode)(1 + protos_draw(m, OP_COUNT - 1)));
		s = o->name;
		if (i > 15 || (o->min_in <= (int)x->n_input && (o->max_in < 0 || o->max_in >= (int)x->n_input)))
			break;
	}
	x->op_type = protos_str(m, s, strlen(s));
}

/* ---- graphs ---- */

static void protos_type(struct protos *m, proto_type *t)
{
	Onnx__TensorShapeProto__Dimension *d;

	if (!t->shape || !protos_draw(m, 4)) {
		t->has_elem_type = true;
		t->elem_type = 1 + (int)protos_draw(m, 20);
		return;
	}
	size_t k = protos_draw(m, t->shape->n_dim);
	if (t->shape->n_dim && !protos_draw(m, 4)) {
		PROTOS_REMOVE(t->shape->dim, t->shape->n_dim, k);
		return;
	}
	if (!t->shape->n_dim || !protos_draw(m, 4)) {
		d = ARENA_NEW(&m->a, Onnx__TensorShapeProto__Dimension);
		onnx__tensor_shape_proto__dimension__init(d);
		PROTOS_INSERT(m, t->shape->dim, t->shape->n_dim, k, d);
	} else {
		d = t->shape->dim[k];
	}
	d->has_dim_param = !protos_draw(m, 3);
	d->has_dim_value = !d->has_dim_param;
	d->dim_param = protos_draw(m, 2) ? protos_str(m, "n", 1) : protos_str(m, "2*n - 1", 7);
	d->dim_value = protos_draw(m, 2) ? (int64_t)protos_draw(m, 6) : (int64_t)wires_number(&m->r);
}

static void *protos_copy(struct protos *m, const ProtobufCMessage *x)
{
	ProtobufCAllocator alloc = {protos_alloc, protos_free, &m->a};
	uint8_t *p = arena_alloc(&m->a, protobuf_c_message_get_packed_size(x) + 1);

	return protobuf_c_message_unpack(x->descriptor, &alloc, protobuf_c_message_pack(x, p), p);
}

/* A body is another graph of the model, which may hold it. */
static void protos_body(struct protos *m)
{
	proto_attr *a = NULL;

	for (int i = 0; i < 50 && (!a || !a->g) && m->attrs.n; i++)
		a = PROTOS_ONE(m, attrs);
	if (a && a->g && m->graphs.n)
		a->g = protos_copy(m, &PROTOS_ONE(m, graphs)->base);
}

static void protos_wire(struct protos *m, proto_node *x)
{
	size_t i = protos_draw(m, x->n_input), o = protos_draw(m, x->n_output);

	switch (protos_draw(m, 7)) {
	case 0: PROTOS_INSERT(m, x->input, x->n_input, i, protos_name(m)); break;
	case 1:
		if (x->n_input)
			PROTOS_REMOVE(x->input, x->n_input, i);
		break;
	case 2:
		if (x->n_input)
			x->input[i].len = 0;
		break;
	case 3:
		if (x->n_output)
			x->output[o].len = 0;
		break;
	case 4: PROTOS_INSERT(m, x->output, x->n_output, o, protos_str(m, "more", 4)); break;
	default:
		if (x->n_input)
			x->input[i] = protos_name(m);
	}
}

static void protos_graph(struct protos *m, proto_graph *g)
{
	size_t i = protos_draw(m, g->n_node), k = protos_draw(m, g->n_node);

	switch (protos_draw(m, 5)) {
	case 0: /* two change places */
		if (g->n_node) {
			proto_node *x = g->node[i];
			g->node[i] = g->node[k];
			g->node[k] = x;
		}
		break;
	case 1: /* a node between: what read a name reads a new one */
		if (g->n_node && m->nodes.n) {
			proto_node *x = protos_copy(m, &PROTOS_ONE(m, nodes)->base);
			if (!x->n_output || !x->n_input || !g->node[k]->n_input)
				break;
			x->input[0] = g->node[k]->input[0];
			x->output[0] = g->node[k]->input[0] = protos_str(m, arena_printf(&m->a, "between%zu", protos_draw(m, 1000)), 8);
			PROTOS_INSERT(m, g->node, g->n_node, k, x);
		}
		break;
	case 2: /* an output more */
		if (g->n_output) {
			Onnx__ValueInfoProto *v = protos_copy(m, &g->output[0]->base);
			v->name = protos_name(m);
			v->type = protos_draw(m, 2) ? v->type : NULL;
			PROTOS_INSERT(m, g->output, g->n_output, protos_draw(m, g->n_output), v);
		}
		break;
	case 3: /* an initializer that is an input too, or only that */
		if (g->n_initializer && g->n_input) {
			size_t t = protos_draw(m, g->n_initializer);
			Onnx__ValueInfoProto *v = protos_copy(m, &g->input[0]->base);
			v->name = g->initializer[t]->name;
			PROTOS_INSERT(m, g->input, g->n_input, protos_draw(m, g->n_input), v);
			if (protos_draw(m, 2))
				PROTOS_REMOVE(g->initializer, g->n_initializer, t);
		}
		break;
	default:
		if (g->n_node)
			PROTOS_REMOVE(g->node, g->n_node, i);
	}
}

static void protos_once(struct protos *m, Onnx__ModelProto *model)
{
	proto_node *x = PROTOS_ONE(m, nodes);
	proto_attr *a = PROTOS_ONE(m, attrs);
	proto_tensor *t = PROTOS_ONE(m, tensors);
	proto_type *type = PROTOS_ONE(m, types);

	switch (protos_draw(m, 16)) {
	case 0:
	case 1:
		if (x)
			protos_operator(m, x);
		break;
	case 2:
	case 3:
	case 4:
		if (x)
			protos_new_attr(m, x);
		break;
	case 5:
		if (a)
			protos_fill(m, a, protos_draw(m, 4) ? protos_kind(a) : "ifsIFt"[protos_draw(m, 6)]);
		break;
	case 6:
	case 7:
	case 8:
		if (t)
			protos_tensor(m, t);
		break;
	case 9:
	case 10:
		if (type)
			protos_type(m, type);
		break;
	case 11:
	case 12:
		if (x)
			protos_wire(m, x);
		break;
	case 13: protos_body(m); break;
	case 14:
		if (m->graphs.n)
			protos_graph(m, PROTOS_ONE(m, graphs));
		break;
	default:
		if (model->n_opset_import)
			model->opset_import[0]->version = 1 + (int64_t)protos_draw(m, 26);
		else
			model->ir_version = 1 + (int64_t)protos_draw(m, 12);
	}
}

/* The new length; 0: these bytes are no model, or the mutant is too long. */
static size_t protos_mutate(uint8_t *p, size_t n, size_t most, unsigned seed)
{
	struct protos m = {.r = {seed}};
	ProtobufCAllocator alloc = {protos_alloc, protos_free, &m.a};
	Onnx__ModelProto *model = onnx__model_proto__unpack(&alloc, n, p);
	size_t len = 0;

	if (model && model->graph) {
		protos_of_graph(&m, model->graph);
		for (size_t i = 0; i < model->n_functions; i++)
			protos_of_nodes(&m, model->functions[i]->node, model->functions[i]->n_node);
		for (size_t i = 1 + protos_draw(&m, 3); i > 0; i--)
			protos_once(&m, model);
		len = onnx__model_proto__get_packed_size(model);
		if (len <= most)
			onnx__model_proto__pack(model, p);
	}
	vec_free(&m.graphs);
	vec_free(&m.nodes);
	vec_free(&m.attrs);
	vec_free(&m.tensors);
	vec_free(&m.types);
	vec_free(&m.names);
	arena_release(&m.a);
	return len <= most ? len : 0;
}
#endif
