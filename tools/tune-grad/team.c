#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "comm/ring.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/shown.h"
#include "team.h"
#include "tune-grad.h"

enum { RANKS_MAX = 1024 };
static const double grace = 0.3; /* s: from the first sign of a fault to the message, for the others' reports */

/* Who takes part. */

static bool has_port(const char *addr)
{
	const char *colon = strrchr(addr, ':');
	return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

static bool is_here(const char *host) { return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "[::1]"); }

static void add_member(struct team *t, const char *host, const char *command)
{
	int name = (int)(has_port(host) ? strrchr(host, ':') - host : (long)strlen(host));
	char *by_ssh = *command || is_here(host) ? NULL : xprintf("%.*s", name, host);
	t->m = xrealloc(t->m, (size_t)(t->n + 1) * sizeof *t->m);
	t->m[t->n++] = (struct member){
		.addr = has_port(host) ? xstrdup(host) : xprintf("%s:0", host),
		.command = *command ? xstrdup(command)
			   : by_ssh ? xprintf("ssh %s hone", by_ssh)
				    : NULL,
		.host = by_ssh,
		.fd = -1,
		.err = -1,
	};
}

void team_hosts(struct team *t, const char *path)
{
	struct mapped f;
	mapped_open(&f, path);
	char *text = xmalloc(f.n + 1), *rest = text;
	memcpy(text, f.p, f.n);
	text[f.n] = 0;
	for (char *line; (line = strsep(&rest, "\n")) && t->n < (opt.ranks ? opt.ranks : RANKS_MAX);) {
		line += strspn(line, " \t\r");
		line[strcspn(line, "#\r")] = 0;
		char *command = line + strcspn(line, " \t");
		if (*command)
			*command++ = 0;
		command += strspn(command, " \t");
		for (size_t k = strlen(command); k && strchr(" \t", command[k - 1]);)
			command[--k] = 0;
		if (*line == '-')
			die(EX_BADDATA, "%s: %s: no address", path, line);
		if (*line)
			add_member(t, line, command);
	}
	free(text);
	mapped_close(&f);
	if (t->n == 0)
		die(EX_BADDATA, "%s: no host; expected a rank a line: address[:port] [command]", path);
	if (t->n < opt.ranks)
		die(EX_BADDATA, "%s: %d host%s for %d ranks", path, t->n, t->n == 1 ? "" : "s", opt.ranks);
}

static void read_members(struct team *t)
{
	int n = opt.ranks ? opt.ranks : 2;
	if (n > RANKS_MAX)
		die(EX_BADUSE, "-n %d: at most %d ranks", n, RANKS_MAX);
	if (opt.mpi) {
		add_member(t, "127.0.0.1", "");
		free(t->m[0].command);
		t->m[0].command = xprintf("mpirun -n %d%s%s", n, opt.hosts ? " --hostfile " : "", opt.hosts ? opt.hosts : "");
		t->ranks = n;
		return;
	}
	if (opt.hosts)
		team_hosts(t, opt.hosts);
	else
		for (int i = 0; i < n; i++)
			add_member(t, "127.0.0.1", "");
	t->ranks = t->n;
}

/* Processes. */

static void exec_mpirun(const char *self)
{
	const char *argv[12] = {"mpirun", "-n", xprintf("%d", opt.ranks ? opt.ranks : 2)};
	int n = 3;

	if (opt.hosts) {
		argv[n++] = "--hostfile";
		argv[n++] = opt.hosts;
	}
	argv[n++] = self;
	argv[n++] = "rank";
	argv[n++] = "--mpi";
	argv[n++] = "--timeout";
	argv[n++] = xprintf("%g", opt.timeout);
	execvp(argv[0], (char **)argv);
}

static noreturn void exec_rank(const struct member *m)
{
	static char self[4096];
	ssize_t k = readlink("/proc/self/exe", self, sizeof self - 1);
	if (k < 0)
		_exit(127);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!m->command)
		execl(self, "tune-grad", "rank", (char *)NULL);
	else if (opt.mpi)
		exec_mpirun(self);
	else if (m->host)
		execlp("ssh", "ssh", m->host, "hone", "tune-grad", "rank", (char *)NULL);
	else /* a command as the user wrote it */
		execl("/bin/sh", "sh", "-c", xprintf("exec %s \"$@\"", m->command), "sh", "tune-grad", "rank", (char *)NULL);
	_exit(127);
}

static void spawn(struct member *m)
{
	int pair[2];
	m->err = memfd_create("rank", MFD_CLOEXEC);
	if (m->err < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) || (m->pid = fork()) < 0)
		die_errno(EX_SYSTEM, "cannot start a rank");
	if (m->pid == 0) {
		dup2(pair[1], STDIN_FILENO);
		dup2(pair[1], STDOUT_FILENO);
		dup2(m->err, STDERR_FILENO);
		exec_rank(m);
	}
	close(pair[1]);
	m->fd = pair[0];
}

/* die's hook: ranks that still run end with the tool. */
static void kill_all(void *arg)
{
	struct team *t = arg;
	for (int i = 0; i < t->n; i++)
		if (t->m[i].pid > 0 && t->m[i].fd >= 0)
			shutdown(t->m[i].fd, SHUT_RDWR);
	for (int i = 0; i < t->n; i++)
		if (t->m[i].pid > 0 && kill(t->m[i].pid, opt.mpi ? SIGTERM : SIGKILL) == 0)
			waitpid(t->m[i].pid, NULL, 0);
}

/* Faults. */

/* What mpirun noticed of a rank, else the first sentence that it and the ranks wrote, without the rules around it: what it says last
 * is advice. */
static const char *first_words(const struct member *m)
{
	static const char notice[] = "mpirun noticed that ", own[] = "tune-grad: ";
	static char text[4000];
	size_t n = 0;
	ssize_t k = pread(m->err, text, sizeof text - 1, 0);
	text[k > 0 ? k : 0] = 0;
	char *noticed = strstr(text, notice);
	if (noticed) {
		noticed[strcspn(noticed, ".\n")] = 0;
		return noticed + strlen(notice);
	}
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		size_t length = strlen(line);
		if (line[strspn(line, "- \t")] == 0) {
			if (n)
				break;
			continue;
		}
		memmove(text + n, line, length); /* it moves down, over what was read */
		n += length;
		text[n] = ' ';
		if (!strncmp(line, own, strlen(own)) || strchr(".:", line[length - 1]))
			break;
		n++;
	}
	while (n && strchr(" .:", text[n - 1]))
		n--;
	text[n] = 0;
	return !strncmp(text, own, strlen(own)) ? text + strlen(own) : text;
}

/* The last line that a member wrote to its standard error, or "". */
static const char *last_words(const struct member *m)
{
	static char text[401];
	off_t end = lseek(m->err, 0, SEEK_END), from = end > 400 ? end - 400 : 0;
	ssize_t k = pread(m->err, text, sizeof text - 1, from);
	while (k > 0 && text[k - 1] == '\n')
		k--;
	text[k > 0 ? k : 0] = 0;
	char *line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

static noreturn void member_gone(struct team *t, int i)
{
	struct member *m = &t->m[i];
	int status = 0;
	double until = now_seconds() + grace;
	while (waitpid(m->pid, &status, WNOHANG) == 0 && now_seconds() < until)
		usleep(5000);
	const char *words = opt.mpi ? first_words(m) : last_words(m), *name = opt.mpi ? "mpirun" : xprintf("rank %d (%s)", i, m->addr);
	if (kill(m->pid, 0) && errno == ESRCH)
		m->pid = 0;
	if (WIFSIGNALED(status))
		die(EX_SYSTEM, "%s was killed by signal %d (%s)", name, WTERMSIG(status), strsignal(WTERMSIG(status)));
	/* ssh says no more where the rank was killed there. */
	if (WEXITSTATUS(status) == 255 && !*words && m->command)
		words = "no connection, or the rank was killed there";
	die(opt.mpi && WEXITSTATUS(status) > 128 ? EX_SYSTEM : EX_NOTAVAIL, "%s ended with %d%s%.350s%s%s", name, WEXITSTATUS(status),
	    *words ? ": " : "", words, m->command ? "; it was started by: " : "", m->command ? m->command : "");
}

/* Reads what a member has to say; true: its line is whole. */
static bool read_some(struct member *m)
{
	if (m->size - m->have < 4096)
		m->line = xrealloc(m->line, m->size = 2 * m->size + 8192);
	ssize_t k = recv(m->fd, m->line + m->have, m->size - m->have - 1, 0);
	if (k < 0 && errno == EINTR)
		return false;
	if (k <= 0) {
		m->closed = true;
		return false;
	}
	m->have += (size_t)k;
	if (m->line[m->have - 1] != '\n')
		return false;
	m->line[m->have - 1] = 0;
	return m->answered = true;
}

/* One that ended explains the rest; of reports, that of the worst fault. */
static noreturn void report(struct team *t)
{
	int worst = -1, fault = -1, quiet = -1, quiets = 0;
	for (int i = 0; i < t->n; i++)
		if (t->m[i].closed)
			member_gone(t, i);
		else if (!t->m[i].answered)
			quiet = i, quiets++;
	for (int i = 0; i < t->n; i++) {
		int f;
		if (t->m[i].answered && sscanf(t->m[i].line, "error %d", &f) == 1 && f > fault)
			fault = f, worst = i;
	}
	if (fault == RING_SILENT && quiets == 1) /* each blames the one before it */
		worst = quiet, snprintf(t->m[quiet].line, t->m[quiet].size, "error 0 rank %d (%.100s) is silent for %.3g s", quiet,
					t->m[quiet].addr, t->timeout);
	die(fault >= RING_CLOSED ? EX_NOTAVAIL : EX_SYSTEM, "%s", t->m[worst].line + strlen("error n "));
}

static noreturn void nobody_answers(struct team *t)
{
	for (int i = 0; i < t->n; i++) {
		const struct member *m = &t->m[i];
		const char *words = last_words(m);
		if (!m->answered)
			die(EX_NOTAVAIL, "rank %d (%s): no answer within %.3g s%s%s%s%s", i, m->addr, t->timeout,
			    m->command ? " from: " : "", m->command ? m->command : "", *words ? ": " : "", words);
	}
	BUG("all answered");
}

void team_say(struct team *t, const char *fmt, ...)
{
	char *text;
	va_list ap;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		die(EX_SYSTEM, "no memory");
	va_end(ap);
	for (int i = 0; i < t->n; i++)
		for (size_t n = strlen(text), done = 0; done < n;) {
			ssize_t k = send(t->m[i].fd, text + done, n - done, MSG_NOSIGNAL);
			if (k < 0 && errno != EINTR)
				break; /* team_hear sees that it is gone */
			done += k > 0 ? (size_t)k : 0;
		}
	free(text);
}

void team_hear(struct team *t, const char *word, bool working)
{
	struct pollfd *p = xcalloc((size_t)t->n, sizeof *p);
	double deadline = working && !opt.mpi ? INFINITY : now_seconds() + t->timeout + (working ? t->work : 0);
	bool faulty = false;
	int left = t->n;
	for (int i = 0; i < t->n; i++)
		t->m[i].have = 0, t->m[i].answered = false;
	while (left > 0) {
		for (int i = 0; i < t->n; i++)
			p[i] = (struct pollfd){.fd = t->m[i].answered || t->m[i].closed ? -1 : t->m[i].fd, .events = POLLIN};
		double wait = deadline - now_seconds();
		int e = poll(p, (nfds_t)t->n, isinf(wait) ? -1 : wait > 0 ? (int)(wait * 1e3) + 1 : 0);
		if (e < 0 && errno != EINTR)
			die_errno(EX_SYSTEM, "poll");
		if (e == 0 && faulty)
			report(t);
		if (e == 0)
			nobody_answers(t);
		for (int i = 0; i < t->n && e > 0; i++) {
			struct member *m = &t->m[i];
			if (!p[i].revents || (!read_some(m) && !m->closed))
				continue;
			left--;
			if (!faulty && (m->closed || !strncmp(m->line, "error ", 6)))
				faulty = true, deadline = now_seconds() + grace;
			else if (isinf(deadline)) /* what they do together ends together */
				deadline = now_seconds() + t->timeout;
		}
	}
	free(p);
	if (faulty)
		report(t);
	for (int i = 0; i < t->n; i++) {
		size_t k = strlen(word);
		if (strncmp(t->m[i].line, word, k) || (t->m[i].line[k] && t->m[i].line[k] != ' '))
			die(EX_NOTAVAIL, "rank %d (%s) answered '%.60s', expected '%s'; is it of another version?", i, t->m[i].addr,
			    t->m[i].line, word);
		memmove(t->m[i].line, t->m[i].line + k, strlen(t->m[i].line + k) + 1);
	}
}

static void join_ring(struct team *t)
{
	for (int i = 0; i < t->n; i++) {
		struct team one = {.n = 1, .m = &t->m[i]};
		team_say(&one, "listen %s\n", t->m[i].addr);
	}
	team_hear(t, "port", false);
	char *all = xstrdup("");
	for (int i = 0; i < t->n; i++) {
		struct member *m = &t->m[i];
		char *addr = xprintf("%.*s:%d", (int)(strrchr(m->addr, ':') - m->addr), m->addr, atoi(m->line));
		char *more = xprintf("%s %s", all, addr);
		free(m->addr);
		free(all);
		m->addr = addr, all = more;
	}
	for (int i = 0; i < t->n; i++) {
		struct team one = {.n = 1, .m = &t->m[i]};
		team_say(&one, "ring %d %d %.3f%s\n", i, t->n, t->timeout, all);
	}
	free(all);
	team_hear(t, "ok", true);
}

void team_start(struct team *t)
{
	*t = (struct team){.timeout = opt.timeout};
	read_members(t);
	die_hook(kill_all, t);
	for (int i = 0; i < t->n; i++)
		spawn(&t->m[i]);
	team_hear(t, RANK_HELLO, false);
	if (!opt.mpi)
		join_ring(t);
}

void team_end(struct team *t)
{
	team_say(t, "quit\n");
	for (int i = 0; i < t->n; i++) {
		struct member *m = &t->m[i];
		if (!opt.mpi)
			close(m->fd);
		waitpid(m->pid, NULL, 0);
		m->pid = 0;
		close(m->err);
		free(m->addr);
		free(m->command);
		free(m->line);
	}
	free(t->m);
	t->n = 0;
}
