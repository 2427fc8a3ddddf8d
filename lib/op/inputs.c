/* Inputs of a run: from files, or random in the range that the graph accepts. */
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "graph/symbols.h"
#include "op/npy.h"
#include "op/rules.h"

struct given {
	struct tensor **t; /* by input */
	const char **from; /* the file, for messages */
	struct arena *a;
};

static int find(struct module *m, const char *name)
{
	struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->in.n; i++)
		if (!strcmp(sym_str(val(m, g->in.a[i])->name), name))
			return (int)i;
	return -1;
}

static int find_or_die(struct module *m, const char *name, const char *what)
{
	int i = find(m, name);
	struct graph *g = graph(m, m->main);
	char *list = xstrdup("");

	if (i >= 0)
		return i;
	for (size_t k = 0; k < g->in.n; k++)
		list = xprintf("%s%s%s", list, k ? ", " : "", sym_str(val(m, g->in.a[k])->name));
	die(EX_BADUSE, "%s: the model has no input %s; it has %s", what, name, *list ? list : "none");
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n >= k && !strcmp(s + n - k, end);
}

static void read_files(struct module *m, const struct input_spec *s, struct given *in)
{
	struct graph *g = graph(m, m->main);

	for (size_t f = 0; f < s->files.n; f++) {
		const char *arg = s->files.a[f], *eq = strchr(arg, '=');
		int at;
		if (!eq && ends_in(arg, ".npz")) {
			struct named_tensor *t;
			int n = npz_read(arg, in->a, &t);
			for (int k = 0; k < n; k++) {
				at = find_or_die(m, t[k].name, arg);
				in->t[at] = t[k].t;
				in->from[at] = arg;
			}
			continue;
		}
		if (!eq && g->in.n != 1)
			die(EX_BADUSE, "-i %s: write NAME=FILE.npy; the model has %zu inputs", arg, g->in.n);
		at = eq ? find_or_die(m, arena_printf(in->a, "%.*s", (int)(eq - arg), arg), "-i") : 0;
		in->from[at] = eq ? eq + 1 : arg;
		in->t[at] = npy_read(in->from[at], in->a);
	}
}

/* ---- sizes: symbols get theirs from the given files ---- */

struct sizes {
	struct symbols syms;
	bool *have; /* by variable */
	int64_t *env;
};

/* The variable, if e is just one; else 0. */
static poly_var lone(struct module *m, struct sizes *z, poly e)
{
	for (size_t i = 0; i < z->syms.list.n; i++)
		if (poly_of(m->dims, z->syms.list.a[i]) == e)
			return z->syms.list.a[i];
	return 0;
}

static bool all_known(struct module *m, const struct sizes *z, poly e)
{
	for (size_t i = 0; i < z->syms.list.n; i++)
		if (!z->have[z->syms.list.a[i]] && poly_uses(m->dims, e, z->syms.list.a[i]))
			return false;
	return e != POLY_UNKNOWN;
}

static void check_given(struct module *m, struct given *in, int i, struct sizes *z)
{
	struct value *v = val(m, graph(m, m->main)->in.a[i]);
	const struct type *t = &v->type;
	const struct tensor *x = in->t[i];
	struct type xt = tensor_type(m, x);

	if (x->dtype == DT_F32 && (t->dtype == DT_BF16 || dtype_is_float8(t->dtype))) { /* NumPy has no such type */
		struct tensor *y = tensor_new(in->a, t->dtype, x->rank, x->dims);
		for (int64_t k = 0; k < tensor_count(x); k++)
			tensor_set(y, k, tensor_get(x, k));
		in->t[i] = y;
		x = y;
	}
	if ((t->dtype && x->dtype != t->dtype) || (t->rank != RANK_UNKNOWN && x->rank != t->rank))
		die(EX_BADDATA, "%s: holds %s, input %s is %s", in->from[i], type_str(m, &xt, in->a), sym_str(v->name),
		    type_str(m, t, in->a));
	for (int k = 0; k < t->rank; k++) {
		poly_var var = t->dims[k] ? lone(m, z, t->dims[k]) : 0;
		if (var && !z->have[var]) {
			z->have[var] = true;
			z->env[var] = x->dims[k];
		}
	}
	for (int k = 0; k < t->rank; k++)
		if (t->dims[k] && all_known(m, z, t->dims[k]) && poly_eval(m->dims, t->dims[k], z->env) != x->dims[k])
			die(EX_BADDATA, "%s: holds %s, axis %d of input %s (%s) is %lld", in->from[i], type_str(m, &xt, in->a), k,
			    sym_str(v->name), type_str(m, t, in->a), (long long)poly_eval(m->dims, t->dims[k], z->env));
}

/* ---- ranges ---- */

/* Extent of the axis that v indexes, directly or through operators that pass its elements on; 0: it indexes nothing. */
static int64_t indexed_extent(struct module *m, const struct uses *u, val_id v, int depth)
{
	int64_t best = 0;

	for (uint32_t i = u->start[v]; depth < 16 && i < u->start[v + 1]; i++) {
		const struct node *n = node(m, u->user[i]);
		int64_t e = 0;
		if (n->op == OP_Gather || n->op == OP_GatherElements) {
			const struct type *t = &val(m, n->in[0])->type;
			int64_t axis = attr_i(n, "axis");
			if (n->in[1] == v && t->rank > 0 && axis >= -t->rank && axis < t->rank)
				if (!poly_is_const(m->dims, t->dims[axis < 0 ? axis + t->rank : axis], &e))
					e = 0;
		} else if (n->op == OP_OneHot && n->in[0] == v && node_const(m, n, 1)) {
			tensor_ints(m, node_const(m, n, 1), &e, 1);
		} else if (op_is(n->op, OP_CALL)) {
			graph_id g = attr_graph(n, "graph");
			for (uint32_t k = 0; k < n->nin && g; k++)
				if (n->in[k] == v && k < graph(m, g)->in.n)
					e = indexed_extent(m, u, graph(m, g)->in.a[k], depth + 1);
		} else if (n->nout == 1 && (n->op == OP_Cast || n->op == OP_Identity || op_is(n->op, OP_MOVE))) {
			e = n->in[0] == v ? indexed_extent(m, u, n->out[0], depth + 1) : 0;
		}
		if (e > 0 && (!best || e < best))
			best = e;
	}
	return best;
}

/* The range of the constants that integer v is compared with, directly or through operators that pass its elements on (a one-hot made
 * by hand, or the choice of a branch). false: there is none. */
static bool compared_range(struct module *m, const struct uses *u, val_id v, int depth, double *lo, double *hi)
{
	bool any = false;

	for (uint32_t i = u->start[v]; depth < 16 && i < u->start[v + 1]; i++) {
		const struct node *n = node(m, u->user[i]);
		struct tensor *t = n->op == OP_Equal ? node_const(m, n, n->in[0] == v) : NULL;
		if (n->nout == 1 && n->in[0] == v && (n->op == OP_Cast || n->op == OP_Identity || op_is(n->op, OP_MOVE)))
			any |= compared_range(m, u, n->out[0], depth + 1, lo, hi);
		if (!t || !(dtype_is_int(t->dtype) || dtype_is_float(t->dtype)))
			continue;
		tensor_data(m, t);
		for (int64_t k = 0; k < tensor_count(t); k++) {
			double c = tensor_get(t, k);
			*lo = !any || c < *lo ? c : *lo;
			*hi = !any || c > *hi ? c : *hi;
			any = true;
		}
	}
	return any;
}

/* Should v be positive because it is an operand that should be, directly or through operators that pass its elements on? Not the
 * operand of a power: it may be anything. */
static bool wants_positive(struct module *m, const struct uses *u, val_id v, int depth)
{
	for (uint32_t i = u->start[v]; depth < 16 && i < u->start[v + 1]; i++) {
		const struct node *n = node(m, u->user[i]);
		graph_id g = op_is(n->op, OP_CALL) ? attr_graph(n, "graph") : 0;
		if (n->op == OP_Pow && node_const(m, n, 1))
			continue;
		for (uint32_t k = 0; k < n->nin; k++)
			if (n->in[k] == v && (operand_positive(n->op, k) ||
					      (g && k < graph(m, g)->in.n && wants_positive(m, u, graph(m, g)->in.a[k], depth + 1))))
				return true;
		if (n->nout == 1 && n->in[0] == v && (n->op == OP_Identity || op_is(n->op, OP_MOVE)) &&
		    wants_positive(m, u, n->out[0], depth + 1))
			return true;
	}
	return false;
}

static void default_range(struct module *m, const struct uses *u, val_id v, double *lo, double *hi)
{
	enum dtype t = val(m, v)->type.dtype;
	int64_t extent = dtype_is_int(t) ? indexed_extent(m, u, v, 0) : 0;

	*lo = 0;
	*hi = dtype_is_float(t) || dtype_is_float8(t) ? 0 : 1; /* floats: normal; integers that index nothing: as masks */
	if (dtype_is_float(t) && wants_positive(m, u, v, 0))
		*lo = 0.25, *hi = 1.25;
	else if (extent &&
		 !(dtype_size(t) == 1 && extent > dtype_highest(t))) /* then all values are valid indices, negative ones from the end */
		*hi = (double)(extent - 1);
	else if ((t == DT_I64 || t == DT_I32) && compared_range(m, u, v, 0, lo, hi))
		;
	else if (t == DT_U8)
		*hi = 255;
	else if (t == DT_I8)
		*lo = -128, *hi = 127;
}

static void given_range(struct module *m, const char *arg, double *lo, double *hi, int *input)
{
	const char *eq = strchr(arg, '=');
	char *end = NULL;

	if (eq) {
		*lo = strtod(eq + 1, &end);
		if (end != eq + 1 && *end == ':') {
			const char *p = end + 1;
			*hi = strtod(p, &end);
			end = end == p ? NULL : end;
		} else {
			end = NULL;
		}
	}
	if (!end || *end || *hi < *lo)
		die(EX_BADUSE, "--range %s: write NAME=LO:HI", arg);
	*input = find_or_die(m, xprintf("%.*s", (int)(eq - arg), arg), "--range");
}

/* ---- all of it ---- */

/* Words of a few letters, so that some are equal and some are not. */
static struct tensor *random_words(struct rng *r, int rank, const int64_t *dims, struct arena *a)
{
	enum { LETTERS = 4, LENGTH = 3, MOST = 4 + LENGTH };
	struct tensor *t = ARENA_NEW(a, struct tensor);
	*t = (struct tensor){.dtype = DT_STR, .rank = rank, .dims = arena_copy(a, dims, (size_t)rank * sizeof *dims)};
	int64_t n = tensor_count(t);
	unsigned char *p = ARENA_ARRAY(a, unsigned char, n *MOST + 1);
	t->data = p;
	for (int64_t i = 0; i < n; i++) {
		uint32_t length = (uint32_t)(rng_u64(r) % (LENGTH + 1));
		memcpy(p, &length, sizeof length);
		p += sizeof length;
		for (uint32_t k = 0; k < length; k++)
			*p++ = (unsigned char)('a' + rng_u64(r) % LETTERS);
	}
	t->nbytes = (size_t)(p - (const unsigned char *)t->data);
	return t;
}

static struct tensor *make_random(struct module *m, const struct input_spec *s, int i, const struct uses *u, const struct sizes *z,
				  struct arena *a)
{
	val_id v = graph(m, m->main)->in.a[i];
	const struct type *t = &val(m, v)->type;
	int64_t dims[RANK_MAX], bytes = 1;
	double lo, hi;
	struct rng r = {(s->seed + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)i + 1) * 0xd1342543de82ef95u};

	if (t->other || (!dtype_size(t->dtype) && t->dtype != DT_STR) || t->dtype == DT_C64 || t->dtype == DT_C128)
		die(EX_NOTAVAIL, "input %s is %s: no random contents of that type; give it with -i", sym_str(val(m, v)->name),
		    type_str(m, t, a));
	for (int k = 0; k < t->rank; k++)
		if (!all_known(m, z, t->dims[k]))
			bind_missing(m, msg_tool);
	if (t->rank == RANK_UNKNOWN)
		bind_missing(m, msg_tool);
	for (int k = 0; k < t->rank; k++) {
		dims[k] = poly_eval(m->dims, t->dims[k], z->env);
		if (dims[k] < 0 || __builtin_mul_overflow(bytes, dims[k], &bytes) || bytes > INT64_MAX / 16)
			die(EX_BADUSE, "input %s would have extent %lld at axis %d", sym_str(val(m, v)->name), (long long)dims[k], k);
	}
	default_range(m, u, v, &lo, &hi);
	if (s->integer && (t->dtype == DT_I64 || t->dtype == DT_I32) && lo == 0 && hi == 1)
		lo = hi = (double)*s->integer;
	for (size_t k = 0; k < s->ranges.n; k++) {
		double l, h;
		int at;
		given_range(m, s->ranges.a[k], &l, &h, &at);
		if (at == i)
			lo = l, hi = h;
	}
	if (t->dtype == DT_STR)
		return random_words(&r, t->rank, dims, a);
	struct tensor *x = tensor_new(a, t->dtype, t->rank, dims);
	tensor_random(x, &r, lo, hi);
	return x;
}

struct tensor **inputs_make(struct module *m, const struct input_spec *s, struct arena *a)
{
	struct graph *g = graph(m, m->main);
	size_t n = g->in.n;
	struct given in = {ARENA_ARRAY(a, struct tensor *, n), ARENA_ARRAY(a, const char *, n), a};
	struct sizes z = {0};
	struct uses u = uses_new(m);

	read_files(m, s, &in);
	for (size_t i = 0; i < n; i++)
		symbols_mark(&z.syms, m, &val(m, g->in.a[i])->type);
	z.have = ARENA_ARRAY(a, bool, poly_nvars(m->dims) + 1);
	z.env = ARENA_ARRAY(a, int64_t, poly_nvars(m->dims) + 1);
	for (int round = 0; round < 2; round++) /* the second round checks the sizes that the first has found */
		for (size_t i = 0; i < n; i++)
			if (in.t[i])
				check_given(m, &in, (int)i, &z);
	for (size_t i = 0; i < n; i++) {
		struct value *v = val(m, g->in.a[i]);
		if (!in.t[i] && v->tensor) { /* an input with a default */
			in.t[i] = arena_copy(a, v->tensor, sizeof *v->tensor);
			in.t[i]->data = tensor_data(m, v->tensor);
		}
		if (!in.t[i])
			in.t[i] = make_random(m, s, (int)i, &u, &z, a);
	}
	symbols_free(&z.syms);
	uses_free(&u);
	return in.t;
}
