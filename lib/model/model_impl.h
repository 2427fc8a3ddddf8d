/* Between the files of lib/model: the steps of model_new, in its order. */
#ifndef HONE_MODEL_IMPL_H
#define HONE_MODEL_IMPL_H
#include <stdnoreturn.h>
#include "common/msg.h"
#include "model/model.h"

enum { ADDRESS_BITS = 47, ELEMENT_BITS = 4 }; /* of the size of what can be addressed, and of an element, at most */

/* ---- groups.c ---- */
/* Dies if anything is larger than what can be addressed, or the main graph takes what cannot be compiled. */
void groups_check(struct module *m);
/* Puts every node of a graph that is neither Fused nor a view into a group of its own. What cannot be compiled, as model_new says: die.
 * It may add graphs: pointers to graphs from before are not valid any more. */
void groups_make(struct module *m, graph_id g);
/* How many groups the nodes of one could be. */
size_t group_parts(struct module *m, node_id group);
/* Puts the nodes of group number i of graph g, more than one, into groups of their own, in its place. */
void group_split(struct module *m, graph_id g, size_t i);
/* The one node of a group, if the results of the group are its, each once; else 0. */
node_id group_alone(struct module *m, node_id group);
/* The evaluator computes all nodes of a graph, also in bodies; else die(69). */
void evaluators_check(struct module *m, graph_id g);
/* The message is about node n; 0: about the module. */
noreturn void model_die_at(struct module *m, node_id n, enum exit_code code, const char *why);

/* ---- sections.c ---- */
/* Makes groups and lists the sections. Fills sections and section_of. */
void sections_find(struct model *M);

/* ---- state.c ---- */
/* Fills states: the aliases that the module names. What is no input, no output, or not of one type: die(65). */
void states_find(struct model *M);
/* Moves nodes of the main graph and of branches so that a state is read before it is written, where that can be. Needs root. */
void states_order(struct model *M);

/* ---- in_place.c ---- */
/* Input number `in` and output number `out` of branches. */
struct branching {
	uint32_t in, out;
};
/* Does step c, which runs one of some branches or a body once, give them the bytes of `in` as one input, and take r, its result, of one
 * output, both of known size and as they are? A call may have its node and `alone` only. */
bool passes_branches(const struct model *M, const struct call *c, val_id in, val_id r, struct branching *b);
/* NULL: the output of a state of known size may be written where its input lies. Else why not. */
const char *state_apart(const struct model *M, const struct state *s);
/* Bytes that a run copies at its end. */
int64_t state_copied(const struct model *M, const struct state *s);
/* Bytes of a state of known size that a run writes, besides what steps put into it in place. */
int64_t state_written(const struct model *M, const struct state *s);
/* Marks the steps that may change states of open sizes in place. Needs all calls. */
void states_lend(struct model *M);

/* ---- append.c ---- */
/* Fills axis of the states. */
void states_append(struct model *M);
/* The state + 1 that the group of a node appends to; 0: none. */
uint32_t append_state(const struct model *M, node_id group);

/* ---- control.c ---- */
/* The control operator that Fused node n has alone in its group, if each of its bodies can be run as steps; else 0. */
node_id control_node(struct module *m, node_id n);
/* Appends the call of Fused node n, which applies control operator x. */
void control_add(struct model *M, node_id n, node_id x);
/* Gives slots to operands that may have to be padded; after all others. */
void fitted_slots(struct model *M);

/* ---- home.c ---- */
/* Fills root, and out of the sections. A view of what is not row-major: die(65). */
void views_follow(struct model *M);
/* The same for values and graphs that are there since; a group of g was split. */
void views_split(struct model *M, graph_id g);
/* The roots of the values of g, of which each is its own before. */
void views_follow_graph(struct model *M, const struct graph *g);

/* ---- slots.c ---- */
/* Is there any value of varying size in a section? */
bool model_varies(const struct model *M);
/* Any sequence or optional of numbers? */
bool model_lists(const struct model *M);
/* Fills slot and nslots, and the slots of control calls. */
void slots_give(struct model *M);
/* Fills kin; after all slots are given. */
void slots_kin(struct model *M);

/* ---- sizes.c ---- */
/* There are more values than `had`. */
void sizes_grow(struct model *M, size_t had);
/* What a run knows where a section begins. */
void sizes_begin(struct model *M, const struct section *s);
/* Call, which is no kernel's (those make what types say), has made its results: what does a run know now? */
void sizes_take(struct model *M, uint32_t call);
/* The bodies of a call are run here. */
void sizes_pass(struct model *M, const struct control *x);
/* NULL: a run knows all sizes of v now, and they are as the type says; else why not. */
bool sizes_taken_for_one(const struct model *M); /* did sizes_agree, of the call that is made next, find sizes that differ? */
const char *sizes_settled(const struct model *M, val_id v);
/* Sizes that must be equal are one in the types of a group, which a run makes sure of. Returns what the types of its graph's inputs
 * were, for sizes_disagree, which is next behind its call. */
dim **sizes_agree(struct model *M, node_id n);
void sizes_disagree(struct model *M, node_id n, dim *const *old);
void sizes_release(struct sizes *s, size_t nsections);

/* ---- strips.c ---- */
/* Chooses the strips of the main graph, where it is not of open sizes, and of gears. */
void strips_choose(struct model *M, const struct target *t);
/* Fills images, strip and last of all calls, and inner. */
void strips_find(struct model *M);

/* ---- lanes.c ---- */
/* Fills lane, lanes, strip and last of calls that are in lanes. Lanes that cannot be: die(65). */
void lanes_find(struct model *M);

/* ---- native.c ---- */
/* The node of a group that has no stages and is a call of a function of lib/native, all row-major; 0: it is none. */
node_id native_node(struct module *m, node_id group);
/* The node of a group that is a view of varying size, for which nothing is copied; 0: it is none. */
node_id native_view(struct module *m, node_id group);

/* ---- opaque.c ---- */
/* The calls of one kind, with their operators: "pool (LpPool), branch (If)". How many; *text is to be freed. */
uint32_t calls_named(struct model *M, uint32_t kind, char **text);

/* ---- kernels.c ---- */
/* Lowers and schedules Fused node n, and appends its call; its kernel too, if there is no equal one. False: there is no kernel for all
 * of it, nor a function; its nodes may have some. Then no call is added. */
bool call_add(struct model *M, node_id n, const struct target *t, const struct given_traces *traces);
/* Makes *c the call of a kernel of group n for these sizes, and the kernel, if there is no equal one: scheduled by the trace, unless another
 * is given. False, and why: there is none. */
bool kernel_call(struct model *M, node_id n, const struct target *t, const struct given_traces *traces, struct sized_for sizes,
		 const char *trace, struct call *c, const char **why);
/* The default schedule of group n for these sizes; NULL: there is none. */
const char *kernel_trace(struct model *M, node_id n, const struct target *t, struct sized_for sizes);
/* The last kernel, which no call is of, is gone. */
void kernel_drop(struct model *M);

/* ---- versions.c ---- */
/* Gives call c, which has a kernel, others for runs of one row and of the sizes that gears name (GEARS_OPEN), where they are faster. */
void versions_add(struct model *M, const struct target *t, const struct given_traces *traces, struct call *c);
#endif
