#include <string.h>
#include "common/digest.h"
#include "graph/ops.h"

/* The traits as the list spells them. */
enum {
	PURE = OP_PURE,
	RANDOM = OP_RANDOM,
	ELEMENTWISE = OP_ELEMENTWISE,
	COMMUTATIVE = OP_COMMUTATIVE,
	REDUCTION = OP_REDUCTION,
	MOVE = OP_MOVE,
	SHAPE_ONLY = OP_SHAPE_ONLY,
	CONTROL = OP_CONTROL,
	CALL = OP_CALL,
	DEPRECATED = OP_DEPRECATED,
	UNPACK = OP_UNPACK,
	VIEW = OP_VIEW,
	ANCHOR = OP_ANCHOR,
	WINDOW = OP_WINDOW,
	ANY_LAYOUT = OP_ANY_LAYOUT,
	CHANNELWISE = OP_CHANNELWISE,
	RECURRENT = OP_RECURRENT,
};

static const struct op_info ops[OP_COUNT] = {[OP_OTHER] = {"?", "?", 0, -1, 0, -1, 0, NULL},
#define X(name, min_in, max_in, min_out, max_out, traits, attrs) [OP_##name] = {#name, "", min_in, max_in, min_out, max_out, traits, attrs},
					     ONNX_OPS(X)
#undef X
#define X(name, min_in, max_in, min_out, max_out, traits, attrs) \
	[OP_##name] = {#name, "hone", min_in, max_in, min_out, max_out, traits, attrs},
						     HONE_OPS(X)
#undef X
};

const struct op_info *op_info(enum opcode op) { return &ops[op]; }

enum { SLOTS = 1024 };
_Static_assert(OP_COUNT * 2 <= SLOTS && OP_COUNT < UINT16_MAX, "the table of operator names is too small");

static size_t slot_of(const char *name) { return hash64(name, strlen(name), 0) % SLOTS; }

enum opcode op_find(const char *domain, const char *name)
{
	static uint16_t slots[SLOTS]; /* 0: free */
	static bool built;
	if (!built) {
		for (uint16_t op = 1; op < OP_COUNT; op++) {
			size_t i = slot_of(ops[op].name);
			while (slots[i])
				i = (i + 1) % SLOTS;
			slots[i] = op;
		}
		built = true;
	}
	if (!strcmp(domain, "ai.onnx"))
		domain = "";
	for (size_t i = slot_of(name); slots[i]; i = (i + 1) % SLOTS) {
		const struct op_info *o = &ops[slots[i]];
		if (!strcmp(o->name, name) && !strcmp(o->domain, domain))
			return slots[i];
	}
	return OP_OTHER;
}

bool op_attr_next(const char **p, struct op_attr *a)
{
	if (!*p || !**p)
		return false;
	*a = (struct op_attr){.required = **p == '!'};
	a->name = *p + a->required;
	a->len = strcspn(a->name, ":");
	a->kind = a->name[a->len + 1];
	const char *end = a->name + a->len + 2;
	if (*end == '=') {
		a->def = end + 1;
		a->ndef = strcspn(a->def, " ");
		end = a->def + a->ndef;
	}
	*p = end + (*end == ' ');
	return true;
}

bool op_attr_find(enum opcode op, const char *name, struct op_attr *a)
{
	size_t n = strlen(name);
	for (const char *p = ops[op].attrs; op_attr_next(&p, a);)
		if (a->len == n && !memcmp(a->name, name, n))
			return true;
	return false;
}

char op_attr_kind(enum opcode op, const char *name)
{
	struct op_attr a;
	return op_attr_find(op, name, &a) ? a.kind : 0;
}

int64_t op_attr_int(const struct op_attr *a)
{
	bool minus = a->ndef && *a->def == '-';
	int64_t v = 0;
	for (size_t i = minus; i < a->ndef && a->def[i] >= '0' && a->def[i] <= '9'; i++)
		v = 10 * v + (a->def[i] - '0');
	return minus ? -v : v;
}

/* Decimals of a few digits: exact as one integer by another. Not strtod, which asks the host program for its locale. */
double op_attr_float(const struct op_attr *a)
{
	bool minus = a->ndef && *a->def == '-', point = false;
	double v = 0, below = 1;
	for (size_t i = minus; i < a->ndef; i++) {
		char c = a->def[i];
		if (c == '.') {
			point = true;
		} else if (c == 'e') { /* e-DIGIT */
			for (int n = a->def[i + 2] - '0'; n > 0; n--)
				below *= 10;
			break;
		} else {
			v = 10 * v + (c - '0');
			below *= point ? 10 : 1;
		}
	}
	return (minus ? -v : v) / below;
}

void op_attr_step(struct op_attr *a)
{
	const char *comma = memchr(a->def, ',', a->ndef), *end = a->def + a->ndef;
	a->def = comma ? comma + 1 : end;
	a->ndef = (size_t)(end - a->def);
}
