/* A module as boxes and lines: nodes of all graphs in one picture, those of a fused group together. */
#ifndef GE_DOT_VIEW_H
#define GE_DOT_VIEW_H
#include "graph/module.h"

enum item_kind { ITEM_NODE, ITEM_INPUT, ITEM_OUTPUT };
struct item {
	enum item_kind kind;
	node_id node;   /* ITEM_NODE */
	val_id value;   /* an input; what an output is; the first result of a node, 0 if it has none */
	sym name;       /* of a node its name in the picture: that of its first result, else its own */
	graph_id graph; /* of a node */
	uint32_t group; /* that it is in, 0 for none */
};
/* A Fused node, whose body is shown in its place. */
struct group {
	node_id node;
	double seconds; /* it is predicted to take, 0 if nothing is known */
	uint32_t nitem;
};
struct line {
	uint32_t from, to; /* items; from stands before to in their order */
	val_id value;
};

struct view {
	struct module *m;
	VEC(struct item) item;   /* [0] unused; operands come first */
	VEC(struct group) group; /* [0] unused */
	VEC(struct line) line;   /* sorted by to */
	double seconds;          /* of all groups of the module */
	size_t nodes, hidden;    /* nodes of the module; of these such as are in no item and no closed group */
	bool closed;             /* groups are single items */
};

struct view_opts {
	size_t limit;       /* nodes: groups are closed where there are more, then the first ones are kept; 0: no limit */
	const char *around; /* keeps what is `steps` lines or less from the node, group, input or output of this name; NULL: all */
	int steps;
};

/* No item has the name: die(64). */
struct view view_new(struct module *m, const struct view_opts *o);
void view_free(struct view *v);
/* Operator of an item, "input" or "output"; the type of its value or "". In the view's scratch. */
const char *item_op(const struct view *v, const struct item *x, struct arena *a);
const char *item_type(const struct view *v, const struct item *x, struct arena *a);
/* "12.3 us"; "" for 0. */
const char *seconds_text(double seconds, struct arena *a);
const char *group_name(const struct view *v, const struct group *g);
#endif
