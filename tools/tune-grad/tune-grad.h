/* The verbs of tune-grad, and what its command line said. */
#ifndef HONE_TUNE_GRAD_H
#define HONE_TUNE_GRAD_H
#include "comm/curve.h"
#include "comm/grads.h"
#include "comm/plan.h"
#include "common/tool.h"

struct grad_options {
	const char *curve;                /* -c FILE */
	double alpha, beta;               /* --alpha, --beta: us, us per byte; negative: not given */
	size_t segments;                  /* -k: at most so many, 0: any number */
	double slack;                     /* --slack, a share: 0.01 */
	const char *form;                 /* -f */
	bool gather;                      /* --gather: the forward pass, time reversed */
	const char *plot;                 /* --plot FILE.svg */
	const char *verify;               /* --verify COMMAND */
	const char *set;                  /* --set, profile: sizes of symbols */
	double gflops, gbytes;            /* profile: what the training device computes and reads a second */
	const char *network, *model, *kb; /* what curves and plans are remembered under, and where */
	int iterations;                   /* -i; 0: not given, as are the next two */
	int ranks;                        /* -n */
	double max_bytes;                 /* --max */
	double timeout;                   /* --timeout, s */
	double shrink;                    /* --shrink */
	const char *hosts;                /* --hosts FILE */
	bool mpi, work;                   /* --mpi; --compute work */
};
extern struct grad_options opt;

/* One verb a file; arguments are those behind the verb. */
int grad_profile(struct tool_args *a);
int grad_calibrate(struct tool_args *a);
int grad_run(struct tool_args *a);
int grad_rank(struct tool_args *a); /* a process of the two */
int grad_plan(struct tool_args *a);
int grad_compare(struct tool_args *a);
int grad_advise(struct tool_args *a);

/* --verify: times the command with p and other plans for the same tensors; p becomes the fastest of them. */
void verify_plan(struct plan *p, const struct grads *g, const struct curve *c);

/* A picture of plans, one below the other, SVG; bound: us, marked. */
struct timeline {
	const char *name;
	const struct plan *plan;
	struct plan_cost cost;
};
void plot_timelines(const char *path, const struct grads *g, const struct curve *c, const struct timeline *t, size_t n, double bound);

/* What --network (and --model) name, in the knowledge base. A curve or plan that is the newest there already is not put
 * again. No such curve: die(66); no such plan: false. */
void remember_curve(const struct curve *c);
void recall_curve(struct curve *c);
/* us: how long its iterations took, where it was measured. */
void remember_plan(const struct plan *p, const struct grads *g, const struct curve *c, const double *us, size_t samples);
bool recall_plan(struct plan *p, const struct grads *g);

/* The curve that -c (remembered with --network), or --alpha and --beta, or --network alone names; none: die(64). */
void read_curve(struct curve *c);
/* The tensors of the verb's first argument, with --gather those of the forward pass. */
void read_grads(struct grads *g, const char *path);
#endif
