/* A task: what one fused operator computes, as one line of text that is complete in itself, so that an operator can be
 * tuned without its model. Equal work has equal text.
 *
 *   MatMul f32 128x768 768x768c
 *   Conv{pads=1,1,1,1 strides=2,2} f32 1x3x224x224 64x3x7x7c 64c; Relu %0
 *   Add f32 1x64x56x56@0,2,3,1 $0; Mul %0 =0.5 -> %1@0,2,3,1
 *
 * Statements, separated by "; ", are the nodes of the group in the order in which a walk from the results, operands in
 * order, is done with them; operands of commutative operators are ordered: results, inputs, constants, and among those
 * by what they are computed from (equal ones: by what is made of them). Attributes are those that differ from their defaults, by name: "axis=1", "pads=1,1,1,1",
 * "mode=constant", strings of other than letters, digits and _ in quotes, tensors as "value=f32:2x1:0.5,1". "*3" behind
 * a name says how many results an operator has that leaves it open. Operators of hone's own domain are written
 * "hone.Layout". An operand is
 *
 *   128x768     a new input of that shape ("scalar": rank 0), of the element type last named (a word of its own, "f32");
 *               @LAYOUT: not row-major
 *   64x3x7x7c   a constant of which only the type matters
 *   =0.5 =1, =1,2 1x1=0.5   a constant by value: scalar, vectors of one and two, a matrix; of the type last named, or of
 *               the one before it: "i64=1,1" (which does not name it for others). All constants of one element, and
 *               integers that shapes depend on
 *   $2 #1       the input, or constant, that was made as number 2, 1, again; constants by value have no numbers
 *   %3 %3.1     result 0, or 1, of statement 3
 *   _           an optional operand that is not there
 *
 * "-> %1 %0@0,2,3,1" names the results with their layouts; without it result 0 of the last statement is the result. */
#ifndef HONE_TASK_H
#define HONE_TASK_H
#include "common/vec.h"
#include "graph/module.h"

/* The text of Fused node n (types known, static); NULL and *why (in a) if it has none: bodies, strings. Arena string. */
const char *task_text(struct module *m, node_id n, struct arena *a, const char **why);
/* What names the task: the digest of its text and of the version of this form. */
struct digest task_digest(const char *text);
/* A module whose main graph is one Fused node, inputs in the order of the text; NULL and *why ("statement 2: ..."; in
 * the arena a). Text that people wrote need not be canonical: task_text of the node is. Constants known by type only get
 * random contents from the seed: the same on every machine; so that square roots and divisions stay harmless they are
 * within (0.25, 1.25) where only that gives finite numbers, else normal / sqrt(fan-in). */
struct module *task_module(const char *text, uint64_t seed, struct arena *a, const char **why);
/* The Fused node of such a module. */
node_id task_node(struct module *m);
/* Brings the groups of graph g (Fused nodes), and those of its gears, into the order of their texts: operands, nodes, operands of commutative
 * operators; equal operands once, constants inside. Then a group and the module made of its text have the same stages,
 * and what was tuned for the one applies to the other. ge-layout leaves groups so; twice is once. */
void task_settle(struct module *m, graph_id g);
/* A short title for people: "Conv 3x3/2 64 -> 128, 56x56, Relu". */
const char *task_title(struct module *m, node_id n, struct arena *a);
/* The same of one node that is in no group. */
const char *node_title(struct module *m, node_id n, struct arena *a);

/* The distinct tasks of the main graph and of gears, those with most work first. */
struct task {
	const char *text, *title;
	struct digest digest;
	double flops; /* of one run */
	uint32_t count;
	double weight; /* how often a run computes it: count, but nodes of gears as often as their gear is expected */
	node_id *node; /* count of them */
};
struct task_without {
	node_id node;
	const char *why;
};
struct task_list {
	struct task *a;
	size_t n, cap;
	VEC(struct task_without) without; /* Fused nodes that have no text */
};
void task_list_make(struct task_list *l, struct module *m, struct arena *a);
void task_list_free(struct task_list *l);
/* Why there are no tasks, in words: the reason of the first group, or that there are no groups. NULL: there are some. */
const char *task_list_none(const struct task_list *l, struct module *m, struct arena *a);
#endif
