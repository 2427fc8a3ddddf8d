/* Layers of files: opening, writing, reading. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/msg.h"
#include "kb/kb.h"
#include "kb/weigh.h"
#include "kb/path.h"
#include "kb/store.h"

enum { LAYERS = 3 };
struct kb {
	struct arena arena;
	int n;
	struct {
		const char *path, *name;
		struct store *store;
	} layer[LAYERS];
};

static void add_layer(struct kb *k, const char *path, const char *name, bool write, bool must_be)
{
	if (!path || (!write && !must_be && access(path, F_OK)))
		return;
	k->layer[k->n].path = path;
	k->layer[k->n].name = name;
	k->layer[k->n++].store = store_open(path, write);
}

/* The path that the caller or the environment names; NULL: none. */
static const char *explicit_path(const char *path)
{
	const char *env = getenv("HONE_KB");
	if (path && !*path)
		die(EX_BADUSE, "--kb: a file without a name");
	return path ? path : env && *env ? env : NULL;
}

static noreturn void no_place(void) { die(EX_SYSTEM, "no place for the knowledge base; set HONE_KB or HOME"); }

const char *kb_path(const char *path, struct arena *a)
{
	path = explicit_path(path);
	if (!path && !(path = custom_path(a)))
		no_place();
	return path;
}

const char *kb_beside(const char *path, const char *suffix, struct arena *a)
{
	path = explicit_path(path);
	path = path ? path : custom_path(a);
	return path ? arena_printf(a, "%s%s", path, suffix) : NULL;
}

/* Opens those layers that are there; the first is made if it is to be written. */
static struct kb *open_layers(const char *path, bool write, bool first_only, bool there)
{
	struct kb *k = xcalloc(1, sizeof *k);
	const char *custom = custom_path(&k->arena);
	bool said = path != NULL && there;
	path = explicit_path(path);
	if (path)
		add_layer(k, arena_str(&k->arena, path), "explicit", write, said || first_only);
	else if ((write || first_only) && !custom)
		no_place();
	if (!path && write)
		make_parents(custom);
	if (!path || !first_only)
		add_layer(k, custom, "custom", write && !path, first_only);
	if (!first_only)
		add_layer(k, builtin_path(&k->arena), "built-in", false, false);
	return k;
}

struct kb *kb_open(const char *path, bool write) { return open_layers(path, write, false, true); }

struct kb *kb_open_if_there(const char *path) { return open_layers(path, false, false, false); }

struct kb *kb_open_file(const char *path, bool write) { return open_layers(path, write, true, true); }

void kb_close(struct kb *k)
{
	if (!k)
		return;
	for (int i = 0; i < k->n; i++)
		store_close(k->layer[i].store);
	arena_release(&k->arena);
	free(k);
}

int kb_layers(const struct kb *k) { return k->n; }

const char *kb_layer_path(const struct kb *k, int layer) { return k->layer[layer].path; }

const char *kb_layer_name(const struct kb *k, int layer) { return k->layer[layer].name; }

bool kb_is_trusted(const struct kb *k, const struct kb_record *r)
{
	return kb_is_ours(r) || !strcmp(kb_layer_name(k, r->layer), "built-in");
}

/* Writing. */

enum { HEAD = KB_RECORD_HEAD }; /* the line that holds the id; the file has that as the key, not in the text */

struct bytes {
	char *a;
	size_t n, cap;
};

static void append(struct bytes *b, const void *p, size_t n)
{
	vec_reserve(b, b->n + n);
	if (n)
		memcpy(b->a + b->n, p, n);
	b->n += n;
}

static void append_records(struct bytes *b, struct kb_record *const *r, size_t n)
{
	struct arena a = {0};
	for (size_t i = 0; i < n; i++) {
		const char *text = kb_text(r[i], &a), *task = kb_get_field(r[i], "task");
		struct store_item it = {.id = r[i]->id, .has_task = task != NULL, .n = kb_length(text)};
		if (it.n > KB_RECORD_MAX)
			die(EX_BADDATA, "a record of more than 16 MiB");
		if (task)
			it.task = digest_bytes(task, strlen(task));
		append(b, &it, sizeof it);
		append(b, text + HEAD, it.n);
	}
	arena_release(&a);
}

size_t kb_put(struct kb *k, struct kb_record *const *r, size_t n)
{
	struct bytes b = {0};
	struct arena a = {0};
	uint32_t fresh;
	size_t len;
	append_records(&b, r, n);
	store_call(k->layer[0].store, STORE_PUT, b.a, b.n, &a, &len, &fresh);
	arena_release(&a);
	vec_free(&b);
	return fresh;
}

bool kb_swap(struct kb *k, const struct digest *drop, size_t ndrop, struct kb_record *const *put, size_t nput)
{
	struct bytes b = {0};
	struct arena a = {0};
	uint64_t n = ndrop;
	uint32_t done;
	size_t len;
	append(&b, &n, sizeof n);
	append(&b, drop, ndrop * sizeof *drop);
	append_records(&b, put, nput);
	store_call(k->layer[0].store, STORE_SWAP, b.a, b.n, &a, &len, &done);
	arena_release(&a);
	vec_free(&b);
	return done;
}

/* Reading. */

static void push(struct kb_list *l, const struct kb_record *r, struct arena *a)
{
	if (l->n == l->cap) {
		struct kb_record *old = l->a;
		l->cap = l->cap ? 2 * l->cap : 64;
		l->a = ARENA_ARRAY(a, struct kb_record, l->cap);
		if (l->n)
			memcpy(l->a, old, l->n * sizeof *old);
	}
	l->a[l->n++] = *r;
}

/* One record as the other side sent it. r->n is 0 if its text matches its id but is not in the form of this version. */
static bool next_record(const char **p, const char *end, struct kb_record *r, struct arena *a)
{
	struct store_found f;
	const char *why, *s;
	int line = 1;
	if (*p == end)
		return false;
	memcpy(&f, *p, sizeof f);
	char *text = arena_alloc(a, HEAD + f.n + 2);
	memcpy(text, "record ", 7);
	digest_hex(f.id, text + 7);
	text[HEAD - 1] = '\n';
	memcpy(text + HEAD, *p + sizeof f, f.n);
	text[HEAD + f.n] = '\n';
	*p += sizeof f + f.n;
	s = text;
	if (!kb_parse(&s, text + HEAD + f.n + 1, r, a, &line, &why))
		r->n = 0;
	return true;
}

/* By id; of equal ids the layer with precedence first, so that the later ones can be left out. */
static int by_id_and_layer(const void *x, const void *y)
{
	const struct kb_record *a = x, *b = y;
	int c = digest_cmp(a->id, b->id);
	return c ? c : a->layer - b->layer;
}

static void sort_unique(struct kb_list *l)
{
	size_t n = 0;
	if (l->n)
		qsort(l->a, l->n, sizeof *l->a, by_id_and_layer);
	for (size_t i = 0; i < l->n; i++)
		if (n == 0 || !digest_eq(l->a[n - 1].id, l->a[i].id))
			l->a[n++] = l->a[i];
	l->n = n;
}

static void find(struct kb *k, const struct store_range *range, const char *task, struct kb_list *out, struct arena *a)
{
	*out = (struct kb_list){0};
	for (int i = 0; i < k->n; i++) {
		struct arena answers = {0};
		size_t n;
		const char *p = store_call(k->layer[i].store, STORE_FIND, range, sizeof *range, &answers, &n, NULL), *end = p + n;
		struct kb_record r;
		while (next_record(&p, end, &r, a)) {
			const char *tasks = kb_get_field(&r, "task");
			if (r.n == 0)
				store_damaged(k->layer[i].store, "a record is not of the form of records");
			if (task && (!tasks || strcmp(tasks, task)))
				continue;
			r.layer = i;
			push(out, &r, a);
		}
		arena_release(&answers);
	}
	sort_unique(out);
}

static const struct digest most = {UINT64_MAX, UINT64_MAX};

void kb_find(struct kb *k, const char *kind, const char *task, struct kb_list *out, struct arena *a)
{
	struct store_range r = {.by_task = task != NULL, .hi = most};
	if (task)
		r.task = digest_bytes(task, strlen(task));
	find(k, &r, task, out, a);
	kb_weigh(out); /* also remeasurements in records of kind "dropped", which gc left */
	size_t n = 0;
	for (size_t i = 0; i < out->n; i++) {
		const char *of = kb_get_field(&out->a[i], "kind");
		if (!kind || (of && !strcmp(of, kind)))
			out->a[n++] = out->a[i];
	}
	out->n = n;
}

void kb_find_task(struct kb *k, struct digest task, struct kb_list *out, struct arena *a)
{
	struct store_range r = {.by_task = true, .task = task, .hi = most};

	find(k, &r, NULL, out, a);
	kb_weigh(out);
}

void kb_find_id(struct kb *k, const char *hex, struct kb_list *out, struct arena *a)
{
	struct store_range r = {0};
	char digits[33];
	size_t n = strlen(hex);
	*out = (struct kb_list){0};
	if (n == 0 || n > 32)
		return;
	snprintf(digits, sizeof digits, "%s00000000000000000000000000000000", hex);
	bool good = digest_parse(digits, 32, &r.lo);
	memset(digits + n, 'f', 32 - n);
	if (good && digest_parse(digits, 32, &r.hi))
		find(k, &r, NULL, out, a);
}

void kb_stat(struct kb *k, int layer, struct kb_stat *out)
{
	struct arena a = {0};
	size_t n;
	memcpy(out, store_call(k->layer[layer].store, STORE_STAT, NULL, 0, &a, &n, NULL), sizeof *out);
	arena_release(&a);
}

const char *kb_check(struct kb *k, int layer, struct arena *a)
{
	size_t n;
	enum exit_code code;
	const char *why, *text = store_try(k->layer[layer].store, STORE_CHECK, NULL, 0, a, &n, &why, &code);
	if (why && !*text && code != EX_BADDATA)
		die(code, "%s: %s", k->layer[layer].path, why); /* it is not the file that is at fault */
	return why ? arena_printf(a, "%s%s\n", text, why) : text;
}

enum exit_code kb_salvage(const char *path, struct kb_list *out, struct arena *a, const char **why)
{
	struct arena answers = {0};
	struct store_range all = {.hi = most};
	struct kb_record r;
	enum exit_code code;
	size_t n = 0;
	const char *p;
	path = kb_path(path, &answers);
	struct store *s = store_start(path, false);
	p = store_try(s, STORE_OPEN, NULL, 0, &answers, &n, why, &code);
	if (!*why)
		p = store_try(s, STORE_FIND, &all, sizeof all, &answers, &n, why, &code);
	store_close(s);
	if (*why) {
		p = pages_salvage(path, &answers, &n);
		*why = arena_printf(a, "%s: %s", path, *why);
	}
	*out = (struct kb_list){0};
	for (const char *end = p + n; next_record(&p, end, &r, a);)
		if (r.n)
			push(out, &r, a);
	arena_release(&answers);
	sort_unique(out);
	return code;
}
