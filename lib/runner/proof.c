#define _GNU_SOURCE
#include "runner/proof.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "common/progress.h"
#include "runner/try_impl.h"

enum {
	ALIGN = 64,
	SPREAD = 13 * ALIGN /* so that slots are not in the same sets of a cache */,
	SLOTS_MAX = 64,
	PASS_LEAST = 3,
	PASS_MOST = 250,
	EMPTY = 8
};
static const double pass_seconds = 2e-4, proof_seconds = 2e-3, check_seconds = 2e-2;

const char *proof_open(struct proof *p, const struct runner_build *const of[2])
{
	uint64_t at = 0, cache = (uint64_t)target_host()->l2 / 2;
	int nin = of[0]->nin, n = nin + of[0]->nout;

	for (int i = 0; i < n; i++) {
		uint64_t bytes = 0;
		for (int k = 0; k < 2; k++) {
			uint64_t b = runner_buf_bytes(&of[k]->buf[i < nin ? i : i + of[k]->nconst]);
			bytes = b > bytes ? b : bytes;
		}
		p->offset[i] = at;
		at += (bytes + ALIGN - 1) / ALIGN * ALIGN + SPREAD;
	}
	p->stride = at;
	p->slots = (uint32_t)fmax(1, fmin(SLOTS_MAX, (double)(cache / at)));
	p->at = mmap(NULL, p->slots * p->stride, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p->at == MAP_FAILED ? "no memory for a proof" : NULL;
}

void proof_close(struct proof *p)
{
	if (p->at && p->at != MAP_FAILED)
		munmap(p->at, p->slots * p->stride);
	p->at = NULL;
}

/* ---- inputs that change from call to call ---- */

static int input_region(const struct run *x, int which, int i) { return x->arguments[which].in[i]; }

/* A word of the inputs, numbered through, in which the two seeds differ. */
static bool change_at(struct run *x, int which, char *const *other, uint64_t word, struct change *c)
{
	uint64_t words, a, b;
	int i = 0;

	while (word >= (words = runner_buf_bytes(buf_of(x, which, i)) / sizeof(uint64_t))) {
		word -= words;
		i++;
	}
	memcpy(&a, (char *)region_ours(&x->regions, input_region(x, which, i), PLACE_TIMED) + word * sizeof a, sizeof a);
	memcpy(&b, other[i] + word * sizeof b, sizeof b);
	*c = (struct change){(uint32_t)i, (uint32_t)word, a ^ b};
	return a != b && word <= UINT32_MAX;
}

/* One of each part of the inputs, anywhere in it. */
static void plan_changes(struct run *x, int which, char *const *other, struct changes *l)
{
	uint64_t words = 0;

	for (int i = 0; i < x->p->nin; i++)
		words += runner_buf_bytes(buf_of(x, which, i)) / sizeof(uint64_t);
	uint64_t parts = words < CHANGES ? words : CHANGES;
	for (uint64_t k = 0; k < parts; k++) {
		uint64_t from = words * k / parts, to = words * (k + 1) / parts;
		l->n += change_at(x, which, other, (uint64_t)rng_range(&x->rng, (int64_t)from, (int64_t)to - 1), &l->a[l->n]);
	}
	while (l->n & (l->n - 1))
		l->n &= l->n - 1;
}

void run_plan_changes(struct run *x)
{
	char *other[RUNNER_BUFS_MAX];

	for (int which = 0; which < 2; which++) {
		for (int i = 0; i < x->p->nin; i++) {
			other[i] = xmalloc(runner_buf_bytes(buf_of(x, which, i)) + 1);
			x->t->oracle->pack(buf_of(x, which, i), problem_data(x->p, i, SEED_OTHER), other[i]);
		}
		plan_changes(x, which, other, &x->changes[which]);
		for (int i = 0; i < x->p->nin; i++)
			free(other[i]);
		x->subject.shared->changes[which] = x->changes[which];
	}
}

/* Applies to the candidate's packed inputs the changes of so many calls. */
static void replay(struct run *x, int which, uint64_t seed, uint64_t calls, char *const *packed)
{
	const struct changes *l = &x->changes[which];
	uint32_t state = (uint32_t)seed + (uint32_t)which;
	const struct change *c[2];

	for (uint64_t i = 0; i < calls && l->n; i++) {
		changes_next(l, &state, c);
		for (int k = 0; k < (l->n > 1 ? 2 : 1); k++)
			if (input_region(x, which, (int)c[k]->input) == input_region(x, CANDIDATE, (int)c[k]->input))
				((uint64_t *)packed[c[k]->input])[c[k]->word] ^= c[k]->delta;
	}
}

bool run_check_block(struct run *x, uint64_t seed)
{
	enum { POINTS = 3 };
	const struct runner_build *b = build_of(x, CANDIDATE);
	char *packed[RUNNER_BUFS_MAX];
	void *data[RUNNER_BUFS_MAX];
	uint64_t calls[2] = {x->subject.shared->calls[0], x->subject.shared->calls[1]};
	bool good = true;

	if (!x->t->oracle->points)
		return true;
	if (!run_believe(x, calls[0]) || !run_believe(x, calls[1])) /* no call takes but a ns */
		return false;
	for (int i = 0; i < b->nin; i++) {
		uint64_t bytes = runner_buf_bytes(&b->buf[i]);
		packed[i] = xmalloc(bytes + 1);
		data[i] = xmalloc(x->p->t[i].bytes + 1);
		memcpy(packed[i], region_ours(&x->regions, input_region(x, CANDIDATE, i), PLACE_TIMED), bytes);
	}
	for (int which = 0; which < 2; which++)
		replay(x, which, seed, calls[which], packed);
	for (int i = 0; i < b->nin; i++) {
		x->t->oracle->unpack(&b->buf[i], packed[i], data[i]);
		free(packed[i]);
	}
	for (int i = 0; i < b->nout && good; i++)
		good = run_check_elements(x, i,
					  run_unpack(x, &b->buf[b->nin + b->nconst + i], x->p->t[x->p->nin + i].bytes,
						     region_ours(&x->regions, x->arguments[CANDIDATE].out[i], PLACE_TIMED)),
					  data, POINTS);
	for (int i = 0; i < b->nin; i++)
		free(data[i]);
	return good;
}

/* ---- proofs ---- */

struct slots {
	uint32_t n;
	void **data;    /* inputs, row-major: nin a slot */
	char **right;   /* results of the base, nout a slot, if the oracle computes no single elements; NULL: not computed yet */
	bool points;    /* it has */
	double checked; /* seconds */
};

static void *const *inputs_of(const struct run *x, const struct slots *s, uint32_t k) { return s->data + k * (uint32_t)x->p->nin; }

/* Inputs of one seed, shifted, mixed with elements of the other. */
static void make_inputs(struct run *x, struct slots *s, uint32_t k)
{
	int seed = (int)rng_range(&x->rng, 0, PROBLEM_SEEDS - 1);

	for (int i = 0; i < x->p->nin; i++) {
		char *to = inputs_of(x, s, k)[i];
		uint64_t bytes = x->p->t[i].bytes, n = (uint64_t)x->p->t[i].tensor.n, size = n ? bytes / n : 0;
		const char *from = problem_data(x->p, i, seed), *other = problem_data(x->p, i, !seed);
		uint64_t by = n ? rng_u64(&x->rng) % n * size : 0;
		memcpy(to, from + by, bytes - by);
		memcpy(to + bytes - by, from, by);
		for (uint64_t e = rng_u64(&x->rng) % 8; e < n; e += 1 + rng_u64(&x->rng) % 15)
			memcpy(to + e * size, other + e * size, size);
	}
}

static void fill_slots(struct run *x, int which, struct slots *s)
{
	const struct runner_build *b = build_of(x, which);

	for (uint32_t k = 0; k < s->n; k++) {
		for (int i = 0; i < b->nin; i++)
			x->t->oracle->pack(&b->buf[i], inputs_of(x, s, k)[i], proof_buf(&x->proof, k, i));
		for (int i = 0; i < b->nout; i++)
			memset(proof_buf(&x->proof, k, b->nin + i), 0xff, runner_buf_bytes(&b->buf[b->nin + b->nconst + i]));
	}
}

/* Result i of slot k, row-major, until the next is asked for. */
static const char *result_in(struct run *x, int which, uint32_t k, int i)
{
	const struct runner_build *b = build_of(x, which);

	return run_unpack(x, &b->buf[b->nin + b->nconst + i], x->p->t[b->nin + i].bytes, proof_buf(&x->proof, k, b->nin + i));
}

static void keep_right(struct run *x, struct slots *s)
{
	int nout = build_of(x, BASE)->nout;

	for (uint32_t k = 0; k < s->n; k++)
		for (int i = 0; i < nout; i++)
			memcpy(s->right[k * (uint32_t)nout + (uint32_t)i], result_in(x, BASE, k, i), x->p->t[x->p->nin + i].bytes);
}

/* Random elements against those of the base. */
static bool compare(struct run *x, int i, const char *got, const char *right)
{
	enum { ELEMENTS = 256 };
	int t = x->p->nin + i;
	int64_t n = x->p->t[t].tensor.n;

	for (int k = 0; k < ELEMENTS && n; k++) {
		int64_t e = rng_range(&x->rng, 0, n - 1);
		double y = number_at(x->p->t[t].tensor.dtype, got, e), want = number_at(x->p->t[t].tensor.dtype, right, e);
		if (results_equal(x->p, t, 0, want, y))
			continue;
		run_judge(x, VERDICT_WRONG,
			  arena_printf(x->a, "result %d, element %lld of fresh inputs: %.9g, not %.9g as its base", i, (long long)e, y,
				       want));
		return false;
	}
	return true;
}

static bool check_slot(struct run *x, const struct slots *s, uint32_t k, int points)
{
	int nout = build_of(x, CANDIDATE)->nout;
	bool good = true;

	for (int i = 0; i < nout && good; i++) {
		const char *got = result_in(x, CANDIDATE, k, i);
		good = s->points ? run_check_elements(x, i, got, inputs_of(x, s, k), points)
				 : compare(x, i, got, s->right[k * (uint32_t)nout + (uint32_t)i]);
	}
	return good;
}

/* Checks some slots, the last among them; fewer later if single elements take long. */
static bool check_slots(struct run *x, struct slots *s)
{
	enum { SLOTS = 8, POINTS = 2 };
	double start = now_seconds();
	int n = s->checked > check_seconds ? 1 : SLOTS;
	bool good = true;

	for (int i = 0; i < n && good; i++)
		good = check_slot(x, s, i || n == 1 ? (uint32_t)rng_range(&x->rng, 0, s->n - 1) : s->n - 1, POINTS);
	s->checked += now_seconds() - start;
	return good;
}

/* CPU time of a call of each of so many slots. Negative: it failed. */
static double cpu_of(struct run *x, int which, uint32_t slots)
{
	struct order o = {.kind = ORDER_PROVE, .which = which, .times = slots, .placing = (uint32_t)rng_u64(&x->rng)};
	double before = subject_cpu(&x->subject);

	if (!run_order(x, o, which, run_deadline(x) * (slots + 1), "proof"))
		return -1;
	return subject_cpu(&x->subject) - before;
}

/* The base runs first if its results serve as right ones: before the candidate has seen the inputs. */
static bool pass(struct run *x, struct slots *s, double empty, double least[2])
{
	int first = s->points ? (int)(rng_u64(&x->rng) & 1) : BASE;

	for (uint32_t k = 0; k < s->n; k++)
		make_inputs(x, s, k);
	for (int k = 0; k < 2; k++) {
		int which = first ^ k;
		fill_slots(x, which, s);
		double used = cpu_of(x, which, s->n);
		if (used < 0)
			return false;
		least[which] = fmin(least[which], fmax(used - empty, 1e-9) / s->n);
		if (which == BASE && !s->points)
			keep_right(x, s);
		if (which == CANDIDATE && !check_slots(x, s))
			return false;
	}
	return true;
}

static bool make_passes(struct run *x, struct slots *s, double *ratio)
{
	double empty = INFINITY, least[2] = {INFINITY, INFINITY}, spent = 0;

	for (int i = 0; i < EMPTY; i++) {
		double used = cpu_of(x, i & 1, 0);
		if (used < 0)
			return false;
		empty = fmin(empty, used);
	}
	for (int i = 0; i < PASS_MOST && (i < PASS_LEAST || spent < proof_seconds); i++) {
		if (!pass(x, s, empty, least))
			return false;
		spent += s->n * fmax(least[CANDIDATE], least[BASE]);
	}
	*ratio = least[CANDIDATE] / least[BASE];
	return true;
}

/* Does the oracle compute single elements of this task? */
static bool has_points(const struct run *x)
{
	void *data[RUNNER_BUFS_MAX];
	int64_t element = 0;
	double value;

	for (int i = 0; i < x->p->nin; i++)
		data[i] = (void *)problem_data(x->p, i, 0);
	return x->t->oracle->points && x->p->t[x->p->nin].tensor.n && x->t->oracle->points(x->t->task, data, 0, 1, &element, &value);
}

bool proof_run(struct run *x, const double seconds[2], double *ratio)
{
	uint32_t n = (uint32_t)fmax(1, fmin(x->proof.slots, ceil(pass_seconds / fmax(seconds[0], seconds[1])))), nin = (uint32_t)x->p->nin,
		 nout = (uint32_t)build_of(x, BASE)->nout;
	struct slots s = {.n = n,
			  .data = xcalloc(n * nin + 1, sizeof *s.data),
			  .right = xcalloc(n * nout + 1, sizeof *s.right),
			  .points = has_points(x)};

	for (uint32_t k = 0; k < n * nin; k++)
		s.data[k] = xmalloc(x->p->t[k % nin].bytes + 1);
	for (uint32_t k = 0; k < n * nout && !s.points; k++)
		s.right[k] = xmalloc(x->p->t[nin + k % nout].bytes + 1);
	bool good = make_passes(x, &s, ratio);
	for (uint32_t k = 0; k < n * nin; k++)
		free(s.data[k]);
	for (uint32_t k = 0; k < n * nout; k++)
		free(s.right[k]);
	free(s.data);
	free(s.right);
	return good;
}
