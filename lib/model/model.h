/* A whole model: its kernels, the calls of a run in order, and where values are. ge-plan and ge-emit work on one each, made of
 * the same module, and agree by what ge-plan left there (memory_plan.h). */
#ifndef HONE_MODEL_H
#define HONE_MODEL_H
#include "graph/module.h"
#include "loop/loop.h"
#include "lower/lower.h"
#include "lower/sized.h"
#include "model/given.h"
#include "sched/version.h"

/* A kernel: groups with equal stages, layouts and traces share one. */
struct kernel {
	struct loop_prog *prog;      /* legalized */
	struct digest digest;        /* of the stages by the algorithm that the lowering thinks best, before any primitive */
	const char *given;           /* the trace attribute, NULL: the default schedule */
	const char *trace;           /* what was applied */
	int threads;                 /* that it uses at most */
	bool checks;                 /* it refuses indices that are out of range */
	bool bare;                   /* of a plan for one thread, where all sizes are known: prog is bare (prog_bare) */
	struct version_time counted; /* then: as its whole program was */
	const char *plain;      /* it is in plain loops, or has a part of the default schedule: which, and why; NULL: all of it applies */
	struct sized_for sizes; /* that it is for */
	VEC(poly) least;        /* of prog, in its parameters: for sizes that make one of these negative it is not made */
};

/* A Fused node of a section, in order. */
enum {
	KERNEL_OPAQUE = UINT32_MAX,
	KERNEL_NATIVE = UINT32_MAX - 1,
	KERNEL_CONTROL = UINT32_MAX - 2,
	KERNEL_APPEND = UINT32_MAX - 3,
	KERNEL_MAPS = UINT32_MAX - 4
};
struct call {
	node_id node;
	/* KERNEL_OPAQUE: it has no lowering, the evaluator runs it: the slow path. KERNEL_NATIVE: nor has this, but C of its own.
	 * KERNEL_CONTROL: it runs sections. KERNEL_APPEND: it adds to a state. KERNEL_MAPS: it makes maps. */
	uint32_t kernel;
	const char *why; /* then: why it has no kernel */
	node_id alone;   /* of a native, control or appending call: the one node of the group */
	uint32_t opaque; /* its number among the opaque ones */
	uint32_t state;  /* of an appending call: which one */
	uint32_t
		lent; /* the state of open size, + 1, whose place has room for what it makes of it: of operand lent_in, result lent_out; 0: none */
	val_id lent_in, lent_out;
	struct control *control;
	int nconst;
	val_id *cval; /* constant number i of the kernel is this value of the module */
	int nparam;
	poly *param; /* parameter number i of the kernel is this size: a symbol of the module, or a branch */
	struct call
		*version; /* instead of this, with another kernel, in runs of the sizes that it says; it may have one in turn; NULL: none */
	struct sizes_fixed when; /* of a version */
	bool proved;             /* of a kernel for many sizes: as struct sized has it; else it was compared at some sizes */
	bool settled;            /* of a native view: a run knows the sizes of its result before */
	/* Instead of this, a native one, in runs in which a parameter is less than 1, if the kernel is not for such, or of two sizes that it
	 * takes for one (struct size_same) the operand's is 1, or the results of a kernel that reads indices have no element (the native one
	 * looks at indices all the same); NULL: there is none. */
	struct call *otherwise;
	/* In a strip, it and its neighbours run for one image after the other, each on its part of axis 0. Outside of a strip images is
	 * 1, and strip and last are the number of the call itself. */
	int64_t images;
	uint32_t strip, last; /* first and last call of it; of its region, if it is in a lane (lanes.h) */
	int64_t lane, lanes;  /* which of so many; 0 lanes: it is in none */
};

/* A graph that is run as steps: the main one, or a body of a control operator. Its values lie in an arena of its own; a body's is in the
 * workspace of the step that calls it. */
struct section {
	graph_id graph;
	uint32_t first, end; /* its calls: first .. end - 1 */
	VEC(val_id) out; /* for output k of the graph: the root that is computed straight into the caller's memory; 0: output k is copied */
	/* memory_plan_new or memory_plan_read knows these: */
	int64_t arena_bytes;
	int64_t spill; /* offset in the arena of workspaces that are larger than planned */
};

/* An input of the main graph that a library keeps from run to run: what an output is becomes the input of the next run (state.h). */
struct state {
	uint32_t in, out; /* their numbers */
	bool open;        /* its size is known only in a run: it has memory of its own, which grows as it must */
	int axis;         /* of an open one: 1 + the axis along which a step appends to it, where it is; 0: each run makes it anew */
	int64_t bytes;
	/* If not open, offsets in the library's memory of states: two places that take turns, or twice the same: the step that makes the output writes
	 * it where the input is. */
	int64_t place[2];
	int64_t copied;  /* bytes of it that a run copies without computing anything */
	int64_t written; /* if not open, bytes of it that a run writes, besides what steps put into it in place */
	const char *why; /* two places, or made anew: why */
};

/* The size of an axis is there: a run learns a symbol, or compares. */
enum { SIZE_INPUT = UINT32_MAX };
struct size_fact {
	uint32_t call;  /* behind this one; SIZE_INPUT: when the inputs are there, */
	graph_id graph; /* of this section */
	val_id v;
	int axis;
	poly_var var; /* the size is coef * var + rest; 0: it must be what the type of v says */
	int64_t coef;
	poly rest;
};

/* Two sizes that a kernel takes for one. */
struct size_same {
	uint32_t call;
	val_id v; /* the size of this operand's axis */
	int axis;
	poly is; /* must be this */
};

struct sizes {
	uint32_t nvars;             /* the module's symbols; those that lowering makes (lower/sized.h) have higher numbers */
	uint8_t *known;             /* symbol -> does a run know it, at this place of the section? */
	uint8_t **at;               /* section -> the same where it begins, by its calls so far */
	uint8_t *open;              /* value -> axes whose sizes are not compared with its type */
	VEC(struct size_same) same; /* in the order of calls */
	VEC(struct size_fact) waiting;
	VEC(struct size_fact) facts; /* in the order of calls, a section's inputs first */
};

enum { SLOT_SIZE = 64 }; /* which values are large and which are small does not depend much on it */
struct model {
	struct module *m;
	int threads;
	struct lowered (*lower)(struct module *, node_id, const struct target *, const char *algo, const char **why);
	VEC(struct kernel) kernels;
	VEC(struct section) sections; /* the main graph, then bodies; callers before what they call */
	size_t nroots, ngraphs;       /* entries of root and section_of */
	uint32_t *section_of;         /* graph -> section + 1; 0: it is none */
	VEC(struct call) calls;       /* of all sections, one after the other */
	val_id *root;                 /* value -> the value whose bytes it shares (itself: none); views are followed */
	bool *inner;                  /* root values that exist for one image at a time: made and read in one strip */
	uint32_t nopaque;             /* calls on the slow path */
	uint32_t nnative;             /* calls of functions of lib/native */
	bool natives;                 /* a run calls some (call_native) */
	uint32_t ncontrol;
	uint32_t nappend, nmaps; /* calls of these kinds */
	bool sketch;             /* to plan, not to emit */
	bool shaped;             /* there are values whose size is known only in a run */
	bool listed;             /* there are sequences or optionals of numbers */
	uint32_t *slot;          /* value -> the slot + 1 that it has in a run; 0: it has none */
	uint32_t nslots;
	double slot_bytes; /* of all slots, where each open size is SLOT_SIZE or as near to it as it may be */
	/* slot -> the first of those with which it exchanges what they own; -1: none. NULL: no branch or loop of such values */
	int64_t *kin;
	VEC(struct state) states; /* by input */
	int64_t state_bytes;      /* of the memory of states */
	struct sizes sizes;
};

/* ---- model.c ---- */

/* Lowers, schedules and legalizes every Fused node of the main graph and of bodies. Those without a lowering become native calls, if
 * lib/native computes them, else opaque ones. Nodes that are neither Fused nor a view are each put into a Fused node of its own: control
 * operators whose bodies can be run as steps become control calls.
 *
 * What neither kernels nor the evaluator compute, results whose size depends on data, and nodes that only lack their group (ge-fuse):
 * die(69). Unknown types: die(64), with what to say to ge-shape. A given trace that does not apply: die(65); one that is stamped for
 * other stages: a warning, and the default schedule. A strip in the stream whose steps depend on other images: die(65).
 *
 * traces: may be NULL. threads: that a kernel may use at most. sketch: to plan, not to emit. Then strips are chosen anew, and constants
 * that the lowering computes have no contents (lower_sketch). */
struct model *model_new(struct module *m, const struct target *t, int threads, const struct given_traces *traces, bool sketch);
void model_free(struct model *M);
/* The call, or what is in its place in some runs, if a run calls a function of lib/native there; else NULL. */
const struct call *call_native(const struct call *c);
static inline bool call_has_kernel(const struct call *c) { return c->kernel < KERNEL_MAPS; }
static inline size_t call_versions(const struct call *c) { return c->version ? 1 + call_versions(c->version) : 0; }
/* Of a call with `alone`: the value of its section that operand i of the node is, or a constant; 0: it is not there. */
val_id call_operand(const struct model *M, const struct call *c, uint32_t i);
val_id call_result(const struct model *M, const struct call *c, uint32_t k); /* 0: nobody wants it */
/* A control call's: its sections must be planned. 0 also if it varies with sizes, when it is no part of the arena. */
int64_t call_workspace_bytes(const struct model *M, const struct call *c);
bool call_workspace_varies(const struct model *M, const struct call *c);
/* Of the main graph. */
static inline int64_t model_arena_bytes(const struct model *M) { return M->sections.a[0].arena_bytes; }
/* The section in which v is made or comes in; NULL: it is a constant. */
static inline struct section *value_section(const struct model *M, val_id v)
{
	graph_id g = val(M->m, v)->graph;
	return g && M->section_of[g] ? &M->sections.a[M->section_of[g] - 1] : NULL;
}

/* Counted time of a call's kernel at usual sizes (lower/sized.h). */
struct version_time call_counted(struct model *M, const struct call *c);

/* Numbers of steps, by what runs them. */
struct step_counts {
	uint32_t kernels, /* of these: */
		open,     /* whose sizes a run gives, of these: */
		sampled,  /* not proved for all of these sizes, but compared at some */
		versions, /* with other kernels for some sizes */
		plain;    /* to which the default schedule does not apply */
	uint32_t native, slow, flow;
};
struct step_counts model_steps(const struct model *M);

/* ---- home.c: where a value's bytes are ---- */

enum home_kind { HOME_NONE, HOME_INPUT, HOME_CONST, HOME_OUTPUT, HOME_ARENA, HOME_SLOT };
struct home {
	uint8_t kind;
	uint32_t index; /* input or output number; constant: val_id; slot */
	int64_t offset; /* arena: in bytes */
};
/* Needs a plan in the module. HOME_NONE: the plan has no place for it. */
struct home value_home(struct model *M, val_id v);
/* Is memory in row-major order: no layout, or one that moves only dims of size one? */
bool row_major(struct module *m, const struct type *t);
/* Bytes of a value of known size, as its layout pads it. */
int64_t value_bytes(struct module *m, val_id v);
/* Bytes of n's operands and results, and of the constants in the body of a group. 0 where a size is known only in a run. */
double node_bytes(struct module *m, const struct node *n);
/* Bytes that a value takes in the arena; and bytes from one image of it to the next, 0 if the images share one place or there is no
 * strip. */
int64_t home_bytes(const struct model *M, const struct call *c, val_id v);
int64_t image_step(const struct model *M, const struct call *c, val_id v);
/* Is the size of v known only in a run? */
bool value_varies(const struct module *m, val_id v);
bool node_varies(const struct module *m, const struct node *n); /* of an operand or a result */
/* Does the node's result share the bytes of its first operand? */
bool node_is_view(struct module *m, const struct node *n);

/* ---- native.c: calls of functions of lib/native ---- */

/* Says how many there are, and which. Nothing if there are none. */
void model_report_native(struct model *M);

/* ---- opaque.c: the slow path ---- */

/* Says how many calls are on the slow path, and which; refuse: die(69) instead. Nothing if there are none. */
void model_report_opaque(struct model *M, bool refuse);
/* The calls on the slow path as a packed stream: a module with a Fused node each, in order. Free it. */
char *model_opaque_stream(struct model *M, size_t *n);

/* "hone.gears.SYMBOL" = "1 128" in the metadata of a model of open sizes: sizes that the symbol often has. Number k of several symbols go
 * together. */
#define GEARS_OPEN "hone.gears."

/* Attribute of Fused nodes that run image by image: a number that the nodes of a strip share, and how many images there are. */
#define STRIP "strip"
/* Chooses the strips of graph g and leaves the attribute on their nodes, as model_new does for a plan. */
void model_strips(struct module *m, graph_id g, const struct target *t, int threads);
/* How many images the node runs for one after the other; 1: it is in no strip. */
int64_t strip_images(struct module *m, node_id n);
#endif
