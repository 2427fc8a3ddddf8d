/* The knowledge base: what was measured, and remembered. LMDB files in layers; a record is text, its id the digest of
 * that text, so that merging is the union of ids. hone-kb(5) has the form. */
#ifndef HONE_KB_H
#define HONE_KB_H
#include <stdbool.h>
#include <stdio.h>
#include "common/arena.h"
#include "common/digest.h"
#include "common/msg.h"
#include "common/vec.h"

#define KB_FORMAT "hone-kb 1.0" /* of the files; a newer minor can be read, not written; another major neither */
#define KB_TEXT   "hone-kb 1"   /* first line of a dump */
enum {
	KB_RECORD_MAX = 16 << 20,    /* bytes of the canonical fields, see kb_length */
	KB_RECORD_HEAD = 7 + 32 + 1, /* of "record ID\n" before them */
};
#define KB_MATERIAL 0.99 /* of the default's time: less is not worth a change */

/* A record: fields by name, in the canonical order of their names. Values are any text; of several lines: as they are. */
struct kb_field {
	const char *name, *value;
};
struct kb_record {
	struct kb_field *a;
	size_t n, cap;
	struct digest id; /* of the canonical text; kb_text and reading set it */
	int layer;        /* where it was read from, see kb_layer_path */
	double worth;     /* with all that its tuning measured of it since, kb_find sets it; 0: as the record says */
};
/* Fields of kind "kernel" (what tune-op writes):
 *   kind kernel | task TEXT | target ROW | trace TEXT | stages DIGEST (of the stage text) | verdict WORD | why TEXT
 *   samples "ps/ps ps/ps ..." (candidate/base, picoseconds a call) | ratio R | lo R | hi R (candidate / base)
 *   base DIGEST (of the schedule that it is a ratio to, see struct kb_base) | against default|incumbent | tool "tune-op 0.1.0 ..." | trial N
 *   cold-weights BYTES (copies of the constants that calls went through; none: the same at each call)
 *   mean R (against default: of all remeasurements of the choice so far) | remeasurements N (how many) |
 *   kept no (after this one the tuning dropped its choice)
 *   remeasurement N (incumbent: a choice timed again before it counts; default: once more since; no trial) | source DIGEST (of the C) |
 *   session HEX
 * seal DIGEST (kb_seal)
 * Fields of kind "search" (it was done to its end): kind, task, target, base, tool, trials N|all, ratio R.
 * Fields of kind "dropped" (what kb gc leaves of one): all but trace, samples, stages, tool, trial and such; of ID,
 *   trace-digest DIGEST (kb_trace_digest).
 * Fields that are not known are kept. Older programs wrote rotation, look and looks for cold-weights, remeasurement and remeasurements:
 * kb_get_field finds these. */
const char *kb_get_field(const struct kb_record *r, const char *name); /* NULL: none */
/* Names are [a-z][a-z0-9_.-]*; NULL takes the field away. */
void kb_set_field(struct kb_record *r, const char *name, const char *value, struct arena *a);
/* Said behind what ends a write: what a program has kept in writes before it. NULL: nothing. */
extern const char *kb_before;
/* A value for a line on a terminal: what is not printable ASCII as \xNN; arena. */
const char *kb_shown(const char *s, struct arena *a);
/* Canonical text: "record ID\n", lines "name value\n" (continuation lines begin with a tab), an empty line. */
const char *kb_text(struct kb_record *r, struct arena *a); /* sets id */
/* Bytes of the fields in such a text: what the id is of, what a file holds, and what is limited. */
size_t kb_length(const char *text);
/* One record from text at *s, moved on; false: end of text (*why NULL), or *why says what is wrong in line *line, which
 * the caller starts at 1. *why is kb_newer where the text is of a version that this program does not know. */
bool kb_parse(const char **s, const char *end, struct kb_record *r, struct arena *a, int *line, const char **why);
extern const char kb_newer[];

/* Files, in layers: explicit (--kb, HONE_KB), custom ($XDG_DATA_HOME/hone/kb), built-in (PREFIX/share/hone/kb). Every
 * file is held open by a process of its own, forked here, which is what a damaged file can crash; this process and
 * what it forks hold no handle. Whatever goes wrong ends in die: 65 damaged, 66 path not there, 69 of another version or
 * on a network file system, 71, 74. */
struct kb;
/* path NULL: HONE_KB, if set. write: to the first layer, which is made if it is not there. */
struct kb *kb_open(const char *path, bool write);
/* To read; a file that path names and that is not there has no records. */
struct kb *kb_open_if_there(const char *path);
/* The first layer alone, which there must be; 71 where neither path nor the environment says where. */
struct kb *kb_open_file(const char *path, bool write);
const char *kb_path(const char *path, struct arena *a); /* of that layer; 71 the same */
void kb_close(struct kb *k);
int kb_layers(const struct kb *k); /* those that are there, the first by precedence is 0 */
const char *kb_layer_path(const struct kb *k, int layer);
const char *kb_layer_name(const struct kb *k, int layer); /* "explicit", "custom", "built-in" */

/* One durable transaction; records there already are left out. Returns how many were new. */
size_t kb_put(struct kb *k, struct kb_record *const *r, size_t n);

/* Records of one task, or (task NULL) of a kind, or (both NULL) all; sorted by id, each once; arena. */
struct kb_list {
	struct kb_record *a;
	size_t n, cap;
};
void kb_find(struct kb *k, const char *kind, const char *task, struct kb_list *out, struct arena *a);
/* Records whose id begins with these hexadecimal digits. */
void kb_find_id(struct kb *k, const char *hex, struct kb_list *out, struct arena *a);
/* Of a trace without the lines at its head that begin with "#": its version and what it was made for. This names a schedule. */
struct digest kb_trace_digest(const char *trace);
/* The schedule that a ratio is a ratio to, as records name it in their field base. */
struct kb_base {
	char digest[33];  /* its own: kb_trace_digest, in hexadecimal */
	char stamped[33]; /* as tune-op wrote it before: of the trace with those lines; "": as it is not known */
};
struct kb_base kb_base_of(const char *trace);
/* Is the record's ratio one to that schedule? */
bool kb_is_to(const struct kb_record *r, const struct kb_base *base);
/* Seconds of a call: the least that any record of that task and target measured, of its kernel or of its base. 0: there is none. */
double kb_seconds(struct kb *k, const char *task, const char *target);
/* The record that wins for a task on a target: exact target, timed against the default schedule, verdict faster, lowest
 * mean over all processes that it was timed in, or, where the record has none, lowest upper bound of the ratio; layers by
 * precedence. What its tuning found to be slower than KB_MATERIAL in the end does not win. Where records were timed against
 * different defaults (it has changed since), the best of each compete by the least of their times. NULL: none. base: as for
 * kb_best_for, or NULL: today's default is not known. why, if not NULL: in words over which it wins, arena. */
const struct kb_record *kb_best(struct kb *k, const char *task, const char *target, const struct kb_base *base, struct arena *a,
				const char **why);
/* The same among records that kb_find gave: of that task and target. */
const struct kb_record *kb_best_of(const struct kb_list *l, const char *task, const char *target);
/* The same where today's default is known: a record timed against another is used
 * only if there is none against this one, and if it took less time than this one did in any record, or none says what that
 * took. */
const struct kb_record *kb_best_for(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base);
/* That mean, or bound; INFINITY: it has neither. The mean is that of its tuning's last remeasurement of the trace, as far as kb_find
 * gave that too. */
double kb_worth(const struct kb_record *r);
/* Could it win on its own target; and of two that can, is a better (negative)? */
bool kb_can_win(const struct kb_record *r);
int kb_rank(const struct kb_record *a, const struct kb_record *b);
/* What was measured here: by this user, from this machine. A record is that by its field "seal": a digest of the others and of
 * a key that is kept beside the custom layer, made for the first record, and goes nowhere. What came from elsewhere, was changed, or
 * is of a program that had no seals yet, is not: it wins as others do, and whoever uses it times it first (hone-kb(5)). */
void kb_seal(struct kb_record *r, struct arena *a); /* as the last thing */
bool kb_is_ours(const struct kb_record *r);
/* Targets by all fields but those that change no kernel's time (cores): 0: they are the same. */
int kb_compare_targets(const char *a, const char *b);
char *kb_target_key(const char *target); /* equal where targets are; to be freed */
/* What differs, in words: "l3 16384K, not 32768K; compiler ..."; arena. */
const char *kb_target_differs(const char *target, const char *wanted, struct arena *a);
/* Was this trace measured on this target? A record of it, kind kernel or dropped, or NULL. */
const struct kb_record *kb_measured(const struct kb_list *l, const char *task, const char *target, const char *trace);

/* What a file says of itself. The sum is that of the ids, modulo 2^128. */
struct kb_stat {
	uint64_t count;
	struct digest sum;
	uint64_t bytes; /* of the file */
	char format[32];
};
void kb_stat(struct kb *k, int layer, struct kb_stat *out);
/* Looks at every page and record of a file; one line a fault, arena string; "": sound. Does not die of damage, but of what keeps
 * it from looking. */
const char *kb_check(struct kb *k, int layer, struct arena *a);
/* Takes records out of the first layer and puts others in, in one transaction, if those to take out are all there; false: they
 * are not, somebody took some out meanwhile. What others put meanwhile is as if it came later. */
bool kb_swap(struct kb *k, const struct digest *drop, size_t ndrop, struct kb_record *const *put, size_t nput);
/* The records of a file (path as for kb_open_file), sorted by id, also where kb_find dies of damage: then every one on any of
 * its pages that matches its id, among them such as kb_swap took out; *why is what was wrong, and the exit code for that is
 * returned. */
enum exit_code kb_salvage(const char *path, struct kb_list *out, struct arena *a, const char **why);
#endif
