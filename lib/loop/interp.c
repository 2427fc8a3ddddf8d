/* What programs mean. The interpreter of nests runs a program loop by loop; the evaluator of stages computes the same from the
 * definitions, without a nest, whole or a few elements. Both compute floats in double and integers exactly.
 *
 * The interpreter also finds wrong schedules. Each element of storage has a tag that says which logical element was written there
 * last, and in which iteration of the loop that allocates the buffer. A read that finds another tag is an error. Iterations of parallel
 * loops run backwards, so that results that depend on their order show. */
#include "loop/interp.h"
#include <math.h>
#include <string.h>
#include "common/half.h"
#include "common/msg.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "native/native.h"

/* A polynomial prepared for many evaluations: linear ones are c + sum of coef * var. */
struct lin {
	bool ready, linear;
	int n;
	int64_t c;
	poly_var *var;
	int64_t *coef;
};

/* A number of some type: d of floats, i (its bits) of integers and bools. */
union num {
	double d;
	int64_t i;
};

/* What was last written to an element of storage: a logical element, in a life of the buffer window. */
struct tag {
	int64_t element; /* row-major number + 1; 0: nothing yet */
	uint32_t life;
};

/* The storage of a buffer. */
struct place {
	int n, axis[LOOP_LAYOUT_MAX]; /* axes in storage order, with strides in elements */
	int64_t div[LOOP_LAYOUT_MAX], mod[LOOP_LAYOUT_MAX], stride[LOOP_LAYOUT_MAX], elems;
	int64_t room[LOOP_RANK_MAX]; /* indices that may be read: buf_room */
	int64_t shape[LOOP_RANK_MAX], extent[LOOP_RANK_MAX];
	bool based;       /* the window does not start at 0 */
	void *data;       /* given by the caller, */
	union num *value; /* or made here */
	struct tag *tag;
	uint32_t life; /* counts iterations of the loop that allocates it: each begins with nothing written */
};

struct machine {
	struct loop_prog *p;
	struct arena arena;
	VEC(struct lin) lins; /* by poly */
	int64_t *env;         /* by variable */
	struct place *places; /* by buffer */
	const char *why;
	union num (*read)(struct machine *m, buf_id b, const int64_t *index);
	bool *done; /* stage evaluator: stages computed already */
	int depth;  /* stages_points: elements that wait for each other */
};

static void machine_start(struct machine *m, struct loop_prog *p)
{
	*m = (struct machine){.p = p};
	m->env = arena_alloc(&m->arena, sizeof *m->env * (poly_nvars(p->P) + 2));
	prog_values(p, m->env);
	m->places = ARENA_ARRAY(&m->arena, struct place, p->bufs.n);
	m->done = ARENA_ARRAY(&m->arena, bool, p->stages.n);
}

static void machine_end(struct machine *m)
{
	vec_free(&m->lins);
	arena_release(&m->arena);
}

/* ---- indices ---- */

static void lin_make(struct machine *m, poly e)
{
	struct polys *P = m->p->P;
	struct lin l = {.ready = true, .linear = true};
	int n = poly_nterms(P, e), natoms;
	const uint32_t *atoms;

	l.var = ARENA_ARRAY(&m->arena, poly_var, n + 1);
	l.coef = ARENA_ARRAY(&m->arena, int64_t, n + 1);
	for (int i = 0; i < n; i++) {
		int64_t c = poly_term(P, e, i, &natoms, &atoms);
		if (!natoms) {
			l.c = c;
		} else if (natoms == 1 && poly_atom(P, atoms[0])->kind == POLY_VAR) {
			l.var[l.n] = poly_atom(P, atoms[0])->var;
			l.coef[l.n++] = c;
		} else {
			l.linear = false;
		}
	}
	while (m->lins.n <= e)
		vec_push(&m->lins, (struct lin){0});
	m->lins.a[e] = l;
}

static int64_t value_of(struct machine *m, poly e)
{
	if (e == POLY_UNKNOWN) {
		m->why = "an index is unknown";
		return 0;
	}
	if (e >= m->lins.n || !m->lins.a[e].ready)
		lin_make(m, e);
	const struct lin *l = &m->lins.a[e];
	if (!l->linear)
		return poly_eval(m->p->P, e, m->env);
	int64_t v = l->c;
	for (int i = 0; i < l->n; i++)
		v += l->coef[i] * m->env[l->var[i]];
	return v;
}

/* ---- storage ---- */

static void place_make(struct machine *m, buf_id b, void *data)
{
	const struct loop_buf *x = lbuf(m->p, b);
	struct place *s = &m->places[b];
	int64_t step = 1;

	for (int d = 0; d < x->rank; d++) {
		s->shape[d] = x->dim[d] != POLY_UNKNOWN ? poly_eval(m->p->P, x->dim[d], m->env) : x->shape[d];
		s->extent[d] = x->size[d] != POLY_UNKNOWN ? poly_eval(m->p->P, x->size[d], m->env) : x->extent[d];
	}
	s->n = x->layout.n ? x->layout.n : x->rank;
	for (int i = s->n - 1; i >= 0; i--) {
		struct layout_part q = x->layout.n ? x->layout.part[i] : (struct layout_part){i, 1, 0};
		s->axis[i] = q.axis;
		s->div[i] = q.div;
		s->mod[i] = q.mod;
		s->stride[i] = step;
		step *= q.mod ? q.mod : (s->extent[q.axis] + q.div - 1) / q.div;
	}
	s->elems = step;
	for (int d = 0; d < x->rank; d++)
		s->room[d] = x->dim[d] != POLY_UNKNOWN ? s->shape[d] : buf_room(m->p, b, d);
	for (int d = 0; d < x->rank; d++)
		s->based |= x->base[d] != poly_const(m->p->P, 0);
	s->data = data;
	if (!data)
		s->value = ARENA_ARRAY(&m->arena, union num, step ? step : 1);
	if (x->scope >= SCOPE_OUT)
		s->tag = ARENA_ARRAY(&m->arena, struct tag, step ? step : 1);
}

static union num real(double v) { return (union num){.d = v}; }
static union num whole(int64_t v) { return (union num){.i = v}; }

static union num load(enum dtype t, const void *p, int64_t i)
{
	switch (t) {
	case DT_F32: return real(((const float *)p)[i]);
	case DT_F64: return real(((const double *)p)[i]);
	case DT_F16: return real(half_to_float(((const uint16_t *)p)[i]));
	case DT_BF16: return real(bf16_to_float(((const uint16_t *)p)[i]));
#define INT(id, name, size, onnx, T) \
	case DT_##id: return whole((int64_t)((const T *)p)[i]);
		INT_DTYPES(INT)
#undef INT
	case DT_BOOL: return whole(((const uint8_t *)p)[i]);
	default: BUG("no loop program computes with %s", dtype_name(t));
	}
}

/* v rounded to a floating point type. */
static double rounded(enum dtype t, double v)
{
	switch (t) {
	case DT_F32: return (float)v;
	case DT_F16: return half_to_float(double_to_half(v));
	case DT_BF16: return bf16_to_float(double_to_bf16(v));
	default: return v;
	}
}

static double as_double(enum dtype t, union num v) { return dtype_is_float(t) ? v.d : t == DT_U64 ? (double)(uint64_t)v.i : (double)v.i; }

static union num cast(enum dtype to, enum dtype from, union num v)
{
	if (!dtype_is_float(to))
		return whole(dtype_is_float(from) ? math_whole(to, v.d) : math_wrap(to, v.i));
	if (to == DT_F64 || dtype_is_float(from))
		return real(rounded(to, as_double(from, v)));
	return real(rounded(to, from == DT_U64 ? native_odd((uint64_t)v.i) : native_odd_of(v.i)));
}

static void store(enum dtype t, void *p, int64_t i, union num v)
{
	switch (t) {
	case DT_F32: ((float *)p)[i] = (float)v.d; break;
	case DT_F64: ((double *)p)[i] = v.d; break;
	case DT_F16: ((uint16_t *)p)[i] = double_to_half(v.d); break;
	case DT_BF16: ((uint16_t *)p)[i] = double_to_bf16(v.d); break;
#define INT(id, name, size, onnx, T) \
	case DT_##id: ((T *)p)[i] = (T)v.i; break;
		INT_DTYPES(INT)
#undef INT
	default: ((int8_t *)p)[i] = (int8_t)v.i; break;
	}
}

static const char *element_text(struct machine *m, buf_id b, const int64_t *index)
{
	const struct loop_buf *x = lbuf(m->p, b);
	char *s = arena_printf(&m->arena, "%s[", sym_str(x->name));

	for (int d = 0; d < x->rank; d++)
		s = arena_printf(&m->arena, "%s%s%ld", s, d ? ", " : "", (long)index[d]);
	return arena_printf(&m->arena, "%s]", s);
}

static void complain(struct machine *m, buf_id b, const int64_t *index, const char *what)
{
	if (!m->why)
		m->why = whynot(m->p, "%s is %s", element_text(m, b, index), what);
}

static int64_t element_number(const struct loop_buf *x, const struct place *s, const int64_t *index)
{
	int64_t n = 0;

	for (int d = 0; d < x->rank; d++)
		n = n * s->shape[d] + index[d];
	return n;
}

/* The element's position in storage, or -1 with the reason in m->why. */
static int64_t locate(struct machine *m, buf_id b, const int64_t *index)
{
	const struct loop_buf *x = lbuf(m->p, b);
	const struct place *s = &m->places[b];
	int64_t at[LOOP_RANK_MAX], off = 0;

	for (int d = 0; d < x->rank; d++) {
		if (index[d] < 0 || index[d] >= s->room[d]) {
			complain(m, b, index, "out of bounds");
			return -1;
		}
		at[d] = s->based ? index[d] - value_of(m, x->base[d]) : index[d];
		if (at[d] < 0 || (at[d] >= s->extent[d] && index[d] < s->shape[d])) {
			complain(m, b, index, "outside the window that is kept");
			return -1;
		}
	}
	for (int i = 0; i < s->n; i++) {
		int64_t v = at[s->axis[i]];
		if (s->div[i] > 1)
			v /= s->div[i];
		if (s->mod[i])
			v %= s->mod[i];
		off += v * s->stride[i];
	}
	return off;
}

static union num read_storage(struct machine *m, buf_id b, const int64_t *index)
{
	const struct loop_buf *x = lbuf(m->p, b);
	const struct place *s = &m->places[b];
	int64_t at = locate(m, b, index);

	if (at < 0)
		return whole(0);
	if (s->tag && (s->tag[at].life != s->life || s->tag[at].element != element_number(x, s, index) + 1)) {
		complain(m, b, index, "read before it is written");
		return whole(0);
	}
	return s->data ? load(x->dtype, s->data, at) : s->value[at];
}

static void write_storage(struct machine *m, buf_id b, const int64_t *index, union num v)
{
	const struct loop_buf *x = lbuf(m->p, b);
	struct place *s = &m->places[b];
	int64_t at = locate(m, b, index);

	if (at < 0)
		return;
	s->tag[at] = (struct tag){element_number(x, s, index) + 1, s->life};
	if (s->data)
		store(x->dtype, s->data, at, v);
	else
		s->value[at] = dtype_is_float(x->dtype) ? real(rounded(x->dtype, v.d)) : v;
}

/* ---- expressions ---- */

static union num eval(struct machine *m, ex_id ex);

static union num eval_read(struct machine *m, const struct ex *x)
{
	int64_t index[LOOP_RANK_MAX];

	for (int i = 0; i < x->n; i++)
		index[i] = value_of(m, x->index[i]);
	if (x->dyn_dim >= 0) {
		enum dtype t = lex(m->p, x->a[0])->dtype;
		union num v = eval(m, x->a[0]);
		int64_t n = m->places[x->buf].shape[x->dyn_dim], i = cast(DT_I64, t, v).i;
		i += i < 0 ? n : 0;
		index[x->dyn_dim] = i < 0 ? 0 : i >= n ? n - 1 : i;
	}
	return m->why ? whole(0) : m->read(m, x->buf, index);
}

static union num const_value(const struct ex *x) { return dtype_is_float(x->dtype) ? real(x->c) : whole(math_wrap(x->dtype, x->ic)); }

static union num eval_call(struct machine *m, const struct ex *x)
{
	enum dtype t = lex(m->p, x->a[0])->dtype;
	union num a = eval(m, x->a[0]), b = whole(0);

	if (x->fn == FN_SELECT)
		return eval(m, as_double(t, a) != 0 ? x->a[1] : x->a[2]);
	if (x->a[1])
		b = eval(m, x->a[1]);
	if (!dtype_is_float(t))
		return whole(math_eval_int(x->fn, t, a.i, b.i));
	if (x->fn == FN_ROUND || x->fn == FN_FLOOR || x->fn == FN_CEIL) /* a step: which side of it is for the type to say */
		a.d = rounded(t, a.d);
	double v = math_eval(x->fn, a.d, b.d, 0);
	return dtype_is_float(x->dtype) ? real(v) : whole(v != 0);
}

static union num eval(struct machine *m, ex_id ex)
{
	const struct ex *x = lex(m->p, ex);

	switch (x->kind) {
	case EX_CONST: return const_value(x);
	case EX_INDEX: return cast(x->dtype, DT_I64, whole(value_of(m, x->index[0])));
	case EX_READ: return eval_read(m, x);
	case EX_CAST: return cast(x->dtype, lex(m->p, x->a[0])->dtype, eval(m, x->a[0]));
	case EX_GUARD:
		for (int i = 0; i < x->n; i++)
			if (value_of(m, x->index[i]) < 0)
				return eval(m, x->a[1]);
		return eval(m, x->a[0]);
	case EX_CALL: return eval_call(m, x);
	}
	return whole(0);
}

static union num identity(enum combiner c, enum dtype t)
{
	struct ex x = identity_const(c, t);

	return const_value(&x);
}

static union num combine(enum combiner c, enum dtype t, union num a, union num b)
{
	static const int fn[] = {[COMB_SUM] = FN_ADD, [COMB_PROD] = FN_MUL, [COMB_MAX] = FN_MAX, [COMB_MIN] = FN_MIN};

	if (c == COMB_NONE)
		return b;
	return dtype_is_float(t) ? real(math_eval(fn[c], a.d, b.d, 0)) : whole(math_eval_int(fn[c], t, a.i, b.i));
}

/* The value of the body in the element type of the stage's buffer. */
static union num body_value(struct machine *m, const struct stage *s)
{
	enum dtype t = lbuf(m->p, s->out)->dtype, from = lex(m->p, s->body)->dtype;
	union num v = eval(m, s->body);

	return t == from ? v : cast(t, from, v);
}

static int64_t extent_of(struct machine *m, const struct axis *x)
{
	return x->size != POLY_UNKNOWN ? poly_eval(m->p->P, x->size, m->env) : x->extent;
}

/* ---- nests ---- */

static void run_block(struct machine *m, const struct nest *n)
{
	const struct stage *s = lstage(m->p, n->stage);
	enum dtype t = lbuf(m->p, s->out)->dtype;
	bool init = n->phase == BLOCK_INIT;
	int64_t index[LOOP_AXES_MAX];
	int naxes = init ? s->nspatial : s->naxes;

	for (size_t i = 0; i < n->guard.n; i++)
		if (value_of(m, n->guard.a[i]) < 0)
			return;
	for (int a = 0; a < naxes; a++) {
		index[a] = value_of(m, n->bind[a]);
		if (a >= s->nspatial && (index[a] < 0 || index[a] >= extent_of(m, &s->axis[a])) && !m->why)
			m->why = whynot(m->p, "%s runs at %s = %ld", sym_str(s->name), sym_str(s->axis[a].name), (long)index[a]);
	}
	for (int a = 0; a < naxes; a++)
		m->env[s->axis[a].var] = index[a];
	union num v = init ? identity(s->comb, t) : body_value(m, s);
	if (!init && s->comb != COMB_NONE)
		v = combine(s->comb, t, read_storage(m, s->out, index), v);
	if (!m->why)
		write_storage(m, s->out, index, v);
}

static void run(struct machine *m, nest_id id);

/* In order; but the pieces of one parallel loop from the last to the first. */
static void run_seq(struct machine *m, const struct nest *seq)
{
	for (size_t i = 0, n; i < seq->kid.n && !m->why; i += n) {
		uint32_t team = lnest(m->p, seq->kid.a[i])->team;
		for (n = 1; team && i + n < seq->kid.n && lnest(m->p, seq->kid.a[i + n])->team == team;)
			n++;
		for (size_t k = n; k > 0 && !m->why; k--)
			run(m, seq->kid.a[i + k - 1]);
	}
}

static void run(struct machine *m, nest_id id)
{
	const struct nest *n = lnest(m->p, id);

	if (n->kind == NEST_BLOCK) {
		run_block(m, n);
		return;
	}
	if (n->kind == NEST_SEQ) {
		run_seq(m, n);
		return;
	}
	bool home = false; /* does it allocate a buffer? */
	for (size_t b = 1; b < m->p->bufs.n; b++)
		home |= m->p->bufs.a[b].alloc == id;
	int64_t extent = value_of(m, n->extent);
	for (int64_t i = 0; i < extent && !m->why; i++) {
		int64_t at = n->mark == LOOP_PARALLEL ? extent - 1 - i : i; /* their order must not matter */
		m->env[n->var] = at;
		if (n->step) {
			int64_t left = value_of(m, n->elems) - at * n->step;
			m->env[n->var] = at * n->step;
			m->env[n->len] = left < n->step ? left : n->step;
		}
		for (size_t b = 1; home && b < m->p->bufs.n; b++)
			if (m->p->bufs.a[b].alloc == id)
				m->places[b].life++;
		run(m, n->kid.a[0]);
	}
}

/* The logical index of a row-major position. */
static void unravel(const struct loop_buf *x, const struct place *s, int64_t position, int64_t *index)
{
	for (int d = x->rank - 1; d >= 0; d--) {
		index[d] = position % s->shape[d];
		position /= s->shape[d];
	}
}

/* Was every element of a result written? */
static void check_result(struct machine *m, buf_id b)
{
	const struct loop_buf *x = lbuf(m->p, b);
	int64_t index[LOOP_RANK_MAX] = {0}, count = 1;

	for (int d = 0; d < x->rank; d++)
		count *= m->places[b].shape[d];
	for (int64_t i = 0; i < count && !m->why; i++) {
		unravel(x, &m->places[b], i, index);
		int64_t at = locate(m, b, index);
		if (at >= 0 && m->places[b].tag[at].element != i + 1)
			complain(m, b, index, "never written");
	}
}

const char *loop_interp(struct loop_prog *p, void **data)
{
	struct machine m;

	machine_start(&m, p);
	m.read = read_storage;
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope <= SCOPE_OUT || buf_writer(p, b))
			place_make(&m, b, lbuf(p, b)->scope <= SCOPE_OUT ? data[b] : NULL);
	run(&m, p->root);
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope == SCOPE_OUT)
			check_result(&m, b);
	machine_end(&m);
	return m.why;
}

/* ---- stages ---- */

static union num read_made(struct machine *m, buf_id b, const int64_t *index);

/* The element of stage s at spatial index. */
static union num stage_element(struct machine *m, const struct stage *s, const int64_t *index)
{
	enum dtype t = lbuf(m->p, s->out)->dtype;
	union num v = identity(s->comb, t);
	int64_t at[LOOP_AXES_MAX] = {0}, saved[LOOP_AXES_MAX];

	for (int a = 0; a < s->naxes; a++) {
		if (extent_of(m, &s->axis[a]) <= 0 && a >= s->nspatial)
			return v; /* an empty sum */
		saved[a] = m->env[s->axis[a].var];
		if (a < s->nspatial)
			m->env[s->axis[a].var] = index[a];
	}
	for (bool more = true; more;) {
		for (int a = s->nspatial; a < s->naxes; a++)
			m->env[s->axis[a].var] = at[a];
		v = combine(s->comb, t, v, body_value(m, s));
		more = false;
		for (int a = s->naxes - 1; a >= s->nspatial && !more; a--) {
			more = ++at[a] < extent_of(m, &s->axis[a]);
			if (!more)
				at[a] = 0;
		}
	}
	for (int a = 0; a < s->naxes; a++)
		m->env[s->axis[a].var] = saved[a];
	return v;
}

/* Computes all elements of stage s, or (fixed >= 0) those at index `step` of axis `fixed`. */
static void make_elements(struct machine *m, const struct stage *s, int fixed, int64_t step)
{
	const struct loop_buf *x = lbuf(m->p, s->out);
	int64_t index[LOOP_RANK_MAX] = {0}, count = 1;

	for (int d = 0; d < x->rank; d++)
		count *= d == fixed ? 1 : m->places[s->out].shape[d];
	if (fixed >= 0)
		index[fixed] = step;
	for (int64_t i = 0; i < count && !m->why; i++) {
		union num v = stage_element(m, s, index);
		write_storage(m, s->out, index, v);
		for (int d = x->rank - 1; d >= 0; d--) {
			if (d == fixed)
				continue;
			if (++index[d] < m->places[s->out].shape[d])
				break;
			index[d] = 0;
		}
	}
}

/* Computes a whole stage; the stages that it reads are done. */
static void make_stage(struct machine *m, stage_id id)
{
	m->done[id] = true;
	place_make(m, lstage(m->p, id)->out, m->places[lstage(m->p, id)->out].data);
	make_elements(m, lstage(m->p, id), -1, 0);
}

/* Computes the stages from `first` on that scan together, step by step. Returns the last of them. */
static stage_id make_scan(struct machine *m, stage_id first)
{
	const struct stage *s = lstage(m->p, first);
	stage_id end = first;

	for (; end < m->p->stages.n && lstage(m->p, end)->scan == s->scan && stage_scan_axis(lstage(m->p, end)) >= 0; end++) {
		m->done[end] = true;
		place_make(m, lstage(m->p, end)->out, m->places[lstage(m->p, end)->out].data);
	}
	for (int64_t step = 0; step < extent_of(m, &s->axis[stage_scan_axis(s)]); step++)
		for (stage_id t = first; t < end; t++)
			make_elements(m, lstage(m->p, t), stage_scan_axis(lstage(m->p, t)), step);
	return end - 1;
}

static union num read_made(struct machine *m, buf_id b, const int64_t *index)
{
	stage_id w = buf_writer(m->p, b);

	if (w && !m->done[w])
		BUG("stages: %s is read before the stage that makes it", sym_str(lbuf(m->p, b)->name));
	return read_storage(m, b, index);
}

void stages_eval(struct loop_prog *p, void **data)
{
	struct machine m;

	machine_start(&m, p);
	m.read = read_made;
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (lbuf(p, b)->scope <= SCOPE_OUT) {
			m.places[b].data = data[b];
			if (lbuf(p, b)->scope != SCOPE_OUT)
				place_make(&m, b, data[b]);
		}
	for (stage_id s = 1; s < p->stages.n; s++)
		if (lstage(p, s)->scan && stage_scan_axis(lstage(p, s)) >= 0)
			s = make_scan(&m, s);
		else if (!lstage(p, s)->gone)
			make_stage(&m, s);
	if (m.why)
		BUG("stages: %s", m.why);
	machine_end(&m);
}

static union num read_lazily(struct machine *m, buf_id b, const int64_t *index);

/* Computes the element in all earlier steps of the scan, the first one first, so that the recursion stays shallow. */
static void earlier_steps(struct machine *m, buf_id b, const int64_t *index)
{
	int64_t at[LOOP_RANK_MAX], i;
	int scan = stage_scan_axis(lstage(m->p, buf_writer(m->p, b)));

	memcpy(at, index, sizeof *at * (size_t)lbuf(m->p, b)->rank);
	do
		at[scan]--;
	while (at[scan] >= 0 && (i = locate(m, b, at)) >= 0 && !m->places[b].tag[i].element);
	for (at[scan]++; at[scan] < index[scan]; at[scan]++)
		read_lazily(m, b, at);
}

/* Computes an element of a stage when it is first read. */
static union num read_lazily(struct machine *m, buf_id b, const int64_t *index)
{
	stage_id w = buf_writer(m->p, b);
	struct place *s = &m->places[b];
	int64_t at = locate(m, b, index);

	if (!w)
		return read_storage(m, b, index);
	if (at < 0)
		BUG("stages: %s", m->why);
	if (!s->tag[at].element && stage_scan_axis(lstage(m->p, w)) >= 0)
		earlier_steps(m, b, index);
	if (!s->tag[at].element) {
		if (m->depth++ > 10000)
			BUG("stages of %s wait for each other", sym_str(lbuf(m->p, b)->name));
		s->value[at] = stage_element(m, lstage(m->p, w), index);
		s->tag[at].element = 1;
		m->depth--;
	}
	return s->value[at];
}

void stages_points(struct loop_prog *p, buf_id out, int n, const int64_t *element, void **data, double *value)
{
	const struct loop_buf *x = lbuf(p, out);
	int64_t index[LOOP_RANK_MAX];
	struct machine m;

	machine_start(&m, p);
	m.read = read_lazily;
	for (buf_id b = 1; b < p->bufs.n; b++)
		place_make(&m, b, lbuf(p, b)->scope < SCOPE_OUT ? data[b] : NULL);
	for (int i = 0; i < n; i++) {
		unravel(x, &m.places[out], element[i], index);
		value[i] = as_double(x->dtype, read_lazily(&m, out, index));
	}
	machine_end(&m);
}
