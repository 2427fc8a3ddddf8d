/* Traces: text in, primitives applied. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "loop/nest.h"
#include "loop/prim.h"
#include "loop/trace.h"

struct trace {
	struct loop_prog *p;
	bool adapt;
	bool begun;    /* there was a line before */
	FILE *adapted; /* NULL, or the lines with decisions as they were taken */
};

static int words(struct arena *a, const char *s, size_t n, const char **out)
{
	int k = 0;
	for (size_t i = 0; i < n;) {
		if (s[i] == ' ' || s[i] == '\t' || s[i] == '\r') {
			i++;
			continue;
		}
		size_t j = i;
		while (j < n && s[j] != ' ' && s[j] != '\t' && s[j] != '\r')
			j++;
		if (k == TRACE_WORDS_MAX)
			return -1;
		char *w = arena_alloc(a, j - i + 1);
		memcpy(w, s + i, j - i);
		out[k++] = w;
		i = j;
	}
	return k;
}

/* The first " = " that is not part of ":=" */
static const char *find_equals(const char *s, const char *end)
{
	for (const char *q = s; q + 2 < end; q++)
		if (q[0] == ' ' && q[1] == '=' && q[2] == ' ')
			return q;
	return NULL;
}

bool trace_line(struct arena *a, const char *s, const char *end, struct trace_line *l)
{
	const char *hash = memchr(s, '#', (size_t)(end - s));
	if (hash)
		end = hash;
	const char *decide = NULL;
	for (const char *q = s; q + 1 < end && !decide; q++)
		if (q[0] == ':' && q[1] == '=')
			decide = q;
	const char *eq = find_equals(s, decide ? decide : end);
	l->nres = eq ? words(a, s, (size_t)(eq - s), l->res) : 0;
	const char *from = eq ? eq + 2 : s, *to = decide ? decide : end;
	l->narg = words(a, from, (size_t)(to - from), l->arg);
	l->ndec = decide ? words(a, decide + 2, (size_t)(end - decide - 2), l->dec) : 0;
	return l->nres >= 0 && l->narg >= 0 && l->ndec >= 0;
}

static const struct loop_name *bound(struct loop_prog *p, const char *w, size_t n)
{
	for (size_t i = p->names.n; i-- > 0;)
		if (!strncmp(p->names.a[i].name, w, n) && !p->names.a[i].name[n])
			return &p->names.a[i];
	return NULL;
}

/* A number, a bound name, or a product of such ("vectors*16"). */
static const char *number(struct trace *t, const char *w, int64_t *out)
{
	*out = 1;
	for (const char *s = w;; s++) {
		size_t n = strcspn(s, "*");
		char *end;
		int64_t x = strtoll(s, &end, 10);
		if (end == s || end != s + n) {
			const struct loop_name *b = bound(t->p, s, n);
			if (!b || b->word)
				return whynot(t->p, "%s is neither a number nor made of names sampled before", w);
			x = b->value;
		}
		if (__builtin_mul_overflow(*out, x, out))
			return whynot(t->p, "%s is too large", w);
		s += n;
		if (!*s)
			return NULL;
	}
}

/* The word that w is bound to, or w itself. */
static const char *word(struct trace *t, const char *w)
{
	const struct loop_name *b = bound(t->p, w, strlen(w));
	return b && b->word ? b->word : w;
}

static void put_sample(FILE *f, const struct trace_line *l, const struct loop_name *value, int n)
{
	for (int i = 0; i < l->nres; i++)
		fprintf(f, "%s ", l->res[i]);
	fputc('=', f);
	for (int i = 0; i < l->narg; i++)
		fprintf(f, " %s", l->arg[i]);
	fprintf(f, " :=");
	for (int i = 0; i < n; i++)
		if (value[i].word)
			fprintf(f, " %s", value[i].word);
		else
			fprintf(f, " %ld", (long)value[i].value);
	fputc('\n', f);
}

static const char *bind_results(struct trace *t, const struct trace_line *l, const struct loop_name *value, int n)
{
	if (l->nres != n)
		return whynot(t->p, "%d results are given to %d names", n, l->nres);
	for (int i = 0; i < n; i++)
		vec_push(&t->p->names, (struct loop_name){l->res[i], value[i].value, value[i].word});
	if (t->adapted)
		put_sample(t->adapted, l, value, n);
	return NULL;
}

/* name=value among the operands from index i on; NULL if it is not there */
static const char *option(const struct trace_line *l, int i, const char *name)
{
	size_t n = strlen(name);
	for (; i < l->narg; i++)
		if (!strncmp(l->arg[i], name, n) && l->arg[i][n] == '=')
			return l->arg[i] + n + 1;
	return NULL;
}

/* a b c = sample.split L parts=3 max=30 := 4 9 14: the inner parts are at most max each, their product at most the
 * extent; the outermost is what is needed to cover it. */
static const char *sample_split(struct trace *t, const struct trace_line *l)
{
	nest_id id = l->narg > 1 ? loop_find(t->p, l->arg[1]) : 0;
	int64_t extent, parts, max = INT64_MAX, v[TRACE_WORDS_MAX], product = 1;
	struct loop_name value[8] = {0};
	const char *why = NULL, *o;
	if (!id || !poly_is_const(t->p->P, lnest(t->p, id)->extent, &extent))
		return whynot(t->p, "no loop %s of a fixed extent", l->narg > 1 ? l->arg[1] : "");
	if (!(o = option(l, 2, "parts")) || (why = number(t, o, &parts)) || parts < 2 || parts > 8)
		return why ? why : "parts= is 2 to 8";
	if ((o = option(l, 2, "max")) && (why = number(t, o, &max)))
		return why;
	if (l->ndec != parts)
		return whynot(t->p, "%d decisions for %ld parts", l->ndec, (long)parts);
	for (int i = (int)parts - 1; i >= 0; i--) {
		if ((why = number(t, l->dec[i], &v[i])))
			return why;
		int64_t most = i ? (max < extent / product ? max : extent / product) : INT64_MAX;
		if (most < 1)
			most = 1;
		if (i && (v[i] < 1 || v[i] > most)) {
			if (!t->adapt)
				return whynot(t->p, "decision %ld is outside 1..%ld", (long)v[i], (long)most);
			v[i] = v[i] < 1 ? 1 : most;
		}
		if (i)
			product *= v[i];
	}
	v[0] = (extent + product - 1) / product;
	for (int i = 0; i < parts; i++)
		value[i].value = v[i];
	return bind_results(t, l, value, (int)parts);
}

/* tail = sample.choice balance peel overlap := balance */
static const char *choose_word(struct trace *t, const struct trace_line *l)
{
	for (int i = 1; i < l->narg; i++)
		if (!strcmp(l->arg[i], l->dec[0]))
			return bind_results(t, l, &(struct loop_name){.value = i - 1, .word = l->arg[i]}, 1);
	if (!t->adapt)
		return whynot(t->p, "decision %s is none of the choices", l->dec[0]);
	return bind_results(t, l, &(struct loop_name){.word = l->arg[1]}, 1);
}

/* rows = sample.choice 1 2 4 8 := 4 */
static const char *sample_choice(struct trace *t, const struct trace_line *l)
{
	int64_t d, v;
	struct loop_name best = {0};
	const char *why;
	if (l->ndec != 1 || l->narg < 2)
		return "sample.choice takes its choices and one decision";
	if (!trace_is_number(l->arg[1]))
		return choose_word(t, l);
	if ((why = number(t, l->dec[0], &d)))
		return why;
	bool exact = false;
	for (int i = 1; i < l->narg; i++) {
		if ((why = number(t, l->arg[i], &v)))
			return why;
		exact |= v == d;
		if (i == 1 || llabs(v - d) < llabs(best.value - d))
			best.value = v;
	}
	if (!exact && !t->adapt)
		return whynot(t->p, "decision %ld is none of the choices", (long)d);
	return bind_results(t, l, &best, 1);
}

static const char *do_split(struct trace *t, const struct trace_line *l)
{
	static const char *const tails[] = {"guard", "peel", "balance", "overlap", "pad"};
	enum split_tail tail = TAIL_GUARD;
	int64_t f[TRACE_WORDS_MAX];
	int n = 0;
	const char *why, *o = option(l, 2, "tail");
	if (o)
		o = word(t, o);
	for (size_t i = 0; o && i <= TAIL_PAD; i++)
		if (!strcmp(o, tails[i])) {
			tail = (enum split_tail)i;
			break;
		} else if (i == TAIL_PAD) {
			return whynot(t->p, "tail=%s is none of guard, peel, balance, overlap, pad", o);
		}
	for (int i = 2; i < l->narg; i++)
		if (!strchr(l->arg[i], '=')) {
			if ((why = number(t, l->arg[i], &f[n])))
				return why;
			n++;
		}
	if (l->narg < 3 || !n)
		return "split takes a loop and its inner factors";
	return prim_split(t->p, l->arg[1], n, f, tail);
}

static const char *do_reorder(struct trace *t, const struct trace_line *l) { return prim_reorder(t->p, l->narg - 1, l->arg + 1); }
static const char *do_fuse(struct trace *t, const struct trace_line *l) { return prim_fuse(t->p, l->arg[1], l->arg[2]); }
static const char *do_at(struct trace *t, const struct trace_line *l) { return prim_at(t->p, l->arg[1], l->arg[2]); }
static const char *do_root(struct trace *t, const struct trace_line *l) { return prim_at(t->p, l->arg[1], "root"); }
static const char *do_after(struct trace *t, const struct trace_line *l) { return prim_after(t->p, l->arg[1], l->arg[2]); }
static const char *do_inline(struct trace *t, const struct trace_line *l) { return prim_inline(t->p, l->arg[1]); }
static const char *do_init(struct trace *t, const struct trace_line *l) { return prim_init(t->p, l->arg[1], l->arg[2]); }
static const char *do_vector(struct trace *t, const struct trace_line *l) { return prim_mark(t->p, l->arg[1], LOOP_VECTOR, 0); }
static const char *do_parallel(struct trace *t, const struct trace_line *l) { return prim_mark(t->p, l->arg[1], LOOP_PARALLEL, 0); }

static const char *do_tensor(struct trace *t, const struct trace_line *l) { return prim_tensor(t->p, l->arg[1], word(t, l->arg[2])); }
static const char *do_outline(struct trace *t, const struct trace_line *l) { return prim_outline(t->p, l->arg[1]); }

static const char *do_prefetch(struct trace *t, const struct trace_line *l)
{
	int64_t n;
	const char *why = number(t, l->arg[3], &n);
	return why ? why : prim_prefetch(t->p, l->arg[1], l->arg[2], n);
}

static const char *do_unroll(struct trace *t, const struct trace_line *l)
{
	int64_t n = 0;
	const char *why = l->narg > 2 ? number(t, l->arg[2], &n) : NULL;
	return why ? why : prim_mark(t->p, l->arg[1], LOOP_UNROLL, (int)n);
}

static const char *scope_of(struct trace *t, const char *w, enum scope *s)
{
	w = word(t, w);
	for (*s = SCOPE_SCRATCH; *s <= SCOPE_REGISTER; ++*s)
		if (!strcmp(w, scope_name(*s)))
			return NULL;
	return whynot(t->p, "%s is none of scratch, stack, register", w);
}

static const char *do_cache(struct trace *t, const struct trace_line *l)
{
	enum scope s;
	const char *why = scope_of(t, l->arg[4], &s);
	if (why)
		return why;
	if (l->nres > 1)
		return "cache gives one buffer";
	const char *name = l->nres ? l->res[0] : arena_printf(&t->p->arena, "%s.%s", l->arg[1], l->arg[2]);
	return prim_cache(t->p, l->arg[1], l->arg[2], l->arg[3], s, name);
}

static const char *do_rfactor(struct trace *t, const struct trace_line *l)
{
	const char *name = l->nres ? l->res[0] : arena_printf(&t->p->arena, "%s.part", l->arg[1]);
	return prim_rfactor(t->p, l->arg[1], l->arg[2], name);
}

static const char *do_scope(struct trace *t, const struct trace_line *l)
{
	enum scope s;
	const char *why = scope_of(t, l->arg[2], &s);
	return why ? why : prim_scope(t->p, l->arg[1], s);
}

static const char *do_layout(struct trace *t, const struct trace_line *l)
{
	char *spec = arena_str(&t->p->arena, "");
	for (int i = 2; i < l->narg; i++) { /* AXIS, AXIS/BLOCK or AXIS%BLOCK */
		size_t n = strcspn(l->arg[i], "/%");
		int64_t block;
		const char *part = l->arg[i];
		if (part[n]) {
			const char *why = number(t, part + n + 1, &block);
			if (why)
				return why;
			part = arena_printf(&t->p->arena, "%.*s%c%ld", (int)n, part, part[n], (long)block);
		}
		spec = arena_printf(&t->p->arena, "%s%s ", spec, part);
	}
	return prim_layout(t->p, l->arg[1], spec);
}

static const char *do_partition(struct trace *t, const struct trace_line *l)
{
	int64_t at[TRACE_WORDS_MAX];
	const char *why;
	if (l->narg == 3 && !strcmp(l->arg[2], "auto"))
		return prim_partition(t->p, l->arg[1], 0, NULL);
	for (int i = 2; i < l->narg; i++)
		if ((why = number(t, l->arg[i], &at[i - 2])))
			return why;
	return l->narg < 3 ? "partition takes auto, or points" : prim_partition(t->p, l->arg[1], l->narg - 2, at);
}

static const char *do_algo(struct trace *t, const struct trace_line *l)
{
	if (t->begun)
		return "it comes first in a trace";
	return strcmp(l->arg[1], t->p->algo) ? whynot(t->p, "the stages are those of %s, not of %s", t->p->algo, l->arg[1]) : NULL;
}

static const struct prim {
	const char *name;
	int min, max; /* operands; -1: any number */
	const char *(*apply)(struct trace *, const struct trace_line *);
} prims[] = {
	{"algo", 1, 1, do_algo},
	{"sample.split", 2, -1, sample_split},
	{"sample.choice", 1, -1, sample_choice},
	{"split", 2, -1, do_split},
	{"reorder", 2, -1, do_reorder},
	{"fuse", 2, 2, do_fuse},
	{"at", 2, 2, do_at},
	{"root", 1, 1, do_root},
	{"after", 2, 2, do_after},
	{"inline", 1, 1, do_inline},
	{"init", 2, 2, do_init},
	{"cache", 4, 4, do_cache},
	{"rfactor", 2, 2, do_rfactor},
	{"scope", 2, 2, do_scope},
	{"layout", 2, -1, do_layout},
	{"vector", 1, 1, do_vector},
	{"unroll", 1, 2, do_unroll},
	{"parallel", 1, 1, do_parallel},
	{"partition", 2, -1, do_partition},
	{"tensor", 2, 2, do_tensor},
	{"outline", 1, 1, do_outline},
	{"prefetch", 3, 3, do_prefetch},
};

static const char *apply_line(struct trace *t, const struct trace_line *l)
{
	for (size_t i = 0; i < sizeof prims / sizeof *prims; i++) {
		if (strcmp(prims[i].name, l->arg[0]))
			continue;
		int n = l->narg - 1;
		if (n < prims[i].min || (prims[i].max >= 0 && n > prims[i].max))
			return whynot(t->p, "takes %d%s operands, not %d", prims[i].min, prims[i].max < 0 ? " or more" : "", n);
		return prims[i].apply(t, l);
	}
	return "no such primitive";
}

static const char *apply_text(struct trace *t, const char *text)
{
	const char *why = NULL;
	int lineno = 1;
	for (const char *s = text, *end; *s && !why; s = *end ? end + 1 : end, lineno++) {
		end = s + strcspn(s, "\n");
		struct trace_line l;
		if (!trace_line(&t->p->arena, s, end, &l)) {
			why = whynot(t->p, "line %d: more than %d words", lineno, TRACE_WORDS_MAX);
			break;
		}
		if (l.narg && (why = apply_line(t, &l)))
			why = whynot(t->p, "line %d: %s: %s", lineno, l.arg[0], why);
		else if (t->adapted && !l.ndec) /* samples have been written with what they were given */
			fprintf(t->adapted, "%.*s\n", (int)(end - s), s);
		t->begun |= l.narg > 0;
	}
	return why;
}

const char *loop_apply(struct loop_prog *p, const char *text, bool adapt)
{
	return apply_text(&(struct trace){.p = p, .adapt = adapt}, text);
}

const char *loop_adapt(struct loop_prog *p, const char *text, const char **adapted)
{
	struct trace t = {.p = p, .adapt = true};
	char *lines;
	size_t n;

	t.adapted = open_memstream(&lines, &n);
	const char *why = apply_text(&t, text);
	fclose(t.adapted);
	*adapted = arena_str(&p->arena, lines);
	free(lines);
	return why;
}

const char *trace_algo(const char *trace, struct arena *a)
{
	struct trace_line l;
	if (!trace)
		return NULL;
	for (const char *s = trace, *end; *s; s = *end ? end + 1 : end) {
		end = s + strcspn(s, "\n");
		if (!trace_line(a, s, end, &l) || l.narg)
			return l.narg == 2 && !strcmp(l.arg[0], "algo") ? l.arg[1] : ALGO_USUAL;
	}
	return ALGO_USUAL;
}
