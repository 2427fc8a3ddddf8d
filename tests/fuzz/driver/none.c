/* What driver.c has besides its main, where libFuzzer has that. */
#include "common/tool.h"

const struct tool tool = {.name = "fuzz"};
