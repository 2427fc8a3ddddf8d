/* The report: a line for each layer. */
#include <math.h>
#include <stdio.h>
#include "common/json.h"
#include "common/shown.h"
#include "outputs.h"

static double decibels(double part) { return part > 0 ? -10 * log10(part) : INFINITY; }

static void print_decibels(double part)
{
	if (part > 0)
		printf(" %8.1f", decibels(part));
	else
		printf(" %8s", "-");
}

/* A layer's bits: of its weights, where it has some. */
static const char *kept(const struct plan *p, const struct layer *l, bool on)
{
	return !on ? "float" : l->part == PART_WEIGHTS && p->options.weight_bits == 4 ? "int4" : "int8";
}

/* How far outputs are from float. */
static void print_outputs(const struct output_errors *e)
{
	for (size_t i = 0; i < e->of.n; i++) {
		const struct output_error *o = &e->of.a[i];
		uint32_t channel;
		double worst;
		printf("output %s:", shown(o->name));
		if (o->floats && o->power > 0)
			printf(" %.1f dB from float", decibels(o->error / o->power));
		if (o->floats && output_worst(o, &channel, &worst))
			printf(", channel %u %.1f dB", channel, decibels(worst));
		if (o->rows)
			printf("%s %s same in %.2f%%", o->floats && o->power > 0 ? "," : "", o->floats ? "the greatest is the" : "the",
			       100. * (double)o->same / (double)o->rows);
		printf(", on %llu sample%s\n", (unsigned long long)e->samples, e->samples == 1 ? "" : "s");
	}
}

static void print_json_outputs(const struct output_errors *e)
{
	printf(", \"samples\": %llu, \"outputs\": [", (unsigned long long)e->samples);
	for (size_t i = 0; i < e->of.n; i++) {
		const struct output_error *o = &e->of.a[i];
		uint32_t channel = 0;
		double worst = NAN;
		bool any = o->floats && output_worst(o, &channel, &worst);
		printf("%s{\"name\": ", i ? ", " : "");
		json_str(stdout, o->name);
		printf(", \"error\": ");
		json_num(stdout, o->floats && o->power > 0 ? o->error / o->power : NAN);
		printf(", \"worst_channel\": ");
		json_num(stdout, any ? channel : NAN);
		printf(", \"worst_channel_error\": ");
		json_num(stdout, any ? worst : NAN);
		printf(", \"same\": ");
		json_num(stdout, o->rows ? (double)o->same / (double)o->rows : NAN);
		putchar('}');
	}
	putchar(']');
}

static void print_text(const struct plan *p, const struct metric *k, const bool *on)
{
	printf("%-40s %5s %11s %11s %8s %8s %10s %8s %8s  %s\n", "layer", "kept", "least", "greatest", "dB", "dB", "harm", "us saved", "dB",
	       "worst channel");
	printf("%-40s %5s %11s %11s %8s %8s %10s %8s %8s\n", "", "", "", "", "operand", "weights", "", p->timed ? "" : "(est.)", "as read");
	for (size_t i = 0; i < p->layers.n; i++) {
		const struct layer *l = &p->layers.a[i];
		printf("%-40s %5s %11.5g %11.5g", shown(l->name), kept(p, l, on[i]), l->range.lo, l->range.hi);
		print_decibels(l->activation_error);
		print_decibels(l->weight_error);
		if (isnan(l->harm))
			printf(" %10s", "-");
		else
			printf(" %10.4g", l->harm);
		printf(" %8.3g", l->microseconds);
		print_decibels(l->read ? l->reader.error : 0);
		if (l->read && l->reader.worst_error > 0)
			printf("  %u: %.1f", l->reader.worst, decibels(l->reader.worst_error));
		putchar('\n');
	}
	if (k->command && !isnan(k->after))
		printf("metric: %.6g in float, %.6g quantised; it was run %d times\n", k->before, k->after, k->runs);
}

static void print_json(const struct plan *p, const struct metric *k, const bool *on)
{
	printf("{\"layers\": [");
	for (size_t i = 0; i < p->layers.n; i++) {
		const struct layer *l = &p->layers.a[i];
		const struct {
			const char *key;
			double v;
		} f[] = {{"min", l->range.lo},
			 {"max", l->range.hi},
			 {"operand_error", l->activation_error},
			 {"weight_error", l->weight_error},
			 {"read_error", l->read ? l->reader.error : NAN},
			 {"worst_channel", l->read ? l->reader.worst : NAN},
			 {"worst_channel_error", l->read ? l->reader.worst_error : NAN},
			 {"harm", l->harm},
			 {"microseconds", l->microseconds}};
		printf("%s{\"name\": ", i ? ", " : "");
		json_str(stdout, l->name);
		printf(", \"quantised\": %s", on[i] ? "true" : "false");
		for (size_t c = 0; c < sizeof f / sizeof *f; c++) {
			printf(", \"%s\": ", f[c].key);
			json_num(stdout, f[c].v);
		}
		putchar('}');
	}
	printf("], \"timed\": %s, \"metric_float\": ", p->timed ? "true" : "false");
	json_num(stdout, k->command ? k->before : NAN);
	printf(", \"metric_quantised\": ");
	json_num(stdout, k->command ? k->after : NAN);
	printf(", \"runs\": %d, \"interrupted\": %s", k->runs, k->interrupted ? "true" : "false");
}

void report_print(const struct plan *p, const struct metric *k, const struct output_errors *e, const bool *on, bool json)
{
	(json ? print_json : print_text)(p, k, on);
	if (e)
		(json ? print_json_outputs : print_outputs)(e);
	if (json)
		puts("}");
}
