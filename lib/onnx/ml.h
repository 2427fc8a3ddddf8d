/* What operators of ai.onnx.ml share: attributes as tables, scores and labels of classes (ml_scores.c). */
#ifndef HONE_ML_H
#define HONE_ML_H
#include "onnx/contrib.h"

int ml_count(struct contrib *x, const char *name); /* elements of an attribute; 0: it is not there */
/* Floats of an attribute as f32 of these extents: as many as they say, or die. */
val_id ml_table(struct contrib *x, const char *name, int rank, const int64_t *dims);
val_id ml_words(struct contrib *x, const char *name, int n); /* strings of an attribute as a tensor */
static inline val_id ml_axis(struct contrib *x, int64_t axis) { return contrib_ints(x, 1, &axis); }
val_id ml_floats(struct contrib *x, uint32_t i); /* operand i as f32 */
val_id ml_rows(struct contrib *x, int64_t n);    /* operand 0 as f32 rows of n */

/* The attribute post_transform, "NONE" without it; scores after it. Another than ONNX has: die. */
const char *ml_transform(struct contrib *x);
val_id ml_transformed(struct contrib *x, val_id scores, const char *transform);
/* Of one score s of two classes: [1 - s, s], or [-s, s] where a transform or `negative` is; transformed. */
val_id ml_two_classes(struct contrib *x, val_id s, const char *transform, bool negative);
/* The index of the best score in each row; of two classes by their one score: is it more than `than`? */
val_id ml_best(struct contrib *x, val_id scores);
val_id ml_second(struct contrib *x, val_id s, double than);
/* The first result, if it is wanted: labels of these indices of n classes, of classlabels_strings or of the attribute of this name. Not n of
 * them: die. */
void ml_put_label(struct contrib *x, val_id best, int64_t n, const char *name);
/* Result 1, if it is wanted: v, which may be the same value as another result. */
bool ml_put_scores(struct contrib *x, val_id v);

/* trees.c, svm.c */
bool ml_tree_ensemble(struct contrib *x);
bool ml_tree_regressor(struct contrib *x);
bool ml_tree_classifier(struct contrib *x);
bool ml_svm_regressor(struct contrib *x);
bool ml_svm_classifier(struct contrib *x);
#endif
