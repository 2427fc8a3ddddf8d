/* RotaryEmbedding: turns pairs of the numbers of each token by angles whose cosines and sines are given. */
#include "native/native.h"

struct rotary {
	int64_t batch, length, heads, size, half; /* half: pairs that are turned */
	bool flat, interleaved;
	int64_t positions; /* rows of the tables */
	const int64_t *at; /* the row of each token; NULL: its own */
};

static const char *rotary_shape(struct native *n, struct rotary *r)
{
	const struct native_tensor *x = &n->in[0];
	int64_t heads = native_int(n, "num_heads"), dim = native_int(n, "rotary_embedding_dim");

	r->flat = x->rank == 3;
	if (!r->flat && x->rank != 4)
		return native_why(n, "operand 0 has rank %d, takes 3 or 4", x->rank);
	if (r->flat && (heads < 1 || x->dims[2] % heads))
		return native_why(n, "%lld numbers a token for num_heads %lld", (long long)x->dims[2], (long long)heads);
	r->batch = x->dims[0];
	r->heads = r->flat ? heads : x->dims[1];
	r->length = x->dims[r->flat ? 1 : 2];
	r->size = r->flat ? x->dims[2] / heads : x->dims[3];
	if (dim == 0)
		dim = r->size;
	if (dim < 0 || dim > r->size || dim % 2)
		return native_why(n, "%lld of %lld numbers cannot be turned in pairs", (long long)dim, (long long)r->size);
	r->half = dim / 2;
	r->interleaved = native_int(n, "interleaved") != 0;
	return NULL;
}

static const char *rotary_tables(struct native *n, struct rotary *r)
{
	const struct native_tensor *c = &n->in[1], *s = &n->in[2], *p = native_has(n, 3) ? &n->in[3] : NULL;

	if (c->rank != (p ? 2 : 3) || s->rank != c->rank || memcmp(c->dims, s->dims, sizeof *c->dims * (size_t)c->rank) ||
	    c->dims[c->rank - 1] != r->half || (!p && (c->dims[0] != r->batch || c->dims[1] != r->length)))
		return "cosines or sines do not fit";
	if (!p)
		return NULL;
	if (p->type != NATIVE_I64 || p->rank != 2 || p->dims[0] != r->batch || p->dims[1] != r->length)
		return "position_ids are not an i64 for each token";
	r->positions = c->dims[0];
	r->at = p->data;
	for (int64_t i = 0; i < r->batch * r->length; i++)
		if (r->at[i] < 0 || r->at[i] >= r->positions)
			return native_why(n, "position %lld of %lld", (long long)r->at[i], (long long)r->positions);
	return NULL;
}

static void rotary_turn(const struct rotary *r, const float *c, const float *s, const float *x, float *y)
{
	for (int64_t i = 0; i < r->half; i++) {
		int64_t a = r->interleaved ? 2 * i : i, b = r->interleaved ? 2 * i + 1 : i + r->half;
		y[a] = c[i] * x[a] - s[i] * x[b];
		y[b] = s[i] * x[a] + c[i] * x[b];
	}
	for (int64_t i = 2 * r->half; i < r->size; i++)
		y[i] = x[i];
}

/* n floats from element i on: where they are, or at memory. */
static const float *rotary_floats(const struct native_tensor *t, int64_t i, int64_t n, float *memory)
{
	if (t->type == NATIVE_F32)
		return (const float *)t->data + i;
	for (int64_t k = 0; k < n; k++)
		memory[k] = (float)native_get(t->type, t->data, i + k);
	return memory;
}

NATIVE const char *native_RotaryEmbedding(struct native *n)
{
	struct rotary r = {0};
	const struct native_tensor *x = &n->in[0];
	const char *why;
	float *memory, *y;
	void *out;

	if (!native_is_float(x->type) || n->in[1].type != x->type || n->in[2].type != x->type)
		return native_no_type();
	if ((why = rotary_shape(n, &r)) || (why = rotary_tables(n, &r)))
		return why;
	if (!(out = n->room(n, 0, x->type, x->rank, x->dims)))
		return native_no_room(n);
	if (!native_count(x))
		return NULL;
	if (!(memory = n->scratch(n, sizeof *memory * (size_t)(2 * r.size + 2 * r.half))))
		return native_no_room(n);
	for (int64_t t = 0; t < r.batch * r.length; t++) {
		int64_t row = (r.at ? r.at[t] : t) * r.half, b = t / r.length, l = t % r.length;
		const float *c = rotary_floats(&n->in[1], row, r.half, memory), *s = rotary_floats(&n->in[2], row, r.half, memory + r.half);
		for (int64_t h = 0; h < r.heads; h++) {
			int64_t at = r.size * (r.flat ? t * r.heads + h : (b * r.heads + h) * r.length + l);
			y = x->type == NATIVE_F32 ? (float *)out + at : memory + 2 * r.half + r.size;
			rotary_turn(&r, c, s, rotary_floats(x, at, r.size, memory + 2 * r.half), y);
			for (int64_t i = 0; i < r.size && x->type != NATIVE_F32; i++)
				native_set(x->type, out, at + i, y[i]);
		}
	}
	return NULL;
}
