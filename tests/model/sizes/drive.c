/* A library at many random sizes and values, fitting and hostile. It is compiled under sanitizers, as this program is: what it takes and
 * gives lies in memory of just its size. drive LIBRARY GRAPH RUNS SEED; GRAPH: the stream it was planned from, which the evaluator runs.
 * What one of the two refuses the other refuses; numbers are compared. Where inputs have the names n0_x0, n0_x1, n1_x0, .. the model has
 * parts side by side: in a run one part is drawn, the others get sizes and values that fit. With `between` after SEED half of the runs
 * have hostile sizes and values, NaN and infinities among them; the other half have none, and each is compared: a run must not see what
 * the one before it left. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/rng.h"
#include "common/tool.h"
#include "graph/kinds.h"
#include "near.h"
#include "onnx/onnx.h"
#include "op/rules.h"
#include "op/value_tensor.h"
#include "runner/model_abi.h"

const struct tool tool; /* the library's main() is not linked */

enum { INPUTS_MAX = 150, OUTPUTS_MAX = 64, AXES_MAX = 16 };

struct given {
	struct hone_value v;
	int64_t shape[AXES_MAX];
	bool hostile;         /* in a way that nobody would give an evaluator */
	bool wild;            /* floats that are far off or no numbers */
	struct given *inside; /* of a list: n of them, which v.data has the values of */
	int64_t n;
};

static struct rng rng;
static int failed;
static long taken, refused, compared, agreed; /* runs; refusals that the evaluator was asked about */
static const struct hone_model *lib;
static int parts;              /* of the model; 0: it has none */
static int drawn;              /* the part that is drawn; -1: all of it */
static bool between, wild_run; /* `between` is asked for; this run is one of its hostile half */

static bool one_in(int n) { return rng_range(&rng, 1, n) == 1; }

/* ---- what goes in ---- */

static int64_t hostile_size(int64_t n)
{
	static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, 1LL << 31, 1LL << 32, 1LL << 46, 1LL << 61, (1LL << 62) + 1, 1};

	return one_in(2) ? n + rng_range(&rng, -2, 2) : one_in(4) ? 0 : odd[rng_range(&rng, 0, sizeof odd / sizeof *odd - 1)];
}

/* The part of the model that a name, n3_x0 or so, is of. */
static int part_of(const char *name)
{
	int at;

	return sscanf(name, "n%d_x", &at) == 1 ? at : -1;
}

static bool is_drawn(const char *name) { return drawn < 0 || part_of(name) == drawn; }

/* The number at the end of a name, which is a size that the model takes; 0: there is none. */
static int64_t usual(const struct polys *P, poly_var v)
{
	const char *name = sym_str(poly_var_name(P, v)), *end = name + strlen(name);

	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	return atol(end);
}

/* Values for the symbols: the usual ones, all or one of them off by a little; or any, mostly small, some as kernels like them. */
static void draw_symbols(const struct polys *P, int64_t *env)
{
	static const int most[] = {3, 9, 9, 20, 20, 70};
	int64_t lo, hi, top = most[rng_range(&rng, 0, sizeof most / sizeof *most - 1)], off = rng_range(&rng, -3, 12);
	int way = (int)rng_range(&rng, 0, 4);
	poly_var one = (poly_var)rng_range(&rng, 1, poly_nvars(P) + 1);

	for (poly_var v = 1; v <= poly_nvars(P); v++) {
		int64_t unit = poly_var_divisor(P, v);
		poly_var_range(P, v, &lo, &hi);
		lo = lo < 0 ? 0 : lo;
		env[v] = rng_range(&rng, lo / unit, lo / unit + top);
		env[v] = one_in(3) ? rng_range(&rng, 0, 8) * 8 : env[v];
		if (!is_drawn(sym_str(poly_var_name(P, v))))
			env[v] = usual(P, v) / unit;
		else if (way < 3 && (usual(P, v) || parts))
			env[v] = usual(P, v) / unit + (way == 0 || (way == 1 && v == one) ? off : way == 2 ? usual(P, v) % 3 * off : 0);
		env[v] *= unit;
		env[v] = env[v] < lo ? lo : hi != POLY_INF && env[v] > hi ? hi : env[v];
	}
}

static double hostile_number(void)
{
	static const double odd[] = {
		NAN,  INFINITY, -INFINITY, 0, -0.0, 1e30, -1e30, 1e-30, -1, 0.5, 2147483648.0, -2147483649.0, 9223372036854775808.0,
		1e10, 65504,    1,         2, -3};

	return odd[rng_range(&rng, 0, sizeof odd / sizeof *odd - 1)];
}

/* way: usual ones (0), as they come, or hostile ones among them (2). */
static void fill(struct given *g, size_t n, int way)
{
	int64_t lo = rng_range(&rng, 0, 3) - (one_in(3) ? 3 : 0), hi = lo + rng_range(&rng, 0, 4);
	struct tensor t = {.dtype = (enum dtype)g->v.type, .data = g->v.data};
	bool real = dtype_is_float(t.dtype) || dtype_is_float8(t.dtype), positive = one_in(4);

	for (size_t i = 0; i < n; i++) {
		bool odd = way == 2 && one_in(4);
		int64_t k = odd ? hostile_size((int64_t)i) : way ? rng_range(&rng, lo, hi) : rng_range(&rng, 0, 1);
		double x = odd ? hostile_number() : way ? rng_normal(&rng) : rng_unit(&rng);
		g->wild |= odd && real;
		if (real)
			tensor_set(&t, (int64_t)i, positive && x < 0 ? -x : x);
		else if (dtype_is_int(t.dtype))
			store_i(&t, (int64_t)i, 1, &k);
		else if (t.dtype == DT_BOOL)
			((uint8_t *)t.data)[i] = (uint8_t)(k & 1);
		else
			memset((char *)t.data + i * dtype_size(t.dtype), (int)k & 0x3f, dtype_size(t.dtype));
	}
}

/* Values that the model says are usual for an input ("usual.NAME" in its metadata): as often as they fit, one of them another at times. */
static void fill_usual(struct module *m, const char *name, struct given *g, size_t n)
{
	const char *s = module_meta(m, arena_printf(&m->arena, "usual.%s", name)), *at = s;
	struct tensor t = {.dtype = (enum dtype)g->v.type, .data = g->v.data};
	size_t odd = is_drawn(name) && n && one_in(3) ? (size_t)rng_range(&rng, 0, (int64_t)n - 1) : n;

	if (!s || (is_drawn(name) && one_in(4)) || !dtype_size(t.dtype))
		return;
	for (size_t i = 0; i < n; i++) {
		if (i != odd && dtype_is_float(t.dtype))
			tensor_set(&t, (int64_t)i, strtod(at, NULL));
		else if (i != odd)
			store_i(&t, (int64_t)i, 1, &(int64_t){strtoll(at, NULL, 10)});
		at = strchr(at, ',') ? strchr(at, ',') + 2 : s;
	}
}

/* The number of elements, where all fit into some memory. */
static bool count(const struct hone_value *v, size_t *n)
{
	enum { MOST = 1 << 20 };
	bool zero = false, large = false;
	int64_t k = 1;

	for (int d = 0; d < v->rank; d++) {
		zero |= !v->shape[d];
		large |= v->shape[d] < 0 || v->shape[d] > MOST;
		k = large || zero ? 0 : k * v->shape[d];
		large |= k > MOST;
	}
	*n = zero || large ? 0 : (size_t)k;
	return !large;
}

static void draw_input(struct module *m, const struct type *t, const char *name, const int64_t *env, struct given *g);

/* A sequence or an optional. What it holds is where its shape says, for nobody can see whether it is. */
static void draw_list(struct module *m, const struct type *t, const int64_t *env, struct given *g)
{
	enum { ELEMENTS = 4 };
	bool optional = type_kind(t) == KIND_OPTIONAL;
	struct type inside = type_inside(t);

	g->n = g->shape[0] = rng_range(&rng, 0, optional ? 1 : ELEMENTS);
	g->inside = calloc((size_t)g->n + 1, sizeof *g->inside);
	g->v = (struct hone_value){value_kind_number(type_kind(t)), 1, g->shape, malloc((size_t)g->n * sizeof(struct hone_value))};
	for (int64_t i = 0; i < g->n; i++) {
		draw_input(m, &inside, "", env, &g->inside[i]);
		g->hostile |= g->inside[i].hostile;
		g->wild |= g->inside[i].wild;
		((struct hone_value *)g->v.data)[i] = g->inside[i].v;
	}
	if (!one_in(40))
		return;
	g->hostile = true;
	switch (rng_range(&rng, 0, 3)) {
	case 0: g->shape[0] = -1; break;
	case 1: g->shape[0] = INT64_MAX; break;
	case 2: g->v.type = (int)rng_range(&rng, 0, 40) - 4; break;
	case 3: g->v.rank = (int)rng_range(&rng, 0, 3) - 1; break;
	}
}

static void forget(struct given *g)
{
	for (int64_t i = 0; i < g->n; i++)
		forget(&g->inside[i]);
	free(g->inside);
	free(g->v.data);
}

/* Another shape or type than the model takes, at times. */
static void make_hostile(struct given *g)
{
	if (g->v.rank && one_in(25)) {
		g->hostile = true;
		int d = (int)rng_range(&rng, 0, g->v.rank - 1);
		g->shape[d] = hostile_size(g->shape[d]);
	}
	if (one_in(200)) {
		g->hostile = true;
		g->v.rank += one_in(2) && g->v.rank < AXES_MAX ? 1 : g->v.rank ? -1 : 0;
	}
}

static void draw_input(struct module *m, const struct type *t, const char *name, const int64_t *env, struct given *g)
{
	size_t n = 0;
	bool any = lib->run_values && (drawn < 0 || is_drawn(name)) && (!between || wild_run);

	*g = (struct given){0};
	if (t->other) {
		draw_list(m, t, env, g);
		return;
	}
	*g = (struct given){.v = {(int)t->dtype, t->rank < 0 ? (int)rng_range(&rng, 0, 4) : t->rank, g->shape, NULL}};
	for (int d = 0; d < g->v.rank; d++) {
		bool known = t->rank >= 0 && t->dims[d] != POLY_UNKNOWN;
		g->shape[d] = known ? poly_eval(m->dims, t->dims[d], env) : rng_range(&rng, 0, 9);
		g->shape[d] = g->shape[d] < 0 ? 0 : g->shape[d];
	}
	if (any)
		make_hostile(g);
	bool there = count(&g->v, &n);
	g->hostile |= !there;
	g->v.data = there ? malloc(n * dtype_size(t->dtype)) : NULL;
	bool wild = between ? wild_run : one_in(8);
	fill(g, n, !is_drawn(name) ? 0 : wild ? 2 : 1);
	if (there)
		fill_usual(m, name, g, n);
	if (any && one_in(200)) {
		g->hostile = true;
		g->v.type = (int)rng_range(&rng, 0, 40) - 4;
	}
}

/* ---- what comes out ---- */

static bool evaluate(struct module *m, const struct given *in, struct tensor **out, struct arena *a, const char **why)
{
	const struct graph *g = graph(m, m->main);
	struct tensor **t = ARENA_ARRAY(a, struct tensor *, g->in.n + 1);
	struct msg_trap trap;

	for (size_t i = 0; i < g->in.n; i++)
		if (!(t[i] = value_tensor(&in[i].v, &val(m, g->in.a[i])->type, a, why)))
			return false;
	if (setjmp(trap.at)) {
		msg_trap = NULL;
		eval_abandon();
		*why = arena_str(a, trap.why);
		return false;
	}
	msg_trap = &trap;
	eval_graph(m, m->main, t, out, a, NULL);
	msg_trap = NULL;
	return true;
}

static double element(const struct hone_value *v, int64_t i)
{
	struct tensor t = {.dtype = (enum dtype)v->type, .data = v->data};

	return tensor_get(&t, i);
}

/* NULL, or how they differ. wild: numbers are not compared. */
static const char *differs(const struct hone_value *v, const struct tensor *r, bool wild, struct arena *a)
{
	double worst = 0, scale = 1;
	const char *why = NULL;

	if (r->kind != KIND_TENSOR) {
		if (v->type != value_kind_number((enum kind)r->kind) || v->rank != 1 || v->shape[0] != (int64_t)r->nitem)
			return "its length, or its kind";
		for (size_t i = 0; i < r->nitem && !why; i++)
			why = differs((const struct hone_value *)v->data + i, r->item[i], wild, a);
		return why;
	}
	if (v->type != (int)r->dtype || v->rank != r->rank)
		return "its type";
	for (int d = 0; d < v->rank; d++)
		if (v->shape[d] != r->dims[d])
			return arena_printf(a, "axis %d is %ld, not %ld", d, (long)v->shape[d], (long)r->dims[d]);
	int64_t n = tensor_count(r);
	for (int64_t i = 0; i < n && r->dtype != DT_STR && !wild; i++) {
		double x = element(v, i), y = tensor_get(r, i);
		worst = fmax(worst, off_by(x, y));
		scale = fmax(scale, size_of(y));
	}
	bool is_float = dtype_is_float(r->dtype);
	double most = !is_float ? 0 : r->dtype == DT_F32 || r->dtype == DT_F64 ? 1e-4 : 2e-2;
	return worst <= most * scale ? NULL : arena_printf(a, "off by %g of %g", worst, scale);
}

static void say_input(const char *name, const struct given *g)
{
	size_t n;

	printf(" %s type %d [", name, g->v.type);
	for (int d = 0; d < g->v.rank; d++)
		printf("%s%ld", d ? "," : "", (long)g->shape[d]);
	printf("]");
	if (g->hostile || g->inside || !count(&g->v, &n) || !n || n > 16)
		return;
	for (size_t i = 0; i < n; i++)
		printf("%s%g", i ? ", " : " = ", element(&g->v, (int64_t)i));
	printf(";");
}

static void say(struct module *m, const struct given *in, const char *what, const char *why)
{
	const struct graph *g = graph(m, m->main);

	const char *part = drawn < 0 ? NULL : module_meta(m, arena_printf(&m->arena, "part.%d", drawn));
	printf("not ok - %s%s%s: %s\n#", part ? part : "", part ? ": " : "", what, why);
	for (size_t i = 0; i < g->in.n; i++)
		if (is_drawn(sym_str(val(m, g->in.a[i])->name)))
			say_input(sym_str(val(m, g->in.a[i])->name), &in[i]);
	printf("\n");
	fflush(stdout);
	failed++;
}

static void compare(struct module *m, const struct given *in, int rc, const struct hone_value *out, bool wild)
{
	const struct graph *g = graph(m, m->main);
	struct arena a = {0};
	struct tensor *want[OUTPUTS_MAX];
	const char *why = NULL, *what;
	bool good = evaluate(m, in, want, &a, &why);

	if (rc && strstr(lib->error(), "memory")) {
		; /* this program has less of it than the evaluator takes */
	} else if (good != !rc) {
		say(m, in, rc ? "refused, but it can be evaluated" : "run, but it cannot be evaluated", rc ? lib->error() : why);
	} else if (rc) {
		agreed++;
	} else {
		compared++;
		for (size_t k = 0; k < g->out.n; k++)
			if ((what = differs(&out[k], want[k], wild, &a)))
				say(m, in, sym_str(g->out_name.a[k]), what);
	}
	arena_release(&a);
}

/* Half of the sizes, and again, until no input is large: a million runs are to end. */
static void make_small(struct module *m, int64_t *env)
{
	enum { FEW = 1 << 12, HALVINGS = 5 };
	const struct graph *g = graph(m, m->main);

	for (int i = 0; i < HALVINGS; i++) {
		double most = 0;
		for (size_t k = 0; k < g->in.n; k++) {
			const struct type *t = &val(m, g->in.a[k])->type;
			double n = 1;
			for (int d = 0; d < t->rank; d++)
				n *= t->dims[d] == POLY_UNKNOWN ? 1 : (double)poly_eval(m->dims, t->dims[d], env);
			most = fmax(most, n);
		}
		if (most <= FEW)
			return;
		for (poly_var v = 1; v <= poly_nvars(m->dims); v++) {
			int64_t unit = poly_var_divisor(m->dims, v), lo, hi, half = (env[v] / 2 + unit - 1) / unit * unit;
			poly_var_range(m->dims, v, &lo, &hi);
			env[v] = half < lo || !is_drawn(sym_str(poly_var_name(m->dims, v))) ? env[v] : half;
		}
	}
}

/* Without sizes that only a run knows, results go to memory of the caller. */
static int run_fixed(void *h, const struct hone_value *in, struct hone_value *out)
{
	const void *from[INPUTS_MAX];
	void *to[OUTPUTS_MAX];
	static int64_t shape[OUTPUTS_MAX][AXES_MAX];

	for (int i = 0; i < lib->num_inputs; i++)
		from[i] = in[i].data;
	for (int k = 0; k < lib->num_outputs; k++) {
		for (int d = 0; d < lib->outputs[k].rank; d++)
			shape[k][d] = lib->outputs[k].shape[d];
		to[k] = malloc(lib->outputs[k].bytes);
		out[k] = (struct hone_value){(int)dtype_parse(lib->outputs[k].type, strlen(lib->outputs[k].type)), lib->outputs[k].rank,
					     shape[k], to[k]};
	}
	return lib->run(h, from, to);
}

static void one_run(struct module *m, void *h)
{
	const struct graph *g = graph(m, m->main);
	struct given in[INPUTS_MAX];
	struct hone_value v[INPUTS_MAX], out[OUTPUTS_MAX];
	int64_t *env = calloc(poly_nvars(m->dims) + 2, sizeof *env);
	bool hostile = false, wild = false;

	drawn = parts ? (int)rng_range(&rng, 0, parts - 1) : -1;
	wild_run = between && one_in(2);
	draw_symbols(m->dims, env);
	if (!one_in(50))
		make_small(m, env);
	for (size_t i = 0; i < g->in.n; i++) {
		const char *name = sym_str(val(m, g->in.a[i])->name);
		draw_input(m, &val(m, g->in.a[i])->type, name, env, &in[i]);
		hostile |= in[i].hostile;
		wild |= in[i].wild;
		v[i] = in[i].v;
	}
	int rc = lib->run_values ? lib->run_values(h, v, out, NULL) : run_fixed(h, v, out);
	taken += !rc;
	refused += rc != 0;
	if (!hostile && (between ? !wild_run : one_in(parts ? 4 : 16)))
		compare(m, in, rc, out, wild);
	for (int k = 0; k < lib->num_outputs && !lib->run_values; k++)
		free(out[k].data);
	for (size_t i = 0; i < g->in.n; i++)
		forget(&in[i]);
	free(env);
}

int main(int argc, char **argv)
{
	void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	long runs = atol(argv[3]);
	rng.s = strtoul(argv[4], NULL, 10);
	between = argc > 5 && !strcmp(argv[5], "between");
	msg_quiet = true;
	eval_bodies_max = 100000; /* of all bodies together, where a library counts the steps of a loop: HONE_BODIES */
	msg_tool = "drive";
	struct module *m = module_read_any(argv[2]);
	const struct graph *g = graph(m, m->main);
	lib = so ? dlsym(so, "hone_model") : NULL;
	void *h = lib && lib->abi == HONE_MODEL_ABI ? lib->open(NULL, NULL) : NULL;

	if (!h || g->in.n > INPUTS_MAX || g->out.n > OUTPUTS_MAX) {
		printf("not ok - opened: %s\n", h ? "too large" : lib ? lib->error() : dlerror());
		return 1;
	}
	for (size_t k = 0; k < g->out.n; k++) {
		int at;
		if (sscanf(sym_str(g->out_name.a[k]), "n%d_y", &at) == 1 && at >= parts)
			parts = at + 1;
	}
	for (long i = 0; i < runs * (parts ? parts : 1) && failed < 3 + 2 * parts; i++)
		one_run(m, h);
	lib->close(h);
	module_free(m);
	printf("%ld runs, %ld refused; %ld as the evaluator's, %ld that it refuses too\n", taken, refused, compared, agreed);
	return failed != 0;
}
