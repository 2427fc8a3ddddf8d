#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/msg.h"

struct arena_block {
	struct arena_block *next;
	_Alignas(16) char data[];
};

enum { BLOCK_MIN = 1 << 10, BLOCK_MAX = 4 << 20 };

static noreturn void no_memory(size_t n)
{
	die(EX_SYSTEM, "out of memory (%zu bytes wanted)", n);
}

static struct arena_block *block_new(size_t n)
{
	if (n > SIZE_MAX / 2)
		no_memory(n);
	struct arena_block *b = calloc(1, sizeof *b + n);
	if (!b)
		no_memory(n);
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

char *arena_str(struct arena *a, const char *s)
{
	return arena_copy(a, s, strlen(s) + 1);
}

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
