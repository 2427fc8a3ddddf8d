/* Vectors of every type that lies in lanes: kernels compiled for vectors of each length give the evaluator's numbers. lanes NAME...
 * makes them for these targets alone. CC is the compiler. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/rng.h"
#include "common/tool.h"
#include "target/target.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "sched/schedule.h"
#include "loop/sampling.h"
#include "op/npy.h"
#include "op/op.h"
#include "op/task.h"
#include "run_kernel.h"
#include "near.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { CHAINS = 60, OTHERWISE = 1 /* schedules of each text */, KERNELS_MAX = 512 };

/* Numbers from lo to hi; both 0: any. */
static const struct text {
	const char *text;
	double lo, hi;
} texts[] = {
	{"Cast{to=6} u8 33x77; Sub %0 i32=7; Cast{to=1} %1; Mul %2 f32 77c; Add %3 f32 77c; Max %4 f32=0; Div %5 f32=0.3; Round %6; Add %7 f32=128; "
	 "Clip %8 f32=0 f32=255; Cast{to=2} %9"},
	{"Cast{to=1} i32 7x100; Mul %0 f32=0.01; Round %1; Cast{to=3} %2", -99999, 99999},
	{"Cast{to=2} f32 300", -400, 400},
	{"Cast{to=3} f32 300", -400, 400},
	{"Cast{to=4} f32 300", -70000, 70000},
	{"Cast{to=5} f32 300", -70000, 70000},
	{"Cast{to=6} f32 300", -3e9, 3e9},
	{"Div f32 300 f32 300; Cast{to=2} %0 -> %1", 0, .5},
	{"Div f32 300 f32 300; Clip %0 f32=-100 f32=90; Cast{to=3} %1", 0, .5},
	{"Div f32 300 f32 300; Clip %0 f32=0 f32=255; Cast{to=2} %1", 0, .5},
	{"Clip f32 300 f32=-1 f32=255; Cast{to=2} %0", -300, 300},
	{"Clip f32 300 f32=-300 f32=32767; Cast{to=5} %0", -70000, 70000},
	{"Cast{to=10} f32 333", -70000, 70000},
	{"Cast{to=16} f32 333", -70000, 70000},
	{"Cast{to=3} i32 300", -1000, 1000},
	{"Cast{to=4} i32 300", -100000, 100000},
	{"Add i8 5x70 i8 5x70"},
	{"Mul u8 5x70 u8 5x70"},
	{"Sub u16 5x70 u16 70"},
	{"Mul i16 5x70 i16 70"},
	{"Max u8 5x70 u8 5x70"},
	{"Min i32 5x70 i32 5x1"},
	{"Abs i8 100; Neg %0"},
	{"Where bool 9x50 u8 9x50 u8 50"},
	{"Less i8 9x50 i8 9x50; Where %0 i8 9x50 i8=3"},
	{"Equal u8 9x50 u8 9x50", 0, 3},
	{"Not bool 9x50; And %0 bool 50"},
	{"Sqrt f16 9x50; Add %0 f16 50", 0, 100},
	{"Sigmoid bf16 9x50; Mul %0 bf16 9x50"},
	{"Add bf16 9x50 bf16 50"},
	{"Greater f16 9x50 f16 50"},
	{"ReduceSum{keepdims=0} i32 9x300 i64=1,", -99, 99},
	{"ReduceSum{keepdims=0} i32 90x33 i64=0,", -99, 99},
	{"ReduceMax{keepdims=0} u8 9x300 i64=1,"},
	{"ReduceMin{keepdims=0} i8 90x50 i64=0,"},
	{"ReduceMax{keepdims=0} bool 9x300 i64=1,", 0, .5},
	{"MaxPool{kernel_shape=3,3 pads=1,1,1,1 strides=2,2} u8 1x20x11x11"},
	{"MaxPool{kernel_shape=3,3} i8 1x20x11x21"},
	{"MaxPool{kernel_shape=9,9 pads=4,4,4,4} u8 1x20x13x13"},
	{"ConvInteger{pads=1,1,1,1} u8 1x24x9x11 i8 24x24x3x3c u8=3"},
	{"ConvInteger{group=40 pads=1,1,1,1} u8 1x40x9x11 i8 40x1x3x3c u8=3"},
	{"ConvInteger{group=40 pads=1,1,1,1} u8 1x40x9x11 i8 40x1x3x3c u8=3; Cast{to=1} %0; Mul %1 f32 40x1x1c; Relu %2; QuantizeLinear %3 "
	 "f32=20 u8=0"},
	{"MatMulInteger u8 7x40 i8 40x33c u8=3"},
	{"MaxPool{kernel_shape=3,3 pads=1,1,1,1} f16 1x20x11x11"},
	{"MatMul f16 7x40 40x33c; Relu %0", -3, 3},
	{"MatMul bf16 7x40 40x33c", -3, 3},
	{"Softmax f16 9x70", -3, 3},
	{"LayerNormalization bf16 7x300 300", 9, 11},
	{"ReduceMean f16 3x4x500 i64=-1,", 9, 11},
	{"ReduceSumSquare{keepdims=0} i32 9x300 i64=1,", -99, 99},
	{"ReduceProd{keepdims=0} u8 9x30 i64=0,"},
	{"ReduceSum{keepdims=0} i8 9x130 i64=1,"},
	{"Concat{axis=1} u8 3x20 u8 3x33 u8 3x7"},
	{"Concat{axis=1} u8 1x20x5x6 u8 1x12x5x6"},
	{"Pad u8 3x20 i64=1,2,3,4 u8=7"},
	{"DequantizeLinear u8 3x50 f32=0.1 u8=3; DequantizeLinear u8 3x50 f32=0.2 u8=9; Add %0 %1; QuantizeLinear %2 f32=0.3 u8=8"},
	{"Add i32 40 i32 40; Mul %0 i32=3; Cast{to=1} %1"},
};

static struct arena a;
static struct rng rng = {5};

struct kernel {
	const struct text *t;
	struct module *m;
	struct tensor **in, **want;
	struct lowered low;
};

/* Some of the decisions that were met, made otherwise. */
static void decide(const struct samples *met, struct samples *want)
{
	for (size_t i = 0; i < met->n; i++)
		if (rng_range(&rng, 0, 2)) {
			struct sample x = met->a[i];
			x.decision = x.choice[rng_range(&rng, 0, x.n - 1)];
			vec_push(want, x);
		}
}

/* Lowered and scheduled; otherwise: not as usual. */
static const char *schedule(struct kernel *k, const struct target *target, bool otherwise)
{
	struct samples met = {0}, want = {0};
	const char *why = NULL;

	k->low = lower_group(k->m, task_node(k->m), target, NULL, &why);
	if (why)
		return why;
	schedule_with(k->low.prog, NULL, otherwise ? &met : NULL);
	if (otherwise) {
		samples_keep(&met, &a);
		decide(&met, &want);
		prog_free(k->low.prog);
		k->low = lower_group(k->m, task_node(k->m), target, NULL, &why);
		schedule_with(k->low.prog, &want, NULL);
	}
	vec_free(&met);
	vec_free(&want);
	return loop_legalize(k->low.prog);
}

static const char *kernel_begin(struct kernel *k, const struct text *t, const struct target *target, bool otherwise)
{
	struct input_spec spec = {.seed = 3};
	const char *why = NULL;

	*k = (struct kernel){.t = t, .m = task_module(t->text, 1, &a, &why)};
	if (!k->m)
		return why;
	const struct graph *g = graph(k->m, k->m->main);
	for (size_t i = 0; i < g->in.n && (t->lo != 0 || t->hi != 0); i++)
		vec_push(&spec.ranges, arena_printf(&a, "%s=%.17g:%.17g", sym_str(val(k->m, g->in.a[i])->name), t->lo, t->hi));
	k->in = inputs_make(k->m, &spec, &a);
	k->want = ARENA_ARRAY(&a, struct tensor *, g->out.n);
	eval_graph(k->m, k->m->main, k->in, k->want, &a, NULL);
	vec_free(&spec.ranges);
	return schedule(k, target, otherwise);
}

static double epsilon(enum dtype t) { return t == DT_F16 ? 0x1p-10 : t == DT_BF16 ? 0x1p-7 : 1e-5; }

static const char *tensor_differs(const struct tensor *y, const struct tensor *r)
{
	for (int64_t i = 0; i < tensor_count(r); i++) {
		double u = tensor_get(y, i), v = tensor_get(r, i);
		bool same = dtype_is_float(r->dtype) ? off_by(u, v) <= epsilon(r->dtype) * (size_of(v) + .01) : u == v;
		if (!same)
			return arena_printf(&a, "element %lld is %.9g, not %.9g", (long long)i, u, v);
	}
	return NULL;
}

static const char *differs(const struct kernel *k, void **at)
{
	struct loop_prog *p = k->low.prog;
	const char *why = NULL;

	for (buf_id b = 1; b < p->bufs.n && !why; b++) {
		if (lbuf(p, b)->scope != SCOPE_OUT)
			continue;
		struct tensor y = *k->want[lbuf(p, b)->operand];
		y.data = at[b];
		why = tensor_differs(&y, k->want[lbuf(p, b)->operand]);
	}
	return why;
}

/* Casts, sums, comparisons of random types, one after the other. */
static const char *random_chain(void)
{
	static const char *const type[] = {"u8", "i8", "u16", "i16", "i32", "f32", "f16", "bf16"};
	static const int number[] = {2, 3, 4, 5, 6, 1, 10, 16};
	static const char *const op[] = {"Add", "Sub", "Mul", "Max", "Min"}, *const test[] = {"Less", "Equal", "Greater", "LessOrEqual"};
	int steps = (int)rng_range(&rng, 1, 5), at = (int)rng_range(&rng, 0, 7), n = 0;
	const char *shape = rng_range(&rng, 0, 1) ? "5x45" : "3x7x40", *s = arena_printf(&a, "Identity %s %s", type[at], shape);

	for (int i = 0; i < steps; i++) {
		switch (rng_range(&rng, 0, 3)) {
		case 0:
			s = arena_printf(&a, "%s; %s %%%d %s=3", s, op[rng_range(&rng, 0, 4)], n, type[at]);
			n++;
			break;
		case 1:
			s = arena_printf(&a, "%s; %s %%%d %s=%d; Where %%%d %%%d %s=9", s, test[rng_range(&rng, 0, 3)], n, type[at],
					 (int)rng_range(&rng, 0, 5), n + 1, n, type[at]);
			n += 2;
			break;
		default:
			at = (int)rng_range(&rng, 0, 7);
			s = arena_printf(&a, "%s; Cast{to=%d} %%%d", s, number[at], n);
			n++;
		}
	}
	return s;
}

static void *compile(const struct kernel *k, int n, const struct target *t, const char *name)
{
	struct loop_prog **all = ARENA_ARRAY(&a, struct loop_prog *, n);
	FILE *f = fopen(arena_printf(&a, "%s.c", name), "w");

	for (int i = 0; i < n; i++)
		all[i] = k[i].low.prog;
	emit_prelude(f, all, n, NULL, 0);
	for (int i = 0; i < n; i++) {
		const char *kernel = arena_printf(&a, "k%d", i);
		emit_kernel(f, all[i], kernel);
		put_runner(f, all[i], kernel);
	}
	fclose(f);
	const char *command =
		arena_printf(&a, "%s %s -w -shared -fPIC -o ./%s.so %s.c -lm", target_compiler(), target_cflags(t), name, name);
	return system(command) ? NULL : dlopen(arena_printf(&a, "./%s.so", name), RTLD_NOW);
}

static void run_kernels(struct kernel *k, int n, void *lib, const char *name)
{
	for (int i = 0; i < n; i++) {
		void (*run)(void **, char *) = (void (*)(void **, char *))dlsym(lib, arena_printf(&a, "run_k%d", i));
		void **at = storage(k[i].m, k[i].in, &k[i].low, &a);
		char *ws = aligned_alloc(64, (size_t)(k[i].low.prog->workspace + 127) / 64 * 64);
		run(at, ws);
		const char *why = differs(&k[i], at);
		ok(!why, "%s: %s%s%s", name, k[i].t->text, why ? ": " : "", why ? why : "");
		free(ws);
	}
}

static bool left_out(const char *text)
{
	return strstr(target_compiler_version(), "lang") && (strstr(text, "f16") || strstr(text, "to=10"));
}

static void try_target(const char *name)
{
	static struct kernel k[KERNELS_MAX];
	struct target t;
	int n = 0, fixed = sizeof texts / sizeof *texts, usual = fixed + CHAINS;

	if (!target_find(name, &t) || (t.features & ~target_host()->features)) {
		ok(1, "%s # SKIP this machine lacks its features", name);
		return;
	}
	rng = (struct rng){5};
	for (int i = 0; i < usual + OTHERWISE * fixed; i++) {
		struct text *x = ARENA_ARRAY(&a, struct text, 1);
		*x = i < fixed ? texts[i] : i < usual ? (struct text){random_chain(), -9, 300} : texts[(i - usual) % fixed];
		if (left_out(x->text)) /* clang 14 has no such type on most */
			continue;
		const char *why = kernel_begin(&k[n], x, &t, i >= usual);
		if (why)
			ok(0, "%s: %s: %s", name, x->text, why);
		else
			n++;
	}
	void *lib = compile(k, n, &t, name);
	if (ok(lib != NULL, "%s: %d kernels compile", name, n))
		run_kernels(k, n, lib, name);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {"generic", "x86-64", "x86-64-v3", "x86-64-v4"};

	msg_tool = "lanes";
	for (int i = 0; i < (argc > 1 ? argc - 1 : 4); i++)
		try_target(argc > 1 ? argv[1 + i] : usual[i]);
	return tap_done();
}
