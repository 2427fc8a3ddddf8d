/* Traces from a file, in place of the default ones. */
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "common/vec.h"
#include "model/given.h"

void traces_read(struct given_traces *t, const char *path)
{
	struct mapped f;
	int line = 1;

	mapped_open(&f, path);
	char *text = xmalloc(f.n + 1), *next;
	memcpy(text, f.p, f.n);
	text[f.n] = 0;
	for (char *s = text; *s; s = next, line++) {
		next = s + strcspn(s, "\n");
		bool head = !strncmp(s, "# kernel ", 9);
		if (head || !t->n) {
			struct given_trace x = {.text = *next ? next + 1 : next};
			if (head && (next - s < 41 || !digest_parse(s + 9, 32, &x.digest)))
				die(EX_BADDATA, "%s:%d: not a digest of 32 hexadecimal digits", path, line);
			if (!head && s != next && *s != '#')
				die(EX_BADDATA, "%s:%d: a trace needs a line \"# kernel DIGEST\" above it (see --print-traces)", path,
				    line);
			if (head) {
				*s = 0; /* ends the section before */
				vec_push(t, x);
			}
		}
		next += *next == '\n';
	}
	mapped_close(&f);
}

const char *trace_given(const struct given_traces *t, struct digest d)
{
	for (size_t i = 0; t && i < t->n; i++)
		if (digest_eq(t->a[i].digest, d))
			return t->a[i].text;
	return NULL;
}
