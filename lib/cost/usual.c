/* The cost model that hone brings along. */
#include <string.h>
#include "common/msg.h"
#include "cost/trees.h"

static const char model[] =
#include "share/models/cost.model.inc"
	;

struct trees *trees_usual(struct arena *a, struct digest *text)
{
	const char *why;
	int line;
	struct trees *t = trees_read(model, strlen(model), a, &line, &why);

	if (!t)
		BUG("share/models/cost.model:%d: %s", line, why);
	*text = digest_bytes(model, strlen(model));
	return t;
}
