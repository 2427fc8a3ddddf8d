/* What is in a model: operators, parameters, work, memory. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/json.h"
#include "common/shown.h"
#include "common/tool.h"
#include "graph/bodies.h"
#include "graph/stream.h"
#include "graph/symbols.h"
#include "model/memory_plan.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "ge-stat.h"

static bool digest_only;

struct op_row_stat {
	const char *name;
	uint64_t count;
	double flops;
	bool is_open; /* some of it computes results of unknown size */
};

struct stat {
	const char *file;
	struct module *m;
	char digest[33];
	VEC(struct op_row_stat) ops; /* by name */
	uint64_t graphs, nodes, constants;
	double parameters, constant_bytes, result_bytes, flops;
	uint64_t unsized; /* nodes with a result of unknown size: what flops and result_bytes leave out */
	bool is_open;     /* some operator is */
};

static const char *optype(const struct node *n) { return n->op == OP_Foreign ? attr_s(n, "optype") : node_op_name(n); }

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct op_row_stat *)x)->name, ((const struct op_row_stat *)y)->name);
}

static struct op_row_stat *row(struct stat *s, const char *name)
{
	for (size_t i = 0; i < s->ops.n; i++)
		if (!strcmp(s->ops.a[i].name, name))
			return &s->ops.a[i];
	vec_push(&s->ops, (struct op_row_stat){.name = name});
	return &s->ops.a[s->ops.n - 1];
}

static void count_constant(struct stat *s, bool *seen, val_id v)
{
	const struct value *x = val(s->m, v);
	if (!v || seen[v] || !x->tensor)
		return;
	seen[v] = true;
	s->constants++;
	s->parameters += (double)tensor_count(x->tensor);
	s->constant_bytes += (double)x->tensor->nbytes;
}

static void count_flops(struct stat *s, struct op_row_stat *r, const struct node *n, double times)
{
	double flops = times * node_flops(s->m, n);

	r->flops += flops;
	s->flops += flops;
}

/* times: how often the graph is applied, as far as that is fixed (both branches of a choice count). */
static void count_node(struct stat *s, bool *seen, const struct node *n, double times)
{
	struct op_row_stat *r = row(s, optype(n));
	bool sized = true;
	s->nodes++;
	r->count++;
	for (uint32_t i = 0; i < n->nin; i++)
		count_constant(s, seen, n->in[i]);
	for (uint32_t i = 0; i < n->nout; i++) {
		const struct type *t = &val(s->m, n->out[i])->type;
		int64_t count = n->out[i] ? type_count(s->m, t) : 0;
		sized &= count >= 0;
		if (count > 0)
			s->result_bytes += times * (double)count * (double)dtype_size(t->dtype);
	}
	s->unsized += !sized;
	r->is_open |= !sized && !op_is(n->op, OP_MOVE);
	if (!node_body(n, 0))
		count_flops(s, r, n, times);
}

static void count_module(struct stat *s)
{
	struct module *m = s->m;
	struct graph_list order = {0};
	bool *seen = xcalloc(m->values.n, sizeof *seen);
	double *times = xcalloc(m->graphs.n, sizeof *times);
	const char **part_of = xcalloc(m->graphs.n, sizeof *part_of); /* graph: the operator of another domain that it is the meaning of */
	module_graph_order(m, &order);
	times[m->main] = 1;
	for (size_t k = order.n; k-- > 0;) { /* callers before callees */
		const struct graph *g = graph(m, order.a[k]);
		const char *whole = part_of[order.a[k]];
		for (size_t i = 0; i < g->nodes.n; i++) {
			const struct node *n = node(m, g->nodes.a[i]);
			graph_id b;
			for (uint32_t j = 0; (b = node_body(n, j)); j++) {
				times[b] += times[order.a[k]];
				part_of[b] = whole || n->op != OP_Foreign ? whole : optype(n);
			}
			if (!whole)
				count_node(s, seen, n, times[order.a[k]]);
			else if (!node_body(n, 0))
				count_flops(s, row(s, whole), n, times[order.a[k]]);
		}
		s->graphs += !whole;
		for (size_t i = 0; i < g->out.n && !whole; i++)
			count_constant(s, seen, g->out.a[i]);
	}
	for (size_t i = 0; i < graph(m, m->main)->in.n; i++)
		count_constant(s, seen, graph(m, m->main)->in.a[i]);
	for (size_t i = 0; i < s->ops.n; i++)
		s->is_open |= s->ops.a[i].is_open;
	qsort(s->ops.a, s->ops.n, sizeof *s->ops.a, by_name);
	vec_free(&order);
	free(seen);
	free(times);
	free(part_of);
}

/* The digest, which reads all bytes of the model, is of the module as it came; shapes are inferred for the counting only. */
static struct stat stat_module(struct module *m, const char *file, bool digest)
{
	struct stat s = {.m = m, .file = file ? file : m->source ? m->source : "standard input"};
	if (digest)
		digest_hex(module_digest(m), s.digest);
	if (digest_only)
		return s;
	infer_module(m, NULL);
	count_module(&s);
	return s;
}

static void stat_release(struct stat *s)
{
	vec_free(&s->ops);
	module_free(s->m);
}

/* 4.09 G */
static const char *si(double v, const char *unit, char out[32])
{
	static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
	int i = 0;
	for (; i < 5 && v >= 999.5; i++)
		v /= 1000;
	snprintf(out, 32, "%.*f %s%s", i == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, prefix[i], unit);
	if (!prefix[i][0] && !*unit)
		out[strlen(out) - 1] = 0;
	return out;
}

/* A number that leaves out what is open: "?", "4.09 G + ?". */
static const char *at_least(double v, const char *unit, bool is_open, char out[32])
{
	if (is_open && v <= 0)
		return "?";
	si(v, unit, out);
	return is_open ? strcat(out, " + ?") : out;
}

/* The opset of the file that the module came from; what is here is of the canonical one. */
static int64_t opset_of(const struct module *m)
{
	const char *s = module_meta(m, "opset:ai.onnx");

	return s ? strtoll(s, NULL, 10) : m->opset;
}

static void print_ends(const struct stat *s, bool inputs)
{
	struct arena a = {0};
	const struct graph *g = graph(s->m, s->m->main);
	size_t n = inputs ? g->in.n : g->out.n;
	for (size_t i = 0; i < n; i++) {
		const struct value *v = val(s->m, inputs ? g->in.a[i] : g->out.a[i]);
		printf("%-12s %s %s%s\n",
		       i        ? ""
		       : inputs ? "inputs"
				: "outputs",
		       shown(sym_str(inputs ? v->name : g->out_name.a[i])), type_str(s->m, &v->type, &a),
		       v->overridable ? " (has a default)" : "");
	}
	arena_release(&a);
}

/* What ge-plan left in the module; false: it was not planned. */
struct plan_stat {
	double bytes, values, bound;
};

static bool read_plan(struct module *m, struct plan_stat *p)
{
	const struct {
		const char *key;
		double *v;
	} keys[] = {{PLAN_BYTES, &p->bytes}, {PLAN_VALUES, &p->values}, {PLAN_BOUND, &p->bound}};
	size_t found = 0;

	for (size_t i = 0; i < m->meta.n; i++)
		for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
			if (!strcmp(sym_str(m->meta.a[i].key), keys[k].key)) {
				*keys[k].v = strtod(sym_str(m->meta.a[i].value), NULL);
				found++;
			}
	return found == sizeof keys / sizeof *keys;
}

static void print_plan(const struct stat *s)
{
	struct plan_stat p;
	char b[32];

	if (!read_plan(s->m, &p))
		return;
	printf("%-28s %19s\n", "arena", si(p.bytes, "B", b));
	printf("%-28s %19s", "  of values", si(p.values, "B", b));
	if (p.bound > 0)
		printf(", %.4f of what is alive at one time", p.values / p.bound);
	printf("\n%-28s %19s\n", "  of workspaces alone", si(p.bytes - p.values, "B", b));
}

/* ---- sizes that vary ---- */

/* The symbols of the main graph's inputs first, by name; *given: how many these are. Then those that only a run finds. */
static struct symbols open_symbols(struct module *m, size_t *given)
{
	const struct graph *g = graph(m, m->main);
	struct symbols s = {0};

	for (size_t i = 0; i < g->in.n; i++)
		symbols_mark(&s, m, &val(m, g->in.a[i])->type);
	*given = s.list.n;
	symbols_sort(&s, m);
	symbols_mark_module(&s, m);
	return s;
}

static void print_open(const struct stat *s)
{
	struct polys *P = s->m->dims;
	struct arena a = {0};
	int64_t lo, hi;
	size_t given;
	struct symbols all = open_symbols(s->m, &given);

	for (size_t i = 0; i < given; i++) {
		poly_var v = all.list.a[i];
		poly_var_range(P, v, &lo, &hi);
		printf("%-12s %s %" PRId64, i ? "" : "sizes", poly_str(P, poly_of(P, v), &a), lo);
		printf(hi == POLY_INF ? " or more" : " to %" PRId64, hi);
		printf(poly_var_divisor(P, v) > 1 ? ", a multiple of %" PRId64 "\n" : "\n", poly_var_divisor(P, v));
	}
	if (all.list.n > given)
		printf("%-12s %zu that only a run finds\n", given ? "" : "sizes", all.list.n - given);
	struct step_counts n;
	if (plan_steps(s->m, &n))
		printf("%-12s %u on kernels, %u of them for all sizes, %u with others for some sizes, %u in plainer loops\n%-12s "
		       "%u native, %u on the slow path, %u branches and loops\n",
		       "steps", n.kernels, n.open, n.versions, n.plain, "", n.native, n.slow, n.flow);
	symbols_free(&all);
	arena_release(&a);
}

static void print_json_open(const struct stat *s)
{
	struct polys *P = s->m->dims;
	int64_t lo, hi;
	size_t given;
	struct symbols all = open_symbols(s->m, &given);

	printf(", \"sizes\": [");
	for (size_t i = 0; i < given; i++) {
		poly_var_range(P, all.list.a[i], &lo, &hi);
		printf("%s{\"name\": ", i ? ", " : "");
		json_str(stdout, sym_str(poly_var_name(P, all.list.a[i])));
		printf(", \"least\": %" PRId64 ", \"most\": ", lo);
		printf(hi == POLY_INF ? "null" : "%" PRId64, hi);
		printf(", \"multiple\": %" PRId64 "}", poly_var_divisor(P, all.list.a[i]));
	}
	printf("], \"sizes_found\": %zu", all.list.n - given);
	struct step_counts n;
	if (plan_steps(s->m, &n))
		printf(", \"steps\": {\"kernels\": %u, \"open\": %u, \"versions\": %u, \"plain\": %u, \"native\": %u, \"slow\": %u, \"flow\": %u}",
		       n.kernels, n.open, n.versions, n.plain, n.native, n.slow, n.flow);
	symbols_free(&all);
}

/* Which measured rates the tool of a line of provenance chose by; NULL: it asked for none. */
static const char *rates_of(const char *line)
{
	const char *last = strrchr(line, ' ');

	return last && !strncmp(last, " rates=", 7) ? last + 7 : NULL;
}

/* Those of the last tool that asked for some, "" if none did. */
static const char *last_rates(const struct module *m)
{
	const char *rates = "";

	for (size_t i = 0; i < m->provenance.n; i++)
		rates = rates_of(m->provenance.a[i]) ? rates_of(m->provenance.a[i]) : rates;
	return rates;
}

/* A line for each change from one tool to the next. */
static void print_rates(const struct module *m)
{
	const char *before = "";

	for (size_t i = 0; i < m->provenance.n; i++) {
		const char *line = m->provenance.a[i], *rates = rates_of(line);
		if (!rates || !strcmp(rates, before))
			continue;
		printf("%-12s %s, from %.*s on\n", *before ? "" : "rates", shown(rates), (int)strcspn(line, " "), line);
		before = rates;
	}
}

static void print_text(const struct stat *s)
{
	char b[32];
	printf("%s: %" PRIu64 " nodes, opset %" PRId64 ", digest %s\n", shown(s->file), s->nodes, opset_of(s->m), s->digest);
	print_ends(s, true);
	print_ends(s, false);
	print_open(s);
	print_rates(s->m);
	printf("\n%-28s %8s %10s %7s\n", "operator", "nodes", "FLOPs", "share");
	for (size_t i = 0; i < s->ops.n; i++) {
		const struct op_row_stat *r = &s->ops.a[i];
		printf("%-28s %8" PRIu64 " %10s", shown(r->name), r->count, at_least(r->flops, "", r->is_open, b));
		if (s->flops > 0 && !s->is_open)
			printf(" %6.1f%%", 100 * r->flops / s->flops);
		putchar('\n');
	}
	printf("%-28s %8" PRIu64 " %10s\n\n", "all", s->nodes, at_least(s->flops, "", s->is_open, b));
	printf("%-28s %8" PRIu64 "\n", "graphs", s->graphs);
	printf("%-28s %8" PRIu64 " %10s\n", "constants", s->constants, si(s->constant_bytes, "B", b));
	printf("%-28s %19s\n", "parameters", si(s->parameters, "", b));
	printf("%-28s %19s\n", "results of nodes", at_least(s->result_bytes, "B", s->unsized, b));
	print_plan(s);
	if (s->unsized)
		printf("%" PRIu64 " nodes have results of unknown size, which FLOPs and results leave out; ge-shape --set\n", s->unsized);
	print_groups(s->m);
}

static void print_json_ends(const struct stat *s, bool inputs)
{
	struct arena a = {0};
	const struct graph *g = graph(s->m, s->m->main);
	size_t n = inputs ? g->in.n : g->out.n;
	printf("\"%s\": [", inputs ? "inputs" : "outputs");
	for (size_t i = 0; i < n; i++) {
		const struct value *v = val(s->m, inputs ? g->in.a[i] : g->out.a[i]);
		printf("%s{\"name\": ", i ? ", " : "");
		json_str(stdout, sym_str(inputs ? v->name : g->out_name.a[i]));
		printf(", \"type\": ");
		json_str(stdout, type_str(s->m, &v->type, &a));
		putchar('}');
	}
	printf("], ");
	arena_release(&a);
}

static void print_json(const struct stat *s)
{
	printf("{\"file\": ");
	json_str(stdout, s->file);
	printf(", \"digest\": \"%s\", \"opset\": %" PRId64 ", ", s->digest, opset_of(s->m));
	print_json_ends(s, true);
	print_json_ends(s, false);
	printf("\"operators\": {");
	for (size_t i = 0; i < s->ops.n; i++) {
		printf("%s", i ? ", " : "");
		json_str(stdout, s->ops.a[i].name);
		printf(": {\"nodes\": %" PRIu64 ", \"flops\": ", s->ops.a[i].count);
		json_num(stdout, s->ops.a[i].flops);
		putchar('}');
	}
	printf("}, \"nodes\": %" PRIu64 ", \"graphs\": %" PRIu64 ", \"constants\": %" PRIu64, s->nodes, s->graphs, s->constants);
	const struct {
		const char *name;
		double v;
	} numbers[] = {
		{"parameters", s->parameters}, {"constant_bytes", s->constant_bytes}, {"result_bytes", s->result_bytes},
		{"flops", s->flops},           {"unsized_nodes", (double)s->unsized},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		printf(", \"%s\": ", numbers[i].name);
		json_num(stdout, numbers[i].v);
	}
	struct plan_stat p;
	if (read_plan(s->m, &p))
		printf(", \"arena\": {\"bytes\": %.0f, \"values\": %.0f, \"bound\": %.0f}", p.bytes, p.values, p.bound);
	printf(", \"rates\": ");
	json_str(stdout, last_rates(s->m));
	print_json_open(s);
	print_json_groups(s->m);
	printf("}\n");
}

/* Operators of both, merged by name; the totals below. */
static void compare(const struct stat *a, const struct stat *b)
{
	size_t i = 0, j = 0;
	char x[32], y[32];
	printf("%-28s %12s %12s %8s\n", "operator", "first", "second", "change");
	while (i < a->ops.n || j < b->ops.n) {
		int c = i == a->ops.n ? 1 : j == b->ops.n ? -1 : strcmp(a->ops.a[i].name, b->ops.a[j].name);
		int64_t n = c <= 0 ? (int64_t)a->ops.a[i].count : 0, m = c >= 0 ? (int64_t)b->ops.a[j].count : 0;
		const char *name = shown(c <= 0 ? a->ops.a[i].name : b->ops.a[j].name);
		printf(m == n ? "%-28s %12" PRId64 " %12" PRId64 "\n" : "%-28s %12" PRId64 " %12" PRId64 " %+8" PRId64 "\n", name, n, m,
		       m - n);
		i += c <= 0;
		j += c >= 0;
	}
	printf("%-28s %12" PRIu64 " %12" PRIu64 " %+8" PRId64 "\n\n", "all", a->nodes, b->nodes, (int64_t)(b->nodes - a->nodes));
	const struct {
		const char *name, *unit;
		double a, b;
		bool is_open, is_open_b; /* sizes that are not known are left out */
	} rows[] = {
		{"constants", "", (double)a->constants, (double)b->constants, false, false},
		{"bytes of constants", "B", a->constant_bytes, b->constant_bytes, false, false},
		{"parameters", "", a->parameters, b->parameters, false, false},
		{"bytes of results", "B", a->result_bytes, b->result_bytes, a->unsized, b->unsized},
		{"FLOPs", "", a->flops, b->flops, a->is_open, b->is_open},
	};
	for (i = 0; i < sizeof rows / sizeof *rows; i++) {
		printf("%-28s %12s %12s", rows[i].name, at_least(rows[i].a, rows[i].unit, rows[i].is_open, x),
		       at_least(rows[i].b, rows[i].unit, rows[i].is_open_b, y));
		if (!rows[i].is_open && !rows[i].is_open_b && rows[i].a > 0 && rows[i].a != rows[i].b)
			printf(" %+7.1f%%", 100 * (rows[i].b - rows[i].a) / rows[i].a);
		putchar('\n');
	}
	if (strcmp(last_rates(a->m), last_rates(b->m)))
		printf("the rates differ: %s, %s\n", *last_rates(a->m) ? shown(last_rates(a->m)) : "none",
		       *last_rates(b->m) ? shown(last_rates(b->m)) : "none");
	if (*a->digest && !strcmp(a->digest, b->digest))
		printf("the graphs are the same\n");
	else if (!msg_quiet)
		printf("the graphs differ\n");
}

static void print_one(struct module *m, const char *file, bool json)
{
	struct stat s = stat_module(m, file, true);
	if (digest_only)
		printf("%s\n", s.digest);
	else if (json)
		print_json(&s);
	else
		print_text(&s);
	stat_release(&s);
}

static size_t count_nodes(struct module *m)
{
	struct graph_list order = {0};
	size_t n = 0;
	module_graph_order(m, &order);
	for (size_t i = 0; i < order.n; i++)
		n += graph(m, order.a[i])->nodes.n;
	vec_free(&order);
	return n;
}

/* Only graphs of as many nodes can be the same. */
static int compare_files(char *const *file)
{
	struct module *m[2] = {module_read_whole(file[0]), module_read_whole(file[1])};
	bool alike = count_nodes(m[0]) == count_nodes(m[1]);
	struct stat x = stat_module(m[0], file[0], alike), y = stat_module(m[1], file[1], alike);
	compare(&x, &y);
	stat_release(&x);
	stat_release(&y);
	return EX_GOOD;
}

static int run(const struct tool *t, struct tool_args *a)
{
	if (a->nfile == 2 && !digest_only && !a->json)
		return compare_files(a->file);
	for (int i = 0; i < (a->nfile ? a->nfile : 1); i++) {
		const char *path = a->nfile ? a->file[i] : NULL;
		if (path && onnx_is_path(path)) {
			print_one(module_read_whole(path), path, a->json);
			continue;
		}
		if (path && !digest_only && print_library(path, a->json))
			continue;
		struct stream_reader *r = stream_open(path);
		VEC(struct module *) all = {0};
		for (struct module *m; (m = stream_read(r));)
			vec_push(&all, m);
		stream_close(r);
		for (size_t k = 0; k < all.n; k++) {
			module_verify_or_die(all.a[k]);
			print_one(all.a[k], path, a->json);
		}
		vec_free(&all);
	}
	return EX_GOOD;
}

enum { KEY_DIGEST = 'd' };
static const struct argp_option options[] = {
	{"digest", KEY_DIGEST, 0, 0, "print the body digest only: equal for equal graphs, whatever tools they came through", 0},
	{0},
};

static error_t option(int key, char *arg)
{
	if (key != KEY_DIGEST)
		return ARGP_ERR_UNKNOWN;
	digest_only = true;
	return 0;
}

const struct tool tool = {
	.name = "ge-stat",
	.summary = "Count what a model is made of: operators, parameters, FLOPs, bytes.",
	.args_doc = "[FILE [FILE]]",
	.more = "FILE is a graph stream or an ONNX model, or a library for several targets. With two, they are compared.",
	.flags = TOOL_JSON | TOOL_IN_STREAM,
	.max_files = 2,
	.options = options,
	.option = option,
	.run = run,
};
