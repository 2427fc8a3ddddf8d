/* Examples of operators, a line each of operators.txt: "Conv(f32[1,1,5,5], i64[2] = [1, 2]) {pads=[1,1]} 1", and models of one. */
#ifndef HONE_TEST_EXAMPLES_H
#define HONE_TEST_EXAMPLES_H
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 16, ATTRS = 24, WORD = 240, LONG = 4000 };

struct example {
	char op[64], type[OPERANDS][16], shape[OPERANDS][WORD], value[OPERANDS][WORD], attr[ATTRS][WORD];
	int nin, nattr, nout;
	char result[WORD]; /* declared type of result 0, or "" */
};

static void example_copy(char *to, const char *s, size_t n)
{
	if (n >= WORD)
		n = WORD - 1;
	memcpy(to, s, n);
	to[n] = 0;
}

/* Up to the separator that is in no brackets or quotes. */
static size_t example_piece(const char *s, const char *ends)
{
	int depth = 0;
	bool quoted = false;
	size_t n = 0;

	for (; s[n] && (depth || quoted || !strchr(ends, s[n])); n++) {
		quoted ^= s[n] == '"';
		depth += !quoted && s[n] == '[';
		depth -= !quoted && s[n] == ']';
	}
	return n;
}

static void example_parse(struct example *x, const char *s)
{
	memset(x, 0, sizeof *x);
	size_t n = strcspn(s, "(");
	example_copy(x->op, s, n);
	for (s += n + 1; *s != ')'; s += *s == ',' ? 2 : 0) {
		n = example_piece(s, ",)");
		size_t t = strcspn(s, "[,)");
		const char *close = memchr(s, ']', n), *value = close ? strstr(close, " = ") : NULL;
		example_copy(x->type[x->nin], s, t);
		if (close)
			example_copy(x->shape[x->nin], s + t + 1, (size_t)(close - s) - t - 1);
		if (value && value < s + n)
			example_copy(x->value[x->nin], value + 3, (size_t)(s + n - value) - 3);
		x->nin++;
		s += n;
	}
	s += 2;
	if (*s == '{') {
		for (s++; s[-1] != '}'; s += n + 1) {
			n = example_piece(s, " }");
			example_copy(x->attr[x->nattr++], s, n);
		}
		s++;
	}
	x->nout = atoi(s);
}

/* In text form: operands without values are inputs x0, x1, ...; LONG bytes at `to`. */
__attribute__((unused)) static void example_write(const struct example *x, char *to)
{
	char *p = to, *end = to + LONG;

#define PUT(...) (p += snprintf(p, p < end ? (size_t)(end - p) : 0, __VA_ARGS__))
	PUT("hone-text 1\nmodule ir=10 opset=28\n");
	for (int i = 0; i < x->nin; i++)
		if (*x->value[i])
			PUT("const c%d = %s[%s] %s\n", i, x->type[i], x->shape[i], x->value[i]);
	PUT("graph main {\n");
	for (int i = 0; i < x->nin; i++)
		if (*x->type[i] != '-' && !*x->value[i])
			PUT("  input x%d: %s[%s]\n", i, x->type[i], x->shape[i]);
	PUT("  ");
	for (int k = 0; k < x->nout; k++)
		PUT("%sy%d%s%s", k ? ", " : "", k, !k && *x->result ? ": " : "", k ? "" : x->result);
	PUT(" = %s(", x->op);
	for (int i = 0; i < x->nin; i++)
		PUT(*x->type[i] == '-' ? "%s-" : *x->value[i] ? "%s@c%d" : "%sx%d", i ? ", " : "", i);
	PUT(")%s", x->nattr ? " {" : "");
	for (int i = 0; i < x->nattr; i++)
		PUT("%s%s", i ? " " : "", x->attr[i]);
	PUT("%s\n", x->nattr ? "}" : "");
	for (int k = 0; k < x->nout; k++)
		PUT("  output y%d = y%d\n", k, k);
	PUT("}\n");
}

/* The same with sizes that only a run knows. An axis of size 5 of operand 1 is the symbol x1_0s5, or so; `values`: operands with values are
 * inputs too, which the meta data usual.x1 names, else they stay as they are. */
__attribute__((unused)) static void example_write_open(const struct example *x, bool values, char *to)
{
	char *p = to, *end = to + LONG;

#define IS_INPUT(i) (*x->type[i] != '-' && (values || !*x->value[i]))
	PUT("hone-text 1\nmodule ir=10 opset=28\n");
	for (int i = 0; i < x->nin; i++)
		if (IS_INPUT(i) && *x->value[i])
			PUT("meta \"usual.x%d\" = \"%.*s\"\n", i, (int)strcspn(x->value[i] + 1, "]"), x->value[i] + 1);
	for (int i = 0; i < x->nin; i++) {
		int k = 0;
		for (const char *s = x->shape[i]; IS_INPUT(i) && *s; s += strcspn(s, ","), s += *s == ',', k++)
			PUT("symbol x%d_%ds%ld 0 inf\n", i, k, atol(s));
		if (!IS_INPUT(i) && *x->value[i])
			PUT("const c%d = %s[%s] %s\n", i, x->type[i], x->shape[i], x->value[i]);
	}
	PUT("graph main {\n");
	for (int i = 0; i < x->nin; i++) {
		int k = 0;
		if (!IS_INPUT(i))
			continue;
		PUT("  input x%d: %s[", i, x->type[i]);
		for (const char *s = x->shape[i]; *s; s += strcspn(s, ","), s += *s == ',', k++)
			PUT("%sx%d_%ds%ld", k ? "," : "", i, k, atol(s));
		PUT("]\n");
	}
	for (int k = 0; k < x->nout; k++)
		PUT(k ? ", y%d" : "  y%d", k);
	PUT(" = %s(", x->op);
	for (int i = 0; i < x->nin; i++)
		PUT(*x->type[i] == '-' ? "%s-" : IS_INPUT(i) ? "%sx%d" : "%s@c%d", i ? ", " : "", i);
	PUT(")%s", x->nattr ? " {" : "");
	for (int i = 0; i < x->nattr; i++)
		PUT("%s%s", i ? " " : "", x->attr[i]);
	PUT("%s\n", x->nattr ? "}" : "");
	for (int k = 0; k < x->nout; k++)
		PUT("  output y%d = y%d\n", k, k);
	PUT("}\n");
}

/* Splits "2,3,4"; how many. */
__attribute__((unused)) static int extents(const char *s, long *d)
{
	int n = 0;

	for (char *end; *s; s = *end ? end + 1 : end)
		d[n++] = strtol(s, &end, 10);
	return n;
}
#endif
