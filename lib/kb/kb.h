/* The knowledge base: what was measured, and remembered. LMDB files in layers; a record is text, its id the digest of
 * that text, so that merging is the union of ids. hone-kb(5) has the form. */
#ifndef HONE_KB_H
#define HONE_KB_H
#include <stdbool.h>
#include <stdio.h>
#include "common/arena.h"
#include "common/digest.h"
#include "common/vec.h"

/* A record: fields by name, in the canonical order of their names. Values are any text; of several lines: as they are. */
struct kb_field {
	const char *name, *value;
};
struct kb_record {
	struct kb_field *a;
	size_t n, cap;
	struct digest id; /* of the canonical text; kb_seal and reading set it */
};
/* Fields of kind "kernel" (what tune-op writes):
 *   kind kernel | task TEXT | target ROW | trace TEXT | stages DIGEST (of the stage text) | verdict WORD | why TEXT
 *   samples "ps/ps ps/ps ..." (candidate/base, picoseconds a call) | ratio R | lo R | hi R (candidate / base)
 *   base DIGEST (of the trace it was timed against) | against default|incumbent | tool "tune-op 0.1.0 ..." | trial N
 * Fields that are not known are kept. */
const char *kb_get_field(const struct kb_record *r, const char *name); /* NULL: none */
void kb_set_field(struct kb_record *r, const char *name, const char *value, struct arena *a);
/* Canonical text: "record ID\n", lines "name value\n" (continuation lines begin with a tab), an empty line. */
const char *kb_text(struct kb_record *r, struct arena *a); /* sets id */
/* One record from text at *s, moved on; false: end of text. *why: what is wrong, and *line goes on counting. */
bool kb_parse(const char **s, const char *end, struct kb_record *r, struct arena *a, int *line, const char **why);

/* Files, in layers: explicit (--kb, HONE_KB), custom ($XDG_DATA_HOME/hone/kb), built-in (libexec ../share/hone/kb). */
struct kb;
struct kb *kb_open(const char *path, bool write); /* NULL: the layers; written is the first. die(66, 71, 74) */
void kb_close(struct kb *k);
/* One durable transaction; records there already are left out. Returns how many were new. */
size_t kb_put(struct kb *k, struct kb_record *const *r, size_t n);

/* Records of one task, or (task NULL) of a kind, or (both NULL) all; sorted by id; arena. */
struct kb_list {
	struct kb_record *a;
	size_t n, cap;
};
void kb_find(struct kb *k, const char *kind, const char *task, struct kb_list *out, struct arena *a);
/* The record that wins for a task on a target: exact target, timed against the rule's default, verdict faster, lowest
 * upper bound of the ratio; layers by precedence. NULL: none. why, if not NULL: in words over which it wins, arena. */
const struct kb_record *kb_best(struct kb *k, const char *task, const char *target, struct arena *a, const char **why);
#endif
