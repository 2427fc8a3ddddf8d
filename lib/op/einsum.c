/* Einsum: one loop over the result's letters, one over those that are summed. */
#include <ctype.h>
#include "op/einsum.h"
#include "op/rules.h"

static int letter(char c) { return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26; }

/* One term, up to a comma, an arrow or the end. rank < 0: not known; then "..." has `dots` axes. */
static const char *parse_term(const char **text, struct einsum *s, int t, int rank, int dots)
{
	const char *p = *text;
	int letters = 0, n = 0, seen = 0;

	for (const char *q = p; *q && *q != ',' && *q != '-'; q++)
		letters += isalpha((unsigned char)*q) != 0;
	for (; *p && *p != ',' && *p != '-'; p++) {
		if (isspace((unsigned char)*p))
			continue;
		if (!strncmp(p, "...", 3)) {
			int d = rank >= 0 ? rank - letters : dots;
			if (seen++)
				return "\"...\" twice in a term";
			if (d < 0 || d > RANK_MAX - letters)
				return "more letters than axes";
			for (int k = 0; k < d; k++)
				s->axis[t][n++] = 52 + RANK_MAX - d + k;
			s->ellipsis = d > s->ellipsis ? d : s->ellipsis;
			p += 2;
		} else if (isalpha((unsigned char)*p) && n < RANK_MAX) {
			s->axis[t][n++] = letter(*p);
		} else {
			return "the equation is not understood";
		}
	}
	if (rank >= 0 && n != rank)
		return "letters and axes are not equally many";
	s->rank[t] = n;
	*text = p;
	return NULL;
}

const char *einsum_parse(const char *text, uint32_t nin, const int *rank, struct einsum *s)
{
	int seen[LETTERS_MAX] = {0};
	const char *why;

	memset(s, 0, sizeof *s);
	s->terms = (int)nin;
	if (nin > TERMS_MAX)
		return "no evaluator for so many operands";
	for (uint32_t t = 0; t < nin; t++) {
		if ((why = parse_term(&text, s, (int)t, rank[t], 0)))
			return why;
		for (int k = 0; k < s->rank[t]; k++)
			seen[s->axis[t][k]]++;
		if (*text == ',' && t + 1 < nin)
			text++;
		else if (t + 1 < nin)
			return "fewer terms than operands";
	}
	if (!strncmp(text, "->", 2)) {
		text += 2;
		if ((why = parse_term(&text, s, s->terms, -1, s->ellipsis)))
			return why;
		return *text ? "the equation is not understood" : NULL;
	}
	if (*text)
		return "more terms than operands";
	/* without an arrow: the axes under "...", then the letters that occur once, in alphabetical order */
	int n = 0;
	for (int k = 0; k < s->ellipsis; k++)
		s->axis[s->terms][n++] = 52 + RANK_MAX - s->ellipsis + k;
	for (int upper = 1; upper >= 0; upper--)
		for (int c = upper * 26; c < upper * 26 + 26; c++) {
			if (seen[c] != 1)
				continue;
			if (n == RANK_MAX)
				return "a result of more axes than can be";
			s->axis[s->terms][n++] = c;
		}
	s->rank[s->terms] = n;
	return NULL;
}

void einsum_letters(const struct einsum *s, int set, bool *has)
{
	bool inside[LETTERS_MAX] = {0}, others[LETTERS_MAX] = {0};

	for (int t = 0; t <= s->terms; t++)
		for (int k = 0; k < s->rank[t]; k++)
			*(t < s->terms && set >> t & 1 ? &inside[s->axis[t][k]] : &others[s->axis[t][k]]) = true;
	for (int c = 0; c < LETTERS_MAX; c++)
		has[c] = inside[c] && others[c];
}

void einsum_find_ways(const struct einsum *s, const int64_t *extent, struct einsum_ways *w)
{
	bool a[LETTERS_MAX], b[LETTERS_MAX];

	for (int set = 0; set < 1 << s->terms; set++) {
		w->first[set] = 0;
		w->products[set] = 0;
		for (int part = (set - 1) & set; part > set - part; part = (part - 1) & set) {
			double n = 1;
			einsum_letters(s, part, a);
			einsum_letters(s, set - part, b);
			for (int c = 0; c < LETTERS_MAX; c++)
				n *= a[c] || b[c] ? (double)extent[c] : 1;
			n += w->products[part] + w->products[set - part];
			if (w->first[set] && n >= w->products[set])
				continue;
			w->first[set] = part;
			w->products[set] = n;
		}
	}
}

static const char *shape_einsum(struct infer *I)
{
	struct einsum s;
	int rank[TERMS_MAX];
	dim of[LETTERS_MAX] = {0};
	bool have[LETTERS_MAX] = {0};
	const char *why;

	rule_out(I, 0, I->in[0].dtype, RANK_UNKNOWN, NULL);
	for (uint32_t i = 0; i < I->n->nin && i < TERMS_MAX; i++)
		if ((rank[i] = rule_rank(I, i)) == RANK_UNKNOWN)
			return NULL;
	if ((why = einsum_parse(attr_s(I->n, "equation"), I->n->nin, rank, &s)))
		return why;
	for (int t = 0; t < s.terms; t++)
		for (int k = 0; k < s.rank[t]; k++) {
			bool clash = false;
			int c = s.axis[t][k];
			dim d = rule_dim(I, (uint32_t)t, k);
			of[c] = have[c] ? rule_broadcast_dim(rule_polys(I), of[c], d, &clash) : d;
			have[c] = true;
			if (clash)
				return rule_why(I,
						"operand %d has another extent at axis %d than "
						"those before",
						t, k);
		}
	dim *d = rule_dims(I, s.rank[s.terms]);
	for (int k = 0; k < s.rank[s.terms]; k++) {
		int c = s.axis[s.terms][k];
		if (!have[c])
			return "a letter of the result is in no operand, or twice in the result";
		have[c] = false;
		d[k] = of[c];
	}
	rule_out(I, 0, I->in[0].dtype, s.rank[s.terms], d);
	return NULL;
}

/* Loops over letters: first those of the result, then the rest. */
struct loops {
	int n, outer; /* all loops, those of the result */
	int letter[LETTERS_MAX];
	int64_t extent[LETTERS_MAX], stride[TERMS_MAX][LETTERS_MAX]; /* by loop */
};

static const char *loops_of(struct eval *e, const struct einsum *s, struct loops *l)
{
	int64_t extent[LETTERS_MAX];
	int at[LETTERS_MAX];

	memset(l, 0, sizeof *l);
	for (int c = 0; c < LETTERS_MAX; c++) {
		extent[c] = -1;
		at[c] = -1;
	}
	for (int t = 0; t < s->terms; t++)
		for (int k = 0; k < s->rank[t]; k++) {
			int64_t *x = &extent[s->axis[t][k]], d = e->in[t]->dims[k];
			if (*x >= 0 && *x != 1 && d != 1 && *x != d)
				return "an operand has another extent than those before";
			*x = *x == -1 || *x == 1 ? d : d == 1 ? *x : d;
		}
	for (int k = 0; k < s->rank[s->terms]; k++) {
		int c = s->axis[s->terms][k];
		if (extent[c] < 0 || at[c] >= 0)
			return "a letter of the result is in no operand, or twice in the result";
		at[c] = l->n;
		l->letter[l->n++] = c;
	}
	l->outer = l->n;
	for (int c = 0; c < LETTERS_MAX; c++)
		if (extent[c] >= 0 && at[c] < 0) {
			at[c] = l->n;
			l->letter[l->n++] = c;
		}
	for (int i = 0; i < l->n; i++)
		l->extent[i] = extent[l->letter[i]];
	for (int t = 0; t < s->terms; t++) {
		int64_t stride = 1;
		for (int k = s->rank[t] - 1; k >= 0; k--) {
			if (e->in[t]->dims[k] != 1)
				l->stride[t][at[s->axis[t][k]]] += stride;
			stride *= e->in[t]->dims[k];
		}
	}
	return NULL;
}

/* Goes to the next combination of loops [a, b). false: there is none, and all are 0 again. */
static bool advance(const struct loops *l, int a, int b, int terms, int64_t *at, int64_t *off)
{
	for (int i = b - 1; i >= a; i--) {
		for (int t = 0; t < terms; t++)
			off[t] += l->stride[t][i];
		if (++at[i] < l->extent[i])
			return true;
		for (int t = 0; t < terms; t++)
			off[t] -= at[i] * l->stride[t][i];
		at[i] = 0;
	}
	return false;
}

static const char *eval_einsum(struct eval *e)
{
	struct einsum s;
	struct loops l;
	int rank[TERMS_MAX];
	int64_t dims[RANK_MAX], at[LETTERS_MAX] = {0}, off[TERMS_MAX] = {0}, to = 0;
	bool whole = !dtype_is_float(e->in[0]->dtype), empty = false;
	const char *why;

	for (uint32_t i = 0; i < e->n->nin && i < TERMS_MAX; i++)
		rank[i] = e->in[i]->rank;
	if ((why = einsum_parse(attr_s(e->n, "equation"), e->n->nin, rank, &s)) || (why = loops_of(e, &s, &l)))
		return why;
	for (int i = 0; i < l.outer; i++)
		dims[i] = l.extent[i];
	for (int i = 0; i < l.n; i++)
		empty = empty || l.extent[i] == 0;
	struct tensor *y = eval_out(e, 0, e->in[0]->dtype, l.outer, dims);
	if (empty)
		return NULL;
	do {
		double sum = 0;
		uint64_t isum = 0;
		do {
			double p = 1;
			uint64_t ip = 1;
			for (int t = 0; t < s.terms; t++) {
				if (whole)
					ip *= (uint64_t)tensor_get_int(e->in[t], off[t]);
				else
					p *= tensor_get(e->in[t], off[t]);
			}
			sum += p;
			isum += ip;
		} while (advance(&l, l.outer, l.n, s.terms, at, off));
		if (whole)
			store_i(y, to++, 1, &(int64_t){(int64_t)isum});
		else
			store_d(y, to++, 1, &sum);
	} while (advance(&l, 0, l.outer, s.terms, at, off));
	return NULL;
}

static double flops_einsum(struct module *m, const struct node *n)
{
	struct einsum s;
	int rank[TERMS_MAX];
	double f = 2;
	bool seen[LETTERS_MAX] = {0};
	int64_t c;

	for (uint32_t i = 0; i < n->nin && i < TERMS_MAX; i++)
		if ((rank[i] = val(m, n->in[i])->type.rank) == RANK_UNKNOWN)
			return 0;
	if (einsum_parse(attr_s(n, "equation"), n->nin, rank, &s))
		return 0;
	for (int t = 0; t < s.terms; t++)
		for (int k = 0; k < s.rank[t]; k++) {
			if (!poly_is_const(m->dims, val(m, n->in[t])->type.dims[k], &c))
				return 0;
			if (!seen[s.axis[t][k]])
				f *= (double)c;
			seen[s.axis[t][k]] = true;
		}
	return f;
}

const struct op ops_einsum[] = {
	{OP_Einsum, shape_einsum, eval_einsum, flops_einsum},
	{0},
};
