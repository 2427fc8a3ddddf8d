/* From the program of a regular expression to an automaton, by sets of instructions (Rabin and Scott 1959). What asserts looks at the characters
 * before and after: a state knows the kind of the one before. */
#include <stdlib.h>
#include <string.h>
#include <wctype.h>
#include "common/utf8.h"
#include "common/vec.h"
#include "op/regex_impl.h"

enum { STATES_MAX = 1000, ENTRIES_MAX = 1 << 20, STEPS_MAX = 1 << 27, NO_CHARACTER = -2 };

struct state {
	int kind; /* REGEX_FIRST, ... */
	uint32_t *code, n;
};

struct builder {
	const struct regex *r;
	struct arena *a;
	struct ways ways;
	VEC(int32_t) first, cased; /* of the classes; characters that have another case */
	VEC(struct state) states;
	uint32_t *step;
	locale_t l;
};

static int kind_of(int32_t c) { return regex_is_word(c) ? REGEX_WORD : c == '\n' ? REGEX_LINE : REGEX_OTHER; }
static int32_t character_of(int kind)
{
	return kind == REGEX_FIRST ? NO_CHARACTER : kind == REGEX_WORD ? 'a' : kind == REGEX_LINE ? '\n' : ' ';
}

static int ascending(const void *x, const void *y)
{
	int32_t a = *(const int32_t *)x, b = *(const int32_t *)y;

	return (a > b) - (a < b);
}

static void find_cased(struct builder *b)
{
	for (int32_t c = 0; c <= UTF8_LAST; c++)
		if (b->l ? towlower_l((wint_t)c, b->l) != (wint_t)c || towupper_l((wint_t)c, b->l) != (wint_t)c : regex_is_word(c))
			vec_push(&b->cased, c);
}

static void add_set(struct builder *b, const struct set *s)
{
	for (size_t i = 0; i < s->n; i++) {
		vec_push(&b->first, s->range[i].lo);
		vec_push(&b->first, s->range[i].hi + 1);
	}
	if (!s->fold)
		return;
	if (!b->cased.n)
		find_cased(b);
	b->ways.steps += b->cased.n * s->n;
	for (size_t i = 0; i < b->cased.n; i++)
		for (int32_t c = b->cased.a[i]; c <= b->cased.a[i] + 1; c++)
			if (c && c <= UTF8_LAST && regex_in_set(s, c, b->l) != regex_in_set(s, c - 1, b->l))
				vec_push(&b->first, c);
}

/* Characters of a class are in the same sets, and of one kind. */
static void find_classes(struct builder *b)
{
	static const int32_t kinds[] = {0, '\n', '\n' + 1, '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a', 'z' + 1};
	size_t kept = 0;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		vec_push(&b->first, kinds[i]);
	for (size_t k = 0; k < b->r->nset && b->ways.steps <= STEPS_MAX; k++)
		add_set(b, &b->r->set[k]);
	qsort(b->first.a, b->first.n, sizeof *b->first.a, ascending);
	for (size_t i = 0; i < b->first.n; i++)
		if (b->first.a[i] <= UTF8_LAST && (!kept || b->first.a[i] != b->first.a[kept - 1]))
			b->first.a[kept++] = b->first.a[i];
	b->first.n = kept;
}

/* The number of the state with these instructions, in ascending order. */
static int32_t state_of(struct builder *b, int kind, const uint32_t *code, uint32_t n)
{
	for (size_t i = 0; i < b->states.n; i++)
		if (b->states.a[i].kind == kind && b->states.a[i].n == n && !memcmp(b->states.a[i].code, code, n * sizeof *code))
			return (int32_t)i;
	vec_push(&b->states, ((struct state){kind, arena_copy(b->a, code, n * sizeof *code), n}));
	return (int32_t)b->states.n - 1;
}

/* The table entry of state s and character c: the next state, and whether a match ends before c. */
static int32_t entry(struct builder *b, struct state s, int32_t c)
{
	uint32_t n = 0, kept = 0;
	int32_t match = 0;

	b->ways.n = 0;
	b->ways.round++;
	for (uint32_t k = 0; k < s.n; k++)
		regex_follow(b->r, &b->ways, s.code[k], character_of(s.kind), c);
	for (uint32_t k = 0; k < b->ways.n; k++) {
		const struct code *at = &b->r->code[b->ways.list[k]];
		match |= at->what == MATCH;
		b->ways.steps += at->what == STEP ? b->r->set[at->x].n : 0;
		if (c >= 0 && at->what == STEP && regex_in_set(&b->r->set[at->x], c, b->l))
			b->step[n++] = b->ways.list[k] + 1;
	}
	if (!n)
		return match;
	qsort(b->step, n, sizeof *b->step, ascending);
	for (uint32_t k = 0; k < n; k++)
		if (!kept || b->step[k] != b->step[kept - 1])
			b->step[kept++] = b->step[k];
	return 2 * (1 + state_of(b, kind_of(c), b->step, kept)) + match;
}

static bool build(struct builder *b, struct regex_table *t)
{
	VEC(int32_t) next = {0};
	bool fits = true;

	find_classes(b);
	for (int kind = REGEX_FIRST; kind <= REGEX_OTHER; kind++)
		state_of(b, kind, &(uint32_t){0}, 1);
	for (size_t s = 0; s < b->states.n && fits; s++) {
		for (size_t c = 0; c <= b->first.n && b->ways.steps <= STEPS_MAX; c++)
			vec_push(&next, entry(b, b->states.a[s], c < b->first.n ? b->first.a[c] : NO_CHARACTER));
		fits = b->states.n <= STATES_MAX && next.n <= ENTRIES_MAX && b->ways.steps <= STEPS_MAX;
	}
	*t = (struct regex_table){(int64_t)b->first.n, (int64_t)b->states.n, arena_copy(b->a, b->first.a, b->first.n * sizeof *b->first.a),
				  arena_copy(b->a, next.a, next.n * sizeof *next.a)};
	vec_free(&next);
	return fits;
}

bool regex_table(const struct regex *r, struct arena *a, struct regex_table *t)
{
	struct builder b = {.r = r, .a = a};

	b.ways.list = ARENA_ARRAY(a, uint32_t, r->ncode);
	b.ways.seen = ARENA_ARRAY(a, uint32_t, r->ncode);
	b.ways.stack = ARENA_ARRAY(a, uint32_t, 2 * r->ncode + 2);
	b.step = ARENA_ARRAY(a, uint32_t, r->ncode + 1);
	b.l = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0);
	bool fits = build(&b, t);
	if (b.l)
		freelocale(b.l);
	vec_free(&b.first);
	vec_free(&b.cased);
	vec_free(&b.states);
	return fits;
}
