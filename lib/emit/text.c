/* Text of C: lines at a depth, and names that nothing else in scope has. */
#include "emit/emit_impl.h"
#include "common/msg.h"
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

void tmp_clear(struct emit *e)
{
	arena_release(&e->tmp);
	e->tmp = (struct arena){0};
}

/* ---- names ---- */

/* Words of C, libm or the prelude that a buffer or loop may have as its name. */
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

void var_open(struct emit *e, poly_var v, sym name)
{
	if (e->nopen == NEST_DEPTH_MAX)
		BUG("emit: nest too deep");
	e->loops++;
	e->open_var[e->nopen] = v;
	e->open[e->nopen++] = name;
	var_set(e, v, sym_str(name));
}

void var_close(struct emit *e, poly_var v)
{
	e->loops++;
	e->nopen--;
	var_set(e, v, NULL);
}

void env_push(struct emit *e, poly_var v, poly by)
{
	if (e->nenv == NEST_DEPTH_MAX)
		BUG("emit: nest too deep");
	e->env_v[e->nenv] = v;
	e->env_by[e->nenv++] = by;
}
