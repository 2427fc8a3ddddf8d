/* Tuning of operators: the tasks of a model, searched for faster schedules on a device. */
#define _GNU_SOURCE
#include "tune-op.h"
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/json.h"
#include "common/option.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "graph/fused.h"
#include "graph/stream.h"
#include "op/op.h"
#include "op/pass.h"
#include "op/task.h"
#include "results.h"

enum { TRIALS = 32, SECONDS_MAX = 1000000000 };
enum {
	OPT_SECONDS = 1000,
	OPT_TRIALS,
	OPT_STRATEGY,
	OPT_COST,
	OPT_SCHEDULER,
	OPT_SEED,
	OPT_ONLY,
	OPT_SKIP,
	OPT_RUNNER,
	OPT_KB,
	OPT_COLD,
	OPT_TASKS,
	OPT_TASK,
	OPT_DUMP,
	OPT_REPORT,
	OPT_REPORT_AFTER,
	OPT_TITLE,
	OPT_TRACE
};

static const struct argp_option options[] = {
	{"seconds", OPT_SECONDS, "S", 0, "stop after so long; trials are then unlimited unless --trials is given", 0},
	{"trials", OPT_TRIALS, "N", 0, "schedules to try for each task; 32", 0},
	{"strategy", OPT_STRATEGY, "NAME", 0, "which schedules are tried next: %s", 0},
	{"cost-model", OPT_COST, "NAME", 0, "what ranks schedules before they are timed: %s", 0},
	{"scheduler", OPT_SCHEDULER, "NAME", 0, "which task is next: %s", 0},
	{"seed", OPT_SEED, "N", 0, "of what is random in the search; 1", 0},
	{"cold-weights", OPT_COLD, "MB", 0, "megabytes of weights that timed calls go through; as the model has, at most 128", 0},
	{"rotation", OPT_COLD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0},
	{"only", OPT_ONLY, "WHAT", 0, "tune these: name (or pattern) or operator of a node, or digest of a task", 0},
	{"skip", OPT_SKIP, "WHAT", 0, "do not tune these", 0},
	{"runner", OPT_RUNNER, "COMMAND", 0, "where kernels run: \"ssh box run-dev --serve\"; repeated: side by side", -1},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base", -1},
	{"tasks", OPT_TASKS, 0, 0, "list the tasks as lines of text, tune nothing", -1},
	{"task", OPT_TASK, "TEXT", 0, "tune this task, without a model; records to standard output", -1},
	{"trace", OPT_TRACE, "FILE", 0, "time this schedule of one task against the default one; tune nothing", -1},
	{"dump", OPT_DUMP, "DIR", 0, "write the tasks as files, for tuning elsewhere; tune nothing", -1},
	{"report", OPT_REPORT, "FILE", 0, "curves, table and ledger as a page of HTML", -1},
	{"report-after", OPT_REPORT_AFTER, "FILE", 0, "--report: the page begins with this one, of tune-graph", -1},
	{"title", OPT_TITLE, "NAME", 0, "the name of the model in reports; its file's", -1},
	{0},
};

static struct options opt = {.trials = TRIALS, .seed = 1, .cold_bytes = -1};
static char read_digest[33]; /* of the newest graph, before it has traces; "": nothing asks for it */
static bool trials_given, list_tasks;
static const char *task_given, *dump_dir, *report_file, *report_after, *title, *trace_file;
static VEC(const char *) only, skip, runners;
static struct outfile page; /* --report's, from the first model on; f NULL: not begun */

static const char *file_name(const char *arg, const char *name)
{
	if (!*arg)
		die(EX_BADUSE, "--%s: a file without a name", name);
	return arg;
}

/* Names of rows of a table, which ends with no name. */
static const char *row_names(size_t size, const char *const *first)
{
	const char *all = "";
	for (const char *const *s = first; *s; s = (const void *)((const char *)s + size))
		all = xprintf("%s%s%s", all, *all ? ", " : "", *s);
	return all;
}

static const char *strategy_names(void)
{
	const char *all = "";
	for (const struct strategy *const *s = strategies; *s; s++)
		all = xprintf("%s%s%s", all, *all ? ", " : "", (*s)->name);
	return xprintf("%s, pipe:COMMAND", all);
}

static const char *names(int key)
{
	switch (key) {
	case OPT_STRATEGY: return strategy_names();
	case OPT_COST: return row_names(sizeof *cost_models, &cost_models[0].name);
	default: return row_names(sizeof *task_schedulers, &task_schedulers[0].name);
	}
}

/* The row of that name was found. */
static const void *found(const void *row, int key, const char *option, const char *arg)
{
	if (!row)
		die(EX_BADUSE, "--%s=%s: there are %s", option, arg, names(key));
	return row;
}

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_SECONDS: opt.seconds = option_number("--seconds", arg, 0.001, SECONDS_MAX); return 0;
	case OPT_TRIALS: opt.trials = option_count("--trials", arg, 0, UINT64_MAX), trials_given = true; return 0;
	case OPT_STRATEGY: opt.strategy = found(strategy_find(arg), key, "strategy", arg); return 0;
	case OPT_COST: opt.cost = found(cost_model_find(arg), key, "cost-model", arg); return 0;
	case OPT_SCHEDULER: opt.scheduler = found(task_scheduler_find(arg), key, "scheduler", arg); return 0;
	case OPT_SEED: opt.seed = option_count("--seed", arg, 0, UINT64_MAX); return 0;
	case OPT_COLD: opt.cold_bytes = (int64_t)option_count("--cold-weights", arg, 0, RUNNER_COLD_MAX >> 20); return 0;
	case OPT_ONLY: vec_push(&only, arg); return 0;
	case OPT_SKIP: vec_push(&skip, arg); return 0;
	case OPT_RUNNER:
		if (!*arg)
			die(EX_BADUSE, "--runner: an empty command");
		vec_push(&runners, arg);
		return 0;
	case OPT_KB: opt.kb = arg; return 0;
	case OPT_TASKS: list_tasks = true; return 0;
	case OPT_TASK: task_given = arg; return 0;
	case OPT_DUMP: dump_dir = file_name(arg, "dump"); return 0;
	case OPT_TITLE: title = arg; return 0;
	case OPT_TRACE: trace_file = file_name(arg, "trace"); return 0;
	case OPT_REPORT_AFTER: report_after = file_name(arg, "report-after"); return 0;
	case OPT_REPORT: report_file = file_name(arg, "report"); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* ---- which tasks ---- */

static bool name_is(sym name, const char *what) { return name && !fnmatch(what, sym_str(name), 0); }

/* The group, one of its nodes, or a result of either has this name; or a node is of this type. */
static bool node_matches(struct module *m, node_id id, const char *what)
{
	const struct node *f = node(m, id);
	graph_id body = attr_graph(f, "graph");
	if (name_is(f->name, what))
		return true;
	for (uint32_t k = 0; k < f->nout; k++)
		if (f->out[k] && name_is(val(m, f->out[k])->name, what))
			return true;
	for (size_t i = 0; body && i < graph(m, body)->nodes.n; i++) {
		const struct node *n = node(m, graph(m, body)->nodes.a[i]);
		if (name_is(n->name, what) || !strcmp(op_name(n->op), what))
			return true;
		for (uint32_t k = 0; k < n->nout; k++)
			if (n->out[k] && name_is(val(m, n->out[k])->name, what))
				return true;
	}
	return false;
}

static bool task_matches(struct module *m, const struct task *t, const char *what)
{
	enum { HEX_MIN = 6 };
	char hex[33];
	digest_hex(t->digest, hex);
	if (strlen(what) >= HEX_MIN && !strncmp(hex, what, strlen(what)))
		return true;
	for (uint32_t i = 0; i < t->count; i++)
		if (node_matches(m, t->node[i], what))
			return true;
	return false;
}

static bool wanted(struct module *m, const struct task *t)
{
	bool yes = !only.n;
	for (size_t i = 0; i < only.n && !yes; i++)
		yes = task_matches(m, t, only.a[i]);
	for (size_t i = 0; i < skip.n && yes; i++)
		yes = !task_matches(m, t, skip.a[i]);
	return yes;
}

/* A word of --only or --skip that fits nothing is a mistake. */
static void check_words(struct module *m, const struct task_list *l, const char *option, const char *const *word, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool any = false;
		for (size_t k = 0; k < l->n && !any; k++)
			any = task_matches(m, &l->a[k], word[i]);
		if (!any)
			die(EX_BADUSE, "--%s=%s: no node has this name or type, no task this digest; see --tasks", option, word[i]);
	}
}

static void print_tasks(const struct task_list *l, const bool *yes, bool json)
{
	char hex[33];
	if (json)
		putchar('[');
	for (size_t i = 0, n = 0; i < l->n; i++) {
		const struct task *t = &l->a[i];
		if (!yes[i])
			continue;
		if (!json) {
			printf("%s\n", shown(t->text));
			continue;
		}
		digest_hex(t->digest, hex);
		printf("%s{\"task\": ", n++ ? ",\n " : "");
		json_str(stdout, t->text);
		printf(", \"title\": ");
		json_str(stdout, t->title);
		printf(", \"digest\": \"%s\", \"calls\": %u, \"weight\": ", hex, t->count);
		json_num(stdout, t->weight);
		printf(", \"flops\": ");
		json_num(stdout, t->flops);
		putchar('}');
	}
	if (json)
		printf("]\n");
}

/* ---- tuning ---- */

static void set_up(struct session *s, struct module *m, const struct task_list *l)
{
	*s = (struct session){.opt = &opt, .ntask = (int)l->n};
	s->task = xcalloc(l->n + 1, sizeof *s->task);
	for (size_t i = 0; i < l->n; i++) {
		const struct task *t = &l->a[i];
		s->task[i] = (struct tuned){.text = t->text,
					    .title = t->title,
					    .digest = t->digest,
					    .calls = t->count,
					    .weight = t->weight,
					    .flops = t->flops,
					    .in = m,
					    .node = t->node[0],
					    .given = attr_str(node(m, t->node[0]), "trace", NULL),
					    .skipped = !wanted(m, t)};
	}
}

static const char *what_was_done(const struct tuned *t, struct arena *a)
{
	if (t->untunable)
		return arena_printf(a, "not tuned: %s", t->untunable);
	if (t->why)
		return t->why;
	if (t->trace)
		return arena_printf(a, "%.3f (%.3f .. %.3f) of the default's time; %s", t->ratio, t->lo, t->hi, t->from);
	if (t->given && trials_done(t) && !was_timed(t, t->given))
		return arena_printf(a,
				    "the trace that it came with stays, and was not timed: none of %zu trials was faster than the default",
				    trials_done(t));
	if (t->skipped)
		return "not tuned: left out by --only or --skip";
	if (trials_done(t))
		return arena_printf(a, "the default stays: none of %zu trials was faster when timed again", trials_done(t));
	if (t->complete)
		return "the default stays: there is no other schedule";
	return opt.trials ? "not tuned: the search ended before its turn came" : "not tuned: --trials 0";
}

/* The result onto the nodes. */
static void apply(struct session *s, struct module *m, const struct task_list *l, const struct pass_ctx *c)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct tuned *t = &s->task[i];
		for (uint32_t k = 0; k < l->a[i].count; k++) {
			pass_why(c, m, l->a[i].node[k], "%s", what_was_done(t, &s->arena));
			if (t->trace)
				fused_set_trace(m, l->a[i].node[k], t->trace);
			else if (t->given && was_timed(t, t->given))
				fused_set_trace(m, l->a[i].node[k], NULL);
		}
	}
	for (size_t i = 0; i < l->without.n; i++)
		pass_why(c, m, l->without.a[i].node, "not tuned: %s", l->without.a[i].why);
}

/* A model's part of the page. */
static void put_page(const struct report *r)
{
	if (!page.f) {
		outfile_open(&page, report_file, false);
		report_html_begin(page.f, r, report_after);
	}
	report_html(page.f, r);
}

static void end_page(void)
{
	if (!page.f)
		return;
	report_html_end(page.f);
	outfile_close(&page);
}

static void say_gain(struct session *s)
{
	double before, gain = session_gain(s, &before);
	size_t faster = 0, timed = 0, known = 0;

	for (int i = 0; i < s->ntask; i++) {
		faster += s->task[i].trace && s->task[i].ratio > 0;
		timed += s->task[i].timed;
		known += s->task[i].known;
	}
	if (before > 0)
		note("%zu of %d tasks faster than the default, %.1f%% of %s saved; %zu trials timed, %zu known before", faster, s->ntask,
		     100 * gain, report_time(&s->arena, before), timed, known);
	else if (s->ntask == 1)
		note("%s: %s", s->task[0].title, what_was_done(&s->task[0], &s->arena));
	else
		note("none of %d tasks has been timed", s->ntask);
}

/* The table where nothing else goes to standard output; a page if one is wanted. */
static void conclude(struct session *s, struct module *m, const struct task_list *l, const struct tool_args *a)
{
	struct report r;
	struct target timed_on;

	session_report(s, &r, &s->arena);
	r.model = title ? title : m->source && !task_given ? basename(m->source) : "";
	r.without = l->without.n;
	r.digest = read_digest;
	r.command = a->command;
	if (a->json && a->out)
		report_json(stdout, &r);
	else if (a->out && !msg_quiet)
		report_table(stdout, &r);
	if (target_find(r.target, &timed_on)) /* a runner that pretends has none */
		facts_text("target", r.target);
	if (!facts_wanted()) /* who asks for them has the table, too */
		say_gain(s);
	if (report_file)
		put_page(&r);
	if (s->interrupted)
		note("interrupted; what was found so far is used and kept: the same command again goes on");
}

static void say_none(const struct task_list *l, struct module *m, struct arena *a)
{
	const char *why = task_list_none(l, m, a);

	if (why)
		note("no task: %s", why);
}

static void tune(struct module *m, const struct tool_args *a)
{
	struct task_list l = {0};
	struct session s;
	struct arena arena = {0};
	struct pass_ctx c = {.args = a, .why = a->why};
	if (report_file || a->json)
		digest_hex(module_digest(m), read_digest);
	task_list_make(&l, m, &arena);
	say_none(&l, m, &arena);
	check_words(m, &l, "only", only.a, only.n);
	check_words(m, &l, "skip", skip.a, skip.n);
	set_up(&s, m, &l);
	session_run(&s, runners.a, (int)runners.n);
	apply(&s, m, &l, &c);
	conclude(&s, m, &l, a);
	session_close(&s);
	free(s.task);
	task_list_free(&l);
	arena_release(&arena);
}

static struct module *module_of_text(const char *text, struct arena *arena)
{
	const char *why;
	struct module *m = task_module(text, 0, arena, &why);
	if (!m)
		die(EX_BADDATA, "--task: %s", why);
	return m;
}

/* A task by itself is timed with its constants alone. */
static void say_cold_bytes(const struct module *m)
{
	unsigned long long mb = runner_cold_bytes(m, target_host()) >> 20;

	if (mb)
		note("a tuning of this model goes through %llu MB of constants: with --cold-weights=%llu records of single tasks count for it",
		     mb, mb);
}

/* No model: one task, or the list of tasks, or files of them. */
static int without_stream(const struct tool_args *a)
{
	struct arena arena = {0};
	struct stream_reader *r = task_given ? NULL : stream_open(a->nfile ? a->file[0] : NULL);
	struct module *m;
	struct outfile lines = {0}; /* of all models dumped */
	if (dump_dir)
		dump_begin(dump_dir, &lines);
	while ((m = task_given ? module_of_text(task_given, &arena) : stream_read(r))) {
		struct task_list l = {0};
		if (!task_given)
			module_verify_or_die(m);
		if (list_tasks || dump_dir) {
			task_list_make(&l, m, &arena);
			say_none(&l, m, &arena);
			check_words(m, &l, "only", only.a, only.n);
			check_words(m, &l, "skip", skip.a, skip.n);
			bool *yes = xcalloc(l.n + 1, sizeof *yes);
			for (size_t i = 0; i < l.n; i++)
				yes[i] = wanted(m, &l.a[i]);
			if (dump_dir)
				dump_tasks(&l, yes, dump_dir, lines.f);
			else
				print_tasks(&l, yes, a->json);
			if (l.n)
				say_cold_bytes(m);
			free(yes);
			task_list_free(&l);
		} else {
			opt.records_out = true;
			opt.cold_bytes = opt.cold_bytes < 0 ? 0 : opt.cold_bytes;
			tune(m, a);
		}
		module_free(m);
		if (task_given)
			break;
	}
	if (r)
		stream_close(r);
	if (lines.f)
		outfile_close(&lines);
	end_page();
	arena_release(&arena);
	return EX_GOOD;
}

/* The schedule of --trace, for the one task that is wanted. */
static void time_trace(struct module *m, bool json)
{
	enum { SECONDS = 3 };
	struct arena arena = {0};
	struct task_list l = {0};
	const struct task *one = NULL;
	size_t n = 0;

	task_list_make(&l, m, &arena);
	say_none(&l, m, &arena);
	check_words(m, &l, "only", only.a, only.n);
	check_words(m, &l, "skip", skip.a, skip.n);
	for (size_t i = 0; i < l.n; i++)
		if (wanted(m, &l.a[i])) {
			one = &l.a[i];
			n++;
		}
	if (n != 1)
		die(EX_BADUSE, "--trace is for one task, not for %zu; --only says which, --tasks lists them", n);
	uint64_t cold = opt.cold_bytes >= 0 ? (uint64_t)opt.cold_bytes << 20 : task_given ? 0 : runner_cold_bytes(m, target_host());
	trace_time(m, one,
		   &(struct timing_of_trace){.file = trace_file,
					     .runner = runners.a,
					     .nrunner = (int)runners.n,
					     .seconds = opt.seconds > 0 ? opt.seconds : SECONDS,
					     .seed = opt.seed,
					     .cold_bytes = cold,
					     .json = json});
	task_list_free(&l);
	arena_release(&arena);
}

static int run_trace(const struct tool_args *a)
{
	struct arena arena = {0};
	struct stream_reader *r = task_given ? NULL : stream_open(a->nfile ? a->file[0] : NULL);
	struct module *m = task_given ? module_of_text(task_given, &arena) : stream_read_only(r);

	if (!task_given)
		module_verify_or_die(m);
	time_trace(m, a->json);
	module_free(m);
	arena_release(&arena);
	return EX_GOOD;
}

static void defaults(void)
{
	if (opt.seconds > 0 && !trials_given)
		opt.trials = SIZE_MAX;
	cost_models_use(opt.kb);
	if (!opt.strategy)
		opt.strategy = strategy_find(STRATEGY_USUAL);
	if (!opt.cost)
		opt.cost = &cost_models[0];
	if (!opt.scheduler)
		opt.scheduler = &task_schedulers[0];
	opt.tool = xprintf("tune-op %s --strategy=%s --cost-model=%s --seed=%llu", HONE_VERSION, opt.strategy->name, opt.cost->name,
			   (unsigned long long)opt.seed);
}

/* Before the work, not after it. */
static void check_report_place(void)
{
	char *path = xstrdup(report_file), *slash = strrchr(path, '/');
	struct stat st;
	if (slash)
		slash[slash == path] = 0;
	if (access(slash ? path : ".", W_OK | X_OK))
		die_errno(EX_IO, "%s", report_file);
	if (!stat(report_file, &st) && S_ISDIR(st.st_mode))
		die(EX_IO, "%s: is a directory", report_file);
	free(path);
}

/* A reader of the report that goes away ends the tool when the graph is written, not before. */
static void hold_pipe_signal(bool hold)
{
	sigset_t pipe;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &pipe, NULL);
}

static int run(const struct tool *t, struct tool_args *a)
{
	defaults();
	if (!task_given && !a->nfile && isatty(STDIN_FILENO))
		tool_usage();
	if (trace_file && (list_tasks || dump_dir || report_file || a->out || (task_given && a->nfile)))
		die(EX_BADUSE,
		    "--trace times one task, and tunes nothing: it goes with --task or a model, and with --only, --skip, --runner, "
		    "--seconds, --cold-weights, --seed and --json");
	if (trace_file)
		return run_trace(a);
	if (task_given && (a->nfile || list_tasks || a->out || a->json))
		die(EX_BADUSE, "--task takes no model, and its records go to standard output");
	if (list_tasks && dump_dir)
		die(EX_BADUSE, "--tasks and --dump do not go together");
	if ((list_tasks || dump_dir) && (a->out || report_file))
		die(EX_BADUSE, "%s: nothing is tuned with %s", a->out ? "-o" : "--report", list_tasks ? "--tasks" : "--dump");
	if (a->json && !a->out && !list_tasks)
		die(EX_BADUSE, "--json needs -o FILE: standard output takes the graph");
	if (report_file)
		check_report_place();
	if (task_given || list_tasks || dump_dir)
		return without_stream(a);
	if (a->out)
		hold_pipe_signal(true);
	struct stream_writer *w = stream_create(a->out, false);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_verify_or_die(m);
		tune(m, a);
		pass_provenance(m, "tune-op", a->options);
		stream_write(w, m);
	}
	stream_close(r);
	end_page();
	stream_finish(w);
	hold_pipe_signal(false);
	return EX_GOOD;
}

const struct tool tool = {
	.name = "tune-op",
	.summary = "Search for faster schedules of a model's operators, on the device.",
	.args_doc = "[FILE]",
	.more = "Needs Fused nodes of known sizes (ge-fuse, ge-layout). Keeps the graph. Leaves the trace of a faster schedule on the "
		"nodes that have one; what was measured is in the knowledge base.",
	.flags = TOOL_OUT | TOOL_WHY | TOOL_JSON,
	.max_files = 1,
	.options = options,
	.option = option,
	.names = names,
	.run = run,
};
