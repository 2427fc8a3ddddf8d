/* Checks demands (lib/op/demands.c). They are short, so their text is parsed again for each node. */
#include <stdlib.h>
#include "op/rules.h"

/* ---- types ---- */

#define BIT(t)         (1u << DT_##t)
#define OR_BIT(t, ...) | BIT(t)
enum {
	FLOATS = BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64),
	INT4 = BIT(U4) | BIT(I4) | BIT(U2) | BIT(I2),
	INTS = (0 INT_DTYPES(OR_BIT)) & ~INT4,
	F8S = BIT(F8E4M3FN) | BIT(F8E4M3FNUZ) | BIT(F8E5M2) | BIT(F8E5M2FNUZ),
	SMALL = BIT(F4E2M1) | BIT(F6E2M3) | BIT(F6E3M2),
	E8M0 = BIT(F8E8M0),
	COMPLEX = BIT(C64) | BIT(C128),
};

static const unsigned type_sets[128] = {
	['B'] = BIT(BOOL),
	['C'] = FLOATS | INTS | INT4 | F8S | SMALL | E8M0 | BIT(BOOL) | BIT(STR),
	['D'] = F8S | SMALL | INT4 | BIT(I8) | BIT(U8) | BIT(I16) | BIT(U16) | BIT(I32),
	['E'] = BIT(F32),
	['F'] = FLOATS,
	['G'] = FLOATS | F8S,
	['H'] = BIT(F16) | BIT(BF16) | BIT(F32),
	['I'] = INTS,
	['J'] = BIT(I32) | BIT(I64),
	['K'] = F8S | SMALL | INT4 | BIT(I8) | BIT(U8) | BIT(I16) | BIT(U16),
	['L'] = BIT(I64),
	['M'] = FLOATS | BIT(I32) | BIT(I64) | BIT(U32) | BIT(U64),
	['N'] = FLOATS | INTS,
	['+'] = FLOATS | BIT(I8) | BIT(U8),
	['&'] = BIT(F32) | BIT(F64) | BIT(I32) | BIT(I64) | BIT(U32) | BIT(U64) | BIT(STR),
	['$'] = BIT(F16) | BIT(BF16) | BIT(F32) | E8M0,
	['%'] = BIT(F16) | BIT(BF16) | BIT(F32) | BIT(I32) | E8M0,
	['O'] = BIT(F16) | BIT(BF16) | BIT(F32) | BIT(I32),
	['P'] = FLOATS | INTS | BIT(BOOL),
	['Q'] = BIT(I8) | BIT(U8),
	['R'] = FLOATS | INTS | INT4 | F8S | SMALL | E8M0 | COMPLEX | BIT(BOOL),
	['S'] = BIT(STR),
	['T'] = FLOATS | BIT(I8) | BIT(U8),
	['U'] = BIT(U8),
	['V'] = FLOATS | INTS | BIT(BOOL) | BIT(STR),
	['W'] = BIT(I32),
	['A'] = FLOATS | INTS | COMPLEX | BIT(BOOL) | BIT(STR),
	['X'] = ~0u,
	['Y'] = FLOATS | INTS | INT4 | F8S | SMALL | E8M0 | BIT(BOOL) | BIT(STR),
	['Z'] = FLOATS | INTS | INT4 | F8S | SMALL | E8M0 | COMPLEX | BIT(BOOL) | BIT(STR),
};

static const char *type_names(struct infer *I, unsigned set)
{
	const char *s = "";

	for (enum dtype t = 1; t < DT_COUNT; t++)
		if (set >> t & 1)
			s = arena_printf(&I->m->arena, "%s%s%s", s, *s ? ", " : "", dtype_name(t));
	return s;
}

/* ---- operands ---- */

static const char *rank_words(struct infer *I, int64_t lo, int64_t hi)
{
	struct arena *a = &I->m->arena;

	if (lo == hi)
		return arena_printf(a, "rank %lld", (long long)lo);
	return hi == RANK_MAX ? arena_printf(a, "rank %lld or more", (long long)lo)
			      : arena_printf(a, "rank %lld to %lld", (long long)lo, (long long)hi);
}

static const char *rank_within(struct infer *I, uint32_t i, int64_t lo, int64_t hi)
{
	int rank = rule_rank(I, i);

	if (rank < 0 || (rank >= lo && rank <= hi))
		return NULL;
	return rule_why(I, "operand %u has rank %d, takes %s", i, rank, rank_words(I, lo, hi));
}

/* {LO,HI}, either may be missing. */
static const char *check_ranks(struct infer *I, uint32_t i, const char **s)
{
	char *end;
	int64_t lo = strtol(*s + 1, &end, 10), hi;

	hi = end[1] == '}' ? RANK_MAX : strtol(end + 1, &end, 10);
	*s = strchr(end, '}') + 1;
	return rank_within(I, i, lo, hi);
}

/* [N,?,5,*]: letter[c] is the extent that letter c stands for, -1: none yet. */
static const char *check_extents(struct infer *I, uint32_t i, const char **s, int64_t *letter)
{
	int n = 0;
	bool more = false;
	const char *p = *s + 1, *why;
	int64_t c, want;

	for (const char *q = p; *q != ']'; q++) {
		n += *q != ',' && *q != '*';
		more |= *q == '*';
	}
	*s = strchr(p, ']') + 1;
	if ((why = rank_within(I, i, n, more ? RANK_MAX : n)) || rule_rank(I, i) < 0)
		return why;
	for (int k = 0; k < n; k++, p += 2) {
		if (*p == '?' || !poly_is_const(rule_polys(I), rule_dim(I, i, k), &c))
			continue;
		if (*p >= '0' && *p <= '9') {
			want = *p - '0';
		} else {
			if (letter[*p - 'A'] < 0)
				letter[*p - 'A'] = c;
			want = letter[*p - 'A'];
		}
		if (c != want)
			return rule_why(I, "operand %u has extent %lld at axis %d, takes %lld", i, (long long)c, k, (long long)want);
	}
	return NULL;
}

static const char *check_one(struct infer *I, uint32_t i)
{
	int64_t c = 1, d;

	for (int k = 0; k < rule_rank(I, i); k++)
		c = poly_is_const(rule_polys(I), rule_dim(I, i, k), &d) && d != 1 ? 0 : c;
	return c != 1 || (rule_rank(I, i) > 1 && !op_is(I->n->op, OP_CONTROL))
		       ? rule_why(I, "operand %u is %s, takes one element", i, type_str(I->m, &I->in[i], &I->m->arena))
		       : NULL;
}

static const char *check_operand(struct infer *I, uint32_t i, const char *s, int64_t *letter)
{
	const struct type *t = &I->in[i];
	unsigned set = type_sets[(unsigned char)*s & 127];
	const char *why = NULL;

	if (t->other ? *s != 'X' : t->dtype && !(set >> t->dtype & 1))
		return rule_why(I, "operand %u is %s, takes %s", i, t->other ? sym_str(t->other) : dtype_name(t->dtype),
				type_names(I, set));
	for (s++; *s && *s != ' ' && !why;) {
		char c = *s;
		uint32_t k = c == '=' || c == '~' ? (uint32_t)(s[1] - '0') : 0;
		bool other = rule_has(I, k);
		if (c == '=' && other && t->dtype && I->in[k].dtype && t->dtype != I->in[k].dtype)
			why = rule_why(I, "operand %u is %s, operand %u is %s", i, dtype_name(t->dtype), k, dtype_name(I->in[k].dtype));
		if (c == '~' && other && t->rank >= 0 && I->in[k].rank >= 0 && t->rank != I->in[k].rank)
			why = rule_why(I, "operand %u has rank %d, operand %u %d", i, t->rank, k, I->in[k].rank);
		if (c == '{')
			why = check_ranks(I, i, &s);
		else if (c == '[')
			why = check_extents(I, i, &s, letter);
		else if (c == '.' && s[1] != '.')
			why = check_one(I, i), s++;
		else
			s += c == '.' ? 3 : c == '!' ? 1 : 2;
	}
	return why;
}

static const char *check_operands(struct infer *I, const char *s)
{
	int64_t letter[26];
	const char *why = NULL;
	uint32_t like = UINT32_MAX; /* the operand that all further ones must be like */

	memset(letter, -1, sizeof letter);
	for (uint32_t i = 0; i < I->n->nin && *s && !why; i++) {
		size_t n = strcspn(s, " ");
		bool rest = n > 3 && !memcmp(s + n - 3, "...", 3);
		if (rule_has(I, i))
			why = check_operand(I, i, s, letter);
		if (rest && like == UINT32_MAX && I->in[i].dtype)
			like = i;
		if (rest && !why && like != UINT32_MAX && I->in[i].dtype && I->in[i].dtype != I->in[like].dtype)
			why = rule_why(I, "operand %u is %s, operand %u is %s", i, dtype_name(I->in[i].dtype), like,
				       dtype_name(I->in[like].dtype));
		if (!rest)
			s += n + (s[n] == ' ');
	}
	return why;
}

/* Extents that an operand's text names, as far as they are known: letters learn them, or tell them. Returns how many there are; *more:
 * there may be further ones. */
static int read_extents(struct module *m, const char *p, const struct type *t, int64_t *letter, dim *dims, bool *more)
{
	int n = 0;

	for (*more = false; *p && *p != ']'; p++) {
		*more |= *p == '*';
		if (*p == ',' || *p == '*' || n == RANK_MAX)
			continue;
		int64_t c = *p >= '0' && *p <= '9' ? *p - '0' : -1;
		bool named = *p >= 'A' && *p <= 'Z';
		if (named && t->rank > n && poly_is_const(m->dims, t->dims[n], &c) && letter[*p - 'A'] < 0)
			letter[*p - 'A'] = c;
		if (named && letter[*p - 'A'] >= 0)
			c = letter[*p - 'A'];
		dims[n++] = c >= 0 ? poly_const(m->dims, c) : POLY_UNKNOWN;
	}
	return n;
}

int demand_shape(struct module *m, const struct node *n, const struct type *t, uint32_t i, dim *dims)
{
	const char *s = demands[n->op].operands, *extents = NULL;
	int64_t letter[26];
	bool more = false;
	int rank = RANK_UNKNOWN, given;

	memset(letter, -1, sizeof letter);
	memset(dims, 0, RANK_MAX * sizeof *dims);
	for (uint32_t k = 0; s && k < n->nin && *s; k++, s += *s == ' ') {
		size_t len = strcspn(s, " ");
		const char *p = memchr(s, '[', len), *like = memchr(s, '~', len);
		uint32_t as = like ? (uint32_t)(like[1] - '0') : n->nin;
		if (len > 3 && !memcmp(s + len - 3, "...", 3))
			break;
		if (p && k != i)
			read_extents(m, p + 1, &t[k], letter, dims, &more);
		extents = p && k == i ? p + 1 : extents;
		if (as < n->nin && (k == i || as == i))
			rank = t[k == i ? as : k].rank;
		s += len;
	}
	memset(dims, 0, RANK_MAX * sizeof *dims);
	if (!extents)
		return rank;
	given = read_extents(m, extents, &t[i], letter, dims, &more);
	return more ? rank : given;
}

bool op_refuses(enum opcode op, uint32_t i)
{
	const char *s = demands[op].operands;

	for (; s && *s && i; i--) {
		size_t n = strcspn(s, " ");
		if (n > 3 && !memcmp(s + n - 3, "...", 3))
			break;
		s += n + (s[n] == ' ');
	}
	return s && memchr(s, '!', strcspn(s, " "));
}

/* ---- attributes ---- */

static const char *check_word(struct infer *I, const struct attr *a, const char *set)
{
	size_t n = strlen(a->u.s);

	for (const char *p = set + 1; *p && p[-1] != '}'; p += strcspn(p, ",}") + 1)
		if (strcspn(p, ",}") == n && !memcmp(p, a->u.s, n))
			return NULL;
	return rule_why(I, "attribute '%s' is \"%s\", takes %.*s", sym_str(a->name), a->u.s, (int)strcspn(set + 1, "}"), set + 1);
}

static const char *check_numbers(struct infer *I, const struct attr *a, int64_t lo, int64_t hi)
{
	for (uint32_t k = 0; k < (a->kind == ATTR_INT ? 1 : a->n); k++) {
		int64_t v = a->kind == ATTR_INT ? a->u.i : a->u.ints[k];
		if (v < lo || v > hi)
			return rule_why(I, "attribute '%s' is %lld, takes %lld to %lld", sym_str(a->name), (long long)v, (long long)lo,
					(long long)hi);
	}
	return NULL;
}

static const char *check_axis(struct infer *I, const struct attr *a, char more)
{
	int64_t rank = rule_rank(I, 0), lo = -rank - (more == '1'), hi = rank - (more != '1' && more != '2');

	if (rank < 0)
		return NULL;
	for (uint32_t k = 0; k < (a->kind == ATTR_INT ? 1 : a->n); k++) {
		int64_t v = a->kind == ATTR_INT ? a->u.i : a->u.ints[k];
		if (v < lo || v > hi)
			return rule_why(I, "attribute '%s': axis %lld outside rank %lld", sym_str(a->name), (long long)v,
					(long long)(rank + (more == '1')));
	}
	return NULL;
}

static const char *check_length(struct infer *I, const struct attr *a, char what)
{
	int64_t spatial = rule_rank(I, 0) - 2, n = what == 's' ? spatial : what == 't' ? 2 * spatial : what - '0';

	if (n >= 0 && a->n != n)
		return rule_why(I, "attribute '%s' has %u elements, takes %lld", sym_str(a->name), a->n, (long long)n);
	return NULL;
}

static const char *check_attribute(struct infer *I, const struct attr *a, const char *s)
{
	const char *why = NULL;
	char *end;

	if (*s == '{')
		return check_word(I, a, s);
	if (*s == '@')
		return check_axis(I, a, s[1]);
	if (*s == '=' || *s == '~')
		return (*s == '~' && !a->u.i) || (a->u.i > 0 && a->u.i < 128 && dtype_from_onnx((int)a->u.i))
			       ? NULL
			       : rule_why(I, "attribute '%s' is %lld, no element type", sym_str(a->name), (long long)a->u.i);
	if (*s == '#') {
		why = check_length(I, a, s[1]);
		s += s[2] == ':' ? 3 : 2;
	}
	if (why || !*s || *s == ' ')
		return why;
	int64_t lo = strtoll(s, &end, 10), hi = end[2] && end[2] != ' ' ? strtoll(end + 2, NULL, 10) : INT32_MAX;
	return check_numbers(I, a, lo, hi);
}

static const char *check_attributes(struct infer *I, const char *s)
{
	const char *why = NULL;

	for (; s && *s && !why; s += strcspn(s, " "), s += *s == ' ') {
		size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz_");
		for (uint32_t i = 0; i < I->n->nattr && !why; i++)
			if (sym_len(I->n->attr[i].name) == n && !memcmp(sym_str(I->n->attr[i].name), s, n))
				why = check_attribute(I, &I->n->attr[i], s + n);
	}
	return why;
}

const char *demand_check(struct infer *I)
{
	const struct demand *d = &demands[I->n->op];
	const char *why = d->operands ? check_operands(I, d->operands) : NULL;

	return why ? why : I->n->nattr ? check_attributes(I, d->attributes) : NULL;
}

bool op_attr_is_type(enum opcode op, const char *attr)
{
	size_t n = strlen(attr);

	for (const char *s = demands[op].attributes; s && *s; s += strcspn(s, " "), s += *s == ' ')
		if (!strncmp(s, attr, n) && (s[n] == '=' || s[n] == '~'))
			return true;
	return false;
}
