/* This side of a file: starting the process that holds it, asking, and reading how it ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "kb/kb.h"
#include "kb/store.h"

struct store {
	char *path;
	int fd;
	pid_t pid;
};

bool bytes_receive(int fd, void *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = recv(fd, (char *)p + done, n - done, 0);
		if (got > 0)
			done += (size_t)got;
		else if (got == 0 || errno != EINTR)
			return false;
	}
	return true;
}

const char *kb_before;

static bool bytes_send(int fd, const void *p, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = send(fd, (const char *)p + done, n - done, MSG_NOSIGNAL);
		if (put > 0)
			done += (size_t)put;
		else if (put == 0 || errno != EINTR)
			return false;
	}
	return true;
}

bool frame_send(int fd, uint32_t kind, uint32_t value, const void *p, size_t n)
{
	struct store_frame f = {kind, value, n};
	return bytes_send(fd, &f, sizeof f) && bytes_send(fd, p, n);
}

bool frame_receive(int fd, struct store_frame *f) { return bytes_receive(fd, f, sizeof *f); }

/* If a socket of another file's process stayed open here, that process would not end. */
static void close_from(int first)
{
	enum { AT_MOST = 1 << 16 };                    /* the limit may be a billion */
	if (close_range((unsigned)first, ~0u, 0) == 0) /* older kernels, and some sandboxes, refuse it */
		return;
	long n = sysconf(_SC_OPEN_MAX);
	for (int fd = first; fd < (n > 0 && n < AT_MOST ? (int)n : AT_MOST); fd++)
		close(fd);
}

/* Becomes the other side: it keeps nothing of the parent but the socket, and signals from the terminal do not reach it. */
static noreturn void become_server(int fd, const char *path, bool write)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGTTOU, SIGPIPE, SIGXFSZ};
	static const int plain[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF, SIGALRM, SIGCHLD};
	struct rlimit none = {0, 0};
	sigset_t all;
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		signal(plain[i], SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setrlimit(RLIMIT_CORE, &none);
	int null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && null >= 0; i++)
		dup2(null, i);
	if (fd != 3)
		dup2(fd, 3);
	close_from(4);
	lmdb_serve(3, path, write);
}

struct store *store_start(const char *path, bool write)
{
	struct store *s = xcalloc(1, sizeof *s);
	int pair[2];
	s->path = xstrdup(path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die_errno(EX_SYSTEM, "%s", path);
	s->fd = pair[0];
	s->pid = fork();
	if (s->pid < 0)
		die_errno(EX_SYSTEM, "%s: no process to open it in", path);
	if (s->pid == 0)
		become_server(pair[1], path, write);
	close(pair[1]);
	return s;
}

struct store *store_open(const char *path, bool write)
{
	struct store *s = store_start(path, write);
	struct arena a = {0};
	size_t n;
	store_call(s, STORE_OPEN, NULL, 0, &a, &n, NULL);
	arena_release(&a);
	return s;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	close(s->fd);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(s->path);
	free(s);
}

const char *store_path(const struct store *s) { return s->path; }

noreturn void store_damaged(const struct store *s, const char *what)
{
	die(EX_BADDATA, "%s: " STORE_DAMAGED "%s; kb fsck says more, kb dump --salvage prints what is whole", s->path, what);
}

/* How the other side ended, when it did without an answer. */
static const char *how_it_ended(struct store *s, struct arena *a)
{
	int status = 0;
	pid_t got;
	while ((got = waitpid(s->pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (got == s->pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		die(EX_SYSTEM, "%s: the process that had it open was killed; what was committed is there", s->path);
	if (got == s->pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		return "its pages lead in circles";
	if (got == s->pid && WIFSIGNALED(status))
		return arena_printf(a, "its pages lead nowhere (%s)", strsignal(WTERMSIG(status)));
	return "its pages lead nowhere";
}

const char *store_call(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, uint32_t *value)
{
	struct store_frame f;
	char *answer = NULL;
	bool good = frame_send(s->fd, op, 0, p, n) && frame_receive(s->fd, &f);
	if (good) {
		answer = arena_alloc(a, f.n + 1);
		good = bytes_receive(s->fd, answer, f.n);
	}
	if (!good)
		store_damaged(s, how_it_ended(s, a));
	if (f.kind == EX_BADDATA && !strncmp(answer, STORE_DAMAGED, strlen(STORE_DAMAGED)))
		store_damaged(s, answer + strlen(STORE_DAMAGED));
	if (f.kind)
		die(f.kind, "%s: %s%s", s->path, answer,
		    f.n < strlen(STORE_UNKEPT) || strcmp(answer + f.n - strlen(STORE_UNKEPT), STORE_UNKEPT) ? ""
		    : kb_before                                                                             ? kb_before
				: ", all that was there before is");
	*len = f.n;
	if (value)
		*value = f.value;
	return answer;
}

const char *store_try(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, const char **why,
		      enum exit_code *code)
{
	struct store_frame f = {ANSWER_PART, 0, 0};
	VEC(char) all = {0};
	*why = NULL;
	*code = EX_GOOD;
	bool good = frame_send(s->fd, op, 0, p, n);
	while (good && f.kind == ANSWER_PART) {
		good = frame_receive(s->fd, &f);
		if (!good)
			break;
		vec_reserve(&all, all.n + f.n + 1);
		good = bytes_receive(s->fd, all.a + all.n, f.n);
		if (good && f.kind && f.kind != ANSWER_PART)
			*code = f.kind, *why = arena_printf(a, "%.*s", (int)f.n, all.a + all.n);
		else if (good)
			all.n += f.n;
	}
	if (!good)
		*code = EX_BADDATA, *why = arena_printf(a, STORE_DAMAGED "%s", how_it_ended(s, a));
	vec_reserve(&all, all.n + 1);
	char *text = arena_copy(a, all.a, all.n + 1);
	text[all.n] = 0;
	*len = all.n;
	vec_free(&all);
	return text;
}
