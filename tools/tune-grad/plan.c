/* tune-grad plan: the segments of least tail. */
#include <string.h>
#include <unistd.h>
#include "tune-grad.h"

int grad_plan(struct tool_args *a)
{
	struct grads g;
	struct curve c;
	struct plan p = {0};
	if (a->nfile > 1)
		die(EX_BADUSE, "expected one grads file");
	if (a->nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	if (!strcmp(opt.form, "hccl") && !opt.segments)
		opt.segments = HCCL_MAX;
	read_curve(&c);
	read_grads(&g, a->nfile ? a->file[0] : NULL);
	plan_best(&p, &g, &c, opt.segments, opt.slack);
	if (opt.verify && g.at.n)
		verify_plan(&p, &g, &c);
	plan_write(&p, &g, &c, opt.form, a->out);
	if (opt.model)
		remember_plan(&p, &g, &c, NULL, 0);
	struct plan_cost cost = plan_cost(&p, &g, &c);
	note("%zu tensors in %zu segments: tail %.1f us of %.1f, communication %.1f us; no plan ends before %.1f", g.at.n, cost.segments,
	     cost.tail, cost.end, cost.busy, plan_lower_bound(&g, &c));
	plan_free(&p);
	curve_free(&c);
	grads_free(&g);
	return EX_GOOD;
}
