/* The stream decoder under libFuzzer. What it accepts must be written and read again as the same
 * bytes. Seeds: any streams (ge-load of some text). Checksums stop most mutants at the end record, so
 * the first thing here is to mend them. */
#include <stdlib.h>
#include <string.h>
#include "graph/check.h"
#include "graph/stream.h"

static void put_digest(unsigned char *p, struct digest d)
{
	for (int i = 0; i < 8; i++) {
		p[i] = (unsigned char)(d.hi >> (56 - 8 * i));
		p[8 + i] = (unsigned char)(d.lo >> (56 - 8 * i));
	}
}

/* A header as the writer makes it has the body's digest at 8; the last record of a stream without blobs
 * begins 94 ("end") and ends in a digest. */
static void mend(unsigned char *p, size_t n)
{
	static const char end[] = "\x93\xa3" "end";
	if (n < 60 || memcmp(p, "\x94\xa4hone\x01\xc4\x10", 9))
		return;
	size_t body = 25;
	unsigned count = p[body] & 15;
	if (p[body++] >> 4 != 9)
		return;
	for (; count > 0; count--) {
		if (body >= n || p[body] >> 5 != 5)
			return;
		body += 1 + (p[body] & 31);
	}
	for (size_t at = n - 5; at > body; at--) {
		if (memcmp(p + at, end, 5))
			continue;
		put_digest(p + 9, digest_bytes(p + body, at - body));
		if (n - at >= 5 + 1 + 18)
			put_digest(p + n - 16, digest_bytes(p, at));
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct stream_fault fault;
	size_t pos = 0, size, again;
	unsigned char *p = malloc(n + 1);
	memcpy(p, data, n);
	mend(p, n);
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
