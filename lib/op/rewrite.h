/* Graph rewriting: rules as rows, applied to a fixed point by a worklist.
 *
 * A rule looks at one node, the last of its pattern, and at the nodes that produce its operands. It
 * changes the graph only through the functions below, which keep count of uses, drop nodes whose results
 * are no longer wanted, and queue again whatever the change could make match. New nodes take the
 * place of the root in the order. Linear in nodes plus edits. */
#ifndef HONE_REWRITE_H
#define HONE_REWRITE_H
#include "graph/pass.h"

struct rewrite;

/* What rules reduce. A rule names one of these measures. Every application makes it smaller, and none of the measures before it larger.
 * So no two rules can undo each other, and every set of rules comes to an end. Reshapes do not count as work; a value is followed
 * through them to the node that computed it. */
enum measure {
	MEASURE_TAPS,      /* taps of the windows of convolutions and pools */
	MEASURE_WORK,      /* nodes by weight: of two operators that do the same, the simpler weighs less */
	MEASURE_EXPANDED,  /* Expands before an operand of an elementwise node */
	MEASURE_SCALED,    /* MatMuls after each scalar factor */
	MEASURE_REORDERED, /* for each Transpose, the Transposes before it */
	MEASURE_MISPLACED, /* operands of elementwise nodes that were computed in another shape, twice if only this node uses them; compared first at the nodes farthest from the outputs */
	MEASURE_RESHAPED,  /* Reshapes; for each, the Reshapes before it; and Reshapes to a shape that is computed or has zeros */
	MEASURES
};

struct rule {
	const char *name;
	enum opcode root;
	/* NULL: it was applied. Else why not, for --why; NO_MATCH if the node does not resemble the pattern. */
	const char *(*apply)(struct rewrite *rw, node_id n);
	const char *what; /* "x * Sigmoid(x) becomes Swish(x)" */
	enum measure reduces;
};
#define NO_MATCH ""

struct rule_run {
	const struct rule *rule;
	bool off;
	uint32_t applied; /* how often, filled in */
};

/* Applies the rules that are not off, at each node the first that matches, until none matches. prove: takes the measures of the whole
 * graph before and after each application; BUG if one is not as the rule says. */
void rewrite_module(struct module *m, struct rule_run *rules, int nrules, const struct pass_ctx *c, bool prove);

/* Looking at the graph. Where a value was replaced, these give the current one. */
struct module *rw_module(const struct rewrite *rw);
val_id rw_in(struct rewrite *rw, node_id n, uint32_t i); /* 0: absent */
const struct type *rw_type(struct rewrite *rw, val_id v);
uint32_t rw_uses(struct rewrite *rw, val_id v);                /* operand slots and graph outputs */
bool rw_is_output(struct rewrite *rw, val_id v);               /* of its graph */
node_id rw_def(struct rewrite *rw, val_id v, enum opcode op);  /* the op whose result 0 is v, else 0 */
node_id rw_def1(struct rewrite *rw, val_id v, enum opcode op); /* the same, and v has no other use */
/* The only node that uses v, if it is an op and v is no graph output; else 0. */
node_id rw_user1(struct rewrite *rw, val_id v, enum opcode op);
/* The nodes that use v, each once, in the order in which they came to use it. Returns how many; -1: more than max. */
int rw_users(struct rewrite *rw, val_id v, node_id *user, int max);
struct tensor *rw_const(struct rewrite *rw, val_id v);          /* NULL: not constant */
bool rw_scalar(struct rewrite *rw, val_id v, double *c);        /* numeric constant of one element */
bool rw_is(struct rewrite *rw, val_id v, double c, double tol); /* is it c, within tol relative? */
/* All elements of a numeric constant as doubles (arena), or NULL; *n of them. */
double *rw_doubles(struct rewrite *rw, val_id v, int64_t *n);
/* Integer constant operand as int64: how many, or -1 (not constant, not integer, more than max). */
int rw_ints(struct rewrite *rw, val_id v, int64_t *out, int max);
bool rw_same_type(struct rewrite *rw, val_id a, val_id b); /* are element types and shapes known and equal? */
/* The same, but an extent may be unknown in both: enough where b is made of a and of constants that have one element, or
 * one a channel, for these do not broadcast a along another axis of its rank. */
bool rw_like_type(struct rewrite *rw, val_id a, val_id b);
/* Is n, of two operands, x op a constant scalar? Or the other way round, if op commutes. */
bool rw_with_scalar(struct rewrite *rw, node_id n, val_id *x, double *c);
/* Node n (of two operands) as a op b where a is the result 0 of an op: its node, and the other operand. */
node_id rw_operand(struct rewrite *rw, node_id n, enum opcode op, val_id *other);

/* Nodes by id, 1 .. rw_nodes - 1: those that are in no graph, or no longer, are not alive. */
size_t rw_nodes(struct rewrite *rw);
bool rw_alive(struct rewrite *rw, node_id n);
/* Node n is Mul by a constant of one element, of floats, and of the type of its other operand, *x. */
bool rw_scalar_factor(struct rewrite *rw, node_id n, val_id *x, double *k);

/* Changing. The result of a new node is returned; its type is inferred once the rule is done. */
val_id rw_node(struct rewrite *rw, node_id root, enum opcode op, int nin, const val_id *in);
/* The same for a node of so many results. */
val_id rw_nodes_out(struct rewrite *rw, node_id root, enum opcode op, int nin, const val_id *in, int nout);
node_id rw_node_of(struct rewrite *rw, val_id v); /* the node that defines v, 0 if none does */
void rw_copy_attrs(struct rewrite *rw, node_id to, node_id from);
/* A float or integer constant of v's element type t from doubles, rounded once. */
val_id rw_constant(struct rewrite *rw, enum dtype t, int rank, const int64_t *dims, const double *x);
val_id rw_constant_tensor(struct rewrite *rw, struct tensor *t);      /* t is kept */
val_id rw_constant_ints(struct rewrite *rw, int n, const int64_t *x); /* i64[n] */
/* All uses of old become uses of new, which takes its name and type where it has none. */
void rw_replace(struct rewrite *rw, val_id old, val_id new_);
/* Replaces result 0 of node n by v, which it equals. Refused if a graph would have a result that it does not compute, or one value as
 * two results. */
const char *rw_bypass(struct rewrite *rw, node_id n, val_id v);
void rw_set_in(struct rewrite *rw, node_id n, uint32_t i, val_id v);
#endif
