#include <stdlib.h>
#include <string.h>
#include "graph/layout.h"
#include "graph/module.h"

const char *layout_parse(struct layout *l, int rank, const char *text)
{
	*l = (struct layout){0};
	/* covered[a]: the block factor whose remainder is still to be laid out; 0: nothing seen, -1: done */
	int64_t covered[RANK_MAX] = {0};
	const char *s = text;
	while (*(s += strspn(s, " "))) {
		char *end;
		long axis = strtol(s, &end, 10);
		if (end == s || axis < 0 || axis >= rank || l->n == LAYOUT_MAX)
			return "layout names an axis that is not there";
		struct layout_part part = {(int)axis, 1, 0};
		bool div = *end == '/', mod = *end == '%';
		if (div || mod) {
			s = end + 1;
			long f = strtol(s, &end, 10);
			if (end == s || f < 2 || f > 1 << 20)
				return "layout block size must be 2 or more";
			*(div ? &part.div : &part.mod) = f;
		}
		if (mod ? covered[axis] != part.mod : covered[axis] != 0)
			return mod ? "layout remainder without the same block before it" : "layout names an axis twice";
		covered[axis] = div ? part.div : -1;
		l->part[l->n++] = part;
		s = end;
		if (*s && *s != ' ')
			return "layout part must be AXIS, AXIS/BLOCK or AXIS%BLOCK";
	}
	for (int i = 0; i < rank; i++)
		if (covered[i] != -1)
			return "layout does not cover every axis";
	return NULL;
}

const char *layout_str(const struct layout *l, int rank, struct arena *a)
{
	char *s = arena_str(a, "");
	for (int i = 0; i < (l->n ? l->n : rank); i++) {
		struct layout_part q = l->n ? l->part[i] : (struct layout_part){i, 1, 0};
		const char *sep = i ? " " : "";
		if (q.mod)
			s = arena_printf(a, "%s%s%d%%%ld", s, sep, q.axis, (long)q.mod);
		else if (q.div > 1)
			s = arena_printf(a, "%s%s%d/%ld", s, sep, q.axis, (long)q.div);
		else
			s = arena_printf(a, "%s%s%d", s, sep, q.axis);
	}
	return s;
}
