/* The module: graphs, nodes, values, constants.
 *
 * Everything is an id into an array of the module, 0 for none; everything is allocated from the
 * module's arena and dropped with it, passes free nothing. Bodies are closed: a node's operands
 * are values of its own graph or constants, which belong to the module. What a pass needs to know
 * per node or value is a side array of the pass, indexed by id.
 * Written for a million nodes: no operation here is worse than linear in what it touches. */
#ifndef HONE_MODULE_H
#define HONE_MODULE_H
#include "common/arena.h"
#include "common/digest.h"
#include "common/intern.h"
#include "common/poly.h"
#include "common/vec.h"
#include "graph/ops.h"
#include "graph/types.h"

typedef uint32_t val_id;
typedef uint32_t node_id;
typedef uint32_t graph_id;
typedef poly dim; /* in module.dims; POLY_UNKNOWN is an unknown dimension */

enum { RANK_UNKNOWN = -1, RANK_MAX = 64 };

struct type {
	enum dtype dtype;
	int rank;   /* RANK_UNKNOWN, or the number of dims */
	dim *dims;  /* rank of them, in the arena */
	sym layout; /* 0: row-major; else e.g. "0 2 3 1": order of the logical axes in memory, outermost first */
	sym other;  /* 0: tensor; else ONNX's text of a type that is none, "seq(tensor(float))": dtype is DT_NONE, and rank and dims are
			those of the tensors inside (graph/kinds.h reads and makes it) */
};

enum kind { KIND_TENSOR, KIND_SEQUENCE, KIND_OPTIONAL, KIND_MAP, KIND_OTHER };

/* Where the bytes of a constant are. Row-major, little-endian. str: each u32 length, then bytes.
 * While a graph runs it may be a value that is no tensor; then it has no bytes and the shape [0]. Constants are always tensors. */
struct tensor {
	enum dtype dtype;
	int rank;
	int64_t *dims;
	size_t nbytes;
	const void *data; /* NULL: in the blob store, not loaded (tensor_data loads it) */
	bool has_digest;
	struct digest digest; /* of the bytes; set when they are in the blob store, else on demand */
	uint8_t kind;         /* enum kind */
	size_t nitem;         /* what is inside: elements of a sequence; none or one of an optional; keys and values of a map */
	struct tensor **item;
};

enum value_kind { VAL_NODE, VAL_INPUT, VAL_CONST };
struct value {
	sym name;     /* unique in its graph (constants: in the module) when written */
	uint8_t kind; /* enum value_kind */
	struct type type;
	graph_id graph;        /* 0 for constants */
	node_id def;           /* VAL_NODE: its node; VAL_INPUT: 0 */
	uint32_t index;        /* which output of def, or which input of graph */
	struct tensor *tensor; /* VAL_CONST; of an overridable VAL_INPUT: its default */
	bool overridable;      /* input with a default (ONNX: initializer that is also an input) */
};

enum attr_kind { ATTR_INT, ATTR_FLOAT, ATTR_STR, ATTR_INTS, ATTR_FLOATS, ATTR_STRS, ATTR_TENSOR, ATTR_GRAPH, ATTR_GRAPHS, ATTR_TYPE };
struct attr {
	sym name;
	uint8_t kind; /* enum attr_kind */
	uint32_t n;   /* elements of INTS, FLOATS, STRS, GRAPHS; bytes of STR */
	union {
		int64_t i;
		float f;
		const char *s; /* n bytes and a NUL; may hold any byte */
		const int64_t *ints;
		const float *floats;
		const sym *strs;
		struct tensor *tensor;
		graph_id graph;
		const graph_id *graphs;
		struct type *type;
	} u;
};

struct node {
	enum opcode op;     /* OP_OTHER: unknown domain, passed through; see domain and optype */
	sym name;           /* may be 0 */
	sym domain, optype; /* of OP_OTHER; optype else is op's name and domain its domain */
	graph_id graph;
	uint32_t nin, nout, nattr;
	val_id *in;        /* 0: an optional operand that is not there */
	val_id *out;       /* 0: an optional result that is not wanted */
	struct attr *attr; /* sorted by name's text */
};

struct graph {
	sym name;
	VEC(val_id) in;
	VEC(val_id) out;
	VEC(sym) out_name;  /* as many as out */
	VEC(node_id) nodes; /* in an order in which operands come first */
};

struct meta {
	sym key, value;
};

struct module {
	struct arena arena;
	struct polys *dims;
	VEC(struct value) values; /* [0] unused, in all three */
	VEC(struct node) nodes;
	VEC(struct graph) graphs;
	graph_id main;
	int64_t ir_version, opset;    /* opset: the canonical one once imported */
	VEC(struct meta) meta;        /* what is kept of the ONNX header: producer, metadata_props, domains */
	VEC(const char *) provenance; /* one line a tool: "ge-fold 0.1.0 --limit=64K" */
	const char *source;           /* the file it came from, for messages; may be NULL */
};

struct module *module_new(void);
void module_free(struct module *m);

/* A key of the metadata: the module is a part of another. Its inputs and results lie in memory as they do there. */
#define META_PART "hone.part"
/* What the metadata have under a key; NULL: nothing. */
const char *module_meta(const struct module *m, const char *key);
/* value 0: takes the key out. */
void module_set_meta(struct module *m, const char *key, sym value);

graph_id graph_new(struct module *m, sym name);
val_id graph_add_input(struct module *m, graph_id g, sym name, struct type type);
void graph_add_output(struct module *m, graph_id g, val_id v, sym name);

/* Data is used as it is, not copied: it must live as long as the module (arena, mapping, static). */
val_id const_new(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, const void *data, size_t nbytes);
val_id const_new_blob(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, struct digest d, size_t nbytes);
/* Copies the data into the arena. */
val_id const_copy(struct module *m, sym name, enum dtype t, int rank, const int64_t *dims, const void *data, size_t nbytes);
val_id const_tensor(struct module *m, sym name, struct tensor *t);

/* Appends a node to graph g. Operands are copied. nout new values are made, names 0. */
node_id node_new(struct module *m, graph_id g, enum opcode op, int nin, const val_id *in, int nout);
/* As node_new but not appended to the order: the caller places it in graph.nodes. */
node_id node_new_loose(struct module *m, graph_id g, enum opcode op, int nin, const val_id *in, int nout);
val_id node_add_output(struct module *m, node_id n);

static inline struct value *val(struct module *m, val_id v) { return &m->values.a[v]; }
static inline struct node *node(struct module *m, node_id n) { return &m->nodes.a[n]; }
static inline struct graph *graph(struct module *m, graph_id g) { return &m->graphs.a[g]; }

/* Attributes; the checker has seen to kinds. attr_i, attr_f, attr_s: without it the operator list's default; 0 or "" if it has none. */
const struct attr *attr_find(const struct node *n, const char *name);
int64_t attr_i(const struct node *n, const char *name);
float attr_f(const struct node *n, const char *name);
const char *attr_s(const struct node *n, const char *name);
/* A list, else its default; the number of elements, -1: more than max. */
int attr_list(const struct node *n, const char *name, int64_t *v, int max);
/* The same where more than the operator decides what holds without it: def. */
int64_t attr_int(const struct node *n, const char *name, int64_t def);
float attr_float(const struct node *n, const char *name, float def);
const char *attr_str(const struct node *n, const char *name, const char *def);
const int64_t *attr_ints(const struct node *n, const char *name, int *count); /* NULL and 0: none */
const float *attr_floats(const struct node *n, const char *name, int *count);
graph_id attr_graph(const struct node *n, const char *name); /* 0: none */
struct tensor *attr_tensor(const struct node *n, const char *name);
/* Sets or replaces; arrays are copied. */
void attr_set(struct module *m, node_id n, struct attr a);
void attr_set_int(struct module *m, node_id n, const char *name, int64_t v);
void attr_set_float(struct module *m, node_id n, const char *name, float v);
void attr_set_str(struct module *m, node_id n, const char *name, const char *v);
void attr_set_ints(struct module *m, node_id n, const char *name, int count, const int64_t *v);
void attr_set_graph(struct module *m, node_id n, const char *name, graph_id g);
void attr_drop(struct module *m, node_id n, const char *name);

/* Types. */
struct type type_none(void);                                                          /* nothing known */
struct type type_make(struct module *m, enum dtype t, int rank, const int64_t *dims); /* dims < 0: unknown */
bool type_static(const struct module *m, const struct type *t);                       /* tensor, rank and every dim known */
/* The extents, RANK_MAX at most. False: not static. */
bool type_dims(const struct module *m, const struct type *t, int64_t *dims);
int64_t type_count(const struct module *m, const struct type *t); /* elements, -1: not static */
bool type_equal(const struct type *a, const struct type *b);
/* What both are: unknown where they differ. */
struct type type_common(struct module *m, const struct type *a, const struct type *b);
struct type tensor_type(struct module *m, const struct tensor *t);
const char *type_str(const struct module *m, const struct type *t, struct arena *a); /* "f32[1,batch,?]", "f32[*]" */
/* The variable of a dim_param of this module: found or made (range [0, inf)). */
poly_var module_symbol(struct module *m, sym name);

static inline int64_t tensor_count(const struct tensor *t)
{
	uint64_t n = 1; /* wraps: [2^40, 2^40, 0] is 0 all the same */
	for (int i = 0; i < t->rank; i++)
		n *= (uint64_t)t->dims[i];
	return (int64_t)n;
}
/* The bytes, loaded from the blob store if need be (missing: die 66 and say which, where and what to do).
 * Aligned for the element type. */
const void *tensor_data(const struct module *m, struct tensor *t);
/* The bytes for what leaves the store (pack, export, emit): where they lie, of any alignment, their digest checked now. Who is done with
 * them gives their pages back with mapping_forget. */
const void *tensor_verified(const struct module *m, struct tensor *t);
/* Do the bytes fit type and shape? NULL, or why not. Strings are looked into if they are in memory. */
const char *tensor_check(const struct tensor *t);
struct digest tensor_digest(const struct module *m, struct tensor *t);
/* Equal type, shape and bytes. */
bool tensor_equal(const struct module *m, struct tensor *a, struct tensor *b);
/* Constant operand i of n, or NULL (not constant, not there, or overridable). */
struct tensor *node_const(struct module *m, const struct node *n, uint32_t i);
/* Integer tensor (any int type, bool) as int64 into out[max]; count, or -1 (too many, not int). */
int tensor_ints(const struct module *m, struct tensor *t, int64_t *out, int max);

/* Editing. fwd[v] (module.values.n entries, 0: itself) replaces every use of v by fwd[v], chains
 * followed, in all operands and graph outputs (which keep their names), and takes over what only v says of
 * its type. */
void module_forward(struct module *m, const val_id *fwd);
/* What v's type does not say and `from`, the type of a value that v replaces, does: what a file declares of an
 * output is not lost with the node that made it. Constants stay as they are. */
void val_adopt_type(struct module *m, val_id v, const struct type *from);
/* Drops from every graph.nodes the nodes with dead[n]. */
void module_drop_nodes(struct module *m, const bool *dead);
/* Sorts g's nodes so that operands come first, stable (nodes keep their order where they can).
 * Returns 0, or a node on a cycle. Call after splicing new nodes anywhere into graph.nodes. */
node_id graph_sort(struct module *m, graph_id g);
/* Gives every value and constant that has no name, or one used twice in its scope, a deterministic one
 * ("v12"). Names of nodes are left as they are: a node is found by its results. */
void module_name_values(struct module *m);
/* Graphs reachable from main through attributes, callees before callers, main last. */
struct graph_list {
	graph_id *a;
	size_t n, cap;
};
void module_graph_order(struct module *m, struct graph_list *out); /* vec_free when done */

/* Who uses a value: node ids in uses.user[uses.start[v] .. uses.start[v+1]), a node once per operand
 * slot; graph outputs count in uses.nout[v]. Linear to build. */
struct uses {
	uint32_t *start;
	node_id *user;
	uint32_t *nout;
};
struct uses uses_new(struct module *m);
void uses_free(struct uses *u);
static inline uint32_t uses_count(const struct uses *u, val_id v) { return u->start[v + 1] - u->start[v] + u->nout[v]; }
/* The name of n's operator, also of one of an unknown domain. */
static inline const char *node_op_name(const struct node *n) { return n->op == OP_OTHER ? sym_str(n->optype) : op_name(n->op); }
#endif
