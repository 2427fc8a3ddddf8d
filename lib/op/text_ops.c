/* Operators of strings. */
#include "op/strings.h"

static const char *eval_concat_strings(struct eval *e)
{
	const struct tensor *a = e->in[0], *b = e->in[1];
	struct bcast w;
	const char *why = bcast_init(&w, 2, (int[]){a->rank, b->rank}, (const int64_t *const[]){a->dims, b->dims}, e->tmp);

	if (why)
		return why;
	struct text *x = texts_of(e->tmp, a), *y = texts_of(e->tmp, b), *out = eval_scratch(e, sizeof *out * (size_t)(w.count + 1));
	int64_t at = 0, n = w.rank ? w.dims[w.rank - 1] : 1;
	for (bool more = w.count > 0; more; more = bcast_next(&w)) {
		for (int64_t i = 0; i < n; i++, at++) {
			struct text l = x[w.off[0] + i * (w.rank ? w.stride[0][w.rank - 1] : 0)];
			struct text r = y[w.off[1] + i * (w.rank ? w.stride[1][w.rank - 1] : 0)];
			char *s = eval_scratch(e, l.n + r.n + 1);
			memcpy(s, l.s, l.n);
			memcpy(s + l.n, r.s, r.n);
			out[at] = (struct text){s, l.n + r.n};
		}
	}
	eval_texts(e, 0, w.out_rank, w.out_dims, out);
	return NULL;
}

const struct op ops_text[] = {
	{OP_StringConcat, shape_broadcast, eval_concat_strings},
	{0},
};
