/* ge-fuse: which nodes form one kernel. */
#ifndef GE_FUSE_H
#define GE_FUSE_H
#include "graph/plan_text.h"
#include "op/pass.h"

struct plan {
	struct module *m;
	const struct pass_ctx *c;
	struct uses uses;    /* of the module as it was before any group was formed */
	uint32_t *pos;       /* node: its place in its graph's order */
	uint8_t *role;       /* node: what it is in a group */
	uint32_t *group;     /* node: its group, from 1 in each graph; 0: in none */
	val_id *inner;       /* value: what stands for it in the body being formed */
	VEC(node_id) head;   /* group of this graph: the node it is named after; [0] unused */
	VEC(node_id) member; /* of the group that is growing */
	bool producers;      /* pull a Transpose into the group of the MatMul it feeds */
	bool *row_major;     /* group of this graph: the plan that was given says so, */
	int *threads;        /* or how many threads it uses at most */
	size_t *line;        /* group of this graph: its line in the plan that was given; 0: the rules made it */
};

/* Assigns p->group for the nodes of graph g: those of a plan, then those of the rules. Such a group has one result that is used outside, so no path
 * can leave it and come back: every set of groups can be ordered. */
void group_nodes(struct plan *p, graph_id g, uint32_t ordinal);
/* plan.c: plans as text (graph/plan_text.h). What cannot be is refused, with the line of the file.
 *
 * plan_begin: the groups of a file, for the module as it was read; plan_apply: makes those of graph g before the rules make the others;
 * plan_order: brings the nodes of g, with its groups formed, into order, for a group of a plan need not stand together. */
void plan_begin(const char *path, struct module *m);
void plan_apply(struct plan *p, graph_id g, uint32_t ordinal);
void plan_order(struct plan *p, graph_id g);
/* The Fused nodes of g whose groups stay row-major say so. */
void plan_mark(const struct plan *p, graph_id g);
void plan_end(void); /* each group was of a graph */
/* The groups that p has for graph g, appended. */
void plan_note(const struct plan *p, graph_id g, uint32_t ordinal, struct plan_text *out);
/* May the node be in a group at all? */
bool may_be_grouped(const struct plan *p, node_id n);
/* Begins a group of graph order; its number. */
uint32_t group_new(struct plan *p, node_id head);
/* Has a group of this node alone a kernel? */
bool has_kernel(struct module *m, node_id n);
/* What unpacks is there once for each user that has a kernel: each reads the packed form. */
void split_unpacking(struct module *m, graph_id g, const struct pass_ctx *c);
/* Is v made of constants alone, through elementwise nodes and Transposes, some of it unpacked? At most `depth` nodes up. */
bool made_of_packed(struct module *m, val_id v, int depth);
/* Einsums of more than two operands become Einsums of two. */
void split_einsums(struct module *m, graph_id g, const struct pass_ctx *c);
/* Attention becomes MatMuls and a Softmax, where it is known which sizes it has. All graphs; types are inferred again. */
void expand_attentions(struct module *m, const struct pass_ctx *c);
/* Attention to caches that grow, as products or with heads side by side, becomes Attention with an axis for heads. All graphs; types are
 * inferred again. */
void find_cached(struct module *m, const struct pass_ctx *c);
#endif
