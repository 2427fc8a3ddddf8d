/* Candidates: the C of one kernel, compiled, loaded and run, against the evaluator; and the trace it says it has,
 * applied again. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "target/target.h"
#include "model/candidate.h"
#include "lower/lower.h"
#include "loop/prim.h"
#include "op/npy.h"
#include "op/op.h"
#include "op/task.h"
#include "near.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static struct arena a;

typedef void kernel(const void *const *in, const void *const *constants, void *const *out, char *workspace);

static kernel *compile(const struct candidate *c, int number)
{
	char *source = xprintf("%d.c", number), *library = xprintf("./%d.so", number);
	FILE *f = fopen(source, "w");

	if (!f || fwrite(c->source, 1, c->nsource, f) != c->nsource || fclose(f))
		die_errno(EX_IO, "%s", source);
	if (system(xprintf("%s %s -w -fPIC -shared -o %s %s -lm", target_compiler(NULL), target_cflags(target_host()), library, source)))
		return NULL;
	void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	return h ? (kernel *)dlsym(h, "hone_kernel") : NULL;
}

static void *storage(const struct candidate_buf *b, const void *data)
{
	void *p = aligned_alloc(64, ((size_t)b->elems * dtype_size(b->dtype) + 127) / 64 * 64);

	if (data)
		candidate_pack(b, data, p);
	return p;
}

/* The largest difference as a share of the largest number. */
static double difference(const struct tensor *x, const struct tensor *y)
{
	double worst = 0, scale = 1e-30;

	for (int64_t i = 0; i < tensor_count(x); i++) {
		worst = fmax(worst, off_by(tensor_get(x, i), tensor_get(y, i)));
		scale = fmax(scale, size_of(tensor_get(y, i)));
	}
	return worst / scale;
}

/* Runs the kernel and the evaluator on the same numbers. */
static double run_both(struct module *m, const struct candidate *c, kernel *k)
{
	struct input_spec spec = {.seed = 5};
	struct tensor **x = inputs_make(m, &spec, &a), *want[8];
	void *in[8] = {0}, *constants[8] = {0}, *out[8] = {0};
	double worst = 0;

	const char *why;
	struct lowered l = lower_group(m, task_node(m), target_host(), c->algo, &why); /* what its algorithm makes, with contents */

	eval_graph(m, m->main, x, want, &a, NULL);
	for (int i = 0; i < c->nin; i++)
		in[i] = storage(&c->in[i], x[i]->data);
	for (int i = 0; i < c->nconst; i++)
		if (c->constant[i].elems)
			constants[i] = storage(&c->constant[i], tensor_data(m, val(m, l.cval[i])->tensor));
	for (int i = 0; i < c->nout; i++)
		out[i] = storage(&c->out[i], NULL);
	k((const void *const *)in, (const void *const *)constants, out, aligned_alloc(64, (size_t)c->workspace / 64 * 64 + 64));
	for (int i = 0; i < c->nout; i++) {
		struct tensor *got = tensor_new(&a, want[i]->dtype, want[i]->rank, want[i]->dims);
		candidate_unpack(&c->out[i], out[i], (void *)got->data);
		worst = fmax(worst, difference(got, want[i]));
	}
	return worst;
}

static void test_task(const char *text, int number)
{
	const char *why;
	struct module *m = task_module(text, 1, &a, &why);
	struct candidate *c = m ? candidate_new(m, task_node(m), target_host(), NULL, false, &why) : NULL;

	if (!ok(c != NULL, "%s%s%s", text, c ? "" : ": ", c ? "" : why))
		return;
	kernel *k = compile(c, number);
	double d = k ? run_both(m, c, k) : INFINITY;
	ok(d < 1e-4, "its file compiles; the evaluator's numbers (%.1g)", d);
	struct candidate *again = candidate_new(m, task_node(m), target_host(), c->trace, false, &why);
	ok(again && !strcmp(again->source, c->source) && !strcmp(again->trace, c->trace) && digest_eq(again->stages, c->stages),
	   "its trace gives the same file");
	ok(trace_fit(c->trace, c->stages) == TRACE_FITS, "and is stamped for its stages");
	struct candidate *none = candidate_new(m, task_node(m), target_host(), "split nothing 4", false, &why);
	ok(!none && strstr(why, "line 1: split"), "a trace that does not apply: %s", none ? "taken" : why);
	candidate_free(again);
	candidate_free(c);
	module_free(m);
}

/* A decision outside its set: an error, or the nearest, and then the trace says so. */
static void test_adapt(void)
{
	const char *why, *trace = "# trace 1 00000000000000000000000000000000\nrows = sample.choice 1 2 4 := 7\n";
	struct module *m = task_module("Relu f32 6x100@1,0", 1, &a, &why);

	struct candidate *none = candidate_new(m, task_node(m), target_host(), trace, false, &why), *c;
	ok(!none, "a decision that is no choice: %s", none ? "taken" : why);
	c = candidate_new(m, task_node(m), target_host(), trace, true, &why);
	ok(c && strstr(c->trace, ":= 4\n") && !strstr(c->trace, ":= 7") && trace_fit(c->trace, c->stages) == TRACE_FITS,
	   "adapted: the nearest, with a stamp of its own");
	struct candidate *again = c ? candidate_new(m, task_node(m), target_host(), c->trace, false, &why) : NULL;
	ok(again && !strcmp(again->trace, c->trace), "which applies as it is");
	module_free(m);
}

static void test_words(void)
{
	static const struct {
		const char *trace, *words;
	} t[] = {
		{"", "plain loops"},
		{"vector relu.n\n", "vectors along the innermost axis"},
		{"vectors = sample.choice 1 2 := 2\nrows = sample.choice 7 14 := 14\nlayout w 0/vectors*16 1 0%vectors*16\n"
		 "chunk = sample.choice 768 256 := 256\nsplit conv.c chunk tail=peel\n",
		 "14 x 2 vectors in registers, weights in panels of 32, reduction in chunks of 256"},
		{"algo winograd4\nscope back register\nparallel relu.h\n",
		 "Winograd F(4x4), results in registers, loops shared among threads"},
		{"pad.inline = sample.choice no yes := yes\nunroll = sample.choice 1 2 := 2\nexp.unroll = sample.choice 1 4 := 4\n",
		 "pad computed where it is read, 2 steps at a time, exp 4 steps at a time"},
		{"vectors = sample.choice 1 2 := 1\nrows = sample.choice 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 := 10\n",
		 "10 x 1 vectors in registers"},
		{"new.knob = sample.choice a b := b\n", "new.knob b"},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		const char *words = trace_explain(t[i].trace, &a);
		ok(!strcmp(words, t[i].words), "%s%s%s", t[i].words, strcmp(words, t[i].words) ? ", not " : "",
		   strcmp(words, t[i].words) ? words : "");
	}
}

/* Blocks that are padded to more elements than there are numbers do not come around to none. */
static void test_layout_elems(void)
{
	struct loop_buf b = {.dtype = DT_F32, .rank = 5, .shape = {5000, 1, 1, 1, 1}, .extent = {5000, 1, 1, 1, 1}};
	const char *why = layout_parse(&b.layout, b.rank, "1/65536 1%65536 2/65536 2%65536 3/65536 3%65536 4/65536 4%65536 0");

	ok(!why && layout_elems(&b) == INT64_MAX, "a layout of 2^64 times its elements: %s, %lld", why ? why : "",
	   (long long)layout_elems(&b));
}

int main(void)
{
	static const char *const tasks[] = {
		"MatMul f32 33x70 70x45c",
		"Conv{pads=1,1,1,1} f32 1x16x14x14@0,2,3,1 32x16x3x3c 32c; Relu %0 -> %1@0,2,3,1",
		"Conv{group=8 pads=2,2,2,2 strides=2,2} f32 1x8x13x13 8x1x5x5c 8c; HardSwish %0 -> %1@0,2,3,1",
		"Softmax f32 5x37; Mul %0 5x1 -> %1 %0",
		"Add f32 1x6x5x4@0,2,3,1 1x6x5x4; Exp %0",
		"Gather f32 20x7c i64 5",
		"MatMul f32 2x13x8 2x8x37; Mul %0 =0.5; Softmax %1; MatMul %2 2x37x12; Relu %3",
	};

	msg_tool = "candidate";
	for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++)
		test_task(tasks[i], (int)i);
	test_adapt();
	test_words();
	test_layout_elems();
	return tap_done();
}
