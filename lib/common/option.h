/* Numbers that options take. */
#ifndef HONE_OPTION_H
#define HONE_OPTION_H
#include <stdint.h>

/* What is no such number from least to most: die(64), naming the option as it is written ("--seconds"). */
double option_number(const char *name, const char *arg, double least, double most);
uint64_t option_count(const char *name, const char *arg, uint64_t least, uint64_t most); /* a whole one */
/* The NAME of an option's argument may be given once to a program; the second time: die(64). option_sizes_once: each NAME of
 * NAME=SIZE,NAME=SIZE; option_name_once: all that stands before the last ':' of arg, or before its first '='. */
void option_sizes_once(const char *option, const char *arg);
void option_name_once(const char *option, const char *arg, char end);
#endif
