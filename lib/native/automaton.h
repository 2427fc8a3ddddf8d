/* The automaton of a regular expression over strings of UTF-8: lib/op/regex.h has its tables, native functions follow it. */
#ifndef HONE_NATIVE_AUTOMATON_H
#define HONE_NATIVE_AUTOMATON_H
#include "native/native.h"

/* States to begin with: at the start of the text, after a letter, a newline, others. */
enum { AUTOMATON_FIRST, AUTOMATON_WORD, AUTOMATON_LINE, AUTOMATON_OTHER };

struct automaton {
	const int32_t *first, *next;
	int64_t classes, states;
	int32_t ascii[128]; /* the class of each */
};

/* Bytes of the character at s, of n more; 0: it is none. */
static inline size_t automaton_length(const unsigned char *s, size_t n)
{
	size_t k = s[0] < 0x80                   ? 1
		   : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
		   : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
		   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
						 : 0;

	for (size_t i = 1; i < k; i++)
		if (i >= n || (s[i] & 0xc0) != 0x80)
			return 0;
	return k;
}

static inline int32_t automaton_decode(const unsigned char *s, size_t k)
{
	int32_t c = k == 1 ? s[0] : s[0] & (0x7f >> k);

	for (size_t i = 1; i < k; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

static inline int32_t automaton_class(const struct automaton *t, int32_t c)
{
	int64_t lo = 0, hi = t->classes;

	while (hi - lo > 1) {
		int64_t middle = lo + (hi - lo) / 2;
		if (t->first[middle] <= c)
			lo = middle;
		else
			hi = middle;
	}
	return (int32_t)lo;
}

static inline int32_t automaton_class_at(const struct automaton *t, const unsigned char *s, size_t n, size_t at)
{
	size_t k = at < n ? automaton_length(s + at, n - at) : 0;

	return at >= n ? (int32_t)t->classes : k == 1 ? t->ascii[s[at]] : automaton_class(t, automaton_decode(s + at, k));
}

/* Reads the automaton that has these tables. NULL, or why not. */
static inline const char *automaton_read(const struct native_tensor *first, const struct native_tensor *next, struct automaton *t)
{
	if (first->type != NATIVE_I32 || next->type != NATIVE_I32)
		return native_no_type();
	t->first = first->data, t->next = next->data;
	t->classes = native_count(first);
	if (next->rank != 2 || t->classes < 1 || next->dims[1] != t->classes + 1 || next->dims[0] < AUTOMATON_OTHER + 1)
		return "the tables do not fit";
	t->states = next->dims[0];
	for (int32_t c = 0; c < 128; c++)
		t->ascii[c] = automaton_class(t, c);
	return NULL;
}
#endif
