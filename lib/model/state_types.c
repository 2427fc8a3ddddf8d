/* The types of states: what an output is in one run an input is in the next, so the two are of one type. */
#include <string.h>
#include "model/model_impl.h"
#include "model/state.h"
#include "common/msg.h"
#include "op/op.h"

/* Aliases as the module's metadata has them: numbers of inputs and outputs. */
struct pair {
	uint32_t in, out;
};
struct pairs {
	VEC(struct pair) a;
	bool *is_state; /* by input */
};

static void find_pairs(struct module *m, struct pairs *p)
{
	const struct graph *g = graph(m, m->main);

	p->is_state = ARENA_ARRAY(&m->arena, bool, g->in.n + 1);
	for (uint32_t i = 0; i < g->in.n; i++) {
		const char *output = module_meta(m, arena_printf(&m->arena, STATE_ALIAS "%s", sym_str(val(m, g->in.a[i])->name)));
		for (uint32_t k = 0; output && k < g->out.n; k++)
			if (!strcmp(sym_str(g->out_name.a[k]), output)) {
				p->is_state[i] = true;
				vec_push(&p->a, (struct pair){i, k});
				break;
			}
	}
}

static bool type_uses(struct module *m, const struct type *t, poly_var v)
{
	for (int k = 0; k < t->rank; k++)
		if (t->dims[k] != POLY_UNKNOWN && poly_uses(m->dims, t->dims[k], v))
			return true;
	return false;
}

/* Does an input that is no state tell the symbol? */
static bool told_by_others(struct module *m, const struct pairs *p, poly_var v)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (!p->is_state[i] && type_uses(m, &val(m, g->in.a[i])->type, v))
			return true;
	return false;
}

static bool all_told(struct module *m, const struct pairs *p, poly e)
{
	if (e == POLY_UNKNOWN)
		return false;
	for (poly_var v = 1; v <= poly_nvars(m->dims); v++)
		if (poly_uses(m->dims, e, v) && !told_by_others(m, p, v))
			return false;
	return true;
}

/* Symbol v is e in all types. */
static void put_symbol(struct module *m, poly_var v, poly e)
{
	for (val_id x = 1; x < m->values.n; x++) {
		struct type *t = &val(m, x)->type;
		if (!type_uses(m, t, v))
			continue;
		dim *d = arena_copy(&m->arena, t->dims, (size_t)t->rank * sizeof *d);
		for (int k = 0; k < t->rank; k++)
			d[k] = d[k] == POLY_UNKNOWN ? d[k] : poly_subst(m->dims, d[k], v, e);
		t->dims = d;
	}
}

/* The same, if then the output has that size, too. False: it has not, or the model contradicts it; nothing is changed. */
static bool try_symbol(struct module *m, poly_var v, poly e, val_id out, int axis)
{
	struct msg_trap trap, *outer = msg_trap;
	struct type *before = ARENA_ARRAY(&m->arena, struct type, m->values.n);
	volatile bool good = false;

	for (size_t x = 0; x < m->values.n; x++)
		before[x] = m->values.a[x].type;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		put_symbol(m, v, e);
		infer_module(m, NULL);
		good = val(m, out)->type.rank > axis && val(m, out)->type.dims[axis] == e;
	}
	msg_trap = outer;
	for (size_t x = 0; x < m->values.n && !good; x++)
		m->values.a[x].type = before[x];
	return good;
}

/* A size of the output that only a run knows: is it one that an input tells, where the state's is that, too? */
static bool settle_by_trial(struct module *m, const struct pairs *p, poly_var v, val_id out, int axis)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++) {
		const struct type *t = &val(m, g->in.a[i])->type;
		for (int k = 0; k < t->rank && !p->is_state[i]; k++)
			if (t->dims[k] != POLY_UNKNOWN && poly_is_var(m->dims, t->dims[k]) && try_symbol(m, v, t->dims[k], out, axis))
				return true;
	}
	return false;
}

/* Axis k of a pair: a symbol that only states tell is what the output is there. True: types have changed. */
static bool settle(struct module *m, const struct pairs *p, struct pair x, int k)
{
	const struct graph *g = graph(m, m->main);
	val_id in = g->in.a[x.in], out = g->out.a[x.out];
	dim a = val(m, in)->type.dims[k], b = val(m, out)->type.dims[k];
	poly_var v = a == POLY_UNKNOWN ? 0 : poly_is_var(m->dims, a);

	if (!v || a == b || told_by_others(m, p, v) || (b != POLY_UNKNOWN && poly_uses(m->dims, b, v)))
		return false;
	return all_told(m, p, b) ? try_symbol(m, v, b, out, k) : settle_by_trial(m, p, v, out, k);
}

void states_settle(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	struct pairs p = {0};
	bool changed = true;

	find_pairs(m, &p);
	while (changed) { /* each time there is a symbol less */
		changed = false;
		for (size_t i = 0; i < p.a.n; i++) {
			const struct type *in = &val(m, g->in.a[p.a.a[i].in])->type, *out = &val(m, g->out.a[p.a.a[i].out])->type;
			for (int k = 0; k < in->rank && in->rank == out->rank; k++)
				changed |= settle(m, &p, p.a.a[i], k);
		}
	}
	vec_free(&p.a);
}

const char *state_misfit(struct module *m, val_id in, val_id out)
{
	const struct type *a = &val(m, in)->type, *b = &val(m, out)->type;
	const char *is = type_str(m, a, &m->arena), *becomes = type_str(m, b, &m->arena);
	int64_t x, y;

	if (a->dtype != b->dtype || a->rank != b->rank)
		return arena_printf(&m->arena, "the input is %s, the output %s", is, becomes);
	for (int k = 0; k < a->rank; k++) {
		bool from = poly_is_const(m->dims, a->dims[k], &x), to = poly_is_const(m->dims, b->dims[k], &y);
		if (from && to && x != y)
			return arena_printf(&m->arena, "the input is %s, the output %s", is, becomes);
		if (from || !to)
			continue;
		poly_var v = a->dims[k] == POLY_UNKNOWN ? 0 : poly_is_var(m->dims, a->dims[k]);
		const char *hint = v && poly_var_name(m->dims, v)
					   ? arena_printf(&m->arena, "; --set %s=%lld", sym_str(poly_var_name(m->dims, v)), (long long)y)
					   : "";
		return arena_printf(&m->arena,
				    "the input is %s, the output %s: a second run takes it only where axis %d of the input is %lld%s", is,
				    becomes, k, (long long)y, hint);
	}
	return NULL;
}
