/* The rules of ge-integer, one table a step, each ended by a row without a name; and how they read what is quantised. */
#ifndef GE_INTEGER_H
#define GE_INTEGER_H
#include "op/op.h"
#include "op/rewrite.h"
#include "target/target.h"

extern const struct rule rules_island[];     /* Conv, MatMul and Gemm of dequantised operands */
extern const struct rule rules_range[];      /* in front of QuantizeLinear */
extern const struct rule rules_scale[];      /* the same: its scale */
extern const struct rule rules_tiny[];       /* QuantizeLinear by scales that are not normal numbers */
extern const struct rule rules_transposed[]; /* ConvTranspose of such */
extern const struct rule rules_sink[];       /* nodes that move bytes */
extern const struct rule rules_table[];      /* functions of one code */

/* Node n moves its operands' elements (the first mover_operands of them), those of bytes too, and invents none but by a Pad. */
bool mover_is(struct module *m, node_id n);
uint32_t mover_operands(const struct node *n);
/* level.c. Rounds the rows of products with weights in blocks to bytes, where t multiplies them faster so; all: also of products for which the
 * model does not allow it. Of how many products. */
int level_rows(struct module *m, const struct pass_ctx *c, const struct target *t, bool all);
bool level_allowed(struct module *m); /* for one product at least */
void level_forget(struct module *m);  /* what the model allows: no DequantizeLinear says so any more */

/* All values of bytes of type `from` that may be recoded become ones of type `to`; only_wanted: those that a MatMulInteger reads as
 * operand 1, and what is joined to them. */
void recode(struct module *m, enum dtype from, enum dtype to, bool only_wanted);

/* What a DequantizeLinear or QuantizeLinear node says: constants only, one for all or one for each index of an axis. */
struct grid {
	enum dtype type; /* of the integers */
	int64_t n;       /* scales; 1: one for all */
	int axis;        /* of n > 1 */
	double *scale;   /* n, positive and finite */
	double *zero;    /* n; NULL: all are 0 */
};
/* The scales and zero points of node n, whose float side is f32. NULL, or what is not so. */
const char *grid_read(struct rewrite *rw, node_id n, struct grid *g);
/* The same of the DequantizeLinear that v is the result of; *q is what it dequantises. */
const char *dequantised(struct rewrite *rw, val_id v, struct grid *g, val_id *q);
static inline double grid_zero(const struct grid *g, int64_t i) { return g->zero ? g->zero[g->n == 1 ? 0 : i] : 0; }
static inline double grid_scale(const struct grid *g, int64_t i) { return g->scale[g->n == 1 ? 0 : i]; }
/* Equal type, scales and zero points, one for all. */
bool grid_same(const struct grid *a, const struct grid *b);

val_id scalar_f32(struct rewrite *rw, double x);
val_id scalar_of(struct rewrite *rw, enum dtype t, double x);
/* "NAME REASON" in the module's arena. */
const char *reason(struct rewrite *rw, const char *name, const char *why);
#endif
