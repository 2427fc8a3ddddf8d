/* tune-graph: which nodes form kernels, tried on parts of the model. */
#include <limits.h>
#include <math.h>
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
#include "tune-graph.h"

enum { OPT_SECONDS = 1000, OPT_TRIALS, OPT_COLD, OPT_KB, OPT_SEGMENTS, OPT_SEGMENT, OPT_WRITE_PLAN };
enum { TRIALS = 4, STEPS_MOST = 3, REMEASUREMENTS = 2 };
#define TRY_SECONDS   2.0  /* of one measurement of a segment, */
#define WHOLE_SECONDS 10.0 /* and of a model */
#define AHEAD         0.98 /* of the time of the best so far: a step further must be below */

static double seconds;
static size_t trials = TRIALS;
static int64_t cold_mb = -1;
static const char *kb_file, *segment_given, *written_path;
static bool list_segments, why;
static double deadline;
static struct arena arena; /* for the life of the process */
static struct scratch scratch;

/* ---- one segment ---- */

static int by_predicted(const void *a, const void *b)
{
	double x = ((const struct choice *)a)->predicted, y = ((const struct choice *)b)->predicted;

	return (x > y) - (x < y);
}

static bool time_is_over(void) { return deadline > 0 && now_seconds() >= deadline; }

static void say(const struct choice *c)
{
	const struct measurement *r = &c->result;

	if (!why)
		return;
	if (!c->measured)
		warn("  %s: not timed: %.3g us by the cost model", c->how, 1e6 * c->predicted);
	else if (verdict_timed(r->verdict))
		warn("  %s: %s, %.3f (%.3f to %.3f); %.3g us by the cost model", c->how, verdict_name(r->verdict), r->ratio, r->lo, r->hi,
		     1e6 * c->predicted);
	else
		warn("  %s: %s: %s", c->how, verdict_name(r->verdict), r->why ? r->why : "");
}

/* False: the segment's usual groups have no library; that is said once. */
static bool measure(struct bench *b, struct choice *c, uint64_t seed)
{
	bool there = bench_measure(b, c->group, seed, &c->result, &arena);

	if (!there && !b->segment->failed)
		warn("a segment is not tuned: its usual groups cannot be built: %s", tool_said(b, &arena));
	b->segment->failed |= !there;
	return there;
}

/* The best few of the choices by the cost model are timed. The fastest that is faster than the usual for sure; NULL: none. */
static struct choice *try_choices(struct bench *b, const struct book *book, struct choices *l)
{
	struct segment *s = b->segment;
	struct choice *best = NULL;
	size_t done = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *reason = time_is_over() ? "the time is over" : "it is the usual one";
		bool usual = time_is_over() || !memcmp(l->a[i].group, s->usual, s->n * sizeof *s->usual);
		l->a[i].predicted = usual ? INFINITY : bench_predict(b, l->a[i].group, &arena, &reason);
		if (why && !isfinite(l->a[i].predicted))
			warn("  %s: cannot be: %s", l->a[i].how, reason);
	}
	qsort(l->a, l->n, sizeof *l->a, by_predicted);
	for (size_t i = 0; i < l->n && isfinite(l->a[i].predicted); i++) {
		struct choice *c = &l->a[i];
		book_recall_choice(book, s, c, &arena);
		if (!c->measured && done < trials && !time_is_over()) {
			if (!measure(b, c, done))
				return NULL;
			c->measured = true;
			book_put(book, s, c, 0);
		}
		done += c->measured;
		say(c);
		if (c->measured && c->result.verdict == VERDICT_FASTER && (!best || c->result.ratio < best->result.ratio))
			best = c;
	}
	return best;
}

/* What won was chosen by its times, which flatter it: other processes say what counts. */
static void confirm(struct bench *b, const struct book *book, const struct choice *best)
{
	struct segment *s = b->segment;
	struct choice again = *best;
	double log_sum = 0;

	for (int i = 1; i <= REMEASUREMENTS; i++) {
		if (!measure(b, &again, (uint64_t)(trials + (size_t)i)) || again.result.verdict != VERDICT_FASTER)
			return;
		log_sum += log(again.result.ratio);
	}
	double mean = exp(log_sum / REMEASUREMENTS);
	if (mean >= KB_MATERIAL)
		return;
	book_put(book, s, &again, mean);
	if (s->won && s->mean <= mean)
		return;
	s->won = best->group;
	s->how = best->how;
	s->mean = mean;
}

/* Times that were measured elsewhere do not count: what won there is timed here. */
static void confirm_foreign(struct bench *b, const struct book *book)
{
	struct segment *s = b->segment;
	struct choice c = {.group = (uint32_t *)s->won, .how = s->how};

	s->won = NULL;
	s->foreign = false;
	book_recall_choice(book, s, &c, &arena);
	if (!c.measured && !measure(b, &c, 0))
		return;
	if (!c.measured)
		book_put(book, s, &c, 0);
	if (c.result.verdict == VERDICT_FASTER)
		confirm(b, book, &c);
}

static void tune_segment(struct bench *b, const struct book *book, struct segment *s)
{
	const char *reason;
	struct choices l = {0};
	struct choice *best = NULL;

	book_recall(book, s, &arena);
	if (s->foreign && trials && time_is_over())
		s->won = NULL;
	if ((s->done && !s->foreign) || !trials || time_is_over())
		return;
	struct module *m = segment_module(s->text, &arena, &reason);
	if (!m || graph(m, m->main)->nodes.n != s->n)
		BUG("a segment's text is not read back: %s", m ? s->text : reason);
	bench_begin(b, s, m);
	if (s->foreign)
		confirm_foreign(b, book);
	const uint32_t *from = s->done ? NULL : s->usual;
	for (int step = 0; step < STEPS_MOST && from; step++) {
		l = (struct choices){0};
		choices_near(m, from, &l, &arena);
		struct choice *next = try_choices(b, book, &l);
		bool better = next && (!best || next->result.ratio < AHEAD * best->result.ratio);
		best = better ? next : best;
		from = better ? next->group : NULL;
	}
	if (best)
		confirm(b, book, best);
	if (!s->done && !s->failed && !time_is_over())
		book_put_searched(book, s);
	module_free(m);
	b->segment = NULL;
}

static void tell_segment(const struct segment *s, size_t i, size_t n)
{
	if (s->won)
		note("segment %zu of %zu (in %zu place%s): %.3f of the usual time: %s", i + 1, n, s->part.n, s->part.n == 1 ? "" : "s",
		     s->mean, s->how);
	else if (why)
		warn("segment %zu of %zu (in %zu place%s): keeps the usual groups: %s", i + 1, n, s->part.n, s->part.n == 1 ? "" : "s",
		     s->text);
}

/* ---- a model ---- */

static void must(const struct bench *b, const char *const *word)
{
	int code = tool_run(b, NULL, word);

	if (code) {
		warn("%s", tool_said(b, &arena));
		die_silent(code);
	}
}

static const char *in_folder(const char *name) { return arena_printf(&arena, "%s/%s", scratch.path, name); }

/* The model without groups, with those of the rules, and with their layouts. */
static void prepare(const struct bench *b, struct module *m, struct segments *s)
{
	const char *model = in_folder("model.g"), *fused = in_folder("fused.g"), *plain = in_folder("plain.g"), *laid = in_folder("laid.g"),
		   *plan = in_folder("usual.plan");
	struct plan_text usual;
	struct stream_writer *w = stream_create(model, false);

	stream_write(w, m);
	stream_finish(w);
	must(b, (const char *const[]){"ge-fuse", "-o", fused, model, NULL});
	must(b, (const char *const[]){"ge-fuse", "--undo", "-o", plain, fused, NULL});
	must(b, (const char *const[]){"ge-fuse", "--write-plan", plan, "-o", fused, plain, NULL});
	must(b, (const char *const[]){"ge-layout", "-o", laid, fused, NULL});
	plan_text_read(&usual, plan);
	segments_cut(s, plain, laid, &usual, &arena);
	plan_text_free(&usual);
}

/* The plan of the winners, as a file of that name, and its digest. */
static struct digest write_winners(const struct segments *s, const char *path)
{
	struct plan_text p;
	struct outfile f;
	struct mapped text;

	segments_plan(s, in_folder("plain.g"), &p);
	outfile_open(&f, path, false);
	plan_text_write(&p, f.f);
	outfile_close(&f);
	plan_text_free(&p);
	mapped_open(&text, path);
	struct digest d = digest_bytes(text.p, text.n);
	mapped_close(&text);
	return d;
}

static bool any_won(const struct segments *s)
{
	for (size_t i = 0; i < s->a.n; i++)
		if (s->a.a[i].won)
			return true;
	return false;
}

/* Segments that were faster alone need not make the model faster: it is timed, too, and keeps its usual groups else. */
static bool whole_is_faster(struct bench *b, const struct book *book, struct digest model, struct digest plan, const char *laid)
{
	struct measurement r = {0};

	r.verdict = book_recall_whole(book, model, plan, &r, &arena);
	if (r.verdict == VERDICT_COUNT && !trials)
		return true;
	if (r.verdict == VERDICT_COUNT || (r.verdict == VERDICT_UNSURE && trials)) {
		b->seconds = WHOLE_SECONDS;
		bench_whole(b, in_folder("laid.g"), laid, &r, &arena);
		book_put_whole(book, model, plan, &r);
	}
	if (verdict_timed(r.verdict))
		note("the whole model: %s, %.3f of the time with the usual groups", verdict_name(r.verdict), r.ratio);
	else
		note("the whole model: %s%s%s", verdict_name(r.verdict), r.why ? ": " : "", r.why ? r.why : "");
	return r.verdict == VERDICT_FASTER;
}

/* The file of the model with the groups of the winners. */
static const char *apply(struct bench *b, const struct book *book, struct digest model, const struct segments *s)
{
	const char *plan = in_folder("best.plan"), *fused = in_folder("best.g"), *laid = in_folder("best.laid.g");
	static const struct segments none;
	struct digest of = write_winners(s, plan);

	bool can = any_won(s) &&
		   !tool_run(b, NULL, (const char *const[]){"ge-fuse", "--plan", plan, "-o", fused, in_folder("plain.g"), NULL}) &&
		   !tool_run(b, NULL, (const char *const[]){"ge-layout", "-o", laid, fused, NULL});
	if (any_won(s) && !can)
		warn("the model keeps its usual groups: those of the records cannot be: %s", tool_said(b, &arena));
	bool better = can && whole_is_faster(b, book, model, of, laid);
	if (written_path)
		write_winners(better ? s : &none, written_path);
	return better ? laid : in_folder("laid.g");
}

static void tune_all(struct bench *b, const struct book *book, struct segments *s)
{
	size_t won = 0;
	struct progress p;

	progress_start(&p, "segments", s->a.n);
	for (size_t i = 0; i < s->a.n; i++) {
		tune_segment(b, book, &s->a.a[i]);
		tell_segment(&s->a.a[i], i, s->a.n);
		progress_step(&p, NULL);
		won += s->a.a[i].won != NULL;
	}
	progress_end(&p);
	note("%zu of %zu segments have other groups than the usual ones", won, s->a.n);
	if (s->left_out)
		note("%zu parts are left as they are: sizes that vary, bodies, strings", s->left_out);
}

/* ---- the tool ---- */

static error_t option(int key, char *arg)
{
	switch (key) {
	case OPT_SECONDS: seconds = option_number("--seconds", arg, 0.001, 1e9); return 0;
	case OPT_TRIALS: trials = option_count("--trials", arg, 0, 1000); return 0;
	case OPT_COLD: cold_mb = (int64_t)option_count("--cold-weights", arg, 0, RUNNER_COLD_MAX >> 20); return 0;
	case OPT_KB: kb_file = arg; return 0;
	case OPT_SEGMENTS: list_segments = true; return 0;
	case OPT_SEGMENT: segment_given = arg; return 0;
	case OPT_WRITE_PLAN: written_path = arg; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void remove_scratch(void *unused) { scratch_remove(&scratch); }

static struct bench bench_new(void)
{
	const char *place = getenv("TMPDIR");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		die_errno(EX_SYSTEM, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	const char *prefix = arena_printf(&arena, "%s/hone-tune-graph-", place && *place ? place : "/tmp");
	if (!scratch_make(&scratch, prefix))
		die_errno(EX_IO, "%s", prefix);
	die_hook(remove_scratch, NULL);
	return (struct bench){.folder = scratch.path, .tools = arena_str(&arena, self), .seconds = TRY_SECONDS};
}

/* A segment alone, by its text: its usual groups are those that the rules make of it. */
static void tune_text(struct bench *b, const struct book *book)
{
	const char *reason, *plan = in_folder("usual.plan");
	struct module *m = task_module(segment_given, 1, &arena, &reason);
	struct plan_text usual;

	const char *text = m ? task_text(m, task_node(m), &arena, &reason) : NULL;
	if (!text)
		die(EX_BADDATA, "--segment: %s", reason);
	module_free(m);
	m = segment_module(text, &arena, &reason);
	if (!m)
		BUG("a segment's text is not read back: %s", reason);
	struct segment s = {.text = text, .n = (uint32_t)graph(m, m->main)->nodes.n};
	bench_begin(b, &s, m);
	must(b, (const char *const[]){"ge-fuse", "--write-plan", plan, "-o", in_folder("fused.g"), in_folder("segment.g"), NULL});
	plan_text_read(&usual, plan);
	s.usual = segment_groups(m, &usual, &arena);
	plan_text_free(&usual);
	module_free(m);
	vec_push(&s.part, NULL);
	tune_segment(b, book, &s);
	tell_segment(&s, 0, 1);
}

/* The file of the result; NULL: segments are listed. */
static const char *tune(struct bench *b, struct book *book, struct module *m)
{
	struct segments s = {0};

	b->cold_bytes = book->cold_bytes = cold_mb < 0 ? runner_cold_bytes(m, target_host()) : (uint64_t)cold_mb << 20;
	struct digest model = module_digest(m);
	prepare(b, m, &s);
	if (list_segments) {
		for (size_t i = 0; i < s.a.n; i++)
			puts(s.a.a[i].text);
		return NULL;
	}
	tune_all(b, book, &s);
	return apply(b, book, model, &s);
}

static int run(const struct tool *t, struct tool_args *a)
{
	struct book book = {
		.tool = arena_printf(&arena, "tune-graph %s", HONE_VERSION), .target = target_row(target_host()), .trials = trials};
	struct stream_writer *w = NULL;

	why = a->why;
	if (segment_given && (a->nfile || a->out || list_segments || written_path || kb_file))
		die(EX_BADUSE, "--segment takes no FILE, -o, --kb, --segments or --write-plan");
	if (list_segments && (a->out || written_path))
		die(EX_BADUSE, "--segments: nothing is tuned");
	if (!segment_given && !a->nfile && isatty(STDIN_FILENO))
		tool_usage();
	if (!list_segments && trials && target_is_emulated())
		die(EX_NOTAVAIL, "this machine is emulated, and its times say nothing");
	struct bench b = bench_new();
	deadline = seconds > 0 ? now_seconds() + seconds : 0;
	if (segment_given) {
		b.cold_bytes = book.cold_bytes = cold_mb < 0 ? 0 : (uint64_t)cold_mb << 20;
		tune_text(&b, &book);
		scratch_remove(&scratch);
		return EX_GOOD;
	}
	if (!list_segments)
		w = stream_create(a->out, false);
	struct stream_reader *r = stream_open(a->nfile ? a->file[0] : NULL);
	struct module *m = stream_read_only(r);
	module_verify_or_die(m);
	if (!list_segments)
		book.kb = trials ? kb_open(kb_file, true) : kb_open_if_there(kb_file);
	const char *tuned = tune(&b, &book, m);
	module_free(m);
	stream_close(r);
	if (w) {
		r = stream_open(tuned);
		m = stream_read_only(r);
		pass_provenance(m, t->name, a->options);
		stream_write(w, m);
		stream_finish(w);
		module_free(m);
		stream_close(r);
		kb_close(book.kb);
	}
	scratch_remove(&scratch);
	return EX_GOOD;
}

static const struct argp_option options[] = {
	{"seconds", OPT_SECONDS, "S", 0, "time no more after S seconds", -1},
	{"trials", OPT_TRIALS, "N", 0, "groupings to time of each segment at each step (4); 0: none, what is known is used", -1},
	{"cold-weights", OPT_COLD, "MB", 0, "weights of timed runs move between copies of so much in all (default: as the model has)", -1},
	{"kb", OPT_KB, "FILE", 0, "the knowledge base (default: the user's)", -1},
	{"segments", OPT_SEGMENTS, 0, 0, "print the segments, a line of text each, and tune nothing", -1},
	{"segment", OPT_SEGMENT, "TEXT", 0, "tune this segment alone; records go to standard output", -1},
	{"write-plan", OPT_WRITE_PLAN, "FILE", 0, "also write the plan of the winners, for ge-fuse --plan", -1},
	{0},
};

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
};
