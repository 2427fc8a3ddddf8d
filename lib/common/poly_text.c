/* Polynomials as text: "2*batch*floor(seq/4) + 1", and back. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/poly_impl.h"
#include "common/shown.h"
#include "common/textfile.h"

static bool is_word(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (const char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.')
			return false;
	return strcmp(s, "floor") && strcmp(s, "min") && strcmp(s, "max");
}

/* A name as it is, or between quotes with \xNN for what would not print or would end it. */
static void print_name(FILE *f, const struct polys *P, poly_var v)
{
	const char *s = sym_str(P->vars.a[v].name);
	if (!*s) {
		fprintf(f, "_%u", v);
		return;
	}
	if (is_word(s)) {
		fputs(s, f);
		return;
	}
	putc('"', f);
	put_shown_but(f, s, "\"\\");
	putc('"', f);
}

static void print(FILE *f, const struct polys *P, poly e);

static void print_atom(FILE *f, const struct polys *P, const struct poly_atom *a)
{
	if (a->kind == POLY_VAR) {
		print_name(f, P, a->var);
		return;
	}
	fputs(a->kind == POLY_FLOOR ? "floor(" : a->kind == POLY_MIN ? "min(" : "max(", f);
	bool several = a->kind == POLY_FLOOR && sum_of(P, a->a)->n > 1;
	fputs(several ? "(" : "", f);
	print(f, P, a->a);
	if (a->kind == POLY_FLOOR) {
		fprintf(f, "%s/%" PRId64, several ? ")" : "", a->c);
	} else {
		fputs(", ", f);
		print(f, P, a->b);
	}
	putc(')', f);
}

static void print(FILE *f, const struct polys *P, poly e)
{
	const struct sum *s = sum_of(P, e);
	if (!e || !s->n)
		putc(e ? '0' : '?', f);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct mono *m = mono_of(P, s->t[i].mono);
		int64_t c = s->t[i].coef;
		uint64_t size = c < 0 ? -(uint64_t)c : (uint64_t)c;
		fputs(i == 0 ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + "), f);
		if (size != 1 || !m->n)
			fprintf(f, "%" PRIu64 "%s", size, m->n ? "*" : "");
		for (uint32_t k = 0; k < m->n; k++) {
			fputs(k ? "*" : "", f);
			print_atom(f, P, P->atoms.a[m->atoms[k]]);
		}
	}
}

const char *poly_str(const struct polys *P, poly e, struct arena *a)
{
	int64_t c;
	if (poly_is_const(P, e, &c))
		return arena_printf(a, "%" PRId64, c);
	char *text = NULL;
	FILE *f = textfile_open(&text, NULL);
	print(f, P, e);
	textfile_close(f);
	const char *s = arena_str(a, text);
	free(text);
	return s;
}

struct parser {
	struct polys *P;
	const char *p;
	poly_var (*lookup)(sym name, void *arg);
	void *arg;
	int depth;
	const char *error;
};

static poly parse_sum(struct parser *x);

static poly fail(struct parser *x, const char *why)
{
	if (!x->error)
		x->error = why;
	return POLY_UNKNOWN;
}

static bool eat(struct parser *x, char c)
{
	while (*x->p == ' ')
		x->p++;
	if (*x->p != c)
		return false;
	x->p++;
	return true;
}

static poly need(struct parser *x, char c, poly e)
{
	if (eat(x, c))
		return e;
	return fail(x, c == ')' ? "')' expected" : c == '(' ? "'(' expected" : c == ',' ? "',' expected" : "'/' expected");
}

static bool parse_number(struct parser *x, int64_t *out)
{
	char *end;
	while (*x->p == ' ')
		x->p++;
	if (!isdigit((unsigned char)*x->p))
		return false;
	errno = 0;
	*out = strtoll(x->p, &end, 10);
	x->p = end;
	return errno == 0;
}

static poly variable(struct parser *x, sym name)
{
	poly_var v = name ? x->lookup(name, x->arg) : 0;
	return v ? poly_of(x->P, v) : fail(x, "unknown variable");
}

static int hex_digit(char c) { return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

static poly parse_quoted(struct parser *x)
{
	VEC(char) s = {0};
	while (*x->p && *x->p != '"') {
		int c = (unsigned char)*x->p++;
		if (c == '\\') {
			int hi = *x->p == 'x' ? hex_digit(x->p[1]) : -1, lo = hi < 0 ? -1 : hex_digit(x->p[2]);
			if (lo < 0 || hi + lo == 0) {
				vec_free(&s);
				return fail(x, "bad escape in a name");
			}
			c = hi << 4 | lo;
			x->p += 3;
		}
		vec_push(&s, (char)c);
	}
	sym name = intern_n(s.a ? s.a : "", s.n);
	vec_free(&s);
	return eat(x, '"') ? variable(x, name) : fail(x, "'\"' expected");
}

static poly parse_call(struct parser *x, const char *name, size_t n)
{
	bool is_floor = n == 5 && !memcmp(name, "floor", n);
	bool least = n == 3 && !memcmp(name, "min", n);
	need(x, '(', ZERO);
	poly a = parse_sum(x), b = POLY_UNKNOWN;
	int64_t c = 1;
	need(x, is_floor ? '/' : ',', ZERO);
	if (!is_floor)
		b = parse_sum(x);
	else if (!parse_number(x, &c) || c < 1)
		fail(x, "a divisor of at least 1 expected");
	need(x, ')', ZERO);
	if (x->error)
		return POLY_UNKNOWN;
	return is_floor ? poly_floordiv(x->P, a, c) : least ? poly_min(x->P, a, b) : poly_max(x->P, a, b);
}

static poly parse_factor(struct parser *x)
{
	int64_t c;
	while (*x->p == ' ')
		x->p++;
	if (isdigit((unsigned char)*x->p))
		return parse_number(x, &c) ? poly_const(x->P, c) : fail(x, "number too large");
	if (eat(x, '"'))
		return parse_quoted(x);
	if (eat(x, '?'))
		return POLY_UNKNOWN;
	if (eat(x, '(')) {
		poly e = parse_sum(x);
		return need(x, ')', e);
	}
	const char *start = x->p;
	while (isalnum((unsigned char)*x->p) || *x->p == '_' || *x->p == '.')
		x->p++;
	size_t n = (size_t)(x->p - start);
	if (!n)
		return fail(x, *x->p ? "unexpected character" : "unexpected end");
	if ((n == 5 && !memcmp(start, "floor", n)) || (n == 3 && (!memcmp(start, "min", n) || !memcmp(start, "max", n))))
		return parse_call(x, start, n);
	return variable(x, intern_n(start, n));
}

static poly parse_product(struct parser *x)
{
	poly e = parse_factor(x);
	while (!x->error && eat(x, '*'))
		e = poly_mul(x->P, e, parse_factor(x));
	return e;
}

static poly parse_sum(struct parser *x)
{
	if (++x->depth > 4 * DEPTH_MAX)
		return fail(x, "nested too deep");
	bool negative = eat(x, '-');
	poly e = parse_product(x);
	if (negative)
		e = poly_mulc(x->P, e, -1);
	while (!x->error) {
		if (eat(x, '+'))
			e = poly_add(x->P, e, parse_product(x));
		else if (eat(x, '-'))
			e = poly_sub(x->P, e, parse_product(x));
		else
			break;
	}
	x->depth--;
	return e;
}

const char *poly_parse(struct polys *P, const char *text, poly_var (*lookup)(sym name, void *arg), void *arg, poly *out)
{
	struct parser x = {.P = P, .p = text, .lookup = lookup, .arg = arg};
	*out = parse_sum(&x);
	while (*x.p == ' ')
		x.p++;
	if (!x.error && *x.p)
		fail(&x, "text after the end");
	if (x.error)
		*out = POLY_UNKNOWN;
	return x.error;
}
