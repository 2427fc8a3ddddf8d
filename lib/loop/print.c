/* Programs as text, for people, for tests, and for the digest of their stages. A change of this text changes that digest, and so
 * makes stored traces seeds (prim.h): keep it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/textfile.h"
#include "loop/instr.h"
#include "loop/math.h"
#include "loop/nest.h"

/* The text so far; print_* append to it. */
struct printer {
	struct loop_prog *p;
	FILE *f;
	struct arena a;
};

static const char *ptext(struct printer *s, poly e) { return poly_str(s->p->P, e, &s->a); }

static void print_ex(struct printer *s, ex_id id)
{
	const struct ex *e = lex(s->p, id);
	switch (e->kind) {
	case EX_CONST:
		if (dtype_is_float(e->dtype))
			fprintf(s->f, "%.9g", e->c);
		else
			fprintf(s->f, "%ld", (long)e->ic);
		break;
	case EX_INDEX: fprintf(s->f, "%s(%s)", dtype_name(e->dtype), ptext(s, e->index[0])); break;
	case EX_READ:
		fprintf(s->f, "%s[", sym_str(lbuf(s->p, e->buf)->name));
		for (int i = 0; i < e->n; i++) {
			if (i)
				fprintf(s->f, ", ");
			if (i == e->dyn_dim)
				print_ex(s, e->a[0]);
			else
				fprintf(s->f, "%s", ptext(s, e->index[i]));
		}
		fputc(']', s->f);
		break;
	case EX_CALL:
		fprintf(s->f, "%s(", math_row((enum math_fn)e->fn)->name);
		for (int i = 0; i < 3 && e->a[i]; i++) {
			if (i)
				fprintf(s->f, ", ");
			print_ex(s, e->a[i]);
		}
		fputc(')', s->f);
		break;
	case EX_CAST:
		fprintf(s->f, "%s(", dtype_name(e->dtype));
		print_ex(s, e->a[0]);
		fputc(')', s->f);
		break;
	case EX_GUARD:
		fprintf(s->f, "where(");
		for (int i = 0; i < e->n; i++)
			fprintf(s->f, "%s%s >= 0", i ? " and " : "", ptext(s, e->index[i]));
		fprintf(s->f, ", ");
		print_ex(s, e->a[0]);
		fprintf(s->f, ", ");
		print_ex(s, e->a[1]);
		fputc(')', s->f);
		break;
	}
}

static void print_buf(struct printer *s, buf_id id)
{
	const struct loop_buf *b = lbuf(s->p, id);
	fprintf(s->f, "buffer %s %s %s[", sym_str(b->name), scope_name(b->scope), dtype_name(b->dtype));
	for (int d = 0; d < b->rank; d++)
		fprintf(s->f, "%s%s", d ? "," : "", ptext(s, buf_dim(s->p, id, d)));
	fputc(']', s->f);
	if (b->layout.n)
		fprintf(s->f, " layout \"%s\"", layout_str(&b->layout, b->rank, &s->a));
	if (s->p->legalized && b->scope >= SCOPE_SCRATCH)
		for (int d = 0; d < b->rank; d++)
			fprintf(s->f, " %s+%s", ptext(s, b->base[d]), ptext(s, buf_size(s->p, id, d)));
	fputc('\n', s->f);
}

static void print_stage(struct printer *s, stage_id id)
{
	static const char *const comb[] = {"=", "+=", "*=", "max=", "min="};
	const struct stage *t = lstage(s->p, id);
	fprintf(s->f, "stage %s", sym_str(t->name));
	for (int a = 0; a < t->naxes; a++)
		fprintf(s->f, " %s%s:%s%s", a == t->nspatial ? "| " : "", sym_str(t->axis[a].name), ptext(s, axis_size(s->p, &t->axis[a])),
			t->axis[a].kind == AXIS_SCAN ? " scan" : "");
	fprintf(s->f, "\n  %s %s ", sym_str(lbuf(s->p, t->out)->name), comb[t->comb]);
	print_ex(s, t->body);
	fputc('\n', s->f);
}

static void print_nest(struct printer *s, nest_id id, int depth)
{
	static const char *const mark[] = {"", " unroll", " vector", " parallel", " call "};
	struct loop_prog *p = s->p;
	const struct nest *n = lnest(p, id);
	int in = n->kind == NEST_SEQ ? depth : depth + 1;
	if (n->kind == NEST_FOR) {
		fprintf(s->f, "%*sfor %s < %s%s", 2 * depth, "", sym_str(n->name), ptext(s, n->extent), mark[n->mark]);
		if (n->mark == LOOP_CALL)
			fputs(instr_row(n->instr)->name, s->f);
		if (n->outline)
			fputs(" outline", s->f);
		for (size_t i = 0; i < n->ahead.n; i++)
			fprintf(s->f, " prefetch %s %ld", sym_str(lbuf(p, n->ahead.a[i].b)->name), (long)n->ahead.a[i].steps);
		for (size_t i = 0; i < n->cut.n; i++)
			fprintf(s->f, " cut %ld", (long)n->cut.a[i]);
		fputc('\n', s->f);
	} else if (n->kind == NEST_BLOCK) {
		const struct stage *t = lstage(p, n->stage);
		fprintf(s->f, "%*s%s%s(", 2 * depth, "", sym_str(t->name), n->phase == BLOCK_INIT ? ".init" : "");
		for (int a = 0, k = n->phase == BLOCK_INIT ? t->nspatial : t->naxes; a < k; a++)
			fprintf(s->f, "%s%s", a ? ", " : "", ptext(s, n->bind[a]));
		fputc(')', s->f);
		for (size_t i = 0; i < n->guard.n; i++)
			fprintf(s->f, " if %s >= 0", ptext(s, n->guard.a[i]));
		fputc('\n', s->f);
	}
	for (size_t i = 0; i < lnest(p, id)->kid.n; i++)
		print_nest(s, lnest(p, id)->kid.a[i], in);
}

static char *print(struct loop_prog *p, bool nest)
{
	struct printer s = {.p = p};
	char *text;
	s.f = textfile_open(&text, NULL);
	for (buf_id b = 1; b < p->bufs.n; b++)
		if (!p->legalized || lbuf(p, b)->alloc || lbuf(p, b)->scope < SCOPE_SCRATCH)
			print_buf(&s, b);
	for (stage_id t = 1; t < p->stages.n; t++)
		if (!lstage(p, t)->gone)
			print_stage(&s, t);
	if (nest && p->built)
		print_nest(&s, p->root, 0);
	textfile_close(s.f);
	arena_release(&s.a);
	return text;
}

const char *prog_str(struct loop_prog *p, struct arena *a)
{
	char *text = print(p, true);
	char *copy = arena_str(a, text);
	free(text);
	return copy;
}

struct digest prog_digest(struct loop_prog *p)
{
	char *text = print(p, false);
	struct digest d = digest_bytes(text, strlen(text));
	free(text);
	return d;
}
