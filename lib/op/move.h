/* Between the two files of the move family. */
#ifndef HONE_MOVE_H
#define HONE_MOVE_H
#include "op/rules.h"

enum { BLOCKSIZE_MAX = 32768 }; /* of DepthToSpace and SpaceToDepth; its square is a number of channels */

/* Clips start and end of a slice of an axis of extent d as ONNX does; *start: where it begins. Returns the number of elements. */
int64_t slice_clip(int64_t d, int64_t *start, int64_t end, int64_t step);
/* Extent of part i of an axis of extent d split evenly into n: the last may be smaller. */
int64_t split_chunk(int64_t d, int64_t n, int64_t i);

const char *eval_concat(struct eval *e);
const char *eval_depth_to_space(struct eval *e);
const char *eval_expand(struct eval *e);
const char *eval_flatten(struct eval *e);
const char *eval_pad(struct eval *e);
const char *eval_reshape(struct eval *e);
const char *eval_reverse_sequence(struct eval *e);
const char *eval_slice(struct eval *e);
const char *eval_space_to_depth(struct eval *e);
const char *eval_split(struct eval *e);
const char *eval_squeeze(struct eval *e);
const char *eval_tile(struct eval *e);
const char *eval_transpose(struct eval *e);
const char *eval_trilu(struct eval *e);
const char *eval_unsqueeze(struct eval *e);
#endif
