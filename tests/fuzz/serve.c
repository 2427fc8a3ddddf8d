/* What the runner's service reads, under libFuzzer: requests in frames. The file is included for its reader, which is
 * private to it; nothing is started. Seeds: what a tuner sent (t-fuzz.sh records it). */
#define _GNU_SOURCE
#include <unistd.h>
static int sink; /* answers go there */
#undef STDOUT_FILENO
#define STDOUT_FILENO sink
#include "../../lib/runner/service.c"
#include "runner/job.h"
#include "refuse.h"

/* One task and two artifacts of it, whose digests are what fuzzers try first. */
static void have_things(struct service *s, struct serve_task *t, struct serve_artifact *x)
{
	vec_push(&s->tasks, t);
	for (int i = 0; i < 2; i++) {
		x[i].digest.lo = (uint64_t)i;
		vec_push(&s->artifacts, &x[i]);
	}
}

static void check_build(const struct runner_build *b)
{
	must(b->nin >= 0 && b->nconst >= 0 && b->nout >= 1 && b->nin + b->nconst + b->nout <= RUNNER_BUFS_MAX);
	for (int i = 0; i < b->nin + b->nconst + b->nout; i++)
		must(b->buf[i].type && b->buf[i].layout && b->buf[i].rank >= 0 && b->buf[i].elems >= 0);
}

static void check_job(const struct job *j)
{
	const struct try_job *t = (const struct try_job *)j;

	must(j->kind == &task_job_kind || j->kind == &build_job_kind || j->kind == &try_job_kind);
	if (j->kind == &task_job_kind)
		must(((const struct task_job *)j)->text);
	else if (j->kind == &build_job_kind)
		check_build(&((const struct build_job *)j)->build);
	else
		must(t->budget >= 0 && t->budget <= 3600);
}

static void serve_all(struct service *s)
{
	struct mp_in r;
	const char *why;

	while (frame_next(&s->in, &r, &why))
		take_frame(s, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct service *s = xcalloc(1, sizeof *s);
	struct serve_task t = {0};
	struct serve_artifact x[2] = {0};

	if (!sink)
		sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	mp_out_init(&s->out);
	have_things(s, &t, x);
	frame_add(&s->in, (const char *)data, n);
	if (REFUSED(serve_all(s)))
		must(*refused.why);
	for (size_t i = 0; i < s->jobs.n; i++) {
		check_job(s->jobs.a[i]);
		job_free(s->jobs.a[i]);
	}
	vec_free(&s->jobs);
	vec_free(&s->tasks);
	vec_free(&s->artifacts);
	vec_free(&s->in.b);
	mp_out_free(&s->out);
	free(s);
	return 0;
}
