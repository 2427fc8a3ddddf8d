/* Vectors of every type that lies in lanes: kernels compiled for vectors of each length give the evaluator's numbers. lanes NAME...
 * makes them for these targets alone. CC is the compiler. */
#include <math.h>
#include <string.h>
#include "common/tool.h"
#include "sched/schedule.h"
#include "task_kernel.h"
#include "near.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { CHAINS = 60, OTHERWISE = 1 /* schedules of each text */, KERNELS_MAX = 512 };

static const struct text texts[] = {
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
	{"Mul bf16 225 bf16=3; Cast{to=4} %0", 100, 400}, /* a last one alone */
	{"Mul bf16 225 bf16=3; Add bf16 225 %0; Cast{to=1} %1", 100, 400},
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
	/* each number of lanes in the last vector */
	{"Add u8 9 u8 9"},
	{"Sub i8 10 i8 10"},
	{"Add u8 11 u8 11"},
	{"Max i8 12 i8 12"},
	{"Add u8 13 u8 13"},
	{"Sub i8 14 i8 14"},
	{"Add u8 15 u8 15"},
	{"Add u16 9 u16 9"},
	{"Sub i16 10 i16 10"},
	{"Add u16 11 u16 11"},
	{"Add bf16 12 bf16 12"},
	{"Sub i16 13 i16 13"},
	{"Max u16 14 u16 14"},
	{"Add bf16 15 bf16 15"},
};

static struct arena a;
static struct rng rng = {5};

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
		decide(&met, &want, &rng, 2);
		prog_free(k->low.prog);
		k->low = lower_group(k->m, task_node(k->m), target, NULL, &why);
		schedule_with(k->low.prog, &want, NULL);
	}
	vec_free(&met);
	vec_free(&want);
	return loop_legalize(k->low.prog);
}

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

static void run_kernels(struct kernel *k, int n, void *lib, const char *name)
{
	for (int i = 0; i < n; i++) {
		struct loop_prog *p = k[i].low.prog;
		void **at = storage(k[i].m, k[i].in, &k[i].low, &a);
		run_kernel(lib, i, p, at);
		const char *why = differs(&k[i], p, at, tensor_differs);
		ok(!why, "%s: %s%s%s", name, k[i].t->text, why ? ": " : "", why ? why : "");
	}
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
		if (!compiler_takes(x->text))
			continue;
		kernel_begin(&k[n], x, &a);
		const char *why = schedule(&k[n], &t, i >= usual);
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
