/* The stage evaluator for what constants go through at build time: elementwise stages on floats, a row at a time. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "loop/interp.h"
#include "loop/math.h"
#include "loop/nest.h"

enum { ROW = 256 };

/* Where a read lies along a row. */
struct access {
	bool known;
	int64_t step;
	poly first;
};

struct rows {
	struct loop_prog *p;
	void **data;
	const struct stage *s;
	poly_var v; /* the innermost axis */
	int64_t *env;
	struct access *access; /* by expression, of the current stage */
};

static bool can_read(struct rows *r, ex_id e)
{
	const struct ex *x = lex(r->p, e);
	const struct loop_buf *b = lbuf(r->p, x->buf);
	struct access *a = &r->access[e];

	if (x->dyn_dim >= 0 || b->layout.n || (b->dtype != DT_F32 && b->dtype != DT_F64))
		return false;
	*a = (struct access){.known = true};
	return poly_linear_in(r->p->P, buf_offset(r->p, x->buf, x->index), r->v, &a->step, &a->first);
}

/* Can the expression be computed a row at a time? */
static bool can(struct rows *r, ex_id e)
{
	const struct ex *x = lex(r->p, e);

	if (!e)
		return true;
	if (x->kind == EX_READ)
		return r->access[e].known || can_read(r, e);
	if ((x->dtype != DT_F32 && x->dtype != DT_F64) || x->kind == EX_INDEX || (x->kind == EX_CALL && x->fn == FN_SELECT))
		return false;
	for (int i = 0; x->kind == EX_GUARD && i < x->n; i++)
		if (poly_uses(r->p->P, x->index[i], r->v))
			return false;
	for (int i = 0; i < 3; i++)
		if (!can(r, lex(r->p, e)->a[i]))
			return false;
	return true;
}

static void read_row(struct rows *r, ex_id e, int64_t from, int n, double *out)
{
	const struct access *a = &r->access[e];
	buf_id b = lex(r->p, e)->buf;
	int64_t at = poly_eval(r->p->P, a->first, r->env) + from * a->step, end = at + (n - 1) * a->step, elems = buf_elems(r->p, b);

	if (at < 0 || end < 0 || at >= elems || end >= elems)
		BUG("stage %s reads %s out of bounds", sym_str(r->s->name), sym_str(lbuf(r->p, b)->name));
	if (lbuf(r->p, b)->dtype == DT_F32)
		for (int i = 0; i < n; i++)
			out[i] = ((const float *)r->data[b])[at + i * a->step];
	else
		for (int i = 0; i < n; i++)
			out[i] = ((const double *)r->data[b])[at + i * a->step];
}

static void eval_row(struct rows *r, ex_id e, int64_t from, int n, double *out);

static void call_row(struct rows *r, const struct ex *x, int64_t from, int n, double *out)
{
	double b[ROW] = {0};

	eval_row(r, x->a[0], from, n, out);
	if (x->a[1])
		eval_row(r, x->a[1], from, n, b);
	switch (x->fn) {
	case FN_ADD:
		for (int i = 0; i < n; i++)
			out[i] += b[i];
		break;
	case FN_SUB:
		for (int i = 0; i < n; i++)
			out[i] -= b[i];
		break;
	case FN_MUL:
		for (int i = 0; i < n; i++)
			out[i] *= b[i];
		break;
	default:
		for (int i = 0; i < n; i++)
			out[i] = math_eval(x->fn, out[i], b[i], 0);
	}
}

static void eval_row(struct rows *r, ex_id e, int64_t from, int n, double *out)
{
	const struct ex *x = lex(r->p, e);
	bool yes = true;

	switch (x->kind) {
	case EX_READ: read_row(r, e, from, n, out); break;
	case EX_CALL: call_row(r, x, from, n, out); break;
	case EX_CAST: eval_row(r, x->a[0], from, n, out); break;
	case EX_GUARD:
		for (int i = 0; i < x->n; i++)
			yes &= poly_eval(r->p->P, x->index[i], r->env) >= 0;
		eval_row(r, x->a[yes ? 0 : 1], from, n, out);
		break;
	default:
		for (int i = 0; i < n; i++)
			out[i] = x->c;
	}
}

static void store_row(enum dtype t, void *data, int64_t at, int n, const double *v)
{
	for (int i = 0; i < n; i++)
		if (t == DT_F32)
			((float *)data)[at + i] = (float)v[i];
		else
			((double *)data)[at + i] = v[i];
}

static void make_stage(struct rows *r)
{
	const struct stage *s = r->s;
	const struct loop_buf *b = lbuf(r->p, s->out);
	int last = s->nspatial - 1;
	int64_t length = s->axis[last].extent, count = 1;
	double v[ROW];

	for (int d = 0; d < last; d++)
		count *= s->axis[d].extent;
	r->env[r->v] = 0;
	for (int64_t row = 0; row < count; row++) {
		int64_t rest = row;
		for (int d = last - 1; d >= 0; d--) {
			r->env[s->axis[d].var] = rest % s->axis[d].extent;
			rest /= s->axis[d].extent;
		}
		for (int64_t i = 0; i < length; i += ROW) {
			int n = length - i < ROW ? (int)(length - i) : ROW;
			eval_row(r, s->body, i, n, v);
			store_row(b->dtype, r->data[s->out], row * length + i, n, v);
		}
	}
}

/* Computes the current stage; false: it is not of this kind. */
static bool begin(struct rows *r, stage_id s)
{
	r->s = lstage(r->p, s);
	const struct loop_buf *b = lbuf(r->p, r->s->out);
	if (r->s->scan || r->s->comb != COMB_NONE || !r->s->nspatial || b->layout.n || (b->dtype != DT_F32 && b->dtype != DT_F64))
		return false;
	r->v = r->s->axis[r->s->nspatial - 1].var;
	memset(r->access, 0, sizeof *r->access * r->p->exs.n);
	return can(r, r->s->body);
}

bool stages_eval_rows(struct loop_prog *p, void **data)
{
	struct arena a = {0};
	struct rows r = {.p = p, .data = data, .access = ARENA_ARRAY(&a, struct access, p->exs.n)};
	bool all = !p->params.n;

	for (stage_id s = 1; s < p->stages.n && all; s++)
		all = begin(&r, s);
	r.env = ARENA_ARRAY(&a, int64_t, poly_nvars(p->P) + 2);
	for (stage_id s = 1; s < p->stages.n && all; s++) {
		begin(&r, s);
		make_stage(&r);
	}
	arena_release(&a);
	return all;
}
