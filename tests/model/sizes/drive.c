/* A model of open sizes at many random ones, compiled into this program (NAME: its name) under sanitizers: what it takes and gives lies in
 * memory of just its size. drive GRAPH RUNS SEED; GRAPH: the stream it was planned from, which the evaluator runs. What one of the two
 * refuses the other refuses; numbers are compared. */
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

#define OF(model, what)  OF_(model, what)
#define OF_(model, what) model##_##what
#define M(what)          OF(NAME, what)

typedef struct NAME NAME;
NAME *M(open)(const char *weights, const void *opts);
int M(run_values)(NAME *m, const struct hone_value *in, struct hone_value *out);
void M(close)(NAME *m);
const char *M(error)(void);

const struct tool tool; /* the library's main() is not linked */

enum { INPUTS_MAX = 32, OUTPUTS_MAX = 64, AXES_MAX = 16, EACH = 16 /* a run of so many that went well is compared */ };

struct given {
	struct hone_value v;
	int64_t shape[AXES_MAX];
	bool hostile;
	struct given *inside; /* of a list: n of them, which v.data has the values of */
	int64_t n;
};

static struct rng rng;
static int failed;
static long taken, refused, compared, agreed; /* runs; refusals that the evaluator was asked about */

static bool one_in(int n) { return rng_range(&rng, 1, n) == 1; }

/* ---- what goes in ---- */

static int64_t hostile_size(int64_t n)
{
	static const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, 1LL << 31, 1LL << 32, 1LL << 46, 1LL << 61, (1LL << 62) + 1, 1};

	return one_in(2) ? n + rng_range(&rng, -2, 2) : one_in(4) ? 0 : odd[rng_range(&rng, 0, sizeof odd / sizeof *odd - 1)];
}

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
		if (way < 3 && usual(P, v))
			env[v] = usual(P, v) / unit + (way == 0 || (way == 1 && v == one) ? off : way == 2 ? usual(P, v) % 3 * off : 0);
		env[v] *= unit;
		env[v] = env[v] < lo ? lo : hi != POLY_INF && env[v] > hi ? hi : env[v];
	}
}

static void fill(struct hone_value *v, size_t n)
{
	int64_t lo = rng_range(&rng, 0, 3) - (one_in(3) ? 3 : 0), hi = lo + rng_range(&rng, 0, 4);
	bool wild = one_in(20);

	for (size_t i = 0; i < n; i++) {
		int64_t k = wild && one_in(4) ? hostile_size(i) : rng_range(&rng, lo, hi);
		switch (v->type) {
		case DT_F32: ((float *)v->data)[i] = (float)rng_normal(&rng); break;
		case DT_F64: ((double *)v->data)[i] = rng_normal(&rng); break;
		case DT_F16:
		case DT_BF16: ((uint16_t *)v->data)[i] = (uint16_t)(0x3c00 + rng_range(&rng, 0, 255)); break;
		case DT_I64:
		case DT_U64: ((int64_t *)v->data)[i] = k; break;
		case DT_I32:
		case DT_U32: ((int32_t *)v->data)[i] = (int32_t)k; break;
		case DT_BOOL: ((uint8_t *)v->data)[i] = (uint8_t)(k & 1); break;
		default: memset((char *)v->data + i * dtype_size((enum dtype)v->type), (int)k & 0x3f, dtype_size((enum dtype)v->type));
		}
	}
}

/* Values that the model says are usual for an input ("usual.NAME" in its metadata): as often as they fit, one of them another at times. */
static void fill_usual(struct module *m, val_id v, struct hone_value *x, size_t n)
{
	const char *s = module_meta(m, arena_printf(&m->arena, "usual.%s", sym_str(val(m, v)->name))), *at = s;
	struct tensor t = {.dtype = (enum dtype)x->type, .data = x->data};
	size_t odd = n && one_in(3) ? (size_t)rng_range(&rng, 0, (int64_t)n - 1) : n;

	if (!s || one_in(4) || !dtype_size(t.dtype))
		return;
	for (size_t i = 0; i < n; i++) {
		if (i != odd && dtype_is_int(t.dtype))
			store_i(&t, (int64_t)i, 1, &(int64_t){strtoll(at, NULL, 10)});
		else if (i != odd)
			tensor_set(&t, (int64_t)i, strtod(at, NULL));
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

static void draw_input(struct module *m, const struct type *t, const int64_t *env, struct given *g);

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
		draw_input(m, &inside, env, &g->inside[i]);
		g->hostile |= g->inside[i].hostile;
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

static void draw_input(struct module *m, const struct type *t, const int64_t *env, struct given *g)
{
	size_t n = 0;

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
	if (g->v.rank && one_in(25)) {
		g->hostile = true;
		int d = (int)rng_range(&rng, 0, g->v.rank - 1);
		g->shape[d] = hostile_size(g->shape[d]);
	}
	if (one_in(200)) {
		g->hostile = true;
		g->v.rank += one_in(2) && g->v.rank < AXES_MAX ? 1 : g->v.rank ? -1 : 0;
	}
	bool there = count(&g->v, &n);
	g->hostile |= !there;
	g->v.data = there ? malloc(n * dtype_size(t->dtype)) : NULL;
	fill(&g->v, n);
	if (one_in(200)) {
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

/* NULL, or how they differ. */
static const char *differs(const struct hone_value *v, const struct tensor *r, struct arena *a)
{
	double worst = 0, scale = 1;
	const char *why = NULL;

	if (r->kind != KIND_TENSOR) {
		if (v->type != value_kind_number((enum kind)r->kind) || v->rank != 1 || v->shape[0] != (int64_t)r->nitem)
			return "its length, or its kind";
		for (size_t i = 0; i < r->nitem && !why; i++)
			why = differs((const struct hone_value *)v->data + i, r->item[i], a);
		return why;
	}
	if (v->type != (int)r->dtype || v->rank != r->rank)
		return "its type";
	for (int d = 0; d < v->rank; d++)
		if (v->shape[d] != r->dims[d])
			return arena_printf(a, "axis %d is %ld, not %ld", d, (long)v->shape[d], (long)r->dims[d]);
	int64_t n = tensor_count(r);
	for (int64_t i = 0; i < n && r->dtype != DT_STR; i++) {
		double x = element(v, i), y = tensor_get(r, i);
		worst = fmax(worst, off_by(x, y));
		scale = fmax(scale, size_of(y));
	}
	bool is_float = dtype_is_float(r->dtype);
	double most = !is_float ? 0 : r->dtype == DT_F32 || r->dtype == DT_F64 ? 1e-4 : 2e-2;
	return worst <= most * scale ? NULL : arena_printf(a, "off by %g of %g", worst, scale);
}

static void say(struct module *m, const struct given *in, const char *what, const char *why)
{
	const struct graph *g = graph(m, m->main);

	printf("not ok - %s: %s\n#", what, why);
	for (size_t i = 0; i < g->in.n; i++) {
		printf(" %s type %d [", sym_str(val(m, g->in.a[i])->name), in[i].v.type);
		for (int d = 0; d < in[i].v.rank; d++)
			printf("%s%ld", d ? "," : "", (long)in[i].shape[d]);
		printf("]");
	}
	printf("\n");
	fflush(stdout);
	failed++;
}

static void compare(struct module *m, const struct given *in, int rc, const struct hone_value *out)
{
	const struct graph *g = graph(m, m->main);
	struct arena a = {0};
	struct tensor *want[OUTPUTS_MAX];
	const char *why = NULL, *what;
	bool good = evaluate(m, in, want, &a, &why);

	if (good != !rc) {
		say(m, in, rc ? "refused, but it can be evaluated" : "run, but it cannot be evaluated", rc ? M(error)() : why);
	} else if (rc) {
		agreed++;
	} else {
		compared++;
		for (size_t k = 0; k < g->out.n; k++)
			if ((what = differs(&out[k], want[k], &a)))
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
			env[v] = half < lo ? env[v] : half;
		}
	}
}

static void one_run(struct module *m, NAME *x)
{
	const struct graph *g = graph(m, m->main);
	struct given in[INPUTS_MAX];
	struct hone_value v[INPUTS_MAX], out[OUTPUTS_MAX];
	int64_t *env = calloc(poly_nvars(m->dims) + 2, sizeof *env);
	bool hostile = false;

	draw_symbols(m->dims, env);
	if (!one_in(50))
		make_small(m, env);
	for (size_t i = 0; i < g->in.n; i++) {
		draw_input(m, &val(m, g->in.a[i])->type, env, &in[i]);
		size_t n;
		if (in[i].v.data && !in[i].inside && count(&in[i].v, &n) && in[i].v.type == (int)val(m, g->in.a[i])->type.dtype)
			fill_usual(m, g->in.a[i], &in[i].v, n);
		hostile |= in[i].hostile;
		v[i] = in[i].v;
	}
	int rc = M(run_values)(x, v, out);
	taken += !rc;
	refused += rc != 0;
	if (!hostile && one_in(EACH))
		compare(m, in, rc, out);
	for (size_t i = 0; i < g->in.n; i++)
		forget(&in[i]);
	free(env);
}

int main(int argc, char **argv)
{
	long runs = atol(argv[2]);
	rng.s = strtoul(argv[3], NULL, 10);
	msg_quiet = true;
	eval_bodies_max = 100000; /* of all bodies together, where a library counts the steps of a loop: HONE_BODIES */
	msg_tool = "drive";
	struct module *m = module_read_any(argv[1]);
	const struct graph *g = graph(m, m->main);
	NAME *x = M(open)(NULL, NULL);

	if (!x || g->in.n > INPUTS_MAX || g->out.n > OUTPUTS_MAX) {
		printf("not ok - opened: %s\n", x ? "too large" : M(error)());
		return 1;
	}
	for (long i = 0; i < runs && failed < 3; i++)
		one_run(m, x);
	M(close)(x);
	module_free(m);
	printf("%ld runs, %ld refused; %ld as the evaluator's, %ld that it refuses too\n", taken, refused, compared, agreed);
	return failed != 0;
}
