/* The kernels, each in its part of the C file. */
#include <stdlib.h>
#include <string.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "emit/emit.h"

/* The function's text from its type on, behind "static ". Comments and attributes may stand before it. */
enum { STATIC = 7 };
static const char *function_head(const char *name, const char *text)
{
	char *start = xprintf("static void %s(", name);
	const char *head = strstr(text, start);

	if (!head)
		BUG("the text of %s holds no such function", name);
	free(start);
	return head + STATIC;
}

/* The text, with its linkage in place of static. */
static void put_function(FILE *f, const char *linkage, const char *name, const char *text)
{
	const char *head = function_head(name, text);

	fprintf(f, "%.*s%s %s#endif\n", (int)(head - text) - STATIC, text, linkage, head);
}

static void put_declaration(FILE *f, const char *linkage, const char *name, const char *text)
{
	const char *head = function_head(name, text);

	fprintf(f, "%s %.*s;\n", linkage, (int)strcspn(head, "\n"), head);
}

static bool is_elsewhere(const struct emission *e, size_t function) { return e->shared && e->shared[function].elsewhere; }

static const char *linkage_of(const struct emission *e, size_t function)
{
	return e->shared && e->shared[function].name ? "SHARED" : "KERNEL";
}

/* What kernels call, for all parts. */
static void put_kernel_prelude(struct emission *e, FILE *f)
{
	size_t nk = e->M->kernels.n;
	struct loop_prog **p = xcalloc(nk + 1, sizeof *p);
	VEC(const char *) text = {0};

	for (size_t k = 0; k < nk; k++)
		p[k] = e->M->kernels.a[k].prog;
	for (size_t i = 0; i < e->functions.a.n; i++)
		if (!is_elsewhere(e, i))
			vec_push(&text, e->functions.a.a[i].text);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++)
		if (outline_wanted(e, i))
			vec_push(&text, e->functions.outlines.a.a[i].text);
	fprintf(f,
		"/* An index that is data was out of range. */\n#ifdef PART\nextern KERNEL __thread int bad_index;\n#endif\n"
		"#if IN_PART(0)\nKERNEL __thread int bad_index;\n#endif\n#define BAD_INDEX bad_index\n\n");
	emit_prelude(f, p, (int)nk, text.a, text.n);
	if (e->functions.threads > 1)
		emit_team_prelude(f, "KERNEL");
	fprintf(f, "\n");
	vec_free(&text);
	free(p);
}

void put_kernels(struct emission *e, FILE *f)
{
	const struct functions *all = &e->functions;

	put_kernel_prelude(e, f);
	for (size_t i = 0; i < all->a.n; i++)
		put_declaration(f, linkage_of(e, i), all->a.a[i].name, all->a.a[i].text);
	for (size_t i = 0; i < all->outlines.a.n; i++)
		if (outline_wanted(e, i))
			put_declaration(f, "KERNEL", all->outlines.a.a[i].name, all->outlines.a.a[i].text);
	for (size_t i = 0; i < all->outlines.a.n; i++) {
		if (!outline_wanted(e, i))
			continue;
		fprintf(f, "\n#if IN_PART(%d)\n", all->outline_part.a[i]);
		put_function(f, "KERNEL", all->outlines.a.a[i].name, all->outlines.a.a[i].text);
	}
	for (size_t i = 0; i < all->a.n; i++) {
		const struct function *x = &all->a.a[i];
		if (is_elsewhere(e, i))
			continue;
		fprintf(f, "\n#if IN_PART(%d)\n/* %s: ", x->part, x->name);
		put_comment(f, call_name(e, x->first));
		fprintf(f, "%s */\n", x->ncalls > 1 ? " and others" : "");
		put_function(f, linkage_of(e, i), x->name, x->text);
	}
}
