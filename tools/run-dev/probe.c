/* run-dev --probe: what this machine does in a second. */
#define _GNU_SOURCE
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/json.h"
#include "common/progress.h"
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

/* ---- what is kept ---- */

/* Processor time that all processes of this machine took, in seconds; negative: it is not told. */
static double all_seconds(void)
{
	FILE *f = fopen("/proc/stat", "re");
	unsigned long long user, nice, system, idle, wait, irq, softirq;
	double sum = -1;

	if (f && fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq, &softirq) == 7)
		sum = (double)(user + nice + system + irq + softirq) / (double)sysconf(_SC_CLK_TCK);
	if (f)
		fclose(f);
	return sum;
}

static double own_seconds(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) ? 0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPUs that other processes took while the rates were measured. */
struct load {
	double begin, all, own;
};

static struct load load_begin(void) { return (struct load){now_seconds(), all_seconds(), own_seconds()}; }

static double load_of_others(const struct load *l)
{
	double all = all_seconds(), wall = now_seconds() - l->begin;

	return l->all < 0 || all < 0 || wall <= 0 ? 0 : fmax(0, (all - l->all - (own_seconds() - l->own)) / wall);
}

#define RATES_AGREE  0.8  /* the least part of the best that is measured again where nothing disturbs */
#define RATES_BETTER 1.05 /* what is no more than that better leaves the record as it is, and so the builds that use it */

/* Why a rate is not taken in place of the record, which is 0 where there is none; NULL: it may be. */
static const char *refused(const struct rate_measured *m, double was, double others)
{
	if (m->best < RATES_AGREE * was)
		return "it is far less than on record";
	if (m->typical < RATES_AGREE * m->best)
		return "it varies";
	bool busy = others > 0.125 * (double)sysconf(_SC_NPROCESSORS_ONLN);
	return busy && !(was > 0) ? "other processes took much of the machine" : NULL;
}

/* Says what was refused, and what differs much from the record. */
static void tell(const struct target *t, int i, double now, double was, double others, const char *why)
{
	char record[48] = "nothing";

	if (was > 0)
		snprintf(record, sizeof record, "%.1f", 1e-9 * was);
	if (why)
		warn("%s: %.1f %s measured, %s on record: not kept, %s (others took %.1f CPUs); --force keeps it", rate_name(t, i),
		     1e-9 * now, unit(i), record, why, others);
	else
		note("%s: %.1f %s measured, %s on record: kept", rate_name(t, i), 1e-9 * now, unit(i), record);
}

static void take(struct target *t, int i, const struct rate_measured *m, double others, bool force)
{
	double was = t->rate[i];
	bool agrees = m->best >= RATES_AGREE * was && m->best <= RATES_BETTER * was;
	const char *why = force || agrees || !(m->best > 0) ? NULL : refused(m, was, others);

	if (force || (!agrees && !why))
		t->rate[i] = m->best;
	if (why || (was > 0 && (m->best < RATES_AGREE * was || RATES_AGREE * m->best > was)))
		tell(t, i, m->best, was, others, why);
}

/* Measures all rates, and puts those that are kept into t, in place of what is on record. */
static void measure(struct target *t, double seconds, bool force)
{
	struct rate_measured m[RATES_MAX];
	struct load load = load_begin();
	int n = 0;

	while (rate_name(t, n))
		n++;
	for (int i = 0; i < n; i++)
		m[i] = rate_measure(i, seconds / n);
	double others = load_of_others(&load);
	for (int i = 0; i < n; i++)
		take(t, i, &m[i], others, force);
}

/* ---- the report ---- */

static void print_rates(const struct target *t, int core)
{
	double fma = target_fma_rate(t);

	printf("%s, core %d, rates %s\n%-14s %10s %5s %6s\n", shown(t->cpu), core, rates_digest(t), "rate", "", "", "of fma");
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
	printf(",\"digest\":");
	json_str(stdout, rates_digest(t));
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

void probe(double seconds, bool force, bool json)
{
	if (target_is_emulated())
		die(EX_NOTAVAIL, "--probe: this machine is emulated, and its times say nothing");
	struct target t = *target_host();
	int core = stay_on_core();

	memset(t.rate, 0, sizeof t.rate);
	rates_read(&t);
	measure(&t, seconds, force);
	rates_write(&t);
	if (json)
		print_rates_json(&t, core);
	else
		print_rates(&t, core);
}
