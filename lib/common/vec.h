/* Growing arrays: VEC(int) v = {0}; vec_push(&v, 3); v.a[0]; v.n; vec_free(&v). */
#ifndef HONE_VEC_H
#define HONE_VEC_H
#include "common/arena.h"

#define VEC(T) \
	struct { \
		T *a; \
		size_t n, cap; \
	}

/* Makes room for n elements in all. */
#define vec_reserve(v, want) \
	do { \
		size_t w_ = (want); \
		if (w_ > (v)->cap) { \
			(v)->cap = w_ > 2 * (v)->cap ? w_ : 2 * (v)->cap; \
			if ((v)->cap < 8) \
				(v)->cap = 8; \
			(v)->a = xrealloc((v)->a, (v)->cap * sizeof *(v)->a); \
		} \
	} while (0)
#define vec_push(v, ...) \
	do { \
		vec_reserve(v, (v)->n + 1); \
		(v)->a[(v)->n++] = (__VA_ARGS__); \
	} while (0)
#define vec_free(v) (free((v)->a), (v)->a = NULL, (v)->n = (v)->cap = 0)
#include <stdlib.h>
#endif
