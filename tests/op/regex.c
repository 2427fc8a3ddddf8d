/* Regular expressions in RE2's syntax: what matches, what does not, and what is none. */
#include "op/regex.h"
#include <string.h>
#include <unistd.h>
#include "tap.h"

static const struct {
	const char *pattern, *match, *other; /* words apart by spaces; "" is the empty one */
} cases[] = {
	{"", "\"\"", "a"},
	{"abc", "abc", "ab abcd xabc ABC"},
	{"a|b|cd", "a b cd", "c ab abcd \"\""},
	{"a||b", "a b \"\"", "ab"},
	{"(a|b)*c", "c ac abbac", "ab ca"},
	{"a*", "\"\" a aaaa", "b aab"},
	{"a+b?", "a ab aaab", "b abb \"\""},
	{"a{2}", "aa", "a aaa"},
	{"a{2,}", "aa aaaaa", "a"},
	{"a{0,2}b{0}", "\"\" a aa", "aaa b ab"},
	{"(ab){2,3}?", "abab ababab", "ab abababab"},
	{"a{,2}", "a{,2}", "a aa"},
	{"x{a", "x{a", "x"},
	{"(a*)*b", "b aab", "a"},
	{"((a?)+)+", "\"\" aaa", "b"},
	{".", "a - \xc3\xa4 \xe2\x82\xac", "\"\" ab \n"},
	{"(?s).", "\n a", "ab"},
	{"[a-cx]", "a b c x", "d - \"\""},
	{"[^a-cx]+", "d - dd \xc3\xa4", "a da"},
	{"[]a]", "] a", "b"},
	{"[^]a]", "b", "] a"},
	{"[a-]", "a -", "b"},
	{"[-a]", "a -", "b"},
	{"[\\d_]+", "1_2", "a"},
	{"[^\\d\\s]", "a _ \xc3\xa4", "1"},
	{"[\\]\\-\\x41]", "] - A", "B"},
	{"[[:alpha:][:digit:]]+", "aB3", "_ -"},
	{"[[:^alpha:]]", "1 \xc3\xa4", "a"},
	{"[\xc3\xa0-\xc3\xbc]", "\xc3\xa4", "a \xc3\x9f"},
	{"\\d+\\.\\d*", "1.5 12.", ".5 1,5 a"},
	{"\\w+@\\w+\\.(?:com|org)", "me@here.org a_1@b.com", "me@here.de @b.com me@here-org"},
	{"\\S\\D\\W", "ab- 1x.", "1_2 abc"},
	{"\\x41\\x{e4}\\101\\n\\.",
	 "A\xc3\xa4"
	 "A\n.",
	 "A"},
	{"\\Qa.b*\\E+", "a.b* a.b***", "aab"},
	{"^a$", "a", "b"},
	{"(^a|b$)", "a b", "ab"},
	{"\\Aa\\z", "a", "ab"},
	{"a^b", "", "ab a^b"},
	{"(?m)a$\nb", "a\nb", "ab"},
	{"a$\nb", "", "a\nb"},
	{"\\bab\\b.*", "ab ab-", "abc"},
	{"a\\Bb", "ab", "a"},
	{"(?i)abc\xc3\x84", "ABc\xc3\xa4 abc\xc3\x84", "ab"},
	{"(?i:a)b", "ab Ab", "aB"},
	{"(?i)[^a]", "b", "a A"},
	{"a(?i)b|c", "ab aB c C", "AB"},
	{"(a(?i)b)c", "abc aBc", "abC"},
	{"(?i-s)a.", "Ab", "a\n"},
	{"(?P<name>a)(?<other>b)", "ab", "a"},
	{"(?U)a+", "a aa", "\"\""},
	{"a+?b*?", "a aab", "b"},
	{"[a-z&&[^b]]", "a]  &] b]", "b a"},
	{"(a|ab)(c|bcd)(d*)", "abcd acd abcdd", "ab"},
};

static const struct {
	const char *pattern, *why;
} bad[] = {
	{"*a", "nothing before"},
	{"a**", "repetition of a repetition"},
	{"(a", "( without )"},
	{"a)", ") without ("},
	{"[a", "[ without ]"},
	{"[b-a]", "goes down"},
	{"a{1001}", "more than 1000"},
	{"a{2,1}", "more than 1000"},
	{"a\\", "ends in \\"},
	{"\\y", "escape in it is unknown"},
	{"\\pL", "not supported"},
	{"\\C", "not supported"},
	{"[[:foo:]]", "[:...:]"},
	{"(?x)a", "no flag"},
	{"(?P<n", "without >"},
	{"\xff", "not UTF-8"},
	{"\\x{110000}", "too large"},
	{"\\x{41", "without }"},
	{"((((a{1000}){1000}){1000}){1000})", "too large"},
	{"a|*", "nothing before"},
};

/* The next word of *s, without its escapes; NULL: there is none. */
static const char *word(const char **s, char *buffer)
{
	size_t n = strcspn(*s, " ");

	if (!n)
		return NULL;
	memcpy(buffer, *s, n);
	buffer[n] = 0;
	*s += n + strspn(*s + n, " ");
	if (!strcmp(buffer, "\"\""))
		*buffer = 0;
	return buffer;
}

/* Expressions whose automata would be large, or take long to make, end soon; the alarm ends the test. */
static void test_tables(struct arena *a)
{
	static const char *const large[] = {"(x{1000}){100}", "((a{0,30}b?){30}c?){30}", "(?i)([a-z]{1,50}){1,300}",
					    "((((|)|)|)|a?){1000}"};
	struct regex_table t;
	const char *why;

	alarm(120);
	for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
		struct regex *r = regex_compile(large[i], strlen(large[i]), a, &why);
		ok(r && !regex_table(r, a, &t), "no table: %s", large[i]);
	}
	alarm(0);
	struct regex *r = regex_compile("(?i)\xc3\xa4[b-d]", 11, a, &why);
	ok(r && regex_table(r, a, &t) && t.states == 6, "a table whose letters are of either case");
}

int main(void)
{
	struct arena a = {0};
	char buffer[100], deep[4001] = {0};
	const char *why;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct regex *r = regex_compile(cases[i].pattern, strlen(cases[i].pattern), &a, &why);
		bool good = r != NULL;
		const char *s = cases[i].match, *w;
		while (r && (w = word(&s, buffer)))
			good &= regex_matches(r, w, strlen(w), &a);
		for (s = cases[i].other; r && (w = word(&s, buffer));)
			good &= !regex_matches(r, w, strlen(w), &a);
		ok(good, "%s%s%s", cases[i].pattern, r ? "" : ": ", r ? "" : why);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!regex_compile(bad[i].pattern, strlen(bad[i].pattern), &a, &why) && strstr(why, bad[i].why), "%.40s: %s", bad[i].pattern,
		   bad[i].why);
	memset(deep, '(', 2000);
	memset(deep + 2000, ')', 2000);
	ok(!regex_compile(deep, 4000, &a, &why) && strstr(why, "too deep"), "2,000 groups in each other");
	struct regex *r = regex_compile("(a|a)*(a|a)*(a|a)*b", 19, &a, &why);
	char *many = arena_alloc(&a, 100001);
	memset(many, 'a', 100000);
	ok(r && !regex_matches(r, many, 100000, &a), "time that is linear in the string");
	r = regex_compile("a\0b", 3, &a, &why);
	ok(r && regex_matches(r, "a\0b", 3, &a) && !regex_matches(r, "a", 1, &a), "bytes of zero");
	r = regex_compile(".*", 2, &a, &why);
	ok(r && !regex_matches(r, "a\xff", 2, &a), "what is not UTF-8 matches no character");
	test_tables(&a);
	arena_release(&a);
	return tap_done();
}
