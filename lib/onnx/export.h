/* Inside the exporter: what its files share. */
#ifndef HONE_EXPORT_H
#define HONE_EXPORT_H
#include <stdio.h>
#include <string.h>
#include "common/msg.h"
#include "graph/module.h"
#include "onnx.pb-c.h"

enum { EXTERNAL_MIN = 1024 }; /* smaller tensors stay in the model */

struct domain {
	sym name;
	int64_t least; /* version that its operators need; 0: that of the file */
};

/* Nodes of a graph being written. */
struct node_list {
	Onnx__NodeProto **a;
	size_t n, cap;
};

struct exporter {
	struct module *m;
	struct arena arena;
	int opset;
	int64_t ir;
	sym *name;              /* by value: what it is called where it is visible; 0: not yet */
	sym *wanted;            /* by value: the name its definition must give it; 0: any */
	VEC(bool) used;         /* by symbol: names of values */
	VEC(bool) node_used;    /* by symbol: names of nodes */
	VEC(val_id) stands_for; /* by symbol: the input or output of the model that it names */
	VEC(Onnx__TensorProto *) initializers;
	VEC(struct domain) domains; /* of operators that are not ours */
	VEC(Onnx__ValueInfoProto *) value_info;
	VEC(poly_var) unnamed; /* sizes that have no name in the file that it is from */
	VEC(bool) untyped;     /* by node: an operator whose results have no type in the file that it is from */
	const char *external;  /* name of the file for weights, or NULL */
	FILE *external_file;
	uint64_t external_at;
	uint64_t inside; /* bytes of tensors in the model itself */
};

/* proto.c */
ProtobufCBinaryData proto_name(sym y);
ProtobufCBinaryData proto_text(struct exporter *x, const char *s);
Onnx__TensorProto *proto_tensor(struct exporter *x, sym name, struct tensor *t);
/* NULL: nothing is known. */
Onnx__TypeProto *proto_type(struct exporter *x, const struct type *t);
Onnx__ValueInfoProto *proto_value_info(struct exporter *x, sym name, const struct type *t);
/* All but graphs. */
Onnx__AttributeProto *proto_attr(struct exporter *x, const struct attr *a);
Onnx__AttributeProto *proto_attr_int(struct exporter *x, const char *name, int64_t v);
Onnx__AttributeProto *proto_attr_graph(struct exporter *x, const char *name, Onnx__GraphProto *g);

/* export.c */
sym export_fresh(struct exporter *x, const char *base); /* a name nothing has yet */
sym export_name(struct exporter *x, val_id v);          /* of an operand; 0: absent. A constant becomes an initializer */
sym export_define(struct exporter *x, val_id v);        /* of a result; 0: not wanted */
Onnx__NodeProto *export_node(struct exporter *x, struct node_list *to, const char *op, int nin, const sym *in, int nout, const sym *out);
void export_add_attr(struct exporter *x, Onnx__NodeProto *p, Onnx__AttributeProto *a);
/* Adds metadata to a node: viewers show it, no runtime reads it. value is copied. */
void export_note(struct exporter *x, Onnx__NodeProto *p, const char *key, const char *value);
/* p is an operator of a domain, of this version or a later one; 0: of that of the file. */
void export_domain(struct exporter *x, Onnx__NodeProto *p, const char *domain, int64_t version);
sym export_ints(struct exporter *x, const char *base, int rank, const int64_t *dims, const int64_t *v); /* an initializer */
/* A body whose first `formal` inputs are its own; the others stand for captured[0..]. */
Onnx__GraphProto *export_body(struct exporter *x, graph_id g, uint32_t formal, const sym *captured);

/* fitted.c: makes explicit what a Case does to operands that its branches do not take as they are. */
void export_fitted(struct module *m);

/* foreign.c: each Foreign becomes the operator that it stands for. */
void export_foreign(struct exporter *x);

/* expand.c: hone's own operators in ONNX's words. false: n is none of them. */
bool export_own(struct exporter *x, struct node_list *to, node_id n);
void export_trees(struct exporter *x, struct node_list *to, node_id n); /* trees_export.c */
/* Nodes of g, with its inputs standing for in[0..]; its results get the names out[0..] (0: not
 * wanted). */
void export_inline(struct exporter *x, struct node_list *to, graph_id g, const sym *in, const sym *out);
void export_nodes(struct exporter *x, struct node_list *to, graph_id g);
#endif
