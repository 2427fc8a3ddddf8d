#define _GNU_SOURCE
#include "runner/problem.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runner/adversarial.h"
#include "runner/condition.h"

enum { PAGE = 4096, ALIGN = 64 };
#define SATURATED_MAX 0.2

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* The file with its head, mapped; NULL and errno: no memory, or files may not be so long. */
static struct problem *lay_out(int fd, struct problem head, const struct oracle_tensor *t)
{
	uint64_t at = head.head = up(sizeof head, PAGE);

	for (int i = 0; i < head.n; i++) {
		head.t[i].tensor = t[i];
		head.t[i].bytes = (uint64_t)t[i].n * dtype_size(t[i].dtype);
		head.t[i].at = at;
		head.t[i].stride = up(head.t[i].bytes, ALIGN);
		at += (uint64_t)head.seeds * head.t[i].stride;
		if (t[i].rounded == ROUNDED_NOT)
			continue;
		head.t[i].before = at;
		head.t[i].before_stride = up((uint64_t)t[i].n * sizeof(float), ALIGN);
		at += (uint64_t)head.seeds * head.t[i].before_stride;
	}
	head.bytes = at;
	if (ftruncate(fd, (off_t)at))
		return NULL;
	struct problem *p = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	*p = head;
	return p;
}

/* The lowest and the highest number of an integer type. */
void problem_ends(enum dtype t, double *lo, double *hi)
{
	int bits = 8 * (int)dtype_size(t) - dtype_is_signed(t);

	*hi = exp2(bits) - 1;
	*lo = dtype_is_signed(t) ? -*hi - 1 : 0;
}

/* Are many of the elements of result i beyond the ends of its type? */
static bool saturates(const struct problem *p, int i)
{
	int64_t beyond = 0, n = p->t[i].tensor.n;
	double lo, hi;

	if (!p->t[i].before)
		return false;
	problem_ends(p->t[i].tensor.dtype, &lo, &hi);
	for (int s = 0; s < PROBLEM_SEEDS; s++) {
		const float *x = problem_before(p, i, s);
		for (int64_t k = 0; k < n; k++)
			beyond += x[k] < lo - 0.5 || x[k] > hi + 0.5;
	}
	return (double)beyond > SATURATED_MAX * (double)(n * PROBLEM_SEEDS);
}

const char *problem_write(const struct oracle *o, const char *text, int fd)
{
	const char *why = NULL;
	const struct oracle_task *t = o->open(text, &why);
	void *ptr[RUNNER_BUFS_MAX];
	float *before[RUNNER_BUFS_MAX] = {0};

	if (!t)
		return why;
	if (t->nin + t->nout > RUNNER_BUFS_MAX)
		return "more operands than a kernel can have";
	struct problem head = {
		.n = t->nin + t->nout, .nin = t->nin, .seeds = PROBLEM_SEEDS + adversarial_seeds(t), .reduction = t->reduction};
	struct problem *p = lay_out(fd, head, t->t);
	if (!p)
		return errno == EFBIG ? "its operands are longer than a file may be: File too large" : "no memory for its operands";
	for (int s = 0; s < p->seeds; s++) {
		for (int i = 0; i < p->n; i++)
			ptr[i] = (void *)problem_data(p, i, s);
		o->inputs(t, (uint64_t)s + 1, ptr);
		for (int i = 0; i < p->nin && s >= PROBLEM_SEEDS; i++)
			adversarial_add(t, i, ptr[i], s - PROBLEM_SEEDS, p->seeds - PROBLEM_SEEDS);
		for (int k = 0; k < t->nout; k++)
			before[k] = (float *)problem_before(p, t->nin + k, s);
		o->eval(t, ptr, ptr + t->nin, before);
		if (s < PROBLEM_SEEDS)
			inputs_condition(o, t, ptr, ptr + t->nin);
	}
	for (int i = p->nin; i < p->n && !why; i++)
		if (saturates(p, i))
			why = "more than a fifth of a result is the lowest or highest number of its type: its scale is of other data";
	munmap(p, p->bytes);
	return why;
}

const char *problem_write_constants(const struct oracle *o, const char *text, const char *algo, int fd)
{
	const char *why = NULL;
	const struct oracle_task *t = o->open(text, &why);
	struct oracle_tensor types[RUNNER_BUFS_MAX];
	const void *data[RUNNER_BUFS_MAX];

	if (!t)
		return why;
	struct problem head = {.n = o->constants(t, algo, types, data, RUNNER_BUFS_MAX), .seeds = 1};
	if (head.n < 0)
		return "the task has no kernels by that algorithm";
	struct problem *p = lay_out(fd, head, types);
	if (!p)
		return "no memory for its constants";
	for (int i = 0; i < p->n; i++)
		memcpy((void *)problem_data(p, i, 0), data[i], p->t[i].bytes);
	munmap(p, p->bytes);
	return NULL;
}

const struct problem *problem_map(int fd, bool all)
{
	static struct problem head; /* large */

	if (pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
		return NULL;
	void *p = mmap(NULL, all ? head.bytes : head.head, PROT_READ, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

void problem_unmap(const struct problem *p, bool all)
{
	if (p)
		munmap((void *)p, all ? p->bytes : p->head);
}
