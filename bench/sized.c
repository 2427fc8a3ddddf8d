/* Kernels of varying sizes against those of the static build at each size.
 *
 *   build/bench/sized LAID.txt SYMBOL=N,SYMBOL=N ...     ge-dump of what ge-layout leaves; sizes, each word one setting
 *
 * Each distinct group is lowered once for all sizes, and once for each setting; both run on the same numbers, in turn. Printed: for each
 * group and setting the times of the least of some runs, in microseconds, their ratio, and how far the results are apart; at the end
 * the geometric mean of the ratios, weighted by nothing, the ratio of the sums, and the worst. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>
#include <string.h>
#include <time.h>
#include "common/msg.h"
#include "common/rng.h"
#include "common/tool.h"
#include "graph/pass.h"
#include "graph/text.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/sized.h"
#include "sched/schedule.h"
#include "../tests/run_kernel.h"

const struct tool tool;

enum { GROUPS_MAX = 256, SETTINGS_MAX = 24 };

struct group {
	node_id node;
	struct sized s;
	struct digest digest;
	int count;
	struct lowered fixed[SETTINGS_MAX];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "batch=1,seq=7": values by variable. */
static void parse(struct module *m, const char *text, int64_t *value)
{
	char *copy = xstrdup(text), *save = NULL;

	for (char *w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		char *eq = strchr(w, '=');
		if (!eq)
			die(EX_USAGE, "%s: SYMBOL=N", w);
		*eq = 0;
		for (poly_var v = 1; v <= poly_nvars(m->dims); v++)
			if (!strcmp(sym_str(poly_var_name(m->dims, v)), w))
				value[v] = atol(eq + 1);
	}
	free(copy);
}

static void set_type(struct module *m, val_id v, const int64_t *value, dim **old)
{
	struct type *t = v ? &val(m, v)->type : NULL;

	if (!t || old[v] || t->rank <= 0 || val(m, v)->kind == VAL_CONST)
		return;
	old[v] = t->dims;
	t->dims = arena_copy(&m->arena, t->dims, (size_t)t->rank * sizeof *t->dims);
	for (int d = 0; d < t->rank; d++)
		if (t->dims[d] != POLY_UNKNOWN)
			t->dims[d] = poly_const(m->dims, poly_eval(m->dims, t->dims[d], value));
}

/* The types of all values for these sizes; returns what they were. */
static dim **set_types(struct module *m, const int64_t *value)
{
	dim **old = xcalloc(m->values.n, sizeof *old);

	for (graph_id g = 1; g < m->graphs.n; g++) {
		for (size_t i = 0; i < graph(m, g)->in.n; i++)
			set_type(m, graph(m, g)->in.a[i], value, old);
		for (size_t i = 0; i < graph(m, g)->nodes.n; i++)
			for (uint32_t k = 0; k < node(m, graph(m, g)->nodes.a[i])->nout; k++)
				set_type(m, node(m, graph(m, g)->nodes.a[i])->out[k], value, old);
	}
	return old;
}

static void restore(struct module *m, dim **old)
{
	for (val_id v = 1; v < m->values.n; v++)
		if (old[v])
			val(m, v)->type.dims = old[v];
	free(old);
}

static int find_groups(struct module *m, struct group *g)
{
	const struct graph *main = graph(m, m->main);
	struct arena a = {0};
	int n = 0;

	for (size_t i = 0; i < main->nodes.n && n < GROUPS_MAX; i++) {
		node_id id = main->nodes.a[i];
		const char *why, *trace = "";
		if (strcmp(op_name(node(m, id)->op), "Fused") && strcmp(op_name(node(m, id)->op), "hone.Fused"))
			continue;
		struct group x = {.node = id, .s = lower_sized(m, id, target_host(), (struct sized_for){0}, NULL, &why), .count = 1};
		bool varies = x.s.usual;
		if (!why && varies) {
			x.digest = prog_digest(x.s.low.prog);
			for (int k = 0; k < n && varies; k++)
				if (digest_eq(g[k].digest, x.digest)) {
					g[k].count++;
					varies = false;
				}
			why = varies ? sized_schedule(&x.s, NULL, NULL, &trace) : NULL;
		}
		if (why)
			printf("%s: %s\n", node_where(m, id, &a), why);
		if (getenv("SIZED_VERBOSE") && varies)
			printf("%s\n%s\n", node_where(m, id, &a), trace);
		if (!why && varies)
			g[n++] = x;
		else
			sized_free(&x.s);
	}
	return n;
}

/* Storage for p by buffer; operands from the list. */
static void **room(struct module *m, const struct lowered *l, void *const *in, struct arena *a)
{
	struct loop_prog *p = l->prog;
	void **at = ARENA_ARRAY(a, void *, p->bufs.n);

	for (buf_id b = 1; b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(p, b);
		if (x->scope > SCOPE_OUT)
			continue;
		size_t bytes = (size_t)prog_value(p, buf_count(p, b)) * dtype_size(x->dtype);
		char *mem = arena_alloc(a, bytes + 128);
		at[b] = mem + (64 - (uintptr_t)mem % 64) % 64;
		if (x->scope == SCOPE_IN)
			memcpy(at[b], in[x->operand], bytes);
		if (x->scope == SCOPE_CONST)
			buf_pack(p, b, x->data ? x->data : tensor_data(m, val(m, l->cval[x->operand])->tensor), at[b]);
	}
	return at;
}

static void fill(enum dtype t, void *data, size_t n, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		switch (t) {
		case DT_F32: ((float *)data)[i] = (float)rng_normal(rng); break;
		case DT_I64: ((int64_t *)data)[i] = rng_range(rng, 0, 1); break;
		case DT_I32: ((int32_t *)data)[i] = (int32_t)rng_range(rng, 0, 1); break;
		default: memset((char *)data + i * dtype_size(t), (int)rng_range(rng, 0, 1), 1);
		}
}

static double least(void *lib, int i, struct loop_prog *p, void **at, double seconds)
{
	char *ws = aligned_alloc(64, (size_t)(prog_workspace(p) + 127) / 64 * 64), name[32];
	long value[LOOP_PARAMS_MAX];
	double best = INFINITY;

	for (size_t k = 0; k < p->params.n; k++)
		value[k] = p->params.a[k].value;
	snprintf(name, sizeof name, "run_k%d", i);
	void (*f)(void **, const long *, char *) = (void (*)(void **, const long *, char *))dlsym(lib, name);
	for (double start = now(); now() - start < seconds;) {
		double t = now();
		int n = 0;
		do
			f(at, value, ws), n++;
		while (now() - t < 50e-6);
		best = fmin(best, (now() - t) / n);
	}
	free(ws);
	return best;
}

static double apart(struct loop_prog *p, void **x, void **y)
{
	double worst = 0, scale = 1e-30;

	for (buf_id b = 1; b < p->bufs.n; b++) {
		if (lbuf(p, b)->scope != SCOPE_OUT || lbuf(p, b)->dtype != DT_F32)
			continue;
		const float *u = x[b], *v = y[b];
		for (int64_t i = 0, n = prog_value(p, buf_count(p, b)); i < n; i++) {
			worst = fmax(worst, u[i] == v[i] ? 0 : fabs((double)u[i] - v[i]));
			scale = fmax(scale, fabs((double)v[i]));
		}
	}
	return worst / scale;
}

int main(int argc, char **argv)
{
	static struct group g[GROUPS_MAX];
	struct loop_prog **all = xcalloc(GROUPS_MAX * SETTINGS_MAX, sizeof *all);
	double logs = 0, worst = 0, sum[2] = {0};
	int settings = argc - 2, n, count = 0, nall = 0;

	if (argc < 3 || settings > SETTINGS_MAX)
		die(EX_USAGE, "usage: sized LAID.txt SYMBOL=N,SYMBOL=N ...");
	struct text_reader *r = text_open(argv[1]);
	struct module *m = text_read(r);
	n = find_groups(m, g);
	for (int i = 0; i < n; i++)
		all[nall++] = g[i].s.low.prog;
	for (int s = 0; s < settings; s++) {
		int64_t *value = xcalloc(poly_nvars(m->dims) + 2, sizeof *value);
		parse(m, argv[2 + s], value);
		dim **old = set_types(m, value);
		for (int i = 0; i < n; i++) {
			const char *why;
			g[i].fixed[s] = lower_group(m, g[i].node, target_host(), NULL, &why);
			if (why)
				die(EX_BUG, "%s", why);
			default_schedule(g[i].fixed[s].prog);
			if ((why = loop_legalize(g[i].fixed[s].prog)))
				die(EX_BUG, "%s", why);
			all[nall++] = g[i].fixed[s].prog;
		}
		restore(m, old);
		free(value);
	}
	void *lib = compile_kernels(all, nall, target_host(), "sized");
	if (!lib)
		die(EX_BUG, "they do not compile");
	for (int i = 0; i < n; i++)
		for (int s = 0; s < settings; s++) {
			struct arena a = {0};
			struct rng rng = {7};
			struct loop_prog *p = g[i].s.low.prog, *q = g[i].fixed[s].prog;
			int64_t *value = xcalloc(poly_nvars(m->dims) + 2, sizeof *value);
			parse(m, argv[2 + s], value);
			for (size_t k = 0; k < p->params.n; k++)
				for (poly_var v = 1; v <= poly_nvars(m->dims); v++)
					if (poly_var_name(m->dims, v) == p->params.a[k].name)
						p->params.a[k].value = value[v];
			void **in = ARENA_ARRAY(&a, void *, p->bufs.n);
			for (buf_id b = 1; b < p->bufs.n; b++)
				if (lbuf(p, b)->scope == SCOPE_IN) {
					size_t elems = (size_t)prog_value(p, buf_count(p, b));
					in[lbuf(p, b)->operand] = arena_alloc(&a, elems * dtype_size(lbuf(p, b)->dtype));
					fill(lbuf(p, b)->dtype, in[lbuf(p, b)->operand], elems, &rng);
				}
			void **x = room(m, &g[i].s.low, in, &a), **y = room(m, &g[i].fixed[s], in, &a);
			double t[2] = {INFINITY, INFINITY};
			int j = n + s * n + i;
			for (int round = 0; round < 3; round++) {
				t[0] = fmin(t[0], least(lib, i, p, x, 0.01));
				t[1] = fmin(t[1], least(lib, j, q, y, 0.01));
			}
			double ratio = t[0] / t[1];
			printf("%-40.40s x%-3d %-20s %9.2f %9.2f %5.2f %.1e\n", node_where(m, g[i].node, &a), g[i].count, argv[2 + s],
			       t[0] * 1e6, t[1] * 1e6, ratio, apart(p, x, y));
			fflush(stdout);
			logs += log(ratio);
			worst = fmax(worst, ratio);
			sum[0] += t[0] * g[i].count;
			sum[1] += t[1] * g[i].count;
			count++;
			free(value);
			arena_release(&a);
		}
	printf("geomean %.3f, of the sums %.3f, worst %.2f\n", exp(logs / count), sum[0] / sum[1], worst);
	text_close(r);
	return 0;
}
