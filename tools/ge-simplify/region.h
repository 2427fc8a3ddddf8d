/* Nodes that compute in any order of axes (order.c): which they are, and the same node in another order. */
#ifndef GE_SIMPLIFY_REGION_H
#define GE_SIMPLIFY_REGION_H
#include "common/map.h"
#include "op/rewrite.h"

enum { REGION_MAX = 1024 };

struct region {
	struct rewrite *rw;
	int rank;
	int64_t perm[RANK_MAX]; /* each value v of the region becomes v', where v is Transpose(v', perm) */
	int64_t back[RANK_MAX]; /* the inverse: v' is Transpose(v, back) */
	struct member {
		node_id node, by; /* by: the node in the new order, once there is one */
	} * member;
	int n;
	struct map at; /* node: 1 + its place in member */
};

enum region_operand {
	OPERAND_KEPT,  /* as it is: parameters, single numbers */
	OPERAND_MOVED, /* a value in the order of the region */
	OPERAND_CONST, /* a constant that is put in the new order */
	OPERAND_NEVER, /* neither */
};
enum region_operand region_operand(struct region *g, node_id n, uint32_t i);
/* Can node n be a member? */
bool region_takes(struct region *g, node_id n);
/* Does n drop the axes that it reduces? They are marked. */
bool region_drops_axes(const struct region *g, node_id n, bool axes[RANK_MAX]);
/* Member n in the new order, with these operands for those that are moved. */
node_id region_node(struct region *g, node_id n, const val_id *in);
#endif
