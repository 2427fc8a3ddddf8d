/* What a candidate computes, against the oracle. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/rng.h"
#include "runner/try_impl.h"

enum { POINTS_LAST = 8 /* that point is the last element */ };

static bool check_patterns(struct run *x, enum place p)
{
	const struct arguments *g = &x->arguments[CANDIDATE];
	int nout = build_of(x, CANDIDATE)->nout;
	int64_t where;

	for (int i = 0; i <= nout; i++) {
		int region = i < nout ? g->out[i] : g->workspace;
		if (region_intact(&x->regions, region, p, &where))
			continue;
		run_judge(x, VERDICT_CRASH,
			  arena_printf(x->a, "wrote outside of %s %d, %lld bytes %s", i < nout ? "result" : "workspace", i < nout ? i : 0,
				       (long long)(where < 0 ? -where : where - (int64_t)x->regions.r.a[region].bytes),
				       where < 0 ? "before its begin" : "behind its end"));
		return false;
	}
	return true;
}

const void *run_unpack(struct run *x, const struct runner_buf *b, uint64_t bytes, const void *stored)
{
	vec_reserve(&x->got, bytes + 1);
	x->t->oracle->unpack(b, stored, x->got.a);
	return x->got.a;
}

/* Result i as row-major data, until the next is asked for. */
static const void *result_of(struct run *x, int which, int i, enum place p)
{
	const struct runner_build *b = build_of(x, which);

	return run_unpack(x, &b->buf[b->nin + b->nconst + i], x->p->t[x->p->nin + i].bytes,
			  region_ours(&x->regions, x->arguments[which].out[i], p));
}

/* NULL, or what is wrong with the results. */
static const char *wrong_results(struct run *x, int which, enum place p, int seed)
{
	const char *why = NULL;

	for (int i = 0; !why && i < build_of(x, which)->nout; i++) {
		why = results_compare(x->p, x->p->nin + i, seed, result_of(x, which, i, p), x->a);
	}
	return why;
}

bool run_check_results(struct run *x, enum place p, int seed)
{
	const char *why = wrong_results(x, CANDIDATE, p, seed);

	if (why)
		run_judge(x, VERDICT_WRONG, why);
	return !why && check_patterns(x, p);
}

static bool check_seed(struct run *x, enum place p, int seed, const char *what)
{
	run_fill_constants(x, CANDIDATE, p);
	run_fill_seed(x, CANDIDATE, p, seed);
	run_poison(x, CANDIDATE, p);
	return run_order(x, (struct order){.kind = ORDER_RUN, .which = CANDIDATE, .place = p, .times = 1}, CANDIDATE, run_deadline(x),
			 what) &&
	       run_check_results(x, p, seed);
}

static bool run_seed(struct run *x, int which, int seed)
{
	run_fill_seed(x, which, PLACE_START, seed);
	run_poison(x, which, PLACE_START);
	return run_order(x, (struct order){.kind = ORDER_RUN, .which = which, .place = PLACE_START, .times = 1}, which, run_deadline(x),
			 "call on adversarial inputs");
}

enum { UNKNOWN, RIGHT, WRONG }; /* of a base on a seed with adversarial inputs; that of seed 0: RIGHT, if those of the others are known */

bool try_base_known(const struct try *t)
{
	char known = UNKNOWN;

	return pread(t->artifact[BASE]->known, &known, 1, 0) == 1 && known == RIGHT;
}

/* Is a base right on adversarial seeds? Asked while no other kernel is in the process, so that none can have changed the answer. */
static bool learn_base(struct run *x)
{
	int file = x->t->artifact[BASE]->known;
	char known = RIGHT;

	if (pread(file, &known, 1, 0) == 1 && known == RIGHT)
		return true;
	for (int seed = PROBLEM_SEEDS; seed < x->p->seeds; seed++) {
		if (!run_seed(x, BASE, seed))
			return false;
		known = wrong_results(x, BASE, PLACE_START, seed) ? WRONG : RIGHT;
		(void)!pwrite(file, &known, 1, seed);
	}
	known = RIGHT;
	(void)!pwrite(file, &known, 1, 0);
	return true;
}

/* On all adversarial seeds that the base passes. */
bool run_check_adversarial(struct run *x)
{
	run_fill_constants(x, CANDIDATE, PLACE_START);
	for (int seed = PROBLEM_SEEDS; seed < x->p->seeds; seed++) {
		char known = UNKNOWN;
		bool passes = pread(x->t->artifact[BASE]->known, &known, 1, seed) == 1 && known == RIGHT;
		if (passes && (!run_seed(x, CANDIDATE, seed) || !run_check_results(x, PLACE_START, seed)))
			return false;
	}
	return true;
}

/* Inputs nobody has seen: those of a seed, every element somewhere else. */
static void fresh_inputs(struct run *x, void **data)
{
	for (int i = 0; i < x->p->nin; i++) {
		uint64_t bytes = x->p->t[i].bytes, n = (uint64_t)x->p->t[i].tensor.n;
		uint64_t by = n ? rng_u64(&x->rng) % n * (bytes / n) : 0;
		const char *src = problem_data(x->p, i, (int)(x->t->seed % PROBLEM_SEEDS));
		data[i] = xmalloc(bytes + 1);
		memcpy(data[i], src + by, bytes - by);
		memcpy((char *)data[i] + bytes - by, src, by);
	}
}

bool run_check_elements(struct run *x, int i, const void *got, void *const *data, int points)
{
	int t = x->p->nin + i;
	int64_t n = x->p->t[t].tensor.n, element[POINTS_MAX];
	double right[POINTS_MAX];
	bool good = true;

	for (int k = 0; k < points && n; k++)
		element[k] = k == POINTS_LAST ? n - 1 : rng_range(&x->rng, 0, n - 1);
	if (!n || !x->t->oracle->points || !x->t->oracle->points(x->t->task, data, i, points, element, right))
		return true;
	for (int k = 0; good && k < points; k++) {
		double y = number_at(x->p->t[t].tensor.dtype, got, element[k]);
		good = results_equal(x->p, t, 0, right[k], y);
		if (!good)
			run_judge(x, VERDICT_WRONG,
				  arena_printf(x->a, "result %d, element %lld of fresh inputs: %.9g, not %.9g", i, (long long)element[k], y,
					       right[k]));
	}
	return good;
}

/* Single elements in double on these inputs. */
static bool check_points(struct run *x, enum place p, void *const *data, const char *what)
{
	run_fill_inputs(x, CANDIDATE, p, data);
	bool good = run_order(x, (struct order){.kind = ORDER_RUN, .which = CANDIDATE, .place = p, .times = 1}, CANDIDATE, run_deadline(x),
			      what);
	for (int i = 0; good && i < build_of(x, CANDIDATE)->nout; i++)
		good = run_check_elements(x, i, result_of(x, CANDIDATE, i, p), data, POINTS_MAX);
	return good && check_patterns(x, p);
}

static bool check_fresh(struct run *x, enum place p)
{
	void *data[RUNNER_BUFS_MAX];

	fresh_inputs(x, data);
	run_poison(x, CANDIDATE, p);
	bool good = check_points(x, p, data, "third call");
	for (int i = 0; i < x->p->nin; i++)
		free(data[i]);
	return good;
}

/* Every eighth element or so becomes that of a seed. */
static void change_inputs(struct run *x, void **data, int seed)
{
	for (int i = 0; i < x->p->nin; i++) {
		uint64_t n = (uint64_t)x->p->t[i].tensor.n, size = n ? x->p->t[i].bytes / n : 0;
		const char *src = problem_data(x->p, i, seed);
		for (uint64_t k = rng_u64(&x->rng) % 8; k < n; k += 1 + rng_u64(&x->rng) % 15)
			memcpy((char *)data[i] + k * size, src + k * size, size);
	}
}

/* A kernel that compares some of its inputs with those it remembers leaves results that are not right any more. */
static bool check_changed(struct run *x, enum place p, int seed)
{
	enum { TIMES = 6 };
	void *data[RUNNER_BUFS_MAX];
	bool good = true;

	for (int i = 0; i < x->p->nin; i++) {
		data[i] = xmalloc(x->p->t[i].bytes + 1);
		memcpy(data[i], problem_data(x->p, i, seed), x->p->t[i].bytes);
	}
	for (int k = 1; k <= TIMES && good; k++) {
		change_inputs(x, data, (seed + k) % PROBLEM_SEEDS);
		good = check_points(x, p, data, "call on changed inputs");
	}
	for (int i = 0; i < x->p->nin; i++)
		free(data[i]);
	return good;
}

bool run_check_last(struct run *x, int seed, bool better)
{
	static const char what[] = "last call";
	enum place p = PLACE_TIMED;

	run_fill_seed(x, CANDIDATE, p, seed);
	if (!run_order(x, (struct order){.kind = ORDER_RUN, .which = CANDIDATE, .place = p, .times = 1}, CANDIDATE, run_deadline(x),
		       what) ||
	    !run_check_results(x, p, seed))
		return false;
	return !better || !x->t->oracle->points || check_changed(x, p, seed);
}

/* The base's time, for deadlines: as its process says, for nothing but it has run there yet, and this one may have stood still
 * meanwhile. */
static bool run_base(struct run *x)
{
	run_fill_constants(x, CANDIDATE, PLACE_START); /* what they share is among them */
	run_fill_constants(x, BASE, PLACE_START);
	run_fill_seed(x, BASE, PLACE_START, 0);
	run_poison(x, BASE, PLACE_START);
	if (!run_order(x, (struct order){.kind = ORDER_RUN, .which = BASE, .place = PLACE_START, .times = 1}, BASE, TRY_BASE_SECONDS,
		       "first call"))
		return false;
	x->base_seconds = fmin(x->took, 1e-9 * (double)x->subject.shared->run_ns);
	return true;
}

bool run_check(struct run *x)
{
	int seed = (int)(x->t->seed % PROBLEM_SEEDS);

	if (!is_alone(x->t) && !run_base(x))
		return false;
	if (is_alone(x->t))
		x->base_seconds = TRY_BASE_SECONDS / TRY_TIMES;
	if (x->checked)
		return true; /* it is the same library, and the last call is looked at again */
	if (!x->most) {
		run_fill_constants(x, CANDIDATE, PLACE_START); /* the base's too */
		return learn_base(x);
	}
	if (!check_seed(x, PLACE_END, seed, "first call"))
		return false;
	if (!check_seed(x, PLACE_START, (seed + 1) % PROBLEM_SEEDS, "second call"))
		return false;
	if (is_alone(x->t) ? !learn_base(x) : !x->t->once && !run_check_adversarial(x))
		return false;
	return !x->t->oracle->points || check_fresh(x, PLACE_START);
}
