/* The service's files of constants in turn: as many as ROTATIONS_MAX are kept for tries to come. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>
#include "runner/service_impl.h"

/* Its place, or that of the one that was not used for the longest time: a new one, then. -1: there can be none. */
static int find_rotation(struct service *s, struct digest d)
{
	size_t oldest = 0;

	for (size_t i = 0; i < s->rotations.n; i++) {
		if (digest_eq(s->rotations.a[i].digest, d))
			return (int)i;
		if (s->rotations.a[i].used < s->rotations.a[oldest].used)
			oldest = i;
	}
	int fd = memfd_create("rotation", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -1;
	if (s->rotations.n < ROTATIONS_MAX) {
		oldest = s->rotations.n;
		vec_push(&s->rotations, (struct serve_rotation){.fd = -1});
	}
	if (s->rotations.a[oldest].fd >= 0)
		close(s->rotations.a[oldest].fd);
	s->rotations.a[oldest] = (struct serve_rotation){.digest = d, .fd = fd};
	return (int)oldest;
}

static int rotation_file(struct service *s, struct digest d)
{
	int at = find_rotation(s, d); /* may move them */

	if (at < 0)
		return -1;
	s->rotations.a[at].used = ++s->uses;
	return s->rotations.a[at].fd;
}

bool serve_open_rotations(struct service *s, struct rotation sets[2], struct digest task, uint64_t bytes,
			  const struct artifact *const of[2])
{
	struct digest d[2];
	bool good = true;

	for (int i = 0; i < 2; i++) {
		sets[i] = rotation_of(&of[i]->build, bytes);
		d[i] = rotation_digest(task, &of[i]->build, &sets[i]);
	}
	if (!digest_eq(d[0], d[1]))
		rotation_join(sets, (const struct runner_build *const[2]){&of[0]->build, &of[1]->build}, bytes);
	for (int i = 1; i >= 0 && good; i--)
		if (sets[i].foreign)
			sets[i].fd = sets[1].fd;
		else if (sets[i].copies)
			good = (sets[i].fd = rotation_file(s, rotation_digest(task, &of[i]->build, &sets[i]))) >= 0;
	return good;
}
