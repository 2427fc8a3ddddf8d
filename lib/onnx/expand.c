/* Hone's own operators in ONNX's words. */
#include "onnx/export.h"
#include "op/op.h"

enum { ML_TENSORS = 4 }; /* the version of ai.onnx.ml with a LabelEncoder of tensors */

static void call(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	sym *in = ARENA_ARRAY(&x->arena, sym, n->nin + 1), *out = ARENA_ARRAY(&x->arena, sym, n->nout + 1);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = export_name(x, n->in[i]);
	for (uint32_t i = 0; i < n->nout; i++)
		out[i] = export_define(x, n->out[i]);
	export_inline(x, to, attr_graph(n, "graph"), in, out);
}

/* The nodes of a group say which it is, and what it is predicted to take. */
static void fused(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	sym name = n->name ? n->name : n->nout && n->out[0] ? val(x->m, n->out[0])->name : 0;
	int64_t picoseconds = attr_int(n, "picoseconds", 0);
	size_t first = to->n;

	call(x, to, id);
	for (size_t i = first; i < to->n; i++) {
		export_note(x, to->a[i], "hone.group", sym_str(name));
		if (picoseconds > 0)
			export_note(x, to->a[i], "hone.group.us", arena_printf(&x->arena, "%.4g", (double)picoseconds / 1e6));
	}
}

/* Case(i; x...): If (i == k) branch k, else those behind it; the last for any other i. */
static Onnx__GraphProto *cases(struct exporter *x, const struct attr *branches, uint32_t k, sym index, const sym *operands, uint32_t nout);

static void choose(struct exporter *x, struct node_list *to, const struct attr *branches, uint32_t k, sym index, const sym *operands,
		   uint32_t nout, const sym *out)
{
	sym is = export_fresh(x, "case_is"), which = export_ints(x, "case", 0, NULL, &(int64_t){k});
	export_node(x, to, "Equal", 2, (sym[]){index, which}, 1, &is);
	Onnx__NodeProto *p = export_node(x, to, "If", 1, &is, (int)nout, out);
	export_add_attr(x, p, proto_attr_graph(x, "then_branch", export_body(x, branches->u.graphs[k], 0, operands)));
	export_add_attr(x, p, proto_attr_graph(x, "else_branch", cases(x, branches, k + 1, index, operands, nout)));
}

static Onnx__GraphProto *cases(struct exporter *x, const struct attr *branches, uint32_t k, sym index, const sym *operands, uint32_t nout)
{
	if (k + 1 >= branches->n)
		return export_body(x, branches->u.graphs[k], 0, operands);
	struct node_list nodes = {0};
	Onnx__GraphProto *g = arena_alloc(&x->arena, sizeof *g);
	sym *out = ARENA_ARRAY(&x->arena, sym, nout + 1);
	onnx__graph_proto__init(g);
	g->name = proto_text(x, "cases");
	g->has_name = true;
	g->output = ARENA_ARRAY(&x->arena, Onnx__ValueInfoProto *, nout + 1);
	for (uint32_t i = 0; i < nout; i++) {
		const struct graph *b = graph(x->m, branches->u.graphs[k]);
		struct type t = type_none();
		out[i] = export_fresh(x, "case_out");
		if (i < b->out.n)
			t.dtype = val(x->m, b->out.a[i])->type.dtype;
		g->output[i] = proto_value_info(x, out[i], &t);
	}
	g->n_output = nout;
	choose(x, &nodes, branches, k, index, operands, nout, out);
	g->n_node = nodes.n;
	g->node = arena_copy(&x->arena, nodes.a, nodes.n * sizeof *nodes.a);
	vec_free(&nodes);
	return g;
}

static void branch(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	const struct attr *branches = attr_find(n, "branches");
	sym *in = ARENA_ARRAY(&x->arena, sym, n->nin + 1), *out = ARENA_ARRAY(&x->arena, sym, n->nout + 1);
	for (uint32_t i = 0; i < n->nin; i++)
		in[i] = export_name(x, n->in[i]);
	for (uint32_t i = 0; i < n->nout; i++) {
		out[i] = export_define(x, n->out[i]);
		if (!out[i])
			out[i] = export_fresh(x, "unused");
	}
	if (!branches || !branches->n)
		die(EX_BADDATA, "a Case without branches");
	if (branches->n == 1) {
		export_inline(x, to, branches->u.graphs[0], in + 1, out);
		return;
	}
	sym index = export_fresh(x, "case_index");
	Onnx__NodeProto *cast = export_node(x, to, "Cast", 1, in, 1, &index);
	export_add_attr(x, cast, proto_attr_int(x, "to", dtype_to_onnx(DT_I64)));
	choose(x, to, branches, 0, index, in + 1, n->nout, out);
}

static sym unary(struct exporter *x, struct node_list *to, const char *op, int nin, const sym *in)
{
	sym out = export_fresh(x, "map_index");
	export_node(x, to, op, nin, in, 1, &out);
	return out;
}

static void last_attr(struct exporter *x, struct node_list *to, const char *name, int64_t v)
{
	export_add_attr(x, to->a[to->n - 1], proto_attr_int(x, name, v));
}

/* The sizes that are looked for, as one list. */
static sym sizes(struct exporter *x, struct node_list *to, const struct node *n)
{
	int count, nof;
	const int64_t *axes = attr_ints(n, "axes", &count), *of = attr_ints(n, "of", &nof);
	sym all[64], out;

	if (!axes || count > 64)
		return export_name(x, n->in[0]);
	for (int j = 0; j < count; j++) {
		sym operand = export_name(x, n->in[of && j < nof ? of[j] : 0]);
		sym shape = unary(x, to, "Shape", 1, &operand), axis = export_ints(x, "gear_of", 1, (int64_t[]){1}, &axes[j]);
		all[j] = unary(x, to, "Gather", 2, (sym[]){shape, axis});
	}
	out = unary(x, to, "Concat", count, all);
	last_attr(x, to, "axis", 0);
	return out;
}

/* How far the sizes are from those of each row. Where a row may have a larger last size, being smaller is being away. */
static sym distance(struct exporter *x, struct node_list *to, const struct node *n, sym table, sym operand, int64_t columns)
{
	sym from = unary(x, to, "Sub", 2, (sym[]){table, operand}), away = unary(x, to, "Abs", 1, &from);
	int64_t *all = ARENA_ARRAY(&x->arena, int64_t, columns + 1), *last = ARENA_ARRAY(&x->arena, int64_t, columns + 1), zero = 0;

	if (!attr_i(n, "up"))
		return away;
	for (int64_t j = 0; j < columns; j++) {
		all[j] = j + 1 < columns;
		last[j] = j + 1 == columns;
	}
	sym none = export_ints(x, "gear_none", 0, NULL, &zero), less = unary(x, to, "Neg", 1, &from);
	less = unary(x, to, "Max", 2, (sym[]){less, none});
	less = unary(x, to, "Mul", 2, (sym[]){less, export_ints(x, "gear_last", 1, &columns, last)});
	away = unary(x, to, "Mul", 2, (sym[]){away, export_ints(x, "gear_all", 1, &columns, all)});
	return unary(x, to, "Add", 2, (sym[]){away, less});
}

/* The row of gears that equals the operand: the first one at distance 0. Where there is none the Gather
 * at the end is out of range, which is an error. */
static void map_index(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	struct tensor *gears = attr_tensor(n, "gears");
	int64_t rows = gears->rank ? gears->dims[0] : 1, *list = ARENA_ARRAY(&x->arena, int64_t, rows + 2),
		all = rows + (attr_i(n, "open") != 0);
	sym out = export_define(x, n->out[0]), table = export_fresh(x, "gears");
	if (!out)
		return;
	sym operand = sizes(x, to, n);
	for (int64_t i = 0; i < all; i++)
		list[i] = i;
	vec_push(&x->initializers, proto_tensor(x, table, gears));
	sym shape = export_ints(x, "gear_shape", 1, (int64_t[]){2}, (int64_t[]){rows, -1});
	sym axis = export_ints(x, "gear_axis", 1, (int64_t[]){1}, (int64_t[]){1});
	sym count = export_ints(x, "gear_count", 0, NULL, &rows);
	sym numbers = export_ints(x, "gear_numbers", 1, &all, list);
	sym away = distance(x, to, n, table, operand, gears->rank > 1 ? gears->dims[1] : 1);
	away = unary(x, to, "Reshape", 2, (sym[]){away, shape});
	away = unary(x, to, "ReduceSum", 2, (sym[]){away, axis});
	last_attr(x, to, "keepdims", 0);
	away = unary(x, to, "Cast", 1, &away);
	last_attr(x, to, "to", dtype_to_onnx(DT_F32));
	sym row = unary(x, to, "ArgMin", 1, &away);
	last_attr(x, to, "axis", 0);
	last_attr(x, to, "keepdims", 0);
	sym least = unary(x, to, "Gather", 2, (sym[]){away, row});
	sym none = unary(x, to, "Cast", 1, &least);
	last_attr(x, to, "to", dtype_to_onnx(DT_BOOL));
	sym checked = unary(x, to, "Where", 3, (sym[]){none, count, row});
	export_node(x, to, "Gather", 2, (sym[]){numbers, checked}, 1, &out);
}

/* Layout says how a value lies in memory; its elements are the same. */
static void layout(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	sym in = export_name(x, n->in[0]), out = export_define(x, n->out[0]);
	if (out)
		export_node(x, to, "Identity", 1, &in, 1, &out);
}

static void zip_map(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	sym in = export_name(x, n->in[0]), out = export_define(x, n->out[0]);

	if (!out)
		return;
	Onnx__NodeProto *p = export_node(x, to, op_name(n->op), 1, &in, 1, &out);
	export_domain(x, p, "ai.onnx.ml", 1);
	for (uint32_t i = 0; i < n->nattr; i++)
		export_add_attr(x, p, proto_attr(x, &n->attr[i]));
}

/* LabelEncoder of ai.onnx.ml, whose values are positions. */
static void find(struct exporter *x, struct node_list *to, node_id id)
{
	const struct node *n = node(x->m, id);
	sym in = export_name(x, n->in[0]), out = export_define(x, n->out[0]);
	struct tensor *keys = val(x->m, n->in[1])->tensor;
	int64_t count;

	if (!out)
		return;
	if (val(x->m, n->in[1])->kind != VAL_CONST)
		die(EX_NOTAVAIL, "Find, whose list is not constant, has no words of ONNX");
	count = tensor_count(keys);
	struct tensor *place = tensor_new(&x->arena, DT_I64, 1, &count), *none = tensor_new(&x->arena, DT_I64, 1, &(int64_t){1});
	for (int64_t i = 0; i < count; i++)
		((int64_t *)place->data)[i] = i;
	*(int64_t *)none->data = count;
	Onnx__NodeProto *p = export_node(x, to, "LabelEncoder", 1, &in, 1, &out);
	export_domain(x, p, "ai.onnx.ml", ML_TENSORS);
	export_add_attr(x, p, proto_attr(x, &(struct attr){.name = intern("keys_tensor"), .kind = ATTR_TENSOR, .u.tensor = keys}));
	export_add_attr(x, p, proto_attr(x, &(struct attr){.name = intern("values_tensor"), .kind = ATTR_TENSOR, .u.tensor = place}));
	export_add_attr(x, p, proto_attr(x, &(struct attr){.name = intern("default_tensor"), .kind = ATTR_TENSOR, .u.tensor = none}));
}

static void (*const own[OP_COUNT])(struct exporter *x, struct node_list *to, node_id id) = {
	[OP_Fused] = fused,   [OP_PartitionedCall] = call, [OP_Case] = branch,    [OP_MapIndex] = map_index,
	[OP_Layout] = layout, [OP_Trees] = export_trees,   [OP_ZipMap] = zip_map, [OP_Find] = find,
};

bool export_own(struct exporter *x, struct node_list *to, node_id id)
{
	enum opcode op = node(x->m, id)->op;
	if (own[op])
		own[op](x, to, id);
	return own[op] != NULL;
}
