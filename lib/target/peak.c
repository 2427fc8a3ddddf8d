/* The peak: the backend's loop, timed. */
#include "common/progress.h"
#include "target/backend.h"

double peak_flops(int vector_bytes, double seconds)
{
	double (*multiply_adds)(int, long) = backend_here()->process.multiply_adds;
	double best = 0, end = now_seconds() + seconds;
	const long n = 5000; /* 60 to 120 us: short of a timer tick */

	if (!multiply_adds)
		return 0;
	do {
		double t = now_seconds(), flop = multiply_adds(vector_bytes, n);
		t = now_seconds() - t;
		if (flop / t > best)
			best = flop / t;
	} while (best && now_seconds() < end);
	return best;
}
