#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "graph/dimtext.h"

/* Limits of what is read: depth of floor, min, max and parentheses; terms of a product. */
enum { DEPTH_MAX = 100, TERMS_MAX = 4096 };

bool dim_plain_name(const char *s, size_t n)
{
	if (n == 0 || isdigit((unsigned char)*s) || *s == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'a' && s[i] <= 'z') && !(s[i] >= 'A' && s[i] <= 'Z') &&
		    !(s[i] >= '0' && s[i] <= '9') && s[i] != '_' && s[i] != '.')
			return false;
	static const char *const functions[] = {"floor", "min", "max"};
	for (int i = 0; i < 3; i++)
		if (strlen(functions[i]) == n && !memcmp(functions[i], s, n))
			return false;
	return true;
}

struct dim_names dim_names_new(struct module *m)
{
	struct dim_names names = {.nvars = poly_nvars(m->dims)};
	names.name = xcalloc(names.nvars + 1, sizeof *names.name);
	uint32_t made = 0;
	for (poly_var v = 1; v <= names.nvars; v++) {
		sym name = poly_var_name(m->dims, v);
		if (name && poly_var_find(m->dims, name) == v)
			names.name[v] = name;
	}
	for (poly_var v = 1; v <= names.nvars; v++) {
		while (!names.name[v]) {
			sym name = intern_printf("_%u", ++made);
			if (!poly_var_find(m->dims, name))
				names.name[v] = name;
		}
	}
	return names;
}

void dim_names_free(struct dim_names *names)
{
	free(names->name);
	*names = (struct dim_names){0};
}

struct printer {
	struct module *m;
	const struct dim_names *names;
	struct arena *a;
};

static char *expr_text(struct printer *p, poly e);

static char *name_text(struct printer *p, poly_var v)
{
	sym s = p->names ? p->names->name[v] : poly_var_name(p->m->dims, v);
	const char *text = sym_str(s);
	if (dim_plain_name(text, sym_len(s)))
		return arena_str(p->a, text);
	char *out = arena_alloc(p->a, 4 * sym_len(s) + 3), *o = out;
	*o++ = '"';
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c < ' ' || *c == 0x7f)
			o += sprintf(o, "\\x%02x", *c);
		else if (*c == '"' || *c == '\\')
			o += sprintf(o, "\\%c", *c);
		else
			*o++ = (char)*c;
	}
	*o++ = '"';
	return out;
}

static char *atom_text(struct printer *p, uint32_t atom)
{
	const struct poly_atom *x = poly_atom(p->m->dims, atom);
	if (x->kind == POLY_VAR)
		return name_text(p, x->var);
	char *a = expr_text(p, x->a);
	if (x->kind == POLY_FLOOR) {
		bool sum = poly_nterms(p->m->dims, x->a) > 1;
		return arena_printf(p->a, sum ? "floor((%s)/%" PRId64 ")" : "floor(%s/%" PRId64 ")", a, x->c);
	}
	char *b = expr_text(p, x->b), *low = strcmp(a, b) <= 0 ? a : b;
	return arena_printf(p->a, "%s(%s, %s)", x->kind == POLY_MIN ? "min" : "max", low, low == a ? b : a);
}

struct term {
	uint64_t size; /* of the coefficient */
	bool negative;
	int degree;
	char *text; /* its atoms; "" for the constant */
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int by_degree(const void *a, const void *b)
{
	const struct term *x = a, *y = b;
	return x->degree != y->degree ? y->degree - x->degree : strcmp(x->text, y->text);
}

static struct term term_text(struct printer *p, poly e, int i)
{
	int natoms;
	const uint32_t *atoms;
	int64_t c = poly_term(p->m->dims, e, i, &natoms, &atoms);
	struct term t = {.size = c < 0 ? -(uint64_t)c : (uint64_t)c, .negative = c < 0, .degree = natoms};
	char **part = ARENA_ARRAY(p->a, char *, natoms);
	size_t n = 1;
	for (int k = 0; k < natoms; k++) {
		part[k] = atom_text(p, atoms[k]);
		n += strlen(part[k]) + 1;
	}
	qsort(part, (size_t)natoms, sizeof *part, by_text);
	char *o = t.text = arena_alloc(p->a, n);
	for (int k = 0; k < natoms; k++)
		o += sprintf(o, "%s%s", k ? "*" : "", part[k]);
	return t;
}

static char *expr_text(struct printer *p, poly e)
{
	if (e == POLY_UNKNOWN)
		return arena_str(p->a, "?");
	int n = poly_nterms(p->m->dims, e);
	if (n == 0)
		return arena_str(p->a, "0");
	struct term *t = ARENA_ARRAY(p->a, struct term, n);
	size_t size = 1;
	for (int i = 0; i < n; i++) {
		t[i] = term_text(p, e, i);
		size += strlen(t[i].text) + 26;
	}
	qsort(t, (size_t)n, sizeof *t, by_degree);
	char *out = arena_alloc(p->a, size), *o = out;
	for (int i = 0; i < n; i++) {
		o += sprintf(o, "%s", i ? (t[i].negative ? " - " : " + ") : (t[i].negative ? "-" : ""));
		if (t[i].degree == 0)
			o += sprintf(o, "%" PRIu64, t[i].size);
		else if (t[i].size == 1)
			o += sprintf(o, "%s", t[i].text);
		else
			o += sprintf(o, "%" PRIu64 "*%s", t[i].size, t[i].text);
	}
	return out;
}

char *dim_text(struct module *m, const struct dim_names *names, dim d, struct arena *a)
{
	struct printer p = {m, names, a};
	return expr_text(&p, d);
}

struct parser {
	struct module *m;
	const char *s, *end;
	const char *why;
	int depth;
};

static poly parse_expr(struct parser *p);

static poly fail(struct parser *p, const char *why)
{
	if (!p->why)
		p->why = why;
	return POLY_UNKNOWN;
}

static char peek(struct parser *p)
{
	while (p->s < p->end && *p->s == ' ')
		p->s++;
	return p->s < p->end ? *p->s : 0;
}

static bool eat(struct parser *p, char c)
{
	bool is = peek(p) == c && c;
	p->s += is;
	return is;
}

static void expect(struct parser *p, char c)
{
	static const char *const missing[] = {
		['('] = "'(' expected in a dimension", [')'] = "')' expected in a dimension",
		['/'] = "'/' expected in a dimension", [','] = "',' expected in a dimension",
	};
	if (!eat(p, c))
		fail(p, missing[(int)c]);
}

/* Digits; at most 2^63. */
static uint64_t parse_digits(struct parser *p)
{
	uint64_t v = 0;
	peek(p);
	if (p->s == p->end || !isdigit((unsigned char)*p->s))
		return fail(p, "a number expected in a dimension");
	for (; p->s < p->end && isdigit((unsigned char)*p->s); p->s++) {
		if (v > (((uint64_t)1 << 63) - (uint64_t)(*p->s - '0')) / 10)
			return fail(p, "a number in a dimension is too large");
		v = v * 10 + (uint64_t)(*p->s - '0');
	}
	return v;
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static sym parse_quoted(struct parser *p)
{
	char *buf = xmalloc((size_t)(p->end - p->s) + 1);
	size_t n = 0;
	sym name = 0;
	for (p->s++; p->s < p->end && *p->s != '"'; p->s++) {
		char c = *p->s;
		if (c == '\\' && p->end - p->s >= 4 && p->s[1] == 'x' && hex_value(p->s[2]) >= 0 &&
		    hex_value(p->s[3]) >= 0) {
			c = (char)(hex_value(p->s[2]) * 16 + hex_value(p->s[3]));
			p->s += 3;
		} else if (c == '\\' && p->end - p->s >= 2) {
			c = *++p->s;
		}
		buf[n++] = c;
	}
	if (p->s == p->end || memchr(buf, 0, n))
		fail(p, "a bad quoted name in a dimension");
	else
		name = intern_n(buf, n);
	p->s += p->s < p->end;
	free(buf);
	return name;
}

static poly parse_symbol(struct parser *p, sym name)
{
	poly_var v = name ? poly_var_find(p->m->dims, name) : 0;
	return v ? poly_of(p->m->dims, v) : fail(p, "a dimension has a symbol that was not declared");
}

static poly parse_function(struct parser *p, char kind)
{
	struct polys *P = p->m->dims;
	expect(p, '(');
	poly a = parse_expr(p), e;
	if (kind == 'f') {
		expect(p, '/');
		uint64_t c = parse_digits(p);
		if (!p->why && (c == 0 || c > INT64_MAX))
			fail(p, "a bad divisor in a dimension");
		e = p->why ? POLY_UNKNOWN : poly_floordiv(P, a, (int64_t)c);
	} else {
		expect(p, ',');
		poly b = parse_expr(p);
		e = p->why ? POLY_UNKNOWN : kind == 'i' ? poly_min(P, a, b) : poly_max(P, a, b);
	}
	expect(p, ')');
	return e;
}

static poly parse_factor(struct parser *p)
{
	char c = peek(p);
	if (c == '"')
		return parse_symbol(p, parse_quoted(p));
	if (c == '(') {
		p->s++;
		poly e = parse_expr(p);
		expect(p, ')');
		return e;
	}
	const char *start = p->s;
	while (p->s < p->end && (isalnum((unsigned char)*p->s) || *p->s == '_' || *p->s == '.'))
		p->s++;
	size_t n = (size_t)(p->s - start);
	if (n == 5 && !memcmp(start, "floor", 5))
		return parse_function(p, 'f');
	if (n == 3 && !memcmp(start, "min", 3))
		return parse_function(p, 'i');
	if (n == 3 && !memcmp(start, "max", 3))
		return parse_function(p, 'a');
	if (!dim_plain_name(start, n))
		return fail(p, "a number or a name expected in a dimension");
	return parse_symbol(p, intern_n(start, n));
}

/* Numbers in the term multiply to one coefficient, so that -2^63 can be read. */
static poly parse_term(struct parser *p, int sign)
{
	struct polys *P = p->m->dims;
	__int128 c = sign;
	poly e = poly_const(P, 1);
	do {
		if (isdigit((unsigned char)peek(p))) {
			c *= parse_digits(p);
			if (c > INT64_MAX || c < INT64_MIN)
				return fail(p, "a number in a dimension is too large");
		} else {
			poly f = parse_factor(p);
			if (!p->why && (int64_t)poly_nterms(P, e) * poly_nterms(P, f) > TERMS_MAX)
				fail(p, "a dimension has too many terms");
			e = p->why ? POLY_UNKNOWN : poly_mul(P, e, f);
		}
	} while (!p->why && eat(p, '*'));
	return p->why ? POLY_UNKNOWN : poly_mulc(P, e, (int64_t)c);
}

static poly parse_expr(struct parser *p)
{
	if (++p->depth > DEPTH_MAX)
		return fail(p, "a dimension is nested too deep");
	poly e = parse_term(p, eat(p, '-') ? -1 : 1);
	while (!p->why && (peek(p) == '+' || peek(p) == '-')) {
		int sign = *p->s++ == '-' ? -1 : 1;
		poly t = parse_term(p, sign);
		e = p->why ? POLY_UNKNOWN : poly_add(p->m->dims, e, t);
	}
	p->depth--;
	return e;
}

const char *dim_parse(struct module *m, const char **s, const char *end, dim *out)
{
	struct parser p = {.m = m, .s = *s, .end = end};
	*out = POLY_UNKNOWN;
	if (!eat(&p, '?'))
		*out = parse_expr(&p);
	*s = p.s;
	return p.why;
}
