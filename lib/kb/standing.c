/* Plans beside kernels that were tuned after them. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "kb/rule.h"
#include "kb/weigh.h"

/* The trace of a kernel that had none. */
static const char by_default[] = "default";

/* The record of a kernel that decides its schedule in a build; NULL: none does. */
static const struct kb_record *kernel_record(struct kb *k, struct digest task, const char *target, struct kb_list *l, struct arena *a)
{
	const struct kb_record *r;

	kb_find_task(k, task, l, a);
	for (size_t i = l->n; i-- > 0;)
		if (!kb_is_trusted(k, &l->a[i]))
			l->a[i] = l->a[--l->n];
	const char *text = l->n ? kb_get_field(&l->a[0], "task") : NULL;
	r = text ? kb_best_of(l, text, target) : NULL;
	return r && kb_get_field(r, "trace") ? r : NULL;
}

/* The share of the time that a kernel has lost since the plan was timed. */
static double saved(struct kb *k, double share, const char *task, const char *trace, const char *target, struct arena *a)
{
	struct kb_list l = {0};
	struct digest d;
	char hex[33];

	if (!digest_parse(task, strlen(task), &d))
		return 0;
	const struct kb_record *r = kernel_record(k, d, target, &l, a);
	if (!r)
		return 0;
	digest_hex(kb_trace_digest(kb_get_field(r, "trace")), hex);
	return strcmp(hex, trace) ? share * fmax(0, 1 - kb_worth(r)) : 0;
}

/* The kernels of a field: their shares, and what these have lost. */
struct shares {
	double all, saved;
};
static struct shares shares_of(struct kb *k, const char *kernels, const char *target, struct arena *a)
{
	struct shares sum = {0};

	for (const char *p = kernels; p && *p;) {
		char task[33], trace[33];
		double share;
		int n = 0;
		if (sscanf(p, "%lf:%32[0-9a-f]:%32[0-9a-z]%n", &share, task, trace, &n) != 3 || !(share >= 0))
			return (struct shares){0};
		sum.all += share;
		sum.saved += saved(k, share, task, trace, target, a);
		p += n + (p[n] == ' ');
	}
	return sum;
}

const char *kb_kernel_text(double share, const char *task, const char *trace, struct arena *a)
{
	char of[33], as[33];

	digest_hex(digest_bytes(task, strlen(task)), of);
	if (trace)
		digest_hex(kb_trace_digest(trace), as);
	return arena_printf(a, "%.3f:%s:%s", share, of, trace ? as : by_default);
}

/* The shares are of predicted seconds; what the plan saved as a whole, as it was timed, each of its kernels saved. */
struct kb_standing kb_standing(struct kb *k, const struct kb_record *plan, const char *target, struct arena *a)
{
	struct shares own = shares_of(k, kb_get_field(plan, "kernels"), target, a);
	struct shares usual = shares_of(k, kb_get_field(plan, "usual-kernels"), target, a);
	double predicted = fmax(0, 1 - usual.all) + own.all;

	return (struct kb_standing){.plan = kb_worth(plan) * (predicted > 0 ? 1 - own.saved / predicted : 1),
				    .usual = fmax(0, 1 - usual.saved)};
}

bool kb_stands(struct kb_standing s) { return s.plan < KB_MATERIAL * s.usual; }
