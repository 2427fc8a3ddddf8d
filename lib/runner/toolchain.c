#define _GNU_SOURCE
#include "runner/toolchain.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/vec.h"
#include "target/target.h"

struct words {
	VEC(char *) a;
};

static void add(struct words *w, const char *s) { vec_push(&w->a, xstrdup(s)); }

static char **finish(struct words *w)
{
	vec_push(&w->a, NULL);
	return w->a.a;
}

/* Words of a line as a shell would take it; double quotes and backslashes only, as the driver writes them. */
static void add_line(struct words *w, const char *line)
{
	char *word = xmalloc(strlen(line) + 1);

	for (;;) {
		size_t n = 0;
		bool quoted = false;
		line += strspn(line, " \t\n");
		if (!*line)
			break;
		for (; *line && (quoted || !strchr(" \t\n", *line)); line++) {
			if (*line == '"')
				quoted = !quoted;
			else
				word[n++] = *line == '\\' && line[1] ? *++line : *line;
		}
		word[n] = 0;
		add(w, word);
	}
	free(word);
}

/* First line that a shell command prints; empty: none. */
static char *answer(const char *command)
{
	char line[4096] = "";
	FILE *f = popen(command, "re");

	if (f && !fgets(line, sizeof line, f))
		*line = 0;
	if (f)
		pclose(f);
	line[strcspn(line, "\n")] = 0;
	return xstrdup(line);
}

/* The file behind -o, and the input, become placeholders; false: not both are there. */
static bool put_places(struct words *w, const char *in)
{
	bool found[2] = {false, false};

	for (size_t i = 0; i < w->a.n; i++) {
		if (!strcmp(w->a.a[i], "-o") && i + 1 < w->a.n) {
			w->a.a[i + 1] = xstrdup(TOOLCHAIN_OUT);
			found[1] = true;
		} else if (in && !strcmp(w->a.a[i], in)) {
			w->a.a[i] = xstrdup(TOOLCHAIN_IN);
			found[0] = true;
		}
	}
	return found[1] && (found[0] || !in);
}

/* The command lines of compiler proper and assembler, as the driver prints them. */
static bool ask_driver(struct toolchain *t, const char *driver)
{
	char line[8192], *command = xprintf("LC_ALL=C %s -c -x c candidate.c -o candidate.o '-###' 2>&1", driver);
	FILE *f = popen(command, "re");
	struct words cc = {0}, as = {0};

	while (f && fgets(line, sizeof line, f)) {
		if (strstr(line, "/cc1 ") && !cc.a.n)
			add_line(&cc, line);
		else if (cc.a.n && *line == ' ' && !as.a.n)
			add_line(&as, line);
	}
	if (f)
		pclose(f);
	free(command);
	if (cc.a.n < 2 || as.a.n < 2 || access(cc.a.a[0], X_OK) || !put_places(&cc, "candidate.c") || !put_places(&as, NULL))
		return false;
	char **last = &as.a.a[as.a.n - 1]; /* its input has a temporary name */
	if (!strstr(*last, ".s"))
		return false;
	*last = xstrdup(TOOLCHAIN_IN);
	t->argv[0] = finish(&cc);
	t->argv[1] = finish(&as);
	return true;
}

static const char *program(const char *name)
{
	char *command = xprintf("%s -print-prog-name=%s 2>/dev/null", target_compiler(NULL), name);
	char *path = answer(command);

	free(command);
	return *path ? path : name;
}

static bool is_gnu(const char *linker)
{
	char *command = xprintf("'%s' --version 2>/dev/null", linker);
	char *says = strchr(linker, '\'') ? xstrdup("") : answer(command);
	bool is = !strncmp(says, "GNU ld", strlen("GNU ld"));

	free(says);
	free(command);
	return is;
}

const struct toolchain *toolchain_find(void)
{
	static struct toolchain t;
	struct words w = {0};

	if (t.steps)
		return &t;
	/* A candidate is linked with no run time that a sanitizer in CC would need (guard pages watch it), and with nothing that runs
	 * when it is loaded (runner/object.h). */
	char *driver =
		xprintf("%s %s -w -fPIC -fvisibility=default -fno-sanitize=all", target_compiler(NULL), target_cflags(target_host()));
	if (ask_driver(&t, driver)) {
		char *command = xprintf("%s -print-libgcc-file-name 2>/dev/null", target_compiler(NULL));
		char *libgcc = answer(command);
		const char *ld = program("ld");
		t.opens_output = is_gnu(ld);
		add(&w, ld);
		add_line(&w, "-shared -z noexecstack -z now -Bsymbolic --hash-style=gnu -o " TOOLCHAIN_OUT " " TOOLCHAIN_IN);
		if (*libgcc == '/')
			add(&w, libgcc);
		free(libgcc);
		free(command);
		t.argv[2] = finish(&w);
		t.steps = TOOLCHAIN_STEPS;
	} else {
		add_line(&w, driver);
		add_line(&w, "-shared -nostartfiles -Wl,-Bsymbolic,--hash-style=gnu -o " TOOLCHAIN_OUT " " TOOLCHAIN_IN " -lm");
		t.argv[0] = finish(&w);
		t.steps = 1;
	}
	free(driver);
	return &t;
}

const char *toolchain_suffix(const struct toolchain *t, int step)
{
	static const char *const suffix[] = {".s", ".o", ".so"};

	return suffix[t->steps == 1 ? 2 : step];
}

char **toolchain_argv(const struct toolchain *t, int step, const char *in, const char *out, struct arena *a)
{
	size_t n = 0;

	while (t->argv[step][n])
		n++;
	char **argv = ARENA_ARRAY(a, char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		char *s = t->argv[step][i];
		argv[i] = arena_str(a, !strcmp(s, TOOLCHAIN_IN) ? in : !strcmp(s, TOOLCHAIN_OUT) ? out : s);
	}
	return argv;
}
