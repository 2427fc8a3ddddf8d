/* Rows of targets, "name=value;name=value": which of two differ in a field that changes a kernel's time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/msg.h"
#include "kb/kb.h"

/* Does the field count? Older versions wrote how many cores the process might use, which changes no kernel's time; and rates are
 * measurements, not properties. */
static bool counts(const char *field) { return strncmp(field, "cores=", 6) != 0 && strncmp(field, "rates=", 6) != 0; }

/* The next field at *s or behind it that counts, and its length; 0: there is none. */
static size_t next_field(const char **s)
{
	for (;;) {
		*s += strspn(*s, ";");
		size_t n = strcspn(*s, ";");
		if (!n || counts(*s))
			return n;
		*s += n;
	}
}

int kb_compare_targets(const char *a, const char *b)
{
	for (;;) {
		size_t m = next_field(&a), n = next_field(&b);
		int c = memcmp(a, b, m < n ? m : n);
		if (c || m != n || !m)
			return c ? c : (m > n) - (m < n);
		a += m;
		b += n;
	}
}

char *kb_target_key(const char *target)
{
	char *key = xmalloc(strlen(target) + 2), *p = key;

	for (size_t n; (n = next_field(&target)); target += n)
		p += sprintf(p, "%s%.*s", p == key ? "" : ";", (int)n, target);
	*p = 0;
	return key;
}

/* Value of a field of that name; NULL: there is none. */
static const char *value_in(const char *row, const char *name, size_t n, size_t *length)
{
	for (size_t k; (k = next_field(&row)); row += k)
		if (k > n && !strncmp(row, name, n) && row[n] == '=') {
			*length = k - n - 1;
			return row + n + 1;
		}
	*length = 0;
	return NULL;
}

static const char *add_differences(const char *text, const char *of, const char *from, bool both, struct arena *a)
{
	for (size_t k; (k = next_field(&of)); of += k) {
		size_t n = strcspn(of, "=;"), m;
		const char *other = value_in(from, of, n, &m), *mine = n < k ? of + n + 1 : "";
		size_t l = n < k ? k - n - 1 : 0;
		if (other ? !both || (m == l && !memcmp(other, mine, l)) : false)
			continue;
		const char *sep = *text ? "; " : "";
		if (both)
			text = arena_printf(a, "%s%s%.*s %.*s, not %.*s", text, sep, (int)n, of, (int)l, mine, other ? (int)m : 4,
					    other ? other : "none");
		else
			text = arena_printf(a, "%s%s%.*s none, not %.*s", text, sep, (int)n, of, (int)l, mine);
	}
	return text;
}

const char *kb_target_differs(const char *target, const char *wanted, struct arena *a)
{
	return add_differences(add_differences("", target, wanted, true, a), wanted, target, false, a);
}
