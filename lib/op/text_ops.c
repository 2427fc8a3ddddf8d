/* Operators of strings, and a hash of strings and numbers. */
#include "common/shown.h"
#include "native/tfidf.h"
#include "op/native.h"
#include "op/regex.h"
#include "op/strings.h"

/* ---- StringSplit ---- */

/* Result 0: the words of each string of operand 0, along an axis of their own. */
static const char *rule_words(struct infer *I)
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

static const char *shape_split_strings(struct infer *I)
{
	const char *why = rule_words(I);

	if (!why)
		rule_out(I, 1, DT_I64, rule_rank(I, 0), I->in[0].dims);
	return why;
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

bool match_table(const struct node *n, struct arena *a, struct regex_table *t)
{
	const char *why;
	struct regex *r = pattern_of(n, a, &why);

	return r && regex_table(r, a, t);
}

bool match_fits(const struct node *n)
{
	struct arena a = {0};
	struct regex_table t;
	bool fits = match_table(n, &a, &t);

	arena_release(&a);
	return fits;
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

/* ---- MurmurHash3 ---- */

static const char *shape_hash(struct infer *I)
{
	rule_out(I, 0, attr_i(I->n, "positive") ? DT_U32 : DT_I32, rule_rank(I, 0), I->in[0].dims);
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
	bool words = I->in[0].dtype ? I->in[0].dtype == DT_STR : attr_find(I->n, "pool_strings") != NULL;
	const char *why = tfidf_read(&call, words ? "pool_strings" : "pool_int64s", &g);
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

const struct op ops_text[] = {
	{OP_MurmurHash3, shape_hash, eval_native},
	{OP_RegexFullMatch, shape_match, eval_match, .unable = unable_match, .counted = true},
	{OP_StringConcat, shape_broadcast, eval_native},
	{OP_StringSplit, shape_split_strings, eval_native, .counted = true},
	{OP_StringNormalizer, shape_normalize, eval_native},
	{OP_TfIdfVectorizer, shape_tfidf, eval_native},
	{OP_Tokenize, rule_words, eval_native},
	{0},
};
