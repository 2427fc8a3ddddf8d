/* A task: its inputs, and the right results of them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "common/msg.h"
#include "runner/job.h"

static bool take(struct service *s, struct job *j, struct mp_in *r)
{
	struct task_job *x = (struct task_job *)j;

	x->file = -1;
	x->text = take_str(r, &j->arena);
	if (!r->why && !x->text)
		mp_fail(r, 0, "a task without text");
	if (r->why)
		return false;
	struct digest d = digest_bytes(x->text, strlen(x->text));
	bool known = serve_find_task(s, d);
	if (known)
		serve_task_done(s, j->id, d);
	return !known;
}

static void run(struct service *s, struct job *j)
{
	const struct task_job *x = (struct task_job *)j;
	const char *why = problem_write(s->oracle, x->text, x->file);

	if (why)
		job_give_up(j, EX_BADDATA, why);
}

static const char *start(struct service *s, struct job *j)
{
	const char *why = job_open_file(j, &((struct task_job *)j)->file, "problem");

	return why ? why : job_fork(s, j, run);
}

static void keep(struct service *s, struct task_job *x)
{
	struct serve_task *t = xcalloc(1, sizeof *t);
	const char *why = "";

	*t = (struct serve_task){.digest = digest_bytes(x->text, strlen(x->text)), .text = xstrdup(x->text), .problem = x->file};
	x->file = -1;
	if (!(t->head = problem_map(t->problem, false)) || !(t->task = s->oracle->open(t->text, &why))) {
		serve_error(s, x->job.id, "error", t->head ? why : "no memory for the task");
		return;
	}
	vec_push(&s->tasks, t);
	serve_task_done(s, x->job.id, t->digest);
}

static bool ended(struct service *s, struct job *j, pid_t pid, int status)
{
	if (status)
		job_answer_failed(s, j, "error", job_how_failed(s, j, status, job_report_line(j)));
	else
		keep(s, (struct task_job *)j);
	return true;
}

static double seconds(const struct service *s, const struct job *j) { return TASK_TIMES * s->build_seconds; }

static void end(struct job *j)
{
	if (((struct task_job *)j)->file >= 0)
		close(((struct task_job *)j)->file);
}

const struct job_kind task_job_kind = {
	.verb = "task",
	.size = sizeof(struct task_job),
	.take = take,
	.start = start,
	.ended = ended,
	.seconds = seconds,
	.free = end,
};
