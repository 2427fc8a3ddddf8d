/* Sizes with branches that stay: a new symbol stands for each. The group is then one of that symbol, wherever its operators' shape rules say
 * the same of it as of any other size. */
#include "lower/sized_impl.h"
#include "common/intern.h"

/* The number of e's term that is one branch and nothing else, once or its negative, and stands nowhere else in e; -1: there is none. */
static int lone_branch(struct polys *P, poly e)
{
	const uint32_t *atom;
	poly one = poly_const(P, 1);

	for (int i = 0, n; i < poly_nterms(P, e); i++) {
		int64_t coef = poly_term(P, e, i, &n, &atom);
		uint32_t id = n == 1 ? atom[0] : 0;
		enum poly_atom_kind kind = id ? poly_atom(P, id)->kind : POLY_VAR;
		if ((coef != 1 && coef != -1) || (kind != POLY_MIN && kind != POLY_MAX))
			continue;
		poly rest = poly_sub(P, e, poly_mulc(P, sized_branch_size(P, id), coef));
		if (sized_put(P, rest, id, one) == rest)
			return i;
	}
	return -1;
}

/* A symbol of this range that none of n sizes uses. */
static poly_var unused(struct polys *P, int n, poly *const *e, int64_t lo, int64_t hi)
{
	for (int number = 1;; number++) {
		sym name = intern_printf("_size%d", number);
		bool used = false;
		for (poly_var v = 1; v <= poly_nvars(P) && !used; v++)
			for (int i = 0; i < n && !used && poly_var_name(P, v) == name; i++)
				used = poly_uses(P, *e[i], v);
		for (poly_var v = 1; v <= poly_nvars(P) && !used; v++) {
			int64_t least, most;
			poly_var_range(P, v, &least, &most);
			if (poly_var_name(P, v) == name && least == lo && most == hi && poly_var_divisor(P, v) == 1)
				return v;
		}
		if (!used)
			return poly_var_new(P, name, lo, hi, 1);
	}
}

/* Sizes that a symbol stands for are independent of all others: it may be as large as any. */
static struct stand stand(struct polys *P, int n, poly *const *e, poly is)
{
	int64_t lo, hi;

	poly_range(P, is, &lo, &hi);
	return (struct stand){unused(P, n, e, lo < 0 ? 0 : lo, POLY_INF), is};
}

/* Puts a new symbol into the place of `is` in n sizes, where branch `id` is worth `by` of it. */
static struct stand put(struct polys *P, int n, poly *const *e, poly is, uint32_t id, int64_t coef)
{
	struct stand s = stand(P, n, e, is);
	poly rest = poly_sub(P, is, poly_mulc(P, sized_branch_size(P, id), coef));
	poly by = poly_mulc(P, poly_sub(P, poly_of(P, s.symbol), rest), coef);
	for (int i = 0; i < n; i++)
		*e[i] = sized_put(P, *e[i], id, by);
	return s;
}

int sized_stands(struct polys *P, int n, poly *const *e, int max, struct stand *s)
{
	int count = 0;
	uint32_t id;

	for (int i = 0; i < n; i++)
		while (*e[i] != POLY_UNKNOWN && (id = sized_branch(P, *e[i], 0))) {
			const uint32_t *atom;
			int k = lone_branch(P, *e[i]), natoms;
			int64_t coef = k < 0 ? 1 : poly_term(P, *e[i], k, &natoms, &atom);
			if (count == max)
				return -1;
			s[count++] = k < 0 ? put(P, n, e, sized_branch_size(P, id), id, 1) : put(P, n, e, *e[i], atom[0], coef);
		}
	return count;
}

struct stand sized_whole(struct polys *P, int n, poly *const *e, poly is)
{
	struct stand s = stand(P, n, e, is);

	for (int i = 0; i < n; i++)
		*e[i] = *e[i] == is ? poly_of(P, s.symbol) : *e[i];
	return s;
}

int sized_part(struct polys *P, int n, poly *const *e, poly all, poly part, int64_t rest, struct stand *s)
{
	poly_var symbol = poly_is_var(P, all);

	for (int i = 0; i < n; i++)
		if (!symbol || (*e[i] != all && *e[i] != part && poly_uses(P, *e[i], symbol)))
			return -1;
	s[0] = sized_whole(P, n, e, part);
	s[1] = stand(P, n, e, poly_addc(P, poly_sub(P, all, part), -rest));
	poly sum = poly_addc(P, poly_add(P, poly_of(P, s[0].symbol), poly_of(P, s[1].symbol)), rest);
	for (int i = 0; i < n; i++)
		*e[i] = *e[i] == all ? sum : *e[i];
	return 2;
}
