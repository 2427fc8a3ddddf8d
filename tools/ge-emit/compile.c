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
#include "common/tool.h"
#include "ge-emit.h"

extern char **environ;

/* What the compilers say, kept until it is known whether it matters. */
static int said = -1;
static const char *place; /* where they write */
static const struct target *made_for;

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

/* A full disk is not the compiler's fault, nor are limits that it is under, nor the choice of a compiler for another machine. Some say so, ar
 * does not. */
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
	if (!target_compiles(made_for))
		die(EX_NOTAVAIL, TARGET_NO_COMPILER, target_compiler(made_for), target_compiler_variable(made_for));
	const char *why = target_why_no_code(made_for);
	if (why)
		die(EX_NOTAVAIL, "%s", why);
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

/* A compilation of the C file. */
struct unit {
	const struct target *target;
	int number; /* as TARGET; 0 and no part: the part that chooses */
	int part;
};

struct units {
	VEC(struct unit) a;
};

static char *object_of(const char *dir, const char *stem, const struct unit *u)
{
	return u->number ? xprintf("%s/%s.%d.%d.o", dir, stem, u->number, u->part) : xprintf("%s/%s.%d.o", dir, stem, u->part);
}

/* The C file for the compiler. gcc writes its name into the assembler's text as it is: one that would end there has another name, too,
 * beside it. */
static char *source_of(const char *dir, const char *stem)
{
	char *path = xprintf("%s/%s.c", dir, stem), *plain = xprintf("%s/.source.c", dir), *target = xprintf("%s.c", stem);

	if (!strpbrk(stem, "\"\\\n"))
		return path;
	if (symlink(target, plain) && errno != EEXIST)
		die_errno(EX_IO, "%s", plain);
	return plain;
}

static void compile_units(const struct units *all, const char *flags, bool several, const char *dir, const char *stem, int jobs)
{
	struct progress p;
	int running = 0;

	progress_start(&p, "compile", all->a.n);
	for (size_t i = 0; i < all->a.n; i++) {
		const struct unit *u = &all->a.a[i];
		struct argv v = {0};
		add_words(&v, target_compiler(u->target));
		add_words(&v, target_cflags(u->target));
		add_words(&v, flags);
		add_words(&v, "-w -fvisibility=default -c");
		if (several)
			add(&v, xprintf("-DTARGET=%d", u->number));
		add(&v, xprintf("-DPART=%d", u->part));
		add(&v, xprintf("-DHONE_BUILD=\"%s\"", hone_build));
		add(&v, source_of(dir, stem));
		add(&v, xstrdup("-o"));
		add(&v, object_of(dir, stem, u));
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

/* Objects as one, in which names that match these patterns alone are global. shared: another one, or NULL. */
static void join_objects(const struct target *t, const struct argv *objects, const char *to, const char *kept, const char *shared)
{
	struct argv v = {0};

	add_words(&v, target_compiler(t));
	add_words(&v, "-r -nostdlib -o");
	add(&v, xstrdup(to));
	for (size_t i = 0; i < objects->a.n; i++)
		add(&v, xstrdup(objects->a.a[i]));
	run_one(&v, "the linker");
	add_words(&v, target_tool(t, "objcopy"));
	add(&v, xstrdup("-w"));
	add(&v, xprintf("--keep-global-symbol=%s", kept));
	if (shared)
		add(&v, xprintf("--keep-global-symbol=%s", shared));
	add(&v, xstrdup(to));
	run_one(&v, "objcopy");
}

/* The archive holds one object in which only the model's own names are global, so that two models can be
 * linked into one program. */
static void make_archive(const struct target *t, const struct argv *objects, const char *name, const char *dir, const char *stem)
{
	char *object = xprintf("%s/%s.o", dir, stem), *kept = xprintf("%s_*", name);
	struct argv v = {0};

	join_objects(t, objects, object, kept, NULL);
	add_words(&v, target_tool(t, "ar"));
	add(&v, xstrdup("crsD"));
	add(&v, xprintf("%s/%s.a", dir, stem));
	add(&v, object);
	run_one(&v, "ar");
	free(kept);
}

/* The objects to link: of each target one, in which no name meets those of others. */
static void compile_several(struct emission *e, int n, const char *dir, const char *stem, int jobs, struct argv *objects)
{
	struct target any = {.of = targets_kind(e->of_several)};
	struct units all = {0};
	size_t k = 1;

	vec_push(&all.a, (struct unit){&any, 0, 0});
	for (int i = 0; i < n; i++)
		for (int part = 0; part <= e[i].functions.nparts; part++)
			vec_push(&all.a, (struct unit){e[i].target, e[i].number, part});
	compile_units(&all, "-fPIC", true, dir, stem, jobs);
	add(objects, object_of(dir, stem, &all.a.a[0]));
	for (int i = 0; i < n; i++) {
		struct argv own = {0};
		char *to = xprintf("%s/%s.%d.o", dir, stem, e[i].number), *kept = xprintf("entries_of_%s", e[i].name),
		     *shared = xprintf("shared_%d_*", e[i].number);
		for (int part = 0; part <= e[i].functions.nparts; part++)
			add(&own, object_of(dir, stem, &all.a.a[k++]));
		join_objects(e[i].target, &own, to, kept, shared);
		add(objects, to);
		free(kept);
		free(shared);
	}
}

static void compile_one(struct emission *e, const char *dir, const char *stem, int jobs, struct argv *objects)
{
	struct units all = {0};

	for (int part = 0; part <= e->functions.nparts; part++) {
		vec_push(&all.a, (struct unit){e->target, 0, part});
		add(objects, object_of(dir, stem, &all.a.a[part]));
	}
	compile_units(&all, e->bare ? BARE_CFLAGS " -fstack-usage" : "-fPIC", false, dir, stem, jobs);
}

static bool has_slow_path(const struct emission *e, int n)
{
	bool any = false;

	for (int i = 0; i < n; i++)
		any = any || e[i].weights.opaque_bytes;
	return any;
}

static void link_library(struct emission *e, const char *dir, const char *stem, struct argv *objects, char *evaluator,
			 const struct words *links)
{
	struct argv v = {0};

	if (evaluator)
		add(objects, evaluator);
	add_words(&v, target_compiler(e->target));
	add_words(&v, "-shared -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o");
	add(&v, xprintf("%s/%s.so", dir, stem));
	for (size_t i = 0; i < objects->a.n; i++)
		add(&v, xstrdup(objects->a.a[i]));
	for (size_t i = 0; i < links->n; i++)
		add(&v, xstrdup(links->a[i]));
	add_words(&v, "-lm -pthread");
	run_one(&v, "the linker");
}

void compile_model(struct emission *e, int n, const char *dir, const char *stem, int jobs, const struct words *links)
{
	char *evaluator = has_slow_path(e, n) ? evaluator_archive() : NULL;
	struct argv objects = {0};

	place = dir;
	made_for = e->target;
	setenv("TMPDIR", dir, 1); /* a compiler that is killed leaves its files here, where the next build removes them */
	if (n > 1)
		compile_several(e, n, dir, stem, jobs, &objects);
	else
		compile_one(e, dir, stem, jobs, &objects);
	if (!e->bare)
		link_library(e, dir, stem, &objects, evaluator, links);
	make_archive(e->target, &objects, n > 1 ? e->model : e->name, dir, stem);
}
