#define _GNU_SOURCE
#include "common/scratch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/arena.h"

enum { RANDOM = 6, DEPTH = 32 };
static const char LOCK[] = ".lock";

/* All in the folder of that descriptor, which is closed. Links are removed, not followed. */
static void empty(int fd, int depth)
{
	DIR *d = fdopendir(fd);

	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *x; (x = readdir(d));) {
		if (!strcmp(x->d_name, ".") || !strcmp(x->d_name, ".."))
			continue;
		if (!unlinkat(fd, x->d_name, 0) || errno == ENOENT)
			continue;
		int inner = depth < DEPTH ? openat(fd, x->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (inner >= 0)
			empty(inner, depth + 1);
		unlinkat(fd, x->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* Its lock, held; -1: somebody has it, or there is none (its maker is about to make it). Children inherit it. */
static int lock(int folder, bool make)
{
	struct stat st;
	int fd = openat(folder, LOCK, O_RDONLY | O_NOFOLLOW | (make ? O_CREAT | O_EXCL : 0), 0600);

	if (fd < 0)
		return -1;
	if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &st) && st.st_nlink > 0) /* not removed in between */
		return fd;
	close(fd);
	return -1;
}

static void remove_if_left(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	int held = !fstat(fd, &st) && st.st_uid == geteuid() ? lock(fd, false) : -1;
	if (held < 0) {
		close(fd);
		return;
	}
	empty(fd, 0);
	rmdir(path);
	close(held);
}

static void remove_left(const char *prefix)
{
	const char *name = strrchr(prefix, '/');
	char *folder = name ? xprintf("%.*s", (int)(name - prefix) + 1, prefix) : xstrdup("./");
	size_t n;
	DIR *d = opendir(folder);

	name = name ? name + 1 : prefix;
	n = strlen(name);
	for (struct dirent *x; d && (x = readdir(d));)
		if (strlen(x->d_name) == n + RANDOM && !strncmp(x->d_name, name, n)) {
			char *path = xprintf("%s%s", folder, x->d_name);
			remove_if_left(path);
			free(path);
		}
	if (d)
		closedir(d);
	free(folder);
}

bool scratch_make(struct scratch *s, const char *prefix)
{
	enum { TRIES = 10 };

	remove_left(prefix);
	for (int i = 0; i < TRIES; i++) {
		s->path = xprintf("%sXXXXXX", prefix);
		int fd = mkdtemp(s->path) ? open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		s->lock = fd < 0 ? -1 : lock(fd, true);
		int error = errno;
		if (fd >= 0)
			close(fd);
		if (s->lock >= 0)
			return true;
		if (fd >= 0)
			rmdir(s->path);
		free(s->path);
		s->path = NULL;
		errno = error;
		if (fd < 0)
			return false;
	}
	return false;
}

void scratch_remove(struct scratch *s)
{
	int error = errno;

	if (!s->path)
		return;
	int fd = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		empty(fd, 0);
	rmdir(s->path);
	close(s->lock);
	free(s->path);
	s->path = NULL;
	errno = error;
}
