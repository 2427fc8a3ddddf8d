/* Checks the pages of an LMDB file, which LMDB itself takes for granted. */
#include <inttypes.h>
#include <lmdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kb/page.h"
#include "kb/store.h"

enum { FAULTS_MAX = 20, DEPTH_MAX = 32 };

const char *heads_check(const unsigned char *head, size_t n, uint64_t *txn)
{
	uint64_t of[2];
	if (n < META_END || u32(head + META_MAGIC) != (uint32_t)MAGIC)
		return "is not a knowledge base";
	if (u32(head + META_VERSION) != 1)
		return "is an LMDB file of another version, or damaged";
	size_t psize = u32(head + META_DB);
	if (psize < PSIZE_MIN || psize > PSIZE_MAX || psize & (psize - 1))
		return "damaged: the first head has no page size";
	if (n < psize + META_END)
		return "damaged: cut short in the heads";
	for (int i = 0; i < 2; i++) {
		const unsigned char *p = head + (size_t)i * psize;
		of[i] = u64(p + META_TXN);
		if (u32(p + META_MAGIC) != (uint32_t)MAGIC || u32(p + META_VERSION) != 1 || u32(p + META_DB) != psize ||
		    u64(p) != (uint64_t)i || u16(p + 10) != P_META || u64(p + META_ADDRESS) ||
		    u16(p + META_DB + 4) != u16(head + META_DB + 4))
			return "damaged: its heads do not match";
	}
	*txn = of[0] > of[1] ? of[0] : of[1];
	return NULL;
}

/* The data of a key in a leaf, n bytes of it; NULL: not there. */
static const unsigned char *leaf_find(const unsigned char *p, size_t psize, const char *key, unsigned flags, size_t n)
{
	unsigned lower = u16(p + 12);
	size_t nkey = strlen(key);
	if (u16(p + 10) != P_LEAF || lower < PAGE_HEAD || lower > psize)
		return NULL;
	for (size_t at = PAGE_HEAD; at + 2 <= lower; at += 2) {
		size_t node = u16(p + at);
		if (node + NODE_HEAD + nkey + n <= psize && u16(p + node + 6) == nkey && !memcmp(p + node + NODE_HEAD, key, nkey) &&
		    u16(p + node + 4) == flags && (u16(p + node) | (size_t)u16(p + node + 2) << 16) == n)
			return p + node + NODE_HEAD + nkey;
	}
	return NULL;
}

static bool read_page(int fd, uint64_t page, size_t psize, unsigned char *out)
{
	return page < (uint64_t)INT64_MAX / psize && pread(fd, out, psize, (off_t)(page * psize)) == (ssize_t)psize;
}

const char *commits_check(int fd, const unsigned char *head, uint64_t newest)
{
	size_t psize = u32(head + META_DB);
	const unsigned char *older = head + !(newest & 1) * psize, *db = older + META_DB + DB_SIZE, *found;
	uint64_t root = u64(db + DB_ROOT);
	struct store_set set;
	unsigned char page[PSIZE_MAX];
	if (newest && (u64(head + (newest & 1) * psize + META_TXN) != newest || u64(older + META_TXN) != newest - 1))
		return "damaged: its heads are not of one commit and the one before";
	if (newest <= 1)
		return newest == 0 || root == UINT64_MAX ? NULL : "damaged: one of its heads is older than it says";
	if (!read_page(fd, root, psize, page) || !(found = leaf_find(page, psize, "meta", F_SUBDATA, DB_SIZE)) ||
	    !read_page(fd, u64(found + DB_ROOT), psize, page) || !(found = leaf_find(page, psize, "set", 0, sizeof set)))
		return "damaged: the head of the last commit but one leads nowhere";
	memcpy(&set, found, sizeof set);
	return set.txn == newest - 1 ? NULL : "damaged: one of its heads is of another transaction than it says";
}

/* The walk over every page that is reached from the roots: each once, and in the form that LMDB expects. */
struct walk {
	const unsigned char *map;
	size_t psize;
	uint64_t last, pages; /* last page of the snapshot; pages that the file has */
	uint8_t *seen;        /* USED or FREE */
	FILE *out;
	int faults;
	uint64_t txn;
};
enum { USED = 1, FREE };
/* What a walk of one database counts, to be compared with what the database says. */
struct db_count {
	uint64_t branch, leaf, overflow, entries;
};

static void fault(struct walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fault(struct walk *w, const char *fmt, ...)
{
	va_list ap;
	if (++w->faults > FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vfprintf(w->out, fmt, ap);
	va_end(ap);
	fputc('\n', w->out);
}

/* Marks n pages; false: they are not there, or are reached twice. */
static bool claim(struct walk *w, uint64_t page, uint64_t n, uint8_t how)
{
	if (page < 2 || page > w->last || n > w->last + 1 - page || (how == USED && page + n > w->pages)) {
		fault(w, "page %" PRIu64 " is referred to, and is not there", page);
		return false;
	}
	for (uint64_t i = page; i < page + n; i++) {
		if (w->seen[i]) {
			fault(w, "page %" PRIu64 " is %s", i, w->seen[i] != how ? "both free and in use" : "reached twice");
			return false;
		}
		w->seen[i] = how;
	}
	return true;
}

/* One database. */
struct tree {
	bool free_list; /* keys are numbers; in the other databases they are bytes, compared as memcmp does, a shorter key before its continuations */
	uint32_t size; /* of a key, on pages that hold only keys */
	struct db_count c;
};
struct key {
	const unsigned char *p; /* NULL: no bound */
	size_t n;
};

static int compare(const struct tree *t, struct key a, struct key b)
{
	if (t->free_list && a.n == 8 && b.n == 8)
		return (u64(a.p) > u64(b.p)) - (u64(a.p) < u64(b.p));
	int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
	return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* Is the key greater than the one before it? The first key of a page may equal the bound that leads there. */
static void check_order(struct walk *w, const struct tree *t, uint64_t page, struct key last, bool first, struct key k)
{
	int c = last.p ? compare(t, k, last) : 1;
	if (c < 0 || (c == 0 && !first))
		fault(w, "page %" PRIu64 ": its keys are out of order", page);
}

static void check_end(struct walk *w, const struct tree *t, uint64_t page, struct key last, struct key upper)
{
	if (last.p && upper.p && compare(t, last, upper) >= 0)
		fault(w, "page %" PRIu64 ": its keys go beyond its end", page);
}

/* Keys of one length, side by side. */
static void check_keys(struct walk *w, const struct tree *t, uint64_t page, const unsigned char *p, size_t keys, size_t size,
		       struct key lower, struct key upper)
{
	for (size_t i = 0; i < keys; i++, p += size) {
		struct key k = {p, size};
		check_order(w, t, page, lower, i == 0, k);
		lower = k;
	}
	check_end(w, t, page, lower, upper);
}

static void walk_db(struct walk *w, const unsigned char *db, bool free_list, const char *name);

/* Free pages, listed by the transaction that freed them: their count, then their numbers. */
static void walk_free(struct walk *w, const unsigned char *key, size_t nkey, const unsigned char *data, size_t n)
{
	uint64_t count = n >= 8 ? u64(data) : 0;
	if (nkey != 8 || u64(key) > w->txn || n < 8 || count > (n - 8) / 8) {
		fault(w, "a list of free pages is malformed");
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		claim(w, u64(data + 8 + 8 * i), 1, FREE);
}

/* A small set of data for one key: a page inside the node. */
static void walk_subpage(struct walk *w, struct tree *t, uint64_t page, const unsigned char *p, size_t n)
{
	unsigned lower = n >= PAGE_HEAD ? u16(p + 12) : 0;
	size_t keys = (lower - PAGE_HEAD) / 2, size = n >= PAGE_HEAD ? u16(p + 8) : 0;
	if (n < PAGE_HEAD || lower < PAGE_HEAD || lower & 1 || (u16(p + 10) & ~P_DIRTY) != (P_LEAF | P_LEAF2 | P_SUBP) || keys == 0 ||
	    PAGE_HEAD + keys * size > n) {
		fault(w, "page %" PRIu64 ": a set inside it is malformed", page);
		return;
	}
	check_keys(w, t, page, p + PAGE_HEAD, keys, size, (struct key){0}, (struct key){0});
	t->c.entries += keys;
}

/* The flags that say how LMDB compares keys: names and records as bytes; tasks with sorted sets of ids of one length. */
static bool right_flags(struct key name, const unsigned char *db)
{
	unsigned flags = u16(db + DB_FLAGS);
	if (name.n == 5 && !memcmp(name.p, "tasks", 5))
		return flags == (MDB_DUPSORT | MDB_DUPFIXED);
	bool ours = (name.n == 7 && !memcmp(name.p, "records", 7)) || (name.n == 4 && !memcmp(name.p, "meta", 4));
	return flags == 0 || !ours;
}

/* The data of a leaf's node. */
static void walk_data(struct walk *w, uint64_t page, const unsigned char *node, size_t room, struct tree *t)
{
	size_t nkey = u16(node + 6), n = u16(node) | (size_t)u16(node + 2) << 16, flags = u16(node + 4);
	const unsigned char *key = node + NODE_HEAD, *data = key + nkey;
	size_t held = flags & F_BIGDATA ? 8 : n;
	if (NODE_HEAD + nkey + held > room || flags & ~(size_t)(F_BIGDATA | F_SUBDATA | F_DUPDATA) ||
	    (flags & F_BIGDATA && flags != F_BIGDATA) || (flags & F_SUBDATA && n != DB_SIZE) ||
	    (t->free_list && flags & ~(size_t)F_BIGDATA)) {
		fault(w, "page %" PRIu64 ": a node is malformed", page);
		return;
	}
	if (flags & F_BIGDATA) {
		uint64_t at = u64(data), pages = (PAGE_HEAD - 1 + n) / w->psize + 1;
		if (!claim(w, at, pages, USED))
			return;
		data = w->map + at * w->psize;
		if (u64(data) != at || u16(data + 10) != P_OVERFLOW || u32(data + 12) != pages) {
			fault(w, "page %" PRIu64 ": not the long value that page %" PRIu64 " says it is", at, page);
			return;
		}
		data += PAGE_HEAD;
		t->c.overflow += pages;
	}
	if (t->free_list)
		walk_free(w, key, nkey, data, n);
	if (flags & F_SUBDATA) {
		if (flags & F_DUPDATA ? u16(data + DB_FLAGS) != MDB_DUPFIXED : !right_flags((struct key){key, nkey}, data))
			fault(w, "page %" PRIu64 ": a database is of another kind than it was made", page);
		walk_db(w, data, false, "a database");
	}
	if (flags & F_SUBDATA && flags & F_DUPDATA)
		t->c.entries += u64(data + DB_ENTRIES);
	else if (flags & F_DUPDATA)
		walk_subpage(w, t, page, data, n);
	else
		t->c.entries++;
}

/* The nth node of a page; NULL: it is outside. */
static const unsigned char *node_at(const struct walk *w, const unsigned char *p, size_t n)
{
	size_t at = u16(p + PAGE_HEAD + 2 * n);
	return at < u16(p + 14) || at + NODE_HEAD > w->psize || at + NODE_HEAD + u16(p + at + 6) > w->psize ? NULL : p + at;
}

static struct key key_of(const unsigned char *node) { return (struct key){node + NODE_HEAD, u16(node + 6)}; }

static void walk_page(struct walk *w, struct tree *t, uint64_t page, int depth, struct key lower, struct key upper);

/* The nodes of a page. The key of the first node of a branch does not count: everything less than the second key goes that way. */
static void walk_nodes(struct walk *w, struct tree *t, uint64_t page, int depth, struct key lower, struct key upper)
{
	const unsigned char *p = w->map + page * w->psize;
	size_t keys = (u16(p + 12) - PAGE_HEAD) / 2;
	struct key last = lower;
	for (size_t i = 0; i < keys; i++) {
		const unsigned char *node = node_at(w, p, i), *next = i + 1 < keys ? node_at(w, p, i + 1) : NULL;
		bool branch = depth > 1;
		if (!node) {
			fault(w, "page %" PRIu64 ": node %zu is outside", page, i);
			continue;
		}
		struct key k = branch && i == 0 ? lower : key_of(node);
		if (!branch || i > 0)
			check_order(w, t, page, last, i == 0, k);
		if (branch)
			walk_page(w, t, u16(node) | (uint64_t)u16(node + 2) << 16 | (uint64_t)u16(node + 4) << 32, depth - 1, k,
				  next ? key_of(next) : upper);
		else
			walk_data(w, page, node, w->psize - (size_t)(node - p), t);
		last = k;
	}
	check_end(w, t, page, last, upper);
}

/* A page and those below it. Their keys are at least `lower` and less than `upper`, as a search assumes. */
static void walk_page(struct walk *w, struct tree *t, uint64_t page, int depth, struct key lower, struct key upper)
{
	if (!claim(w, page, 1, USED))
		return;
	const unsigned char *p = w->map + page * w->psize;
	unsigned flags = u16(p + 10), low = u16(p + 12), high = u16(p + 14);
	size_t keys = (low - PAGE_HEAD) / 2, size = u16(p + 8);
	bool branch = flags == P_BRANCH, leaf2 = flags == (P_LEAF | P_LEAF2);
	if (u64(p) != page || (!branch && !leaf2 && flags != P_LEAF) || low < PAGE_HEAD || low & 1 || high < low || high > w->psize ||
	    branch != (depth > 1) || (branch && keys < 2) || (leaf2 && (size != t->size || PAGE_HEAD + keys * size > w->psize))) {
		fault(w, "page %" PRIu64 ": its head is malformed", page);
		return;
	}
	t->c.branch += branch;
	t->c.leaf += !branch;
	if (leaf2) {
		t->c.entries += keys;
		check_keys(w, t, page, p + PAGE_HEAD, keys, size, lower, upper);
	} else {
		walk_nodes(w, t, page, depth, lower, upper);
	}
}

static void walk_db(struct walk *w, const unsigned char *db, bool free_list, const char *name)
{
	struct tree t = {.free_list = free_list, .size = u32(db)};
	const struct key none = {0};
	unsigned depth = u16(db + DB_DEPTH);
	uint64_t root = u64(db + DB_ROOT);
	if (depth > DEPTH_MAX || (root == UINT64_MAX) != (depth == 0)) {
		fault(w, "%s is malformed", name);
		return;
	}
	if (depth)
		walk_page(w, &t, root, (int)depth, none, none);
	if (t.c.branch != u64(db + DB_BRANCH) || t.c.leaf != u64(db + DB_LEAF) || t.c.overflow != u64(db + DB_OVERFLOW) ||
	    t.c.entries != u64(db + DB_ENTRIES))
		fault(w, "%s has not the pages and entries that it says", name);
}

bool pages_check(const unsigned char *map, size_t bytes, uint64_t txn, FILE *out)
{
	/* Read twice, until both are equal: a commit may be writing over it. */
	unsigned char head[META_END], again[META_END];
	size_t psize = u32(map + META_DB);
	memcpy(head, map + (txn & 1) * psize, sizeof head);
	__sync_synchronize();
	memcpy(again, map + (txn & 1) * psize, sizeof again);
	if (memcmp(head, again, sizeof head) || u64(head + META_TXN) != txn)
		return false;
	struct walk w = {.map = map, .psize = psize, .last = u64(head + META_LAST), .pages = bytes / psize, .out = out, .txn = txn};
	if (w.last < 1 || w.last > w.pages + (1u << 20)) {
		fault(&w, "the head says there are %" PRIu64 " pages, the file has %" PRIu64, w.last + 1, w.pages);
		return true;
	}
	w.seen = xcalloc(w.last + 2, 1);
	walk_db(&w, head + META_DB, true, "the list of free pages");
	walk_db(&w, head + META_DB + DB_SIZE, false, "the list of databases");
	if (u16(head + META_DB + DB_SIZE + DB_FLAGS))
		fault(&w, "the list of databases is of another kind than it was made");
	for (uint64_t i = 2; i <= w.last; i++) {
		if (w.seen[i] == 0)
			fault(&w, "page %" PRIu64 " is neither free nor in use", i);
	}
	if (w.faults > FAULTS_MAX)
		fprintf(out, "and %d faults more\n", w.faults - FAULTS_MAX);
	free(w.seen);
	return true;
}
