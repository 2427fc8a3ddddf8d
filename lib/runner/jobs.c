/* Requests that take time, each in processes of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
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
#include "runner/confine.h"
#include "runner/object.h"
#include "runner/process.h"
#include "runner/service_impl.h"
#include "runner/noise_probe.h"

struct serve_task *serve_find_task(struct service *s, struct digest d)
{
	for (size_t i = 0; i < s->tasks.n; i++)
		if (digest_eq(s->tasks.a[i]->digest, d))
			return s->tasks.a[i];
	return NULL;
}

struct serve_artifact *serve_find_artifact(struct service *s, struct digest d)
{
	for (size_t i = 0; i < s->artifacts.n; i++)
		if (digest_eq(s->artifacts.a[i]->digest, d)) {
			s->artifacts.a[i]->used = ++s->uses;
			return s->artifacts.a[i];
		}
	return NULL;
}

const struct serve_constants *serve_find_constants(const struct serve_task *t, const char *algo)
{
	for (size_t i = 0; i < t->constants.n; i++)
		if (!strcmp(t->constants.a[i].algo, algo ? algo : ""))
			return &t->constants.a[i];
	return NULL;
}

/* ---- processes ---- */

enum {
	TRIES_SLOW = 5, /* that a candidate gets besides one, */
	TRIES_BASE = 2, /* where only its base was slow */
	EX_SLOW = 75    /* a try in a slow phase of the machine */
};
#define SLOW_PAUSE 0.05 /* seconds before the first of these, twice as many before each further one */
#define HUSH_AGAIN 2    /* seconds without silence where that did not help */

/* The system said no just now: why, with its words. */
static const char *refused(struct job *j, const char *what) { return arena_printf(&j->arena, "%s: %s", what, strerror(errno)); }

static const char *open_file(struct job *j, int *fd, const char *name)
{
	if (*fd >= 0)
		close(*fd);
	*fd = memfd_create(name, MFD_CLOEXEC);
	return *fd < 0 ? refused(j, "memfd_create") : NULL;
}

static const char *open_report(struct job *j) { return open_file(j, &j->report, "report"); }

static void say(int fd, const char *why)
{
	if (write(fd, why, strlen(why)) < 0)
		_exit(EX_IO);
}

/* Much of it, in the job's arena; empty: there is none. */
static char *report_text(struct job *j)
{
	enum { MOST = 1 << 16 };
	struct stat st = {0};
	ssize_t n = j->report < 0 || fstat(j->report, &st) ? 0 : st.st_size < MOST ? st.st_size : MOST;
	char *text = arena_alloc(&j->arena, (size_t)n + 1);

	if (n && pread(j->report, text, (size_t)n, 0) != n)
		*text = 0;
	return text;
}

/* First line of the report that says error, as compiler or assembler do, else the first that says anything. */
static const char *report_line(struct job *j)
{
	char *text = report_text(j), *line = text + strspn(text, "\n"), *at;

	if (!*line)
		return "it ended without a word";
	if ((at = strstr(text, "error:")) || (at = strstr(text, "Error:"))) {
		for (line = at; line > text && line[-1] != '\n'; line--)
			;
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

/* Both of us say so, for it may be told to stand still before it runs. */
static void make_group(pid_t pid)
{
	if (pid > 0)
		setpgid(pid, pid);
}

/* Forks one that calls f; 0 and its report are what counts. NULL, or why not. */
static const char *fork_job(struct service *s, struct job *j, void (*f)(struct service *, struct job *))
{
	const char *why = open_report(j);
	pid_t parent = getpid(), pid = why ? -1 : fork();

	if (pid == 0) {
		if (j->kind == JOB_TRY)
			process_begin(parent);
		else
			process_background(parent, s->core[j->slot], PROCESS_NICE);
		dup2(j->report, STDERR_FILENO);
		close(STDIN_FILENO);
		open("/dev/null", O_RDWR | O_CLOEXEC);
		dup2(STDIN_FILENO, STDOUT_FILENO);
		close(s->janitor);
		s->jobs.n = 0;              /* they are not its children, */
		s->warm = (struct warm){0}; /* nor is the toolchain, that it would end them */
		f(s, j);
		_exit(EX_GOOD);
	}
	if (pid < 0)
		return why ? why : refused(j, "fork");
	make_group(j->pid = pid);
	return NULL;
}

static void drop_job(struct service *s, size_t i)
{
	struct job *j = s->jobs.a[i];

	if (j->report >= 0)
		close(j->report);
	if (j->file >= 0)
		close(j->file);
	arena_release(&j->arena);
	free(j);
	memmove(s->jobs.a + i, s->jobs.a + i + 1, (--s->jobs.n - i) * sizeof *s->jobs.a);
}

static void run_task(struct service *s, struct job *j)
{
	const char *why = problem_write(s->oracle, j->text, j->file);

	if (why) {
		say(j->report, why);
		_exit(EX_BADDATA);
	}
}

static void run_constants(struct service *s, struct job *j)
{
	const char *why = problem_write_constants(s->oracle, serve_find_task(s, j->task)->text, j->build.algo, j->file);

	if (why) {
		say(j->report, why);
		_exit(EX_BADDATA);
	}
}

static void run_try(struct service *s, struct job *j)
{
	struct serve_task *t = serve_find_task(s, j->task);
	struct serve_artifact *x = serve_find_artifact(s, j->artifact), *base = serve_find_artifact(s, j->base);
	struct try try = {.oracle = s->oracle,
			  .task = t->task,
			  .problem = t->problem,
			  .artifact = {&x->a, &base->a},
			  .budget = j->budget,
			  .goal = j->goal,
			  .width = j->width,
			  .once = j->once,
			  .seed = j->seed,
			  .core = s->core[s->ncores - 1],
			  .aside = s->core[0],
			  .lock = s->lock,
			  .yardstick = s->yardstick,
			  .hush = s->hush[1],
			  .patient = j->slow < TRIES_BASE,
			  .last = j->slow == TRIES_SLOW};
	struct measurement r;
	struct mp_out o;
	for (int i = 0; i < 2; i++)
		try.rotation[i] = j->sets[i].copies ? &j->sets[i] : NULL;
	bool slow;
	const char *why = try_run(&try, &r, &slow, &j->arena);

	if (why) {
		say(j->report, why);
		_exit(EX_SYSTEM);
	}
	if (slow)
		_exit(EX_SLOW);
	mp_out_init(&o);
	size_t frame = frame_begin(&o, 9, j->id, "try");
	put_measurement(&o, &r);
	frame_end(&o, frame);
	if (ftruncate(j->report, 0) || pwrite(j->report, o.b.a, o.b.n, 0) != (ssize_t)o.b.n)
		_exit(EX_IO);
}

static char *artifact_path(struct service *s, struct job *j, const char *suffix)
{
	char hex[33];

	digest_hex(j->artifact, hex);
	return arena_printf(&j->arena, "%s/%s-%llu%s", s->dir, hex, (unsigned long long)j->id, suffix);
}

static const char *step_file(struct service *s, struct job *j, int step)
{
	return artifact_path(s, j, step < 0 ? ".c" : toolchain_suffix(toolchain_find(), step));
}

/* Starts the next step of a build. NULL, or why not. */
static const char *start_step(struct service *s, struct job *j)
{
	const char *in = step_file(s, j, j->step - 1), *out = step_file(s, j, j->step), *why = open_report(j);
	char **argv = toolchain_argv(toolchain_find(), j->step, in, out, &j->arena);
	int core = s->core[j->slot];

	if (why)
		return why;
	j->began = now_seconds();
	j->rested = 0;
	if (j->step == 0 && s->builds++ == 0)
		s->rules = confine_open(s->dir);
	if (j->step == 0 && s->builds == 2)
		warm_start(&s->warm, s->dir, s->core[0], s->rules);
	if ((j->pid = warm_run(&s->warm, j->step, in, out, j->report, core, BUILD_SECONDS))) {
		make_group(j->pid);
		return NULL;
	}
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		process_background(parent, core, PROCESS_NICE);
		process_limit(RLIMIT_CPU, BUILD_SECONDS);
		process_build();
		dup2(j->report, STDERR_FILENO);
		dup2(j->report, STDOUT_FILENO);
		close(STDIN_FILENO);
		open("/dev/null", O_RDONLY);
		setenv("LC_ALL", "C", 1);
		setenv("TMPDIR", s->dir, 1); /* a compiler that does all steps has files of its own, which stay where it is killed */
		if (confine_enter(s->rules))
			execvp(argv[0], argv);
		fprintf(stderr, "error: %s: %s\n", argv[0], strerror(errno));
		_exit(EX_NOTAVAIL);
	}
	if (pid < 0)
		return refused(j, "fork");
	make_group(j->pid = pid);
	return NULL;
}

/* NULL, or why not: there may be no room just now. */
static const char *write_source(struct service *s, struct job *j)
{
	const char *path = step_file(s, j, -1);
	FILE *f = fopen(path, "we");
	bool good = f && fwrite(j->build.source, 1, j->build.nsource, f) == j->build.nsource;
	int error = errno;

	if (f && fclose(f) && good) {
		error = errno;
		good = false;
	}
	if (!good)
		unlink(path);
	return good ? NULL : arena_printf(&j->arena, "its source cannot be written: %s", strerror(error));
}

/* ---- turns ---- */

static bool slot_free(struct service *s, int slot)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.a[i]->pid && s->jobs.a[i]->kind != JOB_TRY && s->jobs.a[i]->slot == slot)
			return false;
	return true;
}

/* How many tries there are: one that is timed, and where there is another core to prepare it on, the next. */
static int trying(struct service *s)
{
	int n = 0;

	for (size_t i = 0; i < s->jobs.n; i++)
		n += s->jobs.a[i]->pid && s->jobs.a[i]->kind == JOB_TRY;
	return n;
}

/* A core for a job in the background; -1: all are taken. The one that is tried on stands still meanwhile. */
static int free_slot(struct service *s)
{
	int n = s->ncores - (trying(s) > 0);

	for (int i = 0; i < n; i++)
		if (slot_free(s, i))
			return i;
	return -1;
}

/* One that would stand still goes to a core that has nothing to do. */
static void move_background(struct service *s, struct job *j)
{
	int slot = free_slot(s);

	if (slot >= 0 && process_pin(j->pid, s->core[slot]))
		j->slot = slot;
}

/* Is there a try that needs silence? */
static bool is_hushed(struct service *s)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.a[i]->pid && s->jobs.a[i]->hush)
			return true;
	return false;
}

/* Stands still: the job on the core of the tries, while there is one, unless another core is free; all but a try that needs
 * silence. */
static void hold_jobs(struct service *s)
{
	bool tries = trying(s) > 0, hushed = is_hushed(s);

	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.a[i];
		bool try = j->kind == JOB_TRY;
		if (!j->pid)
			continue;
		if (!try && tries && !hushed && j->slot == s->ncores - 1)
			move_background(s, j);
		bool stop = hushed ? !j->hush : !try && tries && j->slot == s->ncores - 1;
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

void jobs_hush(struct service *s)
{
	struct hush_words w;

	while (read(s->hush[0], &w, sizeof w) == (ssize_t)sizeof w)
		for (size_t i = 0; i < s->jobs.n; i++) {
			struct job *j = s->jobs.a[i];
			if (j->kind != JOB_TRY || j->pid != w.pid)
				continue;
			if (j->hush && w.hush == HUSH_IN_VAIN)
				s->hush_failed = now_seconds();
			j->hush = w.hush == HUSH_ON && now_seconds() > s->hush_failed + HUSH_AGAIN;
		}
}

/* An answer to what could not be started, or ended badly; nothing of it stays. */
static void answer_failed(struct service *s, struct job *j, const char *verb, const char *why)
{
	serve_error(s, j->id, verb, why);
	for (int step = -1; j->kind == JOB_BUILD && step <= j->step; step++)
		unlink(step_file(s, j, step));
}

static const char *begin_build(struct service *s, struct job *j)
{
	const char *why = write_source(s, j);

	if (why)
		return why;
	if (serve_find_constants(serve_find_task(s, j->task), j->build.algo)) {
		j->step = 0;
		return start_step(s, j);
	}
	j->step = -1;
	why = open_file(j, &j->file, "constants");
	return why ? why : fork_job(s, j, run_constants);
}

static const char *begin_task(struct service *s, struct job *j)
{
	const char *why = open_file(j, &j->file, "problem");

	return why ? why : fork_job(s, j, run_task);
}

/* False: it has its answer. */
static bool start_background(struct service *s, struct job *j)
{
	j->start = j->began = now_seconds();
	j->step = -1;
	const char *why = j->kind == JOB_TASK ? begin_task(s, j) : begin_build(s, j);
	if (why)
		answer_failed(s, j, "error", why);
	return !why;
}

/* NULL, or why not. */
static const char *start_try(struct service *s, struct job *j)
{
	struct serve_artifact *x = serve_find_artifact(s, j->artifact), *base = serve_find_artifact(s, j->base);

	if ((base->a.known < 0 && (base->a.known = memfd_create("known", MFD_CLOEXEC)) < 0) ||
	    (base->a.usual < 0 && (base->a.usual = yardstick_file(0)) < 0) ||
	    !serve_open_rotations(s, j, (const struct artifact *const[2]){&x->a, &base->a}))
		return refused(j, "memfd_create");
	return fork_job(s, j, run_try);
}

/* Those that met a slow phase come last, and after a while. */
static bool next_try(struct service *s, size_t *next)
{
	bool found = false;
	double now = now_seconds();

	for (size_t i = 0; i < s->jobs.n; i++) {
		struct job *j = s->jobs.a[i];
		if (j->kind == JOB_TRY && !j->pid && j->again <= now && (!found || j->slow < s->jobs.a[*next]->slow)) {
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
		if (j->kind == JOB_TRY && !j->pid && j->again > now)
			first = fmin(first, j->again - now);
	}
	return first;
}

void jobs_start(struct service *s)
{
	const char *why;
	size_t next = 0;

	while (!is_hushed(s) && trying(s) < (s->ncores > 1 ? 2 : 1) && next_try(s, &next)) {
		if (!(why = start_try(s, s->jobs.a[next])))
			continue;
		answer_failed(s, s->jobs.a[next], "error", why);
		drop_job(s, next);
	}
	hold_jobs(s);
	for (size_t i = 0; i < s->jobs.n && !is_hushed(s);) {
		struct job *j = s->jobs.a[i];
		bool waits = !j->pid && j->kind != JOB_TRY;
		if (waits && (j->slot = free_slot(s)) < 0)
			break;
		if (waits && !start_background(s, j))
			drop_job(s, i);
		else
			i++;
	}
}

/* ---- ends ---- */

static void end_task(struct service *s, struct job *j)
{
	struct serve_task *t = xcalloc(1, sizeof *t);
	const char *why = "";

	*t = (struct serve_task){.digest = digest_bytes(j->text, strlen(j->text)), .text = xstrdup(j->text), .problem = j->file};
	j->file = -1;
	if (!(t->head = problem_map(t->problem, false)) || !(t->task = s->oracle->open(t->text, &why))) {
		serve_error(s, j->id, "error", t->head ? why : "no memory for the task");
		return;
	}
	vec_push(&s->tasks, t);
	serve_task_done(s, j->id, t->digest);
}

/* Do buffers fit the task? NULL, or why not. */
static const char *check_buffers(struct service *s, struct job *j)
{
	struct serve_task *t = serve_find_task(s, j->task);
	const struct serve_constants *c = serve_find_constants(t, j->build.algo);
	const struct runner_build *b = &j->build;
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), bytes = (uint64_t)b->workspace;
	const char *why;

	if (b->nin != t->head->nin || b->nout != t->head->n - t->head->nin)
		return arena_printf(&j->arena, "a kernel with %d inputs and %d results for a task with %d and %d", b->nin, b->nout,
				    t->head->nin, t->head->n - t->head->nin);
	for (int i = 0; i < b->nin + b->nconst + b->nout; i++) {
		const struct runner_buf *x = &b->buf[i];
		bool constant = i >= b->nin && i < b->nin + b->nconst;
		if (constant && x->constant >= (uint32_t)c->head->n)
			return arena_printf(&j->arena, "buffer %d: the task has %d constants, no number %u", i, c->head->n, x->constant);
		const struct oracle_tensor *k =
			constant ? &c->head->t[x->constant].tensor : &t->head->t[i < b->nin ? i : i - b->nconst].tensor;
		if (k->dtype != dtype_parse(x->type, strlen(x->type)))
			return arena_printf(&j->arena, "buffer %d is %s, the task has %s there", i, x->type, dtype_name(k->dtype));
		if ((why = s->oracle->buffer(x, k->n)))
			return arena_printf(&j->arena, "buffer %d: %s", i, why);
		bytes += runner_buf_bytes(x);
	}
	if (bytes > memory / 4)
		return "its buffers are too large for this machine";
	return NULL;
}

/* Is a try waiting for it? */
static bool wanted(struct service *s, const struct serve_artifact *x)
{
	for (size_t i = 0; i < s->jobs.n; i++) {
		const struct job *j = s->jobs.a[i];
		if (j->kind == JOB_TRY && (digest_eq(j->artifact, x->digest) || digest_eq(j->base, x->digest)))
			return true;
	}
	return false;
}

/* Makes room for one more: what was not used for the longest time goes. */
static void drop_oldest(struct service *s)
{
	size_t oldest = 0;

	if (s->artifacts.n < RUNNER_ARTIFACTS_MAX)
		return;
	for (size_t i = 1; i < s->artifacts.n; i++)
		if (s->artifacts.a[i]->used < s->artifacts.a[oldest]->used)
			oldest = i;
	struct serve_artifact *x = s->artifacts.a[oldest];
	if (wanted(s, x))
		return;
	unlink(x->a.path);
	if (x->a.known >= 0)
		close(x->a.known);
	if (x->a.usual >= 0)
		close(x->a.usual);
	free((char *)x->a.path);
	arena_release(&x->arena);
	free(x);
	s->artifacts.a[oldest] = s->artifacts.a[--s->artifacts.n];
}

static void end_build(struct service *s, struct job *j)
{
	struct serve_artifact *x = serve_find_artifact(s, j->artifact);
	const char *why = check_buffers(s, j), *verb = "error", *path = step_file(s, j, toolchain_find()->steps - 1);

	for (int step = -1; step + 1 < toolchain_find()->steps; step++)
		unlink(step_file(s, j, step));
	if (!why && !x && (why = object_check(path, &j->arena)))
		verb = "failed";
	if (why || x) /* another build of it may have been as fast */
		unlink(path);
	if (why) {
		serve_error(s, j->id, verb, why);
		return;
	}
	if (!x) {
		drop_oldest(s);
		x = xcalloc(1, sizeof *x);
		*x = (struct serve_artifact){.digest = j->artifact,
					     .task = j->task,
					     .seconds = now_seconds() - j->start,
					     .a = {.path = xstrdup(path),
						   .build = j->build,
						   .constants = serve_find_constants(serve_find_task(s, j->task), j->build.algo)->fd,
						   .known = -1,
						   .usual = -1}};
		x->a.build.source = NULL;
		vec_push(&s->artifacts, x);
		x->used = ++s->uses;
		x->arena = j->arena; /* the buffers' texts live on with the artifact */
		j->arena = (struct arena){0};
	}
	serve_build_done(s, j->id, x);
}

/* The constants for an algorithm are there. */
static bool keep_constants(struct service *s, struct job *j)
{
	struct serve_task *t = serve_find_task(s, j->task);
	const struct problem *head = problem_map(j->file, false);

	if (!head)
		return false;
	if (!serve_find_constants(t, j->build.algo)) /* another build may have been as fast */
		vec_push(&t->constants, (struct serve_constants){xstrdup(j->build.algo ? j->build.algo : ""), j->file, head});
	else
		close(j->file);
	j->file = -1;
	return true;
}

/* true: the build has a step more. */
static bool next_step(struct service *s, struct job *j)
{
	const char *why = NULL;

	if (j->step < 0 && !keep_constants(s, j))
		why = "no memory for the constants";
	else if (++j->step == toolchain_find()->steps)
		end_build(s, j);
	else if (!(why = start_step(s, j)))
		return true;
	if (why)
		answer_failed(s, j, "error", why);
	return false;
}

/* Did a step of a build fail for what is none of the source's? It is not there, or was killed, and not by us; or had no room. */
static bool is_lost(struct service *s, struct job *j, int status)
{
	static const char *const words[] = {"No space left on device", "Disk quota exceeded",      "Too many open files",
					    "Input/output error",      "Killed signal terminated", "execute command: Killed"};
	struct statvfs v;

	if (j->late || (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL))
		return false;
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == EX_NOTAVAIL || WEXITSTATUS(status) == EX_IO)
		return true;
	const char *text = report_text(j);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i]))
			return true;
	return !statvfs(s->dir, &v) && v.f_bavail == 0;
}

/* Seconds on the clock for what it does now. */
static double seconds_for(const struct service *s, const struct job *j)
{
	return j->kind == JOB_BUILD && j->step >= 0 ? s->build_seconds : TASK_TIMES * s->build_seconds;
}

/* A file that may not be opened and one that is not there read the same: a source must not find out which files exist. */
static char *without_denied(struct job *j, const char *line)
{
	static const char denied[] = "Permission denied", none[] = "No such file or directory";
	const char *at = strstr(line, denied);

	return at ? arena_printf(&j->arena, "%.*s%s%s", (int)(at - line), line, none, at + strlen(denied)) : arena_str(&j->arena, line);
}

/* Compilers name the file, which is ours. */
static const char *how_failed(struct service *s, struct job *j, int status)
{
	if (j->late)
		return arena_printf(&j->arena, "not done after %g seconds", seconds_for(s, j));
	if (WIFSIGNALED(status))
		return arena_printf(&j->arena, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	const char *line = j->kind == JOB_BUILD ? without_denied(j, report_line(j)) : report_line(j), *name = strstr(line, ".c:");

	if (!name)
		name = strstr(line, ".s:");
	return strncmp(line, s->dir, strlen(s->dir)) || !name ? line : arena_printf(&j->arena, "candidate%s", name);
}

static void send_report(struct service *s, struct job *j)
{
	struct stat st = {0};

	fstat(j->report, &st);
	vec_reserve(&s->out.b, s->out.b.n + (size_t)st.st_size);
	if (st.st_size == 0 || pread(j->report, s->out.b.a + s->out.b.n, (size_t)st.st_size, 0) != st.st_size)
		serve_error(s, j->id, "error", "the try ended without a word");
	else
		s->out.b.n += (size_t)st.st_size;
}

/* One that was killed could not. */
static void drop_copies(struct service *s, struct job *j, pid_t pid)
{
	const struct serve_artifact *x[2] = {serve_find_artifact(s, j->artifact), serve_find_artifact(s, j->base)};

	for (int which = 0; which < 2; which++)
		for (int i = 1; i < TRY_PLACINGS && x[which]; i++)
			unlink(try_copy(&x[which]->a, pid, which, i, &j->arena));
}

/* true: the job is done with. */
static bool ended(struct service *s, struct job *j, int status)
{
	pid_t pid = j->pid;

	j->pid = 0;
	j->stopped = j->hush = false;
	if (j->kind == JOB_TRY && WIFEXITED(status) && WEXITSTATUS(status) == EX_SLOW) {
		j->again = now_seconds() + SLOW_PAUSE * (1 << j->slow++);
		return false;
	}
	if (status) {
		bool compiler = j->kind == JOB_BUILD && j->step >= 0;
		if (j->kind == JOB_TRY)
			drop_copies(s, j, pid);
		answer_failed(s, j, compiler && !is_lost(s, j, status) ? "failed" : "error", how_failed(s, j, status));
		return true;
	}
	switch (j->kind) {
	case JOB_TASK: end_task(s, j); break;
	case JOB_TRY: send_report(s, j); break;
	case JOB_BUILD: return !next_step(s, j);
	}
	return true;
}

/* Somebody else took in its process. */
static bool is_gone(struct service *s, struct job *j)
{
	j->pid = 0;
	answer_failed(s, j, "error", "how its process ended is not known");
	return true;
}

/* What waits for a device, say, uses no time of the processor. */
static void end_late(struct service *s, struct job *j)
{
	if (!j->pid || j->kind == JOB_TRY || j->stopped || now_seconds() - j->began - j->rested < seconds_for(s, j))
		return;
	j->late = true;
	kill(-j->pid, SIGKILL);
	kill(j->pid, SIGKILL);
}

/* While a try needs silence no build is taken in, for its next step would begin. */
static void reap(struct service *s)
{
	bool hushed = is_hushed(s);
	int status;

	for (size_t i = 0; i < s->jobs.n;) {
		struct job *j = s->jobs.a[i];
		end_late(s, j);
		bool waits = hushed && j->kind == JOB_BUILD;
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
	bool hushed = is_hushed(s);

	reap(s);
	if (hushed && !is_hushed(s)) /* the try that needed it has ended */
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
	warm_end(&s->warm);
}
