#define _GNU_SOURCE
#include "runner/confine.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "common/arena.h"
#include "runner/toolchain.h"

/* From linux/landlock.h, which some systems do not have. */
enum { CREATE_RULESET = 444, ADD_RULE, RESTRICT_SELF, RULE_PATH_BENEATH = 1, ASK_VERSION = 1 };
enum {
	EXECUTE = 1 << 0,
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_FILE = 1 << 5,
	MAKE_REG = 1 << 8,
	FIRST = (1 << 13) - 1, /* of version 1 */
	TRUNCATE = 1 << 14,
	OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
};
struct beneath {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

static long version(void) { return syscall(CREATE_RULESET, NULL, 0, ASK_VERSION); }

/* All that a version knows. */
static uint64_t handled(void)
{
	static const uint64_t more[] = {0, 0, 1 << 13, TRUNCATE, 0, 1 << 15};
	uint64_t all = FIRST;

	for (long i = 0; i <= version() && i < (long)(sizeof more / sizeof *more); i++)
		all |= more[i];
	return all;
}

static void allow(int rules, const char *path, uint64_t what)
{
	struct beneath b = {.allowed = what & handled(), .parent = open(path, O_PATH | O_CLOEXEC)};
	struct stat st;

	if (b.parent < 0) /* not there: nothing to open */
		return;
	if (!fstat(b.parent, &st) && !S_ISDIR(st.st_mode))
		b.allowed &= OF_FILES;
	syscall(ADD_RULE, rules, RULE_PATH_BENEATH, &b, 0);
	close(b.parent);
}

int confine_open(const char *dir)
{
	static const char *const own[] = {"/usr/include",       "/usr/lib",       "/usr/lib32",      "/usr/lib64", "/usr/libexec",
					  "/usr/bin",           "/lib",           "/lib32",          "/lib64",     "/bin",
					  "/usr/local/include", "/usr/local/lib", "/etc/ld.so.cache"};
	const struct toolchain *t = toolchain_find();
	struct {
		uint64_t fs;
	} attr = {handled()};

	if (version() < 1)
		return -1;
	int rules = (int)syscall(CREATE_RULESET, &attr, sizeof attr, 0);
	if (rules < 0)
		return -1;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		allow(rules, own[i], EXECUTE | READ_FILE | READ_DIR);
	for (int i = 0; i < t->steps; i++)
		for (int k = 0; t->argv[i][k]; k++) { /* a compiler that lies elsewhere */
			char *path = xstrdup(t->argv[i][k]);
			if (*path == '/')
				allow(rules, dirname(path), EXECUTE | READ_FILE | READ_DIR);
			free(path);
		}
	allow(rules, "/dev/null", READ_FILE | WRITE_FILE);
	allow(rules, dir, READ_FILE | READ_DIR | WRITE_FILE | TRUNCATE | MAKE_REG | REMOVE_FILE | EXECUTE);
	return rules;
}

bool confine_enter(int rules) { return rules < 0 || (!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !syscall(RESTRICT_SELF, rules, 0)); }

const char *confine_kind(void) { return version() >= 1 ? "landlock" : "nothing"; }
