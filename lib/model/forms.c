/* Kernels by form. A number that is the same in all kernels of a form stays in the text of their function; numbers that are the same in
 * each kernel are one parameter. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "common/msg.h"
#include "common/textfile.h"
#include "model/forms.h"

struct form {
	struct digest digest; /* of its text with name "@" */
	VEC(uint32_t) kernel;
};

struct forms {
	struct model *M;
	struct functions *f;
	struct numbers *numbers; /* of each kernel */
	VEC(struct form) a;
};

static struct loop_prog *first_of(const struct forms *s, const struct form *x) { return s->M->kernels.a[x->kernel.a[0]].prog; }

/* n NULL: the kernel's own text. */
static char *text_of(struct loop_prog *p, const char *name, struct outlines *o, struct numbers *n)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	if (n)
		emit_kernel_form(f, p, name, o, n);
	else
		emit_kernel_with(f, p, name, o);
	textfile_close(f);
	return text;
}

static void find_form(struct forms *s, uint32_t kernel)
{
	struct outlines o = {0};
	char *text = text_of(s->M->kernels.a[kernel].prog, "@", &o, &s->numbers[kernel]);
	struct digest d = digest_bytes(text, strlen(text));
	uint32_t i = 0;

	free(text);
	outlines_free(&o);
	while (i < s->a.n && !digest_eq(s->a.a[i].digest, d))
		i++;
	if (i == s->a.n)
		vec_push(&s->a, (struct form){.digest = d});
	vec_push(&s->a.a[i].kernel, kernel);
	s->f->of_kernel[kernel] = i;
}

static const char *number(const struct forms *s, const struct form *x, size_t kernel, size_t i)
{
	return s->numbers[x->kernel.a[kernel]].a.a[i].text;
}

/* Number i in each kernel of the form, with its type. *varies: not the same in all. Free it. */
static char *column(const struct forms *s, const struct form *x, size_t i, bool *varies)
{
	char *text;
	FILE *f = textfile_open(&text, NULL);

	*varies = false;
	fprintf(f, "%s", dtype_name(s->numbers[x->kernel.a[0]].a.a[i].type));
	for (size_t k = 0; k < x->kernel.n; k++) {
		*varies |= strcmp(number(s, x, 0, i), number(s, x, k, i)) != 0;
		fprintf(f, " %s", number(s, x, k, i));
	}
	textfile_close(f);
	return text;
}

/* Parameters of a form's function: each the number that stands at `at` of the form, and at others with the same column. */
struct form_params {
	VEC(char *) column;
	VEC(size_t) at;
	VEC(const char *) number; /* text of every number of the form: "n0", or the literal */
	VEC(char *) name;
};

static const char *param_name(struct form_params *p, char *column, size_t i)
{
	size_t k = 0;

	while (k < p->column.n && strcmp(p->column.a[k], column))
		k++;
	if (k == p->column.n) {
		vec_push(&p->column, xstrdup(column));
		vec_push(&p->at, i);
		vec_push(&p->name, xprintf("n%zu", k));
	}
	return p->name.a[k];
}

static void find_params(const struct forms *s, const struct form *x, struct form_params *p)
{
	for (size_t i = 0; i < s->numbers[x->kernel.a[0]].a.n; i++) {
		bool varies;
		char *c = column(s, x, i, &varies);
		vec_push(&p->number, varies ? param_name(p, c, i) : number(s, x, 0, i));
		free(c);
	}
}

static void params_free(struct form_params *p)
{
	for (size_t k = 0; k < p->column.n; k++) {
		free(p->column.a[k]);
		free(p->name.a[k]);
	}
	vec_free(&p->column);
	vec_free(&p->at);
	vec_free(&p->number);
	vec_free(&p->name);
}

/* The text of the function of a form whose kernels differ. */
static char *shared_text(const struct forms *s, const struct form *x, const char *name, const struct form_params *p)
{
	struct numbers n = {0};
	char *form = text_of(first_of(s, x), name, &s->f->outlines, &n), *text, *head;
	FILE *f = textfile_open(&head, NULL);

	for (size_t k = 0; k < p->at.n; k++)
		fprintf(f, ", %s %s", number_type_name(n.a.a[p->at.a[k]].type), p->name.a[k]);
	textfile_close(f);
	f = textfile_open(&text, NULL);
	emit_filled(f, form, p->number.a, head);
	textfile_close(f);
	free(head);
	free(form);
	numbers_free(&n);
	return text;
}

static void add_function(struct forms *s, const struct form *x)
{
	struct functions *f = s->f;
	struct form_params p = {0};
	char *name = xprintf("k%02zu", f->a.n);

	find_params(s, x, &p);
	char *text = p.at.n ? shared_text(s, x, name, &p) : text_of(first_of(s, x), name, &f->outlines, NULL);
	vec_push(&f->a, (struct function){.text = text, .name = name});
	for (size_t k = 0; k < x->kernel.n; k++) {
		char **all = &f->numbers[x->kernel.a[k]];
		FILE *to = textfile_open(all, NULL);
		for (size_t i = 0; i < p.at.n; i++)
			fprintf(to, ", %s", number(s, x, k, p.at.a[i]));
		textfile_close(to);
	}
	params_free(&p);
}

void forms_make(struct functions *f, struct model *M)
{
	size_t nk = M->kernels.n;
	struct forms s = {.M = M, .f = f, .numbers = xcalloc(nk + 1, sizeof *s.numbers)};

	f->of_kernel = xcalloc(nk + 1, sizeof *f->of_kernel);
	f->numbers = xcalloc(nk + 1, sizeof *f->numbers);
	for (uint32_t k = 0; k < nk; k++)
		find_form(&s, k);
	for (size_t i = 0; i < s.a.n; i++)
		add_function(&s, &s.a.a[i]);
	for (size_t k = 0; k < nk; k++)
		numbers_free(&s.numbers[k]);
	for (size_t i = 0; i < s.a.n; i++)
		vec_free(&s.a.a[i].kernel);
	vec_free(&s.a);
	free(s.numbers);
}
