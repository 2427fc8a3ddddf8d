/* Functions of lib/native that models of scikit-learn end in: keys, tokens, forests, hashes. */
#include <unistd.h>
#include "native/call.h"

/* Tables of one class and four states that lead to `to`. */
static const char *tokenized(int32_t to, int64_t columns)
{
	struct call *c = call_new(1);
	*(struct native_string *)operand(c, NATIVE_STR, DIMS(1)) = (struct native_string){"ab", 2};
	*(int32_t *)operand(c, NATIVE_I32, DIMS(1)) = 0;
	int32_t *next = operand(c, NATIVE_I32, DIMS(4, columns));
	for (int i = 0; i < 4 * columns; i++)
		next[i] = to;
	attr(c, "pad")->s = "";
	const char *why = run(c, "Tokenize");
	call_free(c);
	return why;
}

/* a*b in as many a: each place is the start of a match that comes to nothing. The time is linear, or the alarm ends the test. */
static void test_long_text(int64_t size)
{
	enum { START = 4, MORE = 2 * (1 + 4), END = 2 * (1 + 5) };
	char *text = malloc((size_t)size);
	struct call *c = call_new(1);

	memset(text, 'a', (size_t)size);
	*(struct native_string *)operand(c, NATIVE_STR, DIMS(1)) = (struct native_string){text, (size_t)size};
	memcpy(operand(c, NATIVE_I32, DIMS(4)), (int32_t[]){0, 'a', 'b', 'c'}, 4 * sizeof(int32_t));
	int32_t(*next)[5] = operand(c, NATIVE_I32, DIMS(START + 2, 5));
	for (int i = 0; i <= START; i++)
		memcpy(next[i], (int32_t[]){0, MORE, END, 0, 0}, sizeof *next);
	for (int i = 0; i < 5; i++)
		next[START + 1][i] = 1;
	attr(c, "pad")->s = "";
	attr(c, "least")->i = 1;
	alarm(60);
	const char *why = run(c, "Tokenize");
	alarm(0);
	ok(!why && !c->out[0].dims[1], "Tokenize: a long text without a match");
	text[size - 1] = 'b';
	why = run(c, "Tokenize");
	ok(!why && c->out[0].dims[1] == 1 && ((struct native_string *)c->out[0].data)->n == (size_t)size, "and all of it as one");
	call_free(c);
	free(text);
}

static void test_tokens(void)
{
	ok(!tokenized(1, 2), "Tokenize: an automaton that matches nothing");
	ok(tokenized(2 * 5, 2) != NULL, "a state that is not there is refused");
	ok(tokenized(1, 3) != NULL, "tables that do not fit, too");
	test_long_text(1000000);
}

static int64_t kept[1 << 15];

static void *keep(struct native *n, size_t bytes)
{
	(void)n;
	return bytes <= sizeof kept ? kept : NULL;
}

/* Rows of so many features down a tree of one node, which leads to `to`, for a number of feature `feature`. The tables are constants. */
static const char *forested(int64_t rows, int64_t features, int32_t to, int32_t feature, int32_t start)
{
	struct call *c = call_new(1);
	memset(operand(c, NATIVE_F32, DIMS(rows, features)), 0, (size_t)(rows * features) * sizeof(float));
	memcpy(operand(c, NATIVE_I32, DIMS(1, 4)), (int32_t[]){feature * 16, to, ~0, 0}, 16);
	memcpy(operand(c, NATIVE_I32, DIMS(2)), (int32_t[]){start, 1}, 8);
	*(int32_t *)operand(c, NATIVE_I32, DIMS(1)) = 0;
	*(float *)operand(c, NATIVE_F32, DIMS(1)) = 3;
	*(int32_t *)operand(c, NATIVE_I32, DIMS(1)) = 0;
	attr(c, "targets")->i = 1;
	attr(c, "aggregate")->s = "SUM";
	for (int i = 1; i <= 5; i++)
		c->in[i].fixed = true;
	c->n.memo = keep;
	const char *why = run(c, "Trees");
	static char said[240];
	bool right = !why && (!rows || ((float *)c->n.out[0].data)[rows - 1] == 3);
	snprintf(said, sizeof said, "%s", right ? "right" : why ? why : "wrong");
	call_free(c);
	return said;
}

static void test_forest(void)
{
	for (int64_t rows = 0; rows <= 600; rows = rows * 6 + 1) {
		memset(kept, 0, sizeof kept);
		ok(!strcmp(forested(rows, 2, ~0, 1, 0), "right"), "Trees: %lld rows", (long long)rows);
	}
	ok(strstr(forested(40, 1, ~0, 1, 0), "features") != NULL, "rows of fewer features in a later run are refused");
	for (int i = 0; i < 5; i++) {
		const int32_t bad[5][3] = {{0, 1, 0}, {1, 1, 0}, {~1, 1, 0}, {~0, 2, 0}, {~0, 1, -1}};
		memset(kept, 0, sizeof kept);
		ok(strcmp(forested(40, 2, bad[i][0], bad[i][1], bad[i][2]), "right"),
		   "a node, leaf, feature or vote that is not there is refused: %d", i);
	}
}

static void test_find(void)
{
	struct call *c = call_new(1);
	memcpy(operand(c, NATIVE_F32, DIMS(2, 3)), (float[]){NAN, -0.0f, 7, -INFINITY, 2.5f, 3}, 6 * sizeof(float));
	memcpy(operand(c, NATIVE_F32, DIMS(4)), (float[]){-INFINITY, 0, 2.5f, NAN}, 4 * sizeof(float));
	const char *why = run(c, "Find");
	ok(!why && !memcmp(c->n.out[0].data, (int64_t[]){3, 1, 4, 0, 2, 4}, 6 * sizeof(int64_t)), "Find: numbers, and what is none");
	call_free(c);
	c = call_new(1);
	memcpy(operand(c, NATIVE_U64, DIMS(3)), (uint64_t[]){UINT64_MAX, 0, (UINT64_C(1) << 53) + 1}, 3 * sizeof(uint64_t));
	memcpy(operand(c, NATIVE_U64, DIMS(3)), (uint64_t[]){1, UINT64_C(1) << 53, UINT64_MAX}, 3 * sizeof(uint64_t));
	why = run(c, "Find");
	ok(!why && !memcmp(c->n.out[0].data, (int64_t[]){2, 3, 3}, 3 * sizeof(int64_t)), "Find: integers beyond those of a double");
	call_free(c);
	c = call_new(1);
	memcpy(operand(c, NATIVE_STR, DIMS(3)), (struct native_string[]){{"b", 1}, {"", 0}, {"ba", 2}}, 3 * sizeof(struct native_string));
	memcpy(operand(c, NATIVE_STR, DIMS(3)), (struct native_string[]){{"", 0}, {"a", 1}, {"b", 1}}, 3 * sizeof(struct native_string));
	why = run(c, "Find");
	ok(!why && !memcmp(c->n.out[0].data, (int64_t[]){2, 0, 3}, 3 * sizeof(int64_t)), "Find: strings");
	call_free(c);
	c = call_new(1);
	operand(c, NATIVE_I32, DIMS(2));
	operand(c, NATIVE_I64, DIMS(0));
	ok(run(c, "Find") != NULL, "Find: a list of another type is refused");
	call_free(c);
}

enum { KEYS = 3000, KEY_BYTES = 16 };

/* Sought: each key and, after it, one that is none. In the second run there is a table of the keys, if they are fixed. */
static bool finds_keys(bool fixed)
{
	static char text[2 * KEYS][KEY_BYTES];
	struct native_string key[KEYS], sought[2 * KEYS];
	struct call *c = call_new(1);
	bool right = true;

	for (int i = 0; i < 2 * KEYS; i++) {
		int n = snprintf(text[i], KEY_BYTES, i % 2 ? "key %05d?" : "key %05d", i / 2);
		key[i / 2] = i % 2 ? key[i / 2] : (struct native_string){text[i], (size_t)n};
		sought[i] = (struct native_string){text[i], (size_t)n};
	}
	memcpy(operand(c, NATIVE_STR, DIMS(2 * KEYS)), sought, sizeof sought);
	memcpy(operand(c, NATIVE_STR, DIMS(KEYS)), key, sizeof key);
	c->in[1].fixed = fixed;
	memset(kept, 0, sizeof kept);
	c->n.memo = keep;
	for (int k = 0; k < 2; k++) {
		right &= !run(c, "Find");
		for (int i = 0; i < 2 * KEYS && right; i++)
			right = ((int64_t *)c->n.out[0].data)[i] == (i % 2 ? KEYS : i / 2);
	}
	call_free(c);
	return right;
}

/* Numbers, of which every other one is a key, and 0 of either sign and NaN. */
static bool finds_numbers(bool fixed)
{
	struct call *c = call_new(1);
	float *x = operand(c, NATIVE_F32, DIMS(2 * KEYS + 2)), *key = operand(c, NATIVE_F32, DIMS(KEYS + 1));
	bool right = true;

	for (int i = 0; i < 2 * KEYS; i++) {
		x[i] = (float)(i - KEYS) / 8;
		key[i / 2] = i % 2 ? key[i / 2] : x[i];
	}
	x[2 * KEYS] = -0.0F;
	x[2 * KEYS + 1] = key[KEYS] = NAN;
	c->in[1].fixed = fixed;
	memset(kept, 0, sizeof kept);
	c->n.memo = keep;
	for (int k = 0; k < 2; k++) {
		right &= !run(c, "Find");
		const int64_t *y = c->n.out[0].data;
		for (int i = 0; i < 2 * KEYS && right; i++)
			right = y[i] == (i % 2 ? KEYS + 1 : i / 2);
		right = right && y[2 * KEYS] == KEYS / 2 && y[2 * KEYS + 1] == KEYS;
	}
	call_free(c);
	return right;
}

static void test_keys(void)
{
	ok(finds_keys(false), "Find: many keys by bisection");
	ok(finds_keys(true), "by a table");
	ok(finds_numbers(false) && finds_numbers(true), "many numbers, either way");
}

/* An empty string may be NULL: nothing of it is read, as sanitizers see. */
static void test_empty(void)
{
	static const char *const pool[] = {"", "a"};
	static const int64_t starts[] = {0}, places[] = {0, 1};
	struct native_string x[] = {{NULL, 0}, {"a", 1}, {NULL, 0}};
	struct call *c = call_new(1);

	memcpy(operand(c, NATIVE_STR, DIMS(3)), x, sizeof x);
	struct native_attr *a = attr(c, "pool_strings");
	a->strs = pool, a->n = 2;
	a = attr(c, "ngram_counts");
	a->ints = starts, a->n = 1;
	a = attr(c, "ngram_indexes");
	a->ints = places, a->n = 2;
	attr(c, "mode")->s = "TF";
	attr(c, "min_gram_length")->i = attr(c, "max_gram_length")->i = 1;
	const char *why = run(c, "TfIdfVectorizer");
	ok(!why && !memcmp(c->n.out[0].data, (float[]){2, 1}, 2 * sizeof(float)), "TfIdfVectorizer: empty strings (%s)", why ? why : "");
	call_free(c);
	c = call_new(1);
	memcpy(operand(c, NATIVE_STR, DIMS(3)), x, sizeof x);
	a = attr(c, "stopwords");
	a->strs = pool, a->n = 1;
	attr(c, "case_change_action")->s = "LOWER";
	attr(c, "is_case_sensitive")->i = 1;
	why = run(c, "StringNormalizer");
	ok(!why && c->out[0].dims[0] == 1, "StringNormalizer: empty strings (%s)", why ? why : "");
	call_free(c);
}

/* Each string with its seed, as the author's own program hashes it. */
static void test_hash(void)
{
	static const struct {
		const char *s;
		uint32_t seed, hash;
	} known[] = {
		{NULL, 0, 0},
		{NULL, 1, 0x514e28b7},
		{"test", 0, 0xba6bd213},
		{"test", 0x9747b28c, 0x704b81dc},
		{"aaa", 0x9747b28c, 0x283e0130},
		{"aa", 0x9747b28c, 0x5d211726},
		{"a", 0x9747b28c, 0x7fa09ea6},
		{"Hello, world!", 0, 0xc0363e43},
		{"Hello, world!", 0x9747b28c, 0x24884cba},
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		struct call *c = call_new(1);
		*(struct native_string *)operand(c, NATIVE_STR, DIMS(1)) =
			(struct native_string){known[i].s, known[i].s ? strlen(known[i].s) : 0};
		attr(c, "seed")->i = known[i].seed;
		attr(c, "positive")->i = i % 2;
		const char *why = run(c, "MurmurHash3");
		ok(!why && c->out[0].type == (i % 2 ? NATIVE_U32 : NATIVE_I32) &&
			   !memcmp(c->out[0].data, &known[i].hash, sizeof known[i].hash),
		   "MurmurHash3 of '%s', seed %u", known[i].s ? known[i].s : "", (unsigned)known[i].seed);
		call_free(c);
	}
	struct call *c = call_new(1);
	operand(c, NATIVE_I16, DIMS(2));
	ok(run(c, "MurmurHash3") != NULL, "MurmurHash3: a type that is none of its own is refused");
	call_free(c);
}

int main(void)
{
	test_hash();
	test_empty();
	test_find();
	test_keys();
	test_tokens();
	test_forest();
	return tap_done();
}
