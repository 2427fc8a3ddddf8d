/* What groups take that were not measured, by the analytic cost model. */
#include "loop/interp.h"
#include "loop/prim.h"
#include "lower/image.h"
#include "mixed.h"
#include "model/model.h"
#include "sched/analytic.h"
#include "sched/schedule.h"

double predicted_seconds(struct module *m, node_id fused, const struct target *t)
{
	const char *why;
	int64_t images = strip_images(m, fused);
	struct lowered l = images > 1 ? image_lower(m, fused, images, t, NULL, &why, lower_sketch) : lower_sketch(m, fused, t, NULL, &why);

	if (why)
		return 0;
	l.prog->threads = 1;
	default_schedule(l.prog);
	double seconds = loop_legalize(l.prog) ? 0 : loop_cost(l.prog) * (double)images;
	prog_free(l.prog);
	return seconds;
}

void mixed_predict(struct mixed *x)
{
	for (size_t i = 1; i < x->thing.n; i++) {
		struct thing *t = &x->thing.a[i];
		if ((!t->missing[FORM_HIGH] && !t->missing[FORM_LOW]) || !(t->predicted[FORM_HIGH] > 0) || !(t->predicted[FORM_LOW] > 0))
			continue;
		t->is_predicted = true;
		for (enum form f = FORM_HIGH; f <= FORM_LOW; f++) {
			t->seconds[f] = t->predicted[f];
			t->missing[f] = false;
		}
	}
}
