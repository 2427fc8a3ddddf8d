/* Output that is whole or not there: written under a temporary name, renamed when closed. */
#ifndef HONE_OUTFILE_H
#define HONE_OUTFILE_H
#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *f;
	char *path, *tmp; /* NULL for standard output */
	int hook;
};

/* path NULL or "-": standard output. binary: refuse (64) when standard output is a terminal.
 * If the process dies before outfile_close the temporary is removed. Errors are 74. */
void outfile_open(struct outfile *o, const char *path, bool binary);
/* Flushes, checks every error (a full disk is 74), renames into place. */
void outfile_close(struct outfile *o);

/* A whole file mapped for reading. Missing: 66; a directory or device that cannot be read: 66/74. */
struct mapped {
	const unsigned char *p;
	size_t n;
	bool heap; /* read from a pipe into memory, not mapped */
	char *path;
};
/* A file that is cut while it is mapped ends a program that reads on by SIGBUS. What is mapped is told here, with its path (kept by
 * the caller); where mapping_guard was called, which main does, it is one line and 74 instead. Libraries leave that to the program. */
void mapping_guard(void);
void mapping_add(const void *p, size_t n, const char *path);
void mapping_remove(const void *p);
/* The n bytes at p are not needed soon. Where they lie in a mapping, their pages leave memory, and are read again when they are needed. */
void mapping_forget(const void *p, size_t n);
/* NULL or "-": standard input. What cannot be mapped (a pipe, a device) is read to its end, which has to come within 2 GiB (74). */
void mapped_open(struct mapped *m, const char *path);
/* The same for formats that are known by how they begin, however long: where the bytes read so far do not, no more are read, and
 * the reader has what it refuses. At most half of the machine's memory. */
void mapped_open_if(struct mapped *m, const char *path, bool (*begins)(const unsigned char *p, size_t n));
/* The first n bytes are not needed soon: they leave memory where they can be read again. */
void mapped_forget(struct mapped *m, size_t n);
void mapped_close(struct mapped *m);
#endif
