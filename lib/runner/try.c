/* A try: checks; timing.c times. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/progress.h"
#include "common/rng.h"
#include "common/whole.h"
#include "runner/device_lock.h"
#include "runner/process.h"
#include "runner/sequential.h"
#include "runner/try_impl.h"

enum { POISON = 0xff };

/* Storage of one serves for the other. */
static bool same_buf(const struct runner_buf *a, const struct runner_buf *b)
{
	bool same = !strcmp(a->type, b->type) && !strcmp(a->layout, b->layout) && a->elems == b->elems && a->constant == b->constant &&
		    a->rank == b->rank;

	return same && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static bool same_constants(const struct run *x) { return x->t->artifact[0]->constants == x->t->artifact[1]->constants; }

/* Regions of both kernels. What is stored alike is shared: copies elsewhere in the caches would be a difference that
 * is not the kernels'. */
static void plan_regions(struct run *x)
{
	int64_t workspace = 0;

	for (int which = 0; which < 2; which++) {
		const struct runner_build *b = build_of(x, which);
		struct arguments *g = &x->arguments[which], *other = &x->arguments[0];
		for (int i = 0; i < b->nin + b->nconst + b->nout; i++) {
			bool constant = i >= b->nin && i < b->nin + b->nconst, result = i >= b->nin + b->nconst;
			int k = result ? i - b->nin - b->nconst : constant ? i - b->nin : i;
			int *mine = result ? &g->out[k] : constant ? &g->constant[k] : &g->in[k];
			const struct runner_build *c = build_of(x, 0);
			int at = result ? c->nin + c->nconst + k : constant ? c->nin + k : k;
			bool there = which && (!constant || (k < c->nconst && same_constants(x))) && same_buf(&c->buf[at], &b->buf[i]);
			if (there)
				*mine = result ? other->out[k] : constant ? other->constant[k] : other->in[k];
			else
				*mine = regions_add(&x->regions, runner_buf_bytes(&b->buf[i]),
						    result     ? REGION_RESULT
						    : constant ? REGION_CONSTANT
							       : REGION_INPUT);
		}
		if (b->workspace > workspace)
			workspace = b->workspace;
	}
	x->arguments[0].workspace = x->arguments[1].workspace = regions_add(&x->regions, (uint64_t)workspace, REGION_RESULT);
}

/* Those of kernels that share them are one. */
static void plan_cold(struct run *x)
{
	const struct cold_weights *const *r = x->t->cold;

	for (int which = 0; which < 2; which++) {
		struct arguments *g = &x->arguments[which];
		g->sets = r[which];
		if (!r[which])
			g->cold = -1;
		else if (which && r[0] && r[0]->fd == r[1]->fd)
			g->cold = x->arguments[0].cold;
		else
			g->cold = regions_add_file(&x->regions, r[which]->fd, cold_bytes(r[which]));
	}
}

static const char *fill_cold(struct run *x)
{
	const char *why = NULL;

	for (int which = 0; which < 2 && !why; which++)
		if (x->t->cold[which] && !x->t->cold[which]->foreign)
			why = cold_fill(x->t->cold[which], x->t->oracle, build_of(x, which), x->constants[which]);
	return why;
}

/* ---- contents ---- */

void run_fill_constants(struct run *x, int which, enum place p)
{
	const struct runner_build *b = build_of(x, which);

	for (int i = 0; i < b->nconst; i++) {
		int region = x->arguments[which].constant[i];
		const struct runner_buf *buf = buf_of(x, which, b->nin + i);
		if (which == BASE && i < build_of(x, 0)->nconst && region == x->arguments[0].constant[i])
			continue; /* shared, filled already */
		int *at = &x->packed[which][i];
		char *to = region_ours(&x->regions, region, p);
		if (*at)
			memmove(to, region_ours(&x->regions, region, (enum place)(*at - 1)), runner_buf_bytes(buf));
		else
			x->t->oracle->pack(buf, problem_data(x->constants[which], (int)buf->constant, 0), to);
		*at = (int)p + 1;
		region_paint(&x->regions, region, p);
	}
}

void run_fill_inputs(struct run *x, int which, enum place p, void *const *data)
{
	for (int i = 0; i < build_of(x, which)->nin; i++) {
		int region = x->arguments[which].in[i];
		region_paint(&x->regions, region, p);
		x->t->oracle->pack(buf_of(x, which, i), data[i], region_ours(&x->regions, region, p));
	}
	x->written[true] = true;
}

void run_fill_seed(struct run *x, int which, enum place p, int seed)
{
	void *data[RUNNER_BUFS_MAX];

	for (int i = 0; i < x->p->nin; i++)
		data[i] = (void *)problem_data(x->p, i, seed);
	run_fill_inputs(x, which, p, data);
}

/* Results: what is no number and no value that was there; workspace: anything. */
void run_poison(struct run *x, int which, enum place p)
{
	struct arguments *g = &x->arguments[which];
	const struct region *w = &x->regions.r.a[g->workspace];
	uint64_t *word = region_ours(&x->regions, g->workspace, p);

	for (int i = 0; i < build_of(x, which)->nout; i++) {
		region_paint(&x->regions, g->out[i], p);
		memset(region_ours(&x->regions, g->out[i], p), POISON, x->regions.r.a[g->out[i]].bytes);
	}
	region_paint(&x->regions, g->workspace, p);
	for (uint64_t i = 0; i < w->bytes / 8; i++)
		word[i] = rng_u64(&x->rng);
	x->written[false] = true;
}

/* ---- verdicts ---- */

void run_judge(struct run *x, enum verdict v, const char *why)
{
	x->r->verdict = v;
	x->r->why = arena_str(x->a, why);
}

/* Is the address right behind or before a buffer? In words. */
static const char *address_words(struct run *x, uint64_t addr)
{
	static const char *const kinds[] = {"input", "constant", "result", "workspace"};
	const struct runner_build *b = build_of(x, CANDIDATE);
	const struct arguments *g = &x->arguments[CANDIDATE];

	for (int i = 0; i <= b->nin + b->nconst + b->nout; i++) {
		int kind = i < b->nin ? 0 : i < b->nin + b->nconst ? 1 : i < b->nin + b->nconst + b->nout ? 2 : 3;
		int k = kind == 0 ? i : kind == 1 ? i - b->nin : kind == 2 ? i - b->nin - b->nconst : 0;
		int region = kind == 0 ? g->in[k] : kind == 1 ? g->constant[k] : kind == 2 ? g->out[k] : g->workspace;
		const struct region *r = &x->regions.r.a[region];
		uint64_t at = (uint64_t)(uintptr_t)r->theirs;
		if (addr + 4096 < at || addr >= at + r->mapped + 4096)
			continue;
		if (addr >= at && addr < at + r->mapped)
			return arena_printf(x->a, ": wrote to %s %d", kinds[kind], k);
		return arena_printf(x->a, ": %s of %s %d", addr < at ? "before the begin" : "behind the end", kinds[kind], k);
	}
	return "";
}

/* Before any code of the candidate has run what goes wrong with the base is not the candidate's: there is no verdict then. */
static void blame(struct run *x, int which, enum verdict v, const char *why)
{
	if (which == BASE && !is_alone(x->t) && !x->called)
		x->why = why;
	else
		run_judge(x, v, why);
}

/* The process is gone, or will not answer. False always. */
static bool fell(struct run *x, int which, enum answer answer, double seconds, const char *what)
{
	const char *who = which == BASE && !is_alone(x->t) ? "the base, " : "";
	struct isolate_fault f;
	int status = 0;

	if (answer == ANSWER_LATE) {
		subject_end(&x->subject);
		blame(x, which, VERDICT_TIMEOUT, arena_printf(x->a, "%s%s: not done after %.3g seconds", who, what, seconds));
		return false;
	}
	if (answer == ANSWER_REFUSED) {
		blame(x, which, VERDICT_CRASH, arena_printf(x->a, "%s%s: %.199s", who, what, x->subject.shared->why));
		return false;
	}
	if (answer == ANSWER_GARBLED) {
		subject_end(&x->subject);
		blame(x, which, VERDICT_CRASH, arena_printf(x->a, "%s%s: spoke on the channel of its parent", who, what));
		return false;
	}
	status = isolate_kill(x->subject.pid);
	x->subject.pid = 0;
	memcpy(&f, &x->subject.shared->fault, sizeof f);
	blame(x, which, VERDICT_CRASH,
	      arena_printf(x->a, "%s%s: %s%s", who, what, isolate_words(status, &f),
			   f.signal == 11 || f.signal == 7 ? address_words(x, f.addr) : ""));
	return false;
}

bool run_order(struct run *x, struct order o, int which, double seconds, const char *what)
{
	double start = now_seconds();
	x->called |= o.kind == ORDER_TIME || (o.kind == ORDER_RUN && o.which == CANDIDATE);
	for (int k = 0; k < 2 && o.place == PLACE_TIMED; k++) {
		o.written[k] = x->written[k];
		x->written[k] = false;
	}
	enum answer answer = subject_order(&x->subject, o, seconds);

	x->took = now_seconds() - start;
	x->written[true] |= o.kind == ORDER_TIME || o.timed; /* they have changed there */
	return answer == ANSWER_DONE ? true : fell(x, which, answer, seconds, what);
}

bool run_believe(struct run *x, uint64_t ns)
{
	if (1e-9 * (double)ns <= x->took)
		return true;
	run_judge(x, VERDICT_CRASH, arena_printf(x->a, "says that it took %.3g seconds, in %.3g", 1e-9 * (double)ns, x->took));
	return false;
}

double run_deadline(const struct run *x) { return TRY_LEAST_SECONDS + TRY_TIMES * x->base_seconds; }

/* ---- a try ---- */

static bool copy_bytes(int in, int out)
{
	char b[1 << 14];
	ssize_t n;

	while (copy_file_range(in, NULL, out, NULL, 1 << 30, 0) > 0)
		;
	while ((n = read(in, b, sizeof b)) > 0) /* not all file systems do that, nor all kernels */
		if (!write_whole(out, b, (size_t)n))
			return false;
	return n == 0;
}

/* One more file with the contents of that one, so that it is loaded once more. */
static const char *copy_file(const char *path, const char *to, struct arena *a)
{
	int in = open(path, O_RDONLY | O_CLOEXEC), out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool good = out >= 0 && copy_bytes(in, out);
	const char *why = good ? NULL : arena_printf(a, "a copy of a library: %s", strerror(errno));

	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return why;
}

const char *try_copy(const struct artifact *x, pid_t pid, int which, int number, struct arena *a)
{
	return arena_printf(a, "%s.%d.%d.%d", x->path, (int)pid, which, number);
}

static const char *copy_artifacts(struct run *x)
{
	const char *why = NULL;

	for (int which = 0; which < 2; which++)
		for (int i = 1; i < TRY_PLACINGS && !why; i++) {
			x->subject.copy[which][i] = try_copy(x->t->artifact[which], getpid(), which, i, x->a);
			why = copy_file(x->t->artifact[which]->path, x->subject.copy[which][i], x->a);
		}
	return why;
}

static void drop_copies(struct run *x)
{
	for (int which = 0; which < 2; which++)
		for (int i = 1; i < TRY_PLACINGS; i++)
			if (x->subject.copy[which][i])
				unlink(x->subject.copy[which][i]);
}

/* -1: on any. */
static void run_on(pid_t pid, int core)
{
	if (core >= 0)
		process_pin(pid, core);
}

/* Why the process under test has not begun, in words. */
static const char *not_started(struct run *x, enum answer answer)
{
	struct isolate_fault f;

	if (answer == ANSWER_REFUSED)
		return x->subject.shared->why;
	if (answer == ANSWER_LATE)
		return arena_printf(x->a, "not there after %g seconds", TRY_BASE_SECONDS);
	int status = isolate_kill(x->subject.pid);
	x->subject.pid = 0;
	memcpy(&f, &x->subject.shared->fault, sizeof f);
	return isolate_words(status, &f);
}

static const char *prepare(struct run *x)
{
	const struct try *t = x->t;
	const char *why;

	run_on(0, t->aside);
	plan_regions(x);
	plan_cold(x);
	if ((why = regions_open(&x->regions)) ||
	    (why = proof_open(&x->proof, (const struct runner_build *const[2]){build_of(x, 0), build_of(x, 1)})))
		return why;
	x->subject = (struct subject){
		.regions = &x->regions,
		.arguments = {&x->arguments[0], &x->arguments[1]},
		.artifact = t->artifact,
		.proof = &x->proof,
		.rng = {t->seed},
		.limits = {.memory = (80 << 20) + x->regions.reserved, .cpu = TRY_CPU_SECONDS},
	};
	if ((why = copy_artifacts(x)) || (why = subject_start(&x->subject)))
		return why;
	/* Only now: the process that was forked must not have it in its memory. */
	if (!(x->p = problem_map(t->problem, true)))
		return "no memory for the right results";
	for (int i = 0; i < 2; i++)
		if (!(x->constants[i] = problem_map(t->artifact[i]->constants, true)))
			return "no memory for the constants";
	if ((why = fill_cold(x)) || (why = regions_map_ours(&x->regions)))
		return why;
	fcntl(x->regions.fd[1], F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
	enum answer answer = subject_order(&x->subject, (struct order){.kind = ORDER_START}, TRY_BASE_SECONDS);
	return answer == ANSWER_DONE ? NULL : arena_printf(x->a, "no isolated process for the candidate: %s", not_started(x, answer));
}

static bool load(struct run *x)
{
	for (int which = 1; which >= 0; which--)
		if (!run_order(x, (struct order){.kind = ORDER_LOAD, .which = which}, which, TRY_LOAD_SECONDS, "loading"))
			return false;
	if (!run_order(x, (struct order){.kind = ORDER_SEAL}, CANDIDATE, TRY_LOAD_SECONDS, "loading"))
		return false;
	if (isolate_sealed(x->subject.pid))
		return true;
	run_judge(x, VERDICT_CRASH, "loading: it is not sealed off");
	return false;
}

/* The process for the next candidate is forked from here, and is to find no right results. */
static void forget(struct run *x)
{
	regions_close(&x->regions);
	proof_close(&x->proof);
	problem_unmap(x->p, true);
	for (int i = 0; i < 2; i++)
		problem_unmap(x->constants[i], true);
	if (x->got.a)
		explicit_bzero(x->got.a, x->got.cap);
	vec_free(&x->got);
	if (x->subject.shared && x->subject.shared != MAP_FAILED)
		munmap(x->subject.shared, sizeof *x->subject.shared);
}

/* The time that an emulator takes says nothing of the machine. */
static void judge_untimed(struct run *x)
{
	if (!x->t->once || run_check_adversarial(x))
		x->r->verdict = VERDICT_RIGHT;
}

/* In one process; results go to *r, which has room for most pairs: 0, it only learns about the base. */
static const char *run_once(const struct try *t, struct measurement *r, size_t most, bool checked, bool *slow, struct arena *a)
{
	struct run *x = xcalloc(1, sizeof *x);
	double start = now_seconds(), waited = 0;

	*x = (struct run){.t = t, .a = a, .r = r, .rng = {t->seed}, .most = most, .checked = checked};
	const char *why = prepare(x);
	bool right = !why && load(x) && run_check(x);
	if (right && most && target_is_emulated()) {
		judge_untimed(x);
	} else if (right && most) {
		bool timed = false;
		int fd;
		waited = now_seconds();
		why = device_lock(t->lock, &fd, a);
		waited = now_seconds() - waited;
		if (!why) {
			run_on(0, t->core);
			run_on(x->subject.pid, t->core);
			timed = timing_run(x, slow);
		}
		if (fd >= 0)
			close(fd);
		if (timed && !*slow && t->once && r->ratio < 1 - SEQ_LEAST) { /* all others have been there before */
			run_on(0, t->aside);
			run_on(x->subject.pid, t->aside);
			run_check_adversarial(x);
		}
	}
	subject_end(&x->subject);
	drop_copies(x);
	forget(x);
	why = why ? why : x->why;
	free(x);
	r->seconds = now_seconds() - start - waited;
	return why;
}

/* What two processes say together: the interval that holds both. */
static void join(struct measurement *r, const struct measurement *two)
{
	if (!verdict_timed(two->verdict)) {
		*r = *two;
		return;
	}
	r->npairs += two->npairs;
	r->ratio = sqrt(r->ratio * two->ratio);
	r->lo = fmin(r->lo, two->lo);
	r->hi = fmax(r->hi, two->hi);
	r->verdict = two->verdict == VERDICT_UNSURE ? VERDICT_UNSURE : sequential_verdict(r->lo, r->hi);
	r->why = two->why;
}

/* How a base does on adversarial seeds, where that is not known: in a process of its own. One that falls there is nobody's
 * base. */
static const char *know_base(const struct try *t, struct measurement *r, struct arena *a)
{
	struct try alone = *t;
	const struct problem *head = problem_map(t->problem, false);
	bool slow, none = !head || head->seeds == PROBLEM_SEEDS;

	problem_unmap(head, false);
	if (none || is_alone(t) || try_base_known(t))
		return NULL;
	alone.artifact[CANDIDATE] = t->artifact[BASE];
	alone.cold[CANDIDATE] = t->cold[BASE];
	const char *why = run_once(&alone, r, 0, false, &slow, a);
	return why || verdict_timed(r->verdict) ? why : arena_printf(a, "the base, %s", r->why);
}

const char *try_run(const struct try *t, struct measurement *r, bool *slow, struct arena *a)
{
	struct try second = *t;

	*slow = false;
	*r = (struct measurement){.pair = ARENA_ARRAY(a, struct sample_pair, RUNNER_PAIRS_MAX)};
	const char *why = know_base(t, r, a);
	if (why)
		return why;
	why = run_once(t, r, RUNNER_PAIRS_MAX / 2, false, slow, a);
	/* Whoever is not better than the goal need not be known so well. */
	bool wanted = !(t->goal > 0 && t->goal < 1 && r->ratio > t->goal);
	bool differ = r->verdict == VERDICT_FASTER || (r->verdict == VERDICT_SLOWER && r->lo <= 1 + SEQ_CLEAR);
	if (!why && !t->once && differ && wanted && !*slow && r->ratio < TRY_PLACED && r->ratio > 1 / TRY_PLACED) {
		struct measurement two = {.pair = r->pair + r->npairs};
		second.budget = fmax(t->budget - r->seconds, t->budget / 4);
		second.seed++;
		why = run_once(&second, &two, RUNNER_PAIRS_MAX / 2, true, slow, a);
		double seconds = r->seconds + two.seconds;
		join(r, &two);
		r->seconds = seconds;
	}
	if (!verdict_timed(r->verdict))
		r->npairs = 0;
	return why;
}
