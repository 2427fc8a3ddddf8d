/* Tensors, types and attributes as messages. */
#include <stdio.h>
#include <stdlib.h>
#include "common/outfile.h"
#include "onnx/attribute.h"
#include "graph/module.h"
#include "onnx/export.h"
#include "onnx/names.h"

#define NEW(x, T, init) ((T *)memcpy(arena_alloc(&(x)->arena, sizeof(T)), &(T)init, sizeof(T)))

ProtobufCBinaryData proto_name(sym y) { return (ProtobufCBinaryData){sym_len(y), (uint8_t *)sym_str(y)}; }

ProtobufCBinaryData proto_text(struct exporter *x, const char *s)
{
	return (ProtobufCBinaryData){strlen(s), (uint8_t *)arena_str(&x->arena, s)};
}

static void set_name(ProtobufCBinaryData *to, protobuf_c_boolean *has, sym y)
{
	*to = proto_name(y);
	*has = true;
}

static Onnx__StringStringEntryProto *entry(struct exporter *x, const char *key, const char *value)
{
	Onnx__StringStringEntryProto *e = NEW(x, Onnx__StringStringEntryProto, ONNX__STRING_STRING_ENTRY_PROTO__INIT);
	e->key = proto_text(x, key);
	e->value = proto_text(x, value);
	e->has_key = e->has_value = true;
	return e;
}

static void put_external(struct exporter *x, Onnx__TensorProto *p, const void *data, size_t n)
{
	static const char zeros[4096];
	uint64_t align = n >= 1 << 20 ? sizeof zeros : 64, gap = -x->external_at % align;
	fwrite(zeros, 1, gap, x->external_file);
	x->external_at += gap;
	p->external_data = ARENA_ARRAY(&x->arena, Onnx__StringStringEntryProto *, 3);
	p->external_data[p->n_external_data++] = entry(x, "location", x->external);
	p->external_data[p->n_external_data++] = entry(x, "offset", arena_printf(&x->arena, "%llu", (unsigned long long)x->external_at));
	p->external_data[p->n_external_data++] = entry(x, "length", arena_printf(&x->arena, "%zu", n));
	p->data_location = 1;
	p->has_data_location = true;
	fwrite(data, 1, n, x->external_file);
	mapping_forget(data, n);
	x->external_at += n;
}

static void put_strings(struct exporter *x, Onnx__TensorProto *p, struct tensor *t)
{
	const unsigned char *at = tensor_data(x->m, t);
	p->n_string_data = (size_t)tensor_count(t);
	p->string_data = ARENA_ARRAY(&x->arena, ProtobufCBinaryData, p->n_string_data + 1);
	for (size_t i = 0; i < p->n_string_data; i++) {
		uint32_t n;
		memcpy(&n, at, 4);
		p->string_data[i] = (ProtobufCBinaryData){n, (uint8_t *)at + 4};
		at += 4 + n;
	}
	x->inside += t->nbytes;
}

/* Elements of fewer than 8 bits as one stream of bits, the first lowest. */
static const void *packed(struct exporter *x, const struct tensor *t, const uint8_t *one, size_t *n)
{
	size_t bits = (size_t)dtype_bits(t->dtype);
	uint8_t *all = arena_alloc(&x->arena, (t->nbytes * bits + 7) / 8 + 1);

	*n = (t->nbytes * bits + 7) / 8;
	for (size_t i = 0; i < t->nbytes; i++) {
		size_t at = i * bits;
		unsigned v = (one[i] & ((1u << bits) - 1)) << at % 8;
		all[at / 8] |= (uint8_t)v;
		if (v >> 8)
			all[at / 8 + 1] |= (uint8_t)(v >> 8);
	}
	return all;
}

/* The bytes of n integers as varints, in which small ones take fewer than eight. */
static size_t varints(const int64_t *v, size_t n)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += (size_t)(63 - __builtin_clzll((uint64_t)v[i] | 1)) / 7 + 1;
	return bytes;
}

/* Integers whose varints are half as long and less are written so. */
static bool put_varints(struct exporter *x, Onnx__TensorProto *p, const struct tensor *t, const void *data)
{
	size_t n = t->nbytes / sizeof(int64_t), bytes;
	int64_t *v;

	if (t->dtype != DT_I64 || !n)
		return false;
	v = arena_copy(&x->arena, data, t->nbytes);
	bytes = varints(v, n);
	if (bytes > t->nbytes / 2)
		return false;
	p->n_int64_data = n;
	p->int64_data = v;
	x->inside += bytes;
	return true;
}

Onnx__TensorProto *proto_tensor(struct exporter *x, sym name, struct tensor *t)
{
	Onnx__TensorProto *p = NEW(x, Onnx__TensorProto, ONNX__TENSOR_PROTO__INIT);
	if (name)
		set_name(&p->name, &p->has_name, name);
	p->n_dims = (size_t)t->rank;
	p->dims = t->dims;
	p->data_type = dtype_to_onnx(t->dtype);
	p->has_data_type = true;
	if (t->dtype == DT_STR) {
		put_strings(x, p, t);
		return p;
	}
	const void *data = tensor_verified(x->m, t);
	size_t n = t->nbytes;
	if (dtype_bits(t->dtype) < 8)
		data = packed(x, t, data, &n);
	if (name && x->external_file && n >= EXTERNAL_MIN) {
		put_external(x, p, data, n);
		return p;
	}
	if (put_varints(x, p, t, data))
		return p;
	mapping_forget(data, n); /* they are read again when they are written */
	p->raw_data = (ProtobufCBinaryData){n, (uint8_t *)data};
	p->has_raw_data = true;
	x->inside += n;
	return p;
}

/* Is d no number and of sizes that have names? Then it is said by them. */
static bool has_name(const struct exporter *x, dim d)
{
	if (d == POLY_UNKNOWN || poly_is_const(x->m->dims, d, NULL))
		return false;
	for (size_t i = 0; i < x->unnamed.n; i++)
		if (poly_uses(x->m->dims, d, x->unnamed.a[i]))
			return false;
	return true;
}

static Onnx__TypeProto__Tensor *tensor_type_of(struct exporter *x, int elem, const struct type *t)
{
	Onnx__TypeProto__Tensor *p = NEW(x, Onnx__TypeProto__Tensor, ONNX__TYPE_PROTO__TENSOR__INIT);
	p->elem_type = elem;
	p->has_elem_type = true;
	if (!t || t->rank < 0)
		return p;
	p->shape = NEW(x, Onnx__TensorShapeProto, ONNX__TENSOR_SHAPE_PROTO__INIT);
	p->shape->n_dim = (size_t)t->rank;
	p->shape->dim = ARENA_ARRAY(&x->arena, Onnx__TensorShapeProto__Dimension *, t->rank + 1);
	for (int i = 0; i < t->rank; i++) {
		Onnx__TensorShapeProto__Dimension *d = p->shape->dim[i] =
			NEW(x, Onnx__TensorShapeProto__Dimension, ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT);
		int64_t c;
		poly_var v;
		if (poly_is_const(x->m->dims, t->dims[i], &c)) {
			d->dim_value = c;
			d->has_dim_value = true;
		} else if (has_name(x, t->dims[i])) {
			v = poly_is_var(x->m->dims, t->dims[i]); /* as it is, whatever is in it */
			d->dim_param =
				v ? proto_name(poly_var_name(x->m->dims, v)) : proto_text(x, poly_str(x->m->dims, t->dims[i], &x->arena));
			d->has_dim_param = true;
		}
	}
	return p;
}

/* seq(tensor(float)) and the like, the tensors of the shape that type says. *s moves behind what was read; NULL: not such a text. */
static Onnx__TypeProto *type_of_text(struct exporter *x, const char **s, const struct type *type)
{
	Onnx__TypeProto *p = NEW(x, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
	size_t n = strcspn(*s, "(");
	const char *head = *s;
	if (!head[n])
		return NULL;
	*s += n + 1;
#define IS(word) (n == sizeof word - 1 && !memcmp(head, word, n))
	if (IS("tensor") || IS("sparse_tensor")) {
		size_t k = strcspn(*s, ")");
		Onnx__TypeProto__Tensor *t = tensor_type_of(x, onnx_type_number(*s, k), type);
		*s += k;
		*(IS("tensor") ? &p->tensor_type : &p->sparse_tensor_type) = t;
	} else if (IS("seq") || IS("optional")) {
		Onnx__TypeProto__Wrapped *w = NEW(x, Onnx__TypeProto__Wrapped, ONNX__TYPE_PROTO__WRAPPED__INIT);
		w->elem_type = type_of_text(x, s, type);
		if (!w->elem_type)
			return NULL;
		*(IS("seq") ? &p->sequence_type : &p->optional_type) = w;
	} else if (IS("map")) {
		size_t k = strcspn(*s, ",");
		p->map_type = NEW(x, Onnx__TypeProto__Map, ONNX__TYPE_PROTO__MAP__INIT);
		p->map_type->key_type = onnx_type_number(*s, k);
		p->map_type->has_key_type = true;
		*s += (*s)[k] ? k + 1 : k;
		p->map_type->value_type = type_of_text(x, s, type);
		if (!p->map_type->value_type)
			return NULL;
	} else {
		return NULL;
	}
	if (**s != ')')
		return NULL;
	++*s;
	return p;
}

Onnx__TypeProto *proto_type(struct exporter *x, const struct type *t)
{
	if (t->other) {
		const char *s = sym_str(t->other);
		return type_of_text(x, &s, t);
	}
	if (t->dtype == DT_NONE)
		return NULL;
	Onnx__TypeProto *p = NEW(x, Onnx__TypeProto, ONNX__TYPE_PROTO__INIT);
	p->tensor_type = tensor_type_of(x, dtype_to_onnx(t->dtype), t);
	return p;
}

Onnx__ValueInfoProto *proto_value_info(struct exporter *x, sym name, const struct type *t)
{
	Onnx__ValueInfoProto *p = NEW(x, Onnx__ValueInfoProto, ONNX__VALUE_INFO_PROTO__INIT);
	set_name(&p->name, &p->has_name, name);
	p->type = proto_type(x, t);
	return p;
}

static Onnx__AttributeProto *new_attr(struct exporter *x, sym name, int type)
{
	Onnx__AttributeProto *p = NEW(x, Onnx__AttributeProto, ONNX__ATTRIBUTE_PROTO__INIT);
	set_name(&p->name, &p->has_name, name);
	p->type = type;
	p->has_type = true;
	return p;
}

Onnx__AttributeProto *proto_attr_int(struct exporter *x, const char *name, int64_t v)
{
	Onnx__AttributeProto *p = new_attr(x, intern(name), ONNX_INT);
	p->i = v;
	p->has_i = true;
	return p;
}

Onnx__AttributeProto *proto_attr_graph(struct exporter *x, const char *name, Onnx__GraphProto *g)
{
	Onnx__AttributeProto *p = new_attr(x, intern(name), ONNX_GRAPH);
	p->g = g;
	return p;
}

Onnx__AttributeProto *proto_attr(struct exporter *x, const struct attr *a)
{
	static const int types[] = {
		[ATTR_INT] = ONNX_INT,       [ATTR_FLOAT] = ONNX_FLOAT,  [ATTR_STR] = ONNX_STRING,    [ATTR_INTS] = ONNX_INTS,
		[ATTR_FLOATS] = ONNX_FLOATS, [ATTR_STRS] = ONNX_STRINGS, [ATTR_TENSOR] = ONNX_TENSOR, [ATTR_GRAPHS] = ONNX_GRAPHS,
		[ATTR_GRAPH] = ONNX_GRAPH,   [ATTR_TYPE] = ONNX_TYPE};
	Onnx__AttributeProto *p = new_attr(x, a->name, types[a->kind]);
	switch (a->kind) {
	case ATTR_INT: p->i = a->u.i, p->has_i = true; break;
	case ATTR_FLOAT: p->f = a->u.f, p->has_f = true; break;
	case ATTR_STR: p->s = (ProtobufCBinaryData){a->n, (uint8_t *)a->u.s}, p->has_s = true; break;
	case ATTR_INTS: p->n_ints = a->n, p->ints = (int64_t *)a->u.ints; break;
	case ATTR_FLOATS: p->n_floats = a->n, p->floats = (float *)a->u.floats; break;
	case ATTR_STRS:
		p->n_strings = a->n;
		p->strings = ARENA_ARRAY(&x->arena, ProtobufCBinaryData, a->n + 1);
		for (uint32_t i = 0; i < a->n; i++)
			p->strings[i] = proto_name(a->u.strs[i]);
		break;
	case ATTR_TENSOR: p->t = proto_tensor(x, 0, a->u.tensor); break;
	case ATTR_TYPE: p->tp = proto_type(x, a->u.type); break;
	}
	return p;
}
