/* The stream decoder under libFuzzer. What it accepts must be written and read again as the same
 * bytes. Seeds: any streams (ge-load of some text). */
#include <stdlib.h>
#include <string.h>
#include "graph/check.h"
#include "graph/stream.h"
#include "mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stream_fault fault;
	size_t pos = 0, size, again;
	unsigned char *p = malloc(n + 1);
	memcpy(p, data, n);
	stream_mend(p, n);
	struct module *m = stream_parse(p, n, &pos, "fuzz", &fault), *r;
	node_id bad_node;
	graph_id bad_graph;
	if (!m) {
		free(p);
		return 0;
	}
	if (pos > n)
		abort();
	if (!module_check(m, &bad_node, &bad_graph)) {
		char *first = stream_bytes(m, false, &size);
		pos = 0;
		r = stream_parse(first, size, &pos, "fuzz", &fault);
		if (!r || pos != size)
			abort();
		char *second = stream_bytes(r, false, &again);
		if (again != size || memcmp(first, second, size))
			abort();
		module_free(r);
		free(first);
		free(second);
	}
	module_free(m);
	free(p);
	return 0;
}
