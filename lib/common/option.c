#include "common/option.h"
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "common/vec.h"

double option_number(const char *name, const char *arg, double least, double most)
{
	char *end;
	double v = strtod(arg, &end);

	if (end > arg && !*end && v >= least && v <= most)
		return v;
	if (most < DBL_MAX)
		die(EX_BADUSE, "%s %s is not a number from %g to %g", name, arg, least, most);
	die(EX_BADUSE, "%s %s is not a number from %g", name, arg, least);
}

uint64_t option_count(const char *name, const char *arg, uint64_t least, uint64_t most)
{
	char *end;

	errno = 0;
	uint64_t v = strtoull(arg, &end, 10);
	if (isdigit((unsigned char)*arg) && !*end && !errno && v >= least && v <= most)
		return v;
	if (most < INT64_MAX)
		die(EX_BADUSE, "%s %s is not a number from %" PRIu64 " to %" PRIu64, name, arg, least, most);
	die(EX_BADUSE, "%s %s is not a number from %" PRIu64, name, arg, least);
}

static void once(const char *option, const char *name, size_t n)
{
	static struct {
		const char *option, *name;
		size_t n;
	} * given;
	static size_t ngiven;

	for (size_t i = 0; i < ngiven; i++)
		if (given[i].n == n && !memcmp(given[i].name, name, n) && !strcmp(given[i].option, option))
			die(EX_BADUSE, "%s %.*s: is given twice", option, (int)n, name);
	given = xrealloc(given, (ngiven + 1) * sizeof *given);
	given[ngiven].option = option;
	given[ngiven].name = xprintf("%.*s", (int)n, name);
	given[ngiven++].n = n;
}

void option_sizes_once(const char *option, const char *arg)
{
	for (const char *p = arg, *end; *p; p = end + (*end == ',')) {
		end = p + strcspn(p, ",");
		const char *eq = memchr(p, '=', (size_t)(end - p));
		if (eq)
			once(option, p, (size_t)(eq - p));
	}
}

void option_name_once(const char *option, const char *arg, char end)
{
	const char *p = end == ':' ? strrchr(arg, end) : strchr(arg, end);

	if (p)
		once(option, arg, (size_t)(p - arg));
}
