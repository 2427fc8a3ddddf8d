/* A toolchain that has begun already: what its forks write is what its programs write. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/progress.h"
#include "runner/toolchain.h"
#include "runner/compile_server.h"
#include "tap.h"

enum { SOURCES = 8, ROUNDS = 3, SECONDS = 30, TEXT = 1 << 20 };
static struct arena arena;
static char dir[4096];

static char *path(const char *name, int i, const char *suffix) { return arena_printf(&arena, "%s/%s%d%s", dir, name, i, suffix); }

static void write_text(const char *to, const char *text)
{
	FILE *f = fopen(to, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

/* Bytes of a file, for good; of assembler text those behind the line that names the file. */
static char *code_of(const char *from, size_t *n)
{
	FILE *f = fopen(from, "r");
	char *text = calloc(1, TEXT), *at;

	*n = f ? fread(text, 1, TEXT - 1, f) : 0;
	if (f)
		fclose(f);
	at = strstr(text, "\t.file\t");
	at = at ? strchr(at, '\n') : text;
	*n -= (size_t)(at - text);
	return at;
}

static bool equal_files(const char *a, const char *b)
{
	size_t n, m;
	const char *x = code_of(a, &n), *y = code_of(b, &m);

	return n > 100 && n == m && !memcmp(x, y, n);
}

static const char *source(int i)
{
	return arena_printf(&arena,
			    "#include <math.h>\n"
			    "static float f%d(float x) { return sqrtf(x) * %d.5f; }\n"
			    "void matmul(const float *restrict x, float *restrict y, int n)\n"
			    "{ for (int i = 0; i < n; i++) for (int k = 0; k <= %d; k++) y[i] += f%d(x[i + k]); }\n",
			    i, i, i, i);
}

static int run_cold(int step, const char *in, const char *out)
{
	char **argv = toolchain_argv(toolchain_find(), step, in, out, &arena);
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status;
}

static int report(void) { return memfd_create("report", MFD_CLOEXEC); }

/* Seconds until it is there; negative: never. */
static double wait_ready(struct compile_server *w, int step)
{
	double start = now_seconds();
	pid_t pid;

	while ((pid = compile_server_run(w, step, path("none", 0, ".c"), path("none", 0, ".s"), report(), 0, SECONDS)) == 0 &&
	       w->step[step].pid && now_seconds() - start < SECONDS)
		usleep(1000);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return pid > 0 ? now_seconds() - start : -1;
}

static const char *file_of(const char *name, int i, int step)
{
	return path(name, i, step < 0 ? ".c" : toolchain_suffix(toolchain_find(), step));
}

static void test_same(struct compile_server *w, int step)
{
	static const char *const words[] = {"compiler", "assembler", "linker"};
	int good = 0, same = 0, status;
	pid_t pid[SOURCES];

	for (int i = 0; i < SOURCES; i++)
		run_cold(step, file_of("k", i, step - 1), file_of("k", i, step));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SOURCES; i++)
			pid[i] = compile_server_run(w, step, file_of("k", i, step - 1), file_of("server", i, step), report(), 0, SECONDS);
		for (int i = 0; i < SOURCES; i++) {
			good += pid[i] > 0 && waitpid(pid[i], &status, 0) == pid[i] && status == 0;
			same += equal_files(file_of("server", i, step), file_of("k", i, step));
			unlink(file_of("server", i, step));
		}
	}
	ok(good == ROUNDS * SOURCES, "children of the caller: %d of %d end well", good, ROUNDS * SOURCES);
	ok(same == ROUNDS * SOURCES, "what they write is what the %s writes: %d of %d", words[step], same, ROUNDS * SOURCES);
}

/* Assembler and linker take away what they made when they fail: of what comes next they do not. */
static void test_bad(struct compile_server *w, int step)
{
	char said[4096] = "";
	int fd = report(), status = 0;

	write_text(file_of("bad", 0, step - 1), "\tnonsense of a file\n");
	pid_t pid = compile_server_run(w, step, file_of("bad", 0, step - 1), file_of("bad", 0, step), fd, 0, SECONDS);
	if (pid > 0)
		waitpid(pid, &status, 0);
	ok(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) && pread(fd, said, sizeof said - 1, 0) > 0, "one that fails says why");
	test_same(w, step);
}

static void test_error(struct compile_server *w)
{
	int fd = report(), status = 0;
	char said[4096] = "";

	write_text(path("bad", 0, ".c"), "int x;\nint f(void) { return y; }\n");
	pid_t pid = compile_server_run(w, 0, path("bad", 0, ".c"), path("bad", 0, ".s"), fd, 0, SECONDS);
	waitpid(pid, &status, 0);
	if (pread(fd, said, sizeof said - 1, 0) < 0)
		*said = 0;
	ok(WIFEXITED(status) && WEXITSTATUS(status) && strstr(said, "candidate.c:2:") && strstr(said, "error: "),
	   "an error, with its line");
	pid = compile_server_run(w, 0, path("none", 0, ".c"), path("none", 0, ".s"), fd, 0, SECONDS);
	waitpid(pid, &status, 0);
	ok(pid > 0 && WIFEXITED(status) && WEXITSTATUS(status), "a file that is not there");
}

/* Nested macros that never end: the time it may take does. */
static void test_limit(struct compile_server *w)
{
	char *at = arena_alloc(&arena, 1 << 14), *from = at;
	int status = 0;

	at += sprintf(at, "#define M0 x+x+x+x+x+x+x+x\nint x;\n");
	for (int i = 1; i <= 12; i++)
		at += sprintf(at, "#define M%d M%d+M%d+M%d+M%d+M%d+M%d+M%d+M%d\n", i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1,
			      i - 1);
	sprintf(at, "#if M12\n#endif\n");
	write_text(path("long", 0, ".c"), from);
	double start = now_seconds();
	pid_t pid = compile_server_run(w, 0, path("long", 0, ".c"), path("long", 0, ".s"), report(), 0, 1);
	waitpid(pid, &status, 0);
	ok(pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU, "one that never ends is ended (%.1f s)", now_seconds() - start);
}

static void test_killed(struct compile_server *w)
{
	siginfo_t ended;

	kill(w->step[0].pid, SIGKILL);
	waitid(P_PID, (id_t)w->step[0].pid, &ended, WEXITED | WNOWAIT);
	ok(compile_server_run(w, 0, path("k", 0, ".c"), path("k", 0, ".s"), report(), 0, SECONDS) == 0 && w->step[0].pid == 0,
	   "where it is killed, the compiler is run");
	ok(compile_server_run(w, 0, path("k", 0, ".c"), path("k", 0, ".s"), report(), 0, SECONDS) == 0, "and again");
}

int main(void)
{
	struct compile_server w;

	if (toolchain_find()->steps == 1) {
		skip("a compiler that begins once", "the compiler is not GCC");
		return tap_done();
	}
	if (!getcwd(dir, sizeof dir))
		return 1;
	compile_server_start(&w, dir, 0, -1);
	for (int i = 0; i < SOURCES; i++)
		write_text(path("k", i, ".c"), source(i));
	for (int step = 0; step < TOOLCHAIN_STEPS - !toolchain_find()->opens_output; step++) {
		double t = wait_ready(&w, step);
		if (ok(t >= 0, "it stands ready (%.3f s)", t))
			test_same(&w, step);
		if (step)
			test_bad(&w, step);
	}
	test_error(&w);
	test_limit(&w);
	test_killed(&w);
	compile_server_end(&w);
	ok(waitpid(-1, NULL, WNOHANG) < 0, "no process is left");
	return tap_done();
}
