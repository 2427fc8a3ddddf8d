/* The file of weights. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "ge-emit.h"

/* The buffer of constant `number` of a kernel; 0: no stage reads it any more. */
static buf_id const_buf(struct loop_prog *p, int number)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == SCOPE_CONST && lbuf(p, b)->operand == number)
			return b;
	return 0;
}

/* Bytes of constant `number` of a call as its kernel wants them; *owned: to be freed. */
static const void *const_bytes(struct emission *e, uint32_t call, int number, int64_t *bytes, void **owned)
{
	const struct call *c = &e->M->calls.a[call];
	struct module *m = e->M->m;
	struct loop_prog *p = e->M->kernels.a[c->kernel].prog;
	buf_id b = const_buf(p, number);
	const void *data = tensor_verified(m, val(m, c->cval[number])->tensor);

	*owned = NULL;
	*bytes = buf_elems(p, b) * (int64_t)dtype_size(lbuf(p, b)->dtype);
	if (!lbuf(p, b)->layout.n)
		return data;
	*owned = xmalloc((size_t)*bytes);
	buf_pack(p, b, data, *owned);
	return *owned;
}

/* Offset of these bytes, with room made for them if they are new. */
static int64_t weight_add(struct emission *e, struct weight w)
{
	for (size_t i = 0; i < e->weights.n; i++)
		if (e->weights.a[i].bytes == w.bytes && digest_eq(e->weights.a[i].digest, w.digest))
			return e->weights.a[i].offset;
	w.offset = e->weights_bytes;
	e->weights_bytes += (w.bytes + WEIGHTS_ALIGN - 1) / WEIGHTS_ALIGN * WEIGHTS_ALIGN;
	vec_push(&e->weights, w);
	return w.offset;
}

int64_t weight_value(struct emission *e, val_id v)
{
	struct module *m = e->M->m;
	struct tensor *t = val(m, v)->tensor;

	return weight_add(e, (struct weight){.digest = tensor_digest(m, t), .bytes = (int64_t)t->nbytes, .value = v});
}

/* What the bytes of a constant in a layout are, without laying them out: its own bytes, shape and layout. */
static struct digest packed_digest(struct emission *e, val_id v, const struct loop_buf *b)
{
	struct digest_state *s = digest_new();
	struct digest d = tensor_digest(e->M->m, val(e->M->m, v)->tensor);
	struct arena a = {0};
	const char *layout = layout_str(&b->layout, b->rank, &a);

	digest_add(s, &d, sizeof d);
	digest_add(s, b->shape, sizeof *b->shape * (size_t)b->rank);
	digest_add(s, layout, strlen(layout));
	arena_release(&a);
	return digest_end(s);
}

static int64_t call_const(struct emission *e, uint32_t call, int number)
{
	const struct call *c = &e->M->calls.a[call];
	struct loop_prog *p = e->M->kernels.a[c->kernel].prog;
	buf_id b = const_buf(p, number);

	if (!b)
		return -1;
	if (!lbuf(p, b)->layout.n)
		return weight_value(e, c->cval[number]);
	return weight_add(e, (struct weight){
				     .digest = packed_digest(e, c->cval[number], lbuf(p, b)),
				     .bytes = buf_elems(p, b) * (int64_t)dtype_size(lbuf(p, b)->dtype),
				     .call = call,
				     .number = number,
			     });
}

static void add_opaque(struct emission *e)
{
	size_t n;
	char *data = opaque_stream(e->M, &n);

	e->opaque_bytes = (int64_t)n;
	e->opaque = weight_add(e, (struct weight){.digest = digest_bytes(data, n), .bytes = (int64_t)n, .data = data});
}

void weights_lay_out(struct emission *e)
{
	struct model *M = e->M;
	const struct graph *g = graph(M->m, M->m->main);

	e->weights_bytes = WEIGHTS_HEAD;
	e->weight_of = xcalloc(M->calls.n + 1, sizeof *e->weight_of);
	for (uint32_t c = 0; c < M->calls.n; c++) {
		e->weight_of[c] = xcalloc((size_t)M->calls.a[c].nconst + 1, sizeof **e->weight_of);
		for (int i = 0; i < M->calls.a[c].nconst; i++)
			e->weight_of[c][i] = call_const(e, c, i);
		const struct node *n = node(M->m, M->calls.a[c].node);
		for (uint32_t i = 0; i < n->nin; i++)
			if (n->in[i] && val(M->m, n->in[i])->kind != VAL_CONST && value_home(M, n->in[i]).kind == HOME_CONST)
				weight_value(e, M->root[n->in[i]]);
	}
	for (size_t i = 0; i < g->in.n; i++)
		if (val(M->m, g->in.a[i])->tensor)
			weight_value(e, g->in.a[i]);
	for (size_t k = 0; k < g->out.n; k++)
		if (value_home(M, g->out.a[k]).kind == HOME_CONST)
			weight_value(e, M->root[g->out.a[k]]);
	if (M->nopaque)
		add_opaque(e);
	struct digest_state *s = digest_new();
	for (size_t i = 0; i < e->weights.n; i++) {
		char hex[33];
		digest_hex(e->weights.a[i].digest, hex);
		digest_add(s, hex, 32);
		digest_add(s, &e->weights.a[i].bytes, sizeof e->weights.a[i].bytes);
	}
	e->weights_digest = digest_end(s);
}

static const void *weight_bytes(struct emission *e, const struct weight *w, void **owned)
{
	int64_t bytes;

	*owned = NULL;
	if (w->data)
		return w->data;
	if (w->value)
		return tensor_verified(e->M->m, val(e->M->m, w->value)->tensor);
	return const_bytes(e, w->call, w->number, &bytes, owned);
}

/* Hands the bytes of the file to put, in order. */
static void each_piece(struct emission *e, void (*put)(void *arg, const void *p, size_t n), void *arg)
{
	static const char zero[WEIGHTS_HEAD];
	uint64_t bytes = (uint64_t)e->weights_bytes;
	int64_t at = 32;

	put(arg, WEIGHTS_MAGIC, 8);
	put(arg, &bytes, 8);
	put(arg, &e->weights_digest, 16);
	for (size_t i = 0; i < e->weights.n; i++) {
		const struct weight *w = &e->weights.a[i];
		void *owned;
		const void *data = weight_bytes(e, w, &owned);
		put(arg, zero, (size_t)(w->offset - at));
		put(arg, data, (size_t)w->bytes);
		at = w->offset + w->bytes;
		free(owned);
	}
	put(arg, zero, (size_t)(e->weights_bytes - at));
}

static void put_file(void *arg, const void *p, size_t n) { fwrite(p, 1, n, arg); }

#include "checksum.in"

/* The sum of what was written goes into the head, where a library looks for the sum that it was made with. */
void weights_write(struct emission *e, const char *path)
{
	struct outfile o;
	struct mapped w;
	int fd;

	outfile_open(&o, path, true);
	each_piece(e, put_file, o.f);
	outfile_close(&o);
	mapped_open(&w, path);
	e->weights_sum = weights_sum(w.p + WEIGHTS_HEAD, w.n - WEIGHTS_HEAD);
	mapped_close(&w);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &e->weights_sum, sizeof e->weights_sum, 32) != sizeof e->weights_sum || close(fd))
		die_errno(EX_IO, "%s", path);
}

struct words {
	FILE *f;
	unsigned char word[8];
	size_t n, count;
};

static void put_words(void *arg, const void *p, size_t n)
{
	struct words *w = arg;
	uint64_t x;

	for (size_t i = 0; i < n; i++) {
		w->word[w->n++] = ((const unsigned char *)p)[i];
		if (w->n < 8)
			continue;
		memcpy(&x, w->word, 8);
		fprintf(w->f, "0x%" PRIx64 ",%s", x, ++w->count % 8 ? "" : "\n");
		w->n = 0;
	}
}

void weights_print(struct emission *e, FILE *f)
{
	struct words w = {.f = f};

	fprintf(f, "static const uint64_t embedded[%" PRId64 "] __attribute__((aligned(64))) = {\n", e->weights_bytes / 8);
	each_piece(e, put_words, &w);
	fprintf(f, "};\n");
}
