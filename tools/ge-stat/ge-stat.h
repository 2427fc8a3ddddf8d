/* Between the files of ge-stat. */
#ifndef GE_STAT_H
#define GE_STAT_H
#include <stdbool.h>

/* If the file is a library or an archive: its targets are printed. None are in it: die(65). false: it is something else. */
bool print_library(const char *path, bool json);
#endif
