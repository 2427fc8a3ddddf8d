/* From a stream, or its text, to C: every pass, the emitter, the exporter, the evaluator. Seeds: streams and texts of all stages. */
#define _GNU_SOURCE
#include <string.h>
#include "chain.h"
#include "graph/stream.h"
#include "mend.h"
#include "text.h"
#include "words.h"

static struct module *of_stream(const uint8_t *data, size_t n)
{
	struct stream_fault fault;
	size_t pos = 0;
	unsigned char *p = malloc(n + 1);

	memcpy(p, data, n);
	stream_mend(p, n);
	struct module *m = stream_parse(p, n, &pos, "fuzz", &fault); /* refers to p */
	if (!m)
		die(EX_BADDATA, "%s", fault.why);
	return m;
}

static struct module *of_text(const uint8_t *data, size_t n)
{
	struct module *m = read_text(data, n);

	if (!m)
		die(EX_BADDATA, "nothing");
	return m;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed) { return words_mutate((char *)data, n, most, seed); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	chain_all(n > 4 && !memcmp(data, "hone", 4) ? of_text : of_stream, data, n);
	return 0;
}
