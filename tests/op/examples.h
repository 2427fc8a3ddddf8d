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

/* One of several examples in a model: what of it only a run knows. */
struct example_part {
	struct example x;
	bool open;   /* sizes of inputs: an axis of size 5 of operand 1 of part 3 is the symbol n3_x1_0s5, or so */
	bool values; /* operands with values are inputs too; else they are constants */
};

static bool part_input(const struct example_part *p, int i) { return *p->x.type[i] != '-' && (p->values || !*p->x.value[i]); }

static void part_inputs(FILE *f, const struct example_part *p, int at)
{
	for (int i = 0; i < p->x.nin; i++) {
		int k = 0;
		if (!part_input(p, i))
			continue;
		fprintf(f, "  input n%d_x%d: %s[", at, i, p->x.type[i]);
		for (const char *s = p->x.shape[i]; *s; s += strcspn(s, ","), s += *s == ',', k++) {
			fprintf(f, "%s", k ? "," : "");
			if (p->open)
				fprintf(f, "n%d_x%d_%ds", at, i, k);
			fprintf(f, "%ld", atol(s));
		}
		fprintf(f, "]\n");
	}
}

static void part_node(FILE *f, const struct example_part *p, int at)
{
	for (int k = 0; k < p->x.nout; k++)
		fprintf(f, "%sn%d_y%d", k ? ", " : "  ", at, k);
	fprintf(f, " = %s(", p->x.op);
	for (int i = 0; i < p->x.nin; i++)
		fprintf(f, *p->x.type[i] == '-' ? "%s-" : part_input(p, i) ? "%sn%d_x%d" : "%s@n%d_c%d", i ? ", " : "", at, i);
	fprintf(f, ")%s", p->x.nattr ? " {" : "");
	for (int i = 0; i < p->x.nattr; i++)
		fprintf(f, "%s%s", i ? " " : "", p->x.attr[i]);
	fprintf(f, "%s\n", p->x.nattr ? "}" : "");
}

/* Examples side by side in one model. Meta data: part.3, the operator of part 3; usual.n3_x1, the values of its operand 1 in the example. */
__attribute__((unused)) static void examples_write(FILE *f, const struct example_part *part, int n)
{
	fprintf(f, "hone-text 1\nmodule ir=14 opset=28\n");
	for (int at = 0; at < n; at++)
		fprintf(f, "meta \"part.%d\" = \"%s\"\n", at, part[at].x.op);
	for (int at = 0; at < n; at++)
		for (int i = 0; i < part[at].x.nin; i++) {
			const char *v = part[at].x.value[i];
			if (part_input(&part[at], i) && *v)
				fprintf(f, "meta \"usual.n%d_x%d\" = \"%.*s\"\n", at, i, (int)strcspn(v + 1, "]"), v + 1);
		}
	for (int at = 0; at < n; at++)
		for (int i = 0; i < part[at].x.nin; i++) {
			int k = 0;
			const struct example *x = &part[at].x;
			for (const char *s = x->shape[i]; part[at].open && part_input(&part[at], i) && *s;
			     s += strcspn(s, ","), s += *s == ',', k++)
				fprintf(f, "symbol n%d_x%d_%ds%ld 0 inf\n", at, i, k, atol(s));
			if (!part_input(&part[at], i) && *x->value[i])
				fprintf(f, "const n%d_c%d = %s[%s] %s\n", at, i, x->type[i], x->shape[i], x->value[i]);
		}
	fprintf(f, "graph main {\n");
	for (int at = 0; at < n; at++)
		part_inputs(f, &part[at], at);
	for (int at = 0; at < n; at++)
		part_node(f, &part[at], at);
	for (int at = 0; at < n; at++)
		for (int k = 0; k < part[at].x.nout; k++)
			fprintf(f, "  output n%d_y%d = n%d_y%d\n", at, k, at, k);
	fprintf(f, "}\n");
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
