/* Axes that always go together become one, axes of one step vanish: programs of fewer, longer loops. An elementwise
 * program becomes one loop, a 1x1 convolution a matrix product, whatever the rank and layout they came with. */
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"

/* ---- dims and axes of one step ---- */

static void buf_drop_dim(struct loop_buf *b, int d)
{
	for (int i = d; i + 1 < b->rank; i++) {
		b->shape[i] = b->shape[i + 1];
		b->extent[i] = b->extent[i + 1];
	}
	b->rank--;
	int n = 0;
	for (int i = 0; i < b->layout.n; i++) {
		struct layout_part q = b->layout.part[i];
		if (q.axis == d)
			continue;
		q.axis -= q.axis > d;
		b->layout.part[n++] = q;
	}
	b->layout.n = n;
}

static void reads_drop_dim(struct loop_prog *p, buf_id b, int d)
{
	for (ex_id e = 1; e < p->exs.n; e++) {
		struct ex *x = lex(p, e);
		if (x->kind != EX_READ || x->buf != b)
			continue;
		memmove(x->index + d, x->index + d + 1, (size_t)(x->n - d - 1) * sizeof *x->index);
		x->n--;
		x->dyn_dim -= x->dyn_dim > d;
	}
}

static void stage_drop_axis(struct loop_prog *p, stage_id s, int a)
{
	struct stage *t = lstage(p, s);
	poly zero = poly_const(p->P, 0);
	ex_id body = ex_subst(p, t->body, 1, &t->axis[a].var, &zero);
	t = lstage(p, s);
	t->body = body;
	memmove(t->axis + a, t->axis + a + 1, (size_t)(t->naxes - a - 1) * sizeof *t->axis);
	t->naxes--;
	t->nspatial -= a < t->nspatial;
}

/* Is dim d of b read at an index that is a value (Gather)? */
static bool read_by_value(struct loop_prog *p, buf_id b, int d)
{
	for (ex_id e = 1; e < p->exs.n; e++)
		if (lex(p, e)->kind == EX_READ && lex(p, e)->buf == b && lex(p, e)->dyn_dim == d)
			return true;
	return false;
}

/* A sum of everything has one axis of one step: a loop that its parts can be placed in. */
static bool is_total(struct loop_prog *p, buf_id b)
{
	stage_id s = buf_writer(p, b);

	return lbuf(p, b)->rank <= 1 && lbuf(p, b)->scope == SCOPE_SCRATCH && s && lstage(p, s)->comb != COMB_NONE && !lstage(p, s)->scan;
}

static void add_unit_dim(struct loop_prog *p, buf_id b)
{
	struct loop_buf *x = lbuf(p, b);
	struct stage *s = lstage(p, buf_writer(p, b));
	sym name = intern("one");

	if (s->naxes == LOOP_AXES_MAX)
		return;
	memmove(s->axis + 1, s->axis, (size_t)s->naxes++ * sizeof *s->axis);
	s->axis[0] = (struct axis){name, poly_var_new(p->P, name, 0, 0, 1), 1, AXIS_SPATIAL};
	s->nspatial++;
	x->shape[0] = x->extent[0] = x->rank = 1;
	x->base[0] = poly_const(p->P, 0);
	for (ex_id e = 1; e < p->exs.n; e++)
		if (lex(p, e)->kind == EX_READ && lex(p, e)->buf == b) {
			lex(p, e)->index = ARENA_ARRAY(&p->arena, poly, 1);
			lex(p, e)->index[0] = poly_const(p->P, 0);
			lex(p, e)->n = 1;
		}
}

static void drop_unit_dims(struct loop_prog *p)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		for (int d = lbuf(p, b)->rank - 1; d >= 0; d--) {
			if (lbuf(p, b)->shape[d] != 1 || read_by_value(p, b, d) || is_total(p, b))
				continue;
			for (stage_id s = 1; s < p->stages.n; s++)
				if (lstage(p, s)->out == b)
					stage_drop_axis(p, s, d);
			reads_drop_dim(p, b, d);
			buf_drop_dim(lbuf(p, b), d);
		}
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (!lbuf(p, b)->rank && is_total(p, b))
			add_unit_dim(p, b);
	for (stage_id s = 1; s < p->stages.n; s++)
		for (int a = lstage(p, s)->naxes - 1; a >= lstage(p, s)->nspatial; a--)
			if (lstage(p, s)->axis[a].extent == 1 && lstage(p, s)->naxes > lstage(p, s)->nspatial + 1)
				stage_drop_axis(p, s, a);
}

/* ---- pairs ---- */

enum { PAIRS_MAX = 128 };
struct pair {
	uint32_t id; /* buffer or stage */
	int at;      /* dims at, at + 1 or axes at, at + 1 */
};
struct component {
	struct loop_prog *p;
	int nb, ns;
	struct pair buf[PAIRS_MAX], stage[PAIRS_MAX];
	bool fails;
};

static void add_pair(struct component *c, struct pair *list, int *n, uint32_t id, int at)
{
	for (int i = 0; i < *n; i++)
		if (list[i].id == id && list[i].at == at)
			return;
	if (*n == PAIRS_MAX)
		c->fails = true;
	else
		list[(*n)++] = (struct pair){id, at};
}

/* Dims d and d + 1 of b lie next to each other in memory, whole. */
static bool adjacent(const struct loop_buf *b, int d)
{
	if (d + 1 >= b->rank)
		return false;
	if (!b->layout.n)
		return true;
	for (int i = 0; i + 1 < b->layout.n; i++) {
		const struct layout_part *q = b->layout.part + i;
		if (q[0].axis == d && q[1].axis == d + 1)
			return q[0].div == 1 && !q[0].mod && q[1].div == 1 && !q[1].mod;
	}
	return false;
}

/* The axis pair of stage s that a read's dims d, d + 1 run over; -1: none. */
static int axes_of_read(struct loop_prog *p, const struct stage *s, const struct ex *x, int d)
{
	for (int a = 0; a + 1 < s->naxes; a++)
		if (x->index[d] == poly_of(p->P, s->axis[a].var) && x->index[d + 1] == poly_of(p->P, s->axis[a + 1].var))
			return s->axis[a].kind == s->axis[a + 1].kind ? a : -1;
	return -1;
}

struct visit {
	struct component *c;
	stage_id s;
	struct pair pair;
};

/* A sum that is read elsewhere than where loops go (the phases of a transposed convolution, blocks of pixels made of channels): that
 * reader is not moved into its loops, so it may as well know the sum by one number for two dims. */
static bool reads_apart(struct loop_prog *p, stage_id reader, const struct ex *x, int d)
{
	stage_id s = buf_writer(p, x->buf);
	int64_t coef;
	poly rest;

	if (lbuf(p, x->buf)->scope != SCOPE_SCRATCH || lstage(p, s)->comb == COMB_NONE || lstage(p, reader)->comb != COMB_NONE ||
	    lstage(p, reader)->scan)
		return false;
	for (int a = 0; a < lstage(p, reader)->naxes; a++)
		for (int i = d; i <= d + 1; i++)
			if (!poly_linear_in(p->P, x->index[i], lstage(p, reader)->axis[a].var, &coef, &rest))
				return true;
	return false;
}

/* A read of the pair's buffer must run over an axis pair. */
static void visit_buffer_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct visit *v = arg;
	const struct ex *x = lex(p, read);
	if (x->buf != v->pair.id)
		return;
	int a = axes_of_read(p, lstage(p, v->s), x, v->pair.at);
	if (x->dyn_dim == v->pair.at || x->dyn_dim == v->pair.at + 1)
		v->c->fails = true;
	else if (a < 0)
		v->c->fails |= !reads_apart(p, v->s, x, v->pair.at);
	else
		add_pair(v->c, v->c->stage, &v->c->ns, v->s, a);
}

static void visit_buffer(struct component *c, struct pair q)
{
	struct loop_prog *p = c->p;
	if (!adjacent(lbuf(p, q.id), q.at)) {
		c->fails = true;
		return;
	}
	for (stage_id s = 1; s < p->stages.n && !c->fails; s++) {
		struct visit v = {c, s, q};
		if (lstage(p, s)->out == q.id)
			add_pair(c, c->stage, &c->ns, s, q.at);
		ex_reads(p, lstage(p, s)->body, visit_buffer_read, &v);
	}
}

/* Every use of the pair's axes in the body must be a whole dim pair of a buffer. */
static void visit_uses(struct component *c, stage_id s, int a, ex_id e)
{
	struct loop_prog *p = c->p;
	if (!e || c->fails)
		return;
	const struct ex x = *lex(p, e);
	poly_var u = lstage(p, s)->axis[a].var, w = lstage(p, s)->axis[a + 1].var;
	for (int d = 0; d < x.n; d++) {
		if (!poly_uses(p->P, x.index[d], u) && !poly_uses(p->P, x.index[d], w))
			continue;
		bool first = x.kind == EX_READ && d + 1 < x.n && axes_of_read(p, lstage(p, s), &x, d) == a;
		bool second = x.kind == EX_READ && d > 0 && axes_of_read(p, lstage(p, s), &x, d - 1) == a;
		if (first && lbuf(p, x.buf)->shape[d + 1] == lstage(p, s)->axis[a + 1].extent)
			add_pair(c, c->buf, &c->nb, x.buf, d);
		else if (!second)
			c->fails = true;
	}
	for (int i = 0; i < 3; i++)
		visit_uses(c, s, a, x.a[i]);
}

static void visit_stage(struct component *c, struct pair q)
{
	const struct stage *s = lstage(c->p, q.id);
	if (q.at + 1 >= s->naxes || s->axis[q.at].kind != s->axis[q.at + 1].kind) {
		c->fails = true;
		return;
	}
	if (q.at < s->nspatial) {
		if (lbuf(c->p, s->out)->shape[q.at + 1] != s->axis[q.at + 1].extent)
			c->fails = true;
		add_pair(c, c->buf, &c->nb, s->out, q.at);
	}
	visit_uses(c, q.id, q.at, s->body);
}

/* Everything that must merge if (b, d) does; false: it cannot. */
static bool close_over(struct component *c, buf_id b, int d)
{
	int ib = 0, is = 0;
	add_pair(c, c->buf, &c->nb, b, d);
	while (!c->fails && (ib < c->nb || is < c->ns)) {
		if (ib < c->nb)
			visit_buffer(c, c->buf[ib++]);
		else
			visit_stage(c, c->stage[is++]);
	}
	for (int i = 0; i < c->nb; i++) /* overlapping pairs of one buffer or stage */
		for (int j = 0; j < i; j++)
			c->fails |= c->buf[i].id == c->buf[j].id;
	for (int i = 0; i < c->ns; i++)
		for (int j = 0; j < i; j++)
			c->fails |= c->stage[i].id == c->stage[j].id;
	return !c->fails;
}

static void merge_stage(struct loop_prog *p, stage_id s, int a)
{
	struct stage *t = lstage(p, s);
	struct axis *x = &t->axis[a];
	int64_t extent = x[0].extent * x[1].extent;
	sym name = intern_printf("%s%s", sym_str(x[0].name), sym_str(x[1].name));
	poly_var v = poly_var_new(p->P, name, 0, extent - 1, 1);
	/* in reads the first of the two indices becomes the merged one; the second goes with its dim */
	poly by[2] = {poly_of(p->P, v), poly_const(p->P, 0)};
	poly_var old[2] = {x[0].var, x[1].var};
	ex_id body = ex_subst(p, t->body, 2, old, by);
	t = lstage(p, s);
	t->body = body;
	t->axis[a] = (struct axis){name, v, extent, t->axis[a].kind};
	memmove(t->axis + a + 1, t->axis + a + 2, (size_t)(t->naxes - a - 2) * sizeof *t->axis);
	t->naxes--;
	t->nspatial -= a < t->nspatial;
}

/* Reads of (b, d), (b, d + 1) that no merged axes run over have one number for both. */
static void merge_apart(struct loop_prog *p, const struct component *c, buf_id b, int d)
{
	for (ex_id e = 1; e < p->exs.n; e++) {
		struct ex *x = lex(p, e);
		bool over = false;
		if (x->kind != EX_READ || x->buf != b)
			continue;
		for (int i = 0; i < c->ns && !over; i++)
			over = axes_of_read(p, lstage(p, c->stage[i].id), x, d) == c->stage[i].at;
		if (!over)
			x->index[d] = poly_add(p->P, poly_mulc(p->P, x->index[d], lbuf(p, b)->shape[d + 1]), x->index[d + 1]);
	}
}

static void merge(struct loop_prog *p, const struct component *c)
{
	for (int i = 0; i < c->nb; i++)
		merge_apart(p, c, c->buf[i].id, c->buf[i].at);
	for (int i = 0; i < c->ns; i++)
		merge_stage(p, c->stage[i].id, c->stage[i].at);
	for (int i = 0; i < c->nb; i++) {
		struct loop_buf *b = lbuf(p, c->buf[i].id);
		int d = c->buf[i].at;
		reads_drop_dim(p, c->buf[i].id, d + 1);
		b->shape[d] *= b->shape[d + 1];
		b->extent[d] = b->shape[d];
		buf_drop_dim(b, d + 1);
	}
}

/* ---- order of what is reduced ---- */

/* The last part of a layout: the dim whose elements lie side by side. */
static int innermost_dim(const struct loop_buf *b) { return b->layout.n ? b->layout.part[b->layout.n - 1].axis : b->rank - 1; }

/* The operand of a reduction, if that is a single buffer and each dim is gone along by one axis or none; and the axis that goes along its
 * innermost dim. */
struct taken {
	const struct stage *s;
	buf_id buf;
	int axis;
	bool fails;
};

static void take_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct taken *t = arg;
	const struct ex *x = lex(p, read);

	for (int d = 0; d < x->n; d++)
		for (int a = t->s->nspatial; a < t->s->naxes; a++) {
			if (!poly_uses(p->P, x->index[d], t->s->axis[a].var))
				continue;
			t->fails |= x->index[d] != poly_of(p->P, t->s->axis[a].var) || (t->buf && t->buf != x->buf);
			t->buf = x->buf;
			if (d == innermost_dim(lbuf(p, x->buf)))
				t->axis = a;
		}
}

/* The axis along which neighbours in memory are reduced comes last. */
static void reduce_innermost_last(struct loop_prog *p, stage_id s)
{
	struct stage *t = lstage(p, s);
	struct taken k = {.s = t, .axis = -1};

	if (t->comb == COMB_NONE || t->scan || t->naxes < t->nspatial + 2)
		return;
	ex_reads(p, t->body, take_read, &k);
	if (k.fails || k.axis < 0 || k.axis == t->naxes - 1)
		return;
	struct axis x = t->axis[k.axis];
	memmove(t->axis + k.axis, t->axis + k.axis + 1, (size_t)(t->naxes - 1 - k.axis) * sizeof x);
	t->axis[t->naxes - 1] = x;
}

void prog_collapse(struct loop_prog *p)
{
	drop_unit_dims(p);
	for (bool again = true; again;) {
		again = false;
		for (buf_id b = 1; b < p->bufs.n; b++)
			for (int d = 0; d + 1 < lbuf(p, b)->rank; d++) {
				struct component c = {.p = p};
				if (!close_over(&c, b, d))
					continue;
				merge(p, &c);
				again = true;
				d--;
			}
	}
	for (stage_id s = 1; s < p->stages.n; s++)
		reduce_innermost_last(p, s);
}
