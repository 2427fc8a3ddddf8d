#define _GNU_SOURCE
#include "runner/process.h"
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

bool process_pin(pid_t pid, int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	return sched_setaffinity(pid, sizeof set, &set) == 0;
}

void process_begin(pid_t parent)
{
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it ended before that */
		_exit(0);
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

void process_limit(int what, rlim_t n) { setrlimit(what, &(struct rlimit){n, n + (what == RLIMIT_CPU)}); }

void process_build(void)
{
	struct rlimit now;

	process_limit(RLIMIT_FSIZE, PROCESS_BUILD_BYTES);
#ifndef __SANITIZE_ADDRESS__
	if (!getrlimit(RLIMIT_AS, &now) && now.rlim_max > PROCESS_BUILD_MEMORY)
		process_limit(RLIMIT_AS, PROCESS_BUILD_MEMORY);
#else
	(void)now;
#endif
}

void process_background(pid_t parent, int core, int nice)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	process_begin(parent);
	process_pin(0, core);
	setpriority(PRIO_PROCESS, 0, nice);
	process_limit(RLIMIT_CORE, 0);
#ifndef __SANITIZE_ADDRESS__
	process_limit(RLIMIT_AS, memory / 2);
#else
	(void)memory;
#endif
}
