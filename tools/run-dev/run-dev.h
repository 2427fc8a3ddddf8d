/* Between the files of run-dev. */
#ifndef HONE_RUN_DEV_H
#define HONE_RUN_DEV_H
#include "runner/oracle.h"
/* Tasks as lib/op writes them, evaluated by its rows and, element by element, by the stages of lib/loop. */
extern const struct oracle task_oracle;
#endif
