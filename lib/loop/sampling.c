/* The sampling lines of recorded traces. */
#include "loop/sampling.h"
#include <stdlib.h>
#include <string.h>
#include "loop/trace.h"

static bool read_number(const char *w, int64_t *out)
{
	char *end;
	*out = strtoll(w, &end, 10);
	return end != w && !*end;
}

/* Is the word made of name: as a number, a factor, a block of a layout, what stands after '='? */
static bool word_uses(const char *word, const char *name)
{
	size_t n = strlen(name);

	for (const char *s = word; (s = strstr(s, name)); s += n)
		if ((s == word || strchr("*/%=", s[-1])) && (!s[n] || s[n] == '*'))
			return true;
	return false;
}

/* Do the lines from number i on use the name? */
static bool later_use(const struct trace *t, size_t i, const char *name)
{
	for (; i < t->n; i++) {
		const struct trace_line *l = &t->a[i];
		for (int k = 0; k < l->narg; k++)
			if (word_uses(l->arg[k], name))
				return true;
		for (int k = 0; k < l->ndec; k++)
			if (word_uses(l->dec[k], name))
				return true;
	}
	return false;
}

/* a b c = sample.split L parts=3 max=30 := 4 9 14: of the innermost part, up to max (30 where there is none). */
static bool read_split(const struct trace_line *l, struct sample *x, struct arena *a)
{
	int64_t max = 30, d;
	if (l->ndec < 2 || l->nres != l->ndec || !read_number(l->dec[l->ndec - 1], &d))
		return false;
	for (int i = 1; i < l->narg; i++)
		if (!strncmp(l->arg[i], "max=", 4) && !read_number(l->arg[i] + 4, &max))
			return false;
	int64_t *choice = ARENA_ARRAY(a, int64_t, SAMPLE_CHOICES_MAX);
	for (int64_t k = 1; k <= max && x->n < SAMPLE_CHOICES_MAX; k++)
		choice[x->n++] = k;
	x->choice = choice;
	x->name = l->res[0];
	x->decision = d;
	return d >= 1 && d <= x->n;
}

static bool read_choice(const struct trace_line *l, struct sample *x, struct arena *a)
{
	if (l->nres != 1 || l->ndec != 1 || l->narg < 1 || l->narg > SAMPLE_CHOICES_MAX)
		return false;
	bool words = !trace_is_number(l->arg[0]), found = false;
	int64_t d = -1, *choice = ARENA_ARRAY(a, int64_t, l->narg);
	if (!words && !read_number(l->dec[0], &d))
		return false;
	x->name = l->res[0];
	for (int i = 0; i < l->narg; i++, x->n++) {
		if (words && !strcmp(l->arg[i], l->dec[0]))
			d = i;
		if (words)
			choice[i] = i;
		else if (!read_number(l->arg[i], &choice[i]))
			return false;
		found |= choice[i] == d;
	}
	x->choice = choice;
	x->word = words ? arena_copy(a, l->arg, (size_t)l->narg * sizeof *l->arg) : NULL;
	x->decision = d;
	return found;
}

/* The sample in a line; false: it has none, or none that can be read. */
static bool read_sample(const struct trace_line *l, struct sample *x, struct arena *a)
{
	*x = (struct sample){0};
	bool good = l->prim == PRIM_SAMPLE_CHOICE ? read_choice(l, x, a) : l->prim == PRIM_SAMPLE_SPLIT && read_split(l, x, a);
	x->usual = x->decision;
	return good;
}

void trace_samples(const char *trace, struct arena *a, struct samples *got)
{
	struct trace t = trace_read(a, trace);

	for (size_t i = 0; i < t.n; i++) {
		struct sample x;
		if (!read_sample(&t.a[i], &x, a))
			continue;
		for (int k = 0; k < t.a[i].nres; k++)
			x.bound |= later_use(&t, i + 1, t.a[i].res[k]);
		vec_push(got, x);
	}
	vec_free(&t);
}

void samples_keep(struct samples *x, struct arena *a)
{
	for (size_t i = 0; i < x->n; i++) {
		struct sample *s = &x->a[i];
		s->name = arena_str(a, s->name);
		s->choice = arena_copy(a, s->choice, (size_t)s->n * sizeof *s->choice);
		if (s->word)
			s->word = arena_copy(a, s->word, (size_t)s->n * sizeof *s->word);
	}
}

/* Of a split, the outer parts are what it takes. */
static bool decide(struct trace *t, const char *name, int64_t decision, struct arena *a)
{
	for (size_t i = 0; i < t->n; i++) {
		struct sample x;
		if (!read_sample(&t->a[i], &x, a) || strcmp(x.name, name))
			continue;
		for (int k = 0; k < x.n; k++)
			if (x.choice[k] == decision) {
				const char *d = x.word ? x.word[k] : sym_str(intern_printf("%lld", (long long)decision));
				trace_set_decision(a, &t->a[i], d);
				return true;
			}
		return false;
	}
	return false;
}

const char *trace_decide(const char *trace, const char *name, int64_t decision, struct arena *a)
{
	struct trace t = trace_read(a, trace);
	const char *text = decide(&t, name, decision, a) ? trace_write(a, &t) : NULL;

	vec_free(&t);
	return text;
}
