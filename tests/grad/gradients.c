/* Every row of lib/grad against central differences, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "grad/grad.h"
#include "graph/text.h"
#include "op/op.h"
#include "tap.h"

/* Nodes from a, b and so on to y; what is differentiated by has floats. at: where inputs are drawn from. */
static const struct form {
	const char *inputs, *constants, *nodes;
	double lo, hi;
} forms[] = {
#define ONE(node) \
	{ \
		"a: f64[2,3]", "", node, -2, 2 \
	}
#define POSITIVE(node) \
	{ \
		"a: f64[2,3]", "", node, 0.3, 0.9 \
	}
	ONE("y = Abs(a)"),
	POSITIVE("y = Acos(a)"),
	{"a: f64[2,3]", "", "y = Acosh(a)", 1.2, 2},
	POSITIVE("y = Asin(a)"),
	ONE("y = Asinh(a)"),
	ONE("y = Atan(a)"),
	POSITIVE("y = Atanh(a)"),
	ONE("y = Celu(a) {alpha=0.7}"),
	ONE("y = Cos(a)"),
	ONE("y = Cosh(a)"),
	ONE("y = Elu(a) {alpha=0.7}"),
	ONE("y = Erf(a)"),
	ONE("y = Exp(a)"),
	ONE("y = Flatten(a) {axis=0}"),
	ONE("y = Gelu(a)"),
	ONE("y = Gelu(a) {approximate=\"tanh\"}"),
	ONE("y = HardSigmoid(a) {alpha=0.3}"),
	{"a: f64[4,5]", "", "y = HardSwish(a)", -5, 5},
	ONE("y = Identity(a)"),
	ONE("y = LeakyRelu(a) {alpha=0.1}"),
	POSITIVE("y = Log(a)"),
	ONE("y = LogSoftmax(a) {axis=0}"),
	ONE("y = Mish(a)"),
	ONE("y = Neg(a)"),
	POSITIVE("y = Reciprocal(a)"),
	ONE("y = Relu(a)"),
	ONE("y = Selu(a)"),
	ONE("y = Sigmoid(a)"),
	ONE("y = Sin(a)"),
	ONE("y = Sinh(a)"),
	ONE("y = Softmax(a)"),
	ONE("y = Softplus(a)"),
	ONE("y = Softsign(a)"),
	POSITIVE("y = Sqrt(a)"),
	ONE("y = Swish(a) {alpha=0.7}"),
	POSITIVE("y = Tan(a)"),
	ONE("y = Tanh(a)"),
	ONE("y = ThresholdedRelu(a) {alpha=0.5}"),
	ONE("y = Transpose(a)"),
	ONE("y = Cast(a) {to=11}"),
	ONE("y = Dropout(a)"),
	ONE("b = Floor(a); y = Add(a, b)"),
#define TWO(node) \
	{ \
		"a: f64[2,1,3]; b: f64[4,1]", "", node, 0.5, 2 \
	}
	TWO("y = Add(a, b)"),
	TWO("y = Sub(a, b)"),
	TWO("y = Mul(a, b)"),
	TWO("y = Div(a, b)"),
	TWO("y = Pow(a, b)"),
	TWO("y = Max(a, b, a)"),
	TWO("y = Min(a, b)"),
	TWO("y = Mean(a, b, b)"),
	TWO("y = Sum(a, b, b)"),
	{"a: f64[2,3]; b: f64[3]", "", "y = PRelu(a, b)", -2, 2},
	{"a: f64[2,3]; b: f64[3]", "const p = bool[2,1] [1, 0]", "y = Where(@p, a, b)", -2, 2},
	{"a: f64[2,3]", "const p = f64[] [-1]; const q = f64[] [0.7]", "y = Clip(a, @p, @q)", -2, 2},
	{"a: f64[2,3,4]", "const p = i64[1] [1]", "y = ReduceSum(a, @p) {keepdims=0}", -2, 2},
	{"a: f64[2,3,4]", "const p = i64[2] [0, 2]", "y = ReduceMean(a, @p)", -2, 2},
	{"a: f64[2,3,4]", "", "y = ReduceMean(a) {keepdims=0}", -2, 2},
	{"a: f64[2,3,4]", "const p = i64[1] [1]", "y = ReduceSumSquare(a, @p)", -2, 2},
	{"a: f64[2,3]", "const p = i64[3] [3, 1, 2]", "y = Reshape(a, @p)", -2, 2},
	{"a: f64[2,1,3]", "const p = i64[1] [1]", "y = Squeeze(a, @p)", -2, 2},
	{"a: f64[2,3]", "const p = i64[1] [1]", "y = Unsqueeze(a, @p)", -2, 2},
	{"a: f64[2,1]", "const p = i64[3] [4, 2, 3]", "y = Expand(a, @p)", -2, 2},
	{"a: f64[2,3,4]", "", "y = Transpose(a) {perm=[2,0,1]}", -2, 2},
	{"a: f64[2,3]; b: f64[2,2]", "", "y = Concat(a, b, a) {axis=-1}", -2, 2},
	{"a: f64[2,6]", "", "p, q, r = Split(a) {axis=1 num_outputs=3}; y = Mul(p, r)", -2, 2},
	{"a: f64[5,6]", "const p = i64[2] [-4, 1]; const q = i64[2] [9, -2]; const r = i64[2] [1, 0]", "y = Slice(a, @p, @q, @r)", -2, 2},
	{"a: f64[2,3]", "const p = i64[4] [1, 0, 2, 1]", "y = Pad(a, @p)", -2, 2},
	{"a: f64[4,2]", "const p = i64[2,3] [1, -1, 1, 0, 3, 1]", "y = Gather(a, @p)", -2, 2},
	{"a: f64[2,3,4]; b: f64[4,5]", "", "y = MatMul(a, b)", -2, 2},
	{"a: f64[1,3,4]; b: f64[2,4,5]", "", "y = MatMul(a, b)", -2, 2},
	{"a: f64[3,4]; b: f64[4,5]; c: f64[5]", "", "y = Gemm(a, b, c) {alpha=0.5 beta=2}", -2, 2},
	{"a: f64[4,3]; b: f64[4,5]; c: f64[3,1]", "", "y = Gemm(a, b, c) {transA=1}", -2, 2},
	{"a: f64[3,4]; b: f64[5,4]", "", "y = Gemm(a, b) {transB=1 alpha=0.5}", -2, 2},
	{"a: f64[4,3]; b: f64[5,4]", "", "y = Gemm(a, b) {transA=1 transB=1}", -2, 2},
	{"a: f64[2,3,7]; b: f64[4,3,3]; c: f64[4]", "", "y = Conv(a, b, c) {pads=[1,2]}", -2, 2},
	{"a: f64[2,4,6,7]; b: f64[6,2,3,2]; c: f64[6]", "", "y = Conv(a, b, c) {group=2 strides=[2,3] pads=[1,0,1,1] dilations=[1,2]}", -2,
	 2},
	{"a: f64[1,2,7,7]; b: f64[3,2,3,3]", "", "y = Conv(a, b) {auto_pad=\"SAME_UPPER\" strides=[2,2]}", -2, 2},
	{"a: f64[2,2,8,9]; b: f64[2,1,3,3]", "", "y = Conv(a, b) {group=2 strides=[3,4] dilations=[2,1]}", -2, 2},
	{"a: f64[1,2,3,4,5]; b: f64[2,2,2,3,2]", "", "y = Conv(a, b) {strides=[1,2,2] pads=[0,1,0,1,0,0]}", -2, 2},
	{"a: f64[2,3,4,5]", "", "y = GlobalAveragePool(a)", -2, 2},
	{"a: f64[2,2,7,6]", "", "y = AveragePool(a) {kernel_shape=[3,2] strides=[2,2]}", -2, 2},
	{"a: f64[1,2,5,6]", "", "y = AveragePool(a) {kernel_shape=[3,2] pads=[1,1,1,0] count_include_pad=1}", -2, 2},
	{"a: f64[2,2,6,6]", "", "y = MaxPool(a) {kernel_shape=[2,2] strides=[2,2]}", -2, 2},
	{"a: f64[1,2,5,6]", "", "y = MaxPool(a) {kernel_shape=[3,3] strides=[2,1] pads=[1,1,1,1]}", -2, 2},
	{"a: f64[2,3,4]; b: f64[4]; c: f64[4]", "", "y = LayerNormalization(a, b, c)", -2, 2},
	{"a: f64[2,3,4]; b: f64[3,4]", "", "y = LayerNormalization(a, b) {axis=1 epsilon=0.1}", -2, 2},
	{"a: f64[2,3,4]; b: f64[3]; c: f64[3]", "const p = f64[3] [0.1, -0.2, 0.3]; const q = f64[3] [0.5, 1, 2]",
	 "y = BatchNormalization(a, b, c, @p, @q)", -2, 2},
	{"a: f64[4,3]", "const p = i64[4] [2, 0, 1, 2]", "y = SoftmaxCrossEntropyLoss(a, @p)", -2, 2},
	{"a: f64[2,3,2]", "const p = i64[2,2] [2, 0, -1, 2]; const q = f64[3] [0.5, 1, 2]",
	 "y, z = SoftmaxCrossEntropyLoss(a, @p, @q) {ignore_index=-1}", -2, 2},
	{"a: f64[4,3]", "const p = i32[4] [2, 0, 1, 2]", "y = SoftmaxCrossEntropyLoss(a, @p) {reduction=\"none\"}", -2, 2},
	{"a: f64[4,3]", "const p = i64[4] [2, 0, 1, 2]; const q = f64[3] [0.5, 1, 2]",
	 "y = SoftmaxCrossEntropyLoss(a, @p, @q) {reduction=\"sum\"}", -2, 2},
};

/* Puts the pieces of what, which ";" divides, each in a line behind a mark. */
static void put(FILE *f, const char *mark, const char *what)
{
	char *copy = strdup(what), *save;

	for (char *c = strtok_r(copy, ";", &save); c; c = strtok_r(NULL, ";", &save))
		fprintf(f, "%s %s\n", mark, c);
	free(copy);
}

static struct module *module_of(const struct form *form)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof text, "w");

	fprintf(f, "hone-text 1\nmodule ir=10 opset=28\n");
	put(f, "", form->constants);
	fprintf(f, "graph main {\n");
	put(f, "input", form->inputs);
	put(f, "", form->nodes);
	fprintf(f, "output y = y\n}\n");
	fclose(f);
	struct text_reader *r = text_open_bytes(text, strlen(text), "form");
	struct module *m = text_read(r);
	text_close(r);
	infer_module(m, NULL);
	return m;
}

static double weighed(const struct tensor *y, const struct tensor *weight)
{
	double sum = 0;

	for (int64_t i = 0; i < tensor_count(y); i++)
		sum += tensor_get(y, i) * tensor_get(weight, i);
	return sum;
}

/* The sum of y, each element times a weight. */
static double run(struct module *m, struct tensor **in, const struct tensor *weight)
{
	struct arena a = {0};
	struct tensor **out = ARENA_ARRAY(&a, struct tensor *, graph(m, m->main)->out.n);

	eval_graph(m, m->main, in, out, &a, NULL);
	double sum = weighed(out[0], weight);
	arena_release(&a);
	return sum;
}

/* How far element i of the derivative by x, which is one of in, is from the difference. */
static double off(struct module *m, struct tensor **in, struct tensor *x, int64_t i, const struct tensor *weight, double by)
{
	const double step = 1e-5, at = tensor_get(x, i);

	tensor_set(x, i, at + step);
	double up = run(m, in, weight);
	tensor_set(x, i, at - step);
	double down = run(m, in, weight);
	tensor_set(x, i, at);
	double want = (up - down) / (2 * step);
	return fabs(want - by) / fmax(1, fabs(want));
}

static bool covered[OP_COUNT];

static void check(const struct form *f)
{
	struct module *m = module_of(f);
	struct rng r = {1};
	struct arena *a = &m->arena;
	size_t nin = graph(m, m->main)->in.n, nnodes = graph(m, m->main)->nodes.n;
	val_id y = graph(m, m->main)->out.a[0];
	int64_t dims[RANK_MAX];
	struct grad d = {.m = m, .graph = m->main, .nvalues = m->values.n};
	struct tensor **in = ARENA_ARRAY(a, struct tensor *, nin), **out = ARENA_ARRAY(a, struct tensor *, nin + 1);
	bool known = true;
	double worst = 0;

	d.sum = ARENA_ARRAY(a, val_id, d.nvalues);
	d.active = ARENA_ARRAY(a, bool, d.nvalues);
	type_dims(m, &val(m, y)->type, dims);
	struct tensor *weight = tensor_new(a, DT_F64, val(m, y)->type.rank, dims);
	tensor_random(weight, &r, -1, 1);
	for (size_t i = 0; i < nin; i++) {
		val_id v = graph(m, m->main)->in.a[i];
		type_dims(m, &val(m, v)->type, dims);
		in[i] = tensor_new(a, DT_F64, val(m, v)->type.rank, dims);
		tensor_random(in[i], &r, f->lo, f->hi);
		d.active[v] = true;
	}
	for (size_t k = 0; k < nnodes; k++) {
		const struct node *n = node(m, graph(m, m->main)->nodes.a[k]);
		covered[n->op] = true;
		for (uint32_t o = 0; !grad_is_flat(n) && o < n->nout; o++)
			d.active[n->out[o]] = true;
	}
	d.sum[y] = const_tensor(m, 0, weight);
	for (size_t k = nnodes; k-- > 0 && known;)
		known = grad_back(&d, graph(m, m->main)->nodes.a[k]);
	for (size_t i = 0; i < nin && known; i++)
		graph_add_output(m, m->main, d.sum[graph(m, m->main)->in.a[i]], intern_printf("d%zu", i));
	if (!known) {
		ok(false, "%s: %s", f->nodes, d.why ? d.why : "no derivative");
		module_free(m);
		return;
	}
	infer_module(m, NULL);
	eval_graph(m, m->main, in, out, a, NULL);
	for (size_t i = 0; i < nin; i++)
		for (int64_t k = 0; k < tensor_count(in[i]); k++)
			worst = fmax(worst, tensor_count(out[1 + i]) == tensor_count(in[i])
						    ? off(m, in, in[i], k, weight, tensor_get(out[1 + i], k))
						    : INFINITY);
	ok(worst < 1e-6, "%s (%.1e)", f->nodes, worst);
	module_free(m);
}

int main(void)
{
	int missing = 0;

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		check(&forms[i]);
	for (int op = 1; op < OP_COUNT; op++)
		if (grad_knows((enum opcode)op) && !covered[op]) {
			missing++;
			printf("# no form of %s\n", op_name((enum opcode)op));
		}
	ok(!missing, "every row has a form");
	return tap_done();
}
