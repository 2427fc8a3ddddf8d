/* What vectors read: one load if the lanes are contiguous; else loads and a shuffle, a gather, or one element at a time. */
#include "emit/vector.h"

static bool has_lane(struct loop_prog *p, ex_id ex, void *arg)
{
	struct emit *e = arg;

	for (int i = 0; i < lex(p, ex)->n; i++)
		if (lane_in(e, here(e, lex(p, ex)->index[i])))
			return true;
	return false;
}

/* Does the value of ex differ between lanes? */
static bool varies(struct emit *e, ex_id ex) { return ex_find(e->p, ex, has_lane, e); }

/* One element at a time: for registers that are not vectors, and indices that are not linear in the lane. */
static const char *compose(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	bool test = m->guard && lbuf(e->p, b)->scope != SCOPE_REGISTER, real = math_lanes(lbuf(e->p, b)->dtype) == LANE_FLOAT;
	const char *s = "";

	for (int l = 0; l < m->n; l++) {
		const char *x = scalar_load(e, b, lane_at(e, off, l));
		if (test)
			x = text(e, "vbit(%s, %d) ? %s : %s", m->s, l, x, real ? "0.0f" : "0");
		s = text(e, "%s%s%s", s, l ? ", " : "", x);
	}
	return text(e, "((%s){%s})", real ? "vf" : "vi", s);
}

/* Vector loads that together cover what lanes lo to hi - 1 read, if the distances between them are known; and for each lane its load
 * and its place in that load. */
struct windows {
	int n;
	int64_t first[VL_MAX], last[VL_MAX]; /* elements read, from that of lane lo on */
	int of[VL_MAX], at[VL_MAX];          /* by lane */
};

static bool find_windows(struct emit *e, poly off, int lo, int hi, struct windows *w)
{
	int64_t d[VL_MAX];
	poly base = lane_at(e, off, lo);

	for (int l = lo; l < hi; l++) {
		if (!poly_is_const(e->p->P, poly_sub(e->p->P, lane_at(e, off, l), base), &d[l]))
			return false;
		w->of[l] = -1;
	}
	for (w->n = 0;; w->n++) {
		int64_t first = INT64_MAX, last = 0;
		for (int l = lo; l < hi; l++)
			if (w->of[l] < 0 && d[l] < first)
				first = last = d[l];
		if (first == INT64_MAX)
			return true;
		for (int l = lo; l < hi; l++)
			if (w->of[l] < 0 && d[l] - first < e->vl) {
				w->of[l] = w->n;
				w->at[l] = (int)(d[l] - first);
				last = d[l] > last ? d[l] : last;
			}
		w->first[w->n] = first;
		w->last[w->n] = last;
	}
}

/* Load k, from its first element on; masked if a whole vector could reach beyond the buffer. */
static const char *window_load(struct emit *e, buf_id b, poly base, const struct windows *w, int k)
{
	poly at = poly_addc(e->p->P, base, w->first[k]);
	int64_t lo, hi, n = w->last[k] - w->first[k] + 1;
	const char *from = text(e, "%s + %s", e->buf_text[b], poly_text(e, at)), *suffix = memory_suffix(lbuf(e->p, b)->dtype);

	poly_range(e->p->P, poly_sub(e->p->P, at, buf_count(e->p, b)), &lo, &hi);
	if (n == e->vl || (hi != INT64_MAX && hi + e->vl <= 0))
		return text(e, "vload%s(%s)", suffix, from);
	if (has_no_masks(e, lbuf(e->p, b)->dtype))
		return text(e, "vload%s_first(%s, %ld)", suffix, from, (long)n);
	return text(e, "vload%s_mask(%s, vlanes(0, %ld))", suffix, from, (long)n);
}

/* Loads and a shuffle, for lanes that read near each other in some order (every second element; each element twice; two rows in turn).
 * NULL: one element at a time is cheaper. */
static const char *shuffled(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	struct windows w;

	if (!m->exact || m->lo >= m->hi || lbuf(e->p, b)->scope == SCOPE_REGISTER || !find_windows(e, off, m->lo, m->hi, &w) ||
	    2 * w.n > m->n)
		return NULL;
	poly base = lane_at(e, off, m->lo);
	const char *s = window_load(e, b, base, &w, 0);
	for (int k = 1; k < w.n || (k == 1 && w.n == 1);
	     k++) { /* from the second step on, lanes of earlier windows are where they belong */
		const char *other = k < w.n ? window_load(e, b, base, &w, k) : text(e, "(%s){}", lanes_ctype(lbuf(e->p, b)->dtype));
		s = text(e, "__builtin_shufflevector(%s, %s", s, other);
		for (int l = 0; l < e->vl; l++) {
			bool known = l >= m->lo && l < m->hi && w.of[l] <= k;
			s = text(e, "%s, %d", s, !known ? 0 : w.of[l] == k ? w.at[l] + e->vl : k > 1 ? l : w.at[l]);
		}
		s = text(e, "%s)", s);
	}
	return s;
}

/* How far apart neighbours among the lanes read, if that is the same for all, such as a size that only a run knows. False: it is not. */
static bool common_step(struct emit *e, poly off, const struct lanes *m, poly *step)
{
	struct polys *P = e->p->P;

	*step = poly_sub(P, lane_at(e, off, 1), lane_at(e, off, 0));
	for (int l = 2; l < m->n; l++)
		if (poly_sub(P, lane_at(e, off, l), lane_at(e, off, l - 1)) != *step)
			return false;
	return m->n > 1;
}

/* Neither contiguous nor broadcast, nor a step that is a number. */
static const char *apart(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	const char *s = shuffled(e, b, off, m), *suffix = memory_suffix(lbuf(e->p, b)->dtype);
	poly step;

	if (s)
		return s;
	if (lbuf(e->p, b)->scope == SCOPE_REGISTER || (!m->guard && m->n < e->vl) || !common_step(e, off, m, &step))
		return compose(e, b, off, m);
	const char *from = text(e, "%s + %s", e->buf_text[b], poly_text(e, lane_at(e, off, 0))), *by = bare(e, poly_text(e, step));
	return m->guard ? text(e, "vgather%s_mask(%s, %s, %s)", suffix, from, by, m->s) : text(e, "vgather%s(%s, %s)", suffix, from, by);
}

/* The name of the vector variable that holds the lanes from `at` on; NULL: there is none. */
static const char *register_lanes(struct emit *e, buf_id b, int64_t at, const struct lanes *m)
{
	reg_touch(e, b, at, m->n, m->mask, m->nopen);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, b, at);
	int half;
	const char *both = !e->dry && m->n == e->vl ? reg_half(e, b, at, &half) : NULL;
	if (both)
		return text(e, "vhalf(%s, %d)", both, half);
	return e->dry || (run && run->lanes <= e->vl) ? reg_name(e, b, at) : NULL;
}

/* Lanes of two vector variables, which a shuffle picks. NULL: they lie in more, or in none. */
static const char *picked(struct emit *e, buf_id b, poly off, const struct lanes *m)
{
	const struct reg_run *run[2];
	int64_t at[VL_MAX];
	int of[VL_MAX], lane[VL_MAX];

	for (int l = 0; l < m->n; l++)
		if (!poly_is_const(e->p->P, lane_at(e, off, l), &at[l]))
			return NULL;
	int n = reg_spread(e, b, at, m->n, 2, run, of, lane);
	if (!n)
		return NULL;
	const char *s = text(e, "__builtin_shufflevector(%s, %s", reg_name(e, b, run[0]->at), reg_name(e, b, run[n - 1]->at));
	for (int l = 0; l < e->vl; l++)
		s = text(e, "%s, %d", s, l < m->n ? of[l] * e->vl + lane[l] : 0);
	return text(e, "%s)", s);
}

/* All lanes of b at off, an offset that depends on the lane. */
static const char *load_lanes(struct emit *e, ex_id ex, poly off, const struct lanes *m)
{
	buf_id b = lex(e->p, ex)->buf;
	const char *suffix = memory_suffix(lbuf(e->p, b)->dtype);
	int64_t c, at;
	poly rest;

	bool linear = poly_linear_in(e->p->P, off, e->lane, &c, &rest);
	if (lbuf(e->p, b)->scope == SCOPE_REGISTER) {
		bool together = linear && c == 1 && poly_is_const(e->p->P, rest, &at);
		const char *name = together ? register_lanes(e, b, at, m) : picked(e, b, off, m);
		return name ? name : compose(e, b, off, m);
	}
	if (!linear)
		return apart(e, b, off, m);
	const char *near = c == 1 ? NULL : shuffled(e, b, off, m);
	if (c != 1 && !near && !m->guard && m->n < e->vl) /* the first lanes of a gather */
		return compose(e, b, off, m);
	const char *from = text(e, "%s + %s", e->buf_text[b], poly_text(e, rest));
	int first = first_lanes(e, m, lbuf(e->p, b)->dtype);
	const char *load = near ? near
			   : all_lanes(e, m)
				   ? c == 1 ? text(e, "vload%s(%s)", suffix, from) : text(e, "vgather%s(%s, %ld)", suffix, from, (long)c)
			   : c == 1 && first ? text(e, "vload%s_first(%s, %d)", suffix, from, first)
			   : c == 1          ? text(e, "vload%s_mask(%s, %s)", suffix, from, m->s)
					     : text(e, "vgather%s_mask(%s, %ld, %s)", suffix, from, (long)c, m->s);
	if (!m->guard && lex(e->p, ex)->dyn_dim < 0)
		load = load_mark(e, b, rest, m->n, c, lanes_ctype(lbuf(e->p, b)->dtype), load);
	return load;
}

struct vx vx_read(struct emit *e, ex_id ex, const struct lanes *m)
{
	enum dtype t = lex(e->p, ex)->dtype;

	if (emit_looks_up(e->p, ex))
		return vx_lookup(e, ex, m);
	if (lex(e->p, ex)->dyn_dim >= 0 && varies(e, lex(e->p, ex)->a[0]))
		return vx_fail;
	poly off = read_offset(e, ex);
	if (!lane_in(e, off))
		return (struct vx){VX_SCALAR, scalar_read(e, ex, off)};
	if (math_lanes(t) == LANE_NONE)
		return vx_fail;
	const char *s = load_lanes(e, ex, off, m);
	return in_lanes(t, t == DT_BOOL ? text(e, "vine(%s, viset(0))", s) : s);
}
