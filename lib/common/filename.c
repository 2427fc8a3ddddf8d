#include "common/filename.h"
#include <string.h>

bool filename_ends(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}
