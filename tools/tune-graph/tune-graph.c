/* tune-graph: which nodes form kernels, tried on parts of the model. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/option.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "common/scratch.h"
#include "common/tool.h"
#include "graph/check.h"
#include "graph/stream.h"
#include "op/op.h"
#include "op/pass.h"
#include "op/task.h"
#include "runner/runner.h"
#include "target/target.h"
#include "tune/stop.h"
#include "tune-graph.h"

enum {
	OPT_SECONDS = 1000,
	OPT_TRIALS,
	OPT_COLD,
	OPT_KB,
	OPT_SEGMENTS,
	OPT_SEGMENT,
	OPT_WRITE_PLAN,
	OPT_SEED,
	OPT_REPORT,
	OPT_TITLE,
	OPT_RECALL,
	OPT_TARGET,
	OPT_THREADS
};
enum { TRIALS = 4 };
#define TRY_SECONDS   2.0  /* of one measurement of a segment, */
#define WHOLE_SECONDS 10.0 /* and of a model */

static double seconds;
static int64_t cold_mb = -1;
static const char *kb_file, *segment_given, *written_path, *report_file, *title;
static bool list_segments, recall;
static struct target target; /* that plans are of */
static struct tuning tuning = {
	.trials = TRIALS, .seed = 1, .whole.verdict = VERDICT_COUNT, .bench = {.seconds = TRY_SECONDS, .threads = 1}};
static struct scratch scratch;
static struct outfile page; /* of --report */

static void remove_scratch(void *unused) { scratch_remove(&scratch); }

static void tell_turned(const struct segments *s)
{
	size_t n = path_turned(s);

	if (n)
		note("%zu of %zu cuts pass images row-major, which the usual layouts have channels last", n, s->place.n - 1);
}

static void tell_segment(const struct segment *s, size_t i, size_t n)
{
	if (s->won)
		note("segment %zu of %zu (in %zu place%s): %.3f of the usual time: %s", i + 1, n, s->places, s->places == 1 ? "" : "s",
		     s->mean, s->won->how);
	else if (tuning.why)
		warn("segment %zu of %zu (in %zu place%s): keeps the usual groups: %s", i + 1, n, s->places, s->places == 1 ? "" : "s",
		     s->text);
}

/* ---- a model ---- */

static void must(struct tuning *t, const char *const *word)
{
	int code = tool_run(&t->bench, NULL, word);

	if (stop) /* there is no result yet */
		die_silent(128 + stop);
	if (code) {
		warn("%s", tool_said(&t->bench, &t->arena));
		die_silent(code);
	}
}

static const char *in_folder(struct tuning *t, const char *name) { return arena_printf(&t->arena, "%s/%s", scratch.path, name); }

/* The model without groups, with those of the rules, and with their layouts. */
static void prepare(struct tuning *t, struct module *m, struct segments *s)
{
	const char *model = in_folder(t, "model.g"), *fused = in_folder(t, "fused.g"), *plain = in_folder(t, "plain.g"),
		   *laid = in_folder(t, "laid.g"), *plan = in_folder(t, "usual.plan");
	struct plan_text usual;
	struct stream_writer *w = stream_create(model, false);

	stream_write(w, m);
	stream_finish(w);
	must(t, (const char *const[]){"ge-fuse", "-o", fused, model, NULL});
	must(t, (const char *const[]){"ge-fuse", "--undo", "-o", plain, fused, NULL});
	must(t, (const char *const[]){"ge-fuse", "--write-plan", plan, "-o", fused, plain, NULL});
	must(t, (const char *const[]){"ge-layout", "-o", laid, fused, NULL});
	plan_text_read(&usual, plan);
	segments_cut(s, plain, laid, &usual, &t->arena);
	plan_text_free(&usual);
}

/* The plan of the winners, as a file of that name, and its digest. */
static struct digest write_winners(struct tuning *t, const struct segments *s, const char *path)
{
	struct plan_text p;
	struct outfile f;
	struct mapped text;

	segments_plan(s, in_folder(t, "plain.g"), &p);
	outfile_open(&f, path, false);
	plan_text_write(&p, f.f);
	outfile_close(&f);
	plan_text_free(&p);
	mapped_open(&text, path);
	struct digest d = digest_bytes(text.p, text.n);
	mapped_close(&text);
	return d;
}

/* Segments that were faster alone need not make the model faster: it is timed, too, and keeps its usual groups else. Where there is no time
 * for that the segments' own times decide. */
static bool whole_is_faster(struct tuning *t, struct digest model, struct digest plan, const char *laid)
{
	struct measurement r = {0};

	r.verdict = book_recall_whole(&t->book, model, plan, &r, &t->arena);
	if (r.verdict == VERDICT_COUNT && !t->trials)
		return true;
	if ((r.verdict == VERDICT_COUNT || (r.verdict == VERDICT_UNSURE && t->trials)) && !stop) {
		t->bench.seconds = WHOLE_SECONDS;
		bench_whole(&t->bench, in_folder(t, "laid.g"), laid, &r, &t->arena);
		r.verdict = stop ? VERDICT_COUNT : r.verdict;
		if (!stop)
			book_put_whole(&t->book, model, plan, &r);
	}
	t->whole = r;
	if (r.verdict == VERDICT_COUNT && t->book.trusted)
		return true;
	if (r.verdict == VERDICT_COUNT)
		note("the whole model was not timed with the other groups: it has them because its segments are faster");
	else if (verdict_timed(r.verdict))
		note("the whole model: %s, %.3f of the time with the usual groups", verdict_name(r.verdict), r.ratio);
	else
		note("the whole model: %s%s%s", verdict_name(r.verdict), r.why ? ": " : "", r.why ? r.why : "");
	return r.verdict == VERDICT_FASTER || r.verdict == VERDICT_COUNT;
}

/* A pass that a signal ended is run once more: its result is what the search is kept for. */
static int pass_run(struct tuning *t, const char *const *word)
{
	bool stopped = stop;
	int code = tool_run(&t->bench, NULL, word);

	return code && stop && !stopped ? tool_run(&t->bench, NULL, word) : code;
}

/* Makes the model with the groups of the winners, into *laid. Does it have these, as they are faster? */
static bool apply_path(struct tuning *t, struct digest model, const struct segments *s, const char *laid)
{
	const char *plan = in_folder(t, "best.plan"), *fused = in_folder(t, "best.g");
	struct digest of = write_winners(t, s, plan);

	bool can = !pass_run(t, (const char *const[]){"ge-fuse", "--plan", plan, "-o", fused, in_folder(t, "plain.g"), NULL}) &&
		   !pass_run(t, (const char *const[]){"ge-layout", "-o", laid, fused, NULL});
	if (!can)
		warn("the model keeps its usual groups: those of the records cannot be: %s", tool_said(&t->bench, &t->arena));
	return can && whole_is_faster(t, model, of, laid);
}

/* The file of the model with the groups of the winners, and the layouts between them. If these are not faster, it has the groups alone. */
static const char *apply(struct tuning *t, struct digest model, struct segments *s)
{
	static const struct segments none;
	const char *laid = in_folder(t, "best.laid.g");
	bool turned = path_turned(s), better = turned && apply_path(t, model, s, laid);

	if (!better) {
		path_reset(s);
		better = path_winners(s) && apply_path(t, model, s, laid);
	}
	if (written_path)
		write_winners(t, better ? s : &none, written_path);
	return better ? laid : in_folder(t, "laid.g");
}

static int by_gain(const void *x, const void *y)
{
	const struct segment *a = *(struct segment *const *)x, *b = *(struct segment *const *)y;
	int c = (a->gain < b->gain) - (a->gain > b->gain);

	return c ? c : (a > b) - (a < b);
}

/* Where most is expected to be gained comes first: the time may end. Expecting takes time, too, a third of what there is at most. */
static struct segment **in_order(struct tuning *t, struct segments *s)
{
	static const double share = 1.0 / 3;
	struct segment **order = xcalloc(s->a.n + 1, sizeof *order);
	double deadline = t->deadline;

	if (deadline > 0)
		t->deadline = now_seconds() + share * (deadline - now_seconds());
	for (size_t i = 0; i < s->usual; i++) {
		order[i] = &s->a.a[i];
		search_look(t, order[i]);
	}
	t->deadline = deadline;
	if (s->usual)
		qsort(order, s->usual, sizeof *order, by_gain);
	return order;
}

static void tune_one(struct tuning *t, struct segments *s, struct segment *x)
{
	search_segment(t, x);
	tell_segment(x, (size_t)(x - s->a.a), s->usual);
	t->progress.done++;
}

static double pace(const void *of, const struct segment *s)
{
	struct choice usual = s->usual;

	expect(of, s, &usual);
	return usual.expected / usual.predicted;
}

/* What is known, or else predicted, of segments with other layouts at their ends. */
static void look_at_turns(struct tuning *t, struct segments *s)
{
	bool all_done = true;

	for (size_t i = s->usual; i < s->a.n; i++) {
		search_recall(t, &s->a.a[i]);
		all_done &= s->a.a[i].done;
		if (!s->a.a[i].done)
			search_glance(t, &s->a.a[i]);
	}
	for (size_t i = 0; i < s->usual && !all_done; i++)
		if (!(s->a.a[i].usual.predicted > 0))
			search_glance(t, &s->a.a[i]);
}

/* Layouts that pass the cuts: while segments on the path that is expected to be the best were not searched, they are. In the end only what was
 * timed counts. */
static void tune_cuts(struct tuning *t, struct segments *s)
{
	bool found = s->a.n > s->usual;

	if (found)
		look_at_turns(t, s);
	while (found && !search_is_over(t)) {
		double saved = path_choose(s, pace, t);
		found = false;
		for (size_t k = 0; k < s->place.n; k++) {
			uint32_t i = path_way(s, k)->segment;
			if (i == NO_SEGMENT || s->a.a[i].wanted)
				continue;
			found = s->a.a[i].wanted = true;
			s->a.a[i].gain = saved;
			t->progress.total++;
			tune_one(t, s, &s->a.a[i]);
		}
	}
	path_choose(s, NULL, NULL);
}

static void tune_all(struct tuning *t, struct segments *s)
{
	book_paces(&t->book, &t->paces, &t->arena);
	struct segment **order = in_order(t, s);
	progress_start(&t->progress, "segments", s->usual);
	t->progress.logged = true;
	for (size_t i = 0; i < s->usual; i++) {
		tune_one(t, s, order[i]);
		t->won = path_winners(s);
	}
	free(order);
	tune_cuts(t, s);
	t->won = path_winners(s);
	progress_end(&t->progress);
	note("%zu of %zu segments have other groups than the usual ones", t->won, path_segments(s));
	tell_turned(s);
	if (s->left_out)
		note("%zu parts are left as they are: sizes that vary, bodies, strings", s->left_out);
	if (stop)
		note("interrupted; what was found so far is used and kept: the same command again goes on");
}

static void write_tuned(const char *options, struct stream_writer *w, const char *tuned)
{
	struct stream_reader *r = stream_open(tuned);
	struct module *m = stream_read_only(r);

	pass_provenance(m, "tune-graph", options);
	stream_write(w, m);
	module_free(m);
	stream_close(r);
}

/* ---- what is known ---- */

/* Gives m the groups that are known to be faster; without any it stays as it is. */
static void recall_module(struct tuning *t, struct module *m, const char *options, struct stream_writer *w)
{
	struct segments s = {0};
	size_t foreign = 0, overtaken = 0;

	t->bench.cold_bytes = t->book.cold_bytes = runner_cold_bytes(m, &target);
	t->won = 0;
	if (t->book.kb && kb_layers(t->book.kb))
		prepare(t, m, &s);
	for (size_t i = 0; i < s.a.n; i++)
		search_recall(t, &s.a.a[i]);
	path_choose(&s, NULL, NULL);
	for (size_t i = 0; i < s.usual; i++) {
		foreign += s.a.a[i].foreign;
		overtaken += s.a.a[i].overtaken;
		if (t->why)
			tell_segment(&s.a.a[i], i, s.usual);
	}
	t->won = path_winners(&s);
	if (t->won)
		note("%zu of %zu segments have groups that were measured to be faster", t->won, path_segments(&s));
	tell_turned(&s);
	if (overtaken)
		note("%zu of %zu segments keep their usual groups, whose kernels were tuned since others won", overtaken, s.usual);
	if (foreign)
		note("of %zu segments a record says which groups are faster, but it was not measured here; hone tune --graph times them",
		     foreign);
	if (t->won || path_turned(&s)) {
		write_tuned(options, w, apply(t, module_digest(m), &s));
		return;
	}
	pass_provenance(m, "tune-graph", options);
	stream_write(w, m);
}

static int recall_all(struct tuning *t, const struct tool_args *a)
{
	struct stream_writer *w = stream_create(a->out, false);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);

	t->book.kb = kb_open_if_there(kb_file);
	for (struct module *m; (m = stream_read(r)); module_free(m)) {
		module_verify_or_die(m);
		recall_module(t, m, a->options, w);
	}
	stream_close(r);
	stream_finish(w);
	kb_close(t->book.kb);
	scratch_remove(&scratch);
	return EX_GOOD;
}

/* ---- the tool ---- */

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_SECONDS: seconds = option_number("--seconds", arg, 0.001, 1e9); return 0;
	case OPT_TRIALS: tuning.trials = option_count("--trials", arg, 0, 1000); return 0;
	case OPT_COLD: cold_mb = (int64_t)option_count("--cold-weights", arg, 0, RUNNER_COLD_MAX >> 20); return 0;
	case OPT_KB: kb_file = arg; return 0;
	case OPT_REPORT: report_file = arg; return 0;
	case OPT_TITLE: title = arg; return 0;
	case OPT_SEED: tuning.seed = option_count("--seed", arg, 0, UINT32_MAX); return 0;
	case OPT_THREADS: tuning.bench.threads = (int)option_count("--threads", arg, 1, PLAN_THREADS_MAX); return 0;
	case OPT_SEGMENTS: list_segments = true; return 0;
	case OPT_SEGMENT: segment_given = arg; return 0;
	case OPT_WRITE_PLAN: written_path = arg; return 0;
	case OPT_RECALL: recall = true; return 0;
	case OPT_TARGET:
		if (!target_find(arg, &target))
			die(EX_BADUSE, "--target=%s: %s", arg, target_why_not(arg));
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void bench_open(struct tuning *t)
{
	const char *place = getenv("TMPDIR");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		die_errno(EX_SYSTEM, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	const char *prefix = arena_printf(&t->arena, "%s/hone-tune-graph-", place && *place ? place : "/tmp");
	if (!scratch_make(&scratch, prefix))
		die_errno(EX_IO, "%s", prefix);
	die_hook(remove_scratch, NULL);
	t->bench.folder = scratch.path;
	t->bench.tools = arena_str(&t->arena, self);
}

/* A segment alone, by its text: its usual groups are those that the rules make of it. */
static void tune_text(struct tuning *t)
{
	const char *reason, *plan = in_folder(t, "usual.plan");
	struct module *m = task_module(segment_given, 1, &t->arena, &reason);
	struct plan_text usual;

	t->bench.cold_bytes = t->book.cold_bytes = cold_mb < 0 ? 0 : (uint64_t)cold_mb << 20;
	const char *text = m ? task_text(m, task_node(m), &t->arena, &reason) : NULL;
	if (!text)
		die(EX_BADDATA, "--segment: %s", reason);
	module_free(m);
	m = segment_module(text, &t->arena, &reason);
	if (!m)
		BUG("a segment's text is not read back: %s", reason);
	struct segment s = {.text = text, .n = (uint32_t)graph(m, m->main)->nodes.n};
	bench_begin(&t->bench, &s, m);
	must(t, (const char *const[]){"ge-fuse", "--write-plan", plan, "-o", in_folder(t, "fused.g"), in_folder(t, "segment.g"), NULL});
	plan_text_read(&usual, plan);
	s.usual.group = segment_groups(m, &usual, &t->arena);
	plan_text_free(&usual);
	module_free(m);
	s.places = 1;
	progress_start(&t->progress, "segments", 1);
	t->progress.logged = true;
	book_paces(&t->book, &t->paces, &t->arena);
	search_look(t, &s);
	search_segment(t, &s);
	progress_end(&t->progress);
	tell_segment(&s, 0, 1);
}

/* The file of the result; NULL: segments are listed. */
static const char *tune(struct tuning *t, struct module *m)
{
	struct segments s = {0};

	t->bench.cold_bytes = t->book.cold_bytes = cold_mb < 0 ? runner_cold_bytes(m, target_host()) : (uint64_t)cold_mb << 20;
	struct digest model = module_digest(m);
	prepare(t, m, &s);
	if (list_segments) {
		for (size_t i = 0; i < s.usual; i++)
			puts(s.a.a[i].text);
		if (s.usual && t->book.cold_bytes >> 20)
			note("a tuning of this model goes through %llu MB of constants: with --cold-weights=%llu records of single segments count for it",
			     (unsigned long long)(t->book.cold_bytes >> 20), (unsigned long long)(t->book.cold_bytes >> 20));
		return NULL;
	}
	tune_all(t, &s);
	const char *tuned = apply(t, model, &s);
	if (report_file)
		report_write(t, &s, title ? title : m->source ? basename(m->source) : "", page.f);
	return tuned;
}

static void check_usage(const struct tool_args *a)
{
	if (segment_given && (a->nfile || a->out || list_segments || written_path || report_file))
		die(EX_BADUSE, "--segment takes no FILE, -o, --segments, --report or --write-plan");
	if (list_segments && (a->out || written_path || report_file))
		die(EX_BADUSE, "--segments: nothing is tuned");
	if (recall && (segment_given || list_segments || written_path || report_file || seconds > 0 || cold_mb >= 0))
		die(EX_BADUSE, "--recall: nothing is tuned; it takes --kb and --target alone");
	if (target.cores && !recall)
		die(EX_BADUSE, "--target: of --recall alone; others time on this machine");
	if (!segment_given && !a->nfile && isatty(STDIN_FILENO))
		tool_usage();
	if (!list_segments && !recall && tuning.trials && target_is_emulated())
		die(EX_NOTAVAIL, "this machine is emulated, and its times say nothing");
}

static int run(const struct tool *tool, struct tool_args *a)
{
	struct tuning *t = &tuning;

	check_usage(a);
	if (!target.cores)
		target = *target_host();
	if (recall)
		t->trials = 0;
	if (kb_file) /* the passes that build segments ask the same one */
		setenv("HONE_KB", kb_file, 1);
	t->why = a->why;
	t->book.trusted = recall;
	t->book.tool = arena_printf(&t->arena, "tune-graph %s --seed=%llu", HONE_VERSION, (unsigned long long)t->seed);
	t->book.target = target_row(&target);
	t->book.trials = t->trials;
	t->book.threads = t->bench.threads;
	bench_open(t);
	t->deadline = seconds > 0 ? now_seconds() + seconds : 0;
	if (recall)
		return recall_all(t, a);
	stop_catch();
	if (segment_given) {
		t->book.prints = true;
		t->book.kb = kb_open_if_there(kb_file);
		tune_text(t);
		kb_close(t->book.kb);
		scratch_remove(&scratch);
		return EX_GOOD;
	}
	if (report_file)
		outfile_open(&page, report_file, false);
	struct stream_writer *w = list_segments ? NULL : stream_create(a->out, false);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	struct module *m = stream_read_only(r);
	module_verify_or_die(m);
	if (!list_segments)
		t->book.kb = t->trials ? kb_open(kb_file, true) : kb_open_if_there(kb_file);
	const char *tuned = tune(t, m);
	module_free(m);
	stream_close(r);
	if (w) {
		if (report_file)
			outfile_close(&page);
		write_tuned(a->options, w, tuned);
		stream_finish(w);
		kb_close(t->book.kb);
	}
	scratch_remove(&scratch);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"seconds", OPT_SECONDS, "S", 0, "time no more after S seconds", -1},
	{"trials", OPT_TRIALS, "N", 0, "groupings to time of each segment at each step (4); 0: none, what is known is used", -1},
	{"cold-weights", OPT_COLD, "MB", 0, "weights of timed runs move between copies of so much in all (default: as the model has)", -1},
	{"seed", OPT_SEED, "N", 0, "of the order in which two libraries are timed; 1", -1},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base (default: the user's)", -1},
	{"threads", OPT_THREADS, "N", 0, "libraries use at most N threads, and a group may use fewer (1)", -1},
	{"segments", OPT_SEGMENTS, 0, 0, "print the segments, a line of text each, and tune nothing", -1},
	{"segment", OPT_SEGMENT, "TEXT", 0, "tune this segment alone; records go to standard output", -1},
	{"recall", OPT_RECALL, 0, 0,
	 "time nothing: take groups that were measured to be faster here, or came with hone; else leave the graph as it is", -1},
	{"target", OPT_TARGET, "NAME", 0, "--recall: groups for this target: %s (default: native)", -1},
	{"report", OPT_REPORT, "FILE", 0, "each segment before and after, and what was tried, as a page of HTML", -1},
	{"title", OPT_TITLE, "NAME", 0, "the name of the model in the report; its file's", -1},
	{"write-plan", OPT_WRITE_PLAN, "FILE", 0, "also write the plan of the winners, for ge-fuse --plan", -1},
	{0},
};

static const char *names(int key) { return target_names(); }

const struct tool tool = {
	.name = "tune-graph",
	.summary = "Try other groups of a model's nodes, on the device.",
	.args_doc = "[FILE]",
	.more = "Needs a graph without groups, of known sizes (ge-shape, ge-simplify). Leaves Fused nodes and layouts, as ge-fuse and "
		"ge-layout do; groups are others where those were faster.",
	.flags = TOOL_OUT | TOOL_WHY,
	.max_files = 1,
	.options = options,
	.option = option,
	.run = run,
	.names = names,
};
