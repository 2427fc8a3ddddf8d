/* C from finished programs: the walk over the nest. It runs twice: dry, to learn which register elements are
 * vectors, then for the text. Unrolled loops are written out: their variables stand for numbers. */
#include "emit/emit_impl.h"
#include "common/msg.h"
#include "target/target.h"
#include <stdarg.h>
#include <string.h>

const char *text(struct emit *e, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(small, sizeof small, fmt, ap);
	va_end(ap);
	if (n < (int)sizeof small)
		return arena_copy(&e->tmp, small, (size_t)n + 1);
	char *s = arena_alloc(&e->tmp, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void line(struct emit *e, const char *fmt, ...)
{
	va_list ap;

	if (e->dry)
		return;
	if (!e->aside)
		run_end(e);
	for (int i = 0; i < e->depth; i++)
		fputc('\t', e->f);
	va_start(ap, fmt);
	vfprintf(e->f, fmt, ap);
	va_end(ap);
	fputc('\n', e->f);
}

/* ---- names ---- */

/* Words that C, libm or the prelude own, where a buffer or loop might have the same. */
static bool reserved(const char *s)
{
	static const char *const word[] = {
		"at",       "abs",      "acos",    "asin",  "atan",  "auto",   "break",   "case",     "ceil",     "char",      "const",
		"cos",      "cosh",     "default", "div",   "do",    "double", "else",    "enum",     "erf",      "exp",       "extern",
		"fabs",     "fdim",     "float",   "floor", "fma",   "fmax",   "fmin",    "fmod",     "for",      "gamma",     "goto",
		"if",       "inline",   "int",     "lmax",  "lmin",  "log",    "long",    "m",        "main",     "pow",       "q",
		"register", "restrict", "return",  "rint",  "round", "short",  "signed",  "sin",      "sinh",     "sizeof",    "sqrt",
		"static",   "struct",   "switch",  "tan",   "tanh",  "trunc",  "typedef", "union",    "unsigned", "void",      "volatile",
		"while",    "ws",       "args",    "begin", "end",   "team",   "thread",  "floordiv", "signbit",  "remainder", "asm",
		"typeof",   "hypot",    "unix",    "linux", "j0",
	};
	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		if (!strcmp(s, word[i]))
			return true;
	return s[0] == 'v' || (strchr("icotgynpr", s[0]) && s[1] >= '0' && s[1] <= '9') || strstr(s, "_f32");
}

static bool name_taken(struct emit *e, const char *s)
{
	for (int i = 0; i < e->nopen; i++)
		if (!strcmp(sym_str(e->open[i]), s))
			return true;
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->buf_text[b] && !strcmp(e->buf_text[b], s))
			return true;
	return false;
}

sym c_name(struct emit *e, const char *name)
{
	char buf[128];
	size_t n = 0;

	if (*name >= '0' && *name <= '9')
		buf[n++] = '_';
	for (; *name && n < sizeof buf - 20; name++) {
		bool alnum = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
		buf[n++] = alnum ? *name : '_';
	}
	buf[n] = 0;
	if (reserved(buf))
		strcpy(buf + n, "_");
	n = strlen(buf);
	for (int k = 2; name_taken(e, buf); k++)
		snprintf(buf + n, sizeof buf - n, "_%d", k);
	return intern(buf);
}

void var_set(struct emit *e, poly_var v, const char *name)
{
	while (e->var_text.n <= v)
		vec_push(&e->var_text, NULL);
	e->var_text.a[v] = name;
}

static void var_open(struct emit *e, poly_var v, sym name)
{
	if (e->nopen == NEST_DEPTH_MAX)
		BUG("emit: nest too deep");
	e->open_var[e->nopen] = v;
	e->open[e->nopen++] = name;
	var_set(e, v, sym_str(name));
}

static void var_close(struct emit *e, poly_var v)
{
	e->nopen--;
	var_set(e, v, NULL);
}

static void env_push(struct emit *e, poly_var v, poly by)
{
	if (e->nenv == NEST_DEPTH_MAX)
		BUG("emit: nest too deep");
	e->env_v[e->nenv] = v;
	e->env_by[e->nenv++] = by;
}

/* ---- blocks ---- */

static void emit_nest(struct emit *e, nest_id n);
static void emit_lanes(struct emit *e, const struct nest *loop, poly_var lane, int lanes, poly guard);

static void tmp_clear(struct emit *e)
{
	arena_release(&e->tmp);
	e->tmp = (struct arena){0};
}

bool guard_text(struct emit *e, const struct nest *n, const char **cond)
{
	int64_t lo, hi;

	*cond = "";
	for (size_t i = 0; i < n->guard.n; i++) {
		poly g = env_subst(e, n->guard.a[i]);
		poly_range(e->p->P, g, &lo, &hi);
		if (hi < 0)
			return false;
		if (lo < 0 && !(e->lane && poly_uses(e->p->P, g, e->lane)))
			*cond = text(e, "%s%s%s", *cond, **cond ? " && " : "", cond_text(e, g));
	}
	return true;
}

/* Is it, wherever the block runs, a fill of zero? */
static bool zero_fill(struct emit *e, ex_id ex)
{
	const struct ex *x = lex(e->p, ex), *fill = x->kind == EX_GUARD ? lex(e->p, x->a[1]) : NULL;
	bool outside = false;
	int64_t lo, hi;

	if (!fill || fill->kind != EX_CONST || fill->c != 0 || fill->ic)
		return false;
	for (int i = 0; i < x->n && !outside; i++) {
		poly_range(e->p->P, here(e, x->index[i]), &lo, &hi);
		outside = hi < 0;
	}
	return outside;
}

static bool is_weight(struct emit *e, ex_id ex)
{
	return lex(e->p, ex)->kind == EX_READ && lbuf(e->p, lex(e->p, ex)->buf)->scope == SCOPE_CONST;
}

/* A tap in the padding: zero times a weight (which is taken to be finite) adds nothing to a sum. */
static bool adds_nothing(struct emit *e, const struct nest *n)
{
	const struct stage *s = lstage(e->p, n->stage);
	const struct ex *x = lex(e->p, s->body);

	if (n->phase != BLOCK_UPDATE || s->comb != COMB_SUM || x->kind != EX_CALL || x->fn != FN_MUL)
		return false;
	return (zero_fill(e, x->a[0]) && is_weight(e, x->a[1])) || (zero_fill(e, x->a[1]) && is_weight(e, x->a[0]));
}

/* Lane after lane: a loop, or written out where a register's name depends on the lane. */
static void lane_by_lane(struct emit *e, nest_id id, const struct nest *loop)
{
	poly_var lane = e->lane;
	poly guard = e->lane_guard;
	int lanes = e->lanes;

	e->lane = 0;
	e->lane_guard = 0;
	for (int l = 0; l < lanes; l++) {
		poly by[NEST_DEPTH_MAX]; /* a loop's variable may stand for lanes of a piece of it */
		memcpy(by, e->env_by, sizeof by);
		for (int i = 0; i < e->nenv; i++)
			e->env_by[i] = poly_subst(e->p->P, by[i], lane, poly_const(e->p->P, l));
		env_push(e, lane, poly_const(e->p->P, l));
		const char *cond = guard ? cond_text(e, env_subst(e, guard)) : NULL;
		int64_t at;
		bool certain = guard && poly_is_const(e->p->P, env_subst(e, guard), &at);
		if (!certain || at >= 0) {
			if (cond && !certain) {
				line(e, "if (%s) {", cond);
				e->depth++;
			}
			emit_nest(e, id);
			if (cond && !certain) {
				e->depth--;
				line(e, "}");
			}
		}
		e->nenv--;
		memcpy(e->env_by, by, sizeof by);
	}
	e->lane = lane;
	e->lane_guard = guard;
}

/* The statement of a block, in braces if it has lines of its own before it, behind its condition. */
static void put_block(struct emit *e, const char *lines, size_t size, const char *cond, buf_id out)
{
	bool one = strchr(lines, '\n') == lines + size - 1;
	FILE *f = e->f;
	char *whole;
	size_t n;

	e->f = open_memstream(&whole, &n);
	e->aside = true;
	if (*cond)
		line(e, "if (%s)%s", cond, one ? "" : " {");
	else if (!one)
		line(e, "{");
	for (const char *s = lines, *end; *s; s = end) { /* in braces: one tab more */
		end = strchr(s, '\n') + 1;
		fprintf(e->f, "%s%.*s", *cond || one ? "" : "\t", (int)(end - s), s);
	}
	if (!one)
		line(e, "}");
	e->aside = false;
	fclose(e->f);
	e->f = f;
	run_add(e, whole, *cond, lbuf(e->p, out)->scope == SCOPE_REGISTER ? 0 : out);
	free(whole);
}

static void emit_block(struct emit *e, nest_id id, const struct nest *loop)
{
	const struct nest *n = lnest(e->p, id);
	buf_id to = lstage(e->p, n->stage)->out;
	const char *cond;
	char *out = NULL;
	size_t size = 0, touched = e->touched.n;
	FILE *f = e->f;
	bool done = true;

	e->block = id;
	if (adds_nothing(e, n) || !guard_text(e, n, &cond))
		return;
	if (e->lane)
		cond = vector_cond(e, cond);
	/* The statement and its temporaries are written aside: whether they need braces is known then. */
	if (!e->dry)
		e->f = open_memstream(&out, &size);
	e->aside = true;
	e->depth += *cond ? 1 : 0;
	if (e->lane)
		done = vector_block(e);
	else
		scalar_block(e);
	e->depth -= *cond ? 1 : 0;
	e->aside = false;
	if (!e->dry) {
		fclose(e->f);
		e->f = f;
	}
	if (!done) {
		e->touched.n = touched;
		free(out);
		lane_by_lane(e, id, loop);
		return;
	}
	if (!e->dry)
		put_block(e, out, size, cond, to);
	free(out);
	tmp_clear(e);
}

/* ---- loops ---- */

static const char *dims_text(struct emit *e, const struct loop_buf *b)
{
	const char *s = dtype_name(b->dtype);

	for (int d = 0; d < b->rank; d++)
		s = text(e, "%s%s%ld", s, d ? "x" : " ", (long)b->extent[d]);
	if (b->layout.n)
		s = text(e, "%s in order %s", s, layout_str(&b->layout, b->rank, &e->tmp));
	return s;
}

static bool has_allocs(struct emit *e, nest_id n)
{
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].alloc == n && (e->p->bufs.a[b].scope == SCOPE_STACK || e->p->bufs.a[b].scope == SCOPE_REGISTER))
			return true;
	return false;
}

/* Does any buffer live in an iteration of n? Then its lanes cannot run side by side. */
static bool is_home(struct emit *e, nest_id n)
{
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].alloc == n && e->p->bufs.a[b].scope >= SCOPE_SCRATCH)
			return true;
	return false;
}

/* Declares what lives in an iteration of n. */
static void allocs(struct emit *e, nest_id n)
{
	for (size_t i = 1; i < e->p->bufs.n; i++) {
		struct loop_buf *b = &e->p->bufs.a[i];
		if (b->alloc != n || (b->scope != SCOPE_STACK && b->scope != SCOPE_REGISTER))
			continue;
		e->open_at_alloc[i] = e->nopen;
		line(e, "/* %s: %s, %s */", sym_str(b->name), dims_text(e, b), scope_name(b->scope));
		if (b->scope == SCOPE_STACK)
			line(e, "%s %s[%ld] __attribute__((aligned(64)));", ctype(b->dtype), e->buf_text[i],
			     (long)buf_elems(e->p, (buf_id)i));
		else
			reg_declare(e, (buf_id)i);
	}
}

static void emit_body(struct emit *e, nest_id loop)
{
	allocs(e, loop);
	emit_ahead(e, loop);
	emit_nest(e, lnest(e->p, loop)->kid.a[0]);
}

/* One iteration as a copy of its own. */
static void emit_copy(struct emit *e, nest_id loop, poly at)
{
	bool scope = has_allocs(e, loop);

	env_push(e, lnest(e->p, loop)->var, at);
	if (scope) {
		line(e, "{");
		e->depth++;
	}
	emit_body(e, loop);
	if (scope) {
		e->depth--;
		line(e, "}");
	}
	e->nenv--;
}

static void emit_range(struct emit *e, nest_id id, const char *start, const char *end)
{
	poly_var v = lnest(e->p, id)->var;
	sym name = c_name(e, sym_str(lnest(e->p, id)->name));

	line(e, "for (long %s = %s; %s < %s; %s++) {", sym_str(name), start, sym_str(name), end, sym_str(name));
	var_open(e, v, name);
	e->depth++;
	emit_body(e, id);
	e->depth--;
	var_close(e, v);
	line(e, "}");
}

static void emit_serial(struct emit *e, nest_id id, poly extent, poly from)
{
	const char *start = poly_text(e, from), *end = poly_text(e, extent);

	if (lnest(e->p, id)->mark == LOOP_PARALLEL)
		line(e, "/* parallel */");
	emit_range(e, id, start, end);
}

void emit_piece(struct emit *e, nest_id id)
{
	const struct nest *n = lnest(e->p, id);
	poly extent = env_subst(e, n->extent);
	int64_t first = 0, c;

	poly_is_const(e->p->P, n->first, &first);
	if (n->extent == n->whole) {
		emit_range(e, id, "begin", "end");
	} else if (poly_is_const(e->p->P, extent, &c) && c == 1) {
		line(e, "if (begin <= %ld && %ld < end) {", (long)first, (long)first);
		e->depth++;
		emit_copy(e, id, poly_const(e->p->P, 0));
		e->depth--;
		line(e, "}");
	} else {
		const char *start = text(e, "lmax(begin - %ld, 0)", (long)first);
		emit_range(e, id, start, text(e, "lmin(end - %ld, %s)", (long)first, poly_text(e, extent)));
	}
	tmp_clear(e);
}

/* n copies an iteration; what is left over in a loop of its own. */
static void emit_unrolled_by(struct emit *e, nest_id id, poly extent, int n)
{
	struct polys *P = e->p->P;
	poly groups = poly_floordiv(P, extent, n);
	int64_t lo, hi, rlo, rhi, c;

	poly_range(P, groups, &lo, &hi);
	poly_var v = poly_var_new(P, lnest(e->p, id)->name, 0, hi > 1 ? hi - 1 : 0, 1);
	if (hi > 0) {
		sym name = c_name(e, sym_str(lnest(e->p, id)->name));
		bool loop = !poly_is_const(P, groups, &c) || c > 1;
		if (loop) {
			line(e, "for (long %s = 0; %s < %s; %s++) { /* %d a time */", sym_str(name), sym_str(name), poly_text(e, groups),
			     sym_str(name), n);
			var_open(e, v, name);
			e->depth++;
		}
		for (int k = 0; k < n; k++)
			emit_copy(e, id, poly_addc(P, loop ? poly_mulc(P, poly_of(P, v), n) : poly_const(P, 0), k));
		if (loop) {
			e->depth--;
			var_close(e, v);
			line(e, "}");
		}
	}
	poly rest = poly_sub(P, extent, poly_mulc(P, groups, n));
	poly_range(P, rest, &rlo, &rhi);
	if (rhi <= 0)
		return;
	if (poly_is_const(P, extent, &c) && rlo == rhi)
		for (int64_t k = c - rlo; k < c; k++)
			emit_copy(e, id, poly_const(P, k));
	else
		emit_serial(e, id, extent, poly_mulc(P, groups, n));
}

static bool only_blocks(struct emit *e, nest_id n)
{
	const struct nest *x = lnest(e->p, n);

	if (x->kind == NEST_BLOCK)
		return true;
	for (size_t i = 0; i < x->kid.n; i++)
		if (!only_blocks(e, x->kid.a[i]))
			return false;
	return x->kind == NEST_SEQ;
}

static void emit_lane_blocks(struct emit *e, nest_id n, const struct nest *loop)
{
	if (lnest(e->p, n)->kind == NEST_BLOCK) {
		emit_block(e, n, loop);
		return;
	}
	for (size_t i = 0; i < lnest(e->p, n)->kid.n; i++)
		emit_lane_blocks(e, lnest(e->p, n)->kid.a[i], loop);
}

static void emit_lanes(struct emit *e, const struct nest *loop, poly_var lane, int lanes, poly guard)
{
	int64_t lo, hi;

	if (guard) {
		poly_range(e->p->P, guard, &lo, &hi);
		if (hi < 0)
			return;
		if (lo >= 0)
			guard = 0;
	}
	e->lane = lane;
	e->lanes = lanes;
	e->lane_guard = guard;
	emit_lane_blocks(e, loop->kid.a[0], loop);
	e->lane = 0;
	e->lane_guard = 0;
}

/* Steps first to first + lanes - 1 of a vector loop. */
static void emit_chunk(struct emit *e, const struct nest *loop, int64_t first, int lanes)
{
	struct polys *P = e->p->P;
	poly_var lane = poly_var_new(P, 0, 0, lanes - 1, 1);

	env_push(e, loop->var, poly_addc(P, poly_of(P, lane), first));
	emit_lanes(e, loop, lane, lanes, 0);
	e->nenv--;
}

/* A vector loop: its variable is the lane, in pieces of vl lanes where there are more. */
static void emit_vector(struct emit *e, nest_id id, poly extent)
{
	struct polys *P = e->p->P;
	struct nest n = *lnest(e->p, id);
	int64_t lo, hi, c = 0;
	bool known = poly_is_const(P, extent, &c);
	poly end = poly_addc(P, extent, -1);

	poly_range(P, extent, &lo, &hi);
	if (hi <= e->vl) {
		emit_lanes(e, &n, n.var, (int)hi, known ? 0 : poly_sub(P, end, poly_of(P, n.var)));
		return;
	}
	if (known && c <= 4 * e->vl) { /* written out, for the sake of registers */
		for (int64_t at = 0; at < c; at += e->vl)
			emit_chunk(e, &n, at, (int)(c - at < e->vl ? c - at : e->vl));
		return;
	}
	poly whole = poly_floordiv(P, extent, e->vl);
	poly chunks = known ? whole : poly_ceildiv(P, extent, e->vl);
	int64_t most = known ? c / e->vl : (hi + e->vl - 1) / e->vl;
	poly_var q = poly_var_new(P, n.name, 0, most > 1 ? most - 1 : 0, 1), lane = poly_var_new(P, 0, 0, e->vl - 1, 1);
	sym name = c_name(e, sym_str(n.name));
	poly at = poly_add(P, poly_mulc(P, poly_of(P, q), e->vl), poly_of(P, lane));
	line(e, "for (long %s = 0; %s < %s; %s++) { /* vectors */", sym_str(name), sym_str(name), poly_text(e, chunks), sym_str(name));
	var_open(e, q, name);
	env_push(e, n.var, at);
	e->depth++;
	emit_lanes(e, &n, lane, e->vl, known ? 0 : poly_sub(P, end, at));
	e->depth--;
	e->nenv--;
	var_close(e, q);
	line(e, "}");
	if (known && c % e->vl)
		emit_chunk(e, &n, c / e->vl * e->vl, (int)(c % e->vl));
}

void emit_for(struct emit *e, nest_id id)
{
	const struct nest *n = lnest(e->p, id);
	poly extent = env_subst(e, n->extent);
	int64_t lo, hi, c;

	poly_range(e->p->P, extent, &lo, &hi);
	if (hi <= 0)
		return;
	if (n->outline && !e->dry && !e->start) {
		emit_outline(e, id);
		tmp_clear(e);
		return;
	}
	bool constant = poly_is_const(e->p->P, extent, &c), vector = n->mark == LOOP_VECTOR;
	if (n->mark == LOOP_CALL) {
		emit_call(e, id);
	} else if (vector && hi > 1 && only_blocks(e, n->kid.a[0]) && !is_home(e, id)) {
		emit_vector(e, id, extent);
	} else if (constant && (c == 1 || (n->mark == LOOP_UNROLL && !n->unroll) || (vector && c <= e->vl))) {
		for (int64_t i = 0; i < c; i++)
			emit_copy(e, id, poly_const(e->p->P, i));
	} else if (n->mark == LOOP_UNROLL && n->unroll > 1) {
		emit_unrolled_by(e, id, extent, n->unroll);
	} else {
		emit_serial(e, id, extent, poly_const(e->p->P, 0));
	}
	tmp_clear(e);
}

/* Is n a loop over sums in registers, more than a few of them, that stays a loop? */
static bool sums_in_registers(struct emit *e, nest_id n)
{
	const struct nest *x = lnest(e->p, n);

	if (x->kind == NEST_BLOCK)
		return x->phase == BLOCK_UPDATE && lbuf(e->p, lstage(e->p, x->stage)->out)->scope == SCOPE_REGISTER;
	for (size_t i = 0; i < x->kid.n; i++)
		if (sums_in_registers(e, x->kid.a[i]))
			return true;
	return false;
}

static bool stays_loop(const struct nest *x) { return x->kind == NEST_FOR && (x->mark == LOOP_SERIAL || x->unroll); }

/* Kids in order, pieces of one team together. What follows a loop over sums in registers loads its operands (a bias) after
 * it: a compiler that moves loads of what does not change out of the loops around lets them have registers for all of
 * them, and keeps sums in memory instead. */
static void emit_seq(struct emit *e, const struct nest *seq)
{
	for (size_t i = 0, n; i < seq->kid.n; i += n) {
		uint32_t team = lnest(e->p, seq->kid.a[i])->team;
		for (n = 1; team && i + n < seq->kid.n && lnest(e->p, seq->kid.a[i + n])->team == team;)
			n++;
		if (!e->in_team && is_team(e->p, seq->kid.a[i]))
			emit_team(e, seq->kid.a + i, n);
		else
			for (size_t k = 0; k < n; k++)
				emit_nest(e, seq->kid.a[i + k]);
		const struct nest *x = lnest(e->p, seq->kid.a[i]);
		if (x->reduce && stays_loop(x) && i + n < seq->kid.n && sums_in_registers(e, seq->kid.a[i]))
			line(e, "LOADS_STAY;");
	}
}

static void emit_nest(struct emit *e, nest_id id)
{
	switch (lnest(e->p, id)->kind) {
	case NEST_SEQ: emit_seq(e, lnest(e->p, id)); break;
	case NEST_FOR: emit_for(e, id); break;
	case NEST_BLOCK: emit_block(e, id, NULL); break;
	}
}

/* ---- the function ---- */

static void name_buffers(struct emit *e)
{
	static const char letter[] = {[SCOPE_IN] = 'i', [SCOPE_CONST] = 'c', [SCOPE_OUT] = 'o'};

	for (size_t b = 1; b < e->p->bufs.n; b++) {
		struct loop_buf *buf = &e->p->bufs.a[b];
		if (buf->scope <= SCOPE_OUT)
			e->buf_text[b] = arena_printf(&e->keep, "%c%d", letter[buf->scope], buf->operand);
		else if (buf->alloc)
			e->buf_text[b] = sym_str(c_name(e, sym_str(buf->name)));
	}
}

/* Parameters of one scope, by number. */
static const char *params(struct emit *e, enum scope s)
{
	const char *all = "";

	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].scope == s)
			all = text(e, "%s%s%s *restrict %s, ", all, s == SCOPE_OUT ? "" : "const ", ctype(e->p->bufs.a[b].dtype),
				   e->buf_text[b]);
	return all;
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
			axes = text(e, "%s%s%s%s:%ld", axes, a ? " " : "", s->axis[a].kind == AXIS_REDUCE ? "+" : "",
				    sym_str(s->axis[a].name), (long)s->axis[a].extent);
		line(e, " * stage %s(%s) -> %s", sym_str(s->name), axes, e->buf_text[s->out]);
	}
	line(e, " */");
}

void emit_scratch(struct emit *e, buf_id id, const char *behind)
{
	const struct loop_buf *b = lbuf(e->p, id);

	line(e, "%s *%s = (%s *)(ws + %ld%s); /* %s */", ctype(b->dtype), e->buf_text[id], ctype(b->dtype), (long)b->offset, behind,
	     dims_text(e, b));
}

static void emit_walk(struct emit *e)
{
	bool teams = emit_starts_team(e->p);

	for (buf_id b = 1; b < e->p->bufs.n; b++)
		if (lbuf(e->p, b)->scope == SCOPE_SCRATCH && lbuf(e->p, b)->alloc && (!teams || used_alone(e, b)))
			emit_scratch(e, b, "");
	allocs(e, e->p->root);
	emit_nest(e, e->p->root);
}

void emit_kernel_with(FILE *f, struct loop_prog *p, const char *name, struct outlines *outlines)
{
	if (!p->finished)
		BUG("emit_kernel before loop_finish");
	const struct target *t = p->target ? p->target : target_host();
	struct emit e = {.p = p, .vl = t->vector_bytes / 4, .dry = true, .kernel = name, .outlines = outlines};
	char *body, *teams;
	size_t nbody, nteams;
	e.regs = xcalloc(p->bufs.n, sizeof *e.regs);
	e.buf_text = xcalloc(p->bufs.n, sizeof *e.buf_text);
	e.open_at_alloc = xcalloc(p->bufs.n, sizeof *e.open_at_alloc);
	name_buffers(&e);
	emit_walk(&e);
	regs_settle(&e);
	e.dry = false;
	e.nteams = 0;
	e.f = open_memstream(&body, &nbody);
	e.teams = open_memstream(&teams, &nteams);
	emit_comment(&e);
	/* a caller it is written into has pointers that restrict says nothing of: other code than a model's */
	line(&e, "%s__attribute__((noinline)) static void %s(%s%s%schar *restrict ws%s)", emit_order(p), name, params(&e, SCOPE_IN),
	     params(&e, SCOPE_CONST), params(&e, SCOPE_OUT), emit_starts_team(p) ? ", struct team *team" : "");
	line(&e, "{");
	e.depth = 1;
	emit_walk(&e);
	e.depth = 0;
	line(&e, "}");
	fclose(e.teams);
	fclose(e.f);
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
	free(e.open_at_alloc);
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
	size_t n;
	FILE *kernel = open_memstream(&text, &n);

	emit_kernel_with(kernel, p, name, &o);
	fclose(kernel);
	for (size_t i = 0; i < o.a.n; i++) /* kernels in one file share them */
		fprintf(f, "#ifndef %s\n#define %s %s\n%s#endif\n", o.a.a[i].name, o.a.a[i].name, o.a.a[i].name, o.a.a[i].text);
	fputs(text, f);
	free(text);
	outlines_free(&o);
}
