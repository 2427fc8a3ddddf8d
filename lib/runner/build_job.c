/* A build: from source to a library, a step of the toolchain at a time; before the first of an algorithm, its constants. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "runner/confine.h"
#include "runner/job.h"
#include "runner/object.h"
#include "runner/process.h"

/* ---- the request ---- */

/* What names an artifact: all that decides what it is. */
static struct digest artifact_digest(struct mp_in *r, const unsigned char *from) { return digest_bytes(from, (size_t)(r->p - from)); }

static bool take(struct service *s, struct job *j, struct mp_in *r)
{
	struct build_job *x = (struct build_job *)j;
	const unsigned char *from = r->p;
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	x->file = x->step = -1;
	x->task = mp_digest(r);
	take_build(r, &x->build, &j->arena);
	if (r->why)
		return false;
	x->artifact = artifact_digest(r, from);
	struct serve_artifact *known = serve_find_artifact(s, x->artifact);
	if (known)
		serve_build_done(s, j->id, known);
	else if (!serve_find_task(s, x->task))
		serve_error(s, j->id, "error", "no such task here");
	else if ((uint64_t)x->build.workspace > memory / 4)
		serve_error(s, j->id, "error", "its workspace is too large for this machine");
	else
		return true;
	return false;
}

/* ---- its processes ---- */

static void run_constants(struct service *s, struct job *j)
{
	const struct build_job *x = (struct build_job *)j;
	const char *why = problem_write_constants(s->oracle, serve_find_task(s, x->task)->text, x->build.algo, x->file);

	if (why)
		job_give_up(j, EX_BADDATA, why);
}

static char *artifact_path(struct service *s, struct build_job *x, const char *suffix)
{
	char hex[33];

	digest_hex(x->artifact, hex);
	return arena_printf(&x->job.arena, "%s/%s-%llu%s", s->dir, hex, (unsigned long long)x->job.id, suffix);
}

static const char *step_file(struct service *s, struct build_job *x, int step)
{
	return artifact_path(s, x, step < 0 ? ".c" : toolchain_suffix(toolchain_find(), step));
}

/* In a process of its own: becomes the compiler. */
static _Noreturn void run_step(struct service *s, struct job *j, char **argv)
{
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

/* Starts the next step. NULL, or why not. */
static const char *start_step(struct service *s, struct build_job *x)
{
	struct job *j = &x->job;
	const char *in = step_file(s, x, x->step - 1), *out = step_file(s, x, x->step), *why = job_open_report(j);
	char **argv = toolchain_argv(toolchain_find(), x->step, in, out, &j->arena);
	int core = s->core[j->slot];

	if (why)
		return why;
	j->began = now_seconds();
	j->rested = 0;
	if (x->step == 0 && s->builds++ == 0)
		s->rules = confine_open(s->dir);
	if (x->step == 0 && s->builds == 2)
		compile_server_start(&s->server, s->dir, s->core[0], s->rules);
	if (!(j->pid = compile_server_run(&s->server, x->step, in, out, j->report, core, BUILD_SECONDS))) {
		pid_t parent = getpid(), pid = fork();
		if (pid == 0) {
			process_background(parent, core, PROCESS_NICE);
			run_step(s, j, argv);
		}
		if (pid < 0)
			return job_refused(j, "fork");
		j->pid = pid;
	}
	job_make_group(j->pid);
	return NULL;
}

/* NULL, or why not: there may be no room just now. */
static const char *write_source(struct service *s, struct build_job *x)
{
	const char *path = step_file(s, x, -1);
	FILE *f = fopen(path, "we");
	bool good = f && fwrite(x->build.source, 1, x->build.nsource, f) == x->build.nsource;
	int error = errno;

	if (f && fclose(f) && good) {
		error = errno;
		good = false;
	}
	if (!good)
		unlink(path);
	return good ? NULL : arena_printf(&x->job.arena, "its source cannot be written: %s", strerror(error));
}

static const char *start(struct service *s, struct job *j)
{
	struct build_job *x = (struct build_job *)j;
	const char *why = write_source(s, x);

	if (why)
		return why;
	if (serve_find_constants(serve_find_task(s, x->task), x->build.algo)) {
		x->step = 0;
		return start_step(s, x);
	}
	x->step = -1;
	why = job_open_file(j, &x->file, "constants");
	return why ? why : job_fork(s, j, run_constants);
}

static void clear(struct service *s, struct job *j)
{
	struct build_job *x = (struct build_job *)j;

	for (int step = -1; step <= x->step; step++)
		unlink(step_file(s, x, step));
}

/* ---- its ends ---- */

/* Do buffers fit the task? NULL, or why not. */
static const char *check_buffers(struct service *s, struct build_job *x)
{
	struct serve_task *t = serve_find_task(s, x->task);
	const struct serve_constants *c = serve_find_constants(t, x->build.algo);
	const struct runner_build *b = &x->build;
	struct arena *a = &x->job.arena;
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE), bytes = (uint64_t)b->workspace;
	const char *why;

	if (b->nin != t->head->nin || b->nout != t->head->n - t->head->nin)
		return arena_printf(a, "a kernel with %d inputs and %d results for a task with %d and %d", b->nin, b->nout, t->head->nin,
				    t->head->n - t->head->nin);
	for (int i = 0; i < b->nin + b->nconst + b->nout; i++) {
		const struct runner_buf *buf = &b->buf[i];
		bool constant = i >= b->nin && i < b->nin + b->nconst;
		if (constant && buf->constant >= (uint32_t)c->head->n)
			return arena_printf(a, "buffer %d: the task has %d constants, no number %u", i, c->head->n, buf->constant);
		const struct oracle_tensor *k =
			constant ? &c->head->t[buf->constant].tensor : &t->head->t[i < b->nin ? i : i - b->nconst].tensor;
		if (k->dtype != dtype_parse(buf->type, strlen(buf->type)))
			return arena_printf(a, "buffer %d is %s, the task has %s there", i, buf->type, dtype_name(k->dtype));
		if ((why = s->oracle->buffer(buf, k->n)))
			return arena_printf(a, "buffer %d: %s", i, why);
		bytes += runner_buf_bytes(buf);
	}
	if (bytes > memory / 4)
		return "its buffers are too large for this machine";
	return NULL;
}

/* The library is an artifact from now on. */
static struct serve_artifact *keep(struct service *s, struct build_job *x, const char *path)
{
	struct serve_artifact *a = xcalloc(1, sizeof *a);

	*a = (struct serve_artifact){.digest = x->artifact,
				     .task = x->task,
				     .seconds = now_seconds() - x->job.start,
				     .a = {.path = xstrdup(path),
					   .build = x->build,
					   .constants = serve_find_constants(serve_find_task(s, x->task), x->build.algo)->fd,
					   .known = -1,
					   .usual = -1},
				     .arena = x->job.arena}; /* the buffers' texts live on with it */
	x->job.arena = (struct arena){0};
	a->a.build.source = NULL;
	serve_keep_artifact(s, a);
	return a;
}

static void finish(struct service *s, struct build_job *x)
{
	struct serve_artifact *known = serve_find_artifact(s, x->artifact);
	const char *why = check_buffers(s, x), *verb = "error", *path = step_file(s, x, toolchain_find()->steps - 1);

	for (int step = -1; step + 1 < toolchain_find()->steps; step++)
		unlink(step_file(s, x, step));
	if (!why && !known && (why = object_check(path, &x->job.arena)))
		verb = "failed";
	if (why || known) /* another build of it may have been as fast */
		unlink(path);
	if (why)
		serve_error(s, x->job.id, verb, why);
	else
		serve_build_done(s, x->job.id, known ? known : keep(s, x, path));
}

/* The constants for an algorithm are there. */
static bool keep_constants(struct service *s, struct build_job *x)
{
	struct serve_task *t = serve_find_task(s, x->task);
	const struct problem *head = problem_map(x->file, false);

	if (!head)
		return false;
	if (!serve_find_constants(t, x->build.algo)) /* another build may have been as fast */
		vec_push(&t->constants, (struct serve_constants){xstrdup(x->build.algo ? x->build.algo : ""), x->file, head});
	else
		close(x->file);
	x->file = -1;
	return true;
}

/* true: the build has a step more. */
static bool next_step(struct service *s, struct build_job *x)
{
	const char *why = NULL;

	if (x->step < 0 && !keep_constants(s, x))
		why = "no memory for the constants";
	else if (++x->step == toolchain_find()->steps)
		finish(s, x);
	else if (!(why = start_step(s, x)))
		return true;
	if (why)
		job_answer_failed(s, &x->job, "error", why);
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
	const char *text = job_report_text(j);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(text, words[i]))
			return true;
	return !statvfs(s->dir, &v) && v.f_bavail == 0;
}

/* A file that may not be opened and one that is not there read the same: a source must not find out which files exist. */
static char *without_denied(struct job *j, const char *line)
{
	static const char denied[] = "Permission denied", none[] = "No such file or directory";
	const char *at = strstr(line, denied);

	return at ? arena_printf(&j->arena, "%.*s%s%s", (int)(at - line), line, none, at + strlen(denied)) : arena_str(&j->arena, line);
}

static bool ended(struct service *s, struct job *j, pid_t pid, int status)
{
	struct build_job *x = (struct build_job *)j;

	if (!status)
		return !next_step(s, x);
	const char *verb = x->step >= 0 && !is_lost(s, j, status) ? "failed" : "error";
	job_answer_failed(s, j, verb, job_how_failed(s, j, status, without_denied(j, job_report_line(j))));
	return true;
}

static double seconds(const struct service *s, const struct job *j)
{
	return (((const struct build_job *)j)->step >= 0 ? 1 : TASK_TIMES) * s->build_seconds;
}

static void end(struct job *j)
{
	if (((struct build_job *)j)->file >= 0)
		close(((struct build_job *)j)->file);
}

const struct job_kind build_job_kind = {
	.verb = "build",
	.size = sizeof(struct build_job),
	.steps = true,
	.take = take,
	.start = start,
	.ended = ended,
	.clear = clear,
	.seconds = seconds,
	.free = end,
};
