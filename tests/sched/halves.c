/* Products in f16 on a target that multiplies and adds so, whatever this machine is: which kernels take them; the numbers of their
 * schedules in the interpreter, and compiled for this machine, where compilers make f16 of f32; what compilers make for the target. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "loop/interp.h"
#include "loop/prim.h"
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
};
enum { TEXTS = sizeof texts / sizeof *texts };

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

/* The programs of one target compiled for another, which has the vectors and not the instruction. */
static void compiled(struct kernel *k, const struct target *t)
{
	struct target soft = *t;

	soft.features &= ~(unsigned)X86_FP16;
	void *lib = compile(k, TEXTS, &soft, "halves");
	if (!ok(lib != NULL, "%d kernels compile for a machine without the instruction", TEXTS))
		return;
	if (!(target_host()->features & X86_AVX512)) {
		ok(true, "in software # SKIP no vectors of 64 bytes here");
		return;
	}
	for (int i = 0; i < TEXTS; i++) {
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
	enum { FEW = 8 }; /* products to a conversion */
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

static void assembled(const char *compiler, const char *flags)
{
	char command[1024];
	int loops, convert;

	snprintf(command, sizeof command, "%s -S -o halves.s halves.c %s -w 2>halves.err", compiler, flags);
	if (system(command)) {
		ok(true, "%s # SKIP it is not here, or does not know the instruction", compiler);
		return;
	}
	FILE *f = fopen("halves.s", "r");
	count_loops(f, &loops, &convert);
	fclose(f);
	ok(loops >= TEXTS && !convert, "%s: %d loops over products in f16, %d of them convert", compiler, loops, convert);
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
	static struct kernel k[TEXTS];
	char all[256];
	struct target t;

	msg_tool = "halves";
	only_where_faster(row, "");
	only_where_faster(row, ";rates=fma512:118,vfmaddph:110");
	only_where_faster("cpu=x;features=fma,avx2,avx512;l1=48K;l2=2048K;l3=32768K", ";rates=fma512:118,vfmaddph:236");
	snprintf(all, sizeof all, "%s;rates=fma512:118,vfmaddph:236", row);
	if (!ok(target_find(all, &t), "the target"))
		return tap_done();
	for (int i = 0; i < TEXTS; i++) {
		kernel_begin(&k[i], &texts[i], &a);
		interpreted(&k[i], &t);
	}
	compiled(k, &t);
	assembled(target_compiler(), target_cflags(&t));
	assembled("clang", "-O2 -ffp-contract=fast -march=x86-64-v4 -mavx512fp16");
	return tap_done();
}
