/* Where elements are: buffers and windows of them. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"

/* Parts of b's order (a row-major buffer has one a dim). */
static int parts_of(const struct loop_buf *b, struct layout_part *part)
{
	if (b->layout.n) {
		memcpy(part, b->layout.part, sizeof *part * (size_t)b->layout.n);
		return b->layout.n;
	}
	for (int i = 0; i < b->rank; i++)
		part[i] = (struct layout_part){i, 1, 0};
	return b->rank;
}

static int64_t part_size(const struct loop_buf *b, struct layout_part q)
{
	int64_t n = b->extent[q.axis];
	return q.mod ? q.mod : n / q.div + (n % q.div != 0);
}

int64_t layout_elems(const struct loop_buf *b)
{
	struct layout_part part[LOOP_LAYOUT_MAX];
	int64_t n = 1;
	for (int np = parts_of(b, part), i = 0; i < np; i++)
		if (__builtin_mul_overflow(n, part_size(b, part[i]), &n))
			return INT64_MAX;
	return n;
}

int64_t buf_room(struct loop_prog *p, buf_id id, int d)
{
	struct loop_buf *b = lbuf(p, id);
	int64_t block = 1;
	for (int i = 0; i < b->layout.n && b->scope == SCOPE_CONST; i++)
		if (b->layout.part[i].axis == d && b->layout.part[i].div > block)
			block = b->layout.part[i].div;
	return b->shape[d] == INT64_MAX ? b->shape[d] : (b->shape[d] + block - 1) / block * block;
}

poly buf_offset(struct loop_prog *p, buf_id id, const poly *index)
{
	struct loop_buf *b = lbuf(p, id);
	struct layout_part part[LOOP_LAYOUT_MAX];
	poly off = poly_const(p->P, 0);
	int np = parts_of(b, part);
	for (int i = 0; i < np; i++) {
		poly e = poly_sub(p->P, index[part[i].axis], b->base[part[i].axis]);
		if (part_size(b, part[i]) == 1 && !part[i].mod)
			continue; /* one place only, whatever the parameters */
		if (part[i].div > 1)
			e = poly_floordiv(p->P, e, part[i].div);
		if (part[i].mod)
			e = poly_mod(p->P, e, part[i].mod);
		if (b->size[part[i].axis] != POLY_UNKNOWN && !part[i].mod)
			off = poly_add(p->P, poly_mul(p->P, off, poly_ceildiv(p->P, b->size[part[i].axis], part[i].div)), e);
		else
			off = poly_add(p->P, poly_mulc(p->P, off, part_size(b, part[i])), e);
	}
	return off;
}

poly buf_count(struct loop_prog *p, buf_id id)
{
	const struct loop_buf *b = lbuf(p, id);
	struct layout_part part[LOOP_LAYOUT_MAX];
	poly n = poly_const(p->P, 1);
	for (int np = parts_of(b, part), i = 0; i < np; i++)
		if (b->size[part[i].axis] != POLY_UNKNOWN && !part[i].mod)
			n = poly_mul(p->P, n, poly_ceildiv(p->P, b->size[part[i].axis], part[i].div));
		else
			n = poly_mulc(p->P, n, part_size(b, part[i]));
	return n;
}

int64_t buf_elems(struct loop_prog *p, buf_id id) { return layout_elems(lbuf(p, id)); }

/* What index i of axis d adds to an element's place, for all i: a layout's parts are of one axis each, so the place is a
 * sum over axes. Memory of the process. */
static int64_t *places_of(const struct loop_buf *b, int d)
{
	struct layout_part part[LOOP_LAYOUT_MAX];
	int np = parts_of(b, part);
	int64_t *place = xcalloc((size_t)b->shape[d] + 1, sizeof *place), step = 1;

	for (int i = np - 1; i >= 0; i--) {
		for (int64_t k = 0; part[i].axis == d && k < b->shape[d]; k++) {
			int64_t v = k / part[i].div;
			place[k] += (part[i].mod ? v % part[i].mod : v) * step;
		}
		step *= part_size(b, part[i]);
	}
	return place;
}

/* A row of n elements, of a type: to x[place[i]] from y[i], or back. */
#define COPY_ROW(T) \
	for (int64_t i = 0; i < n; i++) { \
		char *p = x + (size_t)place[i] * sizeof(T), *q = y + (size_t)i * sizeof(T); \
		memcpy(pack ? p : q, pack ? q : p, sizeof(T)); \
	}

static void copy_row(size_t size, char *x, char *y, const int64_t *place, int64_t n, bool pack)
{
	if (n && place[n - 1] == n - 1) { /* they grow within a row */
		memcpy(pack ? x : y, pack ? y : x, (size_t)n * size);
		return;
	}
	switch (size) {
	case 1: COPY_ROW(uint8_t); break;
	case 2: COPY_ROW(uint16_t); break;
	case 4: COPY_ROW(uint32_t); break;
	default: COPY_ROW(uint64_t);
	}
}

/* Copies every element between row-major order and b's. */
static void copy_elements(const struct loop_buf *b, char *laid_out, char *plain, bool pack)
{
	size_t size = dtype_size(b->dtype);
	int64_t *place[LOOP_RANK_MAX], ix[LOOP_RANK_MAX] = {0}, zero = 0, count = 1;
	int last = b->rank - 1;
	int64_t n = b->rank ? b->shape[last] : 1;

	for (int d = 0; d < b->rank; d++) {
		place[d] = places_of(b, d);
		count *= b->shape[d];
	}
	for (int64_t done = 0; done < count; done += n) {
		int64_t off = 0;
		for (int d = 0; d < last; d++)
			off += place[d][ix[d]];
		copy_row(size, laid_out + (size_t)off * size, plain + (size_t)done * size, b->rank ? place[last] : &zero, n, pack);
		for (int d = last - 1; d >= 0 && ++ix[d] == b->shape[d]; d--)
			ix[d] = 0;
	}
	for (int d = 0; d < b->rank; d++)
		free(place[d]);
}

void layout_pack(const struct loop_buf *b, const void *src, void *dst)
{
	memset(dst, 0, (size_t)layout_elems(b) * dtype_size(b->dtype));
	copy_elements(b, dst, (char *)src, true);
}

void layout_unpack(const struct loop_buf *b, const void *src, void *dst) { copy_elements(b, (char *)src, dst, false); }

void buf_pack(struct loop_prog *p, buf_id id, const void *src, void *dst) { layout_pack(lbuf(p, id), src, dst); }
