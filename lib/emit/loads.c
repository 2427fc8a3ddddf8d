/* Loads that consecutive statements share: each is written once, as a constant before the first statement that uses it.
 * Statements are held back until their run ends (at a loop, a brace, a comment). In their text a mark stands for each load; it is
 * replaced by the constant's name if the run uses the load twice, else by the load. */
#include "emit/emit_impl.h"
#include "target/target.h"
#include <string.h>

enum { LOOK_BACK = 256 /* loads: a longer life would hold a register for too long */ };
static const char mark_begin = 1, mark_end = 2;

const char *load_mark(struct emit *e, buf_id b, poly at, int lanes, int64_t step, const char *type, const char *load)
{
	struct run *r = &e->run;

	if (e->dry || e->guarded || lbuf(e->p, b)->scope == SCOPE_REGISTER)
		return load;
	size_t n = r->load.n, i = n, end = n > LOOK_BACK ? n - LOOK_BACK : 0;
	while (i > end) {
		const struct run_load *x = &r->load.a[--i];
		if (x->at == at && x->b == b && x->lanes == lanes && x->step == step && !x->stale)
			return text(e, "%c%zu%c", mark_begin, i, mark_end);
	}
	vec_push(&r->load,
		 (struct run_load){.b = b, .at = at, .lanes = lanes, .step = step, .type = type, .text = arena_str(&r->arena, load)});
	return text(e, "%c%zu%c", mark_begin, n, mark_end);
}

/* The load whose mark is at s; *end: behind the mark. */
static struct run_load *marked(struct run *r, const char *s, const char **end)
{
	size_t i = strtoul(s + 1, (char **)end, 10);

	++*end;
	return &r->load.a[i];
}

/* Counts uses. A guarded statement may not run, so it cannot be the first use. */
static void count_uses(struct run *r)
{
	for (size_t i = 0; i < r->statement.n; i++)
		for (const char *s = r->statement.a[i].text, *end; (s = strchr(s, mark_begin)); s = end) {
			struct run_load *x = marked(r, s, &end);
			x->uses += x->uses || !r->statement.a[i].guarded;
		}
}

static bool is_vector(const struct run_load *x) { return x->step != 0; }

/* Is it a tile of two rows? There each statement adds to a sum of its own, two statements share each load, and all sums fit into
 * registers. gcc would repeat the load in both statements, and the loads would limit the kernel. STAYS keeps the value in a register. */
static bool is_two_rows(const struct emit *e)
{
	const struct run *r = &e->run;
	size_t loads = 0, sums = r->statement.n, regs = (size_t)target_filled(e->p->target).vector_regs;

	for (size_t i = 0; i < r->load.n; i++) {
		const struct run_load *x = &r->load.a[i];
		bool vector = is_vector(x);
		if (vector && x->uses != 2)
			return false;
		loads += vector;
	}
	return loads && 2 * loads == sums && sums + loads + 1 <= regs;
}

/* A number that several vectors are multiplied by, on a target that does so by an element of a register. Read again, it would be spread over
 * a vector, which takes a unit that multiplies. */
static bool is_element(const struct emit *e, const struct run_load *x)
{
	return target_filled(e->p->target).by_element && !is_vector(x) && !strcmp(x->type, "float");
}

static void put_tabs(struct emit *e, int n)
{
	while (n-- > 0)
		fputc('\t', e->f);
}

static void declare_loads(struct emit *e, const struct run_statement *t, bool stay)
{
	for (const char *s = t->text, *end; (s = strchr(s, mark_begin)); s = end) {
		struct run_load *x = marked(&e->run, s, &end);
		if (x->name || x->uses < 2 || t->guarded)
			continue;
		x->name = ++e->nloads;
		put_tabs(e, t->depth);
		if ((stay && is_vector(x)) || is_element(e, x))
			fprintf(e->f, "%s r%d = %s; STAYS(r%d);\n", x->type, x->name, x->text, x->name);
		else
			fprintf(e->f, "const %s r%d = %s;\n", x->type, x->name, x->text);
	}
}

static void put_text(struct emit *e, const char *s)
{
	const char *at, *end;

	for (; (at = strchr(s, mark_begin)); s = end) {
		const struct run_load *x = marked(&e->run, at, &end);
		fwrite(s, 1, (size_t)(at - s), e->f);
		if (x->name)
			fprintf(e->f, "r%d", x->name);
		else
			fputs(x->text, e->f);
	}
	fputs(s, e->f);
}

/* Does the next statement store the vector after that which t stores, and read nothing of what t changes? */
static bool stores_on(struct emit *e, const struct run_statement *t)
{
	const struct run_store *a = &t->store, *b = &t[1].store;
	int64_t apart;

	if (!target_filled(e->p->target).stores_two || !a->b || a->b != b->b || t->depth != t[1].depth ||
	    !poly_is_const(e->p->P, poly_sub(e->p->P, b->at, a->at), &apart) || apart != e->vl)
		return false;
	for (const char *s = b->value, *end; (s = strchr(s, mark_begin)); s = end)
		if (marked(&e->run, s, &end)->b == a->b)
			return false;
	return true;
}

static void put_two(struct emit *e, const struct run_statement *t)
{
	put_tabs(e, t->depth);
	fputs("vstore_two(", e->f);
	put_text(e, t->store.to);
	fputs(", ", e->f);
	put_text(e, t->store.value);
	fputs(", ", e->f);
	put_text(e, t[1].store.value);
	fputs(");\n", e->f);
}

void run_stores(struct emit *e, buf_id b, poly at, const char *to, const char *value)
{
	struct run *r = &e->run;

	if (!e->dry)
		r->store = (struct run_store){b, at, arena_str(&r->arena, to), arena_str(&r->arena, value)};
}

void run_add(struct emit *e, const char *statement, bool guarded, buf_id written)
{
	struct run *r = &e->run;
	bool whole = !guarded && strchr(statement, '\n') == statement + strlen(statement) - 1;

	vec_push(&r->statement,
		 (struct run_statement){arena_str(&r->arena, statement), e->depth, guarded, whole ? r->store : (struct run_store){0}});
	r->store = (struct run_store){0};
	for (size_t i = 0; i < r->load.n && written; i++)
		r->load.a[i].stale |= r->load.a[i].b == written;
}

void run_end(struct emit *e)
{
	struct run *r = &e->run;

	if (e->dry)
		return;
	count_uses(r);
	bool stay = is_two_rows(e);
	for (size_t i = 0; i < r->statement.n; i++) {
		const struct run_statement *t = &r->statement.a[i];
		bool two = i + 1 < r->statement.n && stores_on(e, t);
		declare_loads(e, t, stay);
		if (two)
			declare_loads(e, &r->statement.a[++i], stay);
		if (two)
			put_two(e, t);
		else
			put_text(e, t->text);
	}
	r->statement.n = r->load.n = 0;
	arena_release(&r->arena);
	r->arena = (struct arena){0};
}
