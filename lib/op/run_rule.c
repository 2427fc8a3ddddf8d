/* The shape rule of an operator in a run, where each extent is a number. */
#include <stdlib.h>
#include "op/rules.h"
#include "op/run_rule.h"

struct run_rule {
	struct polys *P; /* of extents alone; made anew when it has grown */
	unsigned uses;
};
enum { USES_MAX = 1 << 12 };

static __thread struct run_rule now;

void run_rules_end(void)
{
	polys_free(now.P);
	now = (struct run_rule){0};
}

static struct polys *extents(void)
{
	if (now.uses++ >= USES_MAX)
		run_rules_end();
	if (!now.P)
		now.P = polys_new();
	return now.P;
}

/* May the rule say more than it said before the run? Not where it knew all extents, and the elements that decide. */
static bool knows_more(struct module *m, const struct node *n)
{
	for (uint32_t i = 0; i < n->nin; i++) {
		const struct value *v = n->in[i] ? val(m, n->in[i]) : NULL;
		if (v && !v->type.other && v->kind != VAL_CONST && (!type_static(m, &v->type) || dtype_is_int(v->type.dtype)))
			return true;
	}
	return false;
}

static struct type type_of(struct infer *I, const struct value *v, const struct tensor *t)
{
	struct type x = {.dtype = t->dtype, .rank = t->rank};

	if (t->kind != KIND_TENSOR)
		return (struct type){.rank = RANK_UNKNOWN, .other = v->type.other};
	x.dims = rule_dims(I, t->rank);
	for (int k = 0; k < t->rank; k++)
		x.dims[k] = rule_const(I, t->dims[k]);
	return x;
}

/* The elements of integers, as shape inference follows them. */
static struct known known_of(struct infer *I, const struct tensor *t)
{
	int64_t n = t->kind == KIND_TENSOR && (dtype_is_int(t->dtype) || t->dtype == DT_BOOL) ? tensor_count(t) : 0;
	poly *e;

	if (!n || n > KNOWN_MAX || !t->data)
		return (struct known){0};
	e = rule_dims(I, (int)n);
	for (int64_t i = 0; i < n; i++)
		e[i] = t->dtype == DT_U64 && tensor_get_int(t, i) < 0 ? POLY_UNKNOWN : rule_const(I, tensor_get_int(t, i));
	return (struct known){.yes = true, .n = (int)n, .e = e};
}

const char *run_rule(struct module *m, node_id id, struct tensor *const *in, struct arena *a)
{
	static dim no_dims[1];
	const struct node *n = node(m, id);
	const struct op *row = op_row(n->op);
	struct module here; /* what rules make is gone with the run */
	const char *why;

	if (op_is(n->op, OP_CONTROL) || op_is(n->op, OP_CALL) || !knows_more(m, n))
		return NULL;
	here = *m;
	here.arena = *a;
	here.dims = extents();
	struct type *t = ARENA_ARRAY(&here.arena, struct type, n->nin + n->nout);
	struct known *k = ARENA_ARRAY(&here.arena, struct known, n->nin + n->nout);
	struct infer I = {.m = &here, .id = id, .n = n, .in = t, .kin = k, .out = t + n->nin, .kout = k + n->nin};
	for (uint32_t i = 0; i < n->nin; i++) {
		t[i] = in[i] ? type_of(&I, val(m, n->in[i]), in[i]) : type_none();
		t[i].dims = t[i].dims ? t[i].dims : no_dims;
		k[i] = in[i] ? known_of(&I, in[i]) : (struct known){0};
	}
	for (uint32_t i = 0; i < n->nout; i++)
		I.out[i] = type_none();
	why = demand_check(&I);
	if (!why && row && row->shape)
		why = row->shape(&I);
	for (uint32_t i = 0; i < n->nout && !why; i++)
		why = type_impossible(&here, "result", i, &I.out[i]);
	*a = here.arena;
	return why;
}
