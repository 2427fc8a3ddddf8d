/* Compiled models: a library has no graph, but says the targets that it has the code for. */
#define _GNU_SOURCE
#include <string.h>
#include "common/filename.h"
#include "common/json.h"
#include "common/msg.h"
#include "common/outfile.h"
#include "common/shown.h"
#include "ge-stat.h"

static bool begins_with(const struct mapped *m, const char *start) { return m->n >= strlen(start) && !memcmp(m->p, start, strlen(start)); }

/* The text behind the mark that lib/source/several.in puts there; NULL: none, or it does not end. */
static const char *find_targets(const struct mapped *m)
{
	static const char mark[] = "\nhone targets: ";
	const char *at = memmem(m->p, m->n, mark, strlen(mark)), *start = at ? at + strlen(mark) : NULL;

	return start && memchr(start, 0, (size_t)((const char *)m->p + m->n - start)) ? start : NULL;
}

bool print_library(const char *path, bool json)
{
	struct mapped m;

	if (!filename_ends(path, ".so") && !filename_ends(path, ".a"))
		return false;
	mapped_open(&m, path);
	if (!begins_with(&m, "\177ELF") && !begins_with(&m, "!<arch>\n")) {
		mapped_close(&m);
		return false;
	}
	const char *targets = find_targets(&m);
	if (!targets)
		die(EX_BADDATA, "%s: a library, but not one for several targets: no graph is in it, nor the names of targets", path);
	if (json) {
		printf("{\"file\": ");
		json_str(stdout, path);
		printf(", \"targets\": ");
		json_str(stdout, targets);
		printf("}\n");
	} else {
		printf("%s: a library for several targets\n%-12s %s\n", shown(path), "targets", shown(targets));
	}
	mapped_close(&m);
	return true;
}
