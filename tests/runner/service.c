/* The service of tests/runner/device.c where what it stands on gives way: what is lost that way is no candidate's fault, and the
 * service goes on. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "runner/toolchain.h"
#include "serve_client.h"

static char *service; /* tests/device */

/* The service, its directory in dir, with a shell's commands ahead of it. */
static bool begin(const char *dir, const char *ahead, const char *option)
{
	const char *why = "";

	runner = runner_open(arena_printf(&arena, "mkdir -p %s; export TMPDIR=$PWD/%s %s %s %s", dir, dir, ahead, service, option), 20,
			     &arena, &why);
	return ok(runner != NULL, "a service, %s: %s", *ahead ? ahead : option, why);
}

static bool is_built(struct runner_answer x) { return !x.error && !x.ended && x.result.verdict == VERDICT_COUNT; }

static void is_error(struct runner_answer x, const char *pattern, const char *what)
{
	ok(x.error && x.why && strstr(x.why, pattern), "%s: %s: %s", what,
	   x.error   ? "error"
	   : x.ended ? "it ended"
		     : verdict_name(x.result.verdict),
	   x.why ? x.why : "");
}

/* Ends what compiles there. */
static bool kill_compiler(const char *dir)
{
	return system(arena_printf(
		       &arena,
		       "for i in 1 2 3 4 5 6 7 8 9 10; do p=$(grep -lsz \"$PWD/%s/.*[.]c\" /proc/[0-9]*/cmdline | cut -d/ -f3)\n"
		       "[ -z \"$p\" ] || exec kill -9 $p; sleep 0.1; done; false",
		       dir)) == 0;
}

/* Its directory has no more room than this. */
#define SMALL(size) "; exec unshare -rm sh -c 'mount -t tmpfs -o size=" size " none \"$TMPDIR\"; exec \"$@\"' sh"

/* A compiler that is gone for a while, or is killed by another, or finds no room. */
static void test_compilers(void)
{
	static const char large[] = "\tstatic volatile float x[] = {[0 ... 99999] = 1.5f};\n\t*c = x[(int)*a] + *b;";

	if (toolchain_find()->steps == 1) {
		ok(true, "compilers that are gone # SKIP the compiler is not GCC");
		return;
	}
	if (system("mkdir bin && ln -s \"$(gcc -print-prog-name=cc1)\" bin/cc1 && cat >bin/cc <<'E' && chmod +x bin/cc\n#!/bin/sh\n"
		   "case \"$*\" in *'###'*) gcc \"$@\" 2>&1 | sed \"s,[^ ]*/cc1 ,$PWD/bin/cc1 ,\" ;; *) exec gcc \"$@\" ;; esac\nE"))
		return;
	if (!begin("gone", "CC=$PWD/bin/cc; exec", "--serve"))
		return;
	use_scale(50);
	ok(is_built(build("\t*c = 1;")), "a compiler that is there");
	rename("bin/cc1", "bin/cc2");
	is_error(build("\t*c = 2;"), "cc1: No such file", "one that is gone");
	rename("bin/cc2", "bin/cc1");
	ok(is_built(build("\t*c = 2;")), "it is there again");
	runner_close(runner);
	if (begin("killed", "; exec", "--serve")) {
		use_scale(50);
		ask_build_endless();
		ok(kill_compiler("killed"), "a compiler is killed");
		is_error(next(), "killed by signal 9", "it");
		runner_close(runner);
	}
	if (system("unshare -rm mount -t tmpfs none . 2>/dev/null")) {
		ok(true, "no room for a compiler # SKIP no file system of our own");
		return;
	}
	if (begin("full", SMALL("300k"), "--serve")) {
		use_scale(50);
		is_error(build(large), "No space left", "no room");
		ok(is_built(build("\t*c = 1;")), "there is room for the next");
		runner_close(runner);
	}
	if (begin("tight", SMALL("64k"), "--serve")) {
		use_scale(50);
		struct runner_answer x = build("\t*c = 1;");
		ok(is_built(x), "room for a library");
		is_error(try("\t*c = 1;", x.digest, 0.1), "a copy of a library: No space left", "not for others like it");
		runner_close(runner);
	}
}

/* A base that falls before the candidate has run. */
static void test_base(void)
{
	static const char *const bad[] = {
		"\t*(volatile int *)0 = 1;",
		"\tstatic int calls;\n\tif (calls++ == 2)\n\t\t*(volatile int *)0 = 1;\n\tfor (int i = 0; i < 5000; i++)\n\t\tc[i] = 2 * a[i] + b[i];",
	};
	struct runner_answer base;

	if (!begin("base", "; exec", "--serve"))
		return;
	use_scale(5000);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		ok(is_built(base = build(bad[i])), "a base that crashes");
		is_error(try(scale, base.digest, 0.1), "the base, ", i ? "in its check" : "at once");
		is(try(bad[i], base.digest, 0.1), VERDICT_CRASH, "Segmentation fault", "against itself");
	}
	runner_close(runner);
}

static bool limit_files(int n)
{
	FILE *f = fopen("files/pid", "r");
	int pid = 0;
	bool good = f && fscanf(f, "%d", &pid) == 1 && !prlimit(pid, RLIMIT_NOFILE, &(struct rlimit){(rlim_t)n, (rlim_t)n}, NULL);

	if (f)
		fclose(f);
	return good;
}

/* However few files it may open: what cannot be done is an error, and the next thing is asked. */
static void test_files(void)
{
	enum { LEAST = 10, MOST = 15 };
	int errors = 0, good = 0, dead = 0;

	for (int n = LEAST; n <= MOST; n++) {
		if (!begin("files", "; echo $$ >files/pid; exec", "--serve"))
			return;
		ok(limit_files(n), "%d files for it", n);
		use_scale(50);
		struct runner_answer x = build("\tfor (int i = 0; i < 50; i++)\n\t\tc[i] = 2 * a[i] + b[i];");
		runner_try(runner, &(struct runner_try){
					   .task = task, .artifact = x.digest, .base = x.digest, .budget = 0.01, .cold_bytes = 1 << 20});
		x = next();
		good += !x.error && !x.ended;
		errors += x.error;
		runner_task(runner, "scale 20");
		x = next();
		dead += x.ended;
		runner_close(runner);
	}
	ok(errors && !dead && good + errors == MOST - LEAST + 1, "with few files: %d errors, %d tries, %d times it ended", errors, good,
	   dead);
	if (begin("files", "; ulimit -Sn 32; echo $$ >files/pid; exec", "--serve")) {
		ok(system("test $(awk '/open files/ { print $4 }' /proc/$(cat files/pid)/limits) -gt 32") == 0,
		   "it takes as many as it may have");
		runner_close(runner);
	}
}

/* Whoever started it had no use for its children. */
static void test_ignored(void)
{
	struct runner_answer x = {.why = "nothing came"};

	if (!begin("ignored", "; trap '' CHLD; exec", "--serve"))
		return;
	runner_task(runner, "scale 20");
	ok(runner_wait(&runner, 1, 5, &arena, &x) == 0 && !x.error && !x.ended, "signals of children that were ignored: %s",
	   x.why ? x.why : "");
	runner_close(runner);
}

/* How many files there are whose names match. */
static int count_files(const char *pattern)
{
	FILE *f = popen(arena_printf(&arena, "ls -d %s 2>/dev/null | wc -l", pattern), "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		pclose(f);
	return n;
}

/* What builds and tries leave: their artifact. */
static void test_left(void)
{
	static const char slow[] =
		"\tfor (volatile int k = 0; k < 20000000; k++)\n\t\t;\n\tfor (int i = 0; i < 50; i++)\n\t\tc[i] = 2 * a[i] + b[i];";
	struct digest d = {0, 0};

	if (!begin("left", "; exec", "--serve"))
		return;
	use_scale(50);
	ask_build(slow);
	ask_build(slow);
	for (int i = 0; i < 2; i++)
		d = next().digest;
	ok(count_files("left/*/*-*") == 1, "two builds of one digest leave one file: %d", count_files("left/*/*-*"));
	runner_try(runner, &(struct runner_try){.task = task, .artifact = d, .base = d, .budget = 5});
	for (int i = 0; i < 20 && count_files("left/*/*-*") != 7; i++)
		usleep(50000);
	ok(count_files("left/*/*-*") == 7, "a try has copies: %d", count_files("left/*/*-*"));
	ok(system("kill -9 $(ls left/*/*.1.1 | sed 's,.*\\.so\\.,,;s,\\..*,,')") == 0, "it is killed");
	is_error(next(), "killed by signal 9", "so it says nothing");
	ok(count_files("left/*/*-*") == 1, "its copies go: %d", count_files("left/*/*-*"));
	runner_close(runner);
}

/* A compiler that does all steps has its files in the service's directory. */
static void test_one_step(void)
{
	if (system("mkdir -p bin && cat >bin/one <<'E' && chmod +x bin/one\n#!/bin/sh\ncase \"$*\" in *'###'*) exit 1 ;; esac\n"
		   "case $(cat \"$TMPDIR\"/*.c) in *tell*) echo \"error: $TMPDIR\" >&2; exit 1 ;; esac\nexec gcc \"$@\"\nE") ||
	    !begin("one", "CC=$PWD/bin/one; exec", "--serve"))
		return;
	use_scale(50);
	ok(is_built(build("\t*c = 1;")), "a compiler that does all steps");
	struct runner_answer x = build("/* tell */");
	ok(x.why && strstr(x.why, "/one/hone-run-"), "its temporary files are the service's: %s", x.why ? x.why : "");
	runner_close(runner);
}

/* A task that is not done for long. */
static void test_waiting(void)
{
	if (!begin("waiting", "; exec", "--brief"))
		return;
	runner_task(runner, "wait");
	is_error(next(), "not done after 0.5 seconds", "a task that waits");
	runner_close(runner);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	(void)argc;
	service = arena_printf(&arena, "%.*sdevice", slash ? (int)(slash + 1 - argv[0]) : 0, argv[0]);
	test_compilers();
	test_base();
	test_files();
	test_ignored();
	test_left();
	test_one_step();
	test_waiting();
	arena_release(&arena);
	return tap_done();
}
