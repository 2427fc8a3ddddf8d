/* Programs that hone runs: without a shell, one at a time. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/progress.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "hone.h"

extern char **environ;

const char *tools_folder = "";
bool child_interrupted;
static int stopped_by; /* the signal that ends hone after the search that runs; 0: none */

enum { SIGNALLED = 128, NOT_FOUND = 127 };
static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { NENDS = sizeof ends / sizeof *ends };
static sigset_t waited, before;
static struct sigaction interrupt; /* as hone found it */

/* Beside hone, or where make install puts them. */
void tools_find(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		die_errno(EX_SYSTEM, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	char *beside = xprintf("%s/ge-import", self);
	tools_folder = access(beside, X_OK) ? xprintf("%s/../libexec/hone", self) : xstrdup(self);
	free(beside);
	const char *path = getenv("PATH");
	setenv("PATH", xprintf("%s%s%s", tools_folder, path ? ":" : "", path ? path : ""), 1);
}

/* A signal that was ignored when hone began stays so. The keyboard's interrupt is for hone alone: what it starts ignores it and hears of
 * it from hone, if at all. (Linux keeps a blocked signal that is ignored, so hone itself still waits for it.) */
void child_begin(struct hone *h)
{
	sigemptyset(&waited);
	sigaddset(&waited, SIGCHLD);
	for (int i = 0; i < NENDS; i++) {
		struct sigaction a;
		sigaction(ends[i], NULL, &a);
		if (a.sa_handler != SIG_IGN)
			sigaddset(&waited, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &waited, &before);
	sigaction(SIGINT, &(struct sigaction){.sa_handler = SIG_IGN}, &interrupt);
	(void)h;
}

void child_end(void)
{
	sigaction(SIGINT, &interrupt, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void progress(const struct hone *h, const char *what)
{
	if (h->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r\033[K");
	if (what)
		fprintf(stderr, "hone: %s ...", shown(what));
	fflush(stderr);
}

/* ---- one child ---- */

static bool uses_terminal(const struct child *c) { return c->shows_progress && isatty(STDERR_FILENO); }
static const char *said_path(struct hone *h) { return text(h, "%s/messages", h->work); }
static size_t told; /* bytes of its messages that have been passed on */

/* Its output and messages go to files; argv is in need of a NULL. */
static pid_t start(struct hone *h, struct child *c)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	pid_t pid = -1;
	const char *tool = strchr(c->argv.a[0], '/') ? c->argv.a[0] : text(h, "%s/%s", tools_folder, c->argv.a[0]);

	posix_spawn_file_actions_init(&actions);
	if (!c->reads_input)
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, c->in ? c->in : "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, c->out ? c->out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (c->out_has_all)
		posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
	else if (!uses_terminal(c))
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said_path(h), O_WRONLY | O_CREAT | O_TRUNC, 0666);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &before);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	unlink(said_path(h));
	told = 0;
	int error = posix_spawn(&pid, tool, &actions, &attr, (char **)c->argv.a, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	if (error == ENOENT || error == EACCES)
		return -1;
	errno = error;
	if (error == ENOSPC || error == EDQUOT || error == EFBIG)
		no_space();
	if (error)
		die_errno(EX_SYSTEM, "cannot run %s", c->argv.a[0]);
	return pid;
}

/* ---- what it said ---- */

void put_named(struct hone *h, FILE *f, const char *name, const char *text)
{
	for (const char *p = text, *end; *p; p = end) {
		end = p + strcspn(p, "\n");
		end += *end == '\n';
		fprintf(f, "%s%s%.*s", name ? shown(name) : "", name ? ": " : "", (int)(end - p), p);
	}
}

/* Bytes of the name of a stage's graph, "03-fold.g"; 0: p does not begin with one. */
static size_t stage_file(const char *p)
{
	size_t digits = strspn(p, "0123456789"), n = digits;

	if (!digits || p[n++] != '-')
		return 0;
	n += strspn(p + n, "abcdefghijklmnopqrstuvwxyz");
	return strncmp(p + n, ".g", 2) ? 0 : n + 2;
}

/* Intermediate files, which nobody knows, are told without their folder; a stage's graph is the model. */
static void tell_text(struct hone *h, const char *said)
{
	char *prefix = xprintf("%s/", shown(h->work)), *plain;
	size_t n = strlen(prefix);
	FILE *f = textfile_open(&plain, NULL);

	for (const char *p = said; *p;)
		if (!strncmp(p, prefix, n)) {
			p += n;
			size_t graph = h->model ? stage_file(p) : 0;
			if (graph)
				put_shown(f, h->model);
			p += graph;
		} else {
			putc(*p++, f);
		}
	textfile_close(f);
	put_named(h, stderr, h->line_name, plain);
	free(plain);
	free(prefix);
}

/* Passes on what it said since; of one that still runs, whole lines. Has it said anything, now or before? */
static bool tell_said(struct hone *h, bool has_ended)
{
	struct mapped m;
	const char *path = said_path(h);

	progress(h, NULL);
	if (access(path, F_OK))
		return false;
	mapped_open(&m, path);
	const char *from = (const char *)m.p + told;
	size_t n = m.n > told ? m.n - told : 0;
	while (n && !has_ended && from[n - 1] != '\n')
		n--;
	char *said = xprintf("%.*s", (int)(n < INT_MAX ? n : INT_MAX), n ? from : "");
	told += n;
	mapped_close(&m);
	tell_text(h, said);
	free(said);
	return told > 0;
}

/* ---- its end ---- */

static int code_of(int status) { return WIFSIGNALED(status) ? SIGNALLED + WTERMSIG(status) : WEXITSTATUS(status); }

/* What runs ends first, and takes its temporaries with it. Files of a build that are all there then have their graphs, too. */
static noreturn void ended(struct hone *h, int number, pid_t child, bool emits)
{
	int status = 1;

	if (child > 0) {
		kill(child, SIGTERM);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		if (emits && !status)
			stem_keep(h);
	}
	progress(h, NULL);
	die_silent(SIGNALLED + number);
}

void child_check_signals(struct hone *h)
{
	static const struct timespec none;
	sigset_t set = waited;

	sigdelset(&set, SIGCHLD);
	int number = sigtimedwait(&set, NULL, &none);
	if (number > 0)
		ended(h, number, 0, false);
}

/* The next signal; 0: the time is over. */
static int next_signal(double until)
{
	double rest = until - now_seconds();

	if (!isfinite(until))
		return sigwaitinfo(&waited, NULL);
	if (rest <= 0)
		return 0;
	struct timespec t = {(time_t)rest, (long)(1e9 * (rest - floor(rest)))};
	int number = sigtimedwait(&waited, NULL, &t);
	return number < 0 && errno == EAGAIN ? 0 : number;
}

/* A search ends with what it has, and hone goes on; at the second signal (an echo of the first is none), or without a terminal, hone ends
 * too. */
static void interrupt_search(pid_t pid, int number)
{
	static double first;
	bool again = child_interrupted && now_seconds() - first > 0.3;

	if (again || (number != SIGINT && number != SIGTERM))
		stopped_by = number;
	if (!child_interrupted)
		first = now_seconds();
	child_interrupted = true;
	kill(pid, SIGTERM);
}

static int await(struct hone *h, const struct child *c, pid_t pid)
{
	enum { GLANCE = 5 }; /* seconds from look to look at what a search says, where that goes to a file */
	double end = c->limit > 0 ? now_seconds() + c->limit : INFINITY;
	bool late = false, relays = c->is_search && !uses_terminal(c);
	int status;

	for (;;) {
		pid_t done = waitpid(pid, &status, WNOHANG);
		if (done == pid)
			return late ? CHILD_LATE : code_of(status);
		if (done < 0 && errno != EINTR)
			die_errno(EX_SYSTEM, "wait");
		int number = next_signal(late ? INFINITY : relays ? fmin(end, now_seconds() + GLANCE) : end);
		if (number == 0 && relays)
			tell_said(h, false);
		if (number == 0 && now_seconds() >= end) {
			late = true;
			kill(pid, SIGKILL);
		} else if (number > 0 && number != SIGCHLD) {
			if (!c->is_search)
				ended(h, number, pid, !strcmp(c->argv.a[0], "ge-emit"));
			interrupt_search(pid, number);
		}
	}
}

int child_run(struct hone *h, struct child *c, struct facts *f)
{
	child_check_signals(h);
	if (c->facts)
		unlink(c->facts);
	words_add(&c->argv, NULL);
	pid_t pid = start(h, c);
	int code = pid < 0 ? NOT_FOUND : await(h, c, pid);
	if (f)
		*f = c->facts ? facts_read(c->facts) : (struct facts){0};
	return code;
}

static void tell_notes(struct hone *h, const char *tool, const struct facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->a[i].text && !strcmp(f->a[i].name, "note"))
			tell_text(h, text(h, "%s: %s\n", tool, shown(f->a[i].text)));
}

void child_tell(struct hone *h, const char *tool, const struct facts *f)
{
	tell_said(h, true);
	tell_notes(h, tool, f);
}

bool child_tell_give(struct hone *h, const struct facts *f)
{
	const char *give = facts_get(f, "give");

	if (give)
		fprintf(stderr, "hone: give them, for example: %s\n", shown(text(h, "%s%s", h->line, give)));
	return give;
}

void child_failed(struct hone *h, int code, const struct facts *f)
{
	bool any = tell_said(h, true) || facts_get(f, "error");

	child_tell_give(h, f);
	if (any)
		die_silent(code);
	if (code == EX_IO)
		no_space();
	if (code == NOT_FOUND)
		die(EX_SYSTEM, "%s: a tool is missing in %s", h->verb->name, tools_folder);
	warn("%s: a tool ended with %d and said nothing", h->verb->name, code);
	die_silent(code);
}

struct facts child_must(struct hone *h, struct child *c)
{
	struct facts f;
	int code = child_run(h, c, &f);

	if (stopped_by) { /* whatever it said of that */
		progress(h, NULL);
		die_silent(SIGNALLED + stopped_by);
	}
	if (code)
		child_failed(h, code, &f);
	return f;
}
