/* OpenMPI without its headers: its handles are the addresses of variables that the library exports. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/progress.h"
#include "rank.h"

static struct {
	int (*Init)(int *, char ***);
	int (*Finalize)(void);
	int (*Comm_rank)(void *comm, int *);
	int (*Comm_size)(void *comm, int *);
	int (*Ibarrier)(void *comm, void **request);
	int (*Bcast)(void *, int n, void *type, int root, void *comm);
	int (*Ireduce)(const void *, void *, int n, void *type, void *op, int root, void *comm, void **request);
	int (*Iallreduce)(const void *, void *, int n, void *type, void *op, void *comm, void **request);
	int (*Test)(void **request, int *flag, void *status);
	void *world, *f32, *f64, *byte, *i32, *sum;
	int rank, ranks;
	double timeout;
} mpi;

static void *const in_place = (void *)1; /* MPI_IN_PLACE; and MPI_STATUS_IGNORE is NULL */

static void *symbol(void *library, const char *name)
{
	void *p = dlsym(library, name);
	if (!p)
		die(EX_NOTAVAIL, "libmpi.so: no %s; is it OpenMPI's?", name);
	return p;
}

/* Progress needs calls: without them a message would wait for the next one. MPI does not say how far it is: a rank counts as silent
 * when an operation takes longer than the timeout and four times as long as its bytes would at the slowest pace yet; before there is
 * one, and at most, a second for each megabyte. */
static bool finish(void *request, double bytes)
{
	static const double enough = 1 << 20, most = 1e-6; /* bytes from which on the time says something of the pace; s a byte */
	static double slowest;
	double start = now_seconds(), deadline = start + mpi.timeout + bytes * (slowest > 0 ? fmin(most, 4 * slowest) : most);
	int done = 0;
	for (unsigned i = 1; mpi.Test(&request, &done, NULL) == 0 && !done; i++)
		if (i % 64 == 0 && now_seconds() > deadline)
			return false;
	double pace = bytes >= enough ? (now_seconds() - start) / bytes : 0;
	if (pace > slowest)
		slowest = pace;
	return done;
}

/* Counts of MPI are ints: parts of 2^30. */
static bool mpi_allreduce(float *data, size_t n)
{
	do {
		size_t part = n < ((size_t)1 << 30) ? n : (size_t)1 << 30;
		void *request;
		mpi.Iallreduce(in_place, data, (int)part, mpi.f32, mpi.sum, mpi.world, &request);
		if (!finish(request, (double)part * sizeof *data))
			return false;
		data += part;
		n -= part;
	} while (n);
	return true;
}

static bool mpi_barrier(void)
{
	void *request;
	mpi.Ibarrier(mpi.world, &request);
	return finish(request, 0);
}

struct wire mpi_wire(int *rank, int *ranks, double timeout)
{
	void *l = dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL);
	if (!l)
		l = dlopen("libmpi.so", RTLD_NOW | RTLD_GLOBAL);
	if (!l)
		die(EX_NOTAVAIL, "no OpenMPI library (libmpi.so.40); Debian has it in libopenmpi3");
	*(void **)&mpi.Init = symbol(l, "MPI_Init");
	*(void **)&mpi.Finalize = symbol(l, "MPI_Finalize");
	*(void **)&mpi.Comm_rank = symbol(l, "MPI_Comm_rank");
	*(void **)&mpi.Comm_size = symbol(l, "MPI_Comm_size");
	*(void **)&mpi.Ibarrier = symbol(l, "MPI_Ibarrier");
	*(void **)&mpi.Bcast = symbol(l, "MPI_Bcast");
	*(void **)&mpi.Ireduce = symbol(l, "MPI_Ireduce");
	*(void **)&mpi.Iallreduce = symbol(l, "MPI_Iallreduce");
	*(void **)&mpi.Test = symbol(l, "MPI_Test");
	mpi.world = symbol(l, "ompi_mpi_comm_world");
	mpi.f32 = symbol(l, "ompi_mpi_float");
	mpi.f64 = symbol(l, "ompi_mpi_double");
	mpi.byte = symbol(l, "ompi_mpi_byte");
	mpi.i32 = symbol(l, "ompi_mpi_int");
	mpi.sum = symbol(l, "ompi_mpi_op_sum");
	mpi.timeout = timeout;
	mpi.Init(NULL, NULL);
	mpi.Comm_rank(mpi.world, &mpi.rank);
	mpi.Comm_size(mpi.world, &mpi.ranks);
	*rank = mpi.rank;
	*ranks = mpi.ranks;
	return (struct wire){mpi_allreduce, mpi_barrier};
}

void mpi_share_line(char **line, size_t *size)
{
	int n = mpi.rank == 0 ? (int)strlen(*line) + 1 : 0;
	mpi.Bcast(&n, 1, mpi.i32, 0, mpi.world);
	if ((size_t)n > *size)
		*line = xrealloc(*line, *size = (size_t)n);
	mpi.Bcast(*line, n, mpi.byte, 0, mpi.world);
}

bool mpi_mean(double *v, int n)
{
	void *request;
	mpi.Ireduce(mpi.rank == 0 ? in_place : v, v, n, mpi.f64, mpi.sum, 0, mpi.world, &request);
	if (!finish(request, 0))
		return false;
	for (int i = 0; i < n; i++)
		v[i] /= mpi.ranks;
	return true;
}

void mpi_end(void) { mpi.Finalize(); }
