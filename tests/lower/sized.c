/* Groups of varying sizes: one kernel, run at many sizes, against the evaluator; and its nest, run by the interpreter. The same graphs
 * as ge-fuse and ge-layout leave them, some for three threads. sized FILE.txt...: those instead, for $SIZED_THREADS; with $SIZED_ANY a
 * group may have no kernel. */
#include <math.h>
#include <string.h>
#include "common/rng.h"
#include "common/tool.h"
#include "graph/pass.h"
#include "graph/text.h"
#include "loop/interp.h"
#include "lower/sized_impl.h"
#include "near.h"
#include "run_kernel.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { KERNELS_MAX = 64 };

struct sized_kernel {
	node_id node;
	struct sized s;
};

enum { SYMBOLS_MAX = 64 };

/* Gives the kernel's parameters what they are where its symbols have these sizes, and the symbols these in env. */
static void set_sizes(struct module *m, struct sized_kernel *k, const int64_t *size, int64_t *env)
{
	struct loop_prog *p = k->s.low.prog;

	for (size_t i = 0; i < p->params.n; i++)
		for (poly_var x = 1; x <= poly_nvars(m->dims); x++)
			if (poly_var_name(m->dims, x) == p->params.a[i].name)
				env[x] = size[i];
	for (size_t i = 0; i < p->params.n; i++)
		p->params.a[i].value = poly_eval(m->dims, k->s.arg[i], env);
}

static struct tensor *random_tensor(struct module *m, val_id v, const int64_t *env, struct rng *rng, struct arena *a)
{
	const struct type *t = &val(m, v)->type;
	int64_t dims[LOOP_RANK_MAX], n = 1;

	for (int d = 0; d < t->rank; d++)
		n *= dims[d] = poly_eval(m->dims, t->dims[d], env);
	struct tensor *x = tensor_new(a, t->dtype, t->rank, dims);
	for (int64_t i = 0; i < n; i++)
		switch (t->dtype) {
		case DT_F32: ((float *)x->data)[i] = (float)(4 * rng_unit(rng) - 2); break;
		case DT_I64: ((int64_t *)x->data)[i] = rng_range(rng, 0, 6); break;
		case DT_I32: ((int32_t *)x->data)[i] = (int32_t)rng_range(rng, 0, 6); break;
		case DT_BOOL: ((uint8_t *)x->data)[i] = rng_range(rng, 0, 1); break;
		default: memset((char *)x->data + (size_t)i * dtype_size(t->dtype), (int)rng_range(rng, 0, 1), 1);
		}
	return x;
}

enum { ROOM = 256, CANARY = 0x5a };

/* Memory with so many bytes before and after it that must stay. */
static char *fenced(struct arena *a, size_t bytes)
{
	return (char *)memset(arena_alloc(a, bytes + 2 * ROOM), CANARY, bytes + 2 * ROOM) + ROOM;
}

static bool fence_stands(const char *at, size_t bytes)
{
	bool stands = true;

	for (size_t i = 0; i < ROOM; i++)
		stands &= at[-1 - (long)i] == CANARY && at[bytes + i] == CANARY;
	return stands;
}

/* The largest difference, relative to the size of all. */
static double worst_of(const struct tensor *r, const void *got)
{
	double worst = 0, scale = 1e-30;

	for (int64_t i = 0; i < tensor_count(r); i++) {
		if (r->dtype != DT_F32) {
			size_t size = dtype_size(r->dtype);
			if (memcmp((const char *)r->data + (size_t)i * size, (const char *)got + (size_t)i * size, size))
				return INFINITY;
			continue;
		}
		worst = fmax(worst, off_by(((const float *)got)[i], ((const float *)r->data)[i]));
		scale = fmax(scale, size_of(((const float *)r->data)[i]));
	}
	return worst / scale;
}

/* The buffer as it is for the parameters' values. */
static struct loop_buf now(struct loop_prog *p, buf_id b)
{
	struct loop_buf x = *lbuf(p, b);

	for (int d = 0; d < x.rank; d++)
		x.shape[d] = x.extent[d] = prog_value(p, buf_dim(p, b, d));
	return x;
}

static void **kernel_storage(struct module *m, const struct sized_kernel *k, struct tensor *const *in, struct tensor *const *want,
			     struct arena *a)
{
	struct loop_prog *p = k->s.low.prog;
	void **at = ARENA_ARRAY(a, void *, p->bufs.n);
	int operand = 0, *of = ARENA_ARRAY(a, int, node(m, k->node)->nin);

	for (uint32_t i = 0; i < node(m, k->node)->nin; i++)
		if (val(m, node(m, k->node)->in[i])->kind != VAL_CONST)
			of[operand++] = (int)i;
	for (buf_id b = 1; b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(p, b);
		size_t bytes = (size_t)(x->scope <= SCOPE_OUT ? prog_value(p, buf_count(p, b)) : 0) * dtype_size(x->dtype);
		if (x->scope == SCOPE_IN) { /* nothing may be read behind its end */
			struct loop_buf y = now(p, b);
			at[b] = memset(arena_alloc(a, bytes + 256), 0x7f, bytes + 256);
			layout_pack(&y, in[of[x->operand]]->data, at[b]);
		}
		if (x->scope == SCOPE_CONST) {
			at[b] = arena_alloc(a, bytes);
			buf_pack(p, b, x->data ? x->data : tensor_data(m, val(m, k->s.low.cval[x->operand])->tensor), at[b]);
		}
		if (x->scope == SCOPE_OUT)
			at[b] = fenced(a, bytes);
	}
	return at;
}

/* Kernel i with a workspace of just the bytes it asks for; false: it wrote outside. */
static bool run_fenced(void *lib, int i, struct loop_prog *p, void **at, struct arena *a)
{
	size_t bytes = (size_t)prog_workspace(p);
	char *ws = fenced(a, bytes + 64), name[32];
	long value[LOOP_PARAMS_MAX];

	ws += (64 - (uintptr_t)ws % 64) % 64;
	snprintf(name, sizeof name, "run_k%d", i);
	for (size_t k = 0; k < p->params.n; k++)
		value[k] = p->params.a[k].value;
	((void (*)(void **, const long *, char *))dlsym(lib, name))(at, value, ws);
	return fence_stands(ws, bytes);
}

/* n, brought into the range of parameter k, as a multiple of its divisor. */
static int64_t size_of_param(const struct loop_prog *p, size_t k, int64_t n)
{
	int64_t lo, hi, d = poly_var_divisor(p->P, p->params.a[k].var);

	poly_var_range(p->P, p->params.a[k].var, &lo, &hi);
	n *= d;
	return n < lo ? (lo + d - 1) / d * d : n > hi ? hi / d * d : n;
}

static const char *algo;   /* that is asked for */
static double near = 2e-6; /* how near its numbers are */

static void at_sizes(struct module *m, struct sized_kernel *k, void *lib, int i, const int64_t *size, bool interpret)
{
	struct loop_prog *p = k->s.low.prog;
	struct arena a = {0};
	struct rng rng = {5};
	const struct node *n = node(m, k->node);
	graph_id body = attr_graph(n, "graph");
	struct tensor **in = ARENA_ARRAY(&a, struct tensor *, n->nin + 1), **want = ARENA_ARRAY(&a, struct tensor *, n->nout + 1);
	const char *text = "", *why = NULL;
	int64_t env[SYMBOLS_MAX] = {0};
	double worst = 0;
	bool beyond = false;

	set_sizes(m, k, size, env);
	for (size_t j = 0; j < p->params.n; j++)
		text = arena_printf(&a, "%s %s=%ld", text, sym_str(p->params.a[j].name), (long)size[j]);
	for (uint32_t j = 0; j < n->nin; j++)
		in[j] = val(m, n->in[j])->kind == VAL_CONST ? val(m, n->in[j])->tensor
							    : random_tensor(m, graph(m, body)->in.a[j], env, &rng, &a);
	eval_graph(m, body, in, want, &a, NULL);
	void **at = kernel_storage(m, k, in, want, &a);
	if (interpret)
		why = loop_interp(p, at);
	else
		beyond = !run_fenced(lib, i, p, at, &a);
	for (buf_id b = 1; b < p->bufs.n; b++) {
		if (lbuf(p, b)->scope != SCOPE_OUT)
			continue;
		const struct tensor *r = want[lbuf(p, b)->operand];
		struct loop_buf x = now(p, b);
		void *got = arena_alloc(&a, (size_t)tensor_count(r) * dtype_size(r->dtype) + 1);
		layout_unpack(&x, at[b], got);
		worst = fmax(worst, worst_of(r, got));
		beyond |= !fence_stands(at[b], (size_t)tensor_count(r) * dtype_size(r->dtype));
	}
	if (why || beyond || !(worst < near) || p->params.a[0].value == size_of_param(p, 0, 1))
		ok(!why && !beyond && worst < near, "%s at%s%s: off by %g%s%s", node_where(m, k->node, &a), text,
		   interpret ? ", interpreted" : "", worst, beyond ? ", written beyond its ends" : "", why ? why : "");
	arena_release(&a);
}

/* How many of n sizes to run at: of multiples the smallest, the others are large. */
static int sizes_of(struct module *m, const struct sized_kernel *k, int n)
{
	const struct loop_prog *p = k->s.low.prog;

	for (size_t i = 0; i < p->params.n; i++)
		if (poly_var_divisor(p->P, p->params.a[i].var) > 8 || sized_divisor(m->dims, k->s.arg[i]) > 8)
			return 6;
	return n;
}

static void all_sizes(struct module *m, struct sized_kernel *k, void *lib, int i)
{
	static const int64_t few[] = {0, 1, 2, 4, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 31, 32, 33, 47, 64, 65};
	struct loop_prog *p = k->s.low.prog;
	int n = sizes_of(m, k, sizeof few / sizeof *few);
	int64_t size[LOOP_PARAMS_MAX] = {0};

	for (int x = 0; x < n; x++)
		for (int y = 0; y < (p->params.n > 1 ? n : 1); y++) {
			if ((x + y) % 7 && x > 3 && y > 3) /* of two large sizes a part */
				continue;
			for (size_t j = 0; j < p->params.n; j++)
				size[j] = size_of_param(p, j, few[j % 2 ? y : x]) * sized_divisor(m->dims, k->s.arg[j]);
			at_sizes(m, k, lib, i, size, false);
			if (x < 9 && y < 3)
				at_sizes(m, k, lib, i, size, true);
		}
}

static int threads = 1;
static const char *given; /* trace; NULL: the default schedule */

static void module_refused(struct module *m)
{
	const struct graph *g = graph(m, m->main);

	for (size_t i = 0; i < g->nodes.n; i++) {
		const char *why;
		struct sized s = lower_sized(m, g->nodes.a[i], target_host(), (struct sized_for){0}, NULL, &why);
		ok(why && !s.low.prog && !s.usual, "no kernel for all sizes: %s", why ? why : "there is one");
		sized_free(&s);
	}
}

static bool refusals; /* of what has no kernel */

static void module_kernels(struct module *m)
{
	struct sized_kernel k[KERNELS_MAX] = {{0}};
	struct loop_prog *p[KERNELS_MAX];
	const struct graph *g = graph(m, m->main);
	struct arena a = {0};
	int n = 0;

	for (size_t i = 0; i < g->nodes.n && n < KERNELS_MAX; i++) {
		const char *why, *trace = "";
		if (strcmp(op_name(node(m, g->nodes.a[i])->op), "hone.Fused") && strcmp(op_name(node(m, g->nodes.a[i])->op), "Fused"))
			continue;
		k[n] = (struct sized_kernel){g->nodes.a[i],
					     lower_sized(m, g->nodes.a[i], target_host(), (struct sized_for){0}, algo, &why)};
		if (!why)
			k[n].s.low.prog->threads = threads;
		if (!why)
			why = sized_schedule(&k[n].s, given, NULL, &trace);
		if (!ok(!why || getenv("SIZED_ANY"), "%s has a kernel: %s", node_where(m, g->nodes.a[i], &a), why ? why : "") || why) {
			if (getenv("SIZED_VERBOSE"))
				printf("%s%s", trace, k[n].s.low.prog ? prog_str(k[n].s.low.prog, &a) : "");
			continue;
		}
		if (getenv("SIZED_VERBOSE"))
			printf("%s%s", trace, prog_str(k[n].s.low.prog, &a));
		if (k[n].s.usual && !k[n].s.proved)
			printf("# %s: its numbers are sampled\n", node_where(m, g->nodes.a[i], &a));
		p[n] = k[n].s.low.prog;
		n++;
	}
	void *lib = n ? compile_kernels(p, n, target_host(), arena_printf(&a, "m%d", tap_count)) : NULL;
	if (!ok(lib || !n, "they compile") || !n)
		return;
	for (int i = 0; i < n; i++)
		all_sizes(m, &k[i], lib, i);
	arena_release(&a);
}

static void of_file(const char *path)
{
	char *command = xprintf("ge-load %s | ge-shape | ge-fuse | ge-layout | ge-dump - >laid.txt", path);

	if (system(command))
		ok(0, "%s", command);
	free(command);
	struct text_reader *r = text_open("laid.txt");
	(refusals ? module_refused : module_kernels)(text_read(r));
	text_close(r);
}

static void of_text(const char *symbols, const char *constants, const char *nodes)
{
	FILE *f = fopen("graph.txt", "w");

	fprintf(f, "hone-text 1\nmodule ir=8 opset=20\n%s%sgraph main {\n%s}\n",
		symbols ? symbols
			: "symbol batch 0 inf\nsymbol seq 0 inf\nsymbol h 0 inf\nsymbol w 0 inf\nsymbol p 0 inf\nsymbol q 0 inf\n",
		constants, nodes);
	fclose(f);
	of_file("graph.txt");
}

static const struct {
	const char *constants, *nodes;
} texts[] = {
	{"", "  input x: f32[seq,32]\n  a = Relu(x)\n  output a = a\n"},
	{"", "  input x: f32[batch,seq,30]\n  a = Softmax(x) {axis=-1}\n  output a = a\n"},
	{"", "  input x: f32[seq,32]\n  input w: f32[32,48]\n  y = MatMul(x, w)\n  z = Gelu(y)\n  output z = z\n"},
	{"",
	 "  input x: f32[batch,seq,32]\n  input b: f32[32]\n  input m: f32[batch,seq,1]\n  a = Add(x, b)\n  c = Mul(a, m)\n  output c = c\n"},
	{"", "  input x: f32[batch,seq,5]\n  input m: f32[batch,1,5]\n  a = Relu(x)\n  c = Mul(a, m)\n  output c = c\n"},
	{"",
	 "  input x: f32[batch,seq,64]\n  input w: f32[64,100]\n  input b: f32[100]\n  y = MatMul(x, w)\n  z = Add(y, b)\n  t = Relu(z)\n  output t = t\n"},
	{"", "  input x: f32[batch,12,seq,32]\n  input w: f32[batch,12,32,seq]\n  y = MatMul(x, w)\n  output y = y\n"},
	{"",
	 "  input x: f32[batch,4,seq,32]\n  input w: f32[batch,4,seq,32]\n  input mask: f32[batch,1,1,seq]\n  wt = Transpose(w) {perm=[0,1,3,2]}\n  y = MatMul(x, wt)\n  z = Add(y, mask)\n  s = Softmax(z) {axis=-1}\n  output s = s\n"},
	{"",
	 "  input p: f32[batch,4,seq,seq]\n  input v: f32[batch,4,seq,32]\n  y = MatMul(p, v)\n  t = Transpose(y) {perm=[0,2,1,3]}\n  output t = t\n"},
	{"", "  input x: f32[batch,4,seq,seq]\n  s = Softmax(x) {axis=-1}\n  output s = s\n"},
	{"",
	 "  input m: bool[batch,1,1,seq]\n  input x: f32[batch,4,seq,seq]\n  input c: f32[]\n  y = Where(m, x, c)\n  s = Softmax(y) {axis=-1}\n  output s = s\n"},
	{"const ax = i64[1] [-1]\n",
	 "  input x: f32[batch,seq,48]\n  input r: f32[batch,seq,48]\n  input g: f32[48]\n  input b: f32[48]\n  a = Add(x, r)\n  y = LayerNormalization(a, g, b) {axis=-1 epsilon=1e-5}\n  output y = y\n"},
	{"const ax = i64[1] [1]\n", "  input x: f32[batch,seq,48]\n  y = ReduceMean(x, @ax) {keepdims=0}\n  output y = y\n"},
	{"const ax = i64[1] [2]\n", "  input x: f32[batch,48,seq]\n  y = ReduceMean(x, @ax) {keepdims=0}\n  output y = y\n"},
	{"const ax = i64[1] [1]\n",
	 "  input x: f32[batch,seq,48]\n  input m: f32[batch,seq,1]\n  a = Mul(x, m)\n  y = ReduceSum(a, @ax) {keepdims=0}\n  output y = y\n"},
	{"", "  input ids: i64[batch,seq]\n  input t: f32[7,32]\n  y = Gather(t, ids) {axis=0}\n  output y = y\n"},
	{"const sh = i64[4] [0,0,4,8]\n",
	 "  input x: f32[batch,seq,32]\n  y = Reshape(x, @sh)\n  t = Transpose(y) {perm=[0,2,1,3]}\n  z = Relu(t)\n  output z = z\n"},
	{"", "  input x: f32[batch,seq,8]\n  input y: f32[batch,h,8]\n  z = Concat(x, y) {axis=1}\n  t = Relu(z)\n  output t = t\n"},
	{"const st = i64[1] [1]\nconst en = i64[1] [9223372036854775807]\nconst ax = i64[1] [2]\n",
	 "  input x: f32[batch,seq,8]\n  z = Slice(x, @st, @en, @ax)\n  t = Relu(z)\n  output t = t\n"},
	{"", "  input x: i64[batch,seq]\n  c = Cast(x) {to=1}\n  output c = c\n"},
	{"", "  input x: f32[batch,16,9,9]\n  input w: f32[32,16,3,3]\n  y = Conv(x, w) {pads=[1,1,1,1]}\n  z = Relu(y)\n  output z = z\n"},
	{"", "  input x: f32[batch,16,9,9]\n  input w: f32[48,16,1,1]\n  y = Conv(x, w)\n  z = Relu(y)\n  output z = z\n"},
	{"", "  input x: f32[batch,16,h,w]\n  input w: f32[16,16,3,3]\n  y = Conv(x, w) {pads=[1,1,1,1]}\n  z = Relu(y)\n  output z = z\n"},
	{"",
	 "  input x: f32[1,3,h,w]\n  input w: f32[16,3,3,3]\n  y = Conv(x, w) {pads=[1,1,1,1] strides=[2,2]}\n  z = Relu(y)\n  output z = z\n"},
	{"",
	 "  input x: f32[batch,16,h,w]\n  input w: f32[16,1,3,3]\n  y = Conv(x, w) {pads=[1,1,1,1] group=16}\n  z = Relu(y)\n  output z = z\n"},
	{"", "  input x: f32[batch,16,p,q]\n  input w: f32[24,16,3,3]\n  y = Conv(x, w) {pads=[1,1,1,1] strides=[2,2]}\n  output y = y\n"},
	{"", "  input x: f32[batch,16,h,w]\n  z = GlobalAveragePool(x)\n  output z = z\n"},
	{"", "  input x: f32[batch,16,h,w]\n  z = MaxPool(x) {kernel_shape=[2,2] strides=[2,2]}\n  output z = z\n"},
	{"", "  input x: f32[batch,16,seq]\n  input w: f32[24,16,3]\n  y = Conv(x, w) {pads=[1,1]}\n  z = Relu(y)\n  output z = z\n"},
	{"", "  input x: f32[batch,32]\n  input w: f32[100,32]\n  input b: f32[100]\n  y = Gemm(x, w, b) {transB=1}\n  output y = y\n"},
};

/* Symbols with bounds, among them sizes of zero, and with divisors. */
static const struct {
	const char *symbols, *nodes;
} bounded[] = {
	{"symbol batch 1 8\n", "  input x: f32[batch,32]\n  input w: f32[32,96]\n  y = MatMul(x, w)\n  z = Relu(y)\n  output z = z\n"},
	{"symbol batch 1 7\n", "  input x: f32[batch,32]\n  input w: f32[32,100]\n  y = MatMul(x, w)\n  output y = y\n"},
	{"symbol batch 3 9\nsymbol seq 1 16\n",
	 "  input x: f32[batch,seq,64]\n  input w: f32[64,40]\n  y = MatMul(x, w)\n  z = Relu(y)\n  output z = z\n"},
	{"symbol batch 1 8\nsymbol seq 1 8\n",
	 "  input x: f32[batch,12,seq,32]\n  input w: f32[batch,12,32,seq]\n  y = MatMul(x, w)\n  output y = y\n"},
	{"symbol n 1 8\n", "  input x: f32[n,30]\n  a = Softmax(x) {axis=-1}\n  output a = a\n"},
	{"symbol n 1 8\n", "  input x: f32[30,n]\n  a = Softmax(x) {axis=-1}\n  output a = a\n"},
	{"symbol n 1 3\n",
	 "  input x: f32[n,32]\n  a = Softmax(x) {axis=-1}\n  output a = a\n"}, /* three sizes tell too little: made for all */
	{"symbol n 1 15\n", "  input x: f32[n,5]\n  input y: f32[floor(n/8),5]\n  z = Concat(x, y) {axis=0}\n  output z = z\n"},
	{"symbol n 0 inf\n", "  input x: f32[n,32]\n  a = Relu(x)\n  output a = a\n"},
	{"symbol n 0 inf\n", "  input x: f32[n,32]\n  input w: f32[32,48]\n  y = MatMul(x, w)\n  z = Gelu(y)\n  output z = z\n"},
	{"symbol n 0 20\n", "  input x: f32[n,32]\n  input w: f32[32,48]\n  y = MatMul(x, w)\n  z = Gelu(y)\n  output z = z\n"},
	{"symbol n 0 inf\n", "  input x: f32[16,n]\n  input w: f32[n,48]\n  y = MatMul(x, w)\n  output y = y\n"},
	{"symbol n 0 inf\nsymbol k 0 inf\n",
	 "  input x: f32[n,8]\n  input y: f32[k,8]\n  z = Concat(x, y) {axis=0}\n  t = Relu(z)\n  output t = t\n"},
	{"symbol n 0 inf\n", "  input x: f32[4,n,8]\n  a = Transpose(x) {perm=[2,1,0]}\n  output a = a\n"},
	{"symbol n 0 inf\n", "  input x: f32[4,n]\n  a = Softmax(x) {axis=-1}\n  output a = a\n"},
	{"symbol h 32 inf step 32\nsymbol w 32 inf step 32\n",
	 "  input x: f32[1,3,h,w]\n  input k: f32[16,3,3,3]\n  y = Conv(x, k) {pads=[1,1,1,1] strides=[2,2]}\n  z = Relu(y)\n  output z = z\n"},
	{"symbol n 8 64 step 8\n", "  input x: f32[n,32]\n  input w: f32[32,48]\n  y = MatMul(x, w)\n  output y = y\n"},
	{"symbol n 0 inf step 6\n", "  input x: f32[n,5]\n  a = Relu(x)\n  output a = a\n"},
	{"symbol n 0 inf\nsymbol h 0 inf\nsymbol w 0 inf\n", /* deep quotients of sizes, and their products */
	 "  input x: f32[n,16,floor((h + 31)/32),floor((w + 31)/32)]\n  input k: f32[32,16,3,3]\n  y = Conv(x, k) {pads=[1,1,1,1]}\n  z = Relu(y)\n  output z = z\n"},
	{"symbol h 4 40\nsymbol w 3 30\n",
	 "  input x: f32[1,16,h,w]\n  z = MaxPool(x) {kernel_shape=[2,2] strides=[2,2]}\n  output z = z\n"},
};

/* Constant weights that are rearranged when it is built: for merged phases at most sizes, phase by phase where that fills vectors. */
static const struct {
	int taps;
	const char *nodes;
} transposed[] = {
	{16, "  input x: f32[1,6,n]\n  input b: f32[4]\n  y = ConvTranspose(x, @w, b) {pads=[4,4] strides=[8]}\n  output y = y\n"},
	{16, "  input x: f32[1,6,8*n]\n  y = ConvTranspose(x, @w) {pads=[4,4] strides=[8]}\n  output y = y\n"},
	{8, "  input x: f32[1,6,64*n]\n  y = ConvTranspose(x, @w) {pads=[2,2] strides=[4]}\n  output y = y\n"},
	{4, "  input x: f32[k,6,n]\n  y = ConvTranspose(x, @w) {pads=[1,1] strides=[2]}\n  z = Relu(y)\n  output z = z\n"},
	{3, "  input x: f32[1,6,n]\n  y = ConvTranspose(x, @w) {strides=[3]}\n  output y = y\n"},
};

/* The text of constant w, whose values are random; it goes with the arena. */
static char *constant_weights(int out, int in, const char *taps, int ntaps, struct arena *a)
{
	struct rng rng = {3};
	char *text = arena_printf(a, "const w = f32[%d,%d,%s] [", out, in, taps), *end;
	size_t head = strlen(text), n = (size_t)out * (size_t)in * (size_t)ntaps;

	text = end = memcpy(arena_alloc(a, head + 3 * n + 3), text, head);
	end += head;
	for (size_t i = 0; i < n; i++)
		end += sprintf(end, "%s%ld", i ? "," : "", (long)rng_range(&rng, -9, 9));
	strcpy(end, "]\n");
	return text;
}

static void of_transposed(int taps, const char *nodes)
{
	struct arena a = {0};

	of_text("symbol n 1 inf\nsymbol k 1 inf\n", constant_weights(6, 4, arena_printf(&a, "%d", taps), taps, &a), nodes);
	arena_release(&a);
}

/* Windows whose borders a run finds, of constant weights w of 16 channels, between products with v that have channels innermost. */
static const struct {
	int rows, columns;
	const char *nodes;
} windows[] = {
	{5, 5, "  b = Conv(a, @w) {group=16 pads=[2,2,2,2]}\n  r = Swish(b)\n"},
	{5, 5, "  b = Conv(a, @w) {group=16 pads=[2,2,2,2] strides=[2,2]}\n  r = Relu(b)\n"},
	{3, 3, "  b = Conv(a, @w) {group=16 pads=[1,1,1,1]}\n  r = Relu(b)\n"},
	{3, 3, "  b = Conv(a, @w) {group=16 pads=[1,1,1,1] strides=[2,1]}\n  r = Relu(b)\n"},
	{3, 3, "  b = Conv(a, @w) {group=16 pads=[3,2,1,2] dilations=[2,2]}\n  r = Relu(b)\n"},
	{1, 7, "  b = Conv(a, @w) {group=16 pads=[0,3,0,3]}\n  r = Relu(b)\n"},
	{7, 3, "  b = Conv(a, @w) {group=16 pads=[3,1,3,1]}\n  r = Relu(b)\n"},
	{3, 3, "  b = MaxPool(a) {kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]}\n  r = Conv(b, @w) {group=16 pads=[1,1,1,1]}\n"},
};

/* sizes NULL: nodes are the whole graph. */
static void of_window(int rows, int columns, const char *sizes, const char *nodes)
{
	struct arena a = {0};
	struct rng rng = {5};
	char *text = arena_printf(&a, "const w = f32[16,1,%d,%d] [", rows, columns);

	for (int i = 0; i < 16 * rows * columns; i++)
		text = arena_printf(&a, "%s%s%ld", text, i ? "," : "", (long)rng_range(&rng, -9, 9));
	text = arena_printf(&a, "%s]\nconst v = f32[16,16,1,1] [", text);
	for (int i = 0; i < 16 * 16; i++)
		text = arena_printf(&a, "%s%s%ld", text, i ? "," : "", (long)rng_range(&rng, -9, 9));
	of_text("symbol p 1 inf\nsymbol q 1 inf\n", arena_printf(&a, "%s]\n", text),
		!sizes ? nodes
		       : arena_printf(&a, "  input x: f32[2,16,%s]\n  a = Conv(x, @v)\n%s  y = Conv(r, @v)\n  output y = y\n", sizes,
				      nodes));
	arena_release(&a);
}

/* Phases of one channel, which lie side by side in rows: what follows them reads products of sizes. */
static const char side_by_side[] =
	"  input x: f32[2,16,16*floor((p + 31)/32),16*floor((q + 31)/32)]\n  a = Conv(x, @v)\n  r = Relu(a)\n"
	"  b = ConvTranspose(r, @w) {strides=[2,2]}\n  y = Sigmoid(b)\n  output y = y\n";

/* Convolutions of transformed tiles, with weights that are an input and with such as are transformed when it is built. */
static const struct {
	int out, in; /* of constant weights */
	const char *nodes;
} transformed[] = {
	{1, 1,
	 "  input x: f32[2,16,h,w]\n  input k: f32[24,16,3,3]\n  input r: f32[2,24,h,w]\n  y = Conv(x, k) {pads=[1,1,1,1]}\n  a = Add(y, r)\n"
	 "  z = Relu(a)\n  output z = z\n"},
	{16, 16,
	 "  input x: f32[1,16,2*floor((p + 31)/32),2*floor((q + 31)/32)]\n  y = Conv(x, @w) {pads=[1,1,1,1]}\n"
	 "  z = Swish(y)\n  output z = z\n"},
	{16, 16,
	 "  input x: f32[batch,16,2*floor((p + 15)/16),4*floor((q + 7)/8)]\n  input r: f32[batch,16,2*floor((p + 15)/16),4*floor((q + 7)/8)]\n"
	 "  y = Conv(x, @w) {pads=[1,1,1,1]}\n  a = Add(y, r)\n  output a = a\n"},
	{33, 20,
	 "  input x: f32[1,20,floor((p + 15)/16),floor((q + 15)/16)]\n  y = Conv(x, @w) {pads=[1,1,1,1]}\n  z = Swish(y)\n"
	 "  output z = z\n"},
};

static void of_transformed(size_t i, const char *with)
{
	struct arena a = {0};

	algo = with;
	of_text(NULL, constant_weights(transformed[i].out, transformed[i].in, "3,3", 9, &a), transformed[i].nodes);
	arena_release(&a);
}

/* Groups that have no program for all sizes. */
static const struct {
	const char *symbols, *constants, *nodes;
} refused[] = {
	{"symbol h 1 inf\nsymbol w 1 inf\n", "const to = i64[4] [1, 3, 32, 32]\n", /* where it reads are other constants for each size */
	 "  input x: f32[1,3,h,w]\n  y = Resize(x, -, -, @to) {mode=\"linear\" coordinate_transformation_mode=\"half_pixel\"}\n  output y = y\n"},
	{"symbol n 1 inf\n",
	 "const st = i64[1] [-2]\nconst en = i64[1] [-6]\nconst ax = i64[1] [0]\nconst step = i64[1] [-1]\n", /* of one it takes that */
	 "  input x: f32[n,8]\n  y = Slice(x, @st, @en, @ax, @step)\n  output y = y\n"},
};

/* Tiles of eight rows, each unrolled, where there are eight rows at most. */
static const char rows_of_eight[] =
	"split matmul.n 16 tail=pad\nsplit matmul.m 8 tail=balance\nreorder matmul.n.0 matmul.m.0 matmul.m.1 matmul.n.1\n"
	"init matmul matmul.m.0\nreorder matmul.k matmul.m.1 matmul.n.1\nafter relu matmul.m.0\nscope matmul register\n"
	"vector matmul.n.1\nunroll matmul.m.1\nreorder matmul.init.m matmul.init.n\nunroll matmul.init.m\n"
	"vector matmul.init.n\nunroll relu.m\nvector relu.n\n";

int main(int argc, char **argv)
{
	threads = getenv("SIZED_THREADS") ? atoi(getenv("SIZED_THREADS")) : 1;
	for (int i = 1; i < argc; i++)
		of_file(argv[i]);
	for (size_t i = 0; argc == 1 && i < sizeof texts / sizeof *texts; i++)
		of_text(NULL, texts[i].constants, texts[i].nodes);
	for (size_t i = 0; argc == 1 && i < sizeof bounded / sizeof *bounded; i++)
		of_text(bounded[i].symbols, "", bounded[i].nodes);
	for (size_t i = 0; argc == 1 && i < sizeof transposed / sizeof *transposed; i++)
		of_transposed(transposed[i].taps, transposed[i].nodes);
	for (size_t i = 0; argc == 1 && i < sizeof windows / sizeof *windows; i++)
		of_window(windows[i].rows, windows[i].columns, i % 4 ? "p,q" : "floor((p + 31)/32),2*floor((q + 3)/4)", windows[i].nodes);
	if (argc == 1)
		of_window(2, 2, NULL, side_by_side);
	near = 2e-5;
	for (size_t i = 0; argc == 1 && i < 2 * (sizeof transformed / sizeof *transformed); i++)
		of_transformed(i / 2, i % 2 ? "winograd4_lines" : "winograd2_lines");
	near = 2e-6;
	algo = NULL;
	refusals = true;
	for (size_t i = 0; argc == 1 && i < sizeof refused / sizeof *refused; i++)
		of_text(refused[i].symbols, refused[i].constants, refused[i].nodes);
	refusals = false;
	given = rows_of_eight;
	if (argc == 1)
		of_text(bounded[0].symbols, "", bounded[0].nodes);
	given = NULL;
	threads = 3;
	for (size_t i = 1; argc == 1 && i < 8; i += 2)
		of_text(NULL, texts[i].constants, texts[i].nodes);
	return tap_done();
}
