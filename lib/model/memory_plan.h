/* The memory plan of a model: an offset in one arena for every value and for every kernel's workspace. ge-plan makes it and leaves
 * it in the module; ge-emit reads it there. */
#ifndef HONE_MEMORY_PLAN_H
#define HONE_MEMORY_PLAN_H
#include "model/assign.h"
#include "model/model.h"

/* What the module has of it: of each Fused node "offsets" (a byte offset in the arena for each result; -1: it is computed in
 * the caller's memory) and "workspace" (byte offset and bytes of that kernel's), and of the module, in its meta: */
#define PLAN_BYTES   "plan.bytes"
#define PLAN_VALUES  "plan.values"  /* bytes up to the end of the last value; the rest is for workspaces alone */
#define PLAN_BOUND   "plan.bound"   /* the most bytes of values alive at one time */
#define PLAN_THREADS "plan.threads" /* what it was planned for; not there: 1 */
enum { THREADS_MAX = 256 };

struct memory_plan {
	VEC(struct block) blocks;
	uint32_t *of_value;           /* root value -> block + 1; 0: it is in the caller's memory */
	uint32_t *of_call;            /* call -> block of its workspace + 1; 0: it has none */
	int64_t bytes, values, bound; /* as in the meta */
	int64_t apart;                /* bytes of all blocks: what they took if none shared its room */
};

/* ---- memory_plan.c ---- */
/* M: a sketch. */
struct memory_plan *memory_plan_new(struct model *M);
/* NULL: the value, a root, is in the caller's memory; the call has no workspace. */
const struct block *memory_of_value(const struct memory_plan *p, val_id v);
const struct block *memory_of_call(const struct memory_plan *p, uint32_t call);
/* Leaves the plan in M's module. */
void memory_plan_record(const struct memory_plan *p, struct model *M);
void memory_plan_free(struct memory_plan *p);

/* Takes up the plan in M's module: the size of the arena (workspaces that are larger than planned, for a trace that came later,
 * lie behind everything). One that is not of this graph: die(64). */
void memory_plan_read(struct model *M);
int64_t call_workspace(struct model *M, uint32_t call); /* then: offset in the arena */
/* Bytes of the arena planned in a module; -1: it is not planned. */
int64_t plan_bytes(struct module *m);
int plan_threads(struct module *m);

/* ---- memory_check.c ---- */
/* Needs the size of the arena. A plan that is not one of this graph (a result without a place, one past the arena, two at the
 * same time in one place): die(64) with the node. */
void memory_check(struct model *M);
#endif
