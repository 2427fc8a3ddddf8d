/* tune-grad: how to fuse gradients so that their all-reduce hides behind the backward pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "tune-grad.h"

struct grad_options opt = {.alpha = -1, .beta = -1, .slack = 0.001, .gflops = 10000, .gbytes = 500};

static const struct {
	const char *name;
	int (*run)(struct tool_args *a);
} verbs[] = {
	{"profile", grad_profile}, {"plan", grad_plan}, {"compare", grad_compare}, {"advise", grad_advise},
};

enum { KEY_ALPHA = 0x20001, KEY_BETA, KEY_SLACK, KEY_GATHER, KEY_PLOT, KEY_SET, KEY_GFLOPS, KEY_GBYTES };
static const struct argp_option options[] = {
	{"set", KEY_SET, "NAME=N,...", 0, "profile: sizes of symbols, as in ge-shape", 0},
	{"gflops", KEY_GFLOPS, "N", 0, "profile: GFLOP/s of the training device (10000)", 0},
	{"gbytes", KEY_GBYTES, "N", 0, "profile: GB/s of its memory (500)", 0},
	{"curve", 'c', "FILE", 0, "time of an all-reduce: bytes<TAB>us, a point a line", 0},
	{"alpha", KEY_ALPHA, "US", 0, "without -c: us that any all-reduce takes", 0},
	{"beta", KEY_BETA, "US", 0, "without -c: us that each byte adds", 0},
	{"segments", 'k', "K", 0, "at most K segments", 0},
	{"slack", KEY_SLACK, "SHARE", 0, "take the fewest segments among plans this much longer than the shortest (0.1%)", 0},
	{"gather", KEY_GATHER, 0, 0, "all-gather in the next forward pass, in place of all-reduce in the backward pass", 0},
	{"form", 'f', "FORM", 0, "plan: idx, size, hccl, ddp, horovod or json", 0},
	{"plot", KEY_PLOT, "FILE.svg", 0, "compare: draw the timelines", 0},
	{0},
};

/* A number that is not negative; with share, "1%" is 0.01. */
static double number(const char *name, const char *arg, bool share)
{
	char *end;
	double v = strtod(arg, &end);
	if (share && end > arg && *end == '%')
		v /= 100, end++;
	if (end == arg || *end || !isfinite(v) || v < 0)
		die(EX_BADUSE, "%s %s: expected a number that is not negative", name, arg);
	return v;
}

static double positive(const char *name, const char *arg)
{
	double v = number(name, arg, false);
	if (v == 0)
		die(EX_BADUSE, "%s %s: expected a number above 0", name, arg);
	return v;
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'c': opt.curve = arg; return 0;
	case KEY_ALPHA: opt.alpha = number("--alpha", arg, false); return 0;
	case KEY_BETA: opt.beta = number("--beta", arg, false); return 0;
	case 'k':
		opt.segments = (size_t)number("-k", arg, false);
		if (!*arg || arg[strspn(arg, "0123456789")] || !opt.segments)
			die(EX_BADUSE, "-k %s: expected a number from 1", arg);
		return 0;
	case KEY_SLACK: opt.slack = number("--slack", arg, true); return 0;
	case KEY_GATHER: opt.gather = true; return 0;
	case KEY_PLOT: opt.plot = arg; return 0;
	case KEY_SET: opt.set = arg; return 0;
	case KEY_GFLOPS: opt.gflops = positive("--gflops", arg); return 0;
	case KEY_GBYTES: opt.gbytes = positive("--gbytes", arg); return 0;
	case 'f': opt.form = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

void read_curve(struct curve *c)
{
	bool linear = opt.alpha >= 0 || opt.beta >= 0;
	if (opt.curve && linear)
		die(EX_BADUSE, "a curve (-c) or a line (--alpha, --beta), not both");
	if (opt.curve)
		curve_read(c, opt.curve);
	else if (linear)
		curve_linear(c, fmax(0, opt.alpha), fmax(0, opt.beta));
	else
		die(EX_BADUSE, "no network; give its curve with -c FILE (tune-grad calibrate measures one), or --alpha US --beta US");
}

void read_grads(struct grads *g, const char *path)
{
	grads_read(g, path);
	if (opt.gather)
		grads_reverse(g, path);
}

static int run(const struct tool *t, struct tool_args *a)
{
	if (a->nfile == 0)
		tool_usage();
	const char *name = a->file[0];
	a->file++, a->nfile--;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verbs[i].name, name))
			return verbs[i].run(a);
	die(EX_BADUSE, "%s: no such verb; tune-grad --help lists them", name);
}

const struct tool tool = {
	.name = "tune-grad",
	.summary = "Fuse gradients into segments so that their all-reduce hides behind the backward pass.",
	.args_doc = "VERB [FILE...]",
	.more = "Verbs:\n"
		"  profile [MODEL.g]         estimate when each gradient is ready\n"
		"  plan [GRADS]              print the segments of least tail\n"
		"  compare GRADS [PLAN...]   predict its tail, that of other plans and of what frameworks do\n"
		"  advise [TRACE.json]       say what of a training step is not covered, and what to change",
	.flags = TOOL_OUT | TOOL_JSON,
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
