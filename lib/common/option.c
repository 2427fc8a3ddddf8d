#include "common/option.h"
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include "common/msg.h"

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
