/* What shape rules and functions of operators that move elements both want to know. */
#ifndef HONE_NATIVE_MOVES_H
#define HONE_NATIVE_MOVES_H
#include <stdint.h>

enum { MOVES_BLOCKSIZE_MAX = 32768 }; /* of DepthToSpace and SpaceToDepth; its square is a number of channels */

/* Clips start and end of a slice of an axis of extent d as ONNX does; *start: where it begins. step is not 0. How many elements it takes. */
static inline int64_t moves_clip(int64_t d, int64_t *start, int64_t end, int64_t step)
{
	int64_t s = *start, lo = step < 0 ? -1 : 0, hi = step < 0 ? d - 1 : d;

	s = s < 0 ? s + d : s;
	end = end < 0 ? end + d : end;
	s = s < 0 ? 0 : s; /* backwards too: where numpy takes nothing the standard's words take the first */
	s = s > hi ? hi : s;
	end = end < lo ? lo : end > hi ? hi : end;
	*start = s;
	if (step > 0)
		return end > s ? (end - s - 1) / step + 1 : 0;
	return s > end ? 1 - (s - end - 1) / step : 0; /* -step may not exist */
}
#endif
