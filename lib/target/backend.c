/* The backends: the folders of lib/target. */
#include "target/backend.h"
#include <string.h>

#define BACKEND(name) extern const struct backend backend_##name;
#include "lib/target/backends.inc"
#undef BACKEND

const struct backend *const backends[] = {
#define BACKEND(name) &backend_##name,
#include "lib/target/backends.inc"
#undef BACKEND
	NULL,
};

const struct backend *backend_here(void)
{
	static const struct backend *here;
	struct target t;

	for (const struct backend *const *b = backends; *b && !here; b++)
		if ((*b)->detect && (*b)->detect(&t))
			here = *b;
	if (!here)
		here = &backend_generic;
	return here;
}

const struct backend *backend_of(const struct target *t) { return t && t->of ? t->of : backend_here(); }

const struct elf_machine *backend_elf(unsigned machine)
{
	for (const struct backend *const *b = backends; *b; b++)
		for (const struct elf_machine *m = (*b)->elf; m && m->machine; m++)
			if (m->machine == machine)
				return m;
	return NULL;
}

const struct backend *backend_find(const char *name, size_t n)
{
	for (const struct backend *const *b = backends; *b; b++)
		if (strlen((*b)->name) == n && !strncmp((*b)->name, name, n))
			return *b;
	return NULL;
}
