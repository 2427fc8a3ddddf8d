/* A trace in a sentence: what its choices mean, for reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "loop/prim.h"
#include "loop/trace.h"

struct choice {
	const char *name, *decision;
	bool told;
};
struct explanation {
	struct arena *a;
	VEC(struct choice) choices;
	char *text;
};

static void say(struct explanation *w, const char *phrase)
{
	w->text = arena_printf(w->a, "%s%s%s", w->text, *w->text ? ", " : "", phrase);
}

static struct choice *find(struct explanation *w, const char *name)
{
	for (size_t i = 0; i < w->choices.n; i++)
		if (!strcmp(w->choices.a[i].name, name))
			return &w->choices.a[i];
	return NULL;
}

/* What was chosen, told now; NULL: there was no choice. */
static const char *tell(struct explanation *w, const char *name)
{
	struct choice *c = find(w, name);

	if (!c)
		return NULL;
	c->told = true;
	return c->decision;
}

/* "16", "vectors" or "vectors*16" as a number; 0: it is none. */
static long value_of(struct explanation *w, const char *s)
{
	long v = 1;

	for (;; s++) {
		size_t n = strcspn(s, "*");
		char *part = arena_printf(w->a, "%.*s", (int)n, s), *end;
		struct choice *c = find(w, part);
		const char *number = c ? c->decision : part;
		v *= strtol(number, &end, 10);
		if (end == number || *end)
			return 0;
		s += n;
		if (!*s)
			return v;
	}
}

static void note_choice(struct explanation *w, const struct trace_line *l)
{
	for (int i = 0; i < l->nres && i < l->ndec; i++)
		vec_push(&w->choices, (struct choice){l->res[i], l->dec[i], false});
}

/* The lines that mean more than their choices: the tile, the panels of weights, chunks, teams. */
struct facts {
	const char *algo;
	long panel; /* weights in panels of so many; 0: as they were */
	bool chunked, parallel, registers, vector;
};

static void note_line(struct explanation *w, struct facts *f, const struct trace_line *l)
{
	if (!l->narg)
		return;
	f->parallel |= l->prim == PRIM_PARALLEL;
	f->vector |= l->prim == PRIM_VECTOR;
	f->registers |= (l->prim == PRIM_SCOPE || l->prim == PRIM_CACHE) && !strcmp(l->arg[l->narg - 1], "register");
	if (l->prim == PRIM_ALGO)
		f->algo = l->arg[0];
	for (int i = 1; i < l->narg && l->prim == PRIM_SPLIT; i++)
		f->chunked |= !strcmp(l->arg[i], "chunk");
	for (int i = 1; i < l->narg && l->prim == PRIM_LAYOUT; i++) {
		const char *by = strchr(l->arg[i], '/');
		if (by && value_of(w, by + 1))
			f->panel = value_of(w, by + 1);
	}
}

static const char *spelled(struct arena *a, const char *algo)
{
	long m;

	if (sscanf(algo, "winograd%ld", &m) == 1)
		return arena_printf(a, "Winograd F(%ldx%ld)", m, m);
	return arena_printf(a, "algorithm %s", algo);
}

static void say_tile(struct explanation *w, const struct facts *f)
{
	const char *rows = tell(w, "rows"), *vectors = tell(w, "vectors");

	if (rows && vectors)
		say(w, arena_printf(w->a, "%s x %s vectors in registers", rows, vectors));
	else if (rows || vectors)
		say(w, arena_printf(w->a, "%s %s in registers", rows ? rows : vectors,
				    rows                    ? "rows"
				    : !strcmp(vectors, "1") ? "vector"
							    : "vectors"));
	else if (f->registers)
		say(w, "results in registers");
	else if (f->vector)
		say(w, "vectors along the innermost axis");
	if (f->panel)
		say(w, arena_printf(w->a, "weights in panels of %ld", f->panel));
}

static const char *put_names(struct arena *a, const char *phrase, const char *stage, const char *decision)
{
	char *text = arena_str(a, "");

	for (; *phrase; phrase++)
		text = *phrase == 'S'   ? arena_printf(a, "%s%s", text, stage)
		       : *phrase == 'N' ? arena_printf(a, "%s%s", text, decision)
					: arena_printf(a, "%s%c", text, *phrase);
	return text;
}

/* Choices of every template, by their last word: "pad.unroll" is "unroll" of stage pad. 0, 1, no: nothing to tell. */
static void say_choice(struct explanation *w, const struct choice *c)
{
	static const struct {
		const char *name, *decision, *phrase; /* S: the stage, N: what was chosen; decision NULL: any that tells */
	} phrases[] = {
		{"unroll", NULL, "N steps at a time"},
		{"block", NULL, "N tiles at a time"},
		{"streams", NULL, "N rows at a time"},
		{"sums", NULL, "sums in N"},
		{"lines", NULL, "N lines of tiles at a time"},
		{"order", "rows", "rows before panels"},
		{"order", "panels", ""},
		{"tail", "balance", ""},
		{"tail", NULL, "tails by N"},
		{"window", "inside", "the window innermost"},
		{"window", "outside", ""},
		{"second", "none", ""},
		{"second", NULL, "tiles along N"},
		{"inline", "yes", "S computed where it is read"},
		{"place", "whole", "S whole"},
		{"place", "row", ""},
		{"vectors", NULL, "S in N vectors"},
	};
	const char *dot = strrchr(c->name, '.'), *last = dot ? dot + 1 : c->name;
	const char *stage = dot ? arena_printf(w->a, "%.*s", (int)(dot - c->name), c->name) : "";

	if (!strcmp(c->decision, "0") || !strcmp(c->decision, "1") || !strcmp(c->decision, "no"))
		return;
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		if (strcmp(phrases[i].name, last) || (phrases[i].decision && strcmp(phrases[i].decision, c->decision)))
			continue;
		const char *phrase = put_names(w->a, phrases[i].phrase, stage, c->decision);
		if (*phrase)
			say(w, !*stage || strchr(phrases[i].phrase, 'S') ? phrase : arena_printf(w->a, "%s %s", stage, phrase));
		return;
	}
	say(w, arena_printf(w->a, "%s %s", c->name, c->decision));
}

const char *trace_explain(const char *trace, struct arena *a)
{
	struct explanation w = {.a = a, .text = arena_str(a, "")};
	struct facts f = {0};

	struct trace t = trace_read(a, trace);
	for (size_t i = 0; i < t.n; i++)
		if (t.a[i].ndec)
			note_choice(&w, &t.a[i]);
		else
			note_line(&w, &f, &t.a[i]);
	vec_free(&t);
	if (f.algo)
		say(&w, spelled(a, f.algo));
	say_tile(&w, &f);
	const char *chunk = tell(&w, "chunk");
	if (chunk && f.chunked)
		say(&w, arena_printf(a, "reduction in chunks of %s", chunk));
	for (size_t i = 0; i < w.choices.n; i++)
		if (!w.choices.a[i].told)
			say_choice(&w, &w.choices.a[i]);
	if (f.parallel)
		say(&w, "loops shared among threads");
	vec_free(&w.choices);
	return *w.text ? w.text : "plain loops";
}
