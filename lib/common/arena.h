/* Arena: memory that is given out bit by bit and dropped whole. */
#ifndef HONE_ARENA_H
#define HONE_ARENA_H
#include <stddef.h>
#include <stdint.h>

struct arena_block;
struct arena {
	struct arena_block *head; /* newest block first */
	char *p, *end;            /* free part of the newest block */
};

/* An arena of all zero bytes is empty and ready. Out of memory ends the process (71). */
void *arena_alloc(struct arena *a, size_t n);                 /* zeroed, 16-aligned */
void *arena_copy(struct arena *a, const void *src, size_t n); /* NULL and 0 give a valid pointer */
char *arena_str(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_release(struct arena *a);

#define ARENA_NEW(a, T)      ((T *)arena_alloc(a, sizeof(T)))
#define ARENA_ARRAY(a, T, n) ((T *)arena_alloc(a, array_bytes(sizeof(T), (size_t)(n))))
/* Of n elements; more than there can be: more than any arena gives. */
static inline size_t array_bytes(size_t size, size_t n)
{
	size_t bytes;
	return __builtin_mul_overflow(size, n, &bytes) ? SIZE_MAX : bytes;
}

/* All arenas of a process together may have `bytes`; by: how that is raised, for the message. Without, they may have what
 * HONE_MEMORY says, else three quarters of what is free (memory.h) when they come to 64 MiB. Beyond it arena_alloc ends the process (71),
 * after arena_beyond, which may say better where. */
void arena_limit(size_t bytes, const char *by);
size_t arena_held(void); /* bytes that all arenas have now */
extern __thread void (*arena_beyond)(const char *why);

/* malloc and friends that end the process (71) when there is no memory. */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
char *xprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
