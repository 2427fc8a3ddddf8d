/* Template for a product between two transforms: Winograd's convolutions (lower/winograd.h). They are recognized by structure: two stages
 * that choose a sum by an index, a product over the points, two such stages again.
 *
 * Lines of tiles are taken in blocks, so that padding, points, product and results of a block stay in the cache. The first stage of each
 * transform lives in registers. Channels are innermost everywhere; an operand or a result with another order is transposed block by
 * block. */
#include <math.h>
#include <string.h>
#include "sched/template.h"

struct transformed {
	stage_id pad; /* 0: the first transform reads an operand */
	stage_id rows, points, product, back, result;
	int tile;               /* results of a tile, along one axis */
	int taxes;              /* axes that count tiles: one, or lines and tiles of a line, and images before them */
	int h, w, o, n;         /* axes of the result; n -1: none */
	int64_t lines, of_line; /* lines of tiles, tiles in a line */
	int64_t block;          /* lines in a block */
	int channel;            /* axis of pad */
	bool across_in, across; /* channels are not contiguous in: pad's operand; the result */
};

/* The stage that computes the one buffer that s reads, constants apart; 0: none, or several buffers. */
static stage_id source(struct loop_prog *p, stage_id s, ex_id *read)
{
	ex_id all[READS_MAX];
	buf_id b = 0;
	for (int n = stage_all_reads(p, s, all), i = 0; i < n; i++) {
		buf_id c = lex(p, all[i])->buf;
		if (lbuf(p, c)->scope == SCOPE_CONST)
			continue;
		if (b && b != c)
			return 0;
		b = c;
		*read = all[i];
	}
	return b ? writer_here(p, b) : 0;
}

static bool find_stages(struct loop_prog *p, struct transformed *q)
{
	ex_id read = 0;
	for (stage_id s = 1; s < p->stages.n && !q->product; s++)
		if (stage_here(p, s) && lstage(p, s)->comb == COMB_SUM)
			q->product = s;
	if (!q->product)
		return false;
	q->taxes = lstage(p, q->product)->nspatial - 2;
	q->points = source(p, q->product, &read);
	q->rows = stage_choice(p, q->points) ? source(p, q->points, &read) : 0;
	q->back = sched_sole_reader(p, q->product);
	q->result = stage_choice(p, q->back) ? sched_sole_reader(p, q->back) : 0;
	if (q->taxes < 1 || q->taxes > 3 || !stage_choice(p, q->rows) || !stage_choice(p, q->result) ||
	    lstage(p, q->back)->nspatial != q->taxes + 3 || lstage(p, q->rows)->nspatial != q->taxes + 3)
		return false;
	q->pad = source(p, q->rows, &read);
	return !q->pad || (lstage(p, q->pad)->comb == COMB_NONE && sched_sole_reader(p, q->pad) == q->rows);
}

/* Finds the axes of the result: o indexes the channels of what it reads, h chooses the row of a tile, w its column. */
static bool find_axes(struct schedule *r, struct transformed *q)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->result);
	const struct ex *choice = lex(p, stage_choice(p, q->result)), *x = NULL;
	int n = stage_reads_of(p, q->result, NULL, 0);
	ex_id *read = ARENA_ARRAY(&p->arena, ex_id, n);
	stage_reads_of(p, q->result, read, n);
	for (int i = 0; i < n; i++)
		if (lex(p, read[i])->buf == lstage(p, q->back)->out)
			x = lex(p, read[i]);
	q->h = q->w = q->o = q->n = -1;
	for (int a = 0; a < s->nspatial; a++) {
		poly_var v = s->axis[a].var;
		int *which = x->index[x->n - 1] == poly_of(p->P, v) ? &q->o
			     : poly_uses(p->P, x->index[0], v)      ? &q->h
			     : poly_uses(p->P, choice->index[0], v) ? &q->w
								    : &q->n;
		if (*which >= 0)
			return false;
		*which = a;
	}
	if (q->h < 0 || q->w < 0 || q->o < 0 || (q->n >= 0 && (q->n || s->nspatial != 4)))
		return false;
	q->tile = (int)lbuf(p, lstage(p, q->back)->out)->shape[0];
	q->lines = (s->axis[q->h].extent + q->tile - 1) / q->tile;
	q->of_line = (s->axis[q->w].extent + q->tile - 1) / q->tile;
	int64_t images = q->n < 0 ? 1 : s->axis[q->n].extent, tiles = 1;
	for (int a = 0; a < q->taxes; a++)
		tiles *= lbuf(p, lstage(p, q->back)->out)->shape[2 + a];
	return tiles == images * q->lines * q->of_line;
}

/* Cycles with blocks of that many lines: the products, the constants, which each block reads anew, and the part of the data between the
 * stages that the second-level cache does not hold, which is written and read again. Reading constants does not overlap with
 * multiply-adds. */
static double block_cost(struct schedule *r, const struct transformed *q, int64_t lines)
{
	struct loop_prog *p = r->p;
	const struct stage *s = lstage(p, q->product);
	double points = (double)s->axis[0].extent, in = (double)s->axis[s->nspatial].extent;
	double out = (double)s->axis[s->nspatial - 1].extent;
	double l2 = (double)sched_machine(p)->l2;
	double blocks = (double)q->lines / (double)lines, tiles = (double)(lines * q->of_line);
	double weights = 4 * points * in * out, between = 4 * points * tiles * (in + out);
	double sums = blocks * points * sched_tile_cycles(r, q->product, 2, 1, lines * q->of_line);
	double stream = weights + between < l2 ? 0 : blocks * weights / sched_machine(p)->l3_a_cycle;
	return sums + stream + 2 * blocks * fmax(0, between - PANEL_SHARE * l2) / sched_machine(p)->l3_a_cycle;
}

/* A block is one line, all lines, or a number that divides them, so that all blocks have one size. */
static void choose_block(struct schedule *r, struct transformed *q)
{
	struct loop_prog *p = r->p;
	static const double better = 0.95; /* of the time of the best so far: counts are rough */
	bool whole = lstage(p, q->result)->axis[q->h].extent % q->tile == 0;
	int64_t choice[SAMPLE_CHOICES_MAX], best = 1;
	double least = INFINITY;
	int n = 0;
	for (int64_t lines = 1; lines <= q->lines && n < SAMPLE_CHOICES_MAX; lines++) {
		if (q->lines % lines || (!whole && lines > 1 && lines < q->lines))
			continue;
		choice[n++] = lines;
		double cost = block_cost(r, q, lines);
		if (cost < better * least) {
			least = cost;
			best = lines;
		}
	}
	q->block = n > 1 ? sched_sample(r, "lines", choice, n, best) : 1;
}

/* Splits the result into blocks, lines, tiles and vectors. The loop over blocks, or root; *vector: the loop over vectors of channels. */
static const char *split_result(struct schedule *r, const struct transformed *q, const char **vector)
{
	const char *h = axis_loop(r, q->result, q->h, ""), *w = axis_loop(r, q->result, q->w, ""), *o = axis_loop(r, q->result, q->o, "");
	bool some = q->block > 1 && q->block < q->lines;
	const char *const tail[] = {"tail=peel", "tail=guard"}; /* pieces for each rest would repeat all that a block computes */
	const char *row = loop_part(r, h, some ? 2 : 1);
	struct words order = {0};
	if (some)
		sched_try(r, PRIM_SPLIT, h, "lines", trace_number(q->tile));
	else
		sched_try(r, PRIM_SPLIT, h, trace_number(q->tile), tail[axis_varies(r->p, q->result, q->h)]);
	sched_try(r, PRIM_SPLIT, w, trace_number(q->tile), tail[axis_varies(r->p, q->result, q->w)]);
	sched_try(r, PRIM_SPLIT, o, trace_number(r->lanes), "tail=peel");
	words_add(&order, loop_part(r, h, 0));
	if (some)
		words_add(&order, loop_part(r, h, 1));
	words_add(&order, loop_part(r, w, 0));
	words_add(&order, loop_part(r, o, 0));
	words_add(&order, row);
	words_add(&order, loop_part(r, w, 1));
	words_add(&order, loop_part(r, o, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	sched_try(r, PRIM_UNROLL, row);
	sched_try(r, PRIM_UNROLL, loop_part(r, w, 1));
	sched_try(r, PRIM_VECTOR, loop_part(r, o, 1));
	*vector = loop_part(r, o, 0);
	if (q->block < q->lines)
		return loop_part(r, h, 0);
	return q->n >= 0 ? axis_loop(r, q->result, q->n, "") : "root";
}

/* The first stage of a transform: in registers, computed in the loop, all axes unrolled but those that count tiles. */
static void in_registers(struct schedule *r, stage_id s, const char *loop)
{
	const char *name = sym_str(lstage(r->p, s)->name);
	if (!sched_try(r, PRIM_AT, name, loop))
		return;
	sched_try(r, PRIM_SCOPE, name, "register");
	sched_try(r, PRIM_UNROLL, axis_loop(r, s, 0, ""));
	sched_try(r, PRIM_UNROLL, axis_loop(r, s, 1, ""));
	sched_try(r, PRIM_VECTOR, axis_loop(r, s, lstage(r->p, s)->nspatial - 1, ""));
}

static void compute_at(struct schedule *r, stage_id s, const char *block)
{
	if (strcmp(block, "root"))
		sched_try(r, PRIM_AT, sym_str(lstage(r->p, s)->name), block);
}

static void compute_points(struct schedule *r, const struct transformed *q, const char *block)
{
	const char *s = axis_loop(r, q->points, 0, ""), *c = axis_loop(r, q->points, q->taxes + 1, "");
	struct words order = {0};
	compute_at(r, q->points, block);
	sched_try(r, PRIM_SPLIT, c, trace_number(r->lanes), "tail=peel");
	for (int a = 1; a <= q->taxes; a++)
		words_add(&order, axis_loop(r, q->points, a, ""));
	words_add(&order, loop_part(r, c, 0));
	words_add(&order, s);
	words_add(&order, loop_part(r, c, 1));
	sched_list(r, NULL, PRIM_REORDER, &order);
	sched_try(r, PRIM_UNROLL, s);
	sched_try(r, PRIM_VECTOR, loop_part(r, c, 1));
	in_registers(r, q->rows, loop_part(r, c, 0));
}

/* Finds the operand's axis of channels, and whether operand and result have channels last. An operand that is not padded is not transposed
 * either, so with a result that is, it must have. */
static bool find_channels(struct loop_prog *p, struct transformed *q)
{
	ex_id read = 0;
	q->across = contiguous_axis(p, q->result) != q->o;
	q->channel = -1;
	source(p, q->rows, &read);
	for (int d = 0; d < lex(p, read)->n; d++)
		if (lex(p, read)->index[d] == stage_axis(p, q->rows, q->taxes + 2))
			q->channel = d;
	q->across_in = contiguous_dim(p, lex(p, read)->buf) != q->channel;
	if (!q->pad && (!q->across || q->channel < 0 || q->across_in))
		return !q->across;
	return q->channel >= 0 && (!q->across || (contiguous_axis(p, q->result) == q->w && !lbuf(p, lstage(p, q->result)->out)->layout.n));
}

/* Transposes other operands of the result that have its layout, a block at a time. */
static void load_across(struct schedule *r, const struct transformed *q, const char *block)
{
	struct loop_prog *p = r->p;
	ex_id read[READS_MAX];
	int n = stage_all_reads(p, q->result, read), rank = lstage(p, q->result)->nspatial;

	for (int i = 0; i < n; i++) {
		const struct ex *x = lex(p, read[i]);
		const struct loop_buf *b = lbuf(p, x->buf);
		bool alike = is_operand(p, x->buf) && b->dtype == DT_F32 && b->rank == rank && !b->layout.n && x->dyn_dim < 0;
		for (int d = 0; d < rank && alike; d++)
			alike = x->index[d] == stage_axis(p, q->result, d) && b->shape[d] == lstage(p, q->result)->axis[d].extent;
		const char *name = sched_name(r, "%s_across", sym_str(b->name));
		if (!alike || !sched_make(r, name, PRIM_CACHE, sym_str(b->name), sym_str(lstage(p, q->result)->name), block, "scratch"))
			continue;
		sched_axis_last(r, name, q->result, q->o);
		sched_squares(r, stage_find(p, name), q->o, q->w, false, false);
	}
}

/* Computes a block in a buffer with channels last, and transposes it into the result. */
static void store_across(struct schedule *r, const struct transformed *q, const char *block)
{
	const char *name = sym_str(lstage(r->p, q->result)->name), *out = sym_str(lbuf(r->p, lstage(r->p, q->result)->out)->name);
	const char *results = sched_fresh(r, "results");

	if (!sched_make(r, results, PRIM_CACHE, out, name, block, "scratch"))
		return;
	sched_axis_last(r, results, q->result, q->o);
	sched_squares(r, stage_find(r->p, sched_name(r, "%s.store", results)), q->o, q->w, true, false);
}

/* One loop nest, not partitioned at borders: pieces would gain nothing, and each would be more code. */
static void map_pad(struct schedule *r, const struct transformed *q)
{
	const char *c = axis_loop(r, q->pad, q->channel, "");
	bool split = axis_steps(r, q->pad, q->channel) > r->lanes;
	struct words order = {0};
	for (int i = 0; i < lstage(r->p, q->pad)->nspatial; i++)
		if (i != q->channel)
			words_add(&order, axis_loop(r, q->pad, i, ""));
	words_add(&order, c);
	sched_list(r, NULL, PRIM_REORDER, &order);
	if (split)
		sched_try(r, PRIM_SPLIT, c, trace_number(r->lanes), "tail=peel");
	sched_try(r, PRIM_VECTOR, split ? loop_part(r, c, 1) : c);
}

int transformed_channels(struct schedule *r, stage_id result)
{
	struct transformed q = {0};

	return find_stages(r->p, &q) && find_axes(r, &q) && q.result == result ? q.o : -1;
}

bool template_transformed(struct schedule *r)
{
	struct loop_prog *p = r->p;
	struct transformed q = {0};
	if (!find_stages(p, &q) || !find_axes(r, &q))
		return false;
	if (!find_channels(p, &q) || lbuf(p, lstage(p, q.product)->out)->dtype != DT_F32)
		return false;
	if (q.pad && q.across_in)
		sched_axis_last(r, sym_str(lbuf(p, lstage(p, q.pad)->out)->name), q.pad, q.channel);
	const char *vector;
	choose_block(r, &q);
	const char *block = split_result(r, &q, &vector);
	in_registers(r, q.back, vector);
	compute_at(r, q.product, block);
	compute_points(r, &q, block);
	if (q.pad)
		compute_at(r, q.pad, block);
	if (q.across) {
		load_across(r, &q, block);
		store_across(r, &q, block);
	}
	template_tile(r, q.product);
	if (q.pad)
		map_pad(r, &q);
	return true;
}
