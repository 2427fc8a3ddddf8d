/* Scheduling of jobs: whose turn it is, on which core, and which are stopped meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "runner/job.h"
#include "runner/process.h"

#define QUIESCE_AGAIN 2 /* seconds without quiescing after it did not help */

/* ---- requests ---- */

void job_free(struct job *j)
{
	if (j->report >= 0)
		close(j->report);
	if (j->kind->free)
		j->kind->free(j);
	arena_release(&j->arena);
	free(j);
}

void jobs_take(struct service *s, const struct job_kind *kind, uint64_t id, struct mp_in *r)
{
	struct job *j = xcalloc(1, kind->size);

	*j = (struct job){.kind = kind, .id = id, .report = -1};
	if (kind->take(s, j, r))
		vec_push(&s->jobs, j);
	else
		job_free(j);
}

static void drop_job(struct service *s, size_t i)
{
	job_free(s->jobs.a[i]);
	memmove(s->jobs.a + i, s->jobs.a + i + 1, (--s->jobs.n - i) * sizeof *s->jobs.a);
}

/* ---- processes ---- */

const char *job_refused(struct job *j, const char *what) { return arena_printf(&j->arena, "%s: %s", what, strerror(errno)); }

const char *job_open_file(struct job *j, int *fd, const char *name)
{
	if (*fd >= 0)
		close(*fd);
	*fd = memfd_create(name, MFD_CLOEXEC);
	return *fd < 0 ? job_refused(j, "memfd_create") : NULL;
}

const char *job_open_report(struct job *j) { return job_open_file(j, &j->report, "report"); }

char *job_report_text(struct job *j)
{
	enum { MOST = 1 << 16 };
	struct stat st = {0};
	ssize_t n = j->report < 0 || fstat(j->report, &st) ? 0 : st.st_size < MOST ? st.st_size : MOST;
	char *text = arena_alloc(&j->arena, (size_t)n + 1);

	if (n && pread(j->report, text, (size_t)n, 0) != n)
		*text = 0;
	return text;
}

const char *job_report_line(struct job *j)
{
	char *text = job_report_text(j), *line = text + strspn(text, "\n"), *at;

	if (!*line)
		return "it ended without a word";
	if ((at = strstr(text, "error:")) || (at = strstr(text, "Error:"))) {
		for (line = at; line > text && line[-1] != '\n'; line--)
			;
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

void job_make_group(pid_t pid)
{
	if (pid > 0)
		setpgid(pid, pid);
}

const char *job_fork(struct service *s, struct job *j, void (*f)(struct service *, struct job *))
{
	const char *why = job_open_report(j);
	pid_t parent = getpid(), pid = why ? -1 : fork();

	if (pid == 0) {
		if (j->kind->timed)
			process_begin(parent);
		else
			process_background(parent, s->core[j->slot], PROCESS_NICE);
		dup2(j->report, STDERR_FILENO);
		close(STDIN_FILENO);
		open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(STDIN_FILENO, STDOUT_FILENO);
		close(s->janitor);
		s->jobs.n = 0;                          /* they are not its children, */
		s->server = (struct compile_server){0}; /* nor is the toolchain, that it would end them */
		f(s, j);
		_exit(EX_GOOD);
	}
	if (pid < 0)
		return why ? why : job_refused(j, "fork");
	job_make_group(j->pid = pid);
	return NULL;
}

void job_give_up(struct job *j, int code, const char *why) { _exit(write(j->report, why, strlen(why)) < 0 ? EX_IO : code); }

/* Compilers name the file, which is ours. */
const char *job_how_failed(struct service *s, struct job *j, int status, const char *line)
{
	if (j->late)
		return arena_printf(&j->arena, "not done after %g seconds", j->kind->seconds(s, j));
	if (WIFSIGNALED(status))
		return arena_printf(&j->arena, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	const char *name = strstr(line, ".c:");

	if (!name)
		name = strstr(line, ".s:");
	return strncmp(line, s->dir, strlen(s->dir)) || !name ? line : arena_printf(&j->arena, "candidate%s", name);
}

void job_answer_failed(struct service *s, struct job *j, const char *verb, const char *why)
{
	serve_error(s, j->id, verb, why);
	if (j->kind->clear)
		j->kind->clear(s, j);
}

/* ---- turns ---- */

static bool slot_free(struct service *s, int slot)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.a[i]->pid && !s->jobs.a[i]->kind->timed && s->jobs.a[i]->slot == slot)
			return false;
	return true;
}

/* Tries at a time: the one that is timed and, if another core can prepare it, the next. */
static int trying(struct service *s)
{
	int n = 0;

	for (size_t i = 0; i < s->jobs.n; i++)
		n += s->jobs.a[i]->pid && s->jobs.a[i]->kind->timed;
	return n;
}

/* A core for a background job; -1: all are taken. On the core of the tries it is stopped while one is timed. */
static int free_slot(struct service *s)
{
	int n = s->ncores - (trying(s) > 0);

	for (int i = 0; i < n; i++)
		if (slot_free(s, i))
			return i;
	return -1;
}

/* Moves a stopped job to an idle core. */
static void move_background(struct service *s, struct job *j)
{
	int slot = free_slot(s);

	if (slot >= 0 && process_pin(j->pid, s->core[slot]))
		j->slot = slot;
}

/* Is there a try that needs all else quiesced? */
static bool is_quiesced(struct service *s)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.a[i]->pid && s->jobs.a[i]->quiesce)
			return true;
	return false;
}

/* Must the job be stopped? The one on the core of the tries while one is timed, unless another core is free; all but a try that needs
 * quiescence. */
static void hold_jobs(struct service *s)
{
	bool tries = trying(s) > 0, quiesced = is_quiesced(s);

	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.a[i];
		bool try = j->kind->timed;
		if (!j->pid)
			continue;
		if (!try && tries && !quiesced && j->slot == s->ncores - 1)
			move_background(s, j);
		bool stop = quiesced ? !j->quiesce : !try && tries && j->slot == s->ncores - 1;
		if (j->stopped == stop)
			continue;
		kill(-j->pid, stop ? SIGSTOP : SIGCONT);
		j->stopped = stop;
		if (stop)
			j->halted = now_seconds();
		else
			j->rested += now_seconds() - j->halted;
	}
}

void jobs_quiesce(struct service *s)
{
	struct quiesce_message w;

	while (read(s->quiesce[0], &w, sizeof w) == (ssize_t)sizeof w)
		for (size_t i = 0; i < s->jobs.n; i++) {
			struct job *j = s->jobs.a[i];
			if (!j->kind->timed || j->pid != w.pid)
				continue;
			if (j->quiesce && w.quiesce == QUIESCE_IN_VAIN)
				s->quiesce_failed = now_seconds();
			j->quiesce = w.quiesce == QUIESCE_ON && now_seconds() > s->quiesce_failed + QUIESCE_AGAIN;
		}
}

/* False: it has its answer. */
static bool start_background(struct service *s, struct job *j)
{
	j->start = j->began = now_seconds();
	const char *why = j->kind->start(s, j);
	if (why)
		job_answer_failed(s, j, "error", why);
	return !why;
}

/* Tries that met a slow phase come last, and after a pause. */
static bool next_try(struct service *s, size_t *next)
{
	bool found = false;
	double now = now_seconds();

	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.a[i];
		if (j->kind->timed && !j->pid && j->due <= now && (!found || j->put_off < s->jobs.a[*next]->put_off)) {
			*next = i;
			found = true;
		}
	}
	return found;
}

double jobs_wait(const struct service *s)
{
	double first = INFINITY, now = now_seconds();

	for (size_t i = 0; i < s->jobs.n; i++) {
		const struct job *j = s->jobs.a[i];
		if (j->kind->timed && !j->pid && j->due > now)
			first = fmin(first, j->due - now);
	}
	return first;
}

void jobs_start(struct service *s)
{
	const char *why;
	size_t next = 0;

	while (!is_quiesced(s) && trying(s) < (s->ncores > 1 ? 2 : 1) && next_try(s, &next)) {
		if (!(why = s->jobs.a[next]->kind->start(s, s->jobs.a[next])))
			continue;
		job_answer_failed(s, s->jobs.a[next], "error", why);
		drop_job(s, next);
	}
	hold_jobs(s);
	for (size_t i = 0; i < s->jobs.n && !is_quiesced(s);) {
		struct job *j = s->jobs.a[i];
		bool waits = !j->pid && !j->kind->timed;
		if (waits && (j->slot = free_slot(s)) < 0)
			break;
		if (waits && !start_background(s, j))
			drop_job(s, i);
		else
			i++;
	}
}

/* ---- ends ---- */

/* True: the job is done with. */
static bool ended(struct service *s, struct job *j, int status)
{
	pid_t pid = j->pid;

	j->pid = 0;
	j->stopped = j->quiesce = false;
	return j->kind->ended(s, j, pid, status);
}

/* Its process was reaped elsewhere. */
static bool is_gone(struct service *s, struct job *j)
{
	j->pid = 0;
	job_answer_failed(s, j, "error", "how its process ended is not known");
	return true;
}

/* A process that only waits uses no CPU time. */
static void end_late(struct service *s, struct job *j)
{
	if (!j->pid || !j->kind->seconds || j->stopped || now_seconds() - j->began - j->rested < j->kind->seconds(s, j))
		return;
	j->late = true;
	kill(-j->pid, SIGKILL);
	kill(j->pid, SIGKILL);
}

/* While a try needs quiescence no build is reaped: its next step would begin. */
static void reap(struct service *s)
{
	bool quiesced = is_quiesced(s);
	int status;

	for (size_t i = 0; i < s->jobs.n;) {
		struct job *j = s->jobs.a[i];
		end_late(s, j);
		bool waits = quiesced && j->kind->steps;
		pid_t pid = j->pid && !waits ? waitpid(j->pid, &status, WNOHANG) : 0;
		bool gone = pid < 0 && errno == ECHILD;
		if ((pid > 0 && ended(s, j, status)) || (gone && is_gone(s, j)))
			drop_job(s, i);
		else
			i++;
	}
}

void jobs_reap(struct service *s)
{
	bool quiesced = is_quiesced(s);

	reap(s);
	if (quiesced && !is_quiesced(s)) /* the try that needed it has ended */
		reap(s);
}

void jobs_kill(struct service *s)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.a[i];
		if (!j->pid)
			continue;
		kill(-j->pid, SIGKILL);
		kill(j->pid, SIGKILL);
		waitpid(j->pid, NULL, 0);
	}
	compile_server_end(&s->server);
}
