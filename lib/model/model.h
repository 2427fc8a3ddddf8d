/* The kernels of a module and where its values are kept: what ge-plan and ge-emit agree on. */
#ifndef HONE_LOWER_MODEL_H
#define HONE_LOWER_MODEL_H
#include "graph/module.h"
#include "loop/loop.h"
#include "lower/lower.h"

/* A kernel: groups with equal stages, layouts and traces share one. */
struct kernel {
	struct loop_prog *prog; /* finished */
	struct digest digest;   /* of the stages by the algorithm that the lowering thinks best, before any primitive */
	const char *given;      /* the trace attribute, NULL: by the rule */
	const char *trace;      /* what was applied */
};

/* A Fused node of the main graph, in order. */
enum { KERNEL_OPAQUE = UINT32_MAX };
struct call {
	node_id node;
	uint32_t kernel; /* KERNEL_OPAQUE: it has no lowering, the evaluator runs it: the slow path */
	const char *why; /* then: why not */
	int nconst;
	val_id *cval; /* constant number i of the kernel is this value of the module */
	/* In a strip: it and its neighbours run for one image after the other, each on its part of axis 0. Else images is 1, and
	 * strip and last are the call itself. */
	int64_t images;
	uint32_t strip, last; /* first and last call of it */
};

/* Where a value's bytes are. */
enum home_kind { HOME_NONE, HOME_INPUT, HOME_CONST, HOME_OUTPUT, HOME_ARENA };
struct home {
	uint8_t kind;
	uint32_t index; /* input or output number; constant: val_id */
	int64_t offset; /* arena: in bytes */
};

struct model {
	struct module *m;
	int threads;
	struct lowered (*lower)(struct module *, node_id, const struct target *, const char *algo, const char **why);
	VEC(struct kernel) kernels;
	VEC(struct call) calls;
	val_id *root;     /* value -> the value whose bytes it shares (itself: none); views are followed */
	bool *inner;      /* root values that are of one image only: made and read in one strip */
	uint32_t nopaque; /* calls on the slow path */
	VEC(val_id) out;  /* per graph output k: the root that is computed straight into it, or 0: it is copied */
};

/* A trace for kernels of that digest, in place of the rule's. */
struct given_trace {
	struct digest digest;
	const char *text;
};
struct given_traces {
	struct given_trace *a;
	size_t n, cap;
};
/* Sections "# kernel DIGEST" with the trace below. Faults: die(65) with file and line. */
void traces_read(struct given_traces *t, const char *path);

/* Lowers, schedules and finishes every Fused node of the main graph. Those without a lowering become opaque calls, and
 * so do nodes that are neither Fused nor a view (If, Loop): each is put into a Fused node of its own. What neither
 * kernels nor the evaluator compute, results whose size depends on data, and nodes that only lack their group
 * (ge-fuse): die(69). Types not known: die(64) with what to say to ge-shape. A trace that was given and does not
 * apply: die(65); one that is stamped for other stages: a warning, and the rule. Traces: may be NULL. threads: that a kernel may use at most. sketch: to
 * plan, not to emit: strips are chosen afresh, constants that the lowering computes have no contents (lower_sketch). A
 * strip in the stream whose steps are not apart: die(65). */
struct model *model_new(struct module *m, const struct target *t, int threads, const struct given_traces *traces, bool sketch);
void model_free(struct model *M);
/* Says how many calls are on the slow path, and which; refuse: die(69) instead. Nothing if there are none. */
void model_report_opaque(struct model *M, bool refuse);
static inline int64_t call_workspace_bytes(const struct model *M, const struct call *c)
{
	return c->kernel == KERNEL_OPAQUE ? 0 : M->kernels.a[c->kernel].prog->workspace;
}
int64_t value_bytes(struct module *m, val_id v);
/* Bytes that a value takes in the arena, and those from one image of it to the next: 0 where they share their room, or there is no strip. */
int64_t home_bytes(const struct model *M, const struct call *c, val_id v);
int64_t image_step(const struct model *M, const struct call *c, val_id v);
bool node_is_view(struct module *m, const struct node *n);

/* Of Fused nodes that run image by image: a number that the nodes of a strip share, and how many images there are. */
#define STRIP "strip"
/* Chooses the strips of the main graph and leaves the attribute on their nodes. root: as struct model has it. */
void strips_choose(struct module *m, const struct target *t, const val_id *root, int threads);

/* The plan as ge-plan leaves it in the stream: of each Fused node "offsets" (a byte offset in the arena for each
 * result; -1: it is computed in the caller's memory) and "workspace" (byte offset and bytes of that kernel's), of
 * the module "plan.bytes" in its meta. */
#define PLAN_BYTES   "plan.bytes"
#define PLAN_VALUES  "plan.values"  /* meta: bytes up to the end of the last value; the rest is for workspaces alone */
#define PLAN_BOUND   "plan.bound"   /* meta: the most bytes of values alive at one time */
#define PLAN_THREADS "plan.threads" /* meta: what it was planned for; not there: 1 */
enum { THREADS_MAX = 256 };
int plan_threads(struct module *m);
int64_t plan_bytes(struct module *m);              /* -1: not planned */
struct home value_home(struct model *M, val_id v); /* needs a plan */
#endif
