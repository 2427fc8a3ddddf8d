/* Between the files of run-dev. */
#ifndef HONE_RUN_DEV_H
#define HONE_RUN_DEV_H
#include <stdbool.h>
#include "runner/oracle.h"
/* Tasks as lib/op writes them, evaluated by its rows and, element by element, by the stages of lib/loop. */
extern const struct oracle task_oracle;
/* Measures the rates of this machine for about that many seconds in all, prints them and keeps them in the file of rates. */
void probe(double seconds, bool json);
#endif
