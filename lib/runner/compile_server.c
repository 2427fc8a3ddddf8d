#define _GNU_SOURCE
#include "runner/compile_server.h"
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
#include "runner/process.h"
#include "runner/toolchain.h"
#include "runner/compile_order.h"

enum { ANSWER_SECONDS = 2 };

static const char preload[] =
	"#undef _FORTIFY_SOURCE\n"
	"#define _GNU_SOURCE\n"
	"#include <dlfcn.h>\n#include <errno.h>\n#include <fcntl.h>\n#include <sched.h>\n#include <signal.h>\n#include <stdarg.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
	"#include <sys/prctl.h>\n#include <sys/resource.h>\n#include <sys/syscall.h>\n#include <sysexits.h>\n#include <unistd.h>\n"
#include "lib/runner/compile_order.h.inc"
#include "lib/runner/compile_server.in.inc"
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

static const char *file_of(const char *dir, const char *name, int step, struct arena *a)
{
	return arena_printf(a, "%s/%s%s", dir, name, step < 0 ? ".c" : toolchain_suffix(toolchain_find(), step));
}

/* What all of them are loaded with: server.so. */
static void build_preload(const char *dir, struct arena *a)
{
	const struct toolchain *t = toolchain_find();

	write_file(file_of(dir, "server", -1, a), preload);
	for (int i = 0; i < t->steps; i++)
		run(toolchain_argv(t, i, file_of(dir, "server", i - 1, a), file_of(dir, "server", i, a), a));
	write_file(file_of(dir, "server", -1, a), arena_printf(a, "#include \"%s\"\n", file_of(dir, "candidate", -1, a)));
}

/* In the process that becomes the program of a step. The first builds, the others wait until it has closed its end of the pipe. */
static void become(const char *dir, int step, int socket, int rules, const int built[2])
{
	struct arena a = {0};
	char none;

	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (step == 0)
		build_preload(dir, &a);
	else if (close(built[1]) || read(built[0], &none, 1))
		_exit(EX_SYSTEM);
	const char *in = file_of(dir, "candidate", step - 1, &a), *out = step ? file_of(dir, "none", step, &a) : "-";
	setenv("LD_PRELOAD", file_of(dir, "server", toolchain_find()->steps - 1, &a), 1);
	setenv("HONE_WARM_IN", in, 1);
	setenv("HONE_WARM_OUT", out, 1);
	setenv("LC_ALL", "C", 1);
	int high = fcntl(rules, F_DUPFD_CLOEXEC, COMPILE_RULES + 1); /* both may be where the other is to be */
	if (socket == COMPILE_SOCKET ? fcntl(socket, F_SETFD, 0) : dup2(socket, COMPILE_SOCKET) < 0)
		_exit(EX_SYSTEM);
	if (rules >= 0 && dup2(high, COMPILE_RULES) < 0)
		_exit(EX_SYSTEM);
	char **argv = toolchain_argv(toolchain_find(), step, step ? in : file_of(dir, "server", -1, &a), out, &a);
	execvp(argv[0], argv);
	_exit(EX_NOTAVAIL);
}

static void start_step(struct compile_step *w, const char *dir, int step, int core, int rules, const int built[2])
{
	struct timeval most = {.tv_sec = ANSWER_SECONDS};
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return;
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		process_background(parent, core, 0);
		process_build();
		become(dir, step, fd[1], rules, built);
	}
	close(fd[1]);
	if (pid > 0)
		*w = (struct compile_step){pid, fd[0], rules >= 0, false};
	else
		close(fd[0]);
}

void compile_server_start(struct compile_server *w, const char *dir, int core, int rules)
{
	int built[2];

	*w = (struct compile_server){0};
	if (toolchain_find()->steps == 1 || pipe2(built, O_CLOEXEC))
		return;
	for (int i = 0; i < TOOLCHAIN_STEPS - !toolchain_find()->opens_output; i++)
		start_step(&w->step[i], dir, i, core, rules, built);
	close(built[0]);
	close(built[1]);
}

static void end_step(struct compile_step *w)
{
	if (!w->pid)
		return;
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	waitpid(w->pid, NULL, 0);
	close(w->socket);
	*w = (struct compile_step){0};
}

void compile_server_end(struct compile_server *w)
{
	for (int i = 0; i < TOOLCHAIN_STEPS; i++)
		end_step(&w->step[i]);
}

static bool is_ready(struct compile_step *w)
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
		end_step(w);
	return w->ready;
}

static bool put(char *to, size_t room, const char *s) { return (size_t)snprintf(to, room, "%s", s) < room; }

pid_t compile_server_run(struct compile_server *all, int step, const char *in, const char *out, int report, int core, int seconds)
{
	struct compile_step *w = &all->step[step];
	struct compile_order o = {.confined = w->confined,
				  .parent = getpid(),
				  .core = core,
				  .nice = PROCESS_NICE,
				  .seconds = seconds,
				  .bytes = PROCESS_BUILD_BYTES};
	pid_t pid;

	if (!is_ready(w) || !put(o.in, sizeof o.in, in) || !put(o.out, sizeof o.out, out))
		return 0;
	snprintf(o.report, sizeof o.report, "/proc/%d/fd/%d", (int)getpid(), report);
	if (send(w->socket, &o, sizeof o, MSG_NOSIGNAL) == sizeof o && recv(w->socket, &pid, sizeof pid, 0) == sizeof pid && pid > 0)
		return pid;
	end_step(w); /* the program itself it is, from now on */
	return 0;
}
