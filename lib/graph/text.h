/* The text form: people read it, diff works on it, tests are written in it. ge-load of ge-dump is
 * the same bytes. Described in doc/ge-stream.5. */
#ifndef HONE_TEXT_H
#define HONE_TEXT_H
#include <stdio.h>
#include "graph/module.h"
/* Large tensors are named by digest; their bytes are not put into the blob store. */
void text_write(FILE *f, struct module *m);
/* Writes the module as JSON, whose strings are pieces of the text form (doc/ge-stream.5). */
void json_form_write(FILE *f, struct module *m);
/* The text form of n bytes of JSON, modules one behind the other; free it. path is for messages: die(65) with the offset. */
char *json_form_text(const char *path, const char *p, size_t n, size_t *size);
/* Next module of the text, or NULL at its end. Faults: die(65) with file and line. */
struct text_reader;
struct text_reader *text_open(const char *path); /* text, or the same as JSON */
/* Opens n bytes of memory in place of a file; they stay until text_close. name: for messages. */
struct text_reader *text_open_bytes(const char *p, size_t n, const char *name);
struct module *text_read(struct text_reader *r);
void text_close(struct text_reader *r);
#endif
