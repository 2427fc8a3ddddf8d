/* Graph streams (doc/ge-stream.5): msgpack records, one module after another. */
#ifndef HONE_STREAM_H
#define HONE_STREAM_H
#include <stdio.h>
#include "graph/module.h"

struct stream_reader;
struct stream_writer;

/* path NULL or "-": standard input. Missing 66. A tool that also writes a stream calls stream_create
 * first: then whatever goes wrong here is told downstream by an abort record. */
struct stream_reader *stream_open(const char *path);
/* Opens n bytes of memory in place of a file; they stay as long as the modules. name: for messages. */
struct stream_reader *stream_open_bytes(const void *p, size_t n, const char *name);
/* Does a stream begin with these n bytes? As far as there are any. */
bool stream_begins(const unsigned char *p, size_t n);
/* The next module, or NULL at the clean end. Cut, corrupt, wrong version: die(65) with the offset. An
 * abort record from upstream: die_silent(65). A stream of no module at all is 65. */
struct module *stream_read(struct stream_reader *r);
/* The only module of a stream, read to its end: a second one, or anything else behind it, is 65. */
struct module *stream_read_only(struct stream_reader *r);
/* Modules read stay whole: what they refer to in the input stays mapped. */
void stream_close(struct stream_reader *r);

/* Tensor data of at most STREAM_INLINE bytes goes inline; more goes to the blob store. pack: all
 * of it goes into the stream, as blobs after the records. */
enum { STREAM_INLINE = 256, STREAM_VERSION = 1 };
/* A path that ends in .onnx is refused. Until stream_finish, a process that dies ends what it wrote to standard output with an abort record. */
struct stream_writer *stream_create(const char *path, bool pack);
void stream_write(struct stream_writer *w, struct module *m);
/* Bytes that are modules already. */
void stream_write_bytes(struct stream_writer *w, const void *p, size_t n);
void stream_finish(struct stream_writer *w); /* and frees w */

/* Digest of everything but provenance; what "equal" means. */
struct digest module_digest(struct module *m);

/* The same from and to memory. One module at p[*pos]; *pos moves behind it. NULL: fault says why and
 * where, or that an abort record was met. source: for messages of what uses the module. */
struct stream_fault {
	size_t offset;
	bool aborted;
	char why[256];
};
struct module *stream_parse(const void *p, size_t n, size_t *pos, const char *source, struct stream_fault *fault);
char *stream_bytes(struct module *m, bool pack, size_t *n); /* free it */
#endif
