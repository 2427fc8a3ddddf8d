/* What to do about a layer that rounding ruins: said on standard error, with figures. */
#include <math.h>
#include "common/msg.h"
#include "common/shown.h"
#include "op/op.h"
#include "outputs.h"

/* Of the power: more is no small difference to anyone who reads it. 10 dB. */
#define FAR 0.1

/* The layer that loses most of what it reads; NULL: none whose loss is known. */
static const struct layer *worst_layer(const struct plan *p, const bool *on)
{
	const struct layer *worst = NULL;

	for (size_t i = 0; i < p->layers.n; i++) {
		const struct layer *l = &p->layers.a[i];
		if (on[i] && l->read && (!worst || l->reader.error > worst->reader.error))
			worst = l;
	}
	return worst;
}

static void hint_layer(const struct plan *p, const struct layer *l)
{
	struct module *m = plan_module(p);
	val_id x = node(m, l->node)->in[0];
	bool exact;
	double left = balance_left(m, x, p->stat[x], 0.5, &exact);

	if (left < 0.5)
		warn("%s: of its operand %s it reads %.1f dB (channel %u: %.1f dB); %s is predicted to leave %.2g%% of that error, --skip %s none",
		     shown(l->name), shown(sym_str(val(m, x)->name)), -10 * log10(l->reader.error), l->reader.worst,
		     -10 * log10(l->reader.worst_error), exact ? "--equalize" : "--smooth 0.5", 100 * left, shown(l->name));
	else
		warn("%s: of its operand %s it reads %.1f dB (channel %u: %.1f dB); --skip %s leaves it in float", shown(l->name),
		     shown(sym_str(val(m, x)->name)), -10 * log10(l->reader.error), l->reader.worst, -10 * log10(l->reader.worst_error),
		     shown(l->name));
	module_free(m);
}

void hint(const struct plan *p, const struct output_errors *e, const bool *on)
{
	const struct layer *l = worst_layer(p, on);
	bool ruined = false;

	for (size_t i = 0; e && i < e->of.n; i++) {
		const struct output_error *o = &e->of.a[i];
		if (!(o->error > FAR * o->power))
			continue;
		warn("output %s is far from float: %.1f dB on %llu samples", shown(o->name),
		     o->power > 0 ? -10 * log10(o->error / o->power) : -INFINITY, (unsigned long long)e->samples);
		ruined = true;
	}
	if (l && (l->reader.error > FAR || (ruined && l->reader.error > FAR / 10)))
		hint_layer(p, l);
	else if (ruined)
		warn("--metric finds the layers that cost most of it, --activations none quantises weights alone");
}
