/* Groups of a graph that was scheduled: what each is predicted to take. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/json.h"
#include "common/shown.h"
#include "graph/bodies.h"
#include "graph/fused.h"
#include "ge-stat.h"

struct group {
	const char *name;
	double seconds;
};
struct groups {
	VEC(struct group) a;
	double seconds;
};

static void find_groups(struct module *m, struct groups *q)
{
	struct graph_list order = {0};

	module_graph_order(m, &order);
	for (size_t k = order.n; k-- > 0;) /* callers before callees */
		for (size_t i = 0; i < graph(m, order.a[k])->nodes.n; i++) {
			node_id id = graph(m, order.a[k])->nodes.a[i];
			const struct node *n = node(m, id);
			double seconds = n->op == OP_Fused ? fused_seconds(m, id) : 0;
			if (!(seconds > 0))
				continue;
			val_id first = n->nout ? n->out[0] : 0;
			vec_push(&q->a, (struct group){sym_str(n->name ? n->name : first ? val(m, first)->name : 0), seconds});
			q->seconds += seconds;
		}
	vec_free(&order);
}

/* The longest first; equal ones as they came. */
static int by_seconds(const void *x, const void *y)
{
	const struct group *a = *(const struct group *const *)x, *b = *(const struct group *const *)y;

	return a->seconds != b->seconds ? (a->seconds < b->seconds ? 1 : -1) : (a > b) - (a < b);
}

void print_groups(struct module *m)
{
	struct groups q = {0};

	find_groups(m, &q);
	if (q.a.n) {
		const struct group **order = xcalloc(q.a.n, sizeof *order);
		for (size_t i = 0; i < q.a.n; i++)
			order[i] = &q.a.a[i];
		qsort(order, q.a.n, sizeof *order, by_seconds);
		printf("\n%-60s %10s %7s\n", "group", "predicted", "share");
		for (size_t i = 0; i < q.a.n; i++)
			printf("%-60s %7.1f us %6.1f%%\n", shown(order[i]->name), 1e6 * order[i]->seconds,
			       100 * order[i]->seconds / q.seconds);
		printf("%-60s %7.1f us\n", "all", 1e6 * q.seconds);
		free(order);
	}
	vec_free(&q.a);
}

void print_json_groups(struct module *m)
{
	struct groups q = {0};

	find_groups(m, &q);
	for (size_t i = 0; i < q.a.n; i++) {
		printf(i ? ", {\"name\": " : ", \"groups\": [{\"name\": ");
		json_str(stdout, q.a.a[i].name);
		printf(", \"picoseconds\": %.0f, \"share\": ", 1e12 * q.a.a[i].seconds);
		json_num(stdout, round(1e4 * q.a.a[i].seconds / q.seconds) / 1e4);
		putchar('}');
	}
	if (q.a.n)
		putchar(']');
	vec_free(&q.a);
}
