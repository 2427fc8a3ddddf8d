/* hone: the passes in their order, and any tool by its name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/nearest.h"
#include "common/progress.h"
#include "common/tool.h"
#include "hone.h"

extern char **environ;

const char *text(struct hone *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	char *s = arena_alloc(&h->arena, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

/* ---- any tool ---- */

static bool has_tool(const char *name)
{
	char *path = xprintf("%s/%s", tools_folder, name);
	bool there = *name && !strchr(name, '/') && strcmp(name, "hone") && *name != '.' && !access(path, X_OK);

	free(path);
	return there;
}

/* ---- help ---- */

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* The sentence that a tool says of itself. */
static void put_summary(const char *tool)
{
	char *path = xprintf("%s/%s", tools_folder, tool), *argv[] = {(char *)tool, "--summary", NULL};
	pid_t child;
	int status;

	printf("  %-12s ", tool);
	if (fflush(stdout))
		die_errno(EX_IO, "standard output: writing failed");
	if (posix_spawn(&child, path, NULL, NULL, argv, environ) || waitpid(child, &status, 0) < 0)
		die_errno(EX_SYSTEM, "cannot run %s", tool);
	if (status) /* it has said why */
		die_silent(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	free(path);
}

/* The names of all tools but hone, sorted. */
static struct words tools_all(void)
{
	struct words all = {0};
	DIR *d = opendir(tools_folder);

	for (struct dirent *x; d && (x = readdir(d));)
		if ((!strncmp(x->d_name, "ge-", 3) || !strcmp(x->d_name, "kb") || !strncmp(x->d_name, "run-", 4) ||
		     !strncmp(x->d_name, "tune-", 5)) &&
		    has_tool(x->d_name))
			vec_push(&all, xstrdup(x->d_name));
	if (d)
		closedir(d);
	if (all.n)
		qsort(all.a, all.n, sizeof *all.a, by_text);
	return all;
}

static void list_tools(void)
{
	struct words all = tools_all();

	printf("\nTools:\n");
	for (size_t i = 0; i < all.n; i++)
		put_summary(all.a[i]);
}

static noreturn void run_tool(const char *name, char **argv)
{
	struct words all = tools_all();
	struct nearest near = {.word = name};

	if (has_tool(name)) {
		execv(xprintf("%s/%s", tools_folder, name), argv);
		die_errno(EX_SYSTEM, "cannot run %s", name);
	}
	verbs_offer(&near);
	for (size_t i = 0; i < all.n; i++)
		nearest_offer(&near, all.a[i]);
	if (near.best)
		die(EX_BADUSE, "%s: no such tool; hone %s? hone help lists them", name, near.best);
	die(EX_BADUSE, "%s: no such tool; hone help lists them", name);
}

static int help(int argc, char **argv)
{
	if (argc < 3 || !*argv[2] || !strcmp(argv[2], "hone")) {
		help_print(NULL);
		list_tools();
		return EX_GOOD;
	}
	const struct verb *v = verb_find(argv[2]);
	if (!v) {
		char *ask[] = {argv[2], "--help", NULL};
		run_tool(argv[2], ask);
	}
	help_print(v);
	return EX_GOOD;
}

/* ---- verbs ---- */

/* What is to be kept of a build that failed. Of its first stage there is nothing. */
static void keep_failed(void *arg)
{
	struct hone *h = arg;

	if (h->work && given_is(h, "keep") && h->kept.n > 0 && !h->is_kept)
		stem_keep(h);
}

static int verbs(int argc, char **argv)
{
	static const char *const helps[] = {"help", "--help", "-h", "-?"}, *const versions[] = {"--version", "-V"};
	const char *word = argc > 1 ? argv[1] : "";
	static struct hone h;

	tools_find();
	if (!*word) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		help_print(NULL);
		return EX_BADUSE;
	}
	for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
		if (!strcmp(word, helps[i]))
			return help(argc, argv);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		if (!strcmp(word, versions[i])) {
			printf("hone (hone) %s\n", hone_build);
			return EX_GOOD;
		}
	h.verb = verb_find(word);
	if (!h.verb)
		run_tool(word, argv + 1);
	h.start = now_seconds();
	if (!options_read(&h, argc, argv))
		return EX_GOOD;
	child_begin(&h);
	work_make(&h);
	h.last = h.model;
	die_hook(keep_failed, &h);
	h.verb->run(&h);
	place_remove(&h);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "hone",
	.summary = "Compile, tune, train, simplify or quantise a model, or run a tool.",
	.verbs = verbs,
};
