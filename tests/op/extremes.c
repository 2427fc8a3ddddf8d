/* Whole operands at the ends of 64 bits: the evaluator reads them to the last bit. */
#include "common/tool.h"
#include "op/op.h"
#include "op/npy.h"
#include "op/task.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

/* How many elements of the result of text, on ones, are not 0; -1: it is refused. */
static int ones_left(const char *text)
{
	struct arena a = {0};
	const char *why;
	struct module *m = task_module(text, 1, &a, &why);
	int left = 0;

	if (!m)
		return -1;
	struct tensor *out[1], **in = inputs_make(m, &(struct input_spec){.seed = 1}, &a);
	for (int64_t i = 0; i < tensor_count(in[0]); i++)
		tensor_set(in[0], i, 1);
	eval_graph(m, m->main, in, out, &a, NULL);
	for (int64_t i = 0; i < tensor_count(out[0]); i++)
		left += tensor_get(out[0], i) != 0;
	module_free(m);
	arena_release(&a);
	return left;
}

static void trilu(const char *k, int upper, int lower)
{
	char text[100];

	snprintf(text, sizeof text, "Trilu f32 3x4 i64=%s", k);
	int n = ones_left(text);
	ok(n == upper, "%s: %d of %d elements", text, n, upper);
	snprintf(text, sizeof text, "Trilu{upper=0} f32 3x4 i64=%s", k);
	n = ones_left(text);
	ok(n == lower, "%s: %d of %d elements", text, n, lower);
}

int main(void)
{
	msg_tool = "extremes";
	trilu("9223372036854775807", 0, 12);
	trilu("-9223372036854775808", 12, 0);
	trilu("9007199254740993", 0, 12);
	trilu("1", 6, 9);
	return tap_done();
}
