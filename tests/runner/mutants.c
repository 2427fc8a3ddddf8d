/* Emitted kernels with one thing wrong each: the runner finds all of them out. mutants [N [SEED]]: N mutants (60) over the
 * tasks below. What passes is compared with the kernel it was made from: on many inputs, also such where few elements dwarf
 * the others, then with each element of each operand in turn far larger than all others, so that whatever it reaches shows.
 * Those that are equal but for rounding are none. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/rng.h"
#include "runner/runner.h"
#include "target/target.h"
#include "model/candidate.h"
#include "op/task.h"
#include "near.h"
#include "candidate_bufs.h"
#include "tap.h"

static const char *const tasks[] = {
	"Gemm f32 30x65 65x50c 50c",
	"Conv{pads=1,1,1,1} f32 1x5x11x11 18x5x3x3c 18c; Relu %0",
	"MaxPool{kernel_shape=3,3 pads=1,1,1,1 strides=2,2} f32 1x7x15x15",
	"Softmax f32 9x103",
	"Add f32 3x5x13 13c; Sigmoid %0",
	"ReduceMean f32 10x77 i64=1",
	"Softmax{axis=1} f32 4x21x9",
	"MatMul f32 7x33 33x20; Softmax %0",
	"ReduceMin f32 3x6x11 i64=0,2",
	"LayerNormalization f32 5x45 45c 45c",
};
enum { TASKS = sizeof tasks / sizeof *tasks, KINDS = 10, INPUTS = 100 };

static struct arena arena;
static struct runner *runner;
static struct rng rng = {1};

/* ---- mutation ---- */

/* A place in s where pattern is, chosen at random; NULL: it is nowhere. */
static char *somewhere(char *s, const char *pattern)
{
	char *found = NULL, *p = s;

	for (int n = 1; (p = strstr(p, pattern)); p++, n++)
		if (rng_range(&rng, 1, n) == 1)
			found = p;
	return found;
}

/* s with the n bytes at p replaced. */
static const char *replaced(const char *s, const char *p, size_t n, const char *by)
{
	return arena_printf(&arena, "%.*s%s%s", (int)(p - s), s, by, p + n);
}

/* The first number behind p, by more. */
static const char *shifted(const char *s, const char *p, long by)
{
	while (*p && *p != '\n' && !isdigit((unsigned char)*p))
		p++;
	if (!isdigit((unsigned char)*p))
		return NULL;
	char *end;
	long v = strtol(p, &end, 10);
	return replaced(s, p, (size_t)(end - p), arena_printf(&arena, "%ld", v + by));
}

/* A statement of the kernel as a line: its begin. */
static char *statement(char *kernel)
{
	char *p;

	for (int i = 0; i < 100; i++) {
		if (!(p = somewhere(kernel, ";\n")))
			return NULL;
		while (p > kernel && p[-1] != '\n')
			p--;
		const char *text = p + strspn(p, "\t"), *end = strchr(p, '\n'), *set = strstr(p, " += ");
		if (!set || set > end)
			set = strstr(p, " = ");
		bool declares = !strncmp(text, "vf ", 3) || !strncmp(text, "const ", 6) || !strncmp(text, "float ", 6) ||
				!strncmp(text, "long ", 5);
		if (!strncmp(text, "vstore", 6) || (set && set < end && !declares))
			return p;
	}
	return NULL;
}

static const char *hook(const char *s, const char *before, const char *after)
{
	const char *p = strstr(s, "\n\tkernel(");
	const char *end = strchr(p + 2, '\n');

	return arena_printf(&arena, "%.*s\n\t%s%.*s\n\t%s%s", (int)(p - s), s, before, (int)(end - p), p, after, end);
}

/* One thing wrong; NULL: this kernel has no place for it. */
static const char *mutate(const char *source, int kind, int64_t out_elems, const char **what)
{
	static const char *const kinds[KINDS] = {"bound less",
						 "bound more",
						 "begin later",
						 "index off by one",
						 "statement dropped",
						 "constant changed",
						 "set, not added",
						 "wrong on the second call",
						 "NaN",
						 "early exit"};
	char *s = arena_str(&arena, source), *kernel = strstr(s, "static void kernel("), *p;

	*what = kinds[kind];
	switch (kind) {
	case 0: return (p = somewhere(kernel, " < ")) ? shifted(s, p, -1) : NULL;
	case 1: return (p = somewhere(kernel, " < ")) ? shifted(s, p, 1) : NULL;
	case 2: return (p = somewhere(kernel, " = 0; ")) ? replaced(s, p, 6, " = 1; ") : NULL;
	case 3: return (p = somewhere(kernel, " + ")) && isdigit((unsigned char)p[3]) ? shifted(s, p, 1) : NULL;
	case 4: return (p = statement(kernel)) ? replaced(s, p, strcspn(p, "\n"), ";") : NULL;
	case 5: return (p = somewhere(kernel, ".0f")) ? replaced(s, p, 3, ".25f") : NULL;
	case 6: return (p = somewhere(kernel, " += ")) ? replaced(s, p, 4, " = ") : NULL;
	case 7: return hook(s, "static int calls;\n\tif (calls++ == 1)\n\t\treturn;", "");
	case 8:
		return hook(s, "",
			    arena_printf(&arena, "((float *)out[0])[%lld] = __builtin_nanf(\"\");",
					 (long long)rng_range(&rng, 0, out_elems - 1)));
	default:
		if (!(p = statement(kernel)))
			return NULL;
		return replaced(s, p, 0, "return;\n");
	}
}

/* ---- are they equal? ---- */

typedef void function(const void *const *in, const void *const *constants, void *const *out, char *workspace);

static function *compiled(const char *source, const char *name)
{
	char *path = arena_printf(&arena, "./%s.so", name), *c = arena_printf(&arena, "./%s.c", name);
	FILE *f = fopen(c, "w");

	if (!f || fputs(source, f) < 0 || fclose(f))
		return NULL;
	unlink(path);
	char *command =
		arena_printf(&arena, "%s %s -w -fPIC -shared -o %s %s -lm", target_compiler(NULL), target_cflags(target_host()), path, c);
	void *so = system(command) == 0 ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	return so ? (function *)dlsym(so, "hone_kernel") : NULL;
}

/* Normal, or with a few elements that dwarf the others. */
static void fill(float *p, int64_t n, bool adversarial)
{
	for (int64_t i = 0; i < n; i++)
		p[i] = (float)(rng_normal(&rng) * (adversarial ? exp2(10 * rng_unit(&rng) * rng_unit(&rng)) : 1));
}

/* The same, and where *outlier is an element of it (moved on by n), that one is large. */
static void fill_but(float *p, int64_t n, bool adversarial, int64_t *outlier)
{
	fill(p, n, adversarial);
	if (*outlier >= 0 && *outlier < n)
		p[*outlier] = 1000;
	*outlier -= n;
}

/* But for rounding. */
static bool alike(const float *a, const float *b, int64_t n)
{
	double most = 0;

	for (int64_t i = 0; i < n; i++)
		most = fmax(most, size_of(a[i]));
	for (int64_t i = 0; i < n; i++)
		if (off_by(b[i], a[i]) > 1e-5 * most)
			return false;
	return true;
}

/* In a process of its own: 0 if all results are equal. */
static int compare(const struct candidate *c, const char *mutant, int number)
{
	function *f = compiled(c->source, arena_printf(&arena, "plain-%d", number)),
		 *g = compiled(mutant, arena_printf(&arena, "mutant-%d", number));
	enum { MARGIN = 4096 };
	float *in[8], *constant[8], *out[2];
	char *workspace = aligned_alloc(64, (size_t)(c->workspace + 2 * MARGIN) / 64 * 64);

	if (!f || !g)
		return 2;
	for (int i = 0; i < c->nin; i++)
		in[i] = (float *)aligned_alloc(64, (size_t)(c->in[i].elems + MARGIN) / 16 * 64) + 512;
	for (int i = 0; i < c->nconst; i++)
		constant[i] = (float *)aligned_alloc(64, (size_t)(c->constant[i].elems + MARGIN) / 16 * 64) + 512;
	for (int k = 0; k < 2; k++)
		out[k] = (float *)aligned_alloc(64, (size_t)(c->out[0].elems + MARGIN) / 16 * 64) + 512;
	int64_t operands = 0;
	for (int i = 0; i < c->nin + c->nconst; i++)
		operands += i < c->nin ? c->in[i].elems : c->constant[i - c->nin].elems;
	for (int64_t run = 0; run < INPUTS + operands; run++) {
		int64_t outlier = run - INPUTS; /* from 0: the number of one element */
		for (int i = 0; i < c->nin; i++)
			fill_but(in[i], c->in[i].elems, run < INPUTS && run % 2, &outlier);
		for (int i = 0; i < c->nconst; i++)
			fill_but(constant[i], c->constant[i].elems, false, &outlier);
		for (int k = 0; k < 2; k++) {
			fill(out[k], c->out[0].elems, false);
			fill((float *)workspace, c->workspace / 4, false);
			(k ? g : f)((const void *const *)in, (const void *const *)constant, (void *const *)&out[k], workspace);
		}
		if (!alike(out[0], out[1], c->out[0].elems))
			return 1;
	}
	return 0;
}

static bool equal(const struct candidate *c, const char *mutant, int number)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(compare(c, mutant, number));
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* ---- the runner's answers ---- */

struct kernel {
	struct candidate *c;
	struct runner_buf *buf;
	struct digest task, base;
};
struct mutant {
	struct kernel *k;
	const char *source, *what, *said;
	uint64_t id;
	enum verdict verdict;
};

static struct runner_answer next(void)
{
	struct runner_answer x;

	if (runner_wait(&runner, 1, 60, &arena, &x) < 0)
		x = (struct runner_answer){.ended = true, .why = "no answer"};
	if (x.ended) {
		printf("not ok - %s\n", x.why);
		exit(1);
	}
	return x;
}

static uint64_t build(struct kernel *k, const char *source)
{
	struct runner_build b = {source, strlen(source), NULL, k->c->workspace, k->c->nin, k->c->nconst, k->c->nout, k->buf};

	return runner_build(runner, k->task, &b);
}

static bool open_kernel(struct kernel *k, const char *text)
{
	const char *why;
	struct module *m = task_module(text, 1, &arena, &why);

	if (!m || !(k->c = candidate_new(m, task_node(m), target_host(), NULL, false, &why)))
		return ok(0, "%s: %s", text, why);
	const struct candidate *c = k->c;
	k->buf = candidate_bufs(c, &arena);
	runner_task(runner, text);
	k->task = next().digest;
	build(k, c->source);
	k->base = next().digest;
	runner_try(runner, &(struct runner_try){.task = k->task, .artifact = k->base, .base = k->base, .budget = 0.05, .seed = 1});
	struct runner_answer x = next();
	bool good =
		!x.error && x.result.verdict != VERDICT_WRONG && x.result.verdict != VERDICT_CRASH && x.result.verdict != VERDICT_TIMEOUT;
	return ok(good, "%s: %s%s%s", text, x.error ? "error" : verdict_name(x.result.verdict), x.why ? ": " : "", x.why ? x.why : "");
}

static int make_mutants(struct kernel *k, struct mutant *m, int n)
{
	int made = 0;

	for (int i = 0; made < n && i < 20 * n; i++) {
		struct mutant x = {.k = &k[i % TASKS]};
		int kind = i / TASKS % KINDS;
		bool known = false;
		if (!x.k->c || !(x.source = mutate(x.k->c->source, kind, x.k->c->out[0].elems, &x.what)))
			continue;
		for (int j = 0; j < made; j++)
			known = known || !strcmp(m[j].source, x.source);
		if (!known)
			m[made++] = x;
	}
	return made;
}

static void note(struct mutant *m, struct runner_answer *x)
{
	m->verdict = x->error ? VERDICT_COUNT : x->result.verdict;
	m->said = x->why ? x->why : "";
}

/* All are built and tried, some at a time. */
static void run(struct mutant *m, int n)
{
	enum { DEPTH = 6 };
	int sent = 0, done = 0;

	while (done < n) {
		for (; sent < n && sent < done + DEPTH; sent++)
			m[sent].id = build(m[sent].k, m[sent].source);
		struct runner_answer x = next();
		for (int i = 0; i < sent; i++) {
			if (m[i].id != x.id)
				continue;
			if (!m[i].said && !x.error && x.result.verdict == VERDICT_COUNT) {
				m[i].id = runner_try(runner, &(struct runner_try){.task = m[i].k->task,
										  .artifact = x.digest,
										  .base = m[i].k->base,
										  .budget = 0.02,
										  .seed = (uint64_t)i});
				m[i].said = "";
			} else {
				note(&m[i], &x);
				done++;
			}
			break;
		}
	}
}

static bool caught(enum verdict v) { return v == VERDICT_WRONG || v == VERDICT_CRASH || v == VERDICT_TIMEOUT || v == VERDICT_BUILD; }

int main(int argc, char **argv)
{
	const char *why;
	int n = argc > 1 ? atoi(argv[1]) : 60, found[VERDICT_COUNT + 1] = {0}, equals = 0, missed = 0;
	struct kernel k[TASKS] = {0};
	struct mutant *m = calloc((size_t)n, sizeof *m);

	rng.s = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	if (!(runner = runner_open(NULL, 10, &arena, &why)))
		return ok(0, "%s", why), 1;
	for (int i = 0; i < TASKS; i++)
		open_kernel(&k[i], tasks[i]);
	n = make_mutants(k, m, n);
	run(m, n);
	for (int i = 0; i < n; i++) {
		found[m[i].verdict]++;
		if (caught(m[i].verdict))
			continue;
		if (equal(m[i].k->c, m[i].source, i)) {
			equals++;
			continue;
		}
		missed++;
		printf("# %s, mutant %d, %s: %s\n", tasks[m[i].k - k], i, m[i].what, m[i].said);
		FILE *f = fopen(arena_printf(&arena, "missed-%d.c", i), "w");
		if (f)
			fputs(m[i].source, f), fclose(f);
	}
	ok(missed == 0 && n - equals > n / 2, "%d mutants: %d wrong, %d crash, %d timeout, %d do not compile, %d equal, %d missed", n,
	   found[VERDICT_WRONG], found[VERDICT_CRASH], found[VERDICT_TIMEOUT], found[VERDICT_BUILD], equals, missed);
	runner_close(runner);
	return tap_done();
}
