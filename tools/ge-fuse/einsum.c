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
	int64_t dims[RANK_MAX];
};

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
		to->dims[k] = 1;
		for (int t = 0; t < n; t++)
			for (int i = 0; i < from[t].rank; i++)
				if (from[t].letter[i] == to->letter[k] && from[t].dims[i] != 1)
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
		val(m, to->v)->type = type_make(m, val(m, from[0].v)->type.dtype, to->rank, to->dims);
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
	type_dims(s->m, &val(s->m, from[0].v)->type, from[0].dims);
	einsum_letters(&s->q, set, has);
	for (int k = 0; k < from[0].rank; k++) {
		kept += has[from[0].letter[k]];
		has[from[0].letter[k]] = false; /* a letter twice is a diagonal */
	}
	*to = from[0];
	return kept == from[0].rank || multiply(s, set, 1, from, to);
}

/* NULL: the nodes are in the order. Sums of halves are not rounded in between: those stay. */
static const char *split(struct split *s)
{
	struct module *m = s->m;
	const struct node n = *node(m, s->root);
	int64_t dims[RANK_MAX], extent[LETTERS_MAX];
	int rank[TERMS_MAX];
	const char *why;
	struct part whole;

	if (n.nin > TERMS_MAX)
		return "too many operands";
	for (uint32_t i = 0; i < n.nin; i++) {
		const struct type *t = &val(m, n.in[i])->type;
		if (!type_static(m, t) || type_count(m, t) == 0 || t->dtype == DT_F16 || t->dtype == DT_BF16)
			return "sizes are not known, or halves would be rounded in between";
		rank[i] = t->rank;
	}
	if ((why = einsum_parse(attr_s(&n, "equation"), n.nin, rank, &s->q)))
		return why;
	for (int c = 0; c < LETTERS_MAX; c++)
		extent[c] = 1;
	for (int t = 0; t < s->q.terms; t++) {
		type_dims(m, &val(m, n.in[t])->type, dims);
		for (int k = 0; k < rank[t]; k++)
			if (dims[k] != 1)
				extent[s->q.axis[t][k]] = dims[k];
	}
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
