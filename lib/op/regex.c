/* A parser of RE2's syntax and Thompson's simulation of all ways at once (Thompson 1968), over code points. */
#include "op/regex_impl.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>
#include "common/shown.h"
#include "common/utf8.h"
#include "common/vec.h"

enum { REPEAT_MAX = 1000, DEEPEST = 1000, PROGRAM_MAX = 200000, LAST_POINT = 0x10ffff };
enum { FOLD = 1, LINES = 2, DOT_NEWLINE = 4 }; /* flags: i, m, s */
struct parser {
	VEC(struct code) code;
	VEC(struct set) sets;
	struct arena *a;
	const char *s, *end;
	int flags, depth;
	const char *why;
};

/* ---- sets ---- */

static void add_range(struct parser *p, struct set *s, int32_t lo, int32_t hi)
{
	if (s->n == s->cap) {
		struct range *more = ARENA_ARRAY(p->a, struct range, s->cap = s->cap * 2 + 4);
		if (s->n)
			memcpy(more, s->range, s->n * sizeof *more);
		s->range = more;
	}
	s->range[s->n++] = (struct range){lo, hi};
}

static int compare_ranges(const void *x, const void *y)
{
	const struct range *a = x, *b = y;

	return (a->lo > b->lo) - (a->lo < b->lo);
}

/* Adds what is, or with `not` what is not, in the n ranges. */
static void add_ranges(struct parser *p, struct set *s, const struct range *range, size_t n, bool not )
{
	struct range *sorted = arena_copy(p->a, range, n * sizeof *range);
	int32_t next = 0;

	if (n)
		qsort(sorted, n, sizeof *sorted, compare_ranges);
	for (size_t i = 0; i < n; i++) {
		if (!not )
			add_range(p, s, sorted[i].lo, sorted[i].hi);
		else if (sorted[i].lo > next)
			add_range(p, s, next, sorted[i].lo - 1);
		next = sorted[i].hi >= next ? sorted[i].hi + 1 : next;
	}
	if (not &&next <= LAST_POINT)
		add_range(p, s, next, LAST_POINT);
}

static const struct named {
	const char *name; /* of [:name:], or the letter behind a backslash */
	struct range range[8];
} named[] = {
	{"d", {{'0', '9'}}},
	{"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}},
	{"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
	{"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
	{"alpha", {{'A', 'Z'}, {'a', 'z'}}},
	{"ascii", {{0, 127}}},
	{"blank", {{'\t', '\t'}, {' ', ' '}}},
	{"cntrl", {{0, 31}, {127, 127}}},
	{"digit", {{'0', '9'}}},
	{"graph", {{'!', '~'}}},
	{"lower", {{'a', 'z'}}},
	{"print", {{' ', '~'}}},
	{"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
	{"space", {{'\t', '\r'}, {' ', ' '}}},
	{"upper", {{'A', 'Z'}}},
	{"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
	{"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
};

static bool add_named(struct parser *p, struct set *s, const char *name, size_t length, bool not )
{
	for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
		size_t n = 0;
		if (strlen(named[i].name) != length || memcmp(named[i].name, name, length))
			continue;
		while (n < 8 && named[i].range[n].hi)
			n++;
		add_ranges(p, s, named[i].range, n, not );
		return true;
	}
	return false;
}

static bool in_ranges(const struct set *s, int32_t c)
{
	for (size_t i = 0; i < s->n; i++)
		if (c >= s->range[i].lo && c <= s->range[i].hi)
			return true;
	return false;
}

bool regex_in_set(const struct set *s, int32_t c, locale_t l)
{
	bool in = in_ranges(s, c);

	if (c < 0)
		return false;
	if (s->fold && !in && l)
		in = in_ranges(s, (int32_t)towlower_l((wint_t)c, l)) || in_ranges(s, (int32_t)towupper_l((wint_t)c, l));
	else if (s->fold && !in && c < 128)
		in = in_ranges(s, c >= 'a' && c <= 'z' ? c - 32 : c >= 'A' && c <= 'Z' ? c + 32 : c);
	return in != s->not ;
}

/* ---- the program ---- */

static void fail(struct parser *p, const char *why)
{
	if (!p->why)
		p->why = why;
	p->s = p->end;
}

static uint32_t here(const struct parser *p) { return (uint32_t)p->code.n; }

static uint32_t emit(struct parser *p, enum instruction what, uint32_t x, uint32_t y)
{
	if (p->code.n >= PROGRAM_MAX)
		fail(p, "it is too large");
	else
		vec_push(&p->code, (struct code){what, x, y});
	return here(p) - 1;
}

static void emit_set(struct parser *p, struct set s)
{
	s.fold = p->flags & FOLD;
	vec_push(&p->sets, s);
	emit(p, STEP, (uint32_t)p->sets.n - 1, 0);
}

static void emit_char(struct parser *p, int32_t c)
{
	struct set s = {0};

	add_range(p, &s, c, c);
	emit_set(p, s);
}

/* Moves code[from .. here) by one, for an instruction before it. */
static void insert(struct parser *p, uint32_t from, struct code c)
{
	emit(p, MATCH, 0, 0);
	if (p->why)
		return;
	struct code *a = p->code.a;
	memmove(a + from + 1, a + from, (here(p) - 1 - from) * sizeof *a);
	a[from] = c;
	for (uint32_t i = from + 1; i < here(p); i++) {
		if (a[i].what == SPLIT || a[i].what == JUMP)
			a[i].x += a[i].x >= from;
		if (a[i].what == SPLIT)
			a[i].y += a[i].y >= from;
	}
}

/* The piece from `from` on becomes at least `min` and at most `max` (negative: any number) of it. */
static void repeat(struct parser *p, uint32_t from, int min, int max)
{
	uint32_t end = here(p), piece = end - from, ends[REPEAT_MAX + 1], n = 0;
	struct code *unit = xmalloc((piece + 1) * sizeof *unit);

	if (piece)
		memcpy(unit, p->code.a + from, piece * sizeof *unit);
	p->code.n = from;
	for (int i = 0; (i < min || (max < 0 && i == min) || i < max) && !p->why; i++) {
		uint32_t split = i >= min ? emit(p, SPLIT, here(p) + 1, 0) : 0, at = here(p), by = at - from;
		for (uint32_t k = 0; k < piece; k++) {
			struct code c = unit[k];
			emit(p, c.what, c.what == SPLIT || c.what == JUMP ? c.x + by : c.x, c.what == SPLIT ? c.y + by : c.y);
		}
		if (i < min || p->why)
			continue;
		ends[n++] = split;
		if (max < 0)
			emit(p, JUMP, split, 0);
	}
	for (uint32_t i = 0; i < n && !p->why; i++)
		p->code.a[ends[i]].y = here(p);
	free(unit);
}

/* ---- the parser ---- */

static bool more(const struct parser *p) { return p->s < p->end; }
static bool next_is(const struct parser *p, char c) { return more(p) && *p->s == c; }

static bool take(struct parser *p, const char *s)
{
	size_t n = strlen(s);

	if ((size_t)(p->end - p->s) < n || memcmp(p->s, s, n))
		return false;
	p->s += n;
	return true;
}

static int32_t take_char(struct parser *p)
{
	int k = utf8_length(p->s, (size_t)(p->end - p->s));

	if (!k) {
		fail(p, "it is not UTF-8");
		return 0;
	}
	p->s += k;
	return (int32_t)utf8_decode(p->s - k, k);
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99; }

/* Digits of a base, up to most of them. */
static int32_t take_number(struct parser *p, int base, int most)
{
	int32_t v = 0;
	int n = 0;

	for (; more(p) && n < most && digit(*p->s) < base; n++)
		v = v > LAST_POINT ? v : v * base + digit(*p->s++);
	if (!n || v > LAST_POINT)
		fail(p, "a number in it is none, or too large");
	return v;
}

/* The character that an escape stands for, behind its backslash. */
static int32_t take_escape(struct parser *p)
{
	static const char names[] = "aftnrv", chars[] = "\a\f\t\n\r\v";
	char c = *p->s;
	const char *at = strchr(names, c);

	if (c == 'x') {
		p->s++;
		if (!take(p, "{"))
			return take_number(p, 16, 2);
		int32_t v = take_number(p, 16, 8);
		if (!take(p, "}"))
			fail(p, "\\x{ without }");
		return v;
	}
	if (c == '0' || (c >= '1' && c <= '7' && p->end - p->s > 1 && digit(p->s[1]) < 8))
		return take_number(p, 8, 3);
	if (c && at) {
		p->s++;
		return chars[at - names];
	}
	if ((c & 128) || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_')
		fail(p, c == 'p' || c == 'P' || c == 'C' ? "\\p, \\P and \\C are not supported" : "an escape in it is unknown");
	else
		p->s++;
	return c;
}

/* \d, \s, \w and their opposites, behind the backslash. */
static bool take_class(struct parser *p, struct set *s)
{
	char low = more(p) ? (char)(*p->s | 32) : 0;

	if ((low != 'd' && low != 's' && low != 'w') || !add_named(p, s, &low, 1, *p->s != low))
		return false;
	p->s++;
	return true;
}

/* One element of brackets: a class, or the first of a range. */
static void take_element(struct parser *p, struct set *s)
{
	const char *close;
	int32_t lo, hi;

	if (take(p, "[:")) {
		bool not = take(p, "^");
		for (close = p->s; close + 1 < p->end && (close[0] != ':' || close[1] != ']');)
			close++;
		if (close + 1 >= p->end || close - p->s < 2 || !add_named(p, s, p->s, (size_t)(close - p->s), not ))
			fail(p, "a class [:...:] in it is unknown");
		else
			p->s = close + 2;
		return;
	}
	bool escaped = take(p, "\\");
	if (escaped && (!more(p) || take_class(p, s))) {
		if (!more(p))
			fail(p, "[ without ]");
		return;
	}
	lo = hi = escaped ? take_escape(p) : take_char(p);
	if (p->end - p->s > 1 && *p->s == '-' && p->s[1] != ']') {
		p->s++;
		hi = !take(p, "\\") ? take_char(p) : more(p) ? take_escape(p) : 0;
	}
	if (hi < lo)
		fail(p, "a range in it goes down");
	else
		add_range(p, s, lo, hi);
}

static void take_brackets(struct parser *p)
{
	struct set s = {.not = take(p, "^")};

	for (bool first = true; !next_is(p, ']') || first; first = false) {
		if (!more(p)) {
			fail(p, "[ without ]");
			return;
		}
		take_element(p, &s);
	}
	p->s++;
	emit_set(p, s);
}

static void take_alternatives(struct parser *p);

/* Flags behind "(?", up to ")" or ":"; false: there are others. */
static bool take_flags(struct parser *p)
{
	static const char names[] = "ims";
	bool off = false;

	for (; more(p) && *p->s != ')' && *p->s != ':'; p->s++) {
		const char *at = strchr(names, *p->s);
		if (*p->s == '-' && !off)
			off = true;
		else if (at && *at)
			p->flags = off ? p->flags & ~(1 << (at - names)) : p->flags | 1 << (at - names);
		else if (*p->s != 'U') /* which way is tried first does not matter */
			return false;
	}
	return more(p);
}

static void take_group(struct parser *p)
{
	int flags = p->flags;

	if (p->depth++ > DEEPEST)
		fail(p, "it is nested too deep");
	if (take(p, "?P<") || take(p, "?<")) {
		while (more(p) && *p->s != '>')
			p->s++;
		if (!take(p, ">"))
			fail(p, "(?P< without >");
	} else if (take(p, "?")) {
		if (!take_flags(p))
			fail(p, "(? is followed by what is no flag");
		else if (take(p, ")")) { /* for the rest of the group around it */
			p->depth--;
			return;
		} else {
			p->s++;
		}
	}
	take_alternatives(p);
	p->flags = flags;
	p->depth--;
	if (!take(p, ")"))
		fail(p, "( without )");
}

static void take_backslash(struct parser *p)
{
	struct set s = {0};

	if (!more(p))
		fail(p, "it ends in \\");
	else if (take_class(p, &s))
		emit_set(p, s);
	else if (take(p, "A"))
		emit(p, ASSERT, TEXT_BEGIN, 0);
	else if (take(p, "z"))
		emit(p, ASSERT, TEXT_END, 0);
	else if (take(p, "b"))
		emit(p, ASSERT, WORD_EDGE, 0);
	else if (take(p, "B"))
		emit(p, ASSERT, NO_WORD_EDGE, 0);
	else
		emit_char(p, take_escape(p));
}

/* \Q...\E: all but the last character, which a repetition is of. */
static uint32_t take_quoted(struct parser *p)
{
	uint32_t last = here(p);

	while (more(p) && !take(p, "\\E")) {
		last = here(p);
		emit_char(p, take_char(p));
	}
	return last;
}

static void take_atom(struct parser *p)
{
	struct set newline = {.not = !(p->flags & DOT_NEWLINE)};

	if (take(p, "("))
		take_group(p);
	else if (take(p, "["))
		take_brackets(p);
	else if (take(p, "\\"))
		take_backslash(p);
	else if (take(p, "^"))
		emit(p, ASSERT, p->flags & LINES ? LINE_BEGIN : TEXT_BEGIN, 0);
	else if (take(p, "$"))
		emit(p, ASSERT, p->flags & LINES ? LINE_END : TEXT_END, 0);
	else if (take(p, ".")) {
		add_range(p, &newline, newline.not ? '\n' : 0, newline.not ? '\n' : LAST_POINT);
		emit_set(p, newline);
	} else if (next_is(p, '*') || next_is(p, '+') || next_is(p, '?'))
		fail(p, "there is nothing before a repetition");
	else
		emit_char(p, take_char(p));
}

/* {n}, {n,} and {n,m}; false: { stands for itself. */
static bool take_counts(struct parser *p, int *min, int *max)
{
	const char *start = p->s++;
	int v[2] = {-1, -1}, k = 0;

	for (; more(p) && *p->s != '}' && k < 2; p->s++) {
		if (*p->s == ',' && v[0] >= 0 && !k)
			k = 1;
		else if (*p->s >= '0' && *p->s <= '9')
			v[k] = (v[k] < 0 ? 0 : v[k] > REPEAT_MAX ? v[k] : v[k] * 10) + (*p->s - '0');
		else
			break;
	}
	if (v[0] < 0 || !take(p, "}")) {
		p->s = start;
		return false;
	}
	*min = v[0];
	*max = k ? v[1] : v[0];
	if (*min > REPEAT_MAX || *max > REPEAT_MAX || (*max >= 0 && *max < *min))
		fail(p, "a repetition is of more than 1000 times, or of none");
	return true;
}

static bool take_repetition(struct parser *p, int *min, int *max)
{
	*min = *max = -1;
	if (next_is(p, '{')) {
		if (!take_counts(p, min, max))
			return false;
	} else if (take(p, "*") || take(p, "+") || take(p, "?")) {
		*min = p->s[-1] == '+';
		*max = p->s[-1] == '?' ? 1 : -1;
	} else {
		return false;
	}
	take(p, "?");
	if (next_is(p, '*') || next_is(p, '+') || next_is(p, '?'))
		fail(p, "a repetition of a repetition");
	return true;
}

static void take_pieces(struct parser *p)
{
	int min, max;

	while (more(p) && *p->s != '|' && *p->s != ')') {
		uint32_t from = here(p);
		if (take(p, "\\Q"))
			from = take_quoted(p);
		else
			take_atom(p);
		if (!p->why && take_repetition(p, &min, &max) && !p->why)
			repeat(p, from, min, max);
	}
}

/* Where there is another alternative, a SPLIT goes before the one that was read, and a JUMP to the end behind it. */
static void take_alternatives(struct parser *p)
{
	VEC(uint32_t) jumps = {0};
	uint32_t from = here(p);

	take_pieces(p);
	while (take(p, "|")) {
		insert(p, from, (struct code){SPLIT, from + 1, 0});
		vec_push(&jumps, emit(p, JUMP, 0, 0));
		if (!p->why)
			p->code.a[from].y = here(p);
		from = here(p);
		take_pieces(p);
	}
	for (size_t i = 0; i < jumps.n && !p->why; i++)
		p->code.a[jumps.a[i]].x = here(p);
	vec_free(&jumps);
}

struct regex *regex_compile(const char *s, size_t n, struct arena *a, const char **why)
{
	struct parser p = {.a = a, .s = s, .end = s + n};
	struct regex *r = ARENA_NEW(a, struct regex);

	take_alternatives(&p);
	if (more(&p))
		fail(&p, ") without (");
	emit(&p, MATCH, 0, 0);
	*why = p.why;
	if (!p.why) {
		r->code = arena_copy(a, p.code.a, p.code.n * sizeof *r->code);
		r->set = arena_copy(a, p.sets.a, p.sets.n * sizeof *r->set);
		r->ncode = p.code.n;
		r->nset = p.sets.n;
	}
	vec_free(&p.code);
	vec_free(&p.sets);
	return p.why ? NULL : r;
}

/* ---- matching ---- */

bool regex_is_word(int32_t c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z'); }

/* -2: there is no character. */
static bool holds(enum assertion what, int32_t before, int32_t behind)
{
	switch (what) {
	case TEXT_BEGIN: return before == -2;
	case TEXT_END: return behind == -2;
	case LINE_BEGIN: return before == -2 || before == '\n';
	case LINE_END: return behind == -2 || behind == '\n';
	case WORD_EDGE: return regex_is_word(before) != regex_is_word(behind);
	default: return regex_is_word(before) == regex_is_word(behind);
	}
}

void regex_follow(const struct regex *r, struct ways *w, uint32_t k, int32_t before, int32_t behind)
{
	uint32_t depth = 0;

	for (w->stack[depth++] = k; depth;) {
		k = w->stack[--depth];
		w->steps++;
		if (w->seen[k] == w->round)
			continue;
		w->seen[k] = w->round;
		const struct code *c = &r->code[k];
		if (c->what == STEP || c->what == MATCH)
			w->list[w->n++] = k;
		else if (c->what != ASSERT)
			w->stack[depth++] = c->x;
		else if (holds((enum assertion)c->x, before, behind))
			w->stack[depth++] = k + 1;
		if (c->what == SPLIT)
			w->stack[depth++] = c->y;
	}
}

/* The code points of s; -1 for a byte that is of none. */
static int64_t points_of(const char *s, size_t n, int32_t *to)
{
	int64_t count = 0;

	for (int k; n; s += k, n -= (size_t)k) {
		k = utf8_length(s, n);
		to[count++] = k ? (int32_t)utf8_decode(s, k) : -1;
		k = k ? k : 1;
	}
	return count;
}

static bool run(const struct regex *r, const int32_t *c, int64_t n, struct ways *w, uint32_t *from, locale_t l)
{
	uint32_t nfrom = 1;

	from[0] = 0;
	for (int64_t i = 0;; i++) {
		int32_t before = i ? c[i - 1] : -2, behind = i < n ? c[i] : -2;
		w->n = 0;
		w->round++;
		for (uint32_t k = 0; k < nfrom; k++)
			regex_follow(r, w, from[k], before, behind);
		nfrom = 0;
		for (uint32_t k = 0; k < w->n; k++) {
			const struct code *at = &r->code[w->list[k]];
			if (i == n && at->what == MATCH)
				return true;
			if (i < n && at->what == STEP && regex_in_set(&r->set[at->x], behind, l))
				from[nfrom++] = w->list[k] + 1;
		}
		if (i == n || !nfrom)
			return false;
	}
}

bool regex_matches(const struct regex *r, const char *s, size_t n, struct arena *scratch)
{
	int32_t *c = ARENA_ARRAY(scratch, int32_t, n + 1);
	struct ways w = {
		.list = ARENA_ARRAY(scratch, uint32_t, r->ncode),
		.seen = ARENA_ARRAY(scratch, uint32_t, r->ncode),
		.stack = ARENA_ARRAY(scratch, uint32_t, 2 * r->ncode + 2),
	};
	locale_t l = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0);
	bool matches = run(r, c, points_of(s, n, c), &w, ARENA_ARRAY(scratch, uint32_t, r->ncode + 1), l);

	if (l)
		freelocale(l);
	return matches;
}
