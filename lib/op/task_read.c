/* From a task's text to a module with one Fused node. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "graph/check.h"
#include "graph/pass.h"
#include "op/rules.h"
#include "op/task_impl.h"

/* Limits: enough for any kernel, and few enough to run on any machine. */
enum { EXTENT_BITS = 40, VALUE_BITS = 43, OPERANDS_MAX = 1 << 16, LITERAL_MAX = 1 << 16 };

struct reader {
	struct module *m;
	const char *s;
	size_t statement;
	graph_id body;
	enum dtype type;             /* last named */
	size_t limit;                /* bytes that the constants may have in all */
	VEC(node_id) node;           /* statements */
	VEC(val_id) input, constant; /* values of $0, $1, .. (of the body) and #0, #1, .. (of the module) */
	VEC(val_id) outer, literal;  /* inputs of the main graph; constants by value */
	VEC(val_id) in;              /* operands of the statement at hand */
	VEC(bool) by_type;           /* by val_id */
	VEC(uint32_t) nout;          /* of each statement: how many of its results are named so far, */
	VEC(uint32_t) nout_said;     /* and how many "*N" says it has; 0: it does not say */
	VEC(sym) layout;             /* of the results */
};

static void blanks(struct reader *r) { r->s += strspn(r->s, " \t"); }
static bool word_ends(char c) { return !c || c == ' ' || c == '\t' || c == ';'; }

static uint32_t read_number(struct reader *r, size_t below, const char *what)
{
	int64_t v = task_read_int(&r->s);

	if (v < 0 || (uint64_t)v >= below)
		die(EX_BADDATA, "there is no %s %lld", what, (long long)v);
	return (uint32_t)v;
}

/* @0,2,3,1 or @0/16,2,3,1,0%16: every axis once, or in blocks with the rest of the same size behind. */
static sym read_layout(struct reader *r, int rank)
{
	int64_t block[RANK_MAX] = {0};                     /* 0: not seen, -1: done, else of that size, remainder to come */
	size_t most = strspn(r->s, "@,/%-0123456789") + 1; /* numbers are written in their usual form: 00 as 0 */
	char *text = arena_alloc(&r->m->arena, most), *end = text + most, *out = text;

	do {
		r->s++; /* @ or the comma */
		int64_t axis = task_read_int(&r->s);
		if (axis < 0 || axis >= rank)
			die(EX_BADDATA, "the layout names axis %lld of %d", (long long)axis, rank);
		char c = *r->s;
		int64_t size = 0;
		if (c == '/' || c == '%') {
			r->s++;
			size = task_read_int(&r->s);
			if (size < 2 || size > 1 << 20)
				die(EX_BADDATA, "a block of %lld in a layout", (long long)size);
		}
		if (c == '%' ? block[axis] != size : block[axis] != 0)
			die(EX_BADDATA, "the layout names axis %lld twice", (long long)axis);
		block[axis] = c == '/' ? size : -1;
		out += snprintf(out, (size_t)(end - out), "%s%lld", out == text ? "" : " ", (long long)axis);
		if (size)
			out += snprintf(out, (size_t)(end - out), "%c%lld", c, (long long)size);
	} while (*r->s == ',');
	for (int i = 0; i < rank; i++)
		if (block[i] != -1)
			die(EX_BADDATA, "the layout leaves out axis %d", i);
	return intern_n(text, (size_t)(out - text));
}

/* 64x3x7x7, or scalar. */
static int read_shape(struct reader *r, int64_t *dims)
{
	int64_t count = 1;
	int rank = 0;

	if (!strncmp(r->s, "scalar", 6)) {
		r->s += 6;
		return 0;
	}
	for (;;) {
		if (rank == RANK_MAX)
			die(EX_BADDATA, "more than %d axes", RANK_MAX);
		dims[rank] = task_read_int(&r->s);
		if (dims[rank] < 0 || dims[rank] >> EXTENT_BITS || __builtin_mul_overflow(count, dims[rank], &count) || count >> VALUE_BITS)
			die(EX_BADDATA, "a value larger than any memory");
		rank++;
		if (*r->s != 'x')
			return rank;
		r->s++;
	}
}

static val_id add_constant(struct reader *r, struct tensor *t, bool by_type)
{
	val_id v = const_tensor(r->m, intern_printf("c%zu", r->constant.n + r->literal.n), t);

	vec_reserve(&r->by_type, (size_t)v + 1);
	while (r->by_type.n <= v)
		r->by_type.a[r->by_type.n++] = false;
	r->by_type.a[v] = by_type;
	return v;
}

static struct tensor *new_tensor(struct reader *r, enum dtype t, int rank, const int64_t *dims)
{
	int64_t n = (int64_t)dtype_size(t);

	for (int i = 0; i < rank; i++)
		n *= dims[i];
	if ((size_t)n > r->limit)
		die(EX_BADDATA, "constants of too many bytes in all");
	r->limit -= (size_t)n;
	return tensor_new(&r->m->arena, t, rank, dims);
}

/* After "=": elements, of the given shape, a scalar, or a vector. Equal literals are one constant. */
static val_id read_literal(struct reader *r, enum dtype t, int rank, int64_t *dims)
{
	int64_t n = 1, given = 1, size[1];
	const char *end = r->s;

	for (; !word_ends(*end); end++)
		given += *end == ',';
	if (rank < 0) {
		bool comma = end > r->s && end[-1] == ',';
		rank = given > 1;
		size[0] = comma ? given - 1 : given;
		dims = size;
		if (comma && given != 2)
			die(EX_BADDATA, "a number is missing behind a comma");
	}
	for (int i = 0; i < rank; i++)
		if (__builtin_mul_overflow(n, dims[i], &n) || n > LITERAL_MAX)
			die(EX_BADDATA, "more than %d numbers", LITERAL_MAX);
	struct tensor *x = new_tensor(r, t, rank, dims);
	for (int64_t i = 0; i < n; i++) {
		task_read_element(x, i, &r->s);
		if (i + 1 < n && *r->s++ != ',')
			die(EX_BADDATA, "%lld numbers, not %lld", (long long)i + 1, (long long)n);
	}
	r->s += rank == 1 && n == 1 && *r->s == ',';
	for (size_t i = 0; i < r->literal.n; i++)
		if (tensor_equal(r->m, val(r->m, r->literal.a[i])->tensor, x))
			return r->literal.a[i];
	val_id v = add_constant(r, x, false);
	vec_push(&r->literal, v);
	return v;
}

static enum dtype need_type(const struct reader *r)
{
	if (!r->type)
		die(EX_BADDATA, "an element type is missing before '%.20s', e.g. f32", r->s);
	return r->type;
}

static val_id read_input(struct reader *r, int rank, const int64_t *dims)
{
	struct type t = type_make(r->m, need_type(r), rank, dims);
	sym name = intern_printf("x%zu", r->input.n);

	if (*r->s == '@')
		t.layout = read_layout(r, rank);
	vec_push(&r->outer, graph_add_input(r->m, r->m->main, name, t));
	vec_push(&r->input, graph_add_input(r->m, r->body, name, t));
	return r->input.a[r->input.n - 1];
}

/* A new operand by its shape. */
static val_id read_shaped(struct reader *r)
{
	int64_t dims[RANK_MAX];
	enum dtype t = need_type(r);
	int rank = read_shape(r, dims);

	if (*r->s == '=') {
		r->s++;
		return read_literal(r, t, rank, dims);
	}
	if (*r->s != 'c')
		return read_input(r, rank, dims);
	r->s++;
	val_id v = add_constant(r, new_tensor(r, t, rank, dims), true);
	if (*r->s == '@')
		val(r->m, v)->type.layout = read_layout(r, rank);
	vec_push(&r->constant, v);
	return v;
}

/* %3 or %3.1 */
static val_id read_result(struct reader *r)
{
	uint32_t k = (r->s++, read_number(r, r->node.n, "statement")), i = 0;

	if (*r->s == '.') {
		r->s++;
		i = read_number(r, OPERANDS_MAX, "result");
	}
	node_id n = r->node.a[k];
	int max = op_info(node(r->m, n)->op)->max_out;
	if ((max >= 0 && i >= (uint32_t)max) || (r->nout_said.a[k] && i >= r->nout_said.a[k]))
		die(EX_BADDATA, "statement %u has no result %u", k, i);
	while (node(r->m, n)->nout <= i)
		node_add_output(r->m, n);
	if (r->nout.a[k] <= i)
		r->nout.a[k] = i + 1;
	return node(r->m, n)->out[i];
}

/* "f32", "f32=1": the name of a type comes first. */
static enum dtype read_type(struct reader *r)
{
	size_t n = 0;

	while (isalnum((unsigned char)r->s[n]))
		n++;
	enum dtype t = isalpha((unsigned char)*r->s) ? dtype_parse(r->s, n) : DT_NONE;
	if (!t || (r->s[n] != '=' && !word_ends(r->s[n])))
		return DT_NONE;
	if (!dtype_fixed(t))
		die(EX_BADDATA, "elements of type %s", dtype_name(t));
	r->s += n;
	return t;
}

static void read_operand(struct reader *r)
{
	enum dtype t = read_type(r);
	val_id v = 0;

	if (t && *r->s != '=') {
		r->type = t;
		return;
	}
	if (*r->s == '=') {
		t = t ? t : need_type(r);
		r->s++;
		v = read_literal(r, t, -1, NULL);
	} else if (*r->s == '_') {
		r->s++;
	} else if (*r->s == '%') {
		v = read_result(r);
	} else if (*r->s == '$') {
		r->s++;
		v = r->input.a[read_number(r, r->input.n, "input")];
	} else if (*r->s == '#') {
		r->s++;
		v = r->constant.a[read_number(r, r->constant.n, "constant")];
	} else if (isdigit((unsigned char)*r->s) || !strncmp(r->s, "scalar", 6)) {
		v = read_shaped(r);
	} else {
		die(EX_BADDATA, "'%.20s' is no operand", r->s);
	}
	if (!word_ends(*r->s))
		die(EX_BADDATA, "'%.20s' follows an operand", r->s);
	if (r->in.n == OPERANDS_MAX)
		die(EX_BADDATA, "more than %d operands", OPERANDS_MAX);
	vec_push(&r->in, v);
}

static enum opcode read_operator(struct reader *r)
{
	size_t n = 0;

	while (isalnum((unsigned char)r->s[n]) || r->s[n] == '_' || r->s[n] == '.')
		n++;
	char *name = arena_printf(&r->m->arena, "%.*s", (int)n, r->s);
	enum opcode op = strncmp(name, "hone.", 5) ? op_find("", name) : op_find("hone", name + 5);
	if (op == OP_OTHER)
		die(EX_BADDATA, n ? "there is no operator '%s'" : "an operator is missing at '%.20s'", n ? name : r->s);
	if (op_is(op, OP_CONTROL) || op_is(op, OP_CALL) || op_is(op, OP_RANDOM))
		die(EX_BADDATA, "%s has bodies or is random", name);
	r->s += n;
	return op;
}

static void read_attributes(struct reader *r, node_id n)
{
	if (*r->s != '{')
		return;
	for (r->s++, blanks(r); *r->s != '}'; blanks(r)) {
		task_read_attr(r->m, n, &r->s);
		if (*r->s != ' ' && *r->s != '}')
			die(EX_BADDATA, "'%.20s' follows an attribute", r->s);
	}
	r->s++;
}

static void read_statement(struct reader *r)
{
	enum opcode op = read_operator(r);
	node_id n = node_new(r->m, r->body, op, 0, NULL, 0);
	uint32_t said = 0;

	if (*r->s == '*') {
		r->s++;
		said = read_number(r, OPERANDS_MAX, "number of results");
		if (!said || op_info(op)->max_out >= 0)
			die(EX_BADDATA, "%s does not leave its number of results open", op_name(op));
	}
	read_attributes(r, n);
	if (!word_ends(*r->s))
		die(EX_BADDATA, "'%.20s' follows the operator", r->s);
	r->in.n = 0;
	for (blanks(r); *r->s && *r->s != ';' && strncmp(r->s, "->", 2); blanks(r))
		read_operand(r);
	struct node *x = node(r->m, n);
	x->nin = (uint32_t)r->in.n;
	x->in = arena_copy(&r->m->arena, r->in.a, r->in.n * sizeof *r->in.a);
	vec_push(&r->node, n);
	vec_push(&r->nout, said);
	vec_push(&r->nout_said, said);
}

static void add_result(struct reader *r, val_id v, sym layout)
{
	graph_add_output(r->m, r->body, v, intern_printf("y%zu", graph(r->m, r->body)->out.n));
	vec_push(&r->layout, layout);
}

/* "-> %1 %0@0,2,3,1"; ranks are not known yet: layouts are kept as text. */
static void read_results(struct reader *r)
{
	if (!*r->s) {
		char last[24], *s = last;
		snprintf(last, sizeof last, "%%%zu", r->node.n - 1);
		r->s = s;
		add_result(r, read_result(r), 0);
		r->s = "";
		return;
	}
	for (r->s += 2, blanks(r); *r->s; blanks(r)) {
		val_id v = 0;
		if (*r->s == '%')
			v = read_result(r);
		else if (*r->s == '$')
			v = (r->s++, r->input.a[read_number(r, r->input.n, "input")]);
		else if (*r->s == '#')
			v = (r->s++, r->constant.a[read_number(r, r->constant.n, "constant")]);
		else
			die(EX_BADDATA, "'%.20s' is no result", r->s);
		size_t n = strcspn(r->s, " \t;");
		add_result(r, v, *r->s == '@' ? intern_n(r->s, n) : 0);
		r->s += *r->s == '@' ? n : 0;
		if (!word_ends(*r->s) || *r->s == ';')
			die(EX_BADDATA, "'%.20s' follows a result", r->s);
	}
	if (!r->layout.n)
		die(EX_BADDATA, "no results behind ->");
}

/* A node gets the results that are named, those it must have, or as many as "*N" says. */
static void set_results(struct reader *r)
{
	struct module *m = r->m;
	bool *used = xcalloc(m->values.n + 1, sizeof *used);

	for (size_t i = 0; i < r->node.n; i++)
		for (uint32_t k = 0; k < node(m, r->node.a[i])->nin; k++)
			used[node(m, r->node.a[i])->in[k]] = true;
	for (size_t k = 0; k < graph(m, r->body)->out.n; k++)
		used[graph(m, r->body)->out.a[k]] = true;
	for (size_t i = 0; i < r->node.n; i++) {
		node_id n = r->node.a[i];
		uint32_t least = (uint32_t)op_info(node(m, n)->op)->min_out, want = r->nout.a[i] > least ? r->nout.a[i] : least;
		for (uint32_t k = 0; k < node(m, n)->nout; k++)
			if (!used[node(m, n)->out[k]])
				node(m, n)->out[k] = 0;
		struct node *x = node(m, n);
		val_id *out = ARENA_ARRAY(&m->arena, val_id, want);
		memcpy(out, x->out, x->nout * sizeof *out);
		x->out = out;
		x->nout = want;
	}
	free(used);
}

static noreturn void die_in(struct reader *r, node_id n, const char *why)
{
	for (r->statement = 0; r->statement + 1 < r->node.n && r->node.a[r->statement] != n; r->statement++)
		;
	die(EX_BADDATA, "%s", why);
}

static const char *where_of(struct reader *r, node_id n) { return node_where(r->m, n, &r->m->arena); }

/* Types of all results, statement by statement. */
static void infer(struct reader *r)
{
	struct module *m = r->m;
	struct known *known = ARENA_ARRAY(&m->arena, struct known, m->values.n);

	for (r->statement = 0; r->statement < r->node.n; r->statement++) {
		node_id n = r->node.a[r->statement];
		infer_node(m, n, known);
		for (uint32_t k = 0; k < node(m, n)->nout; k++) {
			val_id v = node(m, n)->out[k];
			if (!v)
				continue;
			const struct type *t = &val(m, v)->type;
			if (!type_static(m, t) || t->other || !dtype_fixed(t->dtype) || type_count(m, t) < 0 ||
			    type_count(m, t) >> VALUE_BITS)
				die(EX_BADDATA, "its result %u is %s, not a tensor of known size", k, type_str(m, t, &m->arena));
		}
	}
}

/* The Fused node, its operands and results; types are not known yet. */
static node_id add_fused(struct reader *r)
{
	struct module *m = r->m;
	node_id n = node_new(m, m->main, OP_Fused, (int)r->outer.n, r->outer.a, (int)r->layout.n);

	attr_set_graph(m, n, "graph", r->body);
	for (size_t k = 0; k < r->layout.n; k++) {
		val_id v = node(m, n)->out[k];
		val(m, v)->name = intern_printf("y%zu", k);
		graph_add_output(m, m->main, v, val(m, v)->name);
	}
	module_name_values(m);
	return n;
}

static void set_result_types(struct reader *r, node_id fused)
{
	struct module *m = r->m;

	for (size_t k = 0; k < r->layout.n; k++) {
		struct value *inner = val(m, graph(m, r->body)->out.a[k]);
		if (r->layout.a[k]) {
			r->s = sym_str(r->layout.a[k]);
			sym layout = read_layout(r, inner->type.rank);
			if (*r->s)
				die(EX_BADDATA, "'%.20s' follows a result's layout", r->s);
			if (inner->type.layout != layout && (inner->type.layout || inner->kind != VAL_NODE))
				die(EX_BADDATA, "a result in two layouts");
			inner->type.layout = layout;
		}
		val(m, node(m, fused)->out[k])->type = inner->type;
	}
}

static void read_all(struct reader *r, uint64_t seed)
{
	node_id bad_node;
	graph_id bad_graph;
	const char *why;

	for (;; r->statement++) {
		blanks(r);
		read_statement(r);
		if (*r->s != ';')
			break;
		r->s++;
	}
	read_results(r);
	set_results(r);
	node_id fused = add_fused(r);
	while (r->by_type.n < r->m->values.n)
		vec_push(&r->by_type, false);
	if ((why = module_check(r->m, &bad_node, &bad_graph)))
		die_in(r, bad_node, why);
	task_fill(r->m, r->body, r->by_type.a, seed);
	infer(r);
	set_result_types(r, fused);
}

/* The message without the place in the graph, which the user has never seen. */
static const char *plain_message(struct reader *r, const char *message, struct arena *a)
{
	if (r->statement < r->node.n) {
		const char *where = strstr(message, where_of(r, r->node.a[r->statement]));
		if (where)
			message = where + strlen(where_of(r, r->node.a[r->statement])) + 2;
	}
	char *line = arena_printf(a, "statement %zu: %s", r->statement, message);
	for (char *s = line; *s; s++)
		if (iscntrl((unsigned char)*s))
			*s = '?';
	return line;
}

struct module *task_read(const char *text, uint64_t seed, size_t limit, struct arena *a, const char **why)
{
	struct msg_trap *before = msg_trap, trap;
	struct reader *r = ARENA_NEW(a, struct reader);
	struct module *m = r->m = module_new();

	m->ir_version = 10;
	m->main = graph_new(m, intern("task"));
	r->body = graph_new(m, intern("group"));
	r->s = text;
	r->limit = limit;
	*why = NULL;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		read_all(r, seed);
	} else {
		*why = plain_message(r, trap.why, a);
	}
	msg_trap = before;
	vec_free(&r->node);
	vec_free(&r->input);
	vec_free(&r->constant);
	vec_free(&r->outer);
	vec_free(&r->literal);
	vec_free(&r->in);
	vec_free(&r->by_type);
	vec_free(&r->nout);
	vec_free(&r->nout_said);
	vec_free(&r->layout);
	if (*why)
		module_free(m);
	return *why ? NULL : m;
}

struct module *task_module(const char *text, uint64_t seed, struct arena *a, const char **why)
{
	return task_read(text, seed, (size_t)4 << 30, a, why);
}
