/* Plans as text: which nodes of a graph form groups (ge-fuse --plan). A line a group, after the graph that it belongs to:
 *
 *   hone-plan 1 9a0c..                  the digest of the module without groups
 *   graph main
 *   group conv1 relu1                   nodes, by the name of their first result
 *   group "a name with blanks" add_3
 *   row-major conv2 relu2               a group, too; its results stay row-major (ge-layout)
 *   threads 1 group conv3               its kernel uses one thread at most
 *
 * Names are written and quoted as in the text form of graphs, and graphs of one name told apart as there (main#2); "#" begins a comment. */
#ifndef HONE_PLAN_TEXT_H
#define HONE_PLAN_TEXT_H
#include <stdio.h>
#include "graph/module.h"

enum { PLAN_THREADS_MAX = 256 };

struct plan_group {
	sym graph;
	uint32_t ordinal; /* which of the graphs of that name, from 1 */
	VEC(sym) node;
	bool row_major;
	int threads; /* 0: as many as there are */
	size_t line; /* of the text */
};
struct plan_text {
	struct digest of; /* module_digest */
	VEC(struct plan_group) group;
};

/* Reads a file whole. What is no plan: die(65) with file, line and reason. */
void plan_text_read(struct plan_text *p, const char *path);
void plan_text_write(const struct plan_text *p, FILE *f);
/* Appends a group without nodes. The pointer is good until the next. */
struct plan_group *plan_text_add(struct plan_text *p, sym graph, uint32_t ordinal);
void plan_text_free(struct plan_text *p);
/* The first result of a node, which names it in a plan; 0: it has none. */
val_id plan_result(const struct node *n);
#endif
