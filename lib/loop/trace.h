/* Traces in memory: a line is a primitive and its operands. Who makes, applies or changes a trace works on these; text is for the
 * boundary (streams, records, files, people), and is read and written in trace_text.c alone. prim.h has the language. */
#ifndef HONE_TRACE_H
#define HONE_TRACE_H
#include "common/vec.h"
#include "loop/loop.h"

enum { TRACE_WORDS_MAX = 80 }; /* results, operands or decisions of one line */

enum prim_id {
	PRIM_NONE,    /* an empty line, or a comment */
	PRIM_UNKNOWN, /* no such primitive */
	PRIM_LONG,    /* more than TRACE_WORDS_MAX words */
	PRIM_ALGO,
	PRIM_SAMPLE_SPLIT,
	PRIM_SAMPLE_CHOICE,
	PRIM_SPLIT,
	PRIM_REORDER,
	PRIM_FUSE,
	PRIM_AT,
	PRIM_ROOT,
	PRIM_AFTER,
	PRIM_INLINE,
	PRIM_INIT,
	PRIM_CACHE,
	PRIM_PARTIAL,
	PRIM_RFACTOR,
	PRIM_SCOPE,
	PRIM_LAYOUT,
	PRIM_VECTOR,
	PRIM_UNROLL,
	PRIM_PARALLEL,
	PRIM_PARTITION,
	PRIM_TENSOR,
	PRIM_OUTLINE,
	PRIM_PREFETCH,
	PRIM_COUNT,
};
extern const char *const prim_name[PRIM_COUNT]; /* NULL for those that are no primitives */

/* Results, operands, decisions: interned words. A word is a name (of a loop, a stage, a buffer), a number, a name that a sample has
 * bound, or a product of those; "tail=peel" and "0/vectors*16" hold such a word. */
struct trace_line {
	enum prim_id prim;
	int nres, narg, ndec;
	const char *name; /* of the primitive, known or not */
	const char **res, **arg, **dec;
	bool gap;         /* two blanks before the operands in text: traces that are stored have them, and are known by their bytes */
	const char *text; /* as it was read, with its comment; NULL: made in memory, or changed since */
};
struct trace {
	struct trace_line *a;
	size_t n, cap;
};

/* ---- text (trace_text.c); all that is made lies in the arena, but for the array of lines: vec_free(t) ---- */

/* The line from s to end. */
struct trace_line trace_read_line(struct arena *a, const char *s, const char *end);
struct trace trace_read(struct arena *a, const char *text);
/* One line a row; those that were read and have not changed are the same bytes. */
const char *trace_write(struct arena *a, const struct trace *t);

/* ---- records ---- */

const char *trace_number(int64_t n); /* as a word */
/* "name = sample.choice WORD... := WORD" */
struct trace_line trace_choice(struct arena *a, const char *name, int n, const char *const *choice, const char *decision);
/* The line with the last decision replaced. */
void trace_set_decision(struct arena *a, struct trace_line *l, const char *decision);
/* Choices are numbers, or words: the first one decides. */
static inline bool trace_is_number(const char *w) { return *w == '-' || (*w >= '0' && *w <= '9'); }

/* Applies one line. first: no line came before it. adapt: as loop_apply; the line has the decisions then that were taken. NULL, or why
 * not: the program is untouched. */
const char *trace_apply_line(struct loop_prog *p, struct trace_line *l, bool first, bool adapt);
/* All lines. NULL, or "line 3: split: why not". */
const char *trace_apply(struct loop_prog *p, struct trace *t, bool adapt);
#endif
