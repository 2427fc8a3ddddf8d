/* For tests that run the conformance cases of Debian's libonnx-testdata, or of the folder HONE_ONNX_DATA. A case runs in a process
 * of its own, since a fault ends the process. */
#ifndef HONE_CONFORMANCE_H
#define HONE_CONFORMANCE_H
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "onnx/onnx.h"
#include "target/target.h"
#include "tap.h"

struct conformance {
	const char *const *kinds;     /* folders of cases, NULL at the end */
	void (*run)(const char *dir); /* dies of what is wrong */
	/* It died so, of what this test does not judge. said: its first line. */
	bool (*unsupported)(int status, const char *said);
	const char *why; /* such cases are skipped */
};

/* Input or output i of a case; NULL: it has none. */
static struct tensor *read_nth(const char *dir, const char *kind, size_t i, struct arena *a)
{
	const char *path = arena_printf(a, "%s/test_data_set_0/%s_%zu.pb", dir, kind, i);

	return access(path, R_OK) ? NULL : onnx_read_tensor(path, a);
}

enum { PASSED, FAILED, UNSUPPORTED };
enum { CASE_SECONDS = 20, SLOWER = 10 }; /* of a CPU, at most; more of an emulated one, and where others have it */

static int fork_case(const struct conformance *c, const char *dir, const char *name)
{
	char said[600] = "";
	int p[2], status;
	pid_t pid;

	fflush(stdout);
	if (pipe(p) || (pid = fork()) < 0)
		die_errno(EX_SYSTEM, "fork");
	if (!pid) {
		dup2(p[1], 2);
		close(p[0]);
		rlim_t seconds = target_is_emulated() ? SLOWER * CASE_SECONDS : CASE_SECONDS;
		setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
		alarm((unsigned)(SLOWER * seconds));
		c->run(dir);
		_exit(0);
	}
	close(p[1]);
	for (ssize_t n = 0, k; (k = read(p[0], said + n, sizeof said - 1 - (size_t)n)) > 0;)
		n += k;
	close(p[0]);
	waitpid(pid, &status, 0);
	said[strcspn(said, "\n")] = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) && c->unsupported(WEXITSTATUS(status), said)) {
		if (getenv("VERBOSE"))
			printf("# %s: %s\n", name, said);
		return UNSUPPORTED;
	}
	bool good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	if (WIFSIGNALED(status))
		snprintf(said, sizeof said, "ended by signal %d", WTERMSIG(status));
	ok(good, "%s%s%s", name, *said ? ": " : "", said);
	return good ? PASSED : FAILED;
}

/* All cases, or those that have `only` in their names. The program's exit code. */
static int conformance(const struct conformance *c, const char *only)
{
	const char *data = getenv("HONE_ONNX_DATA") ? getenv("HONE_ONNX_DATA") : "/usr/share/libonnx-testdata/data";
	int n[3] = {0};

	if (access(data, R_OK)) {
		skip("conformance cases", "libonnx-testdata is not installed");
		return tap_done();
	}
	for (const char *const *kind = c->kinds; *kind; kind++) {
		char *dir = xprintf("%s/%s", data, *kind);
		struct dirent **list;
		int count = scandir(dir, &list, NULL, alphasort);
		for (int i = 0; i < count; i++)
			if (list[i]->d_name[0] != '.' && (!only || strstr(list[i]->d_name, only)))
				n[fork_case(c, xprintf("%s/%s", dir, list[i]->d_name), list[i]->d_name)]++;
	}
	if (n[UNSUPPORTED])
		skip(xprintf("%d conformance cases", n[UNSUPPORTED]), c->why);
	fprintf(stderr, "%d passed, %d failed, %d not supported\n", n[PASSED], n[FAILED], n[UNSUPPORTED]);
	return tap_done();
}
#endif
