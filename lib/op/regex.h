/* Regular expressions in RE2's syntax, matched against whole strings in time linear in them. Left out, and refused by name: \C, \p and \P. */
#ifndef HONE_REGEX_H
#define HONE_REGEX_H
#include "common/arena.h"
#include <stdbool.h>

struct regex;
/* NULL: *why says, in words, why it is none. */
struct regex *regex_compile(const char *s, size_t n, struct arena *a, const char **why);
/* Does it match all n bytes of s? */
bool regex_matches(const struct regex *r, const char *s, size_t n, struct arena *scratch);
#endif
