/* Curves and plans in the knowledge base, by the names the user gives the network and the model. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "common/msg.h"
#include "common/textfile.h"
#include "kb/kb.h"
#include "tune-grad.h"

static const char *curve_task(struct arena *a) { return arena_printf(a, "all-reduce on %s", opt.network); }

static const char *plan_task(struct arena *a)
{
	return arena_printf(a, "gradients of %s on %s%s", opt.model, opt.network, opt.gather ? ", gathered" : "");
}

/* Of at most 15 digits, so that there is always a higher one; 0: the record has none such, and was not put by this tool. */
static unsigned long number_of(const struct kb_record *r)
{
	enum { DIGITS = 15 };
	const char *s = kb_get_field(r, "number");
	size_t n = s ? strspn(s, "0123456789") : 0;

	return n && n <= DIGITS && !s[n] ? strtoul(s, NULL, 10) : 0;
}

/* Records have no time in them: they are numbered, and the highest number is the newest. Below is the number of the last that was found, or
 * ULONG_MAX. */
static const struct kb_record *newest(const struct kb_list *l, unsigned long below, unsigned long *number)
{
	const struct kb_record *found = NULL;

	*number = 0;
	for (size_t i = 0; i < l->n; i++) {
		unsigned long v = number_of(&l->a[i]);
		if (v > *number && v < below)
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
	const struct kb_record *old = newest(&l, ULONG_MAX, &number);
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

/* What a record's text becomes: a curve, or a plan for these gradients. */
struct remembered {
	struct curve *curve;
	struct plan *plan;
	const struct grads *g;
};

/* NULL, or why the text is none. */
static const char *take(const struct remembered *r, const char *where, const char *text, struct arena *a)
{
	struct msg_trap trap;

	if (setjmp(trap.at)) {
		msg_trap = NULL;
		if (r->curve)
			*r->curve = (struct curve){0};
		else
			*r->plan = (struct plan){0};
		return arena_str(a, trap.why);
	}
	msg_trap = &trap;
	if (r->curve)
		curve_parse(r->curve, where, text);
	else
		plan_parse(r->plan, where, text, r->g);
	msg_trap = NULL;
	return NULL;
}

/* Tells gradients from others: names and bytes, in order. */
static const char *grads_id(const struct grads *g, struct arena *a)
{
	struct digest_state *d = digest_new();
	char hex[33];

	for (size_t i = 0; i < g->at.n; i++) {
		const char *text = arena_printf(a, "%s\t%.15g\n", g->at.a[i].name, g->at.a[i].bytes);
		digest_add(d, text, strlen(text));
	}
	digest_hex(digest_end(d), hex);
	return arena_str(a, hex);
}

/* NULL, or why the plan of record r, which `to` has now, is none of these gradients; it is given back then. Older records do not say. */
static const char *other_gradients(const struct remembered *to, const struct kb_record *r, const char *where, struct arena *a)
{
	const char *of = to->plan ? kb_get_field(r, "gradients") : NULL;

	if (!of || !strcmp(of, grads_id(to->g, a)))
		return NULL;
	plan_free(to->plan);
	*to->plan = (struct plan){0};
	return arena_printf(a, "%s: the plan is of gradients of other names or sizes", where);
}

/* The newest record of the task that can be read; others, for anybody's may be merged into a knowledge base, are passed over with a note.
 * false: there is none. One or more, and none that can be read: die(65). */
static bool recall(const char *kind, const char *task, const char *where, const struct remembered *to, struct arena *a)
{
	struct kb *k = kb_open(opt.kb, false);
	struct kb_list l = {0};
	unsigned long number = ULONG_MAX;
	const char *fault = NULL, *why = NULL, *text;
	bool found = false;

	kb_find(k, kind, task, &l, a);
	for (const struct kb_record *r; !found && (r = newest(&l, number, &number));) {
		why = (text = kb_get_field(r, kind)) ? take(to, where, text, a) : "a record without what it is of";
		why = why ? why : other_gradients(to, r, where, a);
		fault = fault ? fault : why;
		found = !why;
	}
	kb_close(k);
	if (fault && !found)
		die(EX_BADDATA, "%s", fault);
	if (fault)
		note("%s; that record is passed over", fault);
	return found;
}

void recall_curve(struct curve *c)
{
	struct arena a = {0};
	const char *where = arena_printf(&a, "the curve of network %s", opt.network);
	if (!recall("curve", curve_task(&a), where, &(struct remembered){.curve = c}, &a))
		die(EX_NOIN, "no curve is remembered of the network '%s'; give it once with -c FILE", opt.network);
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
	kb_set_field(&r, "gradients", grads_id(g, &a), &a);
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
	bool found = recall("plan", task, task, &(struct remembered){.plan = p, .g = g}, &a);

	arena_release(&a);
	return found;
}
