/* The metric: what each layer costs of it, and which layers go back to float. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "onnx/onnx.h"
#include "quantize.h"

static volatile sig_atomic_t stopped;
static void stop(int number) { stopped = number; }

/* The last number of the last line of out that has one. */
static bool last_number(FILE *out, double *v)
{
	char line[4096];
	bool any = false;

	while (fgets(line, sizeof line, out))
		for (char *p = line, *end; *p; p = end) {
			double x = strtod(p, &end);
			if (end == p) {
				end++;
				continue;
			}
			if (isfinite(x)) {
				*v = x;
				any = true;
			}
		}
	return any;
}

struct temporary {
	char path[64];
};

static void drop(void *arg) { unlink(((struct temporary *)arg)->path); }

/* Starts a command of the shell, in a group of its own; *out is what it prints. word: its $0. */
static pid_t begin(const char *command, const char *word, FILE **out)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		die_errno(EX_SYSTEM, "a pipe");
	pid_t child = fork();
	if (child < 0)
		die_errno(EX_SYSTEM, "%s", command);
	if (!child) {
		setpgid(0, 0);
		dup2(ends[1], 1);
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execl("/bin/sh", "sh", "-c", command, word, (char *)0);
		_exit(127);
	}
	setpgid(child, child);
	close(ends[1]);
	*out = fdopen(ends[0], "r");
	return child;
}

static int finish(pid_t child, FILE *out)
{
	int status = 1;

	if (stopped)
		kill(-child, SIGTERM);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		if (stopped)
			kill(-child, SIGTERM);
	fclose(out);
	return status;
}

/* What the shell cannot start is said here: it has words of its own for that. */
static void check_command(const char *command)
{
	size_t n = strspn(command, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-");
	char *word = xprintf("%.*s", (int)n, command);
	FILE *out;

	if (n && (!command[n] || command[n] == ' ')) {
		pid_t child = begin("command -v -- \"$0\" >/dev/null", word, &out);
		if (finish(child, out) && !stopped)
			die(EX_BADDATA, "--metric %s: there is no command %s", command, word);
	}
	free(word);
}

/* COMMAND FILE.onnx, what it prints last. */
static double run(struct metric *k, struct module *m)
{
	struct temporary t;
	char *command;
	double v = NAN;
	FILE *out;

	snprintf(t.path, sizeof t.path, "%.40s/hone.XXXXXX.onnx",
		 getenv("TMPDIR") && strlen(getenv("TMPDIR")) < 40 ? getenv("TMPDIR") : "/tmp");
	int fd = mkstemps(t.path, 5);
	if (fd < 0)
		die_errno(EX_IO, "%s", t.path);
	close(fd);
	int hook = die_hook(drop, &t);
	onnx_export(m, t.path, &(struct onnx_export_opts){0});
	command = xprintf("%s %s", k->command, t.path);
	pid_t child = begin(command, "sh", &out);
	bool good = last_number(out, &v);
	int status = finish(child, out);
	free(command);
	die_unhook(hook);
	drop(&t);
	k->runs++;
	if (!stopped && (status || !good))
		die(EX_BADDATA, "--metric %s: %s", k->command, status ? "it failed" : "it prints no number");
	module_free(m);
	return v;
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
	for (size_t i = 0; i < p->layers.n && !stopped; i++) {
		struct layer *l = &p->layers.a[i];
		progress_step(&bar, l->name);
		if (!on[i])
			continue;
		alone[i] = true;
		double v = measure(k, p, alone);
		alone[i] = false;
		if (stopped)
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

static void stop_after(double seconds)
{
	struct itimerval t = {.it_value = {(time_t)seconds, (suseconds_t)(1e6 * (seconds - floor(seconds)))}};

	if (seconds > 0)
		setitimer(ITIMER_REAL, &t, NULL);
}

bool metric_hold(struct metric *k, struct plan *p, bool *on)
{
	bool *mix = xcalloc(p->layers.n + 1, sizeof *mix);
	struct sigaction act = {.sa_handler = stop};
	size_t alone = p->layers.n;
	double v;

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	stop_after(k->seconds);
	check_command(k->command);
	k->before = measure(k, p, mix);
	k->after = stopped ? NAN : measure(k, p, on);
	bool held = k->after >= k->before - k->drop;
	if (!held && !stopped)
		alone = measure_layers(k, p, on);
	memcpy(mix, on, p->layers.n);
	while (!held && !stopped) {
		size_t i = worst(p, mix);
		if (i == p->layers.n)
			break;
		mix[i] = false;
		note("back to float: %s (alone it costs %.6g)", p->layers.a[i].name, p->layers.a[i].harm);
		v = measure(k, p, mix);
		held = !stopped && v >= k->before - k->drop;
		if (!stopped && (held || v > k->after)) {
			memcpy(on, mix, p->layers.n);
			k->after = v;
		}
	}
	k->interrupted = stopped;
	if (!held && stopped && alone < p->layers.n && k->before - p->layers.a[alone].harm > k->after) {
		memset(on, 0, p->layers.n);
		on[alone] = true;
		k->after = k->before - p->layers.a[alone].harm;
		held = k->after >= k->before - k->drop;
	}
	free(mix);
	return held;
}
