/* Operands that a run may refuse a node for: each example of operators.txt is run again with odd numbers in one operand. Where the evaluator
 * refuses one, the row says so of the operand ('!' in lib/op/demands.c), and an operand that says so is refused here. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/tool.h"
#include "fuzz/text.h"
#include "op/examples.h"
#include "op/rules.h"
#include "tap.h"

const struct tool tool = {.name = "refusals"};

enum { RUN_BYTES = 64 << 20, PLACES = 3 };

static bool met[OP_COUNT], refused_for[OP_COUNT][OPERANDS];

/* The operands of example x: the values that it tells, else `fill`. */
static struct tensor **operands(struct module *m, const struct example *x, double fill, struct arena *a)
{
	const struct graph *g = graph(m, m->main);
	struct tensor **in = ARENA_ARRAY(a, struct tensor *, g->in.n + 1);
	size_t n = 0;

	for (int i = 0; i < x->nin; i++) {
		int64_t dims[RANK_MAX];
		const char *s = x->value[i];
		if (*x->type[i] == '-')
			continue;
		const struct type *t = &val(m, g->in.a[n])->type;
		type_dims(m, t, dims);
		struct tensor *v = in[n++] = tensor_new(a, t->dtype, t->rank, dims);
		for (int64_t k = 0, count = dtype_fixed(t->dtype) ? tensor_count(v) : 0; k < count; k++) {
			s += *s != 0;
			if (dtype_is_int(t->dtype) && *s)
				store_i(v, k, 1, &(int64_t){strtoll(s, NULL, 10)});
			else
				tensor_set(v, k, *s ? strtod(s, NULL) : fill);
			s += strcspn(s, ",]");
		}
	}
	return in;
}

/* NULL, or why the run is refused. */
static const char *run(struct module *m, struct tensor **in)
{
	struct arena a = {0};
	struct tensor *out[ATTRS];

	arena_limit(arena_held() + RUN_BYTES, "the limit is that of this test");
	bool bad = REFUSED(eval_graph(m, m->main, in, out, &a, NULL));
	if (bad)
		eval_abandon();
	arena_release(&a);
	return bad ? refused.why : NULL;
}

/* Number `way` of what is odd for a tensor, at element k, or at all (k < 0). False: there are no more. */
static bool put_odd(struct tensor *t, int64_t k, size_t way)
{
	static const double real[] = {0, -1, NAN, INFINITY, -1e30, 1e30, 1e9};
	static const int64_t whole[] = {0, -1, 1, 3, 7, 100, -100, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 1LL << 40};
	bool is_int = dtype_is_int(t->dtype);

	if (way >= (is_int ? sizeof whole / sizeof *whole : t->dtype == DT_BOOL ? 2 : sizeof real / sizeof *real))
		return false;
	for (int64_t i = k < 0 ? 0 : k, end = k < 0 ? tensor_count(t) : k + 1; i < end; i++) {
		if (is_int)
			store_i(t, i, 1, &whole[way]);
		else
			tensor_set(t, i, t->dtype == DT_BOOL ? (double)way : real[way]);
	}
	return true;
}

/* Is the run refused for a number in t? */
static bool refuses(struct module *m, struct tensor **in, struct tensor *t)
{
	size_t bytes = t->nbytes;
	char *was = malloc(bytes + 1);
	int64_t n = tensor_count(t);
	bool found = false;

	memcpy(was, t->data, bytes);
	for (int place = -1; place < PLACES && n && !found; place++)
		for (size_t way = 0; !found && put_odd(t, place < 0 ? -1 : place * (n - 1) / (PLACES - 1), way); way++) {
			const char *why = run(m, in);
			found = why && !strstr(why, "memory") && !strstr(why, "limit") && !strstr(why, "too large");
			memcpy((void *)t->data, was, bytes);
		}
	free(was);
	return found;
}

static void example(const struct example *x)
{
	struct example_part part = {.x = *x, .values = true};
	struct module *volatile m = NULL;
	struct arena a = {0};
	struct tensor **volatile in = NULL;
	static char text[LONG];
	FILE *f = fmemopen(text, LONG, "w");

	examples_write(f, &part, 1);
	fclose(f);
	if (REFUSED(m = read_text(text, strlen(text)); infer_module(m, NULL); in = operands(m, x, 1, &a)) ||
	    (run(m, in) && run(m, in = operands(m, x, 0, &a))))
		return;
	enum opcode op = op_find("", x->op);
	met[op] = true;
	for (int i = 0, at = 0; i < x->nin; i++) {
		if (*x->type[i] == '-')
			continue;
		struct tensor *t = in[at++];
		if (dtype_fixed(t->dtype) && !refused_for[op][i])
			refused_for[op][i] = refuses(m, in, t);
	}
	module_free(m);
	arena_release(&a);
}

int main(void)
{
	char path[1000], line[1000];
	struct example x;

	snprintf(path, sizeof path, "%s/tests/op/operators.txt", getenv("top") ? getenv("top") : ".");
	FILE *f = fopen(path, "r");
	if (!f)
		return ok(0, "%s", path), 1;
	while (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		example_parse(&x, line);
		example(&x);
	}
	for (enum opcode op = 1; op < OP_COUNT; op++)
		for (uint32_t i = 0; i < OPERANDS; i++)
			if (met[op] && (refused_for[op][i] || op_refuses(op, i)))
				ok(refused_for[op][i] == op_refuses(op, i), "%s: operand %u is %s", op_name(op), i,
				   refused_for[op][i] ? "refused in a run, so its row says it" : "taken whatever it holds");
	return tap_done();
}
