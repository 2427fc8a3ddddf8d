/* What a stored trace says of itself: "# trace VERSION DIGEST". */
#include <stdio.h>
#include <string.h>
#include "loop/prim.h"

enum { HEX = 32 };
static const char mark[] = "# trace ";

/* The stamp, if the trace begins with one: its line's end, version 0 where it cannot be read. */
static const char *stamp_end(const char *trace, long *version, struct digest *stages)
{
	size_t n = strlen(mark), line = strcspn(trace, "\n");
	char hex[HEX + 1];
	int used = 0;

	if (strncmp(trace, mark, n))
		return NULL;
	if (sscanf(trace + n, "%ld %32[0-9a-f]%n", version, hex, &used) != 2 || n + (size_t)used != line ||
	    !digest_parse(hex, strlen(hex), stages))
		*version = 0;
	return trace + line;
}

const char *trace_stamp(const char *trace, struct digest stages, struct arena *a)
{
	struct digest old;
	char hex[HEX + 1];
	long version;
	const char *end = stamp_end(trace, &version, &old);

	if (end)
		trace = end + (*end == '\n');
	digest_hex(stages, hex);
	return arena_printf(a, "%s%d %s\n%s", mark, TRACE_VERSION, hex, trace);
}

bool trace_stages(const char *trace, struct digest *stages)
{
	long version;

	return stamp_end(trace, &version, stages) && version == TRACE_VERSION;
}

enum trace_fit trace_fit(const char *trace, struct digest stages)
{
	struct digest made;
	long version;

	if (!stamp_end(trace, &version, &made))
		return TRACE_PLAIN;
	return version == TRACE_VERSION && digest_eq(made, stages) ? TRACE_FITS : TRACE_SEED;
}
