/* Mixed precision: the model with all nodes in one form and with all in the other, up to their kernels; then the choice. */
#include <math.h>
#include <string.h>
#include "hone.h"

/* Of the graph before it: is it quantised? */
static bool is_quantised(struct hone *h)
{
	static const char *const of_codes[] = {"DequantizeLinear", "QLinearConv", "QLinearMatMul", NULL};
	struct child c = {.out = text(h, "%s/counts", h->work)};

	words_add(&c.argv, "ge-stat");
	words_add(&c.argv, "--json");
	words_add(&c.argv, "--");
	words_add(&c.argv, h->last);
	child_must(h, &c);
	struct facts f = facts_read(c.out);
	for (int i = 0; of_codes[i]; i++)
		if (!isnan(facts_value(&f, text(h, "operators.%s.nodes", of_codes[i]))))
			return true;
	return false;
}

/* All nodes that may in one form. */
static const char *form(struct hone *h, const char *name, const char **digest)
{
	struct words w = {0};
	const char *prefix = text(h, "%s.", name);

	words_add(&w, text(h, "--all=%s", name));
	if (given_is(h, "mixed"))
		words_add(&w, "--drop");
	chain_stage(h, STAGE_mixed, prefix, &w);
	chain_run(h, STAGE_fold, STAGE_prune, CASTS, prefix);
	chain_run(h, STAGE_integer, STAGE_layout, KERNELS, prefix);
	*digest = h->digest;
	return h->last;
}

/* Times of the default schedules go into the knowledge base; those that are in it are not taken again. */
static void measure(struct hone *h, const char *graph)
{
	struct child c = {.facts = text(h, "%s/facts", h->work)};

	progress(h, "timing kernels");
	words_add(&c.argv, "tune-op");
	words_add(&c.argv, "--quiet");
	given_add(h, &c.argv, "measure");
	if (given_is(h, "target"))
		words_add(&c.argv, target_runner(h));
	words_add(&c.argv, "--trials=1");
	words_add(&c.argv, "--json");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "-o");
	words_add(&c.argv, text(h, "%s/timed.g", h->work));
	words_add(&c.argv, "--");
	words_add(&c.argv, graph);
	child_must(h, &c);
}

/* Nodes of a quantised model that are in floats, for the report. */
static void remark(struct hone *h, const struct facts *f)
{
	double low = facts_value(f, "low"), all = facts_value(f, "things");

	if (low < all)
		words_add(&h->remarks, text(h, "%s%s%.0f of %.0f quantised nodes are in floats, which is faster; --integers: none",
					    h->label ? h->label : "", h->label ? ": " : "", all - low, all));
}

void mixed_run(struct hone *h)
{
	bool asked = given_is(h, "mixed");
	const char *unmixed = h->last, *digest = h->digest, *digest_high, *digest_low;
	struct words w = {0};

	if (!asked && !is_quantised(h))
		return;
	h->high = form(h, "high", &digest_high);
	h->last = unmixed;
	h->low = form(h, "low", &digest_low);
	h->last = unmixed;
	h->digest = digest;
	h->forms_differ = strcmp(digest_high, digest_low) != 0;
	if (!h->forms_differ) /* there is nothing to choose */
		return;
	if (asked && h->verb->id == V_TUNE) {
		measure(h, h->high);
		measure(h, h->low);
	}
	words_add(&w, asked ? "--drop" : "--predict");
	given_add(h, &w, "mixed-choice");
	words_add(&w, text(h, "--high=%s", h->high));
	words_add(&w, text(h, "--low=%s", h->low));
	struct facts f = chain_stage(h, STAGE_mixed, "", &w);
	if (!asked)
		remark(h, &f);
	chain_run(h, STAGE_fold, STAGE_prune, CASTS, "");
}

/* The choice is one of sums of kernels; what counts is the whole model. Three turns each. */
void mixed_fastest(struct hone *h)
{
	enum { FORMS = 3, TURNS = 3 };
	const char *name[FORMS] = {"mixture", "high", "low"}, *graph[FORMS] = {h->last, h->high, h->low};
	static const double clearly = 0.99; /* of the mixture's time */
	double least[FORMS] = {INFINITY, INFINITY, INFINITY};
	int best = 0;

	if (!h->forms_differ)
		return;
	for (int i = 0; i < FORMS; i++) {
		progress(h, text(h, "timing %s", name[i]));
		if (!library_of(h, graph[i], name[i]))
			return;
	}
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < FORMS; i++)
			least[i] = fmin(least[i], library_least(h, text(h, "%s/%s.so", h->work, name[i])));
	progress(h, NULL);
	for (int i = 1; i < FORMS; i++)
		if (least[i] < clearly * least[0] && least[i] < least[best])
			best = i;
	words_add(&h->form_times, text(h, "the whole model: %.4g ms mixed, %.4g ms with all high, %.4g ms with all low", 1e3 * least[0],
				       1e3 * least[1], 1e3 * least[2]));
	h->last = graph[best];
}
