/* The other side of a file: all that touches LMDB. Runs in a process of its own (store.c); every transaction is short,
 * and whatever is wrong is the last answer it gives. The databases in a file:
 *   records   id (16 bytes, big-endian) -> text;  tasks   digest of the task's text -> ids, sorted
 *   meta      "format" -> KB_FORMAT;              "set" -> struct store_set, of every committed transaction */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/textfile.h"
#include "kb/ids.h"
#include "kb/path.h"
#include "kb/store.h"

enum {
	MAP_START = 4 << 20, /* bytes; doubled when full */
	READERS = 1022,
	REQUEST_SECONDS = 120, /* CPU time for one request; a sound file needs far less */
	UNLOCKED_TRIES = 20,
};

static struct server {
	int fd;
	const char *path;
	bool write, nolock;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi records, tasks, meta;
	struct store_set set;
} sv;

static noreturn void fail(enum exit_code code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static noreturn void fail(enum exit_code code, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	frame_send(sv.fd, code, 0, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
	_exit(0);
}

static noreturn void damaged(const char *what) { fail(EX_BADDATA, STORE_DAMAGED "%s", what); }

/* Ends with the exit code for LMDB's error. */
static noreturn void fail_lmdb(int rc)
{
	switch (rc) {
	case ENOSPC:
	case EFBIG:
	case EDQUOT: fail(EX_IO, "%s" STORE_UNKEPT, strerror(rc));
	case EIO: /* LMDB reports a short write as this, too */
		if (sv.write)
			fail(EX_IO, "writing failed, the disk may be full" STORE_UNKEPT);
		fail(EX_IO, "%s", strerror(rc));
	case EACCES:
	case EROFS:
	case EPERM: fail(EX_IO, "%s", strerror(rc));
	case ENOENT: fail(EX_NOIN, "%s", strerror(rc));
	case ENOMEM: fail(EX_SYSTEM, "no address space to map it (ulimit -v), or the file is damaged");
	case MDB_VERSION_MISMATCH: fail(EX_NOTAVAIL, "is an LMDB file of another version");
	case MDB_INVALID: fail(EX_BADDATA, "is not a knowledge base");
	default:
		if (rc > 0)
			fail(EX_SYSTEM, "%s", strerror(rc));
		damaged(mdb_strerror(rc));
	}
}

static void must(int rc)
{
	if (rc)
		fail_lmdb(rc);
}

static void on_assert(MDB_env *env, const char *what)
{
	(void)env;
	damaged(what);
}

/* Files and their opening. */

/* The heads as they are on disk, read again if a commit came in between. commits: also check that they are of the last two commits;
 * opening does without. */
static const char *check_heads(uint64_t *txn, bool commits)
{
	static unsigned char head[2 * 65536];
	const char *why = NULL;
	int fd = open(sv.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fail_lmdb(errno);
	for (int i = 0; i < UNLOCKED_TRIES; i++) {
		ssize_t n = pread(fd, head, sizeof head, 0);
		if (n < 0)
			fail_lmdb(errno);
		why = heads_check(head, (size_t)n, txn);
		if (!why && commits)
			why = commits_check(fd, head, *txn);
		if (!why)
			break;
		usleep(1000);
	}
	close(fd);
	return why;
}

static int open_env(const char *path, unsigned flags)
{
	must(mdb_env_create(&sv.env));
	mdb_env_set_assert(sv.env, on_assert);
	must(mdb_env_set_maxdbs(sv.env, 4));
	must(mdb_env_set_maxreaders(sv.env, READERS));
	must(mdb_env_set_mapsize(sv.env, MAP_START));
	int rc = mdb_env_open(sv.env, path, flags, 0666);
	if (rc) {
		mdb_env_close(sv.env);
		sv.env = NULL;
	}
	return rc;
}

static int commit(void);

static int write_first(const char *path)
{
	MDB_val key = {6, "format"}, v = {strlen(KB_FORMAT), KB_FORMAT};
	int rc = open_env(path, MDB_NOSUBDIR | MDB_NOLOCK);
	if (rc)
		return rc;
	if (!(rc = mdb_txn_begin(sv.env, NULL, 0, &sv.txn)) && !(rc = mdb_dbi_open(sv.txn, "meta", MDB_CREATE, &sv.meta)) &&
	    !(rc = mdb_dbi_open(sv.txn, "records", MDB_CREATE, &sv.records)) &&
	    !(rc = mdb_dbi_open(sv.txn, "tasks", MDB_CREATE | MDB_DUPSORT | MDB_DUPFIXED, &sv.tasks)) &&
	    !(rc = mdb_put(sv.txn, sv.meta, &key, &v, 0)))
		rc = commit();
	mdb_env_close(sv.env);
	sv.env = NULL;
	return rc;
}

/* Makes it under another name until it is whole: a file that is empty or has no version was cut short. */
static void create_file(void)
{
	char *tmp = making_path(sv.path);
	int fd = make_locked(tmp);
	if (fd < 0)
		fail(EX_IO, "cannot be made: %s: %s", tmp, strerror(errno));
	int rc = access(sv.path, F_OK) == 0 ? EEXIST : write_first(tmp);
	if (!rc && link(tmp, sv.path) && errno != EEXIST)
		rc = rename(tmp, sv.path) ? errno : 0;
	unlink(tmp);
	close(fd);
	free(tmp);
	if (rc && rc != EEXIST) /* another process has made it first; that one will do */
		fail_lmdb(rc);
	sync_directory(sv.path);
}

static bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

/* LMDB writes its lock file through a mapping, which ends in SIGBUS if the disk is full. So its space is allocated before, as much as
 * LMDB uses (a cache line for each reader and three for the head). false: the disk is full. An existing file is left alone. */
static bool make_lock_file(void)
{
	enum { LINE = 64, BYTES = (READERS - 1 + 3) * LINE };
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s-lock", sv.path) >= (int)sizeof path)
		fail_lmdb(ENAMETOOLONG);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return !is_full(errno); /* LMDB reports other errors */
	bool room = fallocate(fd, 0, 0, BYTES) == 0 || !is_full(errno);
	if (!room)
		unlink(path);
	close(fd);
	return room;
}

static void open_file(void)
{
	static char real[PATH_MAX];
	struct stat st;
	uint64_t txn;
	const char *why = network_name(sv.path);
	if (why)
		fail(EX_NOTAVAIL,
		     "is on a network file system (%s), where locks and mappings do not hold; put it on a local disk "
		     "(--kb, HONE_KB) and carry it with kb dump and kb load",
		     why);
	if (realpath(sv.path, real)) /* a file has one lock, whatever name it is opened by */
		sv.path = real;
	if (stat(sv.path, &st)) {
		if (errno == ENOENT && lstat(sv.path, &st) == 0)
			fail(EX_NOIN, "is a symbolic link to what is not there");
		if (errno != ENOENT || !sv.write)
			fail(errno == EACCES ? EX_IO : EX_NOIN, "%s", strerror(errno));
		create_file();
	} else if (!S_ISREG(st.st_mode)) {
		fail(EX_NOIN, "is not a file");
	} else if (sv.write) {
		char *tmp = making_path(sv.path);
		remove_stale(tmp); /* left by a process that was killed after the file was complete */
		free(tmp);
	}
	if ((why = check_heads(&txn, false)))
		fail(EX_BADDATA, "%s", why);
	int rc = make_lock_file() ? open_env(sv.path, MDB_NOSUBDIR | (sv.write ? 0 : MDB_RDONLY)) : ENOSPC;
	if ((rc == EACCES || is_full(rc)) && !sv.write) {
		sv.nolock = true;
		rc = open_env(sv.path, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK);
	}
	must(rc);
	int dead;
	if (!sv.nolock)
		mdb_reader_check(sv.env, &dead); /* entries of killed readers would keep old pages from reuse */
}

/* Transactions. */

static bool read_set(void)
{
	MDB_val key = {3, "set"}, v;
	int rc = mdb_get(sv.txn, sv.meta, &key, &v);
	if (rc || v.mv_size != sizeof sv.set)
		return false;
	memcpy(&sv.set, v.mv_data, sizeof sv.set);
	return sv.set.check == hash64(&sv.set, offsetof(struct store_set, check), 0);
}

static void check_format(void)
{
	MDB_val key = {6, "format"}, v;
	int major = 0, minor = 0;
	char text[32] = "";
	if (mdb_get(sv.txn, sv.meta, &key, &v) || v.mv_size >= sizeof text)
		damaged("its version cannot be read");
	memcpy(text, v.mv_data, v.mv_size);
	if (sscanf(text, "hone-kb %d.%d", &major, &minor) != 2)
		damaged("its version cannot be read");
	if (major != 1)
		fail(EX_NOTAVAIL, "is of version %d.%d, this program reads 1; use a newer hone", major, minor);
	if (minor > 0 && sv.write)
		fail(EX_NOTAVAIL, "is of version %d.%d, which this program can read, not write; use a newer hone", major, minor);
}

static void drop_txn(void)
{
	mdb_txn_abort(sv.txn);
	sv.txn = NULL;
}

/* Opens the databases in the transaction and checks that they are ours. false: while LMDB copied its head, two commits wrote over that. */
static bool open_databases(bool write)
{
	uint64_t id = mdb_txn_id(sv.txn) - write, head;
	int rc = mdb_dbi_open(sv.txn, "meta", 0, &sv.meta);
	if (rc == MDB_NOTFOUND)
		fail(EX_BADDATA, "is an LMDB file, but not a knowledge base, or damaged");
	must(rc);
	check_format();
	if (!read_set())
		damaged("its count and sum cannot be read");
	if (sv.set.txn > id && !write)
		return false;
	if (sv.set.txn != id)
		damaged("its head and its count are of different transactions");
	must(mdb_dbi_open(sv.txn, "records", 0, &sv.records));
	must(mdb_dbi_open(sv.txn, "tasks", MDB_DUPSORT | MDB_DUPFIXED, &sv.tasks));
	const char *why = check_heads(&head, true);
	if (why)
		fail(EX_BADDATA, "%s", why);
	return true;
}

static void look_again(int signal) { (void)signal; }

/* Where a process is killed just as it is woken to take LMDB's lock, nobody else is woken (glibc's robust mutexes). So who waits for
 * it is interrupted every second, and looks again. */
static void watch_lock(bool on)
{
	struct sigaction interrupt = {.sa_handler = look_again};
	struct itimerval each = {{on, 0}, {on, 0}};

	sigaction(SIGALRM, &interrupt, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

static void begin_txn(bool write)
{
	int rc;

	watch_lock(true);
	for (int tries = 0;; tries++) {
		rc = mdb_txn_begin(sv.env, NULL, write ? 0 : MDB_RDONLY, &sv.txn);
		if (rc == MDB_MAP_RESIZED && tries < UNLOCKED_TRIES) {
			must(mdb_env_set_mapsize(sv.env, 0));
		} else if (rc == MDB_READERS_FULL && tries < UNLOCKED_TRIES) {
			int dead;
			mdb_reader_check(sv.env, &dead);
			usleep(10000);
		} else {
			break;
		}
	}
	watch_lock(false);
	if (rc == MDB_MAP_RESIZED)
		damaged("its head says that it is larger than any file");
	if (rc == MDB_READERS_FULL)
		fail(EX_SYSTEM, "more than %d processes are reading it", READERS);
	must(rc);
}

/* A write transaction continues from the last commit in its lock file; by another name, the file has another lock file. Also, what it
 * writes must be found under the path. Dies if either does not hold. */
static void check_last(void)
{
	uint64_t head;
	struct stat here, there;
	int fd;
	must(mdb_env_get_fd(sv.env, &fd));
	if (fstat(fd, &here) || stat(sv.path, &there) || here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		fail(EX_IO, "was removed or replaced while in use, and this write with it");
	const char *why = check_heads(&head, false);
	if (why)
		fail(EX_BADDATA, "%s", why);
	if (head != mdb_txn_id(sv.txn) - 1)
		fail(EX_IO, "was written to with another lock file, as if under another name; this write is not kept");
}

static void begin(bool write)
{
	for (int tries = 0;; tries++) {
		begin_txn(write);
		if (write)
			check_last();
		if (open_databases(write))
			return;
		if (tries == UNLOCKED_TRIES)
			damaged("its head is of an older transaction than its count");
		drop_txn();
	}
}

/* Writes the set record and commits; MDB_MAP_FULL for the caller to try again. */
static int commit(void)
{
	MDB_val key = {3, "set"}, v = {sizeof sv.set, &sv.set};
	sv.set.txn = mdb_txn_id(sv.txn);
	sv.set.check = hash64(&sv.set, offsetof(struct store_set, check), 0);
	int rc = mdb_put(sv.txn, sv.meta, &key, &v, 0);
	if (rc) {
		drop_txn();
		return rc;
	}
	rc = mdb_txn_commit(sv.txn);
	sv.txn = NULL;
	return rc;
}

static void grow(void)
{
	MDB_envinfo info;
	must(mdb_env_info(sv.env, &info));
	must(mdb_env_set_mapsize(sv.env, 2 * info.me_mapsize));
}

/* Requests. Their data is copied to aligned memory. */

struct items {
	struct arena arena;
	VEC(struct store_item) put;
	VEC(struct digest) drop;
};

static int put_item(const struct store_item *it, uint32_t *fresh)
{
	unsigned char id[16], task[16];
	MDB_val key = {16, id}, text = {it->n, (void *)it->text}, by = {16, task}, ref = {16, id};
	to_key(it->id, id);
	to_key(it->task, task);
	int rc = mdb_put(sv.txn, sv.records, &key, &text, MDB_NOOVERWRITE);
	if (rc == MDB_KEYEXIST)
		return 0;
	if (!rc && it->has_task)
		rc = mdb_put(sv.txn, sv.tasks, &by, &ref, 0);
	if (rc)
		return rc;
	sv.set.count++;
	sv.set.sum = sum_of(sv.set.sum, it->id);
	++*fresh;
	return 0;
}

/* The digest of the task field in a stored text: the key of its entry in the index. */
static bool stored_task(const MDB_val *text, struct digest *task)
{
	struct arena a = {0};
	struct kb_record r;
	const char *why, *s, *value;
	int line = 1;
	char *whole = arena_alloc(&a, text->mv_size + 9);
	memcpy(whole, "record\n", 7);
	memcpy(whole + 7, text->mv_data, text->mv_size);
	whole[7 + text->mv_size] = '\n';
	s = whole;
	bool has = kb_parse(&s, whole + text->mv_size + 8, &r, &a, &line, &why) && (value = kb_get_field(&r, "task"));
	if (has)
		*task = digest_bytes(value, strlen(value));
	arena_release(&a);
	return has;
}

/* MDB_NOTFOUND: it is not there. */
static int drop_item(struct digest d, uint32_t *changed)
{
	unsigned char id[16], task[16];
	struct digest t;
	MDB_val key = {16, id}, text, by = {16, task}, ref = {16, id};
	to_key(d, id);
	int rc = mdb_get(sv.txn, sv.records, &key, &text);
	if (!rc && stored_task(&text, &t)) {
		to_key(t, task);
		rc = mdb_del(sv.txn, sv.tasks, &by, &ref);
		if (rc == MDB_NOTFOUND)
			damaged("a record is missing in the index");
	}
	if (!rc)
		rc = mdb_del(sv.txn, sv.records, &key, NULL);
	if (rc)
		return rc;
	sv.set.count--;
	sv.set.sum = difference(sv.set.sum, d);
	++*changed;
	return 0;
}

/* One transaction; again with a larger map, if it was full. */
static uint32_t change(const struct items *it, bool swap)
{
	uint32_t changed;
	for (;; grow()) {
		int rc = 0;
		changed = 0;
		begin(true);
		for (size_t i = 0; i < it->drop.n && !rc; i++)
			rc = drop_item(it->drop.a[i], &changed);
		if (rc == MDB_NOTFOUND) {
			drop_txn();
			return 0;
		}
		for (size_t i = 0; i < it->put.n && !rc; i++)
			rc = put_item(&it->put.a[i], &changed);
		if (rc || changed == 0)
			drop_txn();
		else
			rc = commit();
		if (!rc)
			return swap ? 1 : changed;
		if (rc != MDB_MAP_FULL)
			fail_lmdb(rc);
	}
}

static void read_items(const char *p, size_t n, bool swap, struct items *it)
{
	const char *end = p + n;
	*it = (struct items){0};
	if (swap) {
		uint64_t ndrop;
		memcpy(&ndrop, p, sizeof ndrop);
		p += sizeof ndrop;
		for (; ndrop; ndrop--, p += sizeof(struct digest)) {
			struct digest d;
			memcpy(&d, p, sizeof d);
			vec_push(&it->drop, d);
		}
	}
	while (p < end) {
		struct store_item item;
		memcpy(&item, p, sizeof item);
		item.text = p + sizeof item;
		p += sizeof item + item.n;
		vec_push(&it->put, item);
	}
}

static void free_items(struct items *it)
{
	vec_free(&it->put);
	vec_free(&it->drop);
}

struct answer {
	char *a;
	size_t n, cap;
};

static void append(struct answer *out, const void *p, size_t n)
{
	vec_reserve(out, out->n + n);
	memcpy(out->a + out->n, p, n);
	out->n += n;
}

/* Copies one record out of the map, if its text matches its id. */
static bool take(const MDB_val *key, const MDB_val *text, struct answer *out)
{
	if (key->mv_size != 16 || text->mv_size > KB_RECORD_MAX)
		return false;
	struct store_found f = {of_key(key->mv_data), text->mv_size};
	size_t at = out->n;
	append(out, &f, sizeof f);
	append(out, text->mv_data, text->mv_size);
	if (digest_eq(digest_bytes(out->a + at + sizeof f, f.n), f.id))
		return true;
	out->n = at;
	return false;
}

static const char *find_task(const struct store_range *r, struct answer *out)
{
	unsigned char task[16], last[16] = {0};
	MDB_cursor *c;
	MDB_val by = {16, task}, ref, text;
	const char *why = NULL;
	to_key(r->task, task);
	must(mdb_cursor_open(sv.txn, sv.tasks, &c));
	int rc = mdb_cursor_get(c, &by, &ref, MDB_SET_KEY);
	for (size_t n = 0; !rc && !why; n++) {
		if (ref.mv_size != 16 || (n && memcmp(ref.mv_data, last, 16) <= 0)) {
			why = "its index is out of order";
			break;
		}
		memcpy(last, ref.mv_data, 16);
		int got = mdb_get(sv.txn, sv.records, &ref, &text);
		if (got == MDB_NOTFOUND || (!got && !take(&ref, &text, out)))
			why = "a record is not there, or does not match its id";
		else if (got)
			why = mdb_strerror(got);
		else
			rc = mdb_cursor_get(c, &by, &ref, MDB_NEXT_DUP);
	}
	mdb_cursor_close(c);
	if (!why && rc != MDB_NOTFOUND)
		why = mdb_strerror(rc);
	return why;
}

/* Records with ids from lo to hi. all: that is all of them, and they must match the set record. */
static const char *find_range(const struct store_range *r, bool all, struct answer *out)
{
	unsigned char lo[16], hi[16], last[16] = {0};
	MDB_cursor *c;
	MDB_val key = {16, lo}, text;
	const char *why = NULL;
	struct digest sum = {0, 0};
	uint64_t n = 0;
	to_key(r->lo, lo);
	to_key(r->hi, hi);
	must(mdb_cursor_open(sv.txn, sv.records, &c));
	int rc = mdb_cursor_get(c, &key, &text, MDB_SET_RANGE);
	for (; !rc && !why && key.mv_size == 16 && memcmp(key.mv_data, hi, 16) <= 0; n++) {
		if (n >= sv.set.count || (n && memcmp(key.mv_data, last, 16) <= 0)) {
			why = "its records are out of order";
			break;
		}
		memcpy(last, key.mv_data, 16);
		sum = sum_of(sum, of_key(last));
		if (!take(&key, &text, out))
			why = "a record does not match its id";
		else
			rc = mdb_cursor_get(c, &key, &text, MDB_NEXT);
	}
	mdb_cursor_close(c);
	if (!why && rc && rc != MDB_NOTFOUND)
		why = mdb_strerror(rc);
	if (!why && all && (n != sv.set.count || !digest_eq(sum, sv.set.sum)))
		why = "records are missing: count and sum do not match";
	return why;
}

/* Without a lock, a writer may reuse pages while they are being read. Then they are read again. */
static void find(const struct store_range *r)
{
	static const struct digest none = {0, 0}, most = {UINT64_MAX, UINT64_MAX};
	struct answer out = {0};
	const char *why = NULL;
	for (int tries = 0;; tries++) {
		MDB_envinfo before, after;
		out.n = 0;
		mdb_env_info(sv.env, &before);
		begin(false);
		bool all = !r->by_task && digest_eq(r->lo, none) && digest_eq(r->hi, most);
		why = r->by_task ? find_task(r, &out) : find_range(r, all, &out);
		drop_txn();
		mdb_env_info(sv.env, &after);
		if (!sv.nolock || before.me_last_txnid == after.me_last_txnid || tries == UNLOCKED_TRIES)
			break;
	}
	if (why)
		damaged(why);
	frame_send(sv.fd, 0, 0, out.a, out.n);
	vec_free(&out);
}

/* Checks of the snapshot that is being read; they write lines to out. */

/* One record: its text must match its id, be canonical, and be in the index. */
static const char *check_record(const MDB_val *key, const MDB_val *text, MDB_cursor *index, uint64_t *tasks)
{
	struct answer out = {0};
	unsigned char task[16];
	struct digest t;
	const char *why = NULL;
	MDB_val by = {16, task}, ref = *key;
	if (!take(key, text, &out)) {
		why = "does not match its id";
	} else if (stored_task(text, &t)) {
		++*tasks;
		to_key(t, task);
		if (mdb_cursor_get(index, &by, &ref, MDB_GET_BOTH))
			why = "is missing in the index";
	}
	vec_free(&out);
	return why;
}

static bool check_pages(FILE *out)
{
	int fd = open(sv.path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		fail_lmdb(errno);
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		fail_lmdb(errno);
	bool known = pages_check(map, (size_t)st.st_size, mdb_txn_id(sv.txn), out);
	munmap(map, (size_t)st.st_size);
	close(fd);
	return known;
}

static bool check_records(FILE *out)
{
	MDB_cursor *c, *index;
	MDB_val key, text;
	MDB_stat st;
	struct digest sum = {0, 0};
	uint64_t n = 0, tasks = 0;
	must(mdb_cursor_open(sv.txn, sv.records, &c));
	must(mdb_cursor_open(sv.txn, sv.tasks, &index));
	int rc = mdb_cursor_get(c, &key, &text, MDB_FIRST);
	for (; !rc && n <= sv.set.count; n++, rc = mdb_cursor_get(c, &key, &text, MDB_NEXT)) {
		const char *why = key.mv_size == 16 ? check_record(&key, &text, index, &tasks) : "has no id";
		char hex[33] = "";
		if (key.mv_size == 16) {
			sum = sum_of(sum, of_key(key.mv_data));
			digest_hex(of_key(key.mv_data), hex);
		}
		if (why)
			fprintf(out, "record %s %s\n", hex, why);
	}
	if (rc && rc != MDB_NOTFOUND)
		fprintf(out, "records: %s\n", mdb_strerror(rc));
	if (n != sv.set.count || !digest_eq(sum, sv.set.sum))
		fprintf(out, "%llu records%s, and it was %llu that were written; count and sum do not match\n", (unsigned long long)n,
			rc ? "" : " or more", (unsigned long long)sv.set.count);
	must(mdb_stat(sv.txn, sv.tasks, &st));
	if (st.ms_entries != tasks)
		fprintf(out, "the index has %zu entries for %llu records\n", st.ms_entries, (unsigned long long)tasks);
	mdb_cursor_close(c);
	mdb_cursor_close(index);
	return true;
}

/* The faults that `part` finds in a snapshot, a line each, malloc'ed. Tried once more if part returns false, or if without a lock a
 * commit may have reused pages of the snapshot. */
static char *check_snapshot(bool (*part)(FILE *out), size_t *n)
{
	for (int tries = 0; tries < UNLOCKED_TRIES; tries++) {
		MDB_envinfo before, after;
		char *text;
		FILE *out = textfile_open(&text, n);
		mdb_env_info(sv.env, &before);
		begin(false);
		bool known = part(out);
		drop_txn();
		mdb_env_info(sv.env, &after);
		textfile_close(out);
		if (known && (!sv.nolock || before.me_last_txnid == after.me_last_txnid))
			return text;
		free(text);
	}
	fail(EX_SYSTEM, "was written to during each of %d tries to check it", UNLOCKED_TRIES);
}

/* First every page, then the records as LMDB reads them. The answer to the first part is sent before the second, which may crash. */
static void check_file(void)
{
	static bool (*const parts[])(FILE *) = {check_pages, check_records};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		size_t n;
		char *text = check_snapshot(parts[i], &n);
		frame_send(sv.fd, ANSWER_PART, 0, text, n);
		free(text);
	}
}

/* Refuses to write to a file with wrong lists of free pages: a writer would overwrite pages in use. */
static void refuse_damaged(void)
{
	size_t n;
	char *text = check_snapshot(check_pages, &n);
	text[strcspn(text, "\n")] = 0;
	if (*text)
		damaged(text);
	free(text);
}

static void stat_file(void)
{
	struct kb_stat out = {0};
	struct stat st;
	if (stat(sv.path, &st) == 0)
		out.bytes = (uint64_t)st.st_size;
	begin(false);
	MDB_val key = {6, "format"}, v;
	must(mdb_get(sv.txn, sv.meta, &key, &v));
	snprintf(out.format, sizeof out.format, "%.*s", (int)v.mv_size, (char *)v.mv_data);
	out.count = sv.set.count;
	out.sum = sv.set.sum;
	drop_txn();
	frame_send(sv.fd, 0, 0, &out, sizeof out);
}

static void serve_one(const struct store_frame *f, const char *p)
{
	struct items it;
	uint32_t value;
	switch (f->kind) {
	case STORE_OPEN:
		open_file();
		if (sv.write)
			refuse_damaged();
		frame_send(sv.fd, 0, 0, NULL, 0);
		break;
	case STORE_PUT:
	case STORE_SWAP:
		read_items(p, f->n, f->kind == STORE_SWAP, &it);
		value = change(&it, f->kind == STORE_SWAP);
		free_items(&it);
		frame_send(sv.fd, 0, value, NULL, 0);
		break;
	case STORE_FIND: find((const struct store_range *)(const void *)p); break;
	case STORE_STAT: stat_file(); break;
	case STORE_CHECK:
		check_file();
		frame_send(sv.fd, 0, 0, NULL, 0);
		break;
	}
}

noreturn void lmdb_serve(int fd, const char *path, bool write)
{
	struct msg_trap trap;
	struct store_frame f;
	static const struct itimerval limit = {.it_value.tv_sec = REQUEST_SECONDS};
	sv = (struct server){.fd = fd, .path = path, .write = write};
	if (setjmp(trap.at))
		fail(EX_SYSTEM, "%s", trap.why);
	msg_trap = &trap;
	while (frame_receive(fd, &f)) {
		char *p = xmalloc(f.n + 1);
		if (!bytes_receive(fd, p, f.n))
			break;
		setitimer(ITIMER_PROF, &limit, NULL);
		serve_one(&f, p);
		free(p);
	}
	if (sv.env)
		mdb_env_close(sv.env);
	_exit(0);
}
