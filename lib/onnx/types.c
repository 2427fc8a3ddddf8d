/* TypeProto and AttributeProto. */
#include <ctype.h>
#include <string.h>
#include "onnx/attribute.h"
#include "onnx/import.h"
#include "onnx/names.h"

/* Paddle calls every size that it does not know "?", others "-1": no name, though equal ones would be equal sizes. */
static bool is_name(sym name)
{
	if (name && sym_str(name)[0] == '-' && !sym_str(name)[1 + strspn(sym_str(name) + 1, "0123456789")])
		return false;
	for (const char *s = name ? sym_str(name) : ""; *s; s++)
		if (*s == '_' || isalnum((unsigned char)*s) || (unsigned char)*s >= 0x80)
			return true;
	return false;
}

static struct type tensor_of(struct importer *c, const Onnx__TypeProto__Tensor *p)
{
	struct type t = type_none();
	t.dtype = dtype_from_onnx(p->elem_type);
	if (onnx_type_foreign(p->elem_type))
		import_unsupported(c, "element type %d (%s) is not supported", p->elem_type, onnx_type_foreign(p->elem_type));
	if (p->elem_type < 0)
		import_die(c, "element type %d is none of ONNX's", p->elem_type);
	if (!p->shape)
		return t;
	if (p->shape->n_dim > RANK_MAX)
		import_die(c, "a type of rank %zu, at most %d is supported", p->shape->n_dim, RANK_MAX);
	t.rank = (int)p->shape->n_dim;
	t.dims = ARENA_ARRAY(&c->m->arena, dim, t.rank ? t.rank : 1);
	for (int i = 0; i < t.rank; i++) {
		const Onnx__TensorShapeProto__Dimension *d = p->shape->dim[i];
		sym name = import_name(&d->dim_param);
		if (d->has_dim_value && d->dim_value >= 0)
			t.dims[i] = poly_const(c->m->dims, d->dim_value);
		else if (is_name(name) && !d->has_dim_value)
			t.dims[i] = poly_of(c->m->dims, module_symbol(c->m, name));
	}
	return t;
}

/* Elements of a sequence have sizes each of its own, whatever they are called. */
static void forget_symbols(struct importer *c, struct type *inner)
{
	for (int i = 0; i < inner->rank; i++)
		if (!poly_is_const(c->m->dims, inner->dims[i], NULL))
			inner->dims[i] = POLY_UNKNOWN;
}

/* ONNX's own notation: seq(tensor(float)). *inner: the type of the tensors inside. */
static const char *type_text(struct importer *c, const Onnx__TypeProto *t, struct type *inner)
{
	struct arena *a = &c->m->arena;
	if (t->tensor_type)
		*inner = tensor_of(c, t->tensor_type);
	if (t->tensor_type)
		return arena_printf(a, "tensor(%s)", onnx_type_name(t->tensor_type->elem_type));
	if (t->sparse_tensor_type)
		return arena_printf(a, "sparse_tensor(%s)", onnx_type_name(t->sparse_tensor_type->elem_type));
	if (t->sequence_type && t->sequence_type->elem_type)
		return arena_printf(a, "seq(%s)", type_text(c, t->sequence_type->elem_type, inner));
	if (t->optional_type && t->optional_type->elem_type)
		return arena_printf(a, "optional(%s)", type_text(c, t->optional_type->elem_type, inner));
	if (t->map_type && t->map_type->value_type)
		return arena_printf(a, "map(%s,%s)", onnx_type_name(t->map_type->key_type), type_text(c, t->map_type->value_type, inner));
	if (t->opaque_type)
		return arena_printf(a, "opaque(%s,%s)", sym_str(import_name(&t->opaque_type->domain)),
				    sym_str(import_name(&t->opaque_type->name)));
	import_die(c, "a type that says nothing");
}

struct type import_type(struct importer *c, const Onnx__TypeProto *p)
{
	struct type t = type_none();
	if (!p)
		return t;
	if (p->tensor_type)
		return tensor_of(c, p->tensor_type);
	if (!p->sequence_type && !p->optional_type && !p->map_type && !p->sparse_tensor_type && !p->opaque_type)
		return t;
	struct type inner = t;
	t.other = intern(type_text(c, p, &inner));
	if (!p->optional_type || strstr(sym_str(t.other), "seq("))
		forget_symbols(c, &inner);
	t.rank = inner.rank;
	t.dims = inner.dims;
	return t;
}

/* Which value fields are set; AttributeProto.type where files before IR 2 leave it out. */
static int field_set(struct importer *c, const Onnx__AttributeProto *a)
{
	const bool set[] = {[ONNX_FLOAT] = a->has_f,
			    [ONNX_INT] = a->has_i,
			    [ONNX_STRING] = a->has_s,
			    [ONNX_TENSOR] = a->t,
			    [ONNX_GRAPH] = a->g,
			    [ONNX_FLOATS] = a->n_floats,
			    [ONNX_INTS] = a->n_ints,
			    [ONNX_STRINGS] = a->n_strings,
			    [ONNX_TENSORS] = a->n_tensors,
			    [ONNX_GRAPHS] = a->n_graphs,
			    [ONNX_SPARSE] = a->sparse_tensor,
			    [ONNX_SPARSES] = a->n_sparse_tensors,
			    [ONNX_TYPE] = a->tp,
			    [ONNX_TYPES] = a->n_type_protos};
	int found = 0;
	for (int k = 1; k <= ONNX_TYPES; k++) {
		if (!set[k])
			continue;
		if (found)
			import_die(c, "attribute '%s' has two values", sym_str(import_name(&a->name)));
		found = k;
	}
	return found;
}

enum attr_kind import_attr_kind(struct importer *c, const Onnx__AttributeProto *a)
{
	static const uint8_t kinds[] = {
		[ONNX_FLOAT] = ATTR_FLOAT,   [ONNX_INT] = ATTR_INT,       [ONNX_STRING] = ATTR_STR, [ONNX_TENSOR] = ATTR_TENSOR,
		[ONNX_GRAPH] = ATTR_GRAPH,   [ONNX_FLOATS] = ATTR_FLOATS, [ONNX_INTS] = ATTR_INTS,  [ONNX_STRINGS] = ATTR_STRS,
		[ONNX_GRAPHS] = ATTR_GRAPHS, [ONNX_SPARSE] = ATTR_TENSOR, [ONNX_TYPE] = ATTR_TYPE};
	const char *name = sym_str(import_name(&a->name));
	int set = field_set(c, a), type = a->has_type && a->type ? a->type : set;
	if (!*name)
		import_die(c, "an attribute without a name");
	if (type <= 0 || type > ONNX_TYPES)
		import_die(c, "attribute '%s' has no value", name);
	if (set && set != type)
		import_die(c, "attribute '%s' says it is of type %d and has a value of type %d", name, type, set);
	if ((type == ONNX_TENSOR && !a->t) || (type == ONNX_GRAPH && !a->g) || (type == ONNX_SPARSE && !a->sparse_tensor) ||
	    (type == ONNX_TYPE && !a->tp))
		import_die(c, "attribute '%s' has no value", name);
	if (type == ONNX_TENSORS || type == ONNX_SPARSES || type == ONNX_TYPES)
		import_unsupported(c, "attribute '%s' is a list of tensors or types, which is not supported", name);
	return kinds[type];
}

void import_attr(struct importer *c, const Onnx__AttributeProto *a, struct attr *out)
{
	struct arena *ar = &c->m->arena;
	out->kind = (uint8_t)import_attr_kind(c, a);
	switch (out->kind) {
	case ATTR_INT: out->u.i = a->i; break;
	case ATTR_FLOAT: out->u.f = a->f; break;
	case ATTR_STR: {
		char *s = arena_alloc(ar, a->s.len + 1);
		memcpy(s, a->s.len ? (char *)a->s.data : "", a->s.len);
		out->n = (uint32_t)a->s.len;
		out->u.s = s;
		break;
	}
	case ATTR_INTS:
		out->n = (uint32_t)a->n_ints;
		out->u.ints = arena_copy(ar, a->ints, a->n_ints * sizeof *a->ints);
		break;
	case ATTR_FLOATS:
		out->n = (uint32_t)a->n_floats;
		out->u.floats = arena_copy(ar, a->floats, a->n_floats * sizeof *a->floats);
		break;
	case ATTR_STRS: {
		sym *s = ARENA_ARRAY(ar, sym, a->n_strings + 1);
		for (size_t i = 0; i < a->n_strings; i++) {
			if (a->strings[i].len && memchr(a->strings[i].data, 0, a->strings[i].len))
				import_unsupported(c, "attribute '%s' has a string with a NUL within, which is not supported",
						   sym_str(import_name(&a->name)));
			s[i] = import_name(&a->strings[i]);
		}
		out->n = (uint32_t)a->n_strings;
		out->u.strs = s;
		break;
	}
	case ATTR_TENSOR: out->u.tensor = a->t ? import_tensor(c, a->t) : import_sparse(c, a->sparse_tensor); break;
	case ATTR_TYPE: {
		struct type *t = ARENA_NEW(ar, struct type);
		*t = import_type(c, a->tp);
		out->u.type = t;
		break;
	}
	}
}
