/* Paths, directories and file systems. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "common/msg.h"
#include "kb/path.h"

/* f_type as statfs(2) has them. */
static const struct {
	uint32_t type;
	const char *name;
} network[] = {
	{0x6969, "nfs"},      {0xff534d42, "cifs"}, {0xfe534d42, "smb2"},  {0x517b, "smb"},      {0x01021997, "9p"},
	{0x00c36400, "ceph"}, {0x5346414f, "afs"},  {0x6b414653, "kafs"},  {0x73757245, "coda"}, {0x0bd00bd0, "lustre"},
	{0x47504653, "gpfs"}, {0x564c, "ncp"},      {0x7461636f, "ocfs2"}, {0x01161970, "gfs2"}, {0xaad7aaea, "panfs"},
};
enum { FUSE = 0x65735546 };
/* FUSE is local (ntfs-3g, overlays) or not: the kind of mount says. */
static const char *const remote_fuse[] = {
	"fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.juicefs", "fuse.ceph", "fuse.davfs2",
};

/* The directory that path is in. */
static void directory_of(const char *path, char out[PATH_MAX])
{
	char copy[PATH_MAX];
	snprintf(copy, sizeof copy, "%s", path);
	snprintf(out, PATH_MAX, "%s", dirname(copy));
}

char *making_path(const char *path)
{
	char dir[PATH_MAX], copy[PATH_MAX];
	directory_of(path, dir);
	snprintf(copy, sizeof copy, "%s", path);
	return xprintf("%s/.%s.making", dir, basename(copy));
}

/* Type of the mount of a device; lines of mountinfo are "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS - TYPE SOURCE ...". */
static const char *mount_type(dev_t dev)
{
	static char type[64];
	char line[4096], want[64];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	snprintf(want, sizeof want, "%u:%u", major(dev), minor(dev));
	type[0] = 0;
	while (f && fgets(line, sizeof line, f)) {
		char device[64];
		const char *dash = strstr(line, " - ");
		if (dash && sscanf(line, "%*d %*d %63s", device) == 1 && !strcmp(device, want))
			sscanf(dash + 3, "%63s", type);
	}
	if (f)
		fclose(f);
	return type;
}

const char *network_name(const char *path)
{
	struct statfs fs;
	struct stat st;
	char dir[PATH_MAX];
	if (stat(path, &st) || statfs(path, &fs)) {
		directory_of(path, dir);
		if (stat(dir, &st) || statfs(dir, &fs))
			return NULL; /* opening it reports the error */
	}
	for (size_t i = 0; i < sizeof network / sizeof *network; i++)
		if ((uint32_t)fs.f_type == network[i].type)
			return network[i].name;
	const char *type = (uint32_t)fs.f_type == FUSE ? mount_type(st.st_dev) : "";
	for (size_t i = 0; i < sizeof remote_fuse / sizeof *remote_fuse; i++)
		if (!strcmp(type, remote_fuse[i]))
			return remote_fuse[i] + 5;
	return NULL;
}

void sync_directory(const char *path)
{
	char dir[PATH_MAX];
	directory_of(path, dir);
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

void make_parents(const char *path)
{
	char *copy = xstrdup(path);
	for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		if (mkdir(copy, 0777) && errno != EEXIST)
			die_errno(EX_IO, "knowledge base: %s", copy);
		*p = '/';
	}
	free(copy);
}

/* Is the open file still the one of that name? */
static bool is_at(int fd, const char *path)
{
	struct stat a, b;
	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool lock(int fd, int how)
{
	int rc;
	while ((rc = flock(fd, how)) && errno == EINTR)
		;
	return rc == 0;
}

/* Removes a file that was left behind. false: errno says why it cannot, or it is not a file. */
static bool remove_unlocked(const char *path, int how)
{
	struct stat st;
	int error = EEXIST, fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT;
	bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	bool gone = is_file && lock(fd, how) && (!is_at(fd, path) || unlink(path) == 0 || errno == ENOENT);
	if (is_file)
		error = errno;
	close(fd);
	errno = error;
	return gone;
}

/* Another process may remove the file before it is locked here; then once more. */
int make_locked(const char *path)
{
	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && (errno != EEXIST || !remove_unlocked(path, LOCK_EX)))
			return -1;
		if (fd < 0)
			continue;
		bool locked = lock(fd, LOCK_EX);
		int error = errno;
		if (locked && is_at(fd, path))
			return fd;
		close(fd);
		errno = error;
		if (!locked)
			return -1;
	}
}

void remove_stale(const char *path) { remove_unlocked(path, LOCK_EX | LOCK_NB); }

const char *custom_path(struct arena *a)
{
	const char *env;
	if ((env = getenv("XDG_DATA_HOME")) && *env == '/')
		return arena_printf(a, "%s/hone/kb", env);
	if ((env = getenv("HOME")) && *env)
		return arena_printf(a, "%s/.local/share/hone/kb", env);
	return NULL;
}

/* The tools are in PREFIX/libexec/hone. */
const char *builtin_path(struct arena *a)
{
	char exe[PATH_MAX], dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (n <= 0)
		return NULL;
	exe[n] = 0;
	directory_of(exe, dir);
	return arena_printf(a, "%s/../../share/hone/kb", dir);
}
