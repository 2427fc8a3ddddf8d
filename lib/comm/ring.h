/* All-reduce over TCP: a ring of N processes, each with one blocking communication thread. Enough to measure and to verify
 * plans; training stays with its own framework.
 *
 * Reduce-scatter, then all-gather, in N - 1 steps each (Patarasuk and Yuan 2009); f32 sums; every rank ends with the same bits. */
#ifndef HONE_RING_H
#define HONE_RING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring;
/* Joins the ring: listens on addr[rank] ("host:port"), connects to the next. NULL and *why (static or in a thread buffer) within
 * timeout seconds: unreachable (which), refused, another version. */
struct ring *ring_open(int rank, int n, const char *const *addr, double timeout, const char **why);
/* Sums n floats in place over all ranks. false: a rank is gone or silent for timeout seconds; ring_why says which. */
bool ring_allreduce(struct ring *r, float *data, size_t n);
bool ring_barrier(struct ring *r);
const char *ring_why(const struct ring *r);
void ring_close(struct ring *r);
#endif
