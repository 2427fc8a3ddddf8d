/* Groups image by image: what a group does with one n-th of axis 0 of its operands, where that is all that it needs for the
 * same n-th of its results. */
#ifndef HONE_IMAGE_H
#define HONE_IMAGE_H
#include "graph/module.h"
#include "lower/lower.h"

/* May Fused node n run image by image, `images` of them? Its stages are looked at: each reads, of every operand that is not
 * constant, the row of axis 0 that it writes, and an image of it is what the group is lowered to for an image's types. */
bool image_apart(struct module *m, node_id n, int64_t images, const struct target *t);
/* As lower, with the types of one image. Only where image_apart. */
struct lowered image_lower(struct module *m, node_id n, int64_t images, const struct target *t, const char *algo, const char **why,
			   struct lowered (*lower)(struct module *, node_id, const struct target *, const char *, const char **));
#endif
