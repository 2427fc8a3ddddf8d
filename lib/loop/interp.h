/* What a program means: the interpreter of nests, the verifier, the evaluator of stages. They take a program in any state: started,
 * half scheduled or legalized. */
#ifndef HONE_INTERP_H
#define HONE_INTERP_H
#include "loop/loop.h"
/* data[b]: storage of buffer b in its own layout, buf_elems elements, for IN, CONST and OUT buffers. Arithmetic in
 * double, rounded to the buffer's type when stored (f32: float). NULL, or what went wrong: a read of an element
 * never written, an access out of bounds (checked on logical indices and on storage). */
const char *loop_interp(struct loop_prog *p, void **data);
/* Static verification of a nest (legalized or not): every access in bounds by ranges and guards, parallel iterations
 * write disjoint elements, scan order kept, stack and register limits kept. NULL, or why not. */
const char *loop_verify(struct loop_prog *p);
/* The stage evaluator: the same results computed stage by stage from the definitions, no nest. */
void stages_eval(struct loop_prog *p, void **data);
/* The same for elementwise stages on floats whose buffers are all row-major and in data, many times as fast. false: they
 * are not such stages, nothing is done. */
bool stages_eval_rows(struct loop_prog *p, void **data);
/* n elements of an OUT buffer (row-major positions) in double, straight from the stages. What several of them need is
 * computed once. An oracle. */
void stages_points(struct loop_prog *p, buf_id out, int n, const int64_t *element, void **data, double *value);
#endif
