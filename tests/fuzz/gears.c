/* Sizes of gears under libFuzzer: a first line as --gears takes it, then a file as --histogram and --times take it. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "refuse.h"

/* tools/ge-gears; what they fill is larger than any of it. */
void gears_add(void *gears, const char *arg);
void gears_sort(void *gears);
void table_read(void *table, const char *file);
union room {
	max_align_t align;
	char bytes[4096];
};

static void options(const uint8_t *data, size_t n)
{
	union room g = {0};
	char *arg = strndup((const char *)data, n);

	if (!REFUSED(gears_add(&g, arg))) {
		(void)REFUSED(gears_add(&g, arg)); /* the same symbols again */
		gears_sort(&g);
	}
	free(arg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const uint8_t *line = memchr(data, '\n', n);
	size_t first = line ? (size_t)(line - data) : n;
	union room t = {0};
	char path[32];
	int fd = memfd_create("input", MFD_CLOEXEC);

	options(data, first);
	must(fd >= 0 && write(fd, data + first, n - first) == (ssize_t)(n - first));
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	(void)REFUSED(table_read(&t, path));
	close(fd);
	return 0;
}
