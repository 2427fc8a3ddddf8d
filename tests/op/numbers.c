/* Random applications of every operator that is lowered, on contents at the edges of their types: the stages, the nest that the
 * rule makes of them, and the compiled kernel give the evaluator's numbers. numbers [FIRST [COUNT]]; numbers case TEXT;
 * numbers write DIR FIRST COUNT leaves ONNX files, inputs and the evaluator's results for others to compare with. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/tool.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "loop/sampling.h"
#include "sched/schedule.h"
#include "onnx/onnx.h"
#include "op/npy.h"
#include "op/task.h"
#include "random_cases.h"
#include "run_kernel.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { BATCH = 60 };

struct test {
	const char *text;
	int flags;
	struct module *m;
	struct tensor **in, **want;
	struct tensor **flushed; /* results where denormals are zeros */
	struct lowered low;      /* finished, as the rule does */
};

static struct arena a;
static int refused, compared;
static struct target targets[3]; /* this machine, and the lesser ones that its code may be for */
static int ntargets;
static const struct target *target;

static void find_targets(void)
{
	targets[ntargets++] = *target_host();
	ntargets += target_find("x86-64-v3", &targets[ntargets]) && !target_pass_for(&targets[ntargets]);
	ntargets += target_find("x86-64", &targets[ntargets]) && !target_pass_for(&targets[ntargets]);
	target = targets;
}

/* ---- the evaluator ---- */

static bool evaluate(struct test *t, struct tensor **in, struct tensor ***out, const char **why)
{
	struct msg_trap trap;
	const struct graph *g = graph(t->m, t->m->main);

	*out = ARENA_ARRAY(&a, struct tensor *, g->out.n);
	if (setjmp(trap.at)) {
		msg_trap = NULL;
		eval_abandon();
		*why = arena_str(&a, trap.why);
		return false;
	}
	msg_trap = &trap;
	eval_graph(t->m, t->m->main, in, *out, &a, NULL);
	msg_trap = NULL;
	return true;
}

/* As libraries run: denormals are flushed. Returns what flush_off takes back. */
static unsigned flush_on(void)
{
#ifdef __SSE2__
	unsigned csr = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(csr | 0x8040);
	return csr;
#else
	return 0;
#endif
}

static void flush_off(unsigned csr)
{
#ifdef __SSE2__
	__builtin_ia32_ldmxcsr(csr);
#endif
}

/* Also of what lies between: 1e-40 of f64, cast to f32, is a denormal there. */
static bool evaluate_flushed(struct test *t, struct tensor **in, const char **why)
{
	unsigned csr = flush_on();
	bool good = evaluate(t, in, &t->flushed, why);

	flush_off(csr);
	return good;
}

static double least_normal(enum dtype t) { return t == DT_F64 ? DBL_MIN : t == DT_F32 || t == DT_BF16 ? FLT_MIN : 0; }

static struct tensor *flush(const struct tensor *x)
{
	struct tensor *y = tensor_new(&a, x->dtype, x->rank, x->dims);

	memcpy((void *)y->data, x->data, x->nbytes);
	for (int64_t i = 0; i < tensor_count(x) && least_normal(x->dtype) > 0; i++)
		if (fabs(tensor_get(x, i)) < least_normal(x->dtype))
			tensor_set(y, i, copysign(0, tensor_get(x, i)));
	return y;
}

/* false: it cannot be evaluated, *why says the reason. */
static bool begin(struct test *t, const char *text, struct random_case *c, const char **why)
{
	*t = (struct test){.text = text, .flags = c->flags};
	if (!(t->m = task_module(text, 1, &a, why)))
		return false;
	const struct graph *g = graph(t->m, t->m->main);
	struct tensor **flat = ARENA_ARRAY(&a, struct tensor *, g->in.n);
	t->in = ARENA_ARRAY(&a, struct tensor *, g->in.n);
	for (size_t i = 0; i < g->in.n; i++) {
		int64_t dims[RANK_MAX];
		const struct type *y = &val(t->m, g->in.a[i])->type;
		type_dims(t->m, y, dims);
		t->in[i] = tensor_new(&a, y->dtype, y->rank, dims);
		edge_fill(c, t->in[i], i);
		flat[i] = flush(t->in[i]);
	}
	return evaluate(t, t->in, &t->want, why) && evaluate_flushed(t, flat, why);
}

/* ---- comparing ---- */

static double epsilon(enum dtype t)
{
	return t == DT_F64 ? 0x1p-52 : t == DT_F32 ? 0x1p-23 : t == DT_F16 ? 0x1p-10 : t == DT_BF16 ? 0x1p-7 : 0;
}

static double scale_of(const struct test *t)
{
	double most = 1;
	for (size_t i = 0; i < graph(t->m, t->m->main)->in.n; i++)
		for (int64_t k = 0; k < tensor_count(t->in[i]); k++) {
			double v = fabs(tensor_get(t->in[i], k));
			most = isfinite(v) && v > most ? v : most;
		}
	return most;
}

/* Units of the last place that a function may be off (lib/loop/math.c bounds each; some are made of two or three). */
enum { ULPS = 12 };

static bool close_to(const struct test *t, enum dtype type, double y, double r, double scale)
{
	double e = epsilon(type == DT_F64 ? DT_F64 : type);

	if (y != y || r != r)
		return y != y && r != r;
	if (y == r)
		return !(t->flags & EXACT) || y != 0 || signbit(y) == signbit(r);
	if (isinf(y) || isinf(r) || t->flags & (EXACT | ZEROS))
		return false;
	return fabs(y - r) <= ULPS * e * fabs(r) + (t->flags & (SUMS | NEAR) ? 40 * fmax(e, type == DT_F64 ? 0 : 0x1p-23) * scale : 0) +
				      (type == DT_F16 ? 0x1p-24 : 0);
}

static bool is_real(enum dtype t) { return dtype_is_float(t) || dtype_is_float8(t); }

/* flushed: what a kernel may say too, to which denormals are zeros, or anything between; NULL: they are what they are. */
static const char *differs(const struct test *t, const struct tensor *y, const struct tensor *r, const struct tensor *flushed)
{
	size_t size = dtype_size(r->dtype);
	double scale = t->flags & (SUMS | NEAR) ? scale_of(t) : 1, least = least_normal(r->dtype);

	if (t->flags & SUMS)
		for (int64_t i = 0; i < tensor_count(r) && is_real(r->dtype); i++)
			scale = fmax(scale, isfinite(tensor_get(r, i)) ? fabs(tensor_get(r, i)) : 0);
	for (int64_t i = 0; i < tensor_count(r); i++) {
		if (!memcmp((const char *)y->data + (size_t)i * size, (const char *)r->data + (size_t)i * size, size))
			continue;
		double u = tensor_get(y, i), v = tensor_get(r, i);
		bool good = is_real(r->dtype) && close_to(t, r->dtype, u, v, scale);
		if (!good && flushed) {
			double w = tensor_get(flushed, i);
			good = is_real(r->dtype) ? close_to(t, r->dtype, u, w, scale) || fabs(u - v) <= 2 * least ||
							   (fabs(u) <= least && fabs(w) <= least) ||
							   (fmin(v, w) <= u && u <= fmax(v, w) && v != w && v == v && w == w)
						 : !memcmp((const char *)y->data + (size_t)i * size,
							   (const char *)flushed->data + (size_t)i * size, size);
		}
		if (good)
			continue;
		const char *of = "";
		for (size_t k = 0; k < graph(t->m, t->m->main)->in.n; k++)
			if (tensor_count(t->in[k]) == tensor_count(r))
				of = arena_printf(&a, "%s %.17g", of, tensor_get(t->in[k], i));
			else if (tensor_count(t->in[k]) == 1)
				of = arena_printf(&a, "%s %.17g", of, tensor_get(t->in[k], 0));
		return dtype_is_int(r->dtype) && size == 8
			       ? arena_printf(&a, "element %lld is %lld, not %lld%s%s", (long long)i, (long long)((int64_t *)y->data)[i],
					      (long long)((int64_t *)r->data)[i], *of ? ", of" : "", of)
			       : arena_printf(&a, "element %lld is %.9g, not %.9g%s%s", (long long)i, u, v, *of ? ", of" : "", of);
	}
	return NULL;
}

static const char *all_differ(const struct test *t, struct loop_prog *p, void **at, bool flushes)
{
	const char *why = NULL;

	for (buf_id b = 1; b < p->bufs.n && !why; b++) {
		if (lbuf(p, b)->scope != SCOPE_OUT)
			continue;
		int k = lbuf(p, b)->operand;
		struct tensor y = *t->want[k];
		y.data = at[b];
		why = differs(t, &y, t->want[k], flushes ? t->flushed[k] : NULL);
	}
	return why;
}

/* ---- kernels ---- */

static const char *interpreted(struct test *t)
{
	const char *why;
	struct lowered l = lower_group(t->m, task_node(t->m), target, NULL, &why);
	void **at;

	if (why)
		return why;
	at = storage(t->m, t->in, &l, &a);
	stages_eval(l.prog, at);
	if (!(t->flags & COMPILED) && (why = all_differ(t, l.prog, at, false)))
		return arena_printf(&a, "stages: %s", why);
	const char *trace = arena_str(&a, default_schedule(l.prog));
	if (trace_algo(trace, &a) && strcmp(trace_algo(trace, &a), l.prog->algo))
		return NULL;
	t->low = lower_group(t->m, task_node(t->m), target, trace_algo(trace, &a), &why);
	if (why || (why = loop_apply(t->low.prog, trace, false)) || (why = loop_legalize(t->low.prog)) || (why = loop_verify(t->low.prog)))
		return arena_printf(&a, "trace: %s", why);
	at = storage(t->m, t->in, &t->low, &a);
	if ((why = loop_interp(t->low.prog, at)) || (!(t->flags & COMPILED) && (why = all_differ(t, t->low.prog, at, false))))
		return arena_printf(&a, "nest: %s", why);
	return NULL;
}

static void *compile(const struct test *t, int n)
{
	static int number;
	struct loop_prog **all = ARENA_ARRAY(&a, struct loop_prog *, n);

	for (int i = 0; i < n; i++)
		all[i] = t[i].low.prog;
	return compile_kernels(all, n, target, arena_printf(&a, "numbers%d", number++));
}

static void compiled(const struct test *t, int n)
{
	void *lib = compile(t, n);

	if (!ok(lib != NULL, "%d kernels compile", n))
		return;
	for (int i = 0; i < n; i++) {
		struct loop_prog *p = t[i].low.prog;
		void **at = storage(t[i].m, t[i].in, &t[i].low, &a);
		unsigned csr = flush_on();
		run_kernel(lib, i, p, at);
		flush_off(csr);
		const char *why = all_differ(&t[i], p, at, true);
		compared++;
		if (why)
			ok(0, "compiled: %s: %s", t[i].text, why);
	}
	dlclose(lib);
}

/* ---- cases ---- */

static bool try_one(struct test *t, const char *text, struct random_case *c)
{
	const char *why = NULL;
	bool verbose = getenv("VERBOSE");

	if (verbose)
		fprintf(stderr, "%s\n", text);
	if (!begin(t, text, c, &why)) {
		refused++;
		if (verbose || strstr(why, "bug"))
			ok(!strstr(why, "bug"), "%s: not evaluated: %s", text, why);
		return false;
	}
	lower_group(t->m, task_node(t->m), target, NULL, &why);
	if (!compiler_takes(text))
		why = "its compiler has no such type";
	if (why) {
		refused++;
		if (verbose)
			printf("# %s: no kernel: %s\n", text, why);
		return false;
	}
	if ((why = interpreted(t)))
		ok(0, "%s: %s", text, why);
	return t->low.prog;
}

static void try_many(uint64_t first, uint64_t count)
{
	static struct test t[BATCH];
	int n = 0, batch = 0;

	for (uint64_t i = first; i < first + count; i++) {
		struct random_case c;
		n += try_one(&t[n], random_case(&c, i, &a), &c);
		if (n == BATCH || (i + 1 == first + count && n)) {
			compiled(t, n);
			for (int k = 0; k < n; k++) {
				prog_free(t[k].low.prog);
				module_free(t[k].m);
			}
			n = 0;
			target = &targets[++batch % ntargets];
			arena_release(&a);
		}
	}
}

static void try_text(const char *text, uint64_t times)
{
	struct test t;

	for (uint64_t i = 0; i < times; i++) {
		struct random_case c = {.a = &a, .rng = {i}, .flags = EXACT};
		target = &targets[i % (uint64_t)ntargets];
		if (try_one(&t, text, &c))
			compiled(&t, 1);
	}
	target = targets;
}

/* ---- for other programs ---- */

static void write_one(const char *dir, uint64_t n)
{
	struct random_case c;
	struct test t;
	const char *why = "not ONNX's", *text = random_case(&c, n, &a);

	if (c.flags & OURS || !begin(&t, text, &c, &why)) {
		printf("%llu\trefused\t%s\t%s\n", (unsigned long long)n, text, why);
		return;
	}
	struct graph *g = graph(t.m, t.m->main);
	struct named_tensor *in = ARENA_ARRAY(&a, struct named_tensor, g->in.n + 1),
			    *out = ARENA_ARRAY(&a, struct named_tensor, g->out.n + 1);
	for (size_t i = 0; i < g->in.n; i++)
		in[i] = (struct named_tensor){arena_printf(&a, "%s", sym_str(val(t.m, g->in.a[i])->name)), t.in[i]};
	for (size_t i = 0; i < g->out.n; i++)
		out[i] = (struct named_tensor){arena_printf(&a, "%s", sym_str(g->out_name.a[i])), t.want[i]};
	npz_write(arena_printf(&a, "%s/%llu.in.npz", dir, (unsigned long long)n), (int)g->in.n, in);
	npz_write(arena_printf(&a, "%s/%llu.out.npz", dir, (unsigned long long)n), (int)g->out.n, out);
	onnx_export(t.m, arena_printf(&a, "%s/%llu.onnx", dir, (unsigned long long)n), &(struct onnx_export_opts){0});
	printf("%llu\t%d\t%s\n", (unsigned long long)n, c.flags, text);
	module_free(t.m);
	arena_release(&a);
}

int main(int argc, char **argv)
{
	msg_tool = "numbers";
	find_targets();
	if (argc == 5 && !strcmp(argv[1], "write")) {
		for (uint64_t i = 0, first = strtoull(argv[3], NULL, 10); i < strtoull(argv[4], NULL, 10); i++)
			write_one(argv[2], first + i);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "case")) {
		try_text(argv[2], 9);
	} else {
		try_text("Abs f64 40; Cast{to=1} %0; Cast{to=9} %1", 6); /* 1e-40 is true, or a zero on the way */
		try_many(argc > 1 ? strtoull(argv[1], NULL, 10) : 1, argc > 2 ? strtoull(argv[2], NULL, 10) : 600);
	}
	ok(compared > 0, "%d kernels are compared with the evaluator; %d cases have none", compared, refused);
	return tap_done();
}
