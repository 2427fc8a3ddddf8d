/* Polynomials: the context, hash-consing, ring operations, substitution. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "common/msg.h"
#include "common/poly_impl.h"

/* The number of the item with this hash that equal() accepts, or 0 with *free_slot to put a new one. */
static uint32_t table_find(struct polys *P, struct table *t, uint64_t hash,
			   bool (*equal)(struct polys *P, uint32_t number, const void *key), const void *key, size_t *free_slot)
{
	if (2 * t->hash.n >= t->size) {
		t->size = t->size ? 2 * t->size : 256;
		free(t->slot);
		t->slot = xcalloc(t->size, sizeof *t->slot);
		for (uint32_t k = 1; k < t->hash.n; k++) {
			size_t i = t->hash.a[k] & (t->size - 1);
			while (t->slot[i])
				i = (i + 1) & (t->size - 1);
			t->slot[i] = k;
		}
	}
	size_t i = hash & (t->size - 1);
	for (; t->slot[i]; i = (i + 1) & (t->size - 1))
		if (t->hash.a[t->slot[i]] == hash && equal(P, t->slot[i], key))
			return t->slot[i];
	*free_slot = i;
	return 0;
}

static void table_add(struct table *t, uint64_t hash, size_t free_slot)
{
	t->slot[free_slot] = (uint32_t)t->hash.n;
	vec_push(&t->hash, hash);
}

struct polys *polys_new(void)
{
	struct polys *P = xcalloc(1, sizeof *P);
	vec_push(&P->vars, (struct var){0});
	vec_push(&P->atoms, NULL);
	vec_push(&P->monos, (struct mono){0});
	vec_push(&P->sums, (struct sum){0});
	vec_push(&P->sums, (struct sum){.ranged = true});
	vec_push(&P->atom_table.hash, 0);
	vec_push(&P->mono_table.hash, 0);
	vec_push(&P->sum_table.hash, 0);
	vec_push(&P->sum_table.hash, 0);
	return P;
}

static void table_release(struct table *t)
{
	free(t->slot);
	vec_free(&t->hash);
}

void polys_free(struct polys *P)
{
	if (!P)
		return;
	vec_free(&P->vars);
	vec_free(&P->atoms);
	vec_free(&P->monos);
	vec_free(&P->sums);
	table_release(&P->atom_table);
	table_release(&P->mono_table);
	table_release(&P->sum_table);
	free(P->by_name);
	arena_release(&P->arena);
	free(P);
}

poly_var poly_var_new(struct polys *P, sym name, int64_t lo, int64_t hi, int64_t divisor)
{
	if (lo > hi || divisor < 1)
		BUG("variable '%s' with an empty range", sym_str(name));
	poly_var v = (poly_var)P->vars.n;
	vec_push(&P->vars, (struct var){.name = name, .range = {lo, hi}, .divisor = divisor});
	if (P->vars.n > P->nby_name) {
		P->nby_name = P->nby_name ? 4 * P->nby_name : 64;
		free(P->by_name);
		P->by_name = xcalloc(P->nby_name, sizeof *P->by_name);
		for (poly_var w = v; w >= 1; w--) { /* the first of a name ends up in front */
			poly_var *head = &P->by_name[P->vars.a[w].name % P->nby_name];
			P->vars.a[w].next_of_name = *head;
			*head = w;
		}
	} else if (!poly_var_find(P, name)) {
		poly_var *head = &P->by_name[name % P->nby_name];
		P->vars.a[v].next_of_name = *head;
		*head = v;
	}
	return v;
}

poly_var poly_var_find(const struct polys *P, sym name)
{
	if (!P->nby_name)
		return 0;
	poly_var v = P->by_name[name % P->nby_name];
	while (v && P->vars.a[v].name != name)
		v = P->vars.a[v].next_of_name;
	return v;
}

sym poly_var_name(const struct polys *P, poly_var v) { return P->vars.a[v].name; }

void poly_var_range(const struct polys *P, poly_var v, int64_t *lo, int64_t *hi)
{
	*lo = P->vars.a[v].range.lo;
	*hi = P->vars.a[v].range.hi;
}

void poly_var_narrow(struct polys *P, poly_var v, int64_t lo, int64_t hi)
{
	struct iv *r = &P->vars.a[v].range;

	lo = lo > r->lo ? lo : r->lo;
	hi = hi < r->hi ? hi : r->hi;
	if (lo > hi || (lo == r->lo && hi == r->hi))
		return;
	*r = (struct iv){lo, hi};
	for (size_t i = 0; i < P->sums.n; i++) /* ranges that were found with the wider one */
		if (P->sums.a[i].vars & 1ull << (v & 63))
			P->sums.a[i].ranged = false;
}

int64_t poly_var_divisor(const struct polys *P, poly_var v) { return P->vars.a[v].divisor; }

uint32_t poly_nvars(const struct polys *P) { return (uint32_t)P->vars.n - 1; }

/* Order. It must not depend on when something was built, or a printed form read back would differ. */

static int cmp_atoms(const struct polys *P, uint32_t x, uint32_t y)
{
	if (x == y)
		return 0;
	const struct poly_atom *a = P->atoms.a[x], *b = P->atoms.a[y];
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == POLY_VAR) {
		sym s = P->vars.a[a->var].name, t = P->vars.a[b->var].name;
		int c = s == t ? 0 : strcmp(sym_str(s), sym_str(t));
		return c ? c : a->var < b->var ? -1 : 1;
	}
	int c = poly_cmp(P, a->a, b->a);
	if (c)
		return c;
	if (a->kind == POLY_FLOOR)
		return a->c < b->c ? -1 : 1;
	return poly_cmp(P, a->b, b->b);
}

/* Graded lexicographic: higher degrees first, the constant last. */
static int cmp_monos(const struct polys *P, uint32_t x, uint32_t y)
{
	if (x == y)
		return 0;
	const struct mono *a = mono_of(P, x), *b = mono_of(P, y);
	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	for (uint32_t i = 0; i < a->n; i++) {
		int c = cmp_atoms(P, a->atoms[i], b->atoms[i]);
		if (c)
			return c;
	}
	return 0;
}

int poly_cmp(const struct polys *P, poly x, poly y)
{
	if (x == y)
		return 0;
	const struct sum *a = sum_of(P, x), *b = sum_of(P, y);
	for (uint32_t i = 0; i < a->n && i < b->n; i++) {
		int c = cmp_monos(P, a->t[i].mono, b->t[i].mono);
		if (c)
			return c;
		if (a->t[i].coef != b->t[i].coef)
			return a->t[i].coef < b->t[i].coef ? -1 : 1;
	}
	return a->n < b->n ? -1 : 1;
}

static int cmp_terms(const void *x, const void *y, void *P)
{
	return cmp_monos(P, ((const struct term *)x)->mono, ((const struct term *)y)->mono);
}

/* Hash-consing. */

static bool atom_equal(struct polys *P, uint32_t i, const void *key)
{
	const struct poly_atom *a = P->atoms.a[i], *b = key;
	return a->kind == b->kind && a->var == b->var && a->a == b->a && a->b == b->b && a->c == b->c;
}

static uint32_t atom_number(struct polys *P, struct poly_atom a)
{
	uint64_t key[5] = {a.kind, a.var, a.a, a.b, (uint64_t)a.c}, hash = hash64(key, sizeof key, 1);
	size_t slot;
	uint32_t i = table_find(P, &P->atom_table, hash, atom_equal, &a, &slot);
	if (i)
		return i;
	table_add(&P->atom_table, hash, slot);
	vec_push(&P->atoms, arena_copy(&P->arena, &a, sizeof a));
	return (uint32_t)P->atoms.n - 1;
}

static bool mono_equal(struct polys *P, uint32_t i, const void *key)
{
	const struct mono *a = mono_of(P, i), *b = key;
	return a->n == b->n && !memcmp(a->atoms, b->atoms, sizeof *a->atoms * a->n);
}

/* The number that is known to divide every value of the atom. */
static int64_t atom_content(const struct polys *P, const struct poly_atom *a)
{
	if (a->kind == POLY_VAR)
		return P->vars.a[a->var].divisor;
	if (a->kind != POLY_FLOOR)
		return 1;
	int64_t d = poly_content(P, a->a);
	return d % a->c ? 1 : d / a->c;
}

static uint32_t mono_number(struct polys *P, const uint32_t *atoms, uint32_t n)
{
	if (n == 0)
		return 0;
	struct mono m = {.atoms = atoms, .n = n};
	uint64_t hash = hash64(atoms, sizeof *atoms * n, 2);
	size_t slot;
	uint32_t i = table_find(P, &P->mono_table, hash, mono_equal, &m, &slot);
	if (i)
		return i;
	for (uint32_t k = 0; k < n; k++) {
		const struct poly_atom *a = P->atoms.a[atoms[k]];
		if (a->kind == POLY_VAR) {
			m.vars |= 1ull << (a->var & 63);
			continue;
		}
		const struct sum *x = sum_of(P, a->a), *y = sum_of(P, a->b);
		uint16_t depth = x->depth > y->depth ? x->depth : y->depth;
		m.vars |= x->vars | y->vars;
		m.tree += x->tree + y->tree;
		m.tree = m.tree < TREE_MAX ? m.tree : TREE_MAX + 1;
		m.depth = m.depth > depth + 1 ? m.depth : (uint16_t)(depth + 1);
		m.exact |= a->kind == POLY_FLOOR && poly_content(P, a->a) % a->c == 0;
	}
	m.atoms = arena_copy(&P->arena, atoms, sizeof *atoms * n);
	table_add(&P->mono_table, hash, slot);
	vec_push(&P->monos, m);
	return (uint32_t)P->monos.n - 1;
}

static bool sum_equal(struct polys *P, uint32_t i, const void *key)
{
	const struct sum *a = sum_of(P, i), *b = key;
	if (a->n != b->n)
		return false;
	for (uint32_t k = 0; k < a->n; k++)
		if (a->t[k].coef != b->t[k].coef || a->t[k].mono != b->t[k].mono)
			return false;
	return true;
}

/* Terms in order, no zeros, no repeats. */
static poly sum_number(struct polys *P, const struct term *t, size_t n)
{
	if (n == 0)
		return ZERO;
	if (n > TERMS_MAX)
		return POLY_UNKNOWN;
	struct sum s = {.t = t, .n = (uint32_t)n};
	uint64_t hash = 3;
	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint64_t)t[i].coef) * 0x9e3779b97f4a7c15u + t[i].mono * 0xbf58476d1ce4e5b9u, hash ^= hash >> 29;
	size_t slot;
	uint32_t i = table_find(P, &P->sum_table, hash, sum_equal, &s, &slot);
	if (i)
		return i;
	s.tree = s.n;
	for (size_t k = 0; k < n && s.tree <= TREE_MAX; k++)
		s.tree += mono_of(P, t[k].mono)->tree;
	if (s.tree > TREE_MAX)
		return POLY_UNKNOWN;
	struct term *copy = ARENA_ARRAY(&P->arena, struct term, n);
	for (size_t k = 0; k < n; k++) {
		const struct mono *m = mono_of(P, t[k].mono);
		copy[k] = t[k];
		s.vars |= m->vars;
		s.depth = s.depth > m->depth ? s.depth : m->depth;
	}
	s.t = copy;
	table_add(&P->sum_table, hash, slot);
	vec_push(&P->sums, s);
	return (poly)P->sums.n - 1;
}

/* coef * floor(a/c) with c dividing a: whatever of c divides coef too is cancelled, so that
 * 4*floor(v/4) of a multiple v of 4 is v. */
static poly cancel_exact(struct polys *P, struct term t)
{
	const struct mono *m = mono_of(P, t.mono);
	for (uint32_t i = 0; i < m->n; i++) {
		const struct poly_atom *a = P->atoms.a[m->atoms[i]];
		if (a->kind != POLY_FLOOR || poly_content(P, a->a) % a->c)
			continue;
		int64_t g = gcd_of(t.coef, a->c);
		if (g == 1)
			continue;
		uint32_t rest[DEGREE_MAX];
		memcpy(rest, m->atoms, sizeof *rest * i);
		memcpy(rest + i, m->atoms + i + 1, sizeof *rest * (m->n - i - 1));
		struct term others = {t.coef / g, mono_number(P, rest, m->n - 1)};
		return poly_mul(P, poly_term_only(P, others), poly_floordiv(P, a->a, a->c / g));
	}
	return sum_number(P, &t, 1);
}

/* Terms in order, no zeros, no repeats; exact floors may be among them. */
static poly finish(struct polys *P, struct term *t, size_t n)
{
	size_t plain = 0;
	poly cancelled = ZERO;
	for (size_t i = 0; i < n; i++) {
		poly e = POLY_UNKNOWN;
		if (mono_of(P, t[i].mono)->exact)
			e = cancel_exact(P, t[i]);
		const struct sum *s = sum_of(P, e);
		if (e && !(s->n == 1 && s->t->mono == t[i].mono))
			cancelled = poly_add(P, cancelled, e);
		else
			t[plain++] = t[i];
	}
	poly e = sum_number(P, t, plain);
	return cancelled == ZERO ? e : poly_add(P, e, cancelled);
}

poly poly_from_terms(struct polys *P, struct term *t, size_t n)
{
	size_t out = 0;
	if (n > 1)
		qsort_r(t, n, sizeof *t, cmp_terms, P);
	for (size_t i = 0; i < n;) {
		struct term x = t[i];
		for (i++; i < n && t[i].mono == x.mono; i++)
			if (__builtin_add_overflow(x.coef, t[i].coef, &x.coef))
				return POLY_UNKNOWN;
		if (x.coef)
			t[out++] = x;
	}
	return finish(P, t, out);
}

poly poly_term_only(struct polys *P, struct term t) { return t.coef ? finish(P, &t, 1) : ZERO; }

poly poly_from_atom(struct polys *P, struct poly_atom a)
{
	if (a.kind != POLY_VAR && (sum_of(P, a.a)->depth >= DEPTH_MAX || sum_of(P, a.b)->depth >= DEPTH_MAX))
		return POLY_UNKNOWN;
	uint32_t i = atom_number(P, a);
	return poly_term_only(P, (struct term){1, mono_number(P, &i, 1)});
}

poly poly_from_atoms(struct polys *P, int64_t coef, const uint32_t *atoms, uint32_t n)
{
	return poly_term_only(P, (struct term){coef, mono_number(P, atoms, n)});
}

int64_t poly_content(const struct polys *P, poly e)
{
	const struct sum *s = sum_of(P, e);
	int64_t g = 0;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mono *m = mono_of(P, s->t[i].mono);
		int64_t c = s->t[i].coef;
		for (uint32_t k = 0; k < m->n; k++) {
			int64_t more;
			if (!__builtin_mul_overflow(c, atom_content(P, P->atoms.a[m->atoms[k]]), &more))
				c = more;
		}
		g = gcd_of(c, g);
	}
	return g < 0 ? 1 : g;
}

const struct poly_atom *term_atom(const struct polys *P, const struct term *t)
{
	const struct mono *m = mono_of(P, t->mono);
	const struct poly_atom *a = m->n == 1 ? P->atoms.a[m->atoms[0]] : NULL;
	return a && a->kind != POLY_VAR ? a : NULL;
}

/* Ring operations. */

poly poly_const(struct polys *P, int64_t c) { return poly_term_only(P, (struct term){c, 0}); }

poly poly_of(struct polys *P, poly_var v) { return poly_from_atom(P, (struct poly_atom){.kind = POLY_VAR, .var = v}); }

poly poly_add(struct polys *P, poly a, poly b)
{
	if (!a || !b || a == ZERO || b == ZERO)
		return !a || !b ? POLY_UNKNOWN : a == ZERO ? b : a;
	const struct sum *x = sum_of(P, a), *y = sum_of(P, b);
	size_t n = 0, i = 0, j = 0, most = (size_t)x->n + y->n;
	struct term small[32], *t = most <= 32 ? small : xmalloc(sizeof *t * most);
	bool overflow = false;
	while (i < x->n && j < y->n) {
		int c = cmp_monos(P, x->t[i].mono, y->t[j].mono);
		if (c) {
			t[n++] = c < 0 ? x->t[i++] : y->t[j++];
			continue;
		}
		t[n] = x->t[i];
		overflow |= __builtin_add_overflow(x->t[i++].coef, y->t[j++].coef, &t[n].coef);
		n += t[n].coef != 0;
	}
	while (i < x->n)
		t[n++] = x->t[i++];
	while (j < y->n)
		t[n++] = y->t[j++];
	poly e = overflow ? POLY_UNKNOWN : finish(P, t, n);
	if (t != small)
		free(t);
	return e;
}

poly poly_mulc(struct polys *P, poly a, int64_t c)
{
	if (!a || c == 1)
		return a;
	if (c == 0)
		return ZERO;
	const struct sum *x = sum_of(P, a);
	struct term small[32], *t = x->n <= 32 ? small : xmalloc(sizeof *t * x->n);
	bool overflow = false;
	for (uint32_t i = 0; i < x->n; i++) {
		t[i].mono = x->t[i].mono;
		overflow |= __builtin_mul_overflow(x->t[i].coef, c, &t[i].coef);
	}
	poly e = overflow ? POLY_UNKNOWN : finish(P, t, x->n);
	if (t != small)
		free(t);
	return e;
}

poly poly_sub(struct polys *P, poly a, poly b) { return a && a == b ? ZERO : poly_add(P, a, poly_mulc(P, b, -1)); }

poly poly_addc(struct polys *P, poly a, int64_t c) { return poly_add(P, a, poly_const(P, c)); }

/* Product of monomials: their atoms merged. false: the degree is too high. */
static bool mono_product(struct polys *P, uint32_t x, uint32_t y, uint32_t *out)
{
	const struct mono *a = mono_of(P, x), *b = mono_of(P, y);
	uint32_t atoms[DEGREE_MAX], n = 0, i = 0, j = 0;
	if (a->n + b->n > DEGREE_MAX)
		return false;
	while (i < a->n || j < b->n) {
		bool from_a = j == b->n || (i < a->n && cmp_atoms(P, a->atoms[i], b->atoms[j]) <= 0);
		atoms[n++] = from_a ? a->atoms[i++] : b->atoms[j++];
	}
	*out = mono_number(P, atoms, n);
	return true;
}

poly poly_mul(struct polys *P, poly a, poly b)
{
	if (!a || !b)
		return POLY_UNKNOWN;
	int64_t c;
	if (poly_is_const(P, b, &c))
		return poly_mulc(P, a, c);
	if (poly_is_const(P, a, &c))
		return poly_mulc(P, b, c);
	const struct sum x = *sum_of(P, a), y = *sum_of(P, b);
	size_t n = (size_t)x.n * y.n, k = 0;
	if (n > TERMS_MAX)
		return POLY_UNKNOWN;
	struct term *t = xmalloc(sizeof *t * n);
	bool good = true;
	for (uint32_t i = 0; i < x.n && good; i++)
		for (uint32_t j = 0; j < y.n && good; j++, k++)
			good = !__builtin_mul_overflow(x.t[i].coef, y.t[j].coef, &t[k].coef) &&
			       mono_product(P, x.t[i].mono, y.t[j].mono, &t[k].mono);
	poly e = good ? poly_from_terms(P, t, n) : POLY_UNKNOWN;
	free(t);
	return e;
}

/* Substitution: rebuilt from the leaves up wherever a replaced (or assumed) variable occurs. */

struct rebuild {
	int n;
	const poly_var *v;
	const poly *by;
	uint64_t vars;
	VEC(struct {
		uint32_t atom;
		poly to;
	})
	done; /* each atom is rebuilt once */
};

static poly rebuild_poly(struct polys *P, struct rebuild *r, poly e);

static poly rebuild_atom(struct polys *P, struct rebuild *r, uint32_t i)
{
	const struct poly_atom *a = P->atoms.a[i];
	if (a->kind == POLY_VAR) {
		for (int k = 0; k < r->n; k++)
			if (r->v[k] == a->var)
				return r->by[k];
		return poly_of(P, a->var);
	}
	for (size_t k = 0; k < r->done.n; k++)
		if (r->done.a[k].atom == i)
			return r->done.a[k].to;
	poly x = rebuild_poly(P, r, a->a), to;
	if (a->kind == POLY_FLOOR)
		to = poly_floordiv(P, x, a->c);
	else if (a->kind == POLY_MIN)
		to = poly_min(P, x, rebuild_poly(P, r, a->b));
	else
		to = poly_max(P, x, rebuild_poly(P, r, a->b));
	vec_reserve(&r->done, r->done.n + 1);
	r->done.a[r->done.n].atom = i;
	r->done.a[r->done.n++].to = to;
	return to;
}

static poly rebuild_poly(struct polys *P, struct rebuild *r, poly e)
{
	const struct sum s = *sum_of(P, e);
	if (!(s.vars & r->vars))
		return e;
	VEC(struct term) kept = {0};
	poly changed = ZERO;
	for (uint32_t i = 0; i < s.n && changed; i++) {
		const struct mono m = *mono_of(P, s.t[i].mono);
		if (!(m.vars & r->vars)) {
			vec_push(&kept, s.t[i]);
			continue;
		}
		poly x = poly_const(P, s.t[i].coef);
		for (uint32_t k = 0; k < m.n; k++)
			x = poly_mul(P, x, rebuild_atom(P, r, m.atoms[k]));
		changed = poly_add(P, changed, x);
	}
	poly out = poly_add(P, changed, poly_from_terms(P, kept.a, kept.n));
	vec_free(&kept);
	return out;
}

poly poly_subst_many(struct polys *P, poly e, int n, const poly_var *v, const poly *by)
{
	struct rebuild r = {.n = n, .v = v, .by = by};
	for (int i = 0; i < n; i++)
		r.vars |= 1ull << (v[i] & 63);
	poly out = rebuild_poly(P, &r, e);
	vec_free(&r.done);
	return out;
}

poly poly_subst(struct polys *P, poly e, poly_var v, poly by) { return poly_subst_many(P, e, 1, &v, &by); }

/* The ranges that simplification sees change while e is rebuilt; what is built holds wherever the
 * assumption does. */
poly poly_assume(struct polys *P, poly e, poly_var v, int64_t lo, int64_t hi)
{
	struct iv own = P->vars.a[v].range;
	struct ranges r = {.v = v, .vars = 1ull << (v & 63)};
	r.of_v = (struct iv){lo > own.lo ? lo : own.lo, hi < own.hi ? hi : own.hi};
	if (r.of_v.lo > r.of_v.hi || !poly_uses(P, e, v))
		return e;
	if (r.of_v.lo == r.of_v.hi && sum_of(P, e)->depth == 0)
		return e;
	struct rebuild b = {.vars = r.vars};
	const struct ranges *before = P->assumed;
	P->assumed = &r;
	poly out = rebuild_poly(P, &b, e);
	P->assumed = before;
	vec_free(&b.done);
	return out;
}

/* Questions. */

bool poly_is_const(const struct polys *P, poly e, int64_t *value)
{
	const struct sum *s = sum_of(P, e);
	if (!e || s->n > 1 || (s->n == 1 && s->t->mono != 0))
		return false;
	if (value)
		*value = s->n ? s->t->coef : 0;
	return true;
}

poly_var poly_is_var(const struct polys *P, poly e)
{
	int natoms;
	const uint32_t *atoms;
	const struct poly_atom *a;

	if (!e || poly_nterms(P, e) != 1 || poly_term(P, e, 0, &natoms, &atoms) != 1 || natoms != 1)
		return 0;
	a = poly_atom(P, atoms[0]);
	return a->kind == POLY_VAR ? a->var : 0;
}

static bool mono_uses(const struct polys *P, uint32_t i, poly_var v)
{
	const struct mono *m = mono_of(P, i);
	if (!(m->vars & 1ull << (v & 63)))
		return false;
	for (uint32_t k = 0; k < m->n; k++) {
		const struct poly_atom *a = P->atoms.a[m->atoms[k]];
		if (a->kind == POLY_VAR ? a->var == v : poly_uses(P, a->a, v) || poly_uses(P, a->b, v))
			return true;
	}
	return false;
}

bool poly_uses(const struct polys *P, poly e, poly_var v)
{
	const struct sum *s = sum_of(P, e);
	if (!(s->vars & 1ull << (v & 63)))
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		if (mono_uses(P, s->t[i].mono, v))
			return true;
	return false;
}

bool poly_linear_in(struct polys *P, poly e, poly_var v, int64_t *coef, poly *rest)
{
	const struct sum *s = sum_of(P, e);
	int64_t c = 0;
	if (!e)
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mono *m = mono_of(P, s->t[i].mono);
		const struct poly_atom *a = m->n == 1 ? P->atoms.a[m->atoms[0]] : NULL;
		if (a && a->kind == POLY_VAR && a->var == v)
			c = s->t[i].coef;
		else if (mono_uses(P, s->t[i].mono, v))
			return false;
	}
	*coef = c;
	*rest = c ? poly_sub(P, e, poly_mulc(P, poly_of(P, v), c)) : e;
	return *rest != POLY_UNKNOWN;
}

static int64_t eval_atom(const struct polys *P, const struct poly_atom *a, const int64_t *env)
{
	if (a->kind == POLY_VAR)
		return env[a->var];
	int64_t x = poly_eval(P, a->a, env);
	if (a->kind == POLY_FLOOR)
		return floor_div(x, a->c);
	int64_t y = poly_eval(P, a->b, env);
	return (x < y) == (a->kind == POLY_MIN) ? x : y;
}

int64_t poly_eval(const struct polys *P, poly e, const int64_t *env)
{
	const struct sum *s = sum_of(P, e);
	uint64_t value = 0; /* wraps */
	if (!e)
		BUG("the value of an unknown dimension");
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mono *m = mono_of(P, s->t[i].mono);
		uint64_t x = (uint64_t)s->t[i].coef;
		for (uint32_t k = 0; k < m->n; k++)
			x *= (uint64_t)eval_atom(P, P->atoms.a[m->atoms[k]], env);
		value += x;
	}
	return (int64_t)value;
}

int poly_nterms(const struct polys *P, poly e) { return (int)sum_of(P, e)->n; }

int64_t poly_term(const struct polys *P, poly e, int i, int *natoms, const uint32_t **atoms)
{
	const struct term *t = &sum_of(P, e)->t[i];
	const struct mono *m = mono_of(P, t->mono);
	*natoms = (int)m->n;
	*atoms = m->atoms;
	return t->coef;
}

const struct poly_atom *poly_atom(const struct polys *P, uint32_t atom) { return P->atoms.a[atom]; }
