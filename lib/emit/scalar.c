/* Indices and scalar expressions as C. */
#include "emit/emit_impl.h"
#include "common/msg.h"
#include <math.h>
#include <string.h>

const char *ctype(enum dtype t)
{
	switch (t) {
	case DT_F32: return "float";
	case DT_F64: return "double";
	case DT_F16: return "_Float16";
	case DT_I64: return "long";
	case DT_I32: return "int";
	case DT_I16: return "short";
	case DT_I8:
	case DT_I4:
	case DT_I2: return "signed char";
	case DT_U64: return "unsigned long";
	case DT_U32: return "unsigned";
	case DT_U16:
	case DT_BF16: return "unsigned short";
	case DT_U8:
	case DT_U4:
	case DT_U2:
	case DT_BOOL: return "unsigned char";
	default: BUG("no C type for %s", dtype_name(t));
	}
}

const char *vtype(enum dtype t) { return t == DT_BF16 ? "float" : ctype(t); }

/* ---- indices ---- */

poly env_subst(struct emit *e, poly x) { return e->nenv ? poly_subst_many(e->p->P, x, e->nenv, e->env_v, e->env_by) : x; }

poly here(struct emit *e, poly x) { return env_subst(e, bind_poly(e->p, lnest(e->p, e->block), x)); }

static const char *atom_text(struct emit *e, uint32_t id)
{
	struct polys *P = e->p->P;
	struct poly_atom a = *poly_atom(P, id);
	int64_t lo, hi;

	switch (a.kind) {
	case POLY_VAR:
		if (e->asked && a.var < e->nasked)
			e->asked[a.var] = true;
		if (a.var >= e->var_text.n || !e->var_text.a[a.var])
			BUG("emit: variable %s is not in scope", sym_str(poly_var_name(P, a.var)));
		return e->var_text.a[a.var];
	case POLY_FLOOR:
		poly_range(P, a.a, &lo, &hi);
		if (lo < 0)
			return text(e, "floordiv(%s, %ld)", poly_text(e, a.a), (long)a.c);
		return text(e, poly_nterms(P, a.a) > 1 ? "((%s) / %ld)" : "(%s / %ld)", poly_text(e, a.a), (long)a.c);
	default: return text(e, "l%s(%s, %s)", a.kind == POLY_MIN ? "min" : "max", poly_text(e, a.a), poly_text(e, a.b));
	}
}

/* x as mod + rest, where x has a term -k*c*floor(y/c) and the terms of k*y: then k*(y % c) is shorter. */
static const char *mod_text(struct emit *e, poly x)
{
	struct polys *P = e->p->P;
	const uint32_t *atoms;
	int natoms, n = poly_nterms(P, x);
	int64_t lo, hi;

	for (int i = 0; i < n; i++) {
		int64_t coef = poly_term(P, x, i, &natoms, &atoms);
		if (natoms != 1 || poly_atom(P, atoms[0])->kind != POLY_FLOOR)
			continue;
		struct poly_atom a = *poly_atom(P, atoms[0]);
		if (coef >= 0 || coef % a.c)
			continue;
		int64_t k = -coef / a.c;
		poly mod = poly_sub(P, a.a, poly_mulc(P, poly_floordiv(P, a.a, a.c), a.c));
		poly rest = poly_sub(P, x, poly_mulc(P, mod, k));
		poly_range(P, a.a, &lo, &hi);
		if (lo < 0 || poly_nterms(P, rest) + 1 + poly_nterms(P, a.a) > n)
			continue;
		const char *s = text(e, poly_nterms(P, a.a) > 1 ? "(%s) %% %ld" : "%s %% %ld", poly_text(e, a.a), (long)a.c);
		if (k > 1)
			s = text(e, "%ld * (%s)", (long)k, s);
		if (poly_nterms(P, rest))
			s = text(e, "%s + %s", poly_text(e, rest), s);
		return s;
	}
	return NULL;
}

const char *poly_text(struct emit *e, poly x)
{
	struct polys *P = e->p->P;
	const uint32_t *atoms;
	int natoms, n;
	const char *s = "";

	if (x == POLY_UNKNOWN)
		BUG("emit: an index is unknown");
	n = poly_nterms(P, x);
	if (n > 2 && (s = mod_text(e, x)))
		return s;
	s = "";
	for (int i = 0; i < n; i++) {
		int64_t c = poly_term(P, x, i, &natoms, &atoms);
		uint64_t size = c < 0 ? -(uint64_t)c : (uint64_t)c;
		const char *sign = i ? c < 0 ? " - " : " + " : c < 0 ? "-" : "", *t = "";
		if (!natoms || size != 1)
			t = text(e, size > INT32_MAX ? "%luL" : "%lu", (unsigned long)size);
		for (int k = 0; k < natoms; k++) {
			const char *a = atom_text(e, atoms[k]);
			t = *t ? text(e, "%s * %s", t, a) : a;
			poly_term(P, x, i, &natoms, &atoms);
		}
		s = text(e, "%s%s%s", s, sign, t);
	}
	return n ? s : "0";
}

const char *cond_text(struct emit *e, poly x) { return text(e, "%s >= 0", poly_text(e, x)); }

/* ---- buffers ---- */

poly placed(struct emit *e, buf_id b, poly offset) { return e->start && e->start[b] ? poly_sub(e->p->P, offset, e->start[b]) : offset; }

poly read_offset(struct emit *e, ex_id ex)
{
	struct ex x = *lex(e->p, ex);
	poly index[LOOP_RANK_MAX];

	for (int i = 0; i < x.n; i++)
		index[i] = here(e, x.index[i]);
	if (x.dyn_dim >= 0) {
		int64_t n = lbuf(e->p, x.buf)->shape[x.dyn_dim];
		poly_var v = poly_var_new(e->p->P, 0, 0, n == POLY_INF ? n : n > 0 ? n - 1 : 0, 1);
		const char *value = scalar(e, x.a[0]), *name = text(e, "g%d", e->ntemp++);
		while (e->var_text.n <= v)
			vec_push(&e->var_text, NULL);
		e->var_text.a[v] = name;
		vec_push(&e->lines, text(e, "const long %s = at(%s, %s);", name, value, poly_text(e, buf_dim(e->p, x.buf, x.dyn_dim))));
		index[x.dyn_dim] = poly_of(e->p->P, v);
	}
	return placed(e, x.buf, env_subst(e, buf_offset(e->p, x.buf, index)));
}

poly write_offset(struct emit *e)
{
	const struct nest *n = lnest(e->p, e->block);
	const struct stage *s = lstage(e->p, n->stage);
	poly index[LOOP_RANK_MAX];

	for (int i = 0; i < s->nspatial; i++)
		index[i] = env_subst(e, n->bind[i]);
	return placed(e, s->out, env_subst(e, buf_offset(e->p, s->out, index)));
}

const char *element(struct emit *e, buf_id b, poly offset)
{
	int64_t at;

	if (lbuf(e->p, b)->scope != SCOPE_REGISTER)
		return text(e, "%s[%s]", e->buf_text[b], poly_text(e, offset));
	if (!poly_is_const(e->p->P, offset, &at))
		BUG("emit: register buffer %s at %s", sym_str(lbuf(e->p, b)->name), poly_text(e, offset));
	return reg_element(e, b, at);
}

const char *scalar_load(struct emit *e, buf_id b, poly offset)
{
	const char *s = element(e, b, offset);

	return lbuf(e->p, b)->dtype == DT_BF16 && lbuf(e->p, b)->scope != SCOPE_REGISTER ? text(e, "bf16_get(%s)", s) : s;
}

const char *bf16_element(struct emit *e, buf_id b, const char *x)
{
	return lbuf(e->p, b)->scope == SCOPE_REGISTER ? text(e, "bf16_get(bf16_put(%s))", bare(e, x)) : text(e, "bf16_put(%s)", bare(e, x));
}

/* ---- tables ---- */

ex_id looked_up_by(struct loop_prog *p, ex_id ex)
{
	ex_id code = lex(p, ex)->a[0];

	while (lex(p, code)->kind == EX_CAST && dtype_is_int(lex(p, code)->dtype) && dtype_size(lex(p, code)->dtype) > 1)
		code = lex(p, code)->a[0];
	return code;
}

bool emit_looks_up(struct loop_prog *p, ex_id ex)
{
	enum { CODES = 256 };
	const struct ex *x = lex(p, ex);
	const struct loop_buf *b = x->kind == EX_READ && x->dyn_dim >= 0 ? lbuf(p, x->buf) : NULL;
	enum dtype t = b ? lex(p, looked_up_by(p, ex))->dtype : DT_NONE;

	return b && (b->dtype == DT_U8 || b->dtype == DT_I8) && b->rank == 1 && b->shape[0] == CODES && !b->layout.n &&
	       b->scope != SCOPE_REGISTER && (t == DT_U8 || t == DT_I8);
}

const char *lookup_text(struct emit *e, ex_id ex, const char *code)
{
	return text(e, "%s[(unsigned char)%s]", e->buf_text[lex(e->p, ex)->buf], code);
}

/* ---- expressions ---- */

/* No wider than 32 bits if possible, so that what is computed with it wraps as the type does. */
static const char *int_text(struct emit *e, enum dtype t, int64_t c)
{
	bool narrow = c <= INT32_MAX && c >= -INT32_MAX;

	if (t == DT_U64 || t == DT_U32)
		return text(e, t == DT_U64 ? "%luUL" : "%luU", (unsigned long)c);
	if (c == INT64_MIN)
		return "(-9223372036854775807L - 1)";
	if (t == DT_I32 && c == INT32_MIN)
		return "(-2147483647 - 1)";
	return text(e, c < 0 ? narrow ? "(%ld)" : "(%ldL)" : narrow ? "%ld" : "%ldL", (long)c);
}

static const char *float_text(struct emit *e, enum dtype t, double c)
{
	char buf[40];

	snprintf(buf, sizeof buf, "%.*g", t == DT_F64 ? 17 : 9, t == DT_F64 ? c : (double)(float)c);
	if (!strpbrk(buf, ".e"))
		strcat(buf, ".0");
	return text(e, "%s%s%s%s", buf[0] == '-' ? "(" : "", buf, t == DT_F64 ? "" : "f", buf[0] == '-' ? ")" : "");
}

const char *const_text(struct emit *e, enum dtype t, double c, int64_t ic)
{
	if (t == DT_BOOL)
		return ic || c != 0 ? "1" : "0";
	if (!dtype_is_float(t))
		return number_mark(e, t, int_text(e, t, ic));
	if (isnan(c))
		return t == DT_F64 ? "__builtin_nan(\"\")" : "__builtin_nanf(\"\")";
	if (isinf(c))
		return text(e, "%s__builtin_inf%s()%s", c < 0 ? "(-" : "", t == DT_F64 ? "" : "f", c < 0 ? ")" : "");
	return number_mark(e, t, float_text(e, t, c));
}

/* a, of type `from`, rounded to a bfloat16, as a float. */
static const char *bf16_text(struct emit *e, enum dtype from, const char *a)
{
	if (from == DT_I64 || from == DT_U64)
		a = text(e, "odd_%s(%s)", dtype_name(from), a);
	if (from == DT_F64 || (dtype_is_int(from) && dtype_size(from) >= 4))
		a = text(e, "odd_f64(%s)", a);
	return text(e, "bf16_get(bf16_put(%s))", a);
}

const char *cast_text(struct emit *e, enum dtype to, enum dtype from, const char *a)
{
	if (to == from)
		return a;
	if (to == DT_BOOL)
		return text(e, "(%s != 0)", a);
	if (dtype_is_float(from) && dtype_is_int(to))
		return text(e, "whole_%s(%s)", dtype_name(to), a);
	if (to == DT_BF16)
		return bf16_text(e, from, a);
	return text(e, "(%s)%s", vtype(to), a);
}

/* A row's text with the operands put in. */
static const char *fill_row(struct emit *e, const char *row, enum dtype t, const char *a, const char *b, const char *c)
{
	const char *s = "", *q;

	while ((q = strchr(row, '%'))) {
		const char *by = q[1] == 'a' ? a : q[1] == 'b' ? b : q[1] == 'c' ? c : q[1] == 't' ? dtype_name(t) : t == DT_F64 ? "" : "f";
		s = text(e, "%s%.*s%s", s, (int)(q - row), row, by);
		row = q + 2;
	}
	return text(e, "%s%s", s, row);
}

const char *scalar_call(struct emit *e, int fn, enum dtype t, const char *a, const char *b, const char *c)
{
	const char *row = math_row(fn)->scalar;
	bool is_int = dtype_is_int(t) || t == DT_BOOL;

	if (is_int && (fn == FN_FLOOR || fn == FN_CEIL || fn == FN_ROUND))
		return a;
	if (t == DT_BOOL && (fn == FN_MAX || fn == FN_MIN))
		return text(e, fn == FN_MAX ? "(%s | %s)" : "(%s & %s)", a, b);
	if (is_int && fn == FN_POW)
		return text(e, "(%s)pow_i64(%s, %s)", ctype(t), a, b);
	if (is_int && strstr(row, "%f")) {
		if (b && *b)
			b = text(e, "(double)%s", b);
		return text(e, "whole_%s(%s)", dtype_name(t), fill_row(e, row, DT_F64, text(e, "(double)%s", a), b, c));
	}
	row = fill_row(e, row, t, a, b, c);
	if (fn < FN_EQ && t == DT_BF16)
		return bf16_text(e, DT_F32, row);
	if ((fn < FN_EQ && dtype_size(t) < 4) || (fn > FN_NIBBLE && is_int))
		row = text(e, "(%s)%s", vtype(t), row);
	return row;
}

const char *scalar_read(struct emit *e, ex_id ex, poly at)
{
	const char *s = scalar_load(e, lex(e->p, ex)->buf, at);

	return lex(e->p, ex)->dyn_dim < 0 ? load_mark(e, lex(e->p, ex)->buf, at, 1, 0, vtype(lex(e->p, ex)->dtype), s) : s;
}

static const char *scalar_arg(struct emit *e, ex_id ex, void *arg) { return scalar(e, ex); }

static const char *scalar_guard(struct emit *e, ex_id ex)
{
	struct ex x = *lex(e->p, ex);
	const char *cond = "";

	for (int i = 0; i < x.n; i++) {
		poly c = here(e, x.index[i]);
		enum guard_state s = guard_state(e, c);
		if (s == GUARD_NEVER)
			return scalar(e, x.a[1]);
		if (s == GUARD_ASKED)
			cond = text(e, "%s%s%s", cond, *cond ? " && " : "", cond_text(e, c));
	}
	if (!*cond)
		return scalar(e, x.a[0]);
	e->guarded++;
	const char *yes = scoped(e, x.a[0], scalar_arg, NULL), *no = scoped(e, x.a[1], scalar_arg, NULL);
	e->guarded--;
	return text(e, "(%s ? %s : %s)", cond, yes, no);
}

const char *scalar(struct emit *e, ex_id ex)
{
	struct ex x = *lex(e->p, ex);
	const struct named_ex *named = named_find(e, ex);
	const char *a[3] = {"", "", ""}, *s = NULL;

	if (named)
		return named->text;
	switch (x.kind) {
	case EX_CONST: return const_text(e, x.dtype, x.c, x.ic);
	case EX_INDEX: return text(e, "(%s)(%s)", vtype(x.dtype), poly_text(e, here(e, x.index[0])));
	case EX_READ:
		s = emit_looks_up(e->p, ex) ? lookup_text(e, ex, scalar(e, looked_up_by(e->p, ex)))
					    : scalar_read(e, ex, read_offset(e, ex));
		break;
	case EX_CAST: s = cast_text(e, x.dtype, lex(e->p, x.a[0])->dtype, scalar(e, x.a[0])); break;
	case EX_GUARD: s = scalar_guard(e, ex); break;
	case EX_CALL:
		for (int i = 0; i < math_row(x.fn)->arity; i++)
			a[i] = scalar(e, x.a[i]);
		s = scalar_call(e, x.fn, lex(e->p, x.a[x.fn == FN_SELECT])->dtype, a[0], a[1], a[2]);
		break;
	}
	return name_shared(e, ex, 0, vtype(x.dtype), s);
}

/* ---- temporaries ---- */

static void count_uses(struct emit *e, ex_id ex)
{
	while (e->uses.n <= ex)
		vec_push(&e->uses, 0);
	if (e->uses.a[ex]++)
		return;
	for (int i = 0; i < 3; i++)
		if (lex(e->p, ex)->a[i])
			count_uses(e, lex(e->p, ex)->a[i]);
}

static void forget_uses(struct emit *e, ex_id ex)
{
	if (!e->uses.a[ex])
		return;
	e->uses.a[ex] = 0;
	for (int i = 0; i < 3; i++)
		if (lex(e->p, ex)->a[i])
			forget_uses(e, lex(e->p, ex)->a[i]);
}

void body_begin(struct emit *e)
{
	e->lines.n = e->named.n = 0;
	e->ntemp = 0;
	if (lnest(e->p, e->block)->phase == BLOCK_INIT)
		return;
	ex_id body = lstage(e->p, lnest(e->p, e->block)->stage)->body;
	if (body < e->uses.n)
		forget_uses(e, body);
	count_uses(e, body);
}

const struct named_ex *named_find(struct emit *e, ex_id ex)
{
	for (size_t i = 0; i < e->named.n; i++)
		if (e->named.a[i].ex == ex)
			return &e->named.a[i];
	return NULL;
}

const char *name_shared(struct emit *e, ex_id ex, int kind, const char *type, const char *value)
{
	if (e->uses.a[ex] < 2)
		return value;
	const char *name = text(e, "t%d", e->ntemp++);
	vec_push(&e->lines, text(e, "const %s %s = %s;", type, name, bare(e, value)));
	vec_push(&e->named, (struct named_ex){ex, name, kind});
	return name;
}

const char *scoped(struct emit *e, ex_id ex, const char *(*f)(struct emit *e, ex_id ex, void *arg), void *arg)
{
	size_t lines = e->lines.n, named = e->named.n;
	const char *s = f(e, ex, arg);

	if (s && e->lines.n > lines) {
		const char *all = "";
		for (size_t i = lines; i < e->lines.n; i++)
			all = text(e, "%s%s ", all, e->lines.a[i]);
		s = text(e, "({ %s%s; })", all, s);
	}
	e->lines.n = lines;
	e->named.n = named;
	return s;
}

/* ---- the statement ---- */

static const char *identity_text(struct emit *e, enum dtype t, enum combiner c)
{
	struct ex x = identity_const(c, t);

	return const_text(e, t, x.c, x.ic);
}

/* The body converted to type t. A bfloat16 is rounded when it is stored. */
static const char *body_text(struct emit *e, ex_id body, enum dtype t)
{
	if (t == DT_BF16 && lex(e->p, body)->kind == EX_CAST && lex(e->p, body)->dtype == t)
		body = lex(e->p, body)->a[0];
	enum dtype from = lex(e->p, body)->dtype;
	return t == DT_BF16 && from == DT_F32 ? scalar(e, body) : cast_text(e, t, from, scalar(e, body));
}

void scalar_block(struct emit *e)
{
	const struct nest *n = lnest(e->p, e->block);
	const struct stage *s = lstage(e->p, n->stage);
	enum dtype t = lbuf(e->p, s->out)->dtype;
	enum combiner comb = s->comb;
	bool init = n->phase == BLOCK_INIT, bf16 = t == DT_BF16;
	buf_id out = s->out;
	const char *value, *op = NULL, *to;

	body_begin(e);
	value = init ? identity_text(e, t, comb) : body_text(e, s->body, t);
	to = element(e, out, write_offset(e));
	if (!init && comb != COMB_NONE) {
		const char *old = scalar_load(e, out, write_offset(e));
		if (!bf16 && t != DT_BOOL && !(dtype_is_int(t) && dtype_size(t) < 4)) /* in a register it may be a lane of int */
			op = comb == COMB_SUM ? "+=" : comb == COMB_PROD ? "*=" : NULL;
		if (!op)
			value = scalar_call(e,
					    comb == COMB_SUM    ? FN_ADD
					    : comb == COMB_PROD ? FN_MUL
					    : comb == COMB_MAX  ? FN_MAX
								: FN_MIN,
					    t, old, value, "");
	}
	if (bf16)
		value = bf16_element(e, out, value);
	body_lines(e);
	line(e, "%s %s %s;", to, op ? op : "=", bare(e, value));
}

const char *bare(struct emit *e, const char *s)
{
	size_t n = strlen(s);
	int depth = 0;

	if (n < 2 || s[0] != '(' || s[n - 1] != ')' || s[1] == '{')
		return s;
	for (size_t i = 0; i + 1 < n; i++) {
		depth += (s[i] == '(') - (s[i] == ')');
		if (!depth)
			return s;
	}
	return text(e, "%.*s", (int)n - 2, s + 1);
}

void body_lines(struct emit *e)
{
	for (size_t i = 0; i < e->lines.n; i++)
		line(e, "%s", e->lines.a[i]);
}
