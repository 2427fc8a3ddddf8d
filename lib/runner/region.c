#define _GNU_SOURCE
#include "runner/region.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LARGE = 2 << 20, ALIGN = 64, STRIDE = 13 * ALIGN, HELD_MAX = 15 };

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

int regions_add(struct regions *g, uint64_t bytes, enum region_kind kind)
{
	bool operand = kind != REGION_RESULT;
	struct region r = {.bytes = bytes,
			   .mapped = up(bytes, PAGE) + PAGE,
			   .at = g->size[operand],
			   .operand = operand,
			   .moves = kind != REGION_CONSTANT,
			   .file = -1};

	g->size[operand] += r.mapped;
	g->reserved += r.mapped + PAGE;
	vec_push(&g->r, r);
	return (int)g->r.n - 1;
}

int regions_add_file(struct regions *g, int fd, uint64_t bytes)
{
	struct region r = {.bytes = bytes, .mapped = up(bytes, PAGE), .operand = true, .file = fd};

	g->reserved += r.mapped + PAGE;
	vec_push(&g->r, r);
	return (int)g->r.n - 1;
}

/* Address space for what is timed elsewhere. */
static bool reserve_arena(struct regions *g)
{
	uint64_t size = 0;

	for (size_t i = 0; i < g->r.n; i++)
		size += g->r.a[i].moves ? g->r.a[i].mapped : 0;
	g->arena_size = up(size, LARGE);
	g->arena_reserve = mmap(NULL, g->arena_size + 2 * LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g->arena_reserve == MAP_FAILED)
		return false;
	g->arena = (char *)up((uint64_t)(uintptr_t)g->arena_reserve + PAGE, LARGE);
	char *p = g->arena;
	for (size_t i = 0; i < g->r.n; i++)
		if (g->r.a[i].moves) {
			g->r.a[i].timed = p;
			p += g->r.a[i].mapped;
		}
	return true;
}

const char *regions_open(struct regions *g)
{
	g->reserved += PAGE;
	g->reserve = mmap(NULL, g->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g->reserve == MAP_FAILED || !reserve_arena(g))
		return "no address space for the buffers";
	char *p = g->reserve + PAGE;
	for (size_t i = 0; i < g->r.n; i++) {
		g->r.a[i].theirs = p;
		p += g->r.a[i].mapped + PAGE;
	}
	for (int k = 0; k < 2; k++) {
		g->fd[k] = memfd_create("buffers", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (g->fd[k] < 0 || ftruncate(g->fd[k], (off_t)g->size[k]))
			return "no memory for the buffers";
	}
	return NULL;
}

/* Has the system give large pages to what is not touched yet, where it has them. */
static void take_large(char *p, uint64_t bytes)
{
	if (!bytes)
		return;
	madvise(p, bytes, MADV_HUGEPAGE);
	for (char *at = p; at < p + bytes; at += LARGE)
		*(volatile char *)at = 0;
}

/* The system hands a process the large pages that the one before it gave back. What these pages do to a kernel, by the cache sets they share,
 * would repeat from process to process and look like a property of the kernel (doc/runner.md). So some large pages are held
 * while the arena gets its own. */
static bool populate_arena(struct regions *g, uint64_t random)
{
	uint64_t held = random % (HELD_MAX + 1) * LARGE;
	char *reserve = held ? mmap(NULL, held + LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : NULL;

	if (reserve == MAP_FAILED || mprotect(g->arena, g->arena_size, PROT_READ | PROT_WRITE))
		return false;
	take_large((char *)up((uint64_t)(uintptr_t)reserve, LARGE), held);
	take_large(g->arena, g->arena_size);
	return !reserve || !munmap(reserve, held + LARGE);
}

const char *regions_map_theirs(struct regions *g, uint64_t random)
{
	for (size_t i = 0; i < g->r.n; i++) {
		struct region *r = &g->r.a[i];
		bool ours = r->file < 0;
		if (mmap(r->theirs, r->mapped, r->operand ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | (ours ? 0 : MAP_POPULATE), ours ? g->fd[r->operand] : r->file,
			 (off_t)r->at) == MAP_FAILED)
			return "mmap of a buffer";
	}
	return populate_arena(g, random) ? NULL : "memory for buffers that are timed";
}

void regions_to_timed(const struct regions *g, bool operands)
{
	for (size_t i = 0; i < g->r.n; i++)
		if (g->r.a[i].moves && g->r.a[i].operand == operands)
			memcpy(g->r.a[i].timed, g->r.a[i].theirs, g->r.a[i].mapped);
}

void regions_from_timed(const struct regions *g)
{
	for (size_t i = 0; i < g->r.n; i++)
		if (g->r.a[i].moves && !g->r.a[i].operand)
			memcpy(g->r.a[i].theirs, g->r.a[i].timed, g->r.a[i].mapped);
}

const char *regions_map_ours(struct regions *g)
{
	for (int k = 0; k < 2; k++) {
		if (!g->size[k])
			continue;
		char *p = mmap(NULL, g->size[k], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, g->fd[k], 0);
		if (p == MAP_FAILED)
			return "mmap of the buffers";
		g->ours[k] = p;
		for (size_t i = 0; i < g->r.n; i++)
			if (g->r.a[i].operand == k && g->r.a[i].file < 0)
				g->r.a[i].ours = p + g->r.a[i].at;
	}
	return NULL;
}

void regions_close(struct regions *g)
{
	vec_free(&g->r);
	if (g->reserve && g->reserve != MAP_FAILED)
		munmap(g->reserve, g->reserved);
	if (g->arena_reserve && g->arena_reserve != MAP_FAILED)
		munmap(g->arena_reserve, g->arena_size + 2 * LARGE);
	for (int k = 0; k < 2; k++) {
		if (g->ours[k])
			munmap(g->ours[k], g->size[k]);
		if (g->fd[k] > 0)
			close(g->fd[k]);
	}
}

uint64_t region_offset(const struct regions *g, int i, enum place p)
{
	const struct region *r = &g->r.a[i];

	switch (p) {
	case PLACE_END: return r->mapped - up(r->bytes, ALIGN);
	case PLACE_TIMED: return (uint64_t)i * STRIDE % PAGE;
	default: return 0;
	}
}

/* As floats 3e38, -3e38 and so on, which is seen in any sum, maximum or minimum; from a word's begin on. */
static const unsigned char pattern[8] = {0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0xff};

static void paint(unsigned char *p, size_t from, size_t to)
{
	for (; from < to && from % sizeof pattern; from++)
		p[from] = pattern[from % sizeof pattern];
	for (; from + sizeof pattern <= to; from += sizeof pattern)
		memcpy(p + from, pattern, sizeof pattern);
	for (; from < to; from++)
		p[from] = pattern[from % sizeof pattern];
}

void region_paint(const struct regions *g, int i, enum place p)
{
	const struct region *r = &g->r.a[i];
	uint64_t from = region_offset(g, i, p), to = from + r->bytes;

	paint((unsigned char *)r->ours, 0, from);
	paint((unsigned char *)r->ours, to, r->mapped);
}

/* Else *at is the first that is not. */
static bool painted(const unsigned char *p, size_t from, size_t to, size_t *at)
{
	for (*at = from; *at < to; ++*at) {
		while (*at % sizeof pattern == 0 && *at + sizeof pattern < to && !memcmp(p + *at, pattern, sizeof pattern))
			*at += sizeof pattern;
		if (p[*at] != pattern[*at % sizeof pattern])
			return false;
	}
	return true;
}

bool region_intact(const struct regions *g, int i, enum place p, int64_t *where)
{
	const struct region *r = &g->r.a[i];
	uint64_t from = region_offset(g, i, p), to = from + r->bytes;
	const unsigned char *ours = (const unsigned char *)r->ours;
	size_t at;

	if (painted(ours, 0, from, &at) && painted(ours, to, r->mapped, &at))
		return true;
	*where = (int64_t)at - (int64_t)from;
	return false;
}
