/* One call of a function of lib/native, with memory of its own: what tests of them share. */
#ifndef HONE_TESTS_CALL_H
#define HONE_TESTS_CALL_H
#include <stdlib.h>
#include <string.h>
#include "common/memory.h"
#include "common/tool.h"
#include "graph/types.h"
#include "native/table.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

enum { OPERANDS = 8, HELD = 64 };

struct call {
	struct native n;
	struct native_tensor in[OPERANDS], out[3];
	struct native_attr attr[16];
	int64_t dims[OPERANDS + 3][8];
	void *held[HELD];
	int nheld;
};

static void *hold(struct call *c, size_t bytes)
{
	void *p = bytes < (size_t)1 << 40 && c->nheld < HELD ? malloc(bytes + !bytes) : NULL;

	if (p)
		memset(p, 0xab, bytes);
	if (p)
		c->held[c->nheld++] = p;
	return p;
}

static void *scratch(struct native *n, size_t bytes) { return hold(n->ctx, bytes); }

static void *room(struct native *n, int i, int type, int rank, const int64_t *dims)
{
	struct call *c = n->ctx;
	void *p = hold(c, (size_t)native_count_of(rank, dims) * native_size(type));

	if (i < n->nout && rank <= 8) {
		memcpy(c->dims[OPERANDS + i], dims, (size_t)rank * sizeof *dims);
		n->out[i] = (struct native_tensor){type, rank, c->dims[OPERANDS + i], p};
	}
	return p;
}

static void *memo(struct native *n, size_t bytes)
{
	void *p = hold(n->ctx, bytes);

	return p ? memset(p, 0, bytes) : p;
}

static struct native_string *texts(struct native *n, int i, int rank, const int64_t *dims, size_t bytes)
{
	(void)bytes;
	return room(n, i, NATIVE_STR, rank, dims);
}

static struct call *call_new(int nout)
{
	struct call *c = calloc(1, sizeof *c);

	c->n = (struct native){.in = c->in,
			       .out = c->out,
			       .nout = nout,
			       .attr = c->attr,
			       .room = room,
			       .texts = texts,
			       .scratch = scratch,
			       .memo = memo,
			       .ctx = c};
	for (int i = 0; i < nout; i++)
		c->out[i].type = NATIVE_F32;
	return c;
}

static void call_free(struct call *c)
{
	for (int i = 0; i < c->nheld; i++)
		free(c->held[i]);
	free(c);
}

/* The next operand. Its data, of as many bytes as it has elements. */
static void *operand(struct call *c, int type, int rank, const int64_t *dims)
{
	int i = c->n.nin++;

	memcpy(c->dims[i], dims, (size_t)rank * sizeof *dims);
	c->in[i] = (struct native_tensor){type, rank, c->dims[i], NULL};
	return c->in[i].data = hold(c, (size_t)native_count(&c->in[i]) * native_size(type));
}

#define DIMS(...) \
	(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }

__attribute__((unused)) static void put_int(struct call *c, int64_t v) { *(int64_t *)operand(c, NATIVE_I64, 0, (int64_t[]){0}) = v; }
__attribute__((unused)) static void put_float(struct call *c, float v) { *(float *)operand(c, NATIVE_F32, 0, (int64_t[]){0}) = v; }
static struct native_attr *attr(struct call *c, const char *name)
{
	struct native_attr *a = &c->attr[c->n.nattr++];

	*a = (struct native_attr){.name = name, .given = true, .n = 1};
	return a;
}

static const char *run(struct call *c, const char *op) { return native_find(op)->run(&c->n); }
#endif
