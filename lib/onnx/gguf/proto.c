#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "onnx/gguf/proto.h"

enum { KIND_FLOAT = 1, KIND_INT = 2, KIND_INTS = 7 /* of AttributeProto */, IR_VERSION = 10 };

static ProtobufCBinaryData bytes(const char *s) { return (ProtobufCBinaryData){s ? strlen(s) : 0, (uint8_t *)(s ? s : "")}; }

const char *proto_printf(struct proto *b, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		die_errno(EX_SYSTEM, "memory");
	va_end(ap);
	const char *kept = arena_str(b->arena, s);
	free(s);
	return kept;
}

/* ---- nodes ---- */

const char *proto_node(struct proto *b, const char *op, const char *result, size_t n, const char *const *in)
{
	Onnx__NodeProto *p = ARENA_NEW(b->arena, Onnx__NodeProto);
	const char *slash = strrchr(result, '/');

	*p = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
	p->op_type = bytes(*op == '.' ? op + 1 : op);
	p->domain = bytes(*op == '.' ? "com.microsoft" : "");
	p->name = bytes(slash && slash != result ? arena_printf(b->arena, "%.*s", (int)(slash - result), result) : result);
	p->input = ARENA_ARRAY(b->arena, ProtobufCBinaryData, n + 1);
	for (size_t i = 0; i < n; i++)
		p->input[p->n_input++] = bytes(in[i]);
	vec_push(&b->node, p);
	proto_result(b, result);
	return result;
}

void proto_result(struct proto *b, const char *name)
{
	Onnx__NodeProto *p = b->node.a[b->node.n - 1];
	ProtobufCBinaryData *more = ARENA_ARRAY(b->arena, ProtobufCBinaryData, p->n_output + 1);

	for (size_t i = 0; i < p->n_output; i++)
		more[i] = p->output[i];
	more[p->n_output++] = bytes(name);
	p->output = more;
}

static Onnx__AttributeProto *attribute(struct proto *b, const char *name, int type)
{
	Onnx__NodeProto *p = b->node.a[b->node.n - 1];
	Onnx__AttributeProto **more = ARENA_ARRAY(b->arena, Onnx__AttributeProto *, p->n_attribute + 1), *a;

	for (size_t i = 0; i < p->n_attribute; i++)
		more[i] = p->attribute[i];
	more[p->n_attribute++] = a = ARENA_NEW(b->arena, Onnx__AttributeProto);
	p->attribute = more;
	*a = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
	a->has_name = a->has_type = true;
	a->name = bytes(name);
	a->type = type;
	return a;
}

void proto_int(struct proto *b, const char *name, int64_t v)
{
	Onnx__AttributeProto *a = attribute(b, name, KIND_INT);

	a->has_i = true;
	a->i = v;
}

void proto_ints(struct proto *b, const char *name, size_t n, const int64_t *v)
{
	Onnx__AttributeProto *a = attribute(b, name, KIND_INTS);

	a->n_ints = n;
	a->ints = arena_copy(b->arena, v, n * sizeof *v);
}

void proto_float(struct proto *b, const char *name, double v)
{
	Onnx__AttributeProto *a = attribute(b, name, KIND_FLOAT);

	a->has_f = true;
	a->f = (float)v;
}

/* ---- constants ---- */

static Onnx__TensorProto *constant(struct proto *b, const char *name, enum dtype t, int rank, const int64_t *dims)
{
	Onnx__TensorProto *p = ARENA_NEW(b->arena, Onnx__TensorProto);

	*p = (Onnx__TensorProto)ONNX__TENSOR_PROTO__INIT;
	p->name = bytes(name);
	p->has_name = p->has_data_type = true;
	p->data_type = dtype_to_onnx(t);
	p->n_dims = (size_t)rank;
	p->dims = arena_copy(b->arena, dims, (size_t)rank * sizeof *dims);
	vec_push(&b->init, p);
	return p;
}

const char *proto_const_ints(struct proto *b, const char *name, int rank, size_t n, const int64_t *v)
{
	Onnx__TensorProto *p = constant(b, name, DT_I64, rank, (int64_t[]){(int64_t)n});

	p->n_int64_data = n;
	p->int64_data = arena_copy(b->arena, v, n * sizeof *v);
	return name;
}

const char *proto_const_float(struct proto *b, const char *name, double v)
{
	Onnx__TensorProto *p = constant(b, name, DT_F32, 0, NULL);
	float f = (float)v;

	p->n_float_data = 1;
	p->float_data = arena_copy(b->arena, &f, sizeof f);
	return name;
}

const char *proto_const_file(struct proto *b, const char *name, enum dtype t, int rank, const int64_t *dims, uint64_t offset,
			     uint64_t length)
{
	Onnx__TensorProto *p = constant(b, name, t, rank, dims);

	p->has_raw_offset = p->has_raw_length = true;
	p->raw_offset = offset;
	p->raw_length = length;
	return name;
}

const char *proto_const_made(struct proto *b, const char *name, enum dtype t, int rank, const int64_t *dims, struct made m)
{
	Onnx__TensorProto *p = constant(b, name, t, rank, dims);

	p->has_data_location = p->has_raw_offset = true;
	p->data_location = DATA_MADE;
	p->raw_offset = b->made.n;
	vec_push(&b->made, m);
	return name;
}

/* ---- inputs and outputs ---- */

static Onnx__ValueInfoProto *value_info(struct proto *b, const char *name, enum dtype t, int rank, const char *const *names,
					const int64_t *dims)
{
	Onnx__ValueInfoProto *p = ARENA_NEW(b->arena, Onnx__ValueInfoProto);
	Onnx__TypeProto *type = ARENA_NEW(b->arena, Onnx__TypeProto);
	Onnx__TypeProto__Tensor *tensor = ARENA_NEW(b->arena, Onnx__TypeProto__Tensor);
	Onnx__TensorShapeProto *shape = ARENA_NEW(b->arena, Onnx__TensorShapeProto);

	*p = (Onnx__ValueInfoProto)ONNX__VALUE_INFO_PROTO__INIT;
	*type = (Onnx__TypeProto)ONNX__TYPE_PROTO__INIT;
	*tensor = (Onnx__TypeProto__Tensor)ONNX__TYPE_PROTO__TENSOR__INIT;
	*shape = (Onnx__TensorShapeProto)ONNX__TENSOR_SHAPE_PROTO__INIT;
	p->has_name = tensor->has_elem_type = true;
	p->name = bytes(name);
	p->type = type;
	type->tensor_type = tensor;
	tensor->elem_type = dtype_to_onnx(t);
	tensor->shape = shape;
	shape->n_dim = (size_t)rank;
	shape->dim = ARENA_ARRAY(b->arena, Onnx__TensorShapeProto__Dimension *, rank);
	for (int k = 0; k < rank; k++) {
		Onnx__TensorShapeProto__Dimension *d = shape->dim[k] = ARENA_NEW(b->arena, Onnx__TensorShapeProto__Dimension);
		*d = (Onnx__TensorShapeProto__Dimension)ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT;
		d->has_dim_param = names[k] != NULL;
		d->has_dim_value = !names[k];
		d->dim_param = bytes(names[k]);
		d->dim_value = dims[k];
	}
	return p;
}

void proto_input(struct proto *b, const char *name, enum dtype t, int rank, const char *const *names, const int64_t *dims)
{
	vec_push(&b->in, value_info(b, name, t, rank, names, dims));
}

void proto_output(struct proto *b, const char *name, enum dtype t, int rank, const char *const *names, const int64_t *dims)
{
	vec_push(&b->out, value_info(b, name, t, rank, names, dims));
}

/* ---- the whole ---- */

/* v's elements move into the arena; v is empty then. */
#define MOVE(b, count, to, v) ((count) = (v)->n, (to) = arena_copy((b)->arena, (v)->a, (v)->n * sizeof *(v)->a), vec_free(v))

struct gguf_model proto_model(struct proto *b, const char *name, int64_t opset)
{
	struct gguf_model m = {ARENA_NEW(b->arena, Onnx__ModelProto)};
	Onnx__GraphProto *g = ARENA_NEW(b->arena, Onnx__GraphProto);

	*m.proto = (Onnx__ModelProto)ONNX__MODEL_PROTO__INIT;
	*g = (Onnx__GraphProto)ONNX__GRAPH_PROTO__INIT;
	m.proto->has_ir_version = g->has_name = true;
	m.proto->ir_version = IR_VERSION;
	m.proto->graph = g;
	g->name = bytes(name);
	MOVE(b, g->n_node, g->node, &b->node);
	MOVE(b, g->n_initializer, g->initializer, &b->init);
	MOVE(b, g->n_input, g->input, &b->in);
	MOVE(b, g->n_output, g->output, &b->out);
	MOVE(b, m.nmade, m.made, &b->made);
	m.proto->opset_import = ARENA_ARRAY(b->arena, Onnx__OperatorSetIdProto *, 2);
	for (int i = 0; i < 2; i++) {
		Onnx__OperatorSetIdProto *o = ARENA_NEW(b->arena, Onnx__OperatorSetIdProto);
		*o = (Onnx__OperatorSetIdProto)ONNX__OPERATOR_SET_ID_PROTO__INIT;
		o->has_domain = o->has_version = true;
		o->domain = bytes(i ? "com.microsoft" : "");
		o->version = i ? 1 : opset;
		m.proto->opset_import[m.proto->n_opset_import++] = o;
	}
	return m;
}
