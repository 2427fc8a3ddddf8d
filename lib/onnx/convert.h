/* Inside the conversion of older versions: what its files share. */
#ifndef HONE_CONVERT_H
#define HONE_CONVERT_H
#include "onnx/import.h"

/* A constant of integers, named after the node's result. */
val_id convert_ints(struct importer *c, node_id n, const char *what, int rank, int64_t count, const int64_t *v);
/* Operand i; those between are absent. */
void convert_set(struct importer *c, node_id id, uint32_t i, val_id v);
bool convert_has(struct importer *c, node_id id, uint32_t i);
/* An attribute of integers that became operand i. */
void convert_to_operand(struct importer *c, node_id id, const char *name, uint32_t i);
/* A new node op(in...) before the one at hand. Its result. */
val_id convert_before(struct importer *c, node_id at, enum opcode op, int nin, const val_id *in, const char *what);
/* f once the types of the module are inferred, from n as it stands now. */
void convert_late(struct importer *c, node_id n, void (*f)(struct importer *c, node_id n, int64_t axis), int64_t axis);

/* oldest.c: brings n from an opset before OPSET_NUMPY to that one. */
void convert_oldest(struct importer *c, node_id n);
#endif
