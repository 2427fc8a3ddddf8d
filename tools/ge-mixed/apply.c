/* Nodes get their forms. */
#include "mixed.h"
#include "op/op.h"
#include "op/rules.h"

static uint32_t maker_of(struct mixed *x, val_id v) { return val(x->m, v)->kind == VAL_NODE ? x->of[val(x->m, v)->def] : 0; }

/* ---- a quantised model ---- */

/* Result of node d with `code` in the place of its first operand, or with that operand where code is NULL; 0: d is not of constants. */
static val_id dequantised(struct mixed *x, node_id d, struct tensor *code)
{
	struct module *m = x->m;
	struct tensor *in[3] = {code}, *out[1];

	for (uint32_t i = code != NULL; i < node(m, d)->nin; i++) {
		if (node(m, d)->in[i] && !(in[i] = node_const(m, node(m, d), i)))
			return 0;
		if (in[i])
			tensor_data(m, in[i]);
	}
	const char *why = eval_node(m, d, in, out, &m->arena);
	if (why)
		graph_die(m, d, "%s", why);
	return const_tensor(m, code ? 0 : val(m, node(m, d)->out[0])->name, out[0]);
}

/* The weight that v is, in floats; 0: v is none. */
static val_id plain_weight(struct mixed *x, val_id v)
{
	node_id d = val(x->m, v)->kind == VAL_NODE ? val(x->m, v)->def : 0;

	return d && node(x->m, d)->op == OP_DequantizeLinear ? dequantised(x, d, NULL) : 0;
}

/* ---- a quantised model: products of codes in f32, every quantiser stays ----
 *
 * A product in f32 gets f32 weights, and what it reads is dequantised in nodes of floats, so ge-integer takes neither. These nodes join
 * the kernel that makes the codes where nobody else reads them, and are a kernel of their own else: a product reads each element often. */

struct arithmetic {
	struct mixed *x;
	val_id *weight, *spelled; /* by value: what stands in its place; 0: not made */
};

static bool is_high(struct mixed *x, node_id id) { return x->of[id] && !x->is_low[x->of[id]]; }

/* v is dequantised from computed codes by one scale. */
static bool reads_codes(struct mixed *x, val_id v)
{
	node_id d = v && v < x->uses_values && val(x->m, v)->kind == VAL_NODE ? val(x->m, v)->def : 0;

	return d && node(x->m, d)->op == OP_DequantizeLinear && is_per_tensor(x, node(x->m, d)) &&
	       val(x->m, node(x->m, d)->in[0])->kind != VAL_CONST;
}

static val_id float_node(struct mixed *x, enum opcode op, const struct type *t, int nin, const val_id *in)
{
	node_id n = node_new(x->m, x->m->main, op, nin, in, 1);
	val_id y = node(x->m, n)->out[0];

	if (op == OP_Cast)
		attr_set_int(x->m, n, "to", dtype_to_onnx(DT_F32));
	val(x->m, y)->type = *t;
	return y;
}

/* (q - zero) * scale, the bits of DequantizeLinear d. */
static val_id spelled(struct mixed *x, node_id d)
{
	struct module *m = x->m;
	struct type t = val(m, node(m, d)->out[0])->type;
	val_id scale = node(m, d)->in[1], zero = node(m, d)->nin > 2 ? node(m, d)->in[2] : 0;
	val_id y = float_node(x, OP_Cast, &t, 1, (val_id[]){node(m, d)->in[0]});

	if (zero) {
		struct tensor *code = tensor_new(&m->arena, DT_F32, 0, NULL);
		tensor_data(m, val(m, zero)->tensor);
		tensor_set(code, 0, tensor_get(val(m, zero)->tensor, 0));
		y = float_node(x, OP_Sub, &t, 2, (val_id[]){y, const_tensor(m, 0, code)});
	}
	return float_node(x, OP_Mul, &t, 2, (val_id[]){y, scale});
}

/* The operands that product id multiplies. */
static void spell_operands(struct arithmetic *a, node_id id)
{
	for (uint32_t k = 0; k < 2; k++) {
		val_id v = node(a->x->m, id)->in[k];
		if (!reads_codes(a->x, v))
			continue;
		if (!a->spelled[v])
			a->spelled[v] = spelled(a->x, val(a->x->m, v)->def);
		node(a->x->m, id)->in[k] = a->spelled[v];
	}
}

static void take_weights(struct arithmetic *a, node_id id)
{
	for (uint32_t k = 0; k < node(a->x->m, id)->nin; k++) {
		val_id v = node(a->x->m, id)->in[k];
		if (v && v < a->x->uses_values && !a->weight[v])
			a->weight[v] = plain_weight(a->x, v);
		if (v && v < a->x->uses_values && a->weight[v])
			node(a->x->m, id)->in[k] = a->weight[v];
	}
}

static void apply_arithmetic(struct mixed *x)
{
	struct arithmetic a = {x, ARENA_ARRAY(x->arena, val_id, x->uses_values), ARENA_ARRAY(x->arena, val_id, x->uses_values)};
	size_t n = graph(x->m, x->m->main)->nodes.n;

	for (size_t i = 0; i < n; i++) {
		node_id id = graph(x->m, x->m->main)->nodes.a[i];
		if (is_high(x, id) && x->thing.a[x->of[id]].node == id)
			spell_operands(&a, id);
		if (is_high(x, id))
			take_weights(&a, id);
	}
	if (graph_sort(x->m, x->m->main))
		BUG("products in f32 made a cycle");
}

/* ---- a quantised model: what is high reads values as they are before QuantizeLinear, within the range of their codes ---- */

static val_id bound(struct mixed *x, node_id d, double code)
{
	struct tensor *t = tensor_new(&x->m->arena, val(x->m, node(x->m, d)->in[0])->type.dtype, 0, NULL);

	tensor_set(t, 0, code);
	return dequantised(x, d, t);
}

/* Would nothing of v saturate that is more than one code outside? */
static bool fits(struct mixed *x, val_id v, const val_id *in)
{
	enum { NODES = 8, STEPS = 255 };
	struct interval codes = {interval_of(x->m, in[1], 1).lo, interval_of(x->m, in[2], 1).hi}, is = interval_of(x->m, v, NODES);
	double step = (codes.hi - codes.lo) / STEPS;

	return is.lo >= codes.lo - step && is.hi <= codes.hi + step;
}

/* What DequantizeLinear d makes, without its being quantised: what saturated still does. A quantiser leaves out the Relu that the range of
 * codes implies. */
static val_id clipped(struct mixed *x, node_id d, val_id plain, val_id *made)
{
	struct module *m = x->m;
	enum dtype t = val(m, node(m, d)->in[0])->type.dtype;
	val_id in[] = {plain, 0, 0};

	if (made[plain])
		return made[plain];
	in[1] = bound(x, d, (double)dtype_lowest(t));
	in[2] = bound(x, d, (double)dtype_highest(t));
	if (fits(x, plain, in))
		return made[plain] = plain;
	val_id v = node(m, node_new(m, m->main, OP_Clip, 3, in, 1))->out[0];
	val(m, v)->type = val(m, plain)->type;
	return made[plain] = v;
}

/* What thing t reads instead of v. made: by value, its weight or its clipped form. */
static val_id plain_operand(struct mixed *x, uint32_t t, val_id v, val_id *made)
{
	if (!v || v >= x->uses_values || x->is_low[t])
		return v;
	if (x->plain[v] != v) {
		uint32_t maker = maker_of(x, x->plain[v]);
		return !x->is_low[maker] && (t || maker) ? clipped(x, val(x->m, v)->def, x->plain[v], made) : v;
	}
	if (t && !made[v])
		made[v] = plain_weight(x, v);
	return t && made[v] ? made[v] : v;
}

static void apply_dropped(struct mixed *x)
{
	val_id *made = ARENA_ARRAY(x->arena, val_id, x->uses_values);
	size_t n = graph(x->m, x->m->main)->nodes.n;

	for (size_t i = 0; i < n; i++) {
		node_id id = graph(x->m, x->m->main)->nodes.a[i];
		for (uint32_t k = 0; k < node(x->m, id)->nin; k++) {
			val_id v = plain_operand(x, x->of[id], node(x->m, id)->in[k], made);
			node(x->m, id)->in[k] = v;
		}
	}
	for (size_t i = 0; i < graph(x->m, x->m->main)->out.n; i++) {
		val_id v = plain_operand(x, 0, graph(x->m, x->m->main)->out.a[i], made);
		graph(x->m, x->m->main)->out.a[i] = v;
	}
	if (graph_sort(x->m, x->m->main))
		BUG("Clips made a cycle");
}

/* ---- floats: casts between the two types ---- */

/* v in the type t: by a Cast, one for all readers. */
static val_id cast(struct mixed *x, val_id v, enum dtype t, val_id *made)
{
	struct module *m = x->m;

	if (made[v])
		return made[v];
	node_id n = node_new(m, m->main, OP_Cast, 1, &v, 1);
	attr_set_int(m, n, "to", dtype_to_onnx(t));
	val_id out = node(m, n)->out[0];
	val(m, out)->type = val(m, v)->type;
	val(m, out)->type.dtype = t;
	return made[v] = out;
}

static val_id typed_operand(struct mixed *x, bool low, val_id v, val_id *down, val_id *up)
{
	if (!v || v >= x->uses_values)
		return v;
	bool is_low = x->is_low[maker_of(x, v)];
	if (!is_low && val(x->m, v)->type.dtype != DT_F32)
		return v;
	if (low == is_low)
		return v;
	return low ? cast(x, v, x->low, down) : cast(x, v, DT_F32, up);
}

static void apply_types(struct mixed *x)
{
	struct module *m = x->m;
	graph_id g = m->main;
	val_id *down = ARENA_ARRAY(x->arena, val_id, x->uses_values), *up = ARENA_ARRAY(x->arena, val_id, x->uses_values);
	size_t n = graph(m, g)->nodes.n;

	for (size_t i = 1; i < x->thing.n; i++)
		if (x->is_low[i])
			val(m, node(m, x->thing.a[i].node)->out[0])->type.dtype = x->low;
	for (size_t i = 0; i < n; i++) {
		node_id id = graph(m, g)->nodes.a[i];
		for (uint32_t k = 0; k < node(m, id)->nin; k++) {
			val_id v = typed_operand(x, x->is_low[x->of[id]], node(m, id)->in[k], down, up);
			node(m, id)->in[k] = v;
		}
	}
	for (size_t i = 0; i < graph(m, g)->out.n; i++) {
		val_id v = typed_operand(x, false, graph(m, g)->out.a[i], down, up);
		graph(m, g)->out.a[i] = v;
	}
	if (graph_sort(m, g))
		BUG("casts made a cycle");
}

void mixed_apply(struct mixed *x)
{
	if (x->low == DT_U8 && x->drops)
		apply_dropped(x);
	else if (x->low == DT_U8)
		apply_arithmetic(x);
	else
		apply_types(x);
	module_name_values(x->m);
}
