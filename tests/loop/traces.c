/* The hand-written traces in examples/traces: each applies, in at most 40 lines, to the sizes it names ("# program:", "#
 * also:"), verifies, and gives the stages' numbers in the interpreter. The large size is only scheduled and verified. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "programs.h"
#include "common/outfile.h"
#include "common/rng.h"
#include "loop/interp.h"
#include "loop/prim.h"
#include "loop/trace.h"
#include "near.h"
#include "tap.h"

static struct loop_prog *program(const char *text)
{
	int64_t d[8] = {0};
	size_t n = strcspn(text, " ");
	char *s = (char *)text + n;
	for (int i = 0; i < 8 && *s == ' '; i++)
		d[i] = strtoll(s, &s, 10);
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (strlen(programs[i].name) == n && !strncmp(programs[i].name, text, n)) {
			struct loop_prog *p = programs[i].make(d);
			prog_collapse(p);
			prog_start(p);
			return p;
		}
	return NULL;
}

static int64_t elements(const struct loop_buf *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->rank; d++)
		n *= b->shape[d];
	return n;
}

/* Random operands for the plain program, the same in the layouts of the scheduled one; results compared. */
static double difference(struct loop_prog *plain, struct loop_prog *p)
{
	void *want[64] = {0}, *got[512] = {0};
	struct rng r = {7};
	double worst = 0, scale = 1e-30;
	for (buf_id b = 1; b < plain->bufs.n; b++) {
		if (lbuf(plain, b)->scope >= SCOPE_SCRATCH)
			continue;
		int64_t n = elements(lbuf(plain, b));
		float *v = calloc((size_t)n, sizeof *v);
		for (int64_t i = 0; i < n; i++)
			v[i] = (float)rng_normal(&r);
		want[b] = calloc((size_t)buf_elems(plain, b), sizeof(float));
		got[b] = calloc((size_t)buf_elems(p, b), sizeof(float));
		buf_pack(plain, b, v, want[b]);
		buf_pack(p, b, v, got[b]);
		free(v);
	}
	stages_eval(plain, want);
	const char *why = loop_interp(p, got);
	if (why) {
		printf("# %s\n", why);
		return NAN;
	}
	for (buf_id b = 1; b < plain->bufs.n; b++) {
		for (int64_t i = 0; lbuf(plain, b)->scope == SCOPE_OUT && i < elements(lbuf(plain, b)); i++) {
			double x = ((float *)want[b])[i], y = ((float *)got[b])[i];
			worst = fmax(worst, off_by(y, x));
			scale = fmax(scale, size_of(x));
		}
		if (lbuf(plain, b)->scope < SCOPE_SCRATCH) {
			free(want[b]);
			free(got[b]);
		}
	}
	return worst / scale;
}

static void try_size(const char *file, const char *trace, char *size, bool run)
{
	size[strcspn(size, "\n;")] = 0;
	struct loop_prog *p = program(size), *plain = program(size);
	if (!ok(p != NULL, "%s: %s is a program", file, size))
		return;
	const char *why = loop_apply(p, trace, false);
	if (!why)
		why = loop_legalize(p);
	if (!why)
		why = loop_verify(p);
	ok(!why, "%s: %s is scheduled and verified%s%s", file, size, why ? ": " : "", why ? why : "");
	if (run && !why) {
		double e = difference(plain, p);
		ok(e < 1e-5, "%s: %s differs from the stages by %g", file, size, e);
	}
	prog_free(p);
	prog_free(plain);
}

static int count_lines(const char *s)
{
	int n = 0;
	for (; *s; s += strcspn(s, "\n"), s += *s == '\n')
		n += *s != '#' && *s != '\n';
	return n;
}

/* Read and written is the same bytes; a line that is changed is spelled anew, the others are not. */
static void test_records(void)
{
	static const char text[] = "# by hand\n\nrows =  sample.choice 1 2 4 := 2 # few\nsplit  mm.m rows tail=peel\nnonsense a\n";
	struct arena a = {0};
	struct trace t = trace_read(&a, text);

	ok(!strcmp(trace_write(&a, &t), text), "a trace is written as it was read");
	ok(t.n == 5 && t.a[0].prim == PRIM_NONE && t.a[2].prim == PRIM_SAMPLE_CHOICE && t.a[3].prim == PRIM_SPLIT &&
		   t.a[4].prim == PRIM_UNKNOWN,
	   "its lines are records");
	ok(t.a[2].narg == 3 && t.a[3].narg == 3 && t.a[3].arg[1] == t.a[2].res[0], "equal words are one");
	trace_set_decision(&a, &t.a[2], "4");
	ok(!strcmp(trace_write(&a, &t), "# by hand\n\nrows = sample.choice 1 2 4 := 4\nsplit  mm.m rows tail=peel\nnonsense a\n"),
	   "a decision changes its line alone");
	vec_free(&t);
	arena_release(&a);
}

int main(void)
{
	const char *top = getenv("top") ? getenv("top") : ".";
	char dir[4096], path[8192];
	snprintf(dir, sizeof dir, "%s/examples/traces", top);
	struct dirent **entry;
	int n = scandir(dir, &entry, NULL, alphasort), seen = 0;
	for (int i = 0; i < n; i++) {
		if (!strstr(entry[i]->d_name, ".trace"))
			continue;
		seen++;
		snprintf(path, sizeof path, "%s/%s", dir, entry[i]->d_name);
		struct mapped m;
		mapped_open(&m, path);
		char *text = calloc(m.n + 1, 1), *sizes = calloc(m.n + 1, 1);
		memcpy(text, m.p, m.n);
		memcpy(sizes, m.p, m.n);
		mapped_close(&m);
		ok(count_lines(text) <= 40, "%s has %d lines", entry[i]->d_name, count_lines(text));
		char *also = strstr(sizes, "# also: "), *semi;
		char *list[8];
		int k = 0;
		for (char *s = also ? also + 8 : NULL; s && k < 8; s = semi ? semi + 2 : NULL) {
			list[k++] = s;
			semi = memchr(s, ';', strcspn(s, "\n"));
		}
		for (int j = 0; j < k; j++)
			try_size(entry[i]->d_name, text, list[j], true);
		try_size(entry[i]->d_name, text, sizes + strlen("# program: "), false);
	}
	ok(seen >= 9, "%d traces", seen);
	test_records();
	return tap_done();
}
