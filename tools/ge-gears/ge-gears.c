/* ge-gears: one model for several sizes. The graph becomes a branch of a Case for each of them, with its sizes known; MapIndex finds the
 * branch by the sizes of the inputs. Weights are shared. */
#include <string.h>
#include "common/facts.h"
#include "common/option.h"
#include "choose.h"
#include "gears.h"
#include "op/pass.h"
#include "share.h"

enum { OPT_GEARS = 0x100, OPT_EXACT, OPT_SHARE, OPT_COPIES, OPT_TARGET, OPT_HISTOGRAM, OPT_TIMES, OPT_TIME, OPT_OPEN };

static struct gears wanted;
static bool shares, tells_time;
static const char *histogram, *times;
static struct share_options sharing = {.copies = 0.01};

/* Sizes of the histogram as gears that may be. */
static void read_tables(struct gears *g, struct table *seen, struct table *taken)
{
	if (wanted.n)
		die(EX_BADUSE, "--gears and --histogram: either, or");
	if (!times || !wanted.most)
		die(EX_BADUSE, "--histogram: %s; hone build --histogram does the rest",
		    times ? "how many gears? -k N" : "which times? --times FILE, of what --time says for each size");
	table_read(seen, histogram);
	table_read(taken, times);
	g->n = seen->n;
	memcpy(g->name, seen->name, sizeof g->name);
	for (size_t i = 0; i < seen->size.n; i++)
		vec_push(&g->size, seen->size.a[i]);
	g->histogram = seen;
	g->times = taken;
}

static void run(struct module *m, const struct pass_ctx *c)
{
	struct gears g = wanted;
	struct table seen, taken;

	g.size.a = NULL;
	g.size.n = g.size.cap = 0;
	for (size_t i = 0; i < wanted.size.n; i++)
		vec_push(&g.size, wanted.size.a[i]);
	if (!sharing.target.cores && (shares || tells_time))
		sharing.target = *target_host();
	if (tells_time) {
		double seconds = graph_time(m, &sharing.target);
		note("%.9g s", seconds);
		facts_number("seconds", seconds);
		return;
	}
	if (shares) {
		gears_share(m, &sharing, c);
		return;
	}
	if (histogram)
		read_tables(&g, &seen, &taken);
	else if (!g.n)
		die(EX_BADUSE, "which sizes? --gears batch=1,2,4,8");
	gears_sort(&g);
	gears_build(m, &g, c);
	vec_free(&g.size);
}

static const struct argp_option options[] = {
	{"gears", OPT_GEARS, "NAME=SIZE,...", 0, "sizes of a symbol that there are gears for; of several: NAME:NAME=SIZE:SIZE,..."},
	{"histogram", OPT_HISTOGRAM, "FILE", 0, "choose gears by how often sizes come: lines NAME=SIZE,.. COUNT"},
	{"times", OPT_TIMES, "FILE", 0, "how long each size takes: lines NAME=SIZE,.. SECONDS"},
	{0, 'k', "N", 0, "so many gears at most"},
	{"time", OPT_TIME, 0, 0, "only say how long a graph that has groups takes, by the cost model", -1},
	{"share", OPT_SHARE, 0, 0, "of a graph that has gears and groups: make all gears read weights in the same form"},
	{"copies", OPT_COPIES, "PERCENT", 0, "with --share: weights that may be there in a second form (1)"},
	{"target", OPT_TARGET, "NAME", 0, "with --share: schedule for this target: %s (default: native)"},
	{"exact", OPT_EXACT, 0, 0, "refuse sizes between gears, also where they could be padded"},
	{"open", OPT_OPEN, 0, 0, "sizes without a gear run in a graph of any size"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_GEARS: gears_add(&wanted, arg); return 0;
	case OPT_HISTOGRAM: histogram = arg; return 0;
	case OPT_TIMES: times = arg; return 0;
	case 'k': wanted.most = option_count("-k", arg, 1, GEARS_MAX); return 0;
	case OPT_TIME: tells_time = true; return 0;
	case OPT_SHARE: shares = true; return 0;
	case OPT_COPIES: sharing.copies = option_number("--copies", arg, 0, 1000) / 100; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &sharing.target))
			die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
		return 0;
	case OPT_EXACT: wanted.exact = true; return 0;
	case OPT_OPEN: wanted.open = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = run,
	.contract = "Needs shapes. Keeps ONNX operators in the branches. Leaves a MapIndex and a Case; every branch has its sizes.",
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "ge-gears",
	.summary = "Make one model for several sizes: a branch for each, with shared weights.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
	.names = names,
};
