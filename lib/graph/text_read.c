/* Text to modules. What is used must stand above its use, so the text can describe no cycle. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/symbols.h"
#include "graph/text.h"
#include "graph/textform.h"

/* Names of values and constants, by symbol. */
struct scope {
	val_id value, constant;
	graph_id graph; /* value is of this one */
};

struct text_reader {
	struct mapped in;
	char *text; /* of JSON; NULL: it was text */
	struct scan s;
	size_t nmodules;
	struct module *m;
	VEC(struct scope) names;
	VEC(graph_id) labels; /* by symbol of "N#NAME"; set where the graph ends */
	VEC(val_id) operands;
};

/* Behind what scan_is skips. */
static bool is_text(const unsigned char *p, size_t n)
{
	static const char word[] = "hone-text";
	size_t i = 0;

	while (i < n && strchr(" \t\n#", p[i]) && p[i])
		if (p[i++] == '#')
			while (i < n && p[i] && p[i] != '\n')
				i++;
	size_t left = n - i;
	if (left && p[i] == '{')
		return true;
	return !memcmp(p + i, word, left < sizeof word - 1 ? left : sizeof word - 1);
}

struct text_reader *text_open_bytes(const char *p, size_t n, const char *name)
{
	struct text_reader *r = xcalloc(1, sizeof *r);
	r->s = (struct scan){.p = p, .end = p + n, .file = sym_str(intern(name)), .line = 1};
	return r;
}

struct text_reader *text_open(const char *path)
{
	struct mapped in;
	mapped_open_if(&in, path, is_text);
	const char *name = path && strcmp(path, "-") ? path : "standard input", *p = (const char *)in.p;
	size_t n = in.n, i = 0;
	char *text = NULL;
	while (i < n && strchr(" \t\r\n", p[i]) && p[i])
		i++;
	if (i < n && p[i] == '{')
		text = json_form_text(name, p, n, &n);
	struct text_reader *r = text_open_bytes(text ? text : p, n, name);
	r->in = in;
	r->text = text;
	return r;
}

static struct scope *scope_of(struct text_reader *r, sym name)
{
	while (r->names.n <= name)
		vec_push(&r->names, (struct scope){0});
	return &r->names.a[name];
}

/* Behind '[': the text of one dimension, up to the ',' or ']' that ends it. */
static dim read_dim(struct text_reader *r)
{
	struct scan *s = &r->s;
	const char *start = s->p;
	int depth = 0;
	bool quoted = false;
	for (; s->p < s->end && *s->p != '\n'; s->p++) {
		char c = *s->p;
		if (c == '"')
			quoted = !quoted;
		if (quoted)
			continue;
		if (depth == 0 && (c == ',' || c == ']'))
			break;
		depth += (c == '(') - (c == ')');
	}
	dim d;
	const char *why = dim_parse(r->m, start, (size_t)(s->p - start), &d);
	if (why)
		scan_die(s, "a bad dimension '%.*s': %s", (int)(s->p - start < 60 ? s->p - start : 60), start, why);
	return d;
}

static void read_type(struct text_reader *r, struct type *t)
{
	struct scan *s = &r->s;
	dim dims[RANK_MAX];
	*t = type_none();
	if (!scan_is(s, "?")) {
		sym name = scan_name(s);
		t->dtype = dtype_parse(sym_str(name), sym_len(name));
		if (t->dtype == DT_NONE)
			scan_die(s, "'%s' is no element type", sym_str(name));
	}
	scan_want(s, "[");
	if (scan_is(s, "*")) {
		scan_want(s, "]");
	} else {
		t->rank = 0;
		while (!scan_is(s, "]")) {
			if (t->rank)
				scan_want(s, ",");
			if (t->rank == RANK_MAX)
				scan_die(s, "more than %d dimensions", RANK_MAX);
			dims[t->rank++] = read_dim(r);
		}
		t->dims = arena_copy(&r->m->arena, dims, sizeof *dims * (size_t)t->rank);
	}
	if (scan_is(s, "@"))
		t->layout = scan_name(s);
	if (scan_is(s, "%"))
		t->other = scan_name(s);
}

static struct type read_typed(struct text_reader *r)
{
	struct type t = type_none();
	if (scan_is(&r->s, ":"))
		read_type(r, &t);
	return t;
}

static val_id read_value(struct text_reader *r, graph_id g)
{
	struct scan *s = &r->s;
	bool constant = scan_is(s, "@");
	sym name = scan_name(s);
	struct scope *x = scope_of(r, name);
	val_id v = constant ? x->constant : x->graph == g ? x->value : 0;
	if (!v)
		scan_die(s, "%s '%s' is not defined above", constant ? "constant" : "value", sym_str(name));
	return v;
}

static void define(struct text_reader *r, graph_id g, sym name, val_id v)
{
	struct scope *x = scope_of(r, name);
	if (!name)
		scan_die(&r->s, "a value without a name");
	if (x->graph == g)
		scan_die(&r->s, "value '%s' is defined twice", sym_str(name));
	x->graph = g;
	x->value = v;
	val(r->m, v)->name = name;
}

/* NAME or NAME#K: its place in labels. */
static sym read_label(struct text_reader *r, sym *name)
{
	struct scan *s = &r->s;
	int64_t k = 1;
	*name = scan_name(s);
	if (s->p < s->end && *s->p == '#') {
		s->p++;
		k = scan_int(s);
		if (k < 2 || k > INT32_MAX)
			scan_die(s, "a bad graph number");
	}
	sym key = intern_printf("%u#%s", (unsigned)k, sym_str(*name));
	while (r->labels.n <= key)
		vec_push(&r->labels, 0);
	return key;
}

static graph_id read_graph_ref(struct text_reader *r)
{
	sym name, label = read_label(r, &name); /* may move the labels */
	graph_id g = r->labels.a[label];
	if (!g)
		scan_die(&r->s, "graph '%s' is not defined above", sym_str(name));
	return g;
}

/* Integers, or floats if one of them is no integer. */
static void read_numbers(struct text_reader *r, struct attr *a)
{
	struct scan *s = &r->s;
	struct arena *arena = &r->m->arena;
	const char *q = s->p;
	while (q < s->end && strchr("0123456789-+, \t", *q))
		q++;
	VEC(int64_t) ints = {0};
	VEC(float) floats = {0};
	bool is_float = q < s->end && *q != ']';
	for (bool first = true; !scan_is(s, "]"); first = false) {
		if (!first)
			scan_want(s, ",");
		if (is_float)
			vec_push(&floats, scan_float(s));
		else
			vec_push(&ints, scan_int(s));
	}
	a->kind = is_float ? ATTR_FLOATS : ATTR_INTS;
	a->n = (uint32_t)(is_float ? floats.n : ints.n);
	if (is_float)
		a->u.floats = arena_copy(arena, floats.a, sizeof *floats.a * floats.n);
	else
		a->u.ints = arena_copy(arena, ints.a, sizeof *ints.a * ints.n);
	vec_free(&ints);
	vec_free(&floats);
}

/* Behind '['. */
static void read_list(struct text_reader *r, struct attr *a)
{
	struct scan *s = &r->s;
	VEC(uint32_t) ids = {0};
	scan_blanks(s);
	bool strings = s->p < s->end && *s->p == '"';
	if (!strings && !scan_is(s, "graph")) {
		read_numbers(r, a);
		return;
	}
	do {
		if (strings)
			vec_push(&ids, scan_name(s));
		else
			vec_push(&ids, read_graph_ref(r));
		if (scan_is(s, "]"))
			break;
		scan_want(s, ",");
	} while (strings || scan_is(s, "graph"));
	a->kind = strings ? ATTR_STRS : ATTR_GRAPHS;
	a->n = (uint32_t)ids.n;
	a->u.strs = arena_copy(&r->m->arena, ids.a, sizeof *ids.a * ids.n);
	vec_free(&ids);
}

static bool read_empty_list(struct text_reader *r, struct attr *a)
{
	static const struct {
		const char *word;
		enum attr_kind kind;
	} empty[] = {{"floats[", ATTR_FLOATS}, {"strings[", ATTR_STRS}, {"graphs[", ATTR_GRAPHS}};
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
		if (!scan_is(&r->s, empty[i].word))
			continue;
		scan_want(&r->s, "]");
		a->kind = (uint8_t)empty[i].kind;
		a->u.ints = arena_alloc(&r->m->arena, 1);
		return true;
	}
	return false;
}

/* An integer has nothing but digits; inf, nan and 0x... are floats. */
static void read_number(struct text_reader *r, struct attr *a)
{
	struct scan *s = &r->s;
	const char *q = s->p;
	q += q < s->end && *q == '-';
	while (q < s->end && *q >= '0' && *q <= '9')
		q++;
	bool is_int = q == s->end || strchr(" }\t\r\n", *q);
	a->kind = is_int ? ATTR_INT : ATTR_FLOAT;
	if (is_int)
		a->u.i = scan_int(s);
	else
		a->u.f = scan_float(s);
}

static bool at_dtype(const struct scan *s)
{
	size_t n = 0;
	while (s->p + n < s->end && s->p[n] != '[' && n < 16)
		n++;
	return dtype_parse(s->p, n) != DT_NONE;
}

static struct attr read_attr(struct text_reader *r)
{
	struct scan *s = &r->s;
	struct attr a = {.name = scan_name(s)};
	if (!a.name)
		scan_die(s, "an attribute without a name");
	scan_want(s, "=");
	scan_blanks(s);
	if (s->p < s->end && *s->p == '"') {
		size_t n;
		a.u.s = scan_string(s, &n, &r->m->arena);
		a.kind = ATTR_STR;
		a.n = (uint32_t)n;
	} else if (scan_is(s, "[")) {
		read_list(r, &a);
	} else if (scan_is(s, "graph")) {
		a.kind = ATTR_GRAPH;
		a.u.graph = read_graph_ref(r);
	} else if (scan_is(s, "type")) {
		a.kind = ATTR_TYPE;
		a.u.type = ARENA_NEW(&r->m->arena, struct type);
		read_type(r, a.u.type);
	} else if (at_dtype(s)) {
		a.kind = ATTR_TENSOR;
		a.u.tensor = scan_tensor(s, r->m);
	} else if (!read_empty_list(r, &a)) {
		read_number(r, &a);
	}
	return a;
}

/* DOMAIN.NAME or NAME; a plain one is cut at its last point. */
static void read_op(struct text_reader *r, enum opcode *op, sym *domain, sym *name)
{
	struct scan *s = &r->s;
	scan_blanks(s);
	bool quoted = s->p < s->end && *s->p == '"';
	*domain = 0;
	*name = scan_name(s);
	const char *text = sym_str(*name), *point = strrchr(text, '.');
	if (quoted && scan_is(s, ".")) {
		*domain = *name;
		*name = scan_name(s);
	} else if (!quoted && point) {
		*domain = intern_n(text, (size_t)(point - text));
		*name = intern(point + 1);
	}
	*op = op_find(sym_str(*domain), sym_str(*name));
	bool ours = !*domain || !strcmp(sym_str(*domain), "hone");
	if (*op == OP_OTHER && (ours || !*name))
		scan_die(s, "an unknown operator '%s'", sym_str(*name));
}

struct result {
	sym name; /* 0: not wanted */
	struct type type;
};

static void read_node(struct text_reader *r, graph_id g)
{
	struct scan *s = &r->s;
	struct module *m = r->m;
	VEC(struct result) results = {0};
	enum opcode op;
	sym domain, optype;
	while (!scan_is(s, "=")) {
		struct result x = {.type = type_none()};
		if (results.n)
			scan_want(s, ",");
		if (!scan_is(s, "-")) {
			x.name = scan_name(s);
			x.type = read_typed(r);
		}
		vec_push(&results, x);
	}
	read_op(r, &op, &domain, &optype);
	scan_want(s, "(");
	r->operands.n = 0;
	while (!scan_is(s, ")")) {
		if (r->operands.n)
			scan_want(s, ",");
		vec_push(&r->operands, scan_is(s, "-") ? 0 : read_value(r, g));
	}
	node_id id = node_new(m, g, op, (int)r->operands.n, r->operands.a, (int)results.n);
	if (op == OP_OTHER) {
		node(m, id)->domain = domain;
		node(m, id)->optype = optype;
	}
	if (scan_is(s, "{")) {
		while (!scan_is(s, "}")) {
			struct attr a = read_attr(r);
			if (attr_find(node(m, id), sym_str(a.name)))
				scan_die(s, "attribute '%s' is given twice", sym_str(a.name));
			attr_set(m, id, a);
		}
	}
	if (scan_at_name(s))
		node(m, id)->name = scan_name(s);
	scan_end_of_line(s);
	for (size_t i = 0; i < results.n; i++) {
		val_id *v = &node(m, id)->out[i];
		if (!results.a[i].name) {
			*v = 0;
			continue;
		}
		define(r, g, results.a[i].name, *v);
		val(m, *v)->type = results.a[i].type;
	}
	vec_free(&results);
}

static void read_input(struct text_reader *r, graph_id g)
{
	struct scan *s = &r->s;
	sym name = scan_name(s);
	struct type t = read_typed(r);
	val_id v = graph_add_input(r->m, g, name, t);
	define(r, g, name, v);
	if (scan_is(s, "=")) {
		struct tensor *x = scan_tensor(s, r->m);
		val(r->m, v)->tensor = x;
		val(r->m, v)->overridable = true;
	}
	scan_end_of_line(s);
}

static void read_output(struct text_reader *r, graph_id g)
{
	sym name = scan_name(&r->s);
	scan_want(&r->s, "=");
	graph_add_output(r->m, g, read_value(r, g), name);
	scan_end_of_line(&r->s);
}

/* "input" and "output" may name values too: the keyword has a name behind it. */
static bool at_keyword(struct scan *s, const char *word)
{
	const char *start = s->p;
	if (scan_is(s, word) && scan_at_name(s))
		return true;
	s->p = start;
	return false;
}

static void read_graph(struct text_reader *r)
{
	struct scan *s = &r->s;
	sym name, label = read_label(r, &name);
	graph_id g = graph_new(r->m, name);
	bool outputs = false;
	if (r->labels.a[label])
		scan_die(s, "graph '%s' is defined twice", sym_str(name));
	scan_want(s, "{");
	scan_end_of_line(s);
	for (scan_lines(s); !scan_is(s, "}"); scan_lines(s)) {
		if (s->p == s->end)
			scan_die(s, "graph '%s' without an end", sym_str(name));
		if (at_keyword(s, "output")) {
			read_output(r, g);
			outputs = true;
		} else if (at_keyword(s, "input")) {
			if (graph(r->m, g)->nodes.n || outputs)
				scan_die(s, "inputs stand before nodes");
			read_input(r, g);
		} else {
			read_node(r, g);
		}
	}
	scan_end_of_line(s);
	r->labels.a[label] = r->m->main = g;
}

static void read_symbol(struct text_reader *r)
{
	struct scan *s = &r->s;
	sym name = scan_name(s);
	int64_t lo = scan_is(s, "-inf") ? INT64_MIN : scan_int(s);
	int64_t hi = scan_is(s, "inf") ? POLY_INF : scan_int(s);
	int64_t divisor = scan_is(s, "step") ? scan_int(s) : 1;
	if (!name || poly_var_find(r->m->dims, name))
		scan_die(s, "symbol '%s' is declared twice", sym_str(name));
	if (lo > hi || divisor < 1)
		scan_die(s, "symbol '%s' has an empty range or a bad step", sym_str(name));
	poly_var_new(r->m->dims, name, lo, hi, divisor);
	scan_end_of_line(s);
}

static void read_const(struct text_reader *r)
{
	struct scan *s = &r->s;
	sym name = scan_name(s);
	scan_want(s, "=");
	val_id v = const_tensor(r->m, name, scan_tensor(s, r->m));
	struct scope *x = scope_of(r, name);
	if (!name || x->constant)
		scan_die(s, "constant '%s' is defined twice", sym_str(name));
	x->constant = v;
	scan_end_of_line(s);
}

static void read_meta(struct text_reader *r)
{
	struct meta x = {.key = scan_name(&r->s)};
	scan_want(&r->s, "=");
	x.value = scan_name(&r->s);
	vec_push(&r->m->meta, x);
	scan_end_of_line(&r->s);
}

static void read_module_line(struct text_reader *r)
{
	struct scan *s = &r->s;
	scan_want(s, "ir");
	scan_want(s, "=");
	r->m->ir_version = scan_int(s);
	scan_want(s, "opset");
	scan_want(s, "=");
	r->m->opset = scan_int(s);
	if (r->m->ir_version < 0 || r->m->ir_version > INT32_MAX || r->m->opset < 0 || r->m->opset > INT32_MAX)
		scan_die(s, "a version is out of range");
	scan_end_of_line(s);
}

static void read_provenance(struct text_reader *r)
{
	sym line = scan_name(&r->s);
	if (!line)
		scan_die(&r->s, "an empty line of provenance");
	vec_push(&r->m->provenance, sym_str(line));
	scan_end_of_line(&r->s);
}

struct module *text_read(struct text_reader *r)
{
	static const struct {
		const char *word;
		void (*read)(struct text_reader *r);
	} lines[] = {
		{"module", read_module_line}, {"provenance", read_provenance}, {"meta", read_meta},
		{"symbol", read_symbol},      {"const", read_const},           {"graph", read_graph},
	};
	enum { NLINES = sizeof lines / sizeof *lines };
	struct scan *s = &r->s;
	scan_lines(s);
	if (s->p == s->end && r->nmodules)
		return NULL;
	if (!scan_is(s, "hone-text"))
		scan_die(s, "not the text form of a graph, which begins with 'hone-text %d'", TEXT_VERSION);
	int64_t version = scan_int(s);
	if (version != TEXT_VERSION)
		scan_die(s, "text version %lld, this program reads %d", (long long)version, TEXT_VERSION);
	scan_end_of_line(s);
	r->m = module_new();
	r->m->source = s->file;
	r->names.n = r->labels.n = 0;
	for (scan_lines(s); s->p < s->end; scan_lines(s)) {
		const char *start = s->p;
		if (scan_is(s, "hone-text")) {
			s->p = start;
			break;
		}
		int i = 0;
		while (i < NLINES && !scan_is(s, lines[i].word))
			i++;
		if (i == NLINES)
			scan_die(s, "module, provenance, meta, symbol, const or graph expected");
		lines[i].read(r);
	}
	if (!r->m->main)
		scan_die(s, "a module without a graph");
	r->nmodules++;
	return r->m;
}

void text_close(struct text_reader *r)
{
	mapped_close(&r->in);
	free(r->text);
	vec_free(&r->names);
	vec_free(&r->labels);
	vec_free(&r->operands);
	free(r);
}
