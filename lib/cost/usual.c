/* The cost model that hone brings along. */
#include <string.h>
#include "common/msg.h"
#include "cost/trees.h"

const char trees_usual_text[] =
#include "share/models/cost.model.inc"
	;

struct trees *trees_usual(struct arena *a)
{
	const char *why;
	int line;
	struct trees *t = trees_read(trees_usual_text, strlen(trees_usual_text), a, &line, &why);

	if (!t)
		BUG("share/models/cost.model:%d: %s", line, why);
	return t;
}
