/* The process a candidate runs in: its side, and its parent's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/progress.h"
#include "common/rng.h"
#include "runner/guard.h"
#include "runner/proof.h"
#include "runner/try_impl.h"
#include "runner/noise_probe.h"
#include "target/backend.h"

struct call {
	kernel *f[TRY_PLACINGS];
	const void *in[RUNNER_BUFS_MAX], *constant[RUNNER_BUFS_MAX];
	void *out[RUNNER_BUFS_MAX];
	char *workspace;
	const void **set; /* of constants: sets of nconst each */
	int sets, nconst; /* sets 0: constant */
	uint32_t *
		turn; /* whose it is; kernels with one set of copies go on from it: what one has read the other does not find in the cache */
	struct changing *changing; /* NULL: inputs stay as they are */
};
enum { STACK_STEP = 64, LITTER = 4096 };
static uint32_t turns[2];
/* What inputs become from call to call: of kernels that share them the first, else of each. */
static struct changing {
	struct changes list;
	uint32_t state;
	uint64_t calls;
} changing[2];

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* false: it did not keep to what a call may do. */
static bool call(struct call *c, uint32_t placing, uint32_t times)
{
	kernel *f = c->f[placing % TRY_PLACINGS];
	struct changing *g = c->changing;

	for (uint32_t i = 0; i < times; i++) {
		const void *const *constant = c->sets ? c->set + (size_t)*c->turn * (size_t)c->nconst : c->constant;
		if (g) {
			changes_make(&g->list, &g->state, c->in);
			g->calls++;
		}
		if (!guard_call(f, c->in, constant, c->out, c->workspace))
			return false;
		if (c->sets)
			*c->turn = *c->turn + 1 < (uint32_t)c->sets ? *c->turn + 1 : 0;
	}
	return true;
}

/* Random numbers for the stack and the registers, others at each call. Otherwise a variable that is read before it is set might hold the right
 * value, or a harmless one. */
static __attribute__((noinline)) void litter(struct rng *r)
{
	volatile uint64_t word[LITTER_BYTES / sizeof(uint64_t)];

	guard_place(r, 0, LITTER);
	for (size_t i = 0; i < LITTER_BYTES / sizeof *word; i++)
		word[i] = rng_u64(r);
	if (backend_here()->process.litter)
		backend_here()->process.litter((const void *)word);
}

static void set_arguments(const struct subject *s, struct call *c, int which, enum place p, bool timed)
{
	const struct arguments *x = s->arguments[which];
	const struct runner_build *b = &s->artifact[which]->build;

	for (int i = 0; i < b->nin; i++)
		c->in[i] = region_theirs(s->regions, x->in[i], p);
	for (int i = 0; i < b->nconst; i++)
		c->constant[i] = region_theirs(s->regions, x->constant[i], p);
	for (int i = 0; i < b->nout; i++)
		c->out[i] = region_theirs(s->regions, x->out[i], p);
	c->workspace = region_theirs(s->regions, x->workspace, p);
	c->sets = p == PLACE_TIMED && x->cold >= 0 && (timed || !x->sets->foreign) ? x->sets->copies : 0;
	c->nconst = b->nconst;
	c->changing = p == PLACE_TIMED && timed ? &changing[arguments_alike(s->arguments, b->nin) ? CANDIDATE : which] : NULL;
	c->turn = &turns[x->cold == s->arguments[CANDIDATE]->cold ? CANDIDATE : BASE];
	for (int k = 0; k < c->sets; k++)
		for (int i = 0; i < b->nconst; i++)
			c->set[k * b->nconst + i] = (char *)region_theirs(s->regions, x->cold, PLACE_START) +
						    (uint64_t)k * x->sets->stride + x->sets->offset[i];
}

/* Results near zero cost hundreds of cycles each where they are not flushed. */
static void flush_denormals(void)
{
	if (backend_here()->process.flush_denormals)
		backend_here()->process.flush_denormals();
}

/* A gap before each library, so that no two processes have it at the same place: what addresses do to a kernel of some 100 ns then differs
 * from process to process. */
static bool load(struct subject *s, struct call *c, int which)
{
	enum { PAGE = 4096, HOLE = 512 };
	const struct arguments *x = s->arguments[which], *other = s->arguments[!which];
	const struct call *its = which ? c - 1 : c + 1;
	bool same =
		x->cold >= 0 && x->cold == other->cold && its->set && !memcmp(x->sets->offset, other->sets->offset, sizeof x->sets->offset);

	if (same) /* the same list: neither has a place in memory that is better */
		c->set = its->set;
	else if (x->cold >= 0) /* here, for after the seal there may be no memory */
		c->set = xcalloc((size_t)x->sets->copies * (size_t)s->artifact[which]->build.nconst, sizeof *c->set);
	for (int i = 0; i < TRY_PLACINGS; i++) {
		mmap(NULL, (1 + rng_u64(&s->rng) % HOLE) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		void *so = dlopen(i ? s->copy[which][i] : s->artifact[which]->path, RTLD_NOW | RTLD_LOCAL);
		*(void **)&c->f[i] = so ? dlsym(so, "hone_kernel") : NULL;
		if (c->f[i])
			continue;
		snprintf(s->shared->why, sizeof s->shared->why, "%s", so ? "it has no function hone_kernel" : dlerror());
		return false;
	}
	return true;
}

/* The arguments lie in one place for both kernels: a kernel waits if its stores alias with them. below: shifts its stack. */
static uint64_t sample(const struct call *of, struct rng *r, uint32_t placing, size_t below, uint32_t warm, uint32_t reps)
{
	static struct call c;

	guard_place(r, below, 0);
	c = *of;
	bool good = call(&c, placing, warm);
	uint64_t t = now_ns();
	good = good && call(&c, placing, reps);
	t = now_ns() - t;
	return good && !guard_broken() ? t : 0;
}

/* One kernel's samples of a pair: the least between two quiet takes of the noise probe, and their number; the least of all. */
struct least {
	uint64_t quiet, any;
	uint32_t count;
};

static void add_sample(struct least *l, uint64_t t, bool quiet)
{
	l->any = t < l->any ? t : l->any;
	l->quiet = quiet && t < l->quiet ? t : l->quiet;
	l->count += quiet;
}

/* Makes rounds, more of them in a slow phase, until each kernel has enough quiet samples. */
static bool time_pair(struct call *c, const struct order *o, struct rng *r, struct least *l)
{
	static uint32_t placing;
	uint32_t enough = (o->rounds + 1) / 2;
	bool done = false, lasts = false;

	for (uint32_t k = 0; k < o->rounds * ROUNDS_SLOW && !done && !lasts && !guard_broken(); k++, placing++) {
		uint64_t random = rng_u64(r);
		int first = (int)(random & 1);
		size_t below = (random >> 8) % (GUARD_BELOW_MAX / STACK_STEP) * STACK_STEP;
		double yard = noise_probe_take(1);
		for (int n = 0; n < 2; n++) {
			int which = first ^ n;
			uint64_t t = sample(&c[which], r, placing, below, o->warm[which], o->reps[which]);
			double after = noise_probe_take(1);
			add_sample(&l[which], t, yard <= o->quiet && after <= o->quiet);
			yard = after;
		}
		if (k + 1 < o->rounds)
			continue;
		done = l[0].count >= enough && l[1].count >= enough;
		lasts = !l[0].count && !l[1].count;
	}
	return done;
}

/* The constants of the call are its own from now on, not those of a set that was made for the other kernel. */
static void own_constants(const struct subject *s, struct call *c)
{
	if (c->sets && s->arguments[CANDIDATE]->sets->foreign)
		c->sets = 0;
}

/* The candidate comes last, with its own constants: its results are checked. */
static void time_block(const struct subject *s, struct call *c, const struct order *o, struct shared *out)
{
	struct rng r = {o->first};

	for (int which = 0; which < 2; which++) /* the parent has been at the results meanwhile */
		sample(&c[which], &r, 0, 0, 0, 1);
	for (uint32_t i = 0; i < o->pairs && !guard_broken(); i++) {
		struct least l[2] = {{UINT64_MAX, UINT64_MAX, 0}, {UINT64_MAX, UINT64_MAX, 0}};
		out->quiet[i] = time_pair(c, o, &r, l);
		for (int k = 0; k < 2; k++)
			out->ns[i][k] = out->quiet[i] ? l[k].quiet : l[k].any;
	}
	own_constants(s, &c[CANDIDATE]);
	sample(&c[CANDIDATE], &r, (uint32_t)(o->first >> 32), 0, 0, 1 + (uint32_t)(o->first >> 40) % LAST_CALLS);
}

/* One call a slot. If the sets are not the candidate's, each kernel has its own constants, once: results count, and both read the same bytes. */
static void prove(struct subject *s, struct call *c, const struct order *o)
{
	const struct runner_build *b = &s->artifact[o->which]->build;

	guard_place(&s->rng, 0, 0);
	own_constants(s, c);
	for (uint32_t k = 0; k < o->times; k++) {
		for (int i = 0; i < b->nin; i++)
			c->in[i] = proof_buf(s->proof, k, i);
		for (int i = 0; i < b->nout; i++)
			c->out[i] = proof_buf(s->proof, k, b->nin + i);
		if (!call(c, o->placing, 1))
			return;
	}
}

static void take_written(struct subject *s, const struct order *o)
{
	for (int k = 0; k < 2; k++)
		if (o->written[k])
			regions_to_timed(s->regions, k);
	for (int which = 0; which < 2; which++) {
		struct changing *g = &changing[which];
		g->list = s->shared->changes[which];
		g->state = (uint32_t)o->first + (uint32_t)which;
		g->calls = 0;
	}
}

static bool obey(struct subject *s, struct call *c, const struct order *o)
{
	const char *why = NULL;

	switch (o->kind) {
	case ORDER_START:
		why = guard_open() ? NULL : "memory for a stack";
		if (why || (why = regions_map_theirs(s->regions, rng_u64(&s->rng))) || (why = isolate_enter(&s->limits)))
			snprintf(s->shared->why, sizeof s->shared->why, "%s: %s", why, strerror(errno));
		return !why;
	case ORDER_LOAD: return load(s, &c[o->which], o->which);
	case ORDER_SEAL: return !isolate_seal(&s->limits);
	case ORDER_RUN:
		set_arguments(s, &c[o->which], o->which, o->place, o->timed);
		take_written(s, o);
		litter(&s->rng);
		uint64_t t = now_ns();
		call(&c[o->which], 0, o->times);
		s->shared->run_ns = now_ns() - t;
		if (o->place == PLACE_TIMED && !o->timed)
			regions_from_timed(s->regions);
		break;
	case ORDER_TIME:
		set_arguments(s, &c[CANDIDATE], CANDIDATE, o->place, true);
		set_arguments(s, &c[BASE], BASE, o->place, true);
		take_written(s, o);
		time_block(s, c, o, s->shared);
		regions_from_timed(s->regions);
		for (int which = 0; which < 2; which++)
			s->shared->calls[which] = changing[which].calls;
		break;
	case ORDER_PROVE:
		set_arguments(s, &c[o->which], o->which, PLACE_TIMED, true);
		c[o->which].changing = NULL;
		prove(s, &c[o->which], o);
		break;
	}
	if ((why = guard_broken()))
		snprintf(s->shared->why, sizeof s->shared->why, "%s", why);
	return !why;
}

static void serve_orders(struct subject *s)
{
	static struct call c[2];
	struct order o;

	while (read(s->channel, &o, sizeof o) == (ssize_t)sizeof o) {
		flush_denormals();
		uint32_t reply[2] = {o.number, obey(s, c, &o)};
		if (write(s->channel, reply, sizeof reply) != (ssize_t)sizeof reply)
			break;
	}
	_exit(0);
}

/* ---- the parent ---- */

const char *subject_start(struct subject *s)
{
	int fd[2];

	s->shared = mmap(NULL, sizeof *s->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->shared == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return "no memory for a process";
	s->limits.fault = &s->shared->fault;
	if ((s->pid = isolate_fork()) < 0)
		return "no process for the candidate";
	s->channel = fd[s->pid == 0];
	close(fd[s->pid != 0]);
	if (s->pid == 0) {
		s->limits.channel = s->channel;
		serve_orders(s);
	}
	return NULL;
}

/* On a busy machine the subject may not have had the core, or all were stopped: then it gets TRY_GRACE_SECONDS more. Until ORDER_START gives it a
 * session of its own, it is in its parent's group and stops with it when another try needs quiescence. A stop that arrives while it
 * leaves the group takes effect, and the signal that continues the group does not reach it. */
enum answer subject_order(struct subject *s, struct order o, double seconds)
{
	enum { LOOK_MS = 60000, LOOK_START_MS = 100 };
	int look = o.kind == ORDER_START ? LOOK_START_MS : LOOK_MS;
	bool grace = false;
	uint32_t reply[3];

	seconds = fmin(seconds, TRY_MOST_SECONDS);
	double until = now_seconds() + seconds, cpu = subject_cpu(s);
	o.number = ++s->orders;
	if (send(s->channel, &o, sizeof o, MSG_NOSIGNAL) != (ssize_t)sizeof o)
		return ANSWER_ENDED;
	for (;;) {
		struct pollfd p = {s->channel, POLLIN, 0};
		double left = until - now_seconds();
		int n = poll(&p, 1, left > 0 ? (int)fmin(1000 * left + 1, look) : 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 && o.kind == ORDER_START)
			kill(s->pid, SIGCONT);
		if (n == 0 && left <= 0) {
			if (grace || subject_cpu(s) - cpu > 0.9 * seconds)
				return ANSWER_LATE;
			grace = true;
			until = now_seconds() + TRY_GRACE_SECONDS;
		}
		if (n <= 0)
			continue;
		ssize_t got = recv(s->channel, reply, sizeof reply, 0);
		if (got <= 0)
			return ANSWER_ENDED;
		if (got != 8 || reply[0] != o.number)
			return ANSWER_GARBLED;
		return reply[1] ? ANSWER_DONE : ANSWER_REFUSED;
	}
}

double subject_cpu(const struct subject *s)
{
	clockid_t clock;
	struct timespec t;

	if (clock_getcpuclockid(s->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void subject_end(struct subject *s)
{
	if (s->pid > 0)
		isolate_kill(s->pid);
	s->pid = 0;
}
