/* Data that threads of a team read from each other's caches. Every kernel gives its iterations to threads in consecutive shares. If a
 * share reads one contiguous piece of a buffer, the same thread wrote that piece; if not, all but its part comes from other threads.
 * Constants are only read: each thread reads what it needs from the third-level cache, which threads share. */
#include <math.h>
#include <stdlib.h>
#include "loop/nest.h"
#include "sched/template.h"

enum { HALO = 3 }; /* iterations beyond its end that a thread's share may read */

struct moved {
	struct loop_prog *p;
	nest_id loop, block;
	int ninner;
	nest_id inner[NEST_DEPTH_MAX]; /* all other loops around the block */
	int64_t steps;
	buf_id b;
	bool used, apart, depends; /* apart: each share reads one piece of memory; depends: the access varies with the loop */
};

static bool at_step(struct moved *m, poly e, int64_t step, int64_t *value)
{
	struct loop_prog *p = m->p;

	return e != POLY_UNKNOWN && poly_is_const(p->P, poly_subst(p->P, e, lnest(p, m->loop)->var, poly_const(p->P, step)), value);
}

/* Compares the elements that one iteration touches, first to last, with the distance to the next iteration. */
static void add_access(struct moved *m, const poly *index)
{
	struct loop_prog *p = m->p;
	int64_t first, last, end;
	poly bound[LOOP_RANK_MAX];

	for (int i = 0; i < lbuf(p, m->b)->rank; i++)
		bound[i] = bind_poly(p, lnest(p, m->block), index[i]);
	poly at = buf_offset(p, m->b, bound);
	m->used = true;
	if (!at_step(m, bound_over(p, at, m->ninner, m->inner, false), 0, &first) ||
	    !at_step(m, bound_over(p, at, m->ninner, m->inner, true), 0, &last) ||
	    !at_step(m, bound_over(p, at, m->ninner, m->inner, false), m->steps - 1, &end)) {
		m->apart = false;
		m->depends = true;
		return;
	}
	double step = fabs((double)(end - first)) / (double)(m->steps - 1), span = (double)(last - first + 1);
	m->depends |= step > 0;
	m->apart &= step > 0 && span <= HALO * step + 1;
}

static void add_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct moved *m = arg;

	if (lex(p, read)->buf == m->b)
		add_access(m, lex(p, read)->index);
}

static void add_block(struct moved *m, nest_id block)
{
	struct loop_prog *p = m->p;
	const struct nest *x = lnest(p, block);
	const struct stage *s = lstage(p, x->stage);
	nest_id loops[NEST_DEPTH_MAX];

	m->block = block;
	m->ninner = 0;
	for (int n = nest_loops(p, block, loops), i = 0; i < n; i++)
		if (loops[i] != m->loop)
			m->inner[m->ninner++] = loops[i];
	if (s->out == m->b)
		add_access(m, x->bind);
	if (x->phase == BLOCK_UPDATE)
		ex_reads(p, s->body, add_read, m);
}

double sched_moved(struct loop_prog *p, nest_id loop, int64_t steps)
{
	enum { LINE_BYTES = 64 };
	int nblocks = nest_blocks(p, loop, 0, NULL, 0);
	nest_id *block = xcalloc((size_t)nblocks + 1, sizeof *block);
	double cycles = 0, others = 1 - 1.0 / p->threads;

	nest_blocks(p, loop, 0, block, nblocks);
	for (buf_id b = 1; b < p->bufs.n; b++) {
		struct moved m = {.p = p, .loop = loop, .steps = steps, .b = b, .apart = true};
		enum scope scope = lbuf(p, b)->scope;
		double bytes = (double)buf_elems(p, b) * (double)dtype_size(lbuf(p, b)->dtype);
		for (int i = 0; i < nblocks && scope <= SCOPE_OUT && steps > 1; i++)
			add_block(&m, block[i]);
		if (!m.used)
			continue;
		double mine = m.depends ? bytes / p->threads : bytes;
		if (scope == SCOPE_CONST)
			cycles += (mine - bytes / p->threads) / sched_machine(p)->l3_a_cycle;
		else if (!m.apart)
			cycles += others * mine / LINE_BYTES * sched_machine(p)->line_cycles;
	}
	free(block);
	return cycles;
}
