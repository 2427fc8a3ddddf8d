/* Modules to ONNX files. */
#include <stdio.h>
#include <stdlib.h>
#include "common/outfile.h"
#include "common/tool.h"
#include "graph/bodies.h"
#include "graph/pass.h"
#include "onnx/export.h"
#include "onnx/onnx.h"
#include "onnx/opsets.h"
#include "op/op.h"

enum { NAME_TRIES = 1000000, OPSET_NEW = 13, IR_WITH_OPSETS = 3, IR_WITH_WEIGHTS = 4 };

static bool take(struct exporter *x, sym y)
{
	while (x->used.n <= y)
		vec_push(&x->used, false);
	if (!y || x->used.a[y])
		return false;
	return x->used.a[y] = true;
}

sym export_fresh(struct exporter *x, const char *base)
{
	sym y = intern(*base ? base : "v");
	for (int i = 1; !take(x, y) && i < NAME_TRIES; i++)
		y = intern_printf("%s_%d", base, i);
	return y;
}

/* Nodes have names of their own; runtimes refuse one that two of them have. */
static sym node_name(struct exporter *x, sym name)
{
	sym y = name;
	for (int i = 1; y && i < NAME_TRIES; i++) {
		while (x->node_used.n <= y)
			vec_push(&x->node_used, false);
		if (!x->node_used.a[y])
			break;
		y = intern_printf("%s_%d", sym_str(name), i);
	}
	if (y)
		x->node_used.a[y] = true;
	return y;
}

static sym initializer(struct exporter *x, val_id v)
{
	x->name[v] = x->wanted[v] ? x->wanted[v] : export_fresh(x, sym_str(val(x->m, v)->name));
	vec_push(&x->initializers, proto_tensor(x, x->name[v], val(x->m, v)->tensor));
	return x->name[v];
}

sym export_name(struct exporter *x, val_id v)
{
	if (!v)
		return 0;
	if (!x->name[v] && val(x->m, v)->kind == VAL_CONST)
		return initializer(x, v);
	return x->name[v];
}

sym export_define(struct exporter *x, val_id v)
{
	if (!v)
		return 0;
	x->name[v] = x->wanted[v] ? x->wanted[v] : export_fresh(x, sym_str(val(x->m, v)->name));
	return x->name[v];
}

sym export_ints(struct exporter *x, const char *base, int rank, const int64_t *dims, const int64_t *v)
{
	sym name = export_fresh(x, base);
	struct tensor *t = ARENA_NEW(&x->arena, struct tensor);
	*t = (struct tensor){.dtype = DT_I64, .rank = rank, .dims = arena_copy(&x->arena, dims, (size_t)rank * sizeof *dims)};
	t->nbytes = (size_t)tensor_count(t) * sizeof *v;
	t->data = arena_copy(&x->arena, v, t->nbytes);
	vec_push(&x->initializers, proto_tensor(x, name, t));
	return name;
}

static ProtobufCBinaryData *names(struct exporter *x, int n, const sym *s)
{
	ProtobufCBinaryData *b = ARENA_ARRAY(&x->arena, ProtobufCBinaryData, n + 1);
	for (int i = 0; i < n; i++)
		b[i] = proto_name(s[i]);
	return b;
}

Onnx__NodeProto *export_node(struct exporter *x, struct node_list *to, const char *op, int nin, const sym *in, int nout, const sym *out)
{
	Onnx__NodeProto *p = arena_alloc(&x->arena, sizeof *p);
	onnx__node_proto__init(p);
	while (nin && !in[nin - 1])
		nin--;
	p->n_input = (size_t)nin;
	p->input = names(x, nin, in);
	p->n_output = (size_t)nout;
	p->output = names(x, nout, out);
	p->op_type = proto_text(x, op);
	p->has_op_type = true;
	vec_push(to, p);
	return p;
}

/* Attributes stand in a row of at least 8 places, doubled when full. */
void export_add_attr(struct exporter *x, Onnx__NodeProto *p, Onnx__AttributeProto *a)
{
	size_t n = p->n_attribute;
	if (n == 0 || (n >= 8 && (n & (n - 1)) == 0)) {
		Onnx__AttributeProto **more = ARENA_ARRAY(&x->arena, Onnx__AttributeProto *, n < 8 ? 8 : 2 * n);
		if (n)
			memcpy(more, p->attribute, n * sizeof *more);
		p->attribute = more;
	}
	p->attribute[p->n_attribute++] = a;
}

/* Is it computed in g, and will the nodes of g define it under any name asked for? */
static bool can_name(struct exporter *x, graph_id g, val_id v)
{
	const struct value *y = val(x->m, v);
	return v && y->kind == VAL_NODE && y->graph == g && !x->wanted[v];
}

void export_inline(struct exporter *x, struct node_list *to, graph_id g, const sym *in, const sym *out)
{
	size_t nin = graph(x->m, g)->in.n, nout = graph(x->m, g)->out.n;
	bool *direct = ARENA_ARRAY(&x->arena, bool, nout + 1);
	for (size_t i = 0; i < nin; i++)
		x->name[graph(x->m, g)->in.a[i]] = in[i];
	for (size_t i = 0; i < nout; i++) {
		val_id v = graph(x->m, g)->out.a[i];
		direct[i] = out[i] && can_name(x, g, v);
		if (direct[i])
			x->wanted[v] = out[i];
	}
	export_nodes(x, to, g);
	for (size_t i = 0; i < nout; i++) {
		val_id v = graph(x->m, g)->out.a[i];
		if (direct[i])
			x->wanted[v] = 0;
		else if (out[i] && out[i] != export_name(x, v))
			export_node(x, to, "Identity", 1, (sym[]){export_name(x, v)}, 1, &out[i]);
	}
}

static Onnx__GraphProto *graph_proto(struct exporter *x, graph_id g, struct node_list *nodes)
{
	Onnx__GraphProto *p = arena_alloc(&x->arena, sizeof *p);
	sym name = graph(x->m, g)->name;
	onnx__graph_proto__init(p);
	p->name = name ? proto_name(name) : proto_text(x, "graph");
	p->has_name = true;
	p->n_node = nodes->n;
	p->node = arena_copy(&x->arena, nodes->a, nodes->n * sizeof *nodes->a);
	vec_free(nodes);
	return p;
}

Onnx__GraphProto *export_body(struct exporter *x, graph_id g, uint32_t formal, const sym *captured)
{
	size_t nin = graph(x->m, g)->in.n, nout = graph(x->m, g)->out.n;
	sym *in = ARENA_ARRAY(&x->arena, sym, nin + 1), *out = ARENA_ARRAY(&x->arena, sym, nout + 1);
	Onnx__ValueInfoProto **infos = ARENA_ARRAY(&x->arena, Onnx__ValueInfoProto *, nin + nout + 1);
	struct node_list nodes = {0};
	for (size_t i = 0; i < nin; i++) {
		const struct value *v = val(x->m, graph(x->m, g)->in.a[i]);
		in[i] = i < formal ? export_fresh(x, sym_str(v->name)) : captured[i - formal];
		if (i < formal)
			infos[i] = proto_value_info(x, in[i], &v->type);
	}
	bool *handed_on = ARENA_ARRAY(&x->arena, bool, formal + 1);
	for (size_t i = 0; i < nout; i++) {
		const struct value *v = val(x->m, graph(x->m, g)->out.a[i]);
		bool once = v->kind == VAL_INPUT && v->index < formal && !handed_on[v->index];
		if (once)
			handed_on[v->index] = true;
		out[i] = once ? in[v->index] : export_fresh(x, sym_str(v->name));
		infos[nin + i] = proto_value_info(x, out[i], &v->type);
	}
	export_inline(x, &nodes, g, in, out);
	Onnx__GraphProto *p = graph_proto(x, g, &nodes);
	p->n_input = formal;
	p->input = infos;
	p->n_output = nout;
	p->output = infos + nin;
	return p;
}

static bool dropped(const struct lowered *l, const char *name)
{
	for (int i = 0; i < l->ndrop; i++)
		if (!strcmp(l->drop[i], name))
			return true;
	return false;
}

/* Attributes with bodies: these see what their node captures as it is called outside. */
static void add_body_attr(struct exporter *x, Onnx__NodeProto *p, const struct attr *a, const sym *captured, uint32_t ncaptured)
{
	uint32_t count = a->kind == ATTR_GRAPH ? 1 : a->n;
	Onnx__AttributeProto *q = proto_attr(x, a);
	q->graphs = ARENA_ARRAY(&x->arena, Onnx__GraphProto *, count + 1);
	for (uint32_t i = 0; i < count; i++) {
		graph_id g = a->kind == ATTR_GRAPH ? a->u.graph : a->u.graphs[i];
		size_t nin = graph(x->m, g)->in.n;
		if (nin < ncaptured)
			die(EX_BADDATA, "graph '%s' has fewer inputs than its node captures", sym_str(graph(x->m, g)->name));
		Onnx__GraphProto *body = export_body(x, g, (uint32_t)nin - ncaptured, captured);
		if (a->kind == ATTR_GRAPH)
			q->g = body;
		else
			q->graphs[q->n_graphs++] = body;
	}
	export_add_attr(x, p, q);
}

static void set_bytes(ProtobufCBinaryData *to, protobuf_c_boolean *has, ProtobufCBinaryData b)
{
	*to = b;
	*has = true;
}

void export_note(struct exporter *x, Onnx__NodeProto *p, const char *key, const char *value)
{
	Onnx__StringStringEntryProto *e = arena_alloc(&x->arena, sizeof *e),
				     **all = ARENA_ARRAY(&x->arena, Onnx__StringStringEntryProto *, p->n_metadata_props + 1);

	onnx__string_string_entry_proto__init(e);
	set_bytes(&e->key, &e->has_key, proto_text(x, key));
	set_bytes(&e->value, &e->has_value, proto_text(x, value));
	for (size_t i = 0; i < p->n_metadata_props; i++)
		all[i] = p->metadata_props[i];
	all[p->n_metadata_props++] = e;
	p->metadata_props = all;
}

void export_domain(struct exporter *x, Onnx__NodeProto *p, const char *domain, int64_t version)
{
	sym name = intern(domain);
	size_t i = 0;

	p->has_domain = true;
	p->domain = proto_name(name);
	while (i < x->domains.n && x->domains.a[i].name != name)
		i++;
	if (i == x->domains.n)
		vec_push(&x->domains, (struct domain){name, 0});
	if (version > x->domains.a[i].least)
		x->domains.a[i].least = version;
}

/* Types of results that ONNX does not infer, where the file had them; outputs of the model have them anyway. */
static void result_types(struct exporter *x, node_id id, const sym *out)
{
	const struct node *n = node(x->m, id);

	if (n->graph != x->m->main || (id < x->untyped.n && x->untyped.a[id]))
		return;
	for (uint32_t i = 0; i < n->nout; i++)
		if (out[i] && !x->wanted[n->out[i]] && proto_type(x, &val(x->m, n->out[i])->type))
			vec_push(&x->value_info, proto_value_info(x, out[i], &val(x->m, n->out[i])->type));
}

static void plain_node(struct exporter *x, struct node_list *to, node_id id)
{
	struct node n = *node(x->m, id);
	if (n.op != OP_OTHER && *op_info(n.op)->domain)
		die(EX_NOTAVAIL, "%s: ONNX has no operator hone.%s, and there is no other form of it yet", sym_str(node_name(x, n.name)),
		    op_name(n.op));
	struct lowered l = opset_lower(x->m, &n, x->opset);
	bool bodies = node_body(&n, 0) != 0;
	uint32_t captures = bodies ? (uint32_t)attr_i(&n, "captures") : 0;
	if (captures > n.nin)
		die(EX_BADDATA, "a node captures more than its operands");
	uint32_t nin = l.nin < n.nin - captures ? l.nin : n.nin - captures;
	sym *in = ARENA_ARRAY(&x->arena, sym, n.nin + 1), *out = ARENA_ARRAY(&x->arena, sym, n.nout + 1);
	for (uint32_t i = 0; i < n.nin; i++)
		in[i] = i < nin || i >= n.nin - captures ? export_name(x, n.in[i]) : 0;
	for (uint32_t i = 0; i < n.nout; i++) { /* results that are not optional have names, wanted or not */
		out[i] = export_define(x, n.out[i]);
		if (!out[i] && (int)i < op_info(n.op)->min_out)
			out[i] = export_fresh(x, "unused");
	}
	Onnx__NodeProto *p = export_node(x, to, node_op_name(&n), (int)nin, in, (int)n.nout, out);
	p->has_name = n.name != 0;
	p->name = proto_name(node_name(x, n.name));
	if (n.nout && n.out[0] && val(x->m, n.out[0])->type.layout)
		export_note(x, p, "hone.layout", sym_str(val(x->m, n.out[0])->type.layout));
	if (n.op == OP_OTHER) {
		if (n.domain != intern("ai.onnx")) /* which is ONNX's own, and written as none */
			export_domain(x, p, sym_str(n.domain), 0);
		result_types(x, id, out);
	}
	for (uint32_t i = 0; i < n.nattr; i++) {
		const struct attr *a = &n.attr[i];
		const char *name = sym_str(a->name);
		if (dropped(&l, name) || (bodies && !strcmp(name, "captures")))
			continue;
		if (a->kind == ATTR_GRAPH || a->kind == ATTR_GRAPHS)
			add_body_attr(x, p, a, in + n.nin - captures, captures);
		else
			export_add_attr(x, p, proto_attr(x, a));
	}
	for (int i = 0; i < l.nadd; i++)
		export_add_attr(x, p, proto_attr(x, &l.add[i]));
}

void export_nodes(struct exporter *x, struct node_list *to, graph_id g)
{
	for (size_t i = 0; i < graph(x->m, g)->nodes.n; i++) {
		node_id n = graph(x->m, g)->nodes.a[i];
		if (!export_own(x, to, n))
			plain_node(x, to, n);
	}
}

static void weights_as_inputs(struct exporter *x, Onnx__GraphProto *p)
{
	size_t n = p->n_input, nweights = x->initializers.n;
	Onnx__ValueInfoProto **all = ARENA_ARRAY(&x->arena, Onnx__ValueInfoProto *, n + nweights + 1);
	VEC(bool) listed = {0}; /* by symbol */
	for (size_t i = 0; i < n; i++) {
		sym name = intern_n((const char *)p->input[i]->name.data, p->input[i]->name.len);
		while (listed.n <= name)
			vec_push(&listed, false);
		listed.a[name] = true;
		all[i] = p->input[i];
	}
	for (size_t i = 0; i < nweights; i++) {
		const Onnx__TensorProto *t = x->initializers.a[i];
		sym name = intern_n((const char *)t->name.data, t->name.len);
		struct type type = type_make(x->m, dtype_from_onnx(t->data_type), (int)t->n_dims, t->dims);
		if (name >= listed.n || !listed.a[name])
			all[n++] = proto_value_info(x, name, &type);
	}
	vec_free(&listed);
	p->input = all;
	p->n_input = n;
}

/* Where a name stands for a value already, it needs no node to be that: an input that is an output, an output that is
 * listed twice. */
static bool is_named(struct exporter *x, sym name, val_id v)
{
	while (x->stands_for.n <= name)
		vec_push(&x->stands_for, 0);
	if (x->stands_for.a[name] == v)
		return true;
	x->stands_for.a[name] = v;
	return false;
}

static void main_inputs(struct exporter *x, const struct graph *g, sym *in, Onnx__ValueInfoProto **infos)
{
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(x->m, g->in.a[i]);
		in[i] = v->name;
		if (!take(x, in[i]))
			die(EX_BADDATA, "two inputs are called '%s'", sym_str(in[i]));
		is_named(x, in[i], g->in.a[i]);
		infos[i] = proto_value_info(x, in[i], &v->type);
		if (!infos[i]->type)
			die(EX_BADDATA, "input '%s' has no type", sym_str(in[i]));
		if (v->overridable && v->tensor)
			vec_push(&x->initializers, proto_tensor(x, in[i], v->tensor));
	}
}

/* out[i]: the name that output i is to be given, 0 where it has it. */
static void main_outputs(struct exporter *x, const struct graph *g, sym *out, Onnx__ValueInfoProto **infos)
{
	for (size_t i = 0; i < g->out.n; i++) {
		sym name = g->out_name.a[i];
		infos[i] = proto_value_info(x, name, &val(x->m, g->out.a[i])->type);
		if (is_named(x, name, g->out.a[i]))
			continue;
		if (!take(x, name))
			die(EX_BADDATA, "two inputs or outputs are called '%s', which ONNX cannot say", sym_str(name));
		out[i] = name;
	}
}

static Onnx__GraphProto *main_graph(struct exporter *x)
{
	struct module *m = x->m;
	const struct graph *g = graph(m, m->main);
	struct node_list nodes = {0};
	sym *in = ARENA_ARRAY(&x->arena, sym, g->in.n + 1), *out = ARENA_ARRAY(&x->arena, sym, g->out.n + 1);
	Onnx__ValueInfoProto **infos = ARENA_ARRAY(&x->arena, Onnx__ValueInfoProto *, g->in.n + g->out.n + 1);
	main_inputs(x, g, in, infos);
	main_outputs(x, g, out, infos + g->in.n);
	export_inline(x, &nodes, m->main, in, out);
	Onnx__GraphProto *p = graph_proto(x, m->main, &nodes);
	g = graph(m, m->main);
	p->input = infos;
	p->n_input = g->in.n;
	if (x->ir < IR_WITH_WEIGHTS)
		weights_as_inputs(x, p);
	p->output = infos + g->in.n;
	p->n_output = g->out.n;
	p->initializer = x->initializers.a;
	p->n_initializer = x->initializers.n;
	p->value_info = x->value_info.a;
	p->n_value_info = x->value_info.n;
	return p;
}

static int64_t declared_opset(const struct module *m)
{
	const char *s = module_meta(m, "opset:ai.onnx");
	return s ? atoll(s) : 0;
}

/* The opset of the file that m came from, or the nearest that is written; 0: it came from none. */
static int opset_of_file(const struct module *m)
{
	int64_t n = declared_opset(m);
	return n > CANONICAL_OPSET ? CANONICAL_OPSET : n && n < OPSET_OLDEST ? OPSET_OLDEST : n > 0 ? (int)n : 0;
}

/* What the nodes need; *most: that which needs it, 0 if it is an output. */
static int needed_opset(struct module *m, const struct graph_list *order, node_id *most)
{
	int need = OPSET_OLDEST;
	for (size_t i = 0; i < order->n; i++) {
		const struct graph *g = graph(m, order->a[i]);
		for (size_t k = 0; k < g->nodes.n; k++) {
			int n = opset_needed(m, node(m, g->nodes.a[k]));
			if (n > need) {
				need = n;
				*most = g->nodes.a[k];
			}
		}
		for (size_t k = 0; k < g->out.n; k++) {
			int n = opset_needed_by_output(m, g->out.a[k]);
			need = n > need ? n : need;
		}
	}
	return need;
}

/* The opset asked for, else that of the file, else the lowest of OPSET_NEW and above in which all can be said.
 * Brings the module to it. */
static int choose_opset(struct exporter *x, int asked)
{
	struct module *m = x->m;
	struct graph_list order = {0};
	node_id most = 0;
	int file = opset_of_file(m), opset = asked ? asked : file ? file : OPSET_NEW, need;
	opset_expand(m, asked || file ? opset : CANONICAL_OPSET, !asked);
	module_graph_order(m, &order);
	need = needed_opset(m, &order, &most);
	if (need > opset) {
		const char *what = most ? node_where(m, most, &x->arena) : "an output";
		const char *source = m->source ? m->source : "stream";
		if (asked)
			die(EX_NOTAVAIL, "%s: %s: needs opset %d, not %d", source, what, need, asked);
		if (file)
			note("%s: %s: needs opset %d, so that is written instead of %d", source, what, need, opset);
		opset = need;
	} else if (!asked && file && declared_opset(m) < OPSET_OLDEST) {
		note("%s: opset %lld is read but not written; this is opset %d instead", m->source ? m->source : "stream",
		     (long long)declared_opset(m), opset);
	}
	for (size_t i = 0; i < order.n; i++)
		for (size_t k = 0; k < graph(m, order.a[i])->nodes.n; k++)
			older_lower(m, graph(m, order.a[i])->nodes.a[k], opset);
	vec_free(&order);
	return opset;
}

/* The IR version stays with the opset. Before 4 every weight had to be an input. */
static int64_t choose_ir(struct exporter *x)
{
	int64_t of_opset = opset_ir_version(x->opset), of_file = x->m->ir_version;
	int file = opset_of_file(x->m);
	bool foreign = false; /* from a file without operators of ONNX */
	for (size_t i = 0; i < x->m->meta.n && !file; i++)
		foreign |= !strncmp(sym_str(x->m->meta.a[i].key), "opset:", 6);
	if ((file == x->opset || foreign) && of_file >= IR_WITH_OPSETS)
		return of_file;
	if (file && file < x->opset && of_file > of_opset)
		return of_file;
	return of_opset < IR_WITH_WEIGHTS ? IR_WITH_WEIGHTS : of_opset;
}

/* Every value has a type, and outputs a rank, which onnx.checker wants. */
static bool typed(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	for (size_t i = 0; i < g->out.n; i++)
		if (val(m, g->out.a[i])->type.rank < 0 && !val(m, g->out.a[i])->type.other)
			return false;
	for (size_t i = 1; i < m->values.n; i++)
		if (m->values.a[i].kind == VAL_NODE && m->values.a[i].type.dtype == DT_NONE && !m->values.a[i].type.other)
			return false;
	return true;
}

static Onnx__OperatorSetIdProto *opset_id(struct exporter *x, const char *domain, int64_t version)
{
	Onnx__OperatorSetIdProto *o = arena_alloc(&x->arena, sizeof *o);
	onnx__operator_set_id_proto__init(o);
	set_bytes(&o->domain, &o->has_domain, proto_text(x, domain));
	o->version = version;
	o->has_version = true;
	return o;
}

static void header(struct exporter *x, Onnx__ModelProto *p)
{
	struct module *m = x->m;
	const char *s;
	p->ir_version = x->ir;
	p->has_ir_version = true;
	set_bytes(&p->producer_name, &p->has_producer_name, proto_text(x, "hone"));
	set_bytes(&p->producer_version, &p->has_producer_version, proto_text(x, HONE_VERSION));
	if ((s = module_meta(m, "domain")))
		set_bytes(&p->domain, &p->has_domain, proto_text(x, s));
	if ((s = module_meta(m, "doc_string")))
		set_bytes(&p->doc_string, &p->has_doc_string, proto_text(x, s));
	if ((s = module_meta(m, "model_version"))) {
		p->model_version = atoll(s);
		p->has_model_version = true;
	}
	p->opset_import = ARENA_ARRAY(&x->arena, Onnx__OperatorSetIdProto *, x->domains.n + 1);
	p->opset_import[p->n_opset_import++] = opset_id(x, "", x->opset);
	for (size_t i = 0; i < x->domains.n; i++) {
		const char *domain = sym_str(x->domains.a[i].name);
		s = module_meta(m, arena_printf(&x->arena, "opset:%s", domain));
		int64_t version = s ? atoll(s) : 1, least = x->domains.a[i].least;
		p->opset_import[p->n_opset_import++] = opset_id(x, domain, version < least ? least : version);
	}
	p->metadata_props = ARENA_ARRAY(&x->arena, Onnx__StringStringEntryProto *, m->meta.n + 1);
	for (size_t i = 0; i < m->meta.n; i++) {
		Onnx__StringStringEntryProto *e = arena_alloc(&x->arena, sizeof *e);
		s = sym_str(m->meta.a[i].key);
		if (strncmp(s, "prop:", 5))
			continue;
		onnx__string_string_entry_proto__init(e);
		set_bytes(&e->key, &e->has_key, proto_text(x, s + 5));
		set_bytes(&e->value, &e->has_value, proto_name(m->meta.a[i].value));
		p->metadata_props[p->n_metadata_props++] = e;
	}
}

/* protobuf-c writes through this; errors are seen when the file is closed. */
struct file_buffer {
	ProtobufCBuffer base;
	FILE *f;
};

static void append(ProtobufCBuffer *b, size_t n, const uint8_t *p)
{
	fwrite(p, 1, n, ((struct file_buffer *)b)->f);
	mapping_forget(p, n);
}

static void external_open(struct exporter *x, struct outfile *o, const char *model, const struct outfile *model_file, const char *file)
{
	const char *slash = model ? strrchr(model, '/') : NULL;
	if (!*file || strchr(file, '/') || !strcmp(file, ".") || !strcmp(file, ".."))
		die(EX_BADUSE, "--external '%s': a name, not a path; the file is written beside the model", file);
	outfile_open(o, slash ? arena_printf(&x->arena, "%.*s%s", (int)(slash - model + 1), model, file) : file, true);
	if (model_file->path && !strcmp(o->path, model_file->path)) /* links have been followed */
		die(EX_BADUSE, "--external '%s': is the model itself", file);
	x->external = file;
	x->external_file = o->f;
}

static void find_unnamed(struct exporter *x)
{
	const struct module *m = x->m;
	sym key = intern(UNNAMED_SIZE);

	for (size_t i = 0; i < m->meta.n; i++) {
		poly_var v = m->meta.a[i].key == key ? poly_var_find(m->dims, m->meta.a[i].value) : 0;
		if (v)
			vec_push(&x->unnamed, v);
	}
}

void onnx_export(struct module *m, const char *path, const struct onnx_export_opts *o)
{
	struct exporter x = {.m = m};
	struct outfile out, weights;
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	if (o->opset && (o->opset < OPSET_OLDEST || o->opset > CANONICAL_OPSET))
		die(EX_BADUSE, "--opset %d: from %d to %d", o->opset, OPSET_OLDEST, CANONICAL_OPSET);
	find_unnamed(&x);
	export_foreign(&x);
	export_fitted(m);
	if (!typed(m))
		infer_module(m, NULL);
	x.opset = choose_opset(&x, o->opset);
	x.ir = choose_ir(&x);
	module_name_values(m);
	x.name = ARENA_ARRAY(&x.arena, sym, m->values.n);
	x.wanted = ARENA_ARRAY(&x.arena, sym, m->values.n);
	outfile_open(&out, path, true);
	if (o->external)
		external_open(&x, &weights, path, &out, o->external);
	model.graph = main_graph(&x);
	header(&x, &model);
	if (x.inside > INT32_MAX)
		die(EX_NOTAVAIL,
		    "%llu bytes of weights do not fit into an ONNX file of at most 2 GB; give "
		    "--external FILE",
		    (unsigned long long)x.inside);
	struct file_buffer buffer = {{append}, out.f};
	onnx__model_proto__pack_to_buffer(&model, &buffer.base);
	if (o->external)
		outfile_close(&weights);
	outfile_close(&out);
	vec_free(&x.used);
	vec_free(&x.stands_for);
	vec_free(&x.node_used);
	vec_free(&x.initializers);
	vec_free(&x.domains);
	vec_free(&x.value_info);
	vec_free(&x.unnamed);
	vec_free(&x.untyped);
	arena_release(&x.arena);
}
