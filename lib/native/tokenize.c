/* Tokenize: the longest matches of an automaton (lib/op/regex.h has its tables), from the left, in strings of UTF-8; or what lies between the
 * matches of several, each of which cuts the pieces that those before it leave. */
#include "native/automaton.h"

/* A token, in its string. */
struct tokenize_span {
	size_t at, n;
};

/* A call, and the text at hand: a string or a piece of one. */
struct tokenize_text {
	struct native *n;
	bool cut; /* by matches of all the automata; else matches of the one are the tokens */
	int nautomata;
	struct automaton *automata;
	int64_t least;               /* characters of a token */
	size_t longest;              /* bytes of the longest string */
	int64_t states;              /* of the largest automaton */
	struct tokenize_span *spare; /* room for the pieces of a string */
	const struct automaton *t;
	const unsigned char *s;
	size_t size, steps; /* bytes of the text; steps that were taken through the automaton */
	/* NULL, or for each place 1 + the end of the longest match from there (0: none), and the number of characters before it. */
	size_t *end, *chars;
	size_t *room, *row[2]; /* scratch of tokenize_all */
};

static int tokenize_kind(const unsigned char *s, size_t at)
{
	unsigned char c;

	if (!at)
		return AUTOMATON_FIRST;
	c = s[at - 1];
	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'))
		return AUTOMATON_WORD;
	return c == '\n' ? AUTOMATON_LINE : AUTOMATON_OTHER;
}

/* One step back, to place `at`: row[0] becomes what `end` says of each state there, from row[1], which says it of the place after. false: a state
 * that is not there. */
static bool tokenize_back(struct tokenize_text *x, size_t at)
{
	const struct automaton *t = x->t;
	const int32_t *e = t->next + automaton_class_at(t, x->s, x->size, at);

	for (int64_t i = 0; i < t->states; i++, e += t->classes + 1) {
		int64_t to = *e / 2 - 1;
		if (*e < 0 || to >= t->states)
			return false;
		size_t after = at < x->size && to >= 0 ? x->row[1][to] : 0;
		x->row[0][i] = after ? after : *e & 1 ? at + 1 : 0;
	}
	return true;
}

/* Works out the matches from all places, from the end of the text, in time that is linear in it whatever the automaton. NULL, or why not. */
static const char *tokenize_all(struct tokenize_text *x)
{
	const size_t places = x->longest + 1;
	size_t at = x->size, count = 0;

	if (!x->room && !(x->room = x->n->scratch(x->n, sizeof *x->room * 2 * (places + (size_t)x->states))))
		return native_no_room(x->n);
	x->end = x->room, x->chars = x->end + places;
	x->row[0] = x->chars + places, x->row[1] = x->row[0] + x->states;
	for (;;) {
		size_t *row = x->row[0];
		if (!tokenize_back(x, at))
			return "a state that is not there";
		x->end[at] = row[tokenize_kind(x->s, at)];
		if (!at)
			break;
		do
			at--;
		while ((x->s[at] & 0xc0) == 0x80);
		x->row[0] = x->row[1], x->row[1] = row;
	}
	for (at = 0; at < x->size; at += automaton_length(x->s + at, x->size - at))
		x->chars[at] = count++;
	x->chars[x->size] = count;
	return NULL;
}

/* The end of the longest match from `at` on, and its characters; -1: there is none, -2: a state that is not there. The text is UTF-8. */
static int64_t tokenize_match(struct tokenize_text *x, size_t at, int64_t *chars)
{
	const struct automaton *t = x->t;
	int64_t best = -1, state = tokenize_kind(x->s, at), count = 0;

	if (x->end) {
		best = (int64_t)x->end[at] - 1;
		*chars = best < 0 ? 0 : (int64_t)(x->chars[best] - x->chars[at]);
		return best;
	}
	for (;; count++, x->steps++) {
		int32_t e = t->next[state * (t->classes + 1) + automaton_class_at(t, x->s, x->size, at)];
		if (e & 1)
			best = (int64_t)at, *chars = count;
		if (at >= x->size || e < 2)
			return best;
		state = e / 2 - 1;
		if (state >= t->states)
			return -2;
		at += automaton_length(x->s + at, x->size - at);
	}
}

/* The first match from *at on that is not empty, and its characters; where there is none, *at is the end. NULL, or why not. Where matches that come
 * to nothing have taken as many steps as working all out would, that is done. */
static const char *tokenize_next(struct tokenize_text *x, size_t *at, size_t *end, int64_t *chars)
{
	const char *why = NULL;

	for (; *at < x->size; *at += automaton_length(x->s + *at, x->size - *at)) {
		if (!x->end && x->steps / (size_t)x->t->states > x->size && (why = tokenize_all(x)))
			return why;
		int64_t is = tokenize_match(x, *at, chars);
		if (is == -2)
			return "a state that is not there";
		if (is > (int64_t)*at) {
			*end = (size_t)is;
			return NULL;
		}
	}
	*end = *at;
	return NULL;
}

static int64_t tokenize_chars(const unsigned char *s, size_t n)
{
	int64_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += (s[i] & 0xc0) != 0x80;
	return count;
}

/* Matches of at least that many characters in the text, which begins at `at` in its string, into to[*count] and on. */
static const char *tokenize_matches(struct tokenize_text *x, struct tokenize_span *to, int64_t *count)
{
	const char *why;

	for (size_t at = 0, end; at < x->size;) {
		int64_t chars = 0;
		if ((why = tokenize_next(x, &at, &end, &chars)))
			return why;
		if (end > at && chars >= x->least) {
			to[(*count)++] = (struct tokenize_span){at, end - at};
			at = end;
		} else if (end > at) {
			at += automaton_length(x->s + at, x->size - at);
		}
	}
	return NULL;
}

/* Text of a piece that lies between the matches in it; the piece begins at `from` in its string. */
static const char *tokenize_between(struct tokenize_text *x, size_t from, struct tokenize_span *to, int64_t *count)
{
	const char *why;

	for (size_t start = 0, at, end; start < x->size; start = end) {
		int64_t chars;
		at = start;
		if ((why = tokenize_next(x, &at, &end, &chars)))
			return why;
		if (tokenize_chars(x->s + start, at - start) >= x->least)
			to[(*count)++] = (struct tokenize_span){from + start, at - start};
	}
	return NULL;
}

/* Tokens of a string into `to`, which has room for one each byte: how many. */
static const char *tokenize_string(struct tokenize_text *x, const struct native_string *in, struct tokenize_span *to, int64_t *count)
{
	const unsigned char *s = (const unsigned char *)in->s;
	const char *why = NULL;

	*count = 0;
	for (size_t at = 0, k; at < in->n; at += k)
		if (!(k = automaton_length(s + at, in->n - at)))
			return "an element is not UTF-8";
	if (in->n)
		to[(*count)++] = (struct tokenize_span){0, in->n};
	for (int i = 0; i < x->nautomata && !why; i++) {
		int64_t pieces = *count;
		if (pieces)
			memcpy(x->spare, to, sizeof *to * (size_t)pieces);
		*count = 0;
		for (int64_t k = 0; k < pieces && !why; k++) {
			x->t = &x->automata[i], x->s = s + x->spare[k].at, x->size = x->spare[k].n, x->steps = 0, x->end = NULL;
			why = x->cut ? tokenize_between(x, x->spare[k].at, to, count) : tokenize_matches(x, to, count);
		}
	}
	return why;
}

/* Reads the automaton of operands i and i + 1. */
static const char *tokenize_read(const struct native *n, int i, struct automaton *t)
{
	return n->in[0].type == NATIVE_STR ? automaton_read(&n->in[i], &n->in[i + 1], t) : native_no_type();
}

/* Writes the result from the tokens of all strings, of which the widest have `most`. */
static const char *tokenize_write(struct native *n, const struct tokenize_span *to, const int64_t *tokens, int64_t most)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_string *in = x->data;
	const int mark = native_int(n, "mark") != 0;
	const char *pad = native_str(n, "pad");
	int64_t count = native_count(x), dims[NATIVE_RANK_MAX];
	struct native_string *y;

	for (int k = 0; k < x->rank; k++)
		dims[k] = x->dims[k];
	most = dims[x->rank] = most ? most + 2 * mark : 0;
	if (!(y = n->texts(n, 0, x->rank + 1, dims, 0)))
		return native_no_room(n);
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

/* Reads all automata, and what strings there are. */
static const char *tokenize_begin(struct native *n, struct tokenize_text *x, size_t *bytes)
{
	const struct native_string *in = n->in[0].data;
	const char *why;

	*x = (struct tokenize_text){
		.n = n, .cut = native_int(n, "separators") != 0, .nautomata = (n->nin - 1) / 2, .least = native_int(n, "least")};
	if (x->nautomata < 1 || n->nin != 1 + 2 * x->nautomata || (x->nautomata > 1 && !x->cut))
		return "the tables do not fit";
	if (!(x->automata = n->scratch(n, sizeof *x->automata * (size_t)x->nautomata)))
		return native_no_room(n);
	for (int i = 0; i < x->nautomata; i++) {
		if ((why = tokenize_read(n, 1 + 2 * i, &x->automata[i])))
			return why;
		x->states = x->automata[i].states > x->states ? x->automata[i].states : x->states;
	}
	if (n->in[0].rank + 1 > NATIVE_RANK_MAX)
		return "the rank is too large";
	*bytes = 0;
	for (int64_t i = 0; i < native_count(&n->in[0]); i++) {
		*bytes += in[i].n;
		x->longest = in[i].n > x->longest ? in[i].n : x->longest;
	}
	return *bytes > PTRDIFF_MAX / (8 * sizeof(struct tokenize_span)) ? "the strings are too long" : NULL;
}

NATIVE const char *native_Tokenize(struct native *n)
{
	const struct native_string *in = n->in[0].data;
	int64_t count = native_count(&n->in[0]), most = 0, *tokens;
	struct tokenize_span *span, *to;
	struct tokenize_text x;
	const char *why;
	size_t bytes;

	if ((why = tokenize_begin(n, &x, &bytes)))
		return why;
	tokens = n->scratch(n, sizeof *tokens * (size_t)count);
	span = to = n->scratch(n, sizeof *span * (bytes + x.longest));
	if (!tokens || !span)
		return native_no_room(n);
	x.spare = span + bytes;
	for (int64_t i = 0; i < count; i++, to += tokens[i - 1]) {
		if ((why = tokenize_string(&x, &in[i], to, &tokens[i])))
			return why;
		most = tokens[i] > most ? tokens[i] : most;
	}
	return tokenize_write(n, span, tokens, most);
}
