#include "common/memory.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The number in a file of one; SIZE_MAX: no file, or no bound ("max", or above all memory there can be). */
static size_t number_in(const char *path)
{
	unsigned long long n = 0;
	FILE *f = fopen(path, "re");
	bool good = f && fscanf(f, "%llu", &n) == 1 && n < (1ull << 60);

	if (f)
		fclose(f);
	return good ? (size_t)n : SIZE_MAX;
}

static size_t machine_free(void)
{
	char line[256];
	unsigned long long kib = 0;
	bool found = false;
	FILE *f = fopen("/proc/meminfo", "re");

	while (f && !found && fgets(line, sizeof line, f))
		found = sscanf(line, "MemAvailable: %llu kB", &kib) == 1;
	if (f)
		fclose(f);
	return found ? (size_t)kib << 10 : SIZE_MAX;
}

/* A group is bounded by those that it is in, too. Inside a container its own path may not be there, but the root is. */
static size_t group_bound(const char *root, char *group, const char *file)
{
	size_t bound = SIZE_MAX;
	char path[4096 + 128];

	for (;;) {
		snprintf(path, sizeof path, "%s%s/%s", root, group, file);
		bound = least(bound, number_in(path));
		char *slash = strrchr(group, '/');
		if (!slash)
			return bound;
		*slash = 0;
	}
}

static size_t groups_bound(void)
{
	char line[4096], *group;
	size_t bound = SIZE_MAX;
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "0::", 3))
			bound = least(bound, group_bound("/sys/fs/cgroup", line + 3, "memory.max"));
		else if ((group = strstr(line, ":memory:")))
			bound = least(bound, group_bound("/sys/fs/cgroup/memory", group + 8, "memory.limit_in_bytes"));
	}
	if (f)
		fclose(f);
	return bound;
}

static size_t limits_bound(void)
{
	static const int what[] = {RLIMIT_AS, RLIMIT_DATA};
	size_t bound = SIZE_MAX;

	for (int i = 0; i < 2; i++) {
		struct rlimit l;
		if (!getrlimit((__rlimit_resource_t)what[i], &l) && l.rlim_cur != RLIM_INFINITY)
			bound = least(bound, (size_t)l.rlim_cur);
	}
	return bound;
}

size_t memory_free(void) { return least(machine_free(), least(groups_bound(), limits_bound())); }

bool memory_size(const char *text, size_t *bytes)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (*text < '0' || *text > '9' || (*end && (!shift || end[1])) || n > SIZE_MAX >> shift)
		return false;
	*bytes = (size_t)n << shift;
	return true;
}

const char *memory_text(size_t bytes)
{
	static __thread char text[2][32];
	static __thread int next;
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double n = (double)bytes;
	int u = 0;

	while (n >= 1024) {
		n /= 1024;
		u++;
	}
	next = !next;
	snprintf(text[next], sizeof text[next], u ? "%.1f %s" : "%.0f %s", n, unit[u]);
	return text[next];
}
