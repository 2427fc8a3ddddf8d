#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include "comm/huge.h"
#include "common/arena.h"
#include "common/msg.h"

enum { PAGE = 2 << 20 };

void *huge_alloc(size_t n)
{
	if (n < PAGE)
		return xmalloc(n);
	size_t whole = (n + PAGE - 1) / PAGE * PAGE;
	void *p = whole < n ? NULL : aligned_alloc(PAGE, whole);
	if (!p)
		die(EX_SYSTEM, "out of memory (%zu bytes wanted)", n);
	madvise(p, whole, MADV_HUGEPAGE); /* if it fails, the array is only slower */
	return p;
}
