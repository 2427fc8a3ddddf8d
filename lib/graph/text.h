/* The text form: people read it, diff works on it, tests are written in it. ge-load of ge-dump is
 * the same bytes. Described in doc/ge-stream.5. */
#ifndef HONE_TEXT_H
#define HONE_TEXT_H
#include <stdio.h>
#include "graph/module.h"
/* Large tensors are named by digest; their bytes are not put into the blob store. */
void text_write(FILE *f, struct module *m);
/* Next module of the text, or NULL at its end. Faults: die(65) with file and line. */
struct text_reader;
struct text_reader *text_open(const char *path);
/* The same of n bytes of memory, which stay until text_close. name: for messages. */
struct text_reader *text_open_bytes(const char *p, size_t n, const char *name);
struct module *text_read(struct text_reader *r);
void text_close(struct text_reader *r);
#endif
