#define _GNU_SOURCE
#include "runner/problem.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "runner/adversarial.h"

enum { PAGE = 4096, ALIGN = 64 };

static uint64_t up(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

/* The file with its head, mapped; NULL: no memory. */
static struct problem *lay_out(int fd, struct problem head, const struct oracle_tensor *t)
{
	uint64_t at = head.head = up(sizeof head, PAGE);

	for (int i = 0; i < head.n; i++) {
		head.t[i].tensor = t[i];
		head.t[i].bytes = (uint64_t)t[i].n * dtype_size(t[i].dtype);
		head.t[i].at = at;
		head.t[i].stride = up(head.t[i].bytes, ALIGN);
		at += (uint64_t)head.seeds * head.t[i].stride;
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

const char *problem_write(const struct oracle *o, const char *text, int fd)
{
	const char *why = NULL;
	const struct oracle_task *t = o->open(text, &why);
	void *ptr[RUNNER_BUFS_MAX];

	if (!t)
		return why;
	if (t->nin + t->nout > RUNNER_BUFS_MAX)
		return "more operands than a kernel can have";
	struct problem head = {
		.n = t->nin + t->nout, .nin = t->nin, .seeds = PROBLEM_SEEDS + adversarial_seeds(t), .reduction = t->reduction};
	struct problem *p = lay_out(fd, head, t->t);
	if (!p)
		return "no memory for its operands";
	for (int s = 0; s < p->seeds; s++) {
		for (int i = 0; i < p->n; i++)
			ptr[i] = (void *)problem_data(p, i, s);
		o->inputs(t, (uint64_t)s + 1, ptr);
		for (int i = 0; i < p->nin && s >= PROBLEM_SEEDS; i++)
			adversarial_add(t, i, ptr[i], s - PROBLEM_SEEDS, p->seeds - PROBLEM_SEEDS);
		o->eval(t, ptr, ptr + t->nin);
	}
	munmap(p, p->bytes);
	return NULL;
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
