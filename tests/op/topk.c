/* TopK of rows of all lengths and kinds, against picking the best again and again. */
#include <math.h>
#include <string.h>
#include "common/tool.h"
#include "op/op.h"
#include "op/task.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

/* NaN before all else, -0 as 0. */
static bool before(double x, double y, bool largest)
{
	if (isnan(x) || isnan(y))
		return largest ? isnan(x) && !isnan(y) : isnan(y) && !isnan(x);
	return largest ? x > y : x < y;
}

static void contents(struct tensor *x, int kind, struct rng *r)
{
	static const double edges[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0.5};
	int64_t n = tensor_count(x);

	for (int64_t i = 0; i < n; i++)
		switch (kind) {
		case 0: tensor_random(x, r, dtype_is_float(x->dtype) || dtype_is_signed(x->dtype) ? -100 : 0, 100); return;
		case 1: tensor_set(x, i, (double)rng_range(r, 0, 3)); break; /* ties */
		case 2: tensor_set(x, i, (double)(i % 4000)); break;         /* in order */
		case 3: tensor_set(x, i, (double)((n - i) % 4000)); break;
		default: tensor_set(x, i, edges[rng_range(r, 0, 7)]);
		}
}

/* Rows of n along the middle axis of three. */
static bool right(const struct tensor *x, const struct tensor *y, const struct tensor *yi, bool largest)
{
	int64_t n = x->dims[1], k = y->dims[1], inner = x->dims[2];
	const int64_t *at = yi->data;

	for (int64_t o = 0; o < x->dims[0]; o++)
		for (int64_t i = 0; i < inner; i++) {
			bool taken[8192] = {0};
			for (int64_t j = 0; j < k; j++) {
				int64_t best = -1, to = (o * k + j) * inner + i;
				for (int64_t c = 0; c < n; c++)
					if (!taken[c] && (best < 0 || before(tensor_get(x, (o * n + c) * inner + i),
									     tensor_get(x, (o * n + best) * inner + i), largest)))
						best = c;
				taken[best] = true;
				double v = tensor_get(x, (o * n + best) * inner + i), w = tensor_get(y, to);
				if (at[to] != best || (v != w && !(isnan(v) && isnan(w))))
					return false;
			}
		}
	return true;
}

static void try(const char *type, int64_t outer, int64_t n, int64_t inner, int64_t k, bool largest)
{
	struct arena a = {0};
	const char *why;
	char *text = arena_printf(&a, "TopK{axis=1%s} %s %lldx%lldx%lld i64=%lld -> %%0 %%0.1", largest ? "" : " largest=0", type,
				  (long long)outer, (long long)n, (long long)inner, (long long)k);
	struct module *m = task_module(text, 1, &a, &why);
	int wrong = -1;

	if (!m) {
		ok(0, "%s: %s", text, why);
		return;
	}
	const struct graph *g = graph(m, m->main);
	struct tensor *x = tensor_new(&a, val(m, g->in.a[0])->type.dtype, 3, (int64_t[]){outer, n, inner}), *out[2];
	for (int kind = 0; kind < 5 && wrong < 0; kind++) {
		struct rng r = {(uint64_t)(n * 31 + k)};
		contents(x, kind, &r);
		eval_graph(m, m->main, &x, out, &a, NULL);
		if (!right(x, out[0], out[1], largest))
			wrong = kind;
	}
	ok(wrong < 0, "%s%s", text, wrong < 0 ? "" : arena_printf(&a, ": contents of kind %d", wrong));
	module_free(m);
	arena_release(&a);
}

/* Results are made in the memory that is given for them, if it has their size. */
static void in_place(void)
{
	struct arena a = {0};
	const char *why;
	struct module *m = task_module("TopK{axis=0} f32 8 i64=3 -> %0 %0.1", 1, &a, &why);
	struct tensor *x = tensor_new(&a, DT_F32, 1, (int64_t[]){8}), *out[2];
	float values[3] = {7, 7, 7};
	int64_t places[3] = {7, 7, 7};

	for (int i = 0; i < 8; i++)
		tensor_set(x, i, i % 5);
	why = eval_node_into(m, task_node(m), &x, out, (struct room[]){{values, sizeof values}, {places, sizeof places}}, &a);
	ok(!why && out[0]->data == values && out[1]->data == places && values[0] == 4 && values[1] == 3 && places[1] == 3 && places[2] == 2,
	   "results where they are wanted");
	places[0] = 9;
	why = eval_node_into(m, task_node(m), &x, out, (struct room[]){{values, sizeof values - 4}, {0}}, &a);
	ok(!why && out[0]->data != values && places[0] == 9 && *(const int64_t *)out[1]->data == 4, "and elsewhere without room");
	module_free(m);
	arena_release(&a);
}

int main(void)
{
	static const char *const types[] = {"f32", "f64", "f16", "bf16", "i64", "i32", "u64", "u32", "i8", "u8"};
	static const int64_t sizes[][2] = {{1, 1},     {5, 2},    {16, 12},   {40, 13},  {100, 1},   {100, 12},
					   {100, 100}, {257, 40}, {600, 600}, {1000, 5}, {1500, 700}};

	msg_tool = "topk";
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
			for (int largest = 0; largest < 2; largest++)
				try(types[t], 1 + (sizes[s][0] < 50), sizes[s][0], sizes[s][0] < 300 ? 3 : 1, sizes[s][1], largest);
	try("f32", 1, 8000, 1, 300, true); /* words that are sorted by bytes */
	try("f32", 1, 3000, 1, 2999, false);
	try("i64", 1, 3000, 1, 3000, true);
	in_place();
	return tap_done();
}
