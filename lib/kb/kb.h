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

#define KB_FORMAT "hone-kb 1.0" /* version of the files: a newer minor version can be read but not written; another major version neither */
#define KB_TEXT   "hone-kb 1"   /* first line of a dump */
enum {
	KB_RECORD_MAX = 16 << 20,    /* bytes of the canonical fields, see kb_length */
	KB_RECORD_HEAD = 7 + 32 + 1, /* of "record ID\n" before them */
};
#define KB_MATERIAL 0.99 /* a ratio above this is not worth a change of schedule */

/* A record: fields by name, in the canonical order of their names. Values are any text; of several lines: as they are. */
struct kb_field {
	const char *name, *value;
};
struct kb_record {
	struct kb_field *a;
	size_t n, cap;
	struct digest id; /* of the canonical text; kb_text and reading set it */
	int layer;        /* where it was read from, see kb_layer_path */
	double worth;     /* kb_find sets it: the result of all later measurements of its tuning; 0: the record itself says it */
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
 * Fields of kind "default" (a schedule that ratios are to): kind, task, target, trace.
 * Fields that are not known are kept. Older programs wrote rotation, look and looks for cold-weights, remeasurement and remeasurements:
 * kb_get_field finds these. */
const char *kb_get_field(const struct kb_record *r, const char *name); /* NULL: none */
/* Names are [a-z][a-z0-9_.-]*; NULL takes the field away. */
void kb_set_field(struct kb_record *r, const char *name, const char *value, struct arena *a);
/* Added to the message when a write fails: what the program has kept in earlier writes. NULL: nothing. */
extern const char *kb_before;
/* A value for a line on a terminal: what is not printable ASCII as \xNN; arena. */
const char *kb_shown(const char *s, struct arena *a);
/* Canonical text: "record ID\n", lines "name value\n" (continuation lines begin with a tab), an empty line. */
const char *kb_text(struct kb_record *r, struct arena *a); /* sets id */
/* Bytes of the fields in such a text: the id is their digest, a file holds them, and KB_RECORD_MAX limits them. */
size_t kb_length(const char *text);
/* One record from text at *s, moved on; false: end of text (*why NULL), or *why says what is wrong in line *line, which
 * the caller starts at 1. *why is kb_newer where the text is of a version that this program does not know. */
bool kb_parse(const char **s, const char *end, struct kb_record *r, struct arena *a, int *line, const char **why);
extern const char kb_newer[];

/* Files, in layers: explicit (--kb, HONE_KB), custom ($XDG_DATA_HOME/hone/kb), built-in (PREFIX/share/hone/kb). Each file is held open
 * by a process of its own, forked here: a damaged file can crash only that process. This process and those it forks hold no handle.
 * Errors end in die: 65 damaged, 66 path not there, 69 another version or a network file system, 71, 74. */
struct kb;
/* path NULL: HONE_KB, if set. write: to the first layer, which is made if it is not there. */
struct kb *kb_open(const char *path, bool write);
/* To read; if path names a file that is not there, it has no records. */
struct kb *kb_open_if_there(const char *path);
/* The first layer alone. Without a path from the caller or the environment: die(71). */
struct kb *kb_open_file(const char *path, bool write);
const char *kb_path(const char *path, struct arena *a); /* the path of that layer; errors as above */
/* A file beside the first layer, whose name goes on with the suffix; NULL: it has no place. */
const char *kb_beside(const char *path, const char *suffix, struct arena *a);
void kb_close(struct kb *k);
int kb_layers(const struct kb *k); /* how many there are; 0 is the one with the highest precedence */
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
/* Records of the task whose text has this digest. */
void kb_find_task(struct kb *k, struct digest task, struct kb_list *out, struct arena *a);
/* Records whose id begins with these hexadecimal digits. */
void kb_find_id(struct kb *k, const char *hex, struct kb_list *out, struct arena *a);
/* Digest of a trace without the lines at its head that begin with "#" (version, and what it was made for). It names the schedule. */
struct digest kb_trace_digest(const char *trace);
/* The base of a ratio, as the field `base` of records names it. */
struct kb_base {
	char digest[33];  /* kb_trace_digest, in hexadecimal */
	char stamped[33]; /* the digest that older versions of tune-op wrote: of the trace with those lines; "": not known */
};
struct kb_base kb_base_of(const char *trace);
/* Is that schedule the base of the record's ratio? */
bool kb_is_to(const struct kb_record *r, const struct kb_base *base);
/* Seconds of a call: the least time in any record of that task and target, of its kernel or its base. 0: there is none. A record that
 * contradicts itself, or that has a time below `possible`, which no machine of the target can do, is passed over. */
double kb_seconds(struct kb *k, const char *task, const char *target, double possible);
/* The record that wins for a task on a target. It is of that target, was timed against the default schedule, and has the verdict
 * faster. Of several, the one with the lowest mean over all processes that timed it wins or, if a record has no mean, the lowest upper
 * bound of the ratio; then layers by precedence. A record whose tuning found in the end that the schedule is slower than KB_MATERIAL
 * does not win. If the default has changed, so that records are ratios to different defaults, the best of each compete by least time.
 * NULL: none. base: as for kb_best_for; NULL: today's default is not known. why, if not NULL: the reason in words, arena. */
const struct kb_record *kb_best(struct kb *k, const char *task, const char *target, const struct kb_base *base, struct arena *a,
				const char **why);
/* The same among the records of that task and target that kb_find gave. */
const struct kb_record *kb_best_of(const struct kb_list *l, const char *task, const char *target);
/* The same, if today's default is known. A record timed against another default is used only if there is none against this one. And it
 * must have taken less time than this default in any record, unless no record says what that took. */
const struct kb_record *kb_best_for(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base);
/* The record of kind "graph" whose plan wins for a segment, among those that kb_find gave of it: by the same rule, where ratios are to the usual
 * groups (base; NULL: whichever), and only what was confirmed in other processes counts (mean). Records with so many bytes of cold weights
 * (cold, "": none, NULL: whichever) win before others. One that was measured elsewhere does not win if its plan was measured here. */
const struct kb_record *kb_best_plan(const struct kb_list *l, const char *task, const char *target, const char *base, const char *cold,
				     struct arena *a);
/* How a plan that wins stands now: what the segment takes with it, and with the usual groups, in units of what these took when it was timed. A kernel
 * that only one of them has (fields kernels, usual-kernels) counts with what its own record saves, unless it had that trace then. */
struct kb_standing {
	double plan, usual;
};
struct kb_standing kb_standing(struct kb *k, const struct kb_record *plan, const char *target, struct arena *a);
/* True if it is still materially faster: only then it is used. */
bool kb_stands(struct kb_standing s);
/* A kernel in these fields: "0.412:TASK:TRACE", its share of the segment's time, and digests; trace NULL: "default" for the last. */
const char *kb_kernel_text(double share, const char *task, const char *trace, struct arena *a);
/* The plan that wins for a segment, named by its text, and the reason in words; *why NULL: there is no record of kind "graph". */
const struct kb_record *kb_why_plan(struct kb *k, const char *task, const char *target, struct arena *a, const char **why);
/* The mean or bound that the choice above goes by; INFINITY: it has neither. The mean is that of the last remeasurement of the trace in
 * its tuning, if kb_find gave that record too. */
double kb_worth(const struct kb_record *r);
/* Why a record that could else win on that target is not believed, in words: its numbers contradict each other. NULL: it is. */
const char *kb_not_believed(const struct kb_record *r, const char *target);
/* Can it win on its own target? And of two that can, is a the better one (negative)? */
bool kb_can_win(const struct kb_record *r);
int kb_rank(const struct kb_record *a, const struct kb_record *b);
/* Marks what this user measured on this machine, by the field "seal": a digest of the other fields and of a key. The key is kept beside
 * the custom layer, is made for the first record, and is never sent anywhere. A record without a valid seal comes from elsewhere, was
 * changed, or is of a version before seals. It can win like any other, but whoever uses it times it first (hone-kb(5)). */
void kb_seal(struct kb_record *r, struct arena *a); /* the last step: no field may change after it */
bool kb_is_ours(const struct kb_record *r);
/* True of a record that was measured here or came with hone: whoever times nothing may use it. */
bool kb_is_trusted(const struct kb *k, const struct kb_record *r);
/* Compares targets by all fields that change a kernel's time (cores do not). 0: they are the same. */
int kb_compare_targets(const char *a, const char *b);
char *kb_target_key(const char *target); /* equal for equal targets; free it */
/* What differs, in words: "l3 16384K, not 32768K; compiler ..."; arena. */
const char *kb_target_differs(const char *target, const char *wanted, struct arena *a);
/* Was this trace measured on this target? A record of it, kind kernel or dropped, or NULL. */
const struct kb_record *kb_measured(const struct kb_list *l, const char *task, const char *target, const char *trace);
/* A record that says that this trace is slower than the default schedule there, or no kernel that is right; NULL: there is none, or another one
 * says that it is faster. base: as for kb_best_for; NULL: whichever. */
const struct kb_record *kb_refuted(const struct kb_list *l, const char *task, const char *target, const struct kb_base *base,
				   const char *trace);

/* What a file says of its contents. The sum is that of the ids, modulo 2^128. */
struct kb_stat {
	uint64_t count;
	struct digest sum;
	uint64_t bytes; /* of the file */
	char format[32];
};
void kb_stat(struct kb *k, int layer, struct kb_stat *out);
/* Checks every page and record of a file: one line for each fault, arena string; "": it is sound. Dies if it cannot check, not if the
 * file is damaged. */
const char *kb_check(struct kb *k, int layer, struct arena *a);
/* In one transaction, takes records out of the first layer and puts others in. false, and nothing is done: not all those to take out
 * were there, somebody else has taken some. Records that others put in meanwhile stay. */
bool kb_swap(struct kb *k, const struct digest *drop, size_t ndrop, struct kb_record *const *put, size_t nput);
/* The records of a file (path as for kb_open_file), sorted by id, even if it is too damaged for kb_find: then every record on any of
 * its pages that matches its id, even those that kb_swap took out. *why: what was wrong; the exit code for that is returned. */
enum exit_code kb_salvage(const char *path, struct kb_list *out, struct arena *a, const char **why);
#endif
