/* The kernels, each in its part of the C file. */
#include <stdlib.h>
#include <string.h>
#include "source/source_impl.h"
#include "common/msg.h"
#include "emit/emit.h"
#include "loop/math.h"

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

/* The name of the function of libm that computes fn of one float, if the vectors' own function does not call it, too; else NULL. */
static const char *libm_name(struct arena *a, enum math_fn fn)
{
	const struct math_row *r = math_row(fn);
	size_t n = strcspn(r->scalar, "%");

	if (!r->helper || strcmp(r->scalar + n, "%f(%a)"))
		return NULL;
	const char *name = arena_printf(a, "%.*sf", (int)n, r->scalar), *call = arena_printf(a, "%s(", name);
	return strstr(r->helper, call) ? NULL : name;
}

/* Without libm, one float is a lane of a vector. With f: the macros that say so, for those functions that the texts call. Without: a text that
 * calls the vectors' functions in their place. */
static const char *put_lanes_of_libm(struct emission *e, FILE *f, const char *const *text, size_t n)
{
	struct arena *a = &e->M->m->arena;
	const char *calls = "";

	for (enum math_fn fn = 1; fn < FN_COUNT; fn++) {
		const char *name = libm_name(a, fn), *call = name ? arena_printf(a, "%s(", name) : NULL;
		bool called = false;
		for (size_t i = 0; i < n && name; i++)
			called = called || strstr(text[i], call);
		if (!called)
			continue;
		const char *vector = arena_printf(a, "%.*s", (int)strcspn(math_row(fn)->vector, "("), math_row(fn)->vector);
		calls = arena_printf(a, "%s%s(x);\n", calls, vector);
		if (f)
			fprintf(f, "#define %s(x) (%s(vset(x))[0])\n", name, vector);
	}
	return calls;
}

/* What kernels call, for all parts. */
static void put_kernel_prelude(struct emission *e, FILE *f)
{
	size_t nk = e->M->kernels.n;
	struct loop_prog **p = xcalloc(nk + 1, sizeof *p);
	VEC(const char *) text = {0};
	const char *calls = "";

	for (size_t k = 0; k < nk; k++)
		p[k] = e->M->kernels.a[k].prog;
	for (size_t i = 0; i < e->functions.a.n; i++)
		if (!is_elsewhere(e, i))
			vec_push(&text, e->functions.a.a[i].text);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++)
		if (outline_wanted(e, i))
			vec_push(&text, e->functions.outlines.a.a[i].text);
	const char *kept = e->bare ? "" : "__thread ";
	fprintf(f,
		"/* An index that is data was out of range. */\n#ifdef PART\nextern KERNEL %sint bad_index;\n#endif\n"
		"#if IN_PART(0)\nKERNEL %sint bad_index;\n#endif\n#define BAD_INDEX bad_index\n\n",
		kept, kept);
	if (e->bare)
		calls = put_lanes_of_libm(e, NULL, text.a, text.n);
	vec_push(&text, calls);
	emit_prelude(f, p, (int)nk, text.a, text.n);
	if (e->bare)
		put_lanes_of_libm(e, f, text.a, text.n);
	if (e->functions.threads > 1)
		emit_team_prelude(f, "KERNEL", e->functions.few);
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
