/* Curves and plans in the knowledge base, by the names the user gives the network and the model. */
#include <stdlib.h>
#include <string.h>
#include "common/textfile.h"
#include "kb/kb.h"
#include "tune-grad.h"

static const char *curve_task(struct arena *a) { return arena_printf(a, "all-reduce on %s", opt.network); }

static const char *plan_task(struct arena *a)
{
	return arena_printf(a, "gradients of %s on %s%s", opt.model, opt.network, opt.gather ? ", gathered" : "");
}

/* Records have no time in them: they are numbered, and the highest number is the newest. */
static const struct kb_record *newest(const struct kb_list *l, unsigned long *number)
{
	const struct kb_record *found = NULL;
	*number = 0;
	for (size_t i = 0; i < l->n; i++) {
		const char *s = kb_get_field(&l->a[i], "number");
		unsigned long v = s ? strtoul(s, NULL, 10) : 0;
		if (!found || v > *number)
			found = &l->a[i], *number = v;
	}
	return found;
}

/* Puts a record, unless the newest of its task says the same in the field `what`. */
static void put(const char *kind, const char *task, const char *what, struct kb_record *r, struct arena *a)
{
	struct kb *k = kb_open(opt.kb, true);
	struct kb_list l = {0};
	unsigned long number;
	kb_find(k, kind, task, &l, a);
	const struct kb_record *old = newest(&l, &number);
	const char *said = old ? kb_get_field(old, what) : NULL;
	if (!said || strcmp(said, kb_get_field(r, what))) {
		kb_set_field(r, "kind", kind, a);
		kb_set_field(r, "task", task, a);
		kb_set_field(r, "network", opt.network, a);
		kb_set_field(r, "number", arena_printf(a, "%lu", number + 1), a);
		kb_set_field(r, "tool", "tune-grad " HONE_VERSION, a);
		kb_put(k, &r, 1);
	}
	kb_close(k);
}

void remember_curve(const struct curve *c)
{
	struct arena a = {0};
	struct kb_record r = {0};
	const char *text = "";
	for (size_t i = 0; i < c->at.n; i++)
		text = arena_printf(&a, "%s%s%.15g\t%.15g", text, i ? "\n" : "", c->at.a[i].bytes, c->at.a[i].us);
	kb_set_field(&r, "curve", text, &a);
	put("curve", curve_task(&a), "curve", &r, &a);
	arena_release(&a);
}

/* The newest record's field as text in memory; NULL: none. */
static char *recall(const char *kind, const char *task, const char *what, struct arena *a)
{
	struct kb *k = kb_open(opt.kb, false);
	struct kb_list l = {0};
	unsigned long number;
	kb_find(k, kind, task, &l, a);
	const struct kb_record *r = newest(&l, &number);
	const char *text = r ? kb_get_field(r, what) : NULL;
	kb_close(k);
	return text ? arena_str(a, text) : NULL;
}

void recall_curve(struct curve *c)
{
	struct arena a = {0};
	char *text = recall("curve", curve_task(&a), "curve", &a);
	if (!text)
		die(EX_NOIN, "no curve is remembered of the network '%s'; give it once with -c FILE", opt.network);
	curve_parse(c, arena_printf(&a, "the curve of network %s", opt.network), text);
	arena_release(&a);
}

static const char *sample_list(const double *us, size_t n, struct arena *a)
{
	char *text = NULL;
	FILE *f = textfile_open(&text, NULL);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%s%.1f", i ? " " : "", us[i]);
	textfile_close(f);
	char *kept = arena_str(a, text);
	free(text);
	return kept;
}

void remember_plan(const struct plan *p, const struct grads *g, const struct curve *c, const double *us, size_t samples)
{
	struct arena a = {0};
	struct kb_record r = {0};
	struct plan_cost cost = plan_cost(p, g, c);
	char *text = NULL;
	size_t n = 0;
	FILE *f = textfile_open(&text, &n);
	plan_print(f, p, g, c, "idx");
	textfile_close(f);
	text[n ? n - 1 : 0] = 0; /* without its last line feed */
	kb_set_field(&r, "plan", text, &a);
	kb_set_field(&r, "model", opt.model, &a);
	kb_set_field(&r, "tensors", arena_printf(&a, "%zu", g->at.n), &a);
	kb_set_field(&r, "end", arena_printf(&a, "%.3f", cost.end), &a);
	kb_set_field(&r, "tail", arena_printf(&a, "%.3f", cost.tail), &a);
	if (samples)
		kb_set_field(&r, "samples", sample_list(us, samples, &a), &a);
	put("plan", plan_task(&a), samples ? "samples" : "plan", &r, &a);
	free(text);
	arena_release(&a);
}

bool recall_plan(struct plan *p, const struct grads *g)
{
	struct arena a = {0};
	const char *task = plan_task(&a);
	char *text = recall("plan", task, "plan", &a);
	if (text)
		plan_parse(p, task, text, g);
	arena_release(&a);
	return text != NULL;
}
