/* RNN, GRU, LSTM of lib/native: many sequences at once are as each alone, in f32 as in f64; what does not fit is refused. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "native/table.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { T = 5, B = 6, I = 11, H = 13, HELD = 32 };

struct call {
	struct native n;
	struct native_tensor in[6], out[3];
	struct native_attr attr[4];
	int64_t dims[9][4];
	void *held[HELD];
	int nheld;
};

static void *hold(struct call *c, size_t bytes)
{
	void *p = c->nheld < HELD && bytes < 1 << 28 ? malloc(bytes + 1) : NULL;

	if (p)
		c->held[c->nheld++] = memset(p, 0xab, bytes);
	return p;
}

static void *scratch(struct native *n, size_t bytes) { return hold(n->ctx, bytes); }

static void *room(struct native *n, int i, int type, int rank, const int64_t *dims)
{
	struct call *c = n->ctx;

	memcpy(c->dims[6 + i], dims, (size_t)rank * sizeof *dims);
	n->out[i] = (struct native_tensor){type, rank, c->dims[6 + i], hold(c, (size_t)native_count_of(rank, dims) * native_size(type))};
	return n->out[i].data;
}

static void operand(struct call *c, int type, int rank, const int64_t *dims, int64_t from, int64_t step)
{
	struct native_tensor *t = &c->in[c->n.nin];

	memcpy(c->dims[c->n.nin++], dims, (size_t)rank * sizeof *dims);
	*t = (struct native_tensor){type, rank, c->dims[c->n.nin - 1], NULL};
	t->data = hold(c, (size_t)native_count(t) * native_size(type));
	for (int64_t k = 0, n = native_count(t), last = rank ? dims[rank - 1] : 1; k < n;
	     k++) /* row r of the last axis is that of from + r step */
		native_set(type, t->data, k, 0.4 * sin(0.37 * (double)(from + (step ? k / last * step * last + k % last : k))));
}

/* Sequences first .. first + n of B. */
static struct call *call_new(const char *op, int type, int64_t first, int64_t n, int gates)
{
	struct call *c = calloc(1, sizeof *c);

	c->n = (struct native){
		.in = c->in, .out = c->out, .nout = gates == 4 ? 3 : 2, .attr = c->attr, .room = room, .scratch = scratch, .ctx = c};
	for (int i = 0; i < 3; i++)
		c->out[i].type = NATIVE_F32;
	c->attr[c->n.nattr++] = (struct native_attr){.name = "direction", .given = true, .n = 1, .s = "bidirectional"};
	operand(c, type, 3, (int64_t[]){T, n, I}, first * I, n == B ? 1 : B);
	operand(c, type, 3, (int64_t[]){2, gates * H, I}, 3, 0);
	operand(c, type, 3, (int64_t[]){2, gates * H, H}, 5, 0);
	operand(c, type, 2, (int64_t[]){2, 2 * gates * H}, 7, 0);
	operand(c, NATIVE_I32, 1, (int64_t[]){n}, 0, 0);
	for (int64_t k = 0; k < n; k++)
		((int32_t *)c->in[4].data)[k] = (int32_t)((first + k) % (T + 1));
	return c;
}

static void call_free(struct call *c)
{
	for (int i = 0; i < c->nheld; i++)
		free(c->held[i]);
	free(c);
}

static const char *run(struct call *c, const char *op) { return native_find(op)->run(&c->n); }

/* The largest difference of Y of one sequence from what it is among all. */
static double apart(const struct call *all, const struct call *one, int64_t b)
{
	double worst = 0;

	for (int64_t r = 0; r < T * 2; r++)
		for (int64_t i = 0; i < H; i++)
			worst = fmax(worst, fabs(native_get(all->out[0].type, all->out[0].data, (r * B + b) * H + i) -
						 native_get(one->out[0].type, one->out[0].data, r * H + i)));
	return worst;
}

static void test_alone(const char *op, int gates)
{
	struct call *all = call_new(op, NATIVE_F32, 0, B, gates);
	const char *why = run(all, op);
	double worst = 0, wide = 0, size = 0;

	for (int64_t b = 0; !why && b < B; b++) {
		struct call *one = call_new(op, NATIVE_F32, b, 1, gates), *exact = call_new(op, NATIVE_F64, b, 1, gates);
		why = run(one, op) ? "alone" : run(exact, op);
		worst = why ? 1 : fmax(worst, apart(all, one, b));
		wide = why ? 1 : fmax(wide, apart(all, exact, b));
		for (int64_t i = 0; !why && i < T * 2 * H; i++)
			size = fmax(size, fabs(((const float *)one->out[0].data)[i]));
		call_free(one);
		call_free(exact);
	}
	ok(!why && worst < 1e-6 && size > 0.1, "%s: sequences of many lengths, together and alone (%g of %g, %s)", op, worst, size,
	   why ? why : "");
	ok(!why && wide < 1e-5, "%s: in f32 and f64 (%g)", op, wide);
	call_free(all);
}

static void test_refused(const char *op, int gates)
{
	struct call *c = call_new(op, NATIVE_F32, 0, B, gates);

	((int32_t *)c->in[4].data)[1] = T + 1;
	ok(run(c, op) != NULL, "%s: a sequence longer than there are steps", op);
	((int32_t *)c->in[4].data)[1] = 1;
	c->dims[3][1]--;
	ok(run(c, op) != NULL, "%s: a bias too short", op);
	c->dims[3][1]++;
	c->dims[2][2] = (int64_t)1 << 62;
	c->dims[2][0] = 0;
	ok(run(c, op) != NULL, "%s: a state of 2^62 numbers", op);
	call_free(c);
	c = call_new(op, NATIVE_F32, 0, B, gates);
	c->attr[c->n.nattr++] = (struct native_attr){.name = "activations", .given = true, .n = 1, .strs = (const char *[]){"Tanh"}};
	ok(run(c, op) != NULL, "%s: too few functions", op);
	call_free(c);
}

int main(void)
{
	static const char *const op[] = {"RNN", "GRU", "LSTM"};
	static const int gates[] = {1, 3, 4};

	for (int i = 0; i < 3; i++) {
		test_alone(op[i], gates[i]);
		test_refused(op[i], gates[i]);
	}
	return tap_done();
}
