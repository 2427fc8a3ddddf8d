/* run-dev --probe: what this machine does in a second. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include "common/json.h"
#include "common/shown.h"
#include "common/tool.h"
#include "run-dev.h"
#include "target/rate.h"
#include "target/target.h"

/* On one core: the last that may be used, as kernels are timed. */
static int stay_on_core(void)
{
	cpu_set_t set;
	int core = -1;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set))
		return -1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		core = CPU_ISSET(i, &set) ? i : core;
	CPU_ZERO(&set);
	if (core >= 0)
		CPU_SET(core, &set);
	return core >= 0 && !sched_setaffinity(0, sizeof set, &set) ? core : -1;
}

static const char *unit(int i) { return i < RATE_OWN ? "GB/s" : "GOP/s"; }

static void print_rates(const struct target *t, int core)
{
	double fma = target_fma_rate(t);

	printf("%s, core %d\n%-14s %10s %5s %6s\n", shown(t->cpu), core, "rate", "", "", "of fma");
	for (int i = 0; rate_name(t, i); i++) {
		if (!(t->rate[i] > 0))
			continue;
		printf("%-14s %10.1f %-5s", rate_name(t, i), 1e-9 * t->rate[i], unit(i));
		if (i >= RATE_OWN && fma > 0)
			printf(" %6.2f", t->rate[i] / fma);
		putchar('\n');
	}
}

static void print_rates_json(const struct target *t, int core)
{
	printf("{\"cpu\":");
	json_str(stdout, t->cpu);
	printf(",\"core\":%d,\"file\":", core);
	json_str(stdout, rates_path() ? rates_path() : "");
	printf(",\"rates\":{");
	for (int i = 0; rate_name(t, i); i++) {
		printf("%s", i ? "," : "");
		json_str(stdout, rate_name(t, i));
		putchar(':');
		if (t->rate[i] > 0)
			json_num(stdout, t->rate[i]);
		else
			printf("null");
	}
	printf("}}\n");
}

void probe(double seconds, bool json)
{
	struct target t = *target_host();
	int n = 0, core = stay_on_core();

	while (rate_name(&t, n))
		n++;
	for (int i = 0; i < n; i++)
		t.rate[i] = rate_measure(i, seconds / n);
	rates_write(&t);
	if (json)
		print_rates_json(&t, core);
	else
		print_rates(&t, core);
}
