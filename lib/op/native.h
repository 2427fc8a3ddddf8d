/* Operators that a function of lib/native computes: their row has eval_native for its evaluator, or one of its own that takes strings, too. */
#ifndef HONE_OP_NATIVE_H
#define HONE_OP_NATIVE_H
#include "native/table.h"
#include "op/op.h"

/* The function of node n; NULL: it is computed otherwise. Of one that the user has, file and run are NULL. */
const struct native_row *node_native(const struct node *n);
/* The name in C of the function that n calls, n being such a node. */
const char *native_function_name(struct module *m, const struct node *n);
/* What its operands must be (rules.h has the words); NULL: anything. */
const char *native_demand(const struct node *n);
/* May the function write result 0 where operand 0 lies, if no other operand does? */
bool native_in_place(const struct node *n);
/* Along which axis n puts rows into its operand 0, of that rank, and lays the result out as that is; -1: it does nothing of the kind. */
int node_puts_rows(const struct node *n, int rank);
/* Does the function read no constant where no step or no sequence is to be computed? */
bool native_of_nothing(const struct node *n);
/* Does the function share its work out to several threads (share_out)? */
bool native_shares_out(const struct node *n);
/* Does the function take operand i with one axis before the others? */
bool native_takes_first(const struct node *n, uint32_t i);
/* Does the function take strings (struct native_text) where the operator does? */
bool native_takes_texts(const struct node *n);
/* The attributes of n as its function wants them: those it has, and the defaults of the others. How many. */
int native_attrs(struct module *m, const struct node *n, struct arena *a, struct native_attr **attr);
/* The number of a step that n is, of the name of its first result. */
uint64_t native_step(struct module *m, const struct node *n);
const char *eval_native(struct eval *e);
/* Results and scratch of n are those of e. */
void native_memory_of(struct native *n, struct eval *e);
#endif
