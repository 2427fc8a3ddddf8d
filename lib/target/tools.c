/* The programs that make a target's code, and the flags that they take. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/arena.h"
#include "common/intern.h"
#include "common/shown.h"
#include "target/backend.h"

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

bool target_is_foreign(const struct target *t)
{
	const struct backend *of = backend_of(t);

	return of != backend_here() && !of->anywhere;
}

/* What the names of a foreign target's programs begin with. */
static const char *prefix(const struct target *t)
{
	const char *given = variable("HONE_CROSS"), *triplet = backend_of(t)->triplet;

	return given ? given : triplet ? sym_str(intern_printf("%s-", triplet)) : "";
}

/* Are the machine's own programs of no use? */
static bool is_crossed(const struct target *t) { return target_is_foreign(t) || (target_is_emulated() && !variable("CC")); }

const char *target_compiler_variable(const struct target *t) { return is_crossed(t) ? "HONE_CROSS" : "CC"; }

const char *target_compiler(const struct target *t)
{
	const char *cc = variable("CC");

	if (!is_crossed(t))
		return cc ? cc : "gcc";
	if (cc && strstr(cc, "clang") && !variable("HONE_CROSS") && backend_of(t)->triplet)
		return sym_str(intern_printf("%s --target=%s", cc, backend_of(t)->triplet));
	return sym_str(intern_printf("%sgcc", prefix(t)));
}

/* The first line that the compiler prints for an option; NULL: none. */
static const char *said(const struct target *t, const char *option)
{
	char line[PATH_MAX] = "", *command = xprintf("%s %s 2>/dev/null", target_compiler(t), option);
	FILE *f = popen(command, "re");
	bool any = f && fgets(line, sizeof line, f);

	if (f)
		pclose(f);
	free(command);
	line[strcspn(line, "\n")] = 0;
	return any && *line ? sym_str(intern(line)) : NULL;
}

/* A compiler that $CC names may make code for another kind of CPU than this machine's: it knows the programs that go with it. */
const char *target_tool(const struct target *t, const char *of)
{
	const char *own;

	if (is_crossed(t))
		return sym_str(intern_printf("%s%s", prefix(t), of));
	own = variable("CC") ? said(t, sym_str(intern_printf("-print-prog-name=%s", of))) : NULL;
	return own ? own : of;
}

const char *target_why_no_code(const struct target *t)
{
	const char *wanted = backend_of(t)->triplet, *makes = wanted ? said(t, "-dumpmachine") : NULL;
	size_t n = wanted ? strcspn(wanted, "-") : 0;

	if (!makes || (!strncmp(makes, wanted, n) && makes[n] == '-'))
		return NULL;
	return sym_str(intern_printf("%s makes code for %s, not for %.*s; %s names another", target_compiler(t), shown(makes), (int)n,
				     wanted, target_compiler_variable(t)));
}

/* The compiler is started once for each command. */
const char *target_compiler_version(const struct target *t)
{
	static const char *asked[2];
	static char version[2][64];
	bool foreign = target_is_foreign(t);
	const char *cc = target_compiler(t);

	if (!asked[foreign] || strcmp(asked[foreign], cc)) {
		char *command = xprintf("%s -E -P -x c - 2>/dev/null <<'E'\n__VERSION__\nE", cc), *v = version[foreign];
		FILE *f = popen(command, "re");
		if (!f || fscanf(f, " \"%63[^\"]", v) != 1)
			snprintf(v, sizeof version[0], "unknown");
		if (f)
			pclose(f);
		free(command);
		asked[foreign] = sym_str(intern(cc));
	}
	return version[foreign];
}

bool target_compiles(const struct target *t) { return strcmp(target_compiler_version(t), "unknown") != 0; }

/* Contraction makes FMAs; nothing may trap, so selects need no branches; integers wrap as ONNX's do. What gcc's -O2 does beyond these
 * finds nothing in code that has been scheduled already, and takes half of the time. Bounds of loops guessed from what they access change
 * nothing; registers given to a function at once, not loop by loop, save time and spills. Where all loops begin alike, schedules differ
 * by what they do, not by what stands before them. clang contracts across statements even where a pragma forbids it, but for "on". */
const char *target_cflags(const struct target *t)
{
	const struct backend *of = backend_of(t);

	return sym_str(intern_printf(
		"-std=gnu11 -fno-math-errno -fno-trapping-math -ffp-contract=fast -fwrapv -fno-tree-vectorize -falign-functions=64 -falign-loops=64"
		"%s%s",
		strcasestr(target_compiler_version(t), "clang") ? " -O2 -ffp-contract=on -Wno-ignored-optimization-argument"
								: " -O1 -fexpensive-optimizations -fschedule-insns2 -fno-tree-ccp"
								  " -fno-aggressive-loop-optimizations -fira-region=one",
		of->flags ? of->flags(t) : ""));
}
