/* A runner without a device, for tests of what stands above it: the answer to a request depends on the request
 * alone. One source in twenty does not compile (never the first of a task, its default), one in twenty is wrong; times are spread over a factor of two. */
#include <math.h>
#include <string.h>
#include "common/rng.h"
#include "runner/wire.h"

enum { FAKE_PAIRS = 16 };

static struct digest digest_of(struct digest task, const void *p, size_t n)
{
	struct digest_state *s = digest_new();

	digest_add(s, &task, sizeof task);
	digest_add(s, p, n);
	return digest_end(s);
}

/* Picoseconds of an artifact. */
static double fake_time(struct digest artifact)
{
	struct rng r = {artifact.hi};

	return 1e8 * exp2(rng_unit(&r));
}

/* Is it the source that came first of its task, to any runner of this process? The default is built before anything else,
 * and compiles as it does elsewhere. */
static bool is_first(struct digest task, struct digest artifact)
{
	static VEC(struct digest) tasks, first;

	for (size_t i = 0; i < tasks.n; i++)
		if (digest_eq(tasks.a[i], task))
			return digest_eq(first.a[i], artifact);
	vec_push(&tasks, task);
	vec_push(&first, artifact);
	return true;
}

static void fake_build(uint64_t id, struct mp_in *r, struct mp_out *o, struct arena *a)
{
	struct digest task = mp_digest(r), artifact;
	struct runner_build b = {0};
	size_t frame;

	take_build(r, &b, a);
	artifact = digest_of(task, b.source, b.nsource);
	bool first = is_first(task, artifact);
	if (artifact.lo % 20 == 0 && !first) {
		frame = frame_begin(o, 3, id, "failed");
		put_str0(o, "candidate.c:1: error: the fake compiler does not like this source");
	} else {
		frame = frame_begin(o, 4, id, "build");
		mp_put_digest(o, artifact);
		mp_put_double(o, 0.01);
	}
	frame_end(o, frame);
}

static void fake_try(uint64_t id, struct mp_in *r, struct mp_out *o)
{
	struct digest task = mp_digest(r), artifact = mp_digest(r), base = mp_digest(r);
	double t = fake_time(artifact), u = fake_time(base);
	struct sample_pair pair[FAKE_PAIRS];
	struct measurement x = {.pair = pair, .ratio = t / u, .lo = 0.998 * t / u, .hi = 1.002 * t / u, .seconds = 0.01};
	struct rng rng = {digest_of(task, (struct digest[]){artifact, base}, 2 * sizeof base).hi};

	if (artifact.lo % 20 == 1) {
		x = (struct measurement){.verdict = VERDICT_WRONG, .why = "output 0, element 0: 1, not 0"};
	} else {
		x.npairs = FAKE_PAIRS;
		for (int i = 0; i < FAKE_PAIRS; i++)
			pair[i] = (struct sample_pair){(uint64_t)(t * (1 + 0.004 * (rng_unit(&rng) - 0.5))),
						       (uint64_t)(u * (1 + 0.004 * (rng_unit(&rng) - 0.5)))};
		x.verdict = x.hi < 0.99 ? VERDICT_FASTER : x.lo > 1.01 ? VERDICT_SLOWER : VERDICT_TIE;
	}
	size_t frame = frame_begin(o, 9, id, "try");
	put_measurement(o, &x);
	frame_end(o, frame);
}

void fake_answer(struct mp_in *r, struct mp_out *o)
{
	struct arena a = {0};
	size_t n;

	mp_array(r);
	uint64_t id = (uint64_t)mp_int(r, 0, INT64_MAX);
	const char *verb = take_str(r, &a);
	if (!strcmp(verb, "task")) {
		const char *text = mp_str(r, &n);
		size_t frame = frame_begin(o, 3, id, "task");
		mp_put_digest(o, digest_bytes(text, n));
		frame_end(o, frame);
	} else if (!strcmp(verb, "build")) {
		fake_build(id, r, o, &a);
	} else {
		fake_try(id, r, o);
	}
	arena_release(&a);
}
