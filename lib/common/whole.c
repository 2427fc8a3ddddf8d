/* All bytes, or an error. */
#include "common/whole.h"
#include <errno.h>
#include <unistd.h>

bool write_whole(int fd, const void *p, size_t n)
{
	for (const char *at = p; n;) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno != EINTR)
			return false;
		at += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return true;
}

bool read_whole(int fd, void *p, size_t n)
{
	for (char *at = p; n;) {
		ssize_t k = read(fd, at, n);
		if (k == 0 || (k < 0 && errno != EINTR))
			return false;
		at += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return true;
}
