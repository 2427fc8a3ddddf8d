#define _GNU_SOURCE
#include "device/rotation.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGN = 64 };

struct rotation rotation_of(const struct runner_build *b, uint64_t bytes)
{
	struct rotation r = {.fd = -1};

	for (int i = 0; i < b->nconst; i++) {
		r.offset[i] = r.stride;
		r.stride += (runner_buf_bytes(&b->buf[b->nin + i]) + ALIGN - 1) / ALIGN * ALIGN;
	}
	if (r.stride && r.stride < bytes) {
		uint64_t copies = (bytes + r.stride - 1) / r.stride;
		r.copies = copies < ROTATION_COPIES_MAX ? (int)copies : ROTATION_COPIES_MAX;
	}
	return r;
}

struct digest rotation_digest(struct digest task, const struct runner_build *b, const struct rotation *r)
{
	struct digest_state *s = digest_new();

	digest_add(s, &task, sizeof task);
	digest_add(s, &r->copies, sizeof r->copies);
	digest_add(s, b->algo ? b->algo : "", b->algo ? strlen(b->algo) + 1 : 1);
	for (int i = 0; i < b->nconst; i++) {
		const struct runner_buf *x = &b->buf[b->nin + i];
		digest_add(s, x->type, strlen(x->type) + 1);
		digest_add(s, x->layout, strlen(x->layout) + 1);
		digest_add(s, &x->rank, sizeof x->rank);
		digest_add(s, x->shape, (size_t)x->rank * sizeof *x->shape);
		digest_add(s, &x->elems, sizeof x->elems);
		digest_add(s, &x->constant, sizeof x->constant);
	}
	return digest_end(s);
}

/* It is full, for ever. */
static bool is_sealed(const struct rotation *r)
{
	return fcntl(r->fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE;
}

const char *rotation_fill(const struct rotation *r, const struct oracle *o, const struct runner_build *b, const struct problem *constants)
{
	uint64_t bytes = rotation_bytes(r);

	if (is_sealed(r))
		return NULL;
	char *p = ftruncate(r->fd, (off_t)bytes) ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, 0);
	if (p == MAP_FAILED) /* or another try has filled it just now */
		return is_sealed(r) ? NULL : "no memory for copies of the constants";
	for (int i = 0; i < b->nconst; i++) {
		const struct runner_buf *x = &b->buf[b->nin + i];
		o->pack(x, problem_data(constants, (int)x->constant, 0), p + r->offset[i]);
	}
	for (int k = 1; k < r->copies; k++)
		memcpy(p + (uint64_t)k * r->stride, p, r->stride);
	munmap(p, bytes);
	return fcntl(r->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) ? "a file in memory cannot be sealed" : NULL;
}
