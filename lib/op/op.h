/* What an operator means: one row each, a shape rule and a reference evaluator.
 * Rows are `const struct op` next to their rules, one file a family (elementwise, reduce, matmul, conv,
 * pool, norm, move, shape, control, quant); op_row() finds them by opcode. */
#ifndef HONE_OP_H
#define HONE_OP_H
#include <stdnoreturn.h>
#include "common/rng.h"
#include "graph/module.h"

/* The elements of a small integer (or bool) tensor, as far as they are known: polynomials in the module's dims, or POLY_UNKNOWN. With
 * these, shape inference follows shape arithmetic. */
struct known {
	bool yes;
	int n; /* number of elements, as the type says; rank 0 or 1 */
	const poly *e;
};
enum { KNOWN_MAX = 1024 }; /* larger tensors are not followed */

/* One application of a shape rule. The rule reads in and fills out; what it does not fill is unknown. */
struct infer {
	struct module *m;
	node_id id;
	const struct node *n;
	const struct type *in;   /* n->nin; absent operands have dtype DT_NONE, rank RANK_UNKNOWN */
	const struct known *kin; /* n->nin */
	struct type *out;        /* n->nout */
	struct known *kout;
	/* Types and, if kout is not NULL, elements of a body's outputs, for these of its inputs (control operators). NULL, or why not.
	 * in NULL: the body is never applied here; out and kout are not changed. */
	const char *(*body)(struct infer *, graph_id g, const struct type *in, const struct known *kin, struct type *out,
			    struct known *kout);
	void *arg;
};

/* Memory for a result: n bytes at p, not cleared. */
struct room {
	void *p;
	size_t n;
};

/* One evaluation. in[i] NULL: absent. The evaluator fills out[i] through eval_out. */
struct eval {
	struct module *m;
	const struct node *n;
	struct tensor **in;
	struct tensor **out;
	struct arena *arena;     /* results */
	const struct room *room; /* room[i]: where result i goes if it has exactly so many bytes; NULL: nowhere in particular */
	struct arena *tmp;       /* scratch, dropped when the node is done */
	/* Runs a body (control operators, Fused, PartitionedCall). */
	const char *(*body)(struct eval *, graph_id g, int nin, struct tensor **in, struct tensor **out);
	void *arg;
};
/* A tensor for output i, with storage (zeroed). Its address. */
struct tensor *eval_out(struct eval *e, int i, enum dtype t, int rank, const int64_t *dims);
/* The same with storage that is not cleared: the caller fills all of it. */
struct tensor *eval_out_raw(struct eval *e, int i, enum dtype t, int rank, const int64_t *dims);

struct op {
	enum opcode op;
	/* NULL, or why not in words ("axis 3 outside rank 2"); caller adds who and where. */
	const char *(*shape)(struct infer *);
	const char *(*eval)(struct eval *);
	/* Floating point operations of one run, for reports; NULL: one for each output element. Needs static types. */
	double (*flops)(struct module *m, const struct node *n);
	/* Why eval cannot run this node, whatever the inputs; NULL: it can. Without this function, it always can. */
	const char *(*unable)(struct module *m, const struct node *n);
	/* Forms of sizes that are 0 or more where the rule takes the operands, in e, and how many: what a run checks before a kernel, beside
	 * the sizes of results. At most OP_LEAST_MAX. NULL: there are none. */
	int (*least)(struct module *m, const struct node *n, poly *e);
	bool counted; /* strings of its attributes are read by their length: a NUL may be within */
};
enum { OP_LEAST_MAX = 2 * RANK_MAX };
const struct op *op_row(enum opcode op);                       /* NULL: no row yet */
int op_least(struct module *m, const struct node *n, poly *e); /* least of its row */
/* Why n cannot be run, whatever its operands hold; NULL: it may run. Bodies are not looked at. */
const char *op_unable(struct module *m, const struct node *n);
/* The operators of m that nothing here has words for, by domain and name, each with how many nodes, as the reason of a refusal; NULL: there
 * are none. In m's arena. */
const char *op_unknown(struct module *m);
bool op_attr_is_type(enum opcode op, const char *attr); /* its value is the number of an element type */
/* May a run refuse a node of op for the elements of operand i, whatever size its results have? They name places in another operand, or axes,
 * sizes, or how many. */
bool op_refuses(enum opcode op, uint32_t i);
/* How large is an operand of rank `rank`, which the result has too, beside it on that axis? */
enum agreement { SIZES_ANY, SIZES_EQUAL_OR_1, SIZES_EQUAL };
enum agreement op_sizes_agree(const struct node *n, int axis, int rank);
double node_flops(struct module *m, const struct node *n); /* bodies included; 0 if not static */

/* Shape inference of the whole module, to a fixed point, through bodies: sets every value's type. Types that values have already are
 * merged in (a contradiction is bad data: graph_die). If known is not NULL, it receives an array of known values (module.values.n
 * entries, arena). */
void infer_module(struct module *m, struct known **known);
/* The same after sizes were given or a file was read: a declared shape of a result that contradicts its operator is dropped, with a
 * warning. */
void infer_declared(struct module *m, struct known **known);
/* Sizes of inputs are 1 or more from now on, where operators refuse a 0. False: nothing is new; else the caller infers again. */
bool bounds_above_zero(struct module *m);
/* Are the extents of n's results just those that its rule has for the types that its operands have now? Only constants are known. Nothing
 * is changed. */
bool infer_fits(struct module *m, node_id n);
/* Drops such declared shapes, and changes nothing else. */
void module_correct(struct module *m);
/* The check of every module that a tool reads: what module_check promises, and that attributes, operands and declared types are as the
 * operators' rules demand. Dies by graph_die; changes nothing. */
void module_verify_or_die(struct module *m);
/* One node again, after its operands changed. known may be NULL: then only constants are. */
void infer_node(struct module *m, node_id n, struct known *known);

/* --extern DOMAIN.OP=FUNCTION[:RULE] of a command line (extern.c says what a rule is). The check dies (64); the other makes all such nodes
 * of a domain that hone does not know Extern, which compiled models call FUNCTION for. */
void extern_check(const char *arg);
void extern_bind(struct module *m, const char *arg);

/* Binds symbols by name ("batch" = 1) everywhere in the module, or the shape of an input (negative extents stay). Unknown name: die(64)
 * with the list of symbols. The caller runs infer_module afterwards. */
void bind_symbol(struct module *m, const char *name, int64_t value);
void bind_shape(struct module *m, const char *input, int rank, const int64_t *dims);
/* The same from command lines: "batch=1,seq=128" and "input:1x3x640x640". */
void bind_sets(struct module *m, const char *arg);
bool bind_has_symbols(struct module *m);                 /* is there a symbol without a size? */
bool bind_sets_there(struct module *m, const char *arg); /* binds those symbols that the model has; false: it has none of them */
void bind_shapes(struct module *m, const char *arg);
/* "sr=16000", "sizes=480,640": the input becomes a constant of its type; false: there is no such input. */
bool bind_consts(struct module *m, const char *arg);
/* What --set, --shape and --const of a tool say of its one module, each in order. */
struct bindings {
	VEC(const char *) sets, shapes, consts;
};
void bind_all(struct module *m, const struct bindings *b);
noreturn void bind_no_input(const char *arg); /* die(64), for a tool that has only one module */
/* Gives `size` to every symbol that has none. Returns what that amounts to, as options; NULL: there was none. */
const char *bind_rest(struct module *m, int64_t size);
/* Dies for lack of sizes: lists every input with its type, and the command to paste; exit 64. */
noreturn void bind_missing(struct module *m, const char *command);

/* Runs one node on tensors that its shape rule takes: NULL, or why not. */
const char *eval_node(struct module *m, node_id n, struct tensor **in, struct tensor **out, struct arena *a);
/* The same as a step of a run, whose operands the shape rule is asked about first, with memory for its results that no operand overlaps
 * (room; may be NULL). A result that is computed there has it as its data. */
const char *eval_node_into(struct module *m, node_id n, struct tensor **in, struct tensor **out, const struct room *room, struct arena *a);
/* Runs graph g. Values are freed as soon as their last reader is done (large models fit). outs are in arena a.
 * each, if not NULL, is called with every computed value (per-layer dumps, calibration). */
struct eval_hooks {
	void (*each)(void *arg, struct module *m, val_id v, const struct tensor *t);
	void (*timed)(void *arg, struct module *m, node_id n, double seconds);
	void *arg;
};
void eval_graph(struct module *m, graph_id g, struct tensor **in, struct tensor **out, struct arena *a, const struct eval_hooks *h);
/* How often bodies (of Loop, Scan, If, calls) may be begun in one run, all together; then the run ends with 69. 0: the value of
 * HONE_BODIES, else 10,000,000. Memory is limited by arena_limit (arena.h). */
extern uint64_t eval_bodies_max;
/* --memory SIZE and --bodies N of the tools that run graphs. */
void eval_memory_option(const char *arg);
void eval_bodies_option(const char *arg);
/* Frees what runs of this thread held that ended in a trap (msg.h) instead of returning. */
void eval_abandon(void);

/* The operand that equals the only result of n in type and bits, for all inputs; 0: none that we know of. */
val_id node_identity(struct module *m, node_id n);
/* A new value of graph g that is v, computed by a node at the end. */
val_id node_identity_of(struct module *m, graph_id g, val_id v);
/* Is n a Gather from a table of bytes with an entry for every code? It is elementwise in operand 1. */
bool node_maps_codes(struct module *m, const struct node *n);
/* The axis along which the operands of n, of that rank, are behind each other in its result. -1: n does nothing of the kind. */
int node_joins(const struct node *n, int rank);
/* Where axis number `axis` of operand 0 is in the result of n, which adds or drops axes of size one; -1: n does nothing of the kind. */
int node_axis_after(struct module *m, const struct node *n, int axis);
/* How often gear k of a Case is expected to be taken, of 1. */
double gear_expected(struct module *m, node_id choice, uint32_t k);
/* The keys of a ZipMap that has them, ATTR_INTS or ATTR_STRS; else NULL. */
const struct attr *zip_keys(const struct node *n);
/* Is n a Dropout that keeps every element: outside training, or with ratio 0? */
bool dropout_keeps(struct module *m, const struct node *n);

/* Tensors without a module. */
struct tensor *tensor_new(struct arena *a, enum dtype t, int rank, const int64_t *dims); /* zeroed storage */
/* A value that is no tensor, of n items; they are used as they are. dtype: of the tensors inside. */
struct tensor *tensor_wrap(struct arena *a, enum kind kind, enum dtype t, size_t n, struct tensor **item);
struct tensor *tensor_copy(struct arena *a, const struct tensor *t); /* with all that is inside */
size_t tensor_size(const struct tensor *t);                          /* bytes of all that is inside */
bool tensor_like(const struct tensor *a, const struct tensor *b);    /* the same kinds, types and shapes inside */
double tensor_get(const struct tensor *t, int64_t i);                /* element i of a numeric tensor, as double */
void tensor_set(struct tensor *t, int64_t i, double v);              /* rounded, and saturating, unlike a C cast */
/* Random contents: floats uniform in [lo, hi], normal(0,1) if lo > hi; integers in [lo, hi]. */
void tensor_random(struct tensor *t, struct rng *r, double lo, double hi);
#endif
