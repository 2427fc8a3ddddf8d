#define _GNU_SOURCE
#include "runner/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target/backend.h"

enum { FAULT_EXIT = 97 }; /* exit status after a fault was written down */

static const int all_spaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS;
static int spaces = -1; /* those that the kernel gives us */

static pid_t fork_into(int flags) { return (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL); }

/* A user may make the others only with a user namespace; root may also where those are turned off. */
static void find_spaces(void)
{
	const int tries[] = {all_spaces, all_spaces & ~CLONE_NEWUSER, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET,
			     CLONE_NEWUSER | CLONE_NEWPID, CLONE_NEWPID};

	for (size_t i = 0; i < sizeof tries / sizeof *tries && spaces < 0; i++) {
		pid_t pid = fork_into(tries[i]);
		if (pid == 0)
			_exit(0);
		if (pid > 0) {
			waitpid(pid, NULL, 0);
			spaces = tries[i];
		}
	}
	if (spaces < 0)
		spaces = 0;
}

/* A filter knows the emulator's system calls only, and the emulator takes none for its program. */
static bool filters_calls(void) { return !target_is_emulated(); }

const char *isolate_kinds(void)
{
	static char text[100];

	if (spaces < 0)
		find_spaces();
	snprintf(text, sizeof text, "%s%s%s%s%s, %s, limits", spaces ? "namespaces" : "no namespaces",
		 spaces & CLONE_NEWUSER ? " user" : "", spaces & CLONE_NEWPID ? " pid" : "", spaces & CLONE_NEWNET ? " net" : "",
		 spaces & CLONE_NEWNS ? " ipc mount" : "", filters_calls() ? "seccomp" : "no seccomp");
	return text;
}

pid_t isolate_fork(void)
{
	if (spaces < 0)
		find_spaces();
	pid_t pid = fork_into(spaces);
	if (pid ==
	    0) /* where the parent ended before, it finds the end of its channel; from a space of its own it cannot see who that is */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* ---- the end, written down ---- */

static struct isolate_fault *fault_page;

/* Ends by the plain system call: before a function that does not return a sanitizer makes calls that the filter refuses. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	fault_page->code = info->si_code;
	fault_page->addr = sig == SIGSYS ? (uint64_t)info->si_syscall : (uint64_t)(uintptr_t)info->si_addr;
	fault_page->signal = sig;
	syscall(SYS_exit_group, FAULT_EXIT);
}

static bool catch_faults(struct isolate_fault *page)
{
	static const int sigs[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP, SIGABRT};
	enum { STACK = 64 << 10 };
	struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t stack = {.ss_size = STACK};

	fault_page = page;
	stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL))
		return false;
	for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++)
		if (sigaction(sigs[i], &a, NULL))
			return false;
	return true;
}

/* ---- system calls ---- */

enum { FILTER_MAX = 128 };
struct filter {
	struct sock_filter a[FILTER_MAX];
	unsigned short n;
};

static void put(struct filter *f, uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	f->a[f->n++] = (struct sock_filter){code, jt, jf, k};
}

static void allow(struct filter *f, int call)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)call);
	put(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
}

static uint32_t argument(int i)
{
	return (uint32_t)(offsetof(struct seccomp_data, args) + 8 * (size_t)i); /* its low half: little-endian */
}

static uint32_t high(int i) { return argument(i) + 4; }

/* Allowed if argument i is v. */
static void allow_if(struct filter *f, int call, int i, uint32_t v)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, (uint32_t)call);
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, high(i));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument(i));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, v);
	put(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
}

/* Allowed if argument i has none of the bits. */
static void allow_without(struct filter *f, int call, int i, uint32_t bits)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)call);
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, argument(i));
	put(f, BPF_JMP | BPF_JSET | BPF_K, 1, 0, bits);
	put(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
}

static void begin(struct filter *f, int channel)
{
	static const int always[] = {SYS_read, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_clock_gettime, SYS_brk, SYS_futex};

	f->n = 0;
	if (backend_here()->process.audit_arch) {
		put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
		put(f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, backend_here()->process.audit_arch);
		put(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
	}
	put(f, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		allow(f, always[i]);
	allow_if(f, SYS_write, 0, (uint32_t)channel);
}

static const char *install(struct filter *f)
{
	struct sock_fprog p = {f->n, f->a};

	if (!filters_calls())
		return NULL;
	put(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP);
	p.len = f->n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p, 0, 0))
		return "seccomp";
	return NULL;
}

static const char *allow_loading(int channel)
{
	static const int loading[] = {SYS_pread64, SYS_close,  SYS_fstat,    SYS_newfstatat, SYS_lseek,
				      SYS_mmap,    SYS_munmap, SYS_mprotect, SYS_madvise,    SYS_getrandom};
	struct filter f;

	begin(&f, channel);
	for (size_t i = 0; i < sizeof loading / sizeof *loading; i++)
		allow(&f, loading[i]);
	allow_without(&f, SYS_openat, 2, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND);
	allow_if(&f, SYS_prctl, 0, PR_SET_NO_NEW_PRIVS); /* isolate_seal */
	allow_if(&f, SYS_prctl, 0, PR_SET_SECCOMP);
	return install(&f);
}

const char *isolate_seal(const struct isolate_limits *l)
{
	struct filter f;

	begin(&f, l->channel);
	allow_if(&f, SYS_mmap, 3, MAP_PRIVATE | MAP_ANONYMOUS); /* malloc: of thread-local variables, for one */
	return install(&f);
}

/* Filters of a process; -1: the kernel does not say. */
static int filters_of(pid_t pid)
{
	char name[40], line[200];
	int n = -1;

	snprintf(name, sizeof name, "/proc/%d/status", (int)pid);
	FILE *f = fopen(name, "re");
	while (f && n < 0 && fgets(line, sizeof line, f))
		if (sscanf(line, "Seccomp_filters: %d", &n) != 1)
			n = -1;
	if (f)
		fclose(f);
	return n;
}

bool isolate_sealed(pid_t pid)
{
	enum { FILTERS = 2 }; /* of isolate_enter and isolate_seal, besides those that were there */
	int ours = filters_of(getpid()), theirs = filters_of(pid);

	return !filters_calls() || ours < 0 || theirs < 0 || theirs == ours + FILTERS;
}

/* ---- limits ---- */

static bool limit(int what, rlim_t n)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return false;
	n = n < now.rlim_max ? n : now.rlim_max; /* nobody may have more than he was given */
	return setrlimit(what, &(struct rlimit){n, n}) == 0;
}

static uint64_t mapped_now(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f && fscanf(f, "%lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool set_limits(const struct isolate_limits *l)
{
	enum { STACK = 8 << 20 };
#ifdef __SANITIZE_ADDRESS__
	static const bool maps_all = true; /* there is */
#else
	static const bool maps_all = false;
#endif
	uint64_t now = mapped_now();
	bool good = limit(RLIMIT_CPU, (rlim_t)ceil(l->cpu) + 1) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_CORE, 0) &&
		    limit(RLIMIT_NPROC, 0) && limit(RLIMIT_STACK, STACK) && limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_MSGQUEUE, 0) &&
		    limit(RLIMIT_NOFILE, (rlim_t)l->channel + 8);
	return good && (maps_all || (now && limit(RLIMIT_AS, now + l->memory)));
}

/* Nothing of the file systems can be changed from here on. */
static void read_only(void)
{
	struct mount_attr a = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE};

	if (spaces & CLONE_NEWNS)
		syscall(SYS_mount_setattr, AT_FDCWD, "/", 0x8000 /* AT_RECURSIVE */, &a, sizeof a); /* seccomp forbids writing too */
}

const char *isolate_enter(const struct isolate_limits *l)
{
	sigset_t none;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	if (close_range(0, (unsigned)l->channel - 1, 0) || close_range((unsigned)l->channel + 1, ~0u, 0))
		return "close_range";
	read_only();
	if (!catch_faults(l->fault))
		return "sigaction";
	if (!set_limits(l))
		return "setrlimit";
	return allow_loading(l->channel);
}

int isolate_kill(pid_t pid)
{
	int status = 0;

	if (waitpid(pid, &status, WNOHANG) == pid)
		return status;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static const char *call_name(uint64_t nr)
{
	static const struct {
		int nr;
		const char *name;
	} names[] = {
		{SYS_socket, "socket"},
		{SYS_clone, "clone"},
		{SYS_clone3, "clone3"},
		{SYS_execve, "execve"},
		{SYS_kill, "kill"},
		{SYS_tgkill, "tgkill"},
		{SYS_ptrace, "ptrace"},
		{SYS_write, "write"},
		{SYS_openat, "openat"},
		{SYS_close, "close"},
		{SYS_mmap, "mmap"},
		{SYS_mprotect, "mprotect"},
		{SYS_munmap, "munmap"},
		{SYS_unlinkat, "unlinkat"},
		{SYS_setrlimit, "setrlimit"},
		{SYS_clock_nanosleep, "clock_nanosleep"},
		{SYS_setsid, "setsid"},
		{SYS_rt_sigaction, "rt_sigaction"},
		{SYS_process_vm_writev, "process_vm_writev"},
		{SYS_prctl, "prctl"},
		{SYS_dup3, "dup3"},
		{SYS_mkdirat, "mkdirat"},
		{SYS_io_uring_setup, "io_uring_setup"},
		{SYS_ioctl, "ioctl"},
		{SYS_shmget, "shmget"},
		{SYS_memfd_create, "memfd_create"},
		{SYS_getppid, "getppid"},
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if ((uint64_t)names[i].nr == nr)
			return names[i].name;
	for (const struct call_name *c = backend_here()->process.calls; c && c->name; c++)
		if ((uint64_t)c->number == nr)
			return c->name;
	return NULL;
}

const char *isolate_words(int status, const struct isolate_fault *f)
{
	static char text[120];

	if (WIFEXITED(status) && WEXITSTATUS(status) == FAULT_EXIT && f->signal == SIGSYS) {
		const char *name = call_name(f->addr);
		snprintf(text, sizeof text, "asked for system call %llu%s%s%s", (unsigned long long)f->addr, name ? " (" : "",
			 name ? name : "", name ? ")" : "");
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == FAULT_EXIT && f->signal > 0 && f->signal < 32) {
		snprintf(text, sizeof text, "%s", strsignal(f->signal));
	} else if (WIFEXITED(status)) {
		snprintf(text, sizeof text, "ended the process (exit status %d)", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof text, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	} else {
		snprintf(text, sizeof text, "ended");
	}
	return text;
}
