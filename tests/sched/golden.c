/* Golden output: the schedules that the templates write for tasks of every kind, and the C that is made of them, on machines that are
 * written out (tests/sched/golden/targets.txt), whatever this one is. golden compares; golden --write writes the files anew, each from
 * its own lines "task TEXT": what a change of schedules changes is their diff.
 *
 *   task Conv f32 ..              the task's text
 *   x86-64-v3 c 0123..            machine, digest of the C file
 *       split conv.o 8            the trace below, if it is another than that of the machine before */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include "common/outfile.h"
#include "common/tool.h"
#include "target/target.h"
#include "model/candidate.h"
#include "loop/prim.h"
#include "op/task.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { TARGETS_MAX = 8 };
static struct {
	char name[32];
	struct target t;
} target[TARGETS_MAX];
static int ntargets;

static void read_targets(const char *path)
{
	char line[512], row[400];
	FILE *f = fopen(path, "r");

	while (f && ntargets < TARGETS_MAX && fgets(line, sizeof line, f))
		if (line[0] != '#' && sscanf(line, "%31s %399[^\n]", target[ntargets].name, row) == 2 &&
		    ok(target_find(row, &target[ntargets].t), "target %s", target[ntargets].name))
			ntargets++;
	if (f)
		fclose(f);
	ok(ntargets == 7, "%d targets", ntargets);
}

/* The trace's lines, without its stamp. */
static const char *without_stamp(const char *trace)
{
	while (*trace == '#')
		trace += strcspn(trace, "\n") + 1;
	return trace;
}

static void write_task(FILE *f, const char *text)
{
	struct arena a = {0};
	const char *why, *before = "";
	struct module *m = task_module(text, 0, &a, &why);

	fprintf(f, "task %s\n", text);
	for (int i = 0; m && i < ntargets; i++) {
		struct candidate *c = candidate_new(m, task_node(m), &target[i].t, NULL, false, &why);
		if (!c)
			break;
		char hex[33];
		const char *trace = arena_str(&a, without_stamp(c->trace));
		digest_hex(digest_bytes(c->source, c->nsource), hex);
		fprintf(f, "%s c %s\n", target[i].name, hex);
		for (const char *s = trace; strcmp(trace, before) && *s; s += strcspn(s, "\n"), s += *s == '\n')
			fprintf(f, "\t%.*s\n", (int)strcspn(s, "\n"), s);
		before = trace;
		candidate_free(c);
		why = NULL;
	}
	if (!m || why)
		fprintf(f, "none: %s\n", why);
	if (m)
		module_free(m);
	arena_release(&a);
}

/* The file as it is written today, from the tasks it has. */
static char *written(const char *golden)
{
	char *text, *copy = strdup(golden), *rest;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (!strncmp(line, "task ", 5))
			write_task(f, line + 5);
	fclose(f);
	free(copy);
	return text;
}

/* The first line that differs, with the task it is of. */
static void say_difference(const char *want, const char *got)
{
	const char *task = "", *w = want, *g = got;

	for (; *w && *g; w += strcspn(w, "\n") + 1, g += strcspn(g, "\n") + 1) {
		size_t n = strcspn(w, "\n");
		if (!strncmp(w, "task ", 5))
			task = w;
		if (n != strcspn(g, "\n") || strncmp(w, g, n))
			break;
	}
	printf("# %.*s\n# was: %.*s\n# is:  %.*s\n# build/check/golden --write writes them anew\n", (int)strcspn(task, "\n"), task,
	       (int)strcspn(w, "\n"), w, (int)strcspn(g, "\n"), g);
}

static int count_tasks(const char *s)
{
	int n = 0;

	for (; (s = strstr(s, "task ")); s += 5)
		n++;
	return n;
}

int main(int argc, char **argv)
{
	bool write = argc > 1 && !strcmp(argv[1], "--write");
	const char *top = getenv("top");
	glob_t files;
	int tasks = 0;

	char *at = xprintf("%s/tests/sched/golden/targets.txt", top ? top : ".");
	read_targets(at);
	free(at);
	at = xprintf("%s/tests/sched/golden/*.txt", top ? top : ".");
	if (glob(at, 0, NULL, &files))
		return ok(0, "files in %s", at), 1;
	free(at);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		const char *name = strrchr(files.gl_pathv[i], '/') + 1;
		struct mapped f;
		if (!strcmp(name, "targets.txt"))
			continue;
		mapped_open(&f, files.gl_pathv[i]);
		char *want = strndup((const char *)f.p, f.n), *got = written(want);
		mapped_close(&f);
		tasks += count_tasks(got);
		if (write) {
			struct outfile o;
			outfile_open(&o, files.gl_pathv[i], false);
			fputs(got, o.f);
			outfile_close(&o);
		} else if (!ok(!strcmp(want, got), "%s: traces and C as they were", name))
			say_difference(want, got);
		ok(!strstr(got, "\nnone: "), "%s: every task has a kernel", name);
		free(want);
		free(got);
	}
	globfree(&files);
	ok(tasks >= 60, "%d tasks", tasks);
	return tap_done();
}
