#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/arena.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/vec.h"

/* Temporaries to remove when a signal ends the process. */
enum { TEMPORARIES_MAX = 16 };
static const char *volatile temporaries[TEMPORARIES_MAX];

static void on_signal(int number)
{
	for (int i = 0; i < TEMPORARIES_MAX; i++)
		if (temporaries[i])
			unlink(temporaries[i]);
	signal(number, SIG_DFL);
	raise(number);
}

static void remember(const char *tmp)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct sigaction old;
		sigaction(ends[i], NULL, &old);
		if (old.sa_handler == SIG_DFL)
			signal(ends[i], on_signal);
	}
	for (int i = 0; i < TEMPORARIES_MAX; i++) {
		if (!temporaries[i]) {
			temporaries[i] = tmp;
			return;
		}
	}
}

static void forget(const char *tmp)
{
	for (int i = 0; i < TEMPORARIES_MAX; i++)
		if (temporaries[i] == tmp)
			temporaries[i] = NULL;
}

static void remove_temporary(void *arg)
{
	struct outfile *o = arg;
	unlink(o->tmp);
	forget(o->tmp);
}

/* What stands at path already and is no regular file (a device, a pipe) is written to directly; a
 * link is followed, so that the file behind it is replaced and not the link. */
static bool write_directly(const char *path, char **target)
{
	struct stat st;
	*target = NULL;
	if (stat(path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			die(EX_IO, "%s: is a directory", path);
		if (!S_ISREG(st.st_mode))
			return true;
		*target = realpath(path, NULL);
	}
	if (!*target)
		*target = xstrdup(path);
	return false;
}

void outfile_open(struct outfile *o, const char *path, bool binary)
{
	*o = (struct outfile){0};
	if (!path || !strcmp(path, "-")) {
		if (binary && isatty(STDOUT_FILENO))
			die(EX_BADUSE, "refusing to write binary data to a terminal; use -o FILE or a pipe");
		o->f = stdout;
		return;
	}
	if (write_directly(path, &o->path)) {
		o->path = xstrdup(path);
		o->f = fopen(path, "wb");
		if (!o->f)
			die_errno(EX_IO, "%s", path);
		return;
	}
	o->tmp = xprintf("%s.XXXXXX", o->path);
	int fd = mkostemp(o->tmp, O_CLOEXEC);
	if (fd < 0)
		die_errno(EX_IO, "%s", path);
	remember(o->tmp);
	o->hook = die_hook(remove_temporary, o);
	mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->f = fdopen(fd, "wb");
	if (!o->f)
		die_errno(EX_SYSTEM, "%s", path);
}

void outfile_close(struct outfile *o)
{
	const char *name = o->path ? o->path : "standard output";
	bool failed = fflush(o->f) || ferror(o->f);
	if (o->f != stdout)
		failed |= fclose(o->f) != 0;
	if (failed)
		die_errno(EX_IO, "%s: writing failed", name);
	if (o->tmp) {
		if (rename(o->tmp, o->path))
			die_errno(EX_IO, "%s", name);
		forget(o->tmp);
		die_unhook(o->hook);
	}
	free(o->path);
	free(o->tmp);
	*o = (struct outfile){0};
}

static VEC(struct mapping {
	const char *p;
	size_t n;
	const char *path;
}) mappings;

static void on_bus(int number, siginfo_t *info, void *context)
{
	const char *at = info->si_addr;

	for (size_t i = mappings.n; i-- > 0;)
		if (at >= mappings.a[i].p && at < mappings.a[i].p + mappings.a[i].n)
			die(EX_IO, "%s: was cut short while it was read", mappings.a[i].path);
	signal(number, SIG_DFL); /* and it comes again */
}

void mapping_guard(void) { sigaction(SIGBUS, &(struct sigaction){.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO | SA_NODEFER}, NULL); }

void mapping_add(const void *p, size_t n, const char *path) { vec_push(&mappings, (struct mapping){p, n, path}); }

void mapping_remove(const void *p)
{
	for (size_t i = mappings.n; i-- > 0;)
		if (mappings.a[i].p == p) {
			mappings.a[i] = mappings.a[--mappings.n];
			return;
		}
}

/* Fewer bytes are not worth the call. */
enum { FORGET_LEAST = 64 << 10 };

void mapping_forget(const void *p, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i = n < FORGET_LEAST ? 0 : mappings.n;
	uintptr_t from = ((uintptr_t)p + page - 1) / page * page, to = ((uintptr_t)p + n) / page * page;

	while (i-- > 0)
		if ((const char *)p >= mappings.a[i].p && (const char *)p + n <= mappings.a[i].p + mappings.a[i].n) {
			madvise((void *)from, to - from, MADV_DONTNEED);
			return;
		}
}

static void read_all(struct mapped *m, int fd, const char *name, bool (*begins)(const unsigned char *p, size_t n))
{
	VEC(unsigned char) v = {0};
	size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE), most = begins ? memory / 2 : (size_t)2 << 30;
	while (!begins || !v.n || begins(v.a, v.n)) {
		if (v.n > most)
			die(EX_IO, "%s: %zu MiB and no end of it; what is longer is read from a file only", name, most >> 20);
		vec_reserve(&v, v.n + (64 << 10));
		size_t room = v.cap - v.n, allowed = most + 1 - v.n;
		ssize_t n = read(fd, v.a + v.n, room < allowed ? room : allowed);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_errno(errno == EISDIR ? EX_NOIN : EX_IO, "%s", name);
		if (n == 0)
			break;
		v.n += (size_t)n;
	}
	*m = (struct mapped){.p = v.a, .n = v.n, .heap = true};
}

void mapped_open(struct mapped *m, const char *path) { mapped_open_if(m, path, NULL); }

void mapped_open_if(struct mapped *m, const char *path, bool (*begins)(const unsigned char *p, size_t n))
{
	bool standard = !path || !strcmp(path, "-");
	const char *name = standard ? "standard input" : path;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		die_errno(EX_NOIN, "%s", name);
	if (S_ISDIR(st.st_mode))
		die(EX_NOIN, "%s: is a directory", name);
	void *p = MAP_FAILED;
	if (S_ISREG(st.st_mode) && st.st_size > 0 && lseek(fd, 0, SEEK_CUR) == 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p != MAP_FAILED) {
		*m = (struct mapped){.p = p, .n = (size_t)st.st_size, .path = xstrdup(name)};
		mapping_add(m->p, m->n, m->path);
	} else
		read_all(m, fd, name, begins);
	if (!standard)
		close(fd);
}

void mapped_forget(struct mapped *m, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!m->heap && n >= page)
		madvise((void *)m->p, n / page * page, MADV_DONTNEED);
}

void mapped_close(struct mapped *m)
{
	if (m->heap)
		free((void *)m->p);
	else if (m->p) {
		mapping_remove(m->p);
		munmap((void *)m->p, m->n);
		free(m->path);
	}
	*m = (struct mapped){0};
}
