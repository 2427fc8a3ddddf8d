/* Random inputs of operators that take positive numbers give numbers, whatever the seed. */
#include <math.h>
#include "common/tool.h"
#include "op/op.h"
#include "op/npy.h"
#include "op/task.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static void try(const char *text)
{
	struct arena a = {0};
	const char *why;
	struct module *m = task_module(text, 1, &a, &why);
	bool finite = m != NULL;

	for (uint64_t seed = 1; finite && seed < 4; seed++) {
		struct tensor *out[1], **in = inputs_make(m, &(struct input_spec){.seed = seed}, &a);
		eval_graph(m, m->main, in, out, &a, NULL);
		for (int64_t i = 0; i < tensor_count(out[0]); i++)
			finite &= isfinite(tensor_get(out[0], i)) != 0;
	}
	ok(finite, "%s", text);
	if (m)
		module_free(m);
	arena_release(&a);
}

int main(void)
{
	msg_tool = "domain";
	try("Sqrt f32 4x100");
	try("Log f16 4x100");
	try("Reciprocal f64 4x100");
	try("Div f32 4x100 4x100");
	try("Pow f32 4x100 4x100");
	try("Transpose{perm=1,0} f32 4x100; Log %0");
	try("ReduceLogSum f32 4x10");
	try("BatchNormalization f32 2x3x4 3 3 3 3");
	return tap_done();
}
