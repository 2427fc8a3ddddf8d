/* Mutants of the text form, word by word: numbers that are rare, other operators, types, names, attributes and lines. */
#ifndef HONE_FUZZ_WORDS_H
#define HONE_FUZZ_WORDS_H
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "common/rng.h"
#include "graph/ops.h"
#include "graph/types.h"

struct words {
	char *p;
	size_t n, most;
	struct rng r;
};

/* Below n. */
static size_t words_draw(struct words *w, size_t n) { return n ? (size_t)rng_range(&w->r, 0, (int64_t)n - 1) : 0; }

static void words_put(struct words *w, size_t at, size_t k, const char *s, size_t m)
{
	if (w->n - k + m > w->most)
		return;
	memmove(w->p + at + m, w->p + at + k, w->n - at - k);
	memcpy(w->p + at, s, m);
	w->n += m - k;
}

static bool words_in(char c) { return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '+'; }

/* A word somewhere that is (or is no) number: its place and length; false: found none. */
static bool words_find(struct words *w, bool number, size_t *at, size_t *k)
{
	for (int i = 0; i < 50; i++) {
		size_t a = words_draw(w, w->n), b;
		while (a > 0 && words_in(w->p[a - 1]))
			a--;
		for (b = a; b < w->n && words_in(w->p[b]); b++)
			;
		bool digit = b > a && (isdigit((unsigned char)w->p[a]) || (w->p[a] == '-' && b > a + 1));
		if (b == a || digit != number)
			continue;
		*at = a;
		*k = b - a;
		return true;
	}
	return false;
}

static const char *words_number(struct words *w)
{
	static const char *const rare[] = {"0",
					   "1",
					   "2",
					   "3",
					   "4",
					   "-1",
					   "-2",
					   "-3",
					   "5",
					   "7",
					   "8",
					   "16",
					   "17",
					   "64",
					   "65",
					   "300",
					   "1000",
					   "32768",
					   "65536",
					   "2147483647",
					   "2147483648",
					   "4294967296",
					   "-2147483648",
					   "140737488355328",
					   "4611686018427387904",
					   "9223372036854775807",
					   "-9223372036854775808",
					   "0.5",
					   "1e30",
					   "nan",
					   "-inf",
					   "?",
					   "n",
					   "2*n + 1",
					   "floor(n/2)"};
	return rare[words_draw(w, sizeof rare / sizeof *rare)];
}

static void words_line(struct words *w, size_t *from, size_t *len)
{
	size_t a = words_draw(w, w->n), b;

	while (a > 0 && w->p[a - 1] != '\n')
		a--;
	for (b = a; b < w->n && w->p[b] != '\n'; b++)
		;
	*from = a;
	*len = b - a + (b < w->n);
}

/* Some attribute of some operator, with a value of its kind or not. */
static const char *words_attr(struct words *w, char *buf, size_t size)
{
	const char *attrs = op_info((enum opcode)(1 + words_draw(w, OP_COUNT - 1)))->attrs, *p = attrs;
	size_t n = strlen(attrs);

	if (!n)
		return "axis=1";
	for (p += words_draw(w, n); p > attrs && p[-1] != ' '; p--)
		;
	p += *p == '!';
	size_t len = strcspn(p, ":");
	bool list = isupper((unsigned char)p[len + 1]);
	snprintf(buf, size, list ? "%.*s=[%s,%s]" : "%.*s=%s", (int)len, p, words_number(w), words_number(w));
	return buf;
}

/* What some bracket holds: its place and length; false: found none. */
static bool words_bracket(struct words *w, size_t *at, size_t *k)
{
	for (int i = 0; i < 50; i++) {
		size_t a = words_draw(w, w->n), b;
		while (a < w->n && !strchr("[({", w->p[a]))
			a++;
		for (b = ++a; b < w->n && !strchr("])}\n", w->p[b]); b++)
			;
		if (b >= w->n || w->p[b] == '\n')
			continue;
		*at = a;
		*k = b - a;
		return true;
	}
	return false;
}

static void words_once(struct words *w)
{
	size_t at, k, at2, k2;
	char buf[160];
	const char *s;

	switch (words_draw(w, 15)) {
	case 0:
	case 1:
	case 2:
	case 3: /* a number */
		if (words_find(w, true, &at, &k))
			s = words_number(w), words_put(w, at, k, s, strlen(s));
		break;
	case 4: /* an operator, where one is */
		for (int i = 0; i < 20; i++)
			if (words_find(w, false, &at, &k) && at + k < w->n && w->p[at + k] == '(') {
				s = op_name((enum opcode)(1 + words_draw(w, OP_COUNT - 1)));
				words_put(w, at, k, s, strlen(s));
				break;
			}
		break;
	case 5: /* a type */
		for (int i = 0; i < 20; i++)
			if (words_find(w, false, &at, &k) && at + k < w->n && w->p[at + k] == '[') {
				s = dtype_name((enum dtype)(1 + words_draw(w, DT_COUNT - 1)));
				words_put(w, at, k, s, strlen(s));
				break;
			}
		break;
	case 6:
	case 7: /* a name in place of another */
		if (words_find(w, false, &at, &k) && words_find(w, false, &at2, &k2) && k2 < sizeof buf) {
			memcpy(buf, w->p + at2, k2);
			words_put(w, at, k, buf, k2);
		}
		break;
	case 8: /* an element of a list twice, or not at all */
		if (words_find(w, words_draw(w, 2), &at, &k) && at + k < w->n && w->p[at + k] == ',') {
			if (words_draw(w, 2) && k < sizeof buf - 1)
				memcpy(buf, w->p + at, k + 1), words_put(w, at, 0, buf, k + 1);
			else
				words_put(w, at, k + 1, "", 0);
		}
		break;
	case 9: /* an attribute more */
		for (int i = 0; i < 20; i++)
			if (words_find(w, false, &at, &k) && at > 0 && w->p[at - 1] == '{') {
				s = words_attr(w, buf, sizeof buf - 1);
				size_t len = strlen(s);
				memmove(buf, s, len);
				buf[len] = ' ';
				words_put(w, at, 0, buf, len + 1);
				break;
			}
		break;
	case 10: /* a line less */
		words_line(w, &at, &k);
		words_put(w, at, k, "", 0);
		break;
	case 11: /* a line elsewhere, too or only there */
		words_line(w, &at, &k);
		if (k && k < sizeof buf) {
			memcpy(buf, w->p + at, k);
			if (words_draw(w, 2))
				words_put(w, at, k, "", 0);
			words_line(w, &at2, &k2);
			words_put(w, at2, 0, buf, k);
		}
		break;
	case 12: /* what is in brackets or braces, from elsewhere */
		if (words_bracket(w, &at, &k) && words_bracket(w, &at2, &k2) && k2 < sizeof buf && w->p[at - 1] == w->p[at2 - 1]) {
			memcpy(buf, w->p + at2, k2);
			words_put(w, at, k, buf, k2);
		}
		break;
	default: /* an operand that is not there */
		if (words_find(w, false, &at, &k) && at > 1 && (w->p[at - 1] == '(' || w->p[at - 1] == ' '))
			words_put(w, at, k, "-", 1);
	}
}

static size_t words_mutate(char *p, size_t n, size_t most, unsigned seed)
{
	struct words w = {p, n, most, {seed}};

	for (size_t i = 1 + words_draw(&w, 3); i > 0 && w.n; i--)
		words_once(&w);
	return w.n;
}
#endif
