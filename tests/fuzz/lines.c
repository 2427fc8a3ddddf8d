/* Small files that tools read, under libFuzzer; the first byte chooses: a machine's rates, its row, facts, times of steps, lists of
 * operators, traces. With a machine that is taken, the default schedules of two tasks are made: no rate may lead to a BUG. Seeds: such files behind a byte 0 to 5. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "refuse.h"
#include "common/facts.h"
#include "model/candidate.h"
#include "model/given.h"
#include "op/task.h"
#include "target/rate.h"

/* tools/ge-mixed, tools/ge-quantize; a plan is smaller, and one of zeros has no layers. */
void may_read(const char *path, int may);
void times_read(void *plan, const char *const file[3]);
struct module *plan_module(const void *plan);
struct module *plan_module(const void *plan) { return module_new(); }
union plan {
	max_align_t align;
	char bytes[4096];
};

/* The machine that the lines of rates are of. */
static const char row[] = "cpu=X;features=fma,avx2,avx512;l1=32K;l2=1024K;l3=32768K";

static void schedule(const struct target *t)
{
	static const char *const text[] = {"MatMul f32 12x40 40x33c", "Conv{pads=1,1,1,1} f32 1x8x9x9 16x8x3x3c 16c; Relu %0"};

	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct arena a = {0};
		const char *why = NULL;
		struct module *m = task_module(text[i], 1, &a, &why);
		struct candidate *c = candidate_new(m, task_node(m), t, NULL, false, &why);
		must(c || (why && *why));
		if (c)
			candidate_free(c);
		module_free(m);
		arena_release(&a);
	}
}

static void read_rates(const char *path)
{
	struct target t;

	setenv("HONE_RATES", path, 1);
	if (REFUSED(must(target_find(row, &t))))
		return;
	schedule(&t);
	must(*rates_digest(&t));
}

static void read_row(const char *text)
{
	struct target t;

	setenv("HONE_RATES", "/nowhere", 1);
	if (target_find(text, &t)) {
		schedule(&t);
		must(*target_row(&t));
		(void)target_cflags(&t);
	}
}

static void read_facts(const char *text)
{
	struct facts f = {0};

	if (REFUSED(f = facts_parse("facts", text, strlen(text))))
		return;
	for (size_t i = 0; i < f.n; i++)
		must(f.a[i].name != NULL);
	(void)facts_value(&f, "ms");
	(void)facts_get(&f, "note");
}

static void read_times(const char *path)
{
	const char *const file[3] = {path, path, path};
	union plan p = {0};

	(void)REFUSED(times_read(&p, file));
}

static void read_traces(const char *path)
{
	struct given_traces t = {0};

	if (REFUSED(traces_read(&t, path)))
		return;
	for (size_t i = 0; i < t.n; i++)
		must(!*t.a[i].text || strlen(t.a[i].text) > 0);
	(void)trace_given(&t, (struct digest){0});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum { READERS = 6 };
	char path[64], *text;
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (!n)
		return 0;
	text = strndup((const char *)data + 1, n - 1);
	must(fd >= 0 && write(fd, data + 1, n - 1) == (ssize_t)(n - 1));
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	switch (data[0] % READERS) {
	case 0: read_rates(path); break;
	case 1: read_row(text); break;
	case 2: read_facts(text); break;
	case 3: read_times(path); break;
	case 4: (void)REFUSED(may_read(path, 1)); break;
	default: read_traces(path);
	}
	free(text);
	close(fd);
	return 0;
}
