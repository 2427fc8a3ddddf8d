/* What a rank sums with: the ring, or MPI. */
#ifndef HONE_RANK_H
#define HONE_RANK_H
#include <stdbool.h>
#include <stddef.h>

struct wire {
	bool (*allreduce)(float *data, size_t n); /* in place over all ranks; false: another rank is silent */
	bool (*barrier)(void);
};

/* MPI through the OpenMPI library, found when it is wanted: hone is built without. A rank that mpirun did not start, or no
 * library: die(69). */
struct wire mpi_wire(int *rank, int *ranks, double timeout);
/* Rank 0's line becomes everybody's; *line grows. */
void mpi_share_line(char **line, size_t *size);
/* Rank 0 has the mean over the ranks. false: another rank is silent. */
bool mpi_mean(double *v, int n);
void mpi_end(void);
#endif
