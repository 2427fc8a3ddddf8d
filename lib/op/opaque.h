/* Opaque steps of compiled models: groups that have no stages are run by the evaluator, on whole buffers.
 * Plain C of its own, because its text is also part of emitted models. */
#ifndef HONE_OPAQUE_H
#define HONE_OPAQUE_H
#include <stddef.h>

struct hone_opaque;

/* steps: a packed graph stream of n bytes, which must stay as long as it is open. Its main graph has a Fused node for each step. NULL:
 * why[size] says why not. */
struct hone_opaque *hone_opaque_open(const void *steps, size_t n, char *why, size_t size);
/* Runs step i on buffers of its results and of its operands without the constants, in the layouts of their types. 0, or -1 and why. It
 * never ends the process, nor changes how the caller rounds. Only one caller runs at a time; others wait. */
int hone_opaque_run(struct hone_opaque *o, size_t i, const void *const *in, void *const *out, char *why, size_t size);
/* The same on values of any size. room gives memory for result k; NULL: there is none, or it has another size than it must. */
struct hone_value;
int hone_opaque_run_values(struct hone_opaque *o, size_t i, const struct hone_value *const *in,
			   void *(*room)(void *arg, size_t k, int type, int rank, const long *shape, size_t bytes), void *arg, char *why,
			   size_t size);
void hone_opaque_close(struct hone_opaque *o);
#endif
