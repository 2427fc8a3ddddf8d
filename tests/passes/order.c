/* The passes in random orders, each twice, on the conformance cases: the numbers stay, the second time changes nothing, what is left
 * is sound and goes out as ONNX. What stands in the stream between two tools stands between two passes here.
 *
 * order [-t TIMES] [NAME]: cases with NAME in their names, in TIMES orders each (1). order [-t TIMES] [-x DIR] FILE.onnx...: these
 * models, on random inputs; with -x, what each order left of one as DIR/NAME.TIME.onnx. ORDER="fold cse": that order, for what failed. */
#define _GNU_SOURCE
#include <libgen.h>
#include <string.h>
#include "common/digest.h"
#include "common/rng.h"
#include "conformance.h"
#include "graph/stream.h"
#include "near.h"
#include "op/npy.h"
#include "op/op.h"
#include "passes.h"

const struct tool tool; /* the library's main() is not linked */

enum { NPASS = sizeof chain / sizeof *chain, LONGEST = 32 };

static int times = 1;
static const char *out_dir;

/* ---- orders ---- */

/* Passes of the graph of operators; of groups; of groups whose layouts are decided; of the graph with a plan. */
static const char *const before[] = {"shape", "fold", "simplify", "deadedge", "cse", "dedup", "prune", "narrow", "integer", NULL};
static const char *const grouped[] = {"shape", "cse", "dedup", "prune", NULL};
static const char *const planned[] = {"prune", "dedup", NULL};

struct order {
	const char *name[LONGEST];
	int n;
};

static void draw(struct order *o, struct rng *r, const char *const *from, int n)
{
	int64_t most = -1;

	while (from[most + 1])
		most++;
	while (n-- > 0)
		o->name[o->n++] = from[rng_range(r, 0, most)];
}

static struct order random_order(struct rng *r)
{
	struct order o = {.n = 0};

	draw(&o, r, before, 8);
	o.name[o.n++] = "shape";
	draw(&o, r, before, 2);
	o.name[o.n++] = "shape"; /* ge-fuse needs it */
	o.name[o.n++] = "fuse";
	draw(&o, r, grouped, 3);
	o.name[o.n++] = "layout";
	draw(&o, r, planned, 1);
	o.name[o.n++] = "plan";
	draw(&o, r, planned, 1);
	return o;
}

static struct order order_of(struct rng *r)
{
	const char *given = getenv("ORDER");

	if (!given)
		return random_order(r);
	struct order o = {.n = 0};
	for (char *s = strtok(xprintf("%s", given), " "); s && o.n < LONGEST; s = strtok(NULL, " "))
		o.name[o.n++] = s;
	return o;
}

static const char *order_text(const struct order *o, int n)
{
	char *s = xprintf("%s", "");

	for (int i = 0; i < n && i < o->n; i++)
		s = xprintf("%s%s%s", s, i ? " " : "", o->name[i]);
	return s;
}

/* ---- one order ---- */

struct subject {
	const char *name;
	struct tensor **in, **want;
	bool random; /* numbers that no two runs have */
};

static struct module *through_stream(struct module *m)
{
	struct stream_fault fault;
	size_t n, pos = 0;
	char *p = stream_bytes(m, true, &n);
	struct module *copy = stream_parse(p, n, &pos, "order", &fault);

	if (!copy)
		die(EX_DIFFERENT, "the stream is not read again: %s", fault.why);
	module_verify_or_die(copy);
	return copy;
}

static struct module *apply(struct module *m, const char *pass)
{
	const char *name = xprintf("ge-%s", pass);
	struct tool_args args = {0};
	struct pass_ctx ctx = {.args = &args};

	for (int i = 0; i < NPASS; i++)
		if (!strcmp(chain[i]->name, name)) {
			((const struct pass *)chain[i]->data)->run(m, &ctx);
			return through_stream(m);
		}
	die(EX_BADUSE, "there is no %s", name);
}

static void same_numbers(const struct subject *s, const char *what, const struct tensor *y, const struct tensor *r)
{
	double most = 0;
	bool exact = !dtype_size(r->dtype) || r->dtype == DT_C64 || r->dtype == DT_C128;

	if (y->dtype != r->dtype || y->rank != r->rank || memcmp(y->dims, r->dims, sizeof *r->dims * (size_t)r->rank))
		die(EX_DIFFERENT, "%s has another type", what);
	if (s->random)
		return;
	if (exact && (y->nbytes != r->nbytes || memcmp(y->data, r->data, r->nbytes)))
		die(EX_DIFFERENT, "%s has other elements", what);
	for (int64_t i = 0; !exact && i < tensor_count(r); i++)
		most = fmax(most, size_of(tensor_get(r, i)));
	/* Rules may sum in another order: two units in the last place of the largest number a hundred times over. */
	double unit = r->dtype == DT_BF16 ? 0x1p-8 : r->dtype == DT_F16 ? 0x1p-11 : r->dtype == DT_F64 ? 0x1p-53 : 0x1p-24;
	double tolerance = dtype_is_float(r->dtype) ? (dtype_size(r->dtype) == 1 ? 0.25 : 200 * unit) * most : 0;
	for (int64_t i = 0; !exact && i < tensor_count(r); i++)
		if (!(off_by(tensor_get(y, i), tensor_get(r, i)) <= tolerance))
			die(EX_DIFFERENT, "%s[%lld] is %.9g, not %.9g", what, (long long)i, tensor_get(y, i), tensor_get(r, i));
}

static void same_results(const struct subject *s, struct module *m)
{
	struct arena a = {0};
	struct graph *g = graph(m, m->main);
	struct tensor **out = ARENA_ARRAY(&a, struct tensor *, g->out.n);

	infer_module(m, NULL);
	eval_graph(m, m->main, s->in, out, &a, NULL);
	for (size_t k = 0; k < g->out.n; k++)
		if (!s->want[k] != !out[k])
			die(EX_DIFFERENT, "result %zu is there or is not", k);
		else if (out[k])
			same_numbers(s, sym_str(g->out_name.a[k]), out[k], s->want[k]);
	arena_release(&a);
}

static void one_order(struct subject *s, struct module *m, const struct order *o, int time)
{
	for (int i = 0; i < o->n; i++) {
		msg_tool = order_text(o, i + 1); /* what is wrong is said of these passes */
		m = apply(through_stream(m), o->name[i]);
		struct digest once = module_digest(m);
		m = apply(m, o->name[i]);
		if (!digest_eq(once, module_digest(m)))
			die(EX_DIFFERENT, "the second time changes the graph");
		same_results(s, through_stream(m));
	}
	const char *path = out_dir ? xprintf("%s/%s.%d.onnx", out_dir, s->name, time) : "/dev/null";
	onnx_export(m, path, &(struct onnx_export_opts){0});
}

static bool has_random(struct module *m)
{
	for (node_id n = 1; n < m->nodes.n; n++)
		if (op_is(node(m, n)->op, OP_RANDOM))
			return true;
	return false;
}

static void all_orders(struct subject *s, struct module *m)
{
	struct arena a = {0};
	struct graph *g = graph(m, m->main);
	struct rng r = {.s = digest_bytes(s->name, strlen(s->name)).lo};

	s->random = has_random(m);
	s->want = ARENA_ARRAY(&a, struct tensor *, g->out.n);
	struct module *first = through_stream(m);
	infer_module(first, NULL);
	eval_graph(first, first->main, s->in, s->want, &a, NULL);
	for (int t = 0; t < times; t++) {
		struct order o = order_of(&r);
		one_order(s, m, &o, t);
	}
}

/* ---- subjects ---- */

static void run_case(const char *dir)
{
	struct arena a = {0};
	struct module *m = onnx_import(arena_printf(&a, "%s/model.onnx", dir), &(struct onnx_import_opts){.no_store = true});
	struct graph *g = graph(m, m->main);
	struct subject s = {.name = basename(xprintf("%s", dir)), .in = ARENA_ARRAY(&a, struct tensor *, g->in.n)};

	for (size_t i = 0; i < g->in.n; i++) {
		if (val(m, g->in.a[i])->type.other)
			die(EX_NOTAVAIL, "not tensors");
		s.in[i] = read_nth(dir, "input", i, &a);
		if (s.in[i] && s.in[i]->dtype == DT_U16 && val(m, g->in.a[i])->type.dtype == DT_BF16)
			s.in[i]->dtype = DT_BF16; /* as data of that time has it */
		if (!s.in[i] && val(m, g->in.a[i])->tensor) {
			s.in[i] = val(m, g->in.a[i])->tensor;
			tensor_data(m, s.in[i]);
		}
		if (!s.in[i])
			die(EX_NOTAVAIL, "no input %zu", i);
	}
	all_orders(&s, m);
}

static void run_file(const char *path)
{
	struct arena a = {0};
	struct module *m = onnx_import(path, &(struct onnx_import_opts){.no_store = true});
	struct subject s = {.name = basename(xprintf("%s", path))};
	struct input_spec spec = {.seed = 1};

	s.in = inputs_make(m, &spec, &a);
	all_orders(&s, m);
}

static bool is_unsupported(int status, const char *said) { return status == EX_NOTAVAIL || strstr(said, "the oldest this program reads"); }

static struct conformance subjects = {
	.kinds = (const char *const[]){"node", "simple", "pytorch-operator", "pytorch-converted", NULL},
	.run = run_case,
	.unsupported = is_unsupported,
	.why = "operators or types without an evaluator, sequences",
};

int main(int argc, char **argv)
{
	int c;

	msg_tool = "order";
	msg_quiet = true;
	while ((c = getopt(argc, argv, "t:x:")) != -1)
		if (c == 't')
			times = atoi(optarg);
		else if (c == 'x')
			out_dir = optarg;
		else
			return 64;
	if (optind == argc || !strstr(argv[optind], ".onnx"))
		return conformance(&subjects, argv[optind]);
	subjects.run = run_file;
	for (; optind < argc; optind++)
		fork_case(&subjects, argv[optind], argv[optind]);
	return tap_done();
}
