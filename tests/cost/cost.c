/* Features of programs, and trees: their text, what they predict, and text that is none. */
#include <stdlib.h>
#include <string.h>
#include "common/tool.h"
#include "cost/trees.h"
#include "sched/schedule.h"
#include "../programs.h"
#include "tap.h"

const struct tool tool; /* the library's main() is not linked */

static struct arena arena;

static struct loop_prog *gemm(const char *rows)
{
	struct loop_prog *p = make_gemm((int64_t[]){64, 96, 128});
	struct samples want = {0};
	int64_t n = rows ? strtoll(rows, NULL, 10) : 0;

	p->target = rows ? p->target : target_host();
	prog_collapse(p);
	prog_start(p);
	if (rows)
		vec_push(&want, (struct sample){.name = "rows", .n = 1, .decision = n, .choice = &n});
	schedule_with(p, &want, NULL);
	vec_free(&want);
	return p;
}

static bool near(double a, double b) { return a > 0.9 * b && a < 1.1 * b; }

static double count_of(const struct features *f, enum feature k) { return features_power(f->a[k]) - 1; }

static void test_features(void)
{
	struct loop_prog *p = gemm(NULL), *plain = make_gemm((int64_t[]){64, 96, 128}), *one = gemm("1");
	struct features f, g, again, of_one;

	prog_collapse(plain);
	prog_start(plain);
	features_of(p, &f);
	features_of(p, &again);
	features_of(plain, &g);
	features_of(one, &of_one);
	ok(!memcmp(&f, &again, sizeof f), "the same program, the same features");
	ok(near(count_of(&f, FEATURE_PRODUCTS), 64 * 96 * 128) && near(count_of(&g, FEATURE_PRODUCTS), 64 * 96 * 128),
	   "products of a 64x128 by 128x96 product: %g, in plain loops %g", count_of(&f, FEATURE_PRODUCTS), count_of(&g, FEATURE_PRODUCTS));
	ok(f.a[FEATURE_SCALAR] == 0 && near(count_of(&g, FEATURE_SCALAR), 64 * 96 * 129), "all in vectors; plain loops: none");
	ok(near(count_of(&g, FEATURE_SINGLES), 64 * 96 * (3 * 128 + 1)), "plain loops load a, b and the sum for each product: %g",
	   count_of(&g, FEATURE_SINGLES));
	ok(f.a[FEATURE_IN_MEMORY] < g.a[FEATURE_IN_MEMORY], "sums in registers, and in memory");
	ok(near(count_of(&f, FEATURE_CONSTANTS), 96 * 128 * 4) && near(count_of(&f, FEATURE_OUTPUTS), 64 * 96 * 4),
	   "bytes of constants and of results");
	ok(of_one.a[FEATURE_LIVE] < f.a[FEATURE_LIVE] && of_one.a[FEATURE_LOADS] > f.a[FEATURE_LOADS],
	   "a row at a time: fewer registers, more loads");
	ok(f.a[FEATURE_ROOF] < g.a[FEATURE_ROOF], "the roof of plain loops is higher");
	ok(g.a[FEATURE_ITERATIONS] > f.a[FEATURE_ITERATIONS] && f.a[FEATURE_LANES] == g.a[FEATURE_LANES], "iterations; the target");
	int known = 0;
	char name[COLUMN_NAME];
	for (int i = 0; i < COLUMN_COUNT; i++)
		known += column_find(column_name(i, name)) == i && *feature_what((enum feature)(i % FEATURE_COUNT));
	ok(known == COLUMN_COUNT && column_find("hertz") < 0, "every column has a name of its own");
	struct columns x;
	columns_of(&g, &f, &x);
	ok(x.a[FEATURE_ROOF] == g.a[FEATURE_ROOF] && x.a[FEATURE_COUNT + FEATURE_ROOF] == g.a[FEATURE_ROOF] - f.a[FEATURE_ROOF],
	   "and beside the default schedule");
	prog_free(p);
	prog_free(plain);
	prog_free(one);
}

static const char small[] =
	"hone-model 1\n# by hand\nmember\ntree\n0 loads 100 4\n1 stores 7 3\n2 = 5\n3 = -6\n4 = 70\ntree\n0 = 1000\n"
	"member\ntree\n0 lanes 2 2\n1 = 1\n2 = 2\nend\n";

static void test_trees(void)
{
	struct columns f = {{0}};
	const char *why;
	int line;
	int64_t by[TREES_MEMBERS_MAX];
	struct trees *t = trees_read(small, strlen(small), &arena, &line, &why);

	ok(t && trees_members(t) == 2 && trees_nodes(t) == 9 && trees_count(t, FEATURE_LOADS) == 1, "a model of two members: %s",
	   why ? why : "");
	if (!t)
		return;
	trees_predict(t, &f, by);
	ok(by[0] == 1005 && by[1] == 1, "less than both: %lld, %lld", (long long)by[0], (long long)by[1]);
	f.a[FEATURE_STORES] = 7;
	f.a[FEATURE_LANES] = 96;
	trees_predict(t, &f, by);
	ok(by[0] == 994 && by[1] == 2, "not less than the second");
	f.a[FEATURE_LOADS] = 100;
	trees_predict(t, &f, by);
	ok(by[0] == 1070, "not less than the first");
	static const char three[] =
		"hone-model 1\nmember\ntree\n0 loads/default 0 2\n1 = -9\n2 = 1\nmember\ntree\n0 loads 9 2\n1 = -7\n"
		"2 = 2\nmember\ntree\n0 loads 5 2\n1 = -5\n2 = 3\nend\n";
	struct features usual = {{0}}, other = {{0}};
	usual.a[FEATURE_LOADS] = 9;
	other.a[FEATURE_LOADS] = 8;
	t = trees_read(three, strlen(three), &arena, &line, &why);
	struct beside beside = t ? trees_beside(t, &usual) : (struct beside){0};
	struct gain gain = t ? gain_of(&beside, &other) : (struct gain){0};
	ok(gain.least == 0 && gain.middle == 9 && gain.most == 10 && !gain_is_sure(gain),
	   "how much faster than the default, by three members: %lld, %lld, %lld", (long long)gain.least, (long long)gain.middle,
	   (long long)gain.most);
	other.a[FEATURE_LOADS] = 4;
	gain = gain_of(&beside, &other);
	ok(gain.least == 8 && gain.middle == 9 && gain.most == 10 && gain_is_sure(gain), "where they agree it is sure");
	static const char narrow[] = "hone-model 1\nlearned lanes 100 130\nmember\ntree\n0 loads 9 2\n1 = -7\n2 = 2\nend\n";
	struct trees *of_some = trees_read(narrow, strlen(narrow), &arena, &line, &why);
	int sure = 0;
	for (int lanes = 70; of_some && lanes < 160; lanes++) {
		usual.a[FEATURE_LANES] = other.a[FEATURE_LANES] = lanes;
		struct beside b = trees_beside(of_some, &usual);
		sure += b.known && gain_is_sure(gain_of(&b, &other));
	}
	ok(sure == 130 - 100 + 1 + 2 * 16, "of targets unlike those that it was learned from it says nothing: %d", sure);
	gain = gain_of(&beside, &usual);
	ok(gain.least == 0 && gain.most == 0 && !gain_is_sure(gain), "the default is not faster than itself");
}

/* An addition: what it says comes on top of what its base says, and it knows what either knows. */
static void test_addition(void)
{
	static const char base[] = "hone-model 1\nlearned lanes 100 130\nmember\ntree\n0 loads 9 2\n1 = -7\n2 = 2\nend\n";
	struct digest of = digest_bytes(base, strlen(base));
	struct columns f = {{0}};
	struct features usual = {{0}};
	const char *why;
	char hex[33];
	int line;
	int64_t by[TREES_MEMBERS_MAX];

	digest_hex(of, hex);
	const char *text = arena_printf(
		&arena, "hone-model 1\nbase %s\ntarget cpu=A B;l1=1K\nlearned lanes 400 400\nmember\ntree\n0 = 100\nend\n", hex);
	struct trees *b = trees_read(base, strlen(base), &arena, &line, &why), *t = trees_read(text, strlen(text), &arena, &line, &why);
	ok(b && t && !trees_base(b) && trees_base(t) && digest_eq(*trees_base(t), of) && !strcmp(trees_target(t), "cpu=A B;l1=1K"),
	   "an addition: %s", why ? why : "");
	if (!b || !t)
		return;
	why = trees_join(b, b, of);
	ok(why && strstr(why, "another model"), "a model adds to none: %s", why ? why : "");
	struct digest other = {of.hi, of.lo + 1};
	why = trees_join(t, b, other);
	ok(why && strstr(why, "another model"), "nor an addition to another one: %s", why ? why : "");
	ok(!trees_join(t, b, of), "it adds to its base");
	trees_predict(t, &f, by);
	ok(by[0] == 93, "the sum of both: %lld", (long long)by[0]);
	int known = 0;
	for (int lanes = 0; lanes < 600; lanes++) {
		usual.a[FEATURE_LANES] = lanes;
		known += trees_beside(t, &usual).known;
	}
	ok(known == 130 - 100 + 1 + 2 * 16 + 1 + 2 * 16, "known is what either has learned from: %d", known);
	const char *two = arena_printf(&arena, "hone-model 1\nbase %s\nmember\ntree\n0 = 1\nmember\ntree\n0 = 1\nend\n", hex);
	t = trees_read(two, strlen(two), &arena, &line, &why);
	why = t ? trees_join(t, b, of) : "";
	ok(why && strstr(why, "as many members"), "an addition of two members to one: %s", why ? why : "");
}

static void test_bad(void)
{
	static const struct {
		const char *text, *why;
		int line;
	} cases[] = {
		{"", "no end", 0},
		{"hone-model 2\nend\n", "begin", 1},
		{"hone-model 1\nend\n", "no member", 2},
		{"hone-model 1\nmember\nend\n", "no tree", 3},
		{"hone-model 1\ntree\n0 = 1\nend\n", "of no member", 2},
		{"hone-model 1\nmember\n0 = 1\n", "of no tree", 3},
		{"hone-model 1\nmember\ntree\nend\n", "not whole", 4},
		{"hone-model 1\nmember\ntree\n0 loads 3 2\n1 = 1\nend\n", "not whole", 6},
		{"hone-model 1\nmember\ntree\n0 loads 3 9\n1 = 1\n2 = 2\nend\n", "not whole", 7},
		{"hone-model 1\nmember\ntree\n0 loads 3 1\n1 = 1\n2 = 2\nend\n", "not behind", 4},
		{"hone-model 1\nmember\ntree\n0 loads 3 -1\n", "not behind", 4},
		{"hone-model 1\nmember\ntree\n0 hertz 3 2\n", "does not know", 4},
		{"hone-model 1\nmember\ntree\n1 = 3\n", "next node", 4},
		{"hone-model 1\nmember\ntree\n0 = 3.5\n", "whole number", 4},
		{"hone-model 1\nmember\ntree\n0 = 99999999999999999999\n", "whole number", 4},
		{"hone-model 1\nmember\ntree\n0 = 1\n1 = 1\nend\n", "not whole", 6},
		{"hone-model 1\nmember\ntree\n0 = 1\nend\nend\n", "behind the end", 6},
		{"hone-model 1\nmember\ntree\n0 = 1\nend", "cut off", 5},
		{"hone-model 1\nmember\ntree\n0 = 1 2 3\n", "too many", 4},
		{"hone-model 1\nforest\n", "no kind", 2},
		{"hone-model 1\nbase 0123\n", "one digest", 2},
		{"hone-model 1\nbase 0123456789abcdef0123456789abcdef0\n", "one digest", 2},
		{"hone-model 1\nbase 0123456789abcdef0123456789abcdef\nbase 0123456789abcdef0123456789abcdef\n", "one digest", 3},
		{"hone-model 1\ntarget cpu=A\ntarget cpu=B\n", "second target", 3},
		{"hone-model 1\nmember\ntarget cpu=B\n", "no kind", 3},
		{"hone-model 1\nlearned hertz 1 2\n", "of no feature", 2},
		{"hone-model 1\nlearned loads/default 1 2\n", "of no feature", 2},
		{"hone-model 1\nlearned lanes 2 1\n", "a range that is none", 2},
		{"hone-model 1\nmember\nlearned lanes 1 2\n", "behind a member", 3},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *why;
		int line;
		struct trees *t = trees_read(cases[i].text, strlen(cases[i].text), &arena, &line, &why);
		ok(!t && why && strstr(why, cases[i].why) && line == cases[i].line, "line %d: %s", line, why ? why : "it was read");
	}
	/* Cut anywhere, and with any byte changed: read or refused. */
	size_t n = strlen(small), refused = 0;
	char *copy = arena_alloc(&arena, n + 1);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 4; k++) {
			const char *why;
			int line;
			struct columns f = {{0}};
			int64_t by[TREES_MEMBERS_MAX];
			memcpy(copy, small, n);
			if (k)
				copy[i] = "09\n"[k - 1];
			struct trees *t = trees_read(copy, k ? n : i, &arena, &line, &why);
			if (t)
				trees_predict(t, &f, by);
			refused += !t;
		}
	ok(refused > n, "mutants: %zu of %zu refused", refused, 4 * n);
}

int main(void)
{
	test_features();
	test_trees();
	test_addition();
	test_bad();
	arena_release(&arena);
	return tap_done();
}
