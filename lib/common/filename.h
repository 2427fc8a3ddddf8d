/* Names of files. */
#ifndef HONE_FILENAME_H
#define HONE_FILENAME_H
#include <stdbool.h>
/* True if name ends in `end`, and has more before it. */
bool filename_ends(const char *name, const char *end);
#endif
