/* The text reader under libFuzzer. What it accepts and the checker passes must come back as the same bytes. Seeds: ge-dump
 * of any streams. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "graph/check.h"
#include "graph/stream.h"
#include "graph/text.h"
#include "refuse.h"

/* May die. */
static struct module *read_text(const void *p, size_t n)
{
	static char path[64];
	static int fd = -1; /* of the last one, too, if that died */

	if (fd >= 0)
		close(fd);
	fd = memfd_create("text", MFD_CLOEXEC);
	must(fd >= 0 && write(fd, p, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	struct text_reader *r = text_open(path);
	struct module *m = text_read(r);
	text_close(r);
	return m;
}

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
