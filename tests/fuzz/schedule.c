/* Traces under libFuzzer, from their text to C: the first byte chooses the task, and whether decisions may be adapted. What
 * is taken must be taken again, and make the same C. Seeds: traces as records have them, behind a byte. */
#include <string.h>
#include "target/target.h"
#include "model/candidate.h"
#include "op/task.h"
#include "refuse.h"

static const char *const texts[] = {
	"MatMul f32 12x40 40x33c",
	"Conv{pads=1,1,1,1} f32 1x8x9x9 16x8x3x3c 16c; Relu %0",
	"Softmax f32 5x37",
	"Add f32 1x6x7x5 6x1x1c; Relu %0",
};
enum { TASKS = sizeof texts / sizeof *texts, USES_MAX = 200 };

static struct module *module[TASKS];
static struct arena arena[TASKS];
static int uses[TASKS];

/* Made anew now and then: why-nots lie in its arena. */
static struct module *module_for(int i)
{
	const char *why;

	if (module[i] && ++uses[i] < USES_MAX)
		return module[i];
	if (module[i]) {
		module_free(module[i]);
		arena_release(&arena[i]);
	}
	arena[i] = (struct arena){0};
	uses[i] = 0;
	module[i] = task_module(texts[i], 1, &arena[i], &why);
	must(module[i]);
	return module[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *why = NULL;
	char *trace = malloc(n + 1);

	if (!n || memchr(data, 0, n)) {
		free(trace);
		return 0;
	}
	memcpy(trace, data + 1, n - 1);
	trace[n - 1] = 0;
	struct module *m = module_for(data[0] % TASKS);
	struct candidate *c = candidate_new(m, task_node(m), target_host(), trace, data[0] & 64, &why), *again;
	must(c || (why && *why));
	if (c) {
		again = candidate_new(m, task_node(m), target_host(), c->trace, false, &why);
		must(again && c->nsource == again->nsource && !memcmp(c->source, again->source, c->nsource));
		candidate_free(again);
		candidate_free(c);
	}
	free(trace);
	return 0;
}
