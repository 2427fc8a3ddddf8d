/* Parts of ge-quantize. */
#ifndef HONE_GE_QUANTIZE_H
#define HONE_GE_QUANTIZE_H
#include "graph/module.h"
#include "graph/pass.h"
#include "quant/range.h"

/* What becomes of a node that is quantised (operators.c). */
enum part {
	PART_NONE,
	PART_WEIGHTS, /* a product of its first operand with a constant */
	PART_INPUTS,  /* its operands are bytes, its result is not */
	PART_MOVES,   /* a result of bytes has the scale of its operands */
	PART_TABLE,   /* it takes rows of a constant, which become bytes; its result does not */
};
enum part part_of(enum opcode op);
/* Of a node with weights: their operand, the axis of them that is the result's channels, and the bias; -1: it has none. */
struct weights_at {
	uint32_t operand;
	int axis;
	int bias;
};
/* false: the weights of n are not such that they can be quantised. */
bool weights_of(struct module *m, const struct node *n, struct weights_at *w);

/* Is n's first operand a constant table of floats whose rows it takes, large enough, and nobody else's weights? */
bool is_table(struct module *m, const struct uses *u, const struct node *n);

enum activations { ACTIVATIONS_STATIC, ACTIVATIONS_DYNAMIC, ACTIVATIONS_NONE };
struct quantize_options {
	enum range_method method;
	double percentile;
	int weight_bits;
	int block; /* weights of a channel of a matrix that share a scale, where operands stay floats; 0: all */
	enum activations activations;
	bool correct; /* biases take the mean error of the weights */
};

/* What rounding its operand costs a layer, channel by channel as its weights have it: large channels that it hardly reads make steps in
 * which the others drown. Errors are parts of the power. */
struct reader {
	double error;       /* of the sum of all channels */
	uint32_t worst;     /* channel, */
	double worst_error; /* of that channel */
};
/* A layer: a node that may be quantised. */
struct layer {
	node_id node;
	const char *name;
	enum part part;
	double weight_error;     /* of the power of the weights, the part that rounding makes */
	double activation_error; /* the same of its operand */
	bool read;               /* what follows is known */
	struct reader reader;
	struct range range;  /* of its operand */
	double microseconds; /* that it takes longer in float */
	double harm;         /* what the metric loses where it alone is quantised; NAN: not measured */
	bool on;
};

/* A model to be quantised, in more than one way. */
struct plan {
	struct quantize_options options;
	const char *bytes; /* the model as a stream */
	size_t nbytes;
	const char *source;
	const struct value_stat **stat; /* by value; NULL: none, or not fit to be quantised */
	bool *odd;                      /* by value: it was infinite or no number for some samples */
	size_t nvalues, nnodes;
	VEC(struct layer) layers;
	bool timed; /* microseconds were measured, not estimated */
	struct arena arena;
};

struct module *plan_module(const struct plan *p); /* the model again, with the same ids */
/* A model in which the layers with on[i] are quantised; errors of the layers are written where err is not NULL. */
struct module *plan_build(struct plan *p, const bool *on, struct layer *err);

/* chosen.c: what --only and --skip say, patterns of names or operators. */
void chosen_only(const char *what);
void chosen_skip(const char *what);
/* Dies (64) where a pattern is that of no node of m, with the nearest name. */
void chosen_check(struct module *m);
bool is_chosen(struct module *m, const struct node *n);
const char *layer_name(struct module *m, const struct node *n); /* of the node, else of its first result */

/* worth.c: takes layers without weights that bytes save nothing for from the list. */
void keep_worth(struct plan *p, struct module *m);
/* Made by a product, with a bias, a factor or another shape or without, for additions alone: it is not rounded before these. */
bool is_joined(struct module *m, const struct uses *u, val_id v);

/* Scales of weights, and what rounding did. */
struct rounded_weights {
	int64_t outer, n, inner; /* n: along the axis of scales */
	int64_t block, count;    /* elements of a channel that share a scale, 0: all; so many scales a channel has */
	float *scale;            /* n, count: the first of them innermost where outer is more than 1 */
	int8_t *q;               /* as many as the weights */
	double error, power;     /* mean squares */
};
void weights_round(struct rounded_weights *r, const float *w, int bits, bool search, struct arena *a);

/* metric.c: sets on[] so that the metric holds; false: it does not, or it was interrupted. */
struct metric {
	const char *command;
	double drop;
	double seconds;       /* of the search; 0: as long as it takes */
	double before, after; /* of the model in float, and as it is now */
	int runs;
	bool interrupted;
};
bool metric_hold(struct metric *k, struct plan *p, bool *on);

/* balance.c: channels of operands made alike, in floats. Returns of how many operands. */
struct balance_options {
	bool equalize;
	double smooth; /* the part of the range that goes into weights; negative: not at all */
	double worth;  /* the most of the error that may be left, where no node is added */
};
int balance(struct module *m, const struct statistics *s, const struct balance_options *o);
/* The part of the error that dividing v's channels is promised to leave; 1: no less. exact: a product makes them, --equalize divides it. */
double balance_left(struct module *m, val_id v, const struct value_stat *s, double part, bool *exact);
/* false: its weights do not tell the channels apart, or the statistics do not. */
bool reader_gets(struct module *m, const struct node *n, const struct value_stat *s, struct range r, struct reader *out);

/* Which of two halves of the layers, 1 or 2, has number i. */
static inline bool alternates(size_t i, int half) { return (int)(i % 2) + 1 == half; }

/* times.c: files with what run-dev measured of libraries where all layers are on bytes, those of the first half, those of the second.
 * Not such files: die(65). */
void times_read(struct plan *p, const char *const file[3]);

/* report.c; e: of the outputs, NULL if no samples were given */
struct output_errors;
void report_print(const struct plan *p, const struct metric *k, const struct output_errors *e, const bool *on, bool json);
/* hint.c: warns where outputs are far from float, or a layer loses most of what it reads, and says what helps. */
void hint(const struct plan *p, const struct output_errors *e, const bool *on);
#endif
