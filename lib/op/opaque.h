/* Opaque steps of compiled models: groups that have no stages are run by the evaluator, on whole buffers.
 * Plain C of its own, because its text is also part of emitted models. */
#ifndef HONE_OPAQUE_H
#define HONE_OPAQUE_H
#include <stddef.h>

struct hone_opaque;

/* steps: a packed graph stream of n bytes, which stay while it is open. Its main graph has one Fused node a step.
 * NULL: why[size] says why not. */
struct hone_opaque *hone_opaque_open(const void *steps, size_t n, char *why, size_t size);
/* Step number i: buffers of its operands that are not constants, and of its results, laid out as their types say.
 * 0, or -1 and why. Nothing here ends the process or changes how the caller rounds. Callers take turns. */
int hone_opaque_run(struct hone_opaque *o, size_t i, const void *const *in, void *const *out, char *why, size_t size);
void hone_opaque_close(struct hone_opaque *o);
#endif
