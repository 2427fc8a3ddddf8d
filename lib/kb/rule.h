/* Private to lib/kb: the rule by which a record wins (best.c), and the same in words (why.c). */
#ifndef HONE_KB_RULE_H
#define HONE_KB_RULE_H
#include "kb/kb.h"

/* One rule for what a kernel is made by, and for how the nodes of a segment are grouped. */
struct rule {
	const char *kind;
	const char *what;             /* the field that wins */
	const char *counts, *value;   /* only records whose field has this value count; value NULL: any */
	const char *passing;          /* why the others do not */
	const char *usual, *outdated; /* in words: whose time ratios are to, now and of older programs */
};
extern const struct rule rule_schedules, rule_plans;

/* Why a record of the task cannot win, in words; NULL: it can. */
const char *rule_excludes(const struct rule *rule, const struct kb_list *l, const struct kb_record *r, const char *target);
bool field_is(const struct kb_record *r, const char *name, const char *value);
bool is_of_target(const struct kb_record *r, const char *target);
/* Picoseconds of a call, the least of the record's samples that are no 0: of its kernel, or of the default that it was timed against. */
double least_time(const struct kb_record *r, bool base);
/* Are the ratios of both to the same? */
bool same_base(const struct kb_record *a, const struct kb_record *b);
#endif
