/* The client of the runner, on the fake one and on some that lie. */
#include <math.h>
#include <string.h>
#include "runner/wire.h"
#include "target/target.h"
#include "tap.h"

static struct arena arena;

static struct runner_build build_of(const char *source)
{
	static const int64_t shape[] = {2, 3};
	static const struct runner_buf buf[] = {{"f32", 2, shape, "", 6, 0}, {"f32", 2, shape, "1 0", 6, 0}};

	return (struct runner_build){source, strlen(source), NULL, 64, 1, 0, 1, buf};
}

static struct runner_answer next(struct runner *r)
{
	struct runner_answer x;

	if (runner_wait(&r, 1, 5, &arena, &x) != 0)
		x = (struct runner_answer){.ended = true, .why = "nothing came"};
	return x;
}

/* A session with the fake: what it said, in one text. */
static const char *session(int sources)
{
	const char *why, *text = "";
	struct runner *r = runner_open("fake", 1, &arena, &why);
	struct runner_answer x;
	struct digest task, first = {0, 0};
	char hex[33];

	runner_task(r, "Relu f32 2x3");
	task = next(r).digest;
	for (int i = 0; i < sources; i++) {
		struct runner_build b = build_of(arena_printf(&arena, "source %d", i));
		uint64_t id = runner_build(r, task, &b);
		x = next(r);
		digest_hex(x.digest, hex);
		text = arena_printf(&arena, "%s%d %s %s\n", text, x.id == id, x.result.verdict == VERDICT_BUILD ? "failed" : "built", hex);
		if (x.result.verdict == VERDICT_BUILD)
			continue;
		if (!first.hi)
			first = x.digest;
		runner_try(r, &(struct runner_try){.task = task, .artifact = x.digest, .base = first, .budget = 0.1, .seed = (uint64_t)i});
		x = next(r);
		text = arena_printf(&arena, "%s%s %.17g %zu %s\n", text, verdict_name(x.result.verdict), x.result.ratio, x.result.npairs,
				    x.why ? x.why : "");
	}
	runner_close(r);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void test_fake(void)
{
	const char *a = session(400), *b = session(400);

	ok(!strcmp(a, b), "fake: the same answers to the same requests");
	ok(count(a, "1 ") >= 400 && count(a, "\n0 ") == 0, "answers carry the ids of requests");
	ok(count(a, "failed") > 5 && count(a, "failed") < 40, "fake: some builds fail (%d)", count(a, "failed"));
	ok(count(a, "wrong") > 5 && count(a, "wrong") < 40, "fake: some are wrong (%d)", count(a, "wrong"));
	ok(count(a, "faster") > 50 && count(a, "slower") > 50, "fake: some faster, some slower");
	ok(strstr(a, "tie 1 16") != NULL, "fake: the base against itself is a tie");
}

static void test_commands(void)
{
	static const struct {
		const char *command, *pattern;
	} bad[] = {
		{"exit 3", "exit status 3"},
		{"exec sleep 10", "does not answer within"},
		{"printf '\\377\\377\\377\\377'; exec sleep 10", "not the runner's protocol"},
		{"printf '\\002\\000\\000\\000\\301\\301'; exec sleep 10", "not the runner's protocol"},
		{"printf '\\011\\000\\000\\000\\223\\000\\245hello\\143'; exec sleep 10", "version 99"},
	};
	const char *why = "";

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct runner *r = runner_open(bad[i].command, 0.5, &arena, &why);
		ok(!r && strstr(why, bad[i].pattern) && strstr(why, bad[i].command), "%s: %s", bad[i].pattern, why);
		if (r)
			runner_close(r);
	}
}

/* A runner that says hello and then this of what it was asked for, or of nothing. */
static struct runner_answer answer_of(uint64_t id, const struct measurement *x, bool ask, size_t parts)
{
	struct mp_out o;
	const char *why = "";
	FILE *f = fopen("said", "w");

	mp_out_init(&o);
	size_t frame = frame_begin(&o, 7, 0, "hello");
	mp_put_int(&o, RUNNER_VERSION);
	put_str0(&o, target_row(target_host()));
	put_str0(&o, "a compiler");
	mp_put_int(&o, 1);
	mp_put_int(&o, 1);
	frame_end(&o, frame);
	frame = frame_begin(&o, parts, id, "try");
	put_measurement(&o, x);
	frame_end(&o, frame);
	bool good = f && fwrite(o.b.a, 1, o.b.n, f) == o.b.n;
	mp_out_free(&o);
	if (f)
		fclose(f);
	struct runner *r = good ? runner_open("cat said; exec cat >/dev/null", 5, &arena, &why) : NULL;
	if (!r)
		return (struct runner_answer){.error = true, .why = why};
	if (ask)
		runner_try(r, &(struct runner_try){.budget = 1});
	struct runner_answer answer = next(r);
	runner_close(r);
	return answer;
}

static void test_answers(void)
{
	static const struct {
		const char *what;
		struct measurement x;
		uint64_t id;
		bool unasked, good;
		size_t parts; /* that it says it has; 0: 9 */
	} cases[] = {
		{"faster", {VERDICT_FASTER, .ratio = 0.5, .lo = 0.4, .hi = 0.6, .seconds = 1}, 1, false, true},
		{"unsure", {VERDICT_UNSURE, .ratio = 1, .lo = 0, .hi = INFINITY}, 1, false, true},
		{"wrong", {VERDICT_WRONG, "element 0"}, 1, false, true},
		{"a ratio below 0", {VERDICT_FASTER, .ratio = -1, .lo = 0, .hi = 1}, 1, false, false},
		{"a ratio that is no number", {VERDICT_TIE, .ratio = NAN, .lo = 1, .hi = 1}, 1, false, false},
		{"an infinite ratio", {VERDICT_SLOWER, .ratio = INFINITY, .lo = 1, .hi = 2}, 1, false, false},
		{"an interval without end", {VERDICT_FASTER, .ratio = 0.5, .lo = 0.4, .hi = INFINITY}, 1, false, false},
		{"an interval inside out", {VERDICT_FASTER, .ratio = 0.5, .lo = 0.6, .hi = 0.4}, 1, false, false},
		{"an interval of no numbers", {VERDICT_UNSURE, .ratio = 1, .lo = NAN, .hi = NAN}, 1, false, false},
		{"seconds below 0", {VERDICT_WRONG, "element 0", .seconds = -1}, 1, false, false},
		{"seconds that are no number", {VERDICT_TIE, .ratio = 1, .lo = 1, .hi = 1, .seconds = NAN}, 1, false, false},
		{"number 0", {VERDICT_WRONG, "element 0"}, 0, false, false},
		{"a number that was not given", {VERDICT_WRONG, "element 0"}, 2, false, false},
		{"nothing asked", {VERDICT_WRONG, "element 0"}, 1, true, false},
		{"one part less than it has", {VERDICT_WRONG, "element 0"}, 1, false, false, 8},
		{"one part more than it has", {VERDICT_WRONG, "element 0"}, 1, false, false, 10},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runner_answer x = answer_of(cases[i].id, &cases[i].x, !cases[i].unasked, cases[i].parts ? cases[i].parts : 9);
		bool good = cases[i].good ? !x.error && !x.ended && x.result.verdict == cases[i].x.verdict
					  : x.ended && strstr(x.why, "not the runner's protocol");
		ok(good, "an answer: %s%s%s", cases[i].what, x.why ? ": " : "", x.why ? x.why : "");
	}
}

int main(void)
{
	test_fake();
	test_commands();
	test_answers();
	arena_release(&arena);
	return tap_done();
}
