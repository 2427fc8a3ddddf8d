/* A kernel's C function. The walk over its nest runs twice: dry, to learn which elements of register buffers are vectors, then for
 * the text. */
#include <string.h>
#include "emit/emit_impl.h"
#include "target/instr.h"
#include "common/msg.h"
#include "common/shown.h"
#include "common/textfile.h"
#include "target/target.h"

/* Sizes have names that a file gives. In a comment, which they cannot end. */
static const char *commented(struct emit *e, const char *s)
{
	char *to = ARENA_ARRAY(&e->p->arena, char, strlen(s) + 1), *p = to;

	for (int k; *s; s += k ? k : 1) {
		k = shown_length(s, 4);
		bool bad = k == 0 || (*s == '*' && s[1] == '/') || (*s == '/' && s[1] == '*');
		memcpy(p, bad ? "?" : s, bad ? 1 : (size_t)k);
		p += bad ? 1 : k;
	}
	return to;
}

/* A comment that lists the stages and buffers, so that the text can be read. */
static void emit_comment(struct emit *e)
{
	struct loop_prog *p = e->p;

	line(e, "/*");
	for (size_t i = 1; i < p->bufs.n; i++)
		if (p->bufs.a[i].scope <= SCOPE_OUT)
			line(e, " * %s: %s, %s", e->buf_text[i], sym_str(p->bufs.a[i].name), dims_text(e, &p->bufs.a[i]));
	for (size_t i = 1; i < p->stages.n; i++) {
		struct stage *s = &p->stages.a[i];
		bool told = s->gone || !nest_blocks(p, p->root, (stage_id)i, NULL, 0);
		for (size_t k = 1; k < i && !told; k++) /* pieces of one loop have copies */
			told = p->stages.a[k].name == s->name && nest_blocks(p, p->root, (stage_id)k, NULL, 0);
		if (told)
			continue;
		const char *axes = "";
		for (int a = 0; a < s->naxes; a++)
			axes = text(e, "%s%s%s%s:%s", axes, a ? " " : "", s->axis[a].kind == AXIS_REDUCE ? "+" : "",
				    sym_str(s->axis[a].name), size_text(e, s->axis[a].size, s->axis[a].extent));
		line(e, " * stage %s(%s) -> %s", sym_str(s->name), axes, e->buf_text[s->out]);
	}
	line(e, " */");
}

/* The parameters are variables p0, p1, ... all over the kernel, and what is left of axes has names. */
static void open_params(struct emit *e)
{
	for (size_t i = 0; i < e->p->params.n; i++) {
		sym name = intern_printf("p%zu", i);
		const char *meaning = e->form ? "" : text(e, " /* %s */", commented(e, sym_str(e->p->params.a[i].name)));
		line(e, "const long %s __attribute__((unused)) = p[%zu];%s", sym_str(name), i, meaning);
		var_open(e, e->p->params.a[i].var, name);
	}
	for (size_t i = 0; i < e->p->rests.n; i++) {
		poly_var v = e->p->rests.a[i].var;
		sym name = c_name(e, sym_str(poly_var_name(e->p->P, v)));
		line(e, "const long %s __attribute__((unused)) = %s;", sym_str(name), poly_text(e, e->p->rests.a[i].value));
		var_open(e, v, name);
	}
}

static void emit_walk(struct emit *e)
{
	bool teams = emit_starts_team(e->p);

	open_params(e);
	for (buf_id b = 1; b < e->p->bufs.n; b++)
		if (lbuf(e->p, b)->scope == SCOPE_SCRATCH && lbuf(e->p, b)->alloc && (!teams || used_alone(e, b)))
			emit_scratch(e, b, "");
	declare_locals(e, e->p->root);
	emit_nest(e, e->p->root);
	for (size_t i = e->p->rests.n; i-- > 0;)
		var_close(e, e->p->rests.a[i].var);
	for (size_t i = e->p->params.n; i-- > 0;)
		var_close(e, e->p->params.a[i].var);
}

void emit_function(FILE *f, struct loop_prog *p, const char *name, struct outlines *outlines, bool form)
{
	if (!p->legalized)
		BUG("emit_kernel before loop_legalize");
	const struct target *t = p->target ? p->target : target_host();
	struct emit e = {.p = p, .vl = t->vector_bytes / 4, .dry = true, .form = form, .kernel = name, .outlines = outlines};
	char *body, *teams;
	e.regs = xcalloc(p->bufs.n, sizeof *e.regs);
	e.buf_text = xcalloc(p->bufs.n, sizeof *e.buf_text);
	e.open_at_alloc = xcalloc(p->bufs.n, sizeof *e.open_at_alloc);
	name_buffers(&e);
	emit_walk(&e);
	regs_settle(&e);
	e.dry = false;
	e.nteams = 0;
	e.f = textfile_open(&body, NULL);
	e.teams = textfile_open(&teams, NULL);
	emit_comment(&e);
	/* noinline: if the function were inlined, its pointers would lose their restrict */
	line(&e, "%s__attribute__((noinline)) static void %s(%s%s%s%schar *restrict ws%s%s)", emit_order(p), name, params(&e, SCOPE_IN),
	     params(&e, SCOPE_CONST), params(&e, SCOPE_OUT), p->params.n ? "const long *p, " : "",
	     emit_starts_team(p) ? ", struct team *team" : "", form ? (const char[]){FORM_PARAMS, 0} : "");
	line(&e, "{");
	e.depth = 1;
	if (emit_makes_codes(p))
		line(&e, "EACH_ROUNDED");
	const struct instr *with = emit_around_calls(p);
	if (with)
		line(&e, "%s", with->begin);
	emit_walk(&e);
	if (with)
		line(&e, "%s", with->end);
	e.depth = 0;
	line(&e, "}");
	textfile_close(e.teams);
	textfile_close(e.f);
	fputs(teams, f);
	fputs(body, f);
	free(teams);
	free(body);
	regs_free(&e);
	vec_free(&e.var_text);
	vec_free(&e.uses);
	vec_free(&e.lines);
	vec_free(&e.named);
	vec_free(&e.touched);
	vec_free(&e.run.load);
	vec_free(&e.run.statement);
	arena_release(&e.tmp);
	arena_release(&e.keep);
	free(e.regs);
	free(e.buf_text);
	map_free(&e.states);
	free(e.open_at_alloc);
}

void emit_kernel_with(FILE *f, struct loop_prog *p, const char *name, struct outlines *outlines)
{
	emit_function(f, p, name, outlines, false);
}

void outlines_free(struct outlines *o)
{
	for (size_t i = 0; i < o->a.n; i++) {
		free(o->a.a[i].name);
		free(o->a.a[i].text);
	}
	vec_free(&o->a);
}

void emit_kernel(FILE *f, struct loop_prog *p, const char *name)
{
	struct outlines o = {0};
	char *text;
	FILE *kernel = textfile_open(&text, NULL);

	emit_kernel_with(kernel, p, name, &o);
	textfile_close(kernel);
	for (size_t i = 0; i < o.a.n; i++) /* kernels in one file share them */
		fprintf(f, "#ifndef %s\n#define %s %s\n%s#endif\n", o.a.a[i].name, o.a.a[i].name, o.a.a[i].name, o.a.a[i].text);
	fputs(text, f);
	free(text);
	outlines_free(&o);
}
