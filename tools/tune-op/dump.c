/* Tasks as files: what a tuner elsewhere needs, without the model and without this program. */
#include "tune-op.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "target/target.h"
#include "graph/stream.h"

static void write_file(const char *path, const void *p, size_t n)
{
	struct outfile o;

	outfile_open(&o, path, false);
	fwrite(p, 1, n, o.f);
	outfile_close(&o);
}

static void dump_task(const struct task *t, const char *dir)
{
	struct arena a = {0};
	const char *why;
	char hex[33];
	size_t n;
	struct module *m = task_module(t->text, 0, &a, &why);

	if (!m)
		BUG("task %s: %s", t->text, why);
	digest_hex(t->digest, hex);
	write_file(arena_printf(&a, "%s/%s.task", dir, hex), arena_printf(&a, "%s\n", t->text), strlen(t->text) + 1);
	char *stream = stream_bytes(m, true, &n);
	write_file(arena_printf(&a, "%s/%s.g", dir, hex), stream, n);
	free(stream);
	struct candidate *c = candidate_new(m, task_node(m), target_host(), NULL, false, &why);
	if (c) {
		write_file(arena_printf(&a, "%s/%s.c", dir, hex), c->source, c->nsource);
		write_file(arena_printf(&a, "%s/%s.trace", dir, hex), c->trace, strlen(c->trace));
		candidate_free(c);
	} else {
		warn("%s: no kernel: %s", t->title, why);
	}
	module_free(m);
	arena_release(&a);
}

void dump_begin(const char *dir, struct outfile *lines)
{
	struct arena a = {0};
	struct stat st;

	if (mkdir(dir, 0777) && (errno != EEXIST || (!stat(dir, &st) && !S_ISDIR(st.st_mode))))
		die_errno(EX_IO, "%s", dir);
	outfile_open(lines, arena_printf(&a, "%s/tasks.txt", dir), false);
	arena_release(&a);
}

void dump_tasks(const struct task_list *l, const bool *wanted, const char *dir, FILE *lines)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!wanted[i])
			continue;
		dump_task(&l->a[i], dir);
		fprintf(lines, "%s\n", l->a[i].text);
	}
}
