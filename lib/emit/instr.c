/* Calls of target instructions: a row's text with the operands put in. */
#include "emit/emit_impl.h"
#include "common/msg.h"
#include "loop/instr.h"
#include <string.h>

static const char *address(struct emit *e, buf_id b, poly off)
{
	off = placed(e, b, off);
	int64_t c;
	bool start = poly_is_const(e->p->P, off, &c) && !c;

	return start ? e->buf_text[b] : text(e, "%s + %s", e->buf_text[b], poly_text(e, off));
}

/* The loop of the operand's step that the row leaves open. */
static int open_step(const struct instr_operand *o)
{
	int i = 0;

	while (i < INSTR_LOOPS - 1 && o->step[i] != STEP_ANY)
		i++;
	return i;
}

/* row: text of r. */
static const char *filled_in(struct emit *e, const struct instr *r, const char *row, const struct instr_use *u, const char *accumulator)
{
	const struct stage *s = lstage(e->p, lnest(e->p, u->block)->stage);
	const char *out = "", *q;

	while ((q = strchr(row, '%'))) {
		const char *by = "";
		switch (q[1]) {
		case 'o': by = address(e, s->out, u->out); break;
		case 'a': by = address(e, lex(e->p, u->read[0])->buf, u->at[0]); break;
		case 'b': by = address(e, lex(e->p, u->read[1])->buf, u->at[1]); break;
		case 'c': by = address(e, lex(e->p, u->read[2])->buf, u->at[2]); break;
		case 'v': by = accumulator; break;
		case 's': by = poly_text(e, u->out_step[open_step(&r->out)]); break;
		case 't': by = poly_text(e, u->step[0][open_step(&r->in[0])]); break;
		case 'm': by = poly_text(e, u->extent[0]); break;
		case 'i': by = poly_text(e, u->number); break;
		case 'p': by = text(e, "%d", e->under_way.place); break;
		case 'n': by = poly_text(e, u->extent[1]); break;
		case 'f': by = poly_text(e, u->filled == POLY_UNKNOWN ? u->extent[r->nloops - 1] : u->filled); break;
		default: BUG("instruction text %s", row);
		}
		out = text(e, "%s%.*s%s", out, (int)(q - row), row, by);
		row = q + 2;
	}
	return text(e, "%s%s", out, row);
}

static const char *called(struct emit *e, const struct instr *r, const struct instr_use *u, const char *accumulator)
{
	return filled_in(e, r, u->whole ? r->text : r->part, u, accumulator);
}

/* Adds to sums in registers: to one vector variable or, if other loops use the elements in another way, to single elements. */
static void add_to_registers(struct emit *e, int number, const struct instr_use *u, buf_id b)
{
	const struct instr *row = instr_row(number);
	int lanes = (int)instr_sums(number);
	int64_t at;

	if (!poly_is_const(e->p->P, u->out, &at))
		BUG("register buffer %s: its place varies", sym_str(lbuf(e->p, b)->name));
	reg_touch(e, b, at, lanes, 0, 0);
	const struct reg_run *run = e->dry ? NULL : reg_run(e, b, at);
	if (run && run->lanes == lanes) {
		line(e, "%s = %s;", reg_name(e, b, at), called(e, row, u, reg_name(e, b, at)));
		return;
	}
	const char *all = "";
	for (int i = 0; i < lanes; i++)
		all = text(e, "%s%s%s", all, i ? ", " : "", reg_element(e, b, at + i));
	line(e, "{");
	line(e, "\t%s q = {%s};", row->accumulator, all);
	line(e, "\tq = %s;", called(e, row, u, "q"));
	for (int i = 0; i < lanes; i++)
		line(e, "\t%s = q[%d];", reg_element(e, b, at + i), i);
	line(e, "}");
}

static void matched(struct emit *e, nest_id loop, struct instr_use *u)
{
	const char *why = instr_match(e->p, loop, lnest(e->p, loop)->instr, e->nenv, e->env_v, e->env_by, u);

	if (why)
		BUG("call of %s: %s", instr_row(lnest(e->p, loop)->instr)->name, why);
}

bool emit_only_starts(struct emit *e, nest_id id)
{
	while (lnest(e->p, id)->kind != NEST_BLOCK && lnest(e->p, id)->kid.n == 1)
		id = lnest(e->p, id)->kid.a[0];
	return lnest(e->p, id)->kind == NEST_BLOCK && instr_sets(e->p, id);
}

/* Starts the call of iteration `at`, of which the loop's variable is number v of the environment, if the loop goes so far. */
static void start_call(struct emit *e, int v, poly at)
{
	struct polys *P = e->p->P;
	const struct instr *row = instr_row(lnest(e->p, e->under_way.call)->instr);
	poly now = e->env_by[v], left = poly_addc(P, poly_sub(P, e->under_way.extent, at), -1);
	struct instr_use u;
	int64_t lo, hi;

	poly_range(P, left, &lo, &hi);
	if (hi < 0)
		return;
	e->env_by[v] = at;
	matched(e, e->under_way.call, &u);
	line(e, "%s%s%s%s", lo < 0 ? "if (" : "", lo < 0 ? cond_text(e, left) : "", lo < 0 ? ") " : "",
	     filled_in(e, row, row->start, &u, ""));
	e->env_by[v] = now;
}

/* Takes the sums of an iteration, and starts those of a later one in the same place. */
static void finish_call(struct emit *e)
{
	const struct instr *row = instr_row(lnest(e->p, e->under_way.call)->instr);
	struct instr_use u;
	int v = e->nenv - 1;

	while (v >= 0 && e->env_v[v] != lnest(e->p, e->under_way.loop)->var)
		v--;
	if (v < 0)
		BUG("a call under way outside its loop");
	matched(e, e->under_way.call, &u);
	line(e, "%s", filled_in(e, row, row->finish, &u, ""));
	start_call(e, v, poly_addc(e->p->P, e->env_by[v], e->under_way.many));
	e->under_way.place = (e->under_way.place + 1) % e->under_way.many;
}

/* Does a block below the loop write what the call reads? */
static bool reads_what_changes(struct emit *e, nest_id loop, const struct instr_use *u)
{
	int n;
	nest_id *block = nest_list(e->p, loop, 0, &n);
	bool changes = false;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < u->nread; k++)
			changes |= lstage(e->p, lnest(e->p, block[i])->stage)->out == lex(e->p, u->read[k])->buf;
	return changes;
}

static void count_places(struct loop_prog *p, nest_id n, void *count)
{
	*(int *)count += lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_CALL && instr_row(lnest(p, n)->instr)->many;
}

bool emit_start_calls(struct emit *e, nest_id loop, poly extent, int n)
{
	const struct nest *seq = lnest(e->p, lnest(e->p, loop)->kid.a[0]), *x;
	struct instr_use u;
	int64_t c;
	size_t i = 0;
	int users = 0;

	while (i < seq->kid.n && emit_only_starts(e, seq->kid.a[i]))
		i++;
	x = i < seq->kid.n ? lnest(e->p, seq->kid.a[i]) : NULL;
	if (e->under_way.call || !x || x->kind != NEST_FOR || x->mark != LOOP_CALL || instr_row(x->instr)->many != n ||
	    has_locals(e, loop) || !poly_is_const(e->p->P, extent, &c))
		return false;
	nest_walk(e->p, loop, count_places, &users);
	env_push(e, lnest(e->p, loop)->var, poly_const(e->p->P, 0));
	matched(e, seq->kid.a[i], &u);
	if (users == 1 && u.whole && !lnest(e->p, u.block)->guard.n && !reads_what_changes(e, loop, &u)) {
		e->under_way.loop = loop;
		e->under_way.call = seq->kid.a[i];
		e->under_way.many = n;
		e->under_way.extent = extent;
		for (e->under_way.place = 0; e->under_way.place < n; e->under_way.place++)
			start_call(e, e->nenv - 1, poly_const(e->p->P, e->under_way.place));
		e->under_way.place = 0;
	}
	e->nenv--;
	return e->under_way.call;
}

void emit_end_calls(struct emit *e) { e->under_way.call = 0; }

void emit_call(struct emit *e, nest_id loop)
{
	struct loop_prog *p = e->p;
	const struct instr *row = instr_row(lnest(p, loop)->instr);
	struct instr_use u;
	const char *cond;

	if (e->under_way.call == loop) {
		finish_call(e);
		return;
	}
	matched(e, loop, &u);
	buf_id out = lstage(p, lnest(p, u.block)->stage)->out;
	for (int i = 0; i < row->nloops; i++) {
		int64_t lo, hi;
		poly_range(p->P, u.extent[i], &lo, &hi);
		if (hi <= 0)
			return;
	}
	if (!guard_text(e, lnest(p, u.block), &cond))
		return;
	if (*cond) {
		line(e, "if (%s) {", cond);
		e->depth++;
	}
	if (!row->accumulator)
		line(e, "%s", called(e, row, &u, ""));
	else if (lbuf(p, out)->scope == SCOPE_REGISTER)
		add_to_registers(e, lnest(p, loop)->instr, &u, out);
	else
		line(e, "*(%su *)(%s) = %s;", row->accumulator, address(e, out, u.out),
		     called(e, row, &u, text(e, "*(%su *)(%s)", row->accumulator, address(e, out, u.out))));
	if (*cond) {
		e->depth--;
		line(e, "}");
	}
}

static void find_sums(struct loop_prog *p, nest_id n, void *arg)
{
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_CALL)
		*(bool *)arg |= instr_row(lnest(p, n)->instr)->accumulator != NULL;
}

bool emit_adds_by_call(struct loop_prog *p)
{
	bool any = false;

	nest_walk(p, p->root, find_sums, &any);
	return any;
}

static void find_around(struct loop_prog *p, nest_id n, void *arg)
{
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_CALL && instr_row(lnest(p, n)->instr)->begin)
		*(const struct instr **)arg = instr_row(lnest(p, n)->instr);
}

const struct instr *emit_around_calls(struct loop_prog *p)
{
	const struct instr *row = NULL;

	nest_walk(p, p->root, find_around, &row);
	return row;
}

/* At -O1, GCC leaves two copies of the sums that an instruction adds to, one of them in memory. */
static const char sums_stay[] =
	"#if defined __GNUC__ && !defined __clang__\n"
	"#define SUMS_STAY __attribute__((optimize(\"cse-follow-jumps\", \"rerun-cse-after-loop\")))\n"
	"#else\n"
	"#define SUMS_STAY\n"
	"#endif\n";

enum { ROWS_MAX = 256 };

static void find_call(struct loop_prog *p, nest_id n, void *arg)
{
	if (lnest(p, n)->kind == NEST_FOR && lnest(p, n)->mark == LOOP_CALL)
		((bool *)arg)[lnest(p, n)->instr] = true;
}

unsigned emit_features_called(struct loop_prog *p)
{
	bool used[ROWS_MAX] = {0};
	unsigned features = 0;

	nest_walk(p, p->root, find_call, used);
	for (int row = 1; instr_row(row); row++)
		features |= used[row] ? instr_row(row)->features : 0;
	return features;
}

void emit_instr_helpers(FILE *f, struct loop_prog *const *p, int n)
{
	bool used[ROWS_MAX] = {0};

	for (int i = 0; i < n; i++)
		nest_walk(p[i], p[i]->root, find_call, used);
	for (int row = 1; instr_row(row); row++)
		if (used[row] && instr_row(row)->accumulator) {
			fputs(sums_stay, f);
			break;
		}
	for (int row = 1; instr_row(row); row++)
		if (used[row])
			instr_row(row)->helper(f, instr_row(row));
}
