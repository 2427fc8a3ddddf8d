/* The text reader under libFuzzer. What it accepts and the checker passes must come back as the same bytes. Seeds: ge-dump
 * of any streams. */
#define _GNU_SOURCE
#include <string.h>
#include "graph/check.h"
#include "graph/stream.h"
#include "text.h"

static void compare(struct module *m)
{
	char *text, *a, *b;
	size_t size, asize, bsize;
	FILE *f = open_memstream(&text, &size);

	text_write(f, m);
	fclose(f);
	struct module *again = read_text(text, size);
	must(again && digest_eq(module_digest(m), module_digest(again)));
	m->provenance.n = again->provenance.n = 0;
	a = stream_bytes(m, false, &asize);
	b = stream_bytes(again, false, &bsize);
	must(asize == bsize && !memcmp(a, b, asize));
	free(a);
	free(b);
	free(text);
	module_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	node_id bad_node;
	graph_id bad_graph;
	struct module *volatile m = NULL;

	if (REFUSED(m = read_text(data, n)))
		return 0;
	if (m && !module_check(m, &bad_node, &bad_graph) && REFUSED(compare(m)))
		must(strstr(refused.why, "blob")); /* a tensor by a digest that nobody has */
	module_free(m);
	return 0;
}
