/* Parallel loops: a function that runs a range of iterations, and in place of the loop the call that starts the threads. */
#include <stdlib.h>
#include "common/textfile.h"
#include "emit/emit_impl.h"
#include "target/instr.h"

bool is_team(struct loop_prog *p, nest_id n)
{
	const struct nest *x = lnest(p, n);
	int64_t c;

	return x->kind == NEST_FOR && x->team && !(poly_is_const(p->P, x->whole, &c) && c <= 1);
}

static void find_team(struct loop_prog *p, nest_id n, void *arg) { *(bool *)arg |= is_team(p, n); }

bool emit_starts_team(struct loop_prog *p)
{
	bool found = false;

	nest_walk(p, p->root, find_team, &found);
	return found;
}

void emit_team_prelude(FILE *f, const char *linkage, bool few)
{
	fprintf(f,
		"struct team;\n%s void team_run(struct team *team, void (*work)(void *args, long begin, long end, int thread), void *args, long n);\n",
		linkage);
	if (few)
		fprintf(f,
			"%s void team_run_few(int few, struct team *team, void (*work)(void *args, long begin, long end, int thread), void *args, long n);\n",
			linkage);
}

/* Does a block below n use b? alone: only blocks outside of teams count. */
static bool uses(struct loop_prog *p, nest_id n, buf_id b, bool alone)
{
	int nblocks = nest_blocks(p, n, 0, NULL, 0);
	nest_id *block = xcalloc((size_t)nblocks + 1, sizeof *block);
	bool found = false;

	nest_blocks(p, n, 0, block, nblocks);
	for (int i = 0; i < nblocks && !found; i++) {
		const struct nest *x = lnest(p, block[i]);
		found = lstage(p, x->stage)->out == b || (x->phase == BLOCK_UPDATE && stage_reads(p, x->stage, b));
		for (nest_id at = block[i]; alone && found && at; at = lnest(p, at)->parent)
			found = !is_team(p, at);
	}
	free(block);
	return found;
}

bool used_alone(struct emit *e, buf_id b) { return uses(e->p, e->p->root, b, true); }

bool used_by(struct emit *e, const nest_id *piece, size_t n, buf_id b)
{
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = uses(e->p, piece[i], b, false);
	return found;
}

/* The arguments of a team's function: what the loop uses from outside. */
struct argument {
	const char *type, *name, *is; /* type: as "const float *"; is: the name or number outside */
	bool restricted;
};
struct arguments {
	VEC(struct argument) a;
};

static void add_argument(struct arguments *g, const char *type, const char *name, bool restricted)
{
	vec_push(&g->a, (struct argument){type, name, name, restricted});
}

static void find_arguments(struct emit *e, struct arguments *g, const nest_id *piece, size_t n)
{
	for (buf_id b = 1; b < e->p->bufs.n; b++) {
		const struct loop_buf *x = lbuf(e->p, b);
		bool outer = x->scope <= SCOPE_OUT || (x->scope == SCOPE_STACK && x->alloc);
		for (size_t i = 0; i < n && outer; i++)
			outer = !x->alloc || !nest_inside(e->p, x->alloc, piece[i]);
		if (outer && used_by(e, piece, n, b))
			add_argument(g,
				     arena_printf(&e->keep, "%s%s *", x->scope == SCOPE_IN || x->scope == SCOPE_CONST ? "const " : "",
						  ctype(x->dtype)),
				     e->buf_text[b], true);
	}
	add_argument(g, "char *", "ws", true);
	for (int i = 0; i < e->nopen; i++)
		add_argument(g, "long ", sym_str(e->open[i]), false);
}

/* The numbers in the body become arguments; returns it with their names. */
static char *lift_numbers(struct emit *e, struct arguments *g, char *body)
{
	struct numbers n = {0};

	body = numbers_lift(body, 0, &n);
	for (size_t i = 0; i < n.a.n; i++) {
		const char *type = arena_printf(&e->keep, "%s ", ctype(n.a.a[i].type)), *name = arena_printf(&e->keep, "n%zu", i);
		const char *is = arena_str(&e->keep, number_mark(e, n.a.a[i].type, n.a.a[i].text));
		vec_push(&g->a, (struct argument){type, name, is, false});
	}
	numbers_free(&n);
	return body;
}

/* NAME runs a range of iterations; NAME_work unpacks the arguments for it, because restrict needs parameters. */
static void put_function(struct emit *e, const char *name, const struct arguments *g, const char *body)
{
	FILE *f = e->teams;

	fprintf(f, "struct %s_args {\n", name);
	for (size_t i = 0; i < g->a.n; i++)
		fprintf(f, "\t%s%s;\n", g->a.a[i].type, g->a.a[i].name);
	fprintf(f, "};\n\n%s__attribute__((noinline)) static void %s(", emit_order(e->p), name);
	for (size_t i = 0; i < g->a.n; i++)
		fprintf(f, "%s%s%s, ", g->a.a[i].type, g->a.a[i].restricted ? "restrict " : "", g->a.a[i].name);
	const struct instr *with = emit_around_calls(e->p);
	fprintf(f, "long begin, long end, int thread)\n{\n%s", emit_makes_codes(e->p) ? "\tEACH_ROUNDED\n" : "");
	if (with)
		fprintf(f, "\t%s\n%s\t%s\n}\n\n", with->begin, body, with->end);
	else
		fprintf(f, "%s}\n\n", body);
	fprintf(f, "static void %s_work(void *args, long begin, long end, int thread)\n{\n\tconst struct %s_args *a = args;\n\n\t%s(", name,
		name, name);
	for (size_t i = 0; i < g->a.n; i++)
		fprintf(f, "a->%s, ", g->a.a[i].name);
	fprintf(f, "begin, end, thread);\n}\n\n");
}

static void put_start(struct emit *e, const char *name, const struct arguments *g, poly whole)
{
	const char *all = "";

	for (size_t i = 0; i < g->a.n; i++)
		all = arena_printf(&e->keep, "%s%s%s", all, i ? ", " : "", g->a.a[i].is);
	line(e, "{");
	e->depth++;
	line(e, "struct %s_args args = {%s};", name, all);
	const char *few = e->p->few ? arena_printf(&e->keep, "_few(%d, ", e->p->threads) : "(";
	line(e, "team_run%steam, %s_work, &args, %s);", few, name, poly_text(e, whole));
	const struct instr *with = emit_around_calls(e->p);
	if (with) /* the team's last statement ended it for this thread, too */
		line(e, "%s", with->begin);
	e->depth--;
	line(e, "}");
}

void emit_team(struct emit *e, const nest_id *piece, size_t n)
{
	const char *name = arena_printf(&e->keep, "%s_%d", e->kernel, e->nteams++);
	const char *each = e->p->params.n ? text(e, "(%s)", poly_text(e, e->p->private_of)) : text(e, "%ld", (long)e->p->private);
	const char *own = arena_printf(&e->keep, " + (long)thread * %s", each);
	struct arguments g = {0};
	FILE *f = e->f;
	int depth = e->depth;
	char *body = NULL;

	run_end(e);
	find_arguments(e, &g, piece, n);
	if (!e->dry)
		e->f = textfile_open(&body, NULL);
	e->depth = 1;
	e->in_team = true;
	for (buf_id b = 1; b < e->p->bufs.n; b++)
		if (lbuf(e->p, b)->scope == SCOPE_SCRATCH && lbuf(e->p, b)->alloc && used_by(e, piece, n, b))
			emit_scratch(e, b, lbuf(e->p, b)->private ? own : "");
	for (size_t i = 0; i < n; i++)
		emit_piece(e, piece[i]);
	run_end(e);
	e->in_team = false;
	e->depth = depth;
	if (!e->dry) {
		textfile_close(e->f);
		e->f = f;
		body = lift_numbers(e, &g, body);
		put_function(e, name, &g, body);
		put_start(e, name, &g, env_subst(e, lnest(e->p, piece[0])->whole));
	}
	free(body);
	vec_free(&g.a);
}
