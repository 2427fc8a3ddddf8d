/* Where buffers are declared: parameters, the workspace, and the bodies of loops. */
#include "emit/emit_impl.h"

const char *size_text(struct emit *e, poly size, int64_t extent)
{
	if (size == POLY_UNKNOWN)
		return text(e, "%ld", (long)extent);
	return text(e, poly_is_var(e->p->P, size) ? "%s" : "(%s)", poly_str(e->p->P, size, &e->tmp));
}

const char *dims_text(struct emit *e, const struct loop_buf *b)
{
	const char *s = dtype_name(b->dtype);

	for (int d = 0; d < b->rank; d++)
		s = text(e, "%s%s%s", s, d ? "x" : " ", size_text(e, b->size[d], b->extent[d]));
	if (b->layout.n)
		s = text(e, "%s in order %s", s, layout_str(&b->layout, b->rank, &e->tmp));
	return s;
}

void name_buffers(struct emit *e)
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

const char *params(struct emit *e, enum scope s)
{
	const char *all = "";

	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].scope == s)
			all = text(e, "%s%s%s *restrict %s, ", all, s == SCOPE_OUT ? "" : "const ", ctype(e->p->bufs.a[b].dtype),
				   e->buf_text[b]);
	return all;
}

bool has_locals(struct emit *e, nest_id n)
{
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].alloc == n && (e->p->bufs.a[b].scope == SCOPE_STACK || e->p->bufs.a[b].scope == SCOPE_REGISTER))
			return true;
	return false;
}

bool is_home(struct emit *e, nest_id n)
{
	for (size_t b = 1; b < e->p->bufs.n; b++)
		if (e->p->bufs.a[b].alloc == n && e->p->bufs.a[b].scope >= SCOPE_SCRATCH)
			return true;
	return false;
}

void declare_locals(struct emit *e, nest_id n)
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

void emit_scratch(struct emit *e, buf_id id, const char *behind)
{
	const struct loop_buf *b = lbuf(e->p, id);

	const char *at = b->start == POLY_UNKNOWN ? text(e, "%ld", (long)b->offset) : poly_text(e, b->start);
	line(e, "%s *%s = (%s *)(ws + %s%s); /* %s */", ctype(b->dtype), e->buf_text[id], ctype(b->dtype), at, behind, dims_text(e, b));
}
