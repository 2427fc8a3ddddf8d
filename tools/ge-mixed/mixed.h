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
	MAY_INFER, /* in either form at no cost of its own: where its neighbours are */
	MAY_ALLOW, /* where its measured time pays */
};
extern uint8_t may_column[OP_COUNT];
/* A file of names of operators, one or more a line, "#" to the line's end; bad ones are 65. */
void may_read(const char *path, enum may may);
/* The operator that a quantised node is in integers; 0: none. */
enum opcode integer_form(enum opcode op);

/* A thing of the choice: a node that may be in either form, with the elementwise nodes that only it is read by. */
struct thing {
	node_id node;
	bool kept;           /* --keep */
	bool bounded;        /* --error: more would move the numbers too far */
	const char *task[2]; /* in each form; NULL: it costs nothing */
	double seconds[2];   /* 0: not measured */
};
/* A value that one makes and others read: at a QuantizeLinear of a quantised model, of a node's result else. */
struct crossing {
	val_id v;            /* the value in its high form */
	node_id at;          /* its QuantizeLinear; 0: none */
	const char *task[2]; /* FORM_HIGH: up to it; FORM_LOW: down to it */
	double seconds[2];
	uint32_t first, n; /* its readers in reader */
};
struct mixed {
	struct module *m;
	const struct pass_ctx *c;
	struct arena *arena;
	enum dtype low; /* DT_U8: a quantised model */
	uint32_t *of;   /* node: its thing; 0: outside, which is high */
	val_id *plain;  /* value: before QuantizeLinear and DequantizeLinear; itself else */
	struct uses uses;
	size_t uses_values;      /* values that there were at first */
	VEC(struct thing) thing; /* [0]: outside */
	VEC(struct crossing) crossing;
	VEC(uint32_t) reader;
	bool *is_low;          /* thing */
	int64_t before, after; /* picoseconds */
};

/* What may be in either form, and what goes from one to another. */
void mixed_find(struct mixed *x, const char *const *keep, size_t nkeep);
void mixed_free(struct mixed *x);
/* Texts of tasks, and what the knowledge base has measured of them. Casts that were not measured are counted by their bytes. */
void mixed_tasks(struct mixed *x);
/* row: the target as records name it. */
void mixed_times(struct mixed *x, struct kb *kb, const struct target *t, const char *row);
/* Of the products that were chosen, those that gain most first, as many as keep max|y-r| / max|r| of every output within `most`; choose is called
 * again for what is left. The error that is left. */
double mixed_bound(struct mixed *x, double most, const struct input_spec *inputs, void (*choose)(struct mixed *));
/* Nodes get their forms. */
void mixed_apply(struct mixed *x);
#endif
