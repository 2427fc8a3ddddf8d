/* The cost model of this machine. */
#include <unistd.h>
#include "common/msg.h"
#include "common/outfile.h"
#include "cost/trees.h"
#include "kb/kb.h"

struct trees *trees_here(const char *kb, const char *target, struct arena *a, struct digest *text)
{
	struct trees *usual = trees_usual(a, text);
	const char *path = kb_beside(kb, TREES_BESIDE, a), *why;
	struct mapped m;
	int line;

	if (!path || access(path, R_OK))
		return usual;
	mapped_open(&m, path);
	struct trees *t = trees_read((const char *)m.p, m.n, a, &line, &why);
	struct digest its = digest_bytes(m.p, m.n);
	mapped_close(&m);
	if (!t)
		why = arena_printf(a, "line %d: %s", line, why);
	else if (trees_target(t) && kb_compare_targets(trees_target(t), target))
		return usual; /* home directories are shared, and code is made for other machines */
	else
		why = trees_join(t, usual, *text);
	if (why) {
		warn("%s: %s; it is not used, and tune-model learn makes a new one", path, why);
		return usual;
	}
	*text = its;
	return t;
}
