/* Verbs that write: put, load, merge, gc. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/json.h"
#include "common/shown.h"
#include "verbs.h"

/* Records read from text, in batches that are committed whole. */
struct input {
	struct kb *k;
	const char *name;
	int fd, line;
	size_t batch; /* bytes to wait for before a commit; 0: whatever is there */
	VEC(char) buf;
	size_t read, fresh; /* records, and those that were new */
};

enum {
	CHUNK = 256 << 10,
	BATCH = 4 << 20,
	UNENDED = 2 * KB_RECORD_MAX, /* bytes without an empty line: no record, whatever its head and the blanks that count for none */
};

/* Parses and commits what is whole in the first n bytes of the buffer. */
static void commit_text(struct input *in, size_t n)
{
	struct arena a = {0};
	VEC(struct kb_record *) all = {0};
	const char *s = in->buf.a, *end = s + n, *why = NULL;
	for (;;) {
		struct kb_record *r = ARENA_NEW(&a, struct kb_record);
		if (!kb_parse(&s, end, r, &a, &in->line, &why))
			break;
		if (opt.here)
			kb_seal(r, &a);
		vec_push(&all, r);
	}
	kb_before = in->read ? arena_printf(&a, ", the %zu records read before it are", in->read) : NULL;
	if (all.n)
		in->fresh += kb_put(in->k, all.a, all.n);
	kb_before = NULL;
	in->read += all.n;
	vec_free(&all);
	if (why)
		die(why == kb_newer ? EX_NOTAVAIL : EX_BADDATA, "%s:%d: %s; %zu records before it are kept", in->name, in->line, why,
		    in->read);
	arena_release(&a);
	memmove(in->buf.a, in->buf.a + n, in->buf.n - n);
	in->buf.n -= n;
}

/* Bytes up to the last empty line behind byte from: whole records. */
static size_t whole_records(const struct input *in, size_t from)
{
	for (size_t i = in->buf.n; i > from + 1 && i > 1; i--)
		if (in->buf.a[i - 1] == '\n' && in->buf.a[i - 2] == '\n')
			return i;
	return 0;
}

static void read_records(struct input *in)
{
	size_t looked = 0;
	for (;;) {
		vec_reserve(&in->buf, in->buf.n + CHUNK);
		ssize_t n = read(in->fd, in->buf.a + in->buf.n, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_errno(errno == EISDIR ? EX_NOIN : EX_IO, "%s", in->name);
		if (n == 0)
			break;
		in->buf.n += (size_t)n;
		if (in->buf.n < in->batch)
			continue;
		size_t whole = whole_records(in, looked ? looked - 1 : 0);
		if (whole)
			commit_text(in, whole);
		else if (in->buf.n > UNENDED)
			die(EX_BADDATA, "%s:%d: a record of more than 16 MiB; %zu records before it are kept", in->name, in->line,
			    in->read);
		looked = in->buf.n;
	}
	commit_text(in, in->buf.n);
	vec_free(&in->buf);
}

static void on_interrupt(int number) { (void)number; }

static void report(size_t read, size_t fresh, bool json)
{
	if (json)
		printf("{\"records\": %zu, \"new\": %zu}\n", read, fresh);
	else
		note("%zu records, %zu of them new", read, fresh);
}

/* Ctrl-C goes to the whole pipe; what the tools before this one still write is kept, and the end of their output
 * ends it. A second one does. */
int kb_put_verb(const struct tool *t, struct tool_args *a)
{
	struct sigaction once = {.sa_handler = on_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
	struct input in = {.name = "standard input", .line = 1};
	if (a->nfile)
		die(EX_BADUSE, "put reads standard input; kb load reads files");
	if (isatty(STDIN_FILENO))
		tool_usage();
	sigaction(SIGINT, &once, NULL);
	in.k = kb_open_file(opt.kb, true);
	read_records(&in);
	kb_close(in.k);
	report(in.read, in.fresh, a->json);
	return EX_GOOD;
}

int kb_load(const struct tool *t, struct tool_args *a)
{
	struct kb *k;
	size_t read = 0, fresh = 0;
	if (a->nfile == 0 && isatty(STDIN_FILENO))
		tool_usage();
	for (int i = 0; i < a->nfile; i++)
		if (strcmp(a->file[i], "-") && access(a->file[i], R_OK))
			die_errno(EX_NOIN, "%s", a->file[i]);
	k = kb_open_file(opt.kb, true);
	for (int i = 0; i < (a->nfile ? a->nfile : 1); i++) {
		bool standard = a->nfile == 0 || !strcmp(a->file[i], "-");
		struct input in = {.k = k, .line = 1, .batch = BATCH, .name = standard ? "standard input" : a->file[i]};
		in.fd = standard ? STDIN_FILENO : open(in.name, O_RDONLY | O_CLOEXEC);
		if (in.fd < 0)
			die_errno(EX_NOIN, "%s", in.name);
		read_records(&in);
		if (!standard)
			close(in.fd);
		read += in.read;
		fresh += in.fresh;
	}
	kb_close(k);
	report(read, fresh, a->json);
	return EX_GOOD;
}

int kb_merge(const struct tool *t, struct tool_args *a)
{
	size_t read = 0, fresh = 0;
	if (a->nfile == 0)
		tool_usage();
	struct kb **from = xcalloc((size_t)a->nfile, sizeof *from);
	for (int i = 0; i < a->nfile; i++) /* all of them can be read before the first is written */
		from[i] = kb_open_file(a->file[i], false);
	struct kb *k = kb_open_file(opt.kb, true);
	for (int i = 0; i < a->nfile; i++) {
		struct arena arena = {0};
		struct kb_list l;
		VEC(struct kb_record *) all = {0};
		kb_find(from[i], NULL, NULL, &l, &arena);
		for (size_t j = 0; j < l.n; j++)
			vec_push(&all, &l.a[j]);
		read += all.n;
		fresh += all.n ? kb_put(k, all.a, all.n) : 0;
		vec_free(&all);
		arena_release(&arena);
		kb_close(from[i]);
	}
	kb_close(k);
	free(from);
	report(read, fresh, a->json);
	return EX_GOOD;
}

/* Records of one task on one target against one default: others' ratios do not compare, and kb_best_of and kb_best_for
 * choose among the best of each. Those that do not name their default are a group too, so that whatever leads is the best of
 * its group. */
static int compare_groups(const struct kb_record *a, const struct kb_record *b)
{
	static const char *const keys[] = {"task", "target", "base"};
	int c = 0;
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !c; i++) {
		const char *p = kb_get_field(a, keys[i]), *q = kb_get_field(b, keys[i]);
		bool target = !strcmp(keys[i], "target");
		c = p && q ? (target ? kb_compare_targets : strcmp)(p, q) : (p != NULL) - (q != NULL);
	}
	return c;
}

/* Group by group, those that can win first, the best before the others. */
static int by_group(const void *x, const void *y)
{
	const struct kb_record *a = *(struct kb_record *const *)x, *b = *(struct kb_record *const *)y;
	int c = compare_groups(a, b);
	bool can = kb_can_win(a), other = kb_can_win(b);
	return c ? c : can != other ? other - can : kb_rank(a, b);
}

/* One of samples CANDIDATE/BASE. */
struct sample {
	const char *text;
	size_t n;
	unsigned long long base;
};

static int by_base(const void *x, const void *y)
{
	const struct sample *a = x, *b = y;
	return (a->base > b->base) - (a->base < b->base);
}

/* The one whose base is the least, and the one whose base is the median: of the two that is the median as well. How long a task
 * takes has a say in which one a tuner searches next, so without the median a search would go another way than it went; and the
 * least time of a default in whether an older record is used. NULL: they are of another form. */
static const char *kept_samples(const char *samples, struct arena *a)
{
	VEC(struct sample) all = {0};
	const char *kept = NULL;
	for (const char *s = samples; *s; s += strspn(s, " ")) {
		struct sample x = {.text = s, .n = strcspn(s, " ")};
		char *end;
		strtoull(s, &end, 10);
		x.base = *end == '/' ? strtoull(end + 1, &end, 10) : 0;
		if (x.base)
			vec_push(&all, x);
		s += x.n;
	}
	if (all.n) {
		qsort(all.a, all.n, sizeof *all.a, by_base);
		const struct sample *least = &all.a[0], *median = &all.a[all.n / 2];
		kept = arena_printf(a, "%.*s", (int)median->n, median->text);
		if (least->base < median->base)
			kept = arena_printf(a, "%.*s %s", (int)least->n, least->text, kept);
	}
	vec_free(&all);
	return kept;
}

/* What is left of a record: that it was measured, and how it ended. */
static struct kb_record *shortened(const struct kb_record *r, struct arena *a)
{
	static const char *const kept[] = {"task",   "target", "verdict",        "why",  "against", "ratio",         "lo",
					   "hi",     "mean",   "remeasurements", "kept", "base",    "remeasurement", "cold-weights",
					   "source", "session"};
	struct kb_record *out = ARENA_NEW(a, struct kb_record);
	char hex[33];
	const char *trace = kb_get_field(r, "trace"), *samples = kb_get_field(r, "samples"), *v;
	kb_set_field(out, "kind", "dropped", a);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if ((v = kb_get_field(r, kept[i])))
			kb_set_field(out, kept[i], v, a);
	if (samples && (v = kept_samples(samples, a)))
		kb_set_field(out, "samples", v, a);
	digest_hex(kb_trace_digest(trace), hex);
	kb_set_field(out, "trace-digest", hex, a);
	digest_hex(r->id, hex);
	kb_set_field(out, "of", hex, a);
	if (kb_is_ours(r))
		kb_seal(out, a);
	return out;
}

struct sweep {
	struct arena arena;
	VEC(struct kb_record *) kernels, put;
	VEC(struct digest) drop;
	size_t before, bytes_before, bytes_after;
};

static void choose(struct sweep *s, struct kb *k)
{
	struct kb_list l;
	kb_find(k, NULL, NULL, &l, &s->arena);
	s->before = l.n;
	for (size_t i = 0; i < l.n; i++) {
		const char *kind = kb_get_field(&l.a[i], "kind");
		s->bytes_before += strlen(kb_text(&l.a[i], &s->arena));
		if (kind && !strcmp(kind, "kernel") && kb_get_field(&l.a[i], "trace"))
			vec_push(&s->kernels, &l.a[i]);
	}
	if (s->kernels.n)
		qsort(s->kernels.a, s->kernels.n, sizeof *s->kernels.a, by_group);
	s->bytes_after = s->bytes_before;
	for (size_t i = 0, rank = 0; i < s->kernels.n; i++) {
		struct kb_record *r = s->kernels.a[i], *t;
		rank = i && compare_groups(s->kernels.a[i - 1], r) == 0 ? rank + 1 : 0;
		if (rank < opt.keep && kb_can_win(r))
			continue;
		t = shortened(r, &s->arena);
		size_t old = strlen(kb_text(r, &s->arena)), new = strlen(kb_text(t, &s->arena));
		if (new >= old)
			continue; /* nothing would be gained */
		s->bytes_after -= old - new;
		vec_push(&s->drop, r->id);
		vec_push(&s->put, t);
	}
}

static void sweep_free(struct sweep *s)
{
	vec_free(&s->kernels);
	vec_free(&s->put);
	vec_free(&s->drop);
	arena_release(&s->arena);
}

int kb_gc(const struct tool *t, struct tool_args *a)
{
	enum { GC_TRIES = 20 };
	struct sweep s;
	if (a->nfile)
		die(EX_BADUSE, "gc takes no argument; --kb FILE says which file");
	struct kb *k = kb_open_file(opt.kb, false); /* that there is one: writing would make it */
	if (!opt.dry_run) {
		kb_close(k);
		k = kb_open_file(opt.kb, true);
	}
	for (int tries = 0;; tries++) {
		s = (struct sweep){0};
		choose(&s, k);
		if (opt.dry_run || s.drop.n == 0 || kb_swap(k, s.drop.a, s.drop.n, s.put.a, s.put.n))
			break;
		sweep_free(&s); /* another gc was faster */
		if (tries == GC_TRIES)
			die(EX_SYSTEM, "%s: other processes shortened it during each of %d tries; nothing was done", kb_layer_path(k, 0),
			    GC_TRIES);
	}
	if (a->json) {
		printf("{\"file\": ");
		json_str(stdout, kb_layer_path(k, 0));
		printf(", \"dry_run\": %s, \"records\": %zu, \"shortened\": %zu, \"bytes_before\": %zu, \"bytes_after\": %zu}\n",
		       opt.dry_run ? "true" : "false", s.before, s.drop.n, s.bytes_before, s.bytes_after);
	} else {
		printf("%s: %s %zu of %zu records to what tells that they were measured; %.1f kB of text, %.1f before\n",
		       shown(kb_layer_path(k, 0)), opt.dry_run ? "would shorten" : "shortened", s.drop.n, s.before,
		       (double)s.bytes_after / 1e3, (double)s.bytes_before / 1e3);
	}
	sweep_free(&s);
	kb_close(k);
	return EX_GOOD;
}
