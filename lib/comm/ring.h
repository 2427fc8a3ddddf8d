/* All-reduce over TCP: a ring of n processes with one thread each, blocking. It is enough to measure a network and to verify plans;
 * training uses its own framework.
 *
 * Reduce-scatter, then all-gather, n - 1 chunks each (Patarasuk and Yuan 2009), f32. A chunk is passed on while it arrives, so a
 * long chunk does not wait at every hop. Every rank ends with the same bits, the same in every run.
 * All ranks must have the same byte order. */
#ifndef HONE_RING_H
#define HONE_RING_H
#include <stdbool.h>
#include <stddef.h>

/* What went wrong, in order of how much it says: of the reports of several ranks, the highest names the cause. */
enum ring_fault { RING_FINE, RING_CLOSED, RING_SILENT, RING_UNREACHABLE };

/* A socket that listens on "host:port", "[v6]:port"; port 0: the system's choice, in *port. -1, and *why in a buffer of the
 * thread. */
int ring_listen(const char *addr, int *port, const char **why);

struct ring;
/* Joins the ring as rank of n with the socket of ring_listen, which it takes over: connects to the next rank, waits for the one
 * before. NULL, *fault and *why (in a buffer of the thread) when that takes more than timeout seconds, or that rank is of another
 * version. A ring of one has no socket (-1). */
struct ring *ring_open(int rank, int n, const char *const *addr, int listener, double timeout, enum ring_fault *fault, const char **why);
/* Sums n floats in place over all ranks. false: a neighbour is gone, or silent for timeout seconds; the ring cannot be used again. */
bool ring_allreduce(struct ring *r, float *data, size_t n);
/* Returns when all ranks have called it, on all at nearly the same time. */
bool ring_barrier(struct ring *r);
enum ring_fault ring_fault(const struct ring *r, const char **why);
void ring_close(struct ring *r);
#endif
