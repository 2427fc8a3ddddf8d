/* ge-gc: removes from the blob store what no given stream refers to. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/json.h"
#include "common/shown.h"
#include "common/tool.h"
#include "graph/blob.h"
#include "graph/stream.h"

static bool dry_run;

struct sweep {
	VEC(struct digest) live; /* sorted */
	VEC(const char *) dead;  /* names of entries */
	struct arena arena;
	size_t nkept;
	uint64_t kept, freed;
};

static void keep_tensor(struct sweep *s, const struct tensor *t)
{
	if (t && t->has_digest)
		vec_push(&s->live, t->digest);
}

static void keep_module(struct sweep *s, const struct module *m)
{
	for (size_t v = 1; v < m->values.n; v++)
		keep_tensor(s, m->values.a[v].tensor);
	for (size_t n = 1; n < m->nodes.n; n++)
		for (uint32_t i = 0; i < m->nodes.a[n].nattr; i++)
			if (m->nodes.a[n].attr[i].kind == ATTR_TENSOR)
				keep_tensor(s, m->nodes.a[n].attr[i].u.tensor);
}

static int by_digest(const void *a, const void *b) { return digest_cmp(*(const struct digest *)a, *(const struct digest *)b); }

static void visit(const struct blob_entry *e, void *arg)
{
	struct sweep *s = arg;
	bool live = false;

	for (int i = 0; i < e->n && s->live.n && !live; i++)
		live = bsearch(&e->digest[i], s->live.a, s->live.n, sizeof *s->live.a, by_digest);
	if (live) {
		s->nkept++;
		s->kept += e->bytes;
	} else {
		vec_push(&s->dead, arena_str(&s->arena, e->name));
		s->freed += e->bytes;
	}
}

static void report(const struct sweep *s, bool json)
{
	if (json) {
		printf("{\"store\": ");
		json_str(stdout, blob_dir());
		printf(", \"dry_run\": %s, \"freed\": %zu, \"freed_bytes\": %" PRIu64 ", \"kept\": %zu, \"kept_bytes\": %" PRIu64 "}\n",
		       dry_run ? "true" : "false", s->dead.n, s->freed, s->nkept, s->kept);
	} else {
		printf("%s: %s %zu blobs of %.1f MB, %s %zu of %.1f MB\n", shown(blob_dir()), dry_run ? "would free" : "freed", s->dead.n,
		       (double)s->freed / 1e6, dry_run ? "keep" : "kept", s->nkept, (double)s->kept / 1e6);
	}
}

/* All files are read before the first blob goes: a file that cannot be read removes nothing. */
static int run(const struct tool *t, struct tool_args *a)
{
	struct sweep s = {0};
	if (a->nfile == 0)
		tool_usage();
	for (int i = 0; i < a->nfile; i++) {
		struct stream_reader *r = stream_open(a->file[i]);
		for (struct module *m; (m = stream_read(r)); module_free(m))
			keep_module(&s, m);
		stream_close(r);
	}
	if (s.live.n)
		qsort(s.live.a, s.live.n, sizeof *s.live.a, by_digest);
	blob_each(visit, &s);
	for (size_t i = 0; i < s.dead.n && !dry_run; i++)
		blob_remove(s.dead.a[i]);
	report(&s, a->json);
	return EX_GOOD;
}

static error_t option(int key, char *arg)
{
	if (key != 'n')
		return ARGP_ERR_UNKNOWN;
	dry_run = true;
	return 0;
}

static const struct argp_option options[] = {
	{"dry-run", 'n', 0, 0, "say what would be freed, free nothing"},
	{0},
};

const struct tool tool = {
	.name = "ge-gc",
	.summary = "Remove from the blob store what no FILE refers to.",
	.args_doc = "FILE...",
	.more = "Nothing else ever removes a blob. Run it while no other tool writes to the store.",
	.flags = TOOL_JSON,
	.max_files = -1,
	.options = options,
	.option = option,
	.run = run,
};
