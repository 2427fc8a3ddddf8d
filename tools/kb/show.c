/* Verbs that read: ls, get, best, why, stat, dump, fsck. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/json.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "op/task.h"
#include "verbs.h"

static const char *field(const struct kb_record *r, const char *name)
{
	const char *v = kb_get_field(r, name);
	return v ? v : "";
}

/* The same for people to read: a record is anybody's, and a terminal does what bytes tell it. */
static const char *shown_field(const struct kb_record *r, const char *name, struct arena *a) { return kb_shown(field(r, name), a); }

/* The key "id" is taken: a field of that name has a key that no field can have. */
static void print_json_record(FILE *f, const struct kb_record *r)
{
	char hex[33];
	digest_hex(r->id, hex);
	fprintf(f, "{\"id\": \"%s\"", hex);
	for (size_t i = 0; i < r->n; i++) {
		fputs(", ", f);
		json_str(f, strcmp(r->a[i].name, "id") ? r->a[i].name : ".id");
		fputs(": ", f);
		json_str(f, r->a[i].value);
	}
	fputs("}\n", f);
}

static void put_text(FILE *f, const char *s) { fputs(s, f); }

/* As kb load reads them; on a terminal what would do something to it is escaped. */
void print_records(FILE *f, const struct kb_list *l, bool json)
{
	struct arena a = {0};
	if (!json)
		fprintf(f, "%s\n", KB_TEXT);
	for (size_t i = 0; i < l->n; i++) {
		if (json)
			print_json_record(f, &l->a[i]);
		else
			(isatty(fileno(f)) ? put_shown_lines : put_text)(f, kb_text(&l->a[i], &a));
	}
	arena_release(&a);
}

/* Names of tasks. */

static int by_task(const void *x, const void *y)
{
	const struct kb_record *a = *(const struct kb_record *const *)x, *b = *(const struct kb_record *const *)y;
	int c = strcmp(field(a, "task"), field(b, "task"));
	return c ? c : digest_cmp(a->id, b->id);
}

static bool is_hex(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");
	return n > 0 && n <= 32 && !s[n];
}

/* The text under which the task is kept: as it is given, else as this program writes it, with no attribute at its default. */
static const char *task_text_kept(struct kb *k, const char *text, struct arena *a)
{
	struct kb_list l;
	const char *why, *written = NULL;

	kb_find(k, NULL, text, &l, a);
	struct module *m = l.n ? NULL : task_module(text, 0, a, &why);
	if (m) {
		written = task_text(m, task_node(m), a, &why);
		module_free(m);
	}
	return written ? written : text;
}

const char *task_named(struct kb *k, const char *name, struct arena *a)
{
	struct kb_list l;
	const char *found = NULL;
	char hex[33];
	if (!is_hex(name))
		return task_text_kept(k, name, a);
	kb_find(k, NULL, NULL, &l, a);
	for (size_t i = 0; i < l.n; i++) {
		const char *task = kb_get_field(&l.a[i], "task");
		if (!task)
			continue;
		task_hex(task, hex);
		if (strncmp(hex, name, strlen(name)) || (found && !strcmp(found, task)))
			continue;
		if (found)
			die(EX_BADUSE, "%s: several tasks begin so; give more digits", name);
		found = task;
	}
	return found ? found : name;
}

static const char *one_task(struct kb *k, struct tool_args *a, struct arena *arena)
{
	if (a->nfile != 1)
		die(EX_BADUSE, "expected one task: its text, or the first digits that kb ls prints");
	return task_named(k, a->file[0], arena);
}

/* ls: a line a task, or a line a record of one. */

static void ls_task(const struct kb_record *const *r, size_t n, const struct kb_list *all, bool json, struct arena *a)
{
	const char *task = field(r[0], "task");
	const struct kb_record *best = kb_best_of(all, task, kb_target());
	best = best ? best : kb_best_plan(all, task, kb_target(), NULL, NULL, a);
	char hex[33];
	task_hex(task, hex);
	if (json) {
		printf("{\"task\": ");
		json_str(stdout, task);
		printf(", \"hash\": \"%s\", \"records\": %zu, \"best\": ", hex, n);
		json_num(stdout, best ? strtod(field(best, "ratio"), NULL) : 0.0 / 0.0);
		printf("}\n");
	} else {
		printf("%.*s %7zu %7s  %s\n", TASK_DIGITS, hex, n, best ? shown_field(best, "ratio", a) : "-",
		       *task ? kb_shown(task, a) : "(no task)");
	}
}

static void ls_record(const struct kb_record *r, bool json, struct arena *a)
{
	char hex[33];
	digest_hex(r->id, hex);
	if (json)
		print_json_record(stdout, r);
	else
		printf("%.12s %-8s %-12s %8s %8s %8s  %s\n", hex, shown_field(r, "kind", a), shown_field(r, "verdict", a),
		       shown_field(r, "ratio", a), shown_field(r, "lo", a), shown_field(r, "hi", a), shown_field(r, "target", a));
}

int kb_ls(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct kb_list l;
	if (a->nfile && opt.target)
		die(EX_BADUSE, "--target: ls takes it without a task only");
	struct kb *k = kb_open(opt.kb, false);
	int code = EX_GOOD;
	if (a->nfile > 0) {
		const char *task = one_task(k, a, &arena);
		kb_find(k, NULL, task, &l, &arena);
		if (!l.n) {
			warn("%s: no record of such a task", a->file[0]);
			code = EX_DIFFERENT;
		}
		if (!a->json && l.n)
			printf("%-12s %-8s %-12s %8s %8s %8s  %s\n", "record", "kind", "verdict", "ratio", "from", "to", "target");
		for (size_t i = 0; i < l.n; i++)
			ls_record(&l.a[i], a->json, &arena);
	} else {
		const struct kb_record **r;
		kb_find(k, NULL, NULL, &l, &arena);
		r = ARENA_ARRAY(&arena, const struct kb_record *, l.n + 1);
		for (size_t i = 0; i < l.n; i++)
			r[i] = &l.a[i];
		qsort(r, l.n, sizeof *r, by_task);
		if (!a->json && l.n)
			printf("%-*s %7s %7s  %s\n", TASK_DIGITS, "hash", "records", "best", "task");
		for (size_t i = 0, n; i < l.n; i += n) {
			for (n = 0; i + n < l.n && !strcmp(field(r[i + n], "task"), field(r[i], "task")); n++)
				;
			struct kb_list group = {ARENA_ARRAY(&arena, struct kb_record, n), 0, 0};
			while (group.n < n)
				group.a[group.n] = *r[i + group.n], group.n++;
			ls_task(r + i, n, &group, a->json, &arena);
		}
	}
	kb_close(k);
	arena_release(&arena);
	return code;
}

int kb_get(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct kb_list l;
	struct kb *k = kb_open(opt.kb, false);
	if (a->nfile != 1)
		die(EX_BADUSE, "expected a record's id or a task");
	const char *name = a->file[0], *task = name;
	kb_find_id(k, name, &l, &arena);
	if (l.n > 1)
		die(EX_BADUSE, "%s: several records begin so; give more digits", name);
	if (l.n == 0 || strlen(name) < 32)
		task = task_named(k, name, &arena);
	if (l.n && task != name)
		die(EX_BADUSE, "%s: a record and a task begin so; give more digits", name);
	if (l.n == 0)
		kb_find(k, NULL, task, &l, &arena);
	kb_close(k);
	if (l.n)
		print_records(stdout, &l, a->json);
	else
		warn("%s: no record of such an id or task", a->file[0]);
	int code = l.n ? EX_GOOD : EX_DIFFERENT;
	arena_release(&arena);
	return code;
}

int kb_best_verb(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct kb *k = kb_open(opt.kb, false);
	const char *task = one_task(k, a, &arena), *why;
	const struct kb_record *r = kb_best(k, task, kb_target(), default_of_task(task, &arena), &arena, &why);
	r = r ? r : kb_why_plan(k, task, kb_target(), &arena, &why);
	if (r) {
		struct kb_list l = {(struct kb_record *)r, 1, 1};
		print_records(stdout, &l, a->json);
	} else {
		warn("no record for this task and target; kb why says what there is");
	}
	kb_close(k);
	arena_release(&arena);
	return r ? EX_GOOD : EX_DIFFERENT;
}

static bool has_kernels(struct kb *k, const char *task)
{
	struct arena a = {0};
	struct kb_list l = {0};
	kb_find(k, "kernel", task, &l, &a);
	arena_release(&a);
	return l.n > 0;
}

int kb_why(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct kb *k = kb_open(opt.kb, false);
	const char *task = one_task(k, a, &arena), *why = "", *of_plan;
	char hex[33];
	task_hex(task, hex);
	const struct kb_record *plan = kb_why_plan(k, task, kb_target(), &arena, &of_plan), *r = NULL;
	if (!of_plan || has_kernels(k, task))
		r = kb_best(k, task, kb_target(), default_of_task(task, &arena), &arena, &why);
	if (of_plan)
		why = arena_printf(&arena, "%s%s", why, of_plan);
	if (a->json) {
		printf("{\"task\": ");
		json_str(stdout, task);
		printf(", \"target\": ");
		json_str(stdout, kb_target());
		printf(", \"why\": ");
		json_str(stdout, why);
		printf("}\n");
	} else {
		printf("task %.*s: %s\ntarget: %s\n%s", TASK_DIGITS, hex, kb_shown(task, &arena), kb_target(), why);
	}
	kb_close(k);
	arena_release(&arena);
	return r || plan ? EX_GOOD : EX_DIFFERENT;
}

/* stat: records by kind, target and verdict. */

static int by_class(const void *x, const void *y)
{
	static const char *const keys[] = {"kind", "target", "verdict"};
	int c = 0;
	for (size_t i = 0; i < 3 && !c; i++)
		c = strcmp(field(x, keys[i]), field(y, keys[i]));
	return c;
}

static size_t count_tasks(const struct kb_list *l, struct arena *a)
{
	const struct kb_record **r = ARENA_ARRAY(a, const struct kb_record *, l->n + 1);
	size_t n = 0, tasks = 0;
	for (size_t i = 0; i < l->n; i++)
		if (kb_get_field(&l->a[i], "task"))
			r[n++] = &l->a[i];
	qsort(r, n, sizeof *r, by_task);
	for (size_t i = 0; i < n; i++)
		tasks += i == 0 || strcmp(field(r[i - 1], "task"), field(r[i], "task")) != 0;
	return tasks;
}

static void stat_layer(struct kb *k, int layer, struct kb_list *l, bool json, struct arena *a)
{
	struct kb_stat st;
	char hex[33];
	kb_stat(k, layer, &st);
	digest_hex(st.sum, hex);
	if (json) {
		printf("{\"file\": ");
		json_str(stdout, kb_layer_path(k, layer));
		printf(", \"layer\": \"%s\", \"format\": \"%s\", \"records\": %lu, \"tasks\": %zu, \"sum\": \"%s\", \"bytes\": %lu, \"classes\": [",
		       kb_layer_name(k, layer), st.format, (unsigned long)st.count, count_tasks(l, a), hex, (unsigned long)st.bytes);
	} else {
		printf("%s (%s, %s): %lu records of %zu tasks, %.1f kB, sum %s\n", kb_shown(kb_layer_path(k, layer), a),
		       kb_layer_name(k, layer), st.format, (unsigned long)st.count, count_tasks(l, a), (double)st.bytes / 1e3, hex);
	}
	if (l->n)
		qsort(l->a, l->n, sizeof *l->a, by_class);
	for (size_t i = 0, n; i < l->n; i += n) {
		const struct kb_record *r = &l->a[i];
		for (n = 1; i + n < l->n && by_class(r, &l->a[i + n]) == 0; n++)
			;
		if (json) {
			printf("%s{\"kind\": ", i ? ", " : "");
			json_str(stdout, field(r, "kind"));
			printf(", \"target\": ");
			json_str(stdout, field(r, "target"));
			printf(", \"verdict\": ");
			json_str(stdout, field(r, "verdict"));
			printf(", \"records\": %zu}", n);
		} else {
			printf("%8zu  %-8s %-12s %s\n", n, shown_field(r, "kind", a), shown_field(r, "verdict", a),
			       shown_field(r, "target", a));
		}
	}
	if (json)
		printf("]}\n");
}

int kb_stat_verb(const struct tool *t, struct tool_args *a)
{
	if (a->nfile)
		die(EX_BADUSE, "stat takes no argument; --kb FILE says which file");
	struct kb *k = kb_open(opt.kb, false);
	for (int i = 0; i < kb_layers(k); i++) {
		struct arena arena = {0};
		struct kb *one = kb_open_file(kb_layer_path(k, i), false);
		struct kb_list l;
		kb_find(one, NULL, NULL, &l, &arena);
		stat_layer(k, i, &l, a->json, &arena);
		kb_close(one);
		arena_release(&arena);
	}
	if (kb_layers(k) == 0 && a->json)
		printf("{\"file\": null, \"records\": 0, \"tasks\": 0, \"bytes\": 0, \"classes\": []}\n");
	if (kb_layers(k) == 0)
		note("there is no knowledge base yet; the first record that is put makes one");
	kb_close(k);
	return EX_GOOD;
}

void keep_input(const char *out, const char *path)
{
	struct stat a, b;
	if (out && stat(out, &a) == 0 && stat(path, &b) == 0 && S_ISREG(a.st_mode) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		die(EX_BADUSE, "-o %s: is the file that is read", out);
}

void keep_base(const char *out, const char *path)
{
	struct arena a = {0};
	keep_input(out, path);
	keep_input(out, arena_printf(&a, "%s-lock", path));
	arena_release(&a);
}

int kb_dump(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	struct kb_list l;
	struct outfile o;
	const char *why = NULL;
	enum exit_code code = EX_GOOD;
	if (a->nfile)
		die(EX_BADUSE, "dump takes no argument; --kb FILE says which file, --for MODEL what of it");
	if (opt.for_file)
		return kb_dump_for(a);
	keep_base(a->out, kb_path(opt.kb, &arena));
	struct kb *k = opt.salvage ? NULL : kb_open_file(opt.kb, false);
	if (opt.salvage)
		code = kb_salvage(opt.kb, &l, &arena, &why);
	else
		kb_find(k, NULL, NULL, &l, &arena);
	kb_close(k);
	outfile_open(&o, a->out, false);
	print_records(o.f, &l, a->json);
	outfile_close(&o);
	if (why)
		warn("%s; %zu records are whole", why, l.n);
	else if (opt.salvage)
		note("%zu records are whole", l.n);
	arena_release(&arena);
	return code;
}

int kb_fsck(const struct tool *t, struct tool_args *a)
{
	struct arena arena = {0};
	if (a->nfile > 1)
		die(EX_BADUSE, "expected one file at most");
	if (a->nfile && opt.kb)
		die(EX_BADUSE, "fsck takes --kb or a file, not both");
	struct kb *k = kb_open_file(a->nfile ? a->file[0] : opt.kb, false);
	const char *faults = kb_check(k, 0, &arena);
	if (*faults)
		fputs(faults, stdout);
	else
		note("%s is sound", kb_layer_path(k, 0));
	int code = *faults ? EX_BADDATA : EX_GOOD;
	kb_close(k);
	arena_release(&arena);
	return code;
}
