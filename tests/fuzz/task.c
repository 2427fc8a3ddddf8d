/* The reader of task texts under libFuzzer: any bytes give a module or a line that says why not; a module's own text
 * is read back, and is the same again. Seeds: lines of tests/op/task.c. */
#include <string.h>
#include "op/task.h"
#include "op/task_impl.h"
#include "refuse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum { LIMIT = 1 << 20 }; /* bytes of constants */
	struct arena a = {0};
	char *text = arena_alloc(&a, n + 1);
	const char *why, *t, *again;

	memcpy(text, data, n);
	struct module *m = task_read(text, 1, LIMIT, &a, &why), *c = NULL;
	if (!m && (!why || strchr(why, '\n')))
		abort();
	if (m && (t = task_text(m, task_node(m), &a, &why))) {
		task_title(m, task_node(m), &a);
		/* Sizes as floats are taken as a value and written as a type: then the text need not be read back. */
		c = task_read(t, 1, LIMIT, &a, &why);
		again = c ? task_text(c, task_node(c), &a, &why) : t;
		if (!again || strcmp(t, again))
			abort();
	}
	module_free(c);
	module_free(m);
	arena_release(&a);
	return 0;
}
