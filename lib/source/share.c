/* Kernels that targets of one library share: the same text, compiled once for the one with fewer features. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "source/source_impl.h"
#include "common/arena.h"
#include "common/intern.h"
#include "common/msg.h"
#include "common/textfile.h"
#include "emit/emit.h"
#include "target/backend.h"

/* Two functions have the same text but for their names. */
static bool same_text(const struct function *x, const struct function *y)
{
	const char *a = x->text, *b = y->text;
	size_t n = strlen(x->name), k = strlen(y->name);

	while (*a && *b) {
		bool named = !strncmp(a, x->name, n) && !strncmp(b, y->name, k);
		if (!named && *a != *b)
			return false;
		a += named ? n : 1;
		b += named ? k : 1;
	}
	return *a == *b;
}

static struct loop_prog *prog_of(const struct emission *e, size_t function)
{
	for (uint32_t k = 0; k < e->M->kernels.n; k++)
		if (e->functions.of_kernel[k] == function)
			return e->M->kernels.a[k].prog;
	BUG("function %zu is no kernel's", function);
}

/* The function with all that it calls. */
static char *whole_text(const struct emission *e, size_t function)
{
	struct loop_prog *p = prog_of(e, function);
	const char *own = e->functions.a.a[function].text;
	VEC(const char *) texts = {0};
	char *text;
	FILE *f = textfile_open(&text, NULL);

	vec_push(&texts, own);
	for (size_t i = 0; i < e->functions.outlines.a.n; i++)
		if (strstr(own, e->functions.outlines.a.a[i].name))
			vec_push(&texts, e->functions.outlines.a.a[i].text);
	emit_prelude(f, &p, 1, texts.a, texts.n);
	for (size_t i = 0; i < texts.n; i++)
		fputs(texts.a[i], f);
	textfile_close(f);
	vec_free(&texts);
	return text;
}

/* Does the compiler make other code of the text where a CPU has these features, too? Where it asks for one, by a macro that has the name in
 * capitals, and where it computes in halves. */
static bool depends_on(const char *text, const struct backend *of, unsigned features)
{
	static const char *const halves[] = {"_Float16", "__fp16", "__bf16"};
	bool found = false;

	for (size_t i = 0; features && i < sizeof halves / sizeof *halves; i++)
		found = found || strstr(text, halves[i]);
	for (int i = 0; of->feature && of->feature[i].name; i++)
		for (int k = 0; features >> i & 1 && of->feature[i].takes[k]; k++) {
			char *name = xstrdup(of->feature[i].takes[k]);
			for (char *p = name; *p; p++)
				*p = (char)toupper((unsigned char)*p);
			found = found || strstr(text, name);
			free(name);
		}
	return found;
}

/* An index out of range and a team are each target's own. */
static bool is_alone(const struct emission *e, size_t function)
{
	return emit_checks_indices(prog_of(e, function)) || emit_starts_team(prog_of(e, function));
}

/* May x run what was compiled for y? */
static bool runs_code_of(const struct target *x, const struct target *y)
{
	return backend_of(x) == backend_of(y) && x->vector_bytes == y->vector_bytes && !(y->features & ~x->features);
}

/* The function of e is one of `of`'s, if there is such a one. */
static bool find(struct emission *e, size_t function, struct emission *of)
{
	for (size_t i = 0; i < of->functions.a.n; i++) {
		if (of->shared[i].elsewhere || !same_text(&of->functions.a.a[i], &e->functions.a.a[function]))
			continue;
		char *text = whole_text(e, function);
		bool other = depends_on(text, backend_of(e->target), e->target->features & ~of->target->features);
		free(text);
		if (other)
			return false;
		of->shared[i].name = sym_str(intern_printf("shared_%d_%s", of->number, of->functions.a.a[i].name));
		e->shared[function] = (struct shared_function){of->shared[i].name, true, of->number};
		return true;
	}
	return false;
}

void emissions_share(struct emission *e, int n)
{
	for (int i = n; i-- > 0;) {
		e[i].shared = xcalloc(e[i].functions.a.n + 1, sizeof *e[i].shared);
		for (size_t k = 0; k < e[i].functions.a.n; k++) {
			bool found = is_alone(&e[i], k);
			for (int j = n - 1; j > i && !found; j--)
				found = runs_code_of(e[i].target, e[j].target) && find(&e[i], k, &e[j]);
		}
	}
}

bool outline_wanted(const struct emission *e, size_t outline)
{
	const char *name = e->functions.outlines.a.a[outline].name;

	for (size_t i = 0; e->shared && i < e->functions.a.n; i++)
		if (!e->shared[i].elsewhere && strstr(e->functions.a.a[i].text, name))
			return true;
	return !e->shared;
}
