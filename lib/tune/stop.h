/* Signals that stop a tuning: the best so far is kept and used. */
#ifndef HONE_TUNE_STOP_H
#define HONE_TUNE_STOP_H
#include <signal.h>
#include <sys/types.h>

extern volatile sig_atomic_t stop; /* the number of the first signal; 0: none came */
/* From now on an interrupt, SIGTERM and SIGHUP set stop, unless they were ignored. A second one, later than an echo of the first as some
 * senders make it, ends the process. */
void stop_catch(void);
/* Ends the process by the signal that came: there is nothing worth keeping yet. */
_Noreturn void stop_end(void);
/* fork, for a child that does one piece of work; a signal that stops the tuning ends the child, too. One at a time. */
pid_t stop_fork(void);
/* Waits for that child; its status. */
int stop_wait(pid_t child);
#endif
