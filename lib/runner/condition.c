/* Inputs whose results a rounding does not change much: results at operands that are a rounding away are held beside those at the operands. */
#include "runner/condition.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "runner/try_impl.h"

enum { ROUNDS = 4 };

/* Float operands and results of as many elements, and what is asked of them. */
struct conditioned {
	const struct oracle *o;
	const struct oracle_task *t;
	int64_t n;             /* elements of each result */
	void **near, **beside; /* operands a rounding away, their results */
	bool *bad;
};

static bool is_full(const struct conditioned *c, int i) { return c->t->t[i].n == c->n; }

static bool fits(struct conditioned *c)
{
	const struct oracle_task *t = c->t;
	bool floats = false;

	c->n = t->nout ? t->t[t->nin].n : 0;
	for (int i = t->nin; i < t->nin + t->nout; i++)
		if (t->t[i].dtype != DT_F32 || !is_full(c, i) || t->t[i].rounded != ROUNDED_NOT)
			return false;
	for (int i = 0; i < t->nin; i++)
		floats |= is_full(c, i) && t->t[i].dtype == DT_F32;
	return floats && c->n > 1 && t->reduction <= 1;
}

static size_t bytes_of(const struct oracle_tensor *t) { return (size_t)t->n * dtype_size(t->dtype); }

/* Each operand's elements up or down, as the bits of its number and theirs fall. */
static void move(const struct conditioned *c, void *const *in, unsigned turn)
{
	for (int i = 0; i < c->t->nin; i++) {
		memcpy(c->near[i], in[i], bytes_of(&c->t->t[i]));
		float *x = c->near[i];
		for (int64_t k = 0; k < c->t->t[i].n && c->t->t[i].dtype == DT_F32; k++)
			x[k] *= ((uint64_t)k * 2654435761u >> (i + 7 * turn) % 31 & 1) ? 1 + 0x1p-23f : 1 - 0x1p-23f;
	}
}

/* Marks where a result moved further than it may. How many. */
static int64_t mark(const struct conditioned *c, void *const *out)
{
	int64_t count = 0;

	memset(c->bad, 0, (size_t)c->n);
	for (int r = 0; r < c->t->nout; r++) {
		const float *y = out[r], *z = c->beside[r];
		double scale = results_rms(DT_F32, y, c->n);
		for (int64_t k = 0; k < c->n; k++)
			c->bad[k] |=
				isfinite(y[k]) && !(fabs((double)z[k] - y[k]) < CONDITION_MOST * 0x1p-23 * fmax(fabs((double)y[k]), scale));
	}
	for (int64_t k = 0; k < c->n; k++)
		count += c->bad[k];
	return count;
}

/* Operands of marked places become those of the place before that is not. */
static void replace(const struct conditioned *c, void *const *in)
{
	int64_t good = 0;

	while (c->bad[good])
		good++;
	for (int64_t step = 1; step < c->n; step++) {
		int64_t k = (good + step) % c->n, from = (k + c->n - 1) % c->n; /* good, or replaced just now */
		for (int i = 0; c->bad[k] && i < c->t->nin; i++) {
			size_t size = dtype_size(c->t->t[i].dtype);
			if (is_full(c, i))
				memcpy((char *)in[i] + (size_t)k * size, (char *)in[i] + (size_t)from * size, size);
		}
	}
}

void inputs_condition(const struct oracle *o, const struct oracle_task *t, void *const *in, void *const *out)
{
	struct conditioned c = {o, t};
	struct arena a = {0};

	if (!fits(&c))
		return;
	c.near = ARENA_ARRAY(&a, void *, t->nin);
	c.beside = ARENA_ARRAY(&a, void *, t->nout);
	c.bad = ARENA_ARRAY(&a, bool, c.n);
	for (int i = 0; i < t->nin; i++)
		c.near[i] = arena_alloc(&a, bytes_of(&t->t[i]) + 1);
	for (int r = 0; r < t->nout; r++)
		c.beside[r] = arena_alloc(&a, bytes_of(&t->t[t->nin + r]) + 1);
	float **none = ARENA_ARRAY(&a, float *, t->nout);
	for (unsigned turn = 0; turn < ROUNDS; turn++) {
		move(&c, in, turn);
		o->eval(t, c.near, c.beside, none);
		int64_t bad = mark(&c, out);
		if (!bad || bad > c.n / 2)
			break;
		replace(&c, in);
		o->eval(t, in, out, none);
	}
	arena_release(&a);
}
