/* The rule's knobs: each is a sampling line, answered by who asks for the schedule or by the analytic model. */
#include <string.h>
#include "sched/rule.h"

/* The decision that is wanted for x, if x has it. */
static bool wanted(const struct samples *want, const struct sample *x, int64_t *out)
{
	for (size_t i = 0; want && i < want->n; i++) {
		const struct sample *w = &want->a[i];
		if (strcmp(w->name, x->name))
			continue;
		for (int k = 0; k < x->n; k++) {
			bool words = x->word && w->word;
			int64_t d = w->decision;
			if (words ? d >= 0 && d < w->n && !strcmp(w->word[d], x->word[k]) : d == x->choice[k]) {
				*out = x->choice[k];
				return true;
			}
		}
	}
	return false;
}

static const char *spell(struct rule *r, const struct sample *x, int64_t choice)
{
	return x->word ? x->word[choice] : arena_printf(&r->p->arena, "%lld", (long long)choice);
}

static const char *spell_line(struct rule *r, const struct sample *x)
{
	char *line = arena_printf(&r->p->arena, "%s = sample.choice", x->name);
	for (int i = 0; i < x->n; i++)
		line = arena_printf(&r->p->arena, "%s %s", line, spell(r, x, x->choice[i]));
	return arena_printf(&r->p->arena, "%s := %s", line, spell(r, x, x->decision));
}

static int64_t decide(struct rule *r, struct sample *x)
{
	x->name = sym_str(intern(x->name));
	x->decision = x->usual;
	wanted(r->want, x, &x->decision);
	rule_try(r, "%s", spell_line(r, x));
	vec_push(&r->met, *x);
	return x->decision;
}

int64_t rule_sample(struct rule *r, const char *name, const int64_t *choice, int n, int64_t usual)
{
	return decide(
		r, &(struct sample){
			   .name = name, .n = n, .usual = usual, .choice = arena_copy(&r->p->arena, choice, (size_t)n * sizeof *choice)});
}

int rule_word(struct rule *r, const char *name, const char *const *word, int n, int usual)
{
	int64_t *choice = ARENA_ARRAY(&r->p->arena, int64_t, n);
	const char **copy = ARENA_ARRAY(&r->p->arena, const char *, n);
	for (int i = 0; i < n; i++) {
		choice[i] = i;
		copy[i] = sym_str(intern(word[i]));
	}
	return (int)decide(r, &(struct sample){.name = name, .n = n, .usual = usual, .choice = choice, .word = copy});
}

bool rule_yes(struct rule *r, const char *name, bool usual)
{
	static const char *const word[] = {"no", "yes"};
	return rule_word(r, name, word, 2, usual) == 1;
}

/* Writes `line` in the place of x's line, the last that says so; "": takes the line out. */
static void replace_line(struct rule *r, const struct sample *x, const char *line)
{
	const char *old = spell_line(r, x), *at = strstr(r->text, old);
	size_t n = strlen(old) + (*line ? 0 : 1);
	for (const char *next = at; (next = strstr(next + 1, old));)
		at = next;
	r->text = arena_printf(&r->p->arena, "%.*s%s%s", (int)(at - r->text), r->text, line, at + n);
}

static size_t met_index(const struct rule *r, const char *name)
{
	size_t i = r->met.n;
	while (i-- > 0)
		if (!strcmp(r->met.a[i].name, name))
			break;
	return i;
}

void rule_settle(struct rule *r, const char *name, int64_t done)
{
	struct sample *x = &r->met.a[met_index(r, name)], was = *x;
	x->decision = done;
	replace_line(r, &was, spell_line(r, x));
	vec_push(&r->p->names, (struct loop_name){x->name, done, x->word ? x->word[done] : NULL});
}

void rule_drop(struct rule *r, const char *name)
{
	size_t i = met_index(r, name);
	replace_line(r, &r->met.a[i], "");
	memmove(&r->met.a[i], &r->met.a[i + 1], (r->met.n - i - 1) * sizeof *r->met.a);
	r->met.n--;
}
