/* Patches under libFuzzer: the reader, on one base, and edits of the first half of the input that make the second. A patch that is taken
 * makes a stream. Seeds: patches of the base (PATCH_BASE=FILE writes it there). */
#include <string.h>
#include "graph/delta.h"
#include "graph/patch.h"
#include "graph/stream.h"
#include "graph/text.h"
#include "mend.h"
#include "refuse.h"

static const char base_text[] =
	"hone-text 1\nmodule ir=10 opset=28\nprovenance \"ge-load 0.1.0\"\nsymbol batch 1 8\nconst c = f32[2] [1, 2]\n"
	"graph main {\n  input x: f32[batch,2]\n  t = Add(x, @c)\n  u = Relu(t) \"relu\"\n  y = Mul(u, u)\n  output y = y\n}\n";

static struct bytes base_stream(void)
{
	static struct bytes base;
	const char *path = getenv("PATCH_BASE");

	if (base.p)
		return base;
	struct text_reader *r = text_open_bytes(base_text, sizeof base_text - 1, "the base");
	struct module *m = text_read(r);
	base.p = stream_bytes(m, false, &base.n);
	text_close(r);
	module_free(m);
	FILE *f = path ? fopen(path, "wb") : NULL;
	must(!path || (f && fwrite(base.p, 1, base.n, f) == base.n && !fclose(f)));
	return base;
}

/* Digest of the base, behind the form; digest of the records, at the end. */
static void mend(unsigned char *p, size_t n, struct digest base)
{
	static const char end[] =
		"\x93\xa3"
		"end";
	size_t at = n > 60 && patch_begins(p, n) ? 14 + (p[13] & 31) : 0;

	if (!at || at + 18 > n)
		return;
	put_digest(p + at + 2, base);
	for (at = n - 24; at > 60; at--)
		if (!memcmp(p + at, end, 5)) {
			put_digest(p + n - 16, digest_bytes(p, at));
			return;
		}
}

struct made {
	const char *a;
	size_t na, at;
	const char *b;
	size_t nb, n;
};

static void check_edit(const struct edit *e, void *arg)
{
	struct made *m = arg;

	m->at += (size_t)e->skip;
	must(m->at <= m->na && e->keep <= m->na - m->at && e->keep <= m->nb - m->n && !memcmp(m->a + m->at, m->b + m->n, e->keep));
	m->at += e->keep;
	m->n += e->keep;
	must(e->nadd <= m->nb - m->n && e->add == m->b + m->n);
	m->n += e->nadd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes base = base_stream(), out = {0};
	char *volatile p = malloc(n + 1);
	struct made m = {.a = p, .na = n / 2, .b = p + n / 2, .nb = n - n / 2};

	memcpy(p, data, n);
	delta_make(m.a, m.na, m.b, m.nb, check_edit, &m);
	must(m.n == m.nb);
	mend((unsigned char *)p, n, digest_bytes(base.p, base.n));
	if (!REFUSED(out = patch_apply(&(struct bytes){p, n}, "fuzz", &base, "the base"))) {
		must(out.n && (stream_begins((unsigned char *)out.p, out.n)));
		free(out.p);
	}
	free(p);
	return 0;
}
