/* Where things lie: intermediate files, and what is left of a build. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/outfile.h"
#include "common/scratch.h"
#include "common/whole.h"
#include "hone.h"

static struct scratch work, aside; /* intermediate files; graphs that go to STEM.d */
static const char *made;           /* STEM.d, if it was not there */
static const char *publishing;     /* a file that is not yet under its name */
static int stem_lock = -1;

static const char *temporary_folder(void)
{
	const char *t = getenv("TMPDIR");

	return t && *t ? t : "/tmp";
}

void no_space(void) { die(EX_IO, "%s: no space for intermediate files; TMPDIR says where else they go", temporary_folder()); }

const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

double file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (double)st.st_size;
}

void place_remove(struct hone *h)
{
	scratch_remove(&aside);
	scratch_remove(&work);
	if (made)
		rmdir(made);
	if (publishing)
		unlink(publishing);
	made = publishing = NULL;
}

static void remove_all(void *h) { place_remove(h); }

void work_make(struct hone *h)
{
	char *prefix = realpath(temporary_folder(), NULL);

	if (!prefix || !scratch_make(&work, text(h, "%s/hone.", prefix)))
		die(EX_IO, "%s: cannot be written: %s; TMPDIR says where else intermediate files go", temporary_folder(), strerror(errno));
	free(prefix);
	h->work = h->folder = work.path;
	die_hook(remove_all, h);
}

/* ---- STEM.d ---- */

static const char *graphs_folder(struct hone *h) { return text(h, "%s.d", h->stem); }

static noreturn void cannot(struct hone *h) { die(EX_IO, "%s: cannot be written: %s", graphs_folder(h), strerror(errno)); }

void place_folders(struct hone *h, const char *file)
{
	char *path = xstrdup(file);

	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		if (mkdir(path, 0777) && errno != EEXIST)
			die(EX_IO, "%s: its directory cannot be made: %s", h->stem, strerror(errno));
		*p = '/';
	}
	free(path);
}

/* Of two builds into one stem the second waits here: what is left of them is of one alone. */
void stem_open(struct hone *h)
{
	const char *path = graphs_folder(h);
	struct stat there, locked;

	place_folders(h, h->stem);
	for (;;) {
		if (!mkdir(path, 0777))
			made = path;
		stem_lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (stem_lock < 0)
			cannot(h);
		flock(stem_lock, LOCK_EX); /* where there are no locks, as on some network file systems, nobody waits */
		if (!stat(path, &there) && !fstat(stem_lock, &locked) && there.st_ino == locked.st_ino && there.st_dev == locked.st_dev)
			return;
		close(stem_lock); /* who had it failed, and took it away */
	}
}

/* fd is closed. false: errno says why not. */
static bool copy_to(int fd, const char *from)
{
	struct mapped m;

	mapped_open(&m, from);
	bool good = write_whole(fd, m.p, m.n);
	int error = errno;
	mapped_close(&m);
	if (!close(fd) && good)
		return true;
	errno = good ? errno : error;
	return false;
}

static bool copy_file(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd >= 0 && copy_to(fd, from);
}

void stem_set_aside(struct hone *h)
{
	if (aside.path)
		return;
	if (stem_lock < 0)
		stem_open(h);
	if (!scratch_make(&aside, text(h, "%s/.hone.", graphs_folder(h))))
		cannot(h);
	for (size_t i = 0; i < h->kept.n; i++)
		if (!copy_file(h->kept.a[i], text(h, "%s/%s", aside.path, base_name(h->kept.a[i]))))
			cannot(h);
}

/* The name of a graph of an earlier build: 07-cse.g. */
static bool is_graph(const char *name)
{
	size_t n = strlen(name);

	return n > 5 && isdigit((unsigned char)name[0]) && isdigit((unsigned char)name[1]) && name[2] == '-' && !strcmp(name + n - 2, ".g");
}

void stem_keep(struct hone *h)
{
	stem_set_aside(h);
	DIR *d = opendir(graphs_folder(h));
	for (struct dirent *x; d && (x = readdir(d));)
		if (is_graph(x->d_name))
			unlinkat(dirfd(d), x->d_name, 0);
	if (d)
		closedir(d);
	for (size_t i = 0; i < h->kept.n; i++) {
		const char *name = base_name(h->kept.a[i]);
		if (rename(text(h, "%s/%s", aside.path, name), text(h, "%s/%s", graphs_folder(h), name)))
			cannot(h);
	}
	scratch_remove(&aside);
	made = NULL;
	h->is_kept = true;
}

/* ---- single files ---- */

void put_file(FILE *f, const char *path)
{
	FILE *in = fopen(path, "r");
	char block[4096];
	size_t n;

	while (in && (n = fread(block, 1, sizeof block, in)))
		fwrite(block, 1, n, f);
	if (in)
		fclose(in);
}

void place_check(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return;
	if (S_ISDIR(st.st_mode))
		die(EX_IO, "%s: is a directory", path);
	if (!S_ISREG(st.st_mode))
		die(EX_IO, "%s: is no regular file, and would be replaced by one", path);
}

/* A link is followed, so that the file it leads to is replaced and not the link. */
void place_publish(struct hone *h, const char *file, const char *path)
{
	char *real = realpath(path, NULL);

	path = real ? text(h, "%s", real) : path;
	free(real);
	if (!rename(file, path))
		return;
	char *part = (char *)text(h, "%s.XXXXXX", path);
	int fd = mkstemp(part);
	mode_t mask = umask(0);

	umask(mask);
	if (fd < 0)
		die(EX_IO, "%s: cannot be written: %s", path, strerror(errno));
	publishing = part;
	fchmod(fd, 0666 & ~mask);
	if (!copy_to(fd, file) || rename(part, path))
		die(EX_IO, "%s: cannot be written: %s", path, strerror(errno));
	publishing = NULL;
}
