/* States from a graph to C: lines INPUT=OUTPUT, an empty line, the text of a module. What ge-plan proved of states and wrote down, ge-emit
 * must find proved. */
#define _GNU_SOURCE
#include <string.h>
#include "chain.h"
#include "model/state.h"
#include "text.h"
#include "words.h"

static struct module *made(const uint8_t *data, size_t n)
{
	const uint8_t *body = memmem(data, n, "\n\n", 2);
	struct module *m = body ? read_text(body + 2, n - (size_t)(body + 2 - data)) : NULL;

	if (!m)
		die(EX_BADDATA, "nothing");
	module_verify_or_die(m);
	for (const uint8_t *p = data, *end; p <= body; p = end + 1) {
		end = memchr(p, '\n', (size_t)(body - p) + 1);
		char *alias = strndup((const char *)p, (size_t)(end - p));
		struct msg_trap *outer = msg_trap, own;
		if (!setjmp(own.at)) { /* those that are none are left out */
			msg_trap = &own;
			state_declare(m, alias);
		}
		msg_trap = outer;
		free(alias);
	}
	return m;
}

static void emit(struct module *m)
{
	bool planned = plan_bytes(m) >= 0;

	if (REFUSED(chain_emit(m)))
		must(!planned || !strstr(refused.why, "is of another graph"));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) { return words_mutate((char *)data, n, most, seed); }

/* way: as it is, of sizes that are given, or with gears. */
static void build(const uint8_t *data, size_t n, int way)
{
	struct module *volatile m = NULL;

	if (!REFUSED(m = made(data, n); if (way == 1) chain_bind(m); if (way == 2) chain_gears(m); chain_passes(m)))
		emit(m);
	module_free(m);
	eval_abandon();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	for (int way = 0; way < 3; way++)
		build(data, n, way);
	return 0;
}
