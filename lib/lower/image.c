/* Groups image by image. */
#include "lower/image.h"
#include <stdlib.h>
#include <string.h>
#include "loop/nest.h"

/* ---- types of one image ---- */

/* The values of a group whose axis 0 was divided, and their dims before. */
struct divided {
	VEC(val_id) v;
	VEC(dim *) dims;
};

static bool divide(struct module *m, val_id v, int64_t images, struct divided *d)
{
	struct type *t = &val(m, v)->type;
	int64_t size;

	if (t->rank < 1 || !poly_is_const(m->dims, t->dims[0], &size) || size < images || size % images)
		return false;
	vec_push(&d->v, v);
	vec_push(&d->dims, t->dims);
	t->dims = arena_copy(&m->arena, t->dims, (size_t)t->rank * sizeof *t->dims);
	t->dims[0] = poly_const(m->dims, size / images);
	return true;
}

static bool is_divided(const struct divided *d, val_id v)
{
	for (size_t i = 0; i < d->v.n; i++)
		if (d->v.a[i] == v)
			return true;
	return false;
}

/* Operands of the body that are not constant, and all that is computed of them. */
static bool divide_body(struct module *m, node_id id, int64_t images, struct divided *d)
{
	const struct node *f = node(m, id);
	const struct graph *g = graph(m, attr_graph(f, "graph"));

	if (g->in.n != f->nin)
		return false;
	for (size_t i = 0; i < g->in.n; i++)
		if (!(f->in[i] && val(m, f->in[i])->kind == VAL_CONST) && !divide(m, g->in.a[i], images, d))
			return false;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = node(m, g->nodes.a[i]);
		bool some = false;
		for (uint32_t k = 0; k < n->nin && !some; k++)
			some = n->in[k] && is_divided(d, n->in[k]);
		for (uint32_t k = 0; k < n->nout && some; k++)
			if (n->out[k] && !divide(m, n->out[k], images, d))
				return false;
	}
	return true;
}

static void restore(struct module *m, struct divided *d)
{
	for (size_t i = 0; i < d->v.n; i++)
		val(m, d->v.a[i])->type.dims = d->dims.a[i];
	vec_free(&d->v);
	vec_free(&d->dims);
}

struct lowered image_lower(struct module *m, node_id n, int64_t images, const struct target *t, const char *algo, const char **why,
			   struct lowered (*lower)(struct module *, node_id, const struct target *, const char *, const char **))
{
	struct divided d = {0};
	struct lowered l = {0};

	if (divide_body(m, n, images, &d))
		l = lower(m, n, t, algo, why);
	else
		*why = "it does not divide into images";
	restore(m, &d);
	return l;
}

/* ---- proof ---- */

/* A stage's axis 0. */
struct row {
	poly_var v;
	int64_t extent;
	bool *seen; /* by expression */
};

static bool uses(struct loop_prog *p, const struct ex *x, int from, poly_var v)
{
	for (int i = from; i < x->n; i++)
		if (poly_uses(p->P, x->index[i], v))
			return true;
	return false;
}

/* Everything at and under e takes its row of what changes from image to image, and knows of the row nothing else. */
static bool row_only(struct loop_prog *p, ex_id e, struct row *r)
{
	const struct ex *x = lex(p, e);

	if (r->seen[e])
		return true;
	r->seen[e] = true;
	if (x->kind == EX_READ && lbuf(p, x->buf)->scope != SCOPE_CONST) {
		const struct loop_buf *b = lbuf(p, x->buf);
		if (b->rank < 1 || b->shape[0] != r->extent || x->dyn_dim == 0 || poly_is_var(p->P, x->index[0]) != r->v ||
		    uses(p, x, 1, r->v))
			return false;
	} else if (uses(p, x, 0, r->v)) {
		return false;
	}
	for (int i = 0; i < 3; i++)
		if (x->a[i] && !row_only(p, x->a[i], r))
			return false;
	return true;
}

/* An operand, or what a stage writes. */
static bool changes(struct loop_prog *p, buf_id b) { return lbuf(p, b)->scope == SCOPE_IN || buf_writer(p, b); }

/* Images lie one behind the other. */
static bool outermost(const struct loop_buf *b)
{
	for (int i = 0; i < b->layout.n; i++)
		if (i ? b->layout.part[i].axis == 0 : b->layout.part[i].axis != 0 || b->layout.part[i].div != 1 || b->layout.part[i].mod)
			return false;
	return true;
}

static bool stages_apart(struct loop_prog *p, int64_t images)
{
	bool apart = true, *seen = xcalloc(p->exs.n, sizeof *seen);

	for (buf_id b = 1; b < p->bufs.n; b++)
		if (changes(p, b) && (lbuf(p, b)->rank < 1 || lbuf(p, b)->shape[0] % images || !outermost(lbuf(p, b))))
			apart = false;
	for (stage_id s = 1; s < p->stages.n && apart; s++) {
		const struct stage *t = lstage(p, s);
		struct row r = {t->axis[0].var, t->axis[0].extent, seen};
		memset(seen, 0, p->exs.n * sizeof *seen);
		apart = t->nspatial && t->axis[0].kind == AXIS_SPATIAL && row_only(p, t->body, &r);
	}
	free(seen);
	return apart;
}

/* One image of a program whose rows are apart. */
static void cut(struct loop_prog *p, int64_t images)
{
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (changes(p, b))
			lbuf(p, b)->extent[0] = lbuf(p, b)->shape[0] /= images;
	for (stage_id s = 1; s < p->stages.n; s++)
		lstage(p, s)->axis[0].extent /= images;
}

/* Of the stages as a kernel has them. */
static struct digest text_of(struct loop_prog *p)
{
	prog_collapse(p);
	return prog_digest(p);
}

bool image_apart(struct module *m, node_id n, int64_t images, const struct target *t)
{
	const char *why = NULL;
	struct lowered all = lower_stages(m, n, t, ALGO_USUAL, &why), one = {0};
	bool apart = !why && stages_apart(all.prog, images);

	if (apart)
		one = image_lower(m, n, images, t, ALGO_USUAL, &why, lower_stages);
	if (one.prog) {
		cut(all.prog, images);
		apart = digest_eq(text_of(all.prog), text_of(one.prog));
		prog_free(one.prog);
	} else {
		apart = false;
	}
	if (all.prog)
		prog_free(all.prog);
	return apart;
}
