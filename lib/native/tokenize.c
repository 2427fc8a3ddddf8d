/* Tokenize: the longest matches of an automaton (lib/op/regex.h has its tables), from the left, in strings of UTF-8. */
#include "native/native.h"

enum { TOKENIZE_FIRST, TOKENIZE_WORD, TOKENIZE_LINE, TOKENIZE_OTHER };

struct tokenize {
	const int32_t *first, *next;
	int64_t classes, states;
	int32_t ascii[128]; /* the class of each */
};

/* A token, in its string. */
struct tokenize_span {
	size_t at, n;
};

/* Bytes of the character at s, of n more; 0: it is none. */
static size_t tokenize_length(const unsigned char *s, size_t n)
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

static int32_t tokenize_decode(const unsigned char *s, size_t k)
{
	int32_t c = k == 1 ? s[0] : s[0] & (0x7f >> k);

	for (size_t i = 1; i < k; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

static int32_t tokenize_class(const struct tokenize *t, int32_t c)
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

static int tokenize_kind(const unsigned char *s, size_t at)
{
	unsigned char c;

	if (!at)
		return TOKENIZE_FIRST;
	c = s[at - 1];
	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'))
		return TOKENIZE_WORD;
	return c == '\n' ? TOKENIZE_LINE : TOKENIZE_OTHER;
}

/* The end of the longest match from `at` on, and its characters; -1: there is none, -2: a state that is not there. s is UTF-8. */
static int64_t tokenize_match(const struct tokenize *t, const unsigned char *s, size_t n, size_t at, int64_t *chars)
{
	int64_t best = -1, state = tokenize_kind(s, at), count = 0;

	for (;; count++) {
		size_t k = at < n ? tokenize_length(s + at, n - at) : 0;
		int32_t class = at >= n ? (int32_t)t->classes : k == 1 ? t->ascii[s[at]] : tokenize_class(t, tokenize_decode(s + at, k));
		int32_t e = t->next[state * (t->classes + 1) + class];
		if (e & 1)
			best = (int64_t)at, *chars = count;
		if (at >= n || e < 2)
			return best;
		state = e / 2 - 1;
		if (state >= t->states)
			return -2;
		at += k;
	}
}

/* Tokens of string x into to, which has room for one each byte. How many; -1: it is not UTF-8, -2: the table is none. */
static int64_t tokenize_string(const struct tokenize *t, const struct native_string *x, int64_t least, struct tokenize_span *to)
{
	const unsigned char *s = (const unsigned char *)x->s;
	int64_t count = 0;

	for (size_t at = 0, k; at < x->n; at += k)
		if (!(k = tokenize_length(s + at, x->n - at)))
			return -1;
	for (size_t at = 0; at < x->n;) {
		int64_t chars = 0, end = tokenize_match(t, s, x->n, at, &chars);
		if (end == -2)
			return -2;
		if (end > (int64_t)at && chars >= least) {
			to[count++] = (struct tokenize_span){at, (size_t)end - at};
			at = (size_t)end;
		} else {
			at += tokenize_length(s + at, x->n - at);
		}
	}
	return count;
}

static const char *tokenize_read(const struct native *n, struct tokenize *t)
{
	const struct native_tensor *first = &n->in[1], *next = &n->in[2];

	if (n->in[0].type != NATIVE_STR || first->type != NATIVE_I32 || next->type != NATIVE_I32)
		return native_no_type();
	t->first = first->data, t->next = next->data;
	t->classes = native_count(first);
	if (next->rank != 2 || t->classes < 1 || next->dims[1] != t->classes + 1 || next->dims[0] < TOKENIZE_OTHER + 1)
		return "the tables do not fit";
	t->states = next->dims[0];
	for (int32_t c = 0; c < 128; c++)
		t->ascii[c] = tokenize_class(t, c);
	return NULL;
}

NATIVE const char *native_Tokenize(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_string *in = x->data;
	int64_t count = native_count(x), least = native_int(n, "least"), most = 0, dims[NATIVE_RANK_MAX], *tokens;
	const int mark = native_int(n, "mark") != 0;
	const char *why, *pad = native_str(n, "pad");
	struct tokenize_span *span, *to;
	struct native_string *y;
	struct tokenize t;
	size_t bytes = 0;

	if ((why = tokenize_read(n, &t)))
		return why;
	if (x->rank + 1 > NATIVE_RANK_MAX)
		return "the rank is too large";
	for (int64_t i = 0; i < count; i++)
		bytes += in[i].n;
	if (!(tokens = n->scratch(n, sizeof *tokens * (size_t)count)) || bytes > PTRDIFF_MAX / (4 * sizeof *span) ||
	    !(to = span = n->scratch(n, sizeof *span * bytes)))
		return native_no_room(n);
	for (int64_t i = 0; i < count; i++, to += tokens[i - 1]) {
		if ((tokens[i] = tokenize_string(&t, &in[i], least, to)) < 0)
			return tokens[i] == -1 ? "an element is not UTF-8" : "a state that is not there";
		most = tokens[i] > most ? tokens[i] : most;
	}
	for (int k = 0; k < x->rank; k++)
		dims[k] = x->dims[k];
	most = dims[x->rank] = most ? most + 2 * mark : 0;
	if (!(y = n->texts(n, 0, x->rank + 1, dims, 0)))
		return native_no_room(n);
	to = span;
	for (int64_t i = 0; i < count && most; i++) {
		struct native_string *end = y + most;
		if (mark)
			*y++ = (struct native_string){"\002", 1};
		for (int64_t k = 0; k < tokens[i]; k++, to++)
			*y++ = (struct native_string){in[i].s + to->at, to->n};
		if (mark)
			*y++ = (struct native_string){"\003", 1};
		while (y < end)
			*y++ = (struct native_string){pad, strlen(pad)};
	}
	return NULL;
}
