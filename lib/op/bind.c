/* Gives symbols and inputs their sizes, and inputs their values; says which sizes are still missing. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/facts.h"
#include "common/msg.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "graph/symbols.h"
#include "op/op.h"

/* A given size must also be that of the input's default value. */
static void check_defaults(struct module *m)
{
	const struct graph *g = graph(m, m->main);
	int64_t d;

	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *x = val(m, g->in.a[i]);
		for (int k = 0; x->tensor && k < x->type.rank && k < x->tensor->rank; k++)
			if (poly_is_const(m->dims, x->type.dims[k], &d) && d != x->tensor->dims[k])
				die(EX_BADUSE, "input %s has a default of size %" PRId64 " in dimension %d, which cannot be %" PRId64,
				    sym_str(x->name), x->tensor->dims[k], k, d);
	}
}

static void subst_types(struct module *m, poly_var v, poly by)
{
	for (size_t i = 1; i < m->values.n; i++) {
		struct type *t = &m->values.a[i].type;
		dim *d = NULL;
		for (int k = 0; k < t->rank; k++) {
			dim x = t->dims[k] ? poly_subst(m->dims, t->dims[k], v, by) : POLY_UNKNOWN;
			if (x == t->dims[k])
				continue;
			if (!d) /* others may share the array */
				d = arena_copy(&m->arena, t->dims, sizeof *d * (size_t)t->rank);
			d[k] = x;
		}
		if (d)
			t->dims = d;
	}
	check_defaults(m);
}

static struct symbols free_symbols(struct module *m)
{
	struct symbols s = {0};
	struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(&s, m, &val(m, g->in.a[i])->type);
	symbols_sort(&s, m);
	return s;
}

bool bind_has_symbols(struct module *m)
{
	struct symbols s = free_symbols(m);
	bool any = s.list.n > 0;

	symbols_free(&s);
	return any;
}

/* false: there is no such symbol. If strict, that is an error; if the model has no symbols at all, a message. */
static bool bind(struct module *m, const char *name, int64_t value, bool strict)
{
	bool found = false;
	struct symbols s = free_symbols(m);
	char *list = NULL;

	if (value < 0)
		die(EX_BADUSE, "--set %s=%lld: a size is not negative", name, (long long)value);
	for (size_t i = 0; i < s.list.n; i++) {
		const char *have = sym_str(poly_var_name(m->dims, s.list.a[i]));
		if (!strcmp(have, name)) {
			subst_types(m, s.list.a[i], poly_const(m->dims, value));
			found = true;
			goto done;
		}
		char *more = xprintf("%s%s%s", list ? list : "", list ? ", " : "", have);
		free(list);
		list = more;
	}
	if (list && strict)
		die(EX_BADUSE, "--set %s: the model has no symbol of that name; it has %s", name, list);
	if (strict)
		note("--set %s: the model has no free symbols, nothing to set", name);
done:
	free(list);
	symbols_free(&s);
	return found;
}

void bind_symbol(struct module *m, const char *name, int64_t value) { bind(m, name, value, true); }

static val_id find_input(struct module *m, const char *name)
{
	struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (!strcmp(sym_str(val(m, g->in.a[i])->name), name))
			return g->in.a[i];
	return 0;
}

/* Ends the program: no input has that name; says those that there are. */
static noreturn void no_input(struct module *m, const char *option, const char *name)
{
	struct graph *g = graph(m, m->main);
	const char *all = "";

	for (size_t i = 0; i < g->in.n && i < 8; i++)
		all = arena_printf(&m->arena, "%s%s%s", all, i ? ", " : "", sym_str(val(m, g->in.a[i])->name));
	die(EX_BADUSE, "%s %s: the model has no input of that name; they are %s%s", option, name, g->in.n ? all : "none",
	    g->in.n > 8 ? ", .." : "");
}

/* Drops the types that were inferred for other input sizes. */
static void forget_results(struct module *m)
{
	for (size_t i = 1; i < m->values.n; i++) {
		struct value *v = &m->values.a[i];
		bool body_input = v->kind == VAL_INPUT && v->graph != m->main;
		if (v->kind != VAL_NODE && !body_input)
			continue;
		v->type.rank = RANK_UNKNOWN;
		v->type.dims = NULL;
	}
}

void bind_shape(struct module *m, const char *input, int rank, const int64_t *dims)
{
	val_id v = find_input(m, input);
	struct type *t;
	int64_t c;

	if (!v)
		no_input(m, "--shape", input);
	t = &val(m, v)->type;
	if (t->rank != RANK_UNKNOWN && t->rank != rank)
		die(EX_BADUSE, "--shape %s: %d extents for %s", input, rank, type_str(m, t, &m->arena));
	if (t->rank == RANK_UNKNOWN) {
		t->rank = rank;
		t->dims = ARENA_ARRAY(&m->arena, dim, rank);
	}
	for (int i = 0; i < rank; i++) {
		poly_var var = poly_is_var(m->dims, val(m, v)->type.dims[i]);
		if (var && dims[i] >= 0)
			subst_types(m, var, poly_const(m->dims, dims[i]));
	}
	t = &val(m, v)->type;
	dim *d = arena_copy(&m->arena, t->dims, sizeof *d * (size_t)rank);
	bool other = false;
	for (int i = 0; i < rank; i++) {
		if (dims[i] < 0)
			continue;
		other = other || (poly_is_const(m->dims, d[i], &c) && c != dims[i]);
		d[i] = poly_const(m->dims, dims[i]);
	}
	t->dims = d;
	check_defaults(m);
	if (other)
		forget_results(m);
}

/* A symbol that is only ever the first extent of inputs most likely counts samples. */
static bool counts_samples(struct module *m, poly_var v)
{
	const struct graph *g = graph(m, m->main);
	bool first = false;

	for (size_t i = 0; i < g->in.n; i++) {
		const struct type *t = &val(m, g->in.a[i])->type;
		for (int k = 0; k < t->rank; k++) {
			if (!t->dims[k] || poly_subst(m->dims, t->dims[k], v, poly_const(m->dims, 1)) == t->dims[k])
				continue;
			if (k > 0)
				return false;
			first = true;
		}
	}
	return first;
}

/* The size of v in the default value of an input; -1: there is none. */
static int64_t default_size(struct module *m, poly_var v)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *x = val(m, g->in.a[i]);
		for (int k = 0; x->tensor && k < x->type.rank && k < x->tensor->rank; k++)
			if (poly_is_var(m->dims, x->type.dims[k]) == v)
				return x->tensor->dims[k];
	}
	return -1;
}

/* The size to suggest for v: that of a default value; else `size`, but 1 for what counts samples, if `samples`. */
static int64_t size_of(struct module *m, poly_var v, int64_t size, bool samples)
{
	int64_t given = default_size(m, v);

	return given >= 0 ? given : samples && counts_samples(m, v) ? 1 : size;
}

/* The size to suggest for an open extent of an input. */
static int64_t extent_of(const struct value *x, int k, int64_t size)
{
	return x->tensor && k < x->tensor->rank ? x->tensor->dims[k] : size;
}

static int open_rank(const struct value *x) { return x->tensor ? x->tensor->rank : 2; }

static void give_sizes(struct module *m, int64_t size, bool samples)
{
	const struct graph *g = graph(m, m->main);
	struct symbols s = free_symbols(m);
	int64_t *c = ARENA_ARRAY(&m->arena, int64_t, s.list.n + 1);

	for (size_t i = 0; i < s.list.n; i++)
		c[i] = size_of(m, s.list.a[i], size, samples);
	for (size_t i = 0; i < s.list.n; i++)
		subst_types(m, s.list.a[i], poly_const(m->dims, c[i]));
	symbols_free(&s);
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *x = val(m, g->in.a[i]);
		const struct type *t = &x->type;
		int64_t dims[RANK_MAX];
		int rank = t->rank == RANK_UNKNOWN ? open_rank(x) : t->rank;
		for (int k = 0; k < rank; k++)
			dims[k] = t->rank == RANK_UNKNOWN || !t->dims[k] ? extent_of(x, k, size) : -1;
		bind_shape(m, sym_str(x->name), rank, dims);
	}
}

/* Would these sizes work: does no operator refuse its operands, and is no result empty? */
static bool works(struct module *m, int64_t size)
{
	struct type *saved = ARENA_ARRAY(&m->arena, struct type, m->values.n);
	struct msg_trap trap, *outer = msg_trap;
	volatile bool good = false;

	for (size_t v = 1; v < m->values.n; v++)
		saved[v] = m->values.a[v].type;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		give_sizes(m, size, true);
		infer_declared(m, NULL);
		good = true;
	}
	msg_trap = outer;
	for (size_t v = 1; v < m->values.n; v++) {
		const struct type *t = &m->values.a[v].type;
		int64_t c;
		for (int k = 0; k < t->rank && m->values.a[v].kind == VAL_NODE && m->values.a[v].graph == m->main; k++)
			good = good && !(t->dims[k] && poly_is_const(m->dims, t->dims[k], &c) && c <= 0);
		m->values.a[v].type = saved[v];
	}
	return good;
}

/* The least of 1, 2, 3, 4, 6, 8, 12 ... that works: most strides, windows and factors of models are such numbers. */
static int64_t least_size(struct module *m)
{
	enum { MOST = 4096 };

	for (int64_t n = 1; n <= MOST; n *= 2) {
		if (works(m, n))
			return n;
		if (n > 1 && works(m, n / 2 * 3))
			return n / 2 * 3;
	}
	return 1;
}

/* Options that give `size` to each open size, but 1 to those that count samples, if `samples`; NULL: none is open. */
static const char *open_sizes(struct module *m, int64_t size, bool samples)
{
	struct graph *g = graph(m, m->main);
	struct symbols s = free_symbols(m);
	struct arena *a = &m->arena;
	char *text;
	size_t n;
	FILE *f = textfile_open(&text, &n);

	for (size_t i = 0; i < s.list.n; i++)
		fprintf(f, "%s%s=%" PRId64, i ? "," : " --set ", shell_word(sym_str(poly_var_name(m->dims, s.list.a[i])), a),
			size_of(m, s.list.a[i], size, samples));
	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *x = val(m, g->in.a[i]);
		const struct type *t = &x->type;
		bool open = t->rank == RANK_UNKNOWN;
		for (int k = 0; k < t->rank; k++)
			open = open || !t->dims[k];
		if (!open)
			continue;
		fprintf(f, " --shape %s:", shell_word(sym_str(x->name), a));
		for (int k = 0; t->rank == RANK_UNKNOWN && k < open_rank(x); k++)
			fprintf(f, "%s%" PRId64, k ? "x" : "", extent_of(x, k, size));
		for (int k = 0; k < t->rank; k++) {
			int64_t c = extent_of(x, k, size);
			bool given = t->dims[k] && !poly_is_const(m->dims, t->dims[k], &c); /* by --set */
			fprintf(f, given ? "%s?" : "%s%" PRId64, k ? "x" : "", c);
		}
	}
	textfile_close(f);
	const char *options = n ? arena_printf(a, "%s", text) : NULL;
	free(text);
	symbols_free(&s);
	return options;
}

void bind_all(struct module *m, const struct bindings *b)
{
	for (size_t i = 0; i < b->sets.n; i++)
		bind_sets(m, b->sets.a[i]);
	for (size_t i = 0; i < b->shapes.n; i++)
		bind_shapes(m, b->shapes.a[i]);
	for (size_t i = 0; i < b->consts.n; i++)
		if (!bind_consts(m, b->consts.a[i]))
			bind_no_input(b->consts.a[i]);
}

const char *bind_rest(struct module *m, int64_t size)
{
	const char *options = open_sizes(m, size, false);

	give_sizes(m, size, false);
	return options;
}

/* The sizes that bind_missing proposes, for a program. */
static void tell_open(struct module *m, int64_t least, const char *options)
{
	struct symbols s = free_symbols(m);

	if (options)
		facts_text("give", options);
	for (size_t i = 0; i < s.list.n; i++) {
		facts_add("symbol", sym_str(poly_var_name(m->dims, s.list.a[i])));
		facts_add("size", arena_printf(&m->arena, "%" PRId64, size_of(m, s.list.a[i], least, true)));
	}
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++) {
		const struct value *x = val(m, graph(m, m->main)->in.a[i]);
		bool open = x->type.rank == RANK_UNKNOWN;
		for (int k = 0; k < x->type.rank; k++)
			open |= !x->type.dims[k];
		if (open)
			facts_add("give_shape", sym_str(x->name));
	}
	symbols_free(&s);
}

noreturn void bind_missing(struct module *m, const char *command)
{
	struct graph *g = graph(m, m->main);
	int64_t least = least_size(m);
	const char *options = open_sizes(m, least, true);

	tell_open(m, least, options);
	fprintf(stderr, "%s: sizes are missing; the inputs are\n", msg_tool);
	for (size_t i = 0; i < g->in.n; i++) {
		struct value *v = val(m, g->in.a[i]);
		fprintf(stderr, "    %-24s %s\n", shown(sym_str(v->name)), type_str(m, &v->type, &m->arena));
	}
	if (facts_wanted()) /* who started this tool knows the command to give them to */
		die_silent(EX_BADUSE);
	die(EX_BADUSE, "give them, for example: %s%s", command, options ? options : "");
}

/* ---- constants ---- */

enum { CONST_MAX = 1024 };

/* Parses element i from s up to end. false: it is not a number of the type. */
static bool parse_element(struct tensor *t, int i, const char *s, const char *end)
{
	bool wide = t->dtype == DT_I64 || t->dtype == DT_U64;
	char *stop;

	errno = 0;
	if (t->dtype == DT_BOOL && (!strncmp(s, "true", 4) || !strncmp(s, "false", 5))) {
		tensor_set(t, i, *s == 't');
		return s + (*s == 't' ? 4 : 5) == end;
	}
	if (wide && t->dtype == DT_U64 && *s != '-')
		((uint64_t *)t->data)[i] = strtoull(s, &stop, 10);
	else if (wide)
		((int64_t *)t->data)[i] = strtoll(s, &stop, 10);
	else if (dtype_is_float(t->dtype))
		tensor_set(t, i, strtod(s, &stop));
	else {
		double v = (double)strtoll(s, &stop, 10);
		tensor_set(t, i, v);
		if (tensor_get(t, i) != v)
			return false;
	}
	return stop == end && stop != s && !isspace((unsigned char)*s) && (errno == 0 || dtype_is_float(t->dtype)) &&
	       (t->dtype != DT_U64 || *s != '-');
}

/* Gives v a shape of n elements, by which the symbols in its type get their extents. NULL, or why not in words. */
static const char *const_shape(struct module *m, val_id v, const char *name, int n, bool list)
{
	int rank = val(m, v)->type.rank;
	int64_t dims[RANK_MAX], have;

	if (rank == RANK_UNKNOWN)
		rank = list;
	if (rank == 0 ? n != 1 : rank > 1 && n != 1)
		return "a list is for one axis";
	for (int i = 0; i < rank; i++) {
		const struct type *t = &val(m, v)->type;
		dims[i] = n;
		if (t->rank != RANK_UNKNOWN && t->dims[i] && poly_is_const(m->dims, t->dims[i], &have) && have != n)
			return "it has another number of elements";
	}
	bind_shape(m, name, rank, dims);
	return NULL;
}

static void bind_const(struct module *m, const char *name, const char *text)
{
	val_id v = find_input(m, name);
	struct graph *g = graph(m, m->main);
	enum dtype dtype = val(m, v)->type.dtype;
	bool list = strchr(text, ',');
	int n = 1, rank;
	int64_t dims[RANK_MAX];

	for (const char *p = text; (p = strchr(p, ',')); p++)
		n++;
	if (n > CONST_MAX)
		die(EX_BADUSE, "--const %s: more than %d values", name, CONST_MAX);
	if (val(m, v)->type.other || !(dtype_is_float(dtype) || dtype_is_int(dtype) || dtype == DT_BOOL))
		die(EX_NOTAVAIL, "--const %s: the input is %s; only numbers can be given", name, type_str(m, &val(m, v)->type, &m->arena));
	const char *was = type_str(m, &val(m, v)->type, &m->arena), *why = const_shape(m, v, name, n, list);
	if (why)
		die(EX_BADUSE, "--const %s=%s: the input is %s; %s", name, text, was, why);
	rank = val(m, v)->type.rank;
	for (int i = 0; i < rank; i++)
		dims[i] = n;
	struct tensor *t = tensor_new(&m->arena, dtype, rank, dims);
	for (int i = 0; i < n; i++) {
		const char *end = text + strcspn(text, ",");
		if (!parse_element(t, i, text, end))
			die(EX_BADUSE, "--const %s: '%.*s' is no %s", name, (int)(end - text), text, dtype_name(dtype));
		text = end + 1;
	}
	size_t kept = 0;
	for (size_t i = 0; i < g->in.n; i++)
		if (g->in.a[i] != v) {
			val(m, g->in.a[i])->index = (uint32_t)kept;
			g->in.a[kept++] = g->in.a[i];
		}
	g->in.n = kept;
	*val(m, v) = (struct value){.name = val(m, v)->name, .kind = VAL_CONST, .type = tensor_type(m, t), .tensor = t};
}

/* ---- the options --set, --shape and --const ---- */

bool bind_consts(struct module *m, const char *arg)
{
	const char *eq = strchr(arg, '=');

	if (!eq || eq == arg || !eq[1])
		die(EX_BADUSE, "--const %s: write INPUT=VALUE, or INPUT=VALUE,VALUE for a list", arg);
	const char *name = arena_printf(&m->arena, "%.*s", (int)(eq - arg), arg);
	if (!find_input(m, name))
		return false;
	bind_const(m, name, eq + 1);
	return true;
}

noreturn void bind_no_input(const char *arg)
{
	die(EX_BADUSE, "--const %.*s: the model has no input of that name", (int)strcspn(arg, "="), arg);
}

static bool sets(struct module *m, const char *arg, bool strict)
{
	char *copy = xstrdup(arg), *save = NULL;
	bool any = false;

	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(p, '='), *end;
		if (!eq || !eq[1])
			die(EX_BADUSE, "--set %s: write NAME=SIZE", p);
		*eq = 0;
		errno = 0;
		long long v = strtoll(eq + 1, &end, 10);
		if (*end || errno)
			die(EX_BADUSE, "--set %s=%s: a size is a number", p, eq + 1);
		any |= bind(m, p, v, strict);
	}
	free(copy);
	return any;
}

void bind_sets(struct module *m, const char *arg) { sets(m, arg, true); }
bool bind_sets_there(struct module *m, const char *arg) { return sets(m, arg, false); }

void bind_shapes(struct module *m, const char *arg)
{
	const char *colon = strrchr(arg, ':');
	int64_t dims[RANK_MAX];
	int rank = 0;
	char *name, *end;

	if (!colon || colon == arg)
		die(EX_BADUSE, "--shape %s: write INPUT:1x3x224x224", arg);
	errno = 0;
	for (const char *p = colon + 1; *p; p = *end ? end + 1 : end) {
		if (rank == RANK_MAX)
			die(EX_BADUSE, "--shape %s: more than %d extents", arg, RANK_MAX);
		if (*p == '?') {
			dims[rank++] = -1;
			end = (char *)p + 1;
		} else {
			dims[rank++] = strtoll(p, &end, 10);
		}
		if (errno || end == p || (*end && *end != 'x' && *end != ',') || (*end && !end[1]) || (dims[rank - 1] < 0 && *p != '?'))
			die(EX_BADUSE,
			    "--shape %s: extents are numbers with x or a comma between them, ? leaves one "
			    "open",
			    arg);
	}
	name = xstrdup(arg);
	name[colon - arg] = 0;
	bind_shape(m, name, rank, dims);
	free(name);
}
