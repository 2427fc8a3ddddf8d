/* One file of the knowledge base, held open by a process of its own. LMDB trusts its pages, so a damaged file may cause SIGSEGV,
 * SIGBUS, an abort, overwritten memory or an endless loop: in that process, not here. The process ends when the socket to it is closed,
 * also if this process is killed; but never in the middle of a transaction that was asked for. */
#ifndef HONE_KB_STORE_H
#define HONE_KB_STORE_H
#include <stdnoreturn.h>
#include "common/msg.h"
#include "kb/kb.h"

enum store_op { STORE_OPEN, STORE_PUT, STORE_FIND, STORE_SWAP, STORE_STAT, STORE_CHECK };

/* A record on its way to the file; the text without its first and last line. */
struct store_item {
	struct digest id, task; /* task: of the field's text */
	bool has_task;
	const char *text;
	size_t n;
};
/* STORE_FIND: ids from lo to hi, or the records of a task. */
struct store_range {
	bool by_task;
	struct digest task, lo, hi;
};
/* What the answer to STORE_FIND begins with. */
struct store_found {
	struct digest id;
	uint64_t n; /* bytes of text behind it */
};

/* How a message ends if a write has failed as a whole; what was kept before is said behind it. */
#define STORE_UNKEPT "; nothing of this write is kept"

/* Both sides. */
struct store_frame {
	uint32_t kind; /* request: enum store_op; answer: 0, or the exit code to die with; ANSWER_PART: more follows */
	uint32_t value;
	uint64_t n; /* bytes that follow */
};
enum { ANSWER_PART = 0x100 };
#define STORE_DAMAGED "damaged: " /* how a message of EX_BADDATA begins if kb fsck may say more */
bool frame_send(int fd, uint32_t kind, uint32_t value, const void *p, size_t n);
bool frame_receive(int fd, struct store_frame *f);
bool bytes_receive(int fd, void *p, size_t n);

/* This side. */
struct store;
struct store *store_open(const char *path, bool write);
struct store *store_start(const char *path, bool write); /* starts the process only: the first request must be STORE_OPEN */
void store_close(struct store *s);
const char *store_path(const struct store *s);
/* One request and its answer, in the arena; *value: the number in the answer. Dies if the answer is an error. */
const char *store_call(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, uint32_t *value);
/* The same, but the answer may be an error or be cut short: *why says it, and its exit code is returned. */
const char *store_try(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, const char **why,
		      enum exit_code *code);
noreturn void store_damaged(const struct store *s, const char *what);

/* What every committed transaction writes to the file: count and sum as in struct kb_stat, and its own number txn. An older txn under a
 * newer head is found out by it. */
struct store_set {
	uint64_t count;
	struct digest sum;
	uint64_t txn, check; /* check: hash of what is before it */
};

/* The other side (lmdb.c): serves requests until the socket is closed. */
noreturn void lmdb_serve(int fd, const char *path, bool write);
/* check.c: faults in the pages of transaction txn in the mapped file, a line each to out. false: its head is gone, as the second commit
 * after it writes over that. */
bool pages_check(const unsigned char *map, size_t bytes, uint64_t txn, FILE *out);
/* salvage.c: every record on any page of the file that matches its id, in the form of an answer to STORE_FIND; some are there several
 * times. */
char *pages_salvage(const char *path, struct arena *a, size_t *n);
/* Are the two heads of the file well-formed? NULL, or what is wrong; *txn: the number of the newer one. */
const char *heads_check(const unsigned char *head, size_t n, uint64_t *txn);
/* Commits are written to the two heads in turn. Is the newer head of the last commit, and the older one of the commit before? A flipped
 * bit in the number of the newer one could make it the older, and so undo the last commit. The contents that the older head leads to
 * must have its number, too; they stay until a commit writes over them. */
const char *commits_check(int fd, const unsigned char *head, uint64_t newest);
#endif
