/* The memory plan of a model: an offset in one arena for every value and for every kernel's workspace. ge-plan makes it and leaves
 * it in the module; ge-emit reads it there. */
#ifndef HONE_MEMORY_PLAN_H
#define HONE_MEMORY_PLAN_H
#include "model/assign.h"
#include "model/model.h"

/* Every section has a plan of its own; a body's begins at 0 in the workspace of the step that calls it.
 *
 * Where it is in the module: each Fused node of a section has "offsets" (for each result a byte offset in the arena; -1: it is computed in the
 * caller's memory) and "workspace" (byte offset and bytes). The module's metadata has: */
#define PLAN_BYTES   "plan.bytes"
#define PLAN_VALUES  "plan.values"  /* bytes up to the end of the last value; the rest is for workspaces alone */
#define PLAN_BOUND   "plan.bound"   /* the most bytes of values alive at one time */
#define PLAN_THREADS "plan.threads" /* what it was planned for; not there: 1 */
/* Of open sizes: numbers of steps, "kernels=9 open=8 one=2 plain=0 native=3 slow=0 flow=0", as struct step_counts has them. */
#define PLAN_STEPS "plan.steps"
enum { THREADS_MAX = 256 };

struct memory_plan {
	VEC(struct block) blocks;
	uint32_t *of_value;           /* root value -> block + 1; 0: it is in the caller's memory */
	uint32_t *of_call;            /* call -> block of its workspace + 1; 0: it has none */
	int64_t bytes, values, bound; /* as in the meta: of the main graph */
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

/* Reads the plan from M's module: the size of the arena. Workspaces may be larger than planned, by a trace that came later; those lie
 * behind everything else. memory_check is next. */
void memory_plan_read(struct model *M);
int64_t call_workspace(struct model *M, uint32_t call); /* then: offset in the arena */
/* What runs the steps of a planned module of open sizes. False: it is none. */
bool plan_steps(struct module *m, struct step_counts *s);
/* Bytes of the arena planned in a module; -1: it is not planned. */
int64_t plan_bytes(struct module *m);
int plan_threads(struct module *m);

/* ---- memory_check.c ---- */
/* Needs the size of the arena. A plan that does not fit the graph (a result without a place, one beyond the arena, two in one place at
 * the same time): die(64) with the node. */
void memory_check(struct model *M);
#endif
