/* Task texts: back and forth, the same for groups that compute the same, different otherwise. With files of graphs as
 * arguments: of every Fused node in them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/rng.h"
#include "common/tool.h"
#include "target/target.h"
#include "graph/check.h"
#include "graph/stream.h"
#include "lower/lower.h"
#include "op/npy.h"
#include "op/op.h"
#include "op/task.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static struct arena a;
static struct rng rng = {1};

static const char *text_of(struct module *m)
{
	const char *why, *t = task_text(m, task_node(m), &a, &why);
	return t ? t : why;
}

static bool stages_of(struct module *m, node_id n, struct digest *d)
{
	const char *why;
	struct lowered l = lower_group(m, n, target_host(), NULL, &why);

	if (!l.prog)
		return false;
	*d = prog_digest(l.prog);
	prog_free(l.prog);
	return true;
}

/* ---- groups written in another way ---- */

/* Operands of the Fused node, and inputs of its body with them, in any order. */
static void shuffle_inputs(struct module *m, struct node *f, struct graph *g)
{
	for (uint32_t i = f->nin; i > 1; i--) {
		uint32_t k = (uint32_t)rng_range(&rng, 0, i - 1);
		val_id outer = f->in[i - 1], inner = g->in.a[i - 1];
		f->in[i - 1] = f->in[k];
		g->in.a[i - 1] = g->in.a[k];
		f->in[k] = outer;
		g->in.a[k] = inner;
	}
	for (size_t i = 0; i < g->in.n; i++)
		val(m, g->in.a[i])->index = (uint32_t)i;
}

static bool ready(struct module *m, const struct node *n, const bool *placed)
{
	for (uint32_t k = 0; k < n->nin; k++)
		if (n->in[k] && val(m, n->in[k])->kind == VAL_NODE && !placed[val(m, n->in[k])->def])
			return false;
	return true;
}

/* Nodes in any order in which operands come first. */
static void shuffle_nodes(struct module *m, struct graph *g)
{
	bool *placed = xcalloc(m->nodes.n, sizeof *placed);

	for (size_t i = 0; i < g->nodes.n; i++) {
		size_t k;
		do
			k = (size_t)rng_range(&rng, (int64_t)i, (int64_t)g->nodes.n - 1);
		while (!ready(m, node(m, g->nodes.a[k]), placed));
		node_id n = g->nodes.a[k];
		memmove(&g->nodes.a[i + 1], &g->nodes.a[i], (k - i) * sizeof n);
		g->nodes.a[i] = n;
		placed[n] = true;
	}
	free(placed);
}

static void scramble(struct module *m)
{
	struct node *f = node(m, task_node(m));
	graph_id body = attr_graph(f, "graph");
	struct graph *g = graph(m, body);

	for (size_t i = 0; i < g->nodes.n; i++) {
		struct node *n = node(m, g->nodes.a[i]);
		n->name = intern_printf("n%d", (int)rng_range(&rng, 0, 1 << 20));
		for (uint32_t k = n->nin; k > 1 && op_is(n->op, OP_COMMUTATIVE); k--) {
			uint32_t j = (uint32_t)rng_range(&rng, 0, k - 1);
			val_id v = n->in[k - 1];
			n->in[k - 1] = n->in[j];
			n->in[j] = v;
		}
	}
	for (val_id v = 1; v < m->values.n; v++)
		val(m, v)->name = intern_printf("v%u.%d", v, (int)rng_range(&rng, 0, 1 << 20));
	shuffle_inputs(m, f, g);
	shuffle_nodes(m, g);
	if (!f->nin)
		return;
	/* A node that nobody needs. */
	val_id unused = node(m, node_new(m, body, OP_Neg, 1, &g->in.a[0], 1))->out[0];
	val(m, unused)->type = val(m, graph(m, body)->in.a[0])->type;
	val(m, unused)->name = intern("unused");
}

/* ---- texts ---- */

static const char *const texts[] = {
	"MatMul f32 128x768 768x768c",
	"MatMul f32 128x768 768x768",
	"MatMul f32 128x768c 768x768",
	"MatMul f64 128x768 768x768c",
	"MatMul f32 127x768 768x768c",
	"MatMul f32 4x8x16x32@0,2,1,3 4x8x32x16",
	"MatMul f32 4x8x16x32 4x8x32x16",
	"MatMul f32 16x32 32x16 -> %0@1,0",
	"Conv{pads=1,1,1,1 strides=2,2} f32 1x3x32x32 16x3x3x3c 16c; Relu %0",
	"Conv{pads=1,1,1,1 strides=2,2} f32 1x3x32x32 16x3x3x3c 16c; Relu %0 -> %1@0,2,3,1",
	"Conv{pads=1,1,1,1} f32 1x3x32x32 16x3x3x3c 16c; Relu %0",
	"Conv{pads=1,1,1,1 strides=2,2} f32 1x3x32x32 16x3x3x3c; Relu %0",
	"Conv{group=16 pads=1,1,1,1} f32 1x16x9x9@0,2,3,1 16x1x3x3c 16c; Sigmoid %0; Mul %0 %1 -> %2@0,2,3,1",
	"Add f32 1x64x7x7@0,2,3,1 $0; Mul %0 =0.5 -> %1@0,2,3,1",
	"Add f32 1x64x7x7 $0; Mul %0 =0.5",
	"Add f32 1x64x7x7 $0; Mul %0 =0.25",
	"Add f32 1x64x7x7 $0; Mul %0 =0.25,",
	"Add f32 1x64x7x7 $0; Mul %0 1x1=0.25",
	"Mul f32 8 =nan; Add %0 =-inf; Max %1 =-0",
	"Sub f32 8x4 8x4; Mul %0 $1",
	"Sub f32 8x4 8x4; Mul %0 $0",
	"Reshape f32 4x6 i64=2,12",
	"Transpose{perm=1,0,2} f32 4x6x2",
	"Transpose f32 4x6x2",
	"Clip f32 4x6 _ =6",
	"Clip f32 4x6 =0 =6",
	"ReduceMean{keepdims=0} f32 4x6 i64=1,",
	"ReduceMean f32 4x6 i64=1,",
	"Softmax{axis=-2} f32 4x6",
	"Softmax f32 4x6",
	"LayerNormalization f32 4x64 64c 64c",
	"Split*2{axis=1} f32 4x6 -> %0 %0.1",
	"Split*3{axis=1} f32 4x6 -> %0 %0.1 %0.2",
	"Split*3{axis=1} f32 4x6; Relu %0.2",
	"TopK f32 4x6 i64=3, -> %0 %0.1",
	"TopK f32 4x6 i64=3, -> %0.1",
	"MaxPool{kernel_shape=2,2 strides=2,2} f32 1x4x8x8",
	"Concat{axis=1} f32 1x2x4 1x3x4 -> %0 $0",
	"Gather f32 100x8c i64 12",
	"Gather f32 100x8 i64 80c",
	"Cast{to=6} f32 4x4",
	"Cast{to=7} f32 4x4",
	"Where bool 4x1 f32 4x4 1x4c",
	"Pad{mode=reflect} f32 4x4 i64=1,1,1,1",
	"Resize{mode=linear} f32 1x2x4x4 _ =1,1,2,2",
	"Einsum{equation=\"bij,bjk->bik\"} f32 2x3x4 2x4x5",
	"QuantizeLinear f32 4x8 =0.02 i8=3",
	"Sum f32 4 $0 4 4; Mul %0 $2; Sub %1 $1",
	"Add f16 4x8 8c",
	"Add f32 scalar scalar",
	"hone.Layout{layout=\"1 0\"} f32 4x8 -> %0@1,0",
};

static bool is_finite(const struct tensor *t)
{
	for (int64_t i = 0; i < tensor_count(t); i++)
		if (dtype_is_float(t->dtype) && !isfinite(tensor_get(t, i)))
			return false;
	return true;
}

/* Runs the module on random inputs. */
static bool runs(struct module *m)
{
	struct input_spec spec = {.seed = 3};
	struct arena tmp = {0};
	size_t n = graph(m, m->main)->out.n;
	struct tensor **out = ARENA_ARRAY(&tmp, struct tensor *, n);
	bool good = true;

	eval_graph(m, m->main, inputs_make(m, &spec, &tmp), out, &tmp, NULL);
	for (size_t k = 0; k < n; k++) {
		struct type t = tensor_type(m, out[k]);
		t.layout = val(m, graph(m, m->main)->out.a[k])->type.layout;
		good &= is_finite(out[k]) && type_equal(&t, &val(m, graph(m, m->main)->out.a[k])->type);
	}
	arena_release(&tmp);
	return good;
}

/* Scrambled: the same text; settled: the same stages. */
static const char *survives(struct module *m, const char *text)
{
	struct digest before, after;
	bool lowered = stages_of(m, task_node(m), &before);
	node_id bad;
	graph_id where;
	const char *why;

	scramble(m);
	if ((why = module_check(m, &bad, &where)))
		return why;
	if (strcmp(text_of(m), text))
		return text_of(m);
	task_settle(m, m->main);
	if ((why = module_check(m, &bad, &where)))
		return why;
	if (strcmp(text_of(m), text))
		return "settled, it has another text";
	if (lowered != stages_of(m, task_node(m), &after) || (lowered && !digest_eq(before, after)))
		return "other stages";
	return NULL;
}

static void test_texts(void)
{
	size_t n = sizeof texts / sizeof *texts;

	for (size_t i = 0; i < n; i++) {
		const char *why, *t = texts[i];
		struct module *m = task_module(t, 1, &a, &why);
		bool odd = strstr(t, "nan") != NULL;
		if (!ok(m != NULL, "%s%s%s", t, m ? "" : ": ", m ? "" : why))
			continue;
		why = text_of(m);
		ok(!strcmp(why, t), "the same text again%s%s", strcmp(why, t) ? ": " : "", strcmp(why, t) ? why : "");
		ok(odd || runs(m), "it runs");
		why = survives(m, t);
		ok(!why, "however it is written%s%s", why ? ": " : "", why ? why : "");
		module_free(m);
	}
	size_t same = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			same += digest_eq(task_digest(texts[i]), task_digest(texts[k])) != 0;
	ok(same == 0, "%zu texts, %zu names", n, n - same);
}

/* What people write, and what it is. */
static void test_canonical(void)
{
	static const char *const pairs[][2] = {
		{"Conv{auto_pad=NOTSET dilations=1,1 group=1 kernel_shape=3,3 pads=0,0,0,0 strides=1,1}  f32 1x3x8x8  f32 4x3x3x3c",
		 "Conv f32 1x3x8x8 4x3x3x3c"},
		{"Softmax{axis=1} f32 4x6", "Softmax f32 4x6"},
		{"Concat{axis=-1} f32 4x6 4x2", "Concat{axis=1} f32 4x6 4x2"},
		{"Add f32 8c 4x8", "Add f32 4x8 8c"},
		{"Mul f32 =0.5 4x8;Relu f32 1x8;Add %1 %0", "Mul f32 4x8 =0.5; Relu 1x8; Add %0 %1"},
		{"Selu{alpha=1.67326319217681884765625 gamma=1.05070102214813232421875} f32 4", "Selu f32 4"},
		{"Transpose{perm=1,0} f32 4x6", "Transpose f32 4x6"},
		{"Relu f32 4x6@01,-0 -> %0@001,0", "Relu f32 4x6@1,0 -> %0@1,0"},
		{"Relu f32 4; Neg %0; Exp $0 -> %0", "Relu f32 4"},
		{"Clip f32 4 _ _", "Clip f32 4"},
		{"Clip f32 4 =0,", "Clip f32 4 =0,"},
	};
	const char *why;

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct module *m = task_module(pairs[i][0], 1, &a, &why), *c = task_module(pairs[i][1], 1, &a, &why);
		if (!ok(m && c, "%s%s%s", pairs[i][0], m && c ? "" : ": ", m && c ? "" : why))
			continue;
		bool same = !strcmp(text_of(m), text_of(c));
		ok(same, "is %s%s%s", text_of(c), same ? "" : ", not ", same ? "" : text_of(m));
	}
}

/* ---- random groups ---- */

/* Statements of elementwise operators over a few inputs of one type, so that operands are often alike. */
static char *random_text(void)
{
	static const char *const ops[] = {"Add", "Mul", "Sub", "Relu", "Max", "Div", "Neg", "Sum"};
	int n = (int)rng_range(&rng, 1, 12), inputs = 0;
	char *s = arena_str(&a, "");

	for (int i = 0; i < n; i++) {
		const char *op = ops[rng_range(&rng, 0, 7)];
		int arity = !strcmp(op, "Sum") ? (int)rng_range(&rng, 1, 4) : !strcmp(op, "Relu") || !strcmp(op, "Neg") ? 1 : 2;
		s = arena_printf(&a, "%s%s%s%s", s, i ? "; " : "", op, i ? "" : " f32");
		for (int k = 0; k < arity; k++) {
			int c = (int)rng_range(&rng, 0, 9);
			if (c < 5 && i)
				s = arena_printf(&a, "%s %%%d", s, (int)rng_range(&rng, c < 3 ? i - 1 : 0, i - 1));
			else if (c < 7 && inputs)
				s = arena_printf(&a, "%s $%d", s, (int)rng_range(&rng, 0, inputs - 1));
			else if (c < 8)
				s = arena_printf(&a, "%s =%d", s, (int)rng_range(&rng, 0, 1));
			else
				s = arena_printf(&a, "%s 4", s), inputs++;
		}
	}
	return inputs ? s : random_text();
}

static void test_random(void)
{
	enum { GROUPS = 3000 };
	int groups = 0, bad = 0, read = 0;
	const char *why;

	for (int i = 0; i < GROUPS; i++) {
		const char *text = random_text(), *t, *again;
		struct module *m = task_module(text, 1, &a, &why), *c;
		if (!m || !(t = task_text(m, task_node(m), &a, &why)))
			continue; /* constants alone */
		groups++;
		for (int k = 0; k < 4; k++) {
			scramble(m);
			again = text_of(m);
			bad += strcmp(again, t) != 0;
			if (strcmp(again, t))
				printf("# %s\n# %s\n# %s\n", text, t, again);
		}
		c = task_module(t, 1, &a, &why);
		read += c && !strcmp(text_of(c), t) && !survives(c, t);
		module_free(c);
		module_free(m);
	}
	ok(groups > GROUPS / 2 && !bad, "%d random groups, each in five ways: one text (%d others)", groups, bad);
	ok(read == groups, "%d of them read back, with the same stages", read);
}

/* ---- what is no task ---- */

static void test_malformed(void)
{
	static const char *const bad[][2] = {
		{"", "statement 0: an operator is missing"},
		{"Foo f32 4", "statement 0: there is no operator 'Foo'"},
		{"Relu 4", "statement 0: an element type is missing"},
		{"Relu f32 4; Relu %1", "statement 1: there is no statement 1"},
		{"Relu f32 4; Relu %0.1", "statement 1: statement 0 has no result 1"},
		{"Relu f32 4; Add %0 $1", "statement 1: there is no input 1"},
		{"Relu f32 4; Add %0 #0", "statement 1: there is no constant 0"},
		{"Add f32 4", "statement 0: 1 operands, not 2"},
		{"Relu f32 4 4", "statement 0: 2 operands, not 1"},
		{"Relu{alpha=1} f32 4", "statement 0: Relu has no attribute 'alpha'"},
		{"Elu{alpha=x} f32 4", "statement 0: a number is missing"},
		{"Elu{alpha=1 f32 4", "statement 0: Elu has no attribute 'f32'"},
		{"Elu{alpha=1", "statement 0: '' follows an attribute"},
		{"Elu{alpha=1 alpha=2} f32 4", "statement 0: attribute alpha twice"},
		{"MatMul f32 3x4 5x6", "statement 0: "},
		{"Relu f32 4; MatMul f32 3x4 5x6; Relu %1", "statement 1: "},
		{"Relu f32 4x", "statement 0: a number is missing"},
		{"Relu f32 4@0,1", "statement 0: the layout names axis 1 of 1"},
		{"Relu f32 4x4@0,0", "statement 0: the layout names axis 0 twice"},
		{"Relu f32 4x4@0", "statement 0: the layout leaves out axis 1"},
		{"Relu f32 -4", "statement 0: '-4' is no operand"},
		{"Relu f32 99999999999999999999", "statement 0: 99999999999999999999 is too large"},
		{"Relu f32 1000000x1000000x1000000", "statement 0: a value larger than any memory"},
		{"MatMul f32 4x1000000 1000000x100000c", "statement 0: constants of too many bytes"},
		{"Add i8 4 =300", "statement 0: 300 does not fit i8"},
		{"Add f32 4 =", "statement 0: a number is missing"},
		{"Add f32 4 =1,2,", "statement 0: a number is missing behind a comma"},
		{"Add f32 2x2 2x2=1,2,3", "statement 0: 3 numbers, not 4"},
		{"If bool 1", "statement 0: If has bodies"},
		{"RandomNormalLike f32 4", "statement 0: RandomNormalLike has bodies or is random"},
		{"Relu f32 4 ->", "no results behind ->"},
		{"Relu f32 4 -> %0 foo", "'foo' is no result"},
		{"Relu f32 4 -> %0@0junk", "'junk' follows a result's layout"},
		{"Relu f32 4x4 -> %0@1,0@0,1", "'@0,1' follows a result's layout"},
		{"Relu str 4", "elements of type str"},
		{"Relu f32 4;", "statement 1: an operator is missing"},
		{"Split*0 f32 4", "statement 0: "},
		{"Relu*2 f32 4", "statement 0: Relu does not leave its number of results open"},
		{"Conv{group=0} f32 1x3x8x8 4x3x3x3c", "statement 0: "},
		{"Einsum{equation=\"ij} f32 4x4", "statement 0: a string has no end"},
		{"Relu f32 4 \n; Relu %0", "statement 0: '?; Relu %0' is no operand"},
	};
	const char *why;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct module *m = task_module(bad[i][0], 1, &a, &why);
		bool good = !m && strstr(why, bad[i][1]) && !strchr(why, '\n');
		ok(good, "%s: %s", i ? strchr(bad[i][0], '\n') ? "a newline" : bad[i][0] : "nothing", m ? "taken" : why);
		module_free(m);
	}
	ok(!msg_trap, "no trap is left");
}

/* ---- many ---- */

static void test_many(void)
{
#ifdef __SANITIZE_ADDRESS__
	enum { NODES = 100000, LIMIT = 10 }; /* seconds */
#else
	enum { NODES = 100000, LIMIT = 1 };
#endif
	const char *why;
	struct module *m =
		task_module("Conv{pads=1,1,1,1} f32 1x16x9x9@0,2,3,1 16x16x3x3c 16c; Add %0 1x16x9x9@0,2,3,1; Relu %1", 1, &a, &why);
	node_id first = task_node(m);
	struct task_list l;

	for (int i = 1; i < NODES; i++) {
		node_id n = node_new(m, m->main, OP_Fused, 2, node(m, first)->in, 1);
		val(m, node(m, n)->out[0])->type = val(m, node(m, first)->out[0])->type;
		attr_set_graph(m, n, "graph", attr_graph(node(m, first), "graph"));
	}
	clock_t begin = clock();
	task_list_make(&l, m, &a);
	double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	ok(l.n == 1 && l.a[0].count == NODES && !l.without.n, "one task, %d times", NODES);
	if (target_is_emulated())
		skip("the time of the list", "an emulator is slow");
	else
		ok(seconds < LIMIT, "listed in %.2f s", seconds);
	printf("# %s: %s\n", l.a[0].title, l.a[0].text);
	task_list_free(&l);
	module_free(m);
}

static void test_titles(void)
{
	static const char *const t[][2] = {
		{"Conv{pads=1,1,1,1 strides=2,2} f32 1x64x112x112 128x64x3x3c 128c; Relu %0", "Conv 3x3/2 64 -> 128, 56x56, Relu"},
		{"Conv{group=8 pads=1,1,1,1} f32 1x8x9x9 8x1x3x3c", "Conv 3x3 depthwise 8, 9x9"},
		{"MatMul f32 2x6x128x64 2x6x64x32; Mul %0 =0.5", "MatMul 12 x 128x64 x 64x32, Mul"},
		{"Gemm{transB=1} f32 1x576 1024x576c 1024c", "Gemm 1x576 x 576x1024"},
		{"Softmax f32 12x128x128", "Softmax 12x128x128"},
	};
	const char *why;

	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct module *m = task_module(t[i][0], 1, &a, &why);
		const char *title = m ? task_title(m, task_node(m), &a) : why;
		ok(!strcmp(title, t[i][1]), "%s%s%s", t[i][1], strcmp(title, t[i][1]) ? " is " : "", strcmp(title, t[i][1]) ? title : "");
		module_free(m);
	}
}

/* ---- models ---- */

static const char *check_task(struct module *m, const struct task *t)
{
	enum { LITTLE = 20000000 }; /* work that the evaluator is given */
	struct digest d, e;
	const char *why;
	struct module *x = task_module(t->text, 1, &a, &why);

	if (!x)
		return why;
	if (strcmp(text_of(x), t->text))
		return text_of(x);
	bool lowered = stages_of(x, task_node(x), &d);
	for (uint32_t k = 0; k < t->count; k++)
		if (stages_of(m, t->node[k], &e) != lowered || (lowered && !digest_eq(d, e)))
			return "the module of its text has other stages";
	if (t->flops < LITTLE && !runs(x))
		return "it gives no finite numbers";
	if ((why = survives(x, t->text)))
		return why;
	module_free(x);
	return NULL;
}

static void test_file(const char *path)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read_only(r);
	struct task_list l;
	size_t good = 0;

	task_list_make(&l, m, &a);
	for (size_t i = 0; i < l.n; i++) {
		const char *why = check_task(m, &l.a[i]);
		if (why)
			printf("# %s: %s\n", l.a[i].text, why);
		good += !why;
	}
	for (size_t i = 0; i < l.without.n; i++)
		printf("# no task: %s\n", l.without.a[i].why);
	ok(l.n && good == l.n && !l.without.n, "%s: %zu tasks", strrchr(path, '/') ? strrchr(path, '/') + 1 : path, l.n);
	task_list_free(&l);
	module_free(m);
	stream_close(r);
}

int main(int argc, char **argv)
{
	msg_tool = "task";
	for (int i = 1; i < argc; i++)
		test_file(argv[i]);
	if (argc == 1) {
		test_texts();
		test_canonical();
		test_random();
		test_malformed();
		test_many();
		test_titles();
	}
	return tap_done();
}
