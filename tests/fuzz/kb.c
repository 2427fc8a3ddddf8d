/* The reader of records under libFuzzer: what it accepts comes back as the same record from canonical text, which is a
 * fixed point. Seeds: tests/kb/v1.txt, any kb dump. */
#include <stdlib.h>
#include <string.h>
#include "kb/kb.h"

static void must(bool good)
{
	if (!good)
		abort();
}

static void check(struct kb_record *r, struct arena *a)
{
	const char *text = kb_text(r, a), *s = text, *why;
	struct kb_record back;
	int line = 1;
	must(kb_parse(&s, text + strlen(text), &back, a, &line, &why));
	must(*s == 0 && back.n == r->n && digest_eq(back.id, r->id) && !strcmp(kb_text(&back, a), text));
	for (size_t i = 0; i < r->n; i++)
		must(!strcmp(kb_get_field(&back, r->a[i].name), r->a[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct arena a = {0};
	char *text = malloc(n ? n : 1); /* just as long as it is, so that a read behind it shows */
	const char *s = text, *why = NULL;
	struct kb_record r;
	int line = 1, last = 1;
	memcpy(text, data, n);
	while (kb_parse(&s, text + n, &r, &a, &line, &why)) {
		must(line > last && s <= text + n);
		last = line;
		check(&r, &a);
	}
	must(why || s == text + n);
	free(text);
	arena_release(&a);
	return 0;
}
