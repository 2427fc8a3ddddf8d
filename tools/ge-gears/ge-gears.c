/* ge-gears: one model for several sizes. The graph becomes a branch of a Case for each of them, with its sizes known; MapIndex finds the
 * branch by the sizes of the inputs. Weights are shared. */
#include "gears.h"
#include "op/pass.h"

enum { OPT_GEARS = 0x100, OPT_EXACT };

static struct gears wanted;

static void run(struct module *m, const struct pass_ctx *c)
{
	struct gears g = wanted;

	if (!g.n)
		die(EX_BADUSE, "which sizes? --gears batch=1,2,4,8");
	g.size.a = arena_copy(&m->arena, g.size.a, g.size.n * sizeof *g.size.a);
	gears_sort(&g);
	gears_build(m, &g, c);
}

static const struct argp_option options[] = {
	{"gears", OPT_GEARS, "NAME=SIZE,...", 0, "sizes of a symbol that there are gears for; of several: NAME:NAME=SIZE:SIZE,..."},
	{"exact", OPT_EXACT, 0, 0, "refuse sizes between gears, also where they could be padded"},
	{0},
};

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_GEARS: gears_add(&wanted, arg); return 0;
	case OPT_EXACT: wanted.exact = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct pass pass = {
	.run = run,
	.contract = "Needs shapes. Keeps ONNX operators in the branches. Leaves a MapIndex and a Case; every branch has its sizes.",
};

const struct tool tool = {
	.name = "ge-gears",
	.summary = "Make one model for several sizes: a branch for each, with shared weights.",
	PASS_TOOL(pass),
	.options = options,
	.option = option,
};
