/* Interned strings: equal strings are one number. 0 is the empty string and "no name". */
#ifndef HONE_INTERN_H
#define HONE_INTERN_H
#include <stddef.h>
#include <stdint.h>

typedef uint32_t sym;

/* The table is one per process; symbols are never freed. Strings may hold any byte but NUL. */
sym intern(const char *s);
sym intern_n(const char *s, size_t n);
const char *sym_str(sym s); /* valid for the life of the process */
size_t sym_len(sym s);
sym intern_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#endif
