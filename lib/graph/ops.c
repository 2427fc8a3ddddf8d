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

char op_attr_kind(enum opcode op, const char *name, bool *required)
{
	const char *p = ops[op].attrs;
	size_t n = strlen(name);
	while (p && *p) {
		bool must = *p == '!';
		p += must;
		size_t len = strcspn(p, ":");
		if (len == n && !memcmp(p, name, n)) {
			if (required)
				*required = must;
			return p[len + 1];
		}
		p += len + 2;
		p += *p == ' ';
	}
	return 0;
}
