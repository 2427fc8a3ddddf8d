/* The text reader under libFuzzer. It ends the process on bad text; a hook leads back here instead, and
 * what had been read is lost: run with -fork=1. What it accepts and the checker passes must come back as
 * the same bytes. Seeds: ge-dump of any streams. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/msg.h"
#include "graph/check.h"
#include "graph/stream.h"
#include "graph/text.h"

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static jmp_buf back;

static void leave(void *arg)
{
	(void)arg;
	longjmp(back, 1);
}

static struct module *read_text(const void *p, size_t n)
{
	static char path[64];
	int fd = memfd_create("text", MFD_CLOEXEC);
	if (fd < 0 || write(fd, p, n) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	struct text_reader *volatile r = NULL;
	struct module *m = NULL;
	if (!setjmp(back)) {
		int hook = die_hook(leave, NULL);
		r = text_open(path);
		m = text_read(r);
		die_unhook(hook);
	}
	if (r)
		text_close(r);
	close(fd);
	return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	node_id bad_node;
	graph_id bad_graph;
	struct module *m = n ? read_text(data, n) : NULL, *again;
	if (m && !module_check(m, &bad_node, &bad_graph)) {
		char *text, *a, *b;
		size_t size, asize, bsize;
		FILE *f = open_memstream(&text, &size);
		text_write(f, m);
		fclose(f);
		again = read_text(text, size);
		if (!again)
			abort();
		if (!digest_eq(module_digest(m), module_digest(again)))
			abort();
		m->provenance.n = again->provenance.n = 0;
		a = stream_bytes(m, false, &asize);
		b = stream_bytes(again, false, &bsize);
		if (asize != bsize || memcmp(a, b, asize))
			abort();
		free(a);
		free(b);
		free(text);
		module_free(again);
	}
	module_free(m);
	return 0;
}
