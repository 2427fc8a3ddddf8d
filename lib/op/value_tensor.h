/* Values as compiled models take and give them (hone_value.h), and as the evaluator has them. */
#ifndef HONE_VALUE_TENSOR_H
#define HONE_VALUE_TENSOR_H
#include "op/hone_value.h"
#include "op/op.h"
/* HONE_SEQUENCE, ... of such a kind; 0: it is a tensor. */
int value_kind_number(enum kind k);
/* The value as a tensor of type t: numbers lie where they are, strings are copied. NULL: *why says, in words, why it is none. */
struct tensor *value_tensor(const struct hone_value *v, const struct type *t, struct arena *a, const char **why);
/* Bytes of all that a tensor's value points to, but for the shape; and the value, with its data at p, aligned to 16 bytes. */
size_t value_size(const struct tensor *x);
void value_put(const struct tensor *x, struct hone_value *v, void *p);
#endif
