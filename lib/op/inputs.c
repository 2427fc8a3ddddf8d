/* Inputs of a run: from files, or random in the range that the graph accepts. */
#include <stdio.h>
#include <string.h>
#include "common/filename.h"
#include "common/msg.h"
#include "graph/kinds.h"
#include "graph/symbols.h"
#include "op/draws.h"
#include "op/values.h"
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

/* Input i is of this file, and of no other. */
static void give(struct module *m, struct given *in, size_t i, const char *path, struct tensor *t)
{
	if (in->from[i])
		die(EX_BADUSE, "input %s is given twice: %s and %s", sym_str(val(m, graph(m, m->main)->in.a[i])->name), in->from[i], path);
	in->from[i] = path;
	in->t[i] = t;
}

/* Every array is of one of the inputs. */
static void read_npz(struct module *m, const char *path, struct given *in)
{
	struct graph *g = graph(m, m->main);
	struct named_tensor *t;
	int n = npz_read(path, in->a, &t);
	struct members f = {path, n, t, ARENA_ARRAY(in->a, bool, n + 1)};

	for (size_t i = 0; i < g->in.n; i++) {
		const struct value *v = val(m, g->in.a[i]);
		struct tensor *x = values_take(&f, sym_str(v->name), &v->type, in->a);
		if (x)
			give(m, in, i, path, x);
	}
	for (int k = 0; k < n; k++) {
		int at = f.taken[k] ? 0 : find_or_die(m, t[k].name, path);
		if (!f.taken[k])
			die(EX_BADDATA, "%s: holds an array for input %s, which is %s (hone-npz(5) says how a file has it)", path,
			    t[k].name, type_str(m, &val(m, g->in.a[at])->type, in->a));
	}
}

/* An array for an input, which may be an optional of a tensor. */
static struct tensor *read_npy(struct module *m, const struct type *t, const char *path, struct arena *a)
{
	struct named_tensor x = {"", npy_read(path, a)};
	struct members f = {path, 1, &x, &(bool){false}};
	struct tensor *v = values_take(&f, "", t, a);

	if (!v)
		die(EX_BADDATA, "%s: holds an array, the input is %s; a .npz holds one (hone-npz(5))", path, type_str(m, t, a));
	return v;
}

static void read_files(struct module *m, const struct input_spec *s, struct given *in)
{
	struct graph *g = graph(m, m->main);

	for (size_t f = 0; f < s->files.n; f++) {
		const char *arg = s->files.a[f], *eq = strchr(arg, '=');
		int at;
		if (!eq && filename_ends(arg, ".npz")) {
			read_npz(m, arg, in);
			continue;
		}
		if (!eq && g->in.n != 1)
			die(EX_BADUSE, "-i %s: write NAME=FILE.npy; the model has %zu inputs", arg, g->in.n);
		at = eq ? find_or_die(m, arena_printf(in->a, "%.*s", (int)(eq - arg), arg), "-i") : 0;
		const char *path = eq ? eq + 1 : arg;
		give(m, in, (size_t)at, path, read_npy(m, &val(m, g->in.a[at])->type, path, in->a));
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

/* Of a tensor of an input: type and shape are as they should be. */
static struct tensor *check_tensor(struct module *m, struct given *in, int i, struct tensor *x, const struct type *t, struct sizes *z)
{
	const char *name = sym_str(val(m, graph(m, m->main)->in.a[i])->name), *why;
	struct type xt = tensor_type(m, x);
	struct tensor *y = npy_take(x, t->dtype, in->a, &why);

	if (why)
		die(EX_BADDATA, "%s: input %s: %s", in->from[i], name, why);
	if (!y && x->kind == KIND_OTHER)
		die(EX_BADDATA, "%s: holds elements of %zu bytes whose type it does not say, input %s is %s", in->from[i],
		    dtype_size(x->dtype), name, type_str(m, t, in->a));
	if (!y || (t->rank != RANK_UNKNOWN && x->rank != t->rank))
		die(EX_BADDATA, "%s: holds %s, input %s is %s", in->from[i], type_str(m, &xt, in->a), name, type_str(m, t, in->a));
	for (int k = 0; k < t->rank; k++) {
		poly_var var = t->dims[k] ? lone(m, z, t->dims[k]) : 0;
		if (var && !z->have[var]) {
			z->have[var] = true;
			z->env[var] = x->dims[k];
		}
	}
	for (int k = 0; k < t->rank; k++)
		if (t->dims[k] && all_known(m, z, t->dims[k]) && poly_eval(m->dims, t->dims[k], z->env) != x->dims[k])
			die(EX_BADDATA, "%s: holds %s, axis %d of input %s (%s) is %lld", in->from[i], type_str(m, &xt, in->a), k, name,
			    type_str(m, t, in->a), (long long)poly_eval(m->dims, t->dims[k], z->env));
	return y;
}

static struct tensor *check_value(struct module *m, struct given *in, int i, struct tensor *x, const struct type *t, struct sizes *z)
{
	struct type inside = type_inside(t), key = {.dtype = type_map_key(t), .rank = 1, .dims = &(dim){POLY_UNKNOWN}};

	if (!t->other)
		return check_tensor(m, in, i, x, t, z);
	if (x->kind == KIND_MAP) {
		inside.rank = key.rank;
		inside.dims = key.dims;
	}
	for (size_t k = 0; k < x->nitem; k++)
		x->item[k] = check_value(m, in, i, x->item[k], x->kind == KIND_MAP && k == 0 ? &key : &inside, z);
	return x;
}

static void check_given(struct module *m, struct given *in, int i, struct sizes *z)
{
	in->t[i] = check_value(m, in, i, in->t[i], &val(m, graph(m, m->main)->in.a[i])->type, z);
}

/* ---- ranges ---- */

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

/* Does type t have all numbers of the draw? */
static bool draw_fits(enum dtype t, const struct draw *d) { return d->lo >= dtype_lowest(t) && d->hi <= (double)dtype_highest(t); }

static void default_draw(struct module *m, const struct uses *u, val_id v, struct draw *d)
{
	enum dtype t = val(m, v)->type.dtype;
	struct draw used;

	/* floats: no range, so normal; integers of no known use: as masks */
	*d = (struct draw){.lo = 0, .hi = dtype_is_float(t) || dtype_is_float8(t) ? -1 : 1};
	if (dtype_is_float(t) && wants_positive(m, u, v, 0))
		d->lo = 0.25, d->hi = 1.25;
	else if (dtype_is_int(t) && draw_of(m, u, v, &used) && draw_fits(t, &used))
		*d = used;
	else if ((t == DT_I64 || t == DT_I32) && compared_range(m, u, v, 0, &d->lo, &d->hi))
		d->index = d->lo != 0 || d->hi != 1;
	else if (t == DT_U8)
		d->hi = 255;
	else if (t == DT_I8)
		d->lo = -128, d->hi = 127;
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

/* The random contents of one input: its number, what it may hold, and the random numbers. */
struct random {
	struct module *m;
	const struct input_spec *spec;
	const struct uses *uses;
	const struct sizes *sizes;
	int input;
	struct rng rng;
	struct arena *a;
};

/* Elements from lo on in random order; of more than there are, some again. */
static void make_distinct(struct tensor *x, struct rng *r, int64_t lo, int64_t hi)
{
	int64_t n = tensor_count(x), count = hi - lo + 1;
	int64_t order[RANK_MAX];

	count = count > RANK_MAX ? RANK_MAX : count;
	for (int64_t i = 0; i < count; i++)
		order[i] = lo + i;
	for (int64_t i = count - 1; i > 0; i--) {
		int64_t k = (int64_t)(rng_u64(r) % (uint64_t)(i + 1)), other = order[k];
		order[k] = order[i];
		order[i] = other;
	}
	for (int64_t i = 0; i < n; i++)
		tensor_set(x, i, (double)order[i % count]);
}

static struct tensor *make_tensor(struct random *r, const struct type *t)
{
	struct module *m = r->m;
	val_id v = graph(m, m->main)->in.a[r->input];
	int64_t dims[RANK_MAX], bytes = 1;
	struct draw d;

	if (!dtype_size(t->dtype) && t->dtype != DT_STR)
		die(EX_NOTAVAIL, "input %s is %s: no random contents of that type; give it with -i", sym_str(val(m, v)->name),
		    type_str(m, t, r->a));
	for (int k = 0; k < t->rank; k++)
		if (!all_known(m, r->sizes, t->dims[k]))
			bind_missing(m, msg_tool);
	if (t->rank == RANK_UNKNOWN)
		bind_missing(m, msg_tool);
	for (int k = 0; k < t->rank; k++) {
		dims[k] = poly_eval(m->dims, t->dims[k], r->sizes->env);
		if (dims[k] < 0 || __builtin_mul_overflow(bytes, dims[k], &bytes) || bytes > INT64_MAX / 16)
			die(EX_BADUSE, "input %s would have extent %lld at axis %d", sym_str(val(m, v)->name), (long long)dims[k], k);
	}
	default_draw(m, r->uses, v, &d);
	if (r->spec->integer && (t->dtype == DT_I64 || t->dtype == DT_I32) && !d.index)
		d = (struct draw){.lo = (double)*r->spec->integer, .hi = (double)*r->spec->integer};
	for (size_t k = 0; k < r->spec->ranges.n; k++) {
		double l, h;
		int at;
		given_range(m, r->spec->ranges.a[k], &l, &h, &at);
		if (at == r->input)
			d = (struct draw){.lo = l, .hi = h};
	}
	if (t->dtype == DT_STR)
		return random_words(&r->rng, t->rank, dims, r->a);
	struct tensor *x = tensor_new(r->a, t->dtype, t->rank, dims);
	tensor_random(x, &r->rng, d.lo, d.hi);
	if (d.pattern == DRAW_DISTINCT)
		make_distinct(x, &r->rng, (int64_t)d.lo, (int64_t)d.hi);
	for (int64_t i = 0, n = tensor_count(x); i < n; i++)
		if (d.pattern == DRAW_FREE)
			tensor_set(x, i, i ? 1 : -1);
		else if (d.pattern == DRAW_PARTS)
			tensor_set(x, i, (double)((int64_t)d.hi * (i + 1) / n - (int64_t)d.hi * i / n));
	return x;
}

/* A sequence has a few elements, an optional a value. */
static struct tensor *make_value(struct random *r, const struct type *t)
{
	enum { ITEMS = 3 };
	enum kind kind = type_kind(t);
	struct type inside = type_inside(t);
	struct tensor *item[ITEMS];
	size_t n = kind == KIND_SEQUENCE ? ITEMS : 1;

	if (kind == KIND_TENSOR)
		return make_tensor(r, t);
	if (kind != KIND_SEQUENCE && kind != KIND_OPTIONAL)
		die(EX_NOTAVAIL, "input %s is %s: no random contents of that type; give it with -i",
		    sym_str(val(r->m, graph(r->m, r->m->main)->in.a[r->input])->name), type_str(r->m, t, r->a));
	for (size_t i = 0; i < n; i++)
		item[i] = make_value(r, &inside);
	return tensor_wrap(r->a, kind, type_innermost(t).dtype, n, item);
}

static struct tensor *make_random(struct module *m, const struct input_spec *s, int i, const struct uses *u, const struct sizes *z,
				  struct arena *a)
{
	struct random r = {m, s, u, z, i, {(s->seed + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)i + 1) * 0xd1342543de82ef95u}, a};

	return make_value(&r, &val(m, graph(m, m->main)->in.a[i])->type);
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
