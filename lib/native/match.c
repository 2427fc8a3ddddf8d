/* RegexFullMatch: strings that an automaton accepts as a whole, in time that is linear in them. */
#include "native/automaton.h"

/* Writes to *match whether the automaton accepts s; text that is not UTF-8 matches nothing. NULL, or why not. */
static const char *match_text(const struct automaton *t, const struct native_string *s, bool *match)
{
	const unsigned char *text = (const unsigned char *)s->s;
	int64_t state = AUTOMATON_FIRST;

	*match = false;
	for (size_t at = 0, k; at < s->n; at += k) {
		int32_t e;
		if (!(k = automaton_length(text + at, s->n - at)))
			return NULL;
		e = t->next[state * (t->classes + 1) + automaton_class_at(t, text, s->n, at)];
		if (e < 2)
			return NULL;
		state = e / 2 - 1;
		if (state >= t->states)
			return "a state that is not there";
	}
	*match = t->next[state * (t->classes + 1) + t->classes] & 1;
	return NULL;
}

NATIVE const char *native_RegexFullMatch(struct native *n)
{
	const struct native_tensor *x = &n->in[0];
	const struct native_attr *first = native_attr(n, "first"), *next = native_attr(n, "next");
	const struct native_string *in = x->data;
	struct automaton t;
	const char *why;
	bool *y;

	if (x->type != NATIVE_STR || !first || !first->tensor || !next || !next->tensor)
		return native_no_type();
	if ((why = automaton_read(first->tensor, next->tensor, &t)))
		return why;
	if (!(y = n->room(n, 0, NATIVE_BOOL, x->rank, x->dims)))
		return native_no_room(n);
	for (int64_t i = 0; i < native_count(x) && !why; i++)
		why = match_text(&t, &in[i], &y[i]);
	return why;
}
