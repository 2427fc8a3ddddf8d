/* The lowering column against the conformance cases: the stages' numbers, and those of the nest that the default schedule makes of
 * them. lower [NAME]: those with NAME in their names. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include "common/tool.h"
#include "target/target.h"
#include "loop/interp.h"
#include "lower/lower.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "sched/schedule.h"
#include "op/op.h"
#include "conformance.h"
#include "near.h"

const struct tool tool; /* the library's main() is not linked */

struct test {
	struct arena a;
	const char *dir;
	struct module *m;
	node_id fused;
	struct tensor **in; /* of the Fused node */
	struct lowered low;
};

enum constants {
	CONST_NONE,
	CONST_SMALL, /* integers and scalars: axes, shapes, pads */
	CONST_REST,  /* all but the first */
};

static bool is_const(enum constants c, size_t input, const struct tensor *t)
{
	if (c == CONST_SMALL)
		return t->rank < 2 && (!dtype_is_float(t->dtype) || tensor_count(t) == 1);
	return c == CONST_REST && input > 0;
}

/* The model with its main graph as the body of one Fused node. */
static void load(struct test *t, enum constants c)
{
	struct module *m = t->m = onnx_import(arena_printf(&t->a, "%s/model.onnx", t->dir), &(struct onnx_import_opts){.no_store = true});
	graph_id body = m->main;
	VEC(val_id) in = {0}, outer = {0};

	t->in = ARENA_ARRAY(&t->a, struct tensor *, graph(m, body)->in.n + 1);
	for (size_t i = 0; i < graph(m, body)->in.n; i++) {
		val_id v = graph(m, body)->in.a[i];
		if (val(m, v)->type.other)
			die(EX_NOTAVAIL, "not tensors");
		struct tensor *x = read_nth(t->dir, "input", i, &t->a);
		if (!x && !(x = val(m, v)->tensor))
			die(EX_NOTAVAIL, "no input %zu", i);
		if (is_const(c, i, x)) {
			val(m, v)->kind = VAL_CONST;
			val(m, v)->tensor = x;
			val(m, v)->graph = 0;
		} else {
			val(m, v)->kind = VAL_INPUT; /* of the body now */
			val(m, v)->index = (uint32_t)in.n;
			t->in[in.n] = x;
			vec_push(&in, v);
		}
	}
	graph(m, body)->in.n = 0;
	for (size_t i = 0; i < in.n; i++)
		vec_push(&graph(m, body)->in, in.a[i]);
	infer_module(m, NULL);
	m->main = graph_new(m, intern("main"));
	for (size_t i = 0; i < in.n; i++)
		vec_push(&outer, graph_add_input(m, m->main, val(m, in.a[i])->name, val(m, in.a[i])->type));
	t->fused = node_new(m, m->main, OP_Fused, (int)outer.n, outer.a, (int)graph(m, body)->out.n);
	attr_set_graph(m, t->fused, "graph", body);
}

static void compare(struct module *m, const char *what, const struct tensor *y, const struct tensor *r)
{
	struct type t = tensor_type(m, y), want = tensor_type(m, r);

	/* Buffers may have neighbouring axes in one. */
	if (y->dtype != r->dtype || tensor_count(y) != tensor_count(r))
		die(EX_DIFFERENT, "%s: %s, not %s", what, type_str(m, &t, &m->arena), type_str(m, &want, &m->arena));
	for (int64_t i = 0; i < tensor_count(r); i++) {
		double a = tensor_get(y, i), b = tensor_get(r, i);
		double tolerance = r->dtype == DT_BF16 ? 0x1p-7 : 1e-3;
		bool same = off_by(a, b) <= (dtype_is_float(r->dtype) ? 1e-5 + tolerance * size_of(b) : 0);
		if (!same)
			die(EX_DIFFERENT, "%s: element %lld is %.9g, not %.9g", what, (long long)i, a, b);
	}
}

/* Storage of every IN, CONST and OUT buffer; results are compared after run. */
static void run(struct test *t, struct loop_prog *p, const char *what, const char *(*f)(struct loop_prog *p, void **data))
{
	struct graph *body = graph(t->m, attr_graph(node(t->m, t->fused), "graph"));
	void **at = ARENA_ARRAY(&t->a, void *, p->bufs.n);
	VEC(struct tensor *) out = {0};
	const char *why;

	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct loop_buf *x = lbuf(p, b);
		if (x->scope == SCOPE_IN)
			at[b] = (void *)t->in[x->operand]->data;
		if (x->scope == SCOPE_CONST) {
			at[b] = arena_alloc(&t->a, (size_t)buf_elems(p, b) * dtype_size(x->dtype));
			buf_pack(p, b, x->data ? x->data : tensor_data(t->m, val(t->m, t->low.cval[x->operand])->tensor), at[b]);
		}
		if (x->scope == SCOPE_OUT) {
			vec_push(&out, tensor_new(&t->a, x->dtype, x->rank, x->shape));
			at[b] = (void *)out.a[out.n - 1]->data;
		}
	}
	if ((why = f(p, at)))
		die(EX_DIFFERENT, "%s: %s", what, why);
	for (size_t k = 0; k < body->out.n; k++) {
		struct tensor *r = read_nth(t->dir, "output", k, &t->a);
		if (r && r->dtype == DT_U16 && out.a[k]->dtype == DT_BF16)
			r->dtype = DT_BF16; /* the data of that time has it as numbers of 16 bits */
		if (r)
			compare(t->m, what, out.a[k], r);
	}
}

static const char *run_stages(struct loop_prog *p, void **at)
{
	stages_eval(p, at);
	return NULL;
}

static struct loop_prog *lower(struct test *t, const char *algo, const char **why)
{
	t->low = lower_group(t->m, t->fused, target_host(), algo, why);
	return t->low.prog;
}

/* The stages, then the nest that the default schedule makes of them; by every algorithm. */
static const char *run_both(struct test *t, enum constants c)
{
	const char *why, *trace, *algo[8];
	struct loop_prog *p;

	load(t, c);
	if (!(p = lower(t, NULL, &why)))
		return why;
	for (int i = 0, n = group_algorithms(t->m, t->fused, target_host(), algo, 8); i < n; i++) {
		if (!(p = lower(t, algo[i], &why)) || strcmp(p->algo, algo[i]))
			die(EX_DIFFERENT, "%s: %s", algo[i], p ? p->algo : why);
		run(t, p, arena_printf(&t->a, "%s: stages", algo[i]), run_stages);
		trace = default_schedule(p);
		p = lower(t, trace_algo(trace, &t->a), &why);
		if ((why = loop_apply(p, trace, false)) || (why = loop_legalize(p)) || (why = loop_verify(p)))
			die(EX_DIFFERENT, "%s: trace: %s", algo[i], why);
		run(t, p, arena_printf(&t->a, "%s: nest", algo[i]), loop_interp);
	}
	return NULL;
}

/* Its results were made with an epsilon of 0.01, which the model does not have. */
static bool doubtful(const char *dir) { return !strcmp(strrchr(dir, '/'), "/test_adam_multiple"); }

static void run_case(const char *dir)
{
	struct test t = {.dir = dir};

	if (doubtful(dir))
		die(EX_NOTAVAIL, "results that do not belong to the model");
	const char *why = run_both(&t, CONST_NONE);

	if (why && (why = run_both(&t, CONST_SMALL)))
		die(EX_NOTAVAIL, "%s", why);
	run_both(&t, CONST_REST);
}

/* What import or inference cannot do is not this test's business. */
static bool unsupported(int status, const char *said) { return status != EX_DIFFERENT && status != EX_BUG; }

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"node", NULL};

	msg_tool = "lower";
	return conformance(&(struct conformance){kinds, run_case, unsupported, "operators or types without a lowering, doubtful results"},
			   argc > 1 ? argv[1] : NULL);
}
