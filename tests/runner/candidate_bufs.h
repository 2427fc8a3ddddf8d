/* What a runner is told of a candidate's buffers: inputs, constants, results. */
#ifndef HONE_CANDIDATE_BUFS_H
#define HONE_CANDIDATE_BUFS_H
#include "model/candidate.h"
#include "runner/runner.h"

static struct runner_buf *candidate_bufs(const struct candidate *c, struct arena *a)
{
	int n = c->nin + c->nconst + c->nout;
	struct runner_buf *buf = ARENA_ARRAY(a, struct runner_buf, n);

	for (int i = 0; i < n; i++) {
		bool constant = i >= c->nin && i < c->nin + c->nconst;
		const struct candidate_buf *b = i < c->nin ? &c->in[i]
						: constant ? &c->constant[i - c->nin]
							   : &c->out[i - c->nin - c->nconst];
		buf[i] = (struct runner_buf){
			dtype_name(b->dtype), b->rank, b->shape, b->layout, b->elems, constant ? (uint32_t)(i - c->nin) : 0};
	}
	return buf;
}
#endif
