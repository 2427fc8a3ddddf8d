/* Is this process run by an emulator? */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "target/target.h"

/* This program's own header, which the linker names. */
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

/* An emulator answers itself where its program asks for /proc/self/exe. By these names the kernel answers. */
static int open_running(void)
{
	int fd = open("/proc/thread-self/exe", O_RDONLY | O_CLOEXEC);

	return fd >= 0 ? fd : open("/proc/self/./exe", O_RDONLY | O_CLOEXEC);
}

/* The file that the kernel runs is a program for another kind of CPU than this program is for. */
static bool is_foreign_file(void)
{
	Elf64_Half machine;
	int fd = open_running();

	if (fd < 0)
		return false;
	bool read = pread(fd, &machine, sizeof machine, offsetof(Elf64_Ehdr, e_machine)) == (ssize_t)sizeof machine;
	close(fd);
	return read && machine != __ehdr_start.e_machine;
}

bool target_is_emulated(void)
{
	static enum { UNKNOWN, NO, YES } known;

	if (!known)
		known = is_foreign_file() ? YES : NO;
	return known == YES;
}
