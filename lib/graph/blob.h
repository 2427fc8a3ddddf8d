/* The blob store: tensor bytes by content. A directory (HONE_BLOBS, else $XDG_DATA_HOME/hone/blobs, else
 * ~/.local/share/hone/blobs) of read-only files named by 128-bit digest, written to a temporary name
 * and renamed. Bytes may instead be referred to where they lie in a model or external data file: the directory refs has
 * an index for each such file, with its size and time. Data, not cache: nothing is cleared by itself. */
#ifndef HONE_BLOB_H
#define HONE_BLOB_H
#include "common/digest.h"

const char *blob_dir(void);
/* Stores n bytes if they are not there yet. Full disk, no permission: die(74). */
struct digest blob_put(const void *p, size_t n);
/* As blob_put, with the digest known already. */
void blob_put_known(struct digest d, const void *p, size_t n);
/* Refers to n pieces of a file, which is mapped at base, and fills in their digests: from the store, where it knows the
 * file and its time has not changed, without a look at the bytes; else hashed, in two threads where there are many. */
struct blob_ref {
	uint64_t offset, length;
	struct digest digest;
};
void blob_refer(const char *path, const void *base, size_t n, struct blob_ref *r);
/* The bytes that a reference names do not have its digest: such references go, so that an import looks again. */
void blob_forget(struct digest d);
bool blob_has(struct digest d, size_t n);
/* The bytes, read-only, for the life of the process: mapped, or read where they are small or not
 * 8-aligned in the file that is referred to. NULL: missing, or wrong length, or the
 * referenced file has changed (reason in *why). verify: the digest is checked too. */
const void *blob_map(struct digest d, size_t n, bool verify, const char **why);
/* As blob_map, without a look at the bytes, where they lie: of any alignment, and in a file that is referred to never copied. */
const void *blob_bytes(struct digest d, size_t n, const char **why);

/* For ge-gc. Calls f for each entry: file name in the store, the digests it has bytes of or refers to (none: what a
 * killed process left), bytes on disk. */
struct blob_entry {
	const char *name;
	int n;
	const struct digest *digest;
	uint64_t bytes;
};
void blob_each(void (*f)(const struct blob_entry *e, void *arg), void *arg);
void blob_remove(const char *name);
#endif
