/* The metric: what each layer costs of it, and which layers go back to float. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "onnx/onnx.h"
#include "command.h"
#include "quantize.h"

struct temporary {
	char *path;
};

static void drop(void *arg) { unlink(((struct temporary *)arg)->path); }

/* The shell has words of its own for a command that it cannot start, so such a command is refused here. */
static void check_command(const char *command)
{
	size_t n = strspn(command, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-");
	char *word = xprintf("%.*s", (int)n, command);

	if (n && (!command[n] || command[n] == ' ') && !command_exists(word))
		die(EX_BADDATA, "--metric %s: there is no command %s", command, word);
	free(word);
}

/* The metric of m, which is freed; NAN: it was stopped. */
static double run(struct metric *k, struct module *m)
{
	const char *folder = getenv("TMPDIR");
	struct temporary t = {xprintf("%s/hone.XXXXXX.onnx", folder && *folder ? folder : "/tmp")};
	double v = NAN;

	int fd = mkstemps(t.path, 5);
	if (fd < 0)
		die_errno(EX_IO, "%s", t.path);
	close(fd);
	int hook = die_hook(drop, &t);
	onnx_export(m, t.path, &(struct onnx_export_opts){0});
	const char *why = command_run(k->command, t.path, &v);
	die_unhook(hook);
	drop(&t);
	free(t.path);
	k->runs++;
	if (why)
		die(EX_BADDATA, "--metric %s: %s", k->command, why);
	module_free(m);
	return command_stopped() ? NAN : v;
}

static double measure(struct metric *k, struct plan *p, const bool *on) { return run(k, plan_build(p, on, NULL)); }

/* Is layer i alone a better model than layer best alone (none: p->layers.n)? First the metric holds, then it is quicker. */
static bool is_better(const struct metric *k, const struct plan *p, size_t i, size_t best)
{
	const struct layer *a = &p->layers.a[i], *b = &p->layers.a[best];

	if (best == p->layers.n)
		return true;
	if (a->harm <= k->drop && b->harm <= k->drop)
		return a->microseconds > b->microseconds;
	return a->harm < b->harm;
}

/* The harm of each layer. Returns that which is the best model alone, of those that were measured; p->layers.n: none was. */
static size_t measure_layers(struct metric *k, struct plan *p, const bool *on)
{
	size_t best = p->layers.n;
	bool *alone = xcalloc(p->layers.n + 1, sizeof *alone);
	struct progress bar;

	progress_start(&bar, "measuring layers", p->layers.n);
	for (size_t i = 0; i < p->layers.n && !command_stopped(); i++) {
		struct layer *l = &p->layers.a[i];
		progress_step(&bar, l->name);
		if (!on[i])
			continue;
		alone[i] = true;
		double v = measure(k, p, alone);
		alone[i] = false;
		if (command_stopped())
			break;
		l->harm = k->before - v;
		if (is_better(k, p, i, best))
			best = i;
	}
	progress_end(&bar);
	free(alone);
	return best;
}

/* The layer whose return to float gains most for the time that it takes; where none is known to do harm, that with most error. */
static size_t worst(const struct plan *p, const bool *on)
{
	const double LEAST = 1e-3; /* microseconds: what costs nothing goes first, what harms most of that */
	size_t best = p->layers.n;
	double most = 0, error = -1;

	for (size_t i = 0; i < p->layers.n; i++) {
		const struct layer *l = &p->layers.a[i];
		double longer = fmax(l->microseconds, LEAST), gain = l->harm > 0 ? l->harm / longer : 0,
		       e = l->weight_error + l->activation_error;
		if (on[i] && (gain > most || (gain == most && e > error))) {
			best = i;
			most = gain;
			error = e;
		}
	}
	return best;
}

bool metric_hold(struct metric *k, struct plan *p, bool *on)
{
	bool *mix = xcalloc(p->layers.n + 1, sizeof *mix);
	size_t alone = p->layers.n;
	double v;

	command_stop_by(k->seconds);
	check_command(k->command);
	k->before = measure(k, p, mix);
	k->after = command_stopped() ? NAN : measure(k, p, on);
	bool held = k->after >= k->before - k->drop;
	if (!held && !command_stopped())
		alone = measure_layers(k, p, on);
	memcpy(mix, on, p->layers.n);
	while (!held && !command_stopped()) {
		size_t i = worst(p, mix);
		if (i == p->layers.n)
			break;
		mix[i] = false;
		note("back to float: %s (alone it costs %.6g)", p->layers.a[i].name, p->layers.a[i].harm);
		v = measure(k, p, mix);
		held = !command_stopped() && v >= k->before - k->drop;
		if (!command_stopped() && (held || v > k->after)) {
			memcpy(on, mix, p->layers.n);
			k->after = v;
		}
	}
	k->interrupted = command_stopped();
	if (!held && k->interrupted && alone < p->layers.n && k->before - p->layers.a[alone].harm > k->after) {
		memset(on, 0, p->layers.n);
		on[alone] = true;
		k->after = k->before - p->layers.a[alone].harm;
		held = k->after >= k->before - k->drop;
	}
	free(mix);
	return held;
}
