/* The lock of whoever times. */
#define _GNU_SOURCE
#include "runner/device_lock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/msg.h"

char *device_lock_path(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (run && *run && access(run, W_OK) == 0)
		return xprintf("%s/hone-device.lock", run);
	char *dir = xprintf("/tmp/hone-%u", (unsigned)geteuid());
	if ((mkdir(dir, 0700) && errno != EEXIST) || lstat(dir, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		die(EX_IO, "%s: not a directory of this user; XDG_RUNTIME_DIR names another", dir);
	char *path = xprintf("%s/device.lock", dir);
	free(dir);
	return path;
}

const char *device_lock(const char *path, int *fd, struct arena *a)
{
	int rc;

	if ((*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) < 0)
		return arena_printf(a, "%s: %s", path, strerror(errno));
	while ((rc = flock(*fd, LOCK_EX)) && errno == EINTR)
		;
	return rc ? arena_printf(a, "%s: cannot be locked: %s", path, strerror(errno)) : NULL;
}
