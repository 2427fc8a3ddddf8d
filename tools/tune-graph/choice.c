/* Ways to group the statements of a segment. */
#include <stdio.h>
#include <string.h>
#include "common/map.h"
#include "common/textfile.h"
#include "tune-graph.h"

enum { IMAGE_RANK_LEAST = 3 };

void choice_settle(uint32_t *group, uint32_t n)
{
	struct map number = {0};

	for (uint32_t i = 0, k = 0; i < n; i++) {
		if (group[i] && !map_get(&number, group[i]))
			map_set(&number, group[i], ++k);
		group[i] = group[i] ? map_get(&number, group[i]) : 0;
	}
	map_free(&number);
}

int choice_threads(const struct choice *c, uint32_t n, uint32_t g)
{
	for (uint32_t i = 0; c->threads && i < n; i++)
		if (c->group[i] == g)
			return c->threads[i];
	return 0;
}

bool choice_is(const struct choice *c, const struct choice *other, uint32_t n)
{
	if (c->row_major != other->row_major || memcmp(c->group, other->group, n * sizeof *c->group))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if ((c->threads ? c->threads[i] : 0) != (other->threads ? other->threads[i] : 0))
			return false;
	return true;
}

static const char row_major[] = "row-major ", by[] = " by ";

const char *choice_text(const struct choice *c, uint32_t n, struct arena *a)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);
	uint32_t most = 0;

	fputs(c->row_major ? row_major : "", f);
	for (uint32_t i = 0; i < n; i++)
		most = c->group[i] > most ? c->group[i] : most;
	for (uint32_t g = 1; g <= most; g++) {
		const char *before = g > 1 ? "; " : "";
		for (uint32_t i = 0; i < n; i++)
			if (c->group[i] == g) {
				fprintf(f, "%s%u", before, i);
				before = " ";
			}
		if (choice_threads(c, n, g))
			fprintf(f, " by %d", choice_threads(c, n, g));
	}
	textfile_close(f);
	const char *copy = arena_str(a, text);
	free(text);
	return copy;
}

bool choice_parse(const char *text, uint32_t n, struct choice *out, struct arena *a)
{
	uint32_t g = 1, *group = ARENA_ARRAY(a, uint32_t, n + 1);
	size_t head = sizeof row_major - 1;
	int *threads = ARENA_ARRAY(a, int, n + 1);

	memset(group, 0, n * sizeof *group);
	memset(threads, 0, n * sizeof *threads);
	*out = (struct choice){.group = group, .row_major = !strncmp(text, row_major, head)};
	for (const char *p = text + (out->row_major ? head : 0); *p;) {
		char *end;
		unsigned long i = strtoul(p, &end, 10);
		if (end == p || *p < '0' || *p > '9' || i >= n || group[i] || g > n)
			return false;
		group[i] = g;
		if (!strncmp(end, by, sizeof by - 1)) {
			unsigned long most = strtoul(end + sizeof by - 1, &end, 10);
			if (most < 1 || most > PLAN_THREADS_MAX)
				return false;
			out->threads = threads;
			for (uint32_t k = 0; k < n; k++)
				threads[k] = group[k] == g ? (int)most : threads[k];
		}
		g += *end == ';';
		p = end + (*end == ';');
		p += *p == ' ';
	}
	return true;
}

/* ---- units: groups, and nodes outside of all ---- */

struct units {
	struct module *m;
	uint32_t n; /* statements */
	const uint32_t *group;
	bool row_major;
	const int *threads;
	uint32_t *unit; /* statement: its unit, from 0 */
	uint32_t count;
	bool *reads;   /* [unit * count + unit]: the first reads a result of the second */
	bool *reaches; /* the same, through others */
	uint32_t *at;  /* node: its statement + 1 */
};

static const struct node *statement(const struct units *u, uint32_t i) { return node(u->m, graph(u->m, u->m->main)->nodes.a[i]); }

static bool *pair(const struct units *u, bool *of, uint32_t x, uint32_t y) { return &of[x * u->count + y]; }

/* The statement that makes an operand, + 1; 0: none. */
static uint32_t maker(const struct units *u, val_id v) { return v && val(u->m, v)->kind == VAL_NODE ? u->at[val(u->m, v)->def] : 0; }

static struct units units_of(struct module *m, const struct choice *c)
{
	struct units u = {
		.m = m, .n = (uint32_t)graph(m, m->main)->nodes.n, .group = c->group, .row_major = c->row_major, .threads = c->threads};
	const uint32_t *group = c->group;

	u.unit = xcalloc(u.n + 1, sizeof *u.unit);
	u.at = xcalloc(m->nodes.n, sizeof *u.at);
	for (uint32_t i = 0; i < u.n; i++) {
		u.at[graph(m, m->main)->nodes.a[i]] = i + 1;
		uint32_t k = 0;
		while (k < i && (!group[i] || group[k] != group[i]))
			k++;
		u.unit[i] = k < i ? u.unit[k] : u.count++;
	}
	u.reads = xcalloc((size_t)u.count * u.count + 1, sizeof *u.reads);
	u.reaches = xcalloc((size_t)u.count * u.count + 1, sizeof *u.reaches);
	for (uint32_t i = 0; i < u.n; i++)
		for (uint32_t k = 0; k < statement(&u, i)->nin; k++) {
			uint32_t from = maker(&u, statement(&u, i)->in[k]);
			if (from && u.unit[from - 1] != u.unit[i])
				*pair(&u, u.reads, u.unit[i], u.unit[from - 1]) = *pair(&u, u.reaches, u.unit[i], u.unit[from - 1]) = true;
		}
	for (uint32_t k = 0; k < u.count; k++)
		for (uint32_t x = 0; x < u.count; x++)
			for (uint32_t y = 0; *pair(&u, u.reaches, x, k) && y < u.count; y++)
				*pair(&u, u.reaches, x, y) |= *pair(&u, u.reaches, k, y);
	return u;
}

static void units_free(struct units *u)
{
	free(u->unit);
	free(u->at);
	free(u->reads);
	free(u->reaches);
}

/* Is a third unit between the two, so that they cannot be one? */
static bool is_between(const struct units *u, uint32_t later, uint32_t earlier)
{
	for (uint32_t k = 0; k < u->count; k++)
		if (k != later && k != earlier && *pair(u, u->reaches, later, k) && *pair(u, u->reaches, k, earlier))
			return true;
	return false;
}

static bool share_operand(const struct units *u, uint32_t x, uint32_t y)
{
	for (uint32_t i = 0; i < u->n; i++)
		for (uint32_t k = 0; u->unit[i] == x && k < statement(u, i)->nin; k++) {
			val_id v = statement(u, i)->in[k];
			for (uint32_t j = 0; v && val(u->m, v)->kind != VAL_CONST && j < u->n; j++)
				for (uint32_t l = 0; u->unit[j] == y && l < statement(u, j)->nin; l++)
					if (statement(u, j)->in[l] == v)
						return true;
		}
	return false;
}

/* ---- steps ---- */

/* "Conv+Relu": the operators of a unit. */
static const char *unit_words(const struct units *u, uint32_t x, struct arena *a)
{
	const char *words = "";

	for (uint32_t i = 0; i < u->n; i++)
		if (u->unit[i] == x)
			words = arena_printf(a, "%s%s%s", words, *words ? "+" : "", op_name(statement(u, i)->op));
	return words;
}

static bool is_group(const struct units *u, uint32_t x)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->unit[i] == x)
			return u->group[i];
	return false;
}

static uint32_t *copy_of(const struct units *u, struct arena *a) { return arena_copy(a, u->group, u->n * sizeof *u->group); }

/* Does a group wait for its own results? */
static bool has_cycle(struct module *m, const uint32_t *group)
{
	struct units u = units_of(m, &(struct choice){.group = group});
	bool found = false;

	for (uint32_t x = 0; x < u.count; x++)
		found |= *pair(&u, u.reaches, x, x);
	units_free(&u);
	return found;
}

static void add(struct choices *out, const struct units *u, uint32_t *group, const char *how)
{
	choice_settle(group, u->n);
	struct choice c = {.group = group, .row_major = u->row_major, .threads = u->threads, .how = how};
	for (size_t i = 0; i < out->n; i++)
		if (choice_is(&c, &out->a[i], u->n))
			return;
	if (!has_cycle(u->m, group))
		vec_push(out, c);
}

/* Two groups as one: the one reads the other, or they read the same. */
static void add_joined(struct choices *out, const struct units *u, uint32_t x, uint32_t y, struct arena *a)
{
	bool reads = *pair(u, u->reads, y, x), beside = !*pair(u, u->reaches, y, x) && !*pair(u, u->reaches, x, y);

	if ((!reads || is_between(u, y, x)) && (!beside || !share_operand(u, x, y)))
		return;
	uint32_t *group = copy_of(u, a), to = 0, from = 0;
	for (uint32_t i = 0; i < u->n; i++) {
		to = u->unit[i] == x ? group[i] : to;
		from = u->unit[i] == y ? group[i] : from;
	}
	for (uint32_t i = 0; i < u->n; i++)
		group[i] = group[i] == from ? to : group[i];
	add(out, u, group, arena_printf(a, "%s %s %s", unit_words(u, x, a), reads ? "joined with" : "beside", unit_words(u, y, a)));
}

static bool is_anchor(const struct units *u, uint32_t i) { return op_is(statement(u, i)->op, OP_ANCHOR); }

/* A group in two: the second has what is made, within the group, of the result of statement `at`, and that statement too if it is
 * `with` it. */
static void add_cut(struct choices *out, const struct units *u, uint32_t at, bool with, struct arena *a)
{
	uint32_t *group = copy_of(u, a), x = u->unit[at], moved = with, rest = 0;
	bool *after = xcalloc(u->n + 1, sizeof *after);

	after[at] = true;
	for (uint32_t i = at + 1; i < u->n; i++) {
		for (uint32_t k = 0; u->unit[i] == x && k < statement(u, i)->nin; k++) {
			uint32_t from = maker(u, statement(u, i)->in[k]);
			after[i] |= from && after[from - 1];
		}
		moved += after[i];
	}
	after[at] = with;
	for (uint32_t i = 0; i < u->n; i++) {
		rest += u->unit[i] == x && !after[i];
		group[i] = after[i] ? u->n + 1 : group[i];
	}
	free(after);
	if (moved && rest)
		add(out, u, group,
		    arena_printf(a, "%s apart %s %s", unit_words(u, x, a), with ? "before" : "after", op_name(statement(u, at)->op)));
}

/* A group by fewer threads. */
static void add_threads(struct choices *out, const struct units *u, uint32_t x, int most, struct arena *a)
{
	int *threads = ARENA_ARRAY(a, int, u->n + 1);
	bool is_so = false;

	for (uint32_t i = 0; i < u->n; i++) {
		threads[i] = u->unit[i] == x ? most : u->threads ? u->threads[i] : 0;
		is_so |= u->unit[i] == x && u->threads && u->threads[i] == most;
	}
	if (!is_so)
		vec_push(out,
			 (struct choice){.group = u->group,
					 .row_major = u->row_major,
					 .threads = threads,
					 .how = arena_printf(a, "%s by %d thread%s", unit_words(u, x, a), most, most == 1 ? "" : "s")});
}

/* Is there a value between groups that ge-layout might lay out otherwise? */
static bool has_images(const struct units *u)
{
	for (uint32_t i = 0; i < u->n; i++)
		for (uint32_t k = 0; k < statement(u, i)->nin; k++) {
			uint32_t from = maker(u, statement(u, i)->in[k]);
			if (from && u->unit[from - 1] != u->unit[i] && val(u->m, statement(u, i)->in[k])->type.rank >= IMAGE_RANK_LEAST)
				return true;
		}
	return false;
}

void choices_near(struct module *m, const struct choice *from, int threads, struct choices *out, struct arena *a)
{
	struct units u = units_of(m, from);

	if (!from->row_major && has_images(&u))
		vec_push(out,
			 (struct choice){
				 .group = from->group, .row_major = true, .threads = from->threads, .how = "row-major between groups"});
	for (uint32_t x = 0; x < u.count; x++) {
		if (!is_group(&u, x))
			continue;
		for (uint32_t y = 0; y < u.count; y++)
			if (y != x && is_group(&u, y) && (y > x || *pair(&u, u.reads, y, x)))
				add_joined(out, &u, x, y, a);
	}
	for (uint32_t i = 0; i < u.n; i++) {
		if (!from->group[i] || !is_anchor(&u, i))
			continue;
		add_cut(out, &u, i, true, a);
		add_cut(out, &u, i, false, a);
	}
	for (uint32_t x = 0; x < u.count; x++)
		for (int most = 1; is_group(&u, x) && most < threads; most *= 2)
			add_threads(out, &u, x, most, a);
	units_free(&u);
}
