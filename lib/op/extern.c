/* Operators of one's own: a C function of the user's computes them, a rule says the types of their results.
 *
 * A rule is types of operands, "->", types of results: "T[n,c] f32[c] -> T[n,1] i64[2*n]". A type is that of elements, or a capital
 * letter, which is the same everywhere, and extents: a name is the same everywhere, an extent of a result may be computed. Without a
 * rule each result is as operand 0. */
#define _GNU_SOURCE
#include <ctype.h>
#include <string.h>
#include "common/msg.h"
#include "common/shown.h"
#include "op/rules.h"

enum { NAMES_MAX = 32 };

/* A rule that is read, and what its names stand for. */
struct rule {
	struct module *m;
	struct infer *I; /* NULL: only read, for its syntax */
	const char *text;
	const char *p;
	enum dtype letter[26];
	int nname;
	poly_var name[NAMES_MAX];
	poly size[NAMES_MAX]; /* POLY_UNKNOWN: of no operand whose shape is known */
};

static void blanks(struct rule *r) { r->p += strspn(r->p, " \t"); }

static const char *misread(struct rule *r, const char *wanted)
{
	return arena_printf(&r->m->arena, "its rule '%s': %s wanted at '%s'", r->text, wanted, r->p);
}

/* Variables of rules have names that no symbol of a file has. */
static poly_var variable(sym name, void *arg)
{
	struct rule *r = arg;
	struct polys *P = r->m->dims;
	sym own = intern(arena_printf(&r->m->arena, "rule %s", sym_str(name)));
	poly_var v = poly_var_find(P, own);
	int i = 0;

	v = v ? v : poly_var_new(P, own, 0, POLY_INF, 1);
	while (i < r->nname && r->name[i] != v)
		i++;
	if (i == NAMES_MAX)
		return 0;
	if (i == r->nname)
		r->name[r->nname] = v, r->size[r->nname++] = POLY_UNKNOWN;
	return v;
}

/* The type at p; *letter: the capital that stands for it, or 0. */
static const char *read_dtype(struct rule *r, enum dtype *t, char *letter)
{
	size_t n = strcspn(r->p, "[ \t");

	*letter = n == 1 && isupper((unsigned char)*r->p) ? *r->p : 0;
	*t = *letter ? r->letter[*letter - 'A'] : dtype_parse(r->p, n);
	if (!*letter && !*t)
		return misread(r, "a type, as f32, or a capital letter");
	r->p += n;
	return NULL;
}

/* The extents in brackets: forms of the rule's variables, POLY_UNKNOWN for ?. *rank: RANK_UNKNOWN without brackets. */
static const char *read_extents(struct rule *r, int *rank, poly *dims)
{
	*rank = *r->p == '[' ? 0 : RANK_UNKNOWN;
	while (*r->p == '[' || *r->p == ',') {
		size_t n = strcspn(++r->p, ",]");
		const char *text = arena_printf(&r->m->arena, "%.*s", (int)n, r->p), *why = NULL;
		if (*rank == RANK_MAX)
			return misread(r, "fewer axes");
		dims[*rank] = POLY_UNKNOWN;
		if (n && strcmp(text, "?"))
			why = poly_parse(r->m->dims, text, variable, r, &dims[*rank]);
		if (why || (!n && (*rank || *r->p != ']')))
			return misread(r, "an extent");
		*rank += n > 0;
		r->p += n;
	}
	if (*rank == RANK_UNKNOWN)
		return NULL;
	if (*r->p != ']')
		return misread(r, "']'");
	r->p++;
	return NULL;
}

/* A name of an operand's axis is what the first one says; the rest agrees, as far as it is known. */
static const char *bind_extent(struct rule *r, uint32_t i, int axis, poly form)
{
	struct polys *P = rule_polys(r->I);
	poly is = rule_dim(r->I, i, axis);
	poly_var v = form ? poly_is_var(P, form) : 0;
	int64_t a, b;

	if (form && !v && !poly_is_const(P, form, NULL))
		return rule_why(r->I, "its rule '%s': operands have names, numbers and ?", attr_s(r->I->n, "rule"));
	for (int k = 0; v && k < r->nname; k++)
		if (r->name[k] == v)
			form = r->size[k] = r->size[k] ? r->size[k] : is;
	if (form && is && poly_is_const(P, form, &a) && poly_is_const(P, is, &b) && a != b)
		return rule_why(r->I, "operand %u has extent %lld at axis %d, not %lld (rule '%s')", i, (long long)b, axis, (long long)a,
				attr_s(r->I->n, "rule"));
	return NULL;
}

static const char *read_operand(struct rule *r, uint32_t i)
{
	const struct type *is = &r->I->in[i];
	poly dims[RANK_MAX];
	enum dtype t;
	char letter;
	int rank;
	const char *why = read_dtype(r, &t, &letter);

	why = why ? why : read_extents(r, &rank, dims);
	if (why || i >= r->I->n->nin)
		return why ? why : rule_why(r->I, "%u operands, its rule '%s' has more", r->I->n->nin, attr_s(r->I->n, "rule"));
	if (letter && !t)
		r->letter[letter - 'A'] = t = is->dtype;
	if (t && is->dtype && t != is->dtype)
		return rule_why(r->I, "operand %u is %s, not %s (rule '%s')", i, dtype_name(is->dtype), dtype_name(t),
				attr_s(r->I->n, "rule"));
	if (rank == RANK_UNKNOWN || is->rank == RANK_UNKNOWN)
		return NULL;
	if (rank != is->rank)
		return rule_why(r->I, "operand %u has rank %d, not %d (rule '%s')", i, is->rank, rank, attr_s(r->I->n, "rule"));
	for (int k = 0; k < rank && !why; k++)
		why = bind_extent(r, i, k, dims[k]);
	return why;
}

static const char *read_result(struct rule *r, uint32_t k)
{
	struct polys *P = rule_polys(r->I);
	poly dims[RANK_MAX];
	enum dtype t;
	char letter;
	int rank;
	const char *why = read_dtype(r, &t, &letter);

	why = why ? why : read_extents(r, &rank, dims);
	if (why)
		return why;
	dim *d = rule_dims(r->I, rank < 0 ? 0 : rank);
	for (int i = 0; i < rank; i++) {
		bool is_known = dims[i] != POLY_UNKNOWN;
		for (int v = 0; v < r->nname && is_known; v++)
			is_known = r->size[v] || !poly_uses(P, dims[i], r->name[v]);
		d[i] = is_known ? poly_subst_many(P, dims[i], r->nname, r->name, r->size) : POLY_UNKNOWN;
	}
	if (k < r->I->n->nout)
		rule_out(r->I, k, t, rank, d);
	return NULL;
}

static const char *shape_extern(struct infer *I)
{
	struct rule r = {.m = I->m, .I = I, .text = attr_s(I->n, "rule"), .p = attr_s(I->n, "rule")};
	const char *why = NULL;
	uint32_t i = 0;

	if (!*r.p)
		for (; I->n->nin && i < I->n->nout; i++)
			rule_like(I, i, 0);
	if (!*r.p)
		return NULL;
	for (blanks(&r); *r.p && strncmp(r.p, "->", 2) && !why; blanks(&r))
		why = read_operand(&r, i++);
	if (why || strncmp(r.p, "->", 2))
		return why ? why : misread(&r, "'->'");
	r.p += 2;
	i = 0;
	for (blanks(&r); *r.p && !why; blanks(&r))
		why = read_result(&r, i++);
	if (!why && i < I->n->nout)
		why = rule_why(I, "%u results, its rule '%s' has %u", I->n->nout, attr_s(I->n, "rule"), i);
	return why;
}

/* A rule whatever operands there are: NULL, or what is wrong with its syntax. */
static const char *misread_rule(struct module *m, const char *text)
{
	struct rule r = {.m = m, .text = text, .p = text};
	poly dims[RANK_MAX];
	enum dtype t;
	char letter;
	int rank, arrows = 0;
	const char *why = NULL;

	for (blanks(&r); *r.p && !why; blanks(&r)) {
		if (!strncmp(r.p, "->", 2) && !arrows++) {
			r.p += 2;
			continue;
		}
		why = read_dtype(&r, &t, &letter);
		why = why ? why : read_extents(&r, &rank, dims);
	}
	return why || arrows ? why : misread(&r, "'->'");
}

static const char *eval_extern(struct eval *e)
{
	return eval_why(e, "no evaluator of %s: the function %s computes it, which libraries call", attr_s(e->n, "of"),
			attr_s(e->n, "function"));
}

static const char *unable_extern(struct module *m, const struct node *n)
{
	return arena_printf(
		&m->arena,
		"the function %s computes it, which is called for tensors in row-major order, not inside what the evaluator runs",
		attr_s(n, "function"));
}

const struct op ops_extern[] = {
	{OP_Extern, shape_extern, eval_extern, .unable = unable_extern},
	{0},
};

/* ---- which nodes ---- */

static bool is_identifier(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return n && !isdigit((unsigned char)*s);
}

void extern_check(const char *arg)
{
	const char *is = strchr(arg, '='), *dot = is ? memrchr(arg, '.', (size_t)(is - arg)) : NULL;

	if (!dot || dot == arg || dot + 1 == is || !is_identifier(is + 1, strcspn(is + 1, ":")))
		die(EX_BADUSE, "--extern %s: DOMAIN.OP=FUNCTION or DOMAIN.OP=FUNCTION:RULE wanted, FUNCTION a name in C", shown(arg));
}

static void become_extern(struct module *m, node_id id, const char *function, const char *rule)
{
	static const char *const own[] = {"function", "of", "rule"};
	struct node *n = node(m, id);
	const char *of = arena_printf(&m->arena, "%s.%s", sym_str(n->domain), sym_str(n->optype));

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (attr_find(n, own[i]))
			die(EX_NOTAVAIL, "%s has an attribute '%s', which --extern needs for itself", shown(of), own[i]);
	n->op = OP_Extern;
	n->domain = n->optype = 0;
	attr_set_str(m, id, "function", function);
	attr_set_str(m, id, "of", of);
	if (*rule)
		attr_set_str(m, id, "rule", rule);
}

void extern_bind(struct module *m, const char *arg)
{
	const char *is = strchr(arg, '='), *rule = is + 1 + strcspn(is + 1, ":"), *dot = memrchr(arg, '.', (size_t)(is - arg));
	const char *function = arena_printf(&m->arena, "%.*s", (int)(rule - is - 1), is + 1);
	sym domain = intern(arena_printf(&m->arena, "%.*s", (int)(dot - arg), arg));
	sym optype = intern(arena_printf(&m->arena, "%.*s", (int)(is - dot - 1), dot + 1));
	const char *of = arena_printf(&m->arena, "%s.%s", sym_str(domain), sym_str(optype));
	const char *why = *rule ? misread_rule(m, rule + 1) : NULL;
	bool any = false;

	if (why)
		die(EX_BADUSE, "--extern %s: %s", shown(arg), why);
	for (node_id i = 1; i < m->nodes.n; i++) {
		bool is_new = node(m, i)->op == OP_OTHER && node(m, i)->domain == domain && node(m, i)->optype == optype;
		any |= is_new || (node(m, i)->op == OP_Extern && !strcmp(attr_s(node(m, i), "of"), of));
		if (is_new)
			become_extern(m, i, function, *rule ? rule + 1 : "");
	}
	if (!any)
		warn("--extern %s: no node has this operator", shown(of));
}
