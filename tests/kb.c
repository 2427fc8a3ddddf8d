/* The knowledge base as a library: records as text, what wins, union, damage, writers that are killed.
 * "kb whole N" (make soak) flips every Nth bit, more or less, and kills 200 writers; N 0: every bit of heads, pointers and
 * node heads, one of every byte else. Without arguments a part of that. "kb bits N [K OF]": the flips and cuts alone; of the
 * bits only every OFth, from the Kth (0 the first), so that several share the work, each in a directory of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/rng.h"
#include "common/tool.h"
#include "kb/kb.h"
#include "tap.h"

const struct tool tool = {.name = "kb-test"};

/* A record of random fields; values with blanks, tabs, line ends and bytes beyond ASCII. */
static struct kb_record *random_record(struct rng *r, struct arena *a)
{
	static const char *const names[] = {"kind", "task", "target", "trace", "verdict", "why", "x-1.b_2", "z"};
	static const char bytes[] = "ab \t\n\n#\r\x80\xff=:record";
	struct kb_record *rec = ARENA_NEW(a, struct kb_record);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char value[64];
		size_t n = (size_t)rng_range(r, 0, 40);
		if (i && rng_range(r, 0, 3) == 0)
			continue;
		for (size_t j = 0; j < n; j++)
			value[j] = bytes[rng_range(r, 0, sizeof bytes - 2)];
		value[n] = 0;
		kb_set_field(rec, names[i], value, a);
	}
	kb_text(rec, a);
	return rec;
}

static bool same_record(const struct kb_record *x, const struct kb_record *y)
{
	if (x->n != y->n || !digest_eq(x->id, y->id))
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->a[i].name, y->a[i].name) || strcmp(x->a[i].value, y->a[i].value))
			return false;
	return true;
}

static void test_text(void)
{
	struct rng r = {1};
	struct arena a = {0};
	int same = 0, cut = 0, whole = 0;
	for (int i = 0; i < 2000; i++) {
		struct kb_record *rec = random_record(&r, &a), back;
		const char *text = kb_text(rec, &a), *s = text, *end = text + strlen(text), *why;
		int line = 1;
		same += kb_parse(&s, end, &back, &a, &line, &why) && s == end && same_record(rec, &back);
		s = text;
		line = 1;
		size_t n = (size_t)rng_range(&r, 1, (int64_t)strlen(text) - 1);
		cut += !kb_parse(&s, text + n, &back, &a, &line, &why) && why;
		whole++;
	}
	ok(same == whole, "%d of %d random records come back from their text", same, whole);
	ok(cut == whole, "%d of %d cut short are refused", cut, whole);
	arena_release(&a);
}

static void test_malformed(void)
{
	static const struct { const char *text; int line; } bad[] = {
		{"record\n\n", 1}, {"record\nkind x", 2}, {"record\nkind x\n", 3}, {"record 12\nkind x\n\n", 1},
		{"record 00000000000000000000000000000000\nkind x\n\n", 1}, {"record\nkind x\nkind y\n\n", 1},
		{"record\nKind x\n\n", 2}, {"record\nkind x\n y\n\n", 3}, {"record\r\nkind x\r\n\r\n", 1}, {"record\nkind x\r\n\r\n", 3},
		{"kind x\n\n", 1}, {"\n\n# c\nhone-kb\n", 4}, {"hone-kb x\n", 1}, {"hone-kb 0\n", 1}, {"hone-kb 1.garbage\n", 1},
		{"hone-kb 1.2x\nrecord\nkind x\n\n", 1}, {"hone-kb 1.\n", 1}, {"hone-kb 1 \n", 1}, {"hone-kb 2\nrecord\nkind x\n\n", 1},
		{"\n\trecord\n", 2}, {"record\n\tx\n\n", 2}, {"<html>\n", 1},
	};
	struct arena a = {0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *s = bad[i].text, *why;
		struct kb_record rec;
		int line = 1;
		bool got = kb_parse(&s, s + strlen(s), &rec, &a, &line, &why);
		ok(!got && why && line == bad[i].line && (why == kb_newer) == !strncmp(bad[i].text, "hone-kb 2", 9), "malformed %zu: line %d: %s", i,
		   line, why ? why : "accepted");
	}
	static const char nul[] = "record\nkind a\0b\n\n", good[] = "# c\n\nhone-kb 1.7\nrecord\nb\na \n\t\n\nrecord\nz 1\n\n";
	const char *s = nul, *why;
	struct kb_record rec;
	int line = 1;
	bool got = kb_parse(&s, nul + sizeof nul - 1, &rec, &a, &line, &why);
	ok(!got && why, "a byte of 0: %s", why ? why : "accepted");
	s = good;
	line = 1;
	ok(kb_parse(&s, good + sizeof good - 1, &rec, &a, &line, &why) && rec.n == 2 && !strcmp(kb_get_field(&rec, "a"), "\n") &&
	   !*kb_get_field(&rec, "b") && line == 9, "comments, versions, empty values");
	ok(kb_parse(&s, good + sizeof good - 1, &rec, &a, &line, &why) && !kb_parse(&s, good + sizeof good - 1, &rec, &a, &line, &why) && !why,
	   "then the next, then the end");
	arena_release(&a);
}

/* The longest record and one byte more; with the id, which the limit does not count. What is accepted can be read back. */
static void test_longest(void)
{
	struct arena a = {0};
	for (size_t more = 0; more < 2; more++) {
		enum { VALUE = KB_RECORD_MAX - 3 };
		struct kb_record rec, back;
		struct kb_list l = {0};
		const char *s, *why;
		int line = 1;
		char *text = arena_alloc(&a, VALUE + 64);
		memcpy(text, "record\nx ", 9);
		memset(text + 9, 'a', VALUE + more);
		memcpy(text + 9 + VALUE + more, "\n\n", 2);
		s = text;
		bool got = kb_parse(&s, text + VALUE + more + 11, &rec, &a, &line, &why);
		ok(got == !more, "a record of %zu bytes more than the longest: %s", more, got ? "accepted" : why);
		if (!got)
			continue;
		const char *whole = kb_text(&rec, &a);
		s = whole;
		line = 1;
		ok(kb_parse(&s, whole + strlen(whole), &back, &a, &line, &why) && same_record(&rec, &back), "it comes back from its text");
		struct kb *k = kb_open_file("longest.kb", true);
		kb_put(k, &(struct kb_record *){&rec}, 1);
		kb_find(k, NULL, NULL, &l, &a);
		ok(l.n == 1 && same_record(&rec, &l.a[0]) && !*kb_check(k, 0, &a), "and from a file, which is sound");
		kb_close(k);
	}
	arena_release(&a);
}

/* All records of a file, as kb dump has them. */
static char *dump_of(struct kb *k, struct arena *a)
{
	struct kb_list l;
	char *text;
	size_t n;
	kb_find(k, NULL, NULL, &l, a);
	FILE *f = open_memstream(&text, &n);
	for (size_t i = 0; i < l.n; i++)
		fputs(kb_text(&l.a[i], a), f);
	fclose(f);
	char *out = arena_str(a, text);
	free(text);
	return out;
}

static char *dump(const char *path, struct arena *a)
{
	struct kb *k = kb_open_file(path, false);
	char *text = dump_of(k, a);
	kb_close(k);
	return text;
}

static void put(const char *path, struct kb_record *const *r, size_t n)
{
	struct kb *k = kb_open_file(path, true);
	kb_put(k, r, n);
	kb_close(k);
}

static void forget(const char *path)
{
	char lock[64];
	snprintf(lock, sizeof lock, "%s-lock", path);
	unlink(path);
	unlink(lock);
}

/* Everything in the other file goes into path, too. */
static void merge(const char *path, const char *from, struct arena *a)
{
	struct kb *k = kb_open_file(from, false);
	struct kb_list l;
	VEC(struct kb_record *) all = {0};
	kb_find(k, NULL, NULL, &l, a);
	kb_close(k);
	for (size_t i = 0; i < l.n; i++)
		vec_push(&all, &l.a[i]);
	put(path, all.a, all.n);
	vec_free(&all);
}

static void test_union(int rounds)
{
	struct rng r = {2};
	int good = 0;
	for (int i = 0; i < rounds; i++) {
		struct arena a = {0};
		static const char *const file[] = {"a.kb", "b.kb", "c.kb"}, *const sum[] = {"ab_c.kb", "a_bc.kb", "cba.kb"};
		struct kb_record *pool[40];
		const char *text[3];
		for (int j = 0; j < 40; j++)
			pool[j] = random_record(&r, &a);
		for (int f = 0; f < 3; f++) {
			VEC(struct kb_record *) some = {0};
			for (int j = 0; j < 40; j++)
				if (rng_range(&r, 0, 2) == 0)
					vec_push(&some, pool[j]);
			put(file[f], some.a, some.n);
			vec_free(&some);
		}
		merge("ab_c.kb", "a.kb", &a), merge("ab_c.kb", "b.kb", &a), merge("ab_c.kb", "c.kb", &a);
		merge("bc.kb", "b.kb", &a), merge("bc.kb", "c.kb", &a), merge("a_bc.kb", "a.kb", &a), merge("a_bc.kb", "bc.kb", &a);
		merge("cba.kb", "c.kb", &a), merge("cba.kb", "b.kb", &a), merge("cba.kb", "a.kb", &a), merge("cba.kb", "cba.kb", &a),
			merge("cba.kb", "b.kb", &a);
		for (int f = 0; f < 3; f++)
			text[f] = dump(sum[f], &a);
		good += !strcmp(text[0], text[1]) && !strcmp(text[0], text[2]);
		for (int f = 0; f < 3; f++)
			forget(file[f]), forget(sum[f]);
		forget("bc.kb");
		arena_release(&a);
	}
	ok(good == rounds, "union: commutative, associative, idempotent in %d of %d", good, rounds);
}

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
		kernel("here", "faster", "default", 0.9, 1, &a), kernel("here", "faster", "default", 0.8, 2, &a),
		kernel("here", "faster", "incumbent", 0.5, 3, &a), kernel("here", "wrong", "default", 0.1, 4, &a),
		kernel("there", "faster", "default", 0.4, 5, &a), kernel("here", "faster", "default", 0.0 / 0.0, 6, &a),
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
	ok(strstr(why, "over: ") && strstr(why, "layer behind") && strstr(why, "1 of another kind") == NULL && strstr(why, "1 wrong"), "and why says over which");
	r = kb_best(k, "Add f32 4 4", "elsewhere", NULL, &a, &why);
	ok(!r && strstr(why, "of another target"), "nothing wins on a target that is not there");
	struct kb_list l;
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	ok(l.n == 9 && kb_measured(&l, "Add f32 4 4", "here", "trace 4\n") && !kb_measured(&l, "Add f32 4 4", "there", "trace 4\n"), "what was measured");
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
		ok(best && !strcmp(kb_get_field(best, "trace"), wins[i]), "of %d: bound %.2f, mean %s", i + 1, rows[i].hi, rows[i].mean ? rows[i].mean : "unknown");
	}
	arena_release(&a);
}

/* Of one tuning's looks at a trace the last one counts. */
static void test_looks(void)
{
	static const struct {
		int trace;
		const char *session, *base, *verdict, *mean, *looks, *kept;
		int wins; /* the trace, when this record is there too */
		const char *what;
	} rows[] = {
		{1, "s", "b", "faster", "0.70", "4", NULL, 1, "a choice"},
		{2, "s", "b", "faster", "0.80", "4", NULL, 1, "another"},
		{1, "s", "b", "tie", "0.85", "5", NULL, 2, "one more look at it: a tie of its own, the mean is what counts"},
		{1, "s", "b", "faster", "0.78", "6", NULL, 1, "yet another: the one with most looks"},
		{1, "s", "b", "faster", "0.60", "5", NULL, 1, "and none with fewer"},
		{2, "t", "b", "faster", "0.75", "3", NULL, 2, "another tuning's looks are its own"},
		{2, "t", "b", "slower", "1.02", "4", NULL, 1, "in the mean it is not faster"},
		{1, "s", "b", "crash", NULL, "7", NULL, 2, "at last it crashed"},
		{2, "s", "b", "faster", "0.995", "5", NULL, 0, "less than is worth a change: none is left"},
		{3, "s", "b", "faster", "0.90", "4", NULL, 3, "a third choice"},
		{3, "s", "b", "faster", "0.91", "5", "no", 0, "taken back"},
	};
	enum { N = sizeof rows / sizeof *rows };
	struct arena a = {0};
	struct kb *k = kb_open_file("looks.kb", true);
	struct kb_list l;

	for (int i = 0; i < N; i++) {
		struct kb_record *r = kernel("here", rows[i].verdict, "default", 0.9, rows[i].trace, &a);
		kb_set_field(r, "session", rows[i].session, &a);
		kb_set_field(r, "base", rows[i].base, &a);
		kb_set_field(r, "mean", rows[i].mean, &a);
		kb_set_field(r, "looks", rows[i].looks, &a);
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
	ok(l.n == N + 1 && worth == 1.05, "kernels alone: a last look that gc has shortened counts for its choice: %g", worth);
	kb_close(k);
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
		{"old", "50/200 48/190", 0.3, "faster"}, {"old", "60/200", 0.31, "faster"}, {"new", "45/60 47/61", 0.8, "faster"},
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
		best = kb_best_for(&l, "Add f32 4 4", "here", cases[i].base);
		ok(best && !strcmp(kb_get_field(best, "trace"), cases[i].trace), "%s", cases[i].what);
	}
	struct kb_record *fast = kernel("here", "slower", "default", 1.2, 9, &a);
	kb_set_field(fast, "base", "newest", &a);
	kb_set_field(fast, "samples", "50/40", &a);
	kb_put(k, &fast, 1);
	kb_find(k, NULL, "Add f32 4 4", &l, &a);
	ok(!kb_best_for(&l, "Add f32 4 4", "here", "newest"), "today's default took less than all of them: none");
	kb_close(k);
	arena_release(&a);
}

/* Damage. A child looks at the file: 0 fsck finds nothing and the dump is the same, 1 fsck reports, 2 the dump is
 * another (not want; NULL: any) and fsck finds nothing. It must not end by a signal or hang. */
enum { SAME, REPORTED, SILENT };

static int look(const char *path, const char *want)
{
	struct arena a = {0};
	struct kb *k = kb_open_file(path, false);
	const char *faults = kb_check(k, 0, &a);
	return *faults ? REPORTED : want && strcmp(dump_of(k, &a), want) ? SILENT : SAME;
}

static int in_child(int (*f)(const char *path, const char *want), const char *path, const char *want)
{
	int status;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		alarm(60);
		_exit(f(path, want));
	}
	if (waitpid(pid, &status, 0) < 0 || WIFSIGNALED(status))
		return -1;
	return WEXITSTATUS(status);
}

static int read_it(const char *path, const char *want)
{
	struct arena a = {0};
	(void)want;
	dump(path, &a);
	return 0;
}

static int write_it(const char *path, const char *want)
{
	struct arena a = {0};
	struct rng r = {77};
	struct kb_record *rec = random_record(&r, &a);
	(void)want;
	put(path, &rec, 1);
	return 0;
}

static unsigned char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	unsigned char *p = xmalloc(1 << 24);
	*n = f ? fread(p, 1, 1 << 24, f) : 0;
	if (f)
		fclose(f);
	return p;
}

static void spill(const char *path, const unsigned char *p, size_t n)
{
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f))
		exit(1);
}

struct tally {
	int same, reported, silent, crashed, other;
};

/* One damaged file: fsck, then what reads and what writes. */
static void try_damaged(const unsigned char *p, size_t n, const char *want, struct tally *t, const char *what, size_t at)
{
	static const char path[] = "damaged.kb";
	spill(path, p, n);
	int got = in_child(look, path, want), reading = 0, writing = 0;
	if (got != SAME && got != SILENT)
		reading = in_child(read_it, path, want);
	if (reading >= 0 && (got != SAME || at % 32 == 0))
		writing = in_child(write_it, path, want);
	bool crashed = got < 0 || reading < 0 || writing < 0;
	t->crashed += crashed;
	t->same += got == SAME;
	t->silent += got == SILENT;
	t->reported += got == REPORTED || got >= EX_BADUSE;
	t->other += got > SILENT && got != EX_BADDATA && got != EX_NOTAVAIL && got != EX_SYSTEM;
	if (crashed || got == SILENT || (got > SILENT && got < EX_BADUSE) || got == EX_BUG)
		printf("# %s %zu: fsck %d, reading %d, writing %d\n", what, at, got, reading, writing);
}

/* A file with all there is, and small: long values, sets of ids in and beside their node, branches, free pages. */
static void make_file(const char *path, struct arena *a)
{
	struct rng r = {3};
	VEC(struct kb_record *) all = {0};
	char *big = arena_alloc(a, 9001);
	memset(big, 'x', 9000);
	for (int i = 0; i < 160; i++) {
		struct kb_record *rec = i < 130 ? ARENA_NEW(a, struct kb_record) : random_record(&r, a);
		kb_set_field(rec, "n", arena_printf(a, "%d", i), a);
		if (i < 150)
			kb_set_field(rec, "task", arena_printf(a, "%d", i < 130 ? 0 : i % 3), a);
		if (i == 150)
			kb_set_field(rec, "trace", big, a);
		vec_push(&all, rec);
	}
	for (size_t i = 0; i < all.n; i += 80)
		put(path, all.a + i, 80);
	vec_free(&all);
}

/* A writer refuses a file with one malformed page, wherever it is, and leaves it as it was. Pages without a number are
 * the inside of long values, which a write leaves alone. */
static void test_refusal(unsigned char *p, size_t n, const char *want)
{
	int in_use = 0, refused = 0, left = 0;
	for (size_t at = 2 * 4096; at < n; at += 4096) {
		size_t after;
		if (p[at] != (unsigned char)(at / 4096))
			continue;
		p[at] ^= 1;
		spill("damaged.kb", p, n);
		if (in_child(look, "damaged.kb", want) == REPORTED) {
			in_use++;
			refused += in_child(write_it, "damaged.kb", want) == EX_BADDATA;
			unsigned char *q = slurp("damaged.kb", &after);
			left += after == n && !memcmp(p, q, n);
			free(q);
		}
		p[at] ^= 1;
	}
	ok(in_use && refused == in_use && left == in_use, "a page in use is malformed: %d of %d times writing is refused, %d the file is as it was",
	   refused, in_use, left);
}

/* Records of want that are in the salvaged ones; *code as from kb_salvage. */
static size_t count_saved(const struct kb_list *want, enum exit_code *code, struct arena *a)
{
	struct kb_list got;
	const char *why;
	size_t n = 0;
	*code = kb_salvage("damaged.kb", &got, a, &why);
	for (size_t i = 0, j = 0; i < want->n; i++) {
		while (j < got.n && digest_cmp(got.a[j].id, want->a[i].id) < 0)
			j++;
		n += j < got.n && same_record(&got.a[j], &want->a[i]);
	}
	return n;
}

/* One page after the other is lost, then the heads, the branches and the lists of databases at once. */
static void test_salvage(void)
{
	enum { PAGE = 4096, LEAF = 2 };
	struct arena a = {0};
	struct kb_list want;
	size_t n, missing = 0, fewest, most_lost = 0, codes = 0, pages = 0;
	enum exit_code code;
	struct kb *k = kb_open_file("sound.kb", false);
	kb_find(k, NULL, NULL, &want, &a);
	kb_close(k);
	unsigned char *p = slurp("sound.kb", &n), *q = xmalloc(n);
	spill("damaged.kb", p, n);
	fewest = count_saved(&want, &code, &a);
	ok(fewest == want.n && code == EX_GOOD, "salvage of a sound file: %zu of %zu", fewest, want.n);
	for (size_t at = 0; at < n; at += PAGE, pages++) {
		memcpy(q, p, n);
		memset(q + at, 0xa5, PAGE);
		spill("damaged.kb", q, n);
		size_t lost = want.n - count_saved(&want, &code, &a);
		missing += lost;
		most_lost = lost > most_lost ? lost : most_lost;
		codes += code == EX_GOOD ? lost == 0 : code == EX_BADDATA;
	}
	ok(missing && missing <= want.n && most_lost < 40 && codes == pages, "each of %zu pages lost: %zu records with it, %zu at most; %zu times it says so",
	   pages, missing, most_lost, codes);
	memcpy(q, p, n);
	for (size_t at = 0; at < n; at += PAGE)
		if (at < 2 * PAGE || (q[at] == at / PAGE && (q[at + 10] != LEAF || memmem(q + at, PAGE, "tasks", 5))))
			memset(q + at, 0, at ? 16 : PAGE);
	spill("damaged.kb", q, n);
	fewest = count_saved(&want, &code, &a);
	ok(fewest == want.n && code == EX_BADDATA, "heads, branches and lists lost: %zu of %zu saved", fewest, want.n);
	free(q);
	free(p);
	arena_release(&a);
}

/* How LMDB compares keys stands behind a database's name. One bit, and a record that is there is not found. */
static void test_comparison(unsigned char *p, size_t n)
{
	static const char *const names[] = {"records", "tasks", "meta"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		int reported = 0, refused = 0;
		size_t name = strlen(names[i]);
		for (unsigned char *at = p; (at = memmem(at, n - (size_t)(at - p), names[i], name)); at += name) {
			enum { REVERSEKEY = 2, FLAGS = 4 };
			at[name + FLAGS] ^= REVERSEKEY;
			spill("damaged.kb", p, n);
			reported += in_child(look, "damaged.kb", NULL) == REPORTED;
			refused += in_child(write_it, "damaged.kb", NULL) == EX_BADDATA;
			at[name + FLAGS] ^= REVERSEKEY;
		}
		ok(reported == 1 && refused == 1, "%s with keys the other way round: reported, and writing is refused", names[i]);
	}
}

/* A key of a branch that leads astray: what is behind it is not found, and would be put once more. */
static void test_separators(void)
{
	enum { RECORDS = 300, PAGE = 4096, BRANCH = 1 };
	struct arena a = {0};
	struct kb_record *all[RECORDS];
	int keys = 0, reported = 0, refused = 0;
	size_t n;
	for (int i = 0; i < RECORDS; i++) {
		all[i] = ARENA_NEW(&a, struct kb_record);
		kb_set_field(all[i], "task", "one", &a);
		kb_set_field(all[i], "name", arena_printf(&a, "%d %080d", i, 0), &a);
	}
	put("keys.kb", all, RECORDS);
	unsigned char *p = slurp("keys.kb", &n);
	for (size_t at = 2 * PAGE; at + PAGE <= n; at += PAGE) {
		size_t lower = p[at + 12] | (size_t)p[at + 13] << 8;
		if (p[at] != (unsigned char)(at / PAGE) || p[at + 10] != BRANCH || p[at + 11] || lower > PAGE)
			continue;
		for (size_t i = 16 + 2; i < lower; i += 2) { /* the first one has none */
			size_t key = at + (p[at + i] | (size_t)p[at + i + 1] << 8) + 8;
			p[key] ^= 0x80;
			spill("damaged.kb", p, n);
			keys++;
			reported += in_child(look, "damaged.kb", NULL) == REPORTED;
			refused += in_child(write_it, "damaged.kb", NULL) == EX_BADDATA;
			p[key] ^= 0x80;
		}
	}
	ok(keys > 10 && reported == keys && refused == keys, "%d keys of branches flipped: %d reported, %d times writing is refused", keys,
	   reported, refused);
	test_comparison(p, n);
	free(p);
	arena_release(&a);
}

/* Which bytes LMDB is led by: heads of pages, pointers to nodes, heads of nodes; of the first two pages all. */
static unsigned char *map_structure(const unsigned char *p, size_t n)
{
	enum { PAGE = 4096, PAGE_HEAD = 16, NODE_HEAD = 8, META = 160 };
	unsigned char *leads = xcalloc(n + PAGE, 1);
	for (size_t at = 0; at < n; at += PAGE) {
		size_t lower = p[at + 12] | (size_t)p[at + 13] << 8;
		memset(leads + at, 1, at < 2 * PAGE ? META : PAGE_HEAD);
		if (at < 2 * PAGE || p[at] != (unsigned char)(at / PAGE) || lower > PAGE)
			continue;
		for (size_t i = PAGE_HEAD; i + 1 < lower; i += 2) {
			size_t node = p[at + i] | (size_t)p[at + i + 1] << 8;
			leads[at + i] = leads[at + i + 1] = 1;
			if (node + NODE_HEAD <= PAGE)
				memset(leads + at + node, 1, NODE_HEAD);
		}
	}
	return leads;
}

enum { WHOLE_BYTES = 0, A_PART = -1, TXN = 144 };

/* How rare that bit is among those that are flipped. */
static int64_t rarity_of(size_t bit, int64_t stride, const unsigned char *leads)
{
	size_t page = bit / 8 / 4096, in_page = bit / 8 % 4096;
	if (stride > 0)
		return stride;
	if (stride == WHOLE_BYTES)
		return leads[bit / 8] ? 1 : 8;
	if (page < 2 && in_page / 4 == TXN / 4) /* one bit there can make the last commit the one before it */
		return 1;
	return page < 2 && in_page < 160 ? 48 : in_page < 40 ? 40 : 6000;
}

static void test_damage(int64_t stride, size_t first, size_t step)
{
	struct arena a = {0};
	struct rng r = {5};
	struct tally flips = {0}, cuts = {0};
	size_t n;
	make_file("sound.kb", &a);
	const char *want = dump("sound.kb", &a);
	unsigned char *p = slurp("sound.kb", &n);
	ok(in_child(look, "sound.kb", want) == SAME, "a sound file of %zu bytes is sound", n);
	unsigned char *leads = map_structure(p, n);
	for (size_t bit = first; bit < 8 * n; bit += step) {
		if (rng_range(&r, 1, rarity_of(bit, stride, leads)) > 1)
			continue;
		p[bit / 8] ^= (unsigned char)(1 << (bit & 7));
		try_damaged(p, n, want, &flips, "bit", bit);
		p[bit / 8] ^= (unsigned char)(1 << (bit & 7));
	}
	for (size_t size = 0; size < n; size += stride != A_PART ? 128 : size < 8192 ? 1024 : 12288 + 128)
		try_damaged(p, size, want, &cuts, "cut to", size);
	ok(!flips.silent && !flips.crashed && !flips.other, "bits flipped: %d without effect, %d reported, %d silent, %d crashed, %d ended oddly",
	   flips.same, flips.reported, flips.silent, flips.crashed, flips.other);
	ok(!cuts.silent && !cuts.crashed && !cuts.other, "cut short: %d without effect, %d reported, %d silent, %d crashed, %d ended oddly",
	   cuts.same, cuts.reported, cuts.silent, cuts.crashed, cuts.other);
	test_refusal(p, n, want);
	free(leads);
	free(p);
	arena_release(&a);
}

/* Writers. Each puts records and says so, a byte a record, when the transaction is durable. */
static void write_on(int writer, int round, int fd)
{
	setpgid(0, 0);
	struct kb *k = kb_open_file("many.kb", true);
	for (int i = 0;; i++) {
		struct arena a = {0};
		struct kb_record *r = ARENA_NEW(&a, struct kb_record);
		kb_set_field(r, "task", arena_printf(&a, "task %d", i % 7), &a);
		kb_set_field(r, "name", arena_printf(&a, "%d %d %d", writer, round, i), &a);
		kb_put(k, &r, 1);
		if (write(fd, ".", 1) != 1)
			_exit(1);
		arena_release(&a);
	}
}

struct writer {
	pid_t pid;
	int fd, round, said[256];
};

static void start_writer(struct writer *w, int number)
{
	int pair[2];
	if (pipe(pair))
		exit(1);
	fflush(NULL);
	w->pid = fork();
	if (w->pid == 0) {
		close(pair[0]);
		fcntl(pair[1], F_SETFD, FD_CLOEXEC);
		write_on(number, w->round, pair[1]);
	}
	setpgid(w->pid, w->pid); /* here too: it may be killed before it runs */
	close(pair[1]);
	w->fd = pair[0];
}

/* Kills it (every other time with the process that holds the file) and counts what it had said. */
static void stop_writer(struct writer *w, bool group)
{
	char bytes[4096];
	ssize_t n;
	kill(group ? -w->pid : w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	while ((n = read(w->fd, bytes, sizeof bytes)) > 0)
		w->said[w->round] += (int)n;
	close(w->fd);
	w->round++;
}

/* Records that were said to be durable and are not there. */
static int count_lost(const struct writer *w, int n, struct arena *a)
{
	struct kb *k = kb_open_file("many.kb", false);
	struct kb_list l;
	int lost = 0;
	kb_find(k, NULL, NULL, &l, a);
	kb_close(k);
	for (int i = 0; i < n; i++) {
		for (int round = 0; round < w[i].round; round++) {
			int there = 0;
			char prefix[64];
			size_t len = (size_t)snprintf(prefix, sizeof prefix, "%d %d ", i, round);
			for (size_t j = 0; j < l.n; j++) {
				const char *name = kb_get_field(&l.a[j], "name");
				there += name && !strncmp(name, prefix, len) && atoi(name + len) < w[i].said[round];
			}
			lost += w[i].said[round] - there;
		}
	}
	return lost;
}

static void test_kills(int writers, int kills)
{
	struct arena a = {0};
	struct rng r = {9};
	struct writer *w = xcalloc((size_t)writers, sizeof *w);
	int said = 0, sound = 0;
	for (int i = 0; i < writers; i++)
		start_writer(&w[i], i);
	for (int i = 0; i < kills; i++) {
		int which = (int)rng_range(&r, 0, writers - 1);
		nanosleep(&(struct timespec){.tv_nsec = rng_range(&r, 1, 60) * 1000000}, NULL);
		stop_writer(&w[which], i & 1);
		start_writer(&w[which], which);
		if (i % 10 == 0)
			sound += in_child(look, "many.kb", NULL) == SAME;
	}
	ok(sound == (kills + 9) / 10, "the file is sound while they write: %d of %d times", sound, (kills + 9) / 10);
	for (int i = 0; i < writers; i++)
		stop_writer(&w[i], true);
	usleep(300000); /* processes that lost their writer end */
	for (int i = 0; i < writers; i++)
		for (int round = 0; round < w[i].round; round++)
			said += w[i].said[round];
	int lost = count_lost(w, writers, &a);
	ok(lost == 0 && said > 0, "%d writers, %d kills: %d of %d committed records lost", writers, kills, lost, said);
	struct kb *k = kb_open_file("many.kb", true);
	const char *faults = kb_check(k, 0, &a);
	ok(!*faults, "the file is sound: %s", faults);
	kb_close(k);
	free(w);
	arena_release(&a);
}

int main(int argc, char **argv)
{
	bool whole = argc > 1 && !strcmp(argv[1], "whole");
	unsetenv("HONE_KB");
	if (argc > 1 && !strcmp(argv[1], "bits")) {
		size_t first = argc > 4 ? strtoull(argv[3], NULL, 10) : 0, step = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
		test_damage(argc > 2 ? atoi(argv[2]) : WHOLE_BYTES, first, step ? step : 1);
		return tap_done();
	}
	test_text();
	test_malformed();
	test_longest();
	test_union(whole ? 50 : 6);
	test_best();
	test_mean();
	test_looks();
	test_bases();
	test_damage(!whole ? A_PART : argc > 2 ? atoi(argv[2]) : WHOLE_BYTES, 0, 1);
	test_separators();
	test_salvage();
	test_kills(whole ? 8 : 4, whole ? 200 : 20);
	return tap_done();
}
