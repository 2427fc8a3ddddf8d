/* Weighs a record by what its tuning found in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "kb/weigh.h"

/* A remeasurement, with what identifies the choice (a trace, in one tuning) that it is of. */
struct remeasured {
	struct digest of;
	double count, mean; /* mean: infinite if the choice was dropped */
	struct kb_record *r;
};

double kb_number(const struct kb_record *r, const char *name)
{
	const char *v = kb_get_field(r, name);
	char *end;
	double d = v ? strtod(v, &end) : NAN;

	return v && end != v && !*end && d > 0 ? d : INFINITY;
}

/* false: the record says nothing of a choice, or does not say of how many remeasurements. */
static bool read_remeasured(struct kb_record *r, struct remeasured *out)
{
	static const char *const keys[] = {"task", "target", "base", "session"};
	const char *against = kb_get_field(r, "against"), *count = kb_get_field(r, "remeasurements");
	const char *trace = kb_get_field(r, "trace"), *was = kb_get_field(r, "trace-digest");
	char hex[33];

	if (!against || strcmp(against, "default") || !count || (!trace && !was) || kb_implausible(r))
		return false;
	struct digest_state *d = digest_new();
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const char *v = kb_get_field(r, keys[i]);
		char *key = v && !strcmp(keys[i], "target") ? kb_target_key(v) : NULL;
		v = key ? key : v;
		digest_add(d, v ? v : "", v ? strlen(v) + 1 : 1);
		free(key);
	}
	if (trace) {
		digest_hex(kb_trace_digest(trace), hex);
		was = hex;
	}
	digest_add(d, was, strlen(was));
	*out = (struct remeasured){digest_end(d), kb_number(r, "remeasurements"), kb_get_field(r, "kept") ? INFINITY : kb_number(r, "mean"),
				   r};
	return true;
}

/* By choice; of one choice the one with most remeasurements first, of equals the worse one. */
static int by_choice(const void *a, const void *b)
{
	const struct remeasured *x = a, *y = b;
	int c = digest_cmp(x->of, y->of);

	if (!c)
		c = (x->count < y->count) - (x->count > y->count);
	return c ? c : (x->mean < y->mean) - (x->mean > y->mean);
}

void kb_weigh(struct kb_list *l)
{
	VEC(struct remeasured) v = {0};
	struct remeasured x;

	for (size_t i = 0; i < l->n; i++)
		if (read_remeasured(&l->a[i], &x))
			vec_push(&v, x);
	if (v.n)
		qsort(v.a, v.n, sizeof *v.a, by_choice);
	for (size_t i = 0, first = 0; i < v.n; i++) {
		if (!digest_eq(v.a[i].of, v.a[first].of))
			first = i;
		v.a[i].r->worth = v.a[first].mean;
	}
	vec_free(&v);
}
