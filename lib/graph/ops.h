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
	OP_UNPACK = 1024,       /* its first operand is the same in fewer bytes: of constants it stays */
	OP_VIEW = 2048,         /* the elements of its first operand in the same order: it needs no memory of its own */
	OP_ANCHOR = 4096,       /* work that a group is made around: elementwise nodes that follow join it */
	OP_WINDOW = 8192,       /* slides a window over an image: fastest with channels innermost */
	OP_ANY_LAYOUT = 16384,  /* as good with channels innermost as not (elementwise operators are too) */
	OP_CHANNELWISE = 32768, /* elementwise, with operands of one element a channel, unless training_mode is set */
	OP_RECURRENT = 65536,   /* steps through a sequence with a state; operands and attributes as those of RNN, GRU and LSTM */
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

/* An attribute as oplist.h has it. Names and defaults are no C strings. */
struct op_attr {
	const char *name, *def; /* def NULL: none */
	size_t len, ndef;
	char kind;
	bool required;
};
/* The attribute at *p, which begins at op_info's attrs and moves on; false at the end. */
bool op_attr_next(const char **p, struct op_attr *a);
bool op_attr_find(enum opcode op, const char *name, struct op_attr *a); /* false: op has none of that name */
char op_attr_kind(enum opcode op, const char *name);                    /* its letter, 0 if op has none of that name */
/* Its default as a number: 0 if it has none. The first element of it where it is a list; step goes on to the next. */
int64_t op_attr_int(const struct op_attr *a);
double op_attr_float(const struct op_attr *a);
void op_attr_step(struct op_attr *a);
#endif
