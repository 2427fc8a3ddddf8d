/* An Einsum of more than two operands becomes Einsums of two, in the order that takes the fewest products. */
#include <stdlib.h>
#include <string.h>
#include "fuse.h"
#include "op/einsum.h"

struct split {
	struct module *m;
	graph_id g;
	node_id root;
	struct einsum q;
	struct einsum_ways ways;
	char name[LETTERS_MAX]; /* of letters */
	VEC(node_id) order;     /* of the graph, as it becomes */
};

/* A value and the letters of its axes. */
struct part {
	val_id v;
	int rank, letter[RANK_MAX];
	dim dims[RANK_MAX];
};

/* An open size counts as this where the order of the products is chosen. */
enum { OPEN_EXTENT = 64 };

static bool is_one(struct module *m, dim d)
{
	int64_t c;

	return poly_is_const(m->dims, d, &c) && c == 1;
}

/* Letters for what is under "..."; false: all are taken. */
static bool name_letters(struct split *s)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	bool used[LETTERS_MAX] = {0};
	int next = 0;

	for (int t = 0; t <= s->q.terms; t++)
		for (int k = 0; k < s->q.rank[t]; k++)
			used[s->q.axis[t][k]] = true;
	for (int c = 0; c < LETTERS_MAX; c++) {
		if (c < 52 || !used[c]) {
			s->name[c] = all[c < 52 ? c : 0];
			continue;
		}
		while (next < 52 && used[next])
			next++;
		if (next == 52)
			return false;
		s->name[c] = all[next++];
	}
	return true;
}

/* Axes of what n parts give: as the result of all has them, then as they have them. False: too many. */
static bool letters_of(struct split *s, int set, int n, const struct part *from, struct part *to)
{
	bool has[LETTERS_MAX];
	int last = s->q.terms;

	einsum_letters(&s->q, set, has);
	for (int t = -1; t < n; t++) {
		int rank = t < 0 ? s->q.rank[last] : from[t].rank;
		const int *letter = t < 0 ? s->q.axis[last] : from[t].letter;
		for (int k = 0; k < rank; k++) {
			if (!has[letter[k]])
				continue;
			if (to->rank == RANK_MAX)
				return false;
			has[letter[k]] = false;
			to->letter[to->rank++] = letter[k];
		}
	}
	for (int k = 0; k < to->rank; k++) {
		to->dims[k] = poly_const(s->m->dims, 1);
		for (int t = 0; t < n; t++)
			for (int i = 0; i < from[t].rank; i++)
				if (from[t].letter[i] == to->letter[k] && !is_one(s->m, from[t].dims[i]))
					to->dims[k] = from[t].dims[i];
	}
	return true;
}

static const char *equation(struct split *s, int n, const struct part *from, int rank, const int *letter)
{
	char text[4 * RANK_MAX], *p = text;

	for (int t = 0; t < n; t++) {
		for (int k = 0; k < from[t].rank; k++)
			*p++ = s->name[from[t].letter[k]];
		if (t + 1 < n)
			*p++ = ',';
	}
	*p++ = '-';
	*p++ = '>';
	for (int k = 0; k < rank; k++)
		*p++ = s->name[letter[k]];
	*p = 0;
	return arena_str(&s->m->arena, text);
}

/* A node that multiplies n parts, the root for all operands. False: it would have too many axes. */
static bool multiply(struct split *s, int set, int n, const struct part *from, struct part *to)
{
	struct module *m = s->m;
	bool whole = set == (1 << s->q.terms) - 1;
	val_id in[2] = {from[0].v, n > 1 ? from[1].v : 0};
	node_id id = s->root;

	*to = (struct part){0};
	if (!whole && !letters_of(s, set, n, from, to))
		return false;
	if (whole) {
		to->rank = s->q.rank[s->q.terms];
		memcpy(to->letter, s->q.axis[s->q.terms], sizeof to->letter);
		node(m, id)->nin = (uint32_t)n;
		node(m, id)->in = arena_copy(&m->arena, in, sizeof *in * (size_t)n);
	} else {
		id = node_new_loose(m, s->g, OP_Einsum, n, in, 1);
		node(m, id)->name = node(m, s->root)->name;
		to->v = node(m, id)->out[0];
		val(m, to->v)->type = (struct type){.dtype = val(m, from[0].v)->type.dtype,
						    .rank = to->rank,
						    .dims = arena_copy(&m->arena, to->dims, sizeof *to->dims * (size_t)to->rank)};
	}
	attr_set_str(m, id, "equation", equation(s, n, from, to->rank, to->letter));
	vec_push(&s->order, id);
	return true;
}

/* The product of a set of operands; of one, without what nobody asks for. */
static bool make(struct split *s, int set, struct part *to)
{
	struct part from[2] = {0};
	bool has[LETTERS_MAX];
	int t = 0, kept = 0;

	if (s->ways.first[set])
		return make(s, set - s->ways.first[set], &from[0]) && make(s, s->ways.first[set], &from[1]) &&
		       multiply(s, set, 2, from, to);
	while (!(set >> t & 1))
		t++;
	from[0] = (struct part){.v = node(s->m, s->root)->in[t], .rank = s->q.rank[t]};
	memcpy(from[0].letter, s->q.axis[t], sizeof from[0].letter);
	memcpy(from[0].dims, val(s->m, from[0].v)->type.dims, sizeof *from[0].dims * (size_t)from[0].rank);
	einsum_letters(&s->q, set, has);
	for (int k = 0; k < from[0].rank; k++) {
		kept += has[from[0].letter[k]];
		has[from[0].letter[k]] = false; /* a letter twice is a diagonal */
	}
	*to = from[0];
	return kept == from[0].rank || multiply(s, set, 1, from, to);
}

/* The extent of each letter, 1 or what all its axes have that are not 1; open ones are OPEN_EXTENT. NULL, or why there is none. */
static const char *extents_of(struct split *s, const struct node *n, int64_t *extent)
{
	struct polys *P = s->m->dims;
	dim of[LETTERS_MAX];

	for (int c = 0; c < LETTERS_MAX; c++)
		of[c] = poly_const(P, extent[c] = 1);
	for (int t = 0; t < s->q.terms; t++)
		for (int k = 0; k < s->q.rank[t]; k++) {
			dim d = val(s->m, n->in[t])->type.dims[k];
			int c = s->q.axis[t][k];
			if (d == POLY_UNKNOWN)
				return "a size is not known";
			if (is_one(s->m, d))
				continue;
			if (!is_one(s->m, of[c]) && of[c] != d)
				return "two axes of one letter may differ, and one of them be 1";
			of[c] = d;
			if (!poly_is_const(P, d, &extent[c]))
				extent[c] = OPEN_EXTENT;
			else if (!extent[c])
				return "a size is 0";
		}
	return NULL;
}

/* NULL: the nodes are in the order. Sums of halves are not rounded in between: those stay. */
static const char *split(struct split *s)
{
	struct module *m = s->m;
	const struct node n = *node(m, s->root);
	int64_t extent[LETTERS_MAX];
	int rank[TERMS_MAX];
	const char *why;
	struct part whole;

	if (n.nin > TERMS_MAX)
		return "too many operands";
	for (uint32_t i = 0; i < n.nin; i++) {
		const struct type *t = &val(m, n.in[i])->type;
		if (t->other || t->rank == RANK_UNKNOWN || t->dtype == DT_F16 || t->dtype == DT_BF16)
			return "a rank is not known, or halves would be rounded in between";
		rank[i] = t->rank;
	}
	if ((why = einsum_parse(attr_s(&n, "equation"), n.nin, rank, &s->q)) || (why = extents_of(s, &n, extent)))
		return why;
	if (!name_letters(s))
		return "no letters are left for what is under \"...\"";
	einsum_find_ways(&s->q, extent, &s->ways);
	return make(s, (1 << s->q.terms) - 1, &whole) ? NULL : "too many axes in between";
}

void split_einsums(struct module *m, graph_id g, const struct pass_ctx *c)
{
	struct split *s = xcalloc(1, sizeof *s);
	bool changed = false;

	s->m = m;
	s->g = g;
	for (size_t i = 0; i < graph(m, g)->nodes.n; i++) {
		s->root = graph(m, g)->nodes.a[i];
		size_t before = s->order.n;
		if (node(m, s->root)->op != OP_Einsum || node(m, s->root)->nin < 3) {
			vec_push(&s->order, s->root);
			continue;
		}
		const char *why = split(s);
		pass_why(c, m, s->root, "%s", why ? why : "two by two");
		changed |= !why;
		if (why) {
			s->order.n = before;
			vec_push(&s->order, s->root);
		}
	}
	if (changed) {
		graph(m, g)->nodes.n = 0;
		for (size_t i = 0; i < s->order.n; i++)
			vec_push(&graph(m, g)->nodes, s->order.a[i]);
	}
	vec_free(&s->order);
	free(s);
}
