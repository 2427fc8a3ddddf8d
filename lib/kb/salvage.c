/* The records of a damaged file. The pages that lead to a record may be damaged too. So every page is read in the order of the file,
 * and text that matches its id is a record. Works without LMDB, and ends after the last page. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/msg.h"
#include "kb/ids.h"
#include "kb/page.h"
#include "kb/store.h"

enum {
	PSIZE_USUAL = 4096,
	WASTE = 64, /* bytes of long values that were read in vain, in units of the file's size: only a file made for it has more */
};

struct salvage {
	int fd;
	size_t psize;
	VEC(char) found, text; /* text: a long value */
	unsigned char *taken;  /* by first page: the long value there has been found */
	uint64_t pages, wasted;
	bool seen[PSIZE_MAX]; /* nodes of the page, by offset */
	unsigned char page[PSIZE_MAX];
};

/* Bytes that could be read; the others are 0. */
static size_t read_at(const struct salvage *s, uint64_t at, void *out, size_t n)
{
	size_t done = 0;
	while (done < n && at < INT64_MAX - n) {
		ssize_t got = pread(s->fd, (char *)out + done, n - done, (off_t)(at + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	memset((char *)out + done, 0, n - done);
	return done;
}

static size_t page_size(struct salvage *s)
{
	read_at(s, 0, s->page, META_END);
	size_t n = u32(s->page + META_DB);
	return n < PSIZE_MIN || n > PSIZE_MAX || n & (n - 1) ? PSIZE_USUAL : n;
}

static bool take_record(struct salvage *s, const unsigned char *key, const void *text, size_t n)
{
	struct store_found f = {of_key(key), n};
	if (!digest_eq(digest_bytes(text, n), f.id))
		return false;
	vec_reserve(&s->found, s->found.n + sizeof f + n);
	memcpy(s->found.a + s->found.n, &f, sizeof f);
	memcpy(s->found.a + s->found.n + sizeof f, text, n);
	s->found.n += sizeof f + n;
	return true;
}

/* Many nodes may point to one value of 16 MiB; it is read until it has proved to be a record. */
static void take_long(struct salvage *s, const unsigned char *key, uint64_t page, size_t n)
{
	if (page >= s->pages || s->taken[page] || s->wasted > WASTE * (s->pages * s->psize + KB_RECORD_MAX))
		return;
	vec_reserve(&s->text, n);
	if (read_at(s, page * s->psize + PAGE_HEAD, s->text.a, n) == n && take_record(s, key, s->text.a, n))
		s->taken[page] = true;
	else
		s->wasted += n;
}

static void take_node(struct salvage *s, size_t at)
{
	if (at < PAGE_HEAD || at + NODE_HEAD + 16 > s->psize || s->seen[at] || u16(s->page + at + 6) != 16)
		return;
	const unsigned char *node = s->page + at, *key = node + NODE_HEAD, *data = key + 16;
	size_t n = u16(node) | (size_t)u16(node + 2) << 16, room = s->psize - (size_t)(data - s->page);
	bool far = u16(node + 4) & F_BIGDATA;
	s->seen[at] = true;
	if (n == 0 || n > KB_RECORD_MAX || (far ? 8 : n) > room)
		return;
	if (far)
		take_long(s, key, u64(data), n);
	else
		take_record(s, key, data, n);
}

/* As many nodes as its head says or, if that cannot be, as many as a page can hold. */
static void take_page(struct salvage *s)
{
	size_t lower = u16(s->page + 12), upper = u16(s->page + 14);
	if (lower < PAGE_HEAD || lower & 1 || lower > upper || upper > s->psize)
		lower = s->psize;
	memset(s->seen, 0, sizeof s->seen);
	for (size_t i = PAGE_HEAD; i + 2 <= lower; i += 2)
		take_node(s, u16(s->page + i));
}

char *pages_salvage(const char *path, struct arena *a, size_t *n)
{
	struct salvage *s = xcalloc(1, sizeof *s);
	struct stat st;
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &st))
		die_errno(errno == EACCES ? EX_IO : EX_NOIN, "%s", path);
	if (!S_ISREG(st.st_mode))
		die(EX_NOIN, "%s: is not a file", path);
	s->psize = page_size(s);
	s->pages = (uint64_t)st.st_size / s->psize + 1;
	s->taken = xcalloc(s->pages, 1);
	for (uint64_t at = 0; at < (uint64_t)st.st_size; at += s->psize) {
		read_at(s, at, s->page, s->psize);
		take_page(s);
	}
	*n = s->found.n;
	char *found = arena_copy(a, s->found.a, s->found.n);
	vec_free(&s->found);
	vec_free(&s->text);
	free(s->taken);
	close(s->fd);
	free(s);
	return found;
}
