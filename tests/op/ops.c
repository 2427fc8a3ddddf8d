/* The conformance cases: shapes as inferred, values as evaluated. ops [NAME]: those with NAME in their names. */
#define _GNU_SOURCE
#include <math.h>
#include <string.h>
#include "graph/pass.h"
#include "op/op.h"
#include "conformance.h"
#include "near.h"

const struct tool tool; /* the library's main() is not linked */

/* The data of that time has bfloat16 as numbers of 16 bits. */
static void fix_bf16(struct tensor *t, const struct type *want)
{
	if (t && t->dtype == DT_U16 && want->dtype == DT_BF16)
		t->dtype = DT_BF16;
}

static void unsupported(struct module *m, graph_id g)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		const struct node *n = node(m, graph(m, g)->nodes.a[i]);
		if (!op_row(n->op) || !op_row(n->op)->eval)
			die(EX_NOTAVAIL, "%s", op_name(n->op));
		if (op_is(n->op, OP_RANDOM))
			die(EX_NOTAVAIL, "random numbers");
	}
}

static void compare(struct module *m, size_t k, const struct tensor *y, const struct tensor *r)
{
	const char *name = sym_str(graph(m, m->main)->out_name.a[k]);
	struct type t = tensor_type(m, y), want = tensor_type(m, r);
	const struct type *inferred = &val(m, graph(m, m->main)->out.a[k])->type;
	int64_t c;

	if (y->dtype != r->dtype || y->rank != r->rank || memcmp(y->dims, r->dims, sizeof *r->dims * (size_t)r->rank))
		die(EX_DIFFERENT, "%s is %s, not %s", name, type_str(m, &t, &m->arena), type_str(m, &want, &m->arena));
	if (inferred->dtype != r->dtype || (inferred->rank != RANK_UNKNOWN && inferred->rank != r->rank))
		die(EX_DIFFERENT, "%s is inferred as %s, not %s", name, type_str(m, inferred, &m->arena), type_str(m, &want, &m->arena));
	for (int i = 0; i < inferred->rank; i++)
		if (poly_is_const(m->dims, inferred->dims[i], &c) && c != r->dims[i])
			die(EX_DIFFERENT, "%s is inferred as %s, not %s", name, type_str(m, inferred, &m->arena),
			    type_str(m, &want, &m->arena));
	if (!dtype_size(r->dtype) || r->dtype == DT_C64 || r->dtype == DT_C128) {
		if (y->nbytes != r->nbytes || memcmp(y->data, r->data, r->nbytes))
			die(EX_DIFFERENT, "%s has other elements", name);
		return;
	}
	for (int64_t i = 0; i < tensor_count(r); i++) {
		double a = tensor_get(y, i), b = tensor_get(r, i);
		double tolerance = r->dtype == DT_BF16 ? 0x1p-6 : r->dtype == DT_F16 ? 0x1p-9 : 1e-3; /* old data truncates to bfloat16 */
		bool same = off_by(a, b) <= (dtype_is_float(r->dtype) ? 1e-5 + tolerance * size_of(b) : 0);
		if (!same)
			die(EX_DIFFERENT, "%s[%lld] is %.9g, not %.9g", name, (long long)i, a, b);
	}
}

/* Its results were made with an epsilon of 0.01, which the model does not have. */
static bool doubtful(const char *dir) { return !strcmp(strrchr(dir, '/'), "/test_adam_multiple"); }

static void run_case(const char *dir)
{
	struct arena a = {0};

	if (doubtful(dir))
		die(EX_NOTAVAIL, "results that do not belong to the model");
	struct module *m = onnx_import(arena_printf(&a, "%s/model.onnx", dir), &(struct onnx_import_opts){.no_store = true});
	struct graph *g = graph(m, m->main);
	struct tensor **in = ARENA_ARRAY(&a, struct tensor *, g->in.n), **out = ARENA_ARRAY(&a, struct tensor *, g->out.n);

	for (graph_id i = 1; i < m->graphs.n; i++)
		unsupported(m, i);
	for (size_t i = 0; i < g->in.n; i++) {
		if (val(m, g->in.a[i])->type.other)
			die(EX_NOTAVAIL, "not tensors");
		in[i] = read_nth(dir, "input", i, &a);
		fix_bf16(in[i], &val(m, g->in.a[i])->type);
		if (!in[i] && val(m, g->in.a[i])->tensor) {
			in[i] = val(m, g->in.a[i])->tensor;
			tensor_data(m, in[i]);
		}
		if (!in[i])
			die(EX_NOTAVAIL, "no input %zu", i);
	}
	for (size_t i = 0; i < g->out.n; i++)
		if (val(m, g->out.a[i])->type.other)
			die(EX_NOTAVAIL, "not tensors");
	infer_module(m, NULL);
	eval_graph(m, m->main, in, out, &a, NULL);
	for (size_t i = 0; i < g->out.n; i++) {
		struct tensor *r = read_nth(dir, "output", i, &a);
		fix_bf16(r, &val(m, g->out.a[i])->type);
		if (r)
			compare(m, i, out[i], r);
	}
}

static bool is_unsupported(int status, const char *said) { return status == EX_NOTAVAIL || strstr(said, "the oldest this program reads"); }

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"node", "simple", "pytorch-operator", "pytorch-converted", NULL};

	msg_tool = "ops";
	return conformance(
		&(struct conformance){kinds, run_case, is_unsupported,
				      "random numbers, operators or types without an evaluator, opsets below 7, doubtful results"},
		argc > 1 ? argv[1] : NULL);
}
