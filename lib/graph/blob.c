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
#include "graph/blob.h"

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

static void make_dir(void)
{
	char *path = xstrdup(blob_dir());
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

static void entry_path(char out[PATH_SIZE], struct digest d, const char *suffix)
{
	char hex[33];
	digest_hex(d, hex);
	if (snprintf(out, PATH_SIZE, "%s/%s%s", blob_dir(), hex, suffix) >= PATH_SIZE)
		die(EX_SYSTEM, "blob store: path too long");
}

/* Writes the pieces to a temporary and renames it: an entry is whole or not there. */
static void put_file(const char *path, int n, const void *const *p, const size_t *len)
{
	char tmp[PATH_SIZE];
	snprintf(tmp, sizeof tmp, "%s/.tmp.XXXXXX", blob_dir());
	int fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		make_dir();
		snprintf(tmp, sizeof tmp, "%s/.tmp.XXXXXX", blob_dir());
		fd = mkostemp(tmp, O_CLOEXEC);
	}
	if (fd < 0)
		die_errno(EX_IO, "blob store: %s", tmp);
	bool good = true;
	for (int i = 0; i < n && good; i++) {
		for (size_t done = 0; done < len[i] && good;) {
			ssize_t w = write(fd, (const char *)p[i] + done, len[i] - done);
			if (w > 0)
				done += (size_t)w;
			else if (w == 0 || errno != EINTR)
				good = false;
		}
	}
	good = good && fchmod(fd, 0444) == 0;
	good = close(fd) == 0 && good;
	if (!good || rename(tmp, path)) {
		int error = errno;
		unlink(tmp);
		errno = error;
		die_errno(EX_IO, "blob store: %s", path);
	}
}

/* A reference entry: two lines of numbers, then the path as it is. */
struct ref {
	uint64_t offset, length, size;
	int64_t sec, nsec;
	char path[PATH_MAX];
};

static bool ref_read(struct digest d, struct ref *r)
{
	char name[PATH_SIZE], buf[PATH_MAX + 256];
	int used = 0;
	entry_path(name, d, ".ref");
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, buf, sizeof buf - 1);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = 0;
	if (sscanf(buf,
		   "hone-ref 1\n%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 ".%" SCNd64 "%n",
		   &r->offset, &r->length, &r->size, &r->sec, &r->nsec, &used) != 5 ||
	    buf[used] != '\n')
		return false;
	size_t len = (size_t)n - (size_t)used - 1;
	if (len == 0 || len >= sizeof r->path)
		return false;
	memcpy(r->path, buf + used + 1, len + 1);
	return true;
}

static bool ref_fits(const struct ref *r, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (uint64_t)st->st_size == r->size &&
	       st->st_mtim.tv_sec == r->sec && st->st_mtim.tv_nsec == r->nsec &&
	       r->offset <= r->size && r->length <= r->size - r->offset;
}

bool blob_has(struct digest d, size_t n)
{
	char path[PATH_SIZE];
	struct stat st;
	struct ref r;
	entry_path(path, d, "");
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == n)
		return true;
	return ref_read(d, &r) && r.length == n && stat(r.path, &st) == 0 && ref_fits(&r, &st);
}

void blob_put_known(struct digest d, const void *p, size_t n)
{
	char path[PATH_SIZE];
	if (blob_has(d, n))
		return;
	entry_path(path, d, "");
	put_file(path, 1, &p, &n);
}

struct digest blob_put(const void *p, size_t n)
{
	struct digest d = digest_bytes(p, n);
	blob_put_known(d, p, n);
	return d;
}

void blob_put_ref(struct digest d, const char *path, uint64_t offset, size_t n)
{
	char name[PATH_SIZE], full[PATH_MAX], head[256];
	struct stat st;
	if (blob_has(d, n))
		return;
	if (!realpath(path, full) || stat(full, &st))
		die_errno(EX_NOIN, "%s", path);
	snprintf(head, sizeof head, "hone-ref 1\n%" PRIu64 " %zu %" PRIu64 " %" PRId64 ".%09ld\n",
		 offset, n, (uint64_t)st.st_size, (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
	entry_path(name, d, ".ref");
	put_file(name, 2, (const void *[]){head, full}, (size_t[]){strlen(head), strlen(full)});
}

/* Files that entries refer to, mapped once each. */
struct target {
	struct target *next;
	char *path;
	const char *p;
	struct stat st;
	bool mapped;
};

static struct target *target_get(const char *path)
{
	static struct target *targets;
	struct target *t = targets;
	while (t && strcmp(t->path, path))
		t = t->next;
	if (t)
		return t;
	t = ARENA_NEW(&arena, struct target);
	t->path = arena_str(&arena, path);
	t->next = targets;
	targets = t;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return t;
	if (fstat(fd, &t->st) == 0 && S_ISREG(t->st.st_mode) && t->st.st_size > 0) {
		void *p = mmap(NULL, (size_t)t->st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		t->mapped = p != MAP_FAILED;
		t->p = p;
	}
	close(fd);
	return t;
}

static const void *map_ref(struct digest d, size_t n, const char **why)
{
	struct ref r;
	if (!ref_read(d, &r))
		return NULL;
	struct target *t = target_get(r.path);
	*why = arena_printf(&arena, "%s: %s", r.path,
			    t->mapped ? "has changed since it was imported" : "cannot be read");
	if (!t->mapped || r.length != n || !ref_fits(&r, &t->st))
		return NULL;
	*why = NULL;
	if ((r.offset & 7) == 0)
		return t->p + r.offset;
	return arena_copy(&arena, t->p + r.offset, n);
}

static const void *map_file(struct digest d, size_t n, const char **why)
{
	char path[PATH_SIZE];
	struct stat st;
	const void *p = NULL;
	entry_path(path, d, "");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != n) {
		*why = arena_printf(&arena, "%s: not %zu bytes long", path, n);
	} else if (n >= MAP_LEAST) {
		void *q = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
		p = q == MAP_FAILED ? NULL : q;
	} else {
		char *q = arena_alloc(&arena, n);
		size_t done = 0;
		ssize_t got;
		while (done < n && (got = read(fd, q + done, n - done)) > 0)
			done += (size_t)got;
		p = done == n ? q : NULL;
	}
	close(fd);
	if (!p && !*why)
		*why = arena_printf(&arena, "%s: cannot be read", path);
	return p;
}

const void *blob_map(struct digest d, size_t n, bool verify, const char **why)
{
	*why = NULL;
	if (n == 0)
		return arena_alloc(&arena, 1);
	const void *p = map_file(d, n, why);
	if (!p)
		p = map_ref(d, n, why);
	if (!p && !*why)
		*why = "not there";
	if (p && verify && !digest_eq(digest_bytes(p, n), d)) {
		char hex[33];
		digest_hex(d, hex);
		*why = arena_printf(&arena, "%s/%s: its bytes have changed", blob_dir(), hex);
		return NULL;
	}
	return p;
}

void blob_each(void (*f)(const struct blob_entry *e, void *arg), void *arg)
{
	DIR *dir = opendir(blob_dir());
	if (!dir && errno == ENOENT)
		return;
	if (!dir)
		die_errno(EX_IO, "blob store: %s", blob_dir());
	for (struct dirent *de; (de = readdir(dir));) {
		struct blob_entry e = {.name = de->d_name};
		struct stat st;
		size_t n = strlen(de->d_name);
		if (fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		e.bytes = (uint64_t)st.st_size;
		e.temporary = !strncmp(de->d_name, ".tmp.", 5);
		if (e.temporary && time(NULL) - st.st_mtime < TEMPORARY_SECONDS)
			continue;
		if (n > 4 && !strcmp(de->d_name + n - 4, ".ref"))
			n -= 4;
		if (!e.temporary && !digest_parse(de->d_name, n, &e.digest))
			continue; /* not ours */
		f(&e, arg);
	}
	closedir(dir);
}

void blob_remove(const char *name)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", blob_dir(), name);
	if (unlink(path) && errno != ENOENT)
		die_errno(EX_IO, "blob store: %s", path);
}
