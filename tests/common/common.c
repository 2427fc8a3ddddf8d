/* The lowest floor: halves against the compiler's own, digests, names, arenas. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/outfile.h"
#include "common/shown.h"
#include "common/msg.h"
#include "common/arena.h"
#include "common/digest.h"
#include "common/half.h"
#include "common/intern.h"
#include "common/map.h"
#include "common/option.h"
#include "common/rng.h"
#include "common/sha256.h"
#include "common/textfile.h"
#include "common/whole.h"
#include "tap.h"

static void test_odd(void)
{
	ok(double_to_bf16(1.00390625 + 1e-9) == 0x3f81 && double_to_bf16(1.00390625) == 0x3f80 &&
		   double_to_half(1 + 0x1p-11 + 0x1p-40) == 0x3c01,
	   "double to 16 bits in one rounding");
}

static void test_half(void)
{
#ifdef __FLT16_MANT_DIG__
	int wrong = 0, back = 0;
	for (uint32_t h = 0; h < 0x10000; h++) {
		uint16_t bits = (uint16_t)h;
		_Float16 x;
		memcpy(&x, &bits, 2);
		float want = (float)x, got = half_to_float(bits);
		if (isnan(want) ? !isnan(got) : memcmp(&want, &got, 4))
			wrong++;
		if (!isnan(want) && float_to_half(got) != bits)
			back++;
	}
	ok(!wrong, "every half to float");
	ok(!back, "and back");
	struct rng r = {7};
	wrong = 0;
	for (int i = 0; i < 2000000; i++) {
		uint32_t u = (uint32_t)rng_u64(&r);
		if (i % 2) /* near the range of halves */
			u = (u & 0x87ffffff) | (uint32_t)rng_range(&r, 6, 9) << 27;
		float f;
		memcpy(&f, &u, 4);
		_Float16 x = (_Float16)f;
		uint16_t want;
		memcpy(&want, &x, 2);
		if (!isnan(f) && float_to_half(f) != want)
			wrong++;
	}
	ok(!wrong, "random floats to half, rounded to nearest even");
	ok(float_to_bf16(1.00390625f) == 0x3f80 && float_to_bf16(1.01171875f) == 0x3f82, "bfloat16 rounds ties to even");
	ok(isnan(bf16_to_float(float_to_bf16(NAN))) && isnan(half_to_float(float_to_half(NAN))), "not a number stays so");
	ok(float_to_bf16(3.4e38f) == 0x7f80 && bf16_to_float(0xc040) == -3, "bfloat16 overflows to infinity");
#else
	ok(1, "halves # SKIP the compiler has no _Float16");
#endif
}

/* The examples of FIPS 180-4: no byte, a block, and one byte too many for the length to fit behind them. */
static void test_sha256(void)
{
	const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	char none[65], abc[65], both[65];

	sha256_hex("", 0, none);
	sha256_hex("abc", 3, abc);
	sha256_hex(two, strlen(two), both);
	ok(!strcmp(none, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855") &&
		   !strcmp(abc, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") &&
		   !strcmp(both, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
	   "SHA-256: %s", both);
}

static void test_digest(void)
{
	char text[1000], hex[33];
	for (int i = 0; i < 1000; i++)
		text[i] = (char)(i * 7);
	struct digest whole = digest_bytes(text, sizeof text), read;
	struct digest_state *s = digest_new();
	for (int i = 0; i < 1000; i += 125)
		digest_add(s, text + i, 125);
	ok(digest_eq(whole, digest_end(s)), "a digest piece by piece");
	digest_hex(whole, hex);
	ok(digest_parse(hex, 32, &read) && digest_eq(whole, read), "as text and back: %s", hex);
	hex[3] = 'G';
	ok(!digest_parse(hex, 32, &read) && !digest_parse(hex, 31, &read), "bad digits are refused");
}

static void test_names(void)
{
	int wrong = 0;
	sym *s = xmalloc(sizeof *s * 100000);
	for (int i = 0; i < 100000; i++)
		s[i] = intern_printf("name %d", i);
	for (int i = 0; i < 100000; i++) {
		char text[32];
		snprintf(text, sizeof text, "name %d", i);
		wrong += intern(text) != s[i] || strcmp(sym_str(s[i]), text) || sym_len(s[i]) != strlen(text);
	}
	ok(!wrong, "100,000 names");
	ok(intern("") == 0 && !*sym_str(0), "the empty name is 0");
	ok(intern_n("name 12345", 6) == intern("name 1"), "part of a string");
	free(s);
}

static void test_map(void)
{
	struct map m = {0};
	int wrong = 0;

	ok(!map_get(&m, 7), "nothing is in an empty map");
	for (uint32_t k = 1; k < 100000; k++)
		map_set(&m, k * 64, k);
	for (uint32_t k = 1; k < 100000; k++)
		wrong += map_get(&m, k * 64) != k || map_get(&m, k * 64 + 1);
	map_set(&m, 64, 5);
	ok(!wrong && map_get(&m, 64) == 5 && m.n == 99999, "a map of 100,000 numbers, and one set again");
	map_free(&m);
	ok(!map_get(&m, 64), "and empty again");
}

/* What it says of the number, or "" if it takes it. */
static const char *refusal(const char *arg, bool whole)
{
	static struct msg_trap trap;

	*trap.why = 0;
	if (!setjmp(trap.at)) {
		msg_trap = &trap;
		if (whole)
			option_count("-n", arg, 1, 256);
		else
			option_number("--x", arg, 0.5, INFINITY);
	}
	msg_trap = NULL;
	return trap.why;
}

static void test_options(void)
{
	static const char *const no_count[] = {"0", "257", "-1", "3x", "", "1e2", "4294967297", "99999999999999999999"};
	static const char *const no_number[] = {"0.4", "x", "", "1 2", "nan", "-1"};
	int taken = 0;

	for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++)
		taken += !*refusal(no_count[i], true);
	for (size_t i = 0; i < sizeof no_number / sizeof *no_number; i++)
		taken += !*refusal(no_number[i], false);
	ok(!taken && !*refusal("256", true) && !*refusal("1e9", false), "numbers of options: %d wrong ones are taken", taken);
	ok(strstr(refusal("0", true), "-n 0 is not a number from 1 to 256") != NULL, "with range: %s", refusal("0", true));
	ok(strstr(refusal("x", false), "--x x is not a number from 0.5") != NULL, "and without end: %s", refusal("x", false));
}

static void test_arena(void)
{
	struct arena a = {0};
	struct rng r = {3};
	int wrong = 0;
	unsigned char *p[2000];
	size_t n[2000];
	for (int i = 0; i < 2000; i++) {
		n[i] = i % 50 == 0 ? 2u << 20 : (size_t)rng_range(&r, 0, 3000);
		p[i] = arena_alloc(&a, n[i]);
		wrong += (uintptr_t)p[i] % 16 != 0;
		for (size_t k = 0; k < n[i]; k += 97)
			wrong += p[i][k] != 0;
		memset(p[i], i & 255, n[i]);
	}
	for (int i = 0; i < 2000; i++)
		for (size_t k = 0; k < n[i]; k += 97)
			wrong += p[i][k] != (i & 255);
	ok(!wrong, "pieces of an arena are zeroed, aligned and apart");
	ok(!strcmp(arena_printf(&a, "%s-%d", arena_str(&a, "x"), 5), "x-5"), "text in an arena");
	arena_release(&a);
}

/* A file that is cut while it is mapped: one line, 74, no temporary left. */
static void test_mapped(void)
{
	int pipes[2], status;
	char said[400] = "";
	FILE *f = fopen("mapped", "w");

	ok(f && !ftruncate(fileno(f), 3 << 20) && !fclose(f) && !pipe(pipes), "a file");
	pid_t child = fork();
	if (child == 0) {
		struct mapped m;
		struct outfile o;
		dup2(pipes[1], STDERR_FILENO);
		mapping_guard();
		outfile_open(&o, "made", true);
		mapped_open(&m, "mapped");
		if (truncate("mapped", 4096))
			_exit(1);
		fprintf(o.f, "%d", digest_bytes(m.p, m.n).lo != 0);
		_exit(2);
	}
	close(pipes[1]);
	ssize_t n = read(pipes[0], said, sizeof said - 1);
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == EX_IO && n > 0 && strstr(said, "mapped: was cut short while it was read\n") &&
		   strchr(said, '\n')[1] == 0,
	   "cut while it is mapped: %x %s", status, said);
	ok(system("ls | grep -q made") != 0, "and no temporary is left");
}

/* What f(arg) ends its process with, and in said what it says. */
static int ends_with(void (*f)(const char *arg), const char *arg, char *said, size_t size)
{
	int pipes[2], status = -1;

	memset(said, 0, size);
	if (pipe(pipes))
		return -1;
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		f(arg);
		_exit(0);
	}
	close(pipes[1]);
	for (ssize_t n; size > 1 && (n = read(pipes[0], said, size - 1)) > 0; said += n, size -= (size_t)n)
		;
	close(pipes[0]);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { MUCH = 200 << 20 };
static const struct rlimit much = {MUCH, MUCH};

static void write_much(const char *way)
{
	char *text, block[1000];
	FILE *f = textfile_open(&text, NULL);

	memset(block, 'x', sizeof block);
	setrlimit(RLIMIT_AS, &much);
	for (int i = 0; i < 300000; i++)
		if (*way == 'p')
			fprintf(f, "%.*s", (int)sizeof block, block);
		else
			fwrite(block, 1, sizeof block, f);
	textfile_close(f);
}

/* Ends with 1 where the limit holds. */
static void map_much(const char *none)
{
	setrlimit(RLIMIT_AS, &much);
	exit(mmap(NULL, MUCH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void read_lines(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = fopen(path, "r");

	while (textfile_line(f, path, &line, &size))
		;
	free(line);
	fclose(f);
}

/* Text in memory is whole, or nobody sees it. */
static void test_textfile(void)
{
	char *text, *want = xmalloc(10000 * 12 + 1), *end = want, said[400];
	size_t n;
	FILE *f = textfile_open(&text, &n);

	for (int i = 0; i < 10000; i++) {
		end += sprintf(end, "line %d\n", i);
		fprintf(f, "line %d\n", i);
	}
	textfile_close(f);
	ok(n == (size_t)(end - want) && !strcmp(text, want), "text in memory");
	free(text);
	textfile_close(textfile_open(&text, &n));
	ok(n == 0 && !strcmp(text, ""), "and none");
	free(text);
	free(want);
#ifdef __SANITIZE_ADDRESS__
	skip("text that there is no memory for", "address sanitizer");
#else
	bool limited = ends_with(map_much, "", said, sizeof said) != 0;
	if (!limited)
		skip("text that there is no memory for", "an emulator keeps no limits");
	for (int way = 0; limited && way < 2; way++) {
		int code = ends_with(write_much, way ? "fwrite" : "printf", said, sizeof said);
		ok(code == EX_SYSTEM && strstr(said, "out of memory for a text\n"), "text that there is no memory for: %d %s", code, said);
	}
#endif
	ok((f = fopen("lines", "w")) && fputs("a\nb", f) >= 0 && !fclose(f) && ends_with(read_lines, "lines", said, sizeof said) == 0 &&
		   !*said,
	   "lines of a file");
	int code = ends_with(read_lines, ".", said, sizeof said);
	ok(code == EX_IO && strstr(said, ".: Is a directory\n"), "lines that cannot be read: %d %s", code, said);
}

/* What a terminal gets of a name. */
static void test_shown(void)
{
	static const char *const names[][2] = {
		{"plain", "plain"},
		{"a\nb\t", "a\\x0ab\\x09"},
		{"\033[31m", "\\x1b[31m"},
		{"\302\233J\302\240", "\\xc2\\x9bJ\302\240"},
		{"\233J", "\\x9bJ"},
		{"\177", "\\x7f"},
		{"\303\251\303", "\303\251\\xc3"},
		{"\342\200\256x", "\\xe2\\x80\\xaex"},
		{"\355\240\200", "\\xed\\xa0\\x80"},
		{"\300\233", "\\xc0\\x9b"},
	};
	int wrong = 0;
	struct arena a = {0};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		wrong += strcmp(shown(names[i][0]), names[i][1]) != 0;
	ok(!wrong, "control characters, C1, directions and what is no UTF-8 are escaped: %d wrong", wrong);
	ok(!strcmp(shell_word("a'b $(c)", &a), "'a'\\''b $(c)'") && !strcmp(shell_word("", &a), "''") &&
		   !strcmp(shell_word("a.b", &a), "a.b"),
	   "words of a shell");
	arena_release(&a);
}

/* Through a pipe that takes less at a time, from a process that writes it in pieces. */
static void test_whole(void)
{
	enum { N = 300000, PIECE = 7001 };
	char *out = xmalloc(N), *in = calloc(N, 1);
	int there[2], back[2], status;

	for (int i = 0; i < N; i++)
		out[i] = (char)(i * 7 + i / 251);
	if (pipe(there) || pipe(back))
		return;
	pid_t child = fork();
	if (!child) {
		bool good = read_whole(there[0], in, N);
		for (int i = 0; i < N && good; i += PIECE)
			good = write_whole(back[1], in + i, i + PIECE < N ? PIECE : (size_t)(N - i));
		_exit(!good);
	}
	close(back[1]);
	bool sent = write_whole(there[1], out, N), got = read_whole(back[0], in, N);
	ok(sent && got && !memcmp(in, out, N), "bytes go through pipes whole");
	waitpid(child, &status, 0);
	ok(!status && !read_whole(back[0], in, 1) && !write_whole(there[0], out, 1), "an end, and a pipe that takes none, are said");
	free(out);
	free(in);
}

int main(void)
{
	test_mapped();
	test_whole();
	test_textfile();
	test_shown();
	test_half();
	test_odd();
	test_digest();
	test_sha256();
	test_names();
	test_map();
	test_options();
	test_arena();
	return tap_done();
}
