#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/whole.h"
#include "graph/refs.h"

/* Below this a blob is read, not mapped: a process has 65,530 mappings. */
enum { MAP_LEAST = 64 << 10 };
/* A temporary older than this was left by a process that was killed. */
enum { TEMPORARY_SECONDS = 3600 };

static struct arena arena; /* what lives as long as the process */

const char *blob_dir(void)
{
	static const char *dir;
	const char *env;
	if (dir)
		return dir;
	if ((env = getenv("HONE_BLOBS")) && *env)
		dir = arena_str(&arena, env);
	else if ((env = getenv("XDG_DATA_HOME")) && *env == '/')
		dir = arena_printf(&arena, "%s/hone/blobs", env);
	else if ((env = getenv("HOME")) && *env)
		dir = arena_printf(&arena, "%s/.local/share/hone/blobs", env);
	else
		die(EX_SYSTEM, "no place for the blob store; set HONE_BLOBS or HOME");
	return dir;
}

/* The directories above a file of the store. */
static void make_dirs(const char *file)
{
	char *path = xprintf("%.*s", (int)(strrchr(file, '/') - file), file);
	for (char *p = path + 1;; p++) {
		char c = *p;
		if (c && c != '/')
			continue;
		*p = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			die_errno(EX_IO, "blob store: %s", path);
		*p = c;
		if (!c)
			break;
	}
	free(path);
}

enum { PATH_SIZE = PATH_MAX + 64 };

static void entry_path(char out[PATH_SIZE], struct digest d)
{
	char hex[33];
	digest_hex(d, hex);
	if (snprintf(out, PATH_SIZE, "%s/%s", blob_dir(), hex) >= PATH_SIZE)
		die(EX_SYSTEM, "blob store: path too long");
}

static int temporary(char path[PATH_SIZE])
{
	if (snprintf(path, PATH_SIZE, "%s/.tmp.XXXXXX", blob_dir()) >= PATH_SIZE)
		die(EX_SYSTEM, "blob store: path too long");
	return mkostemp(path, O_CLOEXEC);
}

/* An entry is whole or not there. */
void blob_write(const char *name, int n, const void *const *p, const size_t *len)
{
	char tmp[PATH_SIZE], path[PATH_SIZE];
	int fd = temporary(tmp);
	if (fd < 0 && errno == ENOENT) {
		make_dirs(tmp);
		fd = temporary(tmp);
	}
	if (fd < 0)
		die_errno(EX_IO, "blob store: %s", tmp);
	bool good = snprintf(path, sizeof path, "%s/%s", blob_dir(), name) < (int)sizeof path;
	for (int i = 0; i < n && good; i++)
		good = write_whole(fd, p[i], len[i]);
	good = good && fchmod(fd, 0444) == 0;
	good = close(fd) == 0 && good;
	if (good && rename(tmp, path)) {
		if (errno == ENOENT) /* no directory refs yet */
			make_dirs(path);
		good = rename(tmp, path) == 0;
	}
	if (!good) {
		int error = errno;
		unlink(tmp);
		errno = error;
		die_errno(EX_IO, "blob store: %s", path);
	}
}

bool blob_has(struct digest d, size_t n)
{
	char path[PATH_SIZE];
	struct stat st;
	entry_path(path, d);
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == n)
		return true;
	return refs_has(d, n);
}

void blob_put_known(struct digest d, const void *p, size_t n)
{
	char hex[33];
	if (blob_has(d, n))
		return;
	digest_hex(d, hex);
	blob_write(hex, 1, &p, &n);
}

struct digest blob_put(const void *p, size_t n)
{
	struct digest d = digest_bytes(p, n);
	blob_put_known(d, p, n);
	return d;
}

static const void *map_file(struct digest d, size_t n, const char **why)
{
	char path[PATH_SIZE];
	struct stat st;
	const void *p = NULL;
	entry_path(path, d);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != n) {
		*why = arena_printf(&arena, "%s: not %zu bytes long", path, n);
	} else if (n >= MAP_LEAST) {
		void *q = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		p = q == MAP_FAILED ? NULL : q;
		if (p)
			mapping_add(p, n, arena_str(&arena, path));
	} else {
		char *q = arena_alloc(&arena, n);
		p = read_whole(fd, q, n) ? q : NULL;
	}
	close(fd);
	if (!p && !*why)
		*why = arena_printf(&arena, "%s: cannot be read", path);
	return p;
}

const void *blob_bytes(struct digest d, size_t n, const char **why)
{
	*why = NULL;
	if (n == 0)
		return arena_alloc(&arena, 1);
	const void *p = map_file(d, n, why);
	if (!p)
		p = refs_map(d, n, why);
	if (!p && !*why)
		*why = "not there";
	return p;
}

const void *blob_map(struct digest d, size_t n, bool verify, const char **why)
{
	const void *p = blob_bytes(d, n, why);
	if (p && (uintptr_t)p & 7)
		p = arena_copy(&arena, p, n);
	if (p && verify && !digest_eq(digest_bytes(p, n), d)) {
		char hex[33];
		digest_hex(d, hex);
		*why = arena_printf(&arena, "%s/%s: its bytes have changed", blob_dir(), hex);
		return NULL;
	}
	return p;
}

struct visit {
	void (*f)(const struct blob_entry *e, void *arg);
	void *arg;
};

static void visit_index(const char *name, uint64_t bytes, int n, const struct digest *d, void *arg)
{
	struct visit *v = arg;
	char *path = xprintf("refs/%s", name);
	v->f(&(struct blob_entry){.name = path, .n = n, .digest = d, .bytes = bytes}, v->arg);
	free(path);
}

void blob_each(void (*f)(const struct blob_entry *e, void *arg), void *arg)
{
	DIR *dir = opendir(blob_dir());
	if (!dir && errno == ENOENT)
		return;
	if (!dir)
		die_errno(EX_IO, "blob store: %s", blob_dir());
	for (struct dirent *de; (de = readdir(dir));) {
		struct digest d;
		struct blob_entry e = {.name = de->d_name, .digest = &d};
		struct stat st;
		if (fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		e.bytes = (uint64_t)st.st_size;
		e.n = digest_parse(de->d_name, strlen(de->d_name), &d);
		bool left = !strncmp(de->d_name, ".tmp.", 5) && time(NULL) - st.st_mtime >= TEMPORARY_SECONDS;
		if (e.n || left) /* others are not ours */
			f(&e, arg);
	}
	closedir(dir);
	refs_each(visit_index, &(struct visit){f, arg});
}

void blob_remove(const char *name)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", blob_dir(), name);
	if (unlink(path) && errno != ENOENT)
		die_errno(EX_IO, "blob store: %s", path);
}
