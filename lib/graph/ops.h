/* Operators: names, arity, attributes, traits (from graph/oplist.h). */
#ifndef HONE_OPS_H
#define HONE_OPS_H
#include <stdbool.h>
#include <stdint.h>
#include "common/intern.h"
#include "graph/oplist.h"

enum opcode {
	OP_OTHER, /* of a domain we do not know: passed through untouched */
#define X(name, ...) OP_##name,
	ONNX_OPS(X) HONE_OPS(X)
#undef X
		OP_COUNT
};

enum op_traits {
	OP_PURE = 1,        /* the outputs depend on operands and attributes only (its bodies' purity apart) */
	OP_RANDOM = 2,      /* never folded, never shared */
	OP_ELEMENTWISE = 4, /* out[i] depends on in[i] only, after broadcasting */
	OP_COMMUTATIVE = 8, /* operands may change places */
	OP_REDUCTION = 16,  /* combines along axes */
	OP_MOVE = 32,       /* only moves elements */
	OP_SHAPE_ONLY = 64, /* reads the shape of its operand, not its elements */
	OP_CONTROL = 128,   /* chooses or repeats bodies */
	OP_CALL = 256,      /* applies its graph once */
	OP_DEPRECATED = 512,
	OP_UNPACK = 1024, /* its first operand is the same in fewer bytes: of constants it stays */
};

struct op_info {
	const char *name;
	const char *domain; /* "" or "hone" */
	int min_in, max_in; /* -1: any number */
	int min_out, max_out;
	unsigned traits;
	const char *attrs; /* as in oplist.h */
};

const struct op_info *op_info(enum opcode op); /* OP_OTHER too: any arity, no traits */
static inline const char *op_name(enum opcode op) { return op_info(op)->name; }
static inline bool op_is(enum opcode op, unsigned traits) { return (op_info(op)->traits & traits) == traits; }
/* The operator of that name; domain "" (or "ai.onnx") or "hone". OP_OTHER if there is none. */
enum opcode op_find(const char *domain, const char *name);
/* Kind letter of attribute name of op, *required set; 0 if op has no such attribute. */
char op_attr_kind(enum opcode op, const char *name, bool *required);
#endif
