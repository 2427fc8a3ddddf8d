/* Facts are what a tool tells the program that started it: one object of JSON in the file that --facts names. Messages are for
 * people, and no program reads them. */
#ifndef HONE_FACTS_H
#define HONE_FACTS_H
#include <stdbool.h>
#include <stddef.h>

/* ---- to tell: nothing is done where --facts was not given ---- */

/* path outlives the process. From here on notes are facts, too, each a text "note", and a die adds a text "error" with what it says.
 * facts_end writes them; so does a die. */
void facts_begin(const char *path);
void facts_end(void);
bool facts_wanted(void);
void facts_number(const char *name, double v); /* in place of an earlier one of this name */
void facts_text(const char *name, const char *text);
void facts_add(const char *name, const char *text); /* one more of that name */

/* ---- to read ---- */

struct fact {
	const char *name; /* of a value inside others, "outer.inner"; elements of a list have the list's name */
	const char *text; /* NULL: a number */
	double number;    /* true is 1, false is 0, and null is NAN */
};
struct facts {
	size_t n;
	struct fact *a;
};
/* Any JSON of text_size bytes; not JSON: die(65), with path in the message. What is returned stays for the life of the process. */
struct facts facts_parse(const char *path, const char *text, size_t text_size);
struct facts facts_read(const char *path);                      /* no such file: no facts */
const char *facts_get(const struct facts *f, const char *name); /* the first text of that name, or NULL */
double facts_value(const struct facts *f, const char *name);    /* the first number, or NAN */
#endif
