/* Running the C compiler, several at a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/shown.h"
#include "ge-emit.h"

extern char **environ;

/* What the compilers say, kept until it is known whether it matters. */
static int said = -1;
static const char *place; /* where they write */

struct argv {
	VEC(char *) a;
};

/* Words of a command line without quotes in it. */
static void add_words(struct argv *v, const char *words)
{
	char *copy = xstrdup(words), *save = NULL;

	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		vec_push(&v->a, xstrdup(w));
	free(copy);
}

static void add(struct argv *v, char *word) { vec_push(&v->a, word); }

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { NENDS = sizeof ends / sizeof *ends };

void signals_hold(bool hold)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < NENDS; i++)
		sigaddset(&set, ends[i]);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* One of them has come meanwhile: its number; 0: none. */
static int signal_held(void)
{
	sigset_t set;

	sigpending(&set);
	for (int i = 0; i < NENDS; i++)
		if (sigismember(&set, ends[i]))
			return ends[i];
	return 0;
}

static pid_t start(struct argv *v)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;
	int error;

	if (said < 0 && (said = memfd_create("said", MFD_CLOEXEC)) < 0)
		die_errno(EX_SYSTEM, "memfd_create");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
	sigemptyset(&none); /* the compiler may be interrupted, also while we may not */
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	setenv("LC_ALL", "C", 1);
	vec_push(&v->a, NULL);
	error = posix_spawnp(&pid, v->a.a[0], &actions, &attr, v->a.a, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (error) {
		errno = error;
		die_errno(error == ENOENT || error == EACCES ? EX_NOTAVAIL : EX_SYSTEM, "cannot run %s", v->a.a[0]);
	}
	for (size_t i = 0; i + 1 < v->a.n; i++)
		free(v->a.a[i]);
	vec_free(&v->a);
	return pid;
}

/* Does a compiler say that it had no memory or files, or was killed? The line that says it, without its end; NULL: no. */
static char *starved(char *said)
{
	static const char *const words[] = {"signal terminated program", "ut of memory",     "memory exhausted",
					    "Cannot allocate memory",    "file descriptors", "Too many open files"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		char *at = strstr(said, words[i]);
		while (at && at > said && at[-1] != '\n')
			at--;
		if (at)
			return at[strcspn(at, "\n")] = 0, at;
	}
	return NULL;
}

/* A full disk is not the compiler's fault, nor are limits that it is under. Some say so, ar does not. */
static noreturn void failed(const char *what)
{
	enum { LITTLE = 1 << 20 };
	struct stat st = {0};
	struct statvfs fs;

	fstat(said, &st);
	char *text = xcalloc((size_t)st.st_size + 1, 1);
	if ((pread(said, text, (size_t)st.st_size, 0) > 0 && strstr(text, strerror(ENOSPC))) ||
	    (statvfs(place, &fs) == 0 && fs.f_bavail < LITTLE / fs.f_frsize))
		die(EX_IO, "%s: %s", what, strerror(ENOSPC));
	const char *line = starved(text);
	if (line)
		die(EX_SYSTEM, "%s had not enough memory, stack or files, or was killed: %s", what, line);
	put_shown_lines(stderr, text);
	die(EX_BUG, "%s failed; its messages are above", what);
}

/* Waits for one child of ours. */
static void reap(const char *what, int *running)
{
	int status;
	pid_t pid;

	while ((pid = wait(&status)) < 0 && errno == EINTR)
		;
	if (pid < 0)
		die_errno(EX_SYSTEM, "wait");
	--*running;
	int held = signal_held();
	if (status == 0 && !held)
		return;
	while (*running > 0 && wait(NULL) > 0)
		--*running;
	if (held)
		die_silent(128 + held); /* as a shell names it */
	failed(what);
}

static void run_one(struct argv *v, const char *what)
{
	int running = 1;

	start(v);
	reap(what, &running);
}

static void compile_parts(struct emission *e, const char *dir, const char *stem, int jobs)
{
	struct progress p;
	int running = 0;

	progress_start(&p, "compile", (size_t)e->functions.nparts + 1);
	for (int part = 0; part <= e->functions.nparts; part++) {
		struct argv v = {0};
		add_words(&v, target_compiler(e->target));
		add_words(&v, target_cflags(e->target));
		add_words(&v, "-w -fPIC -fvisibility=default -c");
		add(&v, xprintf("-DPART=%d", part));
		add(&v, xprintf("%s/%s.c", dir, stem));
		add(&v, xstrdup("-o"));
		add(&v, xprintf("%s/%s.%d.o", dir, stem, part));
		if (running == jobs) {
			reap("the C compiler", &running);
			progress_step(&p, NULL);
		}
		start(&v);
		running++;
	}
	while (running) {
		reap("the C compiler", &running);
		progress_step(&p, NULL);
	}
	progress_end(&p);
}

/* The evaluator as an archive, beside this program or where it was installed. Not there: die(69). */
static char *evaluator_archive(void)
{
	static const char *const places[] = {"../build", "../../lib/hone", "../lib/hone"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		die_errno(EX_SYSTEM, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		char *path = xprintf("%s/%s/libhone_eval.a", self, places[i]);
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	die(EX_NOTAVAIL, "libhone_eval.a, which the slow path needs, is not in %s/../build nor in %s/../../lib/hone", self, self);
}

/* The archive holds one object in which only the model's own names are global, so that two models can be
 * linked into one program. */
static void make_archive(struct emission *e, const char *dir, const char *stem, const char *evaluator)
{
	struct argv v = {0};

	add_words(&v, target_compiler(e->target));
	add_words(&v, "-r -nostdlib -o");
	add(&v, xprintf("%s/%s.o", dir, stem));
	for (int part = 0; part <= e->functions.nparts; part++)
		add(&v, xprintf("%s/%s.%d.o", dir, stem, part));
	if (evaluator)
		add(&v, xstrdup(evaluator));
	run_one(&v, "the linker");
	add_words(&v, target_tool(e->target, "objcopy"));
	add(&v, xstrdup("-w"));
	add(&v, xprintf("--keep-global-symbol=%s_*", e->name));
	add(&v, xprintf("%s/%s.o", dir, stem));
	run_one(&v, "objcopy");
	add_words(&v, target_tool(e->target, "ar"));
	add(&v, xstrdup("crsD"));
	add(&v, xprintf("%s/%s.a", dir, stem));
	add(&v, xprintf("%s/%s.o", dir, stem));
	run_one(&v, "ar");
}

void compile_model(struct emission *e, const char *dir, const char *stem, int jobs)
{
	char *evaluator = e->weights.opaque_bytes ? evaluator_archive() : NULL;
	struct argv v = {0};

	place = dir;
	setenv("TMPDIR", dir, 1); /* a compiler that is killed leaves its files here, where the next build removes them */
	compile_parts(e, dir, stem, jobs);
	add_words(&v, target_compiler(e->target));
	add_words(&v, "-shared -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o");
	add(&v, xprintf("%s/%s.so", dir, stem));
	for (int part = 0; part <= e->functions.nparts; part++)
		add(&v, xprintf("%s/%s.%d.o", dir, stem, part));
	if (evaluator)
		add(&v, xstrdup(evaluator));
	add_words(&v, "-lm -pthread");
	run_one(&v, "the linker");
	make_archive(e, dir, stem, evaluator);
	free(evaluator);
}
