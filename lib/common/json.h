/* JSON out. */
#ifndef HONE_JSON_H
#define HONE_JSON_H
#include <stdio.h>
/* s in quotes, escaped, also what would do something to a terminal. Bytes that are no UTF-8 come out as the code points of the same number. */
void json_str(FILE *f, const char *s);
/* A number; what JSON has no number for (infinite, not a number) is null. */
void json_num(FILE *f, double v);
#endif
