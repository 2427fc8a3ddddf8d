/* The knowledge base as a library: records as text, union, damage, writers that are killed.
 * "kb whole N" (make soak) flips every Nth bit, more or less, and kills 200 writers; N 0: every bit of heads, pointers and
 * node heads, one of every byte else. Without arguments a part of that. "kb bits N [K OF]": the flips and cuts alone; of the
 * bits only every OFth, from the Kth (0 the first), so that several share the work, each in a directory of its own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/rng.h"
#include "common/tool.h"
#include "kb/kb.h"
#include "target/target.h"
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
	static const struct {
		const char *text;
		int line;
	} bad[] = {
		{"record\n\n", 1},
		{"record\nkind x", 2},
		{"record\nkind x\n", 3},
		{"record 12\nkind x\n\n", 1},
		{"record 00000000000000000000000000000000\nkind x\n\n", 1},
		{"record\nkind x\nkind y\n\n", 1},
		{"record\nKind x\n\n", 2},
		{"record\nkind x\n y\n\n", 3},
		{"record\r\nkind x\r\n\r\n", 1},
		{"record\nkind x\r\n\r\n", 3},
		{"kind x\n\n", 1},
		{"\n\n# c\nhone-kb\n", 4},
		{"hone-kb x\n", 1},
		{"hone-kb 0\n", 1},
		{"hone-kb 1.garbage\n", 1},
		{"hone-kb 1.2x\nrecord\nkind x\n\n", 1},
		{"hone-kb 1.\n", 1},
		{"hone-kb 1 \n", 1},
		{"hone-kb 2\nrecord\nkind x\n\n", 1},
		{"\n\trecord\n", 2},
		{"record\n\tx\n\n", 2},
		{"<html>\n", 1},
	};
	struct arena a = {0};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const char *s = bad[i].text, *why;
		struct kb_record rec;
		int line = 1;
		bool got = kb_parse(&s, s + strlen(s), &rec, &a, &line, &why);
		ok(!got && why && line == bad[i].line && (why == kb_newer) == !strncmp(bad[i].text, "hone-kb 2", 9),
		   "malformed %zu: line %d: %s", i, line, why ? why : "accepted");
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
		   !*kb_get_field(&rec, "b") && line == 9,
	   "comments, versions, empty values");
	ok(kb_parse(&s, good + sizeof good - 1, &rec, &a, &line, &why) && !kb_parse(&s, good + sizeof good - 1, &rec, &a, &line, &why) &&
		   !why,
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
	ok(in_use && refused == in_use && left == in_use,
	   "a page in use is malformed: %d of %d times writing is refused, %d the file is as it was", refused, in_use, left);
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
	ok(missing && missing <= want.n && most_lost < 40 && codes == pages,
	   "each of %zu pages lost: %zu records with it, %zu at most; %zu times it says so", pages, missing, most_lost, codes);
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

/* A record of two bytes is at the very end of its page. Its page full of pointers to it, and that of a long value of pointers to
 * that: each is there once. */
static void test_salvage_once(void)
{
	enum { PAGE = 4096, HEAD = 16, LONG = 4 << 20 };
	struct arena a = {0};
	struct kb_list got;
	const char *why;
	char *big = arena_alloc(&a, LONG + 1);
	memset(big, 'x', LONG);
	big[LONG] = 0;
	for (int i = 0; i < 2; i++) {
		struct kb_record *r = ARENA_NEW(&a, struct kb_record);
		size_t n;
		int filled = 0;
		kb_set_field(r, "a", i ? big : "", &a);
		put("once.kb", &r, 1);
		unsigned char *p = slurp("once.kb", &n);
		memset(p, 0, 2 * PAGE);
		kb_text(r, &a);
		for (size_t at = 2 * PAGE; at < n; at += PAGE) {
			unsigned char key[8];
			for (int j = 0; j < 8; j++)
				key[j] = (unsigned char)(r->id.hi >> (56 - 8 * j));
			unsigned char *node = p[at + 10] == 2 ? memmem(p + at, PAGE, key, 8) : NULL;
			if (!node || p[at] != (unsigned char)(at / PAGE) || node - (p + at) < 2000)
				continue;
			size_t offset = (size_t)(node - (p + at)) - 8;
			for (size_t j = HEAD; j + 1 < 1900; j += 2)
				p[at + j] = (unsigned char)offset, p[at + j + 1] = (unsigned char)(offset >> 8);
			p[at + 12] = 1900 & 255, p[at + 13] = 1900 >> 8;
			filled++;
		}
		spill("damaged.kb", p, n);
		clock_t start = clock();
		kb_salvage("damaged.kb", &got, &a, &why);
		ok(filled && got.n == 1 && same_record(&got.a[0], r) && clock() - start < CLOCKS_PER_SEC,
		   "%s, and many pointers to it: %zu saved, in no time", i ? "a long record" : "a short record at the end of its page",
		   got.n);
		free(p);
		forget("once.kb");
	}
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
	ok(!flips.silent && !flips.crashed && !flips.other,
	   "bits flipped: %d without effect, %d reported, %d silent, %d crashed, %d ended oddly", flips.same, flips.reported, flips.silent,
	   flips.crashed, flips.other);
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
	pid_t pid, gone[256]; /* of each round: dead, but not waited for */
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
	siginfo_t how;
	kill(group ? -w->pid : w->pid, SIGKILL);
	while (waitid(P_PID, (id_t)w->pid, &how, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	w->gone[w->round] = w->pid;
	while ((n = read(w->fd, bytes, sizeof bytes)) > 0)
		w->said[w->round] += (int)n;
	close(w->fd);
	w->round++;
}

/* Processes that hold the file for a writer that is gone end by themselves, but sleep on where an emulator does not tell the kernel of
 * their lock. The group's name is nobody else's until its writer was waited for. */
static void end_holders(const struct writer *w, int writers)
{
	for (int i = 0; i < writers; i++) {
		for (int round = 0; round < w[i].round; round++) {
			kill(-w[i].gone[round], SIGKILL);
			waitpid(w[i].gone[round], NULL, 0);
		}
	}
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
	poll(&(struct pollfd){.fd = w[0].fd, .events = POLLIN}, 1, 60000); /* until there is a file to look at */
	for (int i = 0; i < kills; i++) {
		int which = (int)rng_range(&r, 0, writers - 1);
		nanosleep(&(struct timespec){.tv_nsec = rng_range(&r, 1, 60) * 1000000}, NULL);
		stop_writer(&w[which], i & 1);
		start_writer(&w[which], which);
		if (i % 10)
			continue;
		int got = in_child(look, "many.kb", NULL);
		sound += got == SAME;
		if (got != SAME)
			printf("# after kill %d: fsck %d\n", i, got);
	}
	ok(sound == (kills + 9) / 10, "the file is sound while they write: %d of %d times", sound, (kills + 9) / 10);
	for (int i = 0; i < writers; i++)
		stop_writer(&w[i], true);
	usleep(300000); /* processes that lost their writer end */
	end_holders(w, writers);
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

/* Holds the lock, and is killed when somebody waits for it, of which the lock then says nothing: as after two that were killed, one of
 * them just woken. */
static noreturn void hold_lock(int fd)
{
	/* LMDB has it in its file behind words of 4, 4, 8 and 4 bytes and another lock, in a cache line of its own. */
	enum { LINE = 64, BEFORE = 20 + sizeof(pthread_mutex_t), LOCK = (BEFORE + LINE - 1) / LINE * LINE };
	const uint32_t waiters = 1u << 31;
	MDB_env *env;
	MDB_txn *txn;
	alarm(30);
	if (mdb_env_create(&env) || mdb_env_open(env, "lost.kb", MDB_NOSUBDIR, 0666) || mdb_txn_begin(env, NULL, 0, &txn))
		_exit(1);
	char *file = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, open("lost.kb-lock", O_RDWR), 0);
	volatile uint32_t *lock = (uint32_t *)(void *)(file + LOCK);
	if (file == MAP_FAILED || *lock != (uint32_t)getpid() || write(fd, ".", 1) != 1)
		_exit(2);
	while (!(*lock & waiters))
		usleep(1000);
	usleep(100000); /* it sleeps now */
	*lock &= ~waiters;
	raise(SIGKILL);
	_exit(3);
}

static void test_lost_wake(void)
{
	int pair[2], status, wrote = in_child(write_it, "lost.kb", NULL);
	char byte;
	if (target_is_emulated()) {
		skip("who waits for a lock that nobody hands on gets it", "an emulator does not tell the kernel of such locks");
		return;
	}
	if (wrote || pipe(pair))
		exit(1);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		hold_lock(pair[1]);
	close(pair[1]);
	bool held = read(pair[0], &byte, 1) == 1;
	wrote = held ? in_child(write_it, "lost.kb", NULL) : -1;
	close(pair[0]);
	waitpid(pid, &status, 0);
	ok(held && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && wrote == 0,
	   "who waits for a lock that nobody hands on gets it: holder %d, writer %d", status, wrote);
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
	test_damage(!whole ? A_PART : argc > 2 ? atoi(argv[2]) : WHOLE_BYTES, 0, 1);
	test_separators();
	test_salvage();
	test_salvage_once();
	test_lost_wake();
	test_kills(whole ? 8 : 4, whole ? 200 : 20);
	return tap_done();
}
