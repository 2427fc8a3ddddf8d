#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/textfile.h"
#include "common/vec.h"
#include "common/whole.h"
#include "graph/refs.h"

/* Below this a second thread costs more than it hashes. */
enum { THREAD_LEAST = 4 << 20 };
/* A file that changes right after it was digested may keep its time: clocks of file systems are
 * coarse. */
enum { SETTLED_SECONDS = 2 };

/* Where pieces of one file, as it was at one time, were found to have which digests. */
struct index {
	char name[REF_NAME + 1];
	struct timespec written;
	bool read, good; /* good: it was read and makes sense */
	uint64_t size;
	struct timespec mtime;
	const char *path;
	size_t n;
	struct blob_ref *a; /* sorted by digest */
	const char *p;      /* the file, once it was needed */
};

static struct arena arena;      /* what lives as long as the process */
static VEC(struct index *) all; /* those in the store, newest first */
static bool listed;

static bool same_time(struct timespec a, struct timespec b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

static int by_age(const void *a, const void *b)
{
	const struct index *x = *(struct index *const *)a, *y = *(struct index *const *)b;
	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? 1 : -1;
	if (x->written.tv_nsec != y->written.tv_nsec)
		return x->written.tv_nsec < y->written.tv_nsec ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int by_digest(const void *a, const void *b)
{
	const struct blob_ref *x = a, *y = b;
	int c = digest_cmp(x->digest, y->digest);
	return c ? c : x->length != y->length ? (x->length < y->length ? -1 : 1) : x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int by_place(const void *a, const void *b)
{
	const struct blob_ref *x = a, *y = b;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->length < y->length ? -1 : x->length > y->length;
}

static bool is_name(const char *s)
{
	struct digest d;
	return strlen(s) == REF_NAME && strspn(s, "0123456789abcdef") == 16 && s[16] == '-' && digest_parse(s + 17, 32, &d);
}

static void list(void)
{
	if (listed)
		return;
	listed = true;
	DIR *dir = opendir(arena_printf(&arena, "%s/refs", blob_dir()));
	if (!dir && errno != ENOENT && errno != ENOTDIR)
		die_errno(EX_IO, "blob store: %s/refs", blob_dir());
	for (struct dirent *de; dir && (de = readdir(dir));) {
		struct stat st;
		if (!is_name(de->d_name) || fstatat(dirfd(dir), de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		struct index *x = ARENA_NEW(&arena, struct index);
		strcpy(x->name, de->d_name);
		x->written = st.st_mtim;
		vec_push(&all, x);
	}
	if (dir)
		closedir(dir);
	if (all.n)
		qsort(all.a, all.n, sizeof *all.a, by_age);
}

static char *file_text(const char *path, size_t *n)
{
	struct stat st;
	char *s = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size < INT32_MAX) {
		s = arena_alloc(&arena, (size_t)st.st_size + 1);
		if (!read_whole(fd, s, (size_t)st.st_size))
			s = NULL;
		*n = (size_t)st.st_size;
	}
	if (fd >= 0)
		close(fd);
	return s;
}

/* "hone-refs 1", then size, time and count; a line for each piece; the path up to the end. */
static bool parse(struct index *x, const char *s, size_t size)
{
	int used = 0;
	int64_t sec, nsec;
	if (sscanf(s, "hone-refs 1\n%" SCNu64 " %" SCNd64 ".%9" SCNd64 " %zu%n", &x->size, &sec, &nsec, &x->n, &used) != 4 ||
	    s[used] != '\n' || x->n > size / 36)
		return false;
	x->mtime = (struct timespec){sec, nsec};
	x->a = ARENA_ARRAY(&arena, struct blob_ref, x->n);
	s += used + 1;
	for (size_t i = 0; i < x->n; i++) {
		struct blob_ref *r = &x->a[i];
		char *end;
		if (strnlen(s, 33) < 33 || !digest_parse(s, 32, &r->digest) || s[32] != ' ')
			return false;
		r->offset = strtoull(s + 33, &end, 10);
		r->length = strtoull(end, &end, 10);
		if (*end != '\n' || r->offset > x->size || r->length > x->size - r->offset || (i && by_digest(r - 1, r) > 0))
			return false;
		s = end + 1;
	}
	x->path = s;
	return *s;
}

static bool load(struct index *x)
{
	size_t n = 0;
	if (x->read)
		return x->good;
	x->read = true;
	const char *s = file_text(arena_printf(&arena, "%s/refs/%s", blob_dir(), x->name), &n);
	return x->good = s && parse(x, s, n);
}

static bool as_it_was(const struct index *x, const struct stat *st)
{
	return S_ISREG(st->st_mode) && (uint64_t)st->st_size == x->size && same_time(st->st_mtim, x->mtime);
}

/* Is the file still as it was? Then it is mapped, once. */
static bool holds(struct index *x)
{
	struct stat st;
	if (stat(x->path, &st) || !as_it_was(x, &st) || !x->size)
		return false;
	if (x->p)
		return true;
	int fd = open(x->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0 && fstat(fd, &st) == 0 && as_it_was(x, &st)) {
		void *p = mmap(NULL, x->size, PROT_READ, MAP_PRIVATE, fd, 0);
		x->p = p == MAP_FAILED ? NULL : p;
		if (x->p)
			mapping_add(x->p, x->size, x->path);
	}
	if (fd >= 0)
		close(fd);
	return x->p;
}

static const struct blob_ref *in_index(const struct index *x, struct digest d, size_t n)
{
	size_t lo = 0, hi = x->n;
	struct blob_ref want = {.digest = d, .length = n};
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (by_digest(&x->a[mid], &want) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->n && digest_eq(x->a[lo].digest, d) && x->a[lo].length == n ? &x->a[lo] : NULL;
}

/* The first that holds; else NULL, and the index of one that does not. */
static const struct blob_ref *find(struct digest d, size_t n, struct index **in)
{
	*in = NULL;
	list();
	for (size_t i = 0; i < all.n; i++) {
		const struct blob_ref *r = load(all.a[i]) ? in_index(all.a[i], d, n) : NULL;
		if (r)
			*in = all.a[i];
		if (r && holds(all.a[i]))
			return r;
	}
	return NULL;
}

bool refs_has(struct digest d, size_t n)
{
	struct index *in;
	return find(d, n, &in);
}

const void *refs_map(struct digest d, size_t n, const char **why)
{
	struct index *x;
	const struct blob_ref *r = find(d, n, &x);
	if (!r && x)
		*why = arena_printf(&arena, "%s: %s", x->path,
				    access(x->path, R_OK) ? "cannot be read" : "has changed since it was imported");
	return r ? x->p + r->offset : NULL;
}

void refs_each(void (*f)(const char *name, uint64_t bytes, int n, const struct digest *d, void *arg), void *arg)
{
	list();
	for (size_t i = 0; i < all.n; i++) {
		struct index *x = all.a[i];
		struct stat st;
		struct digest *d = NULL;
		if (stat(arena_printf(&arena, "%s/refs/%s", blob_dir(), x->name), &st))
			continue;
		if (load(x))
			d = ARENA_ARRAY(&arena, struct digest, x->n);
		for (size_t k = 0; d && k < x->n; k++)
			d[k] = x->a[k].digest;
		f(x->name, (uint64_t)st.st_size, d ? (int)x->n : 0, d, arg);
	}
}

/* ---- putting ---- */

struct hashing {
	const char *base;
	struct blob_ref **todo; /* largest first */
	size_t n;
	atomic_size_t next;
};

static void *hash_some(void *arg)
{
	struct hashing *h = arg;
	for (size_t i; (i = atomic_fetch_add(&h->next, 1)) < h->n;)
		h->todo[i]->digest = digest_bytes(h->base + h->todo[i]->offset, h->todo[i]->length);
	return NULL;
}

static int by_length(const void *a, const void *b)
{
	const struct blob_ref *x = *(struct blob_ref *const *)a, *y = *(struct blob_ref *const *)b;
	return x->length > y->length ? -1 : x->length < y->length;
}

static void hash_all(struct hashing *h)
{
	uint64_t bytes = 0;
	cpu_set_t cpus;
	pthread_t other;
	for (size_t i = 0; i < h->n; i++)
		bytes += h->todo[i]->length;
	bool two = bytes >= THREAD_LEAST && h->n > 1 && sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) > 1;
	if (two)
		qsort(h->todo, h->n, sizeof *h->todo, by_length);
	two = two && pthread_create(&other, NULL, hash_some, h) == 0;
	hash_some(h);
	if (two)
		pthread_join(other, NULL);
}

/* The digests that an index has for the same pieces of the same file. */
static void recall(struct index *x, size_t n, struct blob_ref *r, bool *known)
{
	struct blob_ref *a = arena_copy(&arena, x->a, x->n * sizeof *a);
	qsort(a, x->n, sizeof *a, by_place);
	for (size_t i = 0; i < n; i++) {
		const struct blob_ref *old = bsearch(&r[i], a, x->n, sizeof *a, by_place);
		if (old)
			r[i].digest = old->digest;
		known[i] |= old != NULL;
	}
}

static bool applies(struct index *x, const char *path, const struct stat *st)
{
	return load(x) && x->n && as_it_was(x, st) && !strcmp(x->path, path) && x->written.tv_sec > x->mtime.tv_sec + SETTLED_SECONDS;
}

static void write_index(uint64_t path_hash, const char *path, const struct stat *st, size_t n, const struct blob_ref *r, bool again)
{
	char *text = NULL, hex[33];
	size_t size;
	struct blob_ref *a = arena_copy(&arena, r, n * sizeof *a);
	FILE *f = textfile_open(&text, &size);
	qsort(a, n, sizeof *a, by_digest);
	fprintf(f, "hone-refs 1\n%" PRIu64 " %" PRId64 ".%09ld %zu\n", (uint64_t)st->st_size, (int64_t)st->st_mtim.tv_sec,
		st->st_mtim.tv_nsec, n);
	for (size_t i = 0; i < n; i++) {
		digest_hex(a[i].digest, hex);
		fprintf(f, "%s %" PRIu64 " %" PRIu64 "\n", hex, a[i].offset, a[i].length);
	}
	fputs(path, f);
	textfile_close(f);
	struct index *x = ARENA_NEW(&arena, struct index);
	digest_hex(digest_bytes(text, size), hex);
	snprintf(x->name, sizeof x->name, "%016" PRIx64 "-%s", path_hash, hex);
	const char *name = arena_printf(&arena, "refs/%s", x->name);
	if (again || access(arena_printf(&arena, "%s/%s", blob_dir(), name), F_OK))
		blob_write(name, 1, (const void *[]){text}, &size);
	x->read = true;
	x->good = parse(x, arena_copy(&arena, text, size + 1), size);
	free(text);
	vec_push(&all, x); /* and first */
	memmove(all.a + 1, all.a, (all.n - 1) * sizeof *all.a);
	all.a[0] = x;
}

void blob_refer(const char *path, const void *base, size_t n, struct blob_ref *r)
{
	char full[PATH_MAX];
	struct stat st;
	if (n == 0)
		return;
	if (!realpath(path, full) || stat(full, &st))
		die_errno(EX_NOIN, "%s", path);
	bool *known = ARENA_ARRAY(&arena, bool, n);
	struct hashing h = {.base = base, .todo = ARENA_ARRAY(&arena, struct blob_ref *, n)};
	uint64_t hash = hash64(full, strlen(full), 0);
	list();
	for (size_t i = 0; i < all.n; i++)
		if (strtoull(all.a[i]->name, NULL, 16) == hash && applies(all.a[i], full, &st))
			recall(all.a[i], n, r, known);
	for (size_t i = 0; i < n; i++)
		if (!known[i])
			h.todo[h.n++] = &r[i];
	if (h.n)
		hash_all(&h);
	write_index(hash, full, &st, n, r, h.n > 0);
}

void blob_forget(struct digest d)
{
	list();
	for (size_t i = 0; i < all.n; i++)
		for (size_t k = 0; load(all.a[i]) && k < all.a[i]->n; k++)
			if (digest_eq(all.a[i]->a[k].digest, d)) {
				unlink(arena_printf(&arena, "%s/refs/%s", blob_dir(), all.a[i]->name));
				break;
			}
}
