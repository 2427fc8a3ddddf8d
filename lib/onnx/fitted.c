/* A Case that makes operands fit its branches, in words that ONNX has: each branch adds zeros to its operands and cuts its results. */
#include "graph/bodies.h"
#include "onnx/export.h"

struct fitting {
	struct module *m;
	node_id node;
	graph_id inner, outer; /* a branch, and the graph that takes its place */
	val_id rows;           /* how many rows the operands have; 0: not met yet */
};

static int64_t axis_of(struct fitting *f, const char *list, uint32_t i)
{
	int count;
	const int64_t *v = attr_ints(node(f->m, f->node), list, &count);

	return v && i < (uint32_t)count ? v[i] : -1;
}

static val_id ints(struct fitting *f, int64_t n, const int64_t *v) { return const_copy(f->m, 0, DT_I64, 1, &n, v, (size_t)n * sizeof *v); }

static val_id zeros(struct fitting *f, int64_t n) { return ints(f, n, ARENA_ARRAY(&f->m->arena, int64_t, n + 1)); }

static val_id add(struct fitting *f, enum opcode op, int nin, const val_id *in, struct type t)
{
	node_id n = node_new(f->m, f->outer, op, nin, in, 1);

	val(f->m, node(f->m, n)->out[0])->type = t;
	return node(f->m, n)->out[0];
}

static val_id joined(struct fitting *f, int nin, const val_id *in, int64_t n)
{
	val_id v = add(f, OP_Concat, nin, in, type_make(f->m, DT_I64, 1, &n));

	attr_set_int(f->m, val(f->m, v)->def, "axis", 0);
	return v;
}

static val_id rows_of(struct fitting *f, val_id x, int64_t axis)
{
	int64_t rank = val(f->m, x)->type.rank;
	val_id shape = add(f, OP_Shape, 1, &x, type_make(f->m, DT_I64, 1, &rank));

	return add(f, OP_Gather, 2, (val_id[]){shape, ints(f, 1, &axis)}, type_make(f->m, DT_I64, 1, (int64_t[]){1}));
}

/* Operand i, which is v, as the branch takes it. */
static val_id padded(struct fitting *f, uint32_t i, val_id v)
{
	const struct type takes = val(f->m, graph(f->m, f->inner)->in.a[i])->type;
	int64_t axis = axis_of(f, "fit", i), dims[RANK_MAX];

	if (axis < 0 || !type_dims(f->m, &takes, dims))
		return v;
	val_id rows = rows_of(f, v, axis), in[3];
	f->rows = f->rows ? f->rows : rows;
	val_id more = add(f, OP_Sub, 2, (val_id[]){ints(f, 1, &dims[axis]), rows}, type_make(f->m, DT_I64, 1, (int64_t[]){1}));
	int nin = 0;
	in[nin++] = zeros(f, takes.rank + axis);
	in[nin++] = more;
	if (takes.rank - 1 - axis)
		in[nin++] = zeros(f, takes.rank - 1 - axis);
	return add(f, OP_Pad, 2, (val_id[]){v, joined(f, nin, in, 2 * takes.rank)}, takes);
}

/* Result k, which is v, as its node has it. */
static val_id cut(struct fitting *f, uint32_t k, val_id v)
{
	int64_t axis = axis_of(f, "cut", k);
	val_id to = node(f->m, f->node)->out[k];

	if (axis < 0 || !f->rows)
		return v;
	return add(f, OP_Slice, 4, (val_id[]){v, zeros(f, 1), f->rows, ints(f, 1, &axis)}, val(f->m, to ? to : v)->type);
}

static graph_id explicit_branch(struct module *m, node_id id, graph_id inner)
{
	struct fitting f = {.m = m, .node = id, .inner = inner};
	size_t nin = graph(m, inner)->in.n, nout = graph(m, inner)->out.n;
	val_id *in = ARENA_ARRAY(&m->arena, val_id, nin + 1);

	f.outer = graph_new(m, intern_printf("%s fitted", sym_str(graph(m, inner)->name)));
	for (uint32_t i = 0; i < nin; i++)
		in[i] = graph_add_input(m, f.outer, val(m, graph(m, inner)->in.a[i])->name, val(m, node(m, id)->in[i + 1])->type);
	for (uint32_t i = 0; i < nin; i++)
		in[i] = padded(&f, i, in[i]);
	node_id call = node_new(m, f.outer, OP_PartitionedCall, (int)nin, in, (int)nout);
	attr_set_graph(m, call, "graph", inner);
	for (uint32_t k = 0; k < nout; k++)
		val(m, node(m, call)->out[k])->type = val(m, graph(m, inner)->out.a[k])->type;
	for (uint32_t k = 0; k < nout; k++)
		graph_add_output(m, f.outer, cut(&f, k, node(m, call)->out[k]), graph(m, inner)->out_name.a[k]);
	return f.outer;
}

void export_fitted(struct module *m)
{
	size_t nodes = m->nodes.n;

	for (node_id id = 1; id < nodes; id++) {
		VEC(graph_id) list = {0};
		graph_id b;
		if (node(m, id)->op != OP_Case || !attr_find(node(m, id), "fit"))
			continue;
		for (uint32_t k = 0; (b = node_branch(node(m, id), k)); k++)
			vec_push(&list, explicit_branch(m, id, b));
		attr_set(m, id, (struct attr){.name = intern("branches"), .kind = ATTR_GRAPHS, .n = (uint32_t)list.n, .u.graphs = list.a});
		attr_drop(m, id, "fit");
		attr_drop(m, id, "cut");
		vec_free(&list);
	}
}
