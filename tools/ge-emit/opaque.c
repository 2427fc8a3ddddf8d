/* Calls without a kernel: what the evaluator needs to know of them, and where it is. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "ge-emit.h"
#include "graph/stream.h"

/* A copy of a Fused node of the main graph in graph g: an input of g each time a value is read. */
static void copy_call(struct module *m, graph_id g, node_id id)
{
	struct node n = *node(m, id);
	val_id *in = ARENA_ARRAY(&m->arena, val_id, n.nin);

	for (uint32_t i = 0; i < n.nin; i++)
		in[i] = val(m, n.in[i])->kind == VAL_CONST ? n.in[i] : graph_add_input(m, g, 0, val(m, n.in[i])->type);
	node_id copy = node_new(m, g, n.op, (int)n.nin, in, (int)n.nout);
	node(m, copy)->name = n.name;
	for (uint32_t k = 0; k < n.nout; k++) {
		val(m, node(m, copy)->out[k])->name = val(m, n.out[k])->name;
		val(m, node(m, copy)->out[k])->type = val(m, n.out[k])->type;
	}
	attr_set_graph(m, copy, "graph", attr_graph(&n, "graph"));
}

char *opaque_stream(struct model *M, size_t *n)
{
	struct module *m = M->m;
	graph_id whole = m->main, g = graph_new(m, graph(m, whole)->name);
	size_t nmeta = m->meta.n, nprovenance = m->provenance.n;
	char *bytes;

	for (uint32_t c = 0; c < M->calls.n; c++)
		if (M->calls.a[c].kernel == KERNEL_OPAQUE)
			copy_call(m, g, M->calls.a[c].node);
	m->main = g;
	m->meta.n = m->provenance.n = 0;
	bytes = stream_bytes(m, true, n);
	m->main = whole;
	m->meta.n = nmeta;
	m->provenance.n = nprovenance;
	return bytes;
}

char *opaque_archive(void)
{
	static const char *const places[] = {"../build", "../../lib/hone", "../lib/hone"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		die_errno(EX_SYSTEM, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *path = xprintf("%s/%s/libhone_eval.a", self, places[i]);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	die(EX_NOTAVAIL, "libhone_eval.a, which the slow path needs, is not in %s/../build nor in %s/../../lib/hone", self, self);
}
