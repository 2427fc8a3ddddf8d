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

/* Is name used in the text: as a number, a factor, a block of a layout, a word after '='? */
static bool uses_name(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *s = text; (s = strstr(s, name)); s += n)
		if (s > text && strchr(" */%=", s[-1]) && (!s[n] || strchr(" *\n\r", s[n])))
			return true;
	return false;
}

/* a b c = sample.split L parts=3 max=30 := 4 9 14: of the innermost part, up to max (30 where there is none). */
static bool read_split(const struct trace_line *l, struct sample *x, struct arena *a)
{
	int64_t max = 30, d;
	if (l->ndec < 2 || l->nres != l->ndec || !read_number(l->dec[l->ndec - 1], &d))
		return false;
	for (int i = 2; i < l->narg; i++)
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
	if (l->nres != 1 || l->ndec != 1 || l->narg < 2 || l->narg - 1 > SAMPLE_CHOICES_MAX)
		return false;
	bool words = !trace_is_number(l->arg[1]), found = false;
	int64_t d = -1;
	if (!words && !read_number(l->dec[0], &d))
		return false;
	int64_t *choice = ARENA_ARRAY(a, int64_t, l->narg - 1);
	const char **word = words ? ARENA_ARRAY(a, const char *, l->narg - 1) : NULL;
	x->name = l->res[0];
	for (int i = 1; i < l->narg; i++, x->n++) {
		if (words) {
			choice[x->n] = x->n;
			word[x->n] = sym_str(intern(l->arg[i]));
			if (!strcmp(l->arg[i], l->dec[0]))
				d = x->n;
		} else if (!read_number(l->arg[i], &choice[x->n])) {
			return false;
		}
		found |= choice[x->n] == d;
	}
	x->choice = choice;
	x->word = word;
	x->decision = d;
	return found;
}

/* The sample in a line; false: it has none, or none that can be read. */
static bool read_sample(const struct trace_line *l, struct sample *x, struct arena *a)
{
	*x = (struct sample){0};
	if (!l->narg)
		return false;
	bool good = !strcmp(l->arg[0], "sample.choice") ? read_choice(l, x, a) : !strcmp(l->arg[0], "sample.split") && read_split(l, x, a);
	if (good) {
		x->name = sym_str(intern(x->name));
		x->usual = x->decision;
	}
	return good;
}

void trace_samples(const char *trace, struct arena *a, struct samples *got)
{
	for (const char *s = trace, *end; *s; s = *end ? end + 1 : end) {
		struct trace_line l;
		struct sample x;
		end = s + strcspn(s, "\n");
		if (!trace_line(a, s, end, &l) || !read_sample(&l, &x, a))
			continue;
		for (int i = 0; i < l.nres; i++)
			x.bound |= uses_name(end, l.res[i]);
		vec_push(got, x);
	}
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

/* The line with the last decision replaced; of a split, the outer parts are what it takes. */
static const char *decide_line(const char *s, const char *end, const struct trace_line *l, const char *decision, struct arena *a)
{
	const char *at = s;
	for (const char *q = s; q + 1 < end; q++)
		if (q[0] == ':' && q[1] == '=') {
			at = q + 2;
			break;
		}
	char *line = arena_printf(a, "%.*s", (int)(at - s), s);
	for (int i = 0; i < l->ndec - 1; i++)
		line = arena_printf(a, "%s %s", line, l->dec[i]);
	return arena_printf(a, "%s %s", line, decision);
}

const char *trace_decide(const char *trace, const char *name, int64_t decision, struct arena *a)
{
	for (const char *s = trace, *end; *s; s = *end ? end + 1 : end) {
		struct trace_line l;
		struct sample x;
		end = s + strcspn(s, "\n");
		if (!trace_line(a, s, end, &l) || !read_sample(&l, &x, a) || strcmp(x.name, name))
			continue;
		for (int i = 0; i < x.n; i++)
			if (x.choice[i] == decision) {
				const char *d = x.word ? x.word[i] : arena_printf(a, "%lld", (long long)decision);
				return arena_printf(a, "%.*s%s%s", (int)(s - trace), trace, decide_line(s, end, &l, d, a), end);
			}
		return NULL;
	}
	return NULL;
}
