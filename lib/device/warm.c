#define _GNU_SOURCE
#include "device/warm.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"
#include "device/process.h"
#include "device/toolchain.h"
#include "device/warm_order.h"

enum { ANSWER_SECONDS = 2 };

static const char preload[] =
	"#undef _FORTIFY_SOURCE\n"
	"#define _GNU_SOURCE\n"
	"#include <fcntl.h>\n#include <sched.h>\n#include <signal.h>\n#include <stdarg.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <sys/prctl.h>\n#include <sys/resource.h>\n#include <sys/syscall.h>\n#include <sysexits.h>\n#include <unistd.h>\n"
#include "lib/device/warm_order.h.inc"
#include "lib/device/warm.in.inc"
	;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f))
		_exit(EX_IO);
}

static void run(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(EX_NOTAVAIL);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		_exit(EX_NOTAVAIL);
}

/* In the process that becomes the compiler: builds what it is to be loaded with, then is it. */
static void become(const char *dir, int socket)
{
	const struct toolchain *t = toolchain_find();
	struct arena a = {0};
	const char *from = arena_printf(&a, "%s/warm.c", dir), *to = NULL, *wanted = arena_printf(&a, "%s/candidate.c", dir);

	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	write_file(from, preload);
	for (int i = 0; i < t->steps; i++, from = to) {
		to = arena_printf(&a, "%s/warm%s", dir, toolchain_suffix(t, i));
		run(toolchain_argv(t, i, from, to, &a));
	}
	from = arena_printf(&a, "%s/warm.c", dir);
	write_file(from, arena_printf(&a, "#include \"%s\"\n", wanted));
	setenv("LD_PRELOAD", to, 1);
	setenv("HONE_WARM_FILE", wanted, 1);
	setenv("LC_ALL", "C", 1);
	if (socket == WARM_SOCKET ? fcntl(socket, F_SETFD, 0) : dup2(socket, WARM_SOCKET) < 0)
		_exit(EX_SYSTEM);
	char **argv = toolchain_argv(t, 0, from, "-", &a);
	execvp(argv[0], argv);
	_exit(EX_NOTAVAIL);
}

void warm_start(struct warm *w, const char *dir, int core)
{
	struct timeval most = {.tv_sec = ANSWER_SECONDS};
	int fd[2];

	*w = (struct warm){0};
	if (toolchain_find()->steps == 1 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return;
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	w->socket = fd[0];
	pid_t parent = getpid();
	w->pid = fork();
	if (w->pid == 0) {
		process_background(parent, core, 0);
		become(dir, fd[1]);
	}
	close(fd[1]);
	if (w->pid < 0) {
		w->pid = 0;
		close(fd[0]);
	}
}

void warm_end(struct warm *w)
{
	if (!w->pid)
		return;
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	close(w->socket);
	*w = (struct warm){0};
}

static bool is_ready(struct warm *w)
{
	pid_t none;
	ssize_t n;

	if (w->ready || !w->pid)
		return w->ready;
	n = recv(w->socket, &none, sizeof none, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	w->ready = n == sizeof none;
	if (!w->ready)
		warm_end(w);
	return w->ready;
}

static bool put(char *to, size_t room, const char *s)
{
	return (size_t)snprintf(to, room, "%s", s) < room;
}

pid_t warm_compile(struct warm *w, const char *in, const char *out, int report, int core, int seconds)
{
	struct warm_order o = {.parent = getpid(), .core = core, .nice = PROCESS_NICE, .seconds = seconds, .bytes = PROCESS_BUILD_BYTES};
	pid_t pid;

	if (!is_ready(w) || !put(o.in, sizeof o.in, in) || !put(o.out, sizeof o.out, out))
		return 0;
	snprintf(o.report, sizeof o.report, "/proc/%d/fd/%d", (int)getpid(), report);
	if (send(w->socket, &o, sizeof o, MSG_NOSIGNAL) == sizeof o && recv(w->socket, &pid, sizeof pid, 0) == sizeof pid && pid > 0)
		return pid;
	warm_end(w); /* the compiler itself it is, from now on */
	return 0;
}
