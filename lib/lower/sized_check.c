/* A unified program against the programs of single sizes that it was not made from: some elements, by the definitions of both. */
#include <math.h>
#include "lower/sized_impl.h"
#include "common/rng.h"
#include "loop/interp.h"

enum { ELEMENTS_MAX = 1 << 20 /* of a buffer, to compare */, SAMPLES = 12 };

/* Elements of b for the parameters' values; -1: too many. */
static int64_t count_of(struct loop_prog *p, buf_id b)
{
	int64_t n = 1;

	for (int d = 0; d < lbuf(p, b)->rank; d++)
		if (__builtin_mul_overflow(n, prog_value(p, buf_dim(p, b, d)), &n) || n > ELEMENTS_MAX)
			return -1;
	return n;
}

/* From -4 to 4: most numbers are never looked at, so they should take little time. */
static double number(struct rng *rng) { return 8 * rng_unit(rng) - 4; }

static void fill(enum dtype t, char *data, int64_t n, struct rng *rng)
{
	for (int64_t i = 0; i < n; i++)
		switch (t) {
		case DT_F32: ((float *)data)[i] = (float)number(rng); break;
		case DT_F64: ((double *)data)[i] = number(rng); break;
		case DT_F16:
		case DT_BF16: ((uint16_t *)data)[i] = (uint16_t)(0x3c00 + rng_range(rng, 0, 255)); break;
		default: data[i * (int64_t)dtype_size(t)] = (char)rng_range(rng, 0, 1);
		}
}

/* Storage for IN and CONST buffers of l; constants are those of `of`, which has as many. false: they are not the same. */
static bool give(struct module *m, const struct lowered *l, const struct lowered *of, void **at, struct arena *a)
{
	struct loop_prog *p = l->prog;

	for (buf_id b = 1; b < p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(p, b);
		struct rng rng = {(uint64_t)x->operand};
		if (x->scope != SCOPE_IN && x->scope != SCOPE_CONST)
			continue;
		int64_t n = prog_value(p, buf_count(p, b));
		at[b] = arena_alloc(a, (size_t)n * dtype_size(x->dtype) + 1);
		if (x->scope == SCOPE_IN) {
			fill(x->dtype, at[b], n, &rng);
			continue;
		}
		struct tensor *t = val(m, of->cval[x->operand])->tensor;
		if (layout_elems(x) != n || tensor_count(t) > n)
			return false;
		buf_pack(p, b, tensor_data(m, t), at[b]);
	}
	return true;
}

static buf_id result(struct loop_prog *p, int operand)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == SCOPE_OUT && lbuf(p, b)->operand == operand)
			return b;
	return 0;
}

static bool same(double x, double y) { return x == y || (x != x && y != y) || fabs(x - y) <= 1e-4 * (1 + fabs(y)); }

static bool same_result(const struct lowered *q, const struct lowered *p, int k, void **x, void **y)
{
	buf_id b = result(q->prog, k), c = result(p->prog, k);
	int64_t n = c ? count_of(p->prog, c) : -1, element[SAMPLES];
	double u[SAMPLES], v[SAMPLES];
	struct rng rng = {1};

	if (!b || n < 0 || n != count_of(q->prog, b))
		return false;
	for (int i = 0; i < SAMPLES; i++)
		element[i] = !n ? 0 : i < 2 ? i * (n - 1) : rng_range(&rng, 0, n - 1);
	if (!n)
		return true;
	stages_points(q->prog, b, SAMPLES, element, x, u);
	stages_points(p->prog, c, SAMPLES, element, y, v);
	for (int i = 0; i < SAMPLES; i++)
		if (!same(u[i], v[i]))
			return false;
	return true;
}

static bool small(struct loop_prog *p)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope != SCOPE_CONST && count_of(p, b) < 0)
			return false;
	return true;
}

bool sized_agrees(struct module *m, const struct lowered *q, const struct lowered *p, bool own)
{
	struct arena a = {0};
	void **x = ARENA_ARRAY(&a, void *, q->prog->bufs.n), **y = ARENA_ARRAY(&a, void *, p->prog->bufs.n);
	bool agree = true;

	if ((own || p->nconst == q->nconst) && small(q->prog) && small(p->prog) && give(m, q, q, x, &a) && give(m, p, own ? p : q, y, &a))
		for (int k = 0; k < q->prog->made[SCOPE_OUT] && agree; k++)
			agree = same_result(q, p, k, x, y);
	arena_release(&a);
	return agree;
}
