#define _GNU_SOURCE
#include "runner/cold_weights.h"
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "graph/types.h"

enum { ALIGN = 64, EXCESS = 2 };
#define ALIKE 1.25 /* bytes of the larger set, in those of the smaller */

/* A set that is a little larger than what all cores share is in part still there at the next call, and in how large a part
 * hangs on what others do (doc/runner.md). So sets of up to EXCESS times the bytes are two. */
static int copies_of(uint64_t stride, uint64_t bytes)
{
	uint64_t n = !stride || stride >= EXCESS * bytes ? 0 : stride < bytes ? (bytes + stride - 1) / stride : 2;

	return n < COLD_COPIES_MAX ? (int)n : COLD_COPIES_MAX;
}

struct cold_weights cold_of(const struct runner_build *b, uint64_t bytes)
{
	struct cold_weights r = {.fd = -1};

	for (int i = 0; i < b->nconst; i++) {
		r.offset[i] = r.stride;
		r.stride += (runner_buf_bytes(&b->buf[b->nin + i]) + ALIGN - 1) / ALIGN * ALIGN;
	}
	r.used = r.stride;
	r.copies = copies_of(r.stride, bytes);
	return r;
}

/* All constants of both are of this type; DT_NONE: they are not of one, or it is not a floating one. */
static bool of_one_floating_type(const struct runner_build *const b[2])
{
	const char *type = b[0]->buf[b[0]->nin].type;

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < b[k]->nconst; i++)
			if (strcmp(b[k]->buf[b[k]->nin + i].type, type))
				return false;
	return dtype_is_float(dtype_parse(type, strlen(type)));
}

void cold_join(struct cold_weights r[2], const struct runner_build *const b[2], uint64_t bytes)
{
	uint64_t more = r[0].used > r[1].used ? r[0].used : r[1].used, less = r[0].used + r[1].used - more;
	int copies = copies_of(more, bytes);

	if (!r[0].copies || !r[1].copies || !copies || (double)more > ALIKE * (double)less || !of_one_floating_type(b))
		return;
	for (int k = 0; k < 2; k++) {
		r[k].stride = more;
		r[k].copies = copies;
	}
	r[0].foreign = true;
}

struct digest cold_digest(struct digest task, const struct runner_build *b, const struct cold_weights *r)
{
	struct digest_state *s = digest_new();

	digest_add(s, &task, sizeof task);
	digest_add(s, &r->copies, sizeof r->copies);
	digest_add(s, &r->stride, sizeof r->stride);
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
static bool is_sealed(const struct cold_weights *r) { return fcntl(r->fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE; }

const char *cold_fill(const struct cold_weights *r, const struct oracle *o, const struct runner_build *b, const struct problem *constants)
{
	uint64_t bytes = cold_bytes(r);

	if (is_sealed(r))
		return NULL;
	char *p = ftruncate(r->fd, (off_t)bytes) ? MAP_FAILED
						 : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd, 0);
	if (p == MAP_FAILED) /* or another try has filled it just now */
		return is_sealed(r) ? NULL : "no memory for copies of the constants";
	for (int i = 0; i < b->nconst; i++) {
		const struct runner_buf *x = &b->buf[b->nin + i];
		o->pack(x, problem_data(constants, (int)x->constant, 0), p + r->offset[i]);
	}
	memcpy(p + r->used, p, r->stride - r->used); /* what the other kernel alone reads */
	for (int k = 1; k < r->copies; k++)
		memcpy(p + (uint64_t)k * r->stride, p, r->stride);
	munmap(p, bytes);
	return fcntl(r->fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) ? "a file in memory cannot be sealed" : NULL;
}
