/* Register buffers: every element is a named local variable. Elements that a vector loop accesses side by side are the lanes of
 * one vector variable. */
#include "emit/emit_impl.h"
#include "common/msg.h"
#include "target/target.h"
#include <stdlib.h>
#include <string.h>

void reg_touch(struct emit *e, buf_id b, int64_t at, int lanes, sym mask, int nopen)
{
	for (size_t i = e->zeros.n; i-- > 0 && !e->dry;)
		if (e->zeros.a[i].b == b && e->zeros.a[i].at < at + lanes && e->zeros.a[i].at + e->vl > at)
			e->zeros.a[i] = e->zeros.a[--e->zeros.n];
	if (e->dry)
		vec_push(&e->touched, (struct reg_touched){b, {at, lanes, mask, nopen > e->open_at_alloc[b]}});
}

void reg_zero(struct emit *e, buf_id b, int64_t at)
{
	const struct target *t = e->p->target ? e->p->target : target_host();

	if (e->zeros.n && e->zeros.a[0].loops != e->loops)
		e->zeros.n = 0;
	if (t->begins_sums && !e->dry)
		vec_push(&e->zeros, (struct reg_zero){b, at, e->loops});
}

bool reg_is_zero(struct emit *e, buf_id b, int64_t at)
{
	for (size_t i = 0; i < e->zeros.n; i++)
		if (e->zeros.a[i].b == b && e->zeros.a[i].at == at && e->zeros.a[i].loops == e->loops)
			return true;
	return false;
}

static int by_at(const void *x, const void *y)
{
	const struct reg_run *a = x, *b = y;

	return a->at != b->at ? (a->at > b->at) - (a->at < b->at) : b->lanes - a->lanes;
}

static int by_number(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

static struct reg_run *run_over(struct regs *r, int64_t at)
{
	size_t lo = 0, hi = r->run.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (r->run.a[mid].at <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && at < r->run.a[lo - 1].at + r->run.a[lo - 1].lanes ? &r->run.a[lo - 1] : NULL;
}

/* A vector of halves (more lanes than others) is used by whole vectors of f32, too: b is one half of a. */
static bool is_half(const struct reg_run *a, const struct reg_run *b, int vl)
{
	return a->lanes == 2 * vl && b->lanes == vl && b->at == a->at + vl;
}

static void settle(struct regs *r, int vl)
{
	size_t n = 0;

	if (r->run.n)
		qsort(r->run.a, r->run.n, sizeof *r->run.a, by_at);
	for (size_t i = 0; i < r->run.n; i++) {
		if (n && r->run.a[n - 1].at == r->run.a[i].at) { /* the longest came first */
			r->run.a[n - 1].mixed |= r->run.a[i].mixed || r->run.a[i].mask != r->run.a[n - 1].mask;
			continue;
		}
		if (n && is_half(&r->run.a[n - 1], &r->run.a[i], vl))
			continue;
		r->apart |= n && r->run.a[n - 1].at + r->run.a[n - 1].lanes > r->run.a[i].at;
		r->run.a[n++] = r->run.a[i];
	}
	r->run.n = n;
	if (r->apart) {
		for (size_t i = 0; i < n; i++)
			for (int l = 0; l < r->run.a[i].lanes; l++)
				vec_push(&r->one, r->run.a[i].at + l);
		r->run.n = 0;
	}
	if (r->one.n)
		qsort(r->one.a, r->one.n, sizeof *r->one.a, by_number);
	n = 0;
	for (size_t i = 0; i < r->one.n; i++) {
		struct reg_run *over = run_over(r, r->one.a[i]);
		if (over)
			over->mixed = true;
		else if (!n || r->one.a[n - 1] != r->one.a[i])
			r->one.a[n++] = r->one.a[i];
	}
	r->one.n = n;
}

void regs_settle(struct emit *e)
{
	for (size_t i = 0; i < e->touched.n; i++) {
		struct reg_touched *t = &e->touched.a[i];
		if (t->run.lanes > 1)
			vec_push(&e->regs[t->b].run, t->run);
		else
			vec_push(&e->regs[t->b].one, t->run.at);
	}
	vec_free(&e->touched);
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->regs[b].run.n || e->regs[b].one.n)
			settle(&e->regs[b], e->vl);
}

void regs_free(struct emit *e)
{
	vec_free(&e->zeros);
	for (size_t b = 1; b < e->p->bufs.n; b++) {
		vec_free(&e->regs[b].run);
		vec_free(&e->regs[b].one);
	}
}

/* The name has the indices in the window, if that is row-major. */
const char *reg_name(struct emit *e, buf_id b, int64_t at)
{
	const struct loop_buf *r = lbuf(e->p, b);
	const char *s = "";

	if (r->layout.n)
		return text(e, "%s_%ld", e->buf_text[b], (long)at);
	for (int d = r->rank - 1; d >= 0; d--) {
		if (r->extent[d] > 1 || (!*s && !d))
			s = text(e, "_%ld%s", (long)(at % r->extent[d]), s);
		at /= r->extent[d];
	}
	return text(e, "%s%s", e->buf_text[b], s);
}

const struct reg_run *reg_run(struct emit *e, buf_id b, int64_t at)
{
	const struct reg_run *r = run_over(&e->regs[b], at);

	return r && r->at == at ? r : NULL;
}

const char *reg_half(struct emit *e, buf_id b, int64_t at, int *half)
{
	const struct reg_run *r = run_over(&e->regs[b], at);

	if (!r || lbuf(e->p, b)->dtype != DT_F16 || r->lanes != 2 * e->vl || (at != r->at && at != r->at + e->vl))
		return NULL;
	*half = at != r->at;
	return reg_name(e, b, r->at);
}

const char *reg_element(struct emit *e, buf_id b, int64_t at)
{
	const struct reg_run *r = e->dry ? NULL : run_over(&e->regs[b], at);

	reg_touch(e, b, at, 1, 0, 0);
	return r ? text(e, "%s[%d]", reg_name(e, b, r->at), (int)(at - r->at)) : reg_name(e, b, at);
}

int reg_spread(struct emit *e, buf_id b, const int64_t *at, int n, int most, const struct reg_run **run, int *of, int *lane)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		reg_touch(e, b, at[i], 1, 0, 0);
	for (int i = 0; i < n && !e->dry; i++) {
		const struct reg_run *r = run_over(&e->regs[b], at[i]);
		int k = 0;
		while (r && k < count && run[k] != r)
			k++;
		if (!r || r->lanes != e->vl || (k == count && count == most))
			return 0;
		run[k] = r;
		count += k == count;
		of[i] = k;
		lane[i] = (int)(at[i] - r->at);
	}
	return count;
}

/* One more name in the current declaration; lines end at column 100 or after the last name. */
static const char *declare(struct emit *e, const char *so_far, const char *type, const char *name, bool last)
{
	const char *s = *so_far ? text(e, "%s, %s", so_far, name) : text(e, "%s %s", type, name);

	if (!last && strlen(s) < 100)
		return s;
	line(e, "%s;", s);
	return "";
}

/* Instructions on vectors of halves have more lanes than others. */
static const char *vector_type(struct emit *e, enum dtype t, const struct reg_run *r)
{
	return t == DT_F16 && r->lanes > e->vl ? "vhf" : math_lanes(t) == LANE_FLOAT ? "vf" : "vi";
}

void reg_declare(struct emit *e, buf_id b)
{
	const struct regs *r = &e->regs[b];
	const char *s = "";

	for (size_t i = 0; i < r->run.n; i++) {
		const char *type = vector_type(e, lbuf(e->p, b)->dtype, &r->run.a[i]), *name = reg_name(e, b, r->run.a[i].at);
		bool parts = !strcmp(type, "vhf") || r->in_parts; /* which are set one after the other */
		s = declare(e, s, type, parts ? text(e, "%s = {}", name) : name, i + 1 == r->run.n);
	}
	for (size_t i = 0; i < r->one.n; i++)
		s = declare(e, s, vtype(lbuf(e->p, b)->dtype), reg_name(e, b, r->one.a[i]), i + 1 == r->one.n);
}
