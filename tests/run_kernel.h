/* For tests that compile kernels and run them. */
#ifndef HONE_RUN_KERNEL_H
#define HONE_RUN_KERNEL_H
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "loop/loop.h"
#include "lower/lower.h"
#include "op/op.h"
#include "target/target.h"

/* C behind that of kernel `name`, a function of one type that calls it, with data by buffer, parameters, workspace. */
__attribute__((unused)) static void put_runner(FILE *f, struct loop_prog *p, const char *name)
{
	fprintf(f, "void run_%s(void **data, const long *p, char *ws)\n{\n\t%s(", name, name);
	for (enum scope s = SCOPE_IN; s <= SCOPE_OUT; s++)
		for (buf_id b = 1; b < p->bufs.n; b++)
			if (lbuf(p, b)->scope == s)
				fprintf(f, "data[%u], ", b);
	fprintf(f, "%sws%s);\n}\n", p->params.n ? "p, " : "", emit_starts_team(p) ? ", 0" : "");
}

/* Not clang 14, where a task needs _Float16: it has that type on few machines. */
__attribute__((unused)) static bool compiler_takes(const char *task)
{
	return !strstr(target_compiler_version(NULL), "lang") || !(strstr(task, "f16") || strstr(task, "to=10"));
}

/* Options of the compiler after those of the target. */
__attribute__((unused)) static const char *compile_more = "";

/* NAME.c as ./NAME.so, for t, loaded; NULL: it does not compile. */
__attribute__((unused)) static void *compile_library(const char *name, const struct target *t)
{
	char *path = xprintf("./%s.so", name);
	char *command =
		xprintf("%s %s %s -w -shared -fPIC -o %s %s.c -lm", target_compiler(NULL), target_cflags(t), compile_more, path, name);
	void *lib = system(command) ? NULL : dlopen(path, RTLD_NOW);

	free(command);
	free(path);
	return lib;
}

/* A team that is one thread: it does the shares of all, the last one first. */
__attribute__((unused)) static void put_team(FILE *f, int threads)
{
	emit_team_prelude(f, "static", false);
	fprintf(f,
		"static void team_run(struct team *team, void (*work)(void *, long, long, int), void *args, long n)\n{\n"
		"\tfor (int t = %d; t-- > 0;)\n\t\twork(args, n * t / %d, n * (t + 1) / %d, t);\n}\n",
		threads, threads, threads);
}

/* The programs as kernels k0, k1, ..., each with its runner, in NAME.c. */
static void write_kernels(struct loop_prog *const *p, int n, const char *name)
{
	char kernel[32], *path = xprintf("%s.c", name);
	FILE *f = fopen(path, "w");

	emit_prelude(f, p, n, NULL, 0);
	for (int i = 0, teams = 0; i < n; i++)
		if (emit_starts_team(p[i]) && !teams++)
			put_team(f, p[i]->threads);
	for (int i = 0; i < n; i++) {
		snprintf(kernel, sizeof kernel, "k%d", i);
		emit_kernel(f, p[i], kernel);
		put_runner(f, p[i], kernel);
	}
	fclose(f);
	free(path);
}

/* They are written so, and loaded as above. */
__attribute__((unused)) static void *compile_kernels(struct loop_prog *const *p, int n, const struct target *t, const char *name)
{
	write_kernels(p, n, name);
	return compile_library(name, t);
}

/* Kernel i of these, of program p. */
__attribute__((unused)) static void run_kernel(void *lib, int i, struct loop_prog *p, void **at)
{
	char *ws = aligned_alloc(64, (size_t)(prog_workspace(p) + 127) / 64 * 64), name[32];
	long value[LOOP_PARAMS_MAX];

	snprintf(name, sizeof name, "run_k%d", i);
	for (size_t k = 0; k < p->params.n; k++)
		value[k] = p->params.a[k].value;
	((void (*)(void **, const long *, char *))dlsym(lib, name))(at, value, ws);
	free(ws);
}

/* Storage by buffer for a kernel of m's group: what goes in, and room for what comes out. */
__attribute__((unused)) static void **storage(struct module *m, struct tensor *const *in, const struct lowered *l, struct arena *a)
{
	struct loop_prog *p = l->prog;
	void **at = ARENA_ARRAY(a, void *, p->bufs.n);

	for (buf_id b = 1; b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(p, b);
		size_t bytes = (size_t)buf_elems(p, b) * dtype_size(x->dtype);
		if (x->scope == SCOPE_IN) {
			at[b] = (void *)in[x->operand]->data;
			if (x->layout.n) {
				void *laid = arena_alloc(a, bytes);
				buf_pack(p, b, at[b], laid);
				at[b] = laid;
			}
		}
		if (x->scope == SCOPE_CONST) {
			at[b] = arena_alloc(a, bytes);
			buf_pack(p, b, x->data ? x->data : tensor_data(m, val(m, l->cval[x->operand])->tensor), at[b]);
		}
		if (x->scope == SCOPE_OUT)
			at[b] = memset(arena_alloc(a, bytes), 0x5a, bytes);
	}
	return at;
}
#endif
