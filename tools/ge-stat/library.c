/* Compiled models: a library has no graph, but says what made it of what, and several targets if it has the code for them. */
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

/* "hone VERSION, graph DIGEST, weights DIGEST", as a library's function of its version has it; NULL: none. */
static const char *find_made(const struct mapped *m)
{
	static const char mark[] = ", graph ", behind[] = ", weights ";
	enum { LONGEST = 512 }; /* on each side of the mark */
	const char *start = (const char *)m->p, *end = start + m->n, *from = start;

	for (const char *at; (at = memmem(from, (size_t)(end - from), mark, strlen(mark))); from = at + 1) {
		const char *text = at, *stop = memchr(at, 0, end - at < LONGEST ? (size_t)(end - at) : LONGEST);
		while (text > start && text[-1] && at - text < LONGEST)
			text--;
		if (stop && !strncmp(text, "hone ", 5) && memmem(at, (size_t)(stop - at), behind, strlen(behind)))
			return text;
	}
	return NULL;
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
	const char *targets = find_targets(&m), *made = find_made(&m);
	if (!targets && !made)
		die(EX_BADDATA, "%s: a library, but none that hone made", path);
	if (json) {
		printf("{\"file\": ");
		json_str(stdout, path);
		if (made) {
			printf(", \"made\": ");
			json_str(stdout, made);
		}
		if (targets) {
			printf(", \"targets\": ");
			json_str(stdout, targets);
		}
		printf("}\n");
	} else {
		printf("%s: a library%s\n", shown(path), targets ? " for several targets" : "");
		if (made)
			printf("%-12s %s\n", "made by", shown(made));
		if (targets)
			printf("%-12s %s\n", "targets", shown(targets));
	}
	mapped_close(&m);
	return true;
}
