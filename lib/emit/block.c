/* A block's statement: its condition, the temporaries that it needs, and the assignment, for one iteration or for all lanes. */
#include "common/textfile.h"
#include "emit/emit_impl.h"
#include <string.h>

static bool is_held(const struct emit *e, poly guard)
{
	for (int i = 0; i < e->nheld; i++)
		if (e->held[i] == guard)
			return true;
	return false;
}

bool guard_text(struct emit *e, const struct nest *n, const char **cond)
{
	*cond = "";
	for (size_t i = 0; i < n->guard.n; i++) {
		poly g = env_subst(e, n->guard.a[i]);
		enum guard_state s = guard_state(e, g);
		if (s == GUARD_NEVER)
			return false;
		if (s == GUARD_ASKED && !is_held(e, n->guard.a[i]) && !(e->lane && poly_uses(e->p->P, g, e->lane)))
			*cond = text(e, "%s%s%s", *cond, **cond ? " && " : "", cond_text(e, g));
	}
	return true;
}

static const struct ex *less_cast(struct emit *e, ex_id ex)
{
	const struct ex *x = lex(e->p, ex);

	return x->kind == EX_CAST ? lex(e->p, x->a[0]) : x;
}

/* Is ex a fill of zero wherever the block runs? */
static bool zero_fill(struct emit *e, ex_id ex)
{
	const struct ex *x = less_cast(e, ex), *fill = x->kind == EX_GUARD ? lex(e->p, x->a[1]) : NULL;
	bool outside = false;

	if (!fill || fill->kind != EX_CONST || fill->c != 0 || fill->ic)
		return false;
	for (int i = 0; i < x->n && !outside; i++)
		outside = guard_state(e, here(e, x->index[i])) == GUARD_NEVER;
	return outside;
}

static bool is_weight(struct emit *e, ex_id ex)
{
	const struct ex *x = less_cast(e, ex);

	return x->kind == EX_READ && lbuf(e->p, x->buf)->scope == SCOPE_CONST;
}

/* A tap in the padding adds nothing to a sum: zero times a weight, and weights are taken to be finite. */
static bool adds_nothing(struct emit *e, const struct nest *n)
{
	const struct stage *s = lstage(e->p, n->stage);
	const struct ex *x = lex(e->p, s->body);

	if (n->phase != BLOCK_UPDATE || s->comb != COMB_SUM || x->kind != EX_CALL || x->fn != FN_MUL)
		return false;
	return (zero_fill(e, x->a[0]) && is_weight(e, x->a[1])) || (zero_fill(e, x->a[1]) && is_weight(e, x->a[0]));
}

/* The statement once for each lane, fully unrolled: names of registers may depend on the lane. */
static void lane_by_lane(struct emit *e, nest_id id)
{
	poly_var lane = e->lane;
	poly guard = e->lane_guard;
	int lanes = e->lanes;

	e->lane = 0;
	e->lane_guard = 0;
	for (int l = 0; l < lanes; l++) {
		poly by[NEST_DEPTH_MAX]; /* the expressions that stand for outer variables may contain the lane */
		memcpy(by, e->env_by, sizeof by);
		for (int i = 0; i < e->nenv; i++)
			e->env_by[i] = poly_subst(e->p->P, by[i], lane, poly_const(e->p->P, l));
		env_push(e, lane, poly_const(e->p->P, l));
		const char *cond = guard ? cond_text(e, env_subst(e, guard)) : NULL;
		int64_t at;
		bool certain = guard && poly_is_const(e->p->P, env_subst(e, guard), &at);
		if (!certain || at >= 0) {
			if (cond && !certain) {
				line(e, "if (%s) {", cond);
				e->depth++;
			}
			emit_block(e, id);
			if (cond && !certain) {
				e->depth--;
				line(e, "}");
			}
		}
		e->nenv--;
		memcpy(e->env_by, by, sizeof by);
	}
	e->lane = lane;
	e->lane_guard = guard;
}

/* Writes the lines of a block after its condition, in braces if there is more than one line. */
static void put_block(struct emit *e, const char *lines, size_t size, const char *cond, buf_id out)
{
	bool one = strchr(lines, '\n') == lines + size - 1;
	FILE *f = e->f;
	char *whole;

	e->f = textfile_open(&whole, NULL);
	e->aside = true;
	if (*cond)
		line(e, "if (%s)%s", cond, one ? "" : " {");
	else if (!one)
		line(e, "{");
	for (const char *s = lines, *end; *s; s = end) { /* in braces: one tab more */
		end = strchr(s, '\n') + 1;
		fprintf(e->f, "%s%.*s", *cond || one ? "" : "\t", (int)(end - s), s);
	}
	if (!one)
		line(e, "}");
	e->aside = false;
	textfile_close(e->f);
	e->f = f;
	run_add(e, whole, *cond, lbuf(e->p, out)->scope == SCOPE_REGISTER ? 0 : out);
	free(whole);
}

void emit_block(struct emit *e, nest_id id)
{
	const struct nest *n = lnest(e->p, id);
	buf_id to = lstage(e->p, n->stage)->out;
	const char *cond;
	char *out = NULL;
	size_t size = 0, touched = e->touched.n;
	FILE *f = e->f;
	bool done = true;

	e->block = id;
	if (adds_nothing(e, n) || !guard_text(e, n, &cond))
		return;
	if (e->lane)
		cond = vector_cond(e, cond);
	/* The lines go to a buffer first: how many they are decides whether braces are needed. */
	if (!e->dry)
		e->f = textfile_open(&out, &size);
	e->aside = true;
	e->depth += *cond ? 1 : 0;
	if (e->lane)
		done = vector_block(e);
	else
		scalar_block(e);
	e->depth -= *cond ? 1 : 0;
	e->aside = false;
	if (!e->dry) {
		textfile_close(e->f);
		e->f = f;
	}
	if (!done) {
		e->touched.n = touched;
		free(out);
		lane_by_lane(e, id);
		return;
	}
	if (!e->dry)
		put_block(e, out, size, cond, to);
	free(out);
	tmp_clear(e);
}
