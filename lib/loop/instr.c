/* Target instructions: the backends' tables as one, and the match of a nest with a row. */
#include "loop/instr.h"
#include <ctype.h>
#include <math.h>
#include <string.h>
#include "target/backend.h"
#include "target/rate.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "loop/prim.h"

/* ---- the table ---- */

const struct instr *instr_row(int n)
{
	for (const struct backend *const *b = backends; *b && n > 0; b++)
		for (const struct instr *r = (*b)->instr; r && r->name; r++)
			if (!--n)
				return r;
	return NULL;
}

int instr_find(const struct target *t, const char *name)
{
	int n = 0;

	for (const struct backend *const *b = backends; *b; b++)
		for (const struct instr *r = (*b)->instr; r && r->name; r++) {
			n++;
			if (!strcmp(r->name, name) && (!t || *b == &backend_generic || *b == backend_of(t)))
				return n;
		}
	return 0;
}

static bool is_there(const struct target *t, const struct instr *r)
{
	return (t->features & r->features) == r->features && (!r->vector_bytes || t->vector_bytes == r->vector_bytes);
}

/* True if row `row` is of t's backend and t has it. Of the questions about a row this one takes the longest. */
static bool is_ours(const struct target *t, int row, const struct instr *r) { return is_there(t, r) && instr_find(t, r->name) == row; }

/* Sums of products of two elements, in the type of the sum. */
static bool sums_products(const struct instr *r)
{
	return r->nloops >= 2 && r->accumulator && r->comb && !strcmp(r->comb, "sum") &&
	       (!strcmp(r->body, "mul(i32(a), i32(b))") || !strcmp(r->body, "mul(f32(a), f32(b))"));
}

static bool pays(const struct target *t, const struct instr *r) { return !r->measured || target_rate(t, r->name) > target_fma_rate(t); }

/* Row `row`, if t has it, it pays, and its sums are of products of a and b. */
static const struct instr *product_row(const struct target *t, int row, enum dtype a, enum dtype b)
{
	const struct instr *r = instr_row(row);
	bool good = sums_products(r) && !strcmp(r->in[0].dtype, dtype_name(a)) && !strcmp(r->in[1].dtype, dtype_name(b)) &&
		    is_ours(t, row, r) && pays(t, r);

	return good ? r : NULL;
}

int instr_dot(const struct target *t, enum dtype a, enum dtype b, bool each)
{
	for (int row = 1; instr_row(row); row++) {
		const struct instr *r = product_row(t, row, a, b);
		if (r && instr_rows(row) == 1 && (r->in[0].step[0] != 0) == each)
			return row;
	}
	return 0;
}

int instr_matrix(const struct target *t, enum dtype a, enum dtype b)
{
	int dot = instr_dot(t, a, b, false);
	double others = dot ? target_rate(t, instr_row(dot)->name) : 0;

	for (int row = 1; instr_row(row); row++) {
		const struct instr *r = product_row(t, row, a, b);
		double rate = r ? target_rate(t, r->name) : 0;
		if (r && instr_rows(row) > 1 && (!rate || rate > others))
			return row;
	}
	return 0;
}

int64_t instr_group(int n) { return instr_row(n)->extent[instr_row(n)->nloops - 1]; }

int64_t instr_sums(int n)
{
	const struct instr *r = instr_row(n);
	int64_t sums = 1;

	for (int i = 0; i < r->nloops; i++)
		sums *= r->out.step[i] ? r->extent[i] : 1;
	return sums;
}

int64_t instr_rows(int n)
{
	const struct instr *r = instr_row(n);

	return r->in[0].step[0] && r->out.step[0] && !r->in[1].step[0] ? r->extent[0] : 1;
}

int instr_nibbles(const struct target *t)
{
	const struct instr *r;

	for (int row = 1; (r = instr_row(row)); row++)
		if (!strcmp(r->body, INSTR_NIBBLES) && is_ours(t, row, r))
			return row;
	return 0;
}

int instr_tile(const struct target *t, int64_t products)
{
	const struct instr *r;

	for (int row = 1; (r = instr_row(row)); row++)
		if (r->whole && r->nloops == INSTR_LOOPS && r->extent[INSTR_LOOPS - 2] * r->extent[INSTR_LOOPS - 1] == products &&
		    is_ours(t, row, r))
			return row;
	return 0;
}

int instr_widen(const struct target *t)
{
	const struct instr *r;

	for (int row = 1; (r = instr_row(row)); row++)
		if (!strcmp(r->body, INSTR_WIDEN) && is_ours(t, row, r))
			return row;
	return 0;
}

int instr_halves(const struct target *t)
{
	const struct instr *r;

	for (int row = 1; (r = instr_row(row)); row++)
		if (!strcmp(r->body, "mul(a, b)") && !strcmp(r->out.dtype, "f16") && is_ours(t, row, r) && pays(t, r))
			return row;
	return 0;
}

double instr_rate(const struct target *t, enum dtype e)
{
	const struct instr *r;
	double best = 0;

	for (int row = 1; (r = instr_row(row)); row++)
		if (r->accumulator && r->in[1].dtype && !strcmp(r->in[0].dtype, dtype_name(e)) && !strcmp(r->in[1].dtype, dtype_name(e)) &&
		    is_ours(t, row, r))
			best = fmax(best, target_rate(t, r->name));
	return best;
}

/* ---- the match ---- */

struct match {
	struct loop_prog *p;
	const struct instr *row;
	struct instr_use *use;
	int n;
	const poly_var *v;
	const poly *by;
};

static poly substituted(struct match *m, poly e) { return m->n ? poly_subst_many(m->p->P, e, m->n, m->v, m->by) : e; }

/* The loops, each directly in the one before, and the block in the last. */
static const char *match_loops(struct match *m, nest_id loop)
{
	struct loop_prog *p = m->p;
	int64_t lo, hi;

	m->use->whole = m->use->rows_whole = true;
	for (int i = 0; i < m->row->nloops; i++) {
		const struct nest *n = lnest(p, loop);
		if (n->kind != NEST_FOR)
			return whynot(p, "%d loops are needed, one directly in the other", m->row->nloops);
		if (n->cut.n || n->outline || n->ahead.n || n->tail_at != POLY_UNKNOWN || (n->mark != LOOP_SERIAL && n->mark != LOOP_CALL))
			return whynot(p, "%s is marked or cut", sym_str(n->name));
		m->use->loop[i] = loop;
		m->use->extent[i] = substituted(m, n->extent);
		poly_range(p->P, m->use->extent[i], &lo, &hi);
		if (hi > m->row->extent[i])
			return whynot(p, "%s has %ld steps, %ld are the most", sym_str(n->name), (long)hi, (long)m->row->extent[i]);
		m->use->whole &= lo == m->row->extent[i];
		m->use->rows_whole &= i == 0 || lo == m->row->extent[i];
		const struct nest *body = lnest(p, nest_body(p, loop));
		if (body->kid.n != 1)
			return whynot(p, "there is more than one thing in %s", sym_str(n->name));
		loop = body->kid.a[0];
	}
	if (lnest(p, loop)->kind != NEST_BLOCK || lnest(p, loop)->phase != BLOCK_UPDATE)
		return whynot(p, "there is a loop too many in it, or the start of a sum");
	m->use->block = loop;
	return NULL;
}

/* What only moves elements does so with all types of a size. */
static bool fits_type(const struct match *m, enum dtype t, const char *name)
{
	enum dtype of_row = dtype_parse(name, strlen(name));

	return strcmp(m->row->body, "a") ? t == of_row : dtype_size(t) == dtype_size(of_row);
}

static bool fits_combiner(enum combiner c, const char *name) { return name ? c == COMB_SUM && !strcmp(name, "sum") : c == COMB_NONE; }

/* A number that the loops around the call make, and its own do not change. */
static bool match_number(struct match *m, const struct ex *x)
{
	if (x->kind != EX_INDEX)
		return false;
	poly i = substituted(m, bind_poly(m->p, lnest(m->p, m->use->block), x->index[0]));
	for (int k = 0; k < m->row->nloops; k++)
		if (poly_uses(m->p->P, i, lnest(m->p, m->use->loop[k])->var))
			return false;
	m->use->number = i;
	return true;
}

/* Is the body of shape *s? Moves s behind it. */
static bool match_body(struct match *m, ex_id e, const char **s)
{
	const struct ex *x = lex(m->p, e);
	const char *name = NULL;
	size_t n = strcspn(*s, "(,)");

	if (n == 1 && isdigit((unsigned char)**s)) {
		bool same = x->kind == EX_CONST && (dtype_is_float(x->dtype) ? x->c : (double)x->ic) == **s - '0';
		*s += 1;
		return same;
	}
	if (n == 1 && **s == 'i') {
		*s += 1;
		return match_number(m, x);
	}
	if (n == 1) { /* a, b or c: the same each time */
		int k = **s - 'a';
		if (x->kind != EX_READ || x->dyn_dim >= 0 || !fits_type(m, x->dtype, m->row->in[k].dtype) ||
		    (k < m->use->nread && m->use->read[k] && m->use->read[k] != e))
			return false;
		m->use->read[k] = e;
		m->use->nread = k + 1 > m->use->nread ? k + 1 : m->use->nread;
		*s += 1;
		return true;
	}
	if (x->kind == EX_CALL)
		name = math_row((enum math_fn)x->fn)->name;
	else if (x->kind == EX_CAST)
		name = dtype_name(x->dtype);
	if (!name || strlen(name) != n || strncmp(name, *s, n))
		return false;
	const char *args = *s + n + 1, *at = args;
	int count = x->kind == EX_CAST ? 1 : math_row((enum math_fn)x->fn)->arity;
	for (int swap = 0; swap <= (x->kind == EX_CALL && (x->fn == FN_MUL || x->fn == FN_ADD)); swap++) {
		struct instr_use before = *m->use;
		bool good = true;
		at = args;
		for (int i = 0; i < count && good; i++) {
			good = match_body(m, lex(m->p, e)->a[swap ? count - 1 - i : i], &at);
			at += strspn(at, ", )");
		}
		if (good) {
			*s = at;
			return true;
		}
		*m->use = before;
	}
	return false;
}

/* The body may be zero from some step of the innermost loop on, if the row has text for that: what is read then. */
static const char *match_fill(struct match *m, ex_id *body)
{
	struct loop_prog *p = m->p;
	const struct ex *x = lex(p, *body);
	poly_var inner = lnest(p, m->use->loop[m->row->nloops - 1])->var;
	int64_t lo, hi, coef;
	poly rest;

	if (x->kind != EX_GUARD)
		return NULL;
	const struct ex *fill = lex(p, x->a[1]);
	for (int i = 0; i < x->n; i++) {
		poly c = substituted(m, bind_poly(p, lnest(p, m->use->block), x->index[i]));
		poly_range(p->P, c, &lo, &hi);
		if (lo >= 0)
			continue;
		if (!m->row->part || fill->kind != EX_CONST || fill->c != 0 || fill->ic)
			return whynot(p, "%s is read with a fill", sym_str(lstage(p, lnest(p, m->use->block)->stage)->name));
		if (!poly_linear_in(p->P, c, inner, &coef, &rest) || coef != -1)
			return whynot(p, "the fill does not begin at some step of %s",
				      sym_str(lnest(p, m->use->loop[m->row->nloops - 1])->name));
		for (int k = 0; k + 1 < m->row->nloops; k++)
			if (poly_uses(p->P, rest, lnest(p, m->use->loop[k])->var))
				return whynot(p, "the fill depends on %s", sym_str(lnest(p, m->use->loop[k])->name));
		poly steps = poly_max(p->P, poly_const(p->P, 0), poly_addc(p->P, rest, 1));
		m->use->filled =
			poly_min(p->P, m->use->filled == POLY_UNKNOWN ? m->use->extent[m->row->nloops - 1] : m->use->filled, steps);
		m->use->whole = false;
	}
	*body = x->a[0];
	return NULL;
}

/* Offset and steps of an access. */
static const char *match_access(struct match *m, buf_id b, const poly *index, const struct instr_operand *o, poly *at, poly *step)
{
	struct loop_prog *p = m->p;
	const char *name = sym_str(lbuf(p, b)->name);

	if (!fits_type(m, lbuf(p, b)->dtype, o->dtype))
		return whynot(p, "%s is %s, not %s", name, dtype_name(lbuf(p, b)->dtype), o->dtype);
	poly off = substituted(m, buf_offset(p, b, index));
	for (int i = 0; i < m->row->nloops; i++) {
		const struct nest *l = lnest(p, m->use->loop[i]);
		poly rest;
		int64_t lo, hi;
		poly_range(p->P, m->use->extent[i], &lo, &hi);
		if (!poly_linear_part(p->P, off, l->var, &step[i], &rest) || !prog_fixed(p, step[i]))
			return whynot(p, "the step of %s in %s varies", name, sym_str(l->name));
		if (o->step[i] != STEP_ANY && step[i] != poly_const(p->P, o->step[i]) && hi > 1)
			return whynot(p, "the step of %s in %s is %s, not %ld", name, sym_str(l->name), poly_str(p->P, step[i], &p->arena),
				      (long)o->step[i]);
		off = rest;
	}
	*at = off;
	return NULL;
}

static const char *match_accesses(struct match *m)
{
	struct loop_prog *p = m->p;
	struct nest *k = lnest(p, m->use->block);
	const struct stage *s = lstage(p, k->stage);
	const char *why = NULL;
	poly index[LOOP_AXES_MAX];

	for (int i = 0; i < m->use->nread && !why; i++) {
		const struct ex *x = lex(p, m->use->read[i]);
		if (lbuf(p, x->buf)->scope == SCOPE_REGISTER || x->buf == s->out)
			return whynot(p, "%s is in registers, or written", sym_str(lbuf(p, x->buf)->name));
		for (int d = 0; d < x->n; d++)
			index[d] = bind_poly(p, lnest(p, m->use->block), x->index[d]);
		why = match_access(m, x->buf, index, &m->row->in[i], &m->use->at[i], m->use->step[i]);
	}
	if (lbuf(p, s->out)->scope == SCOPE_REGISTER && !m->row->accumulator)
		return whynot(p, "%s is in registers", sym_str(lbuf(p, s->out)->name));
	return why ? why : match_access(m, s->out, k->bind, &m->row->out, &m->use->out, m->use->out_step);
}

/* Are all products of a sum in one call? */
static bool whole_sums(const struct match *m)
{
	const struct stage *s = lstage(m->p, lnest(m->p, m->use->block)->stage);
	int64_t all = 1, lo, hi, here = 1;

	for (int a = s->nspatial; a < s->naxes; a++)
		all *= s->axis[a].extent;
	for (int i = 0; i < m->row->nloops; i++) {
		poly_range(m->p->P, m->use->extent[i], &lo, &hi);
		here *= m->row->out.step[i] ? 1 : lo;
	}
	return all == here;
}

const char *instr_match(struct loop_prog *p, nest_id loop, int row, int n, const poly_var *v, const poly *by, struct instr_use *use)
{
	struct match m = {p, instr_row(row), use, n, v, by};
	const char *why, *shape = m.row->body;
	int64_t lo, hi;

	*use = (struct instr_use){.number = POLY_UNKNOWN};
	if ((why = match_loops(&m, loop)))
		return why;
	const struct nest *k = lnest(p, use->block);
	const struct stage *s = lstage(p, k->stage);
	ex_id body = s->body;
	if (!fits_combiner(s->comb, m.row->comb) || (why = match_fill(&m, &body)))
		return why ? why : whynot(p, "%s is %s", sym_str(s->name), s->comb == COMB_NONE ? "no reduction" : "another reduction");
	if (m.row->whole && !whole_sums(&m))
		return whynot(p, "a sum of %s has more products", sym_str(s->name));
	if (!match_body(&m, body, &shape))
		return whynot(p, "the body of %s is not %s of such types", sym_str(s->name), m.row->body);
	for (size_t i = 0; i < k->guard.n; i++) {
		poly g = substituted(&m, k->guard.a[i]);
		poly_range(p->P, g, &lo, &hi);
		for (int j = 0; j < m.row->nloops && lo < 0; j++)
			if (poly_uses(p->P, g, lnest(p, use->loop[j])->var))
				return whynot(p, "%s is guarded within %s", sym_str(s->name), sym_str(lnest(p, use->loop[j])->name));
	}
	if ((why = match_accesses(&m)) && use->nread == 2 && !strcmp(m.row->in[0].dtype, m.row->in[1].dtype)) {
		ex_id a = use->read[0]; /* factors the other way round */
		use->read[0] = use->read[1];
		use->read[1] = a;
		if (!match_accesses(&m))
			return NULL;
	}
	return why;
}

/* ---- the primitive ---- */

/* Where tiles begin, as multiples of their size. */
static int tiles_around(struct loop_prog *p, nest_id l, poly_var *v, poly *by)
{
	nest_id loops[NEST_DEPTH_MAX];
	int n = 0;

	for (int k = nest_loops(p, l, loops), i = 0; i < k; i++) {
		const struct nest x = *lnest(p, loops[i]);
		if (!x.step)
			continue;
		v[n] = x.var;
		by[n++] = poly_mulc(p->P, poly_of(p->P, poly_var_new(p->P, 0, 0, POLY_INF, 1)), x.step);
	}
	return n;
}

const char *prim_tensor(struct loop_prog *p, const char *loop, const char *name)
{
	nest_id l = loop_find(p, loop);
	const struct target *t = p->target ? p->target : target_host();
	int row = instr_find(t, name);
	struct instr_use use;

	if (!l)
		return loop_missing(p, loop);
	if (!row && !instr_find(NULL, name))
		return whynot(p, "no instruction %s", name);
	const struct instr *r = instr_row(row);
	if (!r || !is_there(t, r))
		return whynot(p, "the target has no %s", name);
	if (lnest(p, l)->mark != LOOP_SERIAL)
		return whynot(p, "%s is marked already", loop);
	poly_var v[NEST_DEPTH_MAX];
	poly by[NEST_DEPTH_MAX];
	int n = tiles_around(p, l, v, by);
	const char *why = instr_match(p, l, row, n, v, by, &use);
	for (int i = 0; i < r->nloops && !why; i++) {
		int64_t lo, hi;
		poly_range(p->P, use.extent[i], &lo, &hi);
		if (hi < r->extent[i] && !(r->part && (i == 0 || !r->accumulator)))
			why = whynot(p, "%s has %ld steps, not %ld", sym_str(lnest(p, use.loop[i])->name), (long)hi, (long)r->extent[i]);
	}
	if (why)
		return why;
	lnest(p, l)->mark = LOOP_CALL;
	lnest(p, l)->instr = row;
	return NULL;
}

static void settle_call(struct loop_prog *p, nest_id n, void *arg)
{
	const char **why = arg;
	struct instr_use use;

	if (*why || lnest(p, n)->kind != NEST_FOR || lnest(p, n)->mark != LOOP_CALL)
		return;
	int row = lnest(p, n)->instr;
	if ((*why = instr_match(p, n, row, 0, NULL, NULL, &use)))
		*why = whynot(p, "call of %s at %s: %s", instr_row(row)->name, sym_str(lnest(p, n)->name), *why);
	else if (!use.whole && !(instr_row(row)->part && (use.rows_whole || !instr_row(row)->accumulator)))
		lnest(p, n)->mark = LOOP_SERIAL;
}

const char *instr_settle(struct loop_prog *p)
{
	const char *why = NULL;

	nest_walk(p, p->root, settle_call, &why);
	return why;
}

/* The row of the call that the block is in; NULL: it is in none. */
static const struct instr *call_around(struct loop_prog *p, nest_id block)
{
	nest_id at = block;

	while (at && (lnest(p, at)->kind != NEST_FOR || lnest(p, at)->mark != LOOP_CALL))
		at = lnest(p, at)->parent;
	return at ? instr_row(lnest(p, at)->instr) : NULL;
}

bool instr_sets(struct loop_prog *p, nest_id block)
{
	buf_id out = lstage(p, lnest(p, block)->stage)->out;
	int n, updates = 0;

	if (lnest(p, block)->phase != BLOCK_INIT)
		return false;
	nest_id *all = nest_list(p, p->root, 0, &n);
	for (int i = 0; i < n; i++) {
		const struct nest *x = lnest(p, all[i]);
		if (lstage(p, x->stage)->out != out || x->phase == BLOCK_INIT)
			continue;
		const struct instr *row = call_around(p, all[i]);
		if (!row || !row->whole)
			return false;
		updates++;
	}
	return updates > 0;
}
