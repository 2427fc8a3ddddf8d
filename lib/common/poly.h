/* Integer polynomials in canonical form: the algebra of dimensions and of loop indices.
 *
 * A polynomial is a sum of integer coefficients times products of atoms; an atom is a variable,
 * floor(e/c) with a constant c > 0, min(a, b) or max(a, b). Polynomials are hash-consed in their
 * context: two that are equal in canonical form are the same number, so `==` compares them.
 * Every variable has a range [lo, hi]; construction simplifies with it: floor((c*a + r)/c) is a
 * when 0 <= r < c, min(a, b) is a when a <= b for all values, and so on. mod(e, c) is
 * e - c*floor(e/c). POLY_UNKNOWN is absorbing: any operation on it gives it.
 * Overflow of int64 in a coefficient gives POLY_UNKNOWN (graph dimensions from bad files). */
#ifndef HONE_POLY_H
#define HONE_POLY_H
#include <stdbool.h>
#include <stdint.h>
#include "common/intern.h"

typedef uint32_t poly;     /* 0: unknown */
typedef uint32_t poly_var; /* variable number, from 1 */
#define POLY_UNKNOWN 0u
#define POLY_INF     INT64_MAX /* no upper bound; INT64_MIN: no lower bound */

struct polys; /* a context: one per module, one per kernel */

struct polys *polys_new(void);
void polys_free(struct polys *P);

/* A new variable. name may be 0. lo <= v <= hi. divisor >= 1: v is known to be a multiple of it. */
poly_var poly_var_new(struct polys *P, sym name, int64_t lo, int64_t hi, int64_t divisor);
poly_var poly_var_find(const struct polys *P, sym name); /* the first of that name, or 0 */
sym poly_var_name(const struct polys *P, poly_var v);
void poly_var_range(const struct polys *P, poly_var v, int64_t *lo, int64_t *hi);
/* v is known to lie in [lo, hi], too. What was simplified before stays as it is; ranges do not. */
void poly_var_narrow(struct polys *P, poly_var v, int64_t lo, int64_t hi);
int64_t poly_var_divisor(const struct polys *P, poly_var v);
uint32_t poly_nvars(const struct polys *P);

poly poly_const(struct polys *P, int64_t c);
poly poly_of(struct polys *P, poly_var v);
poly poly_add(struct polys *P, poly a, poly b);
poly poly_sub(struct polys *P, poly a, poly b);
poly poly_mul(struct polys *P, poly a, poly b);
poly poly_addc(struct polys *P, poly a, int64_t c);
poly poly_mulc(struct polys *P, poly a, int64_t c);
poly poly_floordiv(struct polys *P, poly a, int64_t c); /* c > 0; exact coefficients divide */
poly poly_ceildiv(struct polys *P, poly a, int64_t c);
poly poly_mod(struct polys *P, poly a, int64_t c); /* in [0, c) */
/* a/b where b divides a exactly as polynomials (Reshape's -1: e.g. (b*s*64)/(b*s)), else unknown */
poly poly_divide(struct polys *P, poly a, poly b);
poly poly_min(struct polys *P, poly a, poly b);
poly poly_max(struct polys *P, poly a, poly b);

bool poly_is_const(const struct polys *P, poly e, int64_t *value); /* value may be NULL */
poly_var poly_is_var(const struct polys *P, poly e);               /* the variable if e is nothing but one, else 0 */
/* Bounds that hold for all values of the variables (interval arithmetic; INT64_MIN/MAX: none).
 * Exact for affine polynomials of independent variables. */
void poly_range(const struct polys *P, poly e, int64_t *lo, int64_t *hi);
/* As poly_range, with variable ranges lo[v], hi[v] (arrays of poly_nvars+1) in place of their own. */
void poly_range_in(const struct polys *P, poly e, const int64_t *vlo, const int64_t *vhi, int64_t *lo, int64_t *hi);
/* Replaces variable v, also inside floor, min and max, and simplifies again. Simplification has relied on
 * v's range: the values of `by` must lie in it. */
poly poly_subst(struct polys *P, poly e, poly_var v, poly by);
/* Replaces n variables at once. */
poly poly_subst_many(struct polys *P, poly e, int n, const poly_var *v, const poly *by);
/* Same polynomial simplified again, with variable v known to lie in [lo, hi]. v stays itself. */
poly poly_assume(struct polys *P, poly e, poly_var v, int64_t lo, int64_t hi);
bool poly_uses(const struct polys *P, poly e, poly_var v);
/* e = coef*v + rest with rest free of v: true and both set; false if v occurs any other way. */
bool poly_linear_in(struct polys *P, poly e, poly_var v, int64_t *coef, poly *rest);
/* Value with variable v standing for env[v]. e must be known. */
int64_t poly_eval(const struct polys *P, poly e, const int64_t *env);

/* Structure, for printers, emitters and copying into another context. Terms are in canonical order. */
enum poly_atom_kind { POLY_VAR, POLY_FLOOR, POLY_MIN, POLY_MAX };
struct poly_atom {
	enum poly_atom_kind kind;
	poly_var var; /* POLY_VAR */
	poly a, b;    /* FLOOR: a; MIN, MAX: a and b */
	int64_t c;    /* FLOOR: divisor */
};
int poly_nterms(const struct polys *P, poly e);
/* Term i: its coefficient; *natoms atoms (repeated for powers) in *atoms, 0 atoms for the constant. */
int64_t poly_term(const struct polys *P, poly e, int i, int *natoms, const uint32_t **atoms);
const struct poly_atom *poly_atom(const struct polys *P, uint32_t atom);

/* Text, e.g. "2*batch*floor(seq/4) + 1"; unknown is "?". Valid until the arena goes. */
struct arena;
const char *poly_str(const struct polys *P, poly e, struct arena *a);
/* The inverse. Names become variables by lookup(name, arg) (0: refuse). NULL, or why it failed. */
const char *poly_parse(struct polys *P, const char *text, poly_var (*lookup)(sym name, void *arg), void *arg, poly *out);
#endif
