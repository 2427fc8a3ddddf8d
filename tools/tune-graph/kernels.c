/* The kernels that groups become: what a record says of them, so that it is known when they were tuned since. */
#include <math.h>
#include <string.h>
#include "graph/fused.h"
#include "graph/stream.h"
#include "op/task.h"
#include "tune-graph.h"

void kernels_read(const char *path, struct kernels *out, struct arena *a)
{
	struct stream_reader *r = stream_open(path);
	struct module *m = stream_read_only(r);
	struct task_list l = {0};
	struct arena texts = {0};

	*out = (struct kernels){0};
	task_list_make(&l, m, &texts);
	for (size_t i = 0; i < l.n; i++) {
		node_id n = l.a[i].node[0];
		const char *trace = attr_str(node(m, n), "trace", NULL);
		double seconds = l.a[i].count * fused_seconds(m, n);
		vec_reserve(out, out->n + 1);
		out->a[out->n].task = arena_str(a, l.a[i].text);
		out->a[out->n].trace = trace ? arena_str(a, trace) : NULL;
		out->a[out->n++].seconds = seconds;
		out->seconds += seconds;
	}
	task_list_free(&l);
	arena_release(&texts);
	module_free(m);
	stream_close(r);
}

const char *kernels_text(const struct kernels *x, const struct kernels *y, double whole, struct arena *a)
{
	const char *text = "";

	for (size_t i = 0; i < x->n && whole > 0; i++) {
		double seconds = x->a[i].seconds;
		for (size_t k = 0; k < y->n; k++)
			seconds -= strcmp(x->a[i].task, y->a[k].task) ? 0 : y->a[k].seconds;
		if (seconds > 0 && isfinite(seconds))
			text = arena_printf(a, "%s%s%s", text, *text ? " " : "",
					    kb_kernel_text(seconds / whole, x->a[i].task, x->a[i].trace, a));
	}
	return text;
}
