/* The blob store: tensor bytes by content. A directory (HONE_BLOBS, else $XDG_DATA_HOME/hone/blobs, else
 * ~/.local/share/hone/blobs) of read-only files named by 128-bit digest, written to a temporary name
 * and renamed. An entry may instead be a reference (path, offset, length, size, mtime) into a model or
 * external data file. Data, not cache: nothing is cleared by itself. */
#ifndef HONE_BLOB_H
#define HONE_BLOB_H
#include "common/digest.h"

const char *blob_dir(void);
/* Stores n bytes if they are not there yet. Full disk, no permission: die(74). */
struct digest blob_put(const void *p, size_t n);
/* As blob_put, with the digest known already. */
void blob_put_known(struct digest d, const void *p, size_t n);
/* Records that the bytes (already digested by the caller) are in path at offset. */
void blob_put_ref(struct digest d, const char *path, uint64_t offset, size_t n);
bool blob_has(struct digest d, size_t n);
/* The bytes, read-only, for the life of the process: mapped, or read where they are small or not
 * 8-aligned in the file that is referred to. NULL: missing, or wrong length, or the
 * referenced file has changed (reason in *why). verify: the digest is checked too. */
const void *blob_map(struct digest d, size_t n, bool verify, const char **why);

/* For ge-gc. Calls f for each entry: file name in the store, its digest (all zero and temporary set:
 * what a killed process left), bytes on disk. */
struct blob_entry {
	const char *name;
	struct digest digest;
	bool temporary;
	uint64_t bytes;
};
void blob_each(void (*f)(const struct blob_entry *e, void *arg), void *arg);
void blob_remove(const char *name);
#endif
