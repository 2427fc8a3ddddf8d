/* Lines of the trace: made as records and applied one by one. */
#include "loop/nest.h"
#include "sched/template.h"

bool sched_apply(struct schedule *r, struct trace_line l)
{
	if (trace_apply_line(r->p, &l, r->trace.n == 0, false))
		return false;
	vec_push(&r->trace, l);
	return true;
}

void words_add(struct words *w, const char *word)
{
	if (w->n < TRACE_WORDS_MAX)
		w->word[w->n++] = word;
}

bool sched_list(struct schedule *r, const char *result, enum prim_id prim, const struct words *w)
{
	struct trace_line l = {.prim = prim, .name = prim_name[prim], .nres = result != NULL, .narg = w->n, .gap = w->gap};

	if (w->n == TRACE_WORDS_MAX) /* a line's words are its primitive's name and its operands */
		return false;
	if (result) {
		result = sym_str(intern(result));
		l.res = arena_copy(&r->p->arena, &result, sizeof result);
	}
	l.arg = ARENA_ARRAY(&r->p->arena, const char *, w->n);
	for (int i = 0; i < w->n; i++)
		l.arg[i] = sym_str(intern(w->word[i]));
	return sched_apply(r, l);
}

bool sched_line(struct schedule *r, const char *result, enum prim_id prim, const char *const *operand)
{
	struct words w = {0};

	for (; *operand; operand++)
		words_add(&w, *operand);
	return sched_list(r, result, prim, &w);
}

bool sched_layout(struct schedule *r, const char *buf, const struct layout *order)
{
	struct words w = {0};

	words_add(&w, buf);
	for (int i = 0; i < order->n; i++) {
		const struct layout_part *x = &order->part[i];
		const char *axis = trace_number(x->axis);
		words_add(&w, x->mod       ? sched_name(r, "%s%%%lld", axis, (long long)x->mod)
			      : x->div > 1 ? sched_name(r, "%s/%lld", axis, (long long)x->div)
					   : axis);
	}
	return sched_list(r, NULL, PRIM_LAYOUT, &w);
}

bool sched_axis_last(struct schedule *r, const char *buf, stage_id s, int axis)
{
	struct words w = {0};

	words_add(&w, buf);
	for (int i = 0; i < lstage(r->p, s)->nspatial; i++)
		if (i != axis)
			words_add(&w, trace_number(i));
	words_add(&w, trace_number(axis));
	return sched_list(r, NULL, PRIM_LAYOUT, &w);
}

const char *axis_loop(struct schedule *r, stage_id s, int axis, const char *part)
{
	const struct stage *t = lstage(r->p, s);
	return sched_name(r, "%s.%s%s", sym_str(t->name), sym_str(t->axis[axis].name), part);
}

const char *loop_part(struct schedule *r, const char *loop, int part) { return sched_name(r, "%s.%d", loop, part); }
