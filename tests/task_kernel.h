/* For tests of kernels by the texts of their tasks: operands, the evaluator's results, and how a kernel's differ. */
#ifndef HONE_TASK_KERNEL_H
#define HONE_TASK_KERNEL_H
#include "common/msg.h"
#include "common/rng.h"
#include "loop/sampling.h"
#include "op/npy.h"
#include "op/op.h"
#include "op/task.h"
#include "run_kernel.h"

/* A task, and the numbers of all its inputs. Both 0: floats are normal, integers as they are used; for integers hi .5 is 0. */
struct text {
	const char *text;
	double lo, hi;
	int flags; /* of the test's own */
};

struct kernel {
	const struct text *t;
	struct module *m;
	struct tensor **in, **want;
	struct lowered low;
};

/* All but low. */
static void kernel_begin(struct kernel *k, const struct text *t, struct arena *a)
{
	struct input_spec spec = {.seed = 3};
	const char *why;

	*k = (struct kernel){.t = t, .m = task_module(t->text, 1, a, &why)};
	if (!k->m)
		die(EX_BUG, "%s: %s", t->text, why);
	const struct graph *g = graph(k->m, k->m->main);
	for (size_t i = 0; i < g->in.n && (t->lo != 0 || t->hi != 0); i++)
		vec_push(&spec.ranges, arena_printf(a, "%s=%.17g:%.17g", sym_str(val(k->m, g->in.a[i])->name), t->lo, t->hi));
	k->in = inputs_make(k->m, &spec, a);
	k->want = ARENA_ARRAY(a, struct tensor *, g->out.n);
	eval_graph(k->m, k->m->main, k->in, k->want, a, NULL);
	vec_free(&spec.ranges);
}

/* How exact results are, relative to their size. Both sides round from something better, so they are neighbours at most. */
__attribute__((unused)) static double epsilon(enum dtype t) { return t == DT_F16 ? 0x1p-10 : t == DT_BF16 ? 0x1p-7 : 1e-5; }

/* NULL, or how the results in storage differ from the evaluator's; tensors: how one does. */
static const char *differs(const struct kernel *k, struct loop_prog *p, void **at,
			   const char *(*tensors)(const struct tensor *y, const struct tensor *r))
{
	const char *why = NULL;

	for (buf_id b = 1; b < p->bufs.n && !why; b++) {
		if (lbuf(p, b)->scope != SCOPE_OUT)
			continue;
		const struct tensor *r = k->want[lbuf(p, b)->operand];
		struct tensor y = *r;
		void *plain = lbuf(p, b)->layout.n ? xcalloc((size_t)tensor_count(r) + 1, dtype_size(r->dtype)) : NULL;
		if (plain)
			layout_unpack(lbuf(p, b), at[b], plain);
		y.data = plain ? plain : at[b];
		why = tensors(&y, r);
		free(plain);
	}
	return why;
}

/* Of the decisions that were met, n of n + 1 anew. */
__attribute__((unused)) static void decide(const struct samples *met, struct samples *want, struct rng *rng, int n)
{
	want->n = 0;
	for (size_t i = 0; i < met->n; i++)
		if (rng_range(rng, 0, n)) {
			struct sample x = met->a[i];
			x.decision = x.choice[rng_range(rng, 0, x.n - 1)];
			vec_push(want, x);
		}
}

/* All in one library for t. */
static void *compile(const struct kernel *k, int n, const struct target *t, const char *name)
{
	struct loop_prog **all = xcalloc((size_t)n + 1, sizeof *all);

	for (int i = 0; i < n; i++)
		all[i] = k[i].low.prog;
	void *lib = compile_kernels(all, n, t, name);
	free(all);
	return lib;
}
#endif
