/* Casts: Cast, CastLike, BitCast, of numbers and strings. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "native/casting.h"
#include "op/native.h"
#include "op/strings.h"

/* ---- shapes ---- */

static enum dtype cast_target(const struct node *n, enum dtype like)
{
	return n->op == OP_CastLike ? like : dtype_from_onnx((int)attr_i(n, "to"));
}

static const char *shape_cast(struct infer *I)
{
	enum dtype to = cast_target(I->n, I->n->op == OP_CastLike ? I->in[1].dtype : DT_NONE);
	poly *e;

	rule_like(I, 0, 0);
	I->out[0].dtype = to;
	if (I->n->op == OP_Cast && !to)
		return rule_why(I, "unknown type number %lld in attribute to", (long long)attr_i(I->n, "to"));
	if (I->n->op == OP_BitCast) {
		if (to && I->in[0].dtype && dtype_bits(to) != dtype_bits(I->in[0].dtype))
			return rule_why(I, "%s and %s are not of one size", dtype_name(I->in[0].dtype), dtype_name(to));
		return NULL;
	}
	/* Values that are integers stay what they are in every numeric type that has them. */
	if (!I->kin[0].yes || !dtype_fixed(to) || !(e = rule_known(I, 0, I->kin[0].n)))
		return NULL;
	for (int i = 0; i < I->kin[0].n; i++) {
		int64_t lo = 0, hi = 0;
		poly v = I->kin[0].e[i];
		if (to != DT_BOOL) {
			e[i] = rule_fits(rule_polys(I), to, v);
			continue;
		}
		if (v)
			poly_range(rule_polys(I), v, &lo, &hi);
		e[i] = !v ? POLY_UNKNOWN : lo > 0 || hi < 0 ? rule_const(I, 1) : lo == 0 && hi == 0 ? v : POLY_UNKNOWN;
	}
	return NULL;
}

/* ---- strings to numbers ---- */

/* t with a NUL behind it; false: it has one within, is empty or does not fit. */
static bool as_c(struct text t, char *s, size_t size)
{
	if (!t.n || t.n >= size || memchr(t.s, 0, t.n))
		return false;
	memcpy(s, t.s, t.n);
	s[t.n] = 0;
	return true;
}

/* A number as C reads it, in any locale, and nothing but it. */
static bool parse_number(struct text t, enum dtype to, double *v)
{
	char s[400], *end;

	if (!as_c(t, s, sizeof s))
		return false;
	*v = to == DT_F32 ? (double)strtof(s, &end) : strtod(s, &end);
	return *end == 0;
}

/* The same of a whole number that 64 bits hold. */
static bool parse_whole(struct text t, int64_t *v, bool *negative)
{
	char s[40], *end;

	if (!as_c(t, s, sizeof s))
		return false;
	errno = 0;
	*negative = s[strspn(s, " ")] == '-';
	*v = *negative ? strtoll(s, &end, 10) : (int64_t)strtoull(s, &end, 10);
	return *end == 0 && end != s && !errno;
}

static const char *cast_from_strings(struct eval *e, const struct cast_to *c, struct tensor *y, const struct tensor *x)
{
	struct text *t = texts_of(e->tmp, x);
	bool negative;

	for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
		double d;
		int64_t w;
		if (dtype_is_int(y->dtype) && parse_whole(t[i], &w, &negative))
			(negative ? store_i : store_u)(y, i, 1, &w);
		else if (!parse_number(t[i], y->dtype, &d))
			return eval_why(e, "\"%.*s\" is no number", (int)(t[i].n < 80 ? t[i].n : 80), t[i].s);
		else if (c->special)
			cast_store_special(c, tensor_bytes(y), i, 1, &d);
		else
			store_d(y, i, 1, &d);
	}
	return NULL;
}

/* ---- numbers to strings ---- */

/* The fewest digits that name this number of its type; *exponent: of the first, ten to its power. */
static void shortest(const struct tensor *x, double v, char *digits, int *exponent)
{
	struct tensor *back = &(struct tensor){.dtype = x->dtype, .rank = 0, .data = &(double){0}};
	char s[40];

	for (int p = 0; p < 17; p++) {
		snprintf(s, sizeof s, "%.*e", p, fabs(v));
		store_d(back, 0, 1, &(double){x->dtype == DT_F32 ? (double)strtof(s, NULL) : strtod(s, NULL)});
		if (tensor_get(back, 0) == fabs(v))
			break;
	}
	char *e = strchr(s, 'e');
	*exponent = (int)strtol(e + 1, NULL, 10);
	digits[0] = s[0];
	size_t n = e > s + 2 ? (size_t)(e - s) - 2 : 0;
	memcpy(digits + 1, s + 2, n);
	digits[1 + n] = 0;
}

/* 314.15926, 3.0, 0.0001, 1e-05: as Python writes it, but what is no number as ONNX names it. */
static void put_number(const struct tensor *x, int64_t i, char *s, size_t size)
{
	double v = tensor_get(x, i);
	const char *sign = signbit(v) ? "-" : "";
	char digits[32];
	int e, n;

	if (!isfinite(v)) {
		snprintf(s, size, "%s", v != v ? "NaN" : v < 0 ? "-INF" : "INF");
		return;
	}
	shortest(x, v, digits, &e);
	n = (int)strlen(digits);
	if (e < -4 || e >= 16)
		snprintf(s, size, "%s%c%s%se%c%02d", sign, digits[0], n > 1 ? "." : "", digits + 1, e < 0 ? '-' : '+', abs(e));
	else if (e < 0)
		snprintf(s, size, "%s0.%.*s%s", sign, -e - 1, "000000", digits);
	else if (n <= e + 1)
		snprintf(s, size, "%s%s%.*s.0", sign, digits, e + 1 - n, "0000000000000000");
	else
		snprintf(s, size, "%s%.*s.%s", sign, e + 1, digits, digits + e + 1);
}

static void cast_to_strings(struct eval *e, const struct tensor *x)
{
	enum { LONGEST = 48 };
	int64_t n = tensor_count(x);
	struct text *t = eval_scratch(e, sizeof *t * (size_t)(n + 1));

	for (int64_t i = 0; i < n; i++) {
		char *s = eval_scratch(e, LONGEST);
		if (x->dtype == DT_BOOL)
			snprintf(s, LONGEST, "%s", tensor_get_int(x, i) ? "True" : "False");
		else if (x->dtype == DT_U64)
			snprintf(s, LONGEST, "%llu", (unsigned long long)tensor_get_int(x, i));
		else if (dtype_is_int(x->dtype))
			snprintf(s, LONGEST, "%lld", (long long)tensor_get_int(x, i));
		else
			put_number(x, i, s, LONGEST);
		t[i] = (struct text){s, strlen(s)};
	}
	eval_texts(e, 0, x->rank, x->dims, t);
}

/* ---- evaluators ---- */

static const char *eval_cast(struct eval *e)
{
	const struct tensor *x = e->in[0];
	enum dtype to = cast_target(e->n, e->n->op == OP_CastLike ? e->in[1]->dtype : DT_NONE);
	struct cast_to c = cast_to((int)to, attr_i(e->n, "saturate") != 0, attr_s(e->n, "round_mode")[0]);

	if (to == x->dtype) {
		eval_view(e, 0, 0, x->rank, x->dims);
		return NULL;
	}
	if (!(dtype_fixed(to) || to == DT_STR) || !(dtype_fixed(x->dtype) || x->dtype == DT_STR))
		return eval_why(e, "no evaluator from %s to %s", dtype_name(x->dtype), dtype_name(to));
	if (to == DT_STR)
		cast_to_strings(e, x);
	else if (x->dtype == DT_STR)
		return cast_from_strings(e, &c, eval_out(e, 0, to, x->rank, x->dims), x);
	else
		return eval_native(e);
	return NULL;
}

const struct op ops_cast[] = {
	{OP_Cast, shape_cast, eval_cast},
	{OP_CastLike, shape_cast, eval_cast},
	{OP_BitCast, shape_cast, eval_native},
	{0},
};
