/* A task: what one fused operator computes, as one line of text that is complete in itself, so that an operator can be
 * tuned without its model. Equal work has equal text.
 *
 *   MatMul f32 128x768 768x768c
 *   Conv{pads=1,1,1,1 strides=2,2} f32 1x3x224x224 64x3x7x7c 64c; Relu %0
 *   Add f32 1x64x56x56@0,2,3,1 $0; Mul %0 =0.5 -> %1@0,2,3,1
 *
 * Statements, separated by "; ", are the nodes of the group in the order in which a walk from the outputs, operands in
 * order, is done with them; operands of commutative operators are ordered by the digests of their subtrees; attributes
 * are those that differ from their defaults, by name. An operand is
 *
 *   128x768     a new input of that shape ("scalar": rank 0), of the element type last named; @LAYOUT: not row-major
 *   64x3x7x7c   a constant of which only the type matters; =0.5, i64=1,1  a constant by value (scalars, integers
 *               that shapes and lowering depend on)
 *   $2 #1       the input, or constant, that was made as number 2, 1, again
 *   %3 %3.1     result 0, or 1, of statement 3
 *   _           an optional operand that is not there
 *
 * "-> %1 %0@0,2,3,1" names the results with their layouts; without it result 0 of the last statement is the result. */
#ifndef HONE_TASK_H
#define HONE_TASK_H
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
/* A few words for people: "Conv 3x3/2 64 -> 128, 56x56, Relu". */
const char *task_title(struct module *m, node_id n, struct arena *a);
#endif
