/* Primitives that say how code is laid out or what is fetched early; what is computed stays as it is. */
#include <string.h>
#include "loop/nest.h"
#include "loop/prim.h"

struct found {
	nest_id outline, parallel;
};

static void find_marks(struct loop_prog *p, nest_id n, void *arg)
{
	struct found *f = arg;

	if (lnest(p, n)->kind != NEST_FOR)
		return;
	if (lnest(p, n)->outline)
		f->outline = n;
	if (lnest(p, n)->mark == LOOP_PARALLEL)
		f->parallel = n;
}

const char *outlined(struct loop_prog *p, nest_id l)
{
	for (nest_id n = l; n; n = lnest(p, n)->parent)
		if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->outline)
			return whynot(p, "%s is outlined already", sym_str(lnest(p, n)->name));
	return NULL;
}

/* Does any block below n, or (outside) any other, touch b? */
static bool touched(struct loop_prog *p, nest_id n, buf_id b, bool outside)
{
	int count = nest_blocks(p, p->root, 0, NULL, 0);
	nest_id *block = xcalloc((size_t)count + 1, sizeof *block);
	bool found = false;

	nest_blocks(p, p->root, 0, block, count);
	for (int i = 0; i < count && !found; i++) {
		const struct nest *k = lnest(p, block[i]);
		if (nest_inside(p, block[i], n) != outside)
			found = lstage(p, k->stage)->out == b || (k->phase == BLOCK_UPDATE && stage_reads(p, k->stage, b));
	}
	free(block);
	return found;
}

/* Registers cannot be handed to a function. */
static const char *registers_outside(struct loop_prog *p, nest_id l)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == SCOPE_REGISTER && touched(p, l, b, false) && touched(p, l, b, true))
			return whynot(p, "register buffer %s is used inside and outside of %s", sym_str(lbuf(p, b)->name),
				      sym_str(lnest(p, l)->name));
	return NULL;
}

const char *prim_outline(struct loop_prog *p, const char *loop)
{
	nest_id l = loop_find(p, loop);
	const char *why;

	if (!l)
		return loop_missing(p, loop);
	if ((why = outlined(p, l)))
		return why;
	struct found f = {0};
	nest_walk(p, l, find_marks, &f);
	if (f.outline)
		return whynot(p, "%s is outlined already", sym_str(lnest(p, f.outline)->name));
	if (f.parallel)
		return whynot(p, "%s is parallel: a team has functions of its own", sym_str(lnest(p, f.parallel)->name));
	if ((why = registers_outside(p, l)))
		return why;
	lnest(p, l)->outline = true;
	return NULL;
}

/* NULL if iterations of l find in b what others have left there, or what they leave is found: else there is nothing that
 * could be fetched. */
static const char *fetchable(struct loop_prog *p, buf_id b, nest_id l)
{
	const char *name = sym_str(lbuf(p, b)->name), *loop = sym_str(lnest(p, l)->name);

	if (lbuf(p, b)->scope == SCOPE_REGISTER || lbuf(p, b)->scope == SCOPE_STACK)
		return whynot(p, "prefetch: %s is a %s buffer", name, scope_name(lbuf(p, b)->scope));
	if (!touched(p, l, b, false))
		return whynot(p, "prefetch: nothing in %s touches %s", loop, name);
	if (lbuf(p, b)->scope == SCOPE_SCRATCH && !touched(p, l, b, true))
		return whynot(p, "prefetch: %s lives in an iteration of %s", name, loop);
	return NULL;
}

const char *prim_prefetch(struct loop_prog *p, const char *buf, const char *loop, int64_t steps)
{
	enum { STEPS_MAX = 1 << 16 };
	nest_id l = loop_find(p, loop);
	buf_id b = buf_find(p, buf);

	if (!b)
		return whynot(p, "no buffer %s", buf);
	if (!l)
		return loop_missing(p, loop);
	if (steps < 1 || steps > STEPS_MAX)
		return whynot(p, "%ld steps ahead: it is 1 to %d", (long)steps, STEPS_MAX);
	if (lnest(p, l)->mark == LOOP_VECTOR)
		return whynot(p, "%s is a vector: it has no iterations", loop);
	for (size_t i = 0; i < lnest(p, l)->ahead.n; i++)
		if (lnest(p, l)->ahead.a[i].b == b)
			return whynot(p, "%s prefetches %s already", loop, buf);
	const char *why = fetchable(p, b, l);
	if (!why)
		vec_push(&lnest(p, l)->ahead, ((struct prefetch){b, steps}));
	return why;
}

static void settle_one(struct loop_prog *p, nest_id n, void *arg)
{
	const char **why = arg;
	size_t kept = 0;

	if (*why || lnest(p, n)->kind != NEST_FOR)
		return;
	if (lnest(p, n)->outline && (*why = registers_outside(p, n)))
		*why = whynot(p, "outline: %s", *why);
	for (size_t i = 0; i < lnest(p, n)->ahead.n; i++)
		if (!fetchable(p, lnest(p, n)->ahead.a[i].b, n))
			lnest(p, n)->ahead.a[kept++] = lnest(p, n)->ahead.a[i];
	lnest(p, n)->ahead.n = kept;
}

const char *hints_settle(struct loop_prog *p)
{
	const char *why = NULL;

	nest_walk(p, p->root, settle_one, &why);
	return why;
}
