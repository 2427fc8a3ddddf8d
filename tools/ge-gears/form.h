/* The form in which a kernel reads its weights, as a schedule has it. */
#ifndef HONE_FORM_H
#define HONE_FORM_H
#include "graph/module.h"
#include "loop/sampling.h"
#include "target/target.h"

/* A way to compute a Fused node. */
struct form {
	const char *text; /* shapes and layouts of its weights; equal texts are equal bytes */
	const char *algo;
	const char *trace;  /* NULL: there is no such way */
	struct samples got; /* its decisions */
	double cost;        /* seconds, by the analytic model */
	int64_t bytes;      /* of the weights */
};
enum { WEIGHTS_MIN = 1024 }; /* smaller constants are not looked at */

/* The default schedule. trace NULL: the node has no kernel. All memory in arena a. */
struct form form_own(struct module *m, node_id n, const struct target *t, struct arena *a);
/* The fastest schedule that reads the weights as `like`, another node's, does. own: form_own of n. */
struct form form_like(struct module *m, node_id n, const struct target *t, const struct form *like, const struct form *own,
		      struct arena *a);
#endif
