/* The table of rows, and a node on the way back. */
#include "grad/rows.h"

typedef val_id rule(struct chain *c, int i);
static rule *const rules[OP_COUNT] = {
#define X(op, rule) [OP_##op] = grad_by_##rule,
	GRAD_RULES(X)
#undef X
};

/* Constant between jumps, or no numbers that change smoothly. */
static const bool flat[OP_COUNT] = {
	[OP_And] = true,     [OP_ArgMax] = true,  [OP_ArgMin] = true, [OP_Ceil] = true,    [OP_ConstantOfShape] = true,
	[OP_Equal] = true,   [OP_EyeLike] = true, [OP_Floor] = true,  [OP_Greater] = true, [OP_GreaterOrEqual] = true,
	[OP_Hardmax] = true, [OP_IsInf] = true,   [OP_IsNaN] = true,  [OP_Less] = true,    [OP_LessOrEqual] = true,
	[OP_NonZero] = true, [OP_Not] = true,     [OP_OneHot] = true, [OP_Or] = true,      [OP_Round] = true,
	[OP_Shape] = true,   [OP_Sign] = true,    [OP_Size] = true,   [OP_Xor] = true,
};

bool grad_knows(enum opcode op) { return rules[op]; }

bool grad_is_flat(const struct node *n)
{
	enum dtype to = n->op == OP_Cast ? dtype_from_onnx((int)attr_i(n, "to")) : DT_F32;

	return flat[n->op] || !dtype_is_float(to);
}

bool grad_is_setting(enum opcode op, uint32_t i)
{
	if (op == OP_BatchNormalization)
		return i >= 3;
	return i > 0 && (op == OP_Clip || op == OP_Dropout || op == OP_Pad || op == OP_Resize);
}

static val_id stands(const struct grad *d, val_id v) { return v && d->is && v < d->nvalues && d->is[v] ? d->is[v] : v; }

static bool wanted(const struct grad *d, const struct node *n, uint32_t i)
{
	return n->in[i] && n->in[i] < d->nvalues && d->active[n->in[i]];
}

bool grad_back(struct grad *d, node_id id)
{
	struct module *m = d->m;
	struct node n = *node(m, id); /* the array grows */
	val_id *in = ARENA_ARRAY(&m->arena, val_id, n.nin + 2), *out = ARENA_ARRAY(&m->arena, val_id, n.nout + 1),
	       *gs = ARENA_ARRAY(&m->arena, val_id, n.nout + 1);
	bool any = false;

	d->why = NULL;
	for (uint32_t i = 0; i < n.nin; i++)
		in[i] = stands(d, n.in[i]);
	for (uint32_t k = 0; k < n.nout; k++) {
		out[k] = stands(d, n.out[k]);
		gs[k] = n.out[k] && n.out[k] < d->nvalues ? d->sum[n.out[k]] : 0;
		any |= gs[k] != 0;
	}
	if (!any || grad_is_flat(&n))
		return true;
	struct chain c = {.d = d, .n = &n, .id = id, .in = in, .out = out, .gs = gs, .a = in[0], .b = in[1], .y = out[0], .g = gs[0]};
	c.t = out[0] ? grad_type(d, out[0])->dtype : DT_NONE;
	for (uint32_t k = 1; k < n.nout && n.op != OP_Split; k++)
		if (gs[k])
			return false;
	for (uint32_t i = 0; i < n.nin; i++) {
		if (!wanted(d, &n, i))
			continue;
		bool floats = c.t == DT_F32 || c.t == DT_F64 || c.t == DT_F16 || c.t == DT_BF16;
		val_id g = rules[n.op] && floats ? rules[n.op](&c, (int)i) : 0;
		g = g ? grad_as_large(d, g, in[i]) : 0;
		if (!g)
			return false;
		val_id *sum = &d->sum[n.in[i]];
		*sum = *sum ? grad_make(d, OP_Add, 2, (val_id[]){*sum, g}) : g;
	}
	return true;
}
