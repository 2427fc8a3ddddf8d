/* A try: a candidate checked and timed against a base, once the device is free. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "runner/job.h"
#include "runner/noise_probe.h"

enum {
	TRIES_SLOW = 5, /* that a candidate gets besides one, */
	TRIES_BASE = 2, /* where only its base was slow */
	EX_SLOW = 75    /* a try in a slow phase of the machine */
};
#define SLOW_PAUSE 0.05 /* seconds before the first of these, twice as many before each further one */

static bool take(struct service *s, struct job *j, struct mp_in *r)
{
	struct try_job *x = (struct try_job *)j;
	size_t at = mp_at(r);

	x->task = mp_digest(r);
	x->artifact = mp_digest(r);
	x->base = mp_digest(r);
	x->budget = mp_double(r);
	x->seed = (uint64_t)mp_int(r, 0, INT64_MAX);
	x->cold_bytes = mp_left(r) ? (uint64_t)mp_int(r, 0, RUNNER_COLD_MAX) : 0;
	x->goal = mp_left(r) ? mp_double(r) : 0;
	x->width = mp_left(r) ? mp_double(r) : 0;
	x->once = mp_left(r) && mp_int(r, 0, 1);
	if (!r->why && !(x->budget >= 0 && x->budget <= 3600))
		mp_fail(r, at, "a budget that is no number of seconds");
	if (!r->why && !(x->goal >= 0 && x->width >= 0))
		mp_fail(r, at, "a goal or a width that is no share");
	if (r->why)
		return false;
	struct serve_artifact *own = serve_find_artifact(s, x->artifact), *base = serve_find_artifact(s, x->base);
	if (serve_find_task(s, x->task) && own && base && digest_eq(own->task, x->task) && digest_eq(base->task, x->task))
		return true;
	serve_error(s, j->id, "error", "no such artifact of that task here");
	return false;
}

/* Its report is the answer, as a frame. */
static void report(struct job *j, const struct measurement *m)
{
	struct mp_out o;

	mp_out_init(&o);
	size_t frame = frame_begin(&o, 9, j->id, "try");
	put_measurement(&o, m);
	frame_end(&o, frame);
	if (ftruncate(j->report, 0) || pwrite(j->report, o.b.a, o.b.n, 0) != (ssize_t)o.b.n)
		_exit(EX_IO);
}

static void run(struct service *s, struct job *j)
{
	struct try_job *x = (struct try_job *)j;
	struct serve_task *t = serve_find_task(s, x->task);
	struct serve_artifact *own = serve_find_artifact(s, x->artifact), *base = serve_find_artifact(s, x->base);
	struct try try = {.oracle = s->oracle,
			  .task = t->task,
			  .problem = t->problem,
			  .artifact = {&own->a, &base->a},
			  .cold = {x->sets[0].copies ? &x->sets[0] : NULL, x->sets[1].copies ? &x->sets[1] : NULL},
			  .budget = x->budget,
			  .goal = x->goal,
			  .width = x->width,
			  .once = x->once,
			  .seed = x->seed,
			  .core = s->core[s->ncores - 1],
			  .aside = s->core[0],
			  .lock = s->lock,
			  .noise_probe = s->noise_probe,
			  .quiesce = s->quiesce[1],
			  .patient = j->put_off < TRIES_BASE,
			  .last = j->put_off == TRIES_SLOW};
	struct measurement m;
	bool slow;
	const char *why = try_run(&try, &m, &slow, &j->arena);

	if (why)
		job_give_up(j, EX_SYSTEM, why);
	if (slow)
		_exit(EX_SLOW);
	report(j, &m);
}

static const char *start(struct service *s, struct job *j)
{
	struct try_job *x = (struct try_job *)j;
	struct serve_artifact *own = serve_find_artifact(s, x->artifact), *base = serve_find_artifact(s, x->base);

	if ((base->a.known < 0 && (base->a.known = memfd_create("known", MFD_CLOEXEC)) < 0) ||
	    (base->a.usual < 0 && (base->a.usual = noise_probe_file(0)) < 0) ||
	    !serve_open_cold(s, x->sets, x->task, x->cold_bytes, (const struct artifact *const[2]){&own->a, &base->a}))
		return job_refused(j, "memfd_create");
	return job_fork(s, j, run);
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
static void drop_copies(struct service *s, struct try_job *x, pid_t pid)
{
	const struct serve_artifact *of[2] = {serve_find_artifact(s, x->artifact), serve_find_artifact(s, x->base)};

	for (int which = 0; which < 2; which++)
		for (int i = 1; i < TRY_PLACINGS && of[which]; i++)
			unlink(try_copy(&of[which]->a, pid, which, i, &x->job.arena));
}

static bool ended(struct service *s, struct job *j, pid_t pid, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == EX_SLOW) {
		j->due = now_seconds() + SLOW_PAUSE * (1 << j->put_off++);
		return false;
	}
	if (status) {
		drop_copies(s, (struct try_job *)j, pid);
		job_answer_failed(s, j, "error", job_how_failed(s, j, status, job_report_line(j)));
	} else {
		send_report(s, j);
	}
	return true;
}

static bool needs(const struct job *j, struct digest artifact)
{
	const struct try_job *x = (const struct try_job *)j;

	return digest_eq(x->artifact, artifact) || digest_eq(x->base, artifact);
}

const struct job_kind try_job_kind = {
	.verb = "try",
	.size = sizeof(struct try_job),
	.timed = true,
	.take = take,
	.start = start,
	.ended = ended,
	.needs = needs,
};
