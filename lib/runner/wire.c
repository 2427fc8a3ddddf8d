#include <math.h>
#include <string.h>
#include "runner/wire.h"
#include "graph/types.h"

void frame_add(struct frames *f, const char *p, size_t n)
{
	if (n == 0)
		return;
	if (f->taken) {
		memmove(f->b.a, f->b.a + f->taken, f->b.n - f->taken);
		f->b.n -= f->taken;
		f->taken = 0;
	}
	vec_reserve(&f->b, f->b.n + n);
	memcpy(f->b.a + f->b.n, p, n);
	f->b.n += n;
}

bool frame_next(struct frames *f, struct mp_in *r, const char **why)
{
	size_t left = f->b.n - f->taken, n;

	*why = NULL;
	if (left < 4)
		return false;
	const unsigned char *p = (const unsigned char *)f->b.a + f->taken;
	n = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
	if (n > RUNNER_FRAME_MAX)
		*why = "a frame is larger than any of this protocol";
	if (n > RUNNER_FRAME_MAX || left - 4 < n)
		return false;
	mp_in_init(r, p + 4, n);
	f->taken += 4 + n;
	return true;
}

size_t frame_begin(struct mp_out *o, size_t n, uint64_t id, const char *verb)
{
	size_t begin = o->b.n;

	vec_reserve(&o->b, begin + 4);
	o->b.n += 4; /* its length, known in frame_end */
	mp_put_array(o, n);
	mp_put_int(o, (int64_t)id);
	put_str0(o, verb);
	return begin;
}

void frame_end(struct mp_out *o, size_t begin)
{
	size_t n = o->b.n - begin - 4;

	for (int i = 0; i < 4; i++)
		o->b.a[begin + (size_t)i] = (char)(n >> 8 * i);
}

void put_str0(struct mp_out *o, const char *s)
{
	if (s)
		mp_put_str(o, s, strlen(s));
	else
		mp_put_nil(o);
}

const char *take_str(struct mp_in *r, struct arena *a)
{
	size_t n, at = mp_at(r);

	if (mp_nil(r))
		return NULL;
	const char *s = mp_str(r, &n);
	if (memchr(s, 0, n))
		mp_fail(r, at, "a NUL in a text");
	char *copy = arena_alloc(a, n + 1);
	memcpy(copy, s, n);
	return copy;
}

void put_build(struct mp_out *o, const struct runner_build *b)
{
	int n = b->nin + b->nconst + b->nout;

	mp_put_bin(o, b->source, b->nsource);
	put_str0(o, b->algo);
	mp_put_int(o, b->workspace);
	mp_put_int(o, b->nin);
	mp_put_int(o, b->nconst);
	mp_put_int(o, b->nout);
	mp_put_array(o, (size_t)n);
	for (int i = 0; i < n; i++) {
		const struct runner_buf *x = &b->buf[i];
		mp_put_array(o, 5);
		put_str0(o, x->type);
		mp_put_array(o, (size_t)x->rank);
		for (int k = 0; k < x->rank; k++)
			mp_put_int(o, x->shape[k]);
		put_str0(o, x->layout ? x->layout : "");
		mp_put_int(o, x->elems);
		mp_put_int(o, x->constant);
	}
}

static void take_buf(struct mp_in *r, struct runner_buf *x, struct arena *a)
{
	enum { RANK_LIMIT = 64 };
	size_t at = mp_at(r);
	uint32_t rank;

	mp_array_of(r, 5, "a buffer");
	x->type = take_str(r, a);
	if (!r->why && (!x->type || dtype_size(dtype_parse(x->type, strlen(x->type))) == 0))
		mp_fail(r, at, "not an element type of numbers");
	if ((rank = mp_array(r)) > RANK_LIMIT)
		mp_fail(r, at, "a buffer of rank %u", rank);
	int64_t *shape = ARENA_ARRAY(a, int64_t, r->why ? 0 : rank);
	for (uint32_t k = 0; k < rank && !r->why; k++)
		shape[k] = mp_int(r, 0, INT64_C(1) << 40);
	x->rank = (int)rank;
	x->shape = shape;
	x->layout = take_str(r, a);
	x->elems = mp_int(r, 0, INT64_C(1) << 40);
	x->constant = (uint32_t)mp_int(r, 0, UINT32_MAX);
	if (!r->why && !x->layout)
		mp_fail(r, at, "a buffer without layout");
}

void take_build(struct mp_in *r, struct runner_build *b, struct arena *a)
{
	size_t at = mp_at(r);
	struct runner_buf *buf;
	const void *p = mp_bin(r, &b->nsource);

	b->source = arena_copy(a, p, b->nsource);
	b->algo = take_str(r, a);
	b->workspace = mp_int(r, 0, INT64_C(1) << 40);
	b->nin = (int)mp_int(r, 0, RUNNER_BUFS_MAX);
	b->nconst = (int)mp_int(r, 0, RUNNER_BUFS_MAX);
	b->nout = (int)mp_int(r, 1, RUNNER_BUFS_MAX);
	int n = b->nin + b->nconst + b->nout;
	if (n > RUNNER_BUFS_MAX)
		mp_fail(r, at, "a kernel of %d buffers", n);
	mp_array_of(r, (uint32_t)n, "the list of buffers");
	b->buf = buf = ARENA_ARRAY(a, struct runner_buf, n);
	for (int i = 0; i < n && !r->why; i++)
		take_buf(r, &buf[i], a);
}

void put_measurement(struct mp_out *o, const struct measurement *x)
{
	put_str0(o, verdict_name(x->verdict));
	put_str0(o, x->why);
	mp_put_array(o, 2 * x->npairs);
	for (size_t i = 0; i < x->npairs; i++) {
		mp_put_int(o, (int64_t)x->pair[i].candidate);
		mp_put_int(o, (int64_t)x->pair[i].base);
	}
	mp_put_double(o, x->ratio);
	mp_put_double(o, x->lo);
	mp_put_double(o, x->hi);
	mp_put_double(o, x->seconds);
}

/* What a search computes with: a share that cannot be one would end runners that are asked next. Of few pairs nothing may be
 * known but their median. */
static bool is_sane(const struct measurement *x)
{
	bool timed = x->verdict == VERDICT_FASTER || x->verdict == VERDICT_SLOWER || x->verdict == VERDICT_TIE;
	bool ratio = isfinite(x->ratio) && x->ratio > 0 && x->lo >= 0 && x->lo <= x->hi && (isfinite(x->hi) || !timed);

	return (ratio || !(timed || x->verdict == VERDICT_UNSURE)) && isfinite(x->seconds) && x->seconds >= 0;
}

void take_measurement(struct mp_in *r, struct measurement *x, struct arena *a)
{
	size_t at = mp_at(r), n;
	const char *word = mp_str(r, &n);

	x->lost = false;
	x->verdict = verdict_parse(word, n);
	if (x->verdict == VERDICT_COUNT)
		mp_fail(r, at, "not a verdict");
	x->why = take_str(r, a);
	if ((x->npairs = mp_array(r) / 2) > RUNNER_PAIRS_MAX)
		mp_fail(r, at, "too many samples");
	x->pair = ARENA_ARRAY(a, struct sample_pair, r->why ? 0 : x->npairs);
	for (size_t i = 0; i < x->npairs && !r->why; i++) {
		x->pair[i].candidate = (uint64_t)mp_int(r, 0, INT64_MAX);
		x->pair[i].base = (uint64_t)mp_int(r, 0, INT64_MAX);
	}
	x->ratio = mp_double(r);
	x->lo = mp_double(r);
	x->hi = mp_double(r);
	x->seconds = mp_double(r);
	if (!r->why && !is_sane(x))
		mp_fail(r, at, "times that cannot be");
}
