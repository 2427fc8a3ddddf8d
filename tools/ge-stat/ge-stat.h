/* Between the files of ge-stat. */
#ifndef GE_STAT_H
#define GE_STAT_H
#include <stdbool.h>
#include "graph/module.h"

/* If the file is a library or an archive: its targets are printed. None are in it: die(65). false: it is something else. */
bool print_library(const char *path, bool json);
/* What groups are predicted to take, if ge-schedule left it in the graph: as a table, the longest first; as members of an object. */
void print_groups(struct module *m);
void print_json_groups(struct module *m);
#endif
