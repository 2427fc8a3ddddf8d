/* Types of values that are no tensors, which struct type keeps as ONNX's text: read and made. */
#ifndef HONE_KINDS_H
#define HONE_KINDS_H
#include "graph/module.h"
enum kind type_kind(const struct type *t); /* KIND_OTHER: sparse, opaque, or no such text */
/* Of an element of a sequence, of what is in an optional, of a value of a map. Another: type_none. */
struct type type_inside(const struct type *t);
/* Of the tensors inside, however deep; of a tensor, itself. */
struct type type_innermost(const struct type *t);
/* Is it a sequence or an optional, however deep, of tensors with elements of one size? */
bool type_lists_numbers(const struct type *t);
enum dtype type_map_key(const struct type *t);
/* The type whose inside is `of`; where that is not known: type_none. */
struct type type_sequence(const struct type *of);
struct type type_optional(const struct type *of);
#endif
