/* Programs, buffers, stages: making and finding them. */
#include <math.h>
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"

struct loop_prog *prog_new(const struct target *t)
{
	struct loop_prog *p = xcalloc(1, sizeof *p);
	p->P = polys_new();
	p->target = t;
	p->algo = ALGO_USUAL;
	vec_push(&p->bufs, (struct loop_buf){0});
	vec_push(&p->stages, (struct stage){0});
	vec_push(&p->exs, (struct ex){0});
	vec_push(&p->nests, (struct nest){0});
	return p;
}

void prog_free(struct loop_prog *p)
{
	for (size_t i = 0; i < p->nests.n; i++) {
		vec_free(&p->nests.a[i].kid);
		vec_free(&p->nests.a[i].cut);
		vec_free(&p->nests.a[i].ahead);
		vec_free(&p->nests.a[i].guard);
	}
	vec_free(&p->bufs);
	vec_free(&p->stages);
	vec_free(&p->exs);
	free(p->ex_table);
	vec_free(&p->nests);
	vec_free(&p->names);
	vec_free(&p->params);
	vec_free(&p->rests);
	prog_names_forget(p);
	if (p->P)
		polys_free(p->P);
	arena_release(&p->arena);
	free(p);
}

struct loop_prog *prog_bare(struct loop_prog *p)
{
	struct loop_prog *q = xcalloc(1, sizeof *q);

	q->target = p->target;
	q->algo = ALGO_USUAL;
	q->threads = p->threads;
	q->constants = p->constants;
	q->built = q->legalized = true;
	q->workspace = p->workspace;
	q->private = p->private;
	prog_free(p);
	return q;
}

const char *scope_name(enum scope s)
{
	static const char *const name[] = {"in", "const", "out", "scratch", "stack", "register"};
	return name[s];
}

double combiner_identity(enum combiner c)
{
	switch (c) {
	case COMB_PROD: return 1;
	case COMB_MAX: return -INFINITY;
	case COMB_MIN: return INFINITY;
	default: return 0;
	}
}

stage_id buf_writer(struct loop_prog *p, buf_id b)
{
	for (size_t i = 1; i < p->stages.n; i++)
		if (p->stages.a[i].out == b && !p->stages.a[i].gone)
			return (stage_id)i;
	return 0;
}

buf_id buf_new(struct loop_prog *p, const char *name, enum dtype t, enum scope s, int rank, const int64_t *shape)
{
	if (rank > LOOP_RANK_MAX)
		BUG("buffer %s of rank %d", name, rank);
	struct loop_buf b = {.name = buf_unused_name(p, name), .dtype = t, .scope = s, .rank = rank};
	for (int i = 0; i < rank; i++) {
		b.shape[i] = b.extent[i] = shape[i];
		b.base[i] = poly_const(p->P, 0);
	}
	if (s <= SCOPE_OUT)
		b.operand = p->made[s]++;
	vec_push(&p->bufs, b);
	return (buf_id)p->bufs.n - 1;
}

/* size: POLY_UNKNOWN, or what the extent is in the parameters. */
static void stage_add_axis(struct loop_prog *p, struct stage *s, sym name, int64_t extent, poly size, enum axis_kind kind)
{
	if (s->naxes == LOOP_AXES_MAX)
		BUG("stage %s has too many axes", sym_str(s->name));
	poly_var v = poly_var_new(p->P, name, 0, size != POLY_UNKNOWN && extent == POLY_INF ? extent : extent > 0 ? extent - 1 : 0, 1);
	s->axis[s->naxes++] = (struct axis){name, v, extent, kind, size};
}

stage_id stage_into(struct loop_prog *p, const char *name, buf_id out, const char *axes)
{
	struct stage s = {.name = stage_unused_name(p, name), .out = out, .nspatial = lbuf(p, out)->rank, .part = p->part};
	for (int i = 0; i < s.nspatial; i++) {
		axes += strspn(axes, " ");
		size_t n = strcspn(axes, " ");
		sym a = n ? intern_n(axes, n) : intern_printf("a%d", i);
		axes += n;
		stage_add_axis(p, &s, a, lbuf(p, out)->shape[i], lbuf(p, out)->dim[i], AXIS_SPATIAL);
	}
	vec_push(&p->stages, s);
	return (stage_id)p->stages.n - 1;
}

stage_id stage_new(struct loop_prog *p, const char *name, enum dtype t, enum scope s, int rank, const int64_t *shape, const char *axes)
{
	sym u = stage_unused_name(p, name);
	return stage_into(p, sym_str(u), buf_new(p, sym_str(u), t, s, rank, shape), axes);
}

poly stage_reduce(struct loop_prog *p, stage_id s, const char *name, int64_t extent)
{
	stage_add_axis(p, lstage(p, s), intern(name), extent, POLY_UNKNOWN, AXIS_REDUCE);
	return poly_of(p->P, lstage(p, s)->axis[lstage(p, s)->naxes - 1].var);
}

poly stage_reduce_over(struct loop_prog *p, stage_id s, const char *name, poly extent)
{
	int64_t e, lo;

	if (poly_is_const(p->P, extent, &e))
		return stage_reduce(p, s, name, e);
	poly_range(p->P, extent, &lo, &e);
	stage_add_axis(p, lstage(p, s), intern(name), e, extent, AXIS_REDUCE);
	return poly_of(p->P, lstage(p, s)->axis[lstage(p, s)->naxes - 1].var);
}

poly stage_axis(struct loop_prog *p, stage_id s, int i) { return poly_of(p->P, lstage(p, s)->axis[i].var); }

void stage_body(struct loop_prog *p, stage_id s, enum combiner c, ex_id body)
{
	lstage(p, s)->comb = c;
	lstage(p, s)->body = body;
}

void stage_scan(struct loop_prog *p, stage_id s, int i, uint32_t number)
{
	lstage(p, s)->axis[i].kind = AXIS_SCAN;
	lstage(p, s)->scan = number;
}

int stage_scan_axis(const struct stage *s)
{
	for (int a = 0; a < s->naxes; a++)
		if (s->axis[a].kind == AXIS_SCAN)
			return a;
	return -1;
}

/* ---- parameters ---- */

poly prog_param(struct loop_prog *p, sym name, int64_t lo, int64_t hi, int64_t divisor)
{
	poly_var v = poly_var_new(p->P, intern_printf("p%zu", p->params.n), lo, hi, divisor);

	if (p->params.n == LOOP_PARAMS_MAX)
		BUG("more than %d parameters", LOOP_PARAMS_MAX);
	vec_push(&p->params, ((struct loop_param){name, v, lo}));
	return poly_of(p->P, v);
}

poly buf_dim(struct loop_prog *p, buf_id b, int d)
{
	const struct loop_buf *x = lbuf(p, b);
	return x->dim[d] != POLY_UNKNOWN ? x->dim[d] : poly_const(p->P, x->shape[d]);
}

poly buf_size(struct loop_prog *p, buf_id b, int d)
{
	const struct loop_buf *x = lbuf(p, b);
	return x->size[d] != POLY_UNKNOWN ? x->size[d] : poly_const(p->P, x->extent[d]);
}

poly axis_size(struct loop_prog *p, const struct axis *x) { return x->size != POLY_UNKNOWN ? x->size : poly_const(p->P, x->extent); }

static bool follows_from_params(struct loop_prog *p, poly_var v)
{
	bool does = false;

	for (size_t i = 0; i < p->params.n && !does; i++)
		does = p->params.a[i].var == v;
	for (size_t i = 0; i < p->rests.n && !does; i++)
		does = p->rests.a[i].var == v;
	return does;
}

bool prog_fixed(struct loop_prog *p, poly e)
{
	bool fixed = e != POLY_UNKNOWN;

	for (poly_var v = 1; v <= poly_nvars(p->P) && fixed; v++)
		fixed = !poly_uses(p->P, e, v) || follows_from_params(p, v);
	return fixed;
}

bool prog_same(struct loop_prog *p, poly e)
{
	for (size_t i = 0; i < p->params.n; i++)
		if (poly_uses(p->P, e, p->params.a[i].var))
			return false;
	for (size_t i = 0; i < p->rests.n; i++)
		if (poly_uses(p->P, e, p->rests.a[i].var))
			return false;
	return true;
}

void prog_values(struct loop_prog *p, int64_t *env)
{
	for (size_t i = 0; i < p->params.n; i++)
		env[p->params.a[i].var] = p->params.a[i].value;
	for (size_t i = 0; i < p->rests.n; i++)
		env[p->rests.a[i].var] = poly_eval(p->P, p->rests.a[i].value, env);
}

int64_t prog_value(struct loop_prog *p, poly e)
{
	int64_t *env = xcalloc(poly_nvars(p->P) + 2, sizeof *env);

	prog_values(p, env);
	int64_t v = poly_eval(p->P, e, env);
	free(env);
	return v;
}

int64_t prog_workspace(struct loop_prog *p)
{
	int64_t lo, bytes = p->workspace;

	if (p->params.n) {
		int64_t *env = xcalloc(poly_nvars(p->P) + 2, sizeof *env);
		prog_values(p, env);
		poly_range_in(p->P, p->workspace_of, env, env, &lo, &bytes); /* does not wrap */
		free(env);
	}
	return bytes < 0 || bytes > WORKSPACE_MAX ? -1 : bytes;
}

static void whole_axes(struct loop_prog *p, stage_id s, poly *lo, poly *extent)
{
	for (int a = 0; a < lstage(p, s)->naxes; a++) {
		lo[a] = poly_const(p->P, 0);
		extent[a] = axis_size(p, &lstage(p, s)->axis[a]);
	}
}

/* Stages that scan together: one loop over the steps, in it all of them, a step each. Returns the last. */
static stage_id start_scan(struct loop_prog *p, stage_id first)
{
	stage_id last = first;
	while (last + 1 < p->stages.n && lstage(p, last + 1)->scan == lstage(p, first)->scan && stage_scan_axis(lstage(p, last + 1)) >= 0)
		last++;
	const struct axis *x = &lstage(p, first)->axis[stage_scan_axis(lstage(p, first))];
	uint32_t number = lstage(p, first)->scan;
	sym name = number == 1 ? intern_printf("scan.%s", sym_str(x->name)) : intern_printf("scan%u.%s", number, sym_str(x->name));
	nest_id loop = nest_for(p, name, axis_size(p, x), false, last);
	lnest(p, loop)->scan = true;
	nest_insert(p, p->root, lnest(p, p->root)->kid.n, loop);
	for (stage_id s = first; s <= last; s++) {
		poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
		whole_axes(p, s, lo, extent);
		int a = stage_scan_axis(lstage(p, s));
		lo[a] = poly_of(p->P, lnest(p, loop)->var);
		extent[a] = poly_const(p->P, 1);
		nest_id seq = nest_body(p, loop), made = nest_of_stage(p, s, lo, extent);
		nest_insert(p, seq, lnest(p, seq)->kid.n, made);
	}
	return last;
}

void prog_start(struct loop_prog *p)
{
	p->root = nest_seq(p, 0);
	for (size_t i = 1; i < p->stages.n; i++) {
		const struct stage *s = &p->stages.a[i];
		poly lo[LOOP_AXES_MAX], extent[LOOP_AXES_MAX];
		if (s->scan && stage_scan_axis(s) >= 0 && i + 1 < p->stages.n && p->stages.a[i + 1].scan == s->scan) {
			i = start_scan(p, (stage_id)i);
			continue;
		}
		whole_axes(p, (stage_id)i, lo, extent);
		nest_insert(p, p->root, lnest(p, p->root)->kid.n, nest_of_stage(p, (stage_id)i, lo, extent));
	}
	p->built = true;
}
