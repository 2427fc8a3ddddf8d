/* Requests over runners. */
#include "tune/dispatcher.h"
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "loop/prim.h"

enum { HELLO_SECONDS = 30, BUILDS_AHEAD = 12, ATTEMPTS_MAX = 2 };

/* One thing a runner was asked to make: the task's inputs, or an artifact. */
enum thing_state { THING_ASKED, THING_READY, THING_FAILED };
struct thing {
	struct digest task, source; /* source zero: the task itself */
	uint64_t id;                /* of the request */
	enum thing_state state;
	struct digest digest; /* answered */
	const char *why;      /* failed */
	bool refused;         /* failed, and not by the compiler's word */
	double seconds;
	size_t asked; /* builds asked for until then */
};

struct host {
	struct runner *r;
	VEC(struct thing) things;
	VEC(struct request *) requests; /* it has */
	VEC(uint64_t) tries;            /* id of the try of each; 0: not asked yet */
	size_t builds;                  /* asked for */
};

struct dispatcher {
	struct arena arena;
	int nhost;
	struct host *host;
	struct runner **runners; /* as runner_wait wants them */
	VEC(struct request *) waiting, done;
	size_t taken; /* of done */
};

/* ---- opening ---- */

struct dispatcher *dispatcher_new(const char *const *command, int n, const volatile sig_atomic_t *stop)
{
	struct dispatcher *m = xcalloc(1, sizeof *m);

	if (!n && !target_compiles(NULL)) /* else the runner says so too */
		die(EX_NOTAVAIL, TARGET_NO_COMPILER, target_compiler(NULL), target_compiler_variable(NULL));
	m->nhost = n ? n : 1;
	m->host = xcalloc((size_t)m->nhost, sizeof *m->host);
	m->runners = xcalloc((size_t)m->nhost, sizeof *m->runners);
	for (int i = 0; i < m->nhost; i++) {
		const char *why;
		struct runner *r = runner_open_unless(stop, n ? command[i] : NULL, HELLO_SECONDS, &m->arena, &why);
		if (!r && *stop)
			return m->nhost = i, dispatcher_free(m), NULL;
		if (!r)
			die(EX_NOTAVAIL, "%s", why);
		m->host[i].r = m->runners[i] = r;
		if (strcmp(runner_target(r), dispatcher_target(m)))
			die(EX_NOTAVAIL, "%s: its target is %s, that of %s is %s; tune for each in a run of its own", runner_name(r),
			    runner_target(r), runner_name(m->host[0].r), dispatcher_target(m));
	}
	return m;
}

const char *dispatcher_target(const struct dispatcher *m) { return runner_target(m->host[0].r); }

const struct target *dispatcher_machine(const struct dispatcher *m) { return runner_machine(m->host[0].r); }

bool dispatcher_emulated(const struct dispatcher *m)
{
	bool any = false;

	for (int i = 0; i < m->nhost; i++)
		any |= runner_emulated(m->host[i].r);
	return any;
}

void dispatcher_free(struct dispatcher *m)
{
	for (int i = 0; i < m->nhost; i++) {
		runner_close(m->host[i].r);
		vec_free(&m->host[i].things);
		vec_free(&m->host[i].requests);
		vec_free(&m->host[i].tries);
	}
	vec_free(&m->waiting);
	vec_free(&m->done);
	free(m->host);
	free(m->runners);
	arena_release(&m->arena);
	free(m);
}

static size_t room(const struct host *h) { return (size_t)runner_jobs(h->r) + BUILDS_AHEAD; }

int dispatcher_jobs(const struct dispatcher *m)
{
	size_t n = 0;

	for (int i = 0; i < m->nhost; i++)
		n += runner_alive(m->host[i].r) ? room(&m->host[i]) : 0;
	return (int)n;
}

/* ---- what runners make ---- */

static struct thing *find_thing(struct host *h, struct digest task, struct digest source)
{
	for (size_t i = 0; i < h->things.n; i++)
		if (digest_eq(h->things.a[i].task, task) && digest_eq(h->things.a[i].source, source))
			return &h->things.a[i];
	return NULL;
}

static struct thing *ask_task(struct host *h, const struct task_base *s)
{
	struct thing *t = find_thing(h, s->digest, (struct digest){0, 0});

	if (!t) {
		vec_push(&h->things, (struct thing){.task = s->digest, .id = runner_task(h->r, s->text)});
		t = &h->things.a[h->things.n - 1];
	}
	return t;
}

static void put_bufs(struct runner_buf *to, const struct candidate_buf *b, int n)
{
	for (int i = 0; i < n; i++)
		to[i] = (struct runner_buf){.type = dtype_name(b[i].dtype),
					    .rank = b[i].rank,
					    .shape = b[i].shape,
					    .layout = b[i].layout,
					    .elems = b[i].elems,
					    .constant = (uint32_t)i};
}

static struct thing *ask_build(struct host *h, const struct task_base *s, struct digest task, const struct candidate *c,
			       struct digest source)
{
	struct thing *t = find_thing(h, s->digest, source);
	int n = c->nin + c->nconst + c->nout;

	if (t && !(t->state == THING_READY && h->builds - t->asked > RUNNER_ARTIFACTS_MAX / 2))
		return t;
	struct runner_buf *buf = xcalloc((size_t)n + 1, sizeof *buf);
	put_bufs(buf, c->in, c->nin);
	put_bufs(buf + c->nin, c->constant, c->nconst);
	put_bufs(buf + c->nin + c->nconst, c->out, c->nout);
	struct arena a = {0};
	struct runner_build b = {c->source, c->nsource, trace_algo(c->trace, &a), c->workspace, c->nin, c->nconst, c->nout, buf};
	struct thing asked = {.task = s->digest, .source = source, .id = runner_build(h->r, task, &b), .asked = ++h->builds};
	if (!t) {
		vec_push(&h->things, asked);
		t = &h->things.a[h->things.n - 1];
	}
	*t = asked; /* again: the runner may have let go of it since */
	free(buf);
	arena_release(&a);
	return t;
}

/* ---- requests ---- */

void dispatcher_add(struct dispatcher *m, struct request *t)
{
	t->state = REQUEST_WAITS;
	t->runner = -1;
	vec_push(&m->waiting, t);
}

static void remove_request(struct host *h, size_t k)
{
	memmove(h->requests.a + k, h->requests.a + k + 1, (h->requests.n - k - 1) * sizeof *h->requests.a);
	memmove(h->tries.a + k, h->tries.a + k + 1, (h->tries.n - k - 1) * sizeof *h->tries.a);
	h->requests.n--;
	h->tries.n--;
}

static void finish(struct dispatcher *m, struct host *h, size_t k)
{
	struct request *t = h->requests.a[k];

	remove_request(h, k);
	t->state = REQUEST_DONE;
	vec_push(&m->done, t);
}

static void lose(struct dispatcher *m, struct host *h, size_t k, const char *why)
{
	h->requests.a[k]->result.lost = true;
	h->requests.a[k]->result.why = why;
	finish(m, h, k);
}

/* Why that runner cannot do the task; NULL: it can, as far as is known. */
static const char *unable(struct host *h, const struct task_base *s)
{
	const struct thing *task = find_thing(h, s->digest, (struct digest){0, 0}), *base = find_thing(h, s->digest, s->source);

	if (task && task->state == THING_FAILED)
		return task->why;
	if (base && base->state == THING_FAILED)
		return base->why ? base->why : "the default does not build";
	return NULL;
}

/* Request k is another runner's. */
static void pass_on(struct dispatcher *m, struct host *h, size_t k)
{
	struct request *t = h->requests.a[k];

	remove_request(h, k);
	dispatcher_add(m, t);
}

/* Adds the time of a build, once. */
static double spent(struct host *h, struct digest task, struct digest source)
{
	struct thing *t = find_thing(h, task, source);
	double seconds = t->seconds;

	t->seconds = 0;
	return seconds;
}

/* Asks for the next that request k needs, or ends it. false: it has it no more. */
static bool advance(struct dispatcher *m, struct host *h, size_t k)
{
	struct request *t = h->requests.a[k];
	struct task_base *s = t->base;
	struct thing task = *ask_task(h, s);

	if (h->tries.a[k] || task.state == THING_ASKED)
		return true;
	if (task.state == THING_FAILED) {
		pass_on(m, h, k);
		return false;
	}
	struct thing base = *ask_build(h, s, task.digest, s->candidate, s->source);
	struct thing own = *ask_build(h, s, task.digest, t->candidate, t->source);
	if (base.state == THING_FAILED) {
		pass_on(m, h, k);
		return false;
	}
	if (own.state == THING_FAILED) {
		t->result = (struct measurement){.verdict = VERDICT_BUILD, .lost = own.refused, .why = own.why};
		finish(m, h, k);
		return false;
	}
	if (base.state == THING_READY && own.state == THING_READY) {
		t->build_seconds = spent(h, s->digest, s->source) + spent(h, s->digest, t->source);
		h->tries.a[k] = runner_try(h->r, &(struct runner_try){.task = task.digest,
								      .artifact = own.digest,
								      .base = base.digest,
								      .budget = t->budget,
								      .seed = t->seed,
								      .cold_bytes = t->cold_bytes,
								      .goal = t->goal,
								      .width = t->width,
								      .once = t->once});
	}
	return true;
}

static void pump(struct dispatcher *m, struct host *h)
{
	for (size_t k = 0; k < h->requests.n;)
		k += advance(m, h, k);
}

/* The least busy runner that can do the task; -1: all are busy, or (*why) there is none. */
static int choose_host(struct dispatcher *m, const struct task_base *s, const char **why)
{
	const char *said = NULL, *no;
	bool able = false;
	int best = -1;

	for (int i = 0; i < m->nhost; i++) {
		struct host *h = &m->host[i];
		if (!runner_alive(h->r) || ((no = unable(h, s)) && (said = no)))
			continue;
		able = true;
		if (h->requests.n < room(h) && (best < 0 || h->requests.n < m->host[best].requests.n))
			best = i;
	}
	*why = able ? NULL : said;
	return best;
}

static void assign(struct dispatcher *m)
{
	const char *why;
	size_t n = 0;

	for (; n < m->waiting.n; n++) {
		struct request *t = m->waiting.a[n];
		int best = choose_host(m, t->base, &why);
		if (why) {
			t->base->broken = why;
			t->result = (struct measurement){.lost = true, .why = why};
			t->state = REQUEST_DONE;
			vec_push(&m->done, t);
			continue;
		}
		if (best < 0)
			break;
		t->state = REQUEST_RUNS;
		t->runner = best;
		vec_push(&m->host[best].requests, t);
		vec_push(&m->host[best].tries, 0);
		pump(m, &m->host[best]);
	}
	if (n)
		memmove(m->waiting.a, m->waiting.a + n, (m->waiting.n - n) * sizeof *m->waiting.a);
	m->waiting.n -= n;
}

/* Gives its requests to the other runners, before those that wait there. A candidate that was being timed when two runners ended is not
 * tried on a third. */
static void host_ended(struct dispatcher *m, struct host *h, const char *why)
{
	VEC(struct request *) back = {0};
	bool others = false;

	for (int i = 0; i < m->nhost; i++)
		others |= runner_alive(m->host[i].r);
	if (!others)
		die(EX_NOTAVAIL, "%s; what was measured is kept, run the same again to go on", why);
	warn("%s; the others go on", why);
	while (h->requests.n) {
		struct request *t = h->requests.a[0];
		bool timed = h->tries.a[0] != 0;
		if (timed && ++t->attempts == ATTEMPTS_MAX) {
			lose(m, h, 0, "its runners ended");
			continue;
		}
		memmove(h->requests.a, h->requests.a + 1, --h->requests.n * sizeof *h->requests.a);
		memmove(h->tries.a, h->tries.a + 1, --h->tries.n * sizeof *h->tries.a);
		vec_push(&back, t);
	}
	for (size_t i = 0; i < m->waiting.n; i++)
		vec_push(&back, m->waiting.a[i]);
	m->waiting.n = 0;
	for (size_t i = 0; i < back.n; i++)
		dispatcher_add(m, back.a[i]);
	vec_free(&back);
}

static void take_thing(struct thing *t, const struct runner_answer *a)
{
	t->refused = a->error;
	t->state = a->error || a->result.verdict == VERDICT_BUILD ? THING_FAILED : THING_READY;
	t->digest = a->digest;
	t->why = a->why;
	t->seconds = a->result.seconds;
}

static void take_try(struct dispatcher *m, struct host *h, size_t k, const struct runner_answer *a)
{
	struct request *t = h->requests.a[k];

	t->result = a->result;
	t->result.lost = a->error;
	t->result.why = a->why;
	finish(m, h, k);
}

static void take(struct dispatcher *m, struct host *h, const struct runner_answer *a)
{
	if (a->ended) {
		host_ended(m, h, a->why);
		return;
	}
	for (size_t i = 0; i < h->things.n; i++) {
		if (h->things.a[i].id == a->id) {
			take_thing(&h->things.a[i], a);
			pump(m, h);
			return;
		}
	}
	for (size_t k = 0; k < h->requests.n; k++) {
		if (h->tries.a[k] == a->id) {
			take_try(m, h, k, a);
			return;
		}
	}
}

struct request *dispatcher_next(struct dispatcher *m, double timeout)
{
	struct runner_answer a;

	assign(m);
	if (m->taken == m->done.n) {
		int i = runner_wait(m->runners, m->nhost, timeout, &m->arena, &a);
		if (i >= 0)
			take(m, &m->host[i], &a);
		assign(m);
	}
	if (m->taken == m->done.n) {
		m->taken = m->done.n = 0;
		return NULL;
	}
	return m->done.a[m->taken++];
}

void dispatcher_drop(struct dispatcher *m)
{
	m->waiting.n = 0;
	for (int i = 0; i < m->nhost; i++) {
		struct host *h = &m->host[i];
		for (size_t k = 0; k < h->requests.n;) {
			if (h->tries.a[k]) {
				k++;
				continue;
			}
			h->requests.a[k]->state = REQUEST_WAITS;
			remove_request(h, k);
		}
	}
}
