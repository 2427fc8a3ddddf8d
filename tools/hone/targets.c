/* hone build for several targets: what a target has a say in runs once for each, and one library has the code of all. */
#include <stdlib.h>
#include <string.h>
#include "hone.h"
#include "target/list.h"

/* The names, with commas between them or in options of their own: each becomes one of h->targets, and one option --target is left, whose
 * value is that of the turn. */
void targets_read(struct hone *h)
{
	struct target_list list = {0};
	size_t rows = 0, kept = 0;

	for (size_t i = 0; i < h->given.n; i++)
		rows += !strcmp(h->given.a[i].row->name, "target");
	if (!rows || (rows == 1 && (!strchr(given_value(h, "target"), ',') || strchr(given_value(h, "target"), '='))))
		return;
	if (h->verb->id != V_BUILD)
		die(EX_BADUSE, "%s --target: one at a time; hone build makes one library for several", h->verb->name);
	for (size_t i = 0; i < h->given.n; i++) {
		bool is_target = !strcmp(h->given.a[i].row->name, "target");
		if (!is_target || !list.n)
			h->given.a[kept++] = h->given.a[i];
		if (is_target)
			targets_add(&list, h->given.a[i].value);
	}
	h->given.n = kept;
	for (int i = 0; i < list.n; i++)
		words_add(&h->targets, list.a[i].name);
}

/* From now on stages are given this target. A row is not a name for files: "target2". */
static void turn(struct hone *h, size_t i)
{
	const char *name = h->targets.a[i];

	for (size_t k = 0; k < h->given.n; k++)
		if (!strcmp(h->given.a[k].row->name, "target"))
			h->given.a[k].value = name;
	h->target = name;
	h->label = strchr(name, '=') ? text(h, "target%zu", i + 1) : name;
}

struct graph_of {
	const char *file, *digest;
};

static bool same_graph(const struct graph_of *x, const struct graph_of *y)
{
	return !strcmp(x->file, y->file) || (x->digest && y->digest && !strcmp(x->digest, y->digest));
}

static struct graph_of newest(const struct hone *h) { return (struct graph_of){h->last, h->digest}; }

static void go_on_from(struct hone *h, const struct graph_of *g)
{
	h->last = g->file;
	h->digest = g->digest;
}

/* Runs these stages on the graph of each target: of equal graphs once, and without a name if all are that one. */
static void run_shared(struct hone *h, struct graph_of *graphs, enum stage_id first, enum stage_id last)
{
	struct graph_of *from = arena_copy(&h->arena, graphs, h->targets.n * sizeof *graphs);

	for (size_t i = 0; i < h->targets.n; i++) {
		size_t as = 0, equal = 0;
		while (!same_graph(&from[as], &from[i]))
			as++;
		for (size_t k = 0; k < h->targets.n; k++)
			equal += same_graph(&from[k], &from[i]);
		graphs[i] = graphs[as];
		if (as < i)
			continue;
		turn(h, i);
		go_on_from(h, &from[i]);
		if (equal == h->targets.n)
			h->label = NULL;
		chain_run(h, first, last, 0, "");
		graphs[i] = newest(h);
	}
}

/* Runs a stage that makes one graph for this target and another for that. */
static void run_each(struct hone *h, struct graph_of *graphs, enum stage_id s)
{
	for (size_t i = 0; i < h->targets.n; i++) {
		turn(h, i);
		go_on_from(h, &graphs[i]);
		chain_run(h, s, s, 0, "");
		graphs[i] = newest(h);
	}
}

static void run_stages(struct hone *h, struct graph_of *graphs)
{
	chain_run(h, STAGE_import, STAGE_gears, 0, "");
	for (size_t i = 0; i < h->targets.n; i++)
		graphs[i] = newest(h);
	run_each(h, graphs, STAGE_mixed);
	run_shared(h, graphs, STAGE_integer, STAGE_integer);
	run_each(h, graphs, STAGE_recall);
	run_shared(h, graphs, STAGE_fuse, STAGE_layout);
}

void targets_build(struct hone *h)
{
	struct graph_of *laid_out = arena_alloc(&h->arena, h->targets.n * sizeof *laid_out);
	struct words planned = {0};

	run_stages(h, laid_out);
	for (size_t i = 0; i < h->targets.n; i++) {
		struct words w = {0};
		turn(h, i);
		go_on_from(h, &laid_out[i]);
		chain_run(h, STAGE_share, STAGE_schedule, 0, "");
		words_add(&w, text(h, "--target=%s", h->target));
		chain_stage(h, STAGE_plan, "", &w);
		words_add(&planned, h->last);
	}
	h->label = NULL;
	stem_open(h);
	stem_set_aside(h);
	build_emit(h, &planned);
}
