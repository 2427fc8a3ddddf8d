/* The metric's command (command.c). */
#ifndef HONE_GE_QUANTIZE_COMMAND_H
#define HONE_GE_QUANTIZE_COMMAND_H
#include <stdbool.h>

/* From now on SIGINT, SIGTERM and SIGHUP stop commands, and so does the end of so many seconds (0: no end), in place of this process. */
void command_stop_by(double seconds);
bool command_stopped(void);
/* false: the shell knows no such command. */
bool command_exists(const char *word);
/* Runs `command path` and gives the last number that it prints. Returns why there is none; NULL: there is, or it was stopped. */
const char *command_run(const char *command, const char *path, double *number);
#endif
