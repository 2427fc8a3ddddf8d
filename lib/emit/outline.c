/* Outlined nests: functions of their own. Parameters are named by number, and a pointer parameter points to the nest's first access, so
 * that nests that compute the same have the same text. The digest of the text is the function's name. */
#include "emit/emit_impl.h"
#include "common/digest.h"
#include "common/msg.h"
#include "common/textfile.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* State of the emitter at the call, to be restored behind the function. */
struct outside {
	FILE *f;
	int depth, nopen, nloads;
	const char **buf_text;
	const char *var_text[NEST_DEPTH_MAX]; /* of the variables in scope */
	VEC(buf_id) given;
};

/* Is b allocated inside the loop? */
static bool is_local(struct emit *e, buf_id b, nest_id loop)
{
	const struct loop_buf *x = lbuf(e->p, b);

	return (x->scope == SCOPE_STACK || x->scope == SCOPE_REGISTER) && nest_inside(e->p, x->alloc, loop);
}

struct first {
	struct emit *e;
	nest_id loop, block;
	buf_id b;
	poly at;
};

static void first_at(struct first *s, const poly *index)
{
	struct loop_prog *p = s->e->p;
	nest_id loops[NEST_DEPTH_MAX];
	poly at[LOOP_RANK_MAX];

	for (int d = 0; d < lbuf(p, s->b)->rank; d++)
		at[d] = env_subst(s->e, bind_poly(p, lnest(p, s->block), index[d]));
	s->at = env_subst(s->e, buf_offset(p, s->b, at));
	for (int n = nest_loops(p, s->block, loops), i = 0; i < n; i++)
		if (nest_inside(p, loops[i], s->loop))
			s->at = poly_subst(p->P, s->at, lnest(p, loops[i])->var, poly_const(p->P, 0));
}

static void first_read(struct loop_prog *p, ex_id read, void *arg)
{
	struct first *s = arg;

	if (lex(p, read)->buf == s->b && s->at == POLY_UNKNOWN && lex(p, read)->dyn_dim < 0)
		first_at(s, lex(p, read)->index);
}

/* Offset of the nest's first access to b, in its first iteration; 0 if that may lie outside of b. */
static poly beginning(struct emit *e, buf_id b, nest_id loop)
{
	struct loop_prog *p = e->p;
	struct first s = {.e = e, .loop = loop, .b = b};
	int64_t lo, hi;
	int n = nest_blocks(p, loop, 0, NULL, 0);
	nest_id *block = xcalloc((size_t)n + 1, sizeof *block);

	nest_blocks(p, loop, 0, block, n);
	for (int i = 0; i < n && s.at == POLY_UNKNOWN; i++) {
		const struct stage *t = lstage(p, lnest(p, block[i])->stage);
		poly index[LOOP_RANK_MAX];
		s.block = block[i];
		for (int a = 0; t->out == b && a < t->nspatial; a++)
			index[a] = poly_of(p->P, t->axis[a].var);
		if (t->out == b)
			first_at(&s, index);
		else if (lnest(p, block[i])->phase == BLOCK_UPDATE)
			ex_reads(p, t->body, first_read, &s);
	}
	free(block);
	if (s.at == POLY_UNKNOWN)
		return poly_const(p->P, 0);
	poly_range(p->P, s.at, &lo, &hi);
	return lo < 0 || hi > buf_elems(p, b) ? poly_const(p->P, 0) : s.at;
}

/* The text of the function, named "@". Pointers are parameters p0, p1, ...; variables are named by var_text. */
static char *function_text(struct emit *e, nest_id loop, const struct outside *o, const char *vars)
{
	char *text;

	e->f = textfile_open(&text, NULL);
	fprintf(e->f, "%s__attribute__((noinline)) static void @(", emit_makes_codes(e->p) ? "AS_WRITTEN " : "");
	for (size_t i = 0; i < o->given.n; i++) {
		const struct loop_buf *b = lbuf(e->p, o->given.a[i]);
		bool constant = b->scope == SCOPE_IN || b->scope == SCOPE_CONST;
		fprintf(e->f, "%s%s%s *restrict p%zu", i ? ", " : "", constant ? "const " : "", ctype(b->dtype), i);
	}
	fprintf(e->f, "%s%s)\n{\n%s", o->given.n || !*vars ? vars : vars + 2, e->form ? (const char[]){FORM_PARAMS, 0} : "",
		emit_makes_codes(e->p) ? "\tEACH_ROUNDED\n" : "");
	e->depth = 1;
	e->nopen = 0;
	for (buf_id b = 1; b < e->p->bufs.n; b++)
		e->buf_text[b] = NULL;
	for (size_t i = 0; i < o->given.n; i++)
		e->buf_text[o->given.a[i]] = arena_printf(&e->keep, "p%zu", i);
	for (buf_id b = 1; b < e->p->bufs.n; b++)
		if (lbuf(e->p, b)->alloc && is_local(e, b, loop))
			e->buf_text[b] = sym_str(c_name(e, sym_str(lbuf(e->p, b)->name)));
	e->nloads = 0;
	emit_for(e, loop);
	run_end(e);
	fputs("}\n", e->f);
	textfile_close(e->f);
	return text;
}

/* Adds the function to the list unless it is there. Its name, from the digest of its text. */
static const char *add_function(struct emit *e, char *body)
{
	struct digest d = digest_bytes(body, strlen(body));
	char hex[33], *at = strchr(body, '@');

	digest_hex(d, hex);
	const char *name = arena_printf(&e->keep, "f_%.16s", hex);
	*at = 0;
	struct outlined f = {xstrdup(name), xprintf("%s%s%s", body, name, at + 1)};
	free(body);
	for (size_t i = 0; i < e->outlines->a.n; i++) {
		const struct outlined *x = &e->outlines->a.a[i];
		if (strcmp(x->name, name))
			continue;
		if (strcmp(x->text, f.text))
			BUG("two functions have the digest %s", name);
		free(f.name);
		free(f.text);
		return name;
	}
	vec_push(&e->outlines->a, f);
	return name;
}

static void put_call(struct emit *e, const struct outside *o, const char *name, const char *vars)
{
	const char *all = "";
	int64_t c;

	for (size_t i = 0; i < o->given.n; i++) {
		buf_id b = o->given.a[i];
		poly at = e->start[b];
		all = text(e, "%s%s%s", all, i ? ", " : "", o->buf_text[b]);
		if (!poly_is_const(e->p->P, at, &c) || c)
			all = text(e, "%s + %s", all, poly_text(e, at));
	}
	line(e, "%s(%s%s);", name, all, o->given.n || !*vars ? vars : vars + 2);
}

void emit_outline(struct emit *e, nest_id loop)
{
	run_end(e);
	struct outside o = {.f = e->f, .depth = e->depth, .nopen = e->nopen, .nloads = e->nloads};
	size_t nbufs = e->p->bufs.n;
	const char *params = "", *args = "";
	int nvars = 0;

	o.buf_text = xcalloc(nbufs, sizeof *o.buf_text);
	memcpy(o.buf_text, e->buf_text, nbufs * sizeof *o.buf_text);
	e->start = xcalloc(nbufs, sizeof *e->start);
	for (int i = 0; i < o.nopen; i++)
		o.var_text[i] = e->var_text.a[e->open_var[i]];
	for (buf_id b = 1; b < nbufs; b++)
		if (o.buf_text[b] && !is_local(e, b, loop) && used_by(e, &loop, 1, b)) {
			vec_push(&o.given, b);
			e->start[b] = beginning(e, b, loop);
		}
	/* Written twice: first to learn which variables it needs, then with their names. */
	poly_var open[NEST_DEPTH_MAX];
	memcpy(open, e->open_var, sizeof open);
	sym names[NEST_DEPTH_MAX];
	memcpy(names, e->open, sizeof names);
	e->nasked = poly_nvars(e->p->P) + 1;
	e->asked = xcalloc(e->nasked, sizeof *e->asked);
	free(function_text(e, loop, &o, ""));
	for (int i = 0; i < o.nopen; i++)
		if (e->asked[open[i]]) {
			params = arena_printf(&e->keep, "%s, long n%d", params, nvars);
			args = arena_printf(&e->keep, "%s, %s", args, o.var_text[i]);
			e->var_text.a[open[i]] = arena_printf(&e->keep, "n%d", nvars++);
		}
	free(e->asked);
	e->asked = NULL;
	struct numbers numbers = {0};
	char *body = numbers_lift(function_text(e, loop, &o, params), nvars, &numbers);
	for (size_t i = 0; i < numbers.a.n; i++)
		args = arena_printf(&e->keep, "%s, %s", args, number_mark(e, numbers.a.a[i].type, numbers.a.a[i].text));
	numbers_free(&numbers);
	memcpy(e->buf_text, o.buf_text, nbufs * sizeof *o.buf_text);
	memcpy(e->open_var, open, sizeof open);
	memcpy(e->open, names, sizeof names);
	for (int i = 0; i < o.nopen; i++)
		e->var_text.a[open[i]] = o.var_text[i];
	e->f = o.f;
	e->depth = o.depth;
	e->nopen = o.nopen;
	e->nloads = o.nloads;
	poly *start = e->start;
	const char *name = add_function(e, body);
	put_call(e, &o, name, args);
	e->start = NULL;
	free(start);
	free(o.buf_text);
	vec_free(&o.given);
}
