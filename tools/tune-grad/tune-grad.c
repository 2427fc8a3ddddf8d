/* tune-grad: how to fuse gradients so that their all-reduce hides behind the backward pass. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/option.h"
#include "tune-grad.h"

struct grad_options opt = {
	.alpha = -1, .beta = -1, .slack = 0.001, .form = "idx", .gflops = 10000, .gbytes = 500, .timeout = 4, .shrink = 1};

static const struct {
	const char *name;
	int (*run)(struct tool_args *a);
} verbs[] = {
	{"profile", grad_profile}, {"calibrate", grad_calibrate}, {"plan", grad_plan},     {"compare", grad_compare},
	{"run", grad_run},         {"rank", grad_rank},           {"advise", grad_advise},
};

enum { COUNT_MAX = 1000000 };

enum {
	KEY_ALPHA = 0x20001,
	KEY_BETA,
	KEY_SLACK,
	KEY_GATHER,
	KEY_PLOT,
	KEY_SET,
	KEY_GFLOPS,
	KEY_GBYTES,
	KEY_VERIFY,
	KEY_HOSTS,
	KEY_MPI,
	KEY_MAX,
	KEY_TIMEOUT,
	KEY_COMPUTE,
	KEY_SHRINK,
	KEY_NETWORK,
	KEY_MODEL,
	KEY_KB,
};
static const struct argp_option options[] = {
	{"set", KEY_SET, "NAME=N,...", 0, "profile: sizes of symbols, as in ge-shape", 0},
	{"gflops", KEY_GFLOPS, "N", 0, "profile: GFLOP/s of the training device (10000)", 0},
	{"gbytes", KEY_GBYTES, "N", 0, "profile: GB/s of its memory (500)", 0},
	{"curve", 'c', "FILE", 0, "time of an all-reduce: bytes<TAB>us, a point a line", 0},
	{"alpha", KEY_ALPHA, "US", 0, "without -c: us that any all-reduce takes", 0},
	{"beta", KEY_BETA, "US", 0, "without -c: us that each byte adds", 0},
	{"network", KEY_NETWORK, "NAME", 0, "remember the curve under this name; without -c, use the one remembered", 0},
	{"model", KEY_MODEL, "NAME", 0, "with --network, plan, run: remember the plan; compare, run: the one remembered", 0},
	{"kb", KEY_KB, "FILE", 0, "the knowledge base, in place of HONE_KB and the one in the home directory", 0},
	{"segments", 'k', "K", 0, "at most K segments", 0},
	{"slack", KEY_SLACK, "SHARE", 0, "take the fewest segments among plans this much longer than the shortest (0.1%)", 0},
	{"gather", KEY_GATHER, 0, 0, "all-gather in the next forward pass, in place of all-reduce in the backward pass", 0},
	{"form", 'f', "FORM", 0, "plan: idx, size, hccl, ddp, horovod or json", 0},
	{"verify", KEY_VERIFY, "COMMAND", 0, "plan: time COMMAND, {} replaced by a plan's path, with several plans; the fastest wins", 0},
	{"plot", KEY_PLOT, "FILE.svg", 0, "compare: draw the timelines", 0},
	{"ranks", 'n', "N", 0, "calibrate, run: so many processes (2, or all of --hosts)", 0},
	{"hosts", KEY_HOSTS, "FILE", 0, "calibrate, run: where they are, one a line: address[:port] [command]", 0},
	{"mpi", KEY_MPI, 0, 0, "calibrate: through OpenMPI", 0},
	{"max", KEY_MAX, "BYTES", 0, "calibrate: up to this size (64M)", 0},
	{"timeout", KEY_TIMEOUT, "S", 0, "calibrate, run: a rank silent for so long is gone (4)", 0},
	{"iterations", 'i', "N", 0, "run: iterations of each plan (10); plan --verify: rounds (5)", 0},
	{"compute", KEY_COMPUTE, "MODE", 0, "run: sleep through the backward pass (the default), or work", 0},
	{"shrink", KEY_SHRINK, "N", 0, "run: send one byte of N, on a network whose curve for all of them is given", 0},
	{0},
};

/* A number; or "1%", which is 0.01. */
static double share(const char *name, const char *arg)
{
	size_t n = strlen(arg);
	if (!n || arg[n - 1] != '%')
		return option_number(name, arg, 0, DBL_MAX);
	char *hundredths = xprintf("%.*s", (int)n - 1, arg);
	double v = option_number(name, hundredths, 0, DBL_MAX) / 100;
	free(hundredths);
	return v;
}

static double size(const char *name, const char *arg)
{
	static const char letter[] = "kMG";
	char *end;
	double v = strtod(arg, &end);
	const char *unit = *end ? strchr(letter, *end == 'K' ? 'k' : *end) : NULL;
	if (unit)
		v *= (double)(1 << 10 * (unit - letter + 1)), end++;
	if (end == arg || *end || !(v >= 4) || v > 0x1p50)
		die(EX_BADUSE, "%s %s: expected bytes from 4, as 65536 or 64k, M, G", name, arg);
	return v;
}

static const char *name(const char *option, const char *arg)
{
	if (!*arg || strpbrk(arg, "\n\t"))
		die(EX_BADUSE, "%s '%s': expected a name of one line", option, arg);
	return arg;
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case 'c': opt.curve = arg; return 0;
	case KEY_ALPHA: opt.alpha = option_number("--alpha", arg, 0, DBL_MAX); return 0;
	case KEY_BETA: opt.beta = option_number("--beta", arg, 0, DBL_MAX); return 0;
	case 'k': opt.segments = option_count("-k", arg, 1, COUNT_MAX); return 0;
	case KEY_VERIFY: opt.verify = arg; return 0;
	case KEY_SLACK: opt.slack = share("--slack", arg); return 0;
	case KEY_GATHER: opt.gather = true; return 0;
	case KEY_NETWORK: opt.network = name("--network", arg); return 0;
	case KEY_MODEL: opt.model = name("--model", arg); return 0;
	case KEY_KB: opt.kb = arg; return 0;
	case KEY_PLOT: opt.plot = arg; return 0;
	case KEY_SET: opt.set = arg; return 0;
	case KEY_GFLOPS: opt.gflops = option_number("--gflops", arg, DBL_MIN, DBL_MAX); return 0;
	case KEY_GBYTES: opt.gbytes = option_number("--gbytes", arg, DBL_MIN, DBL_MAX); return 0;
	case 'f': opt.form = arg; return 0;
	case 'n': opt.ranks = (int)option_count("-n", arg, 1, COUNT_MAX); return 0;
	case KEY_HOSTS: opt.hosts = arg; return 0;
	case KEY_MPI: opt.mpi = true; return 0;
	case KEY_MAX: opt.max_bytes = size("--max", arg); return 0;
	case KEY_TIMEOUT: opt.timeout = option_number("--timeout", arg, 0.01, 1e6); return 0;
	case 'i': opt.iterations = (int)option_count("-i", arg, 1, COUNT_MAX); return 0;
	case KEY_SHRINK: opt.shrink = option_number("--shrink", arg, DBL_MIN, DBL_MAX); return 0;
	case KEY_COMPUTE:
		opt.work = !strcmp(arg, "work");
		if (!opt.work && strcmp(arg, "sleep"))
			die(EX_BADUSE, "--compute %s: expected sleep or work", arg);
		return 0;
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
	else if (opt.network)
		recall_curve(c);
	else
		die(EX_BADUSE, "no network; give its curve with -c FILE (tune-grad calibrate measures one), or --alpha US --beta US");
	if (opt.network && (opt.curve || linear))
		remember_curve(c);
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
	if (opt.model && !opt.network)
		die(EX_BADUSE, "--model %s: and on which --network?", opt.model);
	const char *verb = a->file[0];
	a->file++, a->nfile--;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (!strcmp(verbs[i].name, verb))
			return verbs[i].run(a);
	die(EX_BADUSE, "%s: no such verb; tune-grad --help lists them", verb);
}

const struct tool tool = {
	.name = "tune-grad",
	.summary = "Fuse gradients into segments so that their all-reduce hides behind the backward pass.",
	.args_doc = "VERB [FILE...]",
	.more = "Verbs:\n"
		"  profile [MODEL.g]         estimate when each gradient is ready\n"
		"  calibrate                 measure the time of an all-reduce against its bytes\n"
		"  plan [GRADS]              print the segments of least tail\n"
		"  compare GRADS [PLAN...]   predict its tail, that of other plans and of what frameworks do\n"
		"  run GRADS PLAN...         measure plans on real processes\n"
		"  rank                      what calibrate and run start, here or on other hosts\n"
		"  advise [TRACE.json]       say what of a training step is not covered, and what to change",
	.flags = TOOL_OUT | TOOL_JSON,
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
