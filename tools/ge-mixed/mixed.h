/* Between the files of ge-mixed. */
#ifndef HONE_MIXED_H
#define HONE_MIXED_H
#include "common/choice.h"
#include "common/vec.h"
#include "kb/kb.h"
#include "op/npy.h"
#include "op/pass.h"
#include "target/target.h"

/* What an operator may be in fewer bits. */
enum may {
	MAY_NOT,   /* deny: it stays as it is */
	MAY_INFER, /* in either form: where its neighbours are */
	MAY_ALLOW, /* where its measured time pays */
};
/* By the lists. low: the type of fewer bits; a quantised model (DT_U8) has said of all its operators that codes are enough. */
enum may may_be(enum opcode op, enum dtype low);
/* A file of names of operators, one or more a line, "#" to the line's end; bad ones are 65. */
void may_read(const char *path, enum may may);
/* The operator that a quantised node is in integers; 0: none. */
enum opcode integer_form(enum opcode op);

/* A thing of the choice: a node that may be in either form, with the elementwise nodes that only it is read by. */
struct thing {
	node_id node;
	bool kept;           /* --keep */
	bool bounded;        /* --error: more would move the numbers too far */
	bool missing[2];     /* a time of that form was not measured */
	double seconds[2];   /* measured, in each form */
	double predicted[2]; /* by the cost model; 0: it does not say */
	bool is_predicted;   /* seconds are these */
};
/* A value that one makes and others read: at a QuantizeLinear of a quantised model, of a node's result else. */
struct crossing {
	val_id v;          /* the value in its high form */
	node_id at;        /* its QuantizeLinear; 0: none */
	double seconds[2]; /* FORM_HIGH: of the cast up to it; FORM_LOW: down to it */
	bool counted[2];   /* not measured: by bytes, or by operations */
	uint32_t first, n; /* its readers in reader */
};
struct mixed {
	struct module *m;
	const struct pass_ctx *c;
	struct arena *arena;
	enum dtype low; /* DT_U8: a quantised model */
	bool drops;     /* of which quantisers between two nodes of f32 go */
	uint32_t *of;   /* node: its thing; 0: outside, which is high */
	val_id *plain;  /* value: before QuantizeLinear and DequantizeLinear; itself else */
	struct uses uses;
	size_t uses_values;      /* values that there were at first */
	VEC(struct thing) thing; /* [0]: outside */
	VEC(struct crossing) crossing;
	VEC(uint32_t) reader;
	VEC(const char *) wanted; /* tasks that were not measured */
	bool *is_low;             /* thing */
	int64_t before, after;    /* picoseconds */
};

/* What may be in either form, and what goes from one to another. */
void mixed_find(struct mixed *x, const char *const *keep, size_t nkeep);
void mixed_free(struct mixed *x);
/* A QuantizeLinear or DequantizeLinear of one constant scale for the whole value. */
bool is_per_tensor(struct mixed *x, const struct node *n);
/* Where times come from. row: the target as records name it; predict: groups have the cost model's, too. */
struct mixed_source {
	struct kb *kb;
	const struct target *target;
	const char *row;
	bool predict;
};
/* Times of single nodes, in both forms. */
void mixed_node_times(struct mixed *x, const struct mixed_source *s);
/* Times of the groups of the stream in `path`: the same model with all that may in that form, after ge-fuse. A group's time is that of the
 * first product in it, else of the first other thing. A stream of another model is 65. */
void mixed_group_times(struct mixed *x, enum form f, const char *path, const struct mixed_source *s);
/* Things of which a time is missing get those of the cost model, in both forms. */
void mixed_predict(struct mixed *x);
/* Less than the node takes on a core of t, whatever kernel it has: its operations on whole vectors, a cycle at least. The fastest algorithms
 * (Winograd's) save a part of the operations, and no factor as large as the one that is taken here. */
double possible_seconds(struct module *m, node_id n, const struct target *t);
/* Times of casts; those that were not measured are counted by their bytes, those to codes by operations. */
void mixed_cast_times(struct mixed *x, const struct mixed_source *s);
/* max|y-r| / max|r| of the outputs, the most of all, where the nodes have the forms of is_low. */
double mixed_error(struct mixed *x, const struct input_spec *inputs);
/* Thing i is to have the other form than in the model. */
bool mixed_changed(const struct mixed *x, uint32_t i);
/* Of the things that were changed, those that gain most first, as many as keep max|y-r| / max|r| of every output within `most`; choose is called
 * again for what is left. The error that is left. */
double mixed_bound(struct mixed *x, double most, const struct input_spec *inputs, void (*choose)(struct mixed *));
/* Numbers that all elements of v lie between; depth: so many nodes are looked at, one behind the other. */
struct interval {
	double lo, hi;
};
struct interval interval_of(struct module *m, val_id v, int depth);
/* Nodes get their forms. */
void mixed_apply(struct mixed *x);
#endif
