/* Properties of schedules: whatever sequence of primitives is applied to stages, the nest computes what the stages
 * say, in the interpreter and compiled; awkward shapes, random operands, refusals welcome. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/progress.h"
#include "common/rng.h"
#include "target/target.h"
#include "emit/emit.h"
#include "loop/interp.h"
#include "loop/math.h"
#include "loop/prim.h"
#include "families.h"
#include "run_kernel.h"
#include "near.h"
#include "tap.h"

enum { SCHEDULES = 400, COMPILED = 20, BUFS = 64, TEXT_MAX = 48 << 10 };

/* ---- data ---- */

struct data {
	void *row_major[BUFS]; /* by buffer, as the stages were made */
	void *result[BUFS];    /* what stages_eval says */
	int n;
};

static int64_t count_of(const struct loop_buf *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->rank; d++)
		n *= b->shape[d];
	return n;
}

static void make_data(struct loop_prog *p, struct data *d)
{
	*d = (struct data){.n = (int)p->bufs.n};
	for (int b = 1; b < d->n; b++) {
		const struct loop_buf *x = &p->bufs.a[b];
		int64_t n = count_of(x);
		if (x->scope > SCOPE_OUT)
			continue;
		d->row_major[b] = d->result[b] = xcalloc((size_t)n, dtype_size(x->dtype));
		for (int64_t i = 0; i < n && x->scope != SCOPE_OUT; i++)
			if (x->dtype == DT_F32)
				((float *)d->row_major[b])[i] = (float)(2 * rng_unit(&rng) - 1);
			else if (x->dtype == DT_I64)
				((int64_t *)d->row_major[b])[i] = pick(-1, 0) + pick(0, 1);
			else
				((unsigned char *)d->row_major[b])[i] = chance(70);
	}
	stages_eval(p, d->result);
}

static void free_data(struct data *d)
{
	for (int b = 1; b < d->n; b++)
		free(d->row_major[b]);
}

/* Buffers of the caller for program p, each ending where its memory ends. */
struct run {
	void *data[BUFS];
	char *map[BUFS + 1];
	size_t bytes[BUFS + 1];
	char *ws;
};

static void *map_bytes(struct run *r, int slot, int64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = ((size_t)bytes + page - 1) / page * page;
	char *m = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(m + whole, page, PROT_NONE);
	r->map[slot] = m;
	r->bytes[slot] = whole + page;
	return m + whole - bytes;
}

static void make_run(struct loop_prog *p, const struct data *d, struct run *r)
{
	*r = (struct run){0};
	for (int b = 1; b < d->n; b++) {
		const struct loop_buf *x = &p->bufs.a[b];
		if (!d->row_major[b])
			continue;
		r->data[b] = map_bytes(r, b, buf_elems(p, (buf_id)b) * (int64_t)dtype_size(x->dtype));
		if (x->scope != SCOPE_OUT)
			buf_pack(p, (buf_id)b, d->row_major[b], r->data[b]);
	}
	r->ws = map_bytes(r, BUFS, p->workspace);
	memset(r->ws, 0xff, (size_t)p->workspace); /* NaN */
}

static void free_run(struct run *r)
{
	for (int i = 0; i <= BUFS; i++)
		if (r->map[i])
			munmap(r->map[i], r->bytes[i]);
}

/* Largest difference of results over their scale; inf where a NaN is. */
static double difference(struct loop_prog *p, const struct data *d, const struct run *r)
{
	double worst = 0;
	for (int b = 1; b < d->n; b++) {
		const struct loop_buf *x = &p->bufs.a[b];
		double scale = 1e-3, diff = 0;
		if (x->scope != SCOPE_OUT)
			continue;
		for (int64_t i = 0; i < count_of(x); i++) {
			double want = x->dtype == DT_F32 ? ((float *)d->result[b])[i] : (double)((int64_t *)d->result[b])[i];
			double got = x->dtype == DT_F32 ? ((float *)r->data[b])[i] : (double)((int64_t *)r->data[b])[i];
			scale = fmax(scale, size_of(want));
			diff = fmax(diff, off_by(got, want));
		}
		worst = fmax(worst, diff / scale);
	}
	return worst;
}

/* ---- random schedules ---- */

struct names {
	const char *name[256];
	int n;
};

static void add_loops(struct loop_prog *p, nest_id n, struct names *l)
{
	if (p->nests.a[n].kind == NEST_FOR && l->n < 256)
		l->name[l->n++] = sym_str(p->nests.a[n].name);
	for (size_t i = 0; i < p->nests.a[n].kid.n; i++)
		add_loops(p, p->nests.a[n].kid.a[i], l);
}

static const char *any(const struct names *l) { return l->n ? l->name[pick(0, l->n - 1)] : "none"; }

static void random_layout(struct loop_prog *p, buf_id b, char *out)
{
	const struct loop_buf *x = lbuf(p, b);
	int order[LOOP_RANK_MAX], at = 0;
	for (int d = 0; d < x->rank; d++)
		order[d] = d;
	for (int d = x->rank - 1; d > 0; d--) {
		int k = (int)pick(0, d), t = order[d];
		order[d] = order[k];
		order[k] = t;
	}
	int axis = chance(60) && x->rank ? (int)pick(0, x->rank - 1) : -1;
	int64_t block = pick(2, 16);
	for (int d = 0; d < x->rank; d++)
		at += order[d] == axis ? sprintf(out + at, " %d/%ld", axis, (long)block) : sprintf(out + at, " %d", order[d]);
	if (axis >= 0)
		sprintf(out + at, " %d%%%ld", axis, (long)block);
}

static void random_line(struct loop_prog *p, char *out)
{
	static const char *const tails[] = {"guard", "peel", "balance", "overlap", "pad"};
	static const char *const scopes[] = {"scratch", "stack", "register"};
	struct names loops = {.n = 0}, stages = {.n = 0}, bufs = {.n = 0};
	static int serial;
	char spec[128] = "";

	add_loops(p, p->root, &loops);
	for (size_t i = 1; i < p->stages.n; i++)
		if (!p->stages.a[i].gone && stages.n < 256)
			stages.name[stages.n++] = sym_str(p->stages.a[i].name);
	for (size_t i = 1; i < p->bufs.n; i++)
		bufs.name[bufs.n++] = sym_str(p->bufs.a[i].name);
	int kind = (int)pick(0, 110);
	buf_id b = (buf_id)pick(1, (int64_t)p->bufs.n - 1);
	if (kind < 25)
		sprintf(out, "split %s %ld%s tail=%s", any(&loops), (long)pick(1, 17), chance(60) ? "" : " 2", tails[pick(0, 4)]);
	else if (kind < 38)
		sprintf(out, chance(60) ? "reorder %s %s" : "reorder %s %s %s", any(&loops), any(&loops), any(&loops));
	else if (kind < 43)
		sprintf(out, "fuse %s %s", any(&loops), any(&loops));
	else if (kind < 53)
		sprintf(out, "at %s %s", any(&stages), any(&loops));
	else if (kind < 58)
		sprintf(out, "after %s %s", any(&stages), any(&loops));
	else if (kind < 61)
		sprintf(out, "inline %s", any(&stages));
	else if (kind < 66)
		sprintf(out, "init %s %s", any(&stages), any(&loops));
	else if (kind < 74)
		sprintf(out, "T%d = cache %s %s %s %s", serial++, any(&bufs), any(&stages), any(&loops),
			scopes[chance(10) ? 2 : pick(0, 1)]);
	else if (kind < 76)
		sprintf(out, "R%d = rfactor %s %s", serial++, any(&stages), any(&loops));
	else if (kind < 78)
		sprintf(out, "P%d = partial %s %s %s", serial++, any(&stages), any(&loops), scopes[chance(10) ? 2 : pick(0, 1)]);
	else if (kind < 82) {
		random_layout(p, b, spec);
		sprintf(out, "layout %s%s", sym_str(lbuf(p, b)->name), spec);
	} else if (kind < 84)
		sprintf(out, "scope %s %s", any(&bufs), scopes[pick(0, 1)]);
	else if (kind < 91)
		sprintf(out, "vector %s", any(&loops));
	else if (kind < 94)
		sprintf(out, chance(50) ? "unroll %s" : "unroll %s %d", any(&loops), (int)pick(2, 4));
	else if (kind < 95)
		sprintf(out, "parallel %s", any(&loops));
	else if (kind < 99)
		sprintf(out, "outline %s", any(&loops));
	else if (kind < 103)
		sprintf(out, "prefetch %s %s %ld", any(&bufs), any(&loops), (long)pick(1, 9));
	else if (kind < 105)
		sprintf(out, "tensor %s transpose%d", any(&loops), target.vector_bytes / 4);
	else
		sprintf(out, chance(70) ? "partition %s auto" : "partition %s %ld", any(&loops), (long)pick(1, 9));
}

/* A start in the manner of hand-written traces: a tile of accumulators in registers around the reduction. */
static int tile_lines(struct loop_prog *p, char out[][256])
{
	struct stage *s = &p->stages.a[1];
	const char *n = sym_str(s->name);
	int k = 0, lanes = target.vector_bytes / 4;

	if (!strcmp(n, "tr")) {
		static const char *const some[] = {"guard", "peel", "balance", "overlap"};
		if (chance(30))
			sprintf(out[k++], "at tr twice.b");
		if (chance(30))
			sprintf(out[k++], "layout tr 0 2/%d 1 2%%%d", 2 * lanes, 2 * lanes);
		sprintf(out[k++], "split tr.m %ld tail=%s", (long)pick(1, lanes), some[pick(0, 3)]);
		sprintf(out[k++], "split tr.n %d tail=%s", chance(70) ? lanes : (int)pick(1, lanes), some[pick(0, 3)]);
		sprintf(out[k++], "reorder tr.n.0 tr.m.0 tr.m.1 tr.n.1");
		sprintf(out[k++], "tensor tr.m.1 transpose%d", lanes);
		if (chance(30))
			sprintf(out[k++], "partition tr.n.0 auto");
		return k;
	}
	if (s->comb == COMB_NONE || s->nspatial < 2)
		return 0;
	const char *r = sym_str(s->axis[s->nspatial - 2].name), *v = sym_str(s->axis[chance(70) ? s->nspatial - 1 : 0].name);
	if (!strcmp(r, v))
		return 0;
	static const char *const tails[] = {"guard", "peel", "balance", "overlap"};
	sprintf(out[k++], "split %s.%s %ld tail=%s", n, r, (long)pick(1, 6), tails[pick(0, 3)]);
	sprintf(out[k++], "split %s.%s %ld 16 tail=%s", n, v, (long)pick(1, 2), tails[pick(0, 1)]);
	int at = sprintf(out[k], "reorder");
	for (int a = 0; a < s->nspatial; a++) {
		const char *x = sym_str(s->axis[a].name);
		at += sprintf(out[k] + at, strcmp(x, r) && strcmp(x, v) ? " %s.%s" : " %s.%s.0", n, x);
	}
	k++;
	sprintf(out[k++], "reorder %s.%s.0 %s.%s.0 %s.%s.1 %s.%s.1 %s.%s.2", n, v, n, r, n, r, n, v, n, v);
	sprintf(out[k++], "init %s %s.%s.0", n, n, r);
	at = sprintf(out[k], "reorder");
	for (int a = s->nspatial; a < s->naxes; a++)
		at += sprintf(out[k] + at, " %s.%s", n, sym_str(s->axis[a].name));
	sprintf(out[k++] + at, " %s.%s.1 %s.%s.1 %s.%s.2", n, r, n, v, n, v);
	if (chance(60))
		sprintf(out[k++], "after %s %s.%s.0", sym_str(p->stages.a[2].name), n, r);
	sprintf(out[k++], "acc = cache %s %s %s.%s.0 register", n, n, n, r);
	sprintf(out[k++], "unroll %s.%s.1", n, r);
	sprintf(out[k++], "unroll %s.%s.1", n, v);
	sprintf(out[k++], "vector %s.%s.2", n, v);
	if (chance(50))
		sprintf(out[k++], "partition %s.%s.0 auto", n, r);
	for (int i = 0; i < 2; i++) {
		const char *copy = i ? "acc.store." : ".init.";
		sprintf(out[k++], "unroll %s%s%s", i ? "" : n, copy, r);
		sprintf(out[k++], "split %s%s%s 16", i ? "" : n, copy, v);
		sprintf(out[k++], "unroll %s%s%s.0", i ? "" : n, copy, v);
		sprintf(out[k++], "vector %s%s%s.1", i ? "" : n, copy, v);
	}
	return k;
}

struct schedule {
	char *trace;
	size_t n;
	int steps;
};

static void apply(struct loop_prog *p, struct schedule *s, const char *line)
{
	if (getenv("LOOP_TEST_VERBOSE"))
		fprintf(stderr, "%s", line);
	const char *why = loop_apply(p, line, false);
	if (getenv("LOOP_TEST_VERBOSE"))
		fprintf(stderr, "    %s\n", why ? why : "");
	if (why)
		return;
	s->trace = xrealloc(s->trace, s->n + strlen(line) + 2);
	s->n += (size_t)sprintf(s->trace + s->n, "%s\n", line);
	s->steps++;
}

static void random_schedule(struct loop_prog *p, struct schedule *s)
{
	char lines[32][256] = {{0}}, line[512];

	*s = (struct schedule){.trace = xstrdup("")};
	int n = chance(40) ? tile_lines(p, lines) : 0;
	for (int i = 0; i < n; i++)
		apply(p, s, lines[i]);
	n = (int)pick(n ? 0 : 5, n ? 6 : 40);
	for (int i = 0; i < n; i++) {
		random_line(p, line);
		apply(p, s, line);
	}
}

enum { THREADS = 3 };

/* The outermost of a few loops that may run in parallel does. */
static void random_team(struct loop_prog *p, struct schedule *s)
{
	struct names loops = {.n = 0};
	char line[256];

	p->threads = THREADS;
	add_loops(p, p->root, &loops);
	for (int i = 0; i < loops.n && i < 6; i++) {
		snprintf(line, sizeof line, "parallel %s", chance(50) ? loops.name[i] : any(&loops));
		apply(p, s, line);
	}
}

/* ---- compiled ---- */

struct kernel {
	struct loop_prog *p;
	struct data data;
	char *trace;
	const char *family;
};
static VEC(struct kernel) kernels;
static FILE *source;

static void add_kernel(struct loop_prog *p, const struct data *d, const char *trace, const char *family, const char *text)
{
	int n = (int)kernels.n;
	static const char *const array[] = {"in", "constant", "out"};

	fputs(text, source);
	fprintf(source, "void run_%d(void **data, char *ws)\n{\n\tk%d(", n, n);
	for (enum scope s = SCOPE_IN; s <= SCOPE_OUT; s++)
		for (int b = 1; b < d->n; b++)
			if (p->bufs.a[b].scope == s)
				fprintf(source, "data[%d] /* %s */, ", b, array[s]);
	fprintf(source, emit_starts_team(p) ? "ws, 0);\n}\n" : "ws);\n}\n");
	vec_push(&kernels, (struct kernel){p, *d, xstrdup(trace), family});
}

static const struct kernel *running;
static void crashed(int sig)
{
	printf("not ok - compiled %s: signal %d\n%s", running->family, sig, running->trace);
	fflush(stdout);
	_exit(1);
}

static void run_compiled(void)
{
	double t = now_seconds();

	fclose(source);
	VEC(struct loop_prog *) all = {0};
	for (size_t i = 0; i < kernels.n; i++)
		vec_push(&all, kernels.a[i].p);
	FILE *f = fopen("kernels.c", "w");
	emit_prelude(f, all.a, (int)all.n, NULL, 0);
	emit_team_prelude(f, "static", false);
	fprintf(f,
		"static void team_run(struct team *t, void (*work)(void *, long, long, int), void *args, long n)\n"
		"{\n\tfor (int i = %d; i >= 0; i--) /* backwards: the order must not matter */\n"
		"\t\twork(args, n * i / %d, n * (i + 1) / %d, i);\n}\n",
		THREADS - 1, THREADS, THREADS);
	fclose(f);
	vec_free(&all);
	void *lib = system("cat bodies.c >> kernels.c") ? NULL : compile_library("kernels", target_host());
	if (!ok(lib != NULL, "%zu kernels compile (%.1f s)", kernels.n, now_seconds() - t))
		return;
	signal(SIGSEGV, crashed);
	signal(SIGFPE, crashed);
	signal(SIGILL, crashed);
	int bad = 0;
	for (size_t i = 0; i < kernels.n; i++) {
		struct run r;
		char name[32];
		running = &kernels.a[i];
		snprintf(name, sizeof name, "run_%zu", i);
		void (*f)(void **, char *) = (void (*)(void **, char *))dlsym(lib, name);
		make_run(running->p, &running->data, &r);
		f(r.data, r.ws);
		double e = difference(running->p, &running->data, &r);
		if (!(e <= 1e-4) && bad++ < 5)
			printf("# %s (run_%zu): differs by %g\n%s", running->family, i, e, running->trace);
		free_run(&r);
	}
	ok(!bad, "compiled kernels agree with the stages: %zu, %d differ", kernels.n, bad);
}

/* ---- the property ---- */

struct tally {
	int good, refused, wrong, steps;
};

/* Refusals after scheduling that are no mistake of a primitive. */
static bool fair_refusal(const char *why)
{
	return strstr(why, "register buffer") || strstr(why, "unrolled") || strstr(why, "parallel loop") || strstr(why, "stack") ||
	       strstr(why, "call of");
}

static void report(struct loop_prog *p, struct tally *t, const char *family, int seed, const char *what, const char *why,
		   const struct schedule *s)
{
	if (t->wrong++ < 3)
		printf("# %s seed %d: %s: %s\n%s", family, seed, what, why, s->trace);
	if (getenv("LOOP_TEST_VERBOSE"))
		fprintf(stderr, "%s\n", prog_str(p, &p->arena));
}

static void try_one(const char *family, void (*make)(struct loop_prog *), int seed, struct tally *t, int *compiled, int compile)
{
	struct loop_prog *p = prog_new(&target);
	struct schedule s;
	struct data d;
	struct run r;
	char buf[64];
	const char *why;
	bool keep = false;

	rng = (struct rng){(uint64_t)seed * 7919 + (uint64_t)family[0]};
	make(p);
	make_data(p, &d);
	prog_start(p);
	random_schedule(p, &s);
	if (seed % 3 == 0) /* then a team */
		random_team(p, &s);
	t->steps += s.steps;
	if (chance(30)) { /* a nest means the same before it is legalized */
		make_run(p, &d, &r);
		if ((why = loop_interp(p, r.data)))
			report(p, t, family, seed, "before finishing", why, &s);
		free_run(&r);
	}
	if ((why = loop_legalize(p)) || (why = loop_verify(p))) {
		if (fair_refusal(why))
			t->refused++;
		else
			report(p, t, family, seed, "refused", why, &s);
		goto end;
	}
	make_run(p, &d, &r);
	if ((why = loop_interp(p, r.data))) {
		report(p, t, family, seed, "interpreter", why, &s);
	} else {
		double e = difference(p, &d, &r);
		snprintf(buf, sizeof buf, "differs by %g", e);
		if (!(e <= 1e-4))
			report(p, t, family, seed, "interpreter", buf, &s);
		else
			t->good++;
		char *text, name[16];
		size_t n;
		if (e <= 1e-4 && *compiled < compile && s.steps > 4) {
			FILE *f = open_memstream(&text, &n);
			snprintf(name, sizeof name, "k%zu", kernels.n);
			emit_kernel(f, p, name);
			fclose(f);
			if (n < TEXT_MAX) {
				add_kernel(p, &d, s.trace, family, text);
				keep = true;
				++*compiled;
			}
			free(text);
		}
	}
	free_run(&r);
end:
	free(s.trace);
	if (!keep) {
		free_data(&d);
		prog_free(p);
	}
}

/* ---- mistakes are found ---- */

/* The block of that phase of stage 1, in a fresh matrix product or softmax. */
static struct nest *block_of(struct loop_prog *p, enum block_phase phase)
{
	for (size_t i = 1; i < p->nests.n; i++)
		if (p->nests.a[i].kind == NEST_BLOCK && p->nests.a[i].stage == 1 && p->nests.a[i].phase == phase)
			return &p->nests.a[i];
	return NULL;
}

static void break_bounds(struct loop_prog *p)
{
	struct nest *b = block_of(p, BLOCK_UPDATE);
	b->bind[0] = poly_addc(p->P, b->bind[0], 1);
}
static void break_reduction(struct loop_prog *p)
{
	struct nest *b = block_of(p, BLOCK_UPDATE);
	b->bind[2] = poly_addc(p->P, b->bind[2], 1);
}
static void break_parallel(struct loop_prog *p) { p->nests.a[loop_find(p, "mm.k")].mark = LOOP_PARALLEL; }
static void break_init(struct loop_prog *p) { vec_push(&block_of(p, BLOCK_INIT)->guard, poly_const(p->P, -1)); }
static void break_result(struct loop_prog *p)
{
	for (size_t i = 1; i < p->nests.n; i++)
		if (p->nests.a[i].kind == NEST_BLOCK && p->nests.a[i].stage == 2)
			vec_push(&p->nests.a[i].guard, poly_addc(p->P, p->nests.a[i].bind[0], -1));
}

static void mistake(const char *what, void (*breaks)(struct loop_prog *p), const char *verify, const char *interp)
{
	struct loop_prog *p = prog_new(target_host());
	struct data d;
	struct run r;

	rng = (struct rng){5};
	matmul(p);
	make_data(p, &d);
	prog_start(p);
	breaks(p);
	const char *v = loop_verify(p);
	make_run(p, &d, &r);
	const char *i = loop_interp(p, r.data);
	ok((!verify || (v && strstr(v, verify))) && (!interp || (i && strstr(i, interp))), "%s: verify says: %s; interpreter: %s", what,
	   v ? v : "nothing", i ? i : "nothing");
	free_run(&r);
	free_data(&d);
	prog_free(p);
}

/* Single elements in double agree with the stages in float. */
static void points(const char *family, void (*make)(struct loop_prog *))
{
	enum { POINTS = 20 };
	struct loop_prog *p = prog_new(target_host());
	struct data d;
	int bad = 0;

	rng = (struct rng){11};
	make(p);
	make_data(p, &d);
	for (int b = 1; b < d.n; b++) {
		const struct loop_buf *x = &p->bufs.a[b];
		int64_t n = 1, at[POINTS];
		double value[POINTS];
		for (int i = 0; i < x->rank; i++)
			n *= x->shape[i];
		if (x->scope != SCOPE_OUT || !n)
			continue;
		for (int k = 0; k < POINTS; k++)
			at[k] = pick(0, n - 1);
		stages_points(p, (buf_id)b, POINTS, at, d.row_major, value);
		for (int k = 0; k < POINTS; k++) {
			double want = x->dtype == DT_F32 ? ((float *)d.result[b])[at[k]] : (double)((int64_t *)d.result[b])[at[k]];
			bad += off_by(value[k], want) > 1e-4 * fmax(1, size_of(want));
		}
	}
	ok(!bad, "%s: single points", family);
	free_data(&d);
	prog_free(p);
}

static int setting(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(struct loop_prog *p);
	} family[] = {{"matmul", matmul},         {"conv", conv},           {"depthwise", depthwise},
		      {"softmax", softmax},       {"layernorm", layernorm}, {"mixed", mixed},
		      {"cumulative", cumulative}, {"recurrent", recurrent}, {"transpose", transpose}};

	int schedules = setting("LOOP_TEST_SCHEDULES", SCHEDULES), compile = setting("LOOP_TEST_COMPILED", COMPILED);
	target = *target_host();
	target.vector_bytes = setting("LOOP_TEST_VECTOR", target.vector_bytes);
	source = fopen("bodies.c", "w");
	for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
		struct tally t = {0};
		int compiled = 0, seed = 0;
		double start = now_seconds();
		if (argc > 2 && strcmp(argv[1], family[i].name))
			continue;
		if (argc > 2)
			try_one(family[i].name, family[i].make, atoi(argv[2]), &t, &compiled, compile);
		for (; argc <= 2 && t.good < schedules && seed < 5 * schedules; seed++)
			try_one(family[i].name, family[i].make, seed, &t, &compiled, compile);
		ok(!t.wrong && (argc > 2 || t.good >= schedules),
		   "%s: %d schedules agree with the stages, %d wrong, %d refused, %d primitives (%.1f s)", family[i].name, t.good, t.wrong,
		   t.refused, t.steps, now_seconds() - start);
	}
	for (size_t i = 0; i < sizeof family / sizeof *family && argc <= 2; i++)
		points(family[i].name, family[i].make);
	if (argc <= 2) {
		mistake("a write beyond the result", break_bounds, "is not shown", "mm[");
		mistake("a reduction beyond its end", break_reduction, "reduce axis", "runs at k");
		mistake("a parallel reduction", break_parallel, "parallel loop mm.k", NULL);
		mistake("a sum that starts from nothing", break_init, NULL, "read before it is written");
		mistake("a result with holes", break_result, NULL, "never written");
	}
	if (argc <= 2 || argc > 3) /* loop FAMILY SEED: no compiling; one more argument: that too */
		run_compiled();
	return tap_done();
}
