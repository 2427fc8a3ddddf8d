/* Signals that stop a tuning. */
#define _GNU_SOURCE
#include "tune/stop.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/msg.h"

volatile sig_atomic_t stop;
static volatile sig_atomic_t working; /* the child of stop_fork; 0: none */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { NENDS = sizeof ends / sizeof *ends };
static struct sigaction before[NENDS];

static void restore(void)
{
	for (int i = 0; i < NENDS; i++)
		sigaction(ends[i], &before[i], NULL);
}

static void on_signal(int number)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (working)
		kill(working, SIGTERM);
	if (!stop) {
		stop = number;
		first = now;
	} else if ((double)(now.tv_sec - first.tv_sec) + 1e-9 * (double)(now.tv_nsec - first.tv_nsec) > 0.3) {
		restore();
		raise(number);
	}
}

_Noreturn void stop_end(void)
{
	restore();
	raise(stop);
	exit(128 + stop);
}

void stop_catch(void)
{
	static bool caught;

	if (caught) /* for an earlier model of the stream */
		return;
	caught = true;
	for (int i = 0; i < NENDS; i++) {
		sigaction(ends[i], NULL, &before[i]);
		if (before[i].sa_handler != SIG_IGN)
			sigaction(ends[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
	}
}

static void hold(sigset_t *held)
{
	sigset_t all;

	sigemptyset(&all);
	for (int i = 0; i < NENDS; i++)
		sigaddset(&all, ends[i]);
	sigprocmask(SIG_BLOCK, &all, held);
}

pid_t stop_fork(void)
{
	sigset_t held;

	hold(&held);
	pid_t pid = fork();
	if (pid < 0)
		die_errno(EX_SYSTEM, "fork");
	if (pid > 0) {
		working = pid;
	} else { /* the keyboard's interrupt is for its parent, which says when to end */
		restore();
		signal(SIGINT, SIG_IGN);
	}
	sigprocmask(SIG_SETMASK, &held, NULL);
	return pid;
}

int stop_wait(pid_t child)
{
	siginfo_t ended;
	sigset_t held;
	int status;

	while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT))
		if (errno != EINTR)
			die_errno(EX_SYSTEM, "wait");
	hold(&held);
	waitpid(child, &status, 0);
	working = 0;
	sigprocmask(SIG_SETMASK, &held, NULL);
	return status;
}
