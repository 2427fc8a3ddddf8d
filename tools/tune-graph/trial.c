/* Building a segment in several ways, and timing them against each other. */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/facts.h"
#include "common/outfile.h"
#include "common/progress.h"
#include "graph/fused.h"
#include "graph/stream.h"
#include "search/predict.h"
#include "target/target.h"
#include "tune/measured.h"
#include "tune/stop.h"
#include "tune-graph.h"

static const char *file_of(const struct bench *b, const char *name, struct arena *a) { return arena_printf(a, "%s/%s", b->folder, name); }

/* ---- other tools ---- */

static noreturn void become(const struct bench *b, const char *out, const char *const *word)
{
	struct arena a = {0};
	int said = open(file_of(b, "said", &a), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int made = open(out ? out : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600), none = open("/dev/null", O_RDONLY);
	size_t n = 0;

	if (b->segment)
		setenv("HONE_BLOBS", file_of(b, "blobs", &a), 1);
	while (word[n])
		n++;
	char **argv = xcalloc(n + 1, sizeof *argv);
	for (size_t i = 0; i < n; i++)
		argv[i] = xstrdup(word[i]);
	if (said >= 0 && made >= 0 && dup2(none, STDIN_FILENO) >= 0 && dup2(made, STDOUT_FILENO) >= 0 && dup2(said, STDERR_FILENO) >= 0)
		execv(arena_printf(&a, "%s/%s", b->tools, word[0]), argv);
	_exit(EX_SYSTEM);
}

int tool_run(const struct bench *b, const char *out, const char *const *word)
{
	fflush(stdout);
	pid_t pid = stop_fork();
	if (pid == 0)
		become(b, out, word);
	int status = stop_wait(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *tool_said(const struct bench *b, struct arena *a)
{
	FILE *f = fopen(file_of(b, "said", a), "r");
	char line[400] = "";

	if (f && !fgets(line, sizeof line, f))
		line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = 0;
	return line[0] ? arena_str(a, line) : "a tool ended and said nothing";
}

/* ---- a segment ---- */

void bench_begin(struct bench *b, struct segment *s, struct module *m)
{
	struct arena a = {0};

	/* Packed: its random weights are in no store that lasts. */
	struct stream_writer *w = stream_create(file_of(b, "segment.g", &a), true);
	stream_write(w, m);
	stream_finish(w);
	b->segment = s;
	b->m = m;
	b->digest = module_digest(m);
	b->usual = NULL;
	arena_release(&a);
}

static void write_plan(const struct bench *b, const struct choice *c, const char *path)
{
	struct plan_text p = {.of = b->digest};
	const struct graph *g = graph(b->m, b->m->main);
	struct outfile f;

	for (uint32_t k = 1; k <= b->segment->n; k++) {
		struct plan_group *its = NULL;
		for (uint32_t i = 0; i < b->segment->n; i++) {
			if (c->group[i] != k)
				continue;
			its = its ? its : plan_text_add(&p, g->name, 1);
			its->row_major = c->row_major;
			its->threads = choice_threads(c, b->segment->n, k);
			vec_push(&its->node, val(b->m, plan_result(node(b->m, g->nodes.a[i])))->name);
		}
	}
	outfile_open(&f, path, false);
	plan_text_write(&p, f.f);
	outfile_close(&f);
	plan_text_free(&p);
}

/* Joins kernels of a graph with layouts, as a build for one thread does, into STEM.joined.g. False: the tool refused. */
static bool join(const struct bench *b, const char *laid, const char *stem, struct arena *a)
{
	const char *joined = arena_printf(a, "%s.joined.g", stem);

	if (b->threads > 1)
		return !tool_run(b, NULL, (const char *const[]){"ge-layout", "-q", "-o", joined, laid, NULL});
	return !tool_run(b, NULL, (const char *const[]){"ge-join", "-q", "-o", joined, laid, NULL});
}

/* By as many threads as the library has, or fewer if the graph says so. */
static double seconds_of(const struct bench *b, struct module *m, node_id fused)
{
	int most = fused_threads(m, fused);

	return group_seconds_by(m, fused, target_host(), most && most < b->threads ? most : b->threads);
}

/* Makes STEM.joined.g of the segment, with these groups. False: a tool refused. */
static bool lay_out(const struct bench *b, const struct choice *c, const char *stem, struct arena *a)
{
	const char *plan = arena_printf(a, "%s.plan", stem), *fused = arena_printf(a, "%s.fused.g", stem);
	const char *laid = arena_printf(a, "%s.laid.g", stem);

	write_plan(b, c, plan);
	return !tool_run(b, NULL, (const char *const[]){"ge-fuse", "--plan", plan, "-o", fused, file_of(b, "segment.g", a), NULL}) &&
	       !tool_run(b, NULL, (const char *const[]){"ge-layout", "-o", laid, fused, NULL}) && join(b, laid, stem, a);
}

double bench_predict(struct bench *b, const struct choice *c, struct arena *a, const char **why)
{
	const char *stem = file_of(b, "look", a);
	double seconds = 0, since = now_seconds();

	if (!lay_out(b, c, stem, a)) {
		*why = tool_said(b, a);
		return INFINITY;
	}
	struct stream_reader *r = stream_open(arena_printf(a, "%s.joined.g", stem));
	struct module *m = stream_read_only(r);
	for (size_t i = 0; i < graph(m, m->main)->nodes.n; i++)
		if (node(m, graph(m, m->main)->nodes.a[i])->op == OP_Fused)
			seconds += seconds_of(b, m, graph(m, m->main)->nodes.a[i]);
	module_free(m);
	stream_close(r);
	*why = isfinite(seconds) ? NULL : "a group has no kernel";
	b->spent.predict += now_seconds() - since;
	return seconds;
}

/* Makes STEM.so of STEM.joined.g, as hone build does. */
static bool build_joined(const struct bench *b, const char *stem, struct arena *a)
{
	const char *given = arena_printf(a, "%s.given.g", stem), *planned = arena_printf(a, "%s.planned.g", stem);
	const char *joined = arena_printf(a, "%s.joined.g", stem);

	const char *threads = arena_printf(a, "--threads=%d", b->threads);
	const char *const alone[] = {"ge-schedule", "-q", "-o", given, joined, NULL};
	const char *const team[] = {"ge-schedule", "--model=none", "--no-records", "-q",
				    "-o",          given,          joined,         NULL}; /* those are of one thread */

	return !tool_run(b, NULL, b->threads > 1 ? team : alone) &&
	       !tool_run(b, NULL, (const char *const[]){"ge-plan", "-q", threads, "-o", planned, given, NULL}) &&
	       !tool_run(b, NULL, (const char *const[]){"ge-emit", "-q", "-o", stem, planned, NULL});
}

static bool build(struct bench *b, const struct choice *c, const char *stem, struct arena *a)
{
	double since = now_seconds();
	bool built = lay_out(b, c, stem, a) && build_joined(b, stem, a);

	b->spent.build += now_seconds() - since;
	return built;
}

/* ---- timing ---- */

/* One process that times both. */
static void time_once(const struct bench *b, const char *library, uint64_t seed, struct measurement *r, struct arena *a)
{
	const char *report = file_of(b, "times", a);
	const char *const word[] = {"run-dev",        "--json",
				    "--against",      arena_printf(a, "%s.so", b->usual),
				    "--cold-weights", arena_printf(a, "%llu", (unsigned long long)(b->cold_bytes >> 20)),
				    "--seconds",      arena_printf(a, "%g", b->seconds),
				    "--seed",         arena_printf(a, "%llu", (unsigned long long)seed),
				    library,          NULL};

	if (tool_run(b, report, word)) {
		*r = (struct measurement){.verdict = VERDICT_CRASH, .why = tool_said(b, a)};
		return;
	}
	struct mapped text;
	mapped_open(&text, report);
	struct facts f = facts_parse(report, arena_copy(a, text.p, text.n), text.n);
	mapped_close(&text);
	const char *verdict = facts_get(&f, "verdict");
	*r = (struct measurement){.verdict = verdict ? verdict_parse(verdict, strlen(verdict)) : VERDICT_CRASH};
	r->ratio = facts_value(&f, "ratio");
	r->lo = facts_value(&f, "lo");
	r->hi = facts_value(&f, "hi");
	r->seconds = facts_value(&f, "seconds");
	measurement_samples(facts_get(&f, "samples"), r, a);
	if (!isfinite(r->lo) || !isfinite(r->hi))
		r->verdict = VERDICT_UNSURE;
}

/* FOLDER/other.so against the usual library: first their numbers, then their times. */
static void judge(struct bench *b, uint64_t seed, struct measurement *r, struct arena *a)
{
	const char *library = file_of(b, "other.so", a);
	double since = now_seconds();
	int differs = tool_run(b, NULL, (const char *const[]){"run-cmp", library, arena_printf(a, "%s.so", b->usual), NULL});

	b->spent.compare += now_seconds() - since;
	since = now_seconds();
	if (differs)
		*r = (struct measurement){.verdict = differs == EX_DIFFERENT ? VERDICT_WRONG : VERDICT_CRASH, .why = tool_said(b, a)};
	else
		time_once(b, library, seed, r, a);
	b->spent.time += now_seconds() - since;
}

static int by_ratio(const void *a, const void *b)
{
	double x = ((const struct measurement *)a)->ratio, y = ((const struct measurement *)b)->ratio;

	return (x > y) - (x < y);
}

void bench_whole(struct bench *b, const char *usual, const char *other, struct measurement *r, struct arena *a)
{
	enum { PROCESSES = 3 };
	struct measurement of[PROCESSES];

	b->usual = file_of(b, "usual", a);
	*r = (struct measurement){.verdict = VERDICT_BUILD};
	const char *stem = file_of(b, "other", a);
	if (!join(b, usual, b->usual, a) || !build_joined(b, b->usual, a) || !join(b, other, stem, a) || !build_joined(b, stem, a)) {
		r->why = tool_said(b, a);
		return;
	}
	for (int i = 0; i < PROCESSES; i++) {
		judge(b, (uint64_t)i, &of[i], a);
		if (!verdict_timed(of[i].verdict)) {
			*r = of[i];
			return;
		}
	}
	qsort(of, PROCESSES, sizeof *of, by_ratio);
	*r = of[PROCESSES / 2];
}

bool bench_measure(struct bench *b, struct choice *c, uint64_t seed, struct arena *a)
{
	struct kernels k = {0};

	if (!b->usual) {
		const char *usual = file_of(b, "usual", a);
		if (!build(b, &b->segment->usual, usual, a))
			return false;
		b->usual = usual;
		kernels_read(file_of(b, "usual.given.g", a), &b->usual_kernels, a);
	}
	if (!build(b, c, file_of(b, "other", a), a)) {
		c->result = (struct measurement){.verdict = VERDICT_BUILD, .why = tool_said(b, a)};
		return true;
	}
	kernels_read(file_of(b, "other.given.g", a), &k, a);
	c->kernels = kernels_text(&k, &b->usual_kernels, b->usual_kernels.seconds, a);
	c->usual_kernels = kernels_text(&b->usual_kernels, &k, b->usual_kernels.seconds, a);
	vec_free(&k);
	judge(b, seed, &c->result, a);
	return true;
}
