/* Boosted trees: their text, and what they predict. */
#include "cost/trees.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "common/vec.h"

struct tree_node {
	int32_t column; /* -1: a leaf */
	int32_t less;   /* of a leaf: its units */
	uint32_t no;    /* from the start of the tree */
};
struct learned_range { /* of a feature */
	int32_t feature, least, most;
};
/* A tree's node for walking: a leaf is its own next node. */
struct walk_node {
	int32_t column, less;
	uint32_t next[2]; /* where the column is not less, and where it is */
};
struct trees {
	VEC(struct tree_node) node;
	const struct walk_node *walk; /* by node */
	const uint32_t *depth;        /* by tree: forks on its longest way */
	VEC(uint32_t) tree;           /* where each begins */
	VEC(uint32_t) member;         /* which tree each begins with */
	VEC(struct learned_range) range;
	bool adds; /* to another model, the base */
	struct digest base_text;
	const char *target;       /* of an addition; NULL: any */
	const struct trees *base; /* NULL: not joined */
};
enum { UNITS_MAX = 1 << 30, NODES_MAX = 1 << 24 };

struct reader {
	struct trees t;
	const char *why;
	uint32_t nodes; /* of the tree so far */
	uint32_t leaves, forks;
	uint32_t furthest; /* node that some NO names */
	bool open;         /* a tree is begun */
	bool ended;
};

static void fail(struct reader *r, const char *why) { r->why = r->why ? r->why : why; }

/* A tree is whole if each node but the first is reached once: a fork's next node by following it, another by a NO. */
static void end_tree(struct reader *r)
{
	if (r->open && (r->nodes == 0 || r->leaves != r->forks + 1 || r->furthest >= r->nodes))
		fail(r, "the tree before is not whole");
	r->nodes = r->leaves = r->forks = r->furthest = 0;
	r->open = false;
}

static void begin_member(struct reader *r)
{
	end_tree(r);
	if (r->t.member.n && r->t.member.a[r->t.member.n - 1] == r->t.tree.n)
		fail(r, "the member before has no tree");
	if (r->t.member.n == TREES_MEMBERS_MAX)
		fail(r, "too many members");
	vec_push(&r->t.member, (uint32_t)r->t.tree.n);
}

static void begin_tree(struct reader *r)
{
	end_tree(r);
	if (!r->t.member.n)
		fail(r, "a tree of no member");
	vec_push(&r->t.tree, (uint32_t)r->t.node.n);
	r->open = true;
}

static bool whole_number(const char *s, long long least, long long most, long long *out)
{
	char *end;

	if (!isdigit((unsigned char)*s) && !(*s == '-' && isdigit((unsigned char)s[1])))
		return false;
	*out = strtoll(s, &end, 10);
	return !*end && *out >= least && *out <= most;
}

static void add_node(struct reader *r, char *word[4], int n)
{
	struct tree_node x = {.column = -1};
	long long number = -1, value = 0, no = 0;
	bool leaf = n == 3 && !strcmp(word[1], "=");

	if (!r->open) {
		fail(r, "a node of no tree");
		return;
	}
	if (!whole_number(word[0], 0, NODES_MAX, &number) || number != r->nodes || r->t.node.n == NODES_MAX)
		fail(r, "not the number of the next node");
	else if (!leaf && n != 4)
		fail(r, "neither NUMBER COLUMN LESS NO nor NUMBER = UNITS");
	else if (!whole_number(word[2], -UNITS_MAX, UNITS_MAX, &value))
		fail(r, "not a whole number, or too large");
	else if (!leaf && (x.column = column_find(word[1])) < 0)
		fail(r, "a column that this program does not know");
	else if (!leaf && (!whole_number(word[3], number + 2, NODES_MAX, &no)))
		fail(r, "its second branch is not behind its first");
	x.less = (int32_t)value;
	x.no = (uint32_t)no;
	r->furthest = x.no > r->furthest ? x.no : r->furthest;
	*(leaf ? &r->leaves : &r->forks) += 1;
	r->nodes++;
	vec_push(&r->t.node, x);
}

static void add_range(struct reader *r, char *word[4])
{
	long long least = 0, most = 0;
	int column = column_find(word[1]);

	if (r->t.member.n)
		fail(r, "a range behind a member");
	else if (column < 0 || column >= FEATURE_COUNT)
		fail(r, "a range of no feature that this program knows");
	else if (!whole_number(word[2], -UNITS_MAX, UNITS_MAX, &least) || !whole_number(word[3], least, UNITS_MAX, &most))
		fail(r, "a range that is none");
	vec_push(&r->t.range, (struct learned_range){column, (int32_t)least, (int32_t)most});
}

/* "base DIGEST" or "target ROW". False: another line. */
static bool take_head(struct reader *r, const char *line, struct arena *a)
{
	bool base = !strncmp(line, "base ", 5), target = !strncmp(line, "target ", 7);

	if (base && (r->t.adds || !digest_parse(line + 5, 32, &r->t.base_text) || line[5 + 32]))
		fail(r, "not one digest of a base");
	if (target && r->t.target)
		fail(r, "a second target");
	r->t.adds |= base;
	if (target)
		r->t.target = arena_str(a, line + 7);
	return base || target;
}

static void take_line(struct reader *r, char *line, int number, struct arena *a)
{
	char *word[4], *rest = NULL;
	int n = 0;

	if (number == 1) {
		if (strcmp(line, TREES_TEXT))
			fail(r, "it does not begin with \"" TREES_TEXT "\"");
		return;
	}
	if (*line == '#' || (!r->t.range.n && !r->t.member.n && take_head(r, line, a)))
		return;
	for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		if (n == 4) {
			fail(r, "too many words");
			return;
		}
		word[n++] = w;
	}
	if (r->ended)
		fail(r, "something behind the end");
	else if (n == 4 && !strcmp(word[0], "learned"))
		add_range(r, word);
	else if (n == 1 && !strcmp(word[0], "member"))
		begin_member(r);
	else if (n == 1 && !strcmp(word[0], "tree"))
		begin_tree(r);
	else if (n == 1 && !strcmp(word[0], "end")) {
		begin_member(r);
		r->t.member.n--;
		r->ended = true;
		if (!r->t.member.n)
			fail(r, "it has no member");
	} else if (n >= 3)
		add_node(r, word, n);
	else
		fail(r, "a line of no kind that this program knows");
}

/* The trees in the form that is walked. */
static void prepare(struct trees *t, struct arena *a)
{
	struct walk_node *walk = ARENA_ARRAY(a, struct walk_node, t->node.n);
	uint32_t *depth = ARENA_ARRAY(a, uint32_t, t->tree.n), *below = xcalloc(t->node.n, sizeof *below);

	for (size_t k = t->tree.n; k-- > 0;) {
		uint32_t root = t->tree.a[k], end = k + 1 < t->tree.n ? t->tree.a[k + 1] : (uint32_t)t->node.n;
		for (uint32_t i = end; i-- > root;) { /* a node's next ones are behind it */
			const struct tree_node *x = &t->node.a[i];
			uint32_t less = x->column < 0 ? i : i + 1, no = x->column < 0 ? i : root + x->no;
			walk[i] = (struct walk_node){x->column < 0 ? 0 : x->column, x->less, {no, less}};
			if (x->column >= 0)
				below[i] = 1 + (below[less] > below[no] ? below[less] : below[no]);
		}
		depth[k] = below[root];
	}
	free(below);
	t->walk = walk;
	t->depth = depth;
}

/* In each tree a walk only goes forward, and NO names a node of the tree: it ends. That no NO leads into the middle of another branch is
 * no matter of safety. */
struct trees *trees_read(const char *text, size_t n, struct arena *a, int *line, const char **why)
{
	struct reader r = {0};
	const char *end = text + n;

	*line = 0;
	*why = NULL;
	while (text < end && !r.why) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);
		char copy[1024];
		++*line;
		if (!stop)
			fail(&r, "its last line is cut off");
		else if (length >= sizeof copy || memchr(text, 0, length))
			fail(&r, "a line that is too long, or not text");
		if (r.why)
			break;
		memcpy(copy, text, length);
		copy[length] = 0;
		take_line(&r, copy, *line, a);
		text = stop + 1;
	}
	if (!r.why && !r.ended)
		fail(&r, "it has no end");
	struct trees *t = NULL;
	if (!r.why) {
		t = arena_copy(a, &r.t, sizeof r.t);
		t->node.a = arena_copy(a, r.t.node.a, r.t.node.n * sizeof *r.t.node.a);
		t->tree.a = arena_copy(a, r.t.tree.a, r.t.tree.n * sizeof *r.t.tree.a);
		t->range.a = arena_copy(a, r.t.range.a, r.t.range.n * sizeof *r.t.range.a);
		t->member.a = arena_copy(a, r.t.member.a, r.t.member.n * sizeof *r.t.member.a);
		prepare(t, a);
	}
	vec_free(&r.t.node);
	vec_free(&r.t.tree);
	vec_free(&r.t.member);
	vec_free(&r.t.range);
	*why = r.why;
	return t;
}

struct trees *trees_open(const char *path, struct arena *a, struct digest *text)
{
	struct mapped m;
	const char *why;
	int line;

	mapped_open(&m, path);
	struct trees *t = trees_read((const char *)m.p, m.n, a, &line, &why);
	if (!t)
		die(EX_BADDATA, "%s:%d: %s", path ? path : "standard input", line, why);
	if (t->adds) {
		const struct trees *base = trees_usual(a, text);
		why = trees_join(t, base, *text);
	}
	if (why)
		die(EX_BADDATA, "%s: %s", path ? path : "standard input", why);
	*text = digest_bytes(m.p, m.n);
	mapped_close(&m);
	return t;
}

const struct digest *trees_base(const struct trees *t) { return t->adds ? &t->base_text : NULL; }

const char *trees_target(const struct trees *t) { return t->target; }

const char *trees_join(struct trees *t, const struct trees *base, struct digest base_text)
{
	if (!t->adds || !digest_eq(t->base_text, base_text))
		return "it adds to another model than the one that this hone brings along";
	if (t->member.n != base->member.n)
		return "it has not as many members as the model that it adds to";
	t->base = base;
	return NULL;
}

int trees_members(const struct trees *t) { return (int)t->member.n; }

int trees_nodes(const struct trees *t) { return (int)t->node.n; }

int trees_count(const struct trees *t, int column)
{
	int n = 0;

	for (size_t i = 0; i < t->node.n; i++)
		n += t->node.a[i].column == column;
	return n;
}

void trees_predict(const struct trees *t, const struct columns *c, int64_t *units)
{
	if (t->base)
		trees_predict(t->base, c, units);
	for (size_t m = 0; m < t->member.n; m++) {
		size_t end = m + 1 < t->member.n ? t->member.a[m + 1] : t->tree.n;
		units[m] = t->base ? units[m] : 0;
		for (size_t k = t->member.a[m]; k < end; k++) {
			uint32_t at = t->tree.a[k];
			for (uint32_t i = 0; i < t->depth[k]; i++) /* each way as long as the longest: no branch to guess */
				at = t->walk[at].next[c->a[t->walk[at].column] < t->walk[at].less];
			units[m] += t->walk[at].less;
		}
	}
}

static int compare(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* Are schedule and target like those that the model learned from? */
static bool is_known(const struct trees *t, const struct features *f)
{
	enum { NEAR = 16 }; /* steps */
	bool known = true;

	for (size_t i = 0; i < t->range.n && known; i++) {
		const struct learned_range *r = &t->range.a[i];
		known = f->a[r->feature] >= r->least - NEAR && f->a[r->feature] <= r->most + NEAR;
	}
	return known || (t->base && is_known(t->base, f));
}

static void predict_beside(const struct beside *b, const struct features *f, int64_t *time)
{
	struct columns x;

	columns_of(f, &b->usual, &x);
	trees_predict(b->model, &x, time);
}

struct beside trees_beside(const struct trees *t, const struct features *usual)
{
	struct beside b = {.model = t, .usual = *usual, .known = is_known(t, usual)};

	if (b.known)
		predict_beside(&b, usual, b.time);
	return b;
}

struct gain gain_of(const struct beside *b, const struct features *f)
{
	int64_t gain[TREES_MEMBERS_MAX];
	int n = trees_members(b->model);

	if (!b->known || !is_known(b->model, f))
		return (struct gain){0};
	predict_beside(b, f, gain);
	for (int i = 0; i < n; i++)
		gain[i] = b->time[i] - gain[i];
	qsort(gain, (size_t)n, sizeof *gain, compare);
	return (struct gain){gain[0], gain[n / 2], gain[n - 1]};
}

bool gain_is_sure(struct gain g) { return g.middle > g.most - g.least; }
