/* What convolutions and pools share: the window of the node at hand. */
#ifndef HONE_WINDOWS_H
#define HONE_WINDOWS_H
#include "lower/lowering.h"
#include "op/rules.h"

/* Names of axes, by the number of spatial ones: of results and operands, and of the places in a window. */
extern const char *const low_out_axes[], *const low_in_axes[], *const low_taps[][SPATIAL_MAX];

/* Reads the window, whose size is `kernel` where no attribute says it (NULL: one does), and names the axes of results. NULL, or why
 * not. */
const char *low_window(struct lower *L, const int64_t *kernel, const char *const *axes, struct window *w);
/* The same, which names no axes: it can be asked before an algorithm is taken. False: there is no such window. */
bool low_window_known(struct lower *L, struct window *w);
/* Operand 0, of n spatial axes, with its channels innermost: its buffer; or (*copy) a stage's, whose axes are image, places, channels. A
 * schedule may inline that. */
buf_id low_turned(struct lower *L, int n, bool *copy);
#endif
