/* The conformance cases of Debian's libonnx-testdata: shapes as inferred, values as evaluated. A
 * case runs in a process of its own, since a fault ends the process. HONE_ONNX_DATA: another folder
 * with such cases. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "graph/pass.h"
#include "onnx/onnx.h"
#include "op/op.h"
#include "near.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static struct tensor *read_nth(const char *dir, const char *kind, size_t i, struct arena *a)
{
	const char *path = arena_printf(a, "%s/test_data_set_0/%s_%zu.pb", dir, kind, i);

	return access(path, R_OK) ? NULL : onnx_read_tensor(path, a);
}

/* The data of that time has bfloat16 as numbers of 16 bits. */
static void fix_bf16(struct tensor *t, const struct type *want)
{
	if (t && t->dtype == DT_U16 && want->dtype == DT_BF16)
		t->dtype = DT_BF16;
}

static void unsupported(struct module *m, graph_id g)
{
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		const struct node *n = node(m, graph(m, g)->nodes.a[i]);
		if (!op_row(n->op) || !op_row(n->op)->eval)
			die(EX_NOTAVAIL, "%s", op_name(n->op));
	}
}

static void compare(struct module *m, size_t k, const struct tensor *y, const struct tensor *r)
{
	const char *name = sym_str(graph(m, m->main)->out_name.a[k]);
	struct type t = tensor_type(m, y), want = tensor_type(m, r);
	const struct type *inferred = &val(m, graph(m, m->main)->out.a[k])->type;
	int64_t c;

	if (y->dtype != r->dtype || y->rank != r->rank || memcmp(y->dims, r->dims, sizeof *r->dims * (size_t)r->rank))
		die(EX_DIFFERENT, "%s is %s, not %s", name, type_str(m, &t, &m->arena), type_str(m, &want, &m->arena));
	if (inferred->dtype != r->dtype || (inferred->rank != RANK_UNKNOWN && inferred->rank != r->rank))
		die(EX_DIFFERENT, "%s is inferred as %s, not %s", name, type_str(m, inferred, &m->arena), type_str(m, &want, &m->arena));
	for (int i = 0; i < inferred->rank; i++)
		if (poly_is_const(m->dims, inferred->dims[i], &c) && c != r->dims[i])
			die(EX_DIFFERENT, "%s is inferred as %s, not %s", name, type_str(m, inferred, &m->arena),
			    type_str(m, &want, &m->arena));
	if (!dtype_size(r->dtype) || r->dtype == DT_C64 || r->dtype == DT_C128) {
		if (y->nbytes != r->nbytes || memcmp(y->data, r->data, r->nbytes))
			die(EX_DIFFERENT, "%s has other elements", name);
		return;
	}
	for (int64_t i = 0; i < tensor_count(r); i++) {
		double a = tensor_get(y, i), b = tensor_get(r, i);
		double tolerance = r->dtype == DT_BF16 ? 0x1p-6 : r->dtype == DT_F16 ? 0x1p-9 : 1e-3; /* old data truncates to bfloat16 */
		bool same = off_by(a, b) <= (dtype_is_float(r->dtype) ? 1e-5 + tolerance * size_of(b) : 0);
		if (!same)
			die(EX_DIFFERENT, "%s[%lld] is %.9g, not %.9g", name, (long long)i, a, b);
	}
}

static void run_case(const char *dir)
{
	struct arena a = {0};
	struct module *m = onnx_import(arena_printf(&a, "%s/model.onnx", dir), &(struct onnx_import_opts){.no_store = true});
	struct graph *g = graph(m, m->main);
	struct tensor **in = ARENA_ARRAY(&a, struct tensor *, g->in.n), **out = ARENA_ARRAY(&a, struct tensor *, g->out.n);

	for (graph_id i = 1; i < m->graphs.n; i++)
		unsupported(m, i);
	for (size_t i = 0; i < g->in.n; i++) {
		if (val(m, g->in.a[i])->type.other)
			die(EX_NOTAVAIL, "not tensors");
		in[i] = read_nth(dir, "input", i, &a);
		fix_bf16(in[i], &val(m, g->in.a[i])->type);
		if (!in[i] && val(m, g->in.a[i])->tensor) {
			in[i] = val(m, g->in.a[i])->tensor;
			tensor_data(m, in[i]);
		}
		if (!in[i])
			die(EX_NOTAVAIL, "no input %zu", i);
	}
	infer_module(m, NULL);
	eval_graph(m, m->main, in, out, &a, NULL);
	for (size_t i = 0; i < g->out.n; i++) {
		struct tensor *r = read_nth(dir, "output", i, &a);
		fix_bf16(r, &val(m, g->out.a[i])->type);
		if (r)
			compare(m, i, out[i], r);
	}
}

enum { PASSED, FAILED, UNSUPPORTED };

static int fork_case(const char *dir, const char *name)
{
	char why[600] = "";
	int p[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(p) || (pid = fork()) < 0)
		die_errno(EX_SYSTEM, "fork");
	if (!pid) {
		dup2(p[1], 2);
		close(p[0]);
		run_case(dir);
		_exit(0);
	}
	close(p[1]);
	for (ssize_t n = 0, k; (k = read(p[0], why + n, sizeof why - 1 - (size_t)n)) > 0;)
		n += k;
	close(p[0]);
	waitpid(pid, &status, 0);
	why[strcspn(why, "\n")] = 0;
	bool old = strstr(why, "the oldest this program reads");
	if (WIFEXITED(status) && (WEXITSTATUS(status) == EX_NOTAVAIL || old)) {
		if (getenv("VERBOSE"))
			printf("# %s: %s\n", name, why);
		return UNSUPPORTED;
	}
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s%s%s", name, *why ? ": " : "", why);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? PASSED : FAILED;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};
	const char *data = getenv("HONE_ONNX_DATA");
	int n[3] = {0};

	msg_tool = "ops";
	if (!data)
		data = "/usr/share/libonnx-testdata/data";
	if (access(data, R_OK)) {
		skip("conformance cases", "libonnx-testdata is not installed");
		return tap_done();
	}
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		char *dir = xprintf("%s/%s", data, kinds[k]);
		struct dirent **list;
		int count = scandir(dir, &list, NULL, alphasort);
		for (int i = 0; i < count; i++)
			if (list[i]->d_name[0] != '.' && (argc < 2 || strstr(list[i]->d_name, argv[1])))
				n[fork_case(xprintf("%s/%s", dir, list[i]->d_name), list[i]->d_name)]++;
	}
	if (n[UNSUPPORTED])
		skip(xprintf("%d conformance cases", n[UNSUPPORTED]), "operators or types without an evaluator, opsets below 7");
	fprintf(stderr, "%d passed, %d failed, %d unsupported\n", n[PASSED], n[FAILED], n[UNSUPPORTED]);
	return tap_done();
}
