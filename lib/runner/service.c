/* The service's loop: frames in, answers out. */
#define _GNU_SOURCE
#include "runner/confine.h"
#include "runner/service.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/msg.h"
#include "common/progress.h"
#include "common/whole.h"
#include "runner/device_lock.h"
#include "runner/sandbox.h"
#include "runner/job.h"
#include "target/target.h"
#include "runner/noise_probe.h"

/* ---- answers ---- */

void serve_error(struct service *s, uint64_t id, const char *verb, const char *why)
{
	size_t frame = frame_begin(&s->out, 3, id, verb);

	put_str0(&s->out, why);
	frame_end(&s->out, frame);
}

void serve_task_done(struct service *s, uint64_t id, struct digest d)
{
	size_t frame = frame_begin(&s->out, 3, id, "task");

	mp_put_digest(&s->out, d);
	frame_end(&s->out, frame);
}

void serve_build_done(struct service *s, uint64_t id, const struct serve_artifact *x)
{
	size_t frame = frame_begin(&s->out, 4, id, "build");

	mp_put_digest(&s->out, x->digest);
	mp_put_double(&s->out, x->seconds);
	frame_end(&s->out, frame);
}

static void say_alive(struct service *s)
{
	size_t frame = frame_begin(&s->out, 2, 0, "alive");

	frame_end(&s->out, frame);
}

static void send_out(struct service *s)
{
	if (!write_whole(STDOUT_FILENO, s->out.b.a, s->out.b.n))
		die_errno(EX_IO, "standard output");
	s->out.b.n = 0;
}

/* ---- requests ---- */

static void ask_hello(struct service *s, uint64_t id, struct mp_in *r)
{
	int64_t version = mp_int(r, 0, INT64_MAX);
	struct arena a = {0};

	if (r->why)
		return;
	size_t frame = frame_begin(&s->out, 9, id, "hello");
	mp_put_int(&s->out, RUNNER_VERSION);
	/* cores: older clients want them in the row */
	put_str0(&s->out, arena_printf(&a, "%s;cores=%d", target_row(target_host()), target_host()->cores));
	put_str0(&s->out, target_compiler_version(NULL));
	mp_put_int(&s->out, target_host()->cores);
	mp_put_int(&s->out, s->ncores);
	put_str0(&s->out, arena_printf(&a, "%s; compilers: %s", isolate_kinds(), confine_kind()));
	put_str0(&s->out, target_is_emulated() ? "emulated" : "timed");
	arena_release(&a);
	frame_end(&s->out, frame);
	send_out(s);
	if (version != RUNNER_VERSION)
		die(EX_NOTAVAIL, "standard input:0: version %lld of the runner's protocol is asked for, this is version %d",
		    (long long)version, RUNNER_VERSION);
	s->greeted = true;
}

static const struct job_kind *find_kind(const char *verb, size_t n)
{
	static const struct job_kind *const kinds[] = {&task_job_kind, &build_job_kind, &try_job_kind};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i]->verb) == n && !memcmp(kinds[i]->verb, verb, n))
			return kinds[i];
	return NULL;
}

static void take_frame(struct service *s, struct mp_in *r)
{
	size_t n, at;

	mp_array(r);
	int64_t id = mp_int(r, 0, INT64_MAX);
	at = mp_at(r);
	const char *verb = mp_str(r, &n);
	bool hello = n == 5 && !memcmp(verb, "hello", 5);
	const struct job_kind *kind;

	if (!r->why && !s->greeted && !hello)
		mp_fail(r, at, "hello must come first");
	if (r->why)
		;
	else if (hello)
		ask_hello(s, (uint64_t)id, r);
	else if ((kind = find_kind(verb, n)))
		jobs_take(s, kind, (uint64_t)id, r);
	else
		mp_fail(r, at, "an unknown verb");
	if (r->why)
		die(EX_BADDATA, "standard input:%llu: frame: %s", (unsigned long long)(s->taken + 4 + r->at), r->why);
}

static void read_in(struct service *s)
{
	char b[1 << 16];
	struct mp_in r;
	const char *why;
	ssize_t n = read(STDIN_FILENO, b, sizeof b);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0 && errno != ECONNRESET)
		die_errno(EX_IO, "standard input");
	if (n <= 0) {
		s->ended = true;
		if (s->in.taken < s->in.b.n)
			die(EX_BADDATA, "standard input:%llu: it ends inside a frame",
			    (unsigned long long)(s->taken + s->in.b.n - s->in.taken));
		return;
	}
	frame_add(&s->in, b, (size_t)n);
	while (frame_next(&s->in, &r, &why)) {
		take_frame(s, &r);
		s->taken += 4 + (uint64_t)(r.end - r.base);
	}
	if (why)
		die(EX_BADDATA, "standard input:%llu: %s", (unsigned long long)s->taken, why);
}

/* ---- surroundings ---- */

static bool remove_dir(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	return rmdir(path) == 0 || errno == ENOENT;
}

/* Is it in memory, does it have room, can code in it be run? Files come and go by the dozen with each try. */
static bool is_fast(const char *dir)
{
	struct statvfs v;

	if (access(dir, W_OK) || statvfs(dir, &v) || v.f_flag & ST_NOEXEC)
		return false;
	return (uint64_t)v.f_bavail * v.f_frsize >= (uint64_t)256 << 20;
}

/* Another directory may have room, or be in memory; one of no use is said at once, not of each candidate. */
static void find_dir(struct service *s)
{
	const char *tmp = getenv("TMPDIR"), *dir = tmp && *tmp ? tmp : is_fast("/dev/shm") ? "/dev/shm" : "/tmp";
	struct statvfs v;

	if (!statvfs(dir, &v) && v.f_flag & ST_NOEXEC)
		die(EX_IO, "%s: nothing in it can be run (it is mounted noexec); TMPDIR names another directory", dir);
	s->dir = xprintf("%s/hone-run-XXXXXX", dir);
	if (!mkdtemp(s->dir))
		die_errno(EX_IO, "%s", s->dir);
}

/* The directory goes when this process does, also by SIGKILL: another waits for that, at the end of a pipe. */
static void make_dir(struct service *s)
{
	enum { TRIES = 20 };
	int fd[2];

	find_dir(s);
	if (pipe2(fd, O_CLOEXEC))
		die_errno(EX_SYSTEM, "pipe");
	pid_t pid = fork();
	if (pid < 0)
		die_errno(EX_SYSTEM, "fork");
	if (pid == 0) {
		char c;
		setsid();
		for (int sig = 1; sig < 32; sig++)
			signal(sig, SIG_IGN);
		dup2(fd[0], 0);
		close_range(1, ~0u, 0);
		while (read(0, &c, 1) < 0 && errno == EINTR)
			;
		for (int i = 0; i < TRIES && !remove_dir(s->dir); i++)
			usleep(100000); /* a compiler that dies just now may still have made a file */
		_exit(0);
	}
	close(fd[0]);
	s->janitor = fd[1];
}

static void find_cores(struct service *s)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set))
		die_errno(EX_SYSTEM, "sched_getaffinity");
	for (int i = 0; i < CPU_SETSIZE && s->ncores < CORES_MAX; i++)
		if (CPU_ISSET(i, &set))
			s->core[s->ncores++] = i;
}

/* Artifacts and what is known of bases are files: as many as may be. */
static void raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static int watch_children(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die_errno(EX_SYSTEM, "signalfd");
	return fd;
}

static void at_end(void *arg) { jobs_kill(arg); }

int runner_serve(const struct oracle *o, double noise_probe, double build_seconds)
{
	struct service *s = xcalloc(1, sizeof *s);
	struct signalfd_siginfo info;
	double spoke = now_seconds();

	signal(SIGCHLD, SIG_DFL); /* ignored, as some parents leave it, no child would be there to wait for */
	if (!target_compiles(NULL))
		die(EX_NOTAVAIL, TARGET_NO_COMPILER, target_compiler(NULL), target_compiler_variable(NULL));
	s->oracle = o;
	s->build_seconds = build_seconds > 0 ? build_seconds : BUILD_CLOCK_SECONDS;
	mp_out_init(&s->out);
	raise_files();
	find_cores(s);
	s->lock = device_lock_path();
	make_dir(s);
	if (pipe2(s->quiesce, O_CLOEXEC | O_NONBLOCK) || (s->noise_probe = noise_probe_file(noise_probe)) < 0)
		die_errno(EX_SYSTEM, "pipe");
	toolchain_find();
	die_hook(at_end, s);
	int children = watch_children();
	while (!s->ended) {
		struct pollfd p[] = {{STDIN_FILENO, POLLIN, 0}, {children, POLLIN, 0}, {s->quiesce[0], POLLIN, 0}};
		poll(p, sizeof p / sizeof *p, s->jobs.n ? (int)fmin(1000, ceil(1000 * jobs_wait(s))) : -1);
		if (p[1].revents)
			while (read(children, &info, sizeof info) > 0)
				;
		if (p[0].revents)
			read_in(s);
		if (p[2].revents)
			jobs_quiesce(s);
		jobs_reap(s);
		jobs_start(s);
		if (s->jobs.n && now_seconds() - spoke >= 1) {
			say_alive(s);
			spoke = now_seconds();
		}
		send_out(s);
	}
	jobs_kill(s);
	return EX_GOOD;
}
