/* A GGUF file, as ggml's programs write it: named values, then tensors, many of them in blocks of few bits. It is checked here, once:
 * what is behind a pointer of these structs lies in the file. */
#ifndef HONE_GGUF_FILE_H
#define HONE_GGUF_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include "common/arena.h"
#include "onnx/gguf/blocks.h"

/* Types of values, by the format's numbers. */
enum {
	GGUF_U8,
	GGUF_I8,
	GGUF_U16,
	GGUF_I16,
	GGUF_U32,
	GGUF_I32,
	GGUF_F32,
	GGUF_BOOL,
	GGUF_STRING,
	GGUF_ARRAY,
	GGUF_U64,
	GGUF_I64,
	GGUF_F64
};

struct gguf_text {
	const char *p; /* not ended by a NUL, and any byte may be in it */
	size_t n;
};

struct gguf_value {
	struct gguf_text key;
	int type;                /* of an array: GGUF_ARRAY */
	int element;             /* type of the elements; of no array: type */
	uint64_t count;          /* elements; of no array: 1 */
	const unsigned char *at; /* the first element */
};

struct gguf_tensor {
	struct gguf_text name;
	const struct block_type *type;
	int rank;
	int64_t dims[4]; /* as the file has them, the innermost first; 1 beyond rank */
	const unsigned char *data;
	size_t nbytes;
	size_t at; /* of its entry, for messages */
	bool used; /* the model has a place for it (model.c) */
};

struct gguf {
	const char *path;
	const unsigned char *p;
	size_t n;
	struct gguf_value *value; /* by key */
	size_t nvalue;
	struct gguf_tensor *tensor; /* by name */
	size_t ntensor;
};

/* Do the n bytes at p begin as a GGUF file? */
bool gguf_begins(const unsigned char *p, size_t n);
/* Reads n bytes of file path; arrays are of arena a. Cut short, or a count, length, offset or type that cannot be: die(65) with the offset.
 * A version, or a type of a tensor, that is not read: die(69). */
void gguf_read(struct gguf *g, const char *path, const unsigned char *p, size_t n, struct arena *a);

/* NULL: the file has none of that name. */
const struct gguf_value *gguf_value(const struct gguf *g, const char *key);
struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);
/* Numbers of a value that is one number; none: otherwise. Not a number, or not one that the type has: die(65). */
int64_t gguf_int(const struct gguf *g, const char *key, int64_t otherwise);
double gguf_float(const struct gguf *g, const char *key, double otherwise);
/* Is value v (or none) that string? */
bool gguf_is_string(const struct gguf_value *v, const char *s);
/* The string at *p, which gguf_read has checked; *p is then behind it. */
struct gguf_text gguf_text_at(const unsigned char **p);
/* A number of that type at p: bools are 0 and 1. */
double gguf_number_at(int type, const unsigned char *p);
/* An integer of that type at p, exactly; u64 as the bits are. */
int64_t gguf_int_at(int type, const unsigned char *p);
size_t gguf_type_size(int type); /* 0: not fixed, or no type */

/* "FILE:OFFSET: what", 65. at: in the file, of g->p. */
noreturn void gguf_die(const struct gguf *g, const void *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* "FILE:OFFSET: what", 69: sound, but not for this program. */
noreturn void gguf_unsupported(const struct gguf *g, const void *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#endif
