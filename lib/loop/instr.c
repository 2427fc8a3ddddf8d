/* Target instructions: the table, and the match of a nest with a row. */
#include "loop/instr.h"
#include <string.h>
#include "target/target.h"
#include "loop/math.h"
#include "loop/nest.h"
#include "loop/prim.h"

/* ---- helpers of the text ---- */

/* x = a and b, lanes [from, from + VL): index[i] of lanes of a, then of b. */
static void shuffle(FILE *f, const char *to, int k, char name, int a, int b, int lanes, int (*pick)(int lane, int high), int high)
{
	fprintf(f, "\tconst vf %s%d = __builtin_shufflevector(%c%d, %c%d", to, k, name, a, name, b);
	for (int i = 0; i < lanes; i++) {
		int from = pick(i, high); /* lane of a, or VL + lane of b: in 64 + lane */
		fprintf(f, ", %d", from >= 64 ? from - 64 + lanes : from);
	}
	fprintf(f, ");\n");
}

/* Of four lanes each: a b interleaved, low or high half. */
static int interleaved(int lane, int high) { return lane / 4 * 4 + 2 * high + lane % 4 / 2 + (lane & 1 ? 64 : 0); }
/* The same with pairs of lanes. */
static int pairs(int lane, int high) { return lane / 4 * 4 + 2 * high + (lane & 1) + (lane & 2 ? 64 : 0); }
/* Groups of four: the even or odd ones of a, then of b. */
static int quads_of_16(int lane, int odd) { return (lane / 4 % 2 * 2 + odd) * 4 + lane % 4 + (lane >= 8 ? 64 : 0); }
static int quads_of_8(int lane, int odd) { return odd * 4 + lane % 4 + (lane >= 4 ? 64 : 0); }

/* Vectors r0.. become their transpose, called x0..: first in blocks of four by four, then the blocks. */
static void transpose_lanes(FILE *f, int lanes)
{
	for (int i = 0; i < lanes; i++)
		shuffle(f, "p", i, 'r', i & ~1, i | 1, lanes, interleaved, i & 1);
	const char *to = lanes == 4 ? "x" : "q";
	for (int i = 0; i < lanes; i++) /* columns 0 and 1 of a block lie in its low halves */
		shuffle(f, to, i, 'p', (i & ~3) + (i >> 1 & 1), (i & ~3) + 2 + (i >> 1 & 1), lanes, pairs, i & 1);
	for (int c = 0; lanes == 8 && c < 4; c++)
		for (int odd = 0; odd < 2; odd++)
			shuffle(f, "x", 4 * odd + c, 'q', c, 4 + c, lanes, quads_of_8, odd);
	for (int c = 0; lanes == 16 && c < 4; c++) {
		for (int h = 0; h < 2; h++)
			for (int odd = 0; odd < 2; odd++)
				shuffle(f, "s", 8 * h + 4 * odd + c, 'q', 8 * h + c, 8 * h + 4 + c, lanes, quads_of_16, odd);
		for (int h = 0; h < 2; h++)
			for (int odd = 0; odd < 2; odd++)
				shuffle(f, "x", 4 * (h + 2 * odd) + c, 's', 4 * h + c, 8 + 4 * h + c, lanes, quads_of_16, odd);
	}
}

static void transpose_helper(FILE *f, const struct instr *row)
{
	int lanes = (int)row->extent[0];

	fprintf(f, "static void %s(void *to, long s, const void *from, long t)\n{\n\tfloat *o = to;\n\tconst float *a = from;\n",
		row->name);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tconst vf r%d = vload(a + %d * t);\n", i, i);
	transpose_lanes(f, lanes);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tvstore(o + %d * s, x%d);\n", i, i);
	fprintf(f,
		"}\n/* m x n of it; a is read in the first steps, what follows is zero */\n"
		"static void %s_part(void *to, long s, const void *from, long t, long m, long n, long steps)\n{\n"
		"\tfloat *o = to;\n\tconst float *a = from;\n"
		"\tconst vm in = vlanes(0, m), out = vlanes(0, n);\n",
		row->name);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tconst vf r%d = %d < steps ? vload_mask(a + %d * t, in) : (vf){};\n", i, i, i);
	transpose_lanes(f, lanes);
	for (int i = 0; i < lanes; i++)
		fprintf(f, "\tif (%d < m)\n\t\tvstore_mask(o + %d * s, x%d, out);\n", i, i, i);
	fprintf(f, "}\n");
}

/* Elements of 1, 2 or 8 bytes: rows of 16 bytes of a, as many as a row of o has elements. Each step takes what lies in the first half
 * of all rows, and what lies in the second, in turns. */
static void turn_helper(FILE *f, const struct instr *row)
{
	static const char *const type[] = {[1] = "char", [2] = "short", [8] = "long"};
	int columns = (int)row->extent[0], rows = (int)row->extent[1], bytes = 16 / columns;

	fprintf(f,
		"static void %s(void *to, long s, const void *from, long t)\n{\n"
		"\ttypedef %s v __attribute__((vector_size(16), aligned(1), may_alias));\n\tchar *o = to;\n\tconst char *a = from;\n",
		row->name, type[bytes]);
	for (int i = 0; i < rows; i++)
		fprintf(f, "\tconst v x0_%d = *(const v *)(a + %d * t);\n", i, bytes * i);
	int step = 0;
	for (int n = rows; n > 1; n /= 2, step++)
		for (int i = 0; i < rows; i++) {
			fprintf(f, "\tconst v x%d_%d = __builtin_shufflevector(x%d_%d, x%d_%d", step + 1, i, step, i / 2, step,
				i / 2 + rows / 2);
			for (int k = 0; k < columns; k++)
				fprintf(f, ", %d", i % 2 * columns / 2 + k / 2 + k % 2 * columns);
			fprintf(f, ");\n");
		}
	for (int i = 0, at = 0; i < columns; i++, at += rows)
		fprintf(f, "\t__builtin_memcpy(o + %d * s, (const char *)&x%d_%d + %d, %d);\n", bytes * i, step, at / columns,
			at % columns * bytes, rows * bytes);
	fprintf(f,
		"}\nstatic void %s_part(void *to, long s, const void *from, long t, long m, long n, long steps)\n{\n"
		"\ttypedef %s e __attribute__((may_alias));\n\te *o = to;\n\tconst e *a = from;\n"
		"\tfor (long i = 0; i < m; i++)\n\t\tfor (long k = 0; k < n; k++)\n\t\t\to[i * s + k] = k < steps ? a[k * t + i] : 0;\n}\n",
		row->name, type[bytes]);
}

static void copy_helper(FILE *f, const struct instr *row) {}

static void dpbusd_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef int viu __attribute__((vector_size(64), aligned(1), may_alias));\n"
		"/* sums of four products of unsigned and signed bytes; GCC's intrinsic spills the sums */\n"
		"static inline vi vpdpbusd(vi x, const unsigned char *a, const signed char *b)\n{\n\tint four;\n"
		"\t__builtin_memcpy(&four, a, 4);\n\tconst vi u = four - (vi){};\n"
		"\t__asm__(\"vpdpbusd %%2, %%1, %%0\" : \"+v\"(x) : \"v\"(u), \"vm\"(*(const viu *)b));\n\treturn x;\n}\n");
}

static void fma16_helper(FILE *f, const struct instr *row)
{
	fprintf(f,
		"typedef _Float16 vhf __attribute__((vector_size(64)));\n"
		"typedef _Float16 vhfu __attribute__((vector_size(64), aligned(2), may_alias));\n"
		"static inline vhf vfmadd16(vhf x, const _Float16 *a, const _Float16 *b)\n{\n"
		"\treturn x + (*a - (vhf){}) * *(const vhfu *)b;\n}\n");
}

/* ---- the table ---- */

#define TRANSPOSE(lanes, f) \
	{ \
		.name = "transpose" #lanes, .features = f, .vector_bytes = 4 * lanes, .nloops = 2, .extent = {lanes, lanes}, .body = "a", \
		.out = {DT_F32, {STEP_ANY, 1}}, .in = {{DT_F32, {1, STEP_ANY}}}, .text = "transpose" #lanes "(%o, %s, %a, %t);", \
		.part = "transpose" #lanes "_part(%o, %s, %a, %t, %m, %n, %f);", .helper = transpose_helper \
	}

#define TURN(rows, columns, type) \
	{ \
		.name = "turn" #rows "x" #columns, .nloops = 2, .extent = {columns, rows}, .body = "a", .out = {type, {STEP_ANY, 1}}, \
		.in = {{type, {1, STEP_ANY}}}, .text = "turn" #rows "x" #columns "(%o, %s, %a, %t);", \
		.part = "turn" #rows "x" #columns "_part(%o, %s, %a, %t, %m, %n, %f);", .helper = turn_helper \
	}

/* What copies does so with any type of its size. */
#define COPY(bytes, type) \
	{ \
		.name = "copy" #bytes, .nloops = 1, .extent = {INT64_MAX}, .body = "a", .out = {type, {1}}, .in = {{type, {1}}}, \
		.text = "__builtin_memcpy(%o, %a, " #bytes " * (%m));", .part = "__builtin_memcpy(%o, %a, " #bytes " * (%m));", \
		.helper = copy_helper \
	}

static const struct instr rows[] = {
	TRANSPOSE(16, TF_AVX512),
	TRANSPOSE(8, TF_AVX2),
	TRANSPOSE(4, 0),
	TURN(16, 16, DT_U8),
	TURN(8, 16, DT_U8),
	TURN(4, 16, DT_U8),
	TURN(2, 16, DT_U8),
	TURN(8, 8, DT_U16),
	TURN(4, 8, DT_U16),
	TURN(2, 8, DT_U16),
	TURN(2, 2, DT_U64),
	COPY(1, DT_U8),
	COPY(2, DT_U16),
	COPY(4, DT_F32),
	COPY(8, DT_U64),
	/* 16 sums of int32, each of 4 products: a is the same for all sums, b lies in groups of four */
	{.name = "vpdpbusd",
	 .features = TF_VNNI,
	 .vector_bytes = 64,
	 .nloops = 2,
	 .extent = {16, 4},
	 .comb = COMB_SUM,
	 .body = "mul(i32(a), i32(b))",
	 .out = {DT_I32, {1, 0}},
	 .in = {{DT_U8, {0, 1}}, {DT_I8, {4, 1}}},
	 .accumulator = "vi",
	 .text = "vpdpbusd(%v, %a, %b)",
	 .helper = dpbusd_helper},
	/* 32 sums in half precision */
	{.name = "vfmaddph",
	 .features = TF_FP16,
	 .vector_bytes = 64,
	 .nloops = 1,
	 .extent = {32},
	 .comb = COMB_SUM,
	 .body = "mul(a, b)",
	 .out = {DT_F16, {1}},
	 .in = {{DT_F16, {0}}, {DT_F16, {1}}},
	 .accumulator = "vhf",
	 .text = "vfmadd16(%v, %a, %b)",
	 .helper = fma16_helper},
};
enum { ROWS = sizeof rows / sizeof *rows };

const struct instr *instr_row(int n) { return n > 0 && n <= ROWS ? &rows[n - 1] : NULL; }

int instr_find(const char *name)
{
	for (int i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].name, name))
			return i + 1;
	return 0;
}

/* ---- the match ---- */

struct match {
	struct loop_prog *p;
	const struct instr *row;
	struct instr_use *use;
	int n;
	const poly_var *v;
	const poly *by;
};

static poly substituted(struct match *m, poly e) { return m->n ? poly_subst_many(m->p->P, e, m->n, m->v, m->by) : e; }

/* The loops, each directly in the one before, and the block in the last. */
static const char *match_loops(struct match *m, nest_id loop)
{
	struct loop_prog *p = m->p;
	int64_t lo, hi;

	m->use->whole = true;
	for (int i = 0; i < m->row->nloops; i++) {
		const struct nest *n = lnest(p, loop);
		if (n->kind != NEST_FOR)
			return whynot(p, "%d loops are needed, one directly in the other", m->row->nloops);
		if (n->cut.n || n->outline || n->ahead.n || n->tail_at != POLY_UNKNOWN || (n->mark != LOOP_SERIAL && n->mark != LOOP_CALL))
			return whynot(p, "%s is marked or cut", sym_str(n->name));
		m->use->loop[i] = loop;
		m->use->extent[i] = substituted(m, n->extent);
		poly_range(p->P, m->use->extent[i], &lo, &hi);
		if (hi > m->row->extent[i])
			return whynot(p, "%s has %ld steps, %ld are the most", sym_str(n->name), (long)hi, (long)m->row->extent[i]);
		m->use->whole &= lo == m->row->extent[i];
		const struct nest *body = lnest(p, nest_body(p, loop));
		if (body->kid.n != 1)
			return whynot(p, "there is more than one thing in %s", sym_str(n->name));
		loop = body->kid.a[0];
	}
	if (lnest(p, loop)->kind != NEST_BLOCK || lnest(p, loop)->phase != BLOCK_UPDATE)
		return whynot(p, "there is a loop too many in it, or the start of a sum");
	m->use->block = loop;
	return NULL;
}

/* What only moves elements does so with all types of a size. */
static bool fits_type(const struct match *m, enum dtype t, enum dtype of_row)
{
	return strcmp(m->row->body, "a") ? t == of_row : dtype_size(t) == dtype_size(of_row);
}

/* Is the body of shape *s? Moves s behind it. */
static bool match_body(struct match *m, ex_id e, const char **s)
{
	const struct ex *x = lex(m->p, e);
	const char *name = NULL;
	size_t n = strcspn(*s, "(,)");

	if (n == 1) { /* a or b */
		int k = **s - 'a';
		if (x->kind != EX_READ || x->dyn_dim >= 0 || !fits_type(m, x->dtype, m->row->in[k].dtype))
			return false;
		m->use->read[k] = e;
		m->use->nread = k + 1 > m->use->nread ? k + 1 : m->use->nread;
		*s += 1;
		return true;
	}
	if (x->kind == EX_CALL)
		name = math_row((enum math_fn)x->fn)->name;
	else if (x->kind == EX_CAST)
		name = dtype_name(x->dtype);
	if (!name || strlen(name) != n || strncmp(name, *s, n))
		return false;
	const char *args = *s + n + 1, *at = args;
	int count = x->kind == EX_CAST ? 1 : math_row((enum math_fn)x->fn)->arity;
	for (int swap = 0; swap <= (x->kind == EX_CALL && (x->fn == FN_MUL || x->fn == FN_ADD)); swap++) {
		bool good = true;
		at = args;
		for (int i = 0; i < count && good; i++) {
			good = match_body(m, lex(m->p, e)->a[swap ? count - 1 - i : i], &at);
			at += strspn(at, ", )");
		}
		if (good) {
			*s = at;
			return true;
		}
	}
	return false;
}

/* The body may be zero from some step of the innermost loop on, if the row has text for that: what is read then. */
static const char *match_fill(struct match *m, ex_id *body)
{
	struct loop_prog *p = m->p;
	const struct ex *x = lex(p, *body);
	poly_var inner = lnest(p, m->use->loop[m->row->nloops - 1])->var;
	int64_t lo, hi, coef;
	poly rest;

	if (x->kind != EX_GUARD)
		return NULL;
	const struct ex *fill = lex(p, x->a[1]);
	for (int i = 0; i < x->n; i++) {
		poly c = substituted(m, bind_poly(p, lnest(p, m->use->block), x->index[i]));
		poly_range(p->P, c, &lo, &hi);
		if (lo >= 0)
			continue;
		if (!m->row->part || fill->kind != EX_CONST || fill->c != 0 || fill->ic)
			return whynot(p, "%s is read with a fill", sym_str(lstage(p, lnest(p, m->use->block)->stage)->name));
		if (!poly_linear_in(p->P, c, inner, &coef, &rest) || coef != -1)
			return whynot(p, "the fill does not begin at some step of %s",
				      sym_str(lnest(p, m->use->loop[m->row->nloops - 1])->name));
		for (int k = 0; k + 1 < m->row->nloops; k++)
			if (poly_uses(p->P, rest, lnest(p, m->use->loop[k])->var))
				return whynot(p, "the fill depends on %s", sym_str(lnest(p, m->use->loop[k])->name));
		poly steps = poly_max(p->P, poly_const(p->P, 0), poly_addc(p->P, rest, 1));
		m->use->filled =
			poly_min(p->P, m->use->filled == POLY_UNKNOWN ? m->use->extent[m->row->nloops - 1] : m->use->filled, steps);
		m->use->whole = false;
	}
	*body = x->a[0];
	return NULL;
}

/* Offset and steps of an access. */
static const char *match_access(struct match *m, buf_id b, const poly *index, const struct instr_operand *o, poly *at, int64_t *step)
{
	struct loop_prog *p = m->p;
	const char *name = sym_str(lbuf(p, b)->name);

	if (!fits_type(m, lbuf(p, b)->dtype, o->dtype))
		return whynot(p, "%s is %s, not %s", name, dtype_name(lbuf(p, b)->dtype), dtype_name(o->dtype));
	poly off = substituted(m, buf_offset(p, b, index));
	for (int i = 0; i < m->row->nloops; i++) {
		const struct nest *l = lnest(p, m->use->loop[i]);
		poly rest;
		int64_t lo, hi;
		poly_range(p->P, m->use->extent[i], &lo, &hi);
		if (!poly_linear_in(p->P, off, l->var, &step[i], &rest))
			return whynot(p, "the step of %s in %s varies", name, sym_str(l->name));
		if (o->step[i] != STEP_ANY && step[i] != o->step[i] && hi > 1)
			return whynot(p, "the step of %s in %s is %ld, not %ld", name, sym_str(l->name), (long)step[i], (long)o->step[i]);
		off = rest;
	}
	*at = off;
	return NULL;
}

static const char *match_accesses(struct match *m)
{
	struct loop_prog *p = m->p;
	struct nest *k = lnest(p, m->use->block);
	const struct stage *s = lstage(p, k->stage);
	const char *why = NULL;
	poly index[LOOP_AXES_MAX];

	for (int i = 0; i < m->use->nread && !why; i++) {
		const struct ex *x = lex(p, m->use->read[i]);
		if (lbuf(p, x->buf)->scope == SCOPE_REGISTER || x->buf == s->out)
			return whynot(p, "%s is in registers, or written", sym_str(lbuf(p, x->buf)->name));
		for (int d = 0; d < x->n; d++)
			index[d] = bind_poly(p, lnest(p, m->use->block), x->index[d]);
		why = match_access(m, x->buf, index, &m->row->in[i], &m->use->at[i], m->use->step[i]);
	}
	if (lbuf(p, s->out)->scope == SCOPE_REGISTER && !m->row->accumulator)
		return whynot(p, "%s is in registers", sym_str(lbuf(p, s->out)->name));
	return why ? why : match_access(m, s->out, k->bind, &m->row->out, &m->use->out, m->use->out_step);
}

const char *instr_match(struct loop_prog *p, nest_id loop, int row, int n, const poly_var *v, const poly *by, struct instr_use *use)
{
	struct match m = {p, instr_row(row), use, n, v, by};
	const char *why, *shape = m.row->body;
	int64_t lo, hi;

	*use = (struct instr_use){0};
	if ((why = match_loops(&m, loop)))
		return why;
	const struct nest *k = lnest(p, use->block);
	const struct stage *s = lstage(p, k->stage);
	ex_id body = s->body;
	if (s->comb != m.row->comb || (why = match_fill(&m, &body)))
		return why ? why : whynot(p, "%s is %s", sym_str(s->name), s->comb == COMB_NONE ? "no reduction" : "another reduction");
	if (!match_body(&m, body, &shape))
		return whynot(p, "the body of %s is not %s of such types", sym_str(s->name), m.row->body);
	for (size_t i = 0; i < k->guard.n; i++) {
		poly g = substituted(&m, k->guard.a[i]);
		poly_range(p->P, g, &lo, &hi);
		for (int j = 0; j < m.row->nloops && lo < 0; j++)
			if (poly_uses(p->P, g, lnest(p, use->loop[j])->var))
				return whynot(p, "%s is guarded within %s", sym_str(s->name), sym_str(lnest(p, use->loop[j])->name));
	}
	if ((why = match_accesses(&m)) && use->nread == 2 && m.row->in[0].dtype == m.row->in[1].dtype) {
		ex_id a = use->read[0]; /* factors the other way round */
		use->read[0] = use->read[1];
		use->read[1] = a;
		if (!match_accesses(&m))
			return NULL;
	}
	return why;
}

/* ---- the primitive ---- */

const char *prim_tensor(struct loop_prog *p, const char *loop, const char *name)
{
	nest_id l = loop_find(p, loop);
	int row = instr_find(name);
	const struct target *t = p->target ? p->target : target_host();
	struct instr_use use;

	if (!l)
		return loop_missing(p, loop);
	if (!row)
		return whynot(p, "no instruction %s", name);
	const struct instr *r = instr_row(row);
	if ((t->features & r->features) != r->features || (r->vector_bytes && t->vector_bytes != r->vector_bytes))
		return whynot(p, "the target has no %s", name);
	if (lnest(p, l)->mark != LOOP_SERIAL)
		return whynot(p, "%s is marked already", loop);
	const char *why = instr_match(p, l, row, 0, NULL, NULL, &use);
	for (int i = 0; i < r->nloops && !why && !r->part; i++) {
		int64_t lo, hi;
		poly_range(p->P, use.extent[i], &lo, &hi);
		if (hi < r->extent[i])
			why = whynot(p, "%s has %ld steps, not %ld", sym_str(lnest(p, use.loop[i])->name), (long)hi, (long)r->extent[i]);
	}
	if (why)
		return why;
	lnest(p, l)->mark = LOOP_CALL;
	lnest(p, l)->instr = row;
	return NULL;
}

static void settle_call(struct loop_prog *p, nest_id n, void *arg)
{
	const char **why = arg;
	struct instr_use use;

	if (*why || lnest(p, n)->kind != NEST_FOR || lnest(p, n)->mark != LOOP_CALL)
		return;
	int row = lnest(p, n)->instr;
	if ((*why = instr_match(p, n, row, 0, NULL, NULL, &use)))
		*why = whynot(p, "call of %s at %s: %s", instr_row(row)->name, sym_str(lnest(p, n)->name), *why);
	else if (!use.whole && !instr_row(row)->part)
		lnest(p, n)->mark = LOOP_SERIAL;
}

const char *instr_settle(struct loop_prog *p)
{
	const char *why = NULL;

	nest_walk(p, p->root, settle_call, &why);
	return why;
}
