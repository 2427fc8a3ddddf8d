/* Graph streams (doc/ge-stream.5): msgpack records, one module after another. */
#ifndef HONE_STREAM_H
#define HONE_STREAM_H
#include <stdio.h>
#include "graph/module.h"

struct stream_reader;
struct stream_writer;

/* path NULL or "-": standard input. Missing 66. */
struct stream_reader *stream_open(const char *path);
/* The next module, or NULL at the clean end. Cut, corrupt, wrong version: die(65) with the offset. An
 * abort record from upstream: die_silent(65). A stream of no module at all is 65. */
struct module *stream_read(struct stream_reader *r);
void stream_close(struct stream_reader *r);

/* Tensor data of at most STREAM_INLINE bytes goes inline; more goes to the blob store. pack: all
 * of it goes inline, after the records, as blobs. */
enum { STREAM_INLINE = 256 };
struct stream_writer *stream_create(const char *path, bool pack);
void stream_write(struct stream_writer *w, struct module *m);
void stream_finish(struct stream_writer *w); /* and frees w */

/* Digest of everything but provenance; what "equal" means. */
struct digest module_digest(struct module *m);

/* Reads one module from a stream file or (if a reader is registered by lib/onnx's users) .onnx. */
#endif
