/* Libraries that are made to be timed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/filename.h"
#include "common/progress.h"
#include "hone.h"

bool library_emit(struct hone *h, const char *planned, const char *name)
{
	struct child emit = {0};

	words_add(&emit.argv, "ge-emit");
	words_add(&emit.argv, "--quiet");
	given_add(h, &emit.argv, "compiler");
	words_add(&emit.argv, "-o");
	words_add(&emit.argv, text(h, "%s/%s", h->work, name));
	words_add(&emit.argv, "--");
	words_add(&emit.argv, planned);
	return !child_run(h, &emit, NULL);
}

bool is_library(const char *model) { return filename_ends(model, ".so"); }

const char *library_made(struct hone *h, const char *model, const char *sizes, const char *threads, int *code, struct facts *f)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};
	const char *stem = text(h, "%s/timed/library", h->work);

	words_add(&c.argv, "/proc/self/exe");
	words_add(&c.argv, "build");
	words_add(&c.argv, "--quiet");
	words_add(&c.argv, "--level-seconds=0");
	for (size_t i = 0; i < h->given.n; i++) {
		const struct option_row *o = h->given.a[i].row;
		if (*o->name && strcmp(o->name, "threads") && strcmp(o->name, "quiet") && o->verbs & V_BUILD)
			words_add(&c.argv, text(h, h->given.a[i].value ? "--%s=%s" : "--%s", o->name, h->given.a[i].value));
	}
	if (*sizes)
		words_add(&c.argv, text(h, "--set=%s", sizes));
	words_add(&c.argv, text(h, "--threads=%s", threads));
	words_add(&c.argv, "-o");
	words_add(&c.argv, stem);
	words_add(&c.argv, "--");
	words_add(&c.argv, model);
	*code = child_run(h, &c, f);
	return *code ? NULL : text(h, "%s.so", stem);
}

/* ge-plan and ge-emit of a graph that has its layouts, without a word. */
bool library_of(struct hone *h, const char *graph, const char *name)
{
	struct child plan = {0};
	const char *planned = text(h, "%s/%s.plan.g", h->work, name);

	words_add(&plan.argv, "ge-plan");
	words_add(&plan.argv, "--quiet");
	given_add(h, &plan.argv, "library");
	words_add(&plan.argv, "-o");
	words_add(&plan.argv, planned);
	words_add(&plan.argv, "--");
	words_add(&plan.argv, graph);
	return !child_run(h, &plan, NULL) && library_emit(h, planned, name);
}

/* run-dev --bench; what it measured in *f. */
static bool bench_library(struct hone *h, const char *library, const char *seconds, const char *set, double limit, struct facts *f)
{
	struct child c = {.out = text(h, "%s/bench", h->work), .limit = limit};

	words_add(&c.argv, "run-dev");
	words_add(&c.argv, "--bench");
	words_add(&c.argv, "--kernels");
	words_add(&c.argv, "--json");
	words_add(&c.argv, text(h, "--seconds=%s", seconds));
	if (set && *set)
		words_add(&c.argv, text(h, "--set=%s", set));
	words_add(&c.argv, "--");
	words_add(&c.argv, library);
	if (child_run(h, &c, NULL))
		return false;
	*f = facts_read(c.out);
	return true;
}

double library_least(struct hone *h, const char *library)
{
	struct facts f;

	return bench_library(h, library, "0.3", NULL, 0, &f) ? facts_value(&f, "min") : NAN;
}

bool library_time(struct hone *h, const char *library, const char *json)
{
	struct child c = {.out = json};

	words_add(&c.argv, "run-dev");
	words_add(&c.argv, "--bench");
	words_add(&c.argv, "--kernels");
	words_add(&c.argv, "--json");
	words_add(&c.argv, "--seconds=0.5");
	words_add(&c.argv, "--");
	words_add(&c.argv, library);
	return !child_run(h, &c, NULL);
}

/* ---- whose the time of a run is ---- */

/* NAME=SIZE of each open symbol: the sizes that run-ref proposes, or all of one size. "": none is open. NULL: one cannot be given so. */
static const char *open_sizes(struct hone *h, const struct facts *f, int size)
{
	const char *list = "";
	size_t k = 0;

	if (facts_get(f, "give_shape"))
		return NULL;
	for (size_t i = 0; i < f->n; i++) {
		const char *name = f->a[i].text;
		if (!name || strcmp(f->a[i].name, "symbol"))
			continue;
		if (strpbrk(name, ",="))
			return NULL;
		for (; k < f->n && strcmp(f->a[k].name, "size"); k++)
			;
		list = text(h, "%s%s%s=%s", list, *list ? "," : "", name, size ? text(h, "%d", size) : k < f->n ? f->a[k].text : "1");
		k++;
	}
	return list;
}

/* A run with the first sizes that work: small ones may be too small for a window or for a model's own tests. */
static bool time_some(struct hone *h, const struct facts *open, double seconds, const int *size, int n, const char **set, struct facts *f)
{
	double until = now_seconds() + seconds;
	const char *library = strchr(h->stem, '/') ? text(h, "%s.so", h->stem) : text(h, "./%s.so", h->stem);

	for (int i = 0; i < n; i++) {
		double rest = until - now_seconds();
		*set = open_sizes(h, open, size[i]);
		if (rest <= 0 || !*set)
			return false;
		if (bench_library(h, library, "0.2", *set, rest, f))
			return true;
	}
	return false;
}

/* What a run of the planned graph lacks. */
static struct facts what_lacks(struct hone *h)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};
	struct facts f;

	words_add(&c.argv, "run-ref");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, "/dev/null");
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	child_run(h, &c, &f);
	return f;
}

/* Where not all steps are kernels of known sizes: of random inputs, of open sizes that work. Nothing if none do, or a run takes long. */
void measure_shares(struct hone *h)
{
	static const int proposed[] = {0}, others[] = {2, 4, 8, 16, 32, 64, 128, 256, 512};
	struct facts open = {0}, f;
	const char *set = "";

	if (h->quiet || given_is(h, "target") || !(h->open_sizes || h->slow_path))
		return;
	progress(h, "timing a run");
	if (h->open_sizes)
		open = what_lacks(h);
	if (h->open_sizes && !facts_get(&open, "symbol"))
		return;
	if (!time_some(h, &open, 10, proposed, 1, &set, &f) && !time_some(h, &open, 20, others, sizeof others / sizeof *others, &set, &f))
		return;
	words_add(&h->remarks,
		  text(h, "time of a run%s%s, %.4f ms: kernels %.1f%%, native %.1f%%, slow path %.1f%%, branches and loops %.1f%%",
		       *set ? " with --set " : "", set, 1e3 * facts_value(&f, "median"), 100 * facts_value(&f, "shares.kernels"),
		       100 * facts_value(&f, "shares.native"), 100 * facts_value(&f, "shares.slow_path"),
		       100 * facts_value(&f, "shares.flow")));
}
