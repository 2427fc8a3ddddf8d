/* C text with sections, of which a target may have its own. */
#include "target/backend.h"
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/msg.h"
#include "target/generic/generic.h"

static const struct text_section *find_text(const struct text_section *s, const char *name, size_t n)
{
	for (; s && s->name; s++)
		if (strlen(s->name) == n && !strncmp(s->name, name, n))
			return s;
	return NULL;
}

static const struct text_section *own_text(const struct target *t, const char *name, size_t n)
{
	const struct text_section *s = find_text(backend_of(t)->text, name, n);

	s = s ? s : find_text(backend_of(t)->typed, name, n);
	return s || t->vector_bytes != sizeof(float) ? s : find_text(generic_one_lane, name, n);
}

static const char *next_line(const char *s)
{
	s += strcspn(s, "\n");
	return *s ? s + 1 : s;
}

/* To the line that ends the section, or to the end; what follows it. f NULL: nothing is written. */
static const char *write_section(FILE *f, const struct target *t, const char *s)
{
	while (*s && strncmp(s, "@}", 2)) {
		const char *at = strchr(s, '@');
		if (!at)
			at = s + strlen(s);
		if (f)
			fwrite(s, 1, (size_t)(at - s), f);
		s = at;
		if (!strncmp(s, "@#", 2)) {
			if (f)
				fprintf(f, "%d", t->vector_bytes / 4);
			s += 2;
		} else if (!strncmp(s, "@{", 2)) {
			const struct text_section *own = own_text(t, s + 2, strcspn(s + 2, "\n"));
			if (f && own)
				fputs(own->text, f);
			s = write_section(own && !own->in_front ? NULL : f, t, next_line(s));
			if (f && own && own->in_front)
				fputs("#endif\n", f);
		} else if (*s && strncmp(s, "@}", 2)) { /* another's */
			if (f)
				fputc('@', f);
			s++;
		}
	}
	return next_line(s);
}

void target_text(FILE *f, const struct target *t, const char *text)
{
	if (*write_section(f, t, text))
		BUG("text with a section's end too many: %.60s", text);
}

void target_prelude(FILE *f, const struct target *t) { target_text(f, t, generic_prelude); }

void target_ints(FILE *f, const struct target *t) { target_text(f, t, generic_ints); }

void target_memory(FILE *f, const struct target *t, const char *type, const char *ctype)
{
	char *text = xprintf(generic_memory, type, ctype);

	target_text(f, t, text);
	free(text);
}

void target_f16(FILE *f, const struct target *t) { target_text(f, t, generic_f16); }

void target_bf16(FILE *f, const struct target *t) { target_text(f, t, generic_bf16); }

bool target_widens_f16(const struct target *t)
{
	unsigned all = backend_of(t)->f16;

	return all && (t->features & all) == all;
}
