/* Parts of a program: a product or convolution of its own, and what is done to its sums element by element. */
#include "sched/template.h"

bool stage_here(struct loop_prog *p, stage_id s) { return !lstage(p, s)->gone && (!p->part || lstage(p, s)->part == p->part); }

stage_id writer_here(struct loop_prog *p, buf_id b)
{
	stage_id s = buf_writer(p, b);

	return s && stage_here(p, s) ? s : 0;
}

bool is_operand(struct loop_prog *p, buf_id b)
{
	return lbuf(p, b)->scope == SCOPE_IN || (p->part && lbuf(p, b)->scope == SCOPE_SCRATCH && !writer_here(p, b));
}

bool is_result(struct loop_prog *p, buf_id b)
{
	if (lbuf(p, b)->scope == SCOPE_OUT)
		return true;
	for (stage_id s = 1; p->part && s < p->stages.n; s++)
		if (!lstage(p, s)->gone && lstage(p, s)->part != p->part && stage_reads(p, s, b))
			return true;
	return false;
}

const char *sched_fresh(struct schedule *r, const char *name)
{
	return r->p->part && buf_find(r->p, name) ? sched_name(r, "%s%u", name, r->p->part) : name;
}

/* By number of a node: the part that it belongs to; 0: not known yet. */
struct nodes {
	uint32_t n, *part, parts;
	bool *product; /* by number: has it any? */
};

static uint32_t last_node(struct loop_prog *p)
{
	uint32_t n = 0;

	for (stage_id s = 1; s < p->stages.n; s++)
		n = lstage(p, s)->part > n ? lstage(p, s)->part : n;
	return n;
}

static bool makes_products(struct loop_prog *p, uint32_t node)
{
	for (stage_id s = 1; s < p->stages.n; s++)
		if (lstage(p, s)->part == node && stage_here(p, s) && lstage(p, s)->comb == COMB_SUM && has_reuse(p, s))
			return true;
	return false;
}

/* from: the last part whose results the node reads; else the first part that reads the node's results. 0: none is known yet. */
static uint32_t part_beside(struct loop_prog *p, const struct nodes *q, uint32_t node, bool from)
{
	uint32_t found = 0;

	for (stage_id s = 1; s < p->stages.n; s++)
		for (stage_id t = 1; t < p->stages.n; t++) {
			stage_id mine = from ? s : t, other = from ? t : s;
			uint32_t part = q->part[lstage(p, other)->part];
			if (lstage(p, mine)->part == node && lstage(p, other)->part != node && part &&
			    stage_reads(p, s, lstage(p, t)->out) && (!found || (part > found) == from))
				found = part;
		}
	return found;
}

/* A node with products begins a part. Other nodes join the last part that they read; those that read none join the first part that reads
 * them, else the first of all. */
static void find_parts(struct loop_prog *p, struct nodes *q)
{
	for (uint32_t i = 1; i <= q->n; i++)
		q->parts += q->product[i] = makes_products(p, i);
	if (q->parts < 2)
		return;
	for (uint32_t i = 1, n = 0; i <= q->n; i++)
		q->part[i] = q->product[i] ? ++n : part_beside(p, q, i, true);
	for (uint32_t i = q->n; i > 0; i--)
		if (!q->part[i])
			q->part[i] = part_beside(p, q, i, false);
	for (uint32_t i = 0; i <= q->n; i++)
		if (!q->part[i])
			q->part[i] = 1;
}

uint32_t sched_parts(struct loop_prog *p)
{
	struct nodes q = {.n = last_node(p)};

	q.part = ARENA_ARRAY(&p->arena, uint32_t, q.n + 1);
	q.product = ARENA_ARRAY(&p->arena, bool, q.n + 1);
	find_parts(p, &q);
	for (stage_id s = 1; q.parts > 1 && s < p->stages.n; s++)
		lstage(p, s)->part = q.part[lstage(p, s)->part];
	return q.parts;
}
