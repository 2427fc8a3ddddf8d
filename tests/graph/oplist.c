/* The operator list: what stands in its attributes is well formed, and its defaults are read to the last bit. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "graph/module.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static bool sorted(enum opcode op)
{
	struct op_attr a, before = {.name = ""};

	for (const char *p = op_info(op)->attrs; op_attr_next(&p, &a); before = a) {
		size_t n = a.len < before.len ? a.len : before.len;
		int order = memcmp(before.name, a.name, n);
		if (order > 0 || (order == 0 && before.len >= a.len))
			return false;
	}
	return true;
}

static bool reads(const struct op_attr *a)
{
	char text[64];

	snprintf(text, sizeof text, "%.*s", (int)a->ndef, a->def ? a->def : "");
	if (!strchr("ifsIFStgGy", a->kind))
		return false;
	if (!a->def || a->kind == 's')
		return true;
	if (a->kind == 'f')
		return (float)op_attr_float(a) == strtof(text, NULL);
	return (a->kind == 'i' || a->kind == 'I') && op_attr_int(a) == atoll(text);
}

static void each_operator(void)
{
	struct op_attr a;
	bool in_order = true, read = true, none_required = true;

	for (enum opcode op = 1; op < OP_COUNT; op++) {
		in_order &= sorted(op);
		for (const char *p = op_info(op)->attrs; op_attr_next(&p, &a);) {
			read &= reads(&a);
			none_required &= !(a.required && a.def);
		}
	}
	ok(in_order, "attributes are in order");
	ok(read, "kinds are known, defaults are numbers");
	ok(none_required, "a required attribute has no default");
}

static void getters(void)
{
	struct module *m = module_new();
	graph_id g = graph_new(m, intern("g"));
	node_id n = node_new(m, g, OP_Selu, 0, NULL, 1);
	int64_t v[4];

	ok(attr_f(node(m, n), "alpha") == 1.67326319217681884765625f, "alpha of Selu");
	ok(attr_f(node(m, n), "gamma") == 1.05070102214813232421875f, "gamma of Selu");
	attr_set_float(m, n, "alpha", 2);
	ok(attr_f(node(m, n), "alpha") == 2, "what a node says comes first");
	ok(attr_i(node(m, n), "axis") == 0 && !*attr_s(node(m, n), "mode"), "what an operator does not have is 0 or empty");
	node(m, n)->op = OP_Resize;
	ok(!strcmp(attr_s(node(m, n), "mode"), "nearest") && attr_f(node(m, n), "cubic_coeff_a") == -0.75f, "words, and numbers below 0");
	node(m, n)->op = OP_MeanVarianceNormalization;
	ok(attr_list(node(m, n), "axes", v, 4) == 3 && v[0] == 0 && v[1] == 2 && v[2] == 3, "a list");
	node(m, n)->op = OP_LayerNormalization;
	ok(attr_i(node(m, n), "axis") == -1 && attr_f(node(m, n), "epsilon") == 1e-5f, "an axis from the end, a power of ten");
	module_free(m);
}

int main(void)
{
	each_operator();
	getters();
	return tap_done();
}
