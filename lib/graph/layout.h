/* Layouts: where the elements of a value are. */
#ifndef HONE_LAYOUT_H
#define HONE_LAYOUT_H
#include <stdint.h>
#include "common/arena.h"

/* Memory order of a value, outermost first: each part is axis/div%mod (div 1, mod 0: the whole axis).
 * Text: "0/32 2 3 1 0%32" is axis 0 in blocks of 32, axes 2, 3, 1, then the place in the block. */
struct layout_part {
	int axis;
	int64_t div, mod; /* floor(i / div), then % mod if mod > 0 */
};
enum { LAYOUT_MAX = 24 };
struct layout {
	int n; /* 0: row-major */
	struct layout_part part[LAYOUT_MAX];
};
/* NULL, or why text is no layout of that rank, at most RANK_MAX (each axis must be covered exactly). */
const char *layout_parse(struct layout *l, int rank, const char *text);
const char *layout_str(const struct layout *l, int rank, struct arena *a);
#endif
