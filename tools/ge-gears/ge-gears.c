/* ge-gears: one model for several sizes. The graph becomes a branch of a Case for each of them, with its sizes known; MapIndex finds the
 * branch by the sizes of the inputs. Weights are shared. */
#include "common/option.h"
#include "gears.h"
#include "op/pass.h"
#include "share.h"

enum { OPT_GEARS = 0x100, OPT_EXACT, OPT_SHARE, OPT_COPIES, OPT_TARGET };

static struct gears wanted;
static bool shares;
static struct share_options sharing = {.copies = 0.01};

static void run(struct module *m, const struct pass_ctx *c)
{
	struct gears g = wanted;

	if (!g.n && !shares)
		die(EX_BADUSE, "which sizes? --gears batch=1,2,4,8");
	if (shares && !sharing.target.cores)
		sharing.target = *target_host();
	if (shares)
		gears_share(m, &sharing, c);
	if (shares)
		return;
	g.size.a = arena_copy(&m->arena, g.size.a, g.size.n * sizeof *g.size.a);
	gears_sort(&g);
	gears_build(m, &g, c);
}

static const struct argp_option options[] = {
	{"gears", OPT_GEARS, "NAME=SIZE,...", 0, "sizes of a symbol that there are gears for; of several: NAME:NAME=SIZE:SIZE,..."},
	{"share", OPT_SHARE, 0, 0, "of a graph that has gears and groups: make all gears read weights in the same form"},
	{"copies", OPT_COPIES, "PERCENT", 0, "with --share: weights that may be there in a second form (1)"},
	{"target", OPT_TARGET, "NAME", 0, "with --share: schedule for this target: %s (default: native)"},
	{"exact", OPT_EXACT, 0, 0, "refuse sizes between gears, also where they could be padded"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_GEARS: gears_add(&wanted, arg); return 0;
	case OPT_SHARE: shares = true; return 0;
	case OPT_COPIES: sharing.copies = option_number("--copies", arg, 0, 1000) / 100; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &sharing.target))
			die(EX_BADUSE, "--target=%s: there are %s", arg, target_names());
		return 0;
	case OPT_EXACT: wanted.exact = true; return 0;
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
