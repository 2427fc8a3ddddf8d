/* Attention to a past that comes in and a present that goes out, as a Concat each for keys and values, and Attention to what they give. */
#ifndef HONE_PAST_H
#define HONE_PAST_H
#include "op/rewrite.h"

/* Attention with heads side by side gets an axis for heads, if it has a past. */
extern const struct rule rule_heads_apart;

/* Attention of graph g, the main one, whose past is an input and whose present is an output becomes Concats and Attention to what they give.
 * counted: it is told in any case how many keys are valid, so it is known as one that reads a cache. Types are not inferred again. */
void split_pasts(struct module *m, graph_id g, bool counted, const struct pass_ctx *c);

/* Both, with the keys counted, on the main graph; types are inferred again. */
void join_pasts(struct module *m, const struct pass_ctx *c);
#endif
