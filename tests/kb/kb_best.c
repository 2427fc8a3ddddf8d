/* The knowledge base as a library: which record wins. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/tool.h"
#include "kb/kb.h"
#include "tap.h"

const struct tool tool = {.name = "kb-best-test"};

static struct kb_record *kernel(const char *target, const char *verdict, const char *against, double hi, int n, struct arena *a)
{
	struct kb_record *r = ARENA_NEW(a, struct kb_record);
	kb_set_field(r, "kind", "kernel", a);
	kb_set_field(r, "task", "Add f32 4 4", a);
	kb_set_field(r, "target", target, a);
	kb_set_field(r, "verdict", verdict, a);
	kb_set_field(r, "against", against, a);
	kb_set_field(r, "trace", arena_printf(a, "trace %d\n", n), a);
	kb_set_field(r, "ratio", arena_printf(a, "%.3f", hi - 0.1), a);
	kb_set_field(r, "hi", arena_printf(a, "%.3f", hi), a);
	return r;
}

static void test_best(void)
{
	struct arena a = {0};
	const char *why;
	struct kb_record *front[] = {
		kernel("here", "faster", "default", 0.9, 1, &a),   kernel("here", "faster", "default", 0.8, 2, &a),
		kernel("here", "faster", "incumbent", 0.5, 3, &a), kernel("here", "wrong", "default", 0.1, 4, &a),
		kernel("there", "faster", "default", 0.4, 5, &a),  kernel("here", "faster", "default", 0.0 / 0.0, 6, &a),
		kernel("here", "faster", "default", 0.2, 9, &a),
	};
	kb_set_field(front[6], "ratio", NULL, &a);
	struct kb_record *back[] = {kernel("here", "faster", "default", 0.3, 7, &a), kernel("there", "faster", "default", 0.2, 8, &a)};
	setenv("XDG_DATA_HOME", arena_printf(&a, "%s/xdg", get_current_dir_name()), 1);
	struct kb *k = kb_open(NULL, true);
	kb_put(k, back, 2);
	kb_close(k);
	k = kb_open("front.kb", true);
	kb_put(k, front, 7);
	ok(kb_layers(k) == 2, "two layers");
	const struct kb_record *r = kb_best(k, "Add f32 4 4", "here", NULL, &a, &why);
	ok(r && !strcmp(kb_get_field(r, "trace"), "trace 2\n") && r->layer == 0, "the lowest upper bound of the first layer wins");
	ok(strstr(why, "over: ") && strstr(why, "layer behind") && strstr(why, "1 of another kind") == NULL && strstr(why, "1 wrong"),
	   "and why says over which");
	r = kb_best(k, "Add f32 4 4", "elsewhere", NULL, &a, &why);
	ok(!r && strstr(why, "of another target"), "nothing wins on a target that is not there");
	struct kb_list l;
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	ok(l.n == 9 && kb_measured(&l, "Add f32 4 4", "here", "trace 4\n") && !kb_measured(&l, "Add f32 4 4", "there", "trace 4\n"),
	   "what was measured");
	ok(kb_refuted(&l, "Add f32 4 4", "here", NULL, "trace 4\n") && !kb_refuted(&l, "Add f32 4 4", "here", NULL, "trace 1\n") &&
		   !kb_refuted(&l, "Add f32 4 4", "there", NULL, "trace 4\n"),
	   "a trace that is wrong is refuted, there alone");
	kb_find(k, "kernel", NULL, &l, &a);
	ok(l.n == 9, "by kind");
	kb_find(k, "other", NULL, &l, &a);
	ok(l.n == 0, "and no other");
	kb_close(k);
	arena_release(&a);
}

/* What was timed in several processes goes by their mean; what was not, by its bound. */
static void test_mean(void)
{
	static const struct {
		double hi;
		const char *mean;
	} rows[] = {{0.7, "0.95"}, {0.8, NULL}, {0.9, "0.75"}, {0.72, "0.76"}, {0.6, "none"}};
	enum { N = sizeof rows / sizeof *rows };
	struct arena a = {0};
	struct kb_record r[N];
	struct kb_list l = {r, 0, N};

	static const char *const wins[N] = {"trace 0\n", "trace 1\n", "trace 2\n", "trace 2\n", "trace 4\n"};
	for (int i = 0; i < N; i++) {
		r[i] = *kernel("here", "faster", "default", rows[i].hi, i, &a);
		if (rows[i].mean)
			kb_set_field(&r[i], "mean", rows[i].mean, &a);
		l.n = (size_t)i + 1;
		const struct kb_record *best = kb_best_of(&l, "Add f32 4 4", "here");
		ok(best && !strcmp(kb_get_field(best, "trace"), wins[i]), "of %d: bound %.2f, mean %s", i + 1, rows[i].hi,
		   rows[i].mean ? rows[i].mean : "unknown");
	}
	arena_release(&a);
}

/* Of one tuning's looks at a trace the last one counts. */
static void test_remeasurements(void)
{
	static const struct {
		int trace;
		const char *session, *base, *verdict, *mean, *count, *kept;
		int wins; /* the trace, when this record is there too */
		const char *what;
	} rows[] = {
		{1, "s", "b", "faster", "0.70", "4", NULL, 1, "a choice"},
		{2, "s", "b", "faster", "0.80", "4", NULL, 1, "another"},
		{1, "s", "b", "tie", "0.85", "5", NULL, 2, "one more remeasurement: a tie of its own, the mean is what counts"},
		{1, "s", "b", "faster", "0.78", "6", NULL, 1, "yet another: the one with most remeasurements"},
		{1, "s", "b", "faster", "0.60", "5", NULL, 1, "and none with fewer"},
		{2, "t", "b", "faster", "0.75", "3", NULL, 2, "another tuning's remeasurements are its own"},
		{2, "t", "b", "slower", "1.02", "4", NULL, 1, "in the mean it is not faster"},
		{1, "s", "b", "crash", NULL, "7", NULL, 2, "at last it crashed"},
		{2, "s", "b", "faster", "0.995", "5", NULL, 0, "less than is worth a change: none is left"},
		{3, "s", "b", "faster", "0.90", "4", NULL, 3, "a third choice"},
		{3, "s", "b", "faster", "0.91", "5", "no", 0, "taken back"},
	};
	enum { N = sizeof rows / sizeof *rows };
	struct arena a = {0};
	struct kb *k = kb_open_file("remeasured.kb", true);
	struct kb_list l;

	for (int i = 0; i < N; i++) {
		struct kb_record *r = kernel("here", rows[i].verdict, "default", 0.9, rows[i].trace, &a);
		kb_set_field(r, "session", rows[i].session, &a);
		kb_set_field(r, "base", rows[i].base, &a);
		kb_set_field(r, "mean", rows[i].mean, &a);
		kb_set_field(r, i & 1 ? "remeasurements" : "looks", rows[i].count, &a); /* older programs wrote looks */
		kb_set_field(r, "kept", rows[i].kept, &a);
		kb_put(k, &r, 1);
		kb_find(k, NULL, "Add f32 4 4", &l, &a);
		const struct kb_record *best = kb_best_of(&l, "Add f32 4 4", "here");
		const char *trace = arena_printf(&a, "trace %d\n", rows[i].wins);
		ok(rows[i].wins ? best && !strcmp(kb_get_field(best, "trace"), trace) : !best, "%s", rows[i].what);
	}
	struct kb_record *first = kernel("here", "faster", "default", 0.9, 1, &a), *last = kernel("here", "slower", "default", 1.1, 1, &a);
	struct kb_record *both[] = {first, last};
	for (int i = 0; i < 2; i++) {
		kb_set_field(both[i], "session", "gc", &a);
		kb_set_field(both[i], "mean", i ? "1.05" : "0.5", &a);
		kb_set_field(both[i], "looks", i ? "4" : "3", &a);
	}
	kb_set_field(last, "kind", "dropped", &a);
	kb_set_field(last, "trace", NULL, &a);
	char hex[33];
	digest_hex(kb_trace_digest("trace 1\n"), hex);
	kb_set_field(last, "trace-digest", hex, &a);
	kb_put(k, both, 2);
	kb_find(k, "kernel", NULL, &l, &a);
	double worth = 0;
	for (size_t i = 0; i < l.n; i++)
		if (digest_eq(l.a[i].id, first->id))
			worth = kb_worth(&l.a[i]);
	ok(l.n == N + 1 && worth == 1.05, "kernels alone: a last remeasurement that gc has shortened counts for its choice: %g", worth);
	kb_close(k);
	arena_release(&a);
}

static const struct kb_base *base_of(const char *digest)
{
	static struct kb_base base;
	base = (struct kb_base){.stamped = ""};
	snprintf(base.digest, sizeof base.digest, "%s", digest);
	return &base;
}

/* A schedule is named by its own digest; older records have that of its trace with the lines at its head. */
static void test_base_names(void)
{
	static const char trace[] = "# trace 1 00112233445566778899aabbccddeeff\nvector C.n\n";
	struct arena a = {0};
	struct kb_base base = kb_base_of(trace), again = kb_base_of("# trace 2 0\nvector C.n\n");
	struct kb_record *r[3];
	char stamped[33];
	digest_hex(digest_bytes(trace, strlen(trace)), stamped);
	const char *const names[] = {base.digest, stamped, again.stamped};
	for (int i = 0; i < 3; i++) {
		r[i] = kernel("here", "faster", "default", 0.5, i, &a);
		kb_set_field(r[i], "base", names[i], &a);
	}
	ok(!strcmp(base.digest, again.digest), "a schedule's digest does not hang on the lines at its trace's head");
	ok(kb_is_to(r[0], &base) && kb_is_to(r[0], &again), "a record's ratio names the schedule that it is one to");
	ok(kb_is_to(r[1], &base) && !kb_is_to(r[2], &base), "an older record, by the trace with those lines");
	arena_release(&a);
}

/* Ratios to different defaults do not compare. */
static void test_bases(void)
{
	static const struct {
		const char *base, *samples;
		double hi;
		const char *verdict;
	} rows[] = {
		{"old", "50/200 48/190", 0.3, "faster"},  {"old", "60/200", 0.31, "faster"},  {"new", "45/60 47/61", 0.8, "faster"},
		{"newest", "58/55 59/55", 1.1, "slower"}, {"other", "70/90", 0.79, "faster"},
	};
	enum { N = sizeof rows / sizeof *rows };
	struct arena a = {0};
	struct kb_record *r[N];
	struct kb_list l = {0};
	for (int i = 0; i < N; i++) {
		r[i] = kernel("here", rows[i].verdict, "default", rows[i].hi, i, &a);
		kb_set_field(r[i], "base", rows[i].base, &a);
		kb_set_field(r[i], "samples", rows[i].samples, &a);
	}
	struct kb *k = kb_open("bases.kb", true);
	kb_put(k, r, N);
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	static const struct {
		const char *base, *trace, *what;
	} cases[] = {
		{"new", "trace 2\n", "the one against today's default, whatever the others' ratios"},
		{"other", "trace 4\n", "also where another took less time"},
		{"newest", "trace 2\n", "none against today's: the least time, where that default took more"},
		{"none", "trace 2\n", "today's was never timed: the least time"},
	};
	const struct kb_record *best = kb_best_of(&l, "Add f32 4 4", "here");
	ok(best && !strcmp(kb_get_field(best, "trace"), "trace 2\n"), "different defaults: the best of each compete by time");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		best = kb_best_for(&l, "Add f32 4 4", "here", base_of(cases[i].base));
		ok(best && !strcmp(kb_get_field(best, "trace"), cases[i].trace), "%s", cases[i].what);
	}
	struct kb_record *fast = kernel("here", "slower", "default", 1.2, 9, &a);
	kb_set_field(fast, "base", "newest", &a);
	kb_set_field(fast, "samples", "50/40", &a);
	kb_put(k, &fast, 1);
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	ok(!kb_best_for(&l, "Add f32 4 4", "here", base_of("newest")), "today's default took less than all of them: none");
	kb_close(k);
	arena_release(&a);
}

/* A record that does not say what time it took: it wins where nothing says what today's default takes. */
static void test_no_samples(void)
{
	struct arena a = {0};
	struct kb_record *r = kernel("here", "faster", "default", 0.5, 1, &a), *now = kernel("here", "slower", "default", 1.2, 2, &a);
	struct kb_list l = {r, 1, 1};
	const char *why;
	kb_set_field(r, "base", "old", &a);
	ok(kb_best_for(&l, "Add f32 4 4", "here", base_of("new")) == r, "no samples, and today's default was never timed: it wins");
	kb_set_field(now, "base", "new", &a);
	kb_set_field(now, "samples", "50/40", &a);
	struct kb *k = kb_open("nosamples.kb", true);
	kb_put(k, (struct kb_record *[]){r, now}, 2);
	ok(!kb_best(k, "Add f32 4 4", "here", base_of("new"), &a, &why) && strstr(why, "(its samples do not say"),
	   "where it was, it does not, and why says so");
	kb_close(k);
	arena_release(&a);
}

/* Records whose numbers contradict each other win nothing, nor do they say what another record is worth. */
static void test_implausible(void)
{
	static const struct {
		const char *ratio, *lo, *hi, *samples, *mean, *why;
	} rows[] = {
		{"0.5", "0.4", "0.6", "50/100 52/100", NULL, NULL},
		{"0.5", "0.5", "0.5", "50/100", "0.5", NULL},
		{"0.5", NULL, "0.6", NULL, NULL, NULL},
		{"1e-300", "0.4", "0.6", "50/100", NULL, "outside its own interval"},
		{"0.5", "0.4", "1e-300", "50/100", NULL, "outside its own interval"},
		{"0.5", "-1", "0.6", "50/100", NULL, "outside its own interval"},
		{"0.5", "nan", "0.6", "50/100", NULL, "outside its own interval"},
		{"1e-3", "1e-3", "1e-3", NULL, NULL, "less than any"},
		{"1e-3", NULL, "0.6", NULL, NULL, "less than any"},
		{"0.5", "1e-9", "0.6", NULL, NULL, "less than any"},
		{"0.1", "0.1", "0.1", "90/100 95/100", NULL, "its samples"},
		{"0.5", "0.4", "0.6", "50/100", "1e-9", "less than any"},
		{"0.5", "0.4", "0.6", "50/100", "0.1", "its mean"},
	};
	struct arena a = {0};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct kb_record r[2] = {*kernel("here", "faster", "default", 0.9, 1, &a),
					 *kernel("here", "faster", "default", 0.95, 2, &a)};
		kb_set_field(r, "ratio", rows[i].ratio, &a);
		kb_set_field(r, "lo", rows[i].lo, &a);
		kb_set_field(r, "hi", rows[i].hi, &a);
		kb_set_field(r, "samples", rows[i].samples, &a);
		kb_set_field(r, "mean", rows[i].mean, &a);
		struct kb_list l = {r, 2, 2};
		const char *why = kb_not_believed(r, "here");
		ok(kb_best_of(&l, "Add f32 4 4", "here") == &r[rows[i].why != NULL] &&
			   (rows[i].why ? why && strstr(why, rows[i].why) : !why),
		   "ratio %s (%s .. %s): %s", rows[i].ratio, rows[i].lo ? rows[i].lo : "", rows[i].hi, why ? why : "believed");
	}
	struct kb_record *r[] = {kernel("here", "faster", "default", 0.9, 1, &a), kernel("here", "faster", "default", 0.9, 1, &a)};
	for (int i = 0; i < 2; i++) {
		kb_set_field(r[i], "mean", i ? "1e-9" : "0.85", &a);
		kb_set_field(r[i], "remeasurements", i ? "1000000" : "3", &a);
	}
	struct kb *k = kb_open("forged.kb", true);
	struct kb_list l;
	kb_put(k, r, 2);
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	const struct kb_record *best = kb_best_of(&l, "Add f32 4 4", "here");
	ok(best && kb_worth(best) == 0.85, "a forged remeasurement does not speak for its choice");
	kb_close(k);
	arena_release(&a);
}

/* Times are of records that do not contradict themselves, and that a machine can have taken. */
static void test_seconds(void)
{
	static const char *const samples[] = {"0/0 70/140 50/100", "1/100", "3/6"}; /* ratios of 0.5 */
	struct arena a = {0};
	struct kb *k = kb_open("seconds.kb", true);
	struct kb_record *r[3];

	for (int i = 0; i < 3; i++) {
		r[i] = kernel("here", "faster", "default", 0.5, i, &a);
		kb_set_field(r[i], "samples", samples[i], &a);
	}
	kb_put(k, r, 2);
	ok(fabs(kb_seconds(k, "Add f32 4 4", "here", 1e-11) - 50e-12) < 1e-15,
	   "seconds of a call, but no 0, and of no record that contradicts itself");
	kb_put(k, r + 2, 1);
	ok(fabs(kb_seconds(k, "Add f32 4 4", "here", 1e-11) - 50e-12) < 1e-15, "nor less than is possible");
	ok(kb_seconds(k, "Add f32 4 4", "here", 1e-10) == 0, "where nothing is, none is known");
	kb_close(k);
	arena_release(&a);
}

/* A record may have 16 MiB of samples. */
static void test_many_samples(void)
{
	enum { BYTES = 4 << 20 };
	struct arena a = {0};
	struct kb_record *r[2];
	char *samples = arena_alloc(&a, BYTES + 1);
	for (size_t i = 0; i < BYTES; i += 8)
		memcpy(samples + i, "900/999 ", 8);
	samples[BYTES] = 0;
	memcpy(samples + BYTES - 8, "100/999", 8);
	for (int i = 0; i < 2; i++) {
		r[i] = kernel("here", "faster", "default", 0.5, i, &a);
		kb_set_field(r[i], "base", i ? "one" : "another", &a);
		kb_set_field(r[i], "samples", i ? samples : "200/999", &a);
	}
	struct kb_record two[] = {*r[0], *r[1]};
	struct kb_list l = {two, 2, 2};
	clock_t start = clock();
	ok(kb_best_of(&l, "Add f32 4 4", "here") == &two[1], "the last of half a million samples is the least");
	ok(clock() - start < 2 * CLOCKS_PER_SEC, "and found at once");
	arena_release(&a);
}

int main(void)
{
	unsetenv("HONE_KB");
	test_best();
	test_mean();
	test_remeasurements();
	test_base_names();
	test_bases();
	test_no_samples();
	test_many_samples();
	test_implausible();
	test_seconds();
	return tap_done();
}
