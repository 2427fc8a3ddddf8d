#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/memory.h"
#include "common/msg.h"

struct arena_block {
	struct arena_block *next;
	size_t size; /* with this head */
	_Alignas(16) char data[];
};

enum { BLOCK_MIN = 1 << 10, BLOCK_MAX = 4 << 20 };

static noreturn void no_memory(size_t n) { die(EX_SYSTEM, "out of memory (%zu bytes wanted)", n); }

/* ---- what all arenas may have ---- */

enum { SURE = 64 << 20, SLACK = 1 << 20 }; /* so much is given without a question; and beyond the bound, to say so */

__thread void (*arena_beyond)(const char *why);
static size_t held, bound; /* bound 0: not known yet */
static const char *raise_by = "HONE_MEMORY=SIZE allows more";

void arena_limit(size_t bytes, const char *by)
{
	bound = bytes ? bytes : 1;
	raise_by = by;
}

size_t arena_held(void) { return __atomic_load_n(&held, __ATOMIC_RELAXED); }

static size_t find_bound(void)
{
	const char *said = getenv("HONE_MEMORY");
	size_t n;

	if (said && !memory_size(said, &n))
		die(EX_BADUSE, "HONE_MEMORY=%s: write a number of bytes, with K, M or G behind it if you like", said);
	n = said ? n : memory_free() / 4 * 3;
	return n > SURE ? n : SURE;
}

static noreturn void beyond(size_t n, const char *limit)
{
	char why[240];

	snprintf(why, sizeof why, "out of memory: %s more than the %s in use %s; %s", memory_text(n), memory_text(held), limit, raise_by);
	if (arena_beyond)
		arena_beyond(why);
	die(EX_SYSTEM, "%s", why);
}

static void take(size_t n)
{
	size_t all = __atomic_add_fetch(&held, n, __ATOMIC_RELAXED), most = __atomic_load_n(&bound, __ATOMIC_RELAXED);
	char limit[64];

	if (all <= (most ? most : SURE))
		return;
	if (!most)
		__atomic_store_n(&bound, most = find_bound(), __ATOMIC_RELAXED);
	if (all <= most || (n <= 2 * BLOCK_MIN && all <= most + SLACK))
		return;
	__atomic_sub_fetch(&held, n, __ATOMIC_RELAXED);
	snprintf(limit, sizeof limit, "are beyond the limit of %s", memory_text(most));
	beyond(n, limit);
}

static struct arena_block *block_new(size_t n)
{
	struct arena_block *b;

	if (n > SIZE_MAX / 2)
		beyond(n, "cannot be");
	take(n += sizeof *b);
	b = calloc(1, n);
	if (!b) {
		__atomic_sub_fetch(&held, n, __ATOMIC_RELAXED);
		beyond(n, "are not to be had");
	}
	b->size = n;
	return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
	size_t free_bytes = (size_t)(a->end - a->p);
	if (a->p && n <= free_bytes) {
		char *p = a->p;
		size_t step = (n + 15) & ~(size_t)15;
		a->p += step < free_bytes ? step : free_bytes;
		return p;
	}
	if (n > BLOCK_MAX / 4) { /* a block of its own, behind the one that still has room */
		struct arena_block *b = block_new(n);
		if (a->head) {
			b->next = a->head->next;
			a->head->next = b;
		} else {
			a->head = b;
		}
		return b->data;
	}
	/* Each four times the last: clearing it costs more than what is in it, where little is. */
	size_t size = a->p ? 4 * (size_t)(a->end - a->head->data) : BLOCK_MIN;
	while (size < n)
		size *= 4;
	size = size < BLOCK_MAX ? size : BLOCK_MAX;
	struct arena_block *b = block_new(size);
	b->next = a->head;
	a->head = b;
	a->p = b->data;
	a->end = b->data + size;
	return arena_alloc(a, n);
}

void *arena_copy(struct arena *a, const void *src, size_t n)
{
	void *p = arena_alloc(a, n);
	if (n)
		memcpy(p, src, n);
	return p;
}

char *arena_str(struct arena *a, const char *s) { return arena_copy(a, s, strlen(s) + 1); }

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format '%s'", fmt);
	char *p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_release(struct arena *a)
{
	for (struct arena_block *b = a->head, *next; b; b = next) {
		next = b->next;
		__atomic_sub_fetch(&held, b->size, __ATOMIC_RELAXED);
		free(b);
	}
	*a = (struct arena){0};
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		no_memory(n);
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);
	if (!p)
		no_memory(n * size);
	return p;
}

void *xrealloc(void *old, size_t n)
{
	void *p = realloc(old, n ? n : 1);
	if (!p)
		no_memory(n);
	return p;
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(xmalloc(n), s, n);
}

char *xprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;
	va_start(ap, fmt);
	int n = vasprintf(&p, fmt, ap);
	va_end(ap);
	if (n < 0)
		no_memory(strlen(fmt));
	return p;
}
