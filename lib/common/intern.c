#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/digest.h"
#include "common/intern.h"
#include "common/msg.h"
#include "common/vec.h"

struct entry {
	const char *s;
	size_t n;
	uint64_t hash;
};

static struct arena strings;
static VEC(struct entry) entries; /* by symbol */
static sym *slots;                /* open addressing; 0: free */
static size_t nslots;             /* a power of two */

static void grow(void)
{
	nslots = nslots ? 2 * nslots : 1024;
	free(slots);
	slots = xcalloc(nslots, sizeof *slots);
	for (sym s = 1; s < entries.n; s++) {
		size_t i = entries.a[s].hash & (nslots - 1);
		while (slots[i])
			i = (i + 1) & (nslots - 1);
		slots[i] = s;
	}
}

sym intern_n(const char *s, size_t n)
{
	if (n == 0)
		return 0;
	if (memchr(s, 0, n))
		BUG("a NUL byte in a name");
	if (entries.n == 0)
		vec_push(&entries, (struct entry){"", 0, 0});
	if (2 * entries.n >= nslots)
		grow();
	uint64_t hash = hash64(s, n, 0);
	size_t i = hash & (nslots - 1);
	for (; slots[i]; i = (i + 1) & (nslots - 1)) {
		const struct entry *e = &entries.a[slots[i]];
		if (e->hash == hash && e->n == n && !memcmp(e->s, s, n))
			return slots[i];
	}
	if (entries.n > UINT32_MAX - 1)
		die(EX_SYSTEM, "too many names");
	char *copy = arena_alloc(&strings, n + 1);
	memcpy(copy, s, n);
	slots[i] = (sym)entries.n;
	vec_push(&entries, (struct entry){copy, n, hash});
	return slots[i];
}

sym intern(const char *s) { return intern_n(s, strlen(s)); }

const char *sym_str(sym s) { return s ? entries.a[s].s : ""; }

size_t sym_len(sym s) { return s ? entries.a[s].n : 0; }

sym intern_printf(const char *fmt, ...)
{
	char buf[256], *p = buf;
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format '%s'", fmt);
	if ((size_t)n >= sizeof buf) {
		p = xmalloc((size_t)n + 1);
		va_start(ap, fmt);
		vsnprintf(p, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	sym s = intern_n(p, (size_t)n);
	if (p != buf)
		free(p);
	return s;
}
