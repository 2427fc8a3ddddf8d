/* Random numbers that are the same everywhere for the same seed (splitmix64, Steele et al. 2014). */
#ifndef HONE_RNG_H
#define HONE_RNG_H
#include <math.h>
#include <stdint.h>

struct rng {
	uint64_t s;
};
static inline uint64_t rng_u64(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15u);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
/* Uniform in [0, 1). */
static inline double rng_unit(struct rng *r) { return (double)(rng_u64(r) >> 11) * 0x1p-53; }
/* Uniform in [lo, hi], both included; lo <= hi. */
static inline int64_t rng_range(struct rng *r, int64_t lo, int64_t hi) { return lo + (int64_t)(rng_u64(r) % ((uint64_t)(hi - lo) + 1)); }
/* Standard normal (Box and Muller 1958). */
static inline double rng_normal(struct rng *r)
{
	double u = 1.0 - rng_unit(r), v = rng_unit(r);
	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
#endif
