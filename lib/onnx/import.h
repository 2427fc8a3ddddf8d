/* Inside the importer: what its files share. */
#ifndef HONE_IMPORT_H
#define HONE_IMPORT_H
#include <stdnoreturn.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "graph/module.h"
#include "onnx/onnx.h"
#include "onnx.pb-c.h"

enum { OLDEST_OPSET = 1, OPSET_NUMPY = 7 /* operands broadcast from here on as they do now */ };

struct importer;
struct made;
struct external_file;
struct scopes;
struct functions;
struct late {
	node_id node;
	void (*f)(struct importer *c, node_id n, int64_t axis);
	int64_t axis;
};

/* An operand that waits for types (oldest.c). */
struct aligned {
	val_id v;
	int64_t axis;
};

/* A tensor whose bytes stay in a file. */
struct reference {
	struct tensor *t;
	const char *path;
	const unsigned char *base;
	uint64_t offset;
};

/* A tensor whose bytes are made when they are asked for. */
struct put_off {
	struct tensor *t;
	const struct made *made;
};

struct importer {
	struct module *m;
	const char *path;
	struct onnx_import_opts opts;
	struct mapped file;
	const Onnx__ModelProto *model;
	const struct made *made; /* of a GGUF file: constants that are not in it as such */
	size_t nmade;
	VEC(struct put_off) put_off; /* those whose bytes nobody has asked for yet (tensors.c) */
	int64_t opset;               /* of ai.onnx, for the nodes at hand: the model's or a function's */
	const char *at_graph;        /* for messages, NULL: none */
	const Onnx__NodeProto *at;   /* node at hand, or NULL */
	struct scopes *scopes;       /* scope.c */
	struct functions *functions; /* functions.c */
	VEC(struct external_file *) external;
	VEC(struct reference) refer; /* by the blob store, once all are known */
	VEC(struct late) late;       /* conversions that need types (convert.c) */
	VEC(struct aligned) aligned;
	VEC(node_id) after; /* nodes to append after the one being converted */
	VEC(bool) asked;    /* node: its operands' types were looked for (ml.c) */
};

/* "FILE: graph/node (Op): what", 65. */
noreturn void import_die(struct importer *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with 69: sound, but not for this program. */
noreturn void import_unsupported(struct importer *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A name of the file. A NUL within becomes U+2400, so names stay apart. */
sym import_name(const ProtobufCBinaryData *b);
static inline bool bytes_are(const ProtobufCBinaryData *b, const char *s) { return b->len == strlen(s) && !memcmp(b->data, s, b->len); }

/* tensors.c */
struct tensor *import_tensor(struct importer *c, const Onnx__TensorProto *t);
struct tensor *import_sparse(struct importer *c, const Onnx__SparseTensorProto *t); /* made dense */
/* Tensor bytes in memory, not in a file: stored if they are many. t->data and nbytes are set. */
void import_keep(struct importer *c, struct tensor *t);
/* Bytes that fill(of, out) writes for t. store: if they are many, they go to the store and leave memory (t->data is NULL). */
void import_fill(struct importer *c, struct tensor *t, bool store, void (*fill)(const void *of, void *out), const void *of);
/* Bytes of t while one node is converted: import_return frees them if they can be made again. */
const void *import_bytes(struct importer *c, struct tensor *t);
void import_return(struct importer *c, struct tensor *t);
/* At the end: of tensors that were put off, those that the graph reads are stored. */
void import_put_off_end(struct importer *c);
/* n elements of a type of fewer than 8 bits, a byte each, from raw_data or from int32_data, which has packed_numbers of them. */
uint8_t *unpack_bytes(enum dtype t, const unsigned char *from, size_t n, struct arena *a);
uint8_t *unpack_numbers(enum dtype t, const int32_t *from, size_t n, struct arena *a);
size_t packed_numbers(enum dtype t, size_t n);
/* Refers to them all. */
void import_refer(struct importer *c);

/* types.c */
struct type import_type(struct importer *c, const Onnx__TypeProto *t);
/* All but graphs (import.c has seen to them). */
void import_attr(struct importer *c, const Onnx__AttributeProto *a, struct attr *out);
/* The attribute's kind, from its type or, in old files, from the one field that is set. */
enum attr_kind import_attr_kind(struct importer *c, const Onnx__AttributeProto *a);

/* scope.c: which value a name stands for. A level is a graph being filled, or a call being
 * expanded, which sees only what it was given. */
void scope_enter(struct importer *c, graph_id g, bool call);
struct captures {
	val_id *a;
	size_t n, cap;
};
/* Leaves the level. The values of the graph around it that became inputs of its graph, in the order
 * of those inputs (behind the formal ones); vec_free when done. Nothing for calls. */
struct captures scope_leave(struct importer *c);
/* Twice in one level: die. v may be 0: an operand that was not given. */
void scope_define(struct importer *c, sym name, val_id v);
bool scope_defined_here(struct importer *c, sym name, val_id *v);
/* The value as seen from the level's graph: one computed outside becomes an input of it. Undefined:
 * die. */
val_id scope_lookup(struct importer *c, sym name);

/* foreign.c: node id, an operator of another domain that is in no order of nodes yet, as a Foreign, put there. false: not one that stays
 * whole, or what it computes is not known. */
bool foreign_keep(struct importer *c, node_id id);

/* contrib/contrib.c: is this an operator that ONNX Runtime adds? Some stand in ONNX's own domain. */
bool contrib_is_own(const char *domain, const char *name);
/* node id, which is in no order of nodes yet, in ONNX's operators, put there. false: it is not known. */
bool contrib_expand(struct importer *c, node_id id);

/* functions.c: functions of the model, expanded where they are called. */
void functions_open(struct importer *c);
/* Expands node p of graph g if it calls a function; false: it does not. */
bool function_expand(struct importer *c, graph_id g, const Onnx__NodeProto *p);
/* A graph of n nodes and tensors begins: those within calls are counted, and die(65) if too many. */
void function_count(struct importer *c, size_t n);
/* What an attribute stands for in the call being expanded: itself, the caller's or a default; NULL:
 * absent. */
const Onnx__AttributeProto *function_attr(struct importer *c, const Onnx__AttributeProto *a);

/* import.c: appends the nodes of a graph or function to g, in an order in which operands come
 * first. */
void import_nodes(struct importer *c, graph_id g, size_t n, Onnx__NodeProto **nodes);
int64_t import_opset(struct importer *c, size_t n, Onnx__OperatorSetIdProto **sets, int64_t none);

/* order.c: an order of nodes in which names are defined before they are used (captures count);
 * NULL: as they stand. A cycle: die(65). malloc'd. */
uint32_t *import_order(struct importer *c, size_t n, Onnx__NodeProto **nodes);

/* convert.c: brings node n (loose, as opset c->opset means it) to the canonical opset and appends
 * it, with what it now needs around it, to its graph. */
void convert_node(struct importer *c, node_id n);
/* Once the module stands. */
void convert_finish(struct importer *c);
#endif
