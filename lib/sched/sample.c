/* Samples: each is a line of the trace, decided by who asks for the schedule or by the analytic model. */
#include <assert.h>
#include <string.h>
#include "sched/template.h"

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

static const char *spell(const struct sample *x, int64_t choice) { return x->word ? x->word[choice] : trace_number(choice); }

static struct trace_line sample_line(struct schedule *r, const struct sample *x)
{
	const char **choice = ARENA_ARRAY(&r->p->arena, const char *, x->n);

	for (int i = 0; i < x->n; i++)
		choice[i] = spell(x, x->choice[i]);
	return trace_choice(&r->p->arena, x->name, x->n, choice, spell(x, x->decision));
}

static int64_t decide(struct schedule *r, struct sample *x)
{
	x->name = sym_str(intern(x->name));
	x->decision = x->usual;
	wanted(r->want, x, &x->decision);
	vec_push(&r->met, *x);
	sched_apply(r, sample_line(r, x));
	return x->decision;
}

int64_t sched_sample(struct schedule *r, const char *name, const int64_t *choice, int n, int64_t usual)
{
	return decide(
		r, &(struct sample){
			   .name = name, .n = n, .usual = usual, .choice = arena_copy(&r->p->arena, choice, (size_t)n * sizeof *choice)});
}

int sched_word(struct schedule *r, const char *name, const char *const *word, int n, int usual)
{
	int64_t *choice = ARENA_ARRAY(&r->p->arena, int64_t, n);
	const char **copy = ARENA_ARRAY(&r->p->arena, const char *, n);
	for (int i = 0; i < n; i++) {
		choice[i] = i;
		copy[i] = sym_str(intern(word[i]));
	}
	return (int)decide(r, &(struct sample){.name = name, .n = n, .usual = usual, .choice = choice, .word = copy});
}

bool sched_yes(struct schedule *r, const char *name, bool usual)
{
	static const char *const word[] = {"no", "yes"};
	return sched_word(r, name, word, 2, usual) == 1;
}

/* The last sample of that name, and its line. */
static struct sample *last_met(struct schedule *r, const char *name, size_t *line)
{
	size_t i = r->met.n, k = r->trace.n;

	name = sym_str(intern(name));
	while (i > 0 && r->met.a[i - 1].name != name)
		i--;
	while (k > 0 && !(r->trace.a[k - 1].prim == PRIM_SAMPLE_CHOICE && r->trace.a[k - 1].res[0] == name))
		k--;
	assert(i > 0 && k > 0);
	*line = k - 1;
	return &r->met.a[i - 1];
}

void sched_settle(struct schedule *r, const char *name, int64_t done)
{
	size_t line;
	struct sample *x = last_met(r, name, &line);

	x->decision = done;
	trace_set_decision(&r->p->arena, &r->trace.a[line], spell(x, done));
	vec_push(&r->p->names, (struct loop_name){x->name, done, x->word ? x->word[done] : NULL});
}

void sched_drop(struct schedule *r, const char *name)
{
	size_t line;
	struct sample *x = last_met(r, name, &line);

	r->met.n--;
	memmove(x, x + 1, (size_t)(&r->met.a[r->met.n] - x) * sizeof *x);
	r->trace.n--;
	memmove(&r->trace.a[line], &r->trace.a[line + 1], (r->trace.n - line) * sizeof *r->trace.a);
}
