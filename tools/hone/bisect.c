/* hone bisect: the stage after which the numbers change, the first value, the smallest part that shows it. */
#include "bisect.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/option.h"
#include "common/progress.h"
#include "common/shown.h"

/* The graphs of a build in their order; the last is the library. */
struct way {
	struct words name, file;
	const char **distance;          /* how far it is from the first; NULL: not compared */
	VEC(struct stage_error) errors; /* of all but the first, with --stages */
	double tolerance;
	const char *inputs;
};

/* "04-simplify.g": the name of the stage; NULL: a form of the model that was only compared with another. */
static const char *stage_of(struct hone *h, const char *file)
{
	const char *name = strchr(base_name(file), '-') + 1;
	size_t n = strlen(name) - strlen(".g");

	return memchr(name, '.', n) ? NULL : text(h, "%.*s", (int)n, name);
}

static void build_all(struct hone *h, struct way *w)
{
	chain_run(h, STAGE_import, STAGE_schedule, 0, "");
	chain_stage(h, STAGE_plan, "", NULL);
	for (size_t i = 0; i < h->kept.n; i++) {
		const char *name = stage_of(h, h->kept.a[i]);
		if (!name)
			continue;
		words_add(&w->name, name);
		words_add(&w->file, h->kept.a[i]);
	}
	progress(h, "emit");
	if (!library_emit(h, h->last, "bisect"))
		die(EX_NOTAVAIL, "%s: the build ends in ge-emit: nothing is compared; hone build says why", h->model);
	words_add(&w->name, "emit");
	words_add(&w->file, text(h, "%s/bisect.so", h->work));
	w->distance = arena_alloc(&h->arena, w->name.n * sizeof *w->distance);
	memset(w->distance, 0, w->name.n * sizeof *w->distance);
}

/* True if graph i computes other numbers than the imported model; each: the report on each output, or NULL. */
static bool differs(struct hone *h, struct way *w, size_t i, struct facts *each)
{
	bool first = !w->inputs;
	const char *given = given_value(h, "input"), *saved = text(h, "%s/inputs.npz", h->work);
	struct comparison c = {.made = w->file.a[i], .reference = w->file.a[0], .inputs = first ? given : w->inputs, .as_given = true};
	struct facts f;

	progress(h, text(h, "comparing after %s", w->name.a[i]));
	c.each = each;
	c.runs = first && !given ? COMPARE_RUNS : 1;
	c.save = first ? saved : NULL;
	c.drawn = first;
	c.tolerance = first ? 0 : w->tolerance;
	int code = compare_numbers(h, &c, &f);
	if (code != EX_GOOD && code != EX_DIFFERENT && code < 128)
		child_failed(h, code, &f);
	if (first) {
		w->inputs = saved;
		w->tolerance = code >= 128 ? 1e-4 : facts_value(&f, "tolerance");
	}
	w->distance[i] = code >= 128 ? text(h, "ends by signal %d", code - 128) : compare_distance(h, &f);
	return code != EX_GOOD;
}

/* The first graph that differs: one before it does not. */
static size_t first_other(struct hone *h, struct way *w)
{
	size_t same = 0, other = w->name.n - 1;

	while (other - same > 1) {
		size_t middle = (same + other) / 2;
		if (differs(h, w, middle, NULL))
			other = middle;
		else
			same = middle;
	}
	return other;
}

/* All of them, on the inputs that the library was compared with; the first that differs, or the number of graphs. */
static size_t compare_stages(struct hone *h, struct way *w)
{
	size_t other = w->name.n;

	for (size_t i = 1; i < w->name.n; i++) {
		struct facts each = {0};
		struct stage_error e = {.stage = w->name.a[i], .equal = !differs(h, w, i, &each)};
		error_take(h, &e, &each);
		if (!e.output)
			e.why = w->distance[i];
		vec_push(&w->errors, e);
		other = e.equal || i > other ? other : i;
	}
	return other;
}

/* A part of one kernel: its nodes, if they are fused, scheduled and compiled to the same fault. */
static void dissolve(struct hone *h, const struct suspect *s, double until, struct part_found *found)
{
	struct child c = {0};
	const char *single = text(h, "%s/single.g", h->work), *inputs = text(h, "%s/single.npz", h->work);
	struct part_found part = *found;

	words_add(&c.argv, "ge-fuse");
	words_add(&c.argv, "--undo");
	words_add(&c.argv, "-o");
	words_add(&c.argv, single);
	words_add(&c.argv, "--");
	words_add(&c.argv, found->laid_out);
	if (child_run(h, &c, NULL) || rename(found->values, inputs))
		return;
	struct suspect x = {.maker = BY_KERNELS, .before = single, .inputs = inputs, .tolerance = s->tolerance};
	struct module *m = cut_read(single);
	bool *keep = xcalloc(m->nodes.n, sizeof *keep);
	memset(keep, 1, m->nodes.n);
	part.nodes = 0;
	shrink_part(h, &x, keep, NULL, until, &part);
	if (!part.nodes) { /* the kernel, then: as it was scheduled */
		rename(inputs, found->values);
		found->operators = text(h, "one kernel: %s", part_operators(h, m, keep));
		found->nodes = graph(m, m->main)->nodes.n;
		found->laid_out = single;
	} else {
		part.laid_out = part.graph;
		part.value = found->value;
		part.distance = found->distance;
		*found = part;
	}
	free(keep);
	module_free(m);
}

/* ---- what is left of it ---- */

static void publish(struct hone *h, const struct part_found *found)
{
	const char *made = text(h, "%s/found.onnx", h->work);
	struct child c = {0};

	words_add(&c.argv, "ge-export");
	words_add(&c.argv, "--quiet");
	words_add(&c.argv, "-o");
	words_add(&c.argv, made);
	words_add(&c.argv, "--");
	words_add(&c.argv, found->laid_out);
	bool exported = !child_run(h, &c, NULL);
	place_folders(h, h->stem);
	place_publish(h, found->graph, text(h, "%s.g", h->stem));
	place_publish(h, found->values, text(h, "%s.npz", h->stem));
	if (exported)
		place_publish(h, made, text(h, "%s.onnx", h->stem));
}

static void report(struct hone *h, const struct way *w, size_t at, const char *blamed, bool is_own, const struct part_found *found)
{
	for (size_t i = 1; i < w->name.n && !w->errors.n; i++)
		if (w->distance[i])
			printf("%-12s %s  %s\n", w->name.a[i], i < at ? "equal    " : "DIFFERENT", shown(w->distance[i]));
	printf("\nthe numbers change in %s: after %s they are those of the model\n", blamed, w->name.a[at - 1]);
	if (found->is_memory)
		printf("each kernel computes what it should where every value has a place of its own\n");
	if (found->value)
		printf("the first value: %s, off %s\n", shown(found->value), shown(found->distance));
	if (found->nodes)
		printf("the smallest part: %zu node%s (%s), in %s.onnx, .npz (its inputs) and .g (as %s gets it)\n", found->nodes,
		       found->nodes == 1 ? "" : "s", found->operators, shown(h->stem), blamed);
	else
		printf(is_own ? "it is a command of --pass: no smaller part was looked for\n" : "no part of the graph shows it alone\n");
}

void bisect(struct hone *h)
{
	const char *seconds = given_value(h, "seconds");
	double limit = seconds ? option_number("--seconds", seconds, 0, INFINITY) : 60;
	struct way w = {0};

	if (given_is(h, "target"))
		h->target = given_value(h, "target");
	build_all(h, &w);
	size_t last = w.name.n - 1, at = 0;
	const char *page = given_value(h, "report");
	bool other = differs(h, &w, last, NULL);
	if (page || given_is(h, "stages")) {
		at = compare_stages(h, &w);
		other = at <= last;
		progress(h, NULL);
		if (page)
			errors_page(h, w.errors.a, w.errors.n, w.tolerance, page);
		if (!h->quiet)
			errors_print(h, w.errors.a, w.errors.n);
	}
	if (!other) {
		progress(h, NULL);
		if (!h->quiet && !w.errors.n)
			printf("no stage changes the numbers: at most, %s\n", shown(w.distance[last]));
		place_remove(h);
		child_end();
		return;
	}
	if (!w.errors.n)
		at = first_other(h, &w);
	bool by_library = at == last;
	struct suspect s = {.maker = by_library ? BY_LIBRARY : BY_STAGE,
			    .before = w.file.a[by_library ? at - 2 : at - 1],
			    .after = by_library ? NULL : w.file.a[at],
			    .inputs = w.inputs,
			    .tolerance = w.tolerance};
	if (!by_library && stage_find(w.name.a[at]) >= 0)
		s.stage = (enum stage_id)stage_find(w.name.a[at]);
	double until = now_seconds() + limit;
	bool is_own = !by_library && stage_find(w.name.a[at]) < 0; /* a command of --pass */
	struct part_found found = is_own ? (struct part_found){0} : differ_find(h, &s, limit);
	if (found.nodes && by_library)
		dissolve(h, &s, until, &found);
	progress(h, NULL);
	if (found.nodes)
		publish(h, &found);
	if (!h->quiet)
		report(h, &w, at, found.is_memory ? "plan" : w.name.a[at], is_own, &found);
	place_remove(h);
	child_end();
	die_silent(EX_DIFFERENT);
}
