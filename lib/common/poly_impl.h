/* Inside of poly*.c only. */
#ifndef HONE_POLY_IMPL_H
#define HONE_POLY_IMPL_H
#include "common/poly.h"
#include "common/vec.h"

/* Bounds on what a bad file can make us build; beyond them the answer is POLY_UNKNOWN. */
enum { TERMS_MAX = 4096, DEGREE_MAX = 64, DEPTH_MAX = 100, TREE_MAX = 1 << 14 };

struct iv {
	int64_t lo, hi; /* INT64_MIN, INT64_MAX: no bound */
};

struct term {
	int64_t coef;
	uint32_t mono;
};

/* A product of atoms, sorted; number 0 is the empty product. */
struct mono {
	const uint32_t *atoms;
	uint32_t n;
	uint64_t vars; /* bit (v mod 64) of each variable in it: a superset test */
	bool exact;    /* has an atom floor(a/c) of which c divides a */
	uint32_t tree; /* terms inside its floors, minima and maxima, each as often as it is met; at most TREE_MAX + 1 */
	uint16_t depth;
};

struct sum {
	const struct term *t;
	uint32_t n;
	uint64_t vars;
	uint16_t depth; /* nesting of floor, min, max */
	uint32_t tree;  /* terms, those inside its monomials too: what a walk of it meets; at most TREE_MAX */
	bool ranged;    /* range is filled in: under the variables' own ranges */
	struct iv range;
};

struct var {
	sym name;
	struct iv range;
	int64_t divisor;
	poly_var next_of_name; /* chain of a hash bucket */
};

/* Ranges in place of the variables' own. */
struct ranges {
	const int64_t *lo, *hi; /* by variable; NULL: only v differs */
	poly_var v;
	struct iv of_v;
	uint64_t vars; /* those that may differ */
};

struct table {
	uint32_t *slot;
	size_t size;
	VEC(uint64_t) hash; /* by number */
};

struct polys {
	struct arena arena;
	VEC(struct var) vars;                /* [0] unused */
	VEC(const struct poly_atom *) atoms; /* [0] unused */
	VEC(struct mono) monos;
	VEC(struct sum) sums; /* [0] unknown, [1] zero */
	struct table atom_table, mono_table, sum_table;
	poly_var *by_name;
	size_t nby_name;
	const struct ranges *assumed; /* while poly_assume simplifies */
};

enum { ZERO = 1 };

static inline const struct sum *sum_of(const struct polys *P, poly e) { return &P->sums.a[e]; }
static inline const struct mono *mono_of(const struct polys *P, uint32_t m) { return &P->monos.a[m]; }

/* The polynomial of n terms in any order, with repeats and zeros. */
poly poly_from_terms(struct polys *P, struct term *t, size_t n);
/* floor, min or max as it is, without simplification; POLY_UNKNOWN if nested too deep. */
poly poly_from_atom(struct polys *P, struct poly_atom a);
poly poly_term_only(struct polys *P, struct term t);
poly poly_from_atoms(struct polys *P, int64_t coef, const uint32_t *atoms, uint32_t n); /* sorted */
/* Order of polynomials that depends on names and structure only. */
int poly_cmp(const struct polys *P, poly a, poly b);
/* A number that divides every value of e; 0 for the zero polynomial. */
int64_t poly_content(const struct polys *P, poly e);
/* The atom if term t is coefficient * floor/min/max atom alone, else NULL. */
const struct poly_atom *term_atom(const struct polys *P, const struct term *t);

struct iv poly_bounds(struct polys *P, poly e, const struct ranges *r);

static inline int64_t floor_div(int64_t a, int64_t c) { return a / c - (a % c < 0); }
static inline int64_t gcd_of(int64_t a, int64_t b) /* of absolute values; at least one is not INT64_MIN */
{
	uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a, y = b < 0 ? -(uint64_t)b : (uint64_t)b;
	while (y) {
		uint64_t t = x % y;
		x = y;
		y = t;
	}
	return (int64_t)x;
}
#endif
