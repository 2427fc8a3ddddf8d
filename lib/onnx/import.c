/* ONNX files to modules. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/filename.h"
#include "common/shown.h"
#include "graph/check.h"
#include "graph/stream.h"
#include "graph/symbols.h"
#include "onnx/gguf/gguf.h"
#include "onnx/import.h"
#include "onnx/names.h"
#include "onnx/opsets.h"
#include "onnx/wire.h"
#include "op/op.h"

sym import_name(const ProtobufCBinaryData *b)
{
	const char *p = (const char *)b->data;
	size_t nuls = 0, k = 0;
	if (!b->len)
		return 0;
	for (size_t i = 0; i < b->len; i++)
		nuls += !p[i];
	if (!nuls)
		return intern_n(p, b->len);
	char *s = xmalloc(b->len + 2 * nuls);
	for (size_t i = 0; i < b->len; i++) {
		if (p[i]) {
			s[k++] = p[i];
		} else {
			memcpy(s + k, "\xe2\x90\x80", 3);
			k += 3;
		}
	}
	sym y = intern_n(s, k);
	free(s);
	return y;
}

noreturn static void fail(struct importer *c, enum exit_code code, const char *fmt, va_list ap)
{
	char where[512] = "", what[1024];
	vsnprintf(what, sizeof what, fmt, ap);
	if (c->at) {
		sym name = import_name(&c->at->name);
		if (!name && c->at->n_output)
			name = import_name(&c->at->output[0]);
		snprintf(where, sizeof where, "%s/%s (%s): ", c->at_graph ? c->at_graph : "", sym_str(name),
			 sym_str(import_name(&c->at->op_type)));
	} else if (c->at_graph) {
		snprintf(where, sizeof where, "%s: ", c->at_graph);
	}
	die(code, "%s: %s%s", c->path, where, what);
}

noreturn void import_die(struct importer *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fail(c, EX_BADDATA, fmt, ap);
}

noreturn void import_unsupported(struct importer *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fail(c, EX_NOTAVAIL, fmt, ap);
}

static bool is_onnx_domain(const ProtobufCBinaryData *d) { return d->len == 0 || bytes_are(d, "ai.onnx"); }

/* The opset of ai.onnx, or none if it is not listed. */
int64_t import_opset(struct importer *c, size_t n, Onnx__OperatorSetIdProto **sets, int64_t none)
{
	int64_t v = none;
	for (size_t i = 0; i < n; i++)
		if (is_onnx_domain(&sets[i]->domain))
			v = sets[i]->version;
	if (v > CANONICAL_OPSET)
		import_die(c,
			   "opset %lld is newer than %d, the newest this program knows; export the "
			   "model to an older opset, or update hone",
			   (long long)v, CANONICAL_OPSET);
	if (v < OLDEST_OPSET && v != none)
		import_die(c, "opset %lld is older than %d, the oldest there is", (long long)v, OLDEST_OPSET);
	return v;
}

static graph_id import_body(struct importer *c, const Onnx__GraphProto *p, struct captures *captures);

/* One body among those of a node. */
struct body {
	graph_id g;
	uint32_t formal; /* inputs before the captured ones */
	struct captures captures;
};
struct bodies {
	VEC(struct body) all;
};

static graph_id add_body(struct importer *c, struct bodies *b, const Onnx__GraphProto *p)
{
	struct body x = {0};
	const Onnx__NodeProto *at = c->at;
	const char *at_graph = c->at_graph;
	x.g = import_body(c, p, &x.captures);
	c->at = at;
	c->at_graph = at_graph;
	x.formal = (uint32_t)(graph(c->m, x.g)->in.n - x.captures.n);
	vec_push(&b->all, x);
	return x.g;
}

static int compare_captures(const void *x, const void *y)
{
	const val_id *a = x, *b = y;
	return (a[0] > b[0]) - (a[0] < b[0]);
}

/* Gives body x exactly the captured inputs that `all` lists, in that order. */
static void align_captures(struct importer *c, const struct body *x, const struct captures *all)
{
	struct captures byval = {0}; /* pairs: captured value, input of the body */
	struct captures in = {0};
	for (size_t i = 0; i < x->captures.n; i++) {
		vec_push(&byval, x->captures.a[i]);
		vec_push(&byval, graph(c->m, x->g)->in.a[x->formal + i]);
	}
	if (byval.n)
		qsort(byval.a, byval.n / 2, 2 * sizeof *byval.a, compare_captures);
	for (size_t i = 0; i < all->n; i++) {
		const val_id *hit = byval.n ? bsearch(&all->a[i], byval.a, byval.n / 2, 2 * sizeof *byval.a, compare_captures) : NULL;
		const struct value *outer = val(c->m, all->a[i]);
		vec_push(&in, hit ? hit[1] : graph_add_input(c->m, x->g, outer->name, outer->type));
	}
	struct graph *g = graph(c->m, x->g);
	g->in.n = x->formal;
	for (size_t i = 0; i < in.n; i++) {
		val(c->m, in.a[i])->index = (uint32_t)g->in.n;
		vec_push(&g->in, in.a[i]);
	}
	vec_free(&byval);
	vec_free(&in);
}

/* What any of the bodies captures, each once, in order of first use; the bodies agree then. */
static struct captures close_bodies(struct importer *c, struct bodies *b)
{
	struct captures all = {0}, seen = {0};
	for (size_t i = 0; i < b->all.n; i++) {
		const struct body *x = &b->all.a[i];
		for (size_t k = 0; k < x->captures.n; k++) {
			val_id v = x->captures.a[k];
			bool new = !seen.n || !bsearch(&v, seen.a, seen.n, sizeof v, compare_captures);
			if (new)
				vec_push(&all, v);
		}
		seen.n = 0;
		for (size_t k = 0; k < all.n; k++)
			vec_push(&seen, all.a[k]);
		if (seen.n)
			qsort(seen.a, seen.n, sizeof *seen.a, compare_captures);
	}
	for (size_t i = 0; i < b->all.n; i++) {
		align_captures(c, &b->all.a[i], &all);
		vec_free(&b->all.a[i].captures);
	}
	vec_free(&b->all);
	vec_free(&seen);
	return all;
}

static int compare_attrs(const void *x, const void *y)
{
	const struct attr *a = x, *b = y;
	return strcmp(sym_str(a->name), sym_str(b->name));
}

/* Attributes of p, sorted; bodies go to b. */
static struct attr *import_attrs(struct importer *c, const Onnx__NodeProto *p, uint32_t *n, struct bodies *b)
{
	struct attr *attrs = ARENA_ARRAY(&c->m->arena, struct attr, p->n_attribute + 1);
	*n = 0;
	for (size_t i = 0; i < p->n_attribute; i++) {
		const Onnx__AttributeProto *a = function_attr(c, p->attribute[i]);
		struct attr *x = &attrs[*n];
		if (!a)
			continue;
		*x = (struct attr){.name = import_name(&p->attribute[i]->name)};
		import_attr(c, a, x);
		if (x->kind == ATTR_GRAPH) {
			x->u.graph = add_body(c, b, a->g);
		} else if (x->kind == ATTR_GRAPHS) {
			graph_id *gs = ARENA_ARRAY(&c->m->arena, graph_id, a->n_graphs + 1);
			for (size_t k = 0; k < a->n_graphs; k++)
				gs[k] = add_body(c, b, a->graphs[k]);
			x->n = (uint32_t)a->n_graphs;
			x->u.graphs = gs;
		}
		++*n;
	}
	qsort(attrs, *n, sizeof *attrs, compare_attrs);
	for (uint32_t i = 1; i < *n; i++)
		if (attrs[i].name == attrs[i - 1].name)
			import_die(c, "attribute '%s' is given twice", sym_str(attrs[i].name));
	return attrs;
}

/* The tensor that an attribute value_* of a Constant stands for. */
static struct tensor *tensor_of_attr(struct importer *c, const struct attr *x)
{
	struct arena *a = &c->m->arena;
	struct tensor *t = ARENA_NEW(a, struct tensor);
	bool list = x->kind == ATTR_INTS || x->kind == ATTR_FLOATS || x->kind == ATTR_STRS;
	size_t n = list ? x->n : 1;
	t->rank = list;
	t->dims = ARENA_NEW(a, int64_t);
	t->dims[0] = x->n;
	if (x->kind == ATTR_INT || x->kind == ATTR_INTS) {
		t->dtype = DT_I64;
		t->nbytes = n * 8;
		t->data = arena_copy(a, list ? (const void *)x->u.ints : &x->u.i, t->nbytes);
	} else if (x->kind == ATTR_FLOAT || x->kind == ATTR_FLOATS) {
		t->dtype = DT_F32;
		t->nbytes = n * 4;
		t->data = arena_copy(a, list ? (const void *)x->u.floats : &x->u.f, t->nbytes);
	} else {
		t->dtype = DT_STR;
		for (size_t i = 0; i < n; i++)
			t->nbytes += 4 + (list ? sym_len(x->u.strs[i]) : x->n);
		unsigned char *q = arena_alloc(a, t->nbytes);
		t->data = q;
		for (size_t i = 0; i < n; i++) {
			uint32_t len = list ? (uint32_t)sym_len(x->u.strs[i]) : x->n;
			memcpy(q, &len, 4);
			memcpy(q + 4, list ? sym_str(x->u.strs[i]) : x->u.s, len);
			q += 4 + len;
		}
	}
	import_keep(c, t);
	return t;
}

/* Constant nodes are constants. */
static void import_constant(struct importer *c, const Onnx__NodeProto *p)
{
	struct tensor *t = NULL;
	sym name = p->n_output ? import_name(&p->output[0]) : 0;
	const char *which = NULL;
	struct attr x = {0};
	if (p->n_output != 1 || !name || p->n_input)
		import_die(c, "a Constant has no operand and one result");
	for (size_t i = 0; i < p->n_attribute; i++) {
		const Onnx__AttributeProto *a = function_attr(c, p->attribute[i]);
		if (!a)
			continue;
		if (which)
			import_die(c, "a Constant has one value");
		which = sym_str(import_name(&p->attribute[i]->name));
		import_attr(c, a, &x);
	}
	if (!which)
		import_die(c, "a Constant without a value");
	if (x.kind == ATTR_TENSOR && (!strcmp(which, "value") || !strcmp(which, "sparse_value")))
		t = x.u.tensor;
	else if (!strncmp(which, "value_", 6) && x.kind <= ATTR_STRS)
		t = tensor_of_attr(c, &x);
	else
		import_die(c, "a Constant with the attribute '%s'", which);
	scope_define(c, name, const_tensor(c->m, name, t));
}

/* Operands at the end that are not there, results at the end that nobody wants. */
static void trim(struct node *n)
{
	const struct op_info *info = op_info(n->op);
	while (n->nin && !n->in[n->nin - 1] && (int)n->nin > info->min_in)
		n->nin--;
	while (info->max_out >= 0 && n->nout && !n->out[n->nout - 1] && (int)n->nout > info->min_out)
		n->nout--;
}

static enum opcode operator_of(struct importer *c, const Onnx__NodeProto *p)
{
	if (is_onnx_domain(&p->domain)) {
		enum opcode op = op_find("", sym_str(import_name(&p->op_type)));
		if (c->opset < OLDEST_OPSET)
			import_die(c, "the model imports no opset of ai.onnx; cut short?");
		if (op == OP_OTHER && !contrib_is_own("ai.onnx", sym_str(import_name(&p->op_type))))
			warn("%s: %s: no such operator in ONNX up to opset %d; it goes through as it is", c->path,
			     shown(sym_str(import_name(&p->op_type))), CANONICAL_OPSET);
		return op;
	}
	if (bytes_are(&p->domain, "hone"))
		import_die(c, "the domain 'hone' is not for files");
	return OP_OTHER;
}

/* A string with a NUL within would end there. Of operators that are not known it goes through as it is. */
static void refuse_nuls(struct importer *c, const Onnx__NodeProto *p, enum opcode op, const struct attr *attr, uint32_t n)
{
	if (op == OP_OTHER ? !bytes_are(&p->domain, "ai.onnx.ml") : op_row(op) && op_row(op)->counted)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (attr[i].kind == ATTR_STR && memchr(attr[i].u.s, 0, attr[i].n))
			import_unsupported(c, "attribute '%s' has a NUL within, which is not supported", sym_str(attr[i].name));
}

static void import_node(struct importer *c, graph_id g, const Onnx__NodeProto *p)
{
	struct module *m = c->m;
	struct bodies bodies = {0};
	uint32_t nattr;
	c->at = p;
	if (function_expand(c, g, p))
		return;
	enum opcode op = operator_of(c, p);
	if (op == OP_Constant) {
		import_constant(c, p);
		return;
	}
	struct attr *attrs = import_attrs(c, p, &nattr, &bodies);
	refuse_nuls(c, p, op, attrs, nattr);
	for (uint32_t i = 0; i < nattr; i++) {
		const char *name = sym_str(attrs[i].name),
			   *type = attrs[i].kind == ATTR_INT && attrs[i].u.i < 30 ? onnx_type_foreign((int)attrs[i].u.i) : NULL;
		if (type && op_attr_is_type(op, name))
			import_unsupported(c, "attribute '%s' is %lld (%s), which is not supported", name, (long long)attrs[i].u.i, type);
	}
	for (uint32_t i = 0; i < nattr && bodies.all.n; i++)
		if (!strcmp(sym_str(attrs[i].name), "captures")) /* of operators with bodies it is ours */
			import_unsupported(c, "an operator with graphs and an attribute 'captures'");
	struct captures extra = close_bodies(c, &bodies);
	size_t nin = p->n_input + extra.n;
	val_id *in = xmalloc((nin + 1) * sizeof *in);
	for (size_t i = 0; i < p->n_input; i++)
		in[i] = p->input[i].len ? scope_lookup(c, import_name(&p->input[i])) : 0;
	if (extra.n)
		memcpy(in + p->n_input, extra.a, extra.n * sizeof *in);
	node_id id = node_new_loose(m, g, op, (int)nin, in, (int)p->n_output);
	struct node *n = node(m, id);
	n->name = import_name(&p->name);
	n->attr = attrs;
	n->nattr = nattr;
	if (op == OP_OTHER) {
		n->domain = is_onnx_domain(&p->domain) ? intern("ai.onnx") : import_name(&p->domain);
		n->optype = import_name(&p->op_type);
	}
	for (uint32_t i = 0; i < n->nout; i++) {
		sym name = import_name(&p->output[i]);
		if (name) {
			val(m, n->out[i])->name = name;
			scope_define(c, name, n->out[i]);
		} else {
			n->out[i] = 0;
		}
	}
	if (extra.n)
		attr_set_int(m, id, "captures", (int64_t)extra.n);
	else
		trim(n);
	if (opset_own_operand(n) >= 0)
		import_die(c, "%u operands, takes %d", n->nin, opset_own_operand(n));
	if (op != OP_OTHER)
		convert_node(c, id);
	else if (!(c->opts.keep_foreign && foreign_keep(c, id)) && !contrib_expand(c, id))
		vec_push(&graph(m, g)->nodes, id);
	vec_free(&extra);
	free(in);
}

void import_nodes(struct importer *c, graph_id g, size_t n, Onnx__NodeProto **nodes)
{
	uint32_t *order = import_order(c, n, nodes);
	for (size_t i = 0; i < n; i++)
		import_node(c, g, nodes[order ? order[i] : i]);
	c->at = NULL;
	free(order);
}

static void import_initializer(struct importer *c, sym name, struct tensor *t)
{
	val_id v;
	if (!name)
		import_die(c, "an initializer without a name");
	if (scope_defined_here(c, name, &v) && val(c->m, v)->kind == VAL_INPUT && !val(c->m, v)->tensor) {
		val(c->m, v)->tensor = t;
		val(c->m, v)->overridable = true;
		return;
	}
	scope_define(c, name, const_tensor(c->m, name, t));
}

/* An initializer that is an input too has the type that the input is declared with; if only its shape is another, that is believed. */
static void check_initialized(struct importer *c, const Onnx__ValueInfoProto *p)
{
	const Onnx__TypeProto__Tensor *declared = p->type ? p->type->tensor_type : NULL;
	val_id id;
	if (!declared || !scope_defined_here(c, import_name(&p->name), &id) || !id || !val(c->m, id)->tensor)
		return;
	struct value *v = val(c->m, id);
	const struct tensor *t = v->tensor;
	bool fits = !declared->shape || declared->shape->n_dim == (size_t)t->rank;
	if (declared->elem_type && declared->elem_type != dtype_to_onnx(t->dtype))
		import_die(c, "initializer '%s' is of %s, the input of that name of %s", sym_str(v->name),
			   onnx_type_name(dtype_to_onnx(t->dtype)), onnx_type_name(declared->elem_type));
	for (int k = 0; fits && declared->shape && k < t->rank; k++)
		fits = !declared->shape->dim[k]->has_dim_value || declared->shape->dim[k]->dim_value == t->dims[k];
	if (fits)
		return;
	struct type is = tensor_type(c->m, t);
	warn("%s: initializer '%s' is %s, the input of that name is declared otherwise; the initializer is believed", c->path,
	     sym_str(v->name), type_str(c->m, &is, &c->m->arena));
	if (v->kind == VAL_INPUT)
		v->type = is;
}

/* Names of all initializers, marked by symbol: inputs of that name are constants, not inputs. */
struct marks {
	VEC(bool) by;
};

static void mark(struct marks *k, sym y)
{
	while (k->by.n <= y)
		vec_push(&k->by, false);
	k->by.a[y] = true;
}

static void import_inputs(struct importer *c, graph_id g, const Onnx__GraphProto *p, bool fixed)
{
	struct marks k = {0};
	for (size_t i = 0; i < p->n_initializer && fixed; i++)
		mark(&k, import_name(&p->initializer[i]->name));
	for (size_t i = 0; i < p->n_sparse_initializer && fixed; i++)
		if (p->sparse_initializer[i]->values)
			mark(&k, import_name(&p->sparse_initializer[i]->values->name));
	for (size_t i = 0; i < p->n_input; i++) {
		sym name = import_name(&p->input[i]->name);
		if (!name)
			import_die(c, "input %zu has no name", i);
		if (name < k.by.n && k.by.a[name])
			continue;
		scope_define(c, name, graph_add_input(c->m, g, name, import_type(c, p->input[i]->type)));
	}
	vec_free(&k.by);
}

/* What the file says of types is kept where inference may not reach: results of the graph and of
 * operators that are not ours. */
static void import_result_type(struct importer *c, graph_id g, const Onnx__ValueInfoProto *p, bool foreign_only)
{
	val_id v;
	if (!scope_defined_here(c, import_name(&p->name), &v) || !v || val(c->m, v)->kind != VAL_NODE || val(c->m, v)->graph != g)
		return;
	node_id def = val(c->m, v)->def;
	bool foreign = node(c->m, def)->op == OP_OTHER;
	struct type t;
	if (foreign_only && node(c->m, def)->op == OP_Foreign)
		attr_set_int(c->m, def, "typed", 1);
	if (foreign_only && !foreign)
		return;
	t = import_type(c, p->type);
	if (foreign || !c->opts.no_maps || !t.other || !strstr(sym_str(t.other), "map("))
		val(c->m, v)->type = t;
}

/* Fills g. fixed: initializers that are inputs too are constants. */
static void import_graph(struct importer *c, graph_id g, const Onnx__GraphProto *p, bool fixed)
{
	function_count(c, p->n_node + p->n_input + p->n_initializer + p->n_sparse_initializer);
	import_inputs(c, g, p, fixed);
	for (size_t i = 0; i < p->n_initializer; i++)
		import_initializer(c, import_name(&p->initializer[i]->name), import_tensor(c, p->initializer[i]));
	for (size_t i = 0; i < p->n_sparse_initializer; i++) {
		struct tensor *t = import_sparse(c, p->sparse_initializer[i]);
		import_initializer(c, import_name(&p->sparse_initializer[i]->values->name), t);
	}
	for (size_t i = 0; i < p->n_input; i++)
		check_initialized(c, p->input[i]);
	import_nodes(c, g, p->n_node, p->node);
	for (size_t i = 0; i < p->n_output; i++) {
		sym name = import_name(&p->output[i]->name);
		if (!name)
			import_die(c, "output %zu has no name", i);
		graph_add_output(c->m, g, scope_lookup(c, name), name);
		import_result_type(c, g, p->output[i], false);
	}
	for (size_t i = 0; i < p->n_value_info; i++)
		import_result_type(c, g, p->value_info[i], true);
}

static graph_id import_body(struct importer *c, const Onnx__GraphProto *p, struct captures *captures)
{
	graph_id g = graph_new(c->m, import_name(&p->name));
	c->at = NULL;
	c->at_graph = sym_str(import_name(&p->name));
	scope_enter(c, g, false);
	import_graph(c, g, p, true);
	*captures = scope_leave(c);
	return g;
}

static void meta(struct importer *c, const char *key, const ProtobufCBinaryData *value)
{
	if (value->len)
		vec_push(&c->m->meta, (struct meta){intern(key), import_name(value)});
}

static void import_header(struct importer *c)
{
	const Onnx__ModelProto *p = c->model;
	meta(c, "producer_name", &p->producer_name);
	meta(c, "producer_version", &p->producer_version);
	meta(c, "domain", &p->domain);
	meta(c, "doc_string", &p->doc_string);
	if (p->has_model_version && p->model_version)
		vec_push(&c->m->meta, (struct meta){intern("model_version"), intern_printf("%lld", (long long)p->model_version)});
	for (size_t i = 0; i < p->n_opset_import; i++) {
		const Onnx__OperatorSetIdProto *o = p->opset_import[i];
		if (!is_onnx_domain(&o->domain))
			vec_push(&c->m->meta, (struct meta){intern_printf("opset:%s", sym_str(import_name(&o->domain))),
							    intern_printf("%lld", (long long)o->version)});
	}
	for (size_t i = 0; i < p->n_metadata_props; i++)
		vec_push(&c->m->meta, (struct meta){intern_printf("prop:%s", sym_str(import_name(&p->metadata_props[i]->key))),
						    import_name(&p->metadata_props[i]->value)});
	if (c->opset) /* what the file goes back to */
		vec_push(&c->m->meta, (struct meta){intern("opset:ai.onnx"), intern_printf("%lld", (long long)c->opset)});
	c->m->ir_version = p->ir_version;
	c->m->opset = CANONICAL_OPSET;
}

/* NAME_dim_K, of letters, digits, dots and underscores, which --set and expressions of sizes can say; a name that nothing in the file
 * has. */
static sym size_name(const struct importer *c, sym input, int axis)
{
	char *name = xprintf("%s%s", isdigit((unsigned char)*sym_str(input)) ? "_" : "", sym_str(input));
	sym y;

	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '.')
			*p = '_';
	y = intern_printf("%s_dim_%d", name, axis);
	for (int n = 2; poly_var_find(c->m->dims, y); n++)
		y = intern_printf("%s_dim_%d_%d", name, axis, n);
	free(name);
	return y;
}

/* A size of the model's inputs that has no name is a symbol of its own: each run says what it is. When all names are known. Where operators stay
 * as the file has them, the module says which: a file that is made of this one goes without them. */
static void name_sizes(struct importer *c)
{
	const struct graph *g = graph(c->m, c->m->main);

	for (size_t i = 0; i < g->in.n; i++) {
		struct value *x = val(c->m, g->in.a[i]);
		dim *dims = x->type.rank > 0 ? arena_copy(&c->m->arena, x->type.dims, (size_t)x->type.rank * sizeof *dims) : NULL;
		for (int k = 0; k < x->type.rank && !x->type.other; k++)
			if (dims[k] == POLY_UNKNOWN) {
				sym name = size_name(c, x->name, k);
				dims[k] = poly_of(c->m->dims, module_symbol(c->m, name));
				if (c->opts.keep_foreign)
					vec_push(&c->m->meta, (struct meta){intern(UNNAMED_SIZE), name});
			}
		x->type.dims = dims ? dims : x->type.dims;
	}
}

static void *skeleton_alloc(void *arena, size_t n) { return arena_alloc(arena, n); }
static void skeleton_free(void *arena, void *p) {}

static const Onnx__ModelProto *read_model(struct importer *c, struct arena *arena)
{
	struct skeleton s;

	if (c->file.n && stream_begins(c->file.p, c->file.n))
		die(EX_BADDATA, "%s:0: a graph stream, not an ONNX model: it has been imported", c->path);
	ProtobufCAllocator allocator = {skeleton_alloc, skeleton_free, arena};
	wire_scan(c->path, c->file.p, c->file.n, &s);
	Onnx__ModelProto *p = onnx__model_proto__unpack(&allocator, s.n, s.p);
	free(s.p);
	if (!p)
		die(EX_BADDATA, "%s: not an ONNX model; protobuf does not accept it", c->path);
	if (!p->graph)
		die(EX_BADDATA, "%s:%zu: no graph in it; cut short, or not an ONNX model", c->path, c->file.n);
	return p;
}

/* A directory as TensorFlow saves models. */
static bool is_saved_model(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool is = folder >= 0 && faccessat(folder, "saved_model.pb", F_OK, 0) == 0;
	if (folder >= 0)
		close(folder);
	return is;
}

struct module *onnx_import(const char *path, const struct onnx_import_opts *o)
{
	bool pipe = !path || !strcmp(path, "-");
	struct mapped file;
	if (!pipe && is_saved_model(path))
		die(EX_NOIN, "%s: a SavedModel, not an ONNX model; `python3 -m hone.keras DIRECTORY` exports and builds it", path);
	mapped_open(&file, path);
	return onnx_import_bytes(pipe ? "standard input" : path, file.p, file.n, pipe || file.heap, o);
}

struct module *onnx_import_bytes(const char *path, const void *p, size_t n, bool heap, const struct onnx_import_opts *o)
{
	struct importer c = {.path = path, .opts = *o, .file = {p, n, heap}};
	struct arena arena = {0};
	struct gguf_model gguf = {0};
	if (gguf_begins(p, n))
		gguf = gguf_model(path, p, n, &arena);
	c.made = gguf.made;
	c.nmade = gguf.nmade;
	c.model = gguf.proto ? gguf.proto : read_model(&c, &arena);
	c.m = module_new();
	c.m->source = arena_str(&c.m->arena, c.path);
	c.at_graph = sym_str(import_name(&c.model->graph->name));
	c.opset = import_opset(&c, c.model->n_opset_import, c.model->opset_import, 0);
	if (!c.model->n_opset_import && (c.model->ir_version == 1 || c.model->ir_version == 2))
		c.opset = 1; /* files did not say it yet */
	import_header(&c);
	functions_open(&c);
	graph_id g = graph_new(c.m, import_name(&c.model->graph->name));
	c.m->main = g;
	scope_enter(&c, g, false);
	import_graph(&c, g, c.model->graph, o->overridable_const);
	scope_leave(&c);
	name_sizes(&c);
	symbols_sum(c.m);
	convert_finish(&c);
	import_put_off_end(&c);
	import_refer(&c);
	arena_release(&arena);
	vec_free(&c.external);
	vec_free(&c.late);
	vec_free(&c.aligned);
	vec_free(&c.after);
	vec_free(&c.asked);
	module_check_or_die(c.m);
	module_correct(c.m);
	return c.m;
}

bool onnx_is_path(const char *path) { return path && (filename_ends(path, ".onnx") || filename_ends(path, ".gguf")); }

/* A file whose name says nothing begins as a model does: an ONNX file with a version, a number in its first field. */
static bool looks_like_onnx(const char *path)
{
	struct stat st;
	unsigned char first[4] = {0};
	int fd = path && strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return false;
	ssize_t n = read(fd, first, sizeof first);
	bool yes = n > 0 && (*first == 0x08 || gguf_begins(first, (size_t)n));
	close(fd);
	return yes;
}

static struct module *read_file(const char *path, bool whole)
{
	if (onnx_is_path(path) || looks_like_onnx(path))
		return onnx_import(path, &(struct onnx_import_opts){.no_store = true, .keep_foreign = whole});
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read_only(r);
	stream_close(r);
	module_verify_or_die(m);
	return m;
}

struct module *module_read_any(const char *path) { return read_file(path, false); }
struct module *module_read_whole(const char *path) { return read_file(path, true); }
