/* Operators of strings. */
#include <locale.h>
#include <stdlib.h>
#include <wctype.h>
#include "common/shown.h"
#include "common/utf8.h"
#include "native/tfidf.h"
#include "op/native.h"
#include "op/regex.h"
#include "op/strings.h"

static const char *eval_concat_strings(struct eval *e)
{
	const struct tensor *a = e->in[0], *b = e->in[1];
	struct bcast w;
	const char *why = bcast_init(&w, 2, (int[]){a->rank, b->rank}, (const int64_t *const[]){a->dims, b->dims}, e->tmp);

	if (why)
		return why;
	struct text *x = texts_of(e->tmp, a), *y = texts_of(e->tmp, b), *out = eval_scratch(e, sizeof *out * (size_t)(w.count + 1));
	int64_t at = 0, n = w.rank ? w.dims[w.rank - 1] : 1;
	for (bool more = w.count > 0; more; more = bcast_next(&w)) {
		for (int64_t i = 0; i < n; i++, at++) {
			struct text l = x[w.off[0] + i * (w.rank ? w.stride[0][w.rank - 1] : 0)];
			struct text r = y[w.off[1] + i * (w.rank ? w.stride[1][w.rank - 1] : 0)];
			char *s = eval_scratch(e, l.n + r.n + 1);
			memcpy(s, l.s, l.n);
			memcpy(s + l.n, r.s, r.n);
			out[at] = (struct text){s, l.n + r.n};
		}
	}
	eval_texts(e, 0, w.out_rank, w.out_dims, out);
	return NULL;
}

/* ---- StringSplit ---- */

static const char *shape_split_strings(struct infer *I)
{
	int rank = rule_rank(I, 0);

	if (rank >= RANK_MAX)
		return rule_why(I, "the result has more than %d axes", RANK_MAX);
	dim *d = rule_dims(I, rank < 0 ? 0 : rank + 1);
	for (int k = 0; k < rank; k++)
		d[k] = rule_dim(I, 0, k);
	if (rank >= 0)
		d[rank] = rule_fresh(I, 0, POLY_INF);
	rule_out(I, 0, DT_STR, rank < 0 ? RANK_UNKNOWN : rank + 1, d);
	rule_out(I, 1, DT_I64, rank, I->in[0].dims);
	return NULL;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static struct text without_spaces(struct text s)
{
	for (; s.n && is_space(*s.s); s.s++)
		s.n--;
	return s;
}

/* The part of *s before the first `by` (empty: spaces), which *s then is behind; false: there is none. */
static bool cut_part(struct text *s, struct text by, struct text *part)
{
	for (size_t i = 0; i + (by.n ? by.n : 1) <= s->n; i++)
		if (by.n ? !memcmp(s->s + i, by.s, by.n) : is_space(s->s[i])) {
			size_t end = i + (by.n ? by.n : 1);
			*part = (struct text){s->s, i};
			*s = (struct text){s->s + end, s->n - end};
			return true;
		}
	return false;
}

/* The parts of s, at most `most` cuts (negative: any number): how many. to NULL: only counts. */
static int64_t split_text(struct text s, struct text by, int64_t most, struct text *to)
{
	int64_t n = 0;
	struct text part;

	for (;;) {
		if (!by.n)
			s = without_spaces(s);
		if (!by.n && !s.n)
			return n;
		if ((most >= 0 && n >= most) || !cut_part(&s, by, &part))
			break;
		if (to)
			to[n] = part;
		n++;
	}
	if (to)
		to[n] = s;
	return n + 1;
}

static const char *eval_split_strings(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const struct attr *d = attr_find(e->n, "delimiter");
	struct text by = d ? (struct text){d->u.s, d->n} : (struct text){"", 0}, *in = texts_of(e->tmp, x);
	int64_t most = attr_int(e->n, "maxsplit", -1), count = tensor_count(x), widest = 0, dims[RANK_MAX];

	if (x->rank >= RANK_MAX)
		return eval_why(e, "the result has more than %d axes", RANK_MAX);
	int64_t *counts = eval_scratch(e, sizeof *counts * (size_t)(count + 1));
	for (int64_t i = 0; i < count; i++) {
		counts[i] = split_text(in[i], by, most, NULL);
		widest = counts[i] > widest ? counts[i] : widest;
	}
	struct text *out = eval_scratch(e, sizeof *out * (size_t)(count * widest + 1));
	for (int64_t i = 0; i < count; i++) {
		split_text(in[i], by, most, out + i * widest);
		for (int64_t k = counts[i]; k < widest; k++)
			out[i * widest + k] = (struct text){"", 0};
	}
	for (int k = 0; k < x->rank; k++)
		dims[k] = x->dims[k];
	memcpy(tensor_bytes(eval_out(e, 1, DT_I64, x->rank, dims)), counts, sizeof *counts * (size_t)count);
	dims[x->rank] = widest;
	eval_texts(e, 0, x->rank + 1, dims, out);
	return NULL;
}

/* ---- RegexFullMatch ---- */

static const char *shape_match(struct infer *I)
{
	rule_out(I, 0, DT_BOOL, rule_rank(I, 0), I->in[0].dims);
	return NULL;
}

static struct regex *pattern_of(const struct node *n, struct arena *a, const char **why)
{
	const struct attr *p = attr_find(n, "pattern");
	struct regex *r = regex_compile(p ? p->u.s : "", p ? p->n : 0, a, why);

	if (!r)
		*why = arena_printf(a, "pattern '%s': %s", p ? shown(p->u.s) : "", *why);
	return r;
}

static const char *unable_match(struct module *m, const struct node *n)
{
	const char *why;

	return pattern_of(n, &m->arena, &why) ? NULL : why;
}

static const char *eval_match(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const char *why;
	struct regex *r = pattern_of(e->n, e->tmp, &why);
	struct text *in = texts_of(e->tmp, x);
	struct arena a = {0};

	if (!r)
		return eval_why(e, "%s", why);
	bool *y = (bool *)tensor_bytes(eval_out(e, 0, DT_BOOL, x->rank, x->dims));
	for (int64_t i = 0; i < tensor_count(x); i++) {
		y[i] = regex_matches(r, in[i].s, in[i].n, &a);
		arena_release(&a);
	}
	return NULL;
}

/* ---- StringNormalizer ---- */

static const char *shape_normalize(struct infer *I)
{
	int rank = rule_rank(I, 0);
	dim *d = rule_dims(I, rank < 0 ? 0 : rank);

	if (rank >= 0 && rank != 1 && rank != 2)
		return rule_why(I, "operand 0 has %d axes, not 1 or 2", rank);
	const char *why = rank == 2 ? rule_extent(I, 0, 0, rule_const(I, 1)) : NULL;
	if (rank == 2)
		d[0] = rule_const(I, 1);
	if (rank > 0)
		d[rank - 1] = rule_fresh(I, 1, POLY_INF);
	rule_out(I, 0, DT_STR, rank, d);
	return why;
}

static uint32_t change_case(uint32_t v, bool upper, locale_t l)
{
	if (l)
		return (uint32_t)(upper ? towupper_l((wint_t)v, l) : towlower_l((wint_t)v, l));
	if (upper)
		return v >= 'a' && v <= 'z' ? v - 32 : v;
	return v >= 'A' && v <= 'Z' ? v + 32 : v;
}

/* s with letters of one case; bytes that are not UTF-8 stay. l 0: only ASCII has letters. */
static struct text in_case(struct eval *e, struct text s, bool upper, locale_t l)
{
	char *to = eval_scratch(e, UTF8_MAX * s.n + 1);
	size_t n = 0;
	int k, made;

	for (; s.n; s.s += k, s.n -= (size_t)k) {
		k = utf8_length(s.s, s.n);
		made = k ? utf8_encode(change_case(utf8_decode(s.s, k), upper, l), to + n) : 0;
		k = k ? k : 1;
		if (!made)
			memcpy(to + n, s.s, (size_t)(made = k));
		n += (size_t)made;
	}
	return (struct text){to, n};
}

static bool is_stopword(struct text s, const struct text *stop, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (text_equal(s, stop[i]))
			return true;
	return false;
}

static void normalize(struct eval *e, locale_t l)
{
	const struct tensor *x = e->in[0];
	const struct attr *w = attr_find(e->n, "stopwords");
	const char *action = attr_s(e->n, "case_change_action");
	bool exact = attr_i(e->n, "is_case_sensitive") != 0;
	int64_t count = tensor_count(x), n = 0;
	uint32_t nstop = w ? w->n : 0;
	struct text *in = texts_of(e->tmp, x), *out = eval_scratch(e, sizeof *out * (size_t)(count + 1));
	struct text *stop = eval_scratch(e, sizeof *stop * (nstop + 1));

	for (uint32_t i = 0; i < nstop; i++) {
		const char *s = sym_str(w->u.strs[i]);
		stop[i] = (struct text){s, strlen(s)};
		if (!exact)
			stop[i] = in_case(e, stop[i], false, l);
	}
	for (int64_t i = 0; i < count; i++)
		if (!nstop || !is_stopword(exact ? in[i] : in_case(e, in[i], false, l), stop, nstop))
			out[n++] = *action == 'N' ? in[i] : in_case(e, in[i], *action == 'U', l);
	if (!n)
		out[n++] = (struct text){"", 0};
	eval_texts(e, 0, x->rank, x->rank == 2 ? (int64_t[]){1, n} : (int64_t[]){n, 0}, out);
}

/* The cases of letters are Unicode's, whatever the attribute `locale` and the environment say. */
static const char *eval_normalize(struct eval *e)
{
	const struct tensor *x = e->in[0];

	if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
		return eval_why(e, "operand 0 is neither [n] nor [1,n]");
	locale_t l = newlocale(LC_CTYPE_MASK, "C.UTF-8", 0);
	normalize(e, l);
	if (l)
		freelocale(l);
	return NULL;
}

/* ---- TfIdfVectorizer ---- */

/* n with its attributes, for lib/native. */
static struct native grams_call(struct module *m, const struct node *n, struct arena *a)
{
	struct native call = {0};
	struct native_attr *attr;

	call.nattr = native_attrs(m, n, a, &attr);
	call.attr = attr;
	return call;
}

static const char *shape_tfidf(struct infer *I)
{
	int rank = rule_rank(I, 0);
	struct tfidf g;
	struct native call = grams_call(I->m, I->n, &I->m->arena);
	const char *why = tfidf_read(&call, I->in[0].dtype == DT_STR ? "pool_strings" : "pool_int64s", &g);
	dim *d = rule_dims(I, rank < 0 ? 0 : rank);

	if (I->in[0].dtype && I->in[0].dtype != DT_STR && I->in[0].dtype != DT_I32 && I->in[0].dtype != DT_I64)
		return rule_why(I, "operand 0 is %s, neither str nor i32 nor i64", dtype_name(I->in[0].dtype));
	if (rank == 0 || rank > 2)
		return rule_why(I, "operand 0 has %d axes, not 1 or 2", rank);
	if (rank == 2)
		d[0] = rule_dim(I, 0, 0);
	if (rank > 0)
		d[rank - 1] = rule_const(I, g.width);
	rule_out(I, 0, DT_F32, rank, d);
	return why;
}

/* Words as numbers: their places among the sorted words of the pool, -1: not in it. */
static void number_words(struct eval *e, const sym *strs, int64_t npool, int64_t *pool, int64_t *words)
{
	const struct tensor *x = e->in[0];
	int64_t count = tensor_count(x), kinds = 0;
	struct text *sorted = eval_scratch(e, sizeof *sorted * (size_t)(npool + 1)), *in = texts_of(e->tmp, x);

	for (int64_t i = 0; i < npool; i++)
		sorted[i] = (struct text){sym_str(strs[i]), strlen(sym_str(strs[i]))};
	qsort(sorted, (size_t)npool, sizeof *sorted, text_compare);
	for (int64_t i = 0; i < npool; i++)
		if (!kinds || !text_equal(sorted[kinds - 1], sorted[i]))
			sorted[kinds++] = sorted[i];
	for (int64_t i = 0; i < npool + count; i++) {
		struct text w = i < npool ? (struct text){sym_str(strs[i]), strlen(sym_str(strs[i]))} : in[i - npool];
		struct text *at = bsearch(&w, sorted, (size_t)kinds, sizeof w, text_compare);
		*(i < npool ? &pool[i] : &words[i - npool]) = at ? at - sorted : -1;
	}
}

/* Strings are counted as numbers are. */
static const char *eval_tfidf(struct eval *e)
{
	const struct tensor *x = e->in[0];
	const struct attr *words = attr_find(e->n, "pool_strings");

	if (x->dtype != DT_STR)
		return eval_native(e);
	if (!words || attr_find(e->n, "pool_int64s"))
		return "the pool is not of the operand's type";
	struct native call = grams_call(e->m, e->n, e->tmp);
	struct native_attr *attr = arena_copy(e->tmp, call.attr, sizeof *attr * (size_t)call.nattr);
	int64_t *pool = eval_scratch(e, sizeof *pool * (words->n + 1)), *in = eval_scratch(e, sizeof *in * (size_t)(tensor_count(x) + 1));
	number_words(e, words->u.strs, words->n, pool, in);
	for (int i = 0; i < call.nattr; i++)
		if (!strcmp(attr[i].name, "pool_strings"))
			attr[i] = (struct native_attr){.name = "pool_int64s", .given = true, .n = (int)words->n, .ints = pool};
	struct native_tensor operand = {NATIVE_I64, x->rank, x->dims, in}, result = {.type = NATIVE_F32};
	call.attr = attr;
	call.in = &operand;
	call.out = &result;
	call.nin = call.nout = 1;
	native_memory_of(&call, e);
	const char *why = native_find("TfIdfVectorizer")->run(&call);
	return why == call.why ? eval_why(e, "%s", why) : why;
}

/* ---- Tokenize ---- */

static const char *shape_tokenize(struct infer *I)
{
	int rank = rule_rank(I, 0);

	if (rank >= RANK_MAX)
		return rule_why(I, "the result has more than %d axes", RANK_MAX);
	dim *d = rule_dims(I, rank < 0 ? 0 : rank + 1);
	for (int k = 0; k < rank; k++)
		d[k] = rule_dim(I, 0, k);
	if (rank >= 0)
		d[rank] = rule_fresh(I, 0, POLY_INF);
	rule_out(I, 0, DT_STR, rank < 0 ? RANK_UNKNOWN : rank + 1, d);
	return NULL;
}

const struct op ops_text[] = {
	{OP_RegexFullMatch, shape_match, eval_match, .unable = unable_match},
	{OP_StringConcat, shape_broadcast, eval_concat_strings},
	{OP_StringSplit, shape_split_strings, eval_split_strings},
	{OP_StringNormalizer, shape_normalize, eval_normalize},
	{OP_TfIdfVectorizer, shape_tfidf, eval_tfidf},
	{OP_Tokenize, shape_tokenize, eval_native},
	{0},
};
