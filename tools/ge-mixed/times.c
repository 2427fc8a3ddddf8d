/* What each form of a node takes, and casts: their tasks, and what was measured of them. */
#include <math.h>
#include <string.h>
#include "mixed.h"
#include "op/op.h"
#include "op/task.h"
#include "target/rate.h"

static const char *attributes_text(struct mixed *x, const struct node *n)
{
	const char *s = "";

	for (uint32_t i = 0; i < n->nattr; i++) {
		const struct attr *a = &n->attr[i];
		const char *v;
		if (a->kind == ATTR_INT) {
			v = arena_printf(x->arena, "%lld", (long long)a->u.i);
		} else if (a->kind == ATTR_FLOAT) {
			v = arena_printf(x->arena, "%.9g", a->u.f);
		} else if (a->kind == ATTR_STR) {
			v = attr_s(n, sym_str(a->name));
		} else if (a->kind == ATTR_INTS) {
			v = "";
			for (uint32_t k = 0; k < a->n; k++)
				v = arena_printf(x->arena, "%s%s%lld", v, k ? "," : "", (long long)a->u.ints[k]);
		} else {
			continue;
		}
		s = arena_printf(x->arena, "%s%s%s=%s", s, *s ? " " : "", sym_str(a->name), v);
	}
	return *s ? arena_printf(x->arena, "{%s}", s) : "";
}

/* "1x64x56x56": images lie channels innermost, as kernels of models have them. */
static const char *shape_text(struct mixed *x, val_id v, bool image)
{
	int64_t dims[RANK_MAX];
	const struct type *t = &val(x->m, v)->type;
	const char *s = t->rank ? "" : "scalar";

	type_dims(x->m, t, dims);
	for (int i = 0; i < t->rank; i++)
		s = arena_printf(x->arena, "%s%s%lld", s, i ? "x" : "", (long long)dims[i]);
	return image && t->rank == 4 ? arena_printf(x->arena, "%s@0,2,3,1", s) : s;
}

static bool is_weight_of(struct mixed *x, val_id v)
{
	struct value *a = val(x->m, v);
	const struct node *def = a->kind == VAL_NODE ? node(x->m, a->def) : NULL;

	return a->kind == VAL_CONST || (def && def->op == OP_DequantizeLinear && val(x->m, def->in[0])->kind == VAL_CONST);
}

/* As tune-op takes it; NULL: there is no such task. */
static const char *settled(struct mixed *x, const char *text)
{
	const char *why;
	struct module *m = task_module(text, 0, x->arena, &why);

	text = m ? task_text(m, task_node(m), x->arena, &why) : NULL;
	if (m)
		module_free(m);
	return text;
}

static const char *float_task(struct mixed *x, const struct node *n, enum dtype t)
{
	bool window = op_is(n->op, OP_WINDOW);
	const char *s = arena_printf(x->arena, "%s%s %s", op_name(n->op), attributes_text(x, n), dtype_name(t));

	for (uint32_t i = 0; i < n->nin; i++)
		s = !n->in[i] ? arena_printf(x->arena, "%s _", s)
			      : arena_printf(x->arena, "%s %s%s", s, shape_text(x, n->in[i], window && !i),
					     is_weight_of(x, n->in[i]) ? "c" : "");
	return settled(x, window && val(x->m, n->out[0])->type.rank == 4 ? arena_printf(x->arena, "%s -> %%0@0,2,3,1", s) : s);
}

static const char *window_task(struct mixed *x, const struct node *n)
{
	bool image = val(x->m, n->in[0])->type.rank == 4;

	return settled(x, arena_printf(x->arena, "%s%s u8 %s i8 %sc u8=128%s", op_name(integer_form(n->op)), attributes_text(x, n),
				       shape_text(x, n->in[0], true), shape_text(x, n->in[1], false), image ? " -> %0@0,2,3,1" : ""));
}

/* The product of MatMul, or of Gemm with its operands turned. */
static const char *product_task(struct mixed *x, const struct node *n)
{
	const char *weight = is_weight_of(x, n->in[1]) ? "c" : "", *a = shape_text(x, n->in[0], false), *b = shape_text(x, n->in[1], false);
	int64_t da[RANK_MAX], db[RANK_MAX];

	type_dims(x->m, &val(x->m, n->in[0])->type, da);
	type_dims(x->m, &val(x->m, n->in[1])->type, db);
	if (n->op == OP_Gemm && attr_i(n, "transA"))
		a = arena_printf(x->arena, "%lldx%lld", (long long)da[1], (long long)da[0]);
	if (n->op == OP_Gemm && attr_i(n, "transB"))
		b = arena_printf(x->arena, "%lldx%lld", (long long)db[1], (long long)db[0]);
	return settled(x, arena_printf(x->arena, "%s u8 %s i8 %s%s u8=128", op_name(integer_form(n->op)), a, b, weight));
}

static const char *cast_task(struct mixed *x, val_id v, enum dtype low, enum form to)
{
	const char *shape = shape_text(x, v, true);

	if (low == DT_U8)
		return settled(x, to == FORM_LOW ? arena_printf(x->arena, "QuantizeLinear f32 %s =0.0625 u8=128 -> %%0%s", shape,
								strchr(shape, '@') ? "@0,2,3,1" : "")
						 : arena_printf(x->arena, "DequantizeLinear u8 %s f32=0.0625 u8=128 -> %%0%s", shape,
								strchr(shape, '@') ? "@0,2,3,1" : ""));
	return settled(x, arena_printf(x->arena, "Cast{to=%d} %s %s -> %%0%s", dtype_to_onnx(to == FORM_LOW ? low : DT_F32),
				       dtype_name(to == FORM_LOW ? DT_F32 : low), shape, strchr(shape, '@') ? "@0,2,3,1" : ""));
}

/* ---- times ---- */

/* Bytes of the narrowest operand's elements: so many of them fill a vector. */
static size_t narrowest(struct module *m, const struct node *n)
{
	size_t least = dtype_size(DT_F64);

	for (uint32_t i = 0; i < n->nin; i++) {
		size_t size = n->in[i] ? dtype_size(val(m, n->in[i])->type.dtype) : 0;
		least = size && size < least ? size : least;
	}
	return least;
}

double possible_seconds(struct module *m, node_id n, const struct target *t)
{
	enum { SAVED = 8, A_PRODUCT = 2 };
	struct target f = target_filled(t);
	double a_cycle = (double)f.vector_bytes / (double)narrowest(m, node(m, n)) * f.fma_ports * A_PRODUCT * SAVED;

	return fmax(node_flops(m, node(m, n)) / a_cycle, 1) / f.hertz;
}

static double measured(struct mixed *x, const char *task, const struct mixed_source *s)
{
	const char *why;
	struct module *m = task ? task_module(task, 0, x->arena, &why) : NULL;
	double seconds = m ? kb_seconds(s->kb, task, s->row, possible_seconds(m, task_node(m), s->target)) : 0;

	if (m)
		module_free(m);

	if (task && !(seconds > 0))
		vec_push(&x->wanted, task);
	return seconds;
}

void mixed_node_times(struct mixed *x, const struct mixed_source *s)
{
	for (size_t i = 1; i < x->thing.n; i++) {
		struct thing *t = &x->thing.a[i];
		const struct node *n = node(x->m, t->node);
		const char *low = NULL;
		if (may_be(n->op, x->low) != MAY_ALLOW)
			continue;
		if (x->low != DT_U8)
			low = float_task(x, n, x->low);
		else if (integer_form(n->op))
			low = op_is(n->op, OP_WINDOW) ? window_task(x, n) : product_task(x, n);
		t->seconds[FORM_HIGH] = measured(x, float_task(x, n, DT_F32), s);
		t->seconds[FORM_LOW] = measured(x, low, s);
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++)
			t->missing[f] = !(t->seconds[f] > 0);
	}
}

/* Read and written: a cast does nothing else. But codes are made in the kernel that makes the value, and become numbers in the one that reads
 * them: then it is some operations. */
static double cast_seconds(struct mixed *x, const struct crossing *k, const struct target *t)
{
	enum { OPERATIONS = 4 };
	struct target filled = target_filled(t);
	double rate = target_rate(t, "memory"), n = (double)type_count(x->m, &val(x->m, k->v)->type);
	double lanes = filled.vector_bytes / (double)dtype_size(DT_F32);

	if (x->low == DT_U8)
		return n * OPERATIONS / (lanes * filled.fma_ports * filled.hertz);
	return n * (double)(dtype_size(DT_F32) + dtype_size(x->low)) / (rate > 0 ? rate : filled.memory_a_cycle * filled.hertz);
}

void mixed_cast_times(struct mixed *x, const struct mixed_source *s)
{
	for (size_t i = 0; i < x->crossing.n; i++)
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++) {
			struct crossing *k = &x->crossing.a[i];
			k->seconds[f] = measured(x, cast_task(x, k->v, x->low, f), s);
			k->counted[f] = !(k->seconds[f] > 0);
			if (k->counted[f])
				k->seconds[f] = cast_seconds(x, k, s->target);
		}
}
