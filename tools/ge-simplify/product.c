/* Products taken apart, so that a rule need not care how an exporter nested them. */
#include <math.h>
#include "rules.h"

static bool multiply(struct rewrite *rw, struct product *p, val_id v, int depth, bool shared);

static bool multiply_node(struct rewrite *rw, struct product *p, node_id n, int depth)
{
	enum opcode op = node(rw_module(rw), n)->op;
	val_id a = rw_in(rw, n, 0), b = rw_in(rw, n, 1);
	double c;

	if (!dtype_is_float(rw_type(rw, a)->dtype)) /* whole numbers wrap, and their division rounds */
		return false;
	if (op == OP_Mul)
		return multiply(rw, p, a, depth, a == b) && multiply(rw, p, b, depth, a == b);
	if (op == OP_Div && rw_scalar(rw, b, &c)) {
		p->k /= c;
		return multiply(rw, p, a, depth, false);
	}
	if (op == OP_Pow && rw_scalar(rw, b, &c) && (c == 2 || c == 3)) {
		for (int i = 0; i < (int)c; i++)
			if (!multiply(rw, p, a, depth, true))
				return false;
		return true;
	}
	return false;
}

/* Only what nobody else uses is taken apart: a shared value stays a factor. */
static bool multiply(struct rewrite *rw, struct product *p, val_id v, int depth, bool shared)
{
	node_id n = rw_node_of(rw, v);
	struct product q = *p;
	double c;

	if (rw_scalar(rw, v, &c)) {
		p->k *= c;
		return true;
	}
	if (n && depth > 0 && !shared && rw_uses(rw, v) == 1 && multiply_node(rw, &q, n, depth - 1)) {
		*p = q;
		return true;
	}
	if (p->n == FACTORS_MAX)
		return false;
	p->factor[p->n++] = v;
	return true;
}

enum { DEPTH = 4 };

bool product_of(struct rewrite *rw, node_id n, struct product *p)
{
	*p = (struct product){.k = 1};
	return multiply_node(rw, p, n, DEPTH);
}

bool product_of_value(struct rewrite *rw, val_id v, struct product *p)
{
	*p = (struct product){.k = 1};
	return multiply(rw, p, v, DEPTH, false);
}

bool product_is(const struct product *p, double k, double tol, val_id x, int n)
{
	if (p->n != n || fabs(p->k - k) > tol * fabs(k))
		return false;
	for (int i = 0; i < n; i++)
		if (p->factor[i] != x)
			return false;
	return true;
}
