/* The reader of statistics under libFuzzer. What it takes holds together, is written as it is read, and can be added to itself. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "quant/statistics.h"
#include "refuse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct statistics s = {0}, again = {0};
	char path[64], *text;
	size_t length;
	int fd = memfd_create("input", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, n) == (ssize_t)n);
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	if (!REFUSED(statistics_read(&s, path))) {
		for (size_t i = 0; i < s.values.n; i++)
			must(!value_stat_check(s.values.a[i]));
		FILE *f = open_memstream(&text, &length);
		statistics_write(&s, f);
		fclose(f);
		must(ftruncate(fd, 0) == 0 && pwrite(fd, text, length, 0) == (ssize_t)length);
		free(text);
		must(!REFUSED(statistics_read(&again, path)));
		(void)REFUSED(statistics_merge(&s, &again, path));
		for (size_t i = 0; i < s.values.n; i++)
			must(s.values.a[i]->count > INT64_MAX || !value_stat_check(s.values.a[i]));
		statistics_free(&s);
		statistics_free(&again);
	}
	close(fd);
	return 0;
}
