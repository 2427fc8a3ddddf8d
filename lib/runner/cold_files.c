/* The service's files of constants in turn: as many as COLD_FILES_MAX are kept for tries to come. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "runner/service_impl.h"

/* Its place, or that of the one that was not used for the longest time: a new one, then. -1: there can be none. */
static int find_cold(struct service *s, struct digest d)
{
	size_t oldest = 0;

	for (size_t i = 0; i < s->cold_files.n; i++) {
		if (digest_eq(s->cold_files.a[i].digest, d))
			return (int)i;
		if (s->cold_files.a[i].used < s->cold_files.a[oldest].used)
			oldest = i;
	}
	int fd = memfd_create("cold weights", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (s->cold_files.n < COLD_FILES_MAX) {
		oldest = s->cold_files.n;
		vec_push(&s->cold_files, (struct serve_cold){.fd = -1});
	}
	if (s->cold_files.a[oldest].fd >= 0)
		close(s->cold_files.a[oldest].fd);
	s->cold_files.a[oldest] = (struct serve_cold){.digest = d, .fd = fd};
	return (int)oldest;
}

static int cold_file(struct service *s, struct digest d)
{
	int at = find_cold(s, d); /* may move them */

	if (at < 0)
		return -1;
	s->cold_files.a[at].used = ++s->uses;
	return s->cold_files.a[at].fd;
}

bool serve_open_cold(struct service *s, struct cold_weights sets[2], struct digest task, uint64_t bytes, const struct artifact *const of[2])
{
	struct digest d[2];
	bool good = true;

	for (int i = 0; i < 2; i++) {
		sets[i] = cold_of(&of[i]->build, bytes);
		d[i] = cold_digest(task, &of[i]->build, &sets[i]);
	}
	if (!digest_eq(d[0], d[1]))
		cold_join(sets, (const struct runner_build *const[2]){&of[0]->build, &of[1]->build}, bytes);
	for (int i = 1; i >= 0 && good; i--)
		if (sets[i].foreign)
			sets[i].fd = sets[1].fd;
		else if (sets[i].copies)
			good = (sets[i].fd = cold_file(s, cold_digest(task, &of[i]->build, &sets[i]))) >= 0;
	return good;
}
