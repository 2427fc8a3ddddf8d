/* Traces applied: each line becomes a call of its primitive. */
#include <stdlib.h>
#include <string.h>
#include "loop/nest.h"
#include "loop/prim.h"
#include "loop/trace.h"

const char *const prim_name[PRIM_COUNT] = {
	[PRIM_ALGO] = "algo",
	[PRIM_SAMPLE_SPLIT] = "sample.split",
	[PRIM_SAMPLE_CHOICE] = "sample.choice",
	[PRIM_SPLIT] = "split",
	[PRIM_REORDER] = "reorder",
	[PRIM_FUSE] = "fuse",
	[PRIM_AT] = "at",
	[PRIM_ROOT] = "root",
	[PRIM_AFTER] = "after",
	[PRIM_INLINE] = "inline",
	[PRIM_INIT] = "init",
	[PRIM_CACHE] = "cache",
	[PRIM_PARTIAL] = "partial",
	[PRIM_RFACTOR] = "rfactor",
	[PRIM_SCOPE] = "scope",
	[PRIM_LAYOUT] = "layout",
	[PRIM_VECTOR] = "vector",
	[PRIM_UNROLL] = "unroll",
	[PRIM_PARALLEL] = "parallel",
	[PRIM_PARTITION] = "partition",
	[PRIM_TENSOR] = "tensor",
	[PRIM_OUTLINE] = "outline",
	[PRIM_PREFETCH] = "prefetch",
};

/* A line that is being applied. */
struct step {
	struct loop_prog *p;
	bool first; /* no line came before it */
	bool adapt;
};

static const struct loop_name *bound(struct loop_prog *p, const char *w, size_t n)
{
	for (size_t i = p->names.n; i-- > 0;)
		if (!strncmp(p->names.a[i].name, w, n) && !p->names.a[i].name[n])
			return &p->names.a[i];
	return NULL;
}

/* A number, a bound name, or a product of such ("vectors*16"). */
static const char *number(struct step *t, const char *w, int64_t *out)
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
static const char *word(struct step *t, const char *w)
{
	const struct loop_name *b = bound(t->p, w, strlen(w));
	return b && b->word ? b->word : w;
}

const char *trace_number(int64_t n) { return sym_str(intern_printf("%lld", (long long)n)); }

/* The line has the decisions now that were taken. */
static void note_decisions(struct arena *a, struct trace_line *l, const struct loop_name *value, int n)
{
	l->dec = ARENA_ARRAY(a, const char *, n);
	l->ndec = n;
	l->text = NULL;
	for (int i = 0; i < n; i++)
		l->dec[i] = value[i].word ? value[i].word : trace_number(value[i].value);
}

static const char *bind_results(struct step *t, struct trace_line *l, const struct loop_name *value, int n)
{
	if (l->nres != n)
		return whynot(t->p, "%d results are given to %d names", n, l->nres);
	for (int i = 0; i < n; i++)
		vec_push(&t->p->names, (struct loop_name){l->res[i], value[i].value, value[i].word});
	if (t->adapt)
		note_decisions(&t->p->arena, l, value, n);
	return NULL;
}

/* name=value among the operands from index i on; NULL if it is not there */
static const char *option(struct trace_line *l, int i, const char *name)
{
	size_t n = strlen(name);
	for (; i < l->narg; i++)
		if (!strncmp(l->arg[i], name, n) && l->arg[i][n] == '=')
			return l->arg[i] + n + 1;
	return NULL;
}

/* a b c = sample.split L parts=3 max=30 := 4 9 14: the inner parts are at most max each, their product at most the
 * extent; the outermost is what is needed to cover it. */
static const char *sample_split(struct step *t, struct trace_line *l)
{
	nest_id id = l->narg > 0 ? loop_find(t->p, l->arg[0]) : 0;
	int64_t extent, parts, max = INT64_MAX, v[TRACE_WORDS_MAX], product = 1;
	struct loop_name value[8] = {0};
	const char *why = NULL, *o;
	if (!id || !poly_is_const(t->p->P, lnest(t->p, id)->extent, &extent))
		return whynot(t->p, "no loop %s of a fixed extent", l->narg > 0 ? l->arg[0] : "");
	if (!(o = option(l, 1, "parts")) || (why = number(t, o, &parts)) || parts < 2 || parts > 8)
		return why ? why : "parts= is 2 to 8";
	if ((o = option(l, 1, "max")) && (why = number(t, o, &max)))
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
static const char *choose_word(struct step *t, struct trace_line *l)
{
	for (int i = 0; i < l->narg; i++)
		if (!strcmp(l->arg[i], l->dec[0]))
			return bind_results(t, l, &(struct loop_name){.value = i, .word = l->arg[i]}, 1);
	if (!t->adapt)
		return whynot(t->p, "decision %s is none of the choices", l->dec[0]);
	return bind_results(t, l, &(struct loop_name){.word = l->arg[0]}, 1);
}

/* rows = sample.choice 1 2 4 8 := 4 */
static const char *sample_choice(struct step *t, struct trace_line *l)
{
	int64_t d, v;
	struct loop_name best = {0};
	const char *why;
	if (l->ndec != 1 || l->narg < 1)
		return "sample.choice takes its choices and one decision";
	if (!trace_is_number(l->arg[0]))
		return choose_word(t, l);
	if ((why = number(t, l->dec[0], &d)))
		return why;
	bool exact = false;
	for (int i = 0; i < l->narg; i++) {
		if ((why = number(t, l->arg[i], &v)))
			return why;
		exact |= v == d;
		if (!i || llabs(v - d) < llabs(best.value - d))
			best.value = v;
	}
	if (!exact && !t->adapt)
		return whynot(t->p, "decision %ld is none of the choices", (long)d);
	return bind_results(t, l, &best, 1);
}

static const char *do_split(struct step *t, struct trace_line *l)
{
	static const char *const tails[] = {"guard", "peel", "balance", "overlap", "pad"};
	enum split_tail tail = TAIL_GUARD;
	int64_t f[TRACE_WORDS_MAX];
	int n = 0;
	const char *why, *o = option(l, 1, "tail");
	if (o)
		o = word(t, o);
	for (size_t i = 0; o && i <= TAIL_PAD; i++)
		if (!strcmp(o, tails[i])) {
			tail = (enum split_tail)i;
			break;
		} else if (i == TAIL_PAD) {
			return whynot(t->p, "tail=%s is none of guard, peel, balance, overlap, pad", o);
		}
	for (int i = 1; i < l->narg; i++)
		if (!strchr(l->arg[i], '=')) {
			if ((why = number(t, l->arg[i], &f[n])))
				return why;
			n++;
		}
	if (!n)
		return "split takes a loop and its inner factors";
	return prim_split(t->p, l->arg[0], n, f, tail);
}

static const char *do_reorder(struct step *t, struct trace_line *l) { return prim_reorder(t->p, l->narg, l->arg); }
static const char *do_fuse(struct step *t, struct trace_line *l) { return prim_fuse(t->p, l->arg[0], l->arg[1]); }
static const char *do_at(struct step *t, struct trace_line *l) { return prim_at(t->p, l->arg[0], l->arg[1]); }
static const char *do_root(struct step *t, struct trace_line *l) { return prim_at(t->p, l->arg[0], "root"); }
static const char *do_after(struct step *t, struct trace_line *l) { return prim_after(t->p, l->arg[0], l->arg[1]); }
static const char *do_inline(struct step *t, struct trace_line *l) { return prim_inline(t->p, l->arg[0]); }
static const char *do_init(struct step *t, struct trace_line *l) { return prim_init(t->p, l->arg[0], l->arg[1]); }
static const char *do_vector(struct step *t, struct trace_line *l) { return prim_mark(t->p, l->arg[0], LOOP_VECTOR, 0); }
static const char *do_parallel(struct step *t, struct trace_line *l) { return prim_mark(t->p, l->arg[0], LOOP_PARALLEL, 0); }

static const char *do_tensor(struct step *t, struct trace_line *l) { return prim_tensor(t->p, l->arg[0], word(t, l->arg[1])); }
static const char *do_outline(struct step *t, struct trace_line *l) { return prim_outline(t->p, l->arg[0]); }

static const char *do_prefetch(struct step *t, struct trace_line *l)
{
	int64_t n;
	const char *why = number(t, l->arg[2], &n);
	return why ? why : prim_prefetch(t->p, l->arg[0], l->arg[1], n);
}

static const char *do_unroll(struct step *t, struct trace_line *l)
{
	int64_t n = 0;
	const char *why = l->narg > 1 ? number(t, l->arg[1], &n) : NULL;
	return why ? why : prim_mark(t->p, l->arg[0], LOOP_UNROLL, (int)n);
}

static const char *scope_of(struct step *t, const char *w, enum scope *s)
{
	w = word(t, w);
	for (*s = SCOPE_SCRATCH; *s <= SCOPE_REGISTER; ++*s)
		if (!strcmp(w, scope_name(*s)))
			return NULL;
	return whynot(t->p, "%s is none of scratch, stack, register", w);
}

static const char *do_cache(struct step *t, struct trace_line *l)
{
	enum scope s;
	const char *why = scope_of(t, l->arg[3], &s);
	if (why)
		return why;
	if (l->nres > 1)
		return "cache gives one buffer";
	const char *name = l->nres ? l->res[0] : arena_printf(&t->p->arena, "%s.%s", l->arg[0], l->arg[1]);
	return prim_cache(t->p, l->arg[0], l->arg[1], l->arg[2], s, name);
}

static const char *do_partial(struct step *t, struct trace_line *l)
{
	const char *name = l->nres ? l->res[0] : arena_printf(&t->p->arena, "%s.partial", l->arg[0]);
	enum scope s;
	const char *why = scope_of(t, l->arg[2], &s);
	return why ? why : prim_partial(t->p, l->arg[0], l->arg[1], s, name);
}

static const char *do_rfactor(struct step *t, struct trace_line *l)
{
	const char *name = l->nres ? l->res[0] : arena_printf(&t->p->arena, "%s.part", l->arg[0]);
	return prim_rfactor(t->p, l->arg[0], l->arg[1], name);
}

static const char *do_scope(struct step *t, struct trace_line *l)
{
	enum scope s;
	const char *why = scope_of(t, l->arg[1], &s);
	return why ? why : prim_scope(t->p, l->arg[0], s);
}

static const char *do_layout(struct step *t, struct trace_line *l)
{
	char *spec = arena_str(&t->p->arena, "");
	for (int i = 1; i < l->narg; i++) { /* AXIS, AXIS/BLOCK or AXIS%BLOCK */
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
	return prim_layout(t->p, l->arg[0], spec);
}

static const char *do_partition(struct step *t, struct trace_line *l)
{
	int64_t at[TRACE_WORDS_MAX];
	const char *why;
	if (l->narg == 2 && !strcmp(l->arg[1], "auto"))
		return prim_partition(t->p, l->arg[0], 0, NULL);
	for (int i = 1; i < l->narg; i++)
		if ((why = number(t, l->arg[i], &at[i - 1])))
			return why;
	return prim_partition(t->p, l->arg[0], l->narg - 1, at);
}

static const char *do_algo(struct step *t, struct trace_line *l)
{
	if (!t->first)
		return "it comes first in a trace";
	return strcmp(l->arg[0], t->p->algo) ? whynot(t->p, "the stages are those of %s, not of %s", t->p->algo, l->arg[0]) : NULL;
}

static const struct {
	int min, max; /* operands; max -1: any number */
	const char *(*apply)(struct step *, struct trace_line *);
} prims[PRIM_COUNT] = {
	[PRIM_ALGO] = {1, 1, do_algo},
	[PRIM_SAMPLE_SPLIT] = {2, -1, sample_split},
	[PRIM_SAMPLE_CHOICE] = {1, -1, sample_choice},
	[PRIM_SPLIT] = {2, -1, do_split},
	[PRIM_REORDER] = {2, -1, do_reorder},
	[PRIM_FUSE] = {2, 2, do_fuse},
	[PRIM_AT] = {2, 2, do_at},
	[PRIM_ROOT] = {1, 1, do_root},
	[PRIM_AFTER] = {2, 2, do_after},
	[PRIM_INLINE] = {1, 1, do_inline},
	[PRIM_INIT] = {2, 2, do_init},
	[PRIM_CACHE] = {4, 4, do_cache},
	[PRIM_PARTIAL] = {3, 3, do_partial},
	[PRIM_RFACTOR] = {2, 2, do_rfactor},
	[PRIM_SCOPE] = {2, 2, do_scope},
	[PRIM_LAYOUT] = {2, -1, do_layout},
	[PRIM_VECTOR] = {1, 1, do_vector},
	[PRIM_UNROLL] = {1, 2, do_unroll},
	[PRIM_PARALLEL] = {1, 1, do_parallel},
	[PRIM_PARTITION] = {2, -1, do_partition},
	[PRIM_TENSOR] = {2, 2, do_tensor},
	[PRIM_OUTLINE] = {1, 1, do_outline},
	[PRIM_PREFETCH] = {3, 3, do_prefetch},
};

const char *trace_apply_line(struct loop_prog *p, struct trace_line *l, bool first, bool adapt)
{
	struct step t = {p, first, adapt};
	int min = prims[l->prim].min, max = prims[l->prim].max;

	if (l->prim == PRIM_NONE)
		return NULL;
	if (!prims[l->prim].apply)
		return "no such primitive";
	if (l->narg < min || (max >= 0 && l->narg > max))
		return whynot(p, "takes %d%s operands, not %d", min, max < 0 ? " or more" : "", l->narg);
	return prims[l->prim].apply(&t, l);
}

const char *trace_apply(struct loop_prog *p, struct trace *t, bool adapt)
{
	bool first = true;

	for (size_t i = 0; i < t->n; i++) {
		struct trace_line *l = &t->a[i];
		if (l->prim == PRIM_LONG)
			return whynot(p, "line %d: more than %d words", (int)i + 1, TRACE_WORDS_MAX);
		const char *why = trace_apply_line(p, l, first, adapt);
		if (why)
			return whynot(p, "line %d: %s: %s", (int)i + 1, l->name, why);
		first &= l->prim == PRIM_NONE;
	}
	return NULL;
}

const char *loop_apply(struct loop_prog *p, const char *text, bool adapt)
{
	struct trace t = trace_read(&p->arena, text);
	const char *why = trace_apply(p, &t, adapt);

	vec_free(&t);
	return why;
}

const char *loop_adapt(struct loop_prog *p, const char *text, const char **adapted)
{
	struct trace t = trace_read(&p->arena, text);
	const char *why = trace_apply(p, &t, true);

	*adapted = trace_write(&p->arena, &t);
	vec_free(&t);
	return why;
}

struct trace_line trace_choice(struct arena *a, const char *name, int n, const char *const *choice, const char *decision)
{
	struct trace_line l = {.prim = PRIM_SAMPLE_CHOICE, .name = prim_name[PRIM_SAMPLE_CHOICE], .nres = 1, .narg = n, .ndec = 1};

	l.res = arena_copy(a, &name, sizeof name);
	l.arg = arena_copy(a, choice, (size_t)n * sizeof *choice);
	l.dec = arena_copy(a, &decision, sizeof decision);
	return l;
}

void trace_set_decision(struct arena *a, struct trace_line *l, const char *decision)
{
	l->dec = arena_copy(a, l->dec, (size_t)l->ndec * sizeof *l->dec);
	l->dec[l->ndec - 1] = decision;
	l->text = NULL;
}

const char *trace_algo(const char *trace, struct arena *a)
{
	if (!trace)
		return NULL;
	for (const char *s = trace, *end; *s; s = *end ? end + 1 : end) {
		end = s + strcspn(s, "\n");
		struct trace_line l = trace_read_line(a, s, end);
		if (l.prim != PRIM_NONE)
			return l.prim == PRIM_ALGO && l.narg == 1 ? l.arg[0] : ALGO_USUAL;
	}
	return ALGO_USUAL;
}
