/* Products in f16 on a target that multiplies and adds so, whatever this machine is: which kernels take them; the numbers of their
 * schedules in the interpreter, and compiled for this machine, where compilers make f16 of f32; what compilers make for the target. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/halves.h"
#include "sched/schedule.h"
#include "task_kernel.h"
#include "near.h"
#include "target/x86/x86.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static const struct text texts[] = {
	{"MatMul f16 12x64 64x96c; Relu %0"},
	{"MatMul f16 3x512 512x40c", .9, 1.1},
	{"MatMul f16 1x640 640x100c"},
	{"MatMul f16 2x7x96 96x64c; Add %0 64c; Sigmoid %1"},
	{"MatMul f16 5x300 300x33c"},
	{"Gemm{alpha=0.5 transB=1} f16 8x128 70x128c 70c"},
	{"MatMul f16 16x1024 1024x32c; Cast{to=1} %0"},
	{"Conv f16 1x64x6x32 24x64x1x1c 24c; Relu %0"},
	{"Conv f16 2x96x4x64 5x96x1x1c"},
	{"Conv f16 1x64x64 12x64x1c 12c"},
	{"Conv{pads=2,2,2,2} f16 1x16x7x8@0,2,3,1 64x16x5x5c 64c; Relu %0 -> %1@0,2,3,1"},
	{"Conv{pads=1,1,1,1 strides=2,2} f16 1x3x15x15 33x3x3x3c 33c; Relu %0"},
	{"Conv{pads=3,3,3,3 strides=2,2} f16 1x3x20x20@0,2,3,1 32x3x7x7c -> %0@0,2,3,1"},
	{"Conv{group=2 dilations=2,1} f16 2x22x9x13 60x11x3x2c 60c"},
	{"Conv f16 1x64x5x5@0,2,3,1 56x64x1x1c 56c; Add %0 f16 1x56x5x5@0,2,3,1 -> %1@0,2,3,1"},
	{"Conv{pads=2,2 strides=3} f16 1x37x23 31x37x5c 31c"},
	{"Conv{pads=0,1,1,0,1,1} f16 1x6x3x4x6 32x6x2x3x3c 32c"},
};
enum { TEXTS = sizeof texts / sizeof *texts, RANDOM = 4, ALL = TEXTS + RANDOM };

/* Those for which sums in f32 are as good: one channel a group; vectors that are mostly empty; weights that are no constants; no line of
 * products to cut into short sums. */
static const char *const others[] = {
	"Conv{group=64 pads=1,1,1,1} f16 1x64x14x14 64x1x3x3c",
	"Conv{pads=1,1,1,1} f16 1x16x14x14 12x16x3x3c",
	"Conv{pads=1,1,1,1} f16 1x16x14x14 64x16x3x3",
	"Conv{group=8} f16 1x64x14x14 64x8x3x3c",
	"MatMul f16 12x64 64x96",
	"MatMul f16 12x7 7x96c",
	"MatMul f16 12x64 64x20c",
};

static struct arena a;

static const char *tensors_differ(const struct tensor *y, const struct tensor *r, double eps)
{
	double most = 0;

	for (int64_t i = 0; i < tensor_count(r); i++)
		most = fmax(most, size_of(tensor_get(r, i)));
	for (int64_t i = 0; i < tensor_count(r); i++)
		if (!(off_by(tensor_get(y, i), tensor_get(r, i)) <= eps * most))
			return arena_printf(&a, "element %lld is %.9g, not %.9g", (long long)i, tensor_get(y, i), tensor_get(r, i));
	return NULL;
}

/* Sums of 32 products lose bits that sums in f32 keep. */
static const char *result_differs(const struct tensor *y, const struct tensor *r) { return tensors_differ(y, r, 0x1p-8); }

/* What the stages give that are not scheduled: what is computed in place of being stored is rounded less often. */
static const char *plain_differs(struct kernel *k, struct loop_prog *p, void **at, const struct lowered *plain, void **as)
{
	const char *why = NULL;

	for (buf_id b = 1; b < p->bufs.n; b++)
		for (buf_id c = 1; c < plain->prog->bufs.n; c++) {
			const struct loop_buf *x = lbuf(p, b), *y = lbuf(plain->prog, c);
			if (x->scope != SCOPE_OUT || y->scope != SCOPE_OUT || x->operand != y->operand)
				continue;
			struct tensor u = *k->want[x->operand], v = u;
			u.data = at[b];
			v.data = as[c];
			why = why ? why : tensors_differ(&u, &v, 0x1p-10);
		}
	return why ? arena_printf(&a, "beside plain loops %s", why) : NULL;
}

static void interpreted(struct kernel *k, const struct target *t)
{
	const char *why;
	struct lowered plain = lower_group(k->m, task_node(k->m), t, NULL, &why);

	k->low = lower_group(k->m, task_node(k->m), t, NULL, &why);
	if (!ok(!why && !strcmp(k->low.prog->algo, "halves"), "%s: %s", k->t->text, why ? why : k->low.prog->algo))
		exit(tap_done());
	const char *trace = default_schedule(k->low.prog);
	ok(strstr(trace, "vfmaddph") != NULL, "%s: by the instruction", k->t->text);
	if ((why = loop_legalize(k->low.prog)) || (why = loop_verify(k->low.prog))) {
		ok(false, "%s: %s", k->t->text, why);
		printf("# %s\n", trace);
		return;
	}
	prog_start(plain.prog);
	void **at = storage(k->m, k->in, &k->low, &a), **as = storage(k->m, k->in, &plain, &a);
	if (!(why = loop_interp(k->low.prog, at)) && !(why = differs(k, k->low.prog, at, result_differs)) &&
	    !(why = loop_interp(plain.prog, as)))
		why = plain_differs(k, k->low.prog, at, &plain, as);
	ok(!why, "%s: interpreted%s%s", k->t->text, why ? ": " : "", why ? why : "");
	prog_free(plain.prog);
}

/* The programs of one target compiled for another, which has the vectors and not the instruction: all of them where it is this one. */
static void compiled(struct kernel *k, const struct target *t)
{
	if (target_is_foreign(t)) {
		skip("compiled", "another kind of CPU");
		return;
	}
	struct target soft = *t;
	bool runs = target_host()->features & X86_AVX512;
	int n = runs ? ALL : 1;

	soft.features &= ~(unsigned)X86_FP16;
	compile_more = "-O0"; /* optimising arithmetic that the compiler spells out takes longer than all else here */
	void *lib = compile(k, n, &soft, "soft");
	if (!ok(lib != NULL, "%d of the kernels compile for a machine without the instruction", n))
		return;
	if (!runs) {
		skip("in software", "no vectors of 64 bytes here");
		return;
	}
	for (int i = 0; i < ALL; i++) {
		void **at = storage(k[i].m, k[i].in, &k[i].low, &a);
		run_kernel(lib, i, k[i].low.prog, at);
		const char *why = differs(&k[i], k[i].low.prog, at, result_differs);
		ok(!why, "%s: in software%s%s", k[i].t->text, why ? ": " : "", why ? why : "");
	}
}

/* Loops of the assembler's text without others in them that have products in f16: how many, and how many convert, too, more than what a
 * short sum that is a loop's whole body wants. */
static void count_loops(FILE *f, int *loops, int *convert)
{
	enum { FEW = HALVES_LEAST / 2 }; /* products to a conversion: the shortest sum is widened in two vectors */
	char line[512], label[64] = "";
	int products = 0, conversions = 0;

	*loops = *convert = 0;
	while (fgets(line, sizeof line, f)) {
		const char *s = line + strspn(line, " \t"), *to = s + strcspn(s, " \t\n");
		bool begins = !isspace((unsigned char)*line) && strchr(line, ':');
		to += strspn(to, " \t");
		if (*s == 'j' && *label && !strncmp(to, label, strlen(label)) && isspace((unsigned char)to[strlen(label)])) {
			*loops += products > 0;
			*convert += products > 0 && conversions * FEW > products;
		}
		if (*s == 'j' || begins)
			products = conversions = (*label = 0);
		if (begins)
			snprintf(label, sizeof label, "%.*s", (int)strcspn(line, ":"), line);
		products += !strncmp(s, "vfmadd", 6) && strstr(s, "ph\t");
		conversions += !strncmp(s, "vcvt", 4) || !strncmp(s, "vmulph", 6) || !strncmp(s, "vaddph", 6);
	}
}

static void assembled(const struct kernel *k, const char *compiler, const char *flags)
{
	struct loop_prog *all[ALL];
	char command[1024];
	int loops, convert;

	for (int i = 0; i < ALL; i++)
		all[i] = k[i].low.prog;
	write_kernels(all, ALL, "halves");
	snprintf(command, sizeof command, "%s -S -o halves.s halves.c %s -w 2>halves.err", compiler, flags);
	if (system(command)) {
		ok(true, "%s # SKIP it is not here, or does not know the instruction", compiler);
		return;
	}
	FILE *f = fopen("halves.s", "r");
	count_loops(f, &loops, &convert);
	fclose(f);
	ok(loops >= ALL && !convert, "%s: %d loops over products in f16, %d of them convert", compiler, loops, convert);
}

static void by_others(const struct target *t)
{
	const char *why;

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct module *m = task_module(others[i], 1, &a, &why);
		struct lowered l = lower_group(m, task_node(m), t, NULL, &why);
		ok(l.prog && strcmp(l.prog->algo, "halves"), "%s: another algorithm", others[i]);
		if (l.prog)
			prog_free(l.prog);
		module_free(m);
	}
}

/* A small convolution, of one to three axes. */
static const char *random_text(struct rng *rng)
{
	int axes = (int)rng_range(rng, 1, 3);
	int64_t groups = rng_range(rng, 0, 2) ? 1 : 2, per = rng_range(rng, 4, 20), out = groups * rng_range(rng, 26, 40);
	const char *pads = "", *steps = "", *apart = "", *x = "", *w = "", *end = "", *comma = "";

	for (int i = 0; i < axes; i++, comma = ",") {
		int64_t size = rng_range(rng, 1, 3), dilation = rng_range(rng, 1, 2), pad = rng_range(rng, 0, size - 1);
		pads = arena_printf(&a, "%s%s%d", pads, comma, (int)pad);
		end = arena_printf(&a, "%s,%d", end, (int)pad);
		steps = arena_printf(&a, "%s%s%d", steps, comma, (int)rng_range(rng, 1, 2));
		apart = arena_printf(&a, "%s%s%d", apart, comma, (int)dilation);
		x = arena_printf(&a, "%sx%d", x, (int)rng_range(rng, (size - 1) * dilation + 1, axes > 1 ? 6 : 19));
		w = arena_printf(&a, "%sx%d", w, (int)size);
	}
	return arena_printf(&a, "Conv{dilations=%s group=%d pads=%s%s strides=%s} f16 %dx%d%s %dx%d%sc %dc; Relu %%0", apart, (int)groups,
			    pads, end, steps, (int)rng_range(rng, 1, 2), (int)(groups * per), x, (int)out, (int)per, w, (int)out);
}

/* Where it was not measured, or is slower, sums are in f32. */
static void only_where_faster(const char *row, const char *rates)
{
	char all[256];
	struct target t;
	const char *why;

	snprintf(all, sizeof all, "%s%s", row, rates);
	struct module *m = task_module(texts[0].text, 1, &a, &why);
	struct lowered l = {0};
	if (target_find(all, &t))
		l = lower_group(m, task_node(m), &t, NULL, &why);
	ok(l.prog && strcmp(l.prog->algo, "halves"), "not with '%s'", rates);
	if (l.prog)
		prog_free(l.prog);
	module_free(m);
}

int main(void)
{
	static const char row[] = "cpu=x;features=fma,avx2,avx512,fp16;l1=48K;l2=2048K;l3=32768K";
	static struct kernel k[ALL];
	char all[256];
	struct target t;

	msg_tool = "halves";
	only_where_faster(row, "");
	only_where_faster(row, ";rates=fma512:118,vfmaddph:110");
	only_where_faster("cpu=x;features=fma,avx2,avx512;l1=48K;l2=2048K;l3=32768K", ";rates=fma512:118,vfmaddph:236");
	snprintf(all, sizeof all, "%s;rates=fma512:118,vfmaddph:236", row);
	if (!ok(target_find(all, &t), "the target"))
		return tap_done();
	by_others(&t);
	snprintf(all, sizeof all, "%s;rates=fma512:118,vfmaddph:1180", row); /* fast enough for vectors that are half empty */
	if (!ok(target_find(all, &t), "a target that is faster"))
		return tap_done();
	for (int i = 0; i < TEXTS; i++) {
		kernel_begin(&k[i], &texts[i], &a);
		interpreted(&k[i], &t);
	}
	for (int i = 0; i < RANDOM; i++) {
		struct rng rng = {(uint64_t)i + 1};
		struct text *x = ARENA_NEW(&a, struct text);
		*x = (struct text){random_text(&rng)};
		kernel_begin(&k[TEXTS + i], x, &a);
		interpreted(&k[TEXTS + i], &t);
	}
	compiled(k, &t);
	assembled(k, target_compiler(&t), target_cflags(&t));
	assembled(k, "clang", "-O2 -ffp-contract=fast -march=x86-64-v4 -mavx512fp16");
	return tap_done();
}
