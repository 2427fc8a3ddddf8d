/* One packed form of each weight for all gears. */
#ifndef HONE_SHARE_H
#define HONE_SHARE_H
#include "graph/pass.h"
#include "target/target.h"

struct share_options {
	struct target target;
	double copies; /* bytes of weights that may be there in another form once more, as a part of all of them */
};

/* Kernels of different gears that read the same weights get traces by which they read them in one form: that with which all kernels take
 * the least time, each as often as its gear is taken. Where that costs most for its bytes, a copy in the other form stays, as long as there
 * is room for copies. Needs gears and groups; leaves a trace on the Fused nodes whose form was not their own choice. */
void gears_share(struct module *m, const struct share_options *o, const struct pass_ctx *c);
/* How long the main graph takes, in seconds, by the cost model. Needs groups, and known sizes. */
double graph_time(struct module *m, const struct target *t);
#endif
