/* hone build --check: the library against the model, on random inputs. */
#include <math.h>
#include <string.h>
#include "common/shown.h"
#include "hone.h"

const char *graph_after(const struct hone *h, enum stage_id s)
{
	const char *end = stage_name(s), *found = NULL;

	for (size_t i = 0; i < h->kept.n; i++) {
		const char *name = base_name(h->kept.a[i]), *stage = strchr(name, '-');
		size_t n = strlen(end);
		if (stage && !strncmp(stage + 1, end, n) && !strcmp(stage + 1 + n, ".g"))
			found = h->kept.a[i];
	}
	return found;
}

const char *check_reference(const struct hone *h)
{
	static const char *const changing[] = {"mixed", "state-type", "last", "alias"};
	bool changed = h->before_level != NULL;

	for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
		changed |= given_is(h, changing[i]);
	const char *last = changed ? graph_after(h, STAGE_integer) : NULL;
	return last ? last : graph_after(h, STAGE_shape);
}

int compare_numbers(struct hone *h, const struct comparison *x, struct facts *f)
{
	struct child c = {.out = text(h, "%s/compared", h->work), .facts = text(h, "%s/facts", h->work)};

	words_add(&c.argv, "run-cmp");
	words_add(&c.argv, "--rewritten");
	words_add(&c.argv, text(h, "--runs=%d", x->runs ? x->runs : 1));
	words_add(&c.argv, text(h, "--seconds=%s", x->seconds ? x->seconds : "300"));
	if (x->seed)
		words_add(&c.argv, text(h, "--seed=%d", x->seed));
	if (x->inputs)
		words_add(&c.argv, text(h, "-i%s", x->inputs));
	if (x->save)
		words_add(&c.argv, text(h, "--save=%s", x->save));
	if (x->tolerance > 0)
		words_add(&c.argv, text(h, "--tol=%.9g", x->tolerance));
	if (x->each)
		words_add(&c.argv, "--json");
	if (x->drawn)
		given_add(h, &c.argv, "compare");
	if (x->as_given)
		given_add(h, &c.argv, "check");
	words_add(&c.argv, text(h, "--facts=%s", c.facts));
	words_add(&c.argv, "--");
	words_add(&c.argv, strchr(x->made, '/') ? x->made : text(h, "./%s", x->made));
	words_add(&c.argv, x->reference);
	int code = child_run(h, &c, f);
	if (x->each)
		*x->each = code == EX_GOOD || code == EX_DIFFERENT ? facts_read(c.out) : (struct facts){0};
	return code;
}

/* "logits differs by 4.8e-07 of its largest element (1e-04 allowed)". */
const char *compare_distance(struct hone *h, const struct facts *f)
{
	const char *worst = facts_get(f, "worst"), *why = facts_get(f, "why");

	if (why)
		return text(h, "%s: %s", worst, why);
	return text(h, "%s differs by %.2g of its largest element (%.2g allowed)", worst, facts_value(f, "off"),
		    facts_value(f, "tolerance"));
}

void check_library(struct hone *h)
{
	struct facts f;

	if (!given_is(h, "check"))
		return;
	progress(h, "comparing with the model");
	int code = compare_numbers(h,
				   &(struct comparison){.made = text(h, "%s.so", h->stem),
							.reference = check_reference(h),
							.runs = COMPARE_RUNS,
							.seconds = given_value(h, "check-seconds"),
							.drawn = true},
				   &f);
	const char *error = facts_get(&f, "error"), *sizes = facts_get(&f, "sizes");
	double runs = facts_value(&f, "runs");
	h->check = (struct checked){.code = code, .facts = f};
	if (code == EX_DIFFERENT)
		h->check.said = text(h, "the library does not compute what the model does: %s%s%s; hone bisect says where that begins",
				     compare_distance(h, &f), sizes ? ", with" : "", sizes ? sizes : "");
	else if (code)
		h->check.said = text(h, "not checked: %s", error ? error : "it takes longer than --check-seconds");
	else
		h->check.said = text(h, "checked: the numbers of the model on %.0f random input%s%s%s; at most, %s", runs,
				     runs == 1 ? "" : "s", sizes ? " with" : "", sizes ? sizes : "", compare_distance(h, &f));
}

void check_end(struct hone *h)
{
	if (h->check.code)
		die(h->check.code, "%s: %s", h->model, h->check.said);
}
