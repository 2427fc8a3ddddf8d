/* What client, fake and service share: the form of frames. Private to lib/runner. */
#ifndef HONE_RUNNER_IMPL_H
#define HONE_RUNNER_IMPL_H
#include "runner/runner.h"
#include "graph/mp.h"

/* Bytes on their way in. */
struct frames {
	VEC(char) b;
	size_t taken; /* of b: parsed already */
};
/* The next whole frame: true, and *r reads it. false: not yet there, or *why ("a frame of 4294967295 bytes"). */
bool frame_next(struct frames *f, struct mp_in *r, const char **why);
void frame_add(struct frames *f, const char *p, size_t n);

/* A frame of n elements, the first its id, is packed into o between these two. */
size_t frame_begin(struct mp_out *o, size_t n, uint64_t id, const char *verb);
void frame_end(struct mp_out *o, size_t begin);

void put_str0(struct mp_out *o, const char *s); /* NULL: nil */
/* Copy in the arena, NULL for nil. A NUL inside is a fault. */
const char *take_str(struct mp_in *r, struct arena *a);
void put_build(struct mp_out *o, const struct runner_build *b);
void take_build(struct mp_in *r, struct runner_build *b, struct arena *a); /* bounds checked; r->why */
void put_measurement(struct mp_out *o, const struct measurement *x);
void take_measurement(struct mp_in *r, struct measurement *x, struct arena *a);

/* The runner without a device: takes a request as packed, packs the answer. */
void fake_answer(struct mp_in *request, struct mp_out *answer);
#endif
