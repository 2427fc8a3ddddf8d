/* The file of weights. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "source/source_impl.h"

/* Hands the bytes of the file to put, in order. */
static void each_piece(struct emission *e, void (*put)(void *arg, const void *p, size_t n), void *arg)
{
	static const char zero[WEIGHTS_HEAD];
	uint64_t bytes = (uint64_t)e->weights.bytes;
	int64_t at = 32;

	put(arg, WEIGHTS_MAGIC, 8);
	put(arg, &bytes, 8);
	put(arg, &e->weights.digest, 16);
	for (size_t i = 0; i < e->weights.a.n; i++) {
		const struct weight *w = &e->weights.a.a[i];
		void *owned;
		const void *data = weight_data(w, &owned);
		put(arg, zero, (size_t)(w->offset - at));
		put(arg, data, (size_t)w->bytes);
		at = w->offset + w->bytes;
		if (owned)
			free(owned);
		else
			mapping_forget(data, (size_t)w->bytes);
	}
	put(arg, zero, (size_t)(e->weights.bytes - at));
}

#include "source/checksum.in"

enum { SUM_BLOCK = 32 };

/* The file, and the checksum of what goes into it behind the head. */
struct summed {
	FILE *f;
	uint64_t lanes[4];
	size_t n; /* bytes so far */
	unsigned char rest[SUM_BLOCK];
};

static void sum_piece(struct summed *s, const unsigned char *p, size_t n)
{
	size_t begun = s->n % SUM_BLOCK, part = begun && n ? (n < SUM_BLOCK - begun ? n : SUM_BLOCK - begun) : 0;

	s->n += n;
	memcpy(s->rest + begun, p, part);
	if (part && begun + part == SUM_BLOCK)
		sum_add(s->lanes, s->rest, SUM_BLOCK);
	if (part == n)
		return;
	sum_add(s->lanes, p + part, (n - part) / SUM_BLOCK * SUM_BLOCK);
	memcpy(s->rest, p + n - s->n % SUM_BLOCK, s->n % SUM_BLOCK);
}

static void put_summed(void *arg, const void *p, size_t n)
{
	struct summed *s = arg;
	size_t head = s->n < WEIGHTS_HEAD ? WEIGHTS_HEAD - s->n : 0;

	fwrite(p, 1, n, s->f);
	if (head > n)
		head = n;
	s->n += head;
	sum_piece(s, (const unsigned char *)p + head, n - head);
}

enum { LARGE_PAGE = 2 << 20 }; /* written as one, the system may keep it as one: who maps the file then sees it by such */

/* The checksum of what was written goes into the head. A library compares it with the one that it was compiled with. */
void weights_write(struct emission *e, int n, const char *path)
{
	struct outfile o;
	struct summed s = {0};
	int fd;
	char *buffer = xmalloc(LARGE_PAGE);

	outfile_open(&o, path, true);
	s.f = o.f;
	setvbuf(s.f, buffer, _IOFBF, LARGE_PAGE);
	sum_begin(s.lanes);
	each_piece(e, put_summed, &s);
	outfile_close(&o);
	free(buffer);
	e->weights_sum = sum_end(s.lanes, s.n - WEIGHTS_HEAD);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, &e->weights_sum, sizeof e->weights_sum, 32) != sizeof e->weights_sum || close(fd))
		die_errno(EX_IO, "%s", path);
	for (int i = 1; i < n; i++)
		e[i].weights_sum = e->weights_sum;
}

struct words {
	FILE *f;
	unsigned char word[8];
	size_t n, count;
	size_t left_out; /* bytes that are not written */
};

static void put_words(void *arg, const void *p, size_t n)
{
	struct words *w = arg;
	uint64_t x;

	for (size_t i = 0; i < n; i++) {
		if (w->left_out) {
			w->left_out--;
			continue;
		}
		w->word[w->n++] = ((const unsigned char *)p)[i];
		if (w->n < 8)
			continue;
		memcpy(&x, w->word, 8);
		fprintf(w->f, "0x%" PRIx64 ",%s", x, ++w->count % 8 ? "" : "\n");
		w->n = 0;
	}
}

void put_weights(struct emission *e, FILE *f)
{
	struct words w = {.f = f, .left_out = e->bare ? WEIGHTS_HEAD : 0};

	fprintf(f, "%sconst uint64_t embedded[%" PRId64 "] __attribute__((aligned(64))) = {\n", e->of_several ? "" : "static ",
		(e->weights.bytes - (int64_t)w.left_out) / 8);
	each_piece(e, put_words, &w);
	fprintf(f, "};\n");
}
