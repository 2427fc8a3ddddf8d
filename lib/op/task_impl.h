/* Inside task texts: a group in canonical order, and the text of attributes. Private to lib/op. */
#ifndef HONE_TASK_IMPL_H
#define HONE_TASK_IMPL_H
#include "common/map.h"
#include "op/task.h"

/* Text in the making. */
struct task_out {
	char *a;
	size_t n, cap;
};
void put_text(struct task_out *o, const char *s, size_t n);
void put_word(struct task_out *o, const char *s);
void put_int(struct task_out *o, int64_t v);
void put_float(struct task_out *o, double v, enum dtype t); /* shortest that reads back to the same value of type t */
void put_end(struct task_out *o);                           /* a NUL, not counted */

/* ---- the group ---- */

enum form_kind { FORM_INPUT, FORM_CONST, FORM_RESULT };
struct form_value {
	val_id v;       /* of the body, or a constant of the module */
	uint8_t kind;   /* enum form_kind */
	bool by_value;  /* constants: what it holds is part of the task */
	uint32_t node;  /* results: number in form.node, */
	uint32_t index; /* and which result of it */
	uint64_t down;  /* what it is computed from */
	uint64_t fine;  /* and what is made of it: tells operands of equal down apart */
};
struct form_node {
	node_id id;
	uint32_t first, nin; /* operands: form.operand[first .. first+nin); absent ones behind the last are left out */
	uint32_t nout;       /* results that have to be named */
	size_t attrs;        /* offset of its attributes in form.text: "{group=2}" or "" */
	uint64_t what;       /* hash of operator, attributes and number of results */
	bool live;           /* a result of the group needs it */
};
enum { FORM_ABSENT = UINT32_MAX };

/* A Fused node's group: operands of commutative operators in order, statements in order. */
struct task_form {
	struct module *m;
	node_id fused;
	graph_id body;
	struct {
		struct form_value *a;
		size_t n, cap;
	} value;
	struct {
		struct form_node *a;
		size_t n, cap;
	} node; /* as the body has them */
	struct {
		uint32_t *a;
		size_t n, cap;
	} operand, order; /* order: numbers of nodes */
	uint32_t *result; /* of the body, as values */
	struct task_out text;
	struct map number; /* value of the module -> 1 + its number in value; FORM_ABSENT + 1: none */
};
/* NULL, or why the group has no task (arena a). To be released either way. */
const char *task_form_make(struct task_form *f, struct module *m, node_id fused, struct arena *a);
void task_form_release(struct task_form *f);

/* ---- attributes ---- */

/* "{group=2 pads=1,1,1,1}", those that differ from their defaults; "" if there are none. NULL, or why not. */
const char *task_put_attrs(struct task_out *o, struct module *m, const struct node *n, struct arena *a);
/* name=value inside the braces, at *s; moved behind it. Faults: die(EX_BADDATA). */
void task_read_attr(struct module *m, node_id n, const char **s);

/* Elements of a numeric tensor, with commas; x.data is there. */
void task_put_elements(struct task_out *o, const struct tensor *x);

/* ---- reading ---- */

int64_t task_read_int(const char **s); /* die(EX_BADDATA) where there is none */
double task_read_float(const char **s);
/* An element of type t into tensor x at i. */
void task_read_element(struct tensor *x, int64_t i, const char **s);

/* task_module with constants of at most limit bytes in all. */
struct module *task_read(const char *text, uint64_t seed, size_t limit, struct arena *a, const char **why);

/* ---- contents ---- */

/* Random contents for the constants that are known by type only (data zero so far; by_type by val_id). */
void task_fill(struct module *m, graph_id body, const bool *by_type, uint64_t seed);
#endif
