/* A tuning's results as a table and as JSON. */
#include "report.h"
#include <math.h>
#include <string.h>
#include "common/arena.h"
#include "common/json.h"
#include "common/shown.h"
#include "report_impl.h"

double report_ratio(const struct report_task *t) { return t->ratio > 0 ? t->ratio : 1; }

static double work(const struct report_task *t) { return t->weight * (t->flops > 1 ? t->flops : 1); }

struct report_totals report_totals(const struct report *r)
{
	struct report_totals x = {0};
	double all = 0;

	for (size_t i = 0; i < r->ntask; i++) {
		const struct report_task *t = &r->task[i];
		all += work(t);
		x.faster += t->ratio > 0;
		if (!(t->seconds > 0))
			continue;
		x.timed++;
		x.share += work(t);
		x.before += t->weight * t->seconds;
		x.after += t->weight * t->seconds * report_ratio(t);
	}
	x.share = all > 0 ? x.share / all : 0;
	return x;
}

double report_reached(const struct report *r, const struct report_task *t, const char **roof)
{
	double seconds = t->seconds * report_ratio(t), compute = t->flops / r->peak / seconds, traffic = t->bytes / r->rate / seconds;

	if (!(seconds > 0 && r->peak > 0 && r->rate > 0))
		return 0;
	*roof = traffic > 1 ? "cache" : traffic > compute ? "memory" : "core";
	return *roof[0] == 'm' ? traffic : compute;
}

const char *report_time(struct arena *a, double seconds)
{
	if (!(seconds > 0))
		return "-";
	if (seconds < 1e-6)
		return arena_printf(a, "%.*f ns", seconds < 1e-8 ? 1 : 0, 1e9 * seconds);
	if (seconds < 1e-3)
		return arena_printf(a, "%.*f us", seconds < 1e-5 ? 2 : seconds < 1e-4 ? 1 : 0, 1e6 * seconds);
	if (seconds < 1)
		return arena_printf(a, "%.*f ms", seconds < 1e-2 ? 2 : seconds < 1e-1 ? 1 : 0, 1e3 * seconds);
	return arena_printf(a, "%.1f s", seconds);
}

const char *report_interval(struct arena *a, const struct report_task *t)
{
	if (!(t->ratio > 0))
		return "-";
	return arena_printf(a, "%.3f (%.3f .. %.3f)", t->ratio, t->lo, t->hi);
}

const char *report_line(struct arena *a, const struct report *r)
{
	struct report_totals x = report_totals(r);
	const char *rest =
		r->without ? arena_printf(a, "; %zu %s no kernel", r->without, r->without == 1 ? "group has" : "groups have") : "";

	if (!x.timed)
		return arena_printf(a, "none of %zu tasks has been timed%s", r->ntask, rest);
	double change = 100 * (x.after / x.before - 1);
	return arena_printf(
		a, "%s -> %s a run (%+.1f%%): %zu of %zu tasks faster; counted are the %zu timed ones, %.1f%% of the work of all tasks%s",
		report_time(a, x.before), report_time(a, x.after), change, x.faster, r->ntask, x.timed, 100 * x.share, rest);
}

static double cost_of(const struct report *r, bool beside)
{
	double sum = 0;

	for (size_t i = 0; i < r->ncost; i++)
		sum += r->cost[i].beside == beside ? r->cost[i].seconds : 0;
	return sum;
}

double report_other(const struct report *r) { return fmax(0, r->seconds - cost_of(r, false)); }

static const char *ledger(struct arena *a, const struct report *r)
{
	char *s = arena_printf(a, "%.1f s:", r->seconds);

	for (int beside = 0; beside < 2; beside++) {
		const char *sep = beside ? "; on the runners:" : "";
		for (size_t i = 0; i < r->ncost; i++) {
			if (r->cost[i].beside != (beside == 1))
				continue;
			s = arena_printf(a, "%s%s %s %.1f s", s, sep, r->cost[i].name, r->cost[i].seconds);
			sep = ",";
		}
		if (!beside)
			s = arena_printf(a, "%s%s other %.1f s", s, sep, report_other(r));
	}
	return s;
}

/* ---- table ---- */

enum { TITLE_WIDTH = 44 };

void report_table(FILE *f, const struct report *r)
{
	struct arena a = {0};

	fprintf(f, "%-*s %5s %9s %9s  %-23s %-10s %6s\n", TITLE_WIDTH, "task", "calls", "before", "after", "ratio", "verdict", "trials");
	for (size_t i = 0; i < r->ntask; i++) {
		const struct report_task *t = &r->task[i];
		fprintf(f, "%-*s %5zu %9s %9s  %-23s %-10s %6zu\n", TITLE_WIDTH, shown(t->title), t->calls, report_time(&a, t->seconds),
			report_time(&a, t->seconds * report_ratio(t)), report_interval(&a, t), t->verdict, t->trials);
		if (t->ratio > 0 && t->words)
			fprintf(f, "    %s\n", shown(t->words));
		else if (t->why)
			fprintf(f, "    %s\n", shown(t->why));
	}
	fprintf(f, "\n%s\n%s\ntimed on %s\n", report_line(&a, r), ledger(&a, r), shown(r->target));
	arena_release(&a);
}

/* ---- JSON ---- */

static void put_text(FILE *f, const char *name, const char *s)
{
	fprintf(f, ", \"%s\": ", name);
	if (s)
		json_str(f, s);
	else
		fputs("null", f);
}

static void put_number(FILE *f, const char *name, double v)
{
	fprintf(f, ", \"%s\": ", name);
	json_num(f, v);
}

static void put_task(FILE *f, const struct report *r, const struct report_task *t)
{
	bool faster = t->ratio > 0;
	const char *roof = NULL;
	double reached = report_reached(r, t, &roof);

	fputs("{\"title\": ", f);
	json_str(f, t->title);
	put_text(f, "task", t->text);
	put_text(f, "digest", t->digest);
	put_number(f, "calls", (double)t->calls);
	put_number(f, "flops", t->flops);
	put_number(f, "bytes", t->bytes);
	put_text(f, "bound", roof);
	put_number(f, "reached", reached > 0 ? reached : NAN);
	put_number(f, "before", t->seconds > 0 ? t->seconds : NAN);
	put_number(f, "after", t->seconds > 0 ? t->seconds * report_ratio(t) : NAN);
	put_number(f, "ratio", faster ? t->ratio : NAN);
	put_number(f, "lo", faster ? t->lo : NAN);
	put_number(f, "hi", faster ? t->hi : NAN);
	put_text(f, "verdict", t->verdict);
	put_text(f, "why", t->why);
	put_text(f, "from", t->from);
	put_text(f, "words", t->words);
	put_text(f, "trace", t->trace);
	put_number(f, "trials", (double)t->trials);
	put_number(f, "known", (double)t->known);
	put_number(f, "failed", (double)t->failed);
	fputs(", \"curve\": [", f);
	for (size_t i = 0; i < t->ncurve; i++) {
		fputs(i ? ", " : "", f);
		json_num(f, t->curve[i]);
	}
	fputs("]}", f);
}

void report_json(FILE *f, const struct report *r)
{
	struct report_totals x = report_totals(r);

	fputs("{\"model\": ", f);
	json_str(f, r->model);
	put_text(f, "target", r->target);
	put_text(f, "tool", r->tool);
	put_text(f, "command", r->command);
	put_text(f, "digest", r->digest);
	put_number(f, "peak", r->peak > 0 ? r->peak : NAN);
	put_number(f, "memory_rate", r->rate > 0 ? r->rate : NAN);
	fputs(",\n \"tasks\": [", f);
	for (size_t i = 0; i < r->ntask; i++) {
		fputs(i ? ",\n  " : "\n  ", f);
		put_task(f, r, &r->task[i]);
	}
	fprintf(f, "],\n \"totals\": {\"tasks\": %zu, \"timed\": %zu, \"faster\": %zu, \"without\": %zu", r->ntask, x.timed, x.faster,
		r->without);
	put_number(f, "before", x.before);
	put_number(f, "after", x.after);
	put_number(f, "share_of_work", x.share);
	fputs("},\n \"seconds\": {\"all\": ", f);
	json_num(f, r->seconds);
	put_number(f, "other", report_other(r));
	for (size_t i = 0; i < r->ncost; i++)
		put_number(f, r->cost[i].name, r->cost[i].seconds);
	fprintf(f, "},\n \"interrupted\": %s}\n", r->interrupted ? "true" : "false");
}
