/* Numbers of a body in a kernel's form (emit.h). While the form is written, a mark stands for each: FORM_NUMBER, a letter for its type,
 * the literal, and a last character. Functions that a kernel calls (teams, outlined nests) take their numbers as parameters, and the
 * marks stand where they are called; the marks that are left in the end are the numbers of the kernel. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/textfile.h"
#include "emit/emit_impl.h"

static const char mark_end = 4;

/* The type of a parameter for numbers of type t; DT_NONE: they stay in the text. */
static enum dtype param_type(enum dtype t)
{
	if (dtype_is_int(t))
		return dtype_size(t) < 4 ? DT_I32 : t;
	return t == DT_F32 || t == DT_F64 ? t : DT_NONE;
}

const char *number_mark(struct emit *e, enum dtype t, const char *literal)
{
	enum dtype type = param_type(t);

	return e->form && type ? text(e, "%c%c%s%c", FORM_NUMBER, 'A' + (int)type, literal, mark_end) : literal;
}

/* The number whose mark is at s, in memory of its own; *end: after the mark. */
static struct number number_at(const char *s, const char **end)
{
	*end = strchr(s, mark_end) + 1;
	return (struct number){(enum dtype)(s[1] - 'A'), xprintf("%.*s", (int)(*end - 3 - s), s + 2)};
}

static size_t number_add_new(struct numbers *n, struct number x)
{
	for (size_t i = 0; i < n->a.n; i++)
		if (n->a.a[i].type == x.type && !strcmp(n->a.a[i].text, x.text)) {
			free(x.text);
			return i;
		}
	vec_push(&n->a, x);
	return n->a.n - 1;
}

char *numbers_lift(char *body, int first, struct numbers *n)
{
	char *inner, *whole;
	FILE *f = textfile_open(&inner, NULL);
	const char *s = body, *at, *end;

	for (; (at = strchr(s, FORM_NUMBER)); s = end)
		fprintf(f, "%.*sn%zu", (int)(at - s), s, (size_t)first + number_add_new(n, number_at(at, &end)));
	fputs(s, f);
	textfile_close(f);
	free(body);
	f = textfile_open(&whole, NULL);
	for (s = inner; (at = strchr(s, FORM_PARAMS)); s = at + 1) {
		fprintf(f, "%.*s", (int)(at - s), s);
		for (size_t i = 0; i < n->a.n; i++)
			fprintf(f, ", %s n%zu", ctype(n->a.a[i].type), (size_t)first + i);
	}
	fputs(s, f);
	textfile_close(f);
	free(inner);
	return whole;
}

const char *number_type_name(enum dtype t) { return ctype(t); }

void numbers_free(struct numbers *n)
{
	for (size_t i = 0; i < n->a.n; i++)
		free(n->a.a[i].text);
	vec_free(&n->a);
}

void emit_kernel_form(FILE *f, struct loop_prog *p, const char *name, struct outlines *outlines, struct numbers *n)
{
	char *body;
	FILE *g = textfile_open(&body, NULL);

	emit_function(g, p, name, outlines, true);
	textfile_close(g);
	const char *s = body, *at, *end;
	for (; (at = strchr(s, FORM_NUMBER)); s = end) {
		fprintf(f, "%.*s", (int)(at + 1 - s), s);
		vec_push(&n->a, number_at(at, &end));
	}
	fputs(s, f);
	free(body);
}

void emit_filled(FILE *f, const char *form, const char *const *number, const char *params)
{
	for (; *form; form++)
		if (*form == FORM_NUMBER)
			fputs(*number++, f);
		else if (*form == FORM_PARAMS)
			fputs(params, f);
		else
			fputc(*form, f);
}
