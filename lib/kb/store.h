/* One file of the knowledge base, held open by a process of its own. LMDB believes what its pages say, so a damaged
 * file may end in SIGSEGV, SIGBUS, an abort, memory overwritten or no end at all: there, not here. The process ends when
 * the socket to it is closed, also by a kill of this one, and never in the middle of a transaction that was asked for. */
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

/* What a message ends with where a write has failed whole: what was kept before it is said behind that. */
#define STORE_UNKEPT "; nothing of this write is kept"

/* Both sides. */
struct store_frame {
	uint32_t kind; /* request: enum store_op; answer: 0, or the exit code to die with; ANSWER_PART: more follows */
	uint32_t value;
	uint64_t n; /* bytes that follow */
};
enum { ANSWER_PART = 0x100 };
#define STORE_DAMAGED "damaged: " /* what an error of EX_BADDATA begins with where kb fsck may say more */
bool frame_send(int fd, uint32_t kind, uint32_t value, const void *p, size_t n);
bool frame_receive(int fd, struct store_frame *f);
bool bytes_receive(int fd, void *p, size_t n);

/* This side. */
struct store;
struct store *store_open(const char *path, bool write);
struct store *store_start(const char *path, bool write); /* the process alone: STORE_OPEN is to be asked first */
void store_close(struct store *s);
const char *store_path(const struct store *s);
/* One request and its answer, in the arena; *value: the number in the answer. Dies if the answer is an error. */
const char *store_call(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, uint32_t *value);
/* The same, but the answer may be an error, or break off: then *why is what, with the exit code for it. */
const char *store_try(struct store *s, enum store_op op, const void *p, size_t n, struct arena *a, size_t *len, const char **why,
		      enum exit_code *code);
noreturn void store_damaged(const struct store *s, const char *what);

/* What every committed transaction leaves in the file: count and sum as in struct kb_stat; txn is the transaction that
 * wrote it: an older one under a newer head shows. */
struct store_set {
	uint64_t count;
	struct digest sum;
	uint64_t txn, check; /* check: hash of what is before it */
};

/* The other side (lmdb.c): serves requests until the socket is closed. */
noreturn void lmdb_serve(int fd, const char *path, bool write);
/* check.c: what is wrong with the pages of transaction txn in the mapped file; a line a fault to out. false: its head,
 * which the second commit after it writes over, is not there any more. */
bool pages_check(const unsigned char *map, size_t bytes, uint64_t txn, FILE *out);
/* salvage.c: every record on any page of the file that matches its id, as STORE_FIND answers; some several times. */
char *pages_salvage(const char *path, struct arena *a, size_t *n);
/* Have the two heads of the file the form that they must have? NULL, or what is wrong; *txn: the newer one's. */
const char *heads_check(const unsigned char *head, size_t n, uint64_t *txn);
/* Commits go to the two heads in turn: is the newer one of the last commit, and the older one of that before? One flipped bit
 * of the newer one's number could make it the older, and the commit before it the last: what the older one leads to must
 * say the same. Its pages stay until a commit writes over it. */
const char *commits_check(int fd, const unsigned char *head, uint64_t newest);
#endif
